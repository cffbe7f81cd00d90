// extremes.hpp - the smallest and largest score of each cell.
#pragma once

#include <cmath>  // nextafter
#include <cstdint>
#include <limits>
#include <vector>

namespace gstar {

/// Extremes of cells, also as float32, rounded inward: kernels pass a row only if
/// it lies within those of its cell.
class cell_extremes {
public:
    std::uint32_t cells() const noexcept {
        return static_cast<std::uint32_t>(lo_.size());
    }
    /// Make room for this many cells, so that `resize` does not allocate.
    void reserve(std::uint32_t n_cells) {
        lo_.reserve(n_cells);
        hi_.reserve(n_cells);
        lo_near_.reserve(n_cells);
        hi_near_.reserve(n_cells);
    }
    void resize(std::uint32_t n_cells) {
        lo_.resize(n_cells, std::numeric_limits<double>::infinity());
        hi_.resize(n_cells, -std::numeric_limits<double>::infinity());
        lo_near_.resize(n_cells, std::numeric_limits<float>::infinity());
        hi_near_.resize(n_cells, -std::numeric_limits<float>::infinity());
    }

    const double* lo() const noexcept { return lo_.data(); }
    const double* hi() const noexcept { return hi_.data(); }
    const float* lo_near() const noexcept { return lo_near_.data(); }
    const float* hi_near() const noexcept { return hi_near_.data(); }
    bool any(std::uint32_t cell) const noexcept { return lo_[cell] <= hi_[cell]; }

    /// Widen those of a cell.
    void cover(std::uint32_t cell, double lo, double hi) noexcept {
        if (lo < lo_[cell]) {
            lo_[cell] = lo;
            auto near = static_cast<float>(lo);
            if (static_cast<double>(near) < lo)
                near = std::nextafter(near, std::numeric_limits<float>::infinity());
            lo_near_[cell] = near;
        }
        if (hi > hi_[cell]) {
            hi_[cell] = hi;
            auto near = static_cast<float>(hi);
            if (static_cast<double>(near) > hi)
                near =
                    std::nextafter(near, -std::numeric_limits<float>::infinity());
            hi_near_[cell] = near;
        }
    }

private:
    std::vector<double> lo_, hi_;
    std::vector<float> lo_near_, hi_near_;
};

}  // namespace gstar
