// problem.hpp - segments, their candidates, and what a choice accepts.
//
// A threshold belongs to a segment; gaps are measured between protected groups. All
// that matters of a choice (one candidate for each segment) is how many rows of each
// cell (protected group, label) it accepts: cost and rates are linear in these sums.
#pragma once

#include <cmath>    // abs
#include <cstddef>  // size_t
#include <cstdint>  // int64_t, uint8_t
#include <limits>
#include <vector>

#include "gstar/base/span.hpp"
#include "gstar/solve/problem.hpp"  // within

namespace gstar {

/// Everything the search needs to know, as borrowed arrays; candidates of all
/// segments end to end.
struct segment_problem {
    std::size_t n_segments, n_cells, n_protected, n_rates;
    span<const std::int64_t> start;     ///< n_segments + 1
    span<const double> accepted;        ///< n_cells x n: rows, whole numbers
    span<const std::int64_t> cell;      ///< n_cells: 3 * protected group + label
    span<const std::int64_t> cost;      ///< n; E is the sum of one a segment / unit
    span<const std::int64_t> distance;  ///< n; from the best unified threshold
    span<const double> totals;          ///< 3 x n_protected: rows by label
    span<const double> price;           ///< n_cells: what an accepted row adds to E
    double constant;                    ///< E of accepting nobody
    span<const std::int64_t> rate;      ///< n_rates: tpr, fpr, selection, accuracy,
                                        ///< balanced accuracy
    span<const double> slope;  ///< n_rates x n_cells: what a row adds to a rate
    span<const double> base;   ///< n_rates x n_protected: rates of accepting nobody
    span<const std::uint8_t> has;  ///< n_rates x n_protected
    span<const double> limit;      ///< n_rates; infinity where none
    span<const double> ratio;      ///< n_rates; -1 where none
    double unit;
    bool rising;  ///< candidates may not fall from a segment to the next
    /// Largest sum of the gaps of the first two rates; infinity where none.
    double total = std::numeric_limits<double>::infinity();

    bool totalled() const noexcept {
        return total < std::numeric_limits<double>::infinity();
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
    double rows(std::size_t c, std::size_t i) const noexcept {
        return accepted[c * cost.size() + i];
    }
    std::size_t group(std::size_t c) const noexcept {
        return static_cast<std::size_t>(cell[c] / 3);
    }
    std::size_t label(std::size_t c) const noexcept {
        return static_cast<std::size_t>(cell[c] % 3);
    }
};

using choice = std::vector<std::int64_t>;  ///< one number for each segment

/// Value of every candidate from `begin` to before `end`: what its rows weigh.
inline void values_of(const segment_problem& p, const double* weights,
                      std::size_t begin, std::size_t end, double* out) noexcept {
    const std::size_t n = p.cost.size(), count = end - begin;
    const double* rows = p.accepted.data() + begin;
    for (std::size_t i = 0; i < count; ++i) out[i] = 0.0;
    std::size_t c = 0;
    for (; c + 4 <= p.n_cells; c += 4) {  // the same sums, with fewer passes
        const double w0 = weights[c], w1 = weights[c + 1], w2 = weights[c + 2],
                     w3 = weights[c + 3];
        const double *a0 = rows + c * n, *a1 = a0 + n, *a2 = a1 + n, *a3 = a2 + n;
        for (std::size_t i = 0; i < count; ++i)
            out[i] =
                (((out[i] + w0 * a0[i]) + w1 * a1[i]) + w2 * a2[i]) + w3 * a3[i];
    }
    for (; c < p.n_cells; ++c) {
        const double w = weights[c];
        const double* a = rows + c * n;
        for (std::size_t i = 0; i < count; ++i) out[i] += w * a[i];
    }
}

/// The candidate of least value in each segment, from `low` to `high`, nearest of
/// equals; with `rising`, the best choice that rises, its value in `values[0]`.
class pricing {
public:
    explicit pricing(const segment_problem& p) : p_(&p) {
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
            values_of(p, weights, begin, end, value_.data());
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
        constexpr double infinity = std::numeric_limits<double>::infinity();
        for (double& x : best_) x = 0.0;
        for (std::size_t j = 0; j < p.n_segments; ++j) {
            const auto lo = static_cast<std::size_t>(low[j]),
                       hi = static_cast<std::size_t>(high[j]);
            values_of(p, weights, p.first(j) + lo, p.first(j) + hi + 1,
                      value_.data() + lo);
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
    std::vector<double> value_, best_;
    std::vector<std::int64_t> chosen_;
};

}  // namespace gstar
