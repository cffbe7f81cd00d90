// exact_pair.hpp - the certified least loss of two groups, penalties and limits
// together.
//
// All pairs of candidates are in reach; blocks of them are thrown away when even
// their best cannot win. A bound is computed with the operations of the loss
// itself, on smaller numbers, so rounding cannot lift it above a loss it bounds.
#pragma once

#include <cstddef>  // size_t
#include <cstdint>  // int64_t

#include "gstar/base/deadline.hpp"  // infinity
#include "gstar/solve/blocks.hpp"
#include "gstar/solve/problem.hpp"

namespace gstar {

template <class Cost>
class pair_search {
public:
    explicit pair_search(const problem<Cost>& p)
        : p_(p), first_(p, 0), second_(p, 1) {}

    /// The best pair by loss, distance and lower thresholds; false if the limits
    /// forbid every pair.
    bool run(std::int64_t numbers[2], double& loss) {
        visit(first_.root(), second_.root(), bound(first_.root(), second_.root()));
        numbers[0] = best_.i;
        numbers[1] = best_.j;
        loss = best_.loss;
        return best_.i >= 0;
    }

    /// As `run`, under other penalties (one a rate), for pairs with a loss below
    /// `less_than`; false if there are none.
    bool run_below(const double* penalty, double less_than, std::int64_t numbers[2],
                   double& loss) {
        p_.penalty = {penalty, p_.n_rates};
        best_ = found{};
        best_.loss = less_than;
        return run(numbers, loss);
    }

    std::size_t opened() const noexcept { return opened_; }

private:
    using block = typename block_tree<Cost>::block;

    struct found {
        double loss = infinity;
        std::int64_t distance = 0, i = -1, j = -1;
    };

    /// The loss no pair of these blocks can beat; infinity if a limit forbids them
    /// all.
    double bound(block a, block b) const noexcept {
        const double error =
            static_cast<double>(first_.least(a) + second_.least(b)) / p_.unit;
        double loss = error * error, total = 0.0;
        for (std::size_t r = 0; r < p_.n_rates; ++r) {
            if (!p_.has_rate(r, 0) || !p_.has_rate(r, 1)) continue;
            double low = second_.high(b, r), high = first_.low(a, r);
            if (high < low) {
                low = first_.high(a, r);
                high = second_.low(b, r);
            }
            if (!(high > low)) continue;  // the ranges meet
            if (!within(low, high, p_.limit[r], p_.ratio[r])) return infinity;
            if (r < 2) total += high - low;
            loss += p_.penalty[r] * ((high - low) * (high - low));
        }
        return total <= p_.total ? loss : infinity;
    }

    /// Whether a block with this bound may still hold the winner, ties included.
    bool open(double loss, block a, block b) const noexcept {
        if (loss != best_.loss) return loss < best_.loss;
        return wins_tie(first_.near(a) + second_.near(b),
                        static_cast<std::int64_t>(first_.begin(a)),
                        static_cast<std::int64_t>(second_.begin(b)));
    }

    void visit(block a, block b, double loss) {
        if (!open(loss, a, b)) return;
        ++opened_;
        if (a.level == 0 && b.level == 0) {
            scan(a, b);
            return;
        }
        struct child {
            double loss;
            block a, b;
        } children[4];
        int n = 0;
        halve_pair(first_, a, second_, b, [&](block x, block y) {
            const child c{bound(x, y), x, y};
            int at = n++;
            for (; at > 0 && c.loss < children[at - 1].loss; --at)
                children[at] = children[at - 1];
            children[at] = c;
        });
        for (int c = 0; c < n; ++c)
            visit(children[c].a, children[c].b, children[c].loss);
    }

    /// Whether a pair as good as the best comes before it; nothing comes before a
    /// bound that no pair has reached.
    bool wins_tie(std::int64_t distance, std::int64_t i,
                  std::int64_t j) const noexcept {
        if (best_.i < 0) return false;
        if (distance != best_.distance) return distance < best_.distance;
        return i != best_.i ? i < best_.i : j < best_.j;
    }

    void scan(block a, block b) noexcept {
        const std::size_t base = p_.first(1);
        for (std::size_t i = first_.begin(a); i < first_.end(a); ++i)
            for (std::size_t j = second_.begin(b); j < second_.end(b); ++j) {
                const double error =
                    static_cast<double>(p_.cost[i] + p_.cost[base + j]) / p_.unit;
                double loss = error * error;
                if (loss > best_.loss) continue;
                bool fits = true;
                double total = 0.0;
                for (std::size_t r = 0; r < p_.n_rates; ++r) {
                    if (!p_.has_rate(r, 0) || !p_.has_rate(r, 1)) continue;
                    const double x = p_.rate(r)[i], y = p_.rate(r)[base + j];
                    if (!within(x < y ? x : y, x < y ? y : x, p_.limit[r],
                                p_.ratio[r]))
                        fits = false;
                    if (r < 2) total += x < y ? y - x : x - y;
                    loss += p_.penalty[r] * ((x - y) * (x - y));
                }
                if (!fits || !(total <= p_.total) || loss > best_.loss) continue;
                const std::int64_t distance =
                    p_.distance[i] + p_.distance[base + j];
                const auto one = static_cast<std::int64_t>(i),
                           two = static_cast<std::int64_t>(j);
                if (loss == best_.loss && !wins_tie(distance, one, two)) continue;
                best_ = {loss, distance, one, two};
            }
    }

    problem<Cost> p_;
    block_tree<Cost> first_, second_;
    found best_;
    std::size_t opened_ = 0;
};

}  // namespace gstar
