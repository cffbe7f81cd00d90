// avx2.hpp - the primitives of kernels with AVX2: eight float32 or four float64.
//
// generic.hpp says what each one does.
#pragma once

#include "gstar/base/simd/dispatch.hpp"

#if GSTAR_HAS_AVX2
#include <cstdint>

#include "gstar/base/simd/intrinsics.hpp"

// Not in a namespace of a kernel: kernels of other sets use these too.
namespace gstar::simd {

/// Eight whole numbers of 32 bits.
struct numbers8 {
    using numbers = __m256i;

    GSTAR_AVX2 static __m256i all_of(std::uint32_t v) noexcept {
        return _mm256_set1_epi32(static_cast<int>(v));
    }
    GSTAR_AVX2 static __m256i least(__m256i a, __m256i b) noexcept {
        return _mm256_min_epu32(a, b);
    }
};

/// Four of them.
struct numbers4 {
    using numbers = __m128i;

    GSTAR_AVX2 static __m128i all_of(std::uint32_t v) noexcept {
        return _mm_set1_epi32(static_cast<int>(v));
    }
    GSTAR_AVX2 static __m128i least(__m128i a, __m128i b) noexcept {
        return _mm_min_epu32(a, b);
    }
};

/// Eight values of any whole type as numbers; bits that do not fit go to `rest`.
GSTAR_AVX2 inline __m256i eight(const std::uint8_t* v) noexcept {
    return _mm256_cvtepu8_epi32(
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(v)));
}
GSTAR_AVX2 inline __m256i eight(const std::uint16_t* v) noexcept {
    return _mm256_cvtepu16_epi32(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(v)));
}
GSTAR_AVX2 inline __m256i eight(const std::int8_t* v) noexcept {
    return _mm256_cvtepi8_epi32(
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(v)));
}
GSTAR_AVX2 inline __m256i eight(const std::int16_t* v) noexcept {
    return _mm256_cvtepi16_epi32(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(v)));
}
GSTAR_AVX2 inline __m256i eight(const std::int32_t* v) noexcept {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(v));
}
template <class T>
GSTAR_AVX2 inline __m256i eight(const T* v, __m256i&) noexcept {
    return eight(v);
}
GSTAR_AVX2 inline __m256i eight(const std::int64_t* v, __m256i& rest) noexcept {
    __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(v));
    __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(v + 4));
    GSTAR_KEEP_READ(a);
    GSTAR_KEEP_READ(b);
    rest = _mm256_or_si256(rest, _mm256_srli_epi64(_mm256_or_si256(a, b), 32));
    const __m256i low_halves = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
    return _mm256_blend_epi32(_mm256_permutevar8x32_epi32(a, low_halves),
                              _mm256_permutevar8x32_epi32(b, low_halves), 0xF0);
}

}  // namespace gstar::simd

namespace gstar::avx2 {

/// Decisions, for either width of score: 32 rows, of which eight at a time.
struct decisions {
    using groups = __m256i;
    static constexpr unsigned group_lanes = 8;

    GSTAR_AVX2 static __m256i no_groups() noexcept {
        return _mm256_setzero_si256();
    }
    template <class Index>
    GSTAR_AVX2 static __m256i widened(const Index* from) noexcept {
        return simd::eight(from);
    }
    GSTAR_AVX2 static __m256i bits_of_both(__m256i a, __m256i b) noexcept {
        return _mm256_or_si256(a, b);
    }
    /// Whether one of the groups is `width`, a power of two, or more.
    GSTAR_AVX2 static bool reach(__m256i bits, unsigned width) noexcept {
        const __m256i beyond = _mm256_set1_epi32(-static_cast<int>(width));
        return _mm256_testz_si256(bits, beyond) == 0;
    }

    using answer = __m256i;  ///< all ones where accepted
    struct answers {
        static constexpr unsigned parts = 4;
        __m256i part[4];
        GSTAR_AVX2 void put(unsigned j, __m256i a) noexcept { part[j] = a; }
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

struct floats : simd::numbers8, decisions {
    using score = float;
    using value = float;
    using values = __m256;
    using mask = __m256;  ///< all ones or all zeros
    static constexpr unsigned lanes = 8;
    static constexpr unsigned one_register = 8;
    static constexpr unsigned two_registers = 16;
    using numbers8::all_of;

    GSTAR_AVX2 static __m256 read(const float* from) noexcept {
        return _mm256_loadu_ps(from);
    }
    GSTAR_AVX2 static __m256 gather(const float* from, __m256i at) noexcept {
        return _mm256_i32gather_ps(from, at, 4);
    }
    /// Values held in registers, by number.
    GSTAR_AVX2 static __m256 pick(__m256 from, __m256i at) noexcept {
        return _mm256_permutevar8x32_ps(from, at);
    }
    GSTAR_AVX2 static __m256 pick(__m256 low, __m256 high, __m256i at) noexcept {
        const __m256 which = _mm256_castsi256_ps(_mm256_slli_epi32(at, 28));
        return _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, at),
                                _mm256_permutevar8x32_ps(high, at), which);
    }
    GSTAR_AVX2 static __m256 all_of(float v) noexcept { return _mm256_set1_ps(v); }

    GSTAR_AVX2 static __m256 at_least(__m256 a, __m256 b) noexcept {
        return _mm256_cmp_ps(a, b, _CMP_GE_OQ);
    }
    GSTAR_AVX2 static __m256 unordered(__m256 a, __m256 b) noexcept {
        return _mm256_cmp_ps(a, b, _CMP_UNORD_Q);
    }
    GSTAR_AVX2 static __m256 none() noexcept { return _mm256_setzero_ps(); }
    GSTAR_AVX2 static __m256 either(__m256 a, __m256 b) noexcept {
        return _mm256_or_ps(a, b);
    }
    GSTAR_AVX2 static bool any(__m256 m) noexcept {
        return _mm256_movemask_ps(m) != 0;
    }

    GSTAR_AVX2 static __m256i answer_of(__m256 m) noexcept {
        return _mm256_castps_si256(m);
    }
};

struct doubles : simd::numbers4, decisions {
    using score = double;
    using value = double;
    using values = __m256d;
    using mask = __m256d;
    static constexpr unsigned lanes = 4;
    static constexpr unsigned one_register = 0;
    static constexpr unsigned two_registers = 8;
    using numbers4::all_of;

    GSTAR_AVX2 static __m256d read(const double* from) noexcept {
        return _mm256_loadu_pd(from);
    }
    GSTAR_AVX2 static __m256d gather(const double* from, __m128i at) noexcept {
        return _mm256_i32gather_pd(from, at, 8);
    }
    /// Moved as halves of 32 bits. Where gathering is quick this is a little
    /// slower, where it is slow much faster.
    GSTAR_AVX2 static __m256d pick(__m256d low, __m256d high, __m128i at) noexcept {
        const __m256i g = _mm256_cvtepu32_epi64(at);
        const __m256i twice = _mm256_add_epi64(g, g);
        const __m256i halves = _mm256_or_si256(
            twice,
            _mm256_slli_epi64(_mm256_or_si256(twice, _mm256_set1_epi64x(1)), 32));
        const __m256d which = _mm256_castsi256_pd(_mm256_slli_epi64(g, 61));
        return _mm256_blendv_pd(_mm256_castps_pd(_mm256_permutevar8x32_ps(
                                    _mm256_castpd_ps(low), halves)),
                                _mm256_castps_pd(_mm256_permutevar8x32_ps(
                                    _mm256_castpd_ps(high), halves)),
                                which);
    }
    GSTAR_AVX2 static __m256d all_of(double v) noexcept {
        return _mm256_set1_pd(v);
    }

    GSTAR_AVX2 static __m256d at_least(__m256d a, __m256d b) noexcept {
        return _mm256_cmp_pd(a, b, _CMP_GE_OQ);
    }
    GSTAR_AVX2 static __m256d unordered(__m256d a, __m256d b) noexcept {
        return _mm256_cmp_pd(a, b, _CMP_UNORD_Q);
    }
    GSTAR_AVX2 static __m256d none() noexcept { return _mm256_setzero_pd(); }
    GSTAR_AVX2 static __m256d either(__m256d a, __m256d b) noexcept {
        return _mm256_or_pd(a, b);
    }
    GSTAR_AVX2 static bool any(__m256d m) noexcept {
        return _mm256_movemask_pd(m) != 0;
    }

    GSTAR_AVX2 static __m128i low_half(__m256i g) noexcept {
        return _mm256_castsi256_si128(g);
    }
    GSTAR_AVX2 static __m128i high_half(__m256i g) noexcept {
        return _mm256_extracti128_si256(g, 1);
    }
    /// Of each 64-bit answer one half, back in order.
    GSTAR_AVX2 static __m256i answer_of(__m256d low, __m256d high) noexcept {
        const __m256 both =
            _mm256_shuffle_ps(_mm256_castpd_ps(low), _mm256_castpd_ps(high), 0x88);
        return _mm256_permute4x64_epi64(_mm256_castps_si256(both), 0xD8);
    }
};

}  // namespace gstar::avx2

#endif
