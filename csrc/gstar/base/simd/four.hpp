// four.hpp - the primitives of kernels for any CPU: four rows at a time.
//
// generic.hpp says what each one does. The vector types of GCC and Clang become SSE2,
// NEON or whatever the CPU has; without any they become plain code. Intrinsics stand
// only where SSE2 lacks an instruction that others have.
#pragma once

#include "gstar/base/simd/dispatch.hpp"

#if GSTAR_HAS_FOUR
#include <cstdint>
#include <cstring>      // memcpy
#include <type_traits>  // conditional_t

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace gstar::four {

/// What does not depend on the width of scores.
struct rows4 {
    typedef std::uint32_t numbers __attribute__((vector_size(16)));
    typedef std::int32_t signs __attribute__((vector_size(16)));
    using mask = numbers;  ///< all ones or all zeros
    static constexpr unsigned lanes = 4;
    static constexpr unsigned table_size = 0;

    static numbers load(const std::uint32_t* from) noexcept {
        return read<numbers>(from);
    }
    static numbers load(const std::uint8_t* from) noexcept {
#if defined(__SSE2__)
        const __m128i none = _mm_setzero_si128();
        const __m128i bytes = _mm_cvtsi32_si128(read<std::int32_t>(from));
        return (numbers)_mm_unpacklo_epi16(_mm_unpacklo_epi8(bytes, none), none);
#else
        typedef std::uint8_t bytes __attribute__((vector_size(4)));
        return __builtin_convertvector(read<bytes>(from), numbers);
#endif
    }
    static void store(std::uint32_t* to, numbers v) noexcept {
        std::memcpy(to, &v, sizeof v);
    }
    static numbers whole(std::int32_t v) noexcept {
        return numbers{} + static_cast<std::uint32_t>(v);
    }
    /// Of numbers that have 16 bits with a sign, as exponents do: SSE2 has no others.
    static numbers clamp(numbers v, numbers lo, numbers hi) noexcept {
        typedef std::int16_t halves __attribute__((vector_size(16)));
        const auto x = (halves)v, least = (halves)lo, most = (halves)hi;
        const halves up = x > least ? x : least;
        return (numbers)(up < most ? up : most);
    }
    static numbers add_if_zero(numbers a, numbers b, numbers c) noexcept {
        return a + (b & (numbers)(c == 0));
    }
#if defined(__SSE2__)
    // Products have 16 bits. All lanes are shifted by the same number of bits, or
    // multiplied with a power of two: exact, as v has 24 bits.
    static numbers times(numbers v, numbers by) noexcept {
        return (numbers)_mm_madd_epi16((__m128i)v, (__m128i)(by >> 3)) << 3;
    }
    static numbers right(numbers v, numbers bits) noexcept {
        const __m128 power = _mm_castsi128_ps((__m128i)((127u - bits) << 23));
        return (numbers)_mm_cvttps_epi32(
            _mm_mul_ps(_mm_cvtepi32_ps((__m128i)v), power));
    }
    static numbers low_bits(numbers bits) noexcept {
        const __m128 power = _mm_castsi128_ps((__m128i)((127u + bits) << 23));
        return (numbers)_mm_cvttps_epi32(power) - 1;
    }
#else
    static numbers times(numbers v, numbers by) noexcept { return v * by; }
    static numbers right(numbers v, numbers bits) noexcept {
        return v >> (bits & 31);
    }
    static numbers low_bits(numbers bits) noexcept {
        return ~(~numbers{} << (bits & 31));
    }
#endif
    static mask above(numbers a, numbers b) noexcept {
        return (mask)((signs)a > (signs)b);
    }
    static mask all_or_none(bool all) noexcept { return whole(all ? -1 : 0); }
    static bool any(mask m) noexcept {
        typedef std::uint64_t halves __attribute__((vector_size(16)));
        return (((halves)m)[0] | ((halves)m)[1]) != 0;
    }
    static numbers keep(mask m, numbers a, numbers otherwise) noexcept {
        return (m & a) | (~m & otherwise);
    }
    static unsigned others(mask m) noexcept {
        return ((m[0] & 1) | (m[1] & 2) | (m[2] & 4) | (m[3] & 8)) ^ 15;
    }

protected:
    template <class Vector, class T>
    static Vector read(const T* from) noexcept {
        Vector out;
        std::memcpy(&out, from, sizeof out);
        return out;
    }
};

struct floats : rows4 {
    using score = float;
    using value = float;
    typedef float values __attribute__((vector_size(16)));
    static constexpr int exponent_bits = 8;
    static constexpr int bias = 127;

    static values read_once(const float* from) noexcept {
        auto x = read<values>(from);
        GSTAR_KEEP_READ(x);
        return x;
    }
    static void put(float* to, values x) noexcept { std::memcpy(to, &x, sizeof x); }
    static values all_of(float v) noexcept { return values{v, v, v, v}; }
    static values gather(const float* from, numbers at) noexcept {
        return values{from[at[0]], from[at[1]], from[at[2]], from[at[3]]};
    }
    static mask within(values x, values lo, values hi) noexcept {
        return (mask)(x >= lo) & (mask)(x <= hi);
    }
    static mask outside(values x, values lo, values hi) noexcept {
        return (mask)(x <= lo) | (mask)(x >= hi);
    }
    static mask is_zero(values x) noexcept { return (mask)(x == 0); }
    static numbers high(values x) noexcept { return (numbers)x; }
};

struct doubles : rows4 {
    using score = double;
    using value = double;
    typedef double two __attribute__((vector_size(16)));
    struct values {
        two low, high;
    };
    static constexpr int exponent_bits = 11;
    static constexpr int bias = 1023;

    static values read_once(const double* from) noexcept {
        values x{read<two>(from), read<two>(from + 2)};
        GSTAR_KEEP_READ(x.low);
        GSTAR_KEEP_READ(x.high);
        return x;
    }
    static void put(double* to, const values& x) noexcept {
        std::memcpy(to, &x.low, sizeof x.low);
        std::memcpy(to + 2, &x.high, sizeof x.high);
    }
    static values all_of(double v) noexcept { return {two{v, v}, two{v, v}}; }
    static values gather(const double* from, numbers at) noexcept {
        return {two{from[at[0]], from[at[1]]}, two{from[at[2]], from[at[3]]}};
    }
    static mask within(const values& x, const values& lo,
                       const values& hi) noexcept {
        return joined((numbers)(x.low >= lo.low) & (numbers)(x.low <= hi.low),
                      (numbers)(x.high >= lo.high) & (numbers)(x.high <= hi.high));
    }
    static mask outside(const values& x, const values& lo,
                        const values& hi) noexcept {
        return joined((numbers)(x.low <= lo.low) | (numbers)(x.low >= hi.low),
                      (numbers)(x.high <= lo.high) | (numbers)(x.high >= hi.high));
    }
    static mask is_zero(const values& x) noexcept {
        return joined((numbers)(x.low == 0), (numbers)(x.high == 0));
    }
    static numbers high(const values& x) noexcept {
        return every_second<little_endian>((numbers)x.low, (numbers)x.high);
    }
    static numbers low(const values& x) noexcept {
        return every_second<1 - little_endian>((numbers)x.low, (numbers)x.high);
    }

private:
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    static constexpr int little_endian = 0;
#else
    static constexpr int little_endian = 1;
#endif
    template <int first>
    static numbers every_second(numbers a, numbers b) noexcept {
#if defined(__clang__)
        return __builtin_shufflevector(a, b, first, first + 2, first + 4,
                                       first + 6);
#else
        return __builtin_shuffle(a, b,
                                 numbers{first, first + 2, first + 4, first + 6});
#endif
    }
    /// Either half of each, as both are the same.
    static mask joined(numbers low, numbers high) noexcept {
        return every_second<0>(low, high);
    }
};

/// The set for scores of this width.
template <class Float>
using rows_of = std::conditional_t<sizeof(Float) == 4, floats, doubles>;

}  // namespace gstar::four

#endif
