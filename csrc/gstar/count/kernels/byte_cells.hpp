// byte_cells.hpp - cells of 64 rows from bytes, by a table of all groups or a shuffle of
// the first sixteen.
#pragma once

#include <cstdint>
#include <cstring>  // memcpy

#include "gstar/base/simd/dispatch.hpp"
#include "gstar/base/simd/intrinsics.hpp"

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace gstar {

/// Cells of 64 rows, each read once; false if a label is above 1 or a group without a
/// slot.
inline bool cells_by_table(const std::uint8_t* labels, const std::uint8_t* groups,
                           const std::uint8_t* slots,
                           std::uint8_t* cells) noexcept {
    unsigned bad = 0;
    for (int i = 0; i < 64; ++i) {
        const unsigned label =
            *static_cast<const volatile std::uint8_t*>(labels + i);
        const unsigned slot =
            slots[*static_cast<const volatile std::uint8_t*>(groups + i)];
        bad |= (label & 0xFE) | (slot & 1);
        cells[i] = static_cast<std::uint8_t>(slot | label);
    }
    return bad == 0;
}

namespace generic {
inline bool cells_of_bytes(const std::uint8_t*, const std::uint8_t*,
                           const std::uint8_t*, std::uint8_t*) noexcept {
    return false;
}
}  // namespace generic

#if GSTAR_HAS_FOUR
namespace four {

inline bool cells_of_bytes(const std::uint8_t* labels, const std::uint8_t* groups,
                           const std::uint8_t* slots,
                           std::uint8_t* cells) noexcept {
    typedef std::uint8_t bytes __attribute__((vector_size(16)));
    typedef std::uint64_t halves __attribute__((vector_size(16)));
    bytes label[4], group[4], cell[4], bad = {};
    for (int i = 0; i < 4; ++i) {
        std::memcpy(&label[i], labels + 16 * i, 16);
        std::memcpy(&group[i], groups + 16 * i, 16);
        GSTAR_KEEP_READ(label[i]);
        GSTAR_KEEP_READ(group[i]);
        bad |= label[i] & 0xFE;
    }
#if defined(__aarch64__)
    const uint8x16_t table = vld1q_u8(slots);
    for (int i = 0; i < 4; ++i) {
        cell[i] = (bytes)vqtbl1q_u8(table, (uint8x16_t)group[i]);
        bad |= group[i] & 0xF0;
    }
#else
    // Not every CPU looks up bytes in a table: groups are compared with each in it.
    for (bytes& c : cell) c = ~bytes{};
    for (unsigned g = 0; g < 16; ++g) {
        if (slots[g] == 255) continue;
        const auto less = static_cast<std::uint8_t>(~slots[g]);
        for (int i = 0; i < 4; ++i)
            cell[i] -= (bytes)(group[i] == static_cast<std::uint8_t>(g)) & less;
    }
#endif
    for (int i = 0; i < 4; ++i) {
        bad |= cell[i] & 1;
        cell[i] |= label[i];
        std::memcpy(cells + 16 * i, &cell[i], 16);
    }
    return (((halves)bad)[0] | ((halves)bad)[1]) == 0;
}

}  // namespace four
#endif

#if GSTAR_HAS_AVX2
namespace avx2 {

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

}  // namespace avx2

namespace avx512 {
using avx2::cells_of_bytes;
}
#endif

}  // namespace gstar
