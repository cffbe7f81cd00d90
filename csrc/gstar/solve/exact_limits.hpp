// exact_limits.hpp - the certified optimum under limits, for any number of groups
// and any mix of criteria.
//
// docs/reference/problem.md, "Limits": boxes after < t <= upto of the smallest rate t of any
// group are opened in order of the cheapest choice their windows allow; the first
// such choice that meets every limit is the optimum, ties included. Where rates have
// bands, t is the smallest low end, and windows hold the high ends. A limit on the
// sum of two gaps cuts a box in two by narrower limits on the one and on the other.
#pragma once

#include <algorithm>  // push_heap, pop_heap
#include <cstddef>    // size_t
#include <cstdint>    // int64_t
#include <vector>

#include "gstar/base/deadline.hpp"
#include "gstar/solve/problem.hpp"

namespace gstar {

/// Boxes of windows, opened best bound first.
template <class Cost>
class window_search {
public:
    explicit window_search(const problem<Cost>& p)
        : p_(p), banded_(p.banded()), ranges_do_(!banded_) {
        falls_.resize(p_.n_rates);
        for (std::size_t r = 0; r < p_.n_rates; ++r) {
            falls_[r] = falls(r, p_.low(r)) && (!banded_ || falls(r, p_.high(r)));
            ranges_do_ = ranges_do_ && falls_[r];
        }
        block_first_.push_back(0);
        for (std::size_t k = 0; k < p_.n_groups; ++k) {
            const Cost* cost = p_.cost.data() + p_.first(k);
            for (std::size_t i = 0; i < p_.size(k); i += block) {
                Cost least = cost[i];
                for (std::size_t j = i; j < std::min(i + block, p_.size(k)); ++j)
                    least = std::min(least, cost[j]);
                block_least_.push_back(least);
            }
            block_first_.push_back(block_least_.size());
        }
        windows_.reserve(64 * node_doubles());
        places_.reserve(64 * 3 * p_.n_groups);
    }

    /// Find the optimum; false if no choice meets the limits, or if `node_limit` boxes
    /// or the time until `end` were not enough (see `finished`).
    bool run(std::int64_t* numbers, std::size_t node_limit,
             const deadline& end = deadline()) {
        start();
        while (!heap_.empty()) {
            if (opened_ > node_limit || (opened_ > 1 && end.passed())) {
                finished_ = false;
                bound_ = cost_[heap_.front()];
                return false;
            }
            const std::size_t box = pop();
            const box_cut cut = find_cut(p_, limit(box), choice(box));
            if (!cut.of_window && !cut.of_total) {
                std::copy(choice(box), choice(box) + p_.n_groups, numbers);
                return true;
            }
            const std::size_t other = copy_of(box);
            if (cut.of_window) {
                upto(box)[cut.rate] = std::min(upto(box)[cut.rate], cut.at);
                after(other)[cut.rate] = std::max(after(other)[cut.rate], cut.at);
            } else {
                limit(box)[0] = cut.half[0];
                limit(other)[1] = cut.half[1];
            }
            settle(box);
            settle(other);
        }
        return false;
    }

    /// Other limits for the next run, tolerance included; they are borrowed.
    void limit_to(span<const double> limit, double total) noexcept {
        p_.limit = limit;
        p_.total = total;
    }

    bool finished() const noexcept { return finished_; }
    Cost bound() const noexcept { return bound_; }
    std::size_t opened() const noexcept { return opened_; }

private:
    static constexpr std::size_t block = 64;

    std::size_t node_doubles() const noexcept { return 3 * p_.n_rates; }
    double* after(std::size_t box) noexcept {
        return windows_.data() + box * node_doubles();
    }
    double* upto(std::size_t box) noexcept { return after(box) + p_.n_rates; }
    double* limit(std::size_t box) noexcept { return upto(box) + p_.n_rates; }
    std::int64_t* choice(std::size_t box) noexcept {
        return places_.data() + box * 3 * p_.n_groups;
    }
    std::int64_t* from(std::size_t box) noexcept {
        return choice(box) + p_.n_groups;
    }
    std::int64_t* to(std::size_t box) noexcept { return from(box) + p_.n_groups; }

    /// Whether the values of a rate never rise with the candidate's number, in every
    /// group that has it.
    bool falls(std::size_t r, const double* values) const noexcept {
        for (std::size_t k = 0; k < p_.n_groups; ++k) {
            if (!p_.has_rate(r, k)) continue;
            const double* x = values + p_.first(k);
            for (std::size_t i = 1; i < p_.size(k); ++i)
                if (x[i] > x[i - 1]) return false;
        }
        return true;
    }

    /// The heap's order: cost, then distance, then lower thresholds; the first is
    /// on top.
    auto behind() noexcept {
        return [this](std::size_t a, std::size_t b) {
            if (cost_[a] != cost_[b]) return cost_[a] > cost_[b];
            if (distance_[a] != distance_[b]) return distance_[a] > distance_[b];
            const std::int64_t *x = choice(a), *y = choice(b);
            return std::lexicographical_compare(y, y + p_.n_groups, x,
                                                x + p_.n_groups);
        };
    }

    std::size_t pop() {
        std::pop_heap(heap_.begin(), heap_.end(), behind());
        const std::size_t box = heap_.back();
        heap_.pop_back();
        return box;
    }

    std::size_t new_box() {
        if (!free_.empty()) {
            const std::size_t box = free_.back();
            free_.pop_back();
            return box;
        }
        const std::size_t box = cost_.size();
        windows_.resize((box + 1) * node_doubles());
        places_.resize((box + 1) * 3 * p_.n_groups);
        cost_.push_back(0);
        distance_.push_back(0);
        return box;
    }

    /// Forget what was found, and queue the box of all candidates.
    void start() {
        heap_.clear();
        free_.clear();
        cost_.clear();
        distance_.clear();
        opened_ = 0;
        finished_ = true;
        const std::size_t box = new_box();
        std::fill(after(box), upto(box), -infinity);
        std::fill(upto(box), limit(box), infinity);
        for (std::size_t r = 0; r < p_.n_rates; ++r)
            limit(box)[r] = limit_under(r, p_.limit[r], p_.total);
        for (std::size_t k = 0; k < p_.n_groups; ++k) {
            choice(box)[k] = -1;
            from(box)[k] = 0;
            to(box)[k] = static_cast<std::int64_t>(p_.size(k));
        }
        settle(box);
    }

    /// Whether the window of a rate admits entry i. A band that is too wide by itself
    /// never fits: t is no higher than its low end.
    bool admits(std::size_t box, std::size_t r, std::size_t i) noexcept {
        const double low = p_.low(r)[i], high = p_.high(r)[i], most = limit(box)[r];
        return low > after(box)[r] &&
               within(upto(box)[r], high, most, p_.ratio[r]) &&
               (!banded_ || within(low, high, most, p_.ratio[r]));
    }

    /// Whether entry i of a group leaves the sum of the first two gaps within its limit:
    /// t is no higher than the window, and no higher than a low end.
    bool keeps_total(std::size_t box, std::size_t k, std::size_t i) noexcept {
        double sum = 0.0;
        for (std::size_t r = 0; r < 2; ++r) {
            if (!p_.has_rate(r, k)) continue;
            const double high = p_.high(r)[i];
            double most = upto(box)[r];
            if (banded_) most = std::min(most, p_.low(r)[i]);
            sum += std::max(high - most, 0.0);
        }
        return sum <= p_.total;
    }

    /// Narrow a group's range to the window of a falling rate: numbers before
    /// `from` are too high, from `to` too low.
    void narrow(std::size_t box, std::size_t r, std::size_t k) noexcept {
        const double *lows = p_.low(r) + p_.first(k),
                     *highs = p_.high(r) + p_.first(k), low = after(box)[r],
                     high = upto(box)[r], most = limit(box)[r];
        std::int64_t &lo = from(box)[k], &hi = to(box)[k];
        lo = std::partition_point(highs + lo, highs + hi,
                                  [&](double rate) {
                                      return !within(high, rate, most, p_.ratio[r]);
                                  }) -
             highs;
        hi = std::partition_point(lows + lo, lows + hi,
                                  [&](double rate) { return rate > low; }) -
             lows;
    }

    /// Narrow a group's range of falling rates to what keeps the sum of two gaps.
    void narrow_total(std::size_t box, std::size_t k) noexcept {
        std::int64_t lo = from(box)[k], hi = to(box)[k];
        while (lo < hi) {
            const std::int64_t middle = lo + (hi - lo) / 2;
            if (keeps_total(box, k, p_.entry(k, middle)))
                hi = middle;
            else
                lo = middle + 1;
        }
        from(box)[k] = lo;
    }

    /// The best admissible candidate of a group by cost, distance and number; -1 if
    /// there is none.
    std::int64_t best(std::size_t box, std::size_t k) noexcept {
        const std::size_t base = p_.first(k);
        const Cost* cost = p_.cost.data() + base;
        const std::int64_t* distance = p_.distance.data() + base;
        const std::size_t lo = static_cast<std::size_t>(from(box)[k]),
                          hi = static_cast<std::size_t>(to(box)[k]);
        const Cost* least = block_least_.data() + block_first_[k];
        std::int64_t found = -1;
        Cost cheapest{};
        for (std::size_t i = lo; i < hi;) {
            const std::size_t end = std::min(hi, (i / block + 1) * block);
            if (found < 0 || !(least[i / block] > cheapest)) {
                for (; i < end; ++i) {
                    if (found >= 0 &&
                        (cost[i] > cheapest ||
                         (cost[i] == cheapest && distance[i] >= distance[found])))
                        continue;
                    if (!ranges_do_ && !admit(box, k, base + i, true)) continue;
                    found = static_cast<std::int64_t>(i);
                    cheapest = cost[i];
                }
            }
            i = end;
        }
        return found;
    }

    /// Whether entry i of a group is admitted by all rates; `in_range`, only those are
    /// asked that its range does not answer for: accuracies, which do not fall with
    /// the threshold, and bands by their widths.
    bool admit(std::size_t box, std::size_t k, std::size_t i,
               bool in_range = false) noexcept {
        for (std::size_t r = 0; r < p_.n_rates; ++r) {
            if (in_range && falls_[r] && !banded_) continue;
            if (p_.has_rate(r, k) && !admits(box, r, i)) return false;
        }
        return !p_.totalled() || keeps_total(box, k, i);
    }

    /// Choose for a box whose windows have just changed, and queue it unless a
    /// group is left with nothing.
    void settle(std::size_t box) {
        Cost cost = 0;
        std::int64_t distance = 0;
        for (std::size_t k = 0; k < p_.n_groups; ++k) {
            std::int64_t& number = choice(box)[k];
            // a choice that was best among more candidates is still best, if it may
            // stay
            if (number < 0 || !admit(box, k, p_.entry(k, number))) {
                for (std::size_t r = 0; r < p_.n_rates; ++r)
                    if (falls_[r] && p_.has_rate(r, k)) narrow(box, r, k);
                if (ranges_do_ && p_.totalled()) narrow_total(box, k);
                number = best(box, k);
                if (number < 0) {
                    free_.push_back(box);
                    return;
                }
            }
            const std::size_t i = p_.entry(k, number);
            cost += p_.cost[i];
            distance += p_.distance[i];
        }
        cost_[box] = cost;
        distance_[box] = distance;
        ++opened_;
        heap_.push_back(box);
        std::push_heap(heap_.begin(), heap_.end(), behind());
    }

    /// A new box like this one; may move the arrays, so pointers are taken afresh.
    std::size_t copy_of(std::size_t box) {
        const std::size_t other = new_box();
        std::copy(after(box), after(box) + node_doubles(), after(other));
        std::copy(choice(box), choice(box) + 3 * p_.n_groups, choice(other));
        return other;
    }

    problem<Cost> p_;
    bool banded_;
    std::vector<bool> falls_;
    bool ranges_do_;  // a group's range holds no other candidates than its windows
    std::vector<Cost> block_least_;
    std::vector<std::size_t> block_first_;
    std::vector<double> windows_;       // after, upto and limits of each box
    std::vector<std::int64_t> places_;  // choice, from and to of each box
    std::vector<Cost> cost_;
    std::vector<std::int64_t> distance_;
    std::vector<std::size_t> heap_, free_;
    std::size_t opened_ = 0;
    bool finished_ = true;
    Cost bound_{};
};

}  // namespace gstar
