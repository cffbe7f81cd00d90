// moments.hpp - mean of each bin and spread within bins, from exact sums.
//
// Reads from: plane.hpp.  Read by: density.hpp, bindings.
#pragma once

#include <algorithm>  // min, max
#include <cmath>      // ldexp
#include <cstdint>

#include "grid.hpp"
#include "plane.hpp"

namespace gstar {

/// floor(sum / n) and the rest, for |sum| < 2^126 and a quotient below 2^63.
struct quotient {
    std::int64_t whole;
    std::uint64_t rest;
};

inline quotient divide(bin_sum sum, std::uint64_t n) noexcept {
    const bool minus = sum.negative();
    if (minus) sum.negate();
    std::uint64_t rest = 0;
    std::uint64_t whole = 0;
    for (int bit = sum.bits() - 1; bit >= 0; --bit) {
        rest = (rest << 1) | (sum.limb(static_cast<std::size_t>(bit) / 64) >> (bit % 64) & 1);
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
    const std::int64_t k = at.first + bin;
    double mean = 0;
    if (k == 0 || k == -1) {
        mean = p.more(cell)->zero[k + 1].to_double(-zero_unit) / static_cast<double>(n);
    } else {
        const quotient q = divide(p.sum(cell, bin), n);
        const double offset = static_cast<double>(q.whole) +
                              static_cast<double>(q.rest) / static_cast<double>(n);
        mean = std::ldexp(
            static_cast<double>(k) + offset * std::ldexp(1.0, -offset_bits), at.level);
    }
    return std::min(std::max(mean, at.edge(bin)), at.edge(bin + 1));
}

/// squares -= (or +=) a * b * 2^bit, where a level below -1051 makes `bit`
/// fall under the unit of squares: scores have no such bits.
inline void take_off(square_sum& squares, std::uint64_t a, std::uint64_t b, int bit,
                     bool minus) noexcept {
    const int at = bit + square_unit;
    if (at >= 0) {
        squares.add_product(a, b, static_cast<unsigned>(at), minus);
        return;
    }
    square_sum product;
    product.add_product(a, b, 0, false);
    for (int i = at; i < 0; ++i) product.halve();
    if (minus) product.negate();
    squares += product;
}

/// Sum over a cell's rows of (rounded score - mean of its bin)^2.
///
/// What the bins' edges contribute is taken off in whole numbers; what is left
/// is of the size of the answer. 0 where the window lies so far from zero that
/// rounding to 24 bits is coarser than a bin.
inline double spread_within(const plane& p, const window& at,
                            std::uint32_t cell) noexcept {
    if (cell >= p.cells() || !p.has_rows(cell) || p.more(cell) == nullptr ||
        at.reach() > (std::int64_t{1} << 24))
        return 0;
    square_sum squares = p.more(cell)->squares;
    const int unit = 2 * (at.level - offset_bits);
    double of_means = 0;  // sum over bins of (sum of offsets)^2 / rows
    for (std::uint32_t b = 0; b < at.bins; ++b) {
        const auto n = static_cast<std::uint64_t>(p.count(cell, b));
        if (n == 0) continue;
        const std::int64_t k = at.first + b;
        if (k == 0 || k == -1) {
            const double z = std::ldexp(p.more(cell)->zero[k + 1].to_double(-zero_unit),
                                        offset_bits - at.level);
            of_means += z * z / static_cast<double>(n);
            continue;
        }
        const bin_sum& sum = p.sum(cell, b);
        const auto size = static_cast<std::uint64_t>(k < 0 ? -k : k);
        take_off(squares, size * size, n, unit + 2 * offset_bits, true);
        take_off(squares, size, sum.limb(0), unit + offset_bits + 1, k > 0);
        take_off(squares, size, sum.limb(1), unit + offset_bits + 1 + 64, k > 0);
        const double s = sum.to_double(0);
        of_means += s * s / static_cast<double>(n);
    }
    const double left = squares.to_double(-square_unit - unit) - of_means;
    return left > 0 ? std::ldexp(left, unit) : 0;
}

}  // namespace gstar
