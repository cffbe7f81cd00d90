// avx2.hpp - what the counting loop asks of AVX2: eight rows at once.
//
// generic.hpp says what each one does.
#pragma once

#include "gstar/base/simd/dispatch.hpp"

#if GSTAR_HAS_AVX2
#include <cstdint>
#include <type_traits>  // conditional_t

#include "gstar/base/simd/intrinsics.hpp"

namespace gstar::avx2 {

/// Bits of eight scores, either width: the same after `bits_of`.
struct eight {
    using numbers = __m256i;
    using mask = __m256i;  ///< all ones or all zeros
    static constexpr unsigned lanes = 8;
    struct sides {
        __m256i positive, change;
    };

    GSTAR_AVX2 static __m256i load(const std::uint32_t* from) noexcept {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    }
    GSTAR_AVX2 static __m256i load(const std::uint8_t* from) noexcept {
        return _mm256_cvtepu8_epi32(
            _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
    }
    GSTAR_AVX2 static void store(std::uint32_t* to, __m256i v) noexcept {
        _mm256_store_si256(reinterpret_cast<__m256i*>(to), v);
    }
    GSTAR_AVX2 static __m256i whole(std::int32_t v) noexcept {
        return _mm256_set1_epi32(v);
    }
    GSTAR_AVX2 static __m256i add(__m256i a, __m256i b) noexcept {
        return _mm256_add_epi32(a, b);
    }
    GSTAR_AVX2 static __m256i subtract(__m256i a, __m256i b) noexcept {
        return _mm256_sub_epi32(a, b);
    }
    GSTAR_AVX2 static __m256i differ(__m256i a, __m256i b) noexcept {
        return _mm256_xor_si256(a, b);
    }
    GSTAR_AVX2 static __m256i clamp(__m256i v, __m256i lo, __m256i hi) noexcept {
        return _mm256_min_epi32(_mm256_max_epi32(v, lo), hi);
    }
    GSTAR_AVX2 static __m256i left(__m256i v, __m256i bits) noexcept {
        return _mm256_sllv_epi32(v, bits);
    }
    GSTAR_AVX2 static __m256i right(__m256i v, __m256i bits) noexcept {
        return _mm256_srlv_epi32(v, bits);
    }
    /// The low `bits` bits of v ^ sign.
    GSTAR_AVX2 static __m256i low_bits(__m256i v, __m256i sign,
                                       __m256i bits) noexcept {
        const __m256i high = _mm256_sllv_epi32(_mm256_set1_epi32(-1), bits);
        return _mm256_andnot_si256(high, _mm256_xor_si256(v, sign));
    }
    GSTAR_AVX2 static __m256i by_sign(__m256i sign, const sides& v) noexcept {
        return _mm256_xor_si256(v.positive, _mm256_and_si256(sign, v.change));
    }
    GSTAR_AVX2 static bool all_at_most(__m256i v, __m256i most) noexcept {
        const __m256i fine = _mm256_cmpeq_epi32(_mm256_min_epu32(v, most), v);
        return _mm256_movemask_epi8(fine) == -1;
    }
    GSTAR_AVX2 static mask all_or_none(bool all) noexcept {
        return _mm256_set1_epi32(all ? -1 : 0);
    }
    GSTAR_AVX2 static mask and_either(mask a, mask b, mask c, mask d) noexcept {
        return _mm256_and_si256(a, _mm256_or_si256(b, _mm256_and_si256(c, d)));
    }
    GSTAR_AVX2 static __m256i keep(mask m, __m256i a, __m256i otherwise) noexcept {
        return _mm256_blendv_epi8(otherwise, a, m);
    }
    GSTAR_AVX2 static unsigned others(mask m) noexcept {
        return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(m))) ^
               0xffu;
    }
};

struct float_rows : eight {
    using score = float;
    using value = float;
    using values = __m256;
    static constexpr unsigned table_size = 8;
    static constexpr int bias = 127;

    GSTAR_AVX2 static __m256 read_once(const float* from) noexcept {
        __m256 x = _mm256_loadu_ps(from);
        GSTAR_KEEP_READ(x);
        return x;
    }
    GSTAR_AVX2 static void put(float* to, __m256 x) noexcept {
        _mm256_store_ps(to, x);
    }
    GSTAR_AVX2 static __m256 all_of(float v) noexcept { return _mm256_set1_ps(v); }
    struct table {
        __m256 v;
        GSTAR_AVX2 explicit table(const float* from) noexcept
            : v(_mm256_loadu_ps(from)) {}
        GSTAR_AVX2 __m256 of(__m256i at) const noexcept {
            return _mm256_permutevar8x32_ps(v, at);
        }
    };
    GSTAR_AVX2 static __m256 gather(const float* from, __m256i at) noexcept {
        return _mm256_i32gather_ps(from, at, 4);
    }
    GSTAR_AVX2 static mask within(__m256 x, __m256 lo, __m256 hi) noexcept {
        return _mm256_castps_si256(_mm256_and_ps(_mm256_cmp_ps(x, lo, _CMP_GE_OQ),
                                                 _mm256_cmp_ps(x, hi, _CMP_LE_OQ)));
    }
    GSTAR_AVX2 static mask outside(__m256 x, __m256 lo, __m256 hi) noexcept {
        return _mm256_castps_si256(_mm256_or_ps(_mm256_cmp_ps(x, lo, _CMP_LE_OQ),
                                                _mm256_cmp_ps(x, hi, _CMP_GE_OQ)));
    }
    GSTAR_AVX2 static mask is_zero(__m256 x) noexcept {
        return _mm256_castps_si256(
            _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_EQ_OQ));
    }
    /// All of a float32 is in `size`, which was looked at.
    GSTAR_AVX2 static bool all_within(__m256, __m256, __m256) noexcept {
        return true;
    }
    struct bits {
        __m256i sign, size, exponent, significand;
    };
    GSTAR_AVX2 static bits bits_of(__m256 x) noexcept {
        const __m256i u = _mm256_castps_si256(x);
        const __m256i sign = _mm256_srai_epi32(u, 31);
        const __m256i size = _mm256_add_epi32(
            _mm256_and_si256(u, _mm256_set1_epi32(0x7fffffff)), sign);
        const __m256i significand =
            _mm256_or_si256(_mm256_and_si256(size, _mm256_set1_epi32(0x7fffff)),
                            _mm256_set1_epi32(0x800000));
        return {sign, size, _mm256_srli_epi32(size, 23), significand};
    }
    GSTAR_AVX2 static __m256i offset(const bits& b, __m256i width) noexcept {
        return low_bits(b.significand, b.sign, width);
    }
};

struct double_rows : eight {
    using score = double;
    using value = double;
    /// Rows 0, 1, 4, 5 and rows 2, 3, 6, 7: what instructions that work in
    /// halves bring back into order.
    struct values {
        __m256d low, high;
    };
    static constexpr unsigned table_size = 4;
    static constexpr int bias = 1023;

    GSTAR_AVX2 static __m256d two_and_two(const double* from) noexcept {
        return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(from)),
                                    _mm_loadu_pd(from + 4), 1);
    }
    GSTAR_AVX2 static values read_once(const double* from) noexcept {
        values x{two_and_two(from), two_and_two(from + 2)};
        GSTAR_KEEP_READ(x.low);
        GSTAR_KEEP_READ(x.high);
        return x;
    }
    GSTAR_AVX2 static void put(double* to, const values& x) noexcept {
        _mm_store_pd(to, _mm256_castpd256_pd128(x.low));
        _mm_store_pd(to + 2, _mm256_castpd256_pd128(x.high));
        _mm_store_pd(to + 4, _mm256_extractf128_pd(x.low, 1));
        _mm_store_pd(to + 6, _mm256_extractf128_pd(x.high, 1));
    }
    GSTAR_AVX2 static values all_of(double v) noexcept {
        return {_mm256_set1_pd(v), _mm256_set1_pd(v)};
    }
    /// Moved as halves of 32 bits.
    GSTAR_AVX2 static __m256d pick(__m256d from, __m256i halves) noexcept {
        return _mm256_castps_pd(
            _mm256_permutevar8x32_ps(_mm256_castpd_ps(from), halves));
    }
    struct table {
        __m256d v;
        GSTAR_AVX2 explicit table(const double* from) noexcept
            : v(_mm256_loadu_pd(from)) {}
        GSTAR_AVX2 values of(__m256i at) const noexcept {
            const __m256i even = _mm256_add_epi32(at, at);
            const __m256i odd = _mm256_or_si256(even, _mm256_set1_epi32(1));
            return {pick(v, _mm256_unpacklo_epi32(even, odd)),
                    pick(v, _mm256_unpackhi_epi32(even, odd))};
        }
    };
    GSTAR_AVX2 static values gather(const double* from, __m256i at) noexcept {
        const __m256i none = _mm256_setzero_si256();
        return {_mm256_i64gather_pd(from, _mm256_unpacklo_epi32(at, none), 8),
                _mm256_i64gather_pd(from, _mm256_unpackhi_epi32(at, none), 8)};
    }
    GSTAR_AVX2 static mask joined(__m256d low, __m256d high) noexcept {
        return _mm256_castps_si256(
            _mm256_shuffle_ps(_mm256_castpd_ps(low), _mm256_castpd_ps(high), 0x88));
    }
    GSTAR_AVX2 static __m256d in(__m256d x, __m256d lo, __m256d hi) noexcept {
        return _mm256_and_pd(_mm256_cmp_pd(x, lo, _CMP_GE_OQ),
                             _mm256_cmp_pd(x, hi, _CMP_LE_OQ));
    }
    GSTAR_AVX2 static mask within(const values& x, const values& lo,
                                  const values& hi) noexcept {
        return joined(in(x.low, lo.low, hi.low), in(x.high, lo.high, hi.high));
    }
    GSTAR_AVX2 static __m256d out(__m256d x, __m256d lo, __m256d hi) noexcept {
        return _mm256_or_pd(_mm256_cmp_pd(x, lo, _CMP_LE_OQ),
                            _mm256_cmp_pd(x, hi, _CMP_GE_OQ));
    }
    GSTAR_AVX2 static mask outside(const values& x, const values& lo,
                                   const values& hi) noexcept {
        return joined(out(x.low, lo.low, hi.low), out(x.high, lo.high, hi.high));
    }
    GSTAR_AVX2 static mask is_zero(const values& x) noexcept {
        const __m256d zero = _mm256_setzero_pd();
        return joined(_mm256_cmp_pd(x.low, zero, _CMP_EQ_OQ),
                      _mm256_cmp_pd(x.high, zero, _CMP_EQ_OQ));
    }
    GSTAR_AVX2 static bool all_within(const values& x, const values& lo,
                                      const values& hi) noexcept {
        return others(within(x, lo, hi)) == 0;
    }
    struct bits {
        __m256i sign, size, exponent, significand, rest;
    };
    GSTAR_AVX2 static bits bits_of(const values& x) noexcept {
        const __m256 a = _mm256_castpd_ps(x.low);
        const __m256 b = _mm256_castpd_ps(x.high);
        const __m256i low = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88));
        const __m256i high = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xDD));
        const __m256i sign = _mm256_srai_epi32(high, 31);
        const __m256i borrow =
            _mm256_and_si256(sign, _mm256_cmpeq_epi32(low, _mm256_setzero_si256()));
        const __m256i size = _mm256_add_epi32(
            _mm256_and_si256(high, _mm256_set1_epi32(0x7fffffff)), borrow);
        const __m256i rest = _mm256_add_epi32(low, sign);
        const __m256i top =
            _mm256_or_si256(_mm256_and_si256(size, _mm256_set1_epi32(0xfffff)),
                            _mm256_set1_epi32(0x100000));
        const __m256i significand =
            _mm256_or_si256(_mm256_slli_epi32(top, 3), _mm256_srli_epi32(rest, 29));
        return {sign, size, _mm256_srli_epi32(size, 20), significand,
                _mm256_xor_si256(rest, sign)};
    }
    GSTAR_AVX2 static __m256i offset(const bits& b, __m256i width) noexcept {
        const __m256i odd =
            _mm256_and_si256(_mm256_srli_epi32(b.rest, 29), _mm256_set1_epi32(1));
        const __m256i up = _mm256_add_epi32(
            _mm256_and_si256(b.rest, _mm256_set1_epi32(0x1fffffff)),
            _mm256_add_epi32(odd, _mm256_set1_epi32(0x0fffffff)));
        return _mm256_add_epi32(low_bits(b.significand, b.sign, width),
                                _mm256_srli_epi32(up, 29));
    }
};

/// The set for scores of this width.
template <class Float>
using rows_of = std::conditional_t<sizeof(Float) == 4, float_rows, double_rows>;

/// Cells of 64 rows from bytes: one shuffle of a table of sixteen for 32.
GSTAR_AVX2 inline bool cells_of_bytes(const std::uint8_t* labels,
                                      const std::uint8_t* groups,
                                      const std::uint8_t* table,
                                      std::uint8_t* cells) noexcept {
    const __m256i slots = _mm256_broadcastsi128_si256(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
    __m256i bad = _mm256_setzero_si256();
    for (int i = 0; i < 64; i += 32) {
        __m256i label =
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(labels + i));
        __m256i group =
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(groups + i));
        GSTAR_KEEP_READ(label);
        GSTAR_KEEP_READ(group);
        const __m256i slot = _mm256_shuffle_epi8(slots, group);
        // Of each byte: a label above 1, a group above 15, or no slot (255).
        bad = _mm256_or_si256(bad, _mm256_and_si256(label, _mm256_set1_epi8(-2)));
        bad = _mm256_or_si256(bad, _mm256_and_si256(group, _mm256_set1_epi8(-16)));
        bad = _mm256_or_si256(bad, _mm256_and_si256(slot, _mm256_set1_epi8(1)));
        _mm256_store_si256(reinterpret_cast<__m256i*>(cells + i),
                           _mm256_or_si256(slot, label));
    }
    return _mm256_testz_si256(bad, bad) != 0;
}

}  // namespace gstar::avx2

#endif
