// master.hpp - the linear program over some columns, by a revised simplex.
//
// A block's weights add up to one; a column is one choice of a block's candidates.
// For each rate there is a variable u, the low end of its window, with rows
// `rate - u >= 0`, `rate - u <= limit` and `ratio * rate - u <= 0`. A limit on the sum
// of the first two gaps shares it out: `rate - u - d <= 0` and `rate - u + d <= total`.
// One more variable z loosens every upper row; a first phase drives it to zero.
#pragma once

#include <algorithm>  // max, swap
#include <cmath>      // abs
#include <cstddef>    // size_t
#include <limits>
#include <vector>

#include "gstar/base/deadline.hpp"
#include "gstar/solve/segments/problem.hpp"

namespace gstar {

class master {
public:
    static constexpr double epsilon =
        1e-11;  ///< reduced costs that count as zero; and steps of the objective
    enum kind : int { x, u, s, z, d };  ///< choice, window, slack, loosening, share

    /// A column of the basis: of the pool, of a rate, or of a row.
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
    struct row {
        std::size_t rate, group;
        int kind;  ///< 0 lower, 1 upper, 2 ratio: where its multiplier stands
        double scale;
        double share = 0.0;  ///< coefficient of d
    };

    master(const segment_problem& p, std::size_t n_blocks)
        : n_blocks_(n_blocks), n_rates_(p.n_rates), right_(n_blocks, 1.0) {
        for (std::size_t r = 0; r < p.n_rates; ++r)
            for (std::size_t a = 0; a < p.n_protected; ++a) {
                const std::size_t i = r * p.n_protected + a;
                if (p.has[i] == 0) continue;
                const bool summed = p.totalled() && r < 2;
                add_row({r, a, 0, 1.0}, 0.0, p.base[i]);
                if (p.limit[r] < std::numeric_limits<double>::infinity() &&
                    !(summed && p.limit[r] >= p.total))
                    add_row({r, a, 1, 1.0}, p.limit[r], p.base[i]);
                if (summed)
                    add_row({r, a, 1, 1.0, r == 0 ? -1.0 : 1.0},
                            r == 0 ? 0.0 : p.total, p.base[i]);
                if (p.ratio[r] > 0) add_row({r, a, 2, p.ratio[r]}, 0.0, p.base[i]);
            }
        n_protected_ = p.n_protected;
    }

    std::size_t size() const noexcept { return right_.size(); }
    std::size_t n_blocks() const noexcept { return n_blocks_; }
    const std::vector<row>& rows() const noexcept { return rows_; }
    const std::vector<name>& basis() const noexcept { return basis_; }

    /// One more column: its block, its part of E, and of each rate.
    void add(std::size_t block, double cost, const std::vector<double>& rates) {
        const std::size_t at = pool_.size();
        pool_.resize(at + size(), 0.0);
        pool_[at + block] = 1.0;
        for (std::size_t i = 0; i < rows_.size(); ++i)
            pool_[at + n_blocks_ + i] =
                rows_[i].scale *
                rates[rows_[i].rate * n_protected_ + rows_[i].group];
        cost_.push_back(cost);
        block_.push_back(block);
    }

    /// The first column of each block, in order; windows begin at the lowest rate,
    /// slacks take up the rest.
    void begin() {
        const std::size_t m = size();
        std::vector<double> value(m, 0.0);
        for (std::size_t b = 0; b < n_blocks_; ++b)
            for (std::size_t i = 0; i < m; ++i) value[i] += pool_[b * m + i];
        for (std::size_t i = 0; i < m; ++i) value[i] -= right_[i];
        basis_.clear();
        for (std::size_t b = 0; b < n_blocks_; ++b) basis_.push_back({x, b});
        std::vector<std::size_t> lowest(n_rates_, 0);
        for (std::size_t i = n_blocks_; i < m; ++i) {
            const row& w = rows_[i - n_blocks_];
            if (w.kind == 0 &&
                (lowest[w.rate] == 0 || value[i] < value[lowest[w.rate]]))
                lowest[w.rate] = i;
        }
        double excess = 0.0;
        std::size_t worst = m;
        for (std::size_t i = n_blocks_; i < m; ++i) {
            const row& w = rows_[i - n_blocks_];
            if (i == lowest[w.rate]) {
                basis_.push_back({u, w.rate});
                continue;
            }
            basis_.push_back({s, i});
            const double over = value[i] - value[lowest[w.rate]];
            if (w.kind > 0 && over > excess) {
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
        double least = std::numeric_limits<double>::infinity();
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
            if (pivot(in, idle > patience) < 0) return now;
            ++idle;
            if (++pivots % clock_pivots == 0) factor();
        }
    }

    /// Values of the columns of the basis.
    std::vector<double> level() const { return times(right_.data()); }

private:
    /// Pivots between two readings of the clock; the basis is then inverted again.
    static constexpr std::size_t clock_pivots = 64;

    void add_row(const row& w, double limit, double base) {
        rows_.push_back(w);
        right_.push_back(limit - w.scale * base);
    }

    void column(const name& n, std::vector<double>& out) const {
        const std::size_t m = size();
        out.assign(m, 0.0);
        if (n.what == x)
            for (std::size_t i = 0; i < m; ++i) out[i] = pool_[n.i * m + i];
        else if (n.what == s)
            out[n.i] = rows_[n.i - n_blocks_].kind == 0 ? -1.0 : 1.0;
        else if (n.what == d)
            for (std::size_t i = 0; i < rows_.size(); ++i)
                out[n_blocks_ + i] = rows_[i].share;
        else
            for (std::size_t i = 0; i < rows_.size(); ++i)
                if (n.what == u ? rows_[i].rate == n.i : rows_[i].kind > 0)
                    out[n_blocks_ + i] = -1.0;
    }

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

    /// Inverse times a vector, one entry of the vector after the other.
    std::vector<double> times(const double* vector) const {
        const std::size_t m = size();
        std::vector<double> out(m, 0.0);
        for (std::size_t i = 0; i < m; ++i) {
            double total = 0.0;
            for (std::size_t k = 0; k < m; ++k)
                if (vector[k] != 0.0) total += inverse_[i * m + k] * vector[k];
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
            const double* col = &pool_[i * m];
            double value = now == 2 ? cost_[i] : 0.0;
            value -= dual[block_[i]];
            for (std::size_t k = n_blocks_; k < m; ++k) value -= dual[k] * col[k];
            if (better(value, {x, i})) return true;
        }
        for (std::size_t r = 0; r < n_rates_; ++r) {
            double value = 0.0;
            for (std::size_t i = 0; i < rows_.size(); ++i)
                if (rows_[i].rate == r) value += dual[n_blocks_ + i];
            if (better(value, {u, r})) return true;
        }
        for (std::size_t i = n_blocks_; i < m; ++i)
            if (better(rows_[i - n_blocks_].kind == 0 ? dual[i] : -dual[i], {s, i}))
                return true;
        double value = 0.0;
        for (std::size_t i = 0; i < rows_.size(); ++i)
            value -= rows_[i].share * dual[n_blocks_ + i];
        better(value, {d, 0});
        return any;
    }

    /// Bring a column into the basis; returns the length of the step, -1 where
    /// nothing bounds it.
    double pivot(const name& in, bool careful) {
        const std::size_t m = size();
        std::vector<double> col;
        column(in, col);
        const std::vector<double> direction = times(col.data()), values = level();
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < m; ++i) {
            if (!(direction[i] > 1e-11)) continue;
            const double step = std::max(values[i], 0.0) / direction[i];
            if (step < least) least = step;
        }
        std::size_t out = m;
        for (std::size_t i = 0; i < m; ++i) {
            if (!(direction[i] > 1e-11)) continue;
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
        if (out == m) return -1.0;
        replace(out, in, direction);
        return least;
    }

    void replace(std::size_t out, const name& in,
                 const std::vector<double>& direction) {
        const std::size_t m = size();
        double* const top = &inverse_[out * m];
        for (std::size_t k = 0; k < m; ++k) top[k] /= direction[out];
        for (std::size_t i = 0; i < m; ++i) {
            if (i == out) continue;
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

    std::size_t n_blocks_, n_rates_, n_protected_ = 0;
    std::vector<row> rows_;
    std::vector<double> right_, pool_, cost_, inverse_;
    std::vector<std::size_t> block_;
    std::vector<name> basis_;
};

}  // namespace gstar
