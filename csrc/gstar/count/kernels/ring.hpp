// ring.hpp - where rows go, between the two halves of a kernel.
//
// The first half works on many rows at once and writes down a place for each; the
// second adds them up, one by one. It adds rows that were placed two steps
// earlier: those placed just now are still on their way to memory, and reading
// them back would wait.
#pragma once

#include <cstddef>  // size_t
#include <cstdint>
#include <cstring>  // memcpy

#include "gstar/count/packed.hpp"

namespace gstar {

constexpr std::size_t ring_rows = 16;  ///< of a slot
constexpr std::size_t ring_slots = 4;
constexpr std::size_t ring_distance = 2;

struct ring_slot {
    alignas(64) std::uint32_t place[ring_rows];
    alignas(64) std::uint32_t offset[ring_rows];
};

/// One addition a row, for a bin's count and its sum together. Two rows are read
/// at once: reading and writing memory is what takes the time here.
inline void add_slot(std::uint64_t* words, const ring_slot& s) noexcept {
    for (std::size_t i = 0; i < ring_rows; i += 2) {
        std::uint64_t places = 0;
        std::uint64_t offsets = 0;
        std::memcpy(&places, s.place + i, sizeof places);
        std::memcpy(&offsets, s.offset + i, sizeof offsets);
        words[places & 0xffffffffu] += word_one + (offsets & 0xffffffffu);
        words[places >> 32] += word_one + (offsets >> 32);
    }
}

struct ring {
    ring_slot slots[ring_slots];

    /// Slots start with rows for the spare word, which nobody reads.
    void clear(std::uint32_t spare) noexcept {
        for (ring_slot& s : slots)
            for (std::size_t i = 0; i < ring_rows; ++i) {
                s.place[i] = spare;
                s.offset[i] = 0;
            }
    }
    /// Add what still waits after so many steps.
    void finish(std::uint64_t* words, std::size_t steps) const noexcept {
        for (std::size_t i = ring_distance; i > 0; --i)
            if (steps >= i) add_slot(words, slots[(steps - i) % ring_slots]);
    }
};

}  // namespace gstar
