// question.hpp - what is asked of thresholds, and the numbers that searches read of it.
//
// A limit has a form and rates, no name: docs/cpp.md lists which criterion is which.
#pragma once

#include <algorithm>  // max, min
#include <array>
#include <cstddef>  // size_t
#include <cstdint>  // int64_t
#include <string>
#include <vector>

#include "gstar/base/deadline.hpp"  // infinity
#include "gstar/base/error.hpp"
#include "gstar/solve/rate.hpp"

namespace gstar {

/// How a limit looks at the rates of groups.
enum class form : std::uint8_t {
    difference,  ///< the largest minus the smallest, of each rate: at most the bound
    sum,         ///< the differences of tpr and fpr, added: at most the bound
    ratio  ///< the smallest over the largest, of each rate: at least the bound
};

struct limit {
    form what = form::difference;
    std::vector<rate> of;
    double bound = 0;
};

/// A weight of the mean squared difference of each of some rates.
struct penalty {
    std::vector<rate> of;
    double weight = 0;
};

/// What `solve` is asked.
struct question {
    std::vector<limit> limits;
    std::vector<penalty> penalties;
    std::int64_t price_fp = 1;  ///< of one false positive
    std::int64_t price_fn = 1;  ///< of one false negative
    bool balanced = false;      ///< both classes weigh alike, whatever their rows
    bool unified = false;       ///< one threshold for everybody
    bool randomize = false;     ///< mixtures of thresholds, where they cost less
    /// After so many seconds the exact search ends; its answer then depends on the
    /// machine.
    double seconds = infinity;
};

[[noreturn]] inline void bad_question(const std::string& what) {
    refuse({"not_valid", "question", -1, what});
}

/// Refuse a question that cannot be answered, whatever was counted.
inline void check_question(const question& q) {
    for (const limit& one : q.limits) {
        const double most = one.what == form::sum ? 2 : 1;
        if (one.of.empty()) bad_question("a limit needs a rate");
        if (!(one.bound >= 0 && one.bound <= most))
            bad_question("the bound of a limit must be from 0 to " + text_of(most) +
                         ", got " + text_of(one.bound));
        if (one.what == form::sum &&
            one.of != std::vector<rate>{rate::tpr, rate::fpr})
            bad_question(
                "a sum of gaps must be that of tpr and fpr, in this order");
    }
    for (const penalty& one : q.penalties) {
        if (one.of.empty()) bad_question("a penalty needs a rate");
        if (!(one.weight >= 0 && one.weight <= 1e100))
            bad_question("the weight of a penalty must be from 0 to 1e100, got " +
                         text_of(one.weight));
    }
    constexpr std::int64_t most = std::int64_t{1} << 31;
    if (q.price_fp < 0 || q.price_fn < 0 || q.price_fp > most ||
        q.price_fn > most || (q.price_fp == 0 && q.price_fn == 0))
        bad_question("prices must be from 0 to 2^31 and not both 0, got " +
                     std::to_string(q.price_fp) + " and " +
                     std::to_string(q.price_fn));
    if (!(q.seconds > 0)) bad_question("seconds must be positive");
    const bool timed = q.seconds < infinity;
    if (q.randomize && (!q.penalties.empty() || q.unified || timed))
        bad_question("randomize goes with limits alone, and without seconds");
    if (q.unified && timed)
        bad_question("unified needs no search that could be ended early");
}

/// Limits and penalties by rate, as searches read them.
struct windows {
    /// A limit is met up to so much more, which rounding may add to a gap.
    static constexpr double tolerance = 1e-12;

    std::array<double, n_rates> limit;    ///< largest differences; infinity: any
    std::array<double, n_rates> ratio;    ///< least ratios; -1: any
    std::array<double, n_rates> penalty;  ///< weights
    /// Largest sum of the first two differences.
    double total = infinity;

    explicit windows(const question& q) {
        limit.fill(total);
        ratio.fill(-1.0);
        penalty.fill(0.0);
        for (const gstar::limit& one : q.limits) {
            for (const rate r : one.of) {
                const auto at = static_cast<std::size_t>(r);
                if (one.what == form::ratio)
                    ratio[at] = std::max(ratio[at], one.bound - tolerance);
                else  // no gap is larger than a sum of gaps may be
                    limit[at] = std::min(limit[at], one.bound + tolerance);
            }
            if (one.what == form::sum)
                total = std::min(total, one.bound + tolerance);
        }
        for (const gstar::penalty& one : q.penalties)
            for (const rate r : one.of)
                penalty[static_cast<std::size_t>(r)] += one.weight;
    }

    /// Rates that are limited or penalised, in order.
    std::vector<rate> active() const {
        std::vector<rate> out;
        for (std::size_t r = 0; r < n_rates; ++r)
            if (limit[r] < infinity || ratio[r] >= 0 || penalty[r] > 0)
                out.push_back(static_cast<rate>(r));
        return out;
    }
};

}  // namespace gstar
