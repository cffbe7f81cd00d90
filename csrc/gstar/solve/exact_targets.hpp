// exact_targets.hpp - the least loss with penalties for any number of groups, with
// a proven bound.
//
// docs/reference/problem.md, "Penalties, more groups". The mean squared difference over pairs
// of groups is 2 / (K - 1) times the least sum of squared distances to a common
// target, and E^2 >= nu E - nu^2 / 4. With the targets in boxes, a price for moving
// each group's own target, and nu fixed, groups separate. The order of operations is
// that of the NumPy reference, so both open the same nodes.
#pragma once

#include <algorithm>  // push_heap, pop_heap, min, max
#include <cmath>      // fabs, sqrt
#include <cstddef>    // size_t
#include <cstdint>    // int64_t
#include <limits>
#include <utility>  // move
#include <vector>

#include "gstar/base/deadline.hpp"
#include "gstar/solve/neighbours.hpp"
#include "gstar/solve/problem.hpp"

namespace gstar {

template <class Cost>
class target_search {
public:
    explicit target_search(const problem<Cost>& p)
        : p_(p), weight_(p.n_rates, 0.0), near_(p) {
        for (std::size_t r = 0; r < p.n_rates; ++r) {
            std::size_t members = 0;
            for (std::size_t k = 0; k < p.n_groups; ++k)
                members += p.has_rate(r, k);
            if (members > 1)
                weight_[r] = 2 * p.penalty[r] / static_cast<double>(members - 1);
            any_limit_ = any_limit_ || p.limited(r);
        }
        gaps_.resize(p.n_groups);
        lean_.assign(p.n_rates * p.n_groups, 0.0);
        rounding_.assign(p.n_rates, 0.0);
    }

    /// Search from an allowed `guess` (or -1s); afterwards `numbers`, `loss` and
    /// `bound` are the answer. A node with many candidates counts as several
    /// towards `node_limit`, so that the limit bounds the work.
    void run(const std::int64_t* guess, std::size_t node_limit,
             const deadline& end = deadline()) {
        if (guess[0] >= 0)
            offer(std::vector<std::int64_t>(guess, guess + p_.n_groups));
        node root;
        root.low.assign(p_.n_rates, 0.0);
        root.high.assign(p_.n_rates, 1.0);
        root.after.assign(p_.n_rates, -infinity);
        root.upto.assign(p_.n_rates, infinity);
        root.first.assign(p_.n_groups, 0);
        for (std::size_t k = 0; k < p_.n_groups; ++k)
            root.last.push_back(static_cast<std::int64_t>(p_.size(k)));
        if (choices(root) <= few) return enumerate(root);
        root.nu = best_.loss < infinity ? 2 * std::sqrt(best_.loss) : 1.0;
        if (!best_.numbers.empty()) lean();
        push(root);
        std::size_t spent = 0;
        while (!heap_.empty() && heap_.front().bound <= cutoff() &&
               spent < node_limit && !end.passed()) {
            ++opened_;
            std::pop_heap(heap_.begin(), heap_.end(), later);
            const node next = std::move(heap_.back());
            heap_.pop_back();
            spent += 1 + prices(next) / most_prices;
            open(next);
        }
    }

    std::vector<std::int64_t> numbers() const {
        return best_.numbers.empty() ? std::vector<std::int64_t>(p_.n_groups, -1)
                                     : best_.numbers;
    }
    double loss() const noexcept { return best_.loss; }
    double bound() const noexcept {
        return heap_.empty() ? best_.loss
                             : std::min(best_.loss, heap_.front().bound);
    }
    std::size_t opened() const noexcept { return opened_; }

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static constexpr double few =
        50000;  ///< choices that are tried one by one from the start
    static constexpr double small =
        512;  ///< choices of a node that are tried rather than split further

    static constexpr std::size_t most_prices =
        30000;  ///< rates of candidates in a node that counts as one

    /// Choices with targets in [low, high], limit windows (after, upto] and
    /// candidates first <= number < last.
    struct node {
        double bound = 0.0;
        std::size_t serial = 0;
        std::vector<double> low, high, after, upto;
        std::vector<std::int64_t> first, last;
        double nu = 1.0;
    };

    struct relaxed {
        double bound = 0.0, nu = 0.0;
        std::vector<std::int64_t> numbers, other;
    };

    struct choice {
        double loss = infinity;
        std::int64_t distance = 0;
        std::vector<std::int64_t> numbers;

        bool operator<(const choice& o) const noexcept {
            if (loss != o.loss) return loss < o.loss;
            if (distance != o.distance) return distance < o.distance;
            return numbers < o.numbers;
        }
    };

    static bool later(const node& a, const node& b) noexcept {
        return a.bound != b.bound ? a.bound > b.bound : a.serial > b.serial;
    }

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

    /// Let each group lean as far as its rate is from the mean in the best choice. The
    /// leans of a rate add up to zero, so all groups together pay nothing for moving
    /// the target: any leans give a bound, and these make it the loss itself at the
    /// best choice. What rounding can add is kept for `relax` to subtract.
    void lean() {
        for (std::size_t r = 0; r < p_.n_rates; ++r) {
            if (!(weight_[r] > 0)) continue;
            double* a = lean_.data() + r * p_.n_groups;
            double mean = 0.0, members = 0.0, so_far = 0.0, sum = 0.0;
            std::size_t last = 0;
            for (std::size_t k = 0; k < p_.n_groups; ++k)
                if (p_.has_rate(r, k)) {
                    mean += rate_of(r, k, best_.numbers);
                    members += 1.0;
                    last = k;
                }
            mean /= members;
            for (std::size_t k = 0; k < p_.n_groups; ++k) {
                if (!p_.has_rate(r, k)) continue;
                a[k] = k == last ? -so_far : rate_of(r, k, best_.numbers) - mean;
                so_far += a[k];
                sum += std::fabs(a[k]);
            }
            rounding_[r] = 4.5e-16 * weight_[r] * members * sum;
        }
        leaned_ = true;
    }

    double rate_of(std::size_t r, std::size_t k,
                   const std::vector<std::int64_t>& numbers) const noexcept {
        return p_.rate(r)[p_.first(k) + static_cast<std::size_t>(numbers[k])];
    }

    /// Prices of a group's candidates, the error aside; infinity where a window shuts
    /// one out.
    bool price(const node& n, std::size_t k) {
        std::vector<double>& out = gaps_[k];
        const std::size_t from = p_.first(k) + static_cast<std::size_t>(n.first[k]);
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
            if (p_.limited(r))
                for (std::size_t i = 0; i < size; ++i)
                    if (!(x[i] > n.after[r] &&
                          within(n.upto[r], x[i], p_.limit[r], p_.ratio[r])))
                        out[i] = infinity;
        }
        for (std::size_t i = 0; i < size; ++i)
            if (out[i] < infinity) return true;
        return false;
    }

    /// Maximise over nu the sum of each group's cheapest candidate; false if a
    /// group has none.
    bool relax(const node& n, relaxed& best) {
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
                const std::size_t from =
                    p_.first(k) + static_cast<std::size_t>(n.first[k]);
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

    choice key(std::vector<std::int64_t> numbers) const {
        std::int64_t distance = 0;
        for (std::size_t k = 0; k < p_.n_groups; ++k)
            distance +=
                p_.distance[p_.first(k) + static_cast<std::size_t>(numbers[k])];
        const double loss = loss_of(p_, numbers.data());
        return {loss, distance, std::move(numbers)};
    }

    /// Whether a choice may be better than the best, as far as its neighbourhood tells.
    bool promising(const std::vector<std::int64_t>& numbers) {
        near_.leave_out(numbers.data(), 0);
        const double loss = near_.loss(static_cast<std::size_t>(numbers[0]));
        return loss < infinity && loss <= best_.loss * (1 + near_.margin);
    }

    void keep(choice found) {
        if (!(found < best_)) return;
        best_ = std::move(found);
        leaned_ = false;
    }

    /// Descend from an allowed choice, one group at a time, and keep the result if
    /// it is the best so far.
    void offer(std::vector<std::int64_t> numbers) {
        choice current = key(std::move(numbers));
        std::vector<double> losses;
        for (int round = 0; round < 20; ++round) {
            const choice before = current;
            for (std::size_t k = 0; k < p_.n_groups; ++k) {
                near_.leave_out(current.numbers.data(), k);
                losses.resize(p_.size(k));
                double least = infinity;
                for (std::size_t i = 0; i < losses.size(); ++i) {
                    losses[i] = near_.loss(i);
                    least = std::min(least, losses[i]);
                }
                for (std::size_t i = 0; i < losses.size(); ++i) {
                    if (!(losses[i] < infinity &&
                          losses[i] <= least * (1 + near_.margin)) ||
                        static_cast<std::int64_t>(i) == current.numbers[k])
                        continue;
                    std::vector<std::int64_t> trial = current.numbers;
                    trial[k] = static_cast<std::int64_t>(i);
                    choice candidate = key(std::move(trial));
                    if (candidate < current) current = std::move(candidate);
                }
            }
            if (!(current < before)) break;
        }
        keep(std::move(current));
    }

    /// Bounds above this cannot hold a better choice; the margin covers rounding in
    /// the bound.
    double cutoff() const noexcept { return best_.loss * (1 + 1e-13) + 1e-18; }

    void push(node n) {
        relaxed r;
        if (!relax(n, r) || r.bound > cutoff()) return;
        if (promising(r.numbers) && key(r.numbers) < best_) offer(r.numbers);
        const double limit = cutoff();
        for (std::size_t k = 0; k < p_.n_groups;
             // drop candidates too dear even with the others at their cheapest
             ++k) {
            const std::size_t from = p_.first(k) +
                                     static_cast<std::size_t>(n.first[k]),
                              size = gaps_[k].size();
            const auto value = [&](std::size_t i) {
                return gaps_[k][i] +
                       r.nu * (static_cast<double>(p_.cost[from + i]) / p_.unit);
            };
            const double others =
                r.bound -
                value(static_cast<std::size_t>(r.numbers[k] - n.first[k]));
            std::size_t lo = 0, hi = size;
            while (lo < size && !(others + value(lo) <= limit)) ++lo;
            if (lo == size) return;
            while (!(others + value(hi - 1) <= limit)) --hi;
            n.last[k] = n.first[k] + static_cast<std::int64_t>(hi);
            n.first[k] += static_cast<std::int64_t>(lo);
        }
        n.bound = std::max(n.bound, r.bound);
        n.nu = r.nu;
        n.serial = ++serial_;
        heap_.push_back(std::move(n));
        std::push_heap(heap_.begin(), heap_.end(), later);
    }

    /// Rates to look at in a node.
    std::size_t prices(const node& n) const noexcept {
        std::int64_t candidates = 0;
        for (std::size_t k = 0; k < p_.n_groups; ++k)
            candidates += n.last[k] - n.first[k];
        return static_cast<std::size_t>(candidates) * p_.n_rates;
    }

    double choices(const node& n) const noexcept {
        double product = 1.0;
        for (std::size_t k = 0; k < p_.n_groups; ++k)
            product *= static_cast<double>(n.last[k] - n.first[k]);
        return product;
    }

    /// Try every choice of a small node.
    void enumerate(const node& n) {
        std::vector<std::int64_t> numbers = n.first;
        for (;;) {
            if (promising(numbers)) keep(key(numbers));
            std::size_t k = p_.n_groups;
            while (k > 0 && ++numbers[k - 1] == n.last[k - 1]) {
                --k;
                numbers[k] = n.first[k];
            }
            if (k == 0) return;
        }
    }

    /// Split a node where its relaxation is furthest from the truth.
    void open(const node& n) {
        if (choices(n) <= small) return enumerate(n);
        if (!leaned_ && !best_.numbers.empty()) lean();
        relaxed r;
        if (!relax(n, r) || r.bound > cutoff()) return;
        node one = n, two = n;
        const window_cut cut = any_limit_
                                   ? find_cut(p_, p_.limit.data(), r.numbers.data())
                                   : window_cut{};
        std::size_t rate = 0, k = 0;
        double at = 0.0;
        std::int64_t middle = 0;
        // a broken limit: cut its window, as in the search for limits
        if (cut.found) {
            one.upto[cut.rate] = std::min(one.upto[cut.rate], cut.at);
            two.after[cut.rate] = std::max(two.after[cut.rate], cut.at);
        } else if (
            widest_target(
                n, r, rate,
                at)) {  // the penalty a wide box sees is far below the true one
            one.high[rate] = two.low[rate] = at;
        } else {
            most_apart(n, r, k, middle);
            one.last[k] = two.first[k] = middle + 1;
        }
        push(std::move(one));
        push(std::move(two));
    }

    /// The rate whose penalty is most underrated, if by more than the error term,
    /// and where to cut its box.
    bool widest_target(const node& n, const relaxed& r, std::size_t& rate,
                       double& at) const {
        double error = 0.0;
        for (std::size_t k = 0; k < p_.n_groups; ++k)
            error +=
                static_cast<double>(
                    p_.cost[p_.first(k) + static_cast<std::size_t>(r.numbers[k])]) /
                p_.unit;
        double slack = (error - r.nu / 2) * (error - r.nu / 2);
        bool found = false;
        for (std::size_t q = 0; q < p_.n_rates; ++q) {
            const double low = n.low[q], high = n.high[q];
            // a box this narrow hides next to nothing: splitting candidates gets
            // further
            if (!(weight_[q] * (high - low) * (high - low) > 1e-11 * best_.loss))
                continue;
            double mean = 0.0, members = 0.0;
            for (std::size_t k = 0; k < p_.n_groups; ++k)
                if (p_.has_rate(q, k)) {
                    mean += rate_of(q, k, r.numbers);
                    members += 1.0;
                }
            mean /= members;
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

    /// The group to split, and the last number of its lower half.
    void most_apart(const node& n, const relaxed& r, std::size_t& k,
                    std::int64_t& middle) const {
        bool found = false;
        double apart = 0.0;
        for (std::size_t a = 0; a < p_.n_groups; ++a) {
            const std::int64_t i = r.numbers[a], j = r.other[a];
            if (i == j) continue;
            const double difference =
                std::fabs(static_cast<double>(
                              p_.cost[p_.first(a) + static_cast<std::size_t>(i)]) -
                          static_cast<double>(
                              p_.cost[p_.first(a) + static_cast<std::size_t>(j)]));
            if (found && !(difference > apart)) continue;
            found = true;
            apart = difference;
            k = a;
            middle = (i + j) / 2;
        }
        if (found) return;
        k = 0;
        for (std::size_t a = 1; a < p_.n_groups; ++a)
            if (n.last[a] - n.first[a] > n.last[k] - n.first[k]) k = a;
        middle = r.numbers[k] < n.last[k] - 1 ? r.numbers[k] : r.numbers[k] - 1;
    }

    problem<Cost> p_;
    std::vector<double> weight_;
    bool any_limit_ = false;
    std::vector<std::vector<double>>
        gaps_;                  // priced candidates of the node last relaxed
    std::vector<double> lean_;  // n_rates x n_groups: the price of moving a target
    std::vector<double> rounding_;  // of a rate's leans, for a box of width one
    bool leaned_ = false;           // whether `lean_` is that of the best choice
    neighbours<Cost> near_;
    choice best_;
    std::vector<node> heap_;
    std::size_t serial_ = 0, opened_ = 0;
};

}  // namespace gstar
