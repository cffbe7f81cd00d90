// avx512.hpp - up to 32 thresholds in registers, more by gathering; 64 rows at a time.
#pragma once

#include "gstar/base/simd/dispatch.hpp"
#include "gstar/decide/kernels/generic.hpp"

#if GSTAR_HAS_AVX2
#include <immintrin.h>

namespace gstar {
namespace avx512 {

GSTAR_AVX512 inline __m512i sixteen(const std::uint8_t* groups) {
    return _mm512_cvtepu8_epi32(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(groups)));
}
GSTAR_AVX512 inline __m512i sixteen(const std::uint16_t* groups) {
    return _mm512_cvtepu16_epi32(
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(groups)));
}

// ---- groups -> thresholds ---------------------------------------------------

struct floats16 {
    using value = float;
    static constexpr std::uint32_t width = 16;
    __m512 low;
    GSTAR_AVX512 explicit floats16(const float* v) : low(_mm512_loadu_ps(v)) {}
    GSTAR_AVX512 __m512 of(__m512i groups) const {
        return _mm512_permutexvar_ps(groups, low);
    }
};

struct floats32 {
    using value = float;
    static constexpr std::uint32_t width = 32;
    __m512 low;
    __m512 high;
    GSTAR_AVX512 explicit floats32(const float* v)
        : low(_mm512_loadu_ps(v)), high(_mm512_loadu_ps(v + 16)) {}
    GSTAR_AVX512 __m512 of(__m512i groups) const {
        return _mm512_permutex2var_ps(low, groups, high);
    }
};

struct doubles8 {
    using value = double;
    static constexpr std::uint32_t width = 8;
    __m512d low;
    GSTAR_AVX512 explicit doubles8(const double* v) : low(_mm512_loadu_pd(v)) {}
    GSTAR_AVX512 __m512d of(__m256i groups) const {
        return _mm512_permutexvar_pd(_mm512_cvtepu32_epi64(groups), low);
    }
};

struct doubles16 {
    using value = double;
    static constexpr std::uint32_t width = 16;
    __m512d low;
    __m512d high;
    GSTAR_AVX512 explicit doubles16(const double* v)
        : low(_mm512_loadu_pd(v)), high(_mm512_loadu_pd(v + 8)) {}
    GSTAR_AVX512 __m512d of(__m256i groups) const {
        return _mm512_permutex2var_pd(low, _mm512_cvtepu32_epi64(groups), high);
    }
};

struct floats_any {
    using value = float;
    static constexpr std::uint32_t width = 0;
    const float* values;
    __m512i size;
    GSTAR_AVX512 floats_any(const float* v, std::uint32_t n)
        : values(v), size(_mm512_set1_epi32(static_cast<int>(n))) {}
    GSTAR_AVX512 __m512 of(__m512i groups) const {
        return _mm512_i32gather_ps(_mm512_min_epu32(groups, size), values, 4);
    }
};

struct doubles_any {
    using value = double;
    static constexpr std::uint32_t width = 0;
    const double* values;
    __m256i size;
    GSTAR_AVX512 doubles_any(const double* v, std::uint32_t n)
        : values(v), size(_mm256_set1_epi32(static_cast<int>(n))) {}
    GSTAR_AVX512 __m512d of(__m256i groups) const {
        return _mm512_i32gather_pd(_mm256_min_epu32(groups, size), values, 8);
    }
};

// ---- sixteen rows: a bit for each -------------------------------------------

template <class Table>
GSTAR_AVX512 inline std::uint64_t accept16(const float* scores, __m512i groups,
                                           const Table& table, unsigned& odd) {
    const __m512 s = _mm512_loadu_ps(scores);
    const __m512 t = table.of(groups);
    odd |= _mm512_cmp_ps_mask(s, t, _CMP_UNORD_Q);
    return _mm512_cmp_ps_mask(s, t, _CMP_GE_OQ);
}

template <class Table>
GSTAR_AVX512 inline std::uint64_t accept16(const double* scores, __m512i groups,
                                           const Table& table, unsigned& odd) {
    const __m512d s0 = _mm512_loadu_pd(scores);
    const __m512d s1 = _mm512_loadu_pd(scores + 8);
    const __m512d t0 = table.of(_mm512_castsi512_si256(groups));
    const __m512d t1 = table.of(_mm512_extracti64x4_epi64(groups, 1));
    odd |= static_cast<unsigned>(_mm512_cmp_pd_mask(s0, t0, _CMP_UNORD_Q)) |
           static_cast<unsigned>(_mm512_cmp_pd_mask(s1, t1, _CMP_UNORD_Q));
    return static_cast<std::uint64_t>(_mm512_cmp_pd_mask(s0, t0, _CMP_GE_OQ)) |
           (static_cast<std::uint64_t>(_mm512_cmp_pd_mask(s1, t1, _CMP_GE_OQ))
            << 8);
}

template <class Table, class Index>
GSTAR_AVX512 bool run(const typename Table::value* scores, const Index* groups,
                      std::size_t n, const Table& table, std::uint8_t* out,
                      std::size_t& done) {
    const __m512i one = _mm512_set1_epi8(1);
    __m512i all = _mm512_setzero_si512();
    unsigned odd = 0;
    std::size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        std::uint64_t accepted = 0;
        for (unsigned j = 0; j < 4; ++j) {
            const __m512i g = sixteen(groups + i + 16 * j);
            all = _mm512_or_si512(all, g);
            accepted |= accept16(scores + i + 16 * j, g, table, odd) << (16 * j);
        }
        _mm512_storeu_si512(out + i, _mm512_maskz_mov_epi8(accepted, one));
    }
    done = i;
    if (Table::width != 0) {
        const __m512i beyond = _mm512_set1_epi32(-static_cast<int>(Table::width));
        if (_mm512_test_epi32_mask(all, beyond) != 0) return false;
    }
    return odd == 0;
}

template <class Index>
GSTAR_AVX512 bool decide(const float* scores, const Index* groups, std::size_t n,
                         const threshold_view<float>& table, std::uint8_t* out) {
    std::size_t done = 0;
    bool usual = false;
    if (table.used <= 16)
        usual = run(scores, groups, n, floats16(table.values), out, done);
    else if (table.used <= 32)
        usual = run(scores, groups, n, floats32(table.values), out, done);
    if (!usual &&
        !run(scores, groups, n, floats_any(table.values, table.size), out, done))
        return false;
    return decide_generic(scores + done, groups + done, n - done, table,
                          out + done);
}

template <class Index>
GSTAR_AVX512 bool decide(const double* scores, const Index* groups, std::size_t n,
                         const threshold_view<double>& table, std::uint8_t* out) {
    std::size_t done = 0;
    bool usual = false;
    if (table.used <= 8)
        usual = run(scores, groups, n, doubles8(table.values), out, done);
    else if (table.used <= 16)
        usual = run(scores, groups, n, doubles16(table.values), out, done);
    if (!usual &&
        !run(scores, groups, n, doubles_any(table.values, table.size), out, done))
        return false;
    return decide_generic(scores + done, groups + done, n - done, table,
                          out + done);
}

/// One threshold for everybody: the compiler's own vectors are wide enough.
template <class Float>
GSTAR_AVX512 bool decide_same(const Float* scores, std::size_t n, Float threshold,
                              std::uint8_t* out) {
    return decide_unified(scores, n, threshold, out);
}

template <class From>
GSTAR_AVX512 bool narrow(const From* from, std::size_t n, std::uint16_t* out) {
    return narrow_generic(from, n, out);
}

}  // namespace avx512
}  // namespace gstar
#endif
