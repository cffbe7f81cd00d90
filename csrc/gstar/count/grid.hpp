// grid.hpp - the grid: which bin a score falls into, and where the edges are.
//
// Bins are 2^level wide far from zero, 2^per to an octave in the octaves below,
// and of one smallest width from there to zero. They are numbered outward from
// zero, and each holds its lower edge. All of it is exact, in whole numbers, so
// every type of number and every backend agrees (docs/sketch_format.md).
#pragma once

#include <algorithm>  // max, min
#include <cmath>      // fabs, isinf, isnan, ldexp
#include <cstdint>
#include <cstring>  // memcpy
#include <limits>

#include "gstar/base/error.hpp"
#include "gstar/base/wide.hpp"

namespace gstar {

constexpr int least_level = -1074;
constexpr int greatest_level = 1063;
constexpr double greatest_edge = 9007199254740992.0;  // 2^53, in widths
constexpr std::uint32_t least_bins = 16;
constexpr std::uint32_t greatest_bins = 65536;
constexpr int most_octaves = 40;

/// Largest finite score taken: 2^1000.
inline double greatest_score() noexcept { return std::ldexp(1.0, 1000); }

/// Throw for a score that cannot be counted.
inline void check_score(double x, std::int64_t row, bool skip_nan = false) {
    if (std::isnan(x) && !skip_nan) refuse({"nan_score", "scores", row});
    if (std::fabs(x) > greatest_score() && !std::isinf(x))
        refuse({"too_large", "scores", row, x});
}

/// x * 2^exponent, rounded as std::ldexp does, and quicker where it can be.
inline double times_power(double x, int exponent) noexcept {
    if (exponent < -1022 || exponent > 1023) return std::ldexp(x, exponent);
    const std::uint64_t bits = static_cast<std::uint64_t>(exponent + 1023) << 52;
    double power = 0;
    std::memcpy(&power, &bits, sizeof power);
    return x * power;
}

// ---- scores -----------------------------------------------------------------

/// A finite score taken apart in full: (-1)^negative * significand * 2^unit.
struct score_parts {
    std::uint64_t significand;
    int unit;
    int octave;  ///< floor(log2 |x|), for a score that is not zero
    bool negative;

    explicit score_parts(double x) noexcept {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &x, sizeof bits);
        const int field = static_cast<int>((bits >> 52) & 0x7FF);
        significand = bits & 0xFFFFFFFFFFFFFu;
        if (field != 0) significand |= std::uint64_t{1} << 52;
        unit = std::max(field, 1) - 1075;
        octave = field != 0 ? field - 1023 : bit_length(significand) - 1075;
        negative = (bits >> 63) != 0;
    }
};

/// A score rounded to 24 significant bits: mantissa * 2^exponent, |mantissa| <= 2^24.
///
/// The rule never sees the level, or sums would depend on when a sketch grew.
struct rounded {
    std::int32_t mantissa;
    int exponent;
};

/// Rounded to 24 significant bits, half to even.
inline double round24(double x) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &x, sizeof bits);
    bits = (bits + 0x0FFFFFFFu + ((bits >> 29) & 1)) & ~std::uint64_t{0x1FFFFFFF};
    std::memcpy(&x, &bits, sizeof bits);
    return x;
}

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

/// Sizes |x| of the scores on one side of zero.
struct sizes {
    double far = 0;  ///< the largest; 0: none
    double near = std::numeric_limits<double>::infinity();  ///< the smallest

    bool any() const noexcept { return far > 0; }
    void add(const sizes& o) noexcept {
        far = std::max(far, o.far);
        near = std::min(near, o.near);
    }
    bool operator==(const sizes& o) const noexcept {
        return far == o.far && near == o.near;
    }
};

/// Where scores lie.
struct extent {
    sizes below;  ///< of scores below zero
    sizes above;
    bool zero = false;

    void add(double x) noexcept {
        if (x < 0)
            below.add({-x, -x});
        else if (x > 0)
            above.add({x, x});
        else
            zero = true;
    }
    void add(const extent& o) noexcept {
        below.add(o.below);
        above.add(o.above);
        zero = zero || o.zero;
    }
    bool operator==(const extent& o) const noexcept {
        return below == o.below && above == o.above && zero == o.zero;
    }
    bool operator!=(const extent& o) const noexcept { return !(*this == o); }

    bool empty() const noexcept { return !(below.any() || above.any() || zero); }

    /// Whether some size lies between those of scores on either side of zero.
    bool overlap() const noexcept {
        return below.near <= above.far && above.near <= below.far;
    }
    /// All sizes on one side.
    extent folded() const noexcept {
        extent out{{}, above, zero};
        out.above.add(below);
        return out;
    }
    double far() const noexcept { return std::max(below.far, above.far); }

    /// Smallest and largest score; the extent is not empty.
    double lo() const noexcept {
        return below.any() ? -below.far : zero ? 0.0 : above.near;
    }
    double hi() const noexcept {
        return above.any() ? above.far : zero ? 0.0 : -below.near;
    }
};

// ---- the grid ---------------------------------------------------------------

/// All edges there are. The linear grid has no octaves (and `per` 0).
struct grid {
    int level = 0;    ///< bins are 2^level wide at the most
    int per = 0;      ///< log2 of the bins in an octave
    int octaves = 0;  ///< how many octaves are divided like that

    bool operator==(const grid& o) const noexcept {
        return level == o.level && per == o.per && octaves == o.octaves;
    }
    bool operator!=(const grid& o) const noexcept { return !(*this == o); }

    /// log2 of the width of the smallest bins.
    int least() const noexcept { return level - octaves; }

    /// log2 of the width of bins in [2^e, 2^(e + 1)).
    int width_at(int e) const noexcept {
        return std::max(least(), std::min(level, e - per));
    }

    /// The bin of a finite score. Beyond 2^62 widths of the widest bins, which no
    /// window reaches, some number as far out.
    std::int64_t number(double x) const noexcept {
        if (x == 0) return 0;
        const score_parts p(x);
        const int width = width_at(p.octave);
        const int shift = width - p.unit;
        std::int64_t size = std::int64_t{1} << 62;
        std::int64_t rest = 0;
        if (shift >= 64) {
            size = 0;
            rest = 1;
        } else if (shift > 0) {
            size = static_cast<std::int64_t>(p.significand >> shift);
            rest = (p.significand & ((std::uint64_t{1} << shift) - 1)) != 0 ? 1 : 0;
        } else if (shift >= -9) {
            size = static_cast<std::int64_t>(p.significand << -shift);
        }
        size += static_cast<std::int64_t>(width - least()) << per;
        // Bins are [lower, upper): below zero an edge is the end of its bin.
        return p.negative ? -size - rest : size;
    }

    /// The octave of bin k: 0 for the smallest bins, `octaves` for the widest.
    int octave_of(std::int64_t k) const noexcept {
        const std::int64_t whole = (k < 0 ? -k : k) >> per;
        return static_cast<int>(
            std::max<std::int64_t>(0, std::min<std::int64_t>(whole - 1, octaves)));
    }

    /// An edge: j * 2^width.
    struct whole_edge {
        std::int64_t j;
        int width;
    };

    /// The lower edge of bin k, in widths of the bin that begins there, seen from zero.
    whole_edge edge(std::int64_t k) const noexcept {
        const int octave = octave_of(k);
        const std::int64_t before = static_cast<std::int64_t>(octave) << per;
        return {k > 0 ? k - before : k + before, least() + octave};
    }

    double lower(std::int64_t k) const noexcept {
        const whole_edge at = edge(k);
        return times_power(static_cast<double>(at.j), at.width);
    }

    /// log2 of the width of bin k.
    int width(std::int64_t k) const noexcept {
        return least() + octave_of(k >= 0 ? k : -k - 1);
    }

    /// log2 of what sums of bin k's offsets are counted in: the spacing of 24-bit
    /// numbers there, or its width. Not for bins 0 and -1, which touch zero and
    /// hold scores of every size.
    int unit(std::int64_t k) const noexcept {
        const whole_edge nearer = edge(k > 0 ? k : -k - 1);
        return std::min(
            nearer.width,
            nearer.width + bit_length(static_cast<std::uint64_t>(nearer.j)) - 24);
    }
};

/// Whether bin k touches zero: it keeps the sum of its scores in full width.
inline bool at_zero(std::int64_t k) noexcept { return k == 0 || k == -1; }

}  // namespace gstar
