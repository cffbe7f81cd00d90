// byte_cells.hpp - cells of 64 rows from bytes: looked up in a table, sixteen groups at a
// time where the CPU can.
#pragma once

#include <cstddef>  // size_t
#include <cstdint>
#include <cstring>  // memcpy

#include "gstar/base/simd/dispatch.hpp"
#include "gstar/base/simd/intrinsics.hpp"
#include "gstar/count/packed.hpp"

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace gstar {

namespace generic {

/// Cells of 64 rows from row `at` on, each read once; false if a label is above 1 or a
/// group without a slot.
inline bool cells_of_bytes(const byte_columns& from, std::size_t at,
                           std::uint8_t* cells) noexcept {
    unsigned bad = 0;
    const volatile std::uint8_t* const labels = from.labels + at;
    const volatile std::uint8_t* const groups = from.groups + at;
    for (int i = 0; i < 64; ++i) {
        const unsigned label = labels[i];
        const unsigned slot = from.slots[groups[i]];
        bad |= (label & 0xFE) | (slot & 1);
        cells[i] = static_cast<std::uint8_t>(slot | label);
    }
    return bad == 0;
}

}  // namespace generic

#if GSTAR_HAS_FOUR
namespace four {

inline bool cells_of_bytes(const byte_columns& from, std::size_t at,
                           std::uint8_t* cells) noexcept {
    typedef std::uint8_t bytes __attribute__((vector_size(16)));
    typedef std::uint64_t halves __attribute__((vector_size(16)));
#if !defined(__aarch64__)
    // Not every CPU looks up bytes in a table: groups are compared with each in it.
    if (from.groups_end > 32) return generic::cells_of_bytes(from, at, cells);
#endif
    bytes label[4], group[4], found[4] = {}, bad = {};
    for (int i = 0; i < 4; ++i) {
        std::memcpy(&label[i], from.labels + at + 16 * i, 16);
        std::memcpy(&group[i], from.groups + at + 16 * i, 16);
        GSTAR_KEEP_READ(label[i]);
        GSTAR_KEEP_READ(group[i]);
    }
#if defined(__aarch64__)
    for (unsigned first = 0; first < from.groups_end; first += 16) {
        const uint8x16_t slots = vmvnq_u8(vld1q_u8(from.slots + first));
        for (int i = 0; i < 4; ++i)  // 0 for groups that are not among the sixteen
            found[i] |= (bytes)vqtbl1q_u8(
                slots, (uint8x16_t)(group[i] - static_cast<std::uint8_t>(first)));
    }
#else
    for (unsigned g = 0; g < from.groups_end; ++g) {
        const auto slot = static_cast<std::uint8_t>(~from.slots[g]);
        for (int i = 0; i < 4; ++i)
            found[i] |= (bytes)(group[i] == static_cast<std::uint8_t>(g)) & slot;
    }
#endif
    for (int i = 0; i < 4; ++i) {
        const bytes cell = ~found[i];  // 255 without a slot
        bad |= (label[i] & 0xFE) | (cell & 1);
        const bytes all = cell | label[i];
        std::memcpy(cells + 16 * i, &all, 16);
    }
    return (((halves)bad)[0] | ((halves)bad)[1]) == 0;
}

}  // namespace four
#endif

#if GSTAR_HAS_AVX2
namespace avx2 {

GSTAR_AVX2 inline bool cells_of_bytes(const byte_columns& from, std::size_t at,
                                      std::uint8_t* cells) noexcept {
    typedef std::uint8_t bytes __attribute__((vector_size(32)));
    bytes bad = {};
    for (std::size_t i = 0; i < 64; i += 32) {
        bytes label, group, found = {};
        std::memcpy(&label, from.labels + at + i, sizeof label);
        std::memcpy(&group, from.groups + at + i, sizeof group);
        GSTAR_KEEP_READ(label);
        GSTAR_KEEP_READ(group);
        for (unsigned first = 0; first < from.groups_end; first += 16) {
            const __m256i slots = _mm256_broadcastsi128_si256(_mm_loadu_si128(
                reinterpret_cast<const __m128i*>(from.slots + first)));
            // Groups that are not among the sixteen get a high bit: 0 is found.
            const __m256i place = _mm256_adds_epu8(
                (__m256i)(group ^ static_cast<std::uint8_t>(first)),
                _mm256_set1_epi8(0x70));
            found |= (bytes)_mm256_shuffle_epi8(~slots, place);
        }
        const bytes cell = ~found;  // 255 without a slot
        const bytes all = cell | label;
        bad |= (label & 0xFE) | (cell & 1);
        std::memcpy(cells + i, &all, sizeof all);
    }
    return _mm256_testz_si256((__m256i)bad, (__m256i)bad) != 0;
}

}  // namespace avx2

namespace avx512 {
using avx2::cells_of_bytes;
}
#endif

}  // namespace gstar
