// table.hpp - how many rows of a group each candidate threshold accepts, and what a
// search reads of it.
//
// Candidate 0 is -inf and candidate 1 + i is edge i; see docs/reference/problem.md. Smooth
// densities have no counts: their rates come from smooth.hpp.
#pragma once

#include <algorithm>  // any_of, max
#include <cstddef>    // size_t
#include <cstdint>    // int64_t
#include <cstdlib>    // abs
#include <utility>    // move
#include <vector>

#include "gstar/base/span.hpp"
#include "gstar/solve/problem.hpp"
#include "gstar/solve/question.hpp"

namespace gstar {

/// Accepted rows at the candidates worth looking at, groups end to end.
///
/// Candidates that accept the same rows are alike; of each run of them only the one
/// nearest to the best unified threshold is kept, which is the one that the rule
/// for ties would choose.
struct tabulation {
    std::vector<std::int64_t> start;       ///< K + 1: where each group begins
    std::vector<std::int64_t> candidate;   ///< n
    std::vector<std::int64_t> accepted;    ///< 3 x n: label 0, label 1, unlabelled
    std::vector<std::int64_t> cost;        ///< n: errors at their prices
    std::vector<std::int64_t> totals;      ///< 3 x K: all rows
    std::vector<std::int64_t> at_unified;  ///< 3 x K: accepted by `unified`
    std::int64_t unified = 0;  ///< the lowest candidate with the least pooled cost
};

/// Tabulate `rows`, which is 3 x K x (bins + 2): for each label and group the rows
/// below, in each bin, and above.
///
/// With `every`, no candidate is left out, so that groups can share one. Cost: three
/// passes over the counts; nothing is stored but the answer.
inline tabulation tabulate(span<const std::int64_t> rows, std::size_t n_groups,
                           std::size_t n_candidates, std::int64_t price_fp,
                           std::int64_t price_fn, bool every = false) {
    const std::size_t plane = n_groups * n_candidates;
    const auto line = [&](std::size_t label, std::size_t k) {
        return rows.data() + label * plane + k * n_candidates;
    };

    tabulation table;
    table.totals.resize(3 * n_groups);
    table.start.assign(n_groups + 1, 0);
    std::vector<std::int64_t> pooled(n_candidates, 0);
    for (std::size_t k = 0; k < n_groups; ++k) {
        const std::int64_t *neg = line(0, k), *pos = line(1, k),
                           *spare = line(2, k);
        std::int64_t all[3] = {0, 0, 0}, runs = 1;
        for (std::size_t c = 0; c < n_candidates; ++c) {
            all[0] += neg[c];
            all[1] += pos[c];
            all[2] += spare[c];
            // between two candidates that accept the same rows there are none
            runs += c + 1 < n_candidates &&
                    (every || (neg[c] | pos[c] | spare[c]) != 0);
        }
        for (std::size_t label = 0; label < 3; ++label)
            table.totals[label * n_groups + k] = all[label];
        table.start[k + 1] = table.start[k] + runs;
        std::int64_t cost = price_fp * all[0];  // everybody accepted
        for (std::size_t c = 0; c < n_candidates; ++c) {
            pooled[c] += cost;
            cost += price_fn * pos[c] - price_fp * neg[c];
        }
    }
    std::size_t unified = 0;
    for (std::size_t c = 1; c < n_candidates; ++c)
        if (pooled[c] < pooled[unified]) unified = c;
    table.unified = static_cast<std::int64_t>(unified);

    const std::size_t n = static_cast<std::size_t>(table.start[n_groups]);
    table.candidate.resize(n);
    table.cost.resize(n);
    table.accepted.resize(3 * n);
    table.at_unified.resize(3 * n_groups);
    for (std::size_t k = 0; k < n_groups; ++k) {
        const std::int64_t *neg = line(0, k), *pos = line(1, k),
                           *spare = line(2, k);
        std::int64_t left[3];
        for (std::size_t label = 0; label < 3; ++label)
            left[label] = table.totals[label * n_groups + k];
        const std::int64_t positives = left[1];
        std::size_t i = static_cast<std::size_t>(table.start[k]), first = 0;
        for (std::size_t c = 0; c < n_candidates; ++c) {
            if (c == unified)
                for (std::size_t label = 0; label < 3; ++label)
                    table.at_unified[label * n_groups + k] = left[label];
            if (c + 1 < n_candidates && !every && (neg[c] | pos[c] | spare[c]) == 0)
                continue;  // the run goes on
            const std::size_t kept = unified < first ? first
                                     : unified > c   ? c
                                                     : unified;
            table.candidate[i] = static_cast<std::int64_t>(kept);
            table.cost[i] = price_fp * left[0] + price_fn * (positives - left[1]);
            for (std::size_t label = 0; label < 3; ++label)
                table.accepted[label * n + i] = left[label];
            ++i;
            first = c + 1;
            left[0] -= neg[c];
            left[1] -= pos[c];
            left[2] -= spare[c];
        }
    }
    return table;
}

/// A tabulation with the rates and the limits of a search; owns what its `problem`
/// borrows.
class search_table {
public:
    search_table(tabulation counts, const windows& w, double unit)
        : counts_(std::move(counts)),
          asked_(w),
          rates_of_(w.active()),
          unit_(unit) {
        const std::size_t n = counts_.candidate.size(), k_count = n_groups();
        distance_.resize(n);
        for (std::size_t i = 0; i < n; ++i)
            distance_[i] = std::abs(counts_.candidate[i] - counts_.unified);
        values_.resize(rates_of_.size() * n);
        for (std::size_t r = 0; r < rates_of_.size(); ++r) {
            penalty_.push_back(w.penalty[static_cast<std::size_t>(rates_of_[r])]);
            for (std::size_t k = 0; k < k_count; ++k) {
                const rate_of_group value(rates_of_[r], totals(k));
                has_.push_back(value.exists() ? 1 : 0);
                for (std::size_t i = entry(k, 0); i < entry(k + 1, 0); ++i)
                    values_[r * n + i] = value(accepted(i));
            }
        }
        loosen(0.0);
    }

    const tabulation& counts() const noexcept { return counts_; }
    std::size_t n_groups() const noexcept { return counts_.start.size() - 1; }

    /// Where candidate `number` of a group stands.
    std::size_t entry(std::size_t k, std::int64_t number) const noexcept {
        return static_cast<std::size_t>(counts_.start[k] + number);
    }
    rows_by_label totals(std::size_t k) const noexcept {
        return by_label(counts_.totals, k);
    }
    rows_by_label accepted(std::size_t entry) const noexcept {
        return by_label(counts_.accepted, entry);
    }

    bool penalised() const noexcept {
        return std::any_of(penalty_.begin(), penalty_.end(),
                           [](double w) { return w > 0; });
    }

    /// Make every limit looser than it was asked for.
    void loosen(double slack) {
        limit_.clear();
        ratio_.clear();
        for (const rate r : rates_of_) {
            const auto at = static_cast<std::size_t>(r);
            const double least = asked_.ratio[at];
            limit_.push_back(asked_.limit[at] + slack);
            ratio_.push_back(least >= 0 ? std::max(least - slack, 0.0) : least);
        }
        total_ = asked_.total + slack;
    }

    gstar::problem<std::int64_t> problem() const noexcept {
        return {n_groups(),    rates_of_.size(),
                counts_.start, counts_.cost,
                distance_,     values_,
                has_,          limit_,
                ratio_,        penalty_,
                unit_,         values_,
                values_,       total_};
    }

private:
    static rows_by_label by_label(const std::vector<std::int64_t>& rows,
                                  std::size_t i) noexcept {
        const std::size_t n = rows.size() / 3;
        return {rows[i], rows[n + i], rows[2 * n + i]};
    }

    tabulation counts_;
    windows asked_;
    std::vector<rate> rates_of_;
    std::vector<std::int64_t> distance_;
    std::vector<double> values_, limit_, ratio_, penalty_;
    std::vector<std::uint8_t> has_;
    double total_ = 0, unit_;
};

}  // namespace gstar
