// avx2.hpp - the primitives of kernels with AVX2: eight rows at a time.
//
// generic.hpp says what each one does.
#pragma once

#include "gstar/base/simd/dispatch.hpp"

#if GSTAR_HAS_AVX2
#include <cstdint>
#include <type_traits>  // conditional_t

#include "gstar/base/simd/intrinsics.hpp"

namespace gstar::avx2 {

/// What does not depend on the width of scores.
struct eight {
    typedef std::uint32_t numbers __attribute__((vector_size(32)));
    typedef std::int32_t signs __attribute__((vector_size(32)));
    using mask = numbers;  ///< all ones or all zeros
    static constexpr unsigned lanes = 8;

    GSTAR_AVX2 static numbers load(const std::uint8_t* from) noexcept {
        return (numbers)_mm256_cvtepu8_epi32(
            _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
    }
    GSTAR_AVX2 static numbers load(const std::uint16_t* from) noexcept {
        return (numbers)_mm256_cvtepu16_epi32(
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    }
    GSTAR_AVX2 static numbers load(const std::int8_t* from) noexcept {
        return (numbers)_mm256_cvtepi8_epi32(
            _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
    }
    GSTAR_AVX2 static numbers load(const std::int16_t* from) noexcept {
        return (numbers)_mm256_cvtepi16_epi32(
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    }
    GSTAR_AVX2 static numbers load(const void* from) noexcept {  // 32 bits each
        return (numbers)_mm256_loadu_si256(static_cast<const __m256i*>(from));
    }
    /// Numbers of any type, each read once; bits that do not fit go to `rest`.
    template <class T>
    GSTAR_AVX2 static numbers load_once(const T* from, numbers& rest) noexcept {
        if constexpr (sizeof(T) == 8) {
            numbers a = load(static_cast<const void*>(from));
            numbers b = load(static_cast<const void*>(from + 4));
            GSTAR_KEEP_READ(a);
            GSTAR_KEEP_READ(b);
            rest |= (numbers)_mm256_srli_epi64((__m256i)(a | b), 32);
            const __m256i low = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
            return (numbers)_mm256_blend_epi32(
                _mm256_permutevar8x32_epi32((__m256i)a, low),
                _mm256_permutevar8x32_epi32((__m256i)b, low), 0xF0);
        } else {
            numbers out = load(from);
            GSTAR_KEEP_READ(out);
            return out;
        }
    }
    GSTAR_AVX2 static void store(std::uint32_t* to, numbers v) noexcept {
        _mm256_store_si256(reinterpret_cast<__m256i*>(to), (__m256i)v);
    }
    GSTAR_AVX2 static numbers whole(std::int32_t v) noexcept {
        return (numbers)_mm256_set1_epi32(v);
    }
    GSTAR_AVX2 static numbers least(numbers a, numbers b) noexcept {
        return (numbers)_mm256_min_epu32((__m256i)a, (__m256i)b);
    }
    GSTAR_AVX2 static numbers clamp(numbers v, numbers lo, numbers hi) noexcept {
        return (numbers)_mm256_min_epi32(_mm256_max_epi32((__m256i)v, (__m256i)lo),
                                         (__m256i)hi);
    }
    GSTAR_AVX2 static numbers add_if_zero(numbers a, numbers b,
                                          numbers c) noexcept {
        return a + (b & (numbers)(c == 0));
    }
    GSTAR_AVX2 static bool all_at_most(numbers v, numbers most) noexcept {
        return others((mask)(least(v, most) == v)) == 0;
    }
    GSTAR_AVX2 static numbers times(numbers v, numbers by) noexcept {
        return v * by;
    }
    GSTAR_AVX2 static numbers right(numbers v, numbers bits) noexcept {
        return v >> bits;
    }
    GSTAR_AVX2 static numbers low_bits(numbers bits) noexcept {
        return ~(~numbers{} << bits);
    }
    GSTAR_AVX2 static mask above(numbers a, numbers b) noexcept {
        return (mask)((signs)a > (signs)b);
    }
    GSTAR_AVX2 static mask all_or_none(bool all) noexcept {
        return whole(all ? -1 : 0);
    }
    GSTAR_AVX2 static bool any(mask m) noexcept {
        return _mm256_testz_si256((__m256i)m, (__m256i)m) == 0;
    }
    GSTAR_AVX2 static numbers keep(mask m, numbers a, numbers otherwise) noexcept {
        return (numbers)_mm256_blendv_epi8((__m256i)otherwise, (__m256i)a,
                                           (__m256i)m);
    }
    GSTAR_AVX2 static unsigned others(mask m) noexcept {
        return static_cast<unsigned>(_mm256_movemask_ps((__m256)m)) ^ 0xffu;
    }

    struct answers {
        static constexpr unsigned parts = 4;
        __m256i part[4];
        GSTAR_AVX2 void put(unsigned j, mask m) noexcept { part[j] = (__m256i)m; }
        GSTAR_AVX2 void store(std::uint8_t* to) const noexcept {
            // vpackss works in halves; this puts the eight pieces back in order.
            const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
            const __m256i bytes =
                _mm256_packs_epi16(_mm256_packs_epi32(part[0], part[1]),
                                   _mm256_packs_epi32(part[2], part[3]));
            _mm256_storeu_si256(
                reinterpret_cast<__m256i*>(to),
                _mm256_and_si256(_mm256_permutevar8x32_epi32(bytes, order),
                                 _mm256_set1_epi8(1)));
        }
    };
};

struct floats : eight {
    using score = float;
    using value = float;
    using values = __m256;
    using held = __m256;
    static constexpr unsigned table_size = 8;
    static constexpr int exponent_bits = 8;
    static constexpr int bias = 127;

    GSTAR_AVX2 static values read_once(const float* from) noexcept {
        __m256 x = _mm256_loadu_ps(from);
        GSTAR_KEEP_READ(x);
        return x;
    }
    GSTAR_AVX2 static void put(float* to, values x) noexcept {
        _mm256_store_ps(to, x);
    }
    GSTAR_AVX2 static values all_of(float v) noexcept { return _mm256_set1_ps(v); }
    GSTAR_AVX2 static values gather(const float* from, numbers at) noexcept {
        return _mm256_i32gather_ps(from, (__m256i)at, 4);
    }
    GSTAR_AVX2 static held hold(const float* from) noexcept {
        return _mm256_loadu_ps(from);
    }
    GSTAR_AVX2 static values pick(held from, numbers at) noexcept {
        return _mm256_permutevar8x32_ps(from, (__m256i)at);
    }
    GSTAR_AVX2 static values pick(held low, held high, numbers at) noexcept {
        return _mm256_blendv_ps(pick(low, at), pick(high, at), (__m256)(at << 28));
    }

    GSTAR_AVX2 static mask at_least(values a, values b) noexcept {
        return (mask)_mm256_cmp_ps(a, b, _CMP_GE_OQ);
    }
    GSTAR_AVX2 static mask unordered(values a, values b) noexcept {
        return (mask)_mm256_cmp_ps(a, b, _CMP_UNORD_Q);
    }
    GSTAR_AVX2 static mask within(values x, values lo, values hi) noexcept {
        return at_least(x, lo) & at_least(hi, x);
    }
    GSTAR_AVX2 static mask outside(values x, values lo, values hi) noexcept {
        return at_least(lo, x) | at_least(x, hi);
    }
    GSTAR_AVX2 static mask is_zero(values x) noexcept {
        return (mask)_mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_EQ_OQ);
    }
    GSTAR_AVX2 static numbers high(values x) noexcept { return (numbers)x; }
};

struct doubles : eight {
    using score = double;
    using value = double;
    /// Rows 0, 1, 4, 5 and rows 2, 3, 6, 7: what instructions that work in halves bring
    /// back into order.
    struct values {
        __m256d low, high;
    };
    using held = __m256d;
    static constexpr unsigned table_size = 4;
    static constexpr int exponent_bits = 11;
    static constexpr int bias = 1023;

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
    GSTAR_AVX2 static values gather(const double* from, numbers at) noexcept {
        const __m256i none = _mm256_setzero_si256();
        return {
            _mm256_i64gather_pd(from, _mm256_unpacklo_epi32((__m256i)at, none), 8),
            _mm256_i64gather_pd(from, _mm256_unpackhi_epi32((__m256i)at, none), 8)};
    }
    GSTAR_AVX2 static held hold(const double* from) noexcept {
        return _mm256_loadu_pd(from);
    }
    GSTAR_AVX2 static values pick(held from, numbers at) noexcept {
        const halves of(at);
        return {pick(from, of.low), pick(from, of.high)};
    }
    GSTAR_AVX2 static values pick(held low, held high, numbers at) noexcept {
        const halves of(at);
        return {pick(low, high, of.low), pick(low, high, of.high)};
    }

    GSTAR_AVX2 static mask at_least(const values& a, const values& b) noexcept {
        return joined(_mm256_cmp_pd(a.low, b.low, _CMP_GE_OQ),
                      _mm256_cmp_pd(a.high, b.high, _CMP_GE_OQ));
    }
    GSTAR_AVX2 static mask unordered(const values& a, const values& b) noexcept {
        return (mask)_mm256_or_pd(_mm256_cmp_pd(a.low, b.low, _CMP_UNORD_Q),
                                  _mm256_cmp_pd(a.high, b.high, _CMP_UNORD_Q));
    }
    GSTAR_AVX2 static mask within(const values& x, const values& lo,
                                  const values& hi) noexcept {
        return joined(in(x.low, lo.low, hi.low), in(x.high, lo.high, hi.high));
    }
    GSTAR_AVX2 static mask outside(const values& x, const values& lo,
                                   const values& hi) noexcept {
        return at_least(lo, x) | at_least(x, hi);
    }
    GSTAR_AVX2 static mask is_zero(const values& x) noexcept {
        const __m256d zero = _mm256_setzero_pd();
        return joined(_mm256_cmp_pd(x.low, zero, _CMP_EQ_OQ),
                      _mm256_cmp_pd(x.high, zero, _CMP_EQ_OQ));
    }
    GSTAR_AVX2 static numbers high(const values& x) noexcept {
        return (numbers)_mm256_shuffle_ps((__m256)x.low, (__m256)x.high, 0xDD);
    }
    GSTAR_AVX2 static numbers low(const values& x) noexcept {
        return joined(x.low, x.high);
    }

private:
    /// Places of values as places of their halves of 32 bits.
    struct halves {
        __m256i low, high;
        GSTAR_AVX2 explicit halves(numbers at) noexcept
            : low(_mm256_unpacklo_epi32((__m256i)(at + at),
                                        (__m256i)(at + at + 1))),
              high(_mm256_unpackhi_epi32((__m256i)(at + at),
                                         (__m256i)(at + at + 1))) {}
    };
    GSTAR_AVX2 static __m256d pick(__m256d from, __m256i at) noexcept {
        return (__m256d)_mm256_permutevar8x32_ps((__m256)from, at);
    }
    GSTAR_AVX2 static __m256d pick(__m256d low, __m256d high, __m256i at) noexcept {
        return _mm256_blendv_pd(pick(low, at), pick(high, at),
                                (__m256d)_mm256_slli_epi32(at, 28));
    }
    GSTAR_AVX2 static __m256d two_and_two(const double* from) noexcept {
        return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(from)),
                                    _mm_loadu_pd(from + 4), 1);
    }
    GSTAR_AVX2 static __m256d in(__m256d x, __m256d lo, __m256d hi) noexcept {
        return _mm256_and_pd(_mm256_cmp_pd(x, lo, _CMP_GE_OQ),
                             _mm256_cmp_pd(x, hi, _CMP_LE_OQ));
    }
    /// The low halves of all values, in the order of rows.
    GSTAR_AVX2 static numbers joined(__m256d low, __m256d high) noexcept {
        return (numbers)_mm256_shuffle_ps((__m256)low, (__m256)high, 0x88);
    }
};

/// The set for scores of this width.
template <class Float>
using rows_of = std::conditional_t<sizeof(Float) == 4, floats, doubles>;

}  // namespace gstar::avx2

#endif
