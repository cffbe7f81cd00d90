// plane.hpp - counts, sums and extremes of a row of cells that share a window.
//
// Rows arrive through two doors. Block kernels add one packed word a row (count
// in the high bits, offset within the bin in the low ones): a single addition
// keeps both. `add` takes one row of any multiplicity, at full width. What a bin
// holds is the sum of both; `flush` empties the words before they can overflow.
//
// `resize` and all functions called `need...` allocate; if they fail, nothing has
// changed. Functions that are noexcept use the memory that these have allocated.
#pragma once

#include <algorithm>  // copy_n, max
#include <cstddef>    // size_t
#include <cstdint>
#include <memory>   // unique_ptr
#include <utility>  // move
#include <vector>

#include "gstar/base/weights.hpp"
#include "gstar/count/cell_sums.hpp"
#include "gstar/count/extremes.hpp"
#include "gstar/count/grid.hpp"
#include "gstar/count/packed.hpp"
#include "gstar/count/window.hpp"
#include "gstar/count/zeroed.hpp"

namespace gstar {

class plane {
public:
    explicit plane(std::uint32_t bins, bool weighted = false)
        : bins_(bins), stride_(bins), weighted_(weighted) {}

    /// A twin with memory of its own.
    plane clone() const {
        plane twin(bins_, weighted_);
        twin.resize(cells());
        twin.need(*this, nullptr, pending_);
        twin.merge(*this, nullptr);
        return twin;
    }

    std::uint32_t cells() const noexcept { return ends_.cells(); }
    std::uint32_t bins() const noexcept { return bins_; }

    /// Make room for more cells; what is counted stays.
    void resize(std::uint32_t n_cells) {
        if (n_cells <= cells()) return;
        if (n_cells > capacity_) {
            const std::uint32_t room = std::max(n_cells, capacity_ + capacity_ / 2);
            // All allocations first: a refusal must leave the plane as it was.
            ends_.reserve(room);
            beyond_.reserve(room);
            zeros_.reserve(room);
            const std::uint32_t stride = stride_of(bins_, room);
            zeroed<std::uint64_t> words = moved(words_, room, stride, 1);
            zeroed<std::int64_t> counts = moved(counts_, room, stride, 0);
            zeroed<bin_sum> sums = moved(sums_, room, stride, 0);
            zeroed<weight_sum> squares = moved(squares_, room, stride, 0);
            words_ = std::move(words);
            counts_ = std::move(counts);
            sums_ = std::move(sums);
            squares_ = std::move(squares);
            capacity_ = room;
            stride_ = stride;
        }
        ends_.resize(n_cells);
        beyond_.resize(n_cells);
        zeros_.resize(n_cells);
    }

    // ---- memory -------------------------------------------------------------

    void need_words() {
        if (words_.size() == 0 && !weighted_)
            words_ = zeroed<std::uint64_t>(room(1));
    }
    /// Also, with `squares`, room for sums of squared weights.
    void need_counts(bool squares = false) {
        if ((squares || weighted_) && squares_.size() == 0)
            squares_ = zeroed<weight_sum>(room(0));
        if (counts_.size() != 0) return;
        zeroed<bin_sum> sums(room(0));
        counts_ = zeroed<std::int64_t>(room(0));
        sums_ = std::move(sums);
    }
    /// Allocate what is needed to count parts of a weight.
    void need_weighted() {
        if (pending_ != 0 || counts_.size() != 0) need_counts(true);
    }
    /// Sums of the bins at zero, for every cell.
    void need_zeros() {
        for (; with_zeros_ < cells(); ++with_zeros_) zeros(with_zeros_);
    }
    /// Allocate what is needed to count `n` more rows in the words. A row that a kernel
    /// hands back counts twice.
    void need_rows(std::size_t n) {
        need_words();
        if (pending_ + 2 * n > most_pending) need_counts();
    }
    /// Allocate what is needed to `merge` a plane, as one of several with this many
    /// rows in their words.
    void need(const plane& other, const std::uint32_t* map,
              std::uint64_t more_pending) {
        if (other.pending_ != 0) need_words();
        if (other.counts_.size() != 0 || pending_ + more_pending > most_pending)
            need_counts(weighted_ || other.weighted_);
        for (std::uint32_t from = 0; from < other.cells(); ++from) {
            const std::uint32_t c = map != nullptr ? map[from] : from;
            if (c != no_cell && other.zeros_[from]) zeros(c);
        }
    }
    /// Rows in the words.
    std::uint64_t pending() const noexcept { return pending_; }

    // ---- counting -----------------------------------------------------------

    /// Let a block kernel add up to `n` rows (at most 2^17) at these bins.
    count_target target(const count_grid& at, std::size_t n) {
        let_in(n);
        return {at,
                words_.data(),
                ends_.lo(),
                ends_.hi(),
                ends_.lo_near(),
                ends_.hi_near(),
                cells(),
                static_cast<std::uint32_t>(room(0)),
                stride_};
    }

    /// A kernel has left so many of the rows it was let.
    void give_back(std::size_t n) noexcept { pending_ -= n; }

    /// Count a finite score inside the window.
    void add(const window& at, std::uint32_t cell, double x, const row_load& row) {
        const std::uint64_t times = row.total();
        const std::int64_t k = at.on().number(x);
        const std::size_t bin =
            std::size_t{cell} * stride_ + static_cast<std::size_t>(at.index(k));
        const rounded parts = take_apart(round24(x));
        need_counts();
        if (at_zero(k)) {
            if (parts.mantissa != 0) add_score(zeros(cell)[k], parts, times);
        } else {
            add_offset(sums_[bin], at.on(), k, parts, times);
        }
        counts_[bin] += static_cast<std::int64_t>(times);
        if (weighted_) weigh(cell, squares_[bin], row);
        cover(cell, x, x);
    }

    /// Count a finite score once, where kernels may count: the same as `add`, and
    /// quicker if it is plain.
    void add_once(const count_grid& bins, const window& at, std::uint32_t cell,
                  double x) {
        if (!bins.is_plain(x)) {
            add(at, cell, x, {});
            return;
        }
        let_in(1);
        const count_grid::place place = bins.place_of(x);
        words_[std::size_t{cell} * stride_ +
               static_cast<std::size_t>(place.index)] += word_one + place.offset;
        cover(cell, x, x);
    }

    void add_below(std::uint32_t cell, const row_load& row) noexcept {
        beyond_[cell].below += static_cast<std::int64_t>(row.total());
        if (weighted_) weigh(cell, beyond_[cell].weights.below, row);
    }
    void add_above(std::uint32_t cell, const row_load& row) noexcept {
        beyond_[cell].above += static_cast<std::int64_t>(row.total());
        if (weighted_) weigh(cell, beyond_[cell].weights.above, row);
    }

    /// Widen the extremes of a cell, so that kernels pass rows within them.
    void cover(std::uint32_t cell, double lo, double hi) noexcept {
        ends_.cover(cell, lo, hi);
    }

    void adopt_extremes(const plane& other) {
        resize(other.cells());
        ends_ = other.ends_;
    }

    // ---- all cells ----------------------------------------------------------

    /// Move packed words to full width.
    void flush() {
        if (pending_ == 0) return;
        need_counts();
        for (std::size_t i = 0; i < std::size_t{cells()} * stride_; ++i) {
            if (words_[i] == 0) continue;
            counts_[i] += rows_in(words_[i]);
            sums_[i].add(offsets_in(words_[i]), 0);
            words_[i] = 0;
        }
        pending_ = 0;
    }

    /// Move everything to another window, of the same grid or of a coarser one. Call
    /// `need_zeros` first if rows move to a bin that touches zero.
    void rewindow(const window& from, const window& to) noexcept {
        if (!has_any()) return;
        if (from.on() == to.on()) {
            const bin_ranges parts = shared_bins(from, to);
            for (std::uint32_t c = 0; c < cells(); ++c)
                if (has_rows(c)) slide(bins_of(c), parts);
            return;
        }
        bin_set used;
        for (std::uint32_t c = 0; c < cells(); ++c)
            for (std::uint32_t b = 0; has_rows(c) && b < bins_; ++b)
                if (count(c, b) != 0) used[b] = true;
        coarsen(from, to, used, [&](const bin_step* steps, std::size_t n) noexcept {
            for (std::uint32_t c = 0; c < cells(); ++c)
                if (has_rows(c)) move_bins(bins_of(c), steps, n);
        });
    }

    /// Add another plane of the same window; its cell c is our `map[c]`
    /// (null: the same number). Cells mapped to `no_cell` are left out. Call `need`
    /// first.
    static constexpr std::uint32_t no_cell = ~std::uint32_t{0};
    void merge(const plane& other, const std::uint32_t* map) noexcept {
        if (pending_ + other.pending_ > most_pending) flush();
        pending_ += other.pending_;
        for (std::uint32_t from = 0; from < other.cells(); ++from) {
            const std::uint32_t c = map != nullptr ? map[from] : from;
            if (c != no_cell) merge_cell(other, from, c);
        }
    }

    /// Count parts of a weight from now on; rows so far have weight 1.
    /// Call `need_weighted` first.
    void make_weighted() noexcept {
        if (weighted_) return;
        flush();
        for (std::uint32_t c = 0; c < cells(); ++c) {
            beyond& of = beyond_[c];
            of.weights.rows = total(c);
            of.weights.below.add(of.below, squared_weight_unit);
            of.weights.above.add(of.above, squared_weight_unit);
            of.below <<= weight_bits;
            of.above <<= weight_bits;
            if (zeros_[c])
                for (zero_sum& sum : zeros_[c]->of) sum.shift_left(weight_bits);
        }
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            if (counts_[i] == 0) continue;
            squares_[i].add(counts_[i], squared_weight_unit);
            counts_[i] <<= weight_bits;
            sums_[i].shift_left(weight_bits);
        }
        weighted_ = true;
    }

    // ---- reading ------------------------------------------------------------

    /// Rows of a bin; in a weighted plane, parts of a weight, like all counts.
    std::int64_t count(std::uint32_t cell, std::uint32_t bin) const noexcept {
        const std::size_t i = std::size_t{cell} * stride_ + bin;
        return (pending_ == 0 ? 0 : rows_in(words_[i])) +
               (counts_.size() == 0 ? 0 : counts_[i]);
    }

    /// Sum of the offsets of a bin that does not touch zero.
    bin_sum sum(std::uint32_t cell, std::uint32_t bin) const noexcept {
        const std::size_t i = std::size_t{cell} * stride_ + bin;
        bin_sum out;
        if (counts_.size() != 0) out = sums_[i];
        if (pending_ != 0) out.add(offsets_in(words_[i]), 0);
        return out;
    }
    /// Sum of the scores of bin k, -1 or 0.
    zero_sum zero(std::uint32_t cell, std::int64_t k) const noexcept {
        return zeros_[cell] ? (*zeros_[cell])[k] : zero_sum();
    }
    double lo(std::uint32_t cell) const noexcept { return ends_.lo()[cell]; }
    double hi(std::uint32_t cell) const noexcept { return ends_.hi()[cell]; }
    bool has_rows(std::uint32_t cell) const noexcept { return ends_.any(cell); }
    std::int64_t below(std::uint32_t cell) const noexcept {
        return beyond_[cell].below;
    }
    std::int64_t above(std::uint32_t cell) const noexcept {
        return beyond_[cell].above;
    }
    /// The total count of a cell.
    std::int64_t total(std::uint32_t cell) const noexcept {
        std::int64_t out = below(cell) + above(cell);
        if (has_rows(cell) && (pending_ != 0 || counts_.size() != 0))
            for (std::uint32_t b = 0; b < bins_; ++b) out += count(cell, b);
        return out;
    }
    bool weighted() const noexcept { return weighted_; }
    std::int64_t rows(std::uint32_t cell) const noexcept {
        return weighted_ ? weights(cell).rows : total(cell);
    }
    /// Rows and squared weights of a cell beside its bins, in a weighted plane.
    const cell_weights& weights(std::uint32_t cell) const noexcept {
        return beyond_[cell].weights;
    }
    /// Sum of squared weights of a bin, in a weighted plane.
    weight_sum square(std::uint32_t cell, std::uint32_t bin) const noexcept {
        return squares_.size() == 0 ? weight_sum()
                                    : squares_[std::size_t{cell} * stride_ + bin];
    }
    /// Add the rows of a cell to `out`, by bin.
    void add_counts(std::uint32_t cell, std::int64_t* out) const noexcept {
        if (!has_rows(cell)) return;
        const std::size_t first = std::size_t{cell} * stride_;
        if (pending_ != 0)
            for (std::uint32_t b = 0; b < bins_; ++b)
                out[b] += rows_in(words_[first + b]);
        if (counts_.size() != 0)
            for (std::uint32_t b = 0; b < bins_; ++b) out[b] += counts_[first + b];
    }
    void pool(std::int64_t* out) const noexcept {
        for (std::uint32_t c = 0; c < cells(); ++c) add_counts(c, out);
    }

    // ---- reading from bytes, with `cover` ------------------------------------
    /// Bring a bin near that is to be put soon.
    void fetch(std::uint32_t cell, std::uint32_t bin) const noexcept {
        counts_.fetch(std::size_t{cell} * stride_ + bin);
        sums_.fetch(std::size_t{cell} * stride_ + bin);
        squares_.fetch(std::size_t{cell} * stride_ + bin);
    }
    /// A bin that does not touch zero; `squared` is 0 without weights.
    void put(std::uint32_t cell, std::uint32_t bin, std::int64_t n,
             const weight_sum& squared, const bin_sum& sum) {
        put(cell, bin, n, squared);
        sums_[std::size_t{cell} * stride_ + bin] += sum;
    }
    /// Bin k, -1 or 0, at place `bin`.
    void put(std::uint32_t cell, std::uint32_t bin, std::int64_t n,
             const weight_sum& squared, const zero_sum& sum, std::int64_t k) {
        if (!sum.is_zero()) zeros(cell)[k] += sum;
        put(cell, bin, n, squared);
    }
    /// Counts below and above the window, and `more` of the whole cell.
    void put_beyond(std::uint32_t cell, std::int64_t below, std::int64_t above,
                    const cell_weights& more) noexcept {
        add_beyond(cell, {below, above, more});
    }

private:
    /// Rows of a cell beside its bins.
    struct beyond {
        std::int64_t below = 0, above = 0;
        cell_weights weights;  ///< zeros in a plane without weights
    };

    void put(std::uint32_t cell, std::uint32_t bin, std::int64_t n,
             const weight_sum& squared) {
        need_counts();
        counts_[std::size_t{cell} * stride_ + bin] += n;
        if (weighted_) squares_[std::size_t{cell} * stride_ + bin] += squared;
    }

    /// Add a row to a cell; `to` is the sum of squared weights that it adds to.
    void weigh(std::uint32_t cell, weight_sum& to, const row_load& row) noexcept {
        beyond_[cell].weights.rows += static_cast<std::int64_t>(row.rows);
        to.add_product(row.total(), row.each, 0);
    }

    void add_beyond(std::uint32_t cell, const beyond& more) noexcept {
        beyond& to = beyond_[cell];
        to.below += more.below;
        to.above += more.above;
        to.weights.rows += more.weights.rows;
        to.weights.below += more.weights.below;
        to.weights.above += more.weights.above;
    }

    /// Make sure that the words can take `n` rows more.
    void let_in(std::size_t n) {
        need_words();
        if (pending_ + n > most_pending) flush();
        pending_ += n;
    }

    /// Whether any bin may have rows.
    bool has_any() const noexcept {
        if (pending_ == 0 && counts_.size() == 0) return false;
        for (std::uint32_t c = 0; c < cells(); ++c)
            if (has_rows(c)) return true;
        return false;
    }

    std::size_t room(std::size_t more) const noexcept {
        return std::size_t{std::max(capacity_, cells())} * stride_ + more;
    }

    /// The bins of a cell that are in use.
    cell_bins bins_of(std::uint32_t cell) const noexcept {
        const std::size_t first = std::size_t{cell} * stride_;
        const bool full = counts_.size() != 0;
        return {pending_ != 0 ? words_.data() + first : nullptr,
                full ? counts_.data() + first : nullptr,
                full ? sums_.data() + first : nullptr,
                full && weighted_ ? squares_.data() + first : nullptr,
                zeros_[cell].get()};
    }

    template <class T>
    zeroed<T> moved(const zeroed<T>& from, std::uint32_t new_room,
                    std::uint32_t stride, std::size_t more) const {
        if (from.size() == 0) return {};
        zeroed<T> to(std::size_t{new_room} * stride + more);
        for (std::uint32_t c = 0; c < cells(); ++c) {
            const T* const first = from.data() + std::size_t{c} * stride_;
            std::copy_n(first, bins_, to.data() + std::size_t{c} * stride);
        }
        return to;
    }

    zero_sums& zeros(std::uint32_t cell) {
        if (!zeros_[cell]) zeros_[cell] = std::make_unique<zero_sums>();
        return *zeros_[cell];
    }

    void merge_cell(const plane& other, std::uint32_t from,
                    std::uint32_t to) noexcept {
        add_beyond(to, other.beyond_[from]);
        if (!other.has_rows(from)) return;
        add_bins(bins_of(to), other.bins_of(from), bins_);
        cover(to, other.lo(from), other.hi(from));
        if (other.zeros_[from])
            for (const std::int64_t k : {-1, 0})
                (*zeros_[to])[k] += (*other.zeros_[from])[k];
    }

    std::uint32_t bins_;
    std::uint32_t stride_;         ///< of cells in the arrays below
    bool weighted_;                ///< whether counts are parts of a weight
    std::uint32_t capacity_ = 0;   ///< cells the big arrays have room for
    std::uint64_t pending_ = 0;    ///< rows in `words_`
    zeroed<std::uint64_t> words_;  ///< packed, cells * stride, and one to spare
    zeroed<std::int64_t> counts_;  ///< cells * stride, once there are any
    zeroed<bin_sum> sums_;         ///< cells * stride
    zeroed<weight_sum> squares_;   ///< cells * stride, in a weighted plane
    cell_extremes ends_;
    std::vector<beyond> beyond_;
    std::vector<std::unique_ptr<zero_sums>> zeros_;
    std::uint32_t with_zeros_ = 0;  ///< cells before this one have them
};

}  // namespace gstar
