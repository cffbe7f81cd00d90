// rates.hpp - how many rows of a group each candidate threshold accepts.
//
// Reads from: span.hpp.  Read by: objective.hpp, bind_solver.cpp.
//
// Candidate 0 is -inf and candidate 1 + i is edge i; see docs/solver.md. Smooth densities have no counts: their rates
// come from smooth.hpp.
#pragma once

#include <cstddef>  // size_t
#include <cstdint>  // int64_t
#include <vector>

#include "span.hpp"

namespace gstar {

/// Accepted rows at the candidates worth looking at, groups end to end.
///
/// Candidates that accept the same rows are alike; of each run of them only the one nearest to the best unified
/// threshold is kept, which is the one that the rule for ties would choose.
struct tabulation {
    std::vector<std::int64_t> start;      ///< K + 1: where each group begins
    std::vector<std::int64_t> candidate;  ///< n
    std::vector<std::int64_t> accepted;   ///< 3 x n: label 0, label 1, unlabelled
    std::vector<std::int64_t> cost;       ///< n: false positives and negatives at their prices
    std::vector<std::int64_t> totals;     ///< 3 x K: all rows
    std::vector<std::int64_t> at_unified; ///< 3 x K: rows accepted by the best unified threshold
    std::int64_t unified = 0;             ///< the lowest candidate with the least pooled cost
};

/// Tabulate `rows`, which is 3 x K x (bins + 2): for each label and group the rows below, in each bin, and above.
///
/// Cost: one pass over the counts from the right, one from the left.
inline tabulation tabulate(span<const std::int64_t> rows, std::size_t n_groups, std::size_t n_candidates,
                           std::int64_t price_fp, std::int64_t price_fn) {
    const std::size_t k_count = n_groups, c_count = n_candidates, plane = k_count * c_count;
    std::vector<std::int64_t> accepted(3 * plane);
    for (std::size_t line = 0; line < 3 * k_count; ++line) {
        const std::int64_t* in = rows.data() + line * c_count;
        std::int64_t* out = accepted.data() + line * c_count;
        std::int64_t sum = 0;
        for (std::size_t c = c_count; c-- > 0;) out[c] = sum += in[c];
    }
    const std::int64_t *neg = accepted.data(), *pos = neg + plane, *spare = pos + plane;

    tabulation table;
    std::vector<std::int64_t> cost(plane), pooled(c_count, 0);
    for (std::size_t k = 0; k < k_count; ++k) {
        const std::int64_t n_pos = pos[k * c_count];
        for (std::size_t c = 0; c < c_count; ++c) {
            const std::size_t i = k * c_count + c;
            cost[i] = price_fp * neg[i] + price_fn * (n_pos - pos[i]);
            pooled[c] += cost[i];
        }
    }
    std::size_t unified = 0;
    for (std::size_t c = 1; c < c_count; ++c)
        if (pooled[c] < pooled[unified]) unified = c;
    table.unified = static_cast<std::int64_t>(unified);

    table.start.reserve(k_count + 1);
    table.start.push_back(0);
    for (std::size_t k = 0; k < k_count; ++k) {
        const std::size_t base = k * c_count;
        std::size_t first = 0;
        for (std::size_t c = 1; c <= c_count; ++c) {
            const std::size_t i = base + c;
            if (c < c_count && neg[i] == neg[i - 1] && pos[i] == pos[i - 1] && spare[i] == spare[i - 1]) continue;
            const std::size_t kept = unified < first ? first : unified > c - 1 ? c - 1 : unified;
            table.candidate.push_back(static_cast<std::int64_t>(kept));
            table.cost.push_back(cost[base + kept]);
            first = c;
        }
        table.start.push_back(static_cast<std::int64_t>(table.candidate.size()));
    }

    const std::size_t n = table.candidate.size();
    table.accepted.resize(3 * n);
    table.totals.resize(3 * k_count);
    table.at_unified.resize(3 * k_count);
    for (std::size_t label = 0; label < 3; ++label)
        for (std::size_t k = 0; k < k_count; ++k) {
            const std::int64_t* line = accepted.data() + label * plane + k * c_count;
            table.totals[label * k_count + k] = line[0];
            table.at_unified[label * k_count + k] = line[unified];
            for (std::int64_t i = table.start[k]; i < table.start[k + 1]; ++i)
                table.accepted[label * n + static_cast<std::size_t>(i)] = line[table.candidate[static_cast<std::size_t>(i)]];
        }
    return table;
}

}  // namespace gstar
