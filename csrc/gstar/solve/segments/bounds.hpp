// bounds.hpp - what no choice in a box can be below: Lagrange multipliers, and the
// linear program that finds the best of them.
//
// Multipliers turn the limits into prices, and every segment then chooses for
// itself. The columns of the linear program are such choices.
#pragma once

#include <algorithm>  // all_of, any_of, max, min
#include <cmath>      // abs, isfinite
#include <cstddef>    // size_t
#include <cstdint>    // int64_t
#include <limits>
#include <utility>  // pair
#include <vector>

#include "gstar/base/deadline.hpp"
#include "gstar/solve/segments/master.hpp"
#include "gstar/solve/segments/problem.hpp"

namespace gstar {

/// A column: its block, and numbers of all segments (those of other blocks mean
/// nothing).
struct segment_column {
    std::size_t block;
    choice numbers;
};

/// A box of candidates, the best bound that was found for it, and how its linear
/// program was solved.
struct segment_node {
    choice low, high;
    std::vector<double>
        multipliers;      ///< 3 x n_rates x n_protected: of lower, upper
                          ///< and ratio rows
    double weight = 1.0;  ///< of E in the bound
    double bound =
        -std::numeric_limits<double>::infinity();  ///< rounding taken off
    std::vector<segment_column> columns;           ///< of the basis
    std::vector<double> shares;
    bool empty = false;  ///< the bound shows that no choice in it meets the limits
};

class segment_bounds {
public:
    explicit segment_bounds(const segment_problem& p)
        : p_(p),
          n_blocks_(p.rising ? 1 : p.n_segments),
          scan_(p_),
          nobody_(n_blocks_, 0.0),
          numbers_(p.n_segments),
          values_(p.n_segments) {
        for (std::size_t j = 0; j < p.n_segments; ++j) {
            double value = 0.0;
            for (std::size_t c = 0; c < p.n_cells; ++c)
                value += p.price[c] * p.rows(c, p.first(j));
            nobody_[p.rising ? 0 : j] +=
                static_cast<double>(p.cost[p.first(j)]) / p.unit - value;
        }
    }
    segment_bounds(const segment_bounds&) = delete;
    segment_bounds& operator=(const segment_bounds&) = delete;

    const segment_problem& problem() const noexcept { return p_; }
    std::size_t n_blocks() const noexcept { return n_blocks_; }
    int scans() const noexcept { return scans_; }

    /// All candidates, without prices.
    segment_node whole() const {
        segment_node out;
        out.low.assign(p_.n_segments, 0);
        for (std::size_t j = 0; j < p_.n_segments; ++j)
            out.high.push_back(static_cast<std::int64_t>(p_.size(j)) - 1);
        out.multipliers.assign(3 * p_.n_rates * p_.n_protected, 0.0);
        return out;
    }

    /// What one accepted row of each cell weighs.
    std::vector<double> weights(const std::vector<double>& multipliers,
                                double weight) const {
        std::vector<double> out(p_.n_cells);
        for (std::size_t c = 0; c < p_.n_cells; ++c) {
            double w = weight * p_.price[c];
            for (std::size_t r = 0; r < p_.n_rates; ++r)
                w = w +
                    net(multipliers, r, p_.group(c)) * p_.slope[r * p_.n_cells + c];
            out[c] = w;
        }
        return out;
    }

    /// What a block's choice adds to E, and to every rate.
    double rates(std::size_t block, const choice& numbers,
                 std::vector<double>& out) const {
        std::vector<double> sums(p_.n_cells, 0.0);
        std::int64_t cost = 0;
        for (std::size_t j = p_.rising ? 0 : block;
             j < (p_.rising ? p_.n_segments : block + 1); ++j) {
            const std::size_t i = p_.entry(j, numbers[j]);
            for (std::size_t c = 0; c < p_.n_cells; ++c) sums[c] += p_.rows(c, i);
            cost += p_.cost[i];
        }
        out.assign(p_.n_rates * p_.n_protected, 0.0);
        for (std::size_t c = 0; c < p_.n_cells; ++c)
            for (std::size_t r = 0; r < p_.n_rates; ++r)
                out[r * p_.n_protected + p_.group(c)] +=
                    p_.slope[r * p_.n_cells + c] * sums[c];
        return static_cast<double>(cost) / p_.unit;
    }

    /// Raise a node's bound to that of its linear program, or above `enough`; it stops
    /// when `end` has passed.
    void solve(segment_node& node, const std::vector<segment_column>& seeds,
               double enough, const deadline& end = deadline()) {
        node.bound = bound(node.multipliers, node.weight, node.low, node.high);
        if (node.weight > 0 && node.bound > enough) return;
        node.empty = !(node.weight > 0) && node.bound > 0;
        if (node.empty) return;
        if (!(node.weight > 0)) {
            node.weight = 1.0;
            node.bound = -std::numeric_limits<double>::infinity();
        }
        master program(p_, n_blocks_);
        std::vector<segment_column> columns;
        std::vector<double> dual, part;
        const auto add = [&](std::size_t block, const choice& numbers) {
            const double cost = rates(block, numbers, part);
            program.add(block, cost, part);
            columns.push_back({block, numbers});
        };
        for (std::size_t b = 0; b < n_blocks_; ++b) add(b, numbers_);
        for (const segment_column& seed : seeds)
            if (fits(seed, node)) add(seed.block, seed.numbers);
        program.begin();
        for (int scan = 0; scan < most_scans; ++scan) {
            const int phase = program.optimise(dual, end);
            // rounding may make the basis singular
            if (!std::all_of(dual.begin(), dual.end(),
                             [](double v) { return std::isfinite(v); }))
                break;
            const std::vector<double> multipliers = multipliers_of(program, dual);
            const double weight = phase == 2 ? 1.0 : 0.0;
            const double now = bound(multipliers, weight, node.low, node.high);
            if (phase == 2 ? now > node.bound : now > 0) {
                node.bound = now;
                node.multipliers = multipliers;
                node.weight = weight;
                node.empty = phase == 1;
            }
            if (node.empty || node.bound > enough) return;
            bool added = false;
            for (std::size_t b = 0; b < n_blocks_; ++b) {
                if (!(values_[b] - dual[b] <
                      -master::epsilon + -weight * nobody_[b]))
                    continue;
                // a program that ended early may ask for a column it has
                if (std::any_of(columns.begin(), columns.end(),
                                [&](const segment_column& c) {
                                    return c.block == b && same(c);
                                }))
                    continue;
                add(b, numbers_);
                added = true;
            }
            if (!added || end.passed()) break;
        }
        const std::vector<double> level = program.level();
        for (std::size_t i = 0; i < level.size(); ++i) {
            const master::name& n = program.basis()[i];
            if (n.what != master::x) continue;
            node.columns.push_back(columns[n.i]);
            node.shares.push_back(std::max(level[i], 0.0));
        }
    }

private:
    static constexpr int most_scans = 400;

    /// What one unit of a rate weighs.
    double net(const std::vector<double>& multipliers, std::size_t r,
               std::size_t a) const noexcept {
        const std::size_t all = p_.n_rates * p_.n_protected,
                          i = r * p_.n_protected + a;
        return multipliers[all + i] +
               std::max(p_.ratio[r], 0.0) * multipliers[2 * all + i] -
               multipliers[i];
    }

    /// A number that weight * E cannot be below in a box within the limits; the
    /// choices behind it are in `numbers_` and `values_`.
    double bound(const std::vector<double>& multipliers, double weight,
                 const choice& low, const choice& high) {
        const std::vector<double> w = weights(multipliers, weight);
        scan_(w.data(), low, high, numbers_, values_);
        ++scans_;
        const std::size_t all = p_.n_rates * p_.n_protected;
        double total = weight * p_.constant, size = std::abs(total);
        for (const double v : values_) total += v;
        double uppers[2] = {0.0,
                            0.0};  // of the rates whose gaps have a limited sum
        for (std::size_t r = 0; r < p_.n_rates; ++r) {
            double window = 0.0;
            for (std::size_t a = 0; a < p_.n_protected; ++a) {
                const std::size_t i = r * p_.n_protected + a;
                const double lower = multipliers[i], upper = multipliers[all + i],
                             ratio = multipliers[2 * all + i];
                const double each = net(multipliers, r, a);
                total += each * p_.base[i];
                size += std::abs(each) * p_.base[i];
                if (upper > 0) {
                    if (p_.totalled() && r < 2)
                        uppers[r] += upper;
                    else
                        total -= p_.limit[r] * upper;
                    size += p_.limit[r] * upper;
                }
                window += lower - upper - ratio;
                size += lower + upper + ratio;
            }
            total += std::min(window, 0.0);
        }
        if (p_.totalled()) total -= most_paid(uppers);
        for (std::size_t c = 0; c < p_.n_cells; ++c) {
            double most = weight * std::abs(p_.price[c]);
            for (std::size_t r = 0; r < p_.n_rates; ++r)
                most += std::abs(net(multipliers, r, p_.group(c))) *
                        std::abs(p_.slope[r * p_.n_cells + c]);
            size += most * p_.totals[p_.label(c) * p_.n_protected + p_.group(c)];
        }
        return total - static_cast<double>(p_.n_cells + p_.n_segments + 24) *
                           2.3e-16 * size;
    }

    /// What two gaps within their limits, and with a sum within theirs, cost at most at
    /// these prices: the dearer one takes what it may, the other what is left.
    double most_paid(const double prices[2]) const noexcept {
        const std::size_t dear = prices[0] >= prices[1] ? 0 : 1, other = 1 - dear;
        const double first = std::min(p_.limit[dear], p_.total);
        const double second = std::min(p_.limit[other], p_.total - first);
        return prices[dear] * first + prices[other] * second;
    }

    /// Whether a column has the candidates of `numbers_` in its block.
    bool same(const segment_column& column) const noexcept {
        for (std::size_t j = p_.rising ? 0 : column.block;
             j < (p_.rising ? p_.n_segments : column.block + 1); ++j)
            if (column.numbers[j] != numbers_[j]) return false;
        return true;
    }

    bool fits(const segment_column& seed, const segment_node& node) const noexcept {
        for (std::size_t j = p_.rising ? 0 : seed.block;
             j < (p_.rising ? p_.n_segments : seed.block + 1); ++j)
            if (seed.numbers[j] < node.low[j] || seed.numbers[j] > node.high[j])
                return false;
        return !same(seed);
    }

    std::vector<double> multipliers_of(const master& program,
                                       const std::vector<double>& dual) const {
        const std::size_t all = p_.n_rates * p_.n_protected;
        std::vector<double> out(3 * all, 0.0);
        for (std::size_t i = 0; i < program.rows().size(); ++i) {
            const master::row& w = program.rows()[i];
            const double value = dual[n_blocks_ + i];
            out[static_cast<std::size_t>(w.kind) * all + w.rate * p_.n_protected +
                w.group] += std::max(w.kind == 0 ? value : -value, 0.0);
        }
        return out;
    }

    const segment_problem p_;
    std::size_t n_blocks_;
    pricing scan_;
    std::vector<double> nobody_;  ///< E of accepting nobody in each block
    choice numbers_;
    std::vector<double> values_;
    int scans_ = 0;
};

}  // namespace gstar
