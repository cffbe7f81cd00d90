// count.hpp - count a block of rows with the kernel in use.
#pragma once

#include <algorithm>  // max
#include <cmath>      // nextafter
#include <cstddef>    // size_t
#include <cstdint>
#include <cstring>  // memcpy
#include <limits>
#include <type_traits>  // conditional_t

#include "gstar/base/simd/avx2.hpp"
#include "gstar/base/simd/avx512.hpp"
#include "gstar/base/simd/dispatch.hpp"
#include "gstar/base/simd/four.hpp"
#include "gstar/base/simd/generic.hpp"
#include "gstar/count/kernels/byte_cells.hpp"
#include "gstar/count/kernels/ring.hpp"
#include "gstar/count/packed.hpp"

namespace gstar {

constexpr std::size_t ahead_rows = 1024;  ///< how far ahead memory is asked for
constexpr std::size_t byte_rows = 64;  ///< whose labels and groups are read at once

/// Rows that a kernel went through, and those of them that it hands back.
struct progress {
    std::size_t rows;
    std::size_t specials;
};

/// Cells that are known already.
struct known_cells {
    static constexpr std::size_t rows = 1;
    const std::uint32_t* cells;
    static constexpr bool take(std::size_t) noexcept { return true; }
    const std::uint32_t* at(std::size_t i) const noexcept { return cells + i; }
};

/// Extremes of cells as kernels read them: float32 ones are rounded inward.
template <class Value>
const Value* lows(const count_target& to) noexcept {
    if constexpr (sizeof(Value) == 4)
        return to.lo_near;
    else
        return to.lo;
}
template <class Value>
const Value* highs(const count_target& to) noexcept {
    if constexpr (sizeof(Value) == 4)
        return to.hi_near;
    else
        return to.hi;
}

/// A size as kernels compare with it: scores of this type that are at least as
/// large, and normal.
template <class Value>
Value size_as(double size) noexcept {
    if constexpr (sizeof(Value) == 8) {
        return size;
    } else {
        using limits = std::numeric_limits<Value>;
        if (size > static_cast<double>(limits::max())) return limits::infinity();
        const auto near = static_cast<Value>(size);
        const Value up = static_cast<double>(near) < size
                             ? std::nextafter(near, limits::infinity())
                             : near;
        return std::max(up, limits::min());
    }
}

/// Scores that every cell may count: most rows need no look at their own cell.
///
/// `least` and `span` bound the first 32 bits of sizes, above and below zero; of
/// those below one is taken off, as kernels do. A size is beyond them where
/// size - least > span, with a sign: not every CPU compares without.
template <class Value>
struct inner_range {
    Value lo = -std::numeric_limits<Value>::infinity();
    Value hi = std::numeric_limits<Value>::infinity();
    std::int32_t least[2] = {0, 0};
    std::int32_t span[2] = {none, none};

    explicit inner_range(const count_target& to) noexcept {
        for (std::uint32_t c = 0; c < to.cells; ++c) {
            lo = std::max(lo, lows<Value>(to)[c]);
            hi = std::min(hi, highs<Value>(to)[c]);
        }
        bound(0, std::max(size_as<Value>(to.least_above), lo), hi, 0);
        bound(1, std::max(size_as<Value>(to.least_below), -hi), -lo, 1);
    }

private:
    static constexpr std::int32_t none = std::numeric_limits<std::int32_t>::min();
    using whole =
        std::conditional_t<sizeof(Value) == 4, std::uint32_t, std::uint64_t>;
    static constexpr int rest = 8 * static_cast<int>(sizeof(Value)) - 32;

    void bound(int side, Value from, Value to, whole less) noexcept {
        if (!(from <= to)) return;
        whole a = 0;
        whole b = 0;
        std::memcpy(&a, &from, sizeof a);
        std::memcpy(&b, &to, sizeof b);
        // Of float64 we see a part: it must be above that of the least.
        const whole first = (a - less + ((whole{1} << rest) - 1)) >> rest;
        const whole last = (b - less) >> rest;
        if (last < first) return;
        constexpr auto flip = static_cast<std::uint32_t>(none);
        least[side] = static_cast<std::int32_t>(std::uint32_t(first) + flip);
        span[side] = static_cast<std::int32_t>(std::uint32_t(last - first) + flip);
    }
};

inline unsigned lowest_bit(unsigned bits) noexcept {
#if defined(__GNUC__) || defined(__clang__)
    return static_cast<unsigned>(__builtin_ctz(bits));
#else
    unsigned i = 0;
    while ((bits >> i & 1) == 0) ++i;
    return i;
#endif
}

// ---- the loop, for each instruction set -------------------------------------

#define GSTAR_TARGET
namespace generic {
/// Scores of either width are counted as float64.
template <class Float>
using rows_of = lane<Float, double>;
#include "gstar/count/kernels/body.hpp"
}  // namespace generic
#undef GSTAR_TARGET

#if GSTAR_HAS_FOUR
#define GSTAR_TARGET
namespace four {
#include "gstar/count/kernels/body.hpp"
}
#undef GSTAR_TARGET
#endif

#if GSTAR_HAS_AVX2
#define GSTAR_TARGET GSTAR_AVX2
namespace avx2 {
#include "gstar/count/kernels/body.hpp"
}
#undef GSTAR_TARGET

#define GSTAR_TARGET GSTAR_AVX512
namespace avx512 {
#include "gstar/count/kernels/body.hpp"
}
#undef GSTAR_TARGET
#endif

// ---- the choice -------------------------------------------------------------

/// Count `n` rows whose cells are known and return how many went to `specials`
/// (room for `n`).
template <class Float>
std::size_t count_rows(const count_target& to, const Float* scores,
                       const std::uint32_t* cells, std::size_t n,
                       special* specials) noexcept {
    progress begun{0, 0};
#if GSTAR_HAS_FOUR
    const kernel k = active_kernel();
    known_cells from{cells};
    if (n >= byte_rows && k == kernel::four && to.cells <= 32768)  // see S::times
        begun = four::count<Float>(to, scores, from, n, specials, n);
#endif
#if GSTAR_HAS_AVX2
    if (n >= byte_rows && k == kernel::avx512)
        begun = avx512::count<Float>(to, scores, from, n, specials, n);
    else if (n >= byte_rows && k == kernel::avx2)
        begun = avx2::count<Float>(to, scores, from, n, specials, n);
#endif
    known_cells rest{cells + begun.rows};
    special* const more = specials + begun.specials;
    const progress ended = generic::count<Float>(
        to, scores + begun.rows, rest, n - begun.rows, more, n - begun.rows);
    for (std::size_t i = 0; i < ended.specials; ++i)
        more[i].row += static_cast<std::uint32_t>(begun.rows);
    return begun.specials + ended.specials;
}

/// Count up to `n` rows with labels and groups in bytes, stopping before 64 rows
/// of which one has a label above 1 or a group that is not in the table, and
/// where `specials`, which has room for `most`, might not hold those of 64 more.
template <class Float>
progress count_bytes(const count_target& to, const Float* scores,
                     const byte_columns& columns, std::size_t n, special* specials,
                     std::size_t most) noexcept {
    n -= n % byte_rows;
#if GSTAR_HAS_FOUR
    const kernel k = active_kernel();
    if (k == kernel::four) {
        four::byte_cells from(columns);
        return four::count<Float>(to, scores, from, n, specials, most);
    }
#endif
#if GSTAR_HAS_AVX2
    if (k == kernel::avx512) {
        avx512::byte_cells from(columns);
        return avx512::count<Float>(to, scores, from, n, specials, most);
    }
    if (k == kernel::avx2) {
        avx2::byte_cells from(columns);
        return avx2::count<Float>(to, scores, from, n, specials, most);
    }
#endif
    generic::byte_cells from(columns);
    return generic::count<Float>(to, scores, from, n, specials, most);
}

}  // namespace gstar
