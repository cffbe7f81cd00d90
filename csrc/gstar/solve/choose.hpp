// choose.hpp - which search answers a question on counts, and what it proves; and the
// answer that is nearest where limits are out of reach.
//
// gstar_fast/_solver/search.py takes the same steps, so that thresholds are the same.
#pragma once

#include <algorithm>  // max, min
#include <cstddef>    // size_t
#include <cstdint>    // int64_t
#include <cstdlib>    // abs
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "gstar/base/deadline.hpp"
#include "gstar/solve/exact_limits.hpp"
#include "gstar/solve/exact_pair.hpp"
#include "gstar/solve/exact_targets.hpp"
#include "gstar/solve/mixture.hpp"
#include "gstar/solve/scale.hpp"
#include "gstar/solve/table.hpp"

namespace gstar {

/// One candidate for each group, and what was proven of it.
struct pick {
    std::vector<std::int64_t> numbers;  ///< empty where none was found
    std::size_t opened = 0;             ///< boxes
    bool proven = true;  ///< the best; without numbers: there is none
    double loss = unknown, lower_bound = unknown;

    static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
};

/// What searches may take: the same everywhere, so that answers are.
struct search_limits {
    static constexpr std::size_t boxes = 2000000;  ///< under limits
    static constexpr std::size_t boxes_of_slack = 20000;
    static constexpr std::size_t nodes =
        20000;                             ///< with penalties, of fifty groups
    static constexpr int slacks = 100000;  ///< from 0 to 1
};

namespace detail {

/// Accepting everybody, where the limits allow it.
inline std::vector<std::int64_t> everybody(const problem<std::int64_t>& p) {
    std::vector<std::int64_t> out(p.n_groups, 0);
    if (!allowed(p, out.data())) out.clear();
    return out;
}

inline double square_above(double x, double slack) noexcept {
    const double error = std::max(x - slack, 0.0);
    return error * error;
}

/// The cheapest choice within the limits, penalties aside; `lower_bound` is on its E.
inline pick cheapest(const problem<std::int64_t>& p, std::size_t boxes,
                     const deadline& end) {
    pick out;
    out.numbers.assign(p.n_groups, -1);
    window_search<std::int64_t> search(p);
    search.run(out.numbers.data(), boxes, end);
    out.opened = search.opened();
    if (out.numbers[0] >= 0) return out;
    out.numbers.clear();
    out.proven = search.finished();
    if (!out.proven) out.lower_bound = static_cast<double>(search.bound()) / p.unit;
    return out;
}

}  // namespace detail

/// The best choice within the limits, or the best that was found.
inline pick choose(const search_table& table, const scale& s, const deadline& end) {
    const problem<std::int64_t> p = table.problem();
    if (!table.penalised()) {
        pick out = detail::cheapest(p, search_limits::boxes, end);
        if (!out.proven) {
            out.numbers = detail::everybody(p);
            out.lower_bound = detail::square_above(out.lower_bound, s.slack);
        }
        return out;
    }
    pick out;
    if (p.n_groups == 2) {
        out.numbers.assign(2, -1);
        double loss = 0;
        pair_search<std::int64_t> search(p);
        if (!search.run(out.numbers.data(), loss)) out.numbers.clear();
        out.opened = 1;
        out.loss = out.lower_bound = loss;
        return out;
    }
    pick guess = detail::cheapest(p, search_limits::boxes, end);
    if (guess.numbers.empty()) {
        if (guess.proven) {
            guess.opened = 0;
            return guess;
        }
        guess.numbers = detail::everybody(p);
        if (guess.numbers.empty()) guess.numbers.assign(p.n_groups, -1);
    }
    target_search<std::int64_t> search(p);
    search.run(
        guess.numbers.data(),
        std::min(search_limits::nodes, 50 * search_limits::nodes / p.n_groups),
        end);
    out.numbers = search.numbers();
    out.opened = search.opened();
    out.lower_bound = search.bound();
    if (out.numbers[0] < 0) {  // the bound is finite where nodes are left
        out.numbers.clear();
        out.proven = !(search.bound() < infinity);
        return out;
    }
    out.loss = search.loss();
    out.proven = search.loss() - search.bound() <=
                 windows::tolerance * std::max(1.0, search.loss());
    return out;
}

/// The best candidate for all groups, of a table that has every candidate.
inline pick choose_unified(const search_table& table) {
    const problem<std::int64_t> p = table.problem();
    const bool penalised = table.penalised();
    using key = std::tuple<double, std::int64_t, std::int64_t, std::int64_t>;
    std::optional<key> best;
    std::vector<std::int64_t> numbers(p.n_groups);
    pick out;
    out.opened = p.size(0);
    for (std::int64_t c = 0; c < p.start[1]; ++c) {
        numbers.assign(p.n_groups, c);
        if (!allowed(p, numbers.data())) continue;
        std::int64_t cost = 0;
        for (std::size_t k = 0; k < p.n_groups && !penalised; ++k)
            cost += p.cost[table.entry(k, c)];
        const key one{penalised ? loss_of(p, numbers.data()) : 0.0, cost,
                      std::abs(c - table.counts().unified), c};
        if (best && !(one < *best)) continue;
        best = one;
        out.numbers = numbers;
    }
    return out;
}

/// The best mixture; `found` is false where none meets the limits.
struct mixed_pick {
    segment_mixture mixture;
    bool proven = true;
};

inline mixed_pick mix(const search_table& table) {
    const mixture_program program(table.problem());
    mixed_pick out{mix_segments(program.problem())};
    if (!out.mixture.found) return out;
    out.mixture.found = program.excess(out.mixture) <= 1e-9;  // rounding
    out.proven =
        out.mixture.value - out.mixture.bound <= 1e-7 * program.largest_cost();
    return out;
}

/// The least slack, common to all limits, at which `find` finds something in the
/// loosened table; it keeps what it found last.
template <class Find>
double loosen_until(search_table& table, Find find) {
    int low = 0, high = search_limits::slacks;
    const auto slack = [](int steps) {
        return static_cast<double>(steps) / search_limits::slacks;
    };
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        table.loosen(slack(middle));
        (find() ? high : low) = middle;
    }
    if (high == search_limits::slacks) {  // no gap is above 1
        table.loosen(1.0);
        find();
    }
    table.loosen(0.0);
    return slack(high);
}

}  // namespace gstar
