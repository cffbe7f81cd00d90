// frontier.hpp - every choice nobody dominates in (cost, gap).
//
// Two groups: one search over blocks of pairs, against the staircase found so far.
// More groups: the window search, again and again with the limit just under the
// last gap.
#pragma once

#include <algorithm>  // lower_bound, min, max, push_heap, pop_heap
#include <cmath>      // nextafter
#include <cstddef>    // size_t
#include <cstdint>    // int64_t
#include <vector>

#include "gstar/base/deadline.hpp"  // infinity
#include "gstar/solve/blocks.hpp"
#include "gstar/solve/exact_limits.hpp"
#include "gstar/solve/problem.hpp"

namespace gstar {

/// Points from the smallest gap to the least cost.
template <class Cost>
struct frontier_points {
    std::vector<Cost> cost;
    std::vector<double> gap;
    std::vector<std::int64_t> numbers;  ///< points x groups
    double proven_to = 0.0;             ///< complete for gaps from here up
};

/// The frontier of two groups. `swept` says which rates make up the gap, from the
/// lowest low end to the highest high end; the others keep their limits. The gap is
/// the largest of theirs or, if `added`, the sum of those of the first two rates.
template <class Cost>
class pair_frontier {
public:
    pair_frontier(const problem<Cost>& p, const std::uint8_t* swept,
                  bool added = false)
        : p_(p),
          swept_(swept, swept + p.n_rates),
          added_(added),
          first_(p, 0),
          second_(p, 1) {}

    frontier_points<Cost> run() {
        seed();
        push(first_.root(), second_.root());
        while (!heap_.empty()) {
            std::pop_heap(heap_.begin(), heap_.end(), later);
            const node n = heap_.back();
            heap_.pop_back();
            if (open(n)) visit(n);
        }
        frontier_points<Cost> out;
        for (const step& s : stairs_) {
            out.cost.push_back(s.cost);
            out.gap.push_back(s.gap);
            out.numbers.push_back(s.i);
            out.numbers.push_back(s.j);
        }
        return out;
    }

private:
    using block = typename block_tree<Cost>::block;

    struct step {
        double gap;
        Cost cost;
        std::int64_t distance, i, j;
    };

    struct limits {
        double gap;  ///< infinity if a fixed limit forbids the block
        Cost cost;
    };

    limits bound(block a, block b) const noexcept {
        double gap = 0.0, total = 0.0;
        for (std::size_t r = 0; r < p_.n_rates; ++r) {
            if (!p_.has_rate(r, 0) || !p_.has_rate(r, 1)) continue;
            // no pair's high end is below the first of these, nor its low end above
            // the second
            const double high = std::max(first_.low(a, r), second_.low(b, r)),
                         low = std::min(first_.high(a, r), second_.high(b, r));
            if (!(high > low)) continue;
            if (!within(low, high, p_.limit[r], p_.ratio[r])) return {infinity, 0};
            if (r < 2) total += high - low;
            if (swept_[r] && high - low > gap) gap = high - low;
        }
        if (!(total <= p_.total)) return {infinity, 0};
        return {added_ ? total : gap, first_.least(a) + second_.least(b)};
    }

    /// The cheapest step whose gap is at most this; the end of the stairs if there
    /// is none.
    std::size_t step_at(double gap) const noexcept {
        // halving without branches: the stairs are asked tens of thousands of
        // times, and which way is anybody's guess
        const double* at = gaps_.data();
        for (std::size_t left = gaps_.size(); left > 1;) {
            const std::size_t half = left / 2;
            at += at[half] <= gap ? half : 0;
            left -= half;
        }
        return gaps_.empty() || *at > gap
                   ? stairs_.size()
                   : static_cast<std::size_t>(at - gaps_.data());
    }

    /// Whether something as good as this would change the stairs, by cost, gap,
    /// distance and lower thresholds.
    bool open(const limits& l, std::int64_t distance, std::int64_t i,
              std::int64_t j) const noexcept {
        if (l.gap == infinity) return false;
        const std::size_t at = step_at(l.gap);
        if (at == stairs_.size()) return true;
        const step& s = stairs_[at];
        if (s.cost != l.cost) return l.cost < s.cost;
        if (s.gap != l.gap) return false;
        if (s.distance != distance) return distance < s.distance;
        return i != s.i ? i < s.i : j < s.j;
    }

    /// Drop every step this one dominates (or beats in a tie), then put it in its
    /// place.
    void insert(const step& s) {
        const std::size_t from = static_cast<std::size_t>(
            std::lower_bound(gaps_.begin(), gaps_.end(), s.gap) - gaps_.begin());
        std::size_t to = from;
        while (to < stairs_.size() && stairs_[to].cost >= s.cost) ++to;
        const auto at = static_cast<std::ptrdiff_t>(from),
                   end = static_cast<std::ptrdiff_t>(to);
        if (from == to) {
            stairs_.insert(stairs_.begin() + at, s);
            gaps_.insert(gaps_.begin() + at, s.gap);
        } else {
            stairs_[from] = s;
            gaps_[from] = s.gap;
            stairs_.erase(stairs_.begin() + at + 1, stairs_.begin() + end);
            gaps_.erase(gaps_.begin() + at + 1, gaps_.begin() + end);
        }
    }

    /// Good points to begin with: for candidates of the first group here and there,
    /// the nearest rates of the second.
    void seed() {
        const std::size_t n = p_.size(0), base = p_.first(1), stride = n / 256 + 1;
        for (std::size_t i = 0; i < n; i += stride) {
            for (std::size_t r = 0; r < p_.n_rates; ++r) {
                if (!swept_[r] || !p_.has_rate(r, 0) || !p_.has_rate(r, 1))
                    continue;
                const double x = p_.rate(r)[i];
                const double* y = p_.rate(r) + base;
                const double* near = std::partition_point(
                    y, y + p_.size(1), [x](double rate) { return rate > x; });
                if (near != y + p_.size(1))
                    offer(i, static_cast<std::size_t>(near - y));
            }
        }
    }

    void offer(std::size_t i, std::size_t j) {
        const std::size_t base = p_.first(1);
        const Cost cost = p_.cost[i] + p_.cost[base + j];
        double gap = 0.0, total = 0.0;
        for (std::size_t r = 0; r < p_.n_rates; ++r) {
            if (!p_.has_rate(r, 0) || !p_.has_rate(r, 1)) continue;
            const double low = std::min(p_.low(r)[i], p_.low(r)[base + j]),
                         high = std::max(p_.high(r)[i], p_.high(r)[base + j]);
            if (!within(low, high, p_.limit[r], p_.ratio[r])) return;
            if (r < 2) total += high - low;
            if (swept_[r] && high - low > gap) gap = high - low;
        }
        if (!(total <= p_.total)) return;
        if (added_) gap = total;
        const std::int64_t distance = p_.distance[i] + p_.distance[base + j];
        const std::int64_t a = static_cast<std::int64_t>(i),
                           b = static_cast<std::int64_t>(j);
        if (open({gap, cost}, distance, a, b)) insert({gap, cost, distance, a, b});
    }

    struct node {
        limits l;
        block a, b;
    };

    /// The heap's order: fair first, so that new steps come near the end of the
    /// stairs.
    static bool later(const node& x, const node& y) noexcept {
        return x.l.gap != y.l.gap ? x.l.gap > y.l.gap : x.l.cost > y.l.cost;
    }

    bool open(const node& n) const noexcept {
        return open(n.l, first_.near(n.a) + second_.near(n.b),
                    static_cast<std::int64_t>(first_.begin(n.a)),
                    static_cast<std::int64_t>(second_.begin(n.b)));
    }

    void push(block a, block b) {
        const node n{bound(a, b), a, b};
        if (!open(n)) return;
        heap_.push_back(n);
        std::push_heap(heap_.begin(), heap_.end(), later);
    }

    void visit(const node& n) {
        const block a = n.a, b = n.b;
        if (a.level == 0 && b.level == 0) {
            // no pair of this block may cost more than the stairs at the block's
            // smallest gap
            const std::size_t at = step_at(n.l.gap), base = p_.first(1);
            const bool known = at < stairs_.size();
            const Cost most = known ? stairs_[at].cost : Cost{};
            for (std::size_t i = first_.begin(a); i < first_.end(a); ++i)
                for (std::size_t j = second_.begin(b); j < second_.end(b); ++j)
                    if (!known || p_.cost[i] + p_.cost[base + j] <= most)
                        offer(i, j);
            return;
        }
        halve_pair(first_, a, second_, b, [&](block x, block y) { push(x, y); });
    }

    problem<Cost> p_;
    std::vector<std::uint8_t> swept_;
    bool added_;
    block_tree<Cost> first_, second_;
    std::vector<step> stairs_;  // gaps rise, costs fall
    std::vector<double> gaps_;  // of the stairs
    std::vector<node> heap_;
};

/// The frontier of any number of groups, by descending gaps; stops early after
/// `node_limit` boxes in all.
template <class Cost>
frontier_points<Cost> descend_frontier(const problem<Cost>& p,
                                       const std::uint8_t* swept,
                                       std::size_t node_limit, bool added = false) {
    frontier_points<Cost> out;
    std::vector<double> limit(p.limit.begin(), p.limit.end());
    std::vector<std::int64_t> numbers(p.n_groups);
    std::size_t opened = 0;
    double total = p.total;
    window_search<Cost> search(p);
    for (;;) {
        const bool found = search.run(numbers.data(), node_limit - opened);
        opened += search.opened();
        if (!found) {
            if (!search.finished())
                out.proven_to = !out.gap.empty() ? out.gap.back()
                                : added          ? 2.0
                                                 : 1.0;
            break;
        }
        Cost cost = 0;
        for (std::size_t k = 0; k < p.n_groups; ++k)
            cost += p.cost[p.entry(k, numbers[k])];
        double gap = 0.0;
        for (std::size_t r = 0; r < p.n_rates; ++r) {
            if (!swept[r]) continue;
            double low, high;
            extremes(p, r, numbers.data(), low, high);
            gap = added && r < 2 ? gap + (high - low) : std::max(gap, high - low);
        }
        if (!out.cost.empty() && out.cost.back() == cost) {
            // as cheap and fairer: the last point was dominated
            out.cost.pop_back();
            out.gap.pop_back();
            out.numbers.resize(out.numbers.size() - p.n_groups);
        }
        out.cost.push_back(cost);
        out.gap.push_back(gap);
        out.numbers.insert(out.numbers.end(), numbers.begin(), numbers.end());
        if (!(gap > 0) || opened >= node_limit) {
            if (gap > 0) out.proven_to = gap;
            break;
        }
        const double less = std::nextafter(gap, -1.0);
        if (added) total = std::min(p.total, less);
        for (std::size_t r = 0; r < p.n_rates && !added; ++r)
            if (swept[r]) limit[r] = std::min(p.limit[r], less);
        search.limit_to(limit, total);
    }
    // found from the least cost to the smallest gap: turn round
    std::reverse(out.cost.begin(), out.cost.end());
    std::reverse(out.gap.begin(), out.gap.end());
    const auto n_groups = static_cast<std::ptrdiff_t>(p.n_groups);
    if (out.gap.empty()) return out;
    for (auto a = out.numbers.begin(), b = out.numbers.end() - n_groups; a < b;
         a += n_groups, b -= n_groups)
        std::swap_ranges(a, a + n_groups, b);
    return out;
}

}  // namespace gstar
