// target_bounds.hpp - what the choices with targets in a box cost at the least.
//
// docs/reference/problem.md, "Penalties, more groups". The mean squared difference over pairs
// of groups is 2 / (K - 1) times the least sum of squared distances to a common
// target, and E^2 >= nu E - nu^2 / 4. With the targets in boxes, a price for moving
// each group's own target, and nu fixed, groups separate. The order of operations is
// that of the NumPy reference.
#pragma once

#include <algorithm>  // min, max
#include <cmath>      // fabs
#include <cstddef>    // size_t
#include <cstdint>    // int64_t
#include <vector>

#include "gstar/base/deadline.hpp"  // infinity
#include "gstar/solve/problem.hpp"

namespace gstar {

/// Choices with targets in [low, high], limit windows (after, upto] and
/// candidates first <= number < last. A limit on a sum of gaps makes the limits of
/// a box narrower.
struct target_box {
    double bound = 0.0;
    std::size_t serial = 0;
    std::vector<double> low, high, after, upto, limit;
    std::vector<std::int64_t> first, last;
    double nu = 1.0;
};

/// What a box is known to cost at the least, and the choice that would cost it.
struct target_bound {
    double bound = 0.0, nu = 0.0;
    std::vector<std::int64_t> numbers, other;
};

template <class Cost>
class target_bounds {
public:
    explicit target_bounds(const problem<Cost>& p)
        : p_(p), weight_(p.n_rates, 0.0) {
        for (std::size_t r = 0; r < p.n_rates; ++r) {
            members_.push_back(0.0);
            for (std::size_t k = 0; k < p.n_groups; ++k)
                members_[r] += p.has_rate(r, k);
            if (members_[r] > 1) weight_[r] = 2 * p.penalty[r] / (members_[r] - 1);
        }
        gaps_.resize(p.n_groups);
        lean_.assign(p.n_rates * p.n_groups, 0.0);
        rounding_.assign(p.n_rates, 0.0);
    }

    /// Let each group lean as far as its rate is from the mean in this choice. The
    /// leans of a rate add up to zero, so all groups together pay nothing for moving
    /// the target: any leans give a bound, and these make it the loss itself at that
    /// choice. What rounding can add is kept for `find` to subtract.
    void lean(const std::vector<std::int64_t>& numbers) {
        for (std::size_t r = 0; r < p_.n_rates; ++r) {
            if (!(weight_[r] > 0)) continue;
            double* a = lean_.data() + r * p_.n_groups;
            const double mean = mean_of(r, numbers);
            double so_far = 0.0, sum = 0.0;
            std::size_t last = p_.n_groups - 1;
            while (!p_.has_rate(r, last)) --last;
            for (std::size_t k = 0; k < p_.n_groups; ++k) {
                if (!p_.has_rate(r, k)) continue;
                a[k] = k == last ? -so_far : rate_of(r, k, numbers) - mean;
                so_far += a[k];
                sum += std::fabs(a[k]);
            }
            rounding_[r] = 4.5e-16 * weight_[r] * members_[r] * sum;
        }
    }

    /// Maximise over nu the sum of each group's cheapest candidate; false if a
    /// group has none.
    bool find(const target_box& n, target_bound& best) {
        for (std::size_t k = 0; k < p_.n_groups; ++k)
            if (!price(n, k)) return false;
        double rounding = 0.0;
        for (std::size_t r = 0; r < p_.n_rates; ++r)
            rounding += rounding_[r] * (n.high[r] - n.low[r]);
        struct side {
            bool known = false;
            double error = 0.0, gap = 0.0;
            std::vector<std::int64_t> numbers;
        } below, above;
        double nu = n.nu;
        std::vector<std::int64_t> numbers(p_.n_groups);
        for (int round = 0; round < 6; ++round) {
            double total = 0.0, error = 0.0, gap = 0.0;
            for (std::size_t k = 0; k < p_.n_groups; ++k) {
                const std::size_t from = p_.entry(k, n.first[k]);
                const std::size_t i = cheapest(gaps_[k], p_.cost.data() + from, nu);
                numbers[k] = n.first[k] + static_cast<std::int64_t>(i);
                const double share =
                    static_cast<double>(p_.cost[from + i]) / p_.unit;
                total += gaps_[k][i] + nu * share;
                error += share;
                gap += gaps_[k][i];
            }
            const double bound = total - nu * nu / 4 - rounding;
            if (round == 0 || bound > best.bound)
                best = {bound, nu, numbers, numbers};
            (error > nu / 2 ? below : above) = {true, error, gap, numbers};
            double next;
            if (!below.known || !above.known) {
                next = 2 * error;
            } else if (below.error <= above.error) {
                break;
            } else {
                const double crossing =
                    (above.gap - below.gap) / (below.error - above.error);
                next =
                    std::min(std::max(crossing, 2 * above.error), 2 * below.error);
            }
            if (next == nu) break;
            nu = next;
        }
        for (const side* s : {&below, &above})
            if (s->known && s->numbers != best.numbers) best.other = s->numbers;
        return true;
    }

    /// Prices of a group's candidates in the box last looked at, the error aside.
    const std::vector<double>& gaps(std::size_t k) const noexcept {
        return gaps_[k];
    }

    /// The rate whose penalty is most underrated, if by more than the error term,
    /// and where to cut its box.
    bool widest(const target_box& n, const target_bound& r, double loss,
                std::size_t& rate, double& at) const {
        double error = 0.0;
        for (std::size_t k = 0; k < p_.n_groups; ++k)
            error +=
                static_cast<double>(p_.cost[p_.entry(k, r.numbers[k])]) / p_.unit;
        double slack = (error - r.nu / 2) * (error - r.nu / 2);
        bool found = false;
        for (std::size_t q = 0; q < p_.n_rates; ++q) {
            const double low = n.low[q], high = n.high[q];
            // a box this narrow hides next to nothing: splitting candidates gets
            // further
            if (!(weight_[q] * (high - low) * (high - low) > 1e-11 * loss))
                continue;
            const double mean = mean_of(q, r.numbers);
            double truth = 0.0, seen = 0.0;
            for (std::size_t k = 0; k < p_.n_groups; ++k) {
                if (!p_.has_rate(q, k)) continue;
                const double x = rate_of(q, k, r.numbers);
                truth += (x - mean) * (x - mean);
                seen += away(x, lean_[q * p_.n_groups + k], low, high);
            }
            if (weight_[q] * (truth - seen) > slack) {
                slack = weight_[q] * (truth - seen);
                const double margin = 0.1 * (high - low);
                rate = q;
                at = low + margin < mean && mean < high - margin
                         ? mean
                         : low + (high - low) / 2;
                found = true;
            }
        }
        return found;
    }

private:
    /// The least over targets t in a box of (x - t)^2 + 2 a (t - middle): what a rate
    /// costs a group that leans by `a`. Differences from the middle are taken first, so
    /// that rounding is small where the box and the lean are.
    static double away(double x, double a, double low, double high) noexcept {
        const double middle = low + (high - low) / 2, moved = (x - middle) - a;
        if (moved < low - middle)
            return (x - low) * (x - low) + 2 * a * (low - middle);
        if (moved > high - middle)
            return (x - high) * (x - high) + 2 * a * (high - middle);
        return a * a + 2 * a * moved;
    }

    double rate_of(std::size_t r, std::size_t k,
                   const std::vector<std::int64_t>& numbers) const noexcept {
        return p_.rate(r)[p_.entry(k, numbers[k])];
    }

    /// The mean rate of the groups that have it.
    double mean_of(std::size_t r,
                   const std::vector<std::int64_t>& numbers) const noexcept {
        double sum = 0.0;
        for (std::size_t k = 0; k < p_.n_groups; ++k)
            if (p_.has_rate(r, k)) sum += rate_of(r, k, numbers);
        return sum / members_[r];
    }

    /// Prices of a group's candidates, the error aside; infinity where a window shuts
    /// one out.
    bool price(const target_box& n, std::size_t k) {
        std::vector<double>& out = gaps_[k];
        const std::size_t from = p_.entry(k, n.first[k]);
        const std::size_t size = static_cast<std::size_t>(n.last[k] - n.first[k]);
        out.assign(size, 0.0);
        for (std::size_t r = 0; r < p_.n_rates; ++r) {
            if (!p_.has_rate(r, k)) continue;
            const double *x = p_.rate(r) + from, w = weight_[r], low = n.low[r],
                         high = n.high[r];
            if (w > 0) {
                const double a = lean_[r * p_.n_groups + k];
                for (std::size_t i = 0; i < size; ++i)
                    out[i] += w * away(x[i], a, low, high);
            }
            if (n.limit[r] < infinity || p_.ratio[r] >= 0)
                for (std::size_t i = 0; i < size; ++i)
                    if (!(x[i] > n.after[r] &&
                          within(n.upto[r], x[i], n.limit[r], p_.ratio[r])))
                        out[i] = infinity;
        }
        for (std::size_t i = 0; i < size; ++i)
            if (out[i] < infinity) return true;
        return false;
    }

    std::size_t cheapest(const std::vector<double>& gap, const Cost* cost,
                         double nu) const noexcept {
        std::size_t best = 0;
        double least = infinity;
        for (std::size_t i = 0; i < gap.size(); ++i) {
            if (!(gap[i] < least))
                // costs are not negative, so the price is no lower than the gap
                continue;
            const double value =
                gap[i] + nu * (static_cast<double>(cost[i]) / p_.unit);
            if (value < least) {
                least = value;
                best = i;
            }
        }
        return best;
    }

    problem<Cost> p_;
    std::vector<double> weight_, members_;  // of each rate: members are groups
    std::vector<std::vector<double>> gaps_;
    std::vector<double> lean_;  // n_rates x n_groups: the price of moving a target
    std::vector<double> rounding_;  // of a rate's leans, for a box of width one
};

}  // namespace gstar
