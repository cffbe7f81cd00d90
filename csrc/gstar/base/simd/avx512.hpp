// avx512.hpp - the primitives of kernels with AVX-512: sixteen float32 or eight float64.
//
// generic.hpp says what each one does. A mask is a register of bits.
#pragma once

#include "gstar/base/simd/dispatch.hpp"

#if GSTAR_HAS_AVX2
#include <cstdint>

#include "gstar/base/simd/avx2.hpp"

namespace gstar::avx512 {

/// Sixteen whole numbers of 32 bits.
struct numbers16 {
    using numbers = __m512i;

    GSTAR_AVX512 static __m512i all_of(std::uint32_t v) noexcept {
        return _mm512_set1_epi32(static_cast<int>(v));
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

    GSTAR_AVX512 static __m512 read(const float* from) noexcept {
        return _mm512_loadu_ps(from);
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
    GSTAR_AVX512 static __m512 all_of(float v) noexcept {
        return _mm512_set1_ps(v);
    }

    GSTAR_AVX512 static mask at_least(__m512 a, __m512 b) noexcept {
        return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ);
    }
    GSTAR_AVX512 static mask unordered(__m512 a, __m512 b) noexcept {
        return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q);
    }
    static mask none() noexcept { return 0; }
    static mask either(mask a, mask b) noexcept { return static_cast<mask>(a | b); }
    static bool any(mask m) noexcept { return m != 0; }

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

    GSTAR_AVX512 static __m512d read(const double* from) noexcept {
        return _mm512_loadu_pd(from);
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
    GSTAR_AVX512 static __m512d all_of(double v) noexcept {
        return _mm512_set1_pd(v);
    }

    GSTAR_AVX512 static mask at_least(__m512d a, __m512d b) noexcept {
        return _mm512_cmp_pd_mask(a, b, _CMP_GE_OQ);
    }
    GSTAR_AVX512 static mask unordered(__m512d a, __m512d b) noexcept {
        return _mm512_cmp_pd_mask(a, b, _CMP_UNORD_Q);
    }
    static mask none() noexcept { return 0; }
    static mask either(mask a, mask b) noexcept { return static_cast<mask>(a | b); }
    static bool any(mask m) noexcept { return m != 0; }

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
