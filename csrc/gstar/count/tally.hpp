// tally.hpp - counts of all cells, labelled or not, and the window they share.
#pragma once

#include <algorithm>  // min, max
#include <cmath>      // isinf, isnan, fabs
#include <cstddef>    // size_t
#include <cstdint>
#include <limits>
#include <utility>  // move

#include "gstar/base/error.hpp"
#include "gstar/base/simd/dispatch.hpp"
#include "gstar/base/weights.hpp"
#include "gstar/count/grid.hpp"
#include "gstar/count/kernels/count.hpp"
#include "gstar/count/plane.hpp"

namespace gstar {

/// What one pass over some rows leaves behind.
///
/// In `labelled`, cell 2 * slot + label; in `unlabelled`, cell = slot.
class tally {
public:
    tally(const window& at, bool is_fixed)
        : labelled(at.bins),
          unlabelled(at.bins),
          at_(at),
          scale_(std::ldexp(1.0, -at.level)),
          fixed_(is_fixed) {}

    /// An empty tally that has the window and the extremes of this one, so that
    /// kernels pass what has been seen before without thought.
    tally sibling() const {
        tally out(at_, fixed_);
        out.lo_ = lo_;
        out.hi_ = hi_;
        out.labelled.adopt_extremes(labelled);
        out.unlabelled.adopt_extremes(unlabelled);
        return out;
    }

    tally clone() {
        tally out(at_, fixed_);
        out.lo_ = lo_;
        out.hi_ = hi_;
        out.labelled = labelled.clone(at_);
        out.unlabelled = unlabelled.clone(at_);
        out.total_ = total_;
        out.skipped = skipped;
        out.weighted = weighted;
        return out;
    }

    const window& at() const noexcept { return at_; }
    bool fixed() const noexcept { return fixed_; }
    double lo() const noexcept { return lo_; }
    double hi() const noexcept { return hi_; }

    /// Rows counted: the sum of all multiplicities, below 2^63.
    std::int64_t total() const noexcept { return total_; }

    void resize(std::uint32_t n_slots, bool any_unlabelled) {
        labelled.resize(2 * n_slots);
        if (any_unlabelled || unlabelled.cells() != 0) unlabelled.resize(n_slots);
    }

    /// Count a block of at most `block_rows` rows, once each.
    template <class Float>
    void count(plane& to, const Float* scores, const std::uint32_t* cells,
               std::size_t n, bool skip_nan, std::int64_t first_row) {
        special found[block_rows];
        const std::size_t n_found = run_kernel(to, scores, cells, n, found);
        total_ += static_cast<std::int64_t>(n - n_found);
        if (n_found != 0) think(to, found, n_found, nullptr, skip_nan, first_row);
    }

    /// Count one row once.
    void count_one(plane& to, double score, std::uint32_t cell) {
        if (score >= to.lo(cell) && score <= to.hi(cell) && at_.is_near()) {
            to.add_once(to.target(at_, 1), scale_, cell, score + 0.0);
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
        labelled.scale(at_, weight_bits);
        unlabelled.scale(at_, weight_bits);
        total_ = parts;
        weighted = true;
    }

    /// Widen the window so that scores from `lo` to `hi` are in it.
    ///
    /// While counting, the window may start below its canonical place: a new
    /// smallest score then mostly needs no move. `flush` puts it right.
    void grow(double lo, double hi) {
        if (!(lo < lo_ || hi > hi_)) return;
        lo_ = std::min(lo, lo_);
        hi_ = std::max(hi, hi_);
        if (fixed_) return;
        window to = window_of(lo_, hi_, at_.bins);
        const std::int64_t last = bin_number(hi_, to.level);
        if (to.level == at_.level && to.first >= at_.first &&
            last < at_.first + std::int64_t{at_.bins})
            return;
        const std::int64_t spare = std::int64_t{at_.bins} - 1 - (last - to.first);
        to.first -= spare / 2;
        move_to(to);
    }

    /// Add a tally whose cells are ours by these maps; it is used up.
    void merge(tally& other, const std::uint32_t* labelled_map,
               const std::uint32_t* unlabelled_map) {
        // A tally without rows takes the other's window: nothing has to move.
        if (lo_ > hi_ && !fixed_ && other.lo_ <= other.hi_) {
            move_to(other.at_);
            lo_ = other.lo_;
            hi_ = other.hi_;
        }
        grow(other.lo_, other.hi_);
        other.move_to(at_);
        labelled.merge(other.labelled, labelled_map, at_);
        unlabelled.merge(other.unlabelled, unlabelled_map, at_);
        total_ += other.total_;
        skipped += other.skipped;
    }

    /// Bring all counts to full width, in the canonical window.
    void flush() {
        labelled.flush(at_);
        unlabelled.flush(at_);
        move_to(canonical());
    }

    /// Rows of all cells by bin of the window as it is, into `out` (bins long).
    void pool(std::int64_t* out) const noexcept {
        labelled.pool(out);
        unlabelled.pool(out);
    }

    /// The window as the rows define it.
    window canonical() const noexcept {
        return fixed_ || lo_ > hi_ ? at_ : window_of(lo_, hi_, at_.bins);
    }

    /// Set the window and total of a tally being read from bytes.
    void restore(double lo, double hi, std::int64_t total) noexcept {
        lo_ = lo;
        hi_ = hi;
        total_ = total;
    }

    plane labelled;
    plane unlabelled;
    std::int64_t skipped = 0;
    bool weighted = false;

private:
    void move_to(const window& to) {
        if (to == at_) return;
        labelled.rewindow(at_, to);
        unlabelled.rewindow(at_, to);
        at_ = to;
        scale_ = std::ldexp(1.0, -to.level);
    }

    template <class Float>
    std::size_t run_kernel(plane& to, const Float* scores,
                           const std::uint32_t* cells, std::size_t n,
                           special* found) {
        if (!at_.is_near()) {
            for (std::size_t i = 0; i < n; ++i)
                found[i] = {static_cast<double>(scores[i]), cells[i],
                            static_cast<std::uint32_t>(i)};
            return n;
        }
        const count_target target = to.target(at_, n);
        return count_rows(target, scores, cells, n, found);
    }

    /// Count the rows a kernel handed back: new extremes, scores next to zero,
    /// infinities, and NaN.
    void think(plane& to, special* found, std::size_t n, const std::uint64_t* times,
               bool skip_nan, std::int64_t first_row) {
        double lo = std::numeric_limits<double>::infinity();
        double hi = -lo;
        std::size_t kept = 0;
        const double bottom = fixed_ ? at_.edge(0) : -greatest_score();
        const double top = fixed_ ? at_.edge(at_.bins) : greatest_score();
        for (std::size_t i = 0; i < n; ++i) {
            const double x = found[i].score + 0.0;  // -0.0 counts as 0.0
            const std::uint64_t t = times != nullptr ? times[found[i].row] : 1;
            if (!(x > bottom && x < top)) {
                if (std::isnan(x)) {
                    if (!skip_nan) refuse_nan(row_of(first_row, found[i]));
                    if (t != 0) ++skipped;
                    continue;
                }
                if (std::fabs(x) > greatest_score() && !std::isinf(x))
                    refuse_huge(x, row_of(first_row, found[i]));
            }
            if (t == 0) continue;
            add_total(t);
            if (std::isinf(x) || (fixed_ && (x < bottom || x >= top))) {
                const auto signed_t = static_cast<std::int64_t>(t);
                if (x < bottom)
                    to.add_below(found[i].cell, signed_t);
                else
                    to.add_above(found[i].cell, signed_t);
                continue;
            }
            lo = std::min(lo, x);
            hi = std::max(hi, x);
            found[kept++] = {x, found[i].cell, found[i].row};
        }
        if (kept == 0) return;
        grow(lo, hi);
        if (times == nullptr && at_.is_near()) {
            const count_target target = to.target(at_, kept);
            for (std::size_t i = 0; i < kept; ++i)
                to.add_once(target, scale_, found[i].cell, found[i].score);
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

    window at_;
    double scale_;  ///< 2^-level, where the window is near
    bool fixed_;
    double lo_ = std::numeric_limits<double>::infinity();  ///< of all cells
    double hi_ = -std::numeric_limits<double>::infinity();
    std::int64_t total_ = 0;
};

}  // namespace gstar
