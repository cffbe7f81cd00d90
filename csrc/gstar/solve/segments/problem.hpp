// problem.hpp - segments, their candidates, and what a choice adds up to.
//
// A threshold belongs to a segment; limits are about sums over segments. A candidate
// has features: how many rows of a cell (protected group, label) it accepts, or rates
// of a group. A segment has the features that occur in it alone, so that the table
// does not grow with groups times segments. Cost and measures (a rate of a group) are
// linear in features, and limits are rows over measures.
#pragma once

#include <algorithm>  // max
#include <cmath>      // abs
#include <cstddef>    // size_t
#include <cstdint>    // int64_t
#include <vector>

#include "gstar/base/deadline.hpp"  // infinity
#include "gstar/base/span.hpp"
#include "gstar/solve/problem.hpp"  // within

namespace gstar {

/// What a row says of its measure; `t` is the low end of the window it belongs to.
enum class row_kind : std::int64_t {
    low,    ///< t - measure <= 0
    high,   ///< measure - t <= right
    ratio,  ///< scale * measure - t <= 0
    share,  ///< measure - t - d <= 0, or measure - t + d <= right
    least,  ///< -measure <= right
    most    ///< measure <= right
};

/// Everything the search needs to know, as borrowed arrays; candidates of all
/// segments end to end.
struct segment_problem {
    std::size_t n_segments, n_slots, n_measures;
    span<const std::int64_t> start;     ///< n_segments + 1: candidates
    span<const std::int64_t> begin;     ///< n_segments + 1: features
    span<const std::int64_t> slot;      ///< of each feature, ascending in a segment
    span<const double> values;          ///< by segment, feature and candidate
    span<const std::int64_t> cost;      ///< n; E is the sum of one a segment / unit
    span<const std::int64_t> distance;  ///< n; from the best unified threshold
    span<const double> price;           ///< n_slots: what one adds to E
    span<const double> most;            ///< n_slots: largest sum over segments
    double constant;                    ///< E where all sums are 0
    span<const std::int64_t> term;      ///< n_slots + 1: terms of each slot
    span<const std::int64_t> measure;   ///< of each term
    span<const double> slope;   ///< of each term: what one adds to a measure
    span<const double> hits;    ///< of each term, two: as in `given`; for moves
    span<const double> base;    ///< n_measures: where all sums are 0
    span<const double> given;   ///< n_measures, two, for moves: the mean of one or
    span<const double> trials;  ///< two quotients (given + hits) / trials; 0: one
    span<const std::int64_t> kind, about, window;  ///< of each row; window -1: none
    span<const double> scale;                      ///< of its measure
    span<const double> share;                      ///< of d
    span<const double> right;
    double unit;
    bool rising;  ///< candidates may not fall from a segment to the next

    std::size_t n_rows() const noexcept { return kind.size(); }
    row_kind kind_of(std::size_t i) const noexcept {
        return static_cast<row_kind>(kind[i]);
    }
    std::size_t about_of(std::size_t i) const noexcept {
        return static_cast<std::size_t>(about[i]);
    }
    /// Coefficient of a row's window.
    double ahead(std::size_t i) const noexcept {
        return window[i] < 0 ? 0.0 : kind_of(i) == row_kind::low ? 1.0 : -1.0;
    }
    std::size_t n_windows() const noexcept {
        std::size_t out = 0;
        for (const std::int64_t w : window)
            out = std::max(out, static_cast<std::size_t>(w + 1));
        return out;
    }
    std::size_t first(std::size_t j) const noexcept {
        return static_cast<std::size_t>(start[j]);
    }
    std::size_t size(std::size_t j) const noexcept {
        return static_cast<std::size_t>(start[j + 1] - start[j]);
    }
    std::size_t entry(std::size_t j, std::int64_t number) const noexcept {
        return static_cast<std::size_t>(start[j] + number);
    }
    std::size_t n_features(std::size_t j) const noexcept {
        return static_cast<std::size_t>(begin[j + 1] - begin[j]);
    }
    std::size_t slot_of(std::size_t j, std::size_t f) const noexcept {
        return static_cast<std::size_t>(
            slot[static_cast<std::size_t>(begin[j]) + f]);
    }
    std::size_t terms_from(std::size_t c) const noexcept {
        return static_cast<std::size_t>(term[c]);
    }
    std::size_t terms_to(std::size_t c) const noexcept {
        return static_cast<std::size_t>(term[c + 1]);
    }
};

/// The features of a problem, segment by segment.
class segment_features {
public:
    explicit segment_features(const segment_problem& p) : p_(&p), at_(1, 0) {
        for (std::size_t j = 0; j < p.n_segments; ++j)
            at_.push_back(at_[j] + p.n_features(j) * p.size(j));
    }
    std::size_t size() const noexcept { return at_.back(); }
    /// Values of one feature, of all candidates of its segment.
    const double* of(std::size_t j, std::size_t f) const noexcept {
        return p_->values.data() + at_[j] + f * p_->size(j);
    }

private:
    const segment_problem* p_;
    std::vector<std::size_t> at_;  ///< where each segment begins
};

using choice = std::vector<std::int64_t>;  ///< one number for each segment

/// Value of every candidate of segment j from `from` to before `to`: its features,
/// weighted by slot.
inline void values_of(const segment_problem& p, const segment_features& x,
                      const double* weights, std::size_t j, std::size_t from,
                      std::size_t to, double* out) noexcept {
    const std::size_t n = p.size(j), count = to - from, features = p.n_features(j);
    for (std::size_t i = 0; i < count; ++i) out[i] = 0.0;
    std::size_t f = 0;
    for (; f + 4 <= features; f += 4) {  // the same sums, with fewer passes
        const double w0 = weights[p.slot_of(j, f)],
                     w1 = weights[p.slot_of(j, f + 1)],
                     w2 = weights[p.slot_of(j, f + 2)],
                     w3 = weights[p.slot_of(j, f + 3)];
        const double *a0 = x.of(j, f) + from, *a1 = a0 + n, *a2 = a1 + n,
                     *a3 = a2 + n;
        for (std::size_t i = 0; i < count; ++i)
            out[i] =
                (((out[i] + w0 * a0[i]) + w1 * a1[i]) + w2 * a2[i]) + w3 * a3[i];
    }
    for (; f < features; ++f) {
        const double w = weights[p.slot_of(j, f)];
        const double* a = x.of(j, f) + from;
        for (std::size_t i = 0; i < count; ++i) out[i] += w * a[i];
    }
}

/// The candidate of least value in each segment, from `low` to `high`, nearest of
/// equals; with `rising`, the best choice that rises, its value in `values[0]`.
class pricing {
public:
    explicit pricing(const segment_problem& p) : p_(&p), features_(p) {
        std::size_t most = 0;
        for (std::size_t j = 0; j < p.n_segments; ++j)
            if (p.size(j) > most) most = p.size(j);
        value_.resize(most);
        if (p.rising) {
            best_.resize(most);
            chosen_.resize(most * p.n_segments);
        }
    }

    void operator()(const double* weights, const choice& low, const choice& high,
                    choice& numbers, std::vector<double>& values) {
        const segment_problem& p = *p_;
        if (p.rising) return rising(weights, low, high, numbers, values);
        for (std::size_t j = 0; j < p.n_segments; ++j) {
            const std::size_t begin = p.entry(j, low[j]),
                              end = p.entry(j, high[j]) + 1;
            values_of(p, features_, weights, j, begin - p.first(j),
                      end - p.first(j), value_.data());
            std::size_t best = 0;
            double least = value_[0];
            for (std::size_t i = 1; i < end - begin; ++i) {
                const double v = value_[i];
                if (v > least) continue;
                if (v < least || p.distance[begin + i] < p.distance[begin + best]) {
                    least = v;
                    best = i;
                }
            }
            numbers[j] = low[j] + static_cast<std::int64_t>(best);
            values[j] = least;
        }
    }

private:
    void rising(const double* weights, const choice& low, const choice& high,
                choice& numbers, std::vector<double>& values) {
        const segment_problem& p = *p_;
        const std::size_t size = p.size(0);
        for (double& x : best_) x = 0.0;
        for (std::size_t j = 0; j < p.n_segments; ++j) {
            const auto lo = static_cast<std::size_t>(low[j]),
                       hi = static_cast<std::size_t>(high[j]);
            values_of(p, features_, weights, j, lo, hi + 1, value_.data() + lo);
            double least = infinity;
            std::size_t at = 0;
            for (std::size_t i = 0; i < size; ++i) {
                const double v = i < lo || i > hi ? infinity : best_[i] + value_[i];
                if (i == 0 || v < least) {
                    least = v;
                    at = i;
                }
                best_[i] = least;
                chosen_[j * size + i] = static_cast<std::int64_t>(at);
            }
        }
        std::int64_t at = static_cast<std::int64_t>(size) - 1;
        for (std::size_t j = p.n_segments; j-- > 0;) {
            at = chosen_[j * size + static_cast<std::size_t>(at)];
            numbers[j] = at;
        }
        for (double& v : values) v = 0.0;
        values[0] = best_[size - 1];
    }

    const segment_problem* p_;
    segment_features features_;
    std::vector<double> value_, best_;
    std::vector<std::int64_t> chosen_;
};

}  // namespace gstar
