// generic.hpp - compare scores with the thresholds of their groups, on any CPU.
#pragma once

#include <cmath>    // isnan
#include <cstddef>  // size_t
#include <cstdint>

namespace gstar {

/// Thresholds by the number that stands in a group column, as kernels read them.
///
/// `values[v]` for v < size, and `values[size]` for every number beyond. A NaN
/// says that the row needs a closer look. There are 256 entries at the least,
/// so that a byte needs no check.
template <class Float>
struct threshold_view {
    const Float* values;
    std::uint32_t size;
    std::uint32_t used;  ///< from here on all entries are the last one
};

/// `out[i] = scores[i] >= threshold of groups[i]`.
///
/// False if a score or a threshold was NaN: such a block is then decided again,
/// row by row, from one new reading.
template <class Float, class Index>
bool decide_generic(const Float* scores, const Index* groups, std::size_t n,
                    const threshold_view<Float>& table, std::uint8_t* out) {
    const Float* const values = table.values;
    const std::uint32_t size = table.size;
    bool usual = true;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t g = groups[i];
        const Float score = scores[i];
        const Float threshold = values[g < size ? g : size];
        out[i] = score >= threshold ? 1 : 0;
        usual &= (score >= threshold) | (score < threshold);
    }
    return usual;
}

/// The same with one threshold for everybody.
template <class Float>
bool decide_unified(const Float* scores, std::size_t n, Float threshold,
                    std::uint8_t* out) {
    unsigned odd = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const Float score = scores[i];
        out[i] = score >= threshold ? 1 : 0;
        odd |= std::isnan(score) ? 1u : 0u;
    }
    return odd == 0;
}

/// Whole numbers as 16 bits; false if one does not fit.
template <class From>
bool narrow_generic(const From* from, std::size_t n, std::uint16_t* out) {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const From v = from[i];
        all |= static_cast<std::uint64_t>(v);
        out[i] = static_cast<std::uint16_t>(v);
    }
    return all <= 0xFFFF;
}

}  // namespace gstar
