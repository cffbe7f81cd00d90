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
#include <utility>    // pair
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
    std::vector<double> multipliers;  ///< of each row
    double weight = 1.0;              ///< of E in the bound
    /// Rounding taken off.
    double bound = -infinity;
    std::vector<segment_column> columns;  ///< of the basis
    std::vector<double> shares;
    bool empty = false;  ///< the bound shows that no choice in it meets the limits
};

class segment_bounds {
public:
    explicit segment_bounds(const segment_problem& p)
        : p_(p),
          n_blocks_(p.rising ? 1 : p.n_segments),
          scan_(p_),
          features_(p_),
          nobody_(n_blocks_, 0.0),
          numbers_(p.n_segments),
          values_(p.n_segments) {
        for (std::size_t j = 0; j < p.n_segments; ++j) {
            double value = 0.0;
            for (std::size_t f = 0; f < p.n_features(j); ++f)
                value += p.price[p.slot_of(j, f)] * features_.of(j, f)[0];
            nobody_[p.rising ? 0 : j] +=
                static_cast<double>(p.cost[p.first(j)]) / p.unit - value;
        }
        most_of_.assign(p.n_windows(), infinity);
        for (std::size_t i = 0; i < p.n_rows(); ++i) {
            if (p.kind_of(i) == row_kind::high)
                most_of_[static_cast<std::size_t>(p.window[i])] = p.right[i];
            if (p.share[i] > 0) total_ = p.right[i];
        }
        for (std::size_t i = 0; i < p.n_rows(); ++i)
            if (p.share[i] != 0.0) {
                const auto w = static_cast<std::size_t>(p.window[i]);
                most_of_[w] = std::min(most_of_[w], total_);
                summed_[p.share[i] > 0 ? 1 : 0] = w;
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
        out.multipliers.assign(p_.n_rows(), 0.0);
        return out;
    }

    const segment_features& features() const noexcept { return features_; }

    /// What one unit of each slot weighs.
    std::vector<double> weights(const std::vector<double>& multipliers,
                                double weight) const {
        return priced(net_of(multipliers), weight);
    }

    /// What a block's choice adds to E, and to every measure.
    double measures(std::size_t block, const choice& numbers,
                    std::vector<double>& out) {
        std::int64_t cost = 0;
        sums_.assign(p_.n_slots, 0.0);
        for (std::size_t j = first_of(block); j < end_of(block); ++j) {
            const auto i = static_cast<std::size_t>(numbers[j]);
            for (std::size_t f = 0; f < p_.n_features(j); ++f)
                sums_[p_.slot_of(j, f)] += features_.of(j, f)[i];
            cost += p_.cost[p_.first(j) + i];
        }
        out.assign(p_.n_measures, 0.0);
        for (std::size_t c = 0; c < p_.n_slots; ++c)
            for (std::size_t k = p_.terms_from(c); k < p_.terms_to(c); ++k)
                out[static_cast<std::size_t>(p_.measure[k])] +=
                    p_.slope[k] * sums_[c];
        return static_cast<double>(cost) / p_.unit;
    }

    /// The segments of a block: from the first to before the end.
    std::size_t first_of(std::size_t block) const noexcept {
        return p_.rising ? 0 : block;
    }
    std::size_t end_of(std::size_t block) const noexcept {
        return p_.rising ? p_.n_segments : block + 1;
    }

    /// Raise a node's bound to that of its linear program, or above `enough`; it stops
    /// when `end` has passed. Shares are `exact` for a mixture, which has to meet the
    /// limits; the others only say where to cut.
    void solve(segment_node& node, const std::vector<segment_column>& seeds,
               double enough, const deadline& end = deadline(),
               bool exact = false) {
        node.bound = bound(node.multipliers, node.weight, node.low, node.high);
        if (node.weight > 0 && node.bound > enough) return;
        node.empty = !(node.weight > 0) && node.bound > 0;
        if (node.empty) return;
        if (!(node.weight > 0)) {
            node.weight = 1.0;
            node.bound = -infinity;
        }
        master program(p_, n_blocks_);
        std::vector<segment_column> columns;
        std::vector<double> dual, part;
        const auto add = [&](std::size_t block, const choice& numbers) {
            const double cost = measures(block, numbers, part);
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
            std::vector<double> multipliers;
            for (std::size_t i = n_blocks_; i < dual.size(); ++i)
                multipliers.push_back(std::max(-dual[i], 0.0));
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
        if (exact) program.factor();
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

    /// What one unit of each measure weighs.
    std::vector<double> net_of(const std::vector<double>& multipliers) const {
        std::vector<double> out(p_.n_measures, 0.0);
        for (const bool above : {true, false})  // rows of low ends last
            for (std::size_t i = 0; i < p_.n_rows(); ++i)
                if (multipliers[i] != 0.0 && (p_.scale[i] > 0) == above)
                    out[p_.about_of(i)] += p_.scale[i] * multipliers[i];
        return out;
    }

    /// What one unit of each slot weighs, given what one of each measure does.
    std::vector<double> priced(const std::vector<double>& net,
                               double weight) const {
        std::vector<double> out(p_.n_slots);
        for (std::size_t c = 0; c < p_.n_slots; ++c) {
            double w = weight * p_.price[c];
            for (std::size_t k = p_.terms_from(c); k < p_.terms_to(c); ++k)
                w = w + net[static_cast<std::size_t>(p_.measure[k])] * p_.slope[k];
            out[c] = w;
        }
        return out;
    }

    /// Multipliers of the rows of one measure, added up by what they say.
    struct paid {
        double low = 0.0, high = 0.0, ratio = 0.0;
    };

    /// A number that weight * E cannot be below in a box within the limits; the
    /// choices behind it are in `numbers_` and `values_`.
    double bound(const std::vector<double>& multipliers, double weight,
                 const choice& low, const choice& high) {
        const std::vector<double> net = net_of(multipliers),
                                  w = priced(net, weight);
        scan_(w.data(), low, high, numbers_, values_);
        ++scans_;
        double total = weight * p_.constant, size = std::abs(total);
        for (const double v : values_) total += v;
        double uppers[2] = {0, 0};  // of the windows whose gaps have a limited sum
        double window = 0.0;
        std::vector<bool> seen(p_.n_measures, false);
        for (std::size_t i = 0; i < p_.n_rows();) {
            const std::size_t q = p_.about_of(i);
            const std::int64_t mine = p_.window[i];
            paid y;
            double fixed = 0.0;  // of rows without a window
            for (; i < p_.n_rows() && p_.about_of(i) == q && p_.window[i] == mine;
                 ++i)
                switch (p_.kind_of(i)) {
                    case row_kind::low: y.low += multipliers[i]; break;
                    case row_kind::high:
                    case row_kind::share: y.high += multipliers[i]; break;
                    case row_kind::ratio: y.ratio += multipliers[i]; break;
                    default: fixed += p_.right[i] * multipliers[i];
                }
            if (!seen[q]) {
                total += net[q] * p_.base[q];
                size += std::abs(net[q]) * std::abs(p_.base[q]);
                seen[q] = true;
            }
            total -= fixed;
            size += std::abs(fixed);
            if (y.high > 0) {
                const auto at = static_cast<std::size_t>(mine);
                if (total_ < infinity && (at == summed_[0] || at == summed_[1]))
                    uppers[at == summed_[0] ? 0 : 1] += y.high;
                else
                    total -= most_of_[at] * y.high;
                size += most_of_[at] * y.high;
            }
            window += y.low - y.high - y.ratio;
            size += y.low + y.high + y.ratio;
            if (i == p_.n_rows() || p_.window[i] != mine) {
                total += std::min(window, 0.0);
                window = 0.0;
            }
        }
        if (total_ < infinity) total -= most_paid(uppers);
        for (std::size_t c = 0; c < p_.n_slots; ++c) {
            double most = weight * std::abs(p_.price[c]);
            for (std::size_t k = p_.terms_from(c); k < p_.terms_to(c); ++k)
                most += std::abs(net[static_cast<std::size_t>(p_.measure[k])]) *
                        std::abs(p_.slope[k]);
            size += most * p_.most[c];
        }
        return total - static_cast<double>(p_.n_slots + p_.n_segments + 24) *
                           2.3e-16 * size;
    }

    /// What two gaps within their limits, and with a sum within theirs, cost at most at
    /// these prices: the dearer one takes what it may, the other what is left.
    double most_paid(const double prices[2]) const noexcept {
        const std::size_t dear = prices[0] >= prices[1] ? 0 : 1, other = 1 - dear;
        const double first = std::min(most_of_[summed_[dear]], total_);
        const double second = std::min(most_of_[summed_[other]], total_ - first);
        return prices[dear] * first + prices[other] * second;
    }

    /// Whether a column has the candidates of `numbers_` in its block.
    bool same(const segment_column& column) const noexcept {
        for (std::size_t j = first_of(column.block); j < end_of(column.block); ++j)
            if (column.numbers[j] != numbers_[j]) return false;
        return true;
    }

    bool fits(const segment_column& seed, const segment_node& node) const noexcept {
        for (std::size_t j = first_of(seed.block); j < end_of(seed.block); ++j)
            if (seed.numbers[j] < node.low[j] || seed.numbers[j] > node.high[j])
                return false;
        return !same(seed);
    }

    const segment_problem p_;
    std::size_t n_blocks_;
    pricing scan_;
    segment_features features_;
    std::vector<double> nobody_;      ///< E of accepting nobody in each block
    std::vector<double> most_of_;     ///< largest gap of each window
    double total_ = infinity;         ///< largest sum of the gaps of two windows
    std::size_t summed_[2] = {0, 0};  ///< these two
    std::vector<double> sums_;
    choice numbers_;
    std::vector<double> values_;
    int scans_ = 0;
};

}  // namespace gstar
