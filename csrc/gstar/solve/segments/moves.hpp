// moves.hpp - better choices near a given one: one segment moves, or two at once.
//
// A choice is compared by how far it misses the limits, then by cost, distance and
// candidate. A move changes the measures that have features in its segments; the
// others are looked at once.
#pragma once

#include <algorithm>  // max, min
#include <cstddef>    // size_t
#include <cstdint>    // int64_t
#include <initializer_list>
#include <tuple>
#include <vector>

#include "gstar/base/deadline.hpp"  // infinity
#include "gstar/solve/segments/problem.hpp"

namespace gstar {

class segment_moves {
public:
    static constexpr std::size_t shortest = 32;  ///< candidates tried in pairs

    explicit segment_moves(const segment_problem& p)
        : p_(&p), features_(p), windows_(p.n_windows()), parts_(p.n_segments) {
        for (std::size_t i = 0; i < p.n_rows(); ++i) add_row(i);
        for (window& w : windows_)
            if (w.summed) w.limit = std::min(w.limit, total_);
        std::vector<std::size_t> at(p.n_measures, 0);  // 1 + place in `parts`
        for (std::size_t j = 0; j < p.n_segments; ++j) {
            std::vector<part>& parts = parts_[j];
            for (std::size_t f = 0; f < p.n_features(j); ++f) {
                const std::size_t c = p.slot_of(j, f);
                for (std::size_t k = p.terms_from(c); k < p.terms_to(c); ++k) {
                    const auto q = static_cast<std::size_t>(p.measure[k]);
                    if (at[q] == 0) {
                        parts.push_back({q, {}});
                        at[q] = parts.size();
                    }
                    parts[at[q] - 1].terms.push_back(
                        {features_.of(j, f), p.hits[2 * k], p.hits[2 * k + 1]});
                }
            }
            for (const part& one : parts) at[one.q] = 0;
        }
    }

    std::int64_t cost_of(const choice& numbers) const noexcept {
        std::int64_t out = 0;
        for (std::size_t j = 0; j < numbers.size(); ++j)
            out += p_->cost[p_->entry(j, numbers[j])];
        return out;
    }

    /// Move one segment after the other to its best candidate until none moves; how
    /// far the choice misses the limits.
    double move_one(choice& numbers) {
        const segment_problem& p = *p_;
        state now = state_of(numbers);
        double miss = missed(now);
        std::vector<double> tried;
        for (int round = 0; round < rounds; ++round) {
            bool moved = false;
            for (std::size_t j = 0; j < numbers.size(); ++j) {
                const std::size_t first = p.first(j), mine = p.entry(j, numbers[j]);
                std::size_t begin = first, end = begin + p.size(j);
                if (p.rising) {
                    if (j > 0) begin = p.entry(j, numbers[j - 1]);
                    if (j + 1 < numbers.size())
                        end = p.entry(j, numbers[j + 1]) + 1;
                }
                const around& near = around_of(now, {j}, numbers);
                std::size_t best = mine;
                key least{miss, p.cost[mine], p.distance[mine]};
                for (std::size_t i = begin; i < end; ++i) {
                    if (std::get<0>(least) == 0.0 && p.cost[i] > std::get<1>(least))
                        continue;
                    tried = near.hits;
                    add(parts_[j], i - first, near.of[0], tried);
                    const key one{missed(near, tried), p.cost[i], p.distance[i]};
                    if (one < least) {
                        least = one;
                        best = i;
                    }
                }
                if (best == mine) continue;
                numbers[j] = static_cast<std::int64_t>(best) - p.start[j];
                miss = std::get<0>(least);
                now = state_of(numbers);
                moved = true;
            }
            if (!moved) break;
        }
        return miss;
    }

    /// Move two segments at once to listed candidates while that helps.
    double move_two(choice& numbers, const std::vector<choice>& lists) {
        const segment_problem& p = *p_;
        state now = state_of(numbers);
        double miss = missed(now);
        std::vector<double> half, tried;
        for (int round = 0; round < rounds; ++round) {
            bool moved = false;
            for (std::size_t j = 0; j < numbers.size(); ++j)
                for (std::size_t k = j + 1; k < numbers.size(); ++k) {
                    const std::size_t one = p.entry(j, numbers[j]),
                                      two = p.entry(k, numbers[k]);
                    const around& near = around_of(now, {j, k}, numbers);
                    key least{miss, p.cost[one] + p.cost[two],
                              p.distance[one] + p.distance[two]};
                    std::size_t left = one, right = two;
                    for (const std::int64_t l : lists[j]) {
                        half = near.hits;
                        add(parts_[j], static_cast<std::size_t>(l), near.of[0],
                            half);
                        for (const std::int64_t r : lists[k]) {
                            const std::size_t a = p.entry(j, l), b = p.entry(k, r);
                            const std::int64_t cost = p.cost[a] + p.cost[b];
                            if (std::get<0>(least) == 0.0 &&
                                cost > std::get<1>(least))
                                continue;
                            tried = half;
                            add(parts_[k], static_cast<std::size_t>(r), near.of[1],
                                tried);
                            const key both{missed(near, tried), cost,
                                           p.distance[a] + p.distance[b]};
                            if (both < least) {
                                least = both;
                                left = a;
                                right = b;
                            }
                        }
                    }
                    if (left == one && right == two) continue;
                    numbers[j] = static_cast<std::int64_t>(left) - p.start[j];
                    numbers[k] = static_cast<std::int64_t>(right) - p.start[k];
                    miss = std::get<0>(least);
                    now = state_of(numbers);
                    moved = true;
                }
            if (!moved) break;
        }
        return miss;
    }

private:
    using key = std::tuple<double, std::int64_t, std::int64_t>;
    static constexpr int rounds = 8;
    /// A window: measures that its low end is below, and that are limited above it.
    struct window {
        std::vector<std::size_t> low, high;
        double limit = infinity, ratio = -1.0;
        bool summed = false;
    };
    /// A limit on one measure alone: sign * measure <= right.
    struct single {
        std::size_t q;
        double sign, right;
    };
    /// What a feature adds to the two quotients of a measure.
    struct feature_term {
        const double* values;  ///< by candidate
        double one, two;
    };
    /// The features that a measure has in a segment.
    struct part {
        std::size_t q;
        std::vector<feature_term> terms;
    };
    /// Hits of both quotients of all measures, and their values.
    struct state {
        std::vector<double> hits, value;
    };
    /// A choice without some segments: the measures these change, and what the others
    /// leave of the windows.
    struct around {
        std::vector<std::size_t> q;      ///< measures that change
        std::vector<double> hits;        ///< two each, of the other segments
        std::vector<std::size_t> of[2];  ///< place in `q` of a segment's parts
        std::vector<double> low, high;   ///< of each window, of measures that stay
        std::vector<std::vector<std::size_t>> in_low, in_high;  ///< places in `q`
        std::vector<double> value;       ///< of all measures that stay
        std::vector<std::size_t> place;  ///< of each measure: 1 + place in `q`
    };

    void add_row(std::size_t i) {
        const std::size_t q = p_->about_of(i);
        const row_kind kind = p_->kind_of(i);
        if (p_->window[i] < 0) {
            singles_.push_back(
                {q, kind == row_kind::least ? -1.0 : 1.0, p_->right[i]});
            return;
        }
        window& w = windows_[static_cast<std::size_t>(p_->window[i])];
        std::vector<std::size_t>& list = kind == row_kind::low ? w.low : w.high;
        if (list.empty() || list.back() != q) list.push_back(q);
        if (kind == row_kind::high) w.limit = p_->right[i];
        if (kind == row_kind::ratio) w.ratio = p_->scale[i];
        if (kind == row_kind::share) w.summed = true;
        if (p_->share[i] > 0) total_ = p_->right[i];
    }

    void add(const std::vector<part>& parts, std::size_t i,
             const std::vector<std::size_t>& of,
             std::vector<double>& hits) const noexcept {
        for (std::size_t n = 0; n < parts.size(); ++n)
            for (const feature_term& term : parts[n].terms) {
                hits[2 * of[n]] += term.one * term.values[i];
                hits[2 * of[n] + 1] += term.two * term.values[i];
            }
    }

    /// A measure with these hits.
    double value_of(std::size_t q, const double* hits) const noexcept {
        const double one = hits[0] / p_->trials[2 * q], by = p_->trials[2 * q + 1];
        return by > 0 ? (one + hits[1] / by) / 2 : one;
    }

    state state_of(const choice& numbers) const {
        state out;
        out.hits.assign(p_->given.begin(), p_->given.end());
        for (std::size_t j = 0; j < numbers.size(); ++j)
            for (const part& one : parts_[j])
                for (const feature_term& term : one.terms) {
                    const double rows = term.values[numbers[j]];
                    out.hits[2 * one.q] += term.one * rows;
                    out.hits[2 * one.q + 1] += term.two * rows;
                }
        for (std::size_t q = 0; q < p_->n_measures; ++q)
            out.value.push_back(value_of(q, &out.hits[2 * q]));
        return out;
    }

    const around& around_of(const state& now,
                            std::initializer_list<std::size_t> segments,
                            const choice& numbers) {
        around& out = near_;  // kept, so that its arrays are not made anew
        out.place.assign(p_->n_measures, 0);
        out.q.clear();
        out.hits.clear();
        for (std::vector<std::size_t>& of : out.of) of.clear();
        out.low.clear();
        out.high.clear();
        out.in_low.resize(windows_.size());
        out.in_high.resize(windows_.size());
        std::size_t which = 0;
        for (const std::size_t j : segments) {
            for (const part& one : parts_[j]) {
                if (out.place[one.q] == 0) {
                    out.q.push_back(one.q);
                    out.place[one.q] = out.q.size();
                    out.hits.push_back(now.hits[2 * one.q]);
                    out.hits.push_back(now.hits[2 * one.q + 1]);
                }
                const std::size_t at = out.place[one.q] - 1;
                out.of[which].push_back(at);
                for (const feature_term& term : one.terms) {
                    const double rows = term.values[numbers[j]];
                    out.hits[2 * at] -= term.one * rows;
                    out.hits[2 * at + 1] -= term.two * rows;
                }
            }
            ++which;
        }
        out.value = now.value;
        for (std::size_t i = 0; i < windows_.size(); ++i) {
            const window& w = windows_[i];
            double low = infinity, high = -infinity;
            out.in_low[i].clear();
            out.in_high[i].clear();
            for (const std::size_t q : w.low)
                if (out.place[q] > 0)
                    out.in_low[i].push_back(out.place[q] - 1);
                else
                    low = std::min(low, now.value[q]);
            for (const std::size_t q : w.high)
                if (out.place[q] > 0)
                    out.in_high[i].push_back(out.place[q] - 1);
                else
                    high = std::max(high, now.value[q]);
            out.low.push_back(low);
            out.high.push_back(high);
        }
        return out;
    }

    /// How far a choice misses the limits, added over windows; 0 where it meets them.
    double missed(const state& now) { return missed(around_of(now, {}, {}), {}); }

    /// The same with other hits of the measures that some segments change.
    double missed(const around& near, const std::vector<double>& hits) {
        changed_.resize(near.q.size());
        for (std::size_t at = 0; at < near.q.size(); ++at)
            changed_[at] = value_of(near.q[at], &hits[2 * at]);
        double out = 0.0, total = 0.0;
        for (std::size_t w = 0; w < windows_.size(); ++w) {
            double low = near.low[w], high = near.high[w];
            for (const std::size_t at : near.in_low[w])
                low = std::min(low, changed_[at]);
            for (const std::size_t at : near.in_high[w])
                high = std::max(high, changed_[at]);
            const window& is = windows_[w];
            if (!within(low, high, is.limit, is.ratio))
                out += std::max(
                    {high - low - is.limit, is.ratio * high - low, 1e-300});
            if (is.summed) total += high - low;
        }
        for (const single& one : singles_) {
            const std::size_t at = near.place[one.q];
            const double value = at == 0 ? near.value[one.q] : changed_[at - 1];
            out += over(one.sign * value, one.right);
        }
        return out + over(total, total_);
    }

    static double over(double value, double most) noexcept {
        return value <= most ? 0.0 : std::max(value - most, 1e-300);
    }

    const segment_problem* p_;
    segment_features features_;
    std::vector<window> windows_;
    std::vector<single> singles_;
    std::vector<std::vector<part>> parts_;  ///< of each segment
    double total_ = infinity;
    around near_;
    std::vector<double> changed_;  ///< values of the measures that change
};

}  // namespace gstar
