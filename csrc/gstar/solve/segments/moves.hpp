// moves.hpp - better choices near a given one: one segment moves, or two at once.
//
// A choice is compared by how far it misses the limits, then by cost, distance and
// candidate.
#pragma once

#include <algorithm>  // max, min
#include <cstddef>    // size_t
#include <cstdint>    // int64_t
#include <tuple>
#include <vector>

#include "gstar/solve/segments/problem.hpp"

namespace gstar {

class segment_moves {
public:
    static constexpr std::size_t shortest = 32;  ///< candidates tried in pairs

    explicit segment_moves(const segment_problem& p)
        : p_(&p), where_(3 * p.n_protected, p.n_cells) {
        for (std::size_t c = 0; c < p.n_cells; ++c)
            where_[static_cast<std::size_t>(p.cell[c])] = c;
    }

    std::int64_t cost_of(const choice& numbers) const noexcept {
        std::int64_t out = 0;
        for (std::size_t j = 0; j < numbers.size(); ++j)
            out += p_->cost[p_->entry(j, numbers[j])];
        return out;
    }

    /// Move one segment after the other to its best candidate until none moves; how
    /// far the choice misses the limits.
    double move_one(choice& numbers) const {
        const segment_problem& p = *p_;
        std::vector<double> sums = sums_of(numbers), others(p.n_cells),
                            tried(p.n_cells);
        double miss = missed(sums.data());
        for (int round = 0; round < rounds; ++round) {
            bool moved = false;
            for (std::size_t j = 0; j < numbers.size(); ++j) {
                const std::size_t mine = p.entry(j, numbers[j]);
                std::size_t begin = p.first(j), end = begin + p.size(j);
                if (p.rising) {
                    if (j > 0) begin = p.entry(j, numbers[j - 1]);
                    if (j + 1 < numbers.size())
                        end = p.entry(j, numbers[j + 1]) + 1;
                }
                for (std::size_t c = 0; c < p.n_cells; ++c)
                    others[c] = sums[c] - p.rows(c, mine);
                std::size_t best = mine;
                key least{miss, p.cost[mine], p.distance[mine]};
                for (std::size_t i = begin; i < end; ++i) {
                    if (std::get<0>(least) == 0.0 && p.cost[i] > std::get<1>(least))
                        continue;
                    for (std::size_t c = 0; c < p.n_cells; ++c)
                        tried[c] = others[c] + p.rows(c, i);
                    const key now{missed(tried.data()), p.cost[i], p.distance[i]};
                    if (now < least) {
                        least = now;
                        best = i;
                    }
                }
                if (best == mine) continue;
                numbers[j] = static_cast<std::int64_t>(best) - p.start[j];
                miss = std::get<0>(least);
                for (std::size_t c = 0; c < p.n_cells; ++c)
                    sums[c] = others[c] + p.rows(c, best);
                moved = true;
            }
            if (!moved) break;
        }
        return miss;
    }

    /// Move two segments at once to listed candidates while that helps.
    double move_two(choice& numbers, const std::vector<choice>& lists) const {
        const segment_problem& p = *p_;
        std::vector<double> sums = sums_of(numbers), others(p.n_cells),
                            tried(p.n_cells);
        double miss = missed(sums.data());
        for (int round = 0; round < rounds; ++round) {
            bool moved = false;
            for (std::size_t j = 0; j < numbers.size(); ++j)
                for (std::size_t k = j + 1; k < numbers.size(); ++k) {
                    const std::size_t one = p.entry(j, numbers[j]),
                                      two = p.entry(k, numbers[k]);
                    for (std::size_t c = 0; c < p.n_cells; ++c)
                        others[c] = sums[c] - p.rows(c, one) - p.rows(c, two);
                    key least{miss, p.cost[one] + p.cost[two],
                              p.distance[one] + p.distance[two]};
                    std::size_t left = one, right = two;
                    for (const std::int64_t l : lists[j])
                        for (const std::int64_t r : lists[k]) {
                            const std::size_t a = p.entry(j, l), b = p.entry(k, r);
                            const std::int64_t cost = p.cost[a] + p.cost[b];
                            if (std::get<0>(least) == 0.0 &&
                                cost > std::get<1>(least))
                                continue;
                            for (std::size_t c = 0; c < p.n_cells; ++c)
                                tried[c] = others[c] + p.rows(c, a) + p.rows(c, b);
                            const key now{missed(tried.data()), cost,
                                          p.distance[a] + p.distance[b]};
                            if (now < least) {
                                least = now;
                                left = a;
                                right = b;
                            }
                        }
                    if (left == one && right == two) continue;
                    numbers[j] = static_cast<std::int64_t>(left) - p.start[j];
                    numbers[k] = static_cast<std::int64_t>(right) - p.start[k];
                    miss = std::get<0>(least);
                    for (std::size_t c = 0; c < p.n_cells; ++c)
                        sums[c] = others[c] + p.rows(c, left) + p.rows(c, right);
                    moved = true;
                }
            if (!moved) break;
        }
        return miss;
    }

private:
    using key = std::tuple<double, std::int64_t, std::int64_t>;
    static constexpr int rounds = 8;

    std::vector<double> sums_of(const choice& numbers) const {
        std::vector<double> out(p_->n_cells, 0.0);
        for (std::size_t j = 0; j < numbers.size(); ++j)
            for (std::size_t c = 0; c < p_->n_cells; ++c)
                out[c] += p_->rows(c, p_->entry(j, numbers[j]));
        return out;
    }

    double part(const double* sums, std::size_t a,
                std::size_t label) const noexcept {
        const std::size_t c = where_[3 * a + label];
        return c < p_->n_cells ? sums[c] : 0.0;
    }

    double rate_of(std::int64_t which, std::size_t a,
                   const double* sums) const noexcept {
        const double neg = part(sums, a, 0), pos = part(sums, a, 1);
        const double n_neg = p_->totals[a], n_pos = p_->totals[p_->n_protected + a];
        switch (which) {
            case 0: return pos / n_pos;
            case 1: return neg / n_neg;
            case 2:
                return (neg + pos + part(sums, a, 2)) /
                       (n_neg + n_pos + p_->totals[2 * p_->n_protected + a]);
            case 3: return (pos + (n_neg - neg)) / (n_neg + n_pos);
            default: return (pos / n_pos + (n_neg - neg) / n_neg) / 2;
        }
    }

    /// How far sums miss the limits, added over rates; 0 where they meet them.
    double missed(const double* sums) const noexcept {
        double out = 0.0, total = 0.0;
        for (std::size_t r = 0; r < p_->n_rates; ++r) {
            double low = 0.0, high = 0.0;
            bool any = false;
            for (std::size_t a = 0; a < p_->n_protected; ++a) {
                if (p_->has[r * p_->n_protected + a] == 0) continue;
                const double v = rate_of(p_->rate[r], a, sums);
                if (!any || v < low) low = v;
                if (!any || v > high) high = v;
                any = true;
            }
            const double limit = p_->limit[r], ratio = p_->ratio[r];
            if (!within(low, high, limit, ratio))
                out += std::max(std::max(high - low - limit, ratio * high - low),
                                1e-300);
            if (r < 2) total += high - low;
        }
        if (!(total <= p_->total)) out += std::max(total - p_->total, 1e-300);
        return out;
    }

    const segment_problem* p_;
    std::vector<std::size_t> where_;
};

}  // namespace gstar
