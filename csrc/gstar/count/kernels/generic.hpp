// generic.hpp - count a block of rows, on any CPU.
//
// A kernel counts the rows it can count without thought: inside the extremes
// its cell has seen, and away from the two bins that touch zero. All others it
// hands back as `special`, with the score as it was read, since the caller's
// array may change under our hands. NaN fails every comparison and is special.
#pragma once

#include <cmath>    // ldexp
#include <cstddef>  // size_t
#include <cstdint>

#include "gstar/count/plane.hpp"

namespace gstar {

/// Most rows a kernel takes at once: small enough for all it writes to stay in
/// the first-level cache.
constexpr std::size_t block_rows = 1024;

/// A row that needs thought.
struct special {
    double score;
    std::uint32_t cell;
    std::uint32_t row;  ///< its place in the block
};

/// Count `n` rows and return how many went to `specials` (room for `n`).
/// Cost: about 2 ns a row.
template <class Float>
std::size_t count_generic(const count_target& to, const Float* scores,
                          const std::uint32_t* cells, std::size_t n,
                          special* specials) noexcept {
    const double scale = std::ldexp(1.0, -to.at.level);  // a power of two: exact
    const std::int64_t first = to.at.first;
    const std::size_t bins = to.at.bins;
    const double* const lo = to.lo;
    const double* const hi = to.hi;
    std::uint64_t* const words = to.words;
    std::uint64_t* const squares = to.squares;
    std::size_t n_special = 0;
    for (std::size_t i = 0; i < n; ++i) {
        // One reading, whatever the optimiser would like.
        const auto x =
            static_cast<double>(*static_cast<const volatile Float*>(scores + i));
        const std::uint32_t cell = cells[i];
        const double t = x * scale;
        if (!(x >= lo[cell] && x <= hi[cell] && (t >= 1 || t < -1))) {
            specials[n_special++] = {x, cell, static_cast<std::uint32_t>(i)};
            continue;
        }
        auto k = static_cast<std::int64_t>(t);
        k -= static_cast<double>(k) > t ? 1 : 0;
        const double within = round24(t) - static_cast<double>(k);
        const auto offset = static_cast<std::uint64_t>(within * (1 << offset_bits));
        words[cell * bins + static_cast<std::size_t>(k - first)] +=
            word_one + offset;
        squares[cell * square_lanes + i % square_lanes] += offset * offset;
    }
    return n_special;
}

}  // namespace gstar
