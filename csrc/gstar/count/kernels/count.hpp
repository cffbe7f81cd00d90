// count.hpp - count a block of rows with the kernel in use.
#pragma once

#include <cstddef>  // size_t
#include <cstdint>

#include "gstar/base/simd/dispatch.hpp"
#include "gstar/count/kernels/avx2.hpp"
#include "gstar/count/kernels/avx512.hpp"
#include "gstar/count/kernels/generic.hpp"

namespace gstar {

constexpr std::size_t few_rows = 32;  ///< below, setting up a kernel costs more

inline std::size_t count_rows(const count_target& to, const float* scores,
                              const std::uint32_t* cells, std::size_t n,
                              special* specials) noexcept {
#if GSTAR_HAS_AVX2
    const kernel k = active_kernel();
    if (n >= few_rows && k != kernel::generic && is_near_float(to.at)) {
        if (k == kernel::avx512 && to.cells <= few_squares::most_cells)
            return count_avx512(to, scores, cells, n, specials);
        return count_avx2(to, scores, cells, n, specials);
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
        if (k == kernel::avx512 && to.cells <= few_squares::most_cells)
            return count_avx512(to, scores, cells, n, specials);
        return count_avx2(to, scores, cells, n, specials);
    }
#endif
    return count_generic(to, scores, cells, n, specials);
}

}  // namespace gstar
