// exact_targets.hpp - the least loss with penalties for any number of groups, with
// a proven bound.
//
// docs/reference/problem.md, "Penalties, more groups": boxes of targets are split, the one
// with the lowest bound first. The order of operations is that of the NumPy
// reference, so both open the same boxes.
#pragma once

#include <algorithm>  // push_heap, pop_heap, min, max
#include <cmath>      // fabs, sqrt
#include <cstddef>    // size_t
#include <cstdint>    // int64_t
#include <utility>    // move
#include <vector>

#include "gstar/base/deadline.hpp"
#include "gstar/solve/neighbours.hpp"
#include "gstar/solve/problem.hpp"
#include "gstar/solve/target_bounds.hpp"

namespace gstar {

template <class Cost>
class target_search {
public:
    explicit target_search(const problem<Cost>& p) : p_(p), bounds_(p), near_(p) {}

    /// Search from an allowed `guess` (or -1s); afterwards `numbers`, `loss` and
    /// `bound` are the answer. A node with many candidates counts as several
    /// towards `node_limit`, so that the limit bounds the work.
    void run(const std::int64_t* guess, std::size_t node_limit,
             const deadline& end = deadline()) {
        if (guess[0] >= 0)
            offer(std::vector<std::int64_t>(guess, guess + p_.n_groups));
        target_box root;
        root.low.assign(p_.n_rates, 0.0);
        root.high.assign(p_.n_rates, 1.0);
        root.after.assign(p_.n_rates, -infinity);
        root.upto.assign(p_.n_rates, infinity);
        for (std::size_t r = 0; r < p_.n_rates; ++r)
            root.limit.push_back(limit_under(r, p_.limit[r], p_.total));
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
            const target_box next = std::move(heap_.back());
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
    static constexpr double few = 50000;  ///< choices that are all tried at once
    static constexpr double small = 512;  ///< choices of a box that is not split
    /// Rates of candidates in a box that counts as one.
    static constexpr std::size_t most_prices = 30000;

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

    static bool later(const target_box& a, const target_box& b) noexcept {
        return a.bound != b.bound ? a.bound > b.bound : a.serial > b.serial;
    }

    choice key(std::vector<std::int64_t> numbers) const {
        std::int64_t distance = 0;
        for (std::size_t k = 0; k < p_.n_groups; ++k)
            distance += p_.distance[p_.entry(k, numbers[k])];
        const double loss = loss_of(p_, numbers.data());
        return {loss, distance, std::move(numbers)};
    }

    /// Whether a choice may be better than the best, as far as its neighbourhood tells.
    bool promising(const std::vector<std::int64_t>& numbers) {
        near_.leave_out(numbers.data(), 0);
        const double loss = near_.loss(static_cast<std::size_t>(numbers[0]));
        return loss < infinity && loss <= best_.loss * (1 + near_.margin);
    }

    void lean() {
        bounds_.lean(best_.numbers);
        leaned_ = true;
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

    void push(target_box n) {
        target_bound r;
        if (!bounds_.find(n, r) || r.bound > cutoff()) return;
        if (promising(r.numbers) && key(r.numbers) < best_) offer(r.numbers);
        const double limit = cutoff();
        // drop candidates too dear even with the others at their cheapest
        for (std::size_t k = 0; k < p_.n_groups; ++k) {
            const std::size_t from = p_.entry(k, n.first[k]),
                              size = bounds_.gaps(k).size();
            const auto value = [&](std::size_t i) {
                return bounds_.gaps(k)[i] +
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

    /// Rates to look at in a box.
    std::size_t prices(const target_box& n) const noexcept {
        std::int64_t candidates = 0;
        for (std::size_t k = 0; k < p_.n_groups; ++k)
            candidates += n.last[k] - n.first[k];
        return static_cast<std::size_t>(candidates) * p_.n_rates;
    }

    double choices(const target_box& n) const noexcept {
        double product = 1.0;
        for (std::size_t k = 0; k < p_.n_groups; ++k)
            product *= static_cast<double>(n.last[k] - n.first[k]);
        return product;
    }

    /// Try every choice of a small box.
    void enumerate(const target_box& n) {
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

    /// Split a box where its relaxation is furthest from the truth.
    void open(const target_box& n) {
        if (choices(n) <= small) return enumerate(n);
        if (!leaned_ && !best_.numbers.empty()) lean();
        target_bound r;
        if (!bounds_.find(n, r) || r.bound > cutoff()) return;
        target_box one = n, two = n;
        const box_cut cut = find_cut(p_, n.limit.data(), r.numbers.data());
        std::size_t rate = 0, k = 0;
        double at = 0.0;
        std::int64_t middle = 0;
        // a broken limit: cut its window, as in the search for limits
        if (cut.of_window) {
            one.upto[cut.rate] = std::min(one.upto[cut.rate], cut.at);
            two.after[cut.rate] = std::max(two.after[cut.rate], cut.at);
        } else if (cut.of_total) {  // limit the one gap of the sum, or the other
            one.limit[0] = cut.half[0];
            two.limit[1] = cut.half[1];
        } else if (bounds_.widest(n, r, best_.loss, rate, at)) {
            // the penalty a wide box sees is far below the true one
            one.high[rate] = two.low[rate] = at;
        } else {
            most_apart(n, r, k, middle);
            one.last[k] = two.first[k] = middle + 1;
        }
        push(std::move(one));
        push(std::move(two));
    }

    /// The group to split, and the last number of its lower half.
    void most_apart(const target_box& n, const target_bound& r, std::size_t& k,
                    std::int64_t& middle) const {
        bool found = false;
        double apart = 0.0;
        for (std::size_t a = 0; a < p_.n_groups; ++a) {
            const std::int64_t i = r.numbers[a], j = r.other[a];
            if (i == j) continue;
            const double difference =
                std::fabs(static_cast<double>(p_.cost[p_.entry(a, i)]) -
                          static_cast<double>(p_.cost[p_.entry(a, j)]));
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
    target_bounds<Cost> bounds_;
    bool leaned_ = false;  // whether `bounds_` lean as the best choice does
    neighbours<Cost> near_;
    choice best_;
    std::vector<target_box> heap_;
    std::size_t serial_ = 0, opened_ = 0;
};

}  // namespace gstar
