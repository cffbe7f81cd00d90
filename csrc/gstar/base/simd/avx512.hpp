// avx512.hpp - the primitives of kernels with AVX-512: sixteen rows at a time.
//
// generic.hpp says what each one does. A mask is a register of bits.
#pragma once

#include "gstar/base/simd/dispatch.hpp"

#if GSTAR_HAS_AVX2
#include <cstdint>
#include <type_traits>  // conditional_t

#include "gstar/base/simd/intrinsics.hpp"

namespace gstar::avx512 {

/// What does not depend on the width of scores.
struct sixteen {
    typedef std::uint32_t numbers __attribute__((vector_size(64)));
    typedef std::int32_t signs __attribute__((vector_size(64)));
    using mask = __mmask16;
    static constexpr unsigned lanes = 16;

    GSTAR_AVX512 static numbers load(const std::uint8_t* from) noexcept {
        return (numbers)_mm512_cvtepu8_epi32(
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    }
    GSTAR_AVX512 static numbers load(const std::uint16_t* from) noexcept {
        return (numbers)_mm512_cvtepu16_epi32(
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    }
    GSTAR_AVX512 static numbers load(const std::uint32_t* from) noexcept {
        return (numbers)_mm512_loadu_si512(from);
    }
    GSTAR_AVX512 static void store(std::uint32_t* to, numbers v) noexcept {
        _mm512_store_si512(to, (__m512i)v);
    }
    GSTAR_AVX512 static numbers whole(std::int32_t v) noexcept {
        return (numbers)_mm512_set1_epi32(v);
    }
    GSTAR_AVX512 static numbers least(numbers a, numbers b) noexcept {
        return (numbers)_mm512_min_epu32((__m512i)a, (__m512i)b);
    }
    GSTAR_AVX512 static numbers clamp(numbers v, numbers lo, numbers hi) noexcept {
        return (numbers)_mm512_min_epi32(_mm512_max_epi32((__m512i)v, (__m512i)lo),
                                         (__m512i)hi);
    }
    GSTAR_AVX512 static numbers add_if_zero(numbers a, numbers b,
                                            numbers c) noexcept {
        return (numbers)_mm512_mask_add_epi32(
            (__m512i)a, _mm512_testn_epi32_mask((__m512i)c, (__m512i)c), (__m512i)a,
            (__m512i)b);
    }
    GSTAR_AVX512 static bool all_at_most(numbers v, numbers most) noexcept {
        return _mm512_cmpgt_epu32_mask((__m512i)v, (__m512i)most) == 0;
    }
    GSTAR_AVX512 static numbers times(numbers v, numbers by) noexcept {
        return v * by;
    }
    GSTAR_AVX512 static numbers right(numbers v, numbers bits) noexcept {
        return v >> bits;
    }
    GSTAR_AVX512 static numbers low_bits(numbers bits) noexcept {
        return ~(~numbers{} << bits);
    }
    GSTAR_AVX512 static mask above(numbers a, numbers b) noexcept {
        return _mm512_cmpgt_epi32_mask((__m512i)a, (__m512i)b);
    }
    static mask all_or_none(bool all) noexcept { return all ? 0xffff : 0; }
    static bool any(mask m) noexcept { return m != 0; }
    GSTAR_AVX512 static numbers keep(mask m, numbers a,
                                     numbers otherwise) noexcept {
        return (numbers)_mm512_mask_mov_epi32((__m512i)otherwise, m, (__m512i)a);
    }
    static unsigned others(mask m) noexcept { return m ^ 0xffffu; }

    struct answers {
        static constexpr unsigned parts = 4;
        std::uint64_t bits = 0;
        void put(unsigned j, mask m) noexcept {
            bits |= std::uint64_t{m} << 16 * j;
        }
        GSTAR_AVX512 void store(std::uint8_t* to) const noexcept {
            _mm512_storeu_si512(to,
                                _mm512_maskz_mov_epi8(bits, _mm512_set1_epi8(1)));
        }
    };
};

struct floats : sixteen {
    using score = float;
    using value = float;
    using values = __m512;
    using held = __m512;
    static constexpr unsigned table_size = 16;
    static constexpr int exponent_bits = 8;
    static constexpr int bias = 127;

    GSTAR_AVX512 static values read_once(const float* from) noexcept {
        __m512 x = _mm512_loadu_ps(from);
        GSTAR_KEEP_READ(x);
        return x;
    }
    GSTAR_AVX512 static void put(float* to, values x) noexcept {
        _mm512_store_ps(to, x);
    }
    GSTAR_AVX512 static values all_of(float v) noexcept {
        return _mm512_set1_ps(v);
    }
    GSTAR_AVX512 static values gather(const float* from, numbers at) noexcept {
        return _mm512_i32gather_ps((__m512i)at, from, 4);
    }
    GSTAR_AVX512 static held hold(const float* from) noexcept {
        return _mm512_loadu_ps(from);
    }
    GSTAR_AVX512 static values pick(held from, numbers at) noexcept {
        return _mm512_permutexvar_ps((__m512i)at, from);
    }
    GSTAR_AVX512 static values pick(held low, held high, numbers at) noexcept {
        return _mm512_permutex2var_ps(low, (__m512i)at, high);
    }

    GSTAR_AVX512 static mask at_least(values a, values b) noexcept {
        return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ);
    }
    GSTAR_AVX512 static mask unordered(values a, values b) noexcept {
        return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q);
    }
    GSTAR_AVX512 static mask within(values x, values lo, values hi) noexcept {
        return _mm512_mask_cmp_ps_mask(at_least(x, lo), x, hi, _CMP_LE_OQ);
    }
    GSTAR_AVX512 static mask outside(values x, values lo, values hi) noexcept {
        return at_least(lo, x) | at_least(x, hi);
    }
    GSTAR_AVX512 static mask is_zero(values x) noexcept {
        return _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_EQ_OQ);
    }
    GSTAR_AVX512 static numbers high(values x) noexcept { return (numbers)x; }
};

struct doubles : sixteen {
    using score = double;
    using value = double;
    struct values {
        __m512d low, high;
    };
    using held = __m512d;
    static constexpr unsigned table_size = 8;
    static constexpr int exponent_bits = 11;
    static constexpr int bias = 1023;

    GSTAR_AVX512 static values read_once(const double* from) noexcept {
        values x{_mm512_loadu_pd(from), _mm512_loadu_pd(from + 8)};
        GSTAR_KEEP_READ(x.low);
        GSTAR_KEEP_READ(x.high);
        return x;
    }
    GSTAR_AVX512 static void put(double* to, const values& x) noexcept {
        _mm512_store_pd(to, x.low);
        _mm512_store_pd(to + 8, x.high);
    }
    GSTAR_AVX512 static values all_of(double v) noexcept {
        return {_mm512_set1_pd(v), _mm512_set1_pd(v)};
    }
    GSTAR_AVX512 static values gather(const double* from, numbers at) noexcept {
        const halves of(at);
        return {_mm512_i32gather_pd(of.low, from, 8),
                _mm512_i32gather_pd(of.high, from, 8)};
    }
    GSTAR_AVX512 static held hold(const double* from) noexcept {
        return _mm512_loadu_pd(from);
    }
    GSTAR_AVX512 static values pick(held from, numbers at) noexcept {
        const halves of(at);
        return {_mm512_permutexvar_pd(_mm512_cvtepu32_epi64(of.low), from),
                _mm512_permutexvar_pd(_mm512_cvtepu32_epi64(of.high), from)};
    }
    GSTAR_AVX512 static values pick(held low, held high, numbers at) noexcept {
        const halves of(at);
        return {_mm512_permutex2var_pd(low, _mm512_cvtepu32_epi64(of.low), high),
                _mm512_permutex2var_pd(low, _mm512_cvtepu32_epi64(of.high), high)};
    }

    GSTAR_AVX512 static mask at_least(const values& a, const values& b) noexcept {
        return joined(_mm512_cmp_pd_mask(a.low, b.low, _CMP_GE_OQ),
                      _mm512_cmp_pd_mask(a.high, b.high, _CMP_GE_OQ));
    }
    GSTAR_AVX512 static mask unordered(const values& a, const values& b) noexcept {
        return _mm512_cmp_pd_mask(a.low, b.low, _CMP_UNORD_Q) |
               _mm512_cmp_pd_mask(a.high, b.high, _CMP_UNORD_Q);
    }
    GSTAR_AVX512 static mask within(const values& x, const values& lo,
                                    const values& hi) noexcept {
        return joined(in(x.low, lo.low, hi.low), in(x.high, lo.high, hi.high));
    }
    GSTAR_AVX512 static mask outside(const values& x, const values& lo,
                                     const values& hi) noexcept {
        return at_least(lo, x) | at_least(x, hi);
    }
    GSTAR_AVX512 static mask is_zero(const values& x) noexcept {
        const __m512d zero = _mm512_setzero_pd();
        return joined(_mm512_cmp_pd_mask(x.low, zero, _CMP_EQ_OQ),
                      _mm512_cmp_pd_mask(x.high, zero, _CMP_EQ_OQ));
    }
    GSTAR_AVX512 static numbers high(const values& x) noexcept {
        const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21,
                                              23, 25, 27, 29, 31);
        return (numbers)_mm512_permutex2var_epi32((__m512i)x.low, odd,
                                                  (__m512i)x.high);
    }
    GSTAR_AVX512 static numbers low(const values& x) noexcept {
        const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18,
                                               20, 22, 24, 26, 28, 30);
        return (numbers)_mm512_permutex2var_epi32((__m512i)x.low, even,
                                                  (__m512i)x.high);
    }

private:
    struct halves {
        __m256i low, high;
        GSTAR_AVX512 explicit halves(numbers at) noexcept
            : low(_mm512_castsi512_si256((__m512i)at)),
              high(_mm512_extracti64x4_epi64((__m512i)at, 1)) {}
    };
    GSTAR_AVX512 static __mmask8 in(__m512d x, __m512d lo, __m512d hi) noexcept {
        return _mm512_mask_cmp_pd_mask(_mm512_cmp_pd_mask(x, lo, _CMP_GE_OQ), x, hi,
                                       _CMP_LE_OQ);
    }
    GSTAR_AVX512 static mask joined(__mmask8 low, __mmask8 high) noexcept {
        return _mm512_kunpackb(high, low);
    }
};

/// The set for scores of this width.
template <class Float>
using rows_of = std::conditional_t<sizeof(Float) == 4, floats, doubles>;

}  // namespace gstar::avx512

#endif
