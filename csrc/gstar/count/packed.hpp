// packed.hpp - a bin's count and sum in one word, as block kernels add them.
//
// A kernel counts the rows it can count without thought: inside the extremes
// its cell has seen, and away from the two bins that touch zero. All others it
// hands back as `special`, with the score as it was read, since the caller's
// array may change under our hands. NaN fails every comparison and is special.
#pragma once

#include <cstddef>  // size_t
#include <cstdint>

#include "gstar/count/grid.hpp"

namespace gstar {

constexpr int offset_bits = 23;  ///< a bin's width is 2^23 offset units

/// Packed word of a bin: rows in the high 20 bits, offsets in the low 44.
constexpr int word_shift = 44;
constexpr std::uint64_t word_one = std::uint64_t{1} << word_shift;
constexpr std::uint64_t word_mask = word_one - 1;
constexpr std::uint64_t most_pending = (std::uint64_t{1} << 20) - 1;
constexpr std::uint64_t most_square_rows = std::uint64_t{1} << 17;

/// One cell's squares are summed in several lanes: rows of one cell follow each
/// other, and an addition to one sum would wait for the last.
constexpr std::size_t square_lanes = 8;

/// What a block kernel reads and writes; see kernels/.
struct count_target {
    std::uint64_t* words;    ///< cells * bins, and one more for rows left out
    std::uint64_t* squares;  ///< cells * square_lanes sums of squared offsets
    const double* lo;        ///< extremes of each cell: rows outside them are
    const double* hi;        ///  special, and so the kernel needs no other check
    const float* lo_near;    ///< the same rounded inward, for float32 scores
    const float* hi_near;
    std::uint32_t cells;
    std::uint32_t spare;  ///< the word for rows left out
    window at;
};

/// A row that needs thought.
struct special {
    double score;
    std::uint32_t cell;
    std::uint32_t row;  ///< its place in the block
};

}  // namespace gstar
