// avx512.hpp - count a block of rows with AVX-512, sixteen float32 or eight float64 at a time.
//
// Its gain over AVX2 is in the squares: a mask register picks a cell's rows for
// one masked addition, where AVX2 compares, masks and adds.
#pragma once

#include "gstar/base/simd/dispatch.hpp"

#if GSTAR_HAS_AVX2

#include <immintrin.h>

#include <cmath>    // ldexp
#include <cstddef>  // size_t
#include <cstdint>

#include "gstar/count/kernels/avx2.hpp"

namespace gstar {

/// `count_generic` for float32 scores of up to four cells at a window that
/// `is_near_float`.
GSTAR_AVX512 inline std::size_t count_avx512(const count_target& to,
                                             const float* scores,
                                             const std::uint32_t* cells,
                                             std::size_t n,
                                             special* specials) noexcept {
    block_places at;
    const __m512 scale = _mm512_set1_ps(std::ldexp(1.0f, -to.at.level));
    const __m512 units = _mm512_set1_ps(1 << offset_bits);
    const __m512 half = _mm512_set1_ps(0.5f);
    const __m512 one = _mm512_set1_ps(1.0f);
    const __m512i first = _mm512_set1_epi32(static_cast<int>(to.at.first));
    const __m512i spare = _mm512_set1_epi32(static_cast<int>(to.spare));
    const __m128i shift =
        _mm_cvtsi32_si128(std::ilogb(static_cast<double>(to.at.bins)));
    alignas(64) float few_lo[16] = {};
    alignas(64) float few_hi[16] = {};
    for (std::uint32_t c = 0; c < to.cells; ++c) {
        few_lo[c] = to.lo_near[c];
        few_hi[c] = to.hi_near[c];
    }
    const __m512 los = _mm512_load_ps(few_lo);
    const __m512 his = _mm512_load_ps(few_hi);
    __m512i sums[few_squares::most_cells];
    for (__m512i& s : sums) s = _mm512_setzero_si512();
    std::size_t n_special = 0;
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        prefetch(scores + i + block_rows);
        __m512 x = _mm512_loadu_ps(scores + i);
        GSTAR_KEEP_READ(x);
        const __m512i cell = _mm512_loadu_si512(cells + i);
        const __m512 t = _mm512_mul_ps(x, scale);
        const __m512 whole =
            _mm512_roundscale_ps(t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
        const __mmask16 above =
            _mm512_cmp_ps_mask(x, _mm512_permutexvar_ps(cell, los), _CMP_GE_OQ);
        const __mmask16 inside = _mm512_mask_cmp_ps_mask(
            above, x, _mm512_permutexvar_ps(cell, his), _CMP_LE_OQ);
        const __mmask16 fine = _mm512_mask_cmp_ps_mask(  // the bin is not -1 or 0
            inside, _mm512_abs_ps(_mm512_add_ps(whole, half)), one, _CMP_GE_OQ);
        __m512i place =
            _mm512_add_epi32(_mm512_sll_epi32(cell, shift),
                             _mm512_sub_epi32(_mm512_cvttps_epi32(whole), first));
        __m512i offset =
            _mm512_cvttps_epi32(_mm512_mul_ps(_mm512_sub_ps(t, whole), units));
        if (fine != 0xffff) {
            place = _mm512_mask_mov_epi32(spare, fine, place);
            offset = _mm512_maskz_mov_epi32(fine, offset);
            alignas(64) float read[16];
            _mm512_store_ps(read, x);
            for (unsigned left = ~fine & 0xffffu; left != 0; left &= left - 1) {
                const int j = __builtin_ctz(left);
                const auto row =
                    static_cast<std::uint32_t>(i) + static_cast<std::uint32_t>(j);
                specials[n_special++] = {read[j], cells[row], row};
            }
        }
        _mm512_storeu_si512(at.place + i, place);
        _mm512_storeu_si512(at.offset + i, offset);
        const __m512i low = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(offset));
        const __m512i high =
            _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(offset, 1));
        const __m512i low_square = _mm512_mul_epu32(low, low);
        const __m512i high_square = _mm512_mul_epu32(high, high);
        for (int c = 0; c < 4; ++c) {
            const __mmask16 here =
                _mm512_cmpeq_epi32_mask(cell, _mm512_set1_epi32(c));
            sums[c] = _mm512_mask_add_epi64(sums[c], static_cast<__mmask8>(here),
                                            sums[c], low_square);
            sums[c] = _mm512_mask_add_epi64(
                sums[c], static_cast<__mmask8>(here >> 8), sums[c], high_square);
        }
    }
    for (std::uint32_t c = 0; c < to.cells; ++c)
        to.squares[c * square_lanes] +=
            static_cast<std::uint64_t>(_mm512_reduce_add_epi64(sums[c]));
    add_places(to, at, i);
    const std::size_t rest =
        count_generic(to, scores + i, cells + i, n - i, specials + n_special);
    for (std::size_t j = n_special; j < n_special + rest; ++j)
        specials[j].row += static_cast<std::uint32_t>(i);
    return n_special + rest;
}

/// The same for float64 scores, eight at a time, at a window that `is_near`.
GSTAR_AVX512 inline std::size_t count_avx512(const count_target& to,
                                             const double* scores,
                                             const std::uint32_t* cells,
                                             std::size_t n,
                                             special* specials) noexcept {
    block_places at;
    const __m512d scale = _mm512_set1_pd(std::ldexp(1.0, -to.at.level));
    const __m512d units = _mm512_set1_pd(1 << offset_bits);
    const __m512d half = _mm512_set1_pd(0.5);
    const __m512d one = _mm512_set1_pd(1.0);
    const __m512i round = _mm512_set1_epi64(0x0FFFFFFF);
    const __m512i odd = _mm512_set1_epi64(1);
    const __m512i cut = _mm512_set1_epi64(~std::int64_t{0x1FFFFFFF});
    const __m256i first = _mm256_set1_epi32(static_cast<int>(to.at.first));
    const __m256i spare = _mm256_set1_epi32(static_cast<int>(to.spare));
    const __m128i shift =
        _mm_cvtsi32_si128(std::ilogb(static_cast<double>(to.at.bins)));
    alignas(64) double few_lo[8] = {};
    alignas(64) double few_hi[8] = {};
    for (std::uint32_t c = 0; c < to.cells; ++c) {
        few_lo[c] = to.lo[c];
        few_hi[c] = to.hi[c];
    }
    const __m512d los = _mm512_load_pd(few_lo);
    const __m512d his = _mm512_load_pd(few_hi);
    __m512i sums[few_squares::most_cells];
    for (__m512i& s : sums) s = _mm512_setzero_si512();
    std::size_t n_special = 0;
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        prefetch(scores + i + block_rows);
        __m512d x = _mm512_loadu_pd(scores + i);
        GSTAR_KEEP_READ(x);
        const __m256i cell =
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(cells + i));
        const __m512i cell64 = _mm512_cvtepu32_epi64(cell);
        const __m512d t = _mm512_mul_pd(x, scale);
        const __m512d whole =
            _mm512_roundscale_pd(t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
        const __m512i bits = _mm512_castpd_si512(t);
        const __m512i even = _mm512_and_si512(_mm512_srli_epi64(bits, 29), odd);
        const __m512d near = _mm512_castsi512_pd(_mm512_and_si512(
            _mm512_add_epi64(_mm512_add_epi64(bits, round), even), cut));
        const __mmask8 above =
            _mm512_cmp_pd_mask(x, _mm512_permutexvar_pd(cell64, los), _CMP_GE_OQ);
        const __mmask8 inside = _mm512_mask_cmp_pd_mask(
            above, x, _mm512_permutexvar_pd(cell64, his), _CMP_LE_OQ);
        const __mmask8 fine = _mm512_mask_cmp_pd_mask(  // the bin is not -1 or 0
            inside, _mm512_abs_pd(_mm512_add_pd(whole, half)), one, _CMP_GE_OQ);
        __m256i place =
            _mm256_add_epi32(_mm256_sll_epi32(cell, shift),
                             _mm256_sub_epi32(_mm512_cvttpd_epi32(whole), first));
        __m256i offset =
            _mm512_cvttpd_epi32(_mm512_mul_pd(_mm512_sub_pd(near, whole), units));
        if (fine != 0xff) {
            place = _mm256_mask_mov_epi32(spare, fine, place);
            offset = _mm256_maskz_mov_epi32(fine, offset);
            alignas(64) double read[8];
            _mm512_store_pd(read, x);
            for (unsigned left = ~fine & 0xffu; left != 0; left &= left - 1) {
                const int j = __builtin_ctz(left);
                const auto row =
                    static_cast<std::uint32_t>(i) + static_cast<std::uint32_t>(j);
                specials[n_special++] = {read[j], cells[row], row};
            }
        }
        _mm256_store_si256(reinterpret_cast<__m256i*>(at.place + i), place);
        _mm256_store_si256(reinterpret_cast<__m256i*>(at.offset + i), offset);
        const __m512i wide = _mm512_cvtepu32_epi64(offset);
        const __m512i square = _mm512_mul_epu32(wide, wide);
        for (int c = 0; c < 4; ++c)
            sums[c] = _mm512_mask_add_epi64(
                sums[c], _mm256_cmpeq_epi32_mask(cell, _mm256_set1_epi32(c)),
                sums[c], square);
    }
    for (std::uint32_t c = 0; c < to.cells; ++c)
        to.squares[c * square_lanes] +=
            static_cast<std::uint64_t>(_mm512_reduce_add_epi64(sums[c]));
    add_places(to, at, i);
    const std::size_t rest =
        count_generic(to, scores + i, cells + i, n - i, specials + n_special);
    for (std::size_t j = n_special; j < n_special + rest; ++j)
        specials[j].row += static_cast<std::uint32_t>(i);
    return n_special + rest;
}

}  // namespace gstar

#endif
