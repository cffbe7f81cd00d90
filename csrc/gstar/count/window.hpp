// window.hpp - which bins of the grid a sketch has.
#pragma once

#include <algorithm>  // max, min
#include <cmath>      // ceil, fabs, floor, ldexp
#include <cstddef>    // size_t
#include <cstdint>

#include "gstar/base/wide.hpp"
#include "gstar/count/grid.hpp"

namespace gstar {

/// The bins a sketch has: up to three runs of neighbours, in ascending order, and
/// between two runs one bin, always empty, for the gap. The last run goes on
/// until there are `bins` bins.
class window {
public:
    struct run {
        std::int64_t first;
        std::int64_t last;
    };

    window() = default;
    window(const grid& on, std::uint32_t bins) : on_(on), bins_(bins) {}

    window(const grid& on, std::uint32_t bins, const run& only)
        : on_(on), bins_(bins), n_(1), runs_{only} {}

    /// Equal bins of 2^level, the first one number `first`.
    static window linear(int level, std::int64_t first, std::uint32_t bins) {
        return {{level, 0, 0}, bins, {first, first}};
    }

    /// Take in a run that does not begin before the last one; runs that touch
    /// or overlap are one.
    void add(std::int64_t first, std::int64_t last) noexcept {
        if (n_ != 0 && first <= runs_[n_ - 1].last + 1) {
            run& before = runs_[n_ - 1];
            before.last = std::max(before.last, last);
        } else {
            starts_[n_] = n_ == 0 ? 0 : size() + 1;
            runs_[n_++] = {first, last};
        }
    }

    bool operator==(const window& o) const noexcept {
        if (on_ != o.on_ || bins_ != o.bins_ || n_ != o.n_) return false;
        for (std::uint32_t i = 0; i < n_; ++i)
            if (runs_[i].first != o.runs_[i].first ||
                (i + 1 < n_ && runs_[i].last != o.runs_[i].last))
                return false;
        return true;
    }
    bool operator!=(const window& o) const noexcept { return !(*this == o); }

    const grid& on() const noexcept { return on_; }
    int level() const noexcept { return on_.level; }
    std::uint32_t bins() const noexcept { return bins_; }
    std::uint32_t n_runs() const noexcept { return n_; }
    const run& operator[](std::uint32_t i) const noexcept { return runs_[i]; }

    /// Index of the first bin of run i.
    std::int64_t start(std::uint32_t i) const noexcept { return starts_[i]; }

    /// Bins that the runs and the gaps between them take.
    std::int64_t size() const noexcept {
        return n_ == 0
                   ? 0
                   : starts_[n_ - 1] + runs_[n_ - 1].last - runs_[n_ - 1].first + 1;
    }

    /// Number of the first bin, and of the last.
    std::int64_t first() const noexcept { return runs_[0].first; }
    std::int64_t last() const noexcept { return number(bins_) - 1; }

    /// Number of the last bin of run i; the last run goes up to the end of the window.
    std::int64_t end(std::uint32_t i) const noexcept {
        return i + 1 == n_ ? last() : runs_[i].last;
    }

    /// Whether bin number k is one of ours, and no gap.
    bool holds(std::int64_t k) const noexcept {
        for (std::uint32_t i = 0; i < n_; ++i)
            if (k >= runs_[i].first && k <= end(i)) return true;
        return false;
    }

    /// Whether all bins of another window's runs are ours, on the same grid.
    bool covers(const window& o) const noexcept {
        if (on_ != o.on_ || bins_ != o.bins_) return false;
        for (std::uint32_t i = 0; i < o.n_; ++i) {
            std::uint32_t j = n_ - 1;
            while (j > 0 && runs_[j].first > o.runs_[i].first) --j;
            if (o.runs_[i].first < runs_[j].first || o.runs_[i].last > end(j))
                return false;
        }
        return true;
    }

    /// The same with a share of the bins that the runs leave over at each end of
    /// each run, on its side of zero; the last run has those that follow it anyway.
    window with_room() const noexcept {
        const std::int64_t share = (bins_ - size()) / 4;
        window out(on_, bins_);
        for (std::uint32_t i = 0; i < n_; ++i) {
            run r = runs_[i];
            r.first -= r.first < 0 ? share : std::min(r.first, share);
            if (r.last < 0) r.last += std::min(-1 - r.last, share);
            out.add(r.first, r.last);
        }
        return out;
    }

    /// Which of our bins is bin number k, which lies in a run (or behind the last).
    std::int64_t index(std::int64_t k) const noexcept {
        std::uint32_t i = n_ - 1;
        while (i > 0 && runs_[i].first > k) --i;
        return starts_[i] + k - runs_[i].first;
    }

    /// What index(k) is above k, for k below zero, zero and k above: one number
    /// for each side, since only the last run goes on above zero.
    std::int64_t shift_below() const noexcept { return -runs_[0].first; }
    std::int64_t shift_zero() const noexcept { return index(0); }
    std::int64_t shift_above() const noexcept {
        return starts_[n_ - 1] - runs_[n_ - 1].first;
    }

    /// Number of bin i, 0 to `bins`; of the lower edge, for a gap.
    std::int64_t number(std::int64_t i) const noexcept {
        std::uint32_t r = n_ - 1;
        while (r > 0 && starts_[r] > i) --r;
        return runs_[r].first + i - starts_[r];
    }

    bool is_gap(std::int64_t i) const noexcept {
        for (std::uint32_t r = 1; r < n_; ++r)
            if (i + 1 == starts_[r]) return true;
        return false;
    }

    /// Edge i, 0 to `bins`.
    double edge(std::int64_t i) const noexcept { return on_.lower(number(i)); }

private:
    grid on_;
    std::uint32_t bins_ = 4096;
    std::uint32_t n_ = 0;
    run runs_[3] = {};
    std::int64_t starts_[3] = {};
};

/// Neighbouring bins that two windows of one grid have, and where.
struct bin_range {
    std::int64_t from;
    std::int64_t to;
    std::int64_t size;
};

/// All of them, in ascending order.
struct bin_ranges {
    bin_range parts[9];  ///< up to three runs meet up to three
    std::size_t n = 0;
};

inline bin_ranges shared_bins(const window& from, const window& to) noexcept {
    bin_ranges out;
    for (std::uint32_t i = 0; i < from.n_runs(); ++i)
        for (std::uint32_t j = 0; j < to.n_runs(); ++j) {
            const std::int64_t first = std::max(from[i].first, to[j].first);
            const std::int64_t last = std::min(from.end(i), to.end(j));
            if (first <= last)
                out.parts[out.n++] = {from.index(first), to.index(first),
                                      last - first + 1};
        }
    return out;
}

/// How finely so many bins divide, where there is room.
inline grid shape(std::uint32_t bins) noexcept {
    return {0, std::max(bit_length(bins) - 7, 0),
            std::min(most_octaves, static_cast<int>(bins / 4) + 1)};
}

namespace detail {

/// The bins from the furthest to the nearest score on each side, and zero's.
inline window runs_of(const grid& on, const extent& of,
                      std::uint32_t bins) noexcept {
    window out(on, bins);
    if (of.below.any())
        out.add(on.number(-of.below.far), on.number(-of.below.near));
    if (of.zero) out.add(0, 0);
    if (of.above.any()) out.add(on.number(of.above.near), on.number(of.above.far));
    return out;
}

/// A level that no window for these sizes is finer than, at most a few below the
/// right one: no bin is wider than 2^level, and bins are `bins`.
inline int level_floor(const sizes& of, std::uint32_t bins) noexcept {
    int level = score_parts(of.far).octave - 53;
    const double spread = of.far - of.near;
    if (spread > 0)
        level = std::max(level, score_parts(spread).octave - bit_length(bins));
    return level;
}

}  // namespace detail

/// The window without scores.
inline window no_window(std::uint32_t bins) noexcept {
    return {shape(bins), bins, {0, 0}};
}

/// The finest window that holds scores of this extent. Cost: a few numbers of
/// bins at each of a few levels, well under a microsecond.
inline window window_of(const extent& of, std::uint32_t bins) noexcept {
    if (of.empty()) return no_window(bins);
    grid on = shape(bins);
    const int most_per = on.per;
    const bool overlap = of.overlap();
    if (overlap) on.per = std::max(most_per - 1, 0);
    on.level = least_level + on.octaves;
    if (of.below.any())
        on.level = std::max(on.level, detail::level_floor(of.below, bins));
    if (of.above.any())
        on.level = std::max(on.level, detail::level_floor(of.above, bins));
    const extent folded = of.folded();
    for (;; ++on.level) {
        if (std::floor(std::ldexp(of.far(), -on.level)) + bins > greatest_edge)
            continue;
        const window out = detail::runs_of(on, of, bins);
        if (out.size() > bins) continue;
        // Before sides overlapped, each had `most_per`: never be finer than then
        // (4: what gaps and zero may add).
        if (overlap &&
            detail::runs_of({on.level, most_per, on.octaves}, folded, bins).size() +
                    4 >
                bins)
            continue;
        return out;
    }
}

// ---- linear windows ---------------------------------------------------------

/// floor(x / 2^level) as a double; exact up to 2^53, saturating to infinity.
inline double bin_floor(double x, int level) noexcept {
    const double t = std::ldexp(x, -level);
    // Scaling down may lose a tiny negative score, which is in bin -1 all the same.
    if (x < 0 && t > -1) return -1.0;
    return std::floor(t);
}

namespace detail {

/// The same as `level_floor`, for all scores from `lo` to `hi`.
inline int linear_floor(double lo, double hi, std::uint32_t bins) noexcept {
    const double far = std::max(std::fabs(lo), std::fabs(hi));
    if (far == 0) return least_level;
    int level = score_parts(far).octave - 54;
    const double spread = hi - lo;
    if (spread > 0)
        level = std::max(level, score_parts(spread).octave - bit_length(bins) - 1);
    return std::max(level, least_level);
}

}  // namespace detail

/// The finest linear window that covers [lo, hi), widened outward to edges.
inline window window_of_range(double lo, double hi, std::uint32_t bins) noexcept {
    for (int s = detail::linear_floor(lo, hi, bins);; ++s) {
        const double a = bin_floor(lo, s);
        const double t = std::ldexp(hi, -s);
        const double b = hi > 0 && t < 1 ? 1.0 : std::ceil(t);
        if (std::max(std::fabs(a), std::fabs(b)) + bins <= greatest_edge &&
            b - a <= bins)
            return window::linear(s, static_cast<std::int64_t>(a), bins);
    }
}

}  // namespace gstar
