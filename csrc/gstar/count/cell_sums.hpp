// cell_sums.hpp - the exact sums a cell keeps of its scores.
#pragma once

#include <cstdint>

#include "gstar/base/wide.hpp"
#include "gstar/count/grid.hpp"
#include "gstar/count/packed.hpp"

namespace gstar {

using bin_sum = wide<2>;      ///< offsets of a bin, in units of 2^(level - 23)
using zero_sum = wide<34>;    ///< scores next to zero, in units of 2^-1074
using square_sum = wide<66>;  ///< squared scores of a cell, in units of 2^-2148

constexpr int zero_unit = 1074;  ///< zero_sum counts units of 2^-zero_unit
constexpr int square_unit = 2 * 1074;

/// Scores next to zero on their way into a cell's sums: mantissas added up by
/// exponent, which is exact and waits for no carry.
struct near_zero {
    static constexpr int depth = 32;  ///< exponents below a bin's width held here
    std::int64_t sum[2][depth] = {};
    std::uint64_t square[depth] = {};
    bool any = false;
};

/// What a cell keeps beside its bins.
struct cell_extra {
    near_zero pending;
    zero_sum zero[2];    ///< sums of bin -1 and of bin 0
    square_sum squares;  ///< sum of squares of all its rows in the window

    /// Add a score of bin k, -1 or 0, at a level.
    void add_near_zero(int k, const rounded& parts, int level) noexcept {
        const std::int64_t m = parts.mantissa;
        const int below = level - 24 - parts.exponent;
        if (below >= 0 && below < near_zero::depth) {
            pending.sum[k + 1][below] += m;
            pending.square[below] += static_cast<std::uint64_t>(m * m);
            pending.any = true;
        } else if (m != 0) {
            zero[k + 1].add(m, static_cast<unsigned>(parts.exponent + zero_unit));
            squares.add(m * m,
                        static_cast<unsigned>(2 * parts.exponent + square_unit));
        }
    }

    /// Move what is pending, which came at this level, into the sums.
    void fold_pending(int level) noexcept {
        for (int below = 0; below < near_zero::depth; ++below) {
            const int exponent = level - 24 - below;
            const auto bit = static_cast<unsigned>(exponent + zero_unit);
            zero[0].add(pending.sum[0][below], bit);
            zero[1].add(pending.sum[1][below], bit);
            squares.add_product(pending.square[below], 1,
                                static_cast<unsigned>(2 * exponent + square_unit));
        }
        pending = near_zero();
    }
};

/// zero += (n * k * 2^23 + sum) * 2^unit. Where unit is negative, so deep
/// are the levels that the score's own unit of 2^-1074 is coarser.
inline void add_zero(zero_sum& zero, std::uint64_t n, std::uint64_t k, bool minus,
                     bin_sum sum, int unit) {
    zero_sum value;
    value.add_product(n, k, offset_bits, minus);
    const bool negative = sum.negative();
    if (negative) sum.negate();
    value.add_product(sum.limb(0), 1, 0, negative);
    value.add_product(sum.limb(1), 1, 64, negative);
    for (; unit < 0; ++unit) value.halve();
    for (; unit >= 63; unit -= 63) value.shift_left(63);
    if (unit > 0) value.shift_left(static_cast<unsigned>(unit));
    zero += value;
}

/// Follow a bin of n rows from level to level. Once it touches zero its value
/// moves into the wide sum of the cell, which `extra` hands out, and `sum` is
/// left empty.
template <class Extra>
void coarsen_bin(std::int64_t n, bin_sum& sum, std::int64_t& k, int from, int to,
                 Extra extra) {
    if (k == 0 || k == -1) return;
    for (int level = from; level < to; ++level) {
        const std::int64_t next = k >> 1;
        if (next == 0 || next == -1) {
            const bool minus = k < 0;
            add_zero(extra().zero[next + 1], static_cast<std::uint64_t>(n),
                     static_cast<std::uint64_t>(minus ? -k : k), minus, sum,
                     level - offset_bits + zero_unit);
            sum = bin_sum();
            k = next;
            return;
        }
        if ((k & 1) != 0) sum.add(n, offset_bits);
        sum.halve();
        k = next;
    }
}

}  // namespace gstar
