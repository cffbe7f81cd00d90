// problem.hpp - what a choice of candidates costs, and whether it keeps its
// limits.
//
// A choice is one candidate number for each group, counted from 0 in that group.
// Sums are taken in one fixed order, so that every backend finds the same optimum
// to the last bit.
#pragma once

#include <cmath>    // nextafter
#include <cstddef>  // size_t
#include <cstdint>  // int64_t, uint8_t

#include "gstar/base/deadline.hpp"  // infinity
#include "gstar/base/span.hpp"

namespace gstar {

/// Whether two rates, the smaller first, are close enough for one limit and one
/// least ratio (below 0: none).
inline bool within(double low, double high, double limit, double ratio) noexcept {
    return high - low <= limit && (ratio < 0 || high <= 0 || low / high >= ratio);
}

/// Everything a search needs to know, as borrowed arrays. `Cost` is int64 for
/// counts and double for densities.
template <class Cost>
struct problem {
    std::size_t n_groups;
    std::size_t n_rates;
    span<const std::int64_t> start;  ///< n_groups + 1
    span<const Cost> cost;  ///< n; the error E of a choice is their sum over `unit`
    span<const std::int64_t> distance;  ///< n; from the best unified threshold
    span<const double> rates;           ///< n_rates x n
    span<const std::uint8_t> has;  ///< n_rates x n_groups: whether it has the rate
    span<const double> limit;      ///< n_rates; infinity where none
    span<const double> ratio;      ///< n_rates; -1 where none
    span<const double> penalty;    ///< n_rates
    double unit;
    /// n_rates x n: a rate is only known to lie in its band, and a limit holds for
    /// the whole of it; `rates` itself where rates are known, as penalties need.
    span<const double> lows, highs;
    /// Largest sum of the differences of the first two rates; infinity where none.
    double total = infinity;

    std::size_t first(std::size_t k) const noexcept {
        return static_cast<std::size_t>(start[k]);
    }
    std::size_t size(std::size_t k) const noexcept {
        return static_cast<std::size_t>(start[k + 1] - start[k]);
    }
    /// Where candidate `number` of a group stands.
    std::size_t entry(std::size_t k, std::int64_t number) const noexcept {
        return static_cast<std::size_t>(start[k] + number);
    }
    const double* rate(std::size_t r) const noexcept {
        return rates.data() + r * cost.size();
    }
    const double* low(std::size_t r) const noexcept {
        return lows.data() + r * cost.size();
    }
    const double* high(std::size_t r) const noexcept {
        return highs.data() + r * cost.size();
    }
    bool banded() const noexcept {
        return lows.data() != rates.data() || highs.data() != rates.data();
    }
    bool has_rate(std::size_t r, std::size_t k) const noexcept {
        return has[r * n_groups + k] != 0;
    }
    bool limited(std::size_t r) const noexcept {
        return limit[r] < infinity || ratio[r] >= 0;
    }
    bool totalled() const noexcept { return total < infinity; }
};

/// The limit of rate r, given the limit on the sum of the first two gaps.
inline double limit_under(std::size_t r, double limit, double total) noexcept {
    return r < 2 && total < limit ? total : limit;
}

/// The smallest and largest value that rate r may have under a choice; both 0 if no
/// group has it.
template <class Cost>
void extremes(const problem<Cost>& p, std::size_t r, const std::int64_t* numbers,
              double& low, double& high) noexcept {
    const double *lows = p.low(r), *highs = p.high(r);
    double least = 0.0, most = 0.0;
    bool any = false;
    for (std::size_t k = 0; k < p.n_groups; ++k) {
        if (!p.has_rate(r, k)) continue;
        const std::size_t i = p.entry(k, numbers[k]);
        if (!any || lows[i] < least) least = lows[i];
        if (!any || highs[i] > most) most = highs[i];
        any = true;
    }
    low = least;
    high = most;
}

/// The differences of the first two rates, which `total` is about.
template <class Cost>
void both_gaps(const problem<Cost>& p, const std::int64_t* numbers,
               double gap[2]) noexcept {
    for (std::size_t r = 0; r < 2; ++r) {
        double low, high;
        extremes(p, r, numbers, low, high);
        gap[r] = high - low;
    }
}

/// Whether a choice meets every limit.
template <class Cost>
bool allowed(const problem<Cost>& p, const std::int64_t* numbers) noexcept {
    for (std::size_t r = 0; r < p.n_rates; ++r) {
        if (!p.limited(r)) continue;
        double low, high;
        extremes(p, r, numbers, low, high);
        if (!within(low, high, p.limit[r], p.ratio[r])) return false;
    }
    if (!p.totalled()) return true;
    double gap[2];
    both_gaps(p, numbers, gap);
    return gap[0] + gap[1] <= p.total;
}

/// E^2 plus the penalties of a choice (docs/reference/problem.md, "Objective").
template <class Cost>
double loss_of(const problem<Cost>& p, const std::int64_t* numbers) noexcept {
    Cost cost = 0;
    for (std::size_t k = 0; k < p.n_groups; ++k)
        cost += p.cost[p.entry(k, numbers[k])];
    const double error = static_cast<double>(cost) / p.unit;
    double loss = error * error;
    for (std::size_t r = 0; r < p.n_rates; ++r) {
        if (!(p.penalty[r] > 0)) continue;
        double total = 0.0;
        std::size_t pairs = 0;
        for (std::size_t a = 0; a < p.n_groups; ++a) {
            if (!p.has_rate(r, a)) continue;
            const double x = p.rate(r)[p.entry(a, numbers[a])];
            for (std::size_t b = a + 1; b < p.n_groups; ++b) {
                if (!p.has_rate(r, b)) continue;
                const double difference = x - p.rate(r)[p.entry(b, numbers[b])];
                total += difference * difference;
                ++pairs;
            }
        }
        if (pairs > 0) loss += p.penalty[r] * (total / static_cast<double>(pairs));
    }
    return loss;
}

/// How to split a box whose choice breaks a limit, so that it fits neither half: at the
/// worst window, or else by two limits, one on each of the first two gaps.
struct box_cut {
    bool of_window = false, of_total = false;
    std::size_t rate = 0;  ///< of the window
    double at = 0.0;
    double half[2] = {0.0, 0.0};  ///< the limits
};

/// `limit` stands in for the problem's own.
template <class Cost>
box_cut find_cut(const problem<Cost>& p, const double* limit,
                 const std::int64_t* numbers) noexcept {
    box_cut cut;
    double worst = 0.0;
    for (std::size_t r = 0; r < p.n_rates; ++r) {
        if (!(limit[r] < infinity || p.ratio[r] >= 0)) continue;
        double low, high;
        extremes(p, r, numbers, low, high);
        if (within(low, high, limit[r], p.ratio[r])) continue;
        const double by_gap = high - limit[r], by_ratio = high * p.ratio[r];
        // t must reach this to admit `high`
        const double needed = by_gap > by_ratio ? by_gap : by_ratio;
        if (cut.of_window && !(needed - low > worst)) continue;
        const double middle = low + (needed - low) / 2;
        const bool valid =
            middle >= low && !within(middle, high, limit[r], p.ratio[r]);
        worst = needed - low;
        cut.of_window = true;
        cut.rate = r;
        cut.at = valid ? middle : low;
    }
    if (cut.of_window || !p.totalled()) return cut;
    double gap[2];
    both_gaps(p, numbers, gap);
    if (gap[0] + gap[1] <= p.total) return cut;
    // every choice that keeps the sum keeps one of the two limits: gaps above both
    // have a sum above `total`, rounding included
    const double by = 0.499 * (gap[0] + gap[1] - p.total), one = gap[0] - by,
                 two = gap[1] - by;
    const bool valid = one < gap[0] && two < gap[1] && one + two > p.total;
    cut.of_total = true;
    cut.half[0] = valid ? one : std::nextafter(gap[0], -1.0);
    cut.half[1] = valid ? two : std::nextafter(gap[1], -1.0);
    return cut;
}

}  // namespace gstar
