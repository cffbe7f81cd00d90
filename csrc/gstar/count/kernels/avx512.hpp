// avx512.hpp - what the counting loop asks of AVX-512: sixteen rows at once.
//
// generic.hpp says what each one does.
#pragma once

#include "gstar/base/simd/dispatch.hpp"

#if GSTAR_HAS_AVX2
#include <cstdint>
#include <type_traits>  // conditional_t

#include "gstar/base/simd/intrinsics.hpp"

namespace gstar::avx512 {

/// Bits of sixteen scores, either width: the same after `bits_of`.
struct sixteen {
    using numbers = __m512i;
    using mask = __mmask16;
    static constexpr unsigned lanes = 16;
    struct sides {
        __m512i positive, change;
    };

    GSTAR_AVX512 static __m512i load(const std::uint32_t* from) noexcept {
        return _mm512_loadu_si512(from);
    }
    GSTAR_AVX512 static __m512i load(const std::uint8_t* from) noexcept {
        return _mm512_cvtepu8_epi32(
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    }
    GSTAR_AVX512 static void store(std::uint32_t* to, __m512i v) noexcept {
        _mm512_store_si512(to, v);
    }
    GSTAR_AVX512 static __m512i whole(std::int32_t v) noexcept {
        return _mm512_set1_epi32(v);
    }
    GSTAR_AVX512 static __m512i add(__m512i a, __m512i b) noexcept {
        return _mm512_add_epi32(a, b);
    }
    GSTAR_AVX512 static __m512i subtract(__m512i a, __m512i b) noexcept {
        return _mm512_sub_epi32(a, b);
    }
    GSTAR_AVX512 static __m512i differ(__m512i a, __m512i b) noexcept {
        return _mm512_xor_si512(a, b);
    }
    GSTAR_AVX512 static __m512i clamp(__m512i v, __m512i lo, __m512i hi) noexcept {
        return _mm512_min_epi32(_mm512_max_epi32(v, lo), hi);
    }
    GSTAR_AVX512 static __m512i left(__m512i v, __m512i bits) noexcept {
        return _mm512_sllv_epi32(v, bits);
    }
    GSTAR_AVX512 static __m512i right(__m512i v, __m512i bits) noexcept {
        return _mm512_srlv_epi32(v, bits);
    }
    /// The low `bits` bits of v ^ sign.
    GSTAR_AVX512 static __m512i low_bits(__m512i v, __m512i sign,
                                         __m512i bits) noexcept {
        const __m512i high = _mm512_sllv_epi32(_mm512_set1_epi32(-1), bits);
        return _mm512_ternarylogic_epi32(v, sign, high, 0x14);
    }
    GSTAR_AVX512 static __m512i by_sign(__m512i sign, const sides& v) noexcept {
        // positive ^ (sign & changed)
        return _mm512_ternarylogic_epi32(v.positive, sign, v.change, 0x78);
    }
    GSTAR_AVX512 static bool all_at_most(__m512i v, __m512i most) noexcept {
        return _mm512_cmpgt_epu32_mask(v, most) == 0;
    }
    GSTAR_AVX512 static mask all_or_none(bool all) noexcept {
        return all ? 0xffff : 0;
    }
    GSTAR_AVX512 static mask and_either(mask a, mask b, mask c, mask d) noexcept {
        return a & (b | (c & d));
    }
    GSTAR_AVX512 static __m512i keep(mask m, __m512i a,
                                     __m512i otherwise) noexcept {
        return _mm512_mask_mov_epi32(otherwise, m, a);
    }
    static unsigned others(mask m) noexcept { return m ^ 0xffffu; }
};

struct float_rows : sixteen {
    using score = float;
    using value = float;
    using values = __m512;
    static constexpr unsigned table_size = 16;
    static constexpr int bias = 127;

    GSTAR_AVX512 static __m512 read_once(const float* from) noexcept {
        __m512 x = _mm512_loadu_ps(from);
        GSTAR_KEEP_READ(x);
        return x;
    }
    GSTAR_AVX512 static void put(float* to, __m512 x) noexcept {
        _mm512_store_ps(to, x);
    }
    GSTAR_AVX512 static __m512 all_of(float v) noexcept {
        return _mm512_set1_ps(v);
    }
    struct table {
        __m512 v;
        GSTAR_AVX512 explicit table(const float* from) noexcept
            : v(_mm512_loadu_ps(from)) {}
        GSTAR_AVX512 __m512 of(__m512i at) const noexcept {
            return _mm512_permutexvar_ps(at, v);
        }
    };
    GSTAR_AVX512 static __m512 gather(const float* from, __m512i at) noexcept {
        return _mm512_i32gather_ps(at, from, 4);
    }
    GSTAR_AVX512 static mask within(__m512 x, __m512 lo, __m512 hi) noexcept {
        return _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(x, lo, _CMP_GE_OQ), x, hi,
                                       _CMP_LE_OQ);
    }
    GSTAR_AVX512 static mask outside(__m512 x, __m512 lo, __m512 hi) noexcept {
        return _mm512_cmp_ps_mask(x, lo, _CMP_LE_OQ) |
               _mm512_cmp_ps_mask(x, hi, _CMP_GE_OQ);
    }
    GSTAR_AVX512 static mask is_zero(__m512 x) noexcept {
        return _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_EQ_OQ);
    }
    /// All of a float32 is in `size`, which was looked at.
    GSTAR_AVX512 static bool all_within(__m512, __m512, __m512) noexcept {
        return true;
    }
    struct bits {
        __m512i sign, size, exponent, significand;
    };
    GSTAR_AVX512 static bits bits_of(__m512 x) noexcept {
        const __m512i u = _mm512_castps_si512(x);
        const __m512i sign = _mm512_srai_epi32(u, 31);
        const __m512i size = _mm512_add_epi32(
            _mm512_and_si512(u, _mm512_set1_epi32(0x7fffffff)), sign);
        const __m512i significand = _mm512_ternarylogic_epi32(  // and, or
            size, _mm512_set1_epi32(0x7fffff), _mm512_set1_epi32(0x800000), 0xEA);
        return {sign, size, _mm512_srli_epi32(size, 23), significand};
    }
    GSTAR_AVX512 static __m512i offset(const bits& b, __m512i width) noexcept {
        return low_bits(b.significand, b.sign, width);
    }
};

struct double_rows : sixteen {
    using score = double;
    using value = double;
    struct values {
        __m512d low, high;
    };
    static constexpr unsigned table_size = 8;
    static constexpr int bias = 1023;

    GSTAR_AVX512 static values read_once(const double* from) noexcept {
        values x{_mm512_loadu_pd(from), _mm512_loadu_pd(from + 8)};
        GSTAR_KEEP_READ(x.low);
        GSTAR_KEEP_READ(x.high);
        return x;
    }
    GSTAR_AVX512 static void put(double* to, values x) noexcept {
        _mm512_store_pd(to, x.low);
        _mm512_store_pd(to + 8, x.high);
    }
    GSTAR_AVX512 static values all_of(double v) noexcept {
        return {_mm512_set1_pd(v), _mm512_set1_pd(v)};
    }
    GSTAR_AVX512 static __m512i low_numbers(__m512i at) noexcept {
        return _mm512_cvtepu32_epi64(_mm512_castsi512_si256(at));
    }
    GSTAR_AVX512 static __m512i high_numbers(__m512i at) noexcept {
        return _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(at, 1));
    }
    struct table {
        __m512d v;
        GSTAR_AVX512 explicit table(const double* from) noexcept
            : v(_mm512_loadu_pd(from)) {}
        GSTAR_AVX512 values of(__m512i at) const noexcept {
            return {_mm512_permutexvar_pd(low_numbers(at), v),
                    _mm512_permutexvar_pd(high_numbers(at), v)};
        }
    };
    GSTAR_AVX512 static values gather(const double* from, __m512i at) noexcept {
        return {_mm512_i32gather_pd(_mm512_castsi512_si256(at), from, 8),
                _mm512_i32gather_pd(_mm512_extracti64x4_epi64(at, 1), from, 8)};
    }
    GSTAR_AVX512 static mask joined(__mmask8 low, __mmask8 high) noexcept {
        return _mm512_kunpackb(high, low);
    }
    GSTAR_AVX512 static mask within(const values& x, const values& lo,
                                    const values& hi) noexcept {
        return joined(
            _mm512_mask_cmp_pd_mask(_mm512_cmp_pd_mask(x.low, lo.low, _CMP_GE_OQ),
                                    x.low, hi.low, _CMP_LE_OQ),
            _mm512_mask_cmp_pd_mask(_mm512_cmp_pd_mask(x.high, lo.high, _CMP_GE_OQ),
                                    x.high, hi.high, _CMP_LE_OQ));
    }
    GSTAR_AVX512 static mask outside(const values& x, const values& lo,
                                     const values& hi) noexcept {
        return joined(_mm512_cmp_pd_mask(x.low, lo.low, _CMP_LE_OQ) |
                          _mm512_cmp_pd_mask(x.low, hi.low, _CMP_GE_OQ),
                      _mm512_cmp_pd_mask(x.high, lo.high, _CMP_LE_OQ) |
                          _mm512_cmp_pd_mask(x.high, hi.high, _CMP_GE_OQ));
    }
    GSTAR_AVX512 static mask is_zero(const values& x) noexcept {
        const __m512d zero = _mm512_setzero_pd();
        return joined(_mm512_cmp_pd_mask(x.low, zero, _CMP_EQ_OQ),
                      _mm512_cmp_pd_mask(x.high, zero, _CMP_EQ_OQ));
    }
    GSTAR_AVX512 static bool all_within(const values& x, const values& lo,
                                        const values& hi) noexcept {
        return within(x, lo, hi) == 0xffff;
    }
    struct bits {
        __m512i sign, size, exponent, significand, rest;
    };
    GSTAR_AVX512 static bits bits_of(const values& x) noexcept {
        const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18,
                                               20, 22, 24, 26, 28, 30);
        const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21,
                                              23, 25, 27, 29, 31);
        const __m512i a = _mm512_castpd_si512(x.low);
        const __m512i b = _mm512_castpd_si512(x.high);
        const __m512i low = _mm512_permutex2var_epi32(a, even, b);
        const __m512i high = _mm512_permutex2var_epi32(a, odd, b);
        const __m512i sign = _mm512_srai_epi32(high, 31);
        const __m512i all = _mm512_and_si512(high, _mm512_set1_epi32(0x7fffffff));
        const __m512i size = _mm512_mask_add_epi32(
            all, _mm512_testn_epi32_mask(low, low), all, sign);
        const __m512i rest = _mm512_add_epi32(low, sign);
        const __m512i top = _mm512_ternarylogic_epi32(  // and, or
            size, _mm512_set1_epi32(0xfffff), _mm512_set1_epi32(0x100000), 0xEA);
        const __m512i significand =
            _mm512_or_si512(_mm512_slli_epi32(top, 3), _mm512_srli_epi32(rest, 29));
        return {sign, size, _mm512_srli_epi32(size, 20), significand,
                _mm512_xor_si512(rest, sign)};
    }
    GSTAR_AVX512 static __m512i offset(const bits& b, __m512i width) noexcept {
        const __m512i odd =
            _mm512_and_si512(_mm512_srli_epi32(b.rest, 29), _mm512_set1_epi32(1));
        const __m512i up = _mm512_add_epi32(
            _mm512_and_si512(b.rest, _mm512_set1_epi32(0x1fffffff)),
            _mm512_add_epi32(odd, _mm512_set1_epi32(0x0fffffff)));
        return _mm512_add_epi32(low_bits(b.significand, b.sign, width),
                                _mm512_srli_epi32(up, 29));
    }
};

/// The set for scores of this width.
template <class Float>
using rows_of = std::conditional_t<sizeof(Float) == 4, float_rows, double_rows>;

/// Cells of 64 rows from bytes: one shuffle of a table of sixteen.
GSTAR_AVX512 inline bool cells_of_bytes(const std::uint8_t* labels,
                                        const std::uint8_t* groups,
                                        const std::uint8_t* table,
                                        std::uint8_t* cells) noexcept {
    const __m512i slots = _mm512_broadcast_i32x4(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
    __m512i label = _mm512_loadu_si512(labels);
    __m512i group = _mm512_loadu_si512(groups);
    GSTAR_KEEP_READ(label);
    GSTAR_KEEP_READ(group);
    const __m512i slot = _mm512_shuffle_epi8(slots, group);
    // Of each byte: a label above 1, a group above 15, or no slot (255).
    const __m512i bad = _mm512_or_si512(
        _mm512_or_si512(_mm512_and_si512(label, _mm512_set1_epi8(-2)),
                        _mm512_and_si512(group, _mm512_set1_epi8(-16))),
        _mm512_and_si512(slot, _mm512_set1_epi8(1)));
    _mm512_store_si512(cells, _mm512_or_si512(slot, label));
    return _mm512_test_epi8_mask(bad, bad) == 0;
}

}  // namespace gstar::avx512

#endif
