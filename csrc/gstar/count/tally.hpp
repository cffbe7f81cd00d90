// tally.hpp - counts of all cells, labelled or not, and the window they share.
#pragma once

#include <algorithm>  // min, max
#include <cmath>      // isinf, isnan, fabs, ldexp, nextafter
#include <cstddef>    // size_t
#include <cstdint>
#include <limits>
#include <utility>  // move

#include "gstar/base/error.hpp"
#include "gstar/base/simd/dispatch.hpp"
#include "gstar/base/weights.hpp"
#include "gstar/count/kernels/count.hpp"
#include "gstar/count/plane.hpp"
#include "gstar/count/window.hpp"

namespace gstar {

/// What decides on the window of a sketch.
enum class window_kind : std::uint8_t {
    nested,  ///< the extent of its rows
    fixed,   ///< its maker (`range=`); the grid is linear
    linear,  ///< as files of version 1 have it, and whatever they are merged with
};

/// What one pass over some rows leaves behind.
///
/// In `labelled`, cell 2 * slot + label; in `unlabelled`, cell = slot.
class tally {
public:
    tally(const window& at, window_kind kind)
        : labelled(at.bins()),
          unlabelled(at.bins()),
          kind_(kind),
          at_(at),
          canonical_(at) {
        prepare();
    }

    /// An empty tally that has the window and the extremes of this one, so that
    /// kernels pass what has been seen before without thought.
    tally sibling() const {
        tally out(at_, kind_);
        out.adopt_window(*this);
        out.labelled.adopt_extremes(labelled);
        out.unlabelled.adopt_extremes(unlabelled);
        return out;
    }

    tally clone() const {
        tally out(at_, kind_);
        out.adopt_window(*this);
        out.labelled = labelled.clone();
        out.unlabelled = unlabelled.clone();
        out.total_ = total_;
        out.skipped = skipped;
        out.weighted = weighted;
        out.weights_known = weights_known;
        return out;
    }

    window_kind kind() const noexcept { return kind_; }
    bool fixed() const noexcept { return kind_ == window_kind::fixed; }

    /// The window in use; the rows' own once the tally is settled.
    const window& at() const noexcept { return at_; }
    /// The window as the rows define it.
    const window& canonical() const noexcept { return canonical_; }
    /// Where the rows lie; of a linear tally those that came after version 1, and
    /// of a fixed one nothing.
    const extent& reach() const noexcept { return extent_; }

    /// Extremes of all finite scores in the window.
    double lo() const noexcept { return lo_; }
    double hi() const noexcept { return hi_; }

    /// Rows counted: the sum of all multiplicities, below 2^63.
    std::int64_t total() const noexcept { return total_; }

    void resize(std::uint32_t n_slots, bool any_unlabelled) {
        labelled.resize(2 * n_slots);
        if (any_unlabelled || unlabelled.cells() != 0) unlabelled.resize(n_slots);
    }

    // ---- counting -----------------------------------------------------------

    /// Count a block of at most `block_rows` rows, once each.
    template <class Float>
    void count(plane& to, const Float* scores, const std::uint32_t* cells,
               std::size_t n, bool skip_nan, std::int64_t first_row) {
        special found[block_rows];
        const std::size_t n_found = run_kernel(to, scores, cells, n, found);
        total_ += static_cast<std::int64_t>(n - n_found);
        if (n_found != 0) think(to, found, n_found, nullptr, skip_nan, first_row);
    }

    /// Count labelled rows, at most 2^17 of them, from bytes. Returns how many were
    /// counted, from the first on: the next has to be resolved, unless there are
    /// fewer than 64 left.
    template <class Float>
    std::size_t count(const Float* scores, const byte_columns& columns,
                      std::size_t n, bool skip_nan, std::int64_t first_row) {
        if (!for_kernels_) return 0;
        special found[block_rows];
        const progress done = count_bytes(labelled.target(bins_, n), scores,
                                          columns, n, found, block_rows);
        labelled.give_back(n - done.rows);
        total_ += static_cast<std::int64_t>(done.rows - done.specials);
        if (done.specials != 0)
            think(labelled, found, done.specials, nullptr, skip_nan, first_row);
        return done.rows;
    }

    /// Count one row once.
    void count_one(plane& to, double score, std::uint32_t cell) {
        if (for_kernels_ && score >= to.lo(cell) && score <= to.hi(cell) &&
            bins_.is_plain(score)) {
            to.add_once(bins_, at_, cell, score);
            ++total_;
            return;
        }
        special found{score, cell, 0};
        think(to, &found, 1, nullptr, false, -1);
    }

    /// Count a block with multiplicities, one for each row.
    void count(plane& to, const double* scores, const std::uint32_t* cells,
               std::size_t n, const std::uint64_t* times, bool skip_nan,
               std::int64_t first_row) {
        special found[block_rows];
        for (std::size_t i = 0; i < n; ++i)
            found[i] = {scores[i], cells[i], static_cast<std::uint32_t>(i)};
        think(to, found, n, times, skip_nan, first_row);
    }

    /// Whether anything of this slot was counted.
    bool has_rows(std::uint32_t slot) const noexcept {
        const auto any = [](const plane& p, std::uint32_t cell) {
            return cell < p.cells() &&
                   (p.has_rows(cell) || p.below(cell) != 0 || p.above(cell) != 0);
        };
        return any(labelled, 2 * slot) || any(labelled, 2 * slot + 1) ||
               any(unlabelled, slot);
    }

    /// Rows counted, in parts of a weight if asked for.
    std::int64_t total_in(bool parts) const {
        if (weighted || !parts) return total_;
        if (total_ > (std::numeric_limits<std::int64_t>::max() >> weight_bits))
            refuse_overflow();
        return total_ << weight_bits;
    }

    /// Make counts parts of a weight, once a weight that is not whole has come.
    void make_weighted() {
        if (weighted) return;
        const std::int64_t parts = total_in(true);
        labelled.scale(weight_bits);
        unlabelled.scale(weight_bits);
        total_ = parts;
        weighted = true;
    }

    /// Widen the window so that it holds more scores: finite ones from `lo` to `hi`,
    /// with the extent of those not counted under version 1. What comes from a
    /// linear tally makes this one linear.
    ///
    /// While counting, the window may have room around its canonical runs: a new
    /// score beyond them then mostly needs no move. `settle` puts it right.
    void make_room(window_kind from, const extent& more, double lo, double hi) {
        if (!(lo <= hi)) return;
        const bool turns =
            from == window_kind::linear && kind_ == window_kind::nested;
        if (turns) kind_ = window_kind::linear;
        extent wider = extent_;
        if (!fixed()) wider.add(more);
        if (wider == extent_ && lo >= lo_ && hi <= hi_ && !turns) return;
        extent_ = wider;
        lo_ = std::min(lo, lo_);
        hi_ = std::max(hi, hi_);
        if (!fixed()) {
            canonical_ = own_window();
            if (!at_.covers(canonical_)) move_to(canonical_.with_room());
        }
        prepare();
    }

    /// Add a tally whose cells are ours by these maps; it is used up.
    void merge(tally& other, const std::uint32_t* labelled_map,
               const std::uint32_t* unlabelled_map) {
        if (lo_ > hi_ && !fixed() && other.lo_ <= other.hi_) {
            at_ = other.at_;  // nothing has to move
            kind_ = other.kind_;
            adopt_window(other);
        }
        make_room(other.kind_, other.extent_, other.lo_, other.hi_);
        other.move_to(at_);
        add(labelled, other.labelled, labelled_map);
        add(unlabelled, other.unlabelled, unlabelled_map);
        total_ += other.total_;
        skipped += other.skipped;
        weights_known = weights_known && other.weights_known;
    }

    /// Bring everything into the canonical window.
    void settle() { move_to(canonical_); }

    // ---- reading from bytes -------------------------------------------------

    /// Set what the planes do not know. `at` of the constructor is the canonical
    /// window; `reach` and the extremes are those of the rows put into the planes.
    void restore(const extent& reach, double lo, double hi,
                 std::int64_t total) noexcept {
        extent_ = reach;
        lo_ = lo;
        hi_ = hi;
        total_ = total;
        prepare();
    }

    plane labelled;
    plane unlabelled;
    std::int64_t skipped = 0;
    bool weighted = false;
    bool weights_known = true;  ///< whether planes have the sums of squared weights

private:
    void adopt_window(const tally& other) noexcept {
        canonical_ = other.canonical_;
        extent_ = other.extent_;
        lo_ = other.lo_;
        hi_ = other.hi_;
        prepare();
    }

    /// Add a plane; if there is nothing yet and no cell has another number, take
    /// it as it is, so that a sketch's first rows are not copied.
    void add(plane& to, plane& from, const std::uint32_t* map) const {
        bool same = total_ == 0;
        for (std::uint32_t c = 0; same && c < from.cells(); ++c) same = map[c] == c;
        if (!same) {
            to.merge(from, map);
            return;
        }
        const std::uint32_t cells = to.cells();
        to = std::move(from);
        to.resize(cells);
    }

    void move_to(const window& to) {
        if (to == at_) return;
        labelled.rewindow(at_, to);
        unlabelled.rewindow(at_, to);
        at_ = to;
        prepare();
    }

    /// The window as the rows define it.
    window own_window() const noexcept {
        const window nested = window_of(extent_, at_.bins());
        if (kind_ == window_kind::nested) return nested;
        return window_of_format_1(lo_, hi_, at_.bins(),
                                  extent_.empty() ? least_level : nested.level());
    }

    /// What kernels are to know of the window.
    void prepare() noexcept {
        const grid& on = at_.on();
        const double inf = std::numeric_limits<double>::infinity();
        const double least = std::max(std::ldexp(1.0, on.least()),
                                      std::numeric_limits<double>::min());
        bins_.per = on.per;
        bins_.lowest = on.least() + on.per;
        bins_.highest = on.level + on.per;
        bins_.least_above = std::max(least, fixed() ? 0 : extent_.above.near);
        bins_.least_below =
            std::max(std::nextafter(least, inf), fixed() ? 0 : extent_.below.near);
        // Offsets fit the words as long as scores are no further apart than bins
        // are wide. Kernels know nothing of which rows a linear tally had first.
        const std::int64_t most = std::int64_t{1} << 24;
        const bool near =
            fixed() ? at_.first() > -most && at_.last() < most
                    : std::max(-lo_, hi_) < std::ldexp(1.0, on.level + 24);
        near_ = near;
        for_kernels_ = near && kind_ != window_kind::linear;
        if (!near) return;
        bins_.zero = fixed() ? at_.holds(0) : extent_.zero;
        bins_.shift_below = static_cast<std::int32_t>(at_.shift_below());
        bins_.shift_zero = static_cast<std::int32_t>(at_.shift_zero());
        bins_.shift_above = static_cast<std::int32_t>(at_.shift_above());
    }

    template <class Float>
    std::size_t run_kernel(plane& to, const Float* scores,
                           const std::uint32_t* cells, std::size_t n,
                           special* found) {
        if (!for_kernels_) {
            for (std::size_t i = 0; i < n; ++i)
                found[i] = {static_cast<double>(scores[i]), cells[i],
                            static_cast<std::uint32_t>(i)};
            return n;
        }
        return count_rows(to.target(bins_, n), scores, cells, n, found);
    }

    /// Count the rows a kernel handed back: new extremes, scores next to zero,
    /// infinities, and NaN.
    void think(plane& to, special* found, std::size_t n, const std::uint64_t* times,
               bool skip_nan, std::int64_t first_row) {
        extent seen;
        std::size_t kept = 0;
        const double greatest = greatest_score();
        const double bottom = fixed() ? at_.edge(0) : -greatest;
        const double top = fixed() ? at_.edge(at_.bins()) : greatest;
        // Edges of a range may lie beyond all scores that are taken.
        const double least_usual = std::max(bottom, -greatest);
        const double most_usual = std::min(top, greatest);
        for (std::size_t i = 0; i < n; ++i) {
            const double x = found[i].score + 0.0;  // -0.0 counts as 0.0
            const std::uint64_t t = times != nullptr ? times[found[i].row] : 1;
            if (!(x > least_usual && x < most_usual)) {
                if (std::isnan(x)) {
                    if (!skip_nan) refuse_nan(row_of(first_row, found[i]));
                    if (t != 0) ++skipped;
                    continue;
                }
                if (std::fabs(x) > greatest && !std::isinf(x))
                    refuse_huge(x, row_of(first_row, found[i]));
            }
            if (t == 0) continue;
            add_total(t);
            if (weighted) to.weigh(found[i].cell, t);
            if (std::isinf(x) || (fixed() && (x < bottom || x >= top))) {
                const auto signed_t = static_cast<std::int64_t>(t);
                if (x < bottom)
                    to.add_below(found[i].cell, signed_t);
                else
                    to.add_above(found[i].cell, signed_t);
                continue;
            }
            seen.add(x);
            found[kept++] = {x, found[i].cell, found[i].row};
        }
        if (kept == 0) return;
        make_room(kind_, seen, seen.lo(), seen.hi());
        if (times == nullptr && near_) {
            for (std::size_t i = 0; i < kept; ++i)
                to.add_once(bins_, at_, found[i].cell, found[i].score);
            return;
        }
        for (std::size_t i = 0; i < kept; ++i)
            to.add(at_, found[i].cell, found[i].score,
                   times != nullptr ? times[found[i].row] : 1);
    }

    static std::int64_t row_of(std::int64_t first, const special& s) noexcept {
        return first < 0 ? -1 : first + s.row;
    }

    void add_total(std::uint64_t times) {
        const auto most =
            static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
        if (times > most - static_cast<std::uint64_t>(total_)) refuse_overflow();
        total_ += static_cast<std::int64_t>(times);
    }

    window_kind kind_;
    window at_;
    window canonical_;
    count_grid bins_;           ///< `at_`, for kernels
    bool near_ = false;         ///< whether packed words have room for offsets
    bool for_kernels_ = false;  ///< whether block kernels may count
    extent extent_;
    double lo_ = std::numeric_limits<double>::infinity();  ///< of all cells
    double hi_ = -std::numeric_limits<double>::infinity();
    std::int64_t total_ = 0;
};

}  // namespace gstar
