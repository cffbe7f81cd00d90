// grid.hpp - the dyadic grid: which bin a score falls into, at which level.
//
// At level s, bin number k covers [k * 2^s, (k + 1) * 2^s). Scaling by a power
// of two is exact, so every type of number and every backend agrees on every
// bin (docs/sketch_format.md).
#pragma once

#include <algorithm>  // max
#include <cmath>      // floor, ceil, ilogb, ldexp
#include <cstdint>
#include <cstdlib>  // abs
#include <cstring>  // memcpy

#include "gstar/base/simd/generic.hpp"

namespace gstar {

constexpr int least_level = -1074;
constexpr int greatest_level = 1000;
constexpr double greatest_edge = 9007199254740992.0;  // 2^53, in bin numbers
constexpr std::uint32_t least_bins = 16;
constexpr std::uint32_t greatest_bins = 65536;

/// Largest finite score taken: 2^1000.
inline double greatest_score() noexcept { return std::ldexp(1.0, 1000); }

/// The bins a sketch has: numbers first .. first + bins - 1 at a level.
struct window {
    int level = 0;
    std::int64_t first = 0;
    std::uint32_t bins = 4096;

    bool operator==(const window& o) const noexcept {
        return level == o.level && first == o.first && bins == o.bins;
    }
    bool operator!=(const window& o) const noexcept { return !(*this == o); }

    double edge(std::int64_t i) const noexcept {
        return std::ldexp(static_cast<double>(first + i), level);
    }

    /// Largest |bin number| of any edge.
    std::int64_t reach() const noexcept {
        return std::max(first < 0 ? -first : first,
                        std::abs(first + static_cast<std::int64_t>(bins)));
    }

    /// Whether block kernels may count here: offsets fit their packed words and
    /// the scale is an ordinary double. Scores this far from zero are rare.
    bool is_near() const noexcept {
        return reach() <= (std::int64_t{1} << 19) && level >= -1000;
    }
};

/// floor(x / 2^level) as a double; exact up to 2^53, saturating to infinity.
inline double bin_floor(double x, int level) noexcept {
    const double t = std::ldexp(x, -level);
    // Scaling down may lose a tiny negative score, which is in bin -1 all the same.
    if (x < 0 && t > -1) return -1.0;
    return std::floor(t);
}

/// Bin number of a finite score known to be within reach of the window.
inline std::int64_t bin_number(double x, int level) noexcept {
    return static_cast<std::int64_t>(bin_floor(x, level));
}

namespace detail {

/// Lower bound for the level of a window that holds [lo, hi].
inline int level_floor(double lo, double hi, std::uint32_t bins) noexcept {
    const double size = std::max(std::fabs(lo), std::fabs(hi));
    if (size == 0) return least_level;
    int level = std::ilogb(size) - 54;
    const double spread = hi - lo;
    if (spread > 0) {
        const int by_spread = std::ilogb(spread) - std::ilogb(bins) - 3;
        level = std::max(level, by_spread);
    }
    return std::max(level, least_level);
}

}  // namespace detail

/// The finest window that holds all scores from `lo` to `hi`.
inline window window_of(double lo, double hi, std::uint32_t bins) noexcept {
    for (int s = detail::level_floor(lo, hi, bins);; ++s) {
        const double a = bin_floor(lo, s);
        const double b = bin_floor(hi, s);
        if (std::max(std::fabs(a), std::fabs(b)) + bins <= greatest_edge &&
            b - a < bins)
            return {s, static_cast<std::int64_t>(a), bins};
    }
}

/// The finest window that covers [lo, hi), widened outward to edges.
inline window window_of_range(double lo, double hi, std::uint32_t bins) noexcept {
    for (int s = detail::level_floor(lo, hi, bins);; ++s) {
        const double a = bin_floor(lo, s);
        const double t = std::ldexp(hi, -s);
        const double b = hi > 0 && t < 1 ? 1.0 : std::ceil(t);
        if (std::max(std::fabs(a), std::fabs(b)) + bins <= greatest_edge &&
            b - a <= bins)
            return {s, static_cast<std::int64_t>(a), bins};
    }
}

/// A score rounded to 24 significant bits: mantissa * 2^exponent, |mantissa| <= 2^24.
///
/// The rule never sees the level, or sums would depend on when a sketch grew.
struct rounded {
    std::int32_t mantissa;
    int exponent;
};

inline double round24(double x) noexcept { return generic::doubles::round24(x); }

/// Take apart a finite score that has 24 significant bits already.
inline rounded take_apart(double x) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &x, sizeof bits);
    const int field = static_cast<int>((bits >> 52) & 0x7FF);
    const auto fraction =
        static_cast<std::int32_t>((bits & 0xFFFFFFFFFFFFFu) >> 29);
    const std::int32_t m = field == 0 ? fraction : fraction | (1 << 23);
    return {(bits >> 63) != 0 ? -m : m, (field == 0 ? 1 : field) - 1075 + 29};
}

}  // namespace gstar
