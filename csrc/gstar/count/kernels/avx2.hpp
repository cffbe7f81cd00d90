// avx2.hpp - count a block of rows with AVX2, eight float32 or four float64 at a time.
#pragma once

#include "gstar/base/simd/dispatch.hpp"

#if GSTAR_HAS_AVX2

#include <immintrin.h>

#include <cmath>    // ldexp
#include <cstddef>  // size_t
#include <cstdint>

#include "gstar/count/kernels/generic.hpp"

namespace gstar {

/// Places and offsets of a block's rows, between the two loops of a kernel.
struct block_places {
    alignas(32) std::uint32_t place[block_rows];
    alignas(32) std::uint32_t offset[block_rows];
};

/// Second loop: one addition a row, for a bin's count and its sum together.
/// `n` is a multiple of four: reading ahead of the additions keeps them apart.
inline void add_places(const count_target& to, const block_places& at,
                       std::size_t n) noexcept {
    std::uint64_t* const words = to.words;
    for (std::size_t i = 0; i < n; i += 4) {
        const std::uint32_t a = at.place[i];
        const std::uint32_t b = at.place[i + 1];
        const std::uint32_t c = at.place[i + 2];
        const std::uint32_t d = at.place[i + 3];
        words[a] += word_one + at.offset[i];
        words[b] += word_one + at.offset[i + 1];
        words[c] += word_one + at.offset[i + 2];
        words[d] += word_one + at.offset[i + 3];
    }
}

/// Squares of offsets, where cells are too many for registers.
inline void add_squares(const count_target& to, const block_places& at,
                        const std::uint32_t* cells, std::size_t n) noexcept {
    std::uint64_t* const squares = to.squares;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t offset = at.offset[i];
        squares[cells[i] * square_lanes + i % square_lanes] += offset * offset;
    }
}

/// Squares of offsets of up to four cells (two groups), summed in registers.
class few_squares {
public:
    static constexpr std::uint32_t most_cells = 4;

    GSTAR_AVX2 few_squares() noexcept {
        for (__m256i& s : sum_) s = _mm256_setzero_si256();
    }

    /// Eight offsets below 2^24 and their cells.
    GSTAR_AVX2 void add(__m256i offset, __m256i cell) noexcept {
        const __m256i high = _mm256_srli_epi64(offset, 32);
        const __m256i even = _mm256_mul_epu32(offset, offset);
        const __m256i odd = _mm256_mul_epu32(high, high);
        const __m256i even_cell = _mm256_shuffle_epi32(cell, 0xA0);
        const __m256i odd_cell = _mm256_shuffle_epi32(cell, 0xF5);
        for (int c = 0; c < 4; ++c) {
            const __m256i here = _mm256_set1_epi32(c);
            const __m256i a =
                _mm256_and_si256(even, _mm256_cmpeq_epi32(even_cell, here));
            const __m256i b =
                _mm256_and_si256(odd, _mm256_cmpeq_epi32(odd_cell, here));
            sum_[c] = _mm256_add_epi64(sum_[c], _mm256_add_epi64(a, b));
        }
    }

    GSTAR_AVX2 void store(const count_target& to) const noexcept {
        for (std::uint32_t c = 0; c < to.cells; ++c) {
            alignas(32) std::uint64_t part[4];
            _mm256_store_si256(reinterpret_cast<__m256i*>(part), sum_[c]);
            to.squares[c * square_lanes] += part[0] + part[1] + part[2] + part[3];
        }
    }

private:
    __m256i sum_[4];
};

/// Whether float32 arithmetic is exact at this window.
inline bool is_near_float(const window& at) noexcept {
    return at.is_near() && at.level > -100 && at.level < 100;
}

/// `count_generic` for float32 scores at a window that `is_near_float`.
template <bool Few>
GSTAR_AVX2 std::size_t count_floats(const count_target& to, const float* scores,
                                    const std::uint32_t* cells, std::size_t n,
                                    special* specials) noexcept {
    block_places at;
    const __m256 scale = _mm256_set1_ps(std::ldexp(1.0f, -to.at.level));
    const __m256 units = _mm256_set1_ps(1 << offset_bits);
    const __m256 half = _mm256_set1_ps(0.5f);
    const __m256 one = _mm256_set1_ps(1.0f);
    const __m256 no_sign = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    const __m256i first = _mm256_set1_epi32(static_cast<int>(to.at.first));
    const __m256i spare = _mm256_set1_epi32(static_cast<int>(to.spare));
    const __m128i shift =
        _mm_cvtsi32_si128(std::ilogb(static_cast<double>(to.at.bins)));
    few_squares squares;
    alignas(32) float few_lo[8] = {};
    alignas(32) float few_hi[8] = {};
    for (std::uint32_t c = 0; c < to.cells && c < 8; ++c) {
        few_lo[c] = to.lo_near[c];
        few_hi[c] = to.hi_near[c];
    }
    const __m256 few_los = _mm256_load_ps(few_lo);
    const __m256 few_his = _mm256_load_ps(few_hi);
    std::size_t n_special = 0;
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        prefetch(scores + i + block_rows);
        __m256 x = _mm256_loadu_ps(scores + i);
        GSTAR_KEEP_READ(x);
        const __m256i cell =
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(cells + i));
        const __m256 lo = Few ? _mm256_permutevar8x32_ps(few_los, cell)
                              : _mm256_i32gather_ps(to.lo_near, cell, 4);
        const __m256 hi = Few ? _mm256_permutevar8x32_ps(few_his, cell)
                              : _mm256_i32gather_ps(to.hi_near, cell, 4);
        const __m256 t = _mm256_mul_ps(x, scale);
        const __m256 whole = _mm256_floor_ps(t);
        const __m256 inside = _mm256_and_ps(_mm256_cmp_ps(x, lo, _CMP_GE_OQ),
                                            _mm256_cmp_ps(x, hi, _CMP_LE_OQ));
        const __m256 away =
            _mm256_cmp_ps(_mm256_and_ps(_mm256_add_ps(whole, half), no_sign), one,
                          _CMP_GE_OQ);  // the bin is not -1 or 0
        const __m256 fine = _mm256_and_ps(inside, away);
        const __m256i k = _mm256_cvttps_epi32(whole);
        __m256i place = _mm256_add_epi32(_mm256_sll_epi32(cell, shift),
                                         _mm256_sub_epi32(k, first));
        __m256i offset =
            _mm256_cvttps_epi32(_mm256_mul_ps(_mm256_sub_ps(t, whole), units));
        const int mask = _mm256_movemask_ps(fine);
        if (mask != 0xff) {
            const __m256i keep = _mm256_castps_si256(fine);
            place = _mm256_blendv_epi8(spare, place, keep);
            offset = _mm256_and_si256(offset, keep);
            alignas(32) float read[8];
            _mm256_store_ps(read, x);
            for (int left = ~mask & 0xff; left != 0; left &= left - 1) {
                const int j = __builtin_ctz(static_cast<unsigned>(left));
                const auto row =
                    static_cast<std::uint32_t>(i) + static_cast<std::uint32_t>(j);
                specials[n_special++] = {read[j], cells[row], row};
            }
        }
        _mm256_store_si256(reinterpret_cast<__m256i*>(at.place + i), place);
        _mm256_store_si256(reinterpret_cast<__m256i*>(at.offset + i), offset);
        if (Few) squares.add(offset, cell);
    }
    if (Few)
        squares.store(to);
    else
        add_squares(to, at, cells, i);
    add_places(to, at, i);
    const std::size_t rest =
        count_generic(to, scores + i, cells + i, n - i, specials + n_special);
    for (std::size_t j = n_special; j < n_special + rest; ++j)
        specials[j].row += static_cast<std::uint32_t>(i);
    return n_special + rest;
}

GSTAR_AVX2 inline std::size_t count_avx2(const count_target& to,
                                         const float* scores,
                                         const std::uint32_t* cells, std::size_t n,
                                         special* specials) noexcept {
    return to.cells <= few_squares::most_cells
               ? count_floats<true>(to, scores, cells, n, specials)
               : count_floats<false>(to, scores, cells, n, specials);
}

/// `count_generic` for float64 scores at a window that `is_near`.
GSTAR_AVX2 inline std::size_t count_avx2(const count_target& to,
                                         const double* scores,
                                         const std::uint32_t* cells, std::size_t n,
                                         special* specials) noexcept {
    block_places at;
    const __m256d scale = _mm256_set1_pd(std::ldexp(1.0, -to.at.level));
    const __m256d units = _mm256_set1_pd(1 << offset_bits);
    const __m256d half = _mm256_set1_pd(0.5);
    const __m256d one = _mm256_set1_pd(1.0);
    const __m256d no_sign =
        _mm256_castsi256_pd(_mm256_set1_epi64x(0x7fffffffffffffff));
    const __m256i round = _mm256_set1_epi64x(0x0FFFFFFF);
    const __m256i odd = _mm256_set1_epi64x(1);
    const __m256i cut = _mm256_set1_epi64x(~std::int64_t{0x1FFFFFFF});
    const __m128i first = _mm_set1_epi32(static_cast<int>(to.at.first));
    const __m128i spare = _mm_set1_epi32(static_cast<int>(to.spare));
    const __m128i shift =
        _mm_cvtsi32_si128(std::ilogb(static_cast<double>(to.at.bins)));
    const __m256i low_halves = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
    std::size_t n_special = 0;
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        prefetch(scores + i + block_rows);
        __m256d x = _mm256_loadu_pd(scores + i);
        GSTAR_KEEP_READ(x);
        const __m128i cell =
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(cells + i));
        const __m256d lo = _mm256_i32gather_pd(to.lo, cell, 8);
        const __m256d hi = _mm256_i32gather_pd(to.hi, cell, 8);
        const __m256d t = _mm256_mul_pd(x, scale);
        const __m256d whole = _mm256_floor_pd(t);
        const __m256i bits = _mm256_castpd_si256(t);
        const __m256i even = _mm256_and_si256(_mm256_srli_epi64(bits, 29), odd);
        const __m256d near = _mm256_castsi256_pd(_mm256_and_si256(
            _mm256_add_epi64(_mm256_add_epi64(bits, round), even), cut));
        const __m256d inside = _mm256_and_pd(_mm256_cmp_pd(x, lo, _CMP_GE_OQ),
                                             _mm256_cmp_pd(x, hi, _CMP_LE_OQ));
        const __m256d away =
            _mm256_cmp_pd(_mm256_and_pd(_mm256_add_pd(whole, half), no_sign), one,
                          _CMP_GE_OQ);  // the bin is not -1 or 0
        const __m256d fine = _mm256_and_pd(inside, away);
        const __m128i k = _mm256_cvttpd_epi32(whole);
        __m128i place =
            _mm_add_epi32(_mm_sll_epi32(cell, shift), _mm_sub_epi32(k, first));
        __m128i offset =
            _mm256_cvttpd_epi32(_mm256_mul_pd(_mm256_sub_pd(near, whole), units));
        const int mask = _mm256_movemask_pd(fine);
        if (mask != 0xf) {
            const __m128i keep = _mm256_castsi256_si128(
                _mm256_permutevar8x32_epi32(_mm256_castpd_si256(fine), low_halves));
            place = _mm_blendv_epi8(spare, place, keep);
            offset = _mm_and_si128(offset, keep);
            alignas(32) double read[4];
            _mm256_store_pd(read, x);
            for (int left = ~mask & 0xf; left != 0; left &= left - 1) {
                const int j = __builtin_ctz(static_cast<unsigned>(left));
                const auto row =
                    static_cast<std::uint32_t>(i) + static_cast<std::uint32_t>(j);
                specials[n_special++] = {read[j], cells[row], row};
            }
        }
        _mm_store_si128(reinterpret_cast<__m128i*>(at.place + i), place);
        _mm_store_si128(reinterpret_cast<__m128i*>(at.offset + i), offset);
    }
    add_squares(to, at, cells, i);
    add_places(to, at, i);
    const std::size_t rest =
        count_generic(to, scores + i, cells + i, n - i, specials + n_special);
    for (std::size_t j = n_special; j < n_special + rest; ++j)
        specials[j].row += static_cast<std::uint32_t>(i);
    return n_special + rest;
}

}  // namespace gstar

#endif
