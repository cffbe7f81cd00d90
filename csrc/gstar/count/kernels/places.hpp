// places.hpp - where the rows of a block go, between the two loops of a kernel.
//
// The first loop works on many rows at once and writes down a place for each;
// the second adds them up, one by one.
#pragma once

#include <cstddef>  // size_t
#include <cstdint>

#include "gstar/base/rows.hpp"
#include "gstar/count/packed.hpp"

namespace gstar {

struct block_places {
    alignas(64) std::uint32_t place[block_rows];
    alignas(64) std::uint32_t offset[block_rows];
};

/// One addition a row, for a bin's count and its sum together. `n` is a multiple
/// of four: reading ahead of the additions keeps them apart.
inline void add_places(const count_target& to, const block_places& at,
                       std::size_t n) noexcept {
    std::uint64_t* const words = to.words;
    for (std::size_t i = 0; i < n; i += 4) {
        const std::uint32_t a = at.place[i];
        const std::uint32_t b = at.place[i + 1];
        const std::uint32_t c = at.place[i + 2];
        const std::uint32_t d = at.place[i + 3];
        words[a] += word_one + at.offset[i];
        words[b] += word_one + at.offset[i + 1];
        words[c] += word_one + at.offset[i + 2];
        words[d] += word_one + at.offset[i + 3];
    }
}

/// Squares of offsets, where cells are too many for registers.
inline void add_squares(const count_target& to, const block_places& at,
                        const std::uint32_t* cells, std::size_t n) noexcept {
    std::uint64_t* const squares = to.squares;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t offset = at.offset[i];
        squares[cells[i] * square_lanes + i % square_lanes] += offset * offset;
    }
}

}  // namespace gstar
