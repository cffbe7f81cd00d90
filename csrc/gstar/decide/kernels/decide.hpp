// decide.hpp - compare scores with thresholds, with the kernel in use.
#pragma once

#include <cmath>    // isnan
#include <cstddef>  // size_t
#include <cstdint>

#include "gstar/base/simd/avx2.hpp"
#include "gstar/base/simd/avx512.hpp"
#include "gstar/base/simd/dispatch.hpp"
#include "gstar/base/simd/generic.hpp"
#include "gstar/decide/threshold_table.hpp"

namespace gstar {

/// Rows decided one by one.
template <class Float, class Index>
bool decide_generic(const Float* scores, const Index* groups, std::size_t n,
                    const threshold_view<Float>& table, std::uint8_t* out) noexcept;

// ---- the loop, for each instruction set -------------------------------------

#define GSTAR_TARGET
namespace generic {
#include "gstar/decide/kernels/body.hpp"
}
#undef GSTAR_TARGET

#if GSTAR_HAS_AVX2
#define GSTAR_TARGET GSTAR_AVX2
namespace avx2 {
#include "gstar/decide/kernels/body.hpp"
}
#undef GSTAR_TARGET

#define GSTAR_TARGET GSTAR_AVX512
namespace avx512 {
#include "gstar/decide/kernels/body.hpp"
}
#undef GSTAR_TARGET
#endif

template <class Float, class Index>
bool decide_generic(const Float* scores, const Index* groups, std::size_t n,
                    const threshold_view<Float>& table,
                    std::uint8_t* out) noexcept {
    return generic::decide<generic::lane<Float, Float>>(scores, groups, n, table,
                                                        out);
}

#if GSTAR_HAS_FOUR
namespace four {
/// float32 with bytes: the thresholds of 64 rows first, which no CPU without AVX looks
/// up in vectors, then a loop that compilers turn into vectors. For float64 or wider
/// groups this is slower than row by row.
inline bool decide(const float* scores, const std::uint8_t* groups, std::size_t n,
                   const threshold_view<float>& table, std::uint8_t* out) noexcept {
    constexpr std::size_t step = 64;
    unsigned odd = 0;
    std::size_t i = 0;
    for (; i + step <= n; i += step) {
        float thresholds[step];
        for (std::size_t k = 0; k < step; ++k)
            thresholds[k] = table.values[groups[i + k]];  // 256 at the least
        for (std::size_t k = 0; k < step; ++k) {
            const float score = scores[i + k];
            out[i + k] = score >= thresholds[k] ? 1 : 0;
            odd |= std::isunordered(score, thresholds[k]) ? 1u : 0u;
        }
    }
    return decide_generic(scores + i, groups + i, n - i, table, out + i) &&
           odd == 0;
}
}  // namespace four
#endif

// ---- the choice -------------------------------------------------------------

/// `out[i] = scores[i] >= threshold of groups[i]`.
///
/// False if a score or a threshold was NaN: such a row has the answer 0. Unless
/// that is right, the block is decided again, row by row, from one new reading.
template <class Float, class Index>
bool decide_rows(const Float* scores, const Index* groups, std::size_t n,
                 const threshold_table& table, std::uint8_t* out) noexcept {
    threshold_view<Float> v{};
    table.view(v);
#if GSTAR_HAS_FOUR
    if constexpr (sizeof(Float) == 4 && sizeof(Index) == 1)
        if (active_kernel() == kernel::four)
            return four::decide(scores, groups, n, v, out);
#endif
#if GSTAR_HAS_AVX2
    if (n >= 32) {
        const kernel k = active_kernel();
        if (k == kernel::avx512)
            return avx512::decide<avx512::rows_of<Float>>(scores, groups, n, v,
                                                          out);
        if (k == kernel::avx2)
            return avx2::decide<avx2::rows_of<Float>>(scores, groups, n, v, out);
    }
#endif
    return decide_generic(scores, groups, n, v, out);
}

/// The same with one threshold for everybody.
template <class Float>
bool decide_unified(const Float* scores, std::size_t n, Float threshold,
                    std::uint8_t* out) noexcept {
#if GSTAR_HAS_AVX2
    const kernel k = active_kernel();
    if (k == kernel::avx512) return avx512::decide_same(scores, n, threshold, out);
    if (k == kernel::avx2) return avx2::decide_same(scores, n, threshold, out);
#endif
    return generic::decide_same(scores, n, threshold, out);
}

/// Whole numbers as 16 bits; false if one does not fit.
template <class From>
bool narrow_numbers(const From* from, std::size_t n, std::uint16_t* out) noexcept {
#if GSTAR_HAS_AVX2
    const kernel k = active_kernel();
    if (k == kernel::avx512) return avx512::narrow(from, n, out);
    if (k == kernel::avx2) return avx2::narrow(from, n, out);
#endif
    return generic::narrow(from, n, out);
}

/// At most `Block` whole numbers of any type; false if one does not fit.
template <std::size_t Block>
bool narrow(const column& c, std::size_t begin, std::size_t n, std::uint16_t* out) {
    return with_whole(c.type, [&](auto zero) {
        using From = decltype(zero);
        if (c.is_array_of<From>())
            return narrow_numbers(reinterpret_cast<const From*>(c.data) + begin, n,
                                  out);
        From copied[Block];
        detail::read_as<From>(c, begin, n, copied);
        return narrow_numbers(copied, n, out);
    });
}

}  // namespace gstar
