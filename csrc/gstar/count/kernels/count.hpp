// count.hpp - count a block of rows with the kernel in use.
#pragma once

#include <cmath>    // ilogb, ldexp
#include <cstddef>  // size_t
#include <cstdint>

#include "gstar/base/rows.hpp"
#include "gstar/base/simd/avx2.hpp"
#include "gstar/base/simd/avx512.hpp"
#include "gstar/base/simd/dispatch.hpp"
#include "gstar/base/simd/generic.hpp"
#include "gstar/count/kernels/places.hpp"
#include "gstar/count/packed.hpp"

namespace gstar {

constexpr std::size_t few_rows = 32;  ///< below, setting up a kernel costs more
constexpr std::uint32_t most_few_cells = 4;  ///< two groups, in registers

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

/// Count rows one by one, in float64. Cost: about 2 ns a row.
template <class Float>
std::size_t count_generic(const count_target& to, const Float* scores,
                          const std::uint32_t* cells, std::size_t n,
                          special* specials) noexcept;

// ---- the loop, for each instruction set -------------------------------------

#define GSTAR_TARGET
namespace generic {
#include "gstar/count/kernels/body.hpp"
}
#undef GSTAR_TARGET

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

template <class Float>
std::size_t count_generic(const count_target& to, const Float* scores,
                          const std::uint32_t* cells, std::size_t n,
                          special* specials) noexcept {
    using S = generic::lane<Float, double>;
    return generic::count_block<S, generic::any_cells<S>>(to, scores, cells, n,
                                                          specials);
}

// ---- the choice -------------------------------------------------------------

/// Whether float32 arithmetic is exact at this window.
inline bool is_near_float(const window& at) noexcept {
    return at.is_near() && at.level > -100 && at.level < 100;
}

/// Count `n` rows and return how many went to `specials` (room for `n`).
inline std::size_t count_rows(const count_target& to, const float* scores,
                              const std::uint32_t* cells, std::size_t n,
                              special* specials) noexcept {
#if GSTAR_HAS_AVX2
    const kernel k = active_kernel();
    if (n >= few_rows && k != kernel::generic && is_near_float(to.at)) {
        using wide = avx512::floats;
        using S = avx2::floats;
        if (to.cells > most_few_cells)
            return avx2::count_block<S, avx2::any_cells<S>>(to, scores, cells, n,
                                                            specials);
        if (k == kernel::avx512)
            return avx512::count_block<wide, avx512::few_cells<wide>>(
                to, scores, cells, n, specials);
        return avx2::count_block<S, avx2::few_cells<S>>(to, scores, cells, n,
                                                        specials);
    }
#endif
    return count_generic(to, scores, cells, n, specials);
}

inline std::size_t count_rows(const count_target& to, const double* scores,
                              const std::uint32_t* cells, std::size_t n,
                              special* specials) noexcept {
#if GSTAR_HAS_AVX2
    const kernel k = active_kernel();
    if (n >= few_rows && k != kernel::generic) {
        using wide = avx512::doubles;
        using S = avx2::doubles;
        if (k == kernel::avx512 && to.cells <= most_few_cells)
            return avx512::count_block<wide, avx512::few_cells<wide>>(
                to, scores, cells, n, specials);
        return avx2::count_block<S, avx2::any_cells<S>>(to, scores, cells, n,
                                                        specials);
    }
#endif
    return count_generic(to, scores, cells, n, specials);
}

}  // namespace gstar
