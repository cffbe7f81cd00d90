// threshold_table.hpp - thresholds by the number in a group column, for both widths of score,
// and where that number comes from: a segment.
#pragma once

#include <algorithm>  // max
#include <cmath>      // isnan, nextafter
#include <cstddef>    // size_t
#include <cstdint>
#include <limits>
#include <utility>  // move
#include <vector>

#include "gstar/base/rows.hpp"

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

/// The least float that is not below `t`: for every float s, s >= it as s >= t.
inline float float_not_below(double t) noexcept {
    constexpr double most = std::numeric_limits<float>::max();
    if (std::isnan(t)) return std::numeric_limits<float>::quiet_NaN();
    if (t > most) return std::numeric_limits<float>::infinity();
    if (t < -most)
        return t < -std::numeric_limits<double>::max()
                   ? -std::numeric_limits<float>::infinity()
                   : -std::numeric_limits<float>::max();
    const auto f = static_cast<float>(t);
    if (static_cast<double>(f) >= t) return f;
    return std::nextafter(f, std::numeric_limits<float>::infinity());
}

/// Thresholds by the number that stands in a group column; see threshold_view.
class threshold_table {
public:
    threshold_table() = default;

    /// `values[v]` for the number v, `beyond` for all others.
    threshold_table(std::vector<double> values, double beyond)
        : used_(static_cast<std::uint32_t>(values.size())),
          doubles_(std::move(values)) {
        doubles_.resize(std::max<std::size_t>(256, doubles_.size()) + 1, beyond);
        floats_.reserve(doubles_.size());
        for (const double t : doubles_) {
            floats_.push_back(float_not_below(t));
            whole_ = whole_ && !std::isnan(t);
        }
    }

    /// Whether a column's bytes can be read as numbers from 0 to 255: those of
    /// negative ones are then beyond all groups, as they should be.
    bool takes_bytes(dtype t) const noexcept {
        return t == dtype::u8 || (t == dtype::i8 && used_ <= 128);
    }

    /// Whether no entry asks for a closer look.
    bool whole() const noexcept { return whole_; }

    void view(threshold_view<float>& v) const noexcept {
        v = {floats_.data(), size(), used_};
    }
    void view(threshold_view<double>& v) const noexcept {
        v = {doubles_.data(), size(), used_};
    }

private:
    std::uint32_t size() const noexcept {
        return static_cast<std::uint32_t>(doubles_.size() - 1);
    }

    std::uint32_t used_ = 0;
    bool whole_ = true;
    std::vector<double> doubles_;
    std::vector<float> floats_;
};

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
        constexpr std::size_t block = 256;
        double numbers[block];
        for (std::size_t i = 0; i < n; i += block) {
            const std::size_t here = n - i < block ? n - i : block;
            read_reals(c, begin + i, here, numbers);
            for (std::size_t j = 0; j < here; ++j)
                out[i + j] =
                    numbers[j] == numbers[j]
                        ? static_cast<std::uint16_t>(segment_of(numbers[j]))
                        : no_segment;
        }
    }

private:
    std::vector<double> cuts_;
};

}  // namespace gstar
