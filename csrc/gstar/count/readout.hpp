// readout.hpp - counts of a settled tally in the order of groups, as plain arrays.
//
// Label 2 stands for rows without one. A cell nobody counted into has no place of
// its own yet; it reads as empty.
#pragma once

#include <algorithm>  // fill, max, min
#include <cmath>      // ldexp
#include <cstdint>
#include <limits>
#include <vector>

#include "gstar/count/plane.hpp"
#include "gstar/count/tally.hpp"
#include "gstar/count/window.hpp"

namespace gstar {

using slot_list = std::vector<std::uint32_t>;  ///< of groups, in public order

/// Where the rows of one label and group are.
struct cell_place {
    const plane& p;
    std::uint32_t cell;

    cell_place(const tally& t, unsigned label, std::uint32_t slot)
        : p(label < 2 ? t.labelled : t.unlabelled),
          cell(label < 2 ? 2 * slot + label : slot) {}
    bool exists() const { return cell < p.cells(); }
    bool has_rows() const { return exists() && p.has_rows(cell); }
};

// ---- one bin ----------------------------------------------------------------

/// floor(sum / n) and the rest, for |sum| < 2^126 and a quotient below 2^63.
struct quotient {
    std::int64_t whole;
    std::uint64_t rest;
};

inline quotient divide(bin_sum sum, std::uint64_t n) noexcept {
    if (sum.limb(1) == 0 && sum.limb(0) >> 63 == 0)  // nearly always
        return {static_cast<std::int64_t>(sum.limb(0) / n), sum.limb(0) % n};
    const bool minus = sum.negative();
    if (minus) sum.negate();
    std::uint64_t rest = 0;
    std::uint64_t whole = 0;
    for (int bit = sum.bits() - 1; bit >= 0; --bit) {
        rest = (rest << 1) |
               (sum.limb(static_cast<std::size_t>(bit) / 64) >> (bit % 64) & 1);
        whole <<= 1;
        if (rest >= n) {
            rest -= n;
            whole |= 1;
        }
    }
    if (!minus) return {static_cast<std::int64_t>(whole), rest};
    if (rest == 0) return {-static_cast<std::int64_t>(whole), 0};
    return {-static_cast<std::int64_t>(whole) - 1, n - rest};
}

/// Mean score of a bin that has rows; the same double on every backend.
inline double bin_mean(const plane& p, const window& at, std::uint32_t cell,
                       std::uint32_t bin) noexcept {
    const auto n = static_cast<std::uint64_t>(p.count(cell, bin));
    const std::int64_t k = at.number(bin);
    double mean = 0;
    if (at_zero(k)) {
        mean = p.zero(cell, k).to_double(-zero_unit) / static_cast<double>(n);
    } else {
        const int unit = at.on().unit(k);
        const grid::whole_edge edge = at.on().edge(k);
        const quotient q = divide(p.sum(cell, bin), n);
        const std::int64_t whole =
            edge.j * (std::int64_t{1} << (edge.width - unit)) + q.whole;
        mean = std::ldexp(static_cast<double>(whole) +
                              static_cast<double>(q.rest) / static_cast<double>(n),
                          unit);
    }
    return std::min(std::max(mean, at.edge(bin)), at.edge(bin + 1));
}

/// Whether the rows of a bin may all have one score.
inline bool is_one_value(const plane& p, const window& at, std::uint32_t cell,
                         std::uint32_t bin) noexcept {
    const std::int64_t n = p.count(cell, bin);
    const std::int64_t k = at.number(bin);
    const auto rows = static_cast<std::uint64_t>(n);
    weight_sum single;  // the square of the weight of a single row
    single.add_product(rows, rows, 0);
    if (p.weighted() ? p.square(cell, bin) == single : n == 1) return true;
    if (at_zero(k)) return p.zero(cell, k).is_zero();
    // Scores of so many bits are a width apart. More than 24: rows of the bin agree
    // in 24 bits. Else the mean of equal scores has no more than 24 either.
    const grid::whole_edge nearer = at.on().edge(k > 0 ? k : -k - 1);
    return bit_length(static_cast<std::uint64_t>(nearer.j)) > 24 ||
           divide(p.sum(cell, bin), rows).rest == 0;
}

// ---- arrays -----------------------------------------------------------------

/// All edges, one more than bins.
inline void read_edges(const window& at, double* to) noexcept {
    for (std::int64_t i = 0; i <= at.bins(); ++i) to[i] = at.edge(i);
}

/// Mean score of one cell by bin; NaN where a bin has no rows.
inline void read_cell_means(const plane& p, const window& at, std::uint32_t cell,
                            double* to) noexcept {
    for (std::uint32_t b = 0; b < at.bins(); ++b)
        to[b] = p.count(cell, b) != 0 ? bin_mean(p, at, cell, b)
                                      : std::numeric_limits<double>::quiet_NaN();
}

/// Rows by group and bin, bins of one group beside each other.
inline void read_counts(const tally& t, const slot_list& slots, unsigned label,
                        std::int64_t* to) {
    const std::uint32_t bins = t.at().bins();
    for (const std::uint32_t slot : slots) {
        const cell_place c(t, label, slot);
        std::fill(to, to + bins, 0);
        if (c.exists()) c.p.add_counts(c.cell, to);
        to += bins;
    }
}

/// Mean score by group and bin; NaN where a bin has no rows.
inline void read_means(const tally& t, const slot_list& slots, unsigned label,
                       double* to) {
    const std::uint32_t bins = t.at().bins();
    for (const std::uint32_t slot : slots) {
        const cell_place c(t, label, slot);
        if (c.has_rows())
            read_cell_means(c.p, t.at(), c.cell, to);
        else
            std::fill(to, to + bins, std::numeric_limits<double>::quiet_NaN());
        to += bins;
    }
}

/// One number of each cell, three labels by groups, from `of(plane, cell)`; 0 of a
/// cell that is not there.
template <class Number, class Of>
void read_cells(const tally& t, const slot_list& slots, Number* to, Of of) {
    for (unsigned label = 0; label < 3; ++label)
        for (const std::uint32_t slot : slots) {
            const cell_place c(t, label, slot);
            *to++ = c.exists() ? of(c.p, c.cell) : Number{0};
        }
}

/// Sum of squared weights of each cell, three labels by groups.
inline void read_squared_weights(const tally& t, const slot_list& slots,
                                 double* to) {
    read_cells(t, slots, to, [&](const plane& p, std::uint32_t c) {
        if (!t.weighted()) return static_cast<double>(p.total(c));
        weight_sum all = p.weights(c).below;
        all += p.weights(c).above;
        for (std::uint32_t b = 0; p.has_rows(c) && b < p.bins(); ++b)
            all += p.square(c, b);
        return all.to_double(-squared_weight_unit);
    });
}

/// Sums of squared weights by group: below, every bin, above.
inline void read_squares(const tally& t, const slot_list& slots, unsigned label,
                         double* to) {
    const std::uint32_t bins = t.at().bins();
    for (const std::uint32_t slot : slots) {
        const cell_place c(t, label, slot);
        const auto real = [](const weight_sum& v) {
            return v.to_double(-squared_weight_unit);
        };
        std::fill(to, to + bins + 2, 0.0);
        if (c.exists()) {
            const bool weighs = t.weighted();
            const cell_weights& w = c.p.weights(c.cell);
            to[0] = weighs ? real(w.below) : static_cast<double>(c.p.below(c.cell));
            to[bins + 1] =
                weighs ? real(w.above) : static_cast<double>(c.p.above(c.cell));
            for (std::uint32_t b = 0; c.has_rows() && b < bins; ++b)
                to[1 + b] = weighs ? real(c.p.square(c.cell, b))
                                   : static_cast<double>(c.p.count(c.cell, b));
        }
        to += bins + 2;
    }
}

/// Smallest or largest score of each group; NaN where there is none.
inline void read_extremes(const tally& t, const slot_list& slots, unsigned label,
                          bool largest, double* to) {
    for (const std::uint32_t slot : slots) {
        const cell_place c(t, label, slot);
        *to++ = !c.has_rows() ? std::numeric_limits<double>::quiet_NaN()
                : largest     ? c.p.hi(c.cell)
                              : c.p.lo(c.cell);
    }
}

/// A bin of several values, and its share of the rows of its cell.
struct full_bin {
    double share = 0;
    unsigned label = 0;
    std::uint32_t group = 0;  ///< its position
    std::uint32_t bin = 0;
};

/// The one with the largest share, of those that count `least`; the first of several.
inline full_bin fullest(const tally& t, const slot_list& slots,
                        std::int64_t least) {
    full_bin best;
    for (unsigned label = 0; label < 3; ++label)
        for (std::uint32_t g = 0; g < slots.size(); ++g) {
            const cell_place c(t, label, slots[g]);
            if (!c.has_rows()) continue;
            std::int64_t most = 0;
            std::uint32_t at = 0;
            for (std::uint32_t b = 0; b < t.at().bins(); ++b) {
                const std::int64_t n = c.p.count(c.cell, b);
                if (n < least || n <= most || is_one_value(c.p, t.at(), c.cell, b))
                    continue;
                most = n;
                at = b;
            }
            const double share =
                static_cast<double>(most) / static_cast<double>(c.p.total(c.cell));
            if (share > best.share) best = {share, label, g, at};
        }
    return best;
}

/// One cell, as it was when it was copied.
struct cell_copy {
    plane p;
    window at;
    bool weighted;

    static cell_copy of(const tally& t, unsigned label, std::uint32_t slot) {
        const cell_place c(t, label, slot);
        cell_copy out{plane(t.at().bins(), t.weighted()), t.at(), t.weighted()};
        out.p.resize(1);
        if (!c.exists()) return out;
        std::vector<std::uint32_t> map(c.p.cells(), plane::no_cell);
        map[c.cell] = 0;
        out.p.need(c.p, map.data(), c.p.pending());
        out.p.merge(c.p, map.data());
        return out;
    }

    void counts(std::int64_t* to) const {
        std::fill(to, to + at.bins(), 0);
        p.add_counts(0, to);
    }
    void means(double* to) const { read_cell_means(p, at, 0, to); }
    double extreme(bool largest) const {
        if (!p.has_rows(0)) return std::numeric_limits<double>::quiet_NaN();
        return largest ? p.hi(0) : p.lo(0);
    }
};

}  // namespace gstar
