// avx2.hpp - up to 16 thresholds in registers, more by gathering; 32 rows at a time.
//
// A permutation looks at the low bits of a group only, so larger numbers are
// noticed beside it and the block is left to the gathering kernel.
#pragma once

#include "gstar/base/simd/dispatch.hpp"
#include "gstar/decide/kernels/generic.hpp"

#if GSTAR_HAS_AVX2
#include <immintrin.h>

namespace gstar {
namespace avx2 {

// ---- groups -> 32-bit or 64-bit numbers -------------------------------------

GSTAR_AVX2 inline __m256i eight(const std::uint8_t* groups) {
    return _mm256_cvtepu8_epi32(
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(groups)));
}
GSTAR_AVX2 inline __m256i eight(const std::uint16_t* groups) {
    return _mm256_cvtepu16_epi32(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(groups)));
}

// ---- groups -> thresholds ---------------------------------------------------

/// Eight float thresholds in one register.
struct floats8 {
    using value = float;
    static constexpr std::uint32_t width = 8;
    __m256 low;
    GSTAR_AVX2 explicit floats8(const float* v) : low(_mm256_loadu_ps(v)) {}
    GSTAR_AVX2 __m256 of(__m256i groups) const {
        return _mm256_permutevar8x32_ps(low, groups);
    }
};

/// Sixteen in two.
struct floats16 {
    using value = float;
    static constexpr std::uint32_t width = 16;
    __m256 low;
    __m256 high;
    GSTAR_AVX2 explicit floats16(const float* v)
        : low(_mm256_loadu_ps(v)), high(_mm256_loadu_ps(v + 8)) {}
    GSTAR_AVX2 __m256 of(__m256i groups) const {
        const __m256 which = _mm256_castsi256_ps(_mm256_slli_epi32(groups, 28));
        return _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, groups),
                                _mm256_permutevar8x32_ps(high, groups), which);
    }
};

/// Eight double thresholds in two registers, moved as halves of 32 bits. Where
/// gathering is quick this is a little slower, where it is slow much faster.
struct doubles8 {
    using value = double;
    static constexpr std::uint32_t width = 8;
    __m256 low;
    __m256 high;
    GSTAR_AVX2 explicit doubles8(const double* v)
        : low(_mm256_castpd_ps(_mm256_loadu_pd(v))),
          high(_mm256_castpd_ps(_mm256_loadu_pd(v + 4))) {}
    GSTAR_AVX2 __m256d of(__m128i groups) const {
        const __m256i g = _mm256_cvtepu32_epi64(groups);
        const __m256i twice = _mm256_add_epi64(g, g);
        const __m256i halves = _mm256_or_si256(
            twice,
            _mm256_slli_epi64(_mm256_or_si256(twice, _mm256_set1_epi64x(1)), 32));
        const __m256d which = _mm256_castsi256_pd(_mm256_slli_epi64(g, 61));
        return _mm256_blendv_pd(
            _mm256_castps_pd(_mm256_permutevar8x32_ps(low, halves)),
            _mm256_castps_pd(_mm256_permutevar8x32_ps(high, halves)), which);
    }
};

/// Any number of them, from memory.
struct floats_any {
    using value = float;
    static constexpr std::uint32_t width = 0;
    const float* values;
    __m256i size;
    GSTAR_AVX2 floats_any(const float* v, std::uint32_t n)
        : values(v), size(_mm256_set1_epi32(static_cast<int>(n))) {}
    GSTAR_AVX2 __m256 of(__m256i groups) const {
        return _mm256_i32gather_ps(values, _mm256_min_epu32(groups, size), 4);
    }
};

struct doubles_any {
    using value = double;
    static constexpr std::uint32_t width = 0;
    const double* values;
    __m128i size;
    GSTAR_AVX2 doubles_any(const double* v, std::uint32_t n)
        : values(v), size(_mm_set1_epi32(static_cast<int>(n))) {}
    GSTAR_AVX2 __m256d of(__m128i groups) const {
        return _mm256_i32gather_pd(values, _mm_min_epu32(groups, size), 8);
    }
};

// ---- eight rows: all ones where accepted, and where something was NaN -------

template <class Table>
GSTAR_AVX2 inline __m256i accept8(const float* scores, __m256i groups,
                                  const Table& table, __m256i& odd) {
    const __m256 s = _mm256_loadu_ps(scores);
    const __m256 t = table.of(groups);
    odd = _mm256_or_si256(odd,
                          _mm256_castps_si256(_mm256_cmp_ps(s, t, _CMP_UNORD_Q)));
    return _mm256_castps_si256(_mm256_cmp_ps(s, t, _CMP_GE_OQ));
}

template <class Table>
GSTAR_AVX2 inline __m256i accept8(const double* scores, __m256i groups,
                                  const Table& table, __m256i& odd) {
    const __m256d s0 = _mm256_loadu_pd(scores);
    const __m256d s1 = _mm256_loadu_pd(scores + 4);
    const __m256d t0 = table.of(_mm256_castsi256_si128(groups));
    const __m256d t1 = table.of(_mm256_extracti128_si256(groups, 1));
    const __m256d nan = _mm256_or_pd(_mm256_cmp_pd(s0, t0, _CMP_UNORD_Q),
                                     _mm256_cmp_pd(s1, t1, _CMP_UNORD_Q));
    odd = _mm256_or_si256(odd, _mm256_castpd_si256(nan));
    // Of each 64-bit answer one half, back in order.
    const __m256 both = _mm256_shuffle_ps(
        _mm256_castpd_ps(_mm256_cmp_pd(s0, t0, _CMP_GE_OQ)),
        _mm256_castpd_ps(_mm256_cmp_pd(s1, t1, _CMP_GE_OQ)), 0x88);
    return _mm256_permute4x64_epi64(_mm256_castps_si256(both), 0xD8);
}

template <class Table, class Index>
GSTAR_AVX2 bool run(const typename Table::value* scores, const Index* groups,
                    std::size_t n, const Table& table, std::uint8_t* out,
                    std::size_t& done) {
    // vpackss works in halves; this puts the eight pieces back in order.
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i one = _mm256_set1_epi8(1);
    __m256i odd = _mm256_setzero_si256();
    __m256i all = _mm256_setzero_si256();
    std::size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        __m256i a[4];
        for (int j = 0; j < 4; ++j) {
            const __m256i g = eight(groups + i + 8 * j);
            all = _mm256_or_si256(all, g);
            a[j] = accept8(scores + i + 8 * j, g, table, odd);
        }
        const __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(a[0], a[1]),
                                                 _mm256_packs_epi32(a[2], a[3]));
        _mm256_storeu_si256(
            reinterpret_cast<__m256i*>(out + i),
            _mm256_and_si256(_mm256_permutevar8x32_epi32(bytes, order), one));
    }
    done = i;
    if (Table::width != 0) {
        const __m256i beyond = _mm256_set1_epi32(-static_cast<int>(Table::width));
        if (_mm256_testz_si256(all, beyond) == 0) return false;
    }
    return _mm256_testz_si256(odd, odd) != 0;
}

template <class Index>
GSTAR_AVX2 bool decide(const float* scores, const Index* groups, std::size_t n,
                       const threshold_view<float>& table, std::uint8_t* out) {
    std::size_t done = 0;
    bool usual = false;
    if (table.used <= 8)
        usual = run(scores, groups, n, floats8(table.values), out, done);
    else if (table.used <= 16)
        usual = run(scores, groups, n, floats16(table.values), out, done);
    if (!usual &&
        !run(scores, groups, n, floats_any(table.values, table.size), out, done))
        return false;
    return decide_generic(scores + done, groups + done, n - done, table,
                          out + done);
}

template <class Index>
GSTAR_AVX2 bool decide(const double* scores, const Index* groups, std::size_t n,
                       const threshold_view<double>& table, std::uint8_t* out) {
    std::size_t done = 0;
    bool usual = false;
    if (table.used <= 8)
        usual = run(scores, groups, n, doubles8(table.values), out, done);
    if (!usual &&
        !run(scores, groups, n, doubles_any(table.values, table.size), out, done))
        return false;
    return decide_generic(scores + done, groups + done, n - done, table,
                          out + done);
}

/// One threshold for everybody: the compiler's own vectors are wide enough.
template <class Float>
GSTAR_AVX2 bool decide_same(const Float* scores, std::size_t n, Float threshold,
                            std::uint8_t* out) {
    return decide_unified(scores, n, threshold, out);
}

template <class From>
GSTAR_AVX2 bool narrow(const From* from, std::size_t n, std::uint16_t* out) {
    return narrow_generic(from, n, out);
}

}  // namespace avx2
}  // namespace gstar
#endif
