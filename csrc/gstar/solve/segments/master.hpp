// master.hpp - the linear program over some columns, by a revised simplex.
//
// A block's weights add up to one; a column is one choice of a block's candidates.
// Rows are data: see `row_kind`. For each window there is a variable t, its low end; a
// limit on the sum of two gaps has one more, d, the share of the first. One more
// variable z loosens every row but those of low ends; a first phase drives it to zero.
#pragma once

#include <algorithm>  // max, swap
#include <cmath>      // abs
#include <cstddef>    // size_t
#include <vector>

#include "gstar/base/deadline.hpp"
#include "gstar/solve/segments/problem.hpp"

namespace gstar {

class master {
public:
    /// Reduced costs that count as zero; and steps of the objective.
    static constexpr double epsilon = 1e-11;
    enum kind : int { x, t, s, z, d };  ///< choice, window, slack, loosening, share

    /// A column of the basis: of the pool, of a window, or of a row.
    struct name {
        kind what;
        std::size_t i;
        bool operator==(const name& o) const noexcept {
            return what == o.what && i == o.i;
        }
        bool operator<(const name& o) const noexcept {
            return what != o.what ? what < o.what : i < o.i;
        }
    };

    master(const segment_problem& p, std::size_t n_blocks)
        : p_(&p),
          n_blocks_(n_blocks),
          n_windows_(p.n_windows()),
          right_(n_blocks, 1.0) {
        for (std::size_t i = 0; i < p.n_rows(); ++i)
            right_.push_back(p.right[i] - p.scale[i] * p.base[p.about_of(i)]);
    }

    std::size_t size() const noexcept { return right_.size(); }
    std::size_t n_blocks() const noexcept { return n_blocks_; }
    const std::vector<name>& basis() const noexcept { return basis_; }

    /// One more column: its block, its part of E, and of each measure.
    void add(std::size_t block, double cost, const std::vector<double>& measures) {
        pool_.emplace_back();
        pool_.back().push_back({block, 1.0});
        for (std::size_t i = 0; i < p_->n_rows(); ++i) {
            const double value = p_->scale[i] * measures[p_->about_of(i)];
            if (value != 0.0) pool_.back().push_back({n_blocks_ + i, value});
        }
        cost_.push_back(cost);
    }

    /// The first column of each block, in order; windows begin at the lowest measure,
    /// slacks take up the rest.
    void begin() {
        const std::size_t m = size();
        std::vector<double> value(m, 0.0);
        for (std::size_t b = 0; b < n_blocks_; ++b)
            for (const filled& e : pool_[b]) value[e.at] += e.value;
        for (std::size_t i = 0; i < m; ++i) value[i] -= right_[i];
        basis_.clear();
        for (std::size_t b = 0; b < n_blocks_; ++b) basis_.push_back({x, b});
        std::vector<std::size_t> lowest(n_windows_, 0);
        for (std::size_t i = n_blocks_; i < m; ++i) {
            if (!low(i)) continue;
            std::size_t& at = lowest[window(i)];
            if (at == 0 || value[i] > value[at]) at = i;
        }
        double excess = 0.0;
        std::size_t worst = m;
        for (std::size_t i = n_blocks_; i < m; ++i) {
            const std::size_t at = windowed(i) ? lowest[window(i)] : 0;
            if (i == at) {
                basis_.push_back({t, window(i)});
                continue;
            }
            basis_.push_back({s, i});
            const double over = at == 0 ? value[i] : value[i] + value[at];
            if (!low(i) && over > excess) {
                excess = over;
                worst = i;
            }
        }
        if (worst < m) basis_[worst] = {z, 0};
        factor();
    }

    /// Pivot until no column helps: the phase it ended in (1: the limits are not met
    /// yet); `dual` has the dual values.
    ///
    /// A window as narrow as the tolerance makes steps as small as rounding errors, and
    /// the pivots may cycle. So the program also ends when the objective has not fallen
    /// for many pivots, or when `end` has passed: dual values of any basis give a valid
    /// bound.
    int optimise(std::vector<double>& dual, const deadline& end) {
        const std::size_t patience = 2 * size();  // pivots before the careful rule
        std::size_t pivots = 0, idle = 0;
        double least = infinity;
        int before = 0;
        for (;;) {
            const int now = phase();
            duals(now, dual);
            double value = 0.0;  // the objective: dual values times right sides
            for (std::size_t k = 0; k < size(); ++k) value += dual[k] * right_[k];
            if (now != before || value < least - epsilon) {
                idle = 0;
                least = value;
                before = now;
            }
            const bool stuck =
                idle > 10 * patience ||
                (pivots % clock_pivots == clock_pivots - 1 && end.passed());
            name in{x, 0};
            if (stuck || !entering(dual, now, idle > patience, in)) {
                if (now == 1 && expel()) continue;
                return now;
            }
            // a ray, which can only come from rounding
            if (!pivot(in, idle > patience)) return now;
            ++idle;
            if (++pivots % clock_pivots == 0) factor();
        }
    }

    /// Values of the columns of the basis.
    std::vector<double> level() const { return times(right_.data()); }

    /// Inverse of the basis: Gauss-Jordan with the largest pivot.
    void factor() {
        const std::size_t m = size(), wide = 2 * m;
        std::vector<double> a(m * wide, 0.0), c;
        for (std::size_t k = 0; k < m; ++k) {
            column(basis_[k], c);
            for (std::size_t i = 0; i < m; ++i) a[i * wide + k] = c[i];
            a[k * wide + m + k] = 1.0;
        }
        for (std::size_t k = 0; k < m; ++k) {
            std::size_t at = k;
            for (std::size_t i = k + 1; i < m; ++i)
                if (std::abs(a[i * wide + k]) > std::abs(a[at * wide + k])) at = i;
            double* const top = &a[k * wide];
            if (at != k) std::swap_ranges(top, top + wide, &a[at * wide]);
            const double by = top[k];
            for (std::size_t i = 0; i < wide; ++i) top[i] /= by;
            for (std::size_t i = 0; i < m; ++i) {
                const double factor = a[i * wide + k];
                if (i == k || factor == 0.0) continue;
                for (std::size_t q = 0; q < wide; ++q)
                    a[i * wide + q] -= factor * top[q];
            }
        }
        inverse_.resize(m * m);
        for (std::size_t i = 0; i < m; ++i)
            for (std::size_t k = 0; k < m; ++k)
                inverse_[i * m + k] = a[i * wide + m + k];
    }

private:
    /// A smaller pivot may be rounding, and would ruin the basis.
    static constexpr double smallest = 1e-9;
    /// An entry of a column that is not zero.
    struct filled {
        std::size_t at;
        double value;
    };
    /// Pivots between two readings of the clock; the basis is then inverted again.
    static constexpr std::size_t clock_pivots = 64;

    std::size_t row(std::size_t i) const noexcept { return i - n_blocks_; }
    bool low(std::size_t i) const noexcept {
        return p_->kind_of(row(i)) == row_kind::low;
    }
    bool windowed(std::size_t i) const noexcept { return p_->window[row(i)] >= 0; }
    std::size_t window(std::size_t i) const noexcept {
        return static_cast<std::size_t>(p_->window[row(i)]);
    }

    void column(const name& n, std::vector<double>& out) const {
        const std::size_t m = size();
        out.assign(m, 0.0);
        if (n.what == x)
            for (const filled& e : pool_[n.i]) out[e.at] = e.value;
        else if (n.what == s)
            out[n.i] = 1.0;
        else
            for (std::size_t i = n_blocks_; i < m; ++i)
                if (n.what == d)
                    out[i] = p_->share[row(i)];
                else if (n.what == z)
                    out[i] = low(i) ? 0.0 : -1.0;
                else if (windowed(i) && window(i) == n.i)
                    out[i] = p_->ahead(row(i));
    }

    /// Inverse times a vector, one entry of the vector after the other.
    std::vector<double> times(const double* vector) const {
        const std::size_t m = size();
        std::vector<std::size_t> some;
        for (std::size_t k = 0; k < m; ++k)
            if (vector[k] != 0.0) some.push_back(k);
        std::vector<double> out(m, 0.0);
        for (std::size_t i = 0; i < m; ++i) {
            const double* const row = &inverse_[i * m];
            double total = 0.0;
            for (const std::size_t k : some) total += row[k] * vector[k];
            out[i] = total;
        }
        return out;
    }

    int phase() const noexcept {
        for (const name& n : basis_)
            if (n.what == z) return 1;
        return 2;
    }

    void duals(int now, std::vector<double>& out) const {
        const std::size_t m = size();
        out.assign(m, 0.0);
        for (std::size_t k = 0; k < m; ++k) {
            const name& n = basis_[k];
            const double cost = now == 1 ? (n.what == z ? 1.0 : 0.0)
                                         : (n.what == x ? cost_[n.i] : 0.0);
            if (cost == 0.0) continue;
            for (std::size_t i = 0; i < m; ++i)
                out[i] += inverse_[k * m + i] * cost;
        }
    }

    bool inside(const name& n) const noexcept {
        for (const name& b : basis_)
            if (b == n) return true;
        return false;
    }

    /// The column with the lowest reduced cost; the first negative one when cycling
    /// threatens (Bland).
    bool entering(const std::vector<double>& dual, int now, bool careful,
                  name& found) const {
        const std::size_t m = size();
        double least = -epsilon;
        bool any = false;
        const auto better = [&](double value, const name& n) {
            if (!(value < least) || inside(n)) return false;
            found = n;
            least = value;
            any = true;
            return careful;
        };
        for (std::size_t i = 0; i < cost_.size(); ++i) {
            double value = now == 2 ? cost_[i] : 0.0;
            for (const filled& e : pool_[i]) value -= dual[e.at] * e.value;
            if (better(value, {x, i})) return true;
        }
        std::vector<double> of_window(n_windows_, 0.0);
        for (std::size_t i = n_blocks_; i < m; ++i)
            if (windowed(i)) of_window[window(i)] -= dual[i] * p_->ahead(row(i));
        for (std::size_t w = 0; w < n_windows_; ++w)
            if (better(of_window[w], {t, w})) return true;
        for (std::size_t i = n_blocks_; i < m; ++i)
            if (better(-dual[i], {s, i})) return true;
        double value = 0.0;
        for (std::size_t i = n_blocks_; i < m; ++i)
            value -= p_->share[row(i)] * dual[i];
        better(value, {d, 0});
        return any;
    }

    /// Bring a column into the basis; false where nothing bounds the step.
    bool pivot(const name& in, bool careful) {
        const std::size_t m = size();
        std::vector<double> col;
        column(in, col);
        const std::vector<double> direction = times(col.data()), values = level();
        double least = infinity;
        for (std::size_t i = 0; i < m; ++i) {
            if (!(direction[i] > smallest)) continue;
            const double step = std::max(values[i], 0.0) / direction[i];
            if (step < least) least = step;
        }
        std::size_t out = m;
        for (std::size_t i = 0; i < m; ++i) {
            if (!(direction[i] > smallest)) continue;
            if (!(std::max(values[i], 0.0) / direction[i] <= least + 1e-13))
                continue;
            // z leaves first; then the firmest pivot, or the lowest name where
            // cycling threatens
            if (basis_[i].what == z) {
                out = i;
                break;
            }
            if (out == m ||
                (careful ? basis_[i] < basis_[out] : direction[i] > direction[out]))
                out = i;
        }
        if (out == m) return false;
        replace(out, in, direction);
        return true;
    }

    void replace(std::size_t out, const name& in,
                 const std::vector<double>& direction) {
        const std::size_t m = size();
        double* const top = &inverse_[out * m];
        for (std::size_t k = 0; k < m; ++k) top[k] /= direction[out];
        for (std::size_t i = 0; i < m; ++i) {
            if (i == out || direction[i] == 0.0) continue;
            for (std::size_t k = 0; k < m; ++k)
                inverse_[i * m + k] -= direction[i] * top[k];
        }
        basis_[out] = in;
    }

    /// Take a z of zero out of the basis by any slack that can stand in for it.
    bool expel() {
        std::size_t at = 0;
        while (basis_[at].what != z) ++at;
        if (level()[at] > 1e-11) return false;
        std::vector<double> col;
        for (std::size_t i = n_blocks_; i < size(); ++i) {
            if (inside({s, i})) continue;
            column({s, i}, col);
            const std::vector<double> direction = times(col.data());
            if (std::abs(direction[at]) > 1e-9) {
                replace(at, {s, i}, direction);
                return true;
            }
        }
        return false;
    }

    const segment_problem* p_;
    std::size_t n_blocks_, n_windows_;
    std::vector<double> right_, cost_, inverse_;
    std::vector<std::vector<filled>> pool_;  ///< columns, without their zeros
    std::vector<name> basis_;
};

}  // namespace gstar
