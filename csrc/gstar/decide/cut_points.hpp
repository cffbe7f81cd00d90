// cut_points.hpp - a number -> its segment: how many cut points it reaches.
#pragma once

#include <cstddef>  // size_t
#include <cstdint>
#include <utility>  // move
#include <vector>

#include "gstar/base/rows.hpp"

namespace gstar {

/// Ascending cut points. Segment 0 lies below the first of them, segment k from
/// cut k - 1 on. Numbers are compared as doubles; infinities are numbers.
class cut_points {
public:
    /// What `segments_of` writes for NaN; no segment has this number.
    static constexpr std::uint16_t no_segment = 65535;

    cut_points() = default;
    explicit cut_points(std::vector<double> cuts) : cuts_(std::move(cuts)) {}

    /// The segment of a number that is not NaN. Cost: log2 of the cuts, no branch
    /// that depends on the number.
    std::size_t segment_of(double number) const noexcept {
        const double* const cuts = cuts_.data();
        std::size_t low = 0;
        std::size_t n = cuts_.size();
        while (n > 1) {
            const std::size_t half = n / 2;
            low += cuts[low + half - 1] <= number ? half : 0;
            n -= half;
        }
        return low + (n == 1 && cuts[low] <= number ? 1 : 0);
    }

    /// The segments of rows of a float column; `no_segment` for NaN.
    void segments_of(const column& c, std::size_t begin, std::size_t n,
                     std::uint16_t* out) const noexcept {
        if (c.type == dtype::f32)
            segments_as<float>(c, begin, n, out);
        else
            segments_as<double>(c, begin, n, out);
    }

private:
    template <class Float>
    void segments_as(const column& c, std::size_t begin, std::size_t n,
                     std::uint16_t* out) const noexcept {
        constexpr std::size_t block = 256;
        double numbers[block];
        for (std::size_t i = 0; i < n; i += block) {
            const std::size_t here = n - i < block ? n - i : block;
            detail::read_as<Float>(c, begin + i, here, numbers);
            for (std::size_t j = 0; j < here; ++j)
                out[i + j] =
                    numbers[j] == numbers[j]
                        ? static_cast<std::uint16_t>(segment_of(numbers[j]))
                        : no_segment;
        }
    }

    std::vector<double> cuts_;
};

}  // namespace gstar
