// plane.hpp - counts, sums and extremes of a row of cells that share a window.
//
// Rows arrive through two doors. Block kernels add one packed word a row (count
// in the high bits, offset within the bin in the low ones): a single addition
// keeps both. `add` takes one row of any multiplicity. `flush` moves what the
// words hold into full-width counts and sums before they can overflow.
#pragma once

#include <algorithm>  // copy, copy_backward, fill, max, min
#include <cmath>      // floor, ldexp, nextafter
#include <cstddef>    // size_t
#include <cstdint>
#include <limits>
#include <memory>   // unique_ptr
#include <utility>  // move
#include <vector>

#include "gstar/count/cell_sums.hpp"
#include "gstar/count/grid.hpp"
#include "gstar/count/packed.hpp"
#include "gstar/count/zeroed.hpp"

namespace gstar {

class plane {
public:
    explicit plane(std::uint32_t bins) : bins_(bins) {}

    /// A twin with memory of its own.
    plane clone(const window& at) {
        plane twin(bins_);
        twin.resize(cells());
        twin.merge(*this, nullptr, at);
        return twin;
    }

    /// One cell of a flushed plane, alone in a plane of its own.
    plane only(std::uint32_t cell) const {
        plane out(bins_);
        out.resize(1);
        if (cell >= cells()) return out;
        if (counts_.size() != 0) out.need_counts();
        out.merge_cell(*this, cell, 0);
        return out;
    }

    std::uint32_t cells() const noexcept {
        return static_cast<std::uint32_t>(lo_.size());
    }

    /// Make room for more cells; what is counted stays.
    void resize(std::uint32_t n_cells) {
        if (n_cells <= cells()) return;
        if (n_cells > capacity_) {
            const std::uint32_t room = std::max(n_cells, capacity_ + capacity_ / 2);
            // All allocations first: a refusal must leave the plane as it was.
            zeroed<std::uint64_t> words = moved(words_, room, 1);
            zeroed<std::int64_t> counts = moved(counts_, room, 0);
            zeroed<bin_sum> sums = moved(sums_, room, 0);
            words_ = std::move(words);
            counts_ = std::move(counts);
            sums_ = std::move(sums);
            capacity_ = room;
        }
        const double inf = std::numeric_limits<double>::infinity();
        lo_.resize(n_cells, inf);
        hi_.resize(n_cells, -inf);
        lo_near_.resize(n_cells, std::numeric_limits<float>::infinity());
        hi_near_.resize(n_cells, -std::numeric_limits<float>::infinity());
        below_.resize(n_cells, 0);
        above_.resize(n_cells, 0);
        extra_.resize(n_cells);
        squares_.resize(std::size_t{n_cells} * square_lanes, 0);
    }

    /// Let a block kernel add up to `n` rows (at most 2^17) at window `at`.
    count_target target(const window& at, std::size_t n) {
        if (words_.size() == 0) words_ = zeroed<std::uint64_t>(room(1));
        if (pending_ + n > most_pending) flush(at);
        if (square_rows_ + n > most_square_rows) fold_squares();
        level_ = at.level;
        pending_ += n;
        square_rows_ += n;
        return {words_.data(),
                squares_.data(),
                lo_.data(),
                hi_.data(),
                lo_near_.data(),
                hi_near_.data(),
                cells(),
                static_cast<std::uint32_t>(room(0)),
                at};
    }

    /// Count a finite score inside the window `times` over.
    void add(const window& at, std::uint32_t cell, double x, std::uint64_t times) {
        const std::int64_t k = bin_number(x, at.level);
        const std::size_t bin =
            std::size_t{cell} * bins_ + static_cast<std::size_t>(k - at.first);
        const double r = round24(x);
        const rounded parts = take_apart(r);
        const auto size = static_cast<std::uint64_t>(std::abs(parts.mantissa));
        cell_extra& more = extra(cell);
        const auto square_bit =
            static_cast<unsigned>(2 * parts.exponent + square_unit);
        more.squares.add_product(size * size, times, square_bit);
        need_counts();
        counts_[bin] += static_cast<std::int64_t>(times);
        if (k == 0 || k == -1) {
            const auto bit = static_cast<unsigned>(parts.exponent + zero_unit);
            more.zero[k + 1].add_product(size, times, bit, parts.mantissa < 0);
        } else {
            // r and k * 2^level lie close together: their difference is exact.
            const double t = std::ldexp(r, -at.level) - static_cast<double>(k);
            const auto offset =
                static_cast<std::int64_t>(std::ldexp(t, offset_bits));
            const bool minus = offset < 0;
            sums_[bin].add_product(
                static_cast<std::uint64_t>(minus ? -offset : offset), times, 0,
                minus);
        }
        if (x < lo_[cell]) set_lo(cell, x);
        if (x > hi_[cell]) set_hi(cell, x);
    }

    /// Count a finite score once, at a window that is near: the same as `add`,
    /// quicker, since scores next to zero are many where scores are
    /// probabilities. `to` is what `target` gave for this row.
    void add_once(const count_target& to, double scale, std::uint32_t cell,
                  double x) {
        const double t = x * scale;
        const rounded parts = take_apart(round24(x));
        std::uint64_t* const words = to.words + std::size_t{cell} * bins_ -
                                     static_cast<std::ptrdiff_t>(to.at.first);
        if (t < 1 && t >= -1) {
            const int k = x < 0 ? -1 : 0;  // t may have lost a tiny score's sign
            words[k] += word_one;
            extra(cell).add_near_zero(k, parts, to.at.level);
        } else {
            const double whole = std::floor(t);
            const auto offset = static_cast<std::uint64_t>((round24(t) - whole) *
                                                           (1 << offset_bits));
            words[static_cast<std::int64_t>(whole)] += word_one + offset;
            to.squares[std::size_t{cell} * square_lanes] += offset * offset;
        }
        cover(cell, x, x);
    }

    void add_below(std::uint32_t cell, std::int64_t times) noexcept {
        below_[cell] += times;
    }
    void add_above(std::uint32_t cell, std::int64_t times) noexcept {
        above_[cell] += times;
    }

    /// Widen the extremes of a cell, so that kernels pass rows within them.
    void cover(std::uint32_t cell, double lo, double hi) noexcept {
        if (lo < lo_[cell]) set_lo(cell, lo);
        if (hi > hi_[cell]) set_hi(cell, hi);
    }

    /// Add the rows of all cells to `out`, by bin.
    void pool(std::int64_t* out) const noexcept {
        for (std::uint32_t c = 0; c < cells(); ++c) {
            const std::size_t base = std::size_t{c} * bins_;
            if (pending_ != 0)
                for (std::uint32_t b = 0; b < bins_; ++b)
                    out[b] +=
                        static_cast<std::int64_t>(words_[base + b] >> word_shift);
            if (counts_.size() != 0)
                for (std::uint32_t b = 0; b < bins_; ++b)
                    out[b] += counts_[base + b];
        }
    }

    void adopt_extremes(const plane& other) {
        resize(other.cells());
        lo_ = other.lo_;
        hi_ = other.hi_;
        lo_near_ = other.lo_near_;
        hi_near_ = other.hi_near_;
    }

    /// Move packed words, which were counted at window `at`, to full width.
    void flush(const window& at) {
        fold_squares();
        if (pending_ == 0) return;
        need_counts();
        for (std::uint32_t c = 0; c < cells(); ++c) flush_cell(at, c);
        pending_ = 0;
    }

    /// Move everything from window `from` to a coarser or shifted one.
    void rewindow(const window& from, const window& to) {
        if (from.level == to.level) {
            const std::int64_t by = to.first - from.first;
            if (pending_ != 0) shift(words_, by);
            if (counts_.size() != 0) {
                shift(counts_, by);
                shift(sums_, by);
            }
            return;
        }
        flush(from);
        if (counts_.size() == 0) return;
        zeroed<std::int64_t> counts(room(0));
        zeroed<bin_sum> sums(room(0));
        for (std::uint32_t c = 0; c < cells(); ++c) {
            for (std::uint32_t b = 0; b < bins_; ++b) {
                const std::size_t old = std::size_t{c} * bins_ + b;
                if (counts_[old] == 0) continue;
                std::int64_t k = from.first + b;
                bin_sum sum = sums_[old];
                coarsen_bin(counts_[old], sum, k, from.level, to.level,
                            [&]() -> cell_extra& { return extra(c); });
                const std::size_t bin =
                    std::size_t{c} * bins_ + static_cast<std::size_t>(k - to.first);
                counts[bin] += counts_[old];
                sums[bin] += sum;
            }
        }
        counts_ = std::move(counts);
        sums_ = std::move(sums);
    }

    /// Add another plane of the same window; its cell c is our `map[c]`
    /// (null: the same number). Cells mapped to `no_cell` are left out.
    static constexpr std::uint32_t no_cell = ~std::uint32_t{0};
    void merge(plane& other, const std::uint32_t* map, const window& at = {}) {
        other.fold_squares();
        if (pending_ + other.pending_ > most_pending) flush(at);
        if (other.pending_ != 0 && words_.size() == 0)
            words_ = zeroed<std::uint64_t>(room(1));
        if (other.counts_.size() != 0) need_counts();
        for (std::uint32_t from = 0; from < other.cells(); ++from) {
            const std::uint32_t c = map != nullptr ? map[from] : from;
            if (c == no_cell) continue;
            merge_cell(other, from, c);
        }
        pending_ += other.pending_;
    }

    /// Multiply every count by 2^bits (counts become parts of a weight).
    void scale(const window& at, unsigned bits) {
        flush(at);
        for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] <<= bits;
        for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i].shift_left(bits);
        for (std::uint32_t c = 0; c < cells(); ++c) {
            below_[c] <<= bits;
            above_[c] <<= bits;
            if (!extra_[c]) continue;
            extra_[c]->zero[0].shift_left(bits);
            extra_[c]->zero[1].shift_left(bits);
            extra_[c]->squares.shift_left(bits);
        }
    }

    // What a flushed plane holds. A cell without counts may have no memory.
    std::int64_t count(std::uint32_t cell, std::uint32_t bin) const noexcept {
        const std::size_t i = std::size_t{cell} * bins_ + bin;
        return counts_.size() == 0 ? 0 : counts_[i];
    }
    const std::int64_t* counts(std::uint32_t cell) const noexcept {
        return counts_.size() == 0 ? nullptr
                                   : counts_.data() + std::size_t{cell} * bins_;
    }
    const bin_sum& sum(std::uint32_t cell, std::uint32_t bin) const noexcept {
        return sums_[std::size_t{cell} * bins_ + bin];
    }
    const cell_extra* more(std::uint32_t cell) const noexcept {
        return extra_[cell].get();
    }
    double lo(std::uint32_t cell) const noexcept { return lo_[cell]; }
    double hi(std::uint32_t cell) const noexcept { return hi_[cell]; }
    bool has_rows(std::uint32_t cell) const noexcept {
        return lo_[cell] <= hi_[cell];
    }
    std::int64_t below(std::uint32_t cell) const noexcept { return below_[cell]; }
    std::int64_t above(std::uint32_t cell) const noexcept { return above_[cell]; }

    /// Put one bin's state in place (reading bytes); extremes come by `cover`.
    void put(std::uint32_t cell, std::uint32_t bin, std::int64_t n,
             const bin_sum& sum) {
        need_counts();
        counts_[std::size_t{cell} * bins_ + bin] = n;
        sums_[std::size_t{cell} * bins_ + bin] = sum;
    }
    cell_extra& extra(std::uint32_t cell) {
        if (!extra_[cell]) extra_[cell] = std::make_unique<cell_extra>();
        return *extra_[cell];
    }

private:
    std::size_t room(std::size_t more) const noexcept {
        return std::size_t{std::max(capacity_, cells())} * bins_ + more;
    }

    template <class T>
    zeroed<T> moved(const zeroed<T>& from, std::uint32_t new_room,
                    std::size_t more) const {
        if (from.size() == 0) return {};
        zeroed<T> to(std::size_t{new_room} * bins_ + more);
        const std::size_t used = std::size_t{cells()} * bins_;
        for (std::size_t i = 0; i < used; ++i) to[i] = from[i];
        return to;
    }

    void need_counts() {
        if (counts_.size() != 0) return;
        zeroed<bin_sum> sums(room(0));
        counts_ = zeroed<std::int64_t>(room(0));
        sums_ = std::move(sums);
    }

    void set_lo(std::uint32_t cell, double x) noexcept {
        lo_[cell] = x;
        auto near = static_cast<float>(x);
        if (static_cast<double>(near) < x)
            near = std::nextafter(near, std::numeric_limits<float>::infinity());
        lo_near_[cell] = near;
    }

    void set_hi(std::uint32_t cell, double x) noexcept {
        hi_[cell] = x;
        auto near = static_cast<float>(x);
        if (static_cast<double>(near) > x)
            near = std::nextafter(near, -std::numeric_limits<float>::infinity());
        hi_near_[cell] = near;
    }

    void fold_squares() {
        if (square_rows_ == 0) return;
        for (const auto& more : extra_)
            if (more && more->pending.any) more->fold_pending(level_);
        const auto bit =
            static_cast<unsigned>(2 * (level_ - offset_bits) + square_unit);
        for (std::size_t i = 0; i < squares_.size(); ++i) {
            if (squares_[i] == 0) continue;
            extra(static_cast<std::uint32_t>(i / square_lanes))
                .squares.add_product(squares_[i], 1, bit);
            squares_[i] = 0;
        }
        square_rows_ = 0;
    }

    /// Move every cell's values down by `by` bins; those that fall out are empty.
    template <class T>
    void shift(zeroed<T>& values, std::int64_t by) {
        const std::size_t size = std::min<std::size_t>(
            static_cast<std::size_t>(by < 0 ? -by : by), bins_);
        for (std::uint32_t c = 0; c < cells(); ++c) {
            T* const first = values.data() + std::size_t{c} * bins_;
            T* const last = first + bins_;
            if (by > 0) {
                std::fill(std::copy(first + size, last, first), last, T());
            } else {
                std::copy_backward(first, last - size, last);
                std::fill(first, first + size, T());
            }
        }
    }

    void flush_cell(const window& at, std::uint32_t c) {
        std::uint64_t* words = words_.data() + std::size_t{c} * bins_;
        const std::size_t base = std::size_t{c} * bins_;
        // With offsets o, a row's score is (k * 2^23 + o) units; the squares of
        // o were summed row by row, the rest of the square follows from bins.
        std::int64_t edges = 0;  // sum of n * k^2: at most 2^20 * 2^38
        std::int64_t mixed = 0;  // sum of k * o:   at most 2^19 * 2^43
        for (std::uint32_t b = 0; b < bins_; ++b) {
            const std::uint64_t word = words[b];
            if (word == 0) continue;
            words[b] = 0;
            const auto n = static_cast<std::int64_t>(word >> word_shift);
            const auto offsets = static_cast<std::int64_t>(word & word_mask);
            counts_[base + b] += n;
            sums_[base + b].add(offsets, 0);
            const std::int64_t k = at.first + b;
            if (k == 0 || k == -1) continue;
            edges += n * k * k;
            mixed += k * offsets;
        }
        if (edges == 0) return;
        square_sum& squares = extra(c).squares;
        const int unit = 2 * (at.level - offset_bits) + square_unit;
        squares.add(edges, static_cast<unsigned>(unit + 2 * offset_bits));
        squares.add(mixed, static_cast<unsigned>(unit + offset_bits + 1));
    }

    void merge_cell(const plane& other, std::uint32_t from, std::uint32_t to) {
        const std::size_t source = std::size_t{from} * bins_;
        const std::size_t goal = std::size_t{to} * bins_;
        if (other.pending_ != 0) {
            std::uint64_t* words = words_.data() + goal;
            const std::uint64_t* theirs = other.words_.data() + source;
            for (std::uint32_t b = 0; b < bins_; ++b) words[b] += theirs[b];
        }
        if (other.counts_.size() != 0) {
            for (std::uint32_t b = 0; b < bins_; ++b) {
                if (other.counts_[source + b] == 0) continue;
                counts_[goal + b] += other.counts_[source + b];
                sums_[goal + b] += other.sums_[source + b];
            }
        }
        cover(to, other.lo_[from], other.hi_[from]);
        below_[to] += other.below_[from];
        above_[to] += other.above_[from];
        if (other.extra_[from]) {
            cell_extra& more = extra(to);
            more.zero[0] += other.extra_[from]->zero[0];
            more.zero[1] += other.extra_[from]->zero[1];
            more.squares += other.extra_[from]->squares;
        }
    }

    std::uint32_t bins_;
    std::uint32_t capacity_ = 0;     ///< cells the big arrays have room for
    std::uint64_t pending_ = 0;      ///< rows in `words_`
    std::uint64_t square_rows_ = 0;  ///< rows in `squares_`
    int level_ = 0;                  ///< the level `squares_` was summed at
    zeroed<std::uint64_t> words_;    ///< packed, cells * bins, and one to spare
    zeroed<std::int64_t> counts_;    ///< cells * bins
    zeroed<bin_sum> sums_;           ///< cells * bins
    std::vector<double> lo_, hi_;
    std::vector<float> lo_near_, hi_near_;
    std::vector<std::int64_t> below_, above_;
    std::vector<std::unique_ptr<cell_extra>> extra_;
    std::vector<std::uint64_t> squares_;  ///< cells * square_lanes
};

}  // namespace gstar
