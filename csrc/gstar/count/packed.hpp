// packed.hpp - a bin's count and sum in one word, as block kernels add them.
//
// A kernel counts the rows it can count without thought: inside the extremes its
// cell has seen, and no nearer to zero than the nearest score of its side or the
// bins that touch zero. All others it hands back as `special`, with the score as
// it was read, since the caller's array may change under our hands. NaN fails
// every comparison and is special.
#pragma once

#include <algorithm>  // max, min
#include <cstddef>    // size_t
#include <cstdint>
#include <cstring>  // memcpy
#include <limits>

#include "gstar/count/grid.hpp"

namespace gstar {

/// Packed word of a bin: rows in the high 20 bits, offsets in the low 44.
constexpr int word_shift = 44;
constexpr std::uint64_t word_one = std::uint64_t{1} << word_shift;
constexpr std::uint64_t word_mask = word_one - 1;
constexpr std::uint64_t most_pending = (std::uint64_t{1} << 20) - 1;

constexpr std::int64_t rows_in(std::uint64_t word) noexcept {
    return static_cast<std::int64_t>(word >> word_shift);
}
constexpr std::int64_t offsets_in(std::uint64_t word) noexcept {
    return static_cast<std::int64_t>(word & word_mask);
}

/// Words from one cell to the next: its bins, and of many cells 8 more.
///
/// A score is often the same in all cells (0, .999). If cells were a power of two
/// apart, their words for it would share one set of the first cache, which holds 8
/// lines or 12, and more cells would replace each other's at every row. Always a
/// multiple of 8, and at most 1/16 above `bins`: places have 32 bits.
constexpr std::uint32_t stride_of(std::uint32_t bins,
                                  std::uint32_t cells) noexcept {
    return cells > 8 && bins >= 128 ? bins + 8 : bins;
}

/// The bins that block kernels count in.
///
/// With e = floor(log2 |x|) and d = e, but at least `lowest` and at most `highest`,
/// the bin of x is 2^(d - per) wide, and its number away from zero is
/// floor(|x| / 2^(d - per)) + (d - lowest) * 2^per (below zero: minus ceil(...) and
/// so on). The word of bin k of a cell is number cell * stride + k + the shift of its
/// side; what is added to it is `word_one` and the distance of round24(x) from the
/// bin's lower edge in units of 2^(e - 23), at most 2^23.
struct count_grid {
    int per = 0;
    int lowest = 0;
    int highest = 0;
    std::int32_t shift_below = 0;  ///< of bins below zero
    std::int32_t shift_zero = 0;   ///< of bin 0, where x = 0 counts with offset 0
    std::int32_t shift_above = 0;
    bool zero = false;  ///< whether x = 0 (and -0) is counted; else it is special

    /// Smaller sizes |x| below and above zero are special (infinite: all are).
    /// None that is as large is subnormal or in a bin that touches zero (bin -1
    /// holds its lower edge, so `least_below` is above the width). A float32
    /// kernel takes the least normal float32 where that is larger: the unit of
    /// offsets is that of normal numbers.
    double least_below = std::numeric_limits<double>::infinity();
    double least_above = std::numeric_limits<double>::infinity();

    /// Whether a score within the extremes of its cell can be counted.
    bool is_plain(double x) const noexcept {
        return x > 0 ? x >= least_above : x < 0 ? -x >= least_below : zero;
    }

    struct place {
        std::int64_t index;    ///< of the bin, in its cell
        std::uint64_t offset;  ///< what to add to its word, beside `word_one`
    };

    /// Where a score that is plain goes.
    place place_of(double x) const noexcept {
        if (x == 0) return {shift_zero, 0};
        std::uint64_t bits = 0;
        std::memcpy(&bits, &x, sizeof bits);
        const int e = static_cast<int>((bits >> 52) & 0x7FF) - 1023;
        const std::uint64_t size = (bits & 0xFFFFFFFFFFFFFu) | std::uint64_t{1}
                                                                   << 52;
        const std::uint64_t near =  // the same, rounded to 24 bits
            (size + 0x0FFFFFFF + ((size >> 29) & 1)) & ~std::uint64_t{0x1FFFFFFF};
        const int d = std::min(std::max(e, lowest), highest);
        const int shift = d - per - e + 52;  // log2 of the width, 29 to 52
        const std::uint64_t minus = bits >> 63;
        // Of the edge nearer to zero, as a multiple of the width; below zero an
        // edge is the end of its bin.
        const std::uint64_t whole = (size - minus) >> shift;
        const auto k = static_cast<std::int64_t>(whole) +
                       (static_cast<std::int64_t>(d - lowest) << per);
        if (minus == 0) return {k + shift_above, (near - (whole << shift)) >> 29};
        return {-1 - k + shift_below, (((whole + 1) << shift) - near) >> 29};
    }
};

/// What a block kernel reads and writes; see kernels/.
struct count_target : count_grid {
    std::uint64_t* words;  ///< cells * stride, and one more for rows left out
    const double* lo;      ///< extremes of each cell: rows outside them are
    const double* hi;      ///  special, and so the kernel needs no other check
    const float* lo_near;  ///< the same rounded inward, for float32 scores
    const float* hi_near;
    std::uint32_t cells;
    std::uint32_t spare;   ///< the word for rows left out
    std::uint32_t stride;  ///< words from one cell to the next: stride_of
};

/// Labels and groups, one byte each, and where to find the cells of groups.
struct byte_columns {
    const std::uint8_t* labels;
    const std::uint8_t* groups;
    const std::uint8_t* slots;  ///< of groups 0 to 255, doubled; 255: none
    std::uint32_t groups_end;   ///< no group from this one on has a slot
};

/// A row that needs thought.
struct special {
    double score;
    std::uint32_t cell;
    std::uint32_t row;  ///< its place in the block
};

}  // namespace gstar
