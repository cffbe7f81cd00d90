// cell_bytes.hpp - the counts and sums of one cell <-> bytes.
#pragma once

#include <algorithm>  // max, min
#include <cmath>      // fabs, signbit
#include <cstddef>    // size_t
#include <cstdint>
#include <limits>
#include <vector>

#include "gstar/base/bytes.hpp"
#include "gstar/base/wide.hpp"
#include "gstar/count/cell_sums.hpp"
#include "gstar/count/grid.hpp"
#include "gstar/count/plane.hpp"
#include "gstar/count/square_bounds.hpp"

namespace gstar {

constexpr std::uint64_t most_rows = (std::uint64_t{1} << 63) - 1;

namespace detail {

// ---- wide numbers -----------------------------------------------------------

/// zigzag of v / 2^shift, which leaves no remainder.
template <std::size_t N>
void write_zigzag(byte_writer& to, wide<N> v, int shift = 0) {
    const bool minus = v.negative();
    if constexpr (N == 2) {  // the sum of a bin, which nearly always fits
        const std::uint64_t low = v.limb(0);
        if (shift == 0 && v.limb(1) == (minus ? ~std::uint64_t{0} : 0) &&
            (low >> 63 != 0) == minus) {
            to.zigzag(static_cast<std::int64_t>(low));
            return;
        }
    }
    if (minus) v.negate();
    // 2v, or 2v - 1 below zero: as bits, the magnitude and then the sign.
    // 2(m) - 1 = 2(m - 1) + 1, so the magnitude loses one first.
    wide<N> magnitude;
    for (int i = 0; i < static_cast<int>(N); ++i)
        magnitude.set_limb(static_cast<std::size_t>(i), v.word_at(shift + 64 * i));
    if (minus) magnitude.add(-1, 0);
    const int length = magnitude.bits() + 1;
    std::uint8_t low = static_cast<std::uint8_t>(
        ((magnitude.limb(0) << 1) | (minus ? 1u : 0u)) & 0x7F);
    int at = 6;  // bits of the magnitude written with the sign
    while (at < length - 1) {
        to.out.push_back(static_cast<std::uint8_t>(low | 0x80));
        low = static_cast<std::uint8_t>(magnitude.word_at(at) & 0x7F);
        at += 7;
    }
    to.out.push_back(low);
}

/// An integer in units of 2^-unit as odd mantissa and exponent.
template <std::size_t N>
void write_number(byte_writer& to, const wide<N>& v, int unit) {
    if (v.is_zero()) {
        to.out.push_back(0);
        return;
    }
    int shift = 0;
    while ((v.limb(static_cast<std::size_t>(shift) / 64) >> (shift % 64) & 1) == 0)
        ++shift;
    write_zigzag(to, v, shift);
    to.zigzag(static_cast<std::int64_t>(shift - unit));
}

/// zigzag of up to `most` bits of magnitude.
template <std::size_t N>
wide<N> read_zigzag(byte_reader& from, int most) {
    wide<N> v;
    bool minus = false;
    for (int at = -1;; at += 7) {  // bit -1 is the sign
        const std::uint8_t b = from.byte();
        const std::uint64_t part = b & 0x7Fu;
        if (at < 0) {
            minus = (part & 1) != 0;
            v.add(static_cast<std::int64_t>(part >> 1), 0);
        } else if (part != 0) {
            if (at + bit_length(part) > most) from.refuse("a number is too large");
            v.add(static_cast<std::int64_t>(part), static_cast<unsigned>(at));
        }
        if (b < 0x80) {
            if (b == 0 && at >= 0) from.refuse("a number is not in shortest form");
            break;
        }
        if (at > most) from.refuse("a number is too large");
    }
    if (minus) {
        v.add(1, 0);
        v.negate();
    }
    return v;
}
/// Mantissa and exponent, in units of 2^-unit and of at most `most` bits.
template <std::size_t N>
wide<N> read_number(byte_reader& from, int unit, int most) {
    wide<N> v = read_zigzag<N>(from, most);
    if (v.is_zero()) return v;
    if ((v.limb(0) & 1) == 0) from.refuse("a sum is not in shortest form");
    const std::int64_t exponent = from.zigzag();
    wide<N> size = v;
    if (size.negative()) size.negate();
    if (exponent < -unit || exponent + unit + size.bits() > most)
        from.refuse("a sum is out of range");
    auto shift = static_cast<unsigned>(exponent + unit);
    for (; shift >= 63; shift -= 63) v.shift_left(63);
    if (shift != 0) v.shift_left(shift);
    return v;
}

// ---- cells ------------------------------------------------------------------

inline void write_cell(byte_writer& to, const plane& p, std::uint32_t cell,
                       const window& at) {
    if (cell >= p.cells()) {
        to.fixed(0, 3);
        return;
    }
    to.varint(static_cast<std::uint64_t>(p.below(cell)));
    to.varint(static_cast<std::uint64_t>(p.above(cell)));
    std::vector<std::uint32_t> full;
    for (std::uint32_t b = 0; b < at.bins; ++b)
        if (p.count(cell, b) != 0) full.push_back(b);
    to.varint(full.size());
    if (full.empty()) return;
    to.real(p.lo(cell));
    to.real(p.hi(cell));
    write_number(to, p.more(cell)->squares, square_unit);
    std::uint32_t next = 0;
    for (const std::uint32_t b : full) {
        to.varint(b - next);
        next = b + 1;
        to.varint(static_cast<std::uint64_t>(p.count(cell, b)));
        const std::int64_t k = at.first + b;
        if (k == 0 || k == -1)
            write_number(to, p.more(cell)->zero[k + 1], zero_unit);
        else
            write_zigzag(to, p.sum(cell, b));
    }
}

/// Reads cells one after the other and checks that they belong together.
class cell_reader {
public:
    cell_reader(byte_reader& from, const window& at) : from_(from), at_(at) {}

    void read(plane& p, std::uint32_t cell) {
        const std::uint64_t below = add_rows(from_.varint());
        const std::uint64_t above = add_rows(from_.varint());
        const std::uint64_t n_full = from_.varint();
        if (n_full > at_.bins) from_.refuse("a cell has more bins than the sketch");
        any_ = below != 0 || above != 0 || n_full != 0;
        if (!any_) return;
        p.add_below(cell, static_cast<std::int64_t>(below));
        p.add_above(cell, static_cast<std::int64_t>(above));
        if (n_full != 0) read_bins(p, cell, n_full);
    }

    bool any() const noexcept { return any_; }
    std::int64_t total() const noexcept {
        return static_cast<std::int64_t>(total_);
    }
    double lo() const noexcept { return lo_; }
    double hi() const noexcept { return hi_; }

private:
    std::uint64_t add_rows(std::uint64_t n) {
        if (n > most_rows - total_) from_.refuse("it has 2**63 rows or more");
        total_ += n;
        return n;
    }

    double extreme() {
        const double x = from_.real();
        if (!(std::fabs(x) <= greatest_score()) || (x == 0 && std::signbit(x)))
            from_.refuse("an extreme score is not a score");
        return x;
    }

    void read_bins(plane& p, std::uint32_t cell, std::uint64_t n_full) {
        const double lo = extreme();
        const double hi = extreme();
        if (lo > hi) from_.refuse("the smallest score is above the largest");
        cell_extra& more = p.extra(cell);
        more.squares = read_number<66>(from_, square_unit, 64 * 66 - 2);
        if (more.squares.negative()) from_.refuse("a sum of squares is negative");
        square_bounds bounds(at_.level);
        std::uint64_t rows = 0;
        std::uint64_t next = 0;
        for (std::uint64_t i = 0; i < n_full; ++i) {
            const std::uint64_t gap = from_.varint();
            if (gap >= at_.bins - next) from_.refuse("a bin is outside the window");
            const std::uint64_t b = next + gap;
            next = b + 1;
            const std::int64_t k = at_.first + static_cast<std::int64_t>(b);
            if (i == 0 && bin_floor(lo, at_.level) != static_cast<double>(k))
                from_.refuse("the smallest score is not in the first bin");
            if (i + 1 == n_full &&
                bin_floor(hi, at_.level) != static_cast<double>(k))
                from_.refuse("the largest score is not in the last bin");
            const std::uint64_t n = add_rows(from_.varint());
            if (n == 0) from_.refuse("a bin that is listed has no rows");
            rows += n;
            bin_sum sum;
            if (k == 0 || k == -1) {
                more.zero[k + 1] = read_zero(n, k);
                bounds.add_zero(n, more.zero[k + 1]);
            } else {
                sum = read_sum(n, k);
                bounds.add(n, k, sum, slack_of(spacing_at(k)));
            }
            p.put(cell, static_cast<std::uint32_t>(b), static_cast<std::int64_t>(n),
                  sum);
        }
        check_squares(more.squares, rows, lo, hi);
        if (!bounds.hold(more.squares))
            from_.refuse("a sum of squares does not fit its bins");
        p.cover(cell, lo, hi);
        lo_ = std::min(lo_, lo);
        hi_ = std::max(hi_, hi);
    }

    /// Distance of 24-bit numbers at the nearer edge of bin k, away from zero, as
    /// a power of two of the unit of sums.
    int spacing_at(std::int64_t k) const noexcept {
        const auto nearer = static_cast<std::uint64_t>(k > 0 ? k : -k - 1);
        return std::max(at_.level + bit_length(nearer) - 1 - 23, -1045) -
               (at_.level - offset_bits);
    }

    /// How far rounding may carry a score out of its bin, in units of sums.
    static std::uint64_t slack_of(int spacing) noexcept {
        return spacing - 1 >= offset_bits ? std::uint64_t{1} << (spacing - 1) : 0;
    }

    bin_sum read_sum(std::uint64_t n, std::int64_t k) {
        const bin_sum sum = read_zigzag<2>(from_, 126);
        const int spacing = spacing_at(k);
        const std::uint64_t slack = slack_of(spacing);
        bin_sum least;
        least.add_product(n, slack, 0, true);
        bin_sum most;
        most.add_product(n, slack + (std::uint64_t{1} << offset_bits), 0);
        if (sum < least || most < sum) from_.refuse("a sum is not within its bin");
        wide<4> scores;
        scores.add_product(n, static_cast<std::uint64_t>(k < 0 ? -k : k),
                           offset_bits, k < 0);
        scores.add_product(sum.limb(0), 1, 0);
        scores.add(static_cast<std::int64_t>(sum.limb(1)), 64);
        if (spacing > 0 && scores.limb(0) << (64 - spacing) != 0)
            from_.refuse("a sum is not one of rounded scores");
        return sum;
    }

    zero_sum read_zero(std::uint64_t n, std::int64_t k) {
        const zero_sum sum = read_number<34>(from_, zero_unit, 64 * 34 - 2);
        zero_sum bound;
        bound.add_product(
            n, 1, static_cast<unsigned>(std::max(at_.level, -1045) + zero_unit),
            k != 0);
        const zero_sum nothing;
        const bool fine = k == 0 ? !sum.negative() && !(bound < sum)
                                 : !(sum < bound) && !(nothing < sum);
        if (!fine) from_.refuse("a sum is not within its bin");
        return sum;
    }

    void check_squares(const square_sum& squares, std::uint64_t rows, double lo,
                       double hi) const {
        const double far = std::max(std::fabs(round24(lo)), std::fabs(round24(hi)));
        const rounded parts = take_apart(far);
        const auto size = static_cast<std::uint64_t>(parts.mantissa);
        square_sum most;
        most.add_product(size * size, rows,
                         static_cast<unsigned>(2 * parts.exponent + square_unit));
        if (most < squares) from_.refuse("a sum of squares is too large");
    }

    byte_reader& from_;
    window at_;
    std::uint64_t total_ = 0;
    bool any_ = false;
    double lo_ = std::numeric_limits<double>::infinity();
    double hi_ = -std::numeric_limits<double>::infinity();
};

}  // namespace detail
}  // namespace gstar
