// avx512.hpp - the primitives of kernels with AVX-512: sixteen float32 or eight float64.
//
// generic.hpp says what each one does. A mask is a register of bits: it picks
// the lanes of an addition or a comparison at no cost, where AVX2 needs one
// instruction more.
#pragma once

#include "gstar/base/simd/dispatch.hpp"

#if GSTAR_HAS_AVX2
#include <immintrin.h>

#include <cstdint>

#include "gstar/base/simd/avx2.hpp"

namespace gstar::avx512 {

/// Sixteen whole numbers of 32 bits.
struct numbers16 {
    using numbers = __m512i;

    GSTAR_AVX512 static __m512i load(const std::uint32_t* from) noexcept {
        return _mm512_loadu_si512(from);
    }
    GSTAR_AVX512 static void store(std::uint32_t* to, __m512i v) noexcept {
        _mm512_storeu_si512(to, v);
    }
    GSTAR_AVX512 static __m512i all_of(std::uint32_t v) noexcept {
        return _mm512_set1_epi32(static_cast<int>(v));
    }
    GSTAR_AVX512 static __m512i add(__m512i a, __m512i b) noexcept {
        return _mm512_add_epi32(a, b);
    }
    GSTAR_AVX512 static __m512i subtract(__m512i a, __m512i b) noexcept {
        return _mm512_sub_epi32(a, b);
    }
    GSTAR_AVX512 static __m512i shifted(__m512i a, int bits) noexcept {
        return _mm512_sll_epi32(a, _mm_cvtsi32_si128(bits));
    }
    GSTAR_AVX512 static __m512i least(__m512i a, __m512i b) noexcept {
        return _mm512_min_epu32(a, b);
    }
};

/// Decisions, for either width of score: 64 rows, of which sixteen at a time.
struct decisions {
    using groups = __m512i;
    static constexpr unsigned group_lanes = 16;

    GSTAR_AVX512 static __m512i no_groups() noexcept {
        return _mm512_setzero_si512();
    }
    GSTAR_AVX512 static __m512i widened(const std::uint8_t* from) noexcept {
        return _mm512_cvtepu8_epi32(
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    }
    GSTAR_AVX512 static __m512i widened(const std::uint16_t* from) noexcept {
        return _mm512_cvtepu16_epi32(
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    }
    GSTAR_AVX512 static __m512i bits_of_both(__m512i a, __m512i b) noexcept {
        return _mm512_or_si512(a, b);
    }
    GSTAR_AVX512 static bool reach(__m512i bits, unsigned width) noexcept {
        const __m512i beyond = _mm512_set1_epi32(-static_cast<int>(width));
        return _mm512_test_epi32_mask(bits, beyond) != 0;
    }

    using answer = std::uint64_t;  ///< a bit for each row
    struct answers {
        static constexpr unsigned parts = 4;
        std::uint64_t bits = 0;
        void put(unsigned j, std::uint64_t a) noexcept { bits |= a << (16 * j); }
        GSTAR_AVX512 void store(std::uint8_t* to) const noexcept {
            _mm512_storeu_si512(to,
                                _mm512_maskz_mov_epi8(bits, _mm512_set1_epi8(1)));
        }
    };
};

struct floats : numbers16, decisions {
    using score = float;
    using value = float;
    using values = __m512;
    using mask = __mmask16;
    static constexpr unsigned lanes = 16;
    static constexpr unsigned one_register = 16;
    static constexpr unsigned two_registers = 32;
    using numbers16::all_of;
    using numbers16::store;

    GSTAR_AVX512 static __m512 read(const float* from) noexcept {
        return _mm512_loadu_ps(from);
    }
    GSTAR_AVX512 static __m512 read_once(const float* from) noexcept {
        __m512 x = _mm512_loadu_ps(from);
        GSTAR_KEEP_READ(x);
        return x;
    }
    GSTAR_AVX512 static __m512 gather(const float* from, __m512i at) noexcept {
        return _mm512_i32gather_ps(at, from, 4);
    }
    GSTAR_AVX512 static __m512 pick(__m512 from, __m512i at) noexcept {
        return _mm512_permutexvar_ps(at, from);
    }
    GSTAR_AVX512 static __m512 pick(__m512 low, __m512 high, __m512i at) noexcept {
        return _mm512_permutex2var_ps(low, at, high);
    }
    GSTAR_AVX512 static void store(float* to, __m512 v) noexcept {
        _mm512_storeu_ps(to, v);
    }
    GSTAR_AVX512 static __m512 all_of(float v) noexcept {
        return _mm512_set1_ps(v);
    }

    GSTAR_AVX512 static mask at_least(__m512 a, __m512 b) noexcept {
        return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ);
    }
    GSTAR_AVX512 static mask unordered(__m512 a, __m512 b) noexcept {
        return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q);
    }
    GSTAR_AVX512 static mask within(__m512 x, __m512 lo, __m512 hi) noexcept {
        const mask above = _mm512_cmp_ps_mask(x, lo, _CMP_GE_OQ);
        return _mm512_mask_cmp_ps_mask(above, x, hi, _CMP_LE_OQ);
    }
    GSTAR_AVX512 static mask and_outside(mask m, __m512 x, __m512 lo,
                                         __m512 hi) noexcept {
        return _kor_mask16(_mm512_mask_cmp_ps_mask(m, x, hi, _CMP_GE_OQ),
                           _mm512_mask_cmp_ps_mask(m, x, lo, _CMP_LT_OQ));
    }
    static mask none() noexcept { return 0; }
    static mask either(mask a, mask b) noexcept { return static_cast<mask>(a | b); }
    static bool any(mask m) noexcept { return m != 0; }
    static unsigned others(mask m) noexcept { return m ^ 0xffffu; }
    static unsigned lowest(unsigned bits) noexcept {
        return static_cast<unsigned>(__builtin_ctz(bits));
    }
    GSTAR_AVX512 static __m512i keep(mask m, __m512i a,
                                     __m512i otherwise) noexcept {
        return _mm512_mask_mov_epi32(otherwise, m, a);
    }

    struct parts {
        __m512 whole;
        __m512i number;
    };
    GSTAR_AVX512 static parts floor(__m512 t, mask) noexcept {
        const __m512 whole =
            _mm512_roundscale_ps(t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
        return {whole, _mm512_cvttps_epi32(whole)};
    }
    GSTAR_AVX512 static __m512i truncate(__m512 v, mask) noexcept {
        return _mm512_cvttps_epi32(v);
    }
    GSTAR_AVX512 static __m512 round24(__m512 v) noexcept { return v; }

    /// 64 bits for each of sixteen numbers: the first eight and the last.
    struct wide_numbers {
        __m512i low;
        __m512i high;
    };
    using wide_sum = __m512i;
    GSTAR_AVX512 static wide_sum no_sum() noexcept {
        return _mm512_setzero_si512();
    }
    GSTAR_AVX512 static wide_numbers squared(__m512i v) noexcept {
        const __m512i low = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(v));
        const __m512i high = _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(v, 1));
        return {_mm512_mul_epu32(low, low), _mm512_mul_epu32(high, high)};
    }
    GSTAR_AVX512 static __m512i widened_numbers(__m512i v) noexcept { return v; }
    GSTAR_AVX512 static __m512i add_where(__m512i sum, __m512i key,
                                          std::uint32_t wanted,
                                          const wide_numbers& v) noexcept {
        const mask here = _mm512_cmpeq_epi32_mask(key, all_of(wanted));
        sum = _mm512_mask_add_epi64(sum, static_cast<__mmask8>(here), sum, v.low);
        return _mm512_mask_add_epi64(sum, static_cast<__mmask8>(here >> 8), sum,
                                     v.high);
    }
    GSTAR_AVX512 static std::uint64_t total(__m512i sum) noexcept {
        return static_cast<std::uint64_t>(_mm512_reduce_add_epi64(sum));
    }

    static answer answer_of(mask m) noexcept { return m; }
};

struct doubles : simd::numbers8, decisions {
    using score = double;
    using value = double;
    using values = __m512d;
    using mask = __mmask8;
    static constexpr unsigned lanes = 8;
    static constexpr unsigned one_register = 8;
    static constexpr unsigned two_registers = 16;
    using simd::numbers8::all_of;
    using simd::numbers8::store;

    GSTAR_AVX512 static __m512d read(const double* from) noexcept {
        return _mm512_loadu_pd(from);
    }
    GSTAR_AVX512 static __m512d read_once(const double* from) noexcept {
        __m512d x = _mm512_loadu_pd(from);
        GSTAR_KEEP_READ(x);
        return x;
    }
    GSTAR_AVX512 static __m512d gather(const double* from, __m256i at) noexcept {
        return _mm512_i32gather_pd(at, from, 8);
    }
    GSTAR_AVX512 static __m512d pick(__m512d from, __m256i at) noexcept {
        return _mm512_permutexvar_pd(_mm512_cvtepu32_epi64(at), from);
    }
    GSTAR_AVX512 static __m512d pick(__m512d low, __m512d high,
                                     __m256i at) noexcept {
        return _mm512_permutex2var_pd(low, _mm512_cvtepu32_epi64(at), high);
    }
    GSTAR_AVX512 static void store(double* to, __m512d v) noexcept {
        _mm512_storeu_pd(to, v);
    }
    GSTAR_AVX512 static __m512d all_of(double v) noexcept {
        return _mm512_set1_pd(v);
    }

    GSTAR_AVX512 static mask at_least(__m512d a, __m512d b) noexcept {
        return _mm512_cmp_pd_mask(a, b, _CMP_GE_OQ);
    }
    GSTAR_AVX512 static mask unordered(__m512d a, __m512d b) noexcept {
        return _mm512_cmp_pd_mask(a, b, _CMP_UNORD_Q);
    }
    GSTAR_AVX512 static mask within(__m512d x, __m512d lo, __m512d hi) noexcept {
        const mask above = _mm512_cmp_pd_mask(x, lo, _CMP_GE_OQ);
        return _mm512_mask_cmp_pd_mask(above, x, hi, _CMP_LE_OQ);
    }
    GSTAR_AVX512 static mask and_outside(mask m, __m512d x, __m512d lo,
                                         __m512d hi) noexcept {
        return _kor_mask8(_mm512_mask_cmp_pd_mask(m, x, hi, _CMP_GE_OQ),
                          _mm512_mask_cmp_pd_mask(m, x, lo, _CMP_LT_OQ));
    }
    static mask none() noexcept { return 0; }
    static mask either(mask a, mask b) noexcept { return static_cast<mask>(a | b); }
    static bool any(mask m) noexcept { return m != 0; }
    static unsigned others(mask m) noexcept { return m ^ 0xffu; }
    static unsigned lowest(unsigned bits) noexcept {
        return static_cast<unsigned>(__builtin_ctz(bits));
    }
    GSTAR_AVX512 static __m256i keep(mask m, __m256i a,
                                     __m256i otherwise) noexcept {
        return _mm256_mask_mov_epi32(otherwise, m, a);
    }

    struct parts {
        __m512d whole;
        __m256i number;
    };
    GSTAR_AVX512 static parts floor(__m512d t, mask) noexcept {
        const __m512d whole =
            _mm512_roundscale_pd(t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
        return {whole, _mm512_cvttpd_epi32(whole)};
    }
    GSTAR_AVX512 static __m256i truncate(__m512d v, mask) noexcept {
        return _mm512_cvttpd_epi32(v);
    }
    GSTAR_AVX512 static __m512d round24(__m512d v) noexcept {
        const __m512i round = _mm512_set1_epi64(0x0FFFFFFF);
        const __m512i odd = _mm512_set1_epi64(1);
        const __m512i cut = _mm512_set1_epi64(~std::int64_t{0x1FFFFFFF});
        const __m512i bits = _mm512_castpd_si512(v);
        const __m512i even = _mm512_and_si512(_mm512_srli_epi64(bits, 29), odd);
        return _mm512_castsi512_pd(_mm512_and_si512(
            _mm512_add_epi64(_mm512_add_epi64(bits, round), even), cut));
    }

    using wide_numbers = __m512i;
    using wide_sum = __m512i;
    GSTAR_AVX512 static wide_sum no_sum() noexcept {
        return _mm512_setzero_si512();
    }
    GSTAR_AVX512 static __m512i squared(__m256i v) noexcept {
        const __m512i wide = _mm512_cvtepu32_epi64(v);
        return _mm512_mul_epu32(wide, wide);
    }
    GSTAR_AVX512 static __m256i widened_numbers(__m256i v) noexcept { return v; }
    GSTAR_AVX512 static __m512i add_where(__m512i sum, __m256i key,
                                          std::uint32_t wanted,
                                          __m512i v) noexcept {
        const mask here = _mm256_cmpeq_epi32_mask(key, all_of(wanted));
        return _mm512_mask_add_epi64(sum, here, sum, v);
    }
    GSTAR_AVX512 static std::uint64_t total(__m512i sum) noexcept {
        return static_cast<std::uint64_t>(_mm512_reduce_add_epi64(sum));
    }

    GSTAR_AVX512 static __m256i low_half(__m512i g) noexcept {
        return _mm512_castsi512_si256(g);
    }
    GSTAR_AVX512 static __m256i high_half(__m512i g) noexcept {
        return _mm512_extracti64x4_epi64(g, 1);
    }
    static answer answer_of(mask low, mask high) noexcept {
        return static_cast<answer>(low) | static_cast<answer>(high) << 8;
    }
};

}  // namespace gstar::avx512

#endif
