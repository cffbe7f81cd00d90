// moments.hpp - mean of each bin and spread within bins, from exact sums.
#pragma once

#include <algorithm>  // min, max
#include <cmath>      // ldexp
#include <cstdint>

#include "gstar/count/grid.hpp"
#include "gstar/count/plane.hpp"

namespace gstar {

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
    const std::int64_t k = at.first + bin;
    double mean = 0;
    if (k == 0 || k == -1) {
        mean = p.more(cell)->zero[k + 1].to_double(-zero_unit) /
               static_cast<double>(n);
    } else {
        const quotient q = divide(p.sum(cell, bin), n);
        const double offset = static_cast<double>(q.whole) +
                              static_cast<double>(q.rest) / static_cast<double>(n);
        mean = std::ldexp(
            static_cast<double>(k) + offset * std::ldexp(1.0, -offset_bits),
            at.level);
    }
    return std::min(std::max(mean, at.edge(bin)), at.edge(bin + 1));
}

namespace detail {

constexpr int score_unit =
    zero_unit + offset_bits;            ///< 2^-1097: every sum is whole
constexpr std::size_t guard_limbs = 1;  ///< words below the unit of squares
using guarded_sum = wide<66 + guard_limbs + 1>;

/// Sum of the scores of a bin, without its sign, in units of 2^-1097.
inline wide<35> bin_total(const plane& p, const window& at, std::uint32_t cell,
                          std::uint32_t bin) noexcept {
    const std::int64_t k = at.first + bin;
    wide<35> total;
    if (k == 0 || k == -1) {
        const zero_sum& zero = p.more(cell)->zero[k + 1];
        for (std::size_t i = 0; i < 34; ++i) total.set_limb(i, zero.limb(i));
        if (zero.negative()) total.set_limb(34, ~std::uint64_t{0});
        total.shift_left(offset_bits);
    } else {
        const auto unit =
            static_cast<unsigned>(at.level - offset_bits + score_unit);
        const auto n = static_cast<std::uint64_t>(p.count(cell, bin));
        const bool minus = k < 0;
        const auto size = static_cast<std::uint64_t>(minus ? -k : k);
        total.add_product(n, size, unit + offset_bits, minus);
        const bin_sum& sum = p.sum(cell, bin);
        total.add_product(sum.limb(0), 1, unit);
        total.add(static_cast<std::int64_t>(sum.limb(1)), unit + 64);
    }
    if (total.negative()) total.negate();
    return total;
}

/// left -= floor(total^2 / n), `left` having 64 bits more below its unit.
inline void take_off(guarded_sum& left, const wide<35>& total,
                     std::uint64_t n) noexcept {
    wide<72> square;
    for (std::size_t i = 0; i < 35; ++i) {
        if (total.limb(i) == 0) continue;
        for (std::size_t j = 0; j < 35; ++j)
            if (total.limb(j) != 0)
                square.add_product(total.limb(i), total.limb(j),
                                   static_cast<unsigned>(64 * (i + j)));
    }
    // From units of 2^-2194 to those of squares with their guard, 2^-2212.
    square.shift_left(64 * guard_limbs - 2 * offset_bits);
    guarded_sum quotient;
    std::uint64_t rest = 0;
    if (n >> 32 == 0) {  // two divisions a word
        for (std::size_t i = (static_cast<std::size_t>(square.bits()) + 63) / 64;
             i-- > 0;) {
            const std::uint64_t high = (rest << 32) | (square.limb(i) >> 32);
            const std::uint64_t low =
                ((high % n) << 32) | (square.limb(i) & 0xffffffffu);
            quotient.set_limb(i, ((high / n) << 32) | (low / n));
            rest = low % n;
        }
    } else {
        for (int bit = square.bits() - 1; bit >= 0; --bit) {
            const auto limb = static_cast<std::size_t>(bit) / 64;
            rest = (rest << 1) | (square.limb(limb) >> (bit % 64) & 1);
            if (rest < n) continue;
            rest -= n;
            quotient.set_limb(limb,
                              quotient.limb(limb) | std::uint64_t{1} << (bit % 64));
        }
    }
    quotient.negate();
    left += quotient;
}

}  // namespace detail

/// Sum over a cell's rows of (rounded score - mean of its bin)^2, in whole
/// numbers to the end. Cost: about a microsecond a bin; nobody's hot path.
inline double spread_within(const plane& p, const window& at,
                            std::uint32_t cell) noexcept {
    if (p.more(cell) == nullptr) return 0;
    detail::guarded_sum left;
    for (std::size_t i = 0; i < 66; ++i)
        left.set_limb(i + detail::guard_limbs, p.more(cell)->squares.limb(i));
    for (std::uint32_t b = 0; b < at.bins; ++b)
        if (p.count(cell, b) != 0)
            detail::take_off(left, detail::bin_total(p, at, cell, b),
                             static_cast<std::uint64_t>(p.count(cell, b)));
    return left.negative() ? 0 : left.to_double(-square_unit - 64);
}

}  // namespace gstar
