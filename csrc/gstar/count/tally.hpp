// tally.hpp - counts of all cells, labelled or not, and the window they share.
#pragma once

#include <algorithm>  // min, max
#include <cmath>      // isinf, isnan, fabs, ldexp, nextafter
#include <cstddef>    // size_t
#include <cstdint>
#include <limits>
#include <utility>  // move
#include <vector>

#include "gstar/base/error.hpp"
#include "gstar/base/simd/dispatch.hpp"
#include "gstar/base/weights.hpp"
#include "gstar/count/frame.hpp"
#include "gstar/count/kernels/count.hpp"
#include "gstar/count/plane.hpp"
#include "gstar/count/window.hpp"

namespace gstar {

/// What one pass over some rows leaves behind.
///
/// In `labelled`, cell 2 * slot + label; in `unlabelled`, cell = slot.
class tally {
public:
    tally(const window& at, bool fixed)
        : labelled(at.bins()), unlabelled(at.bins()), frame_{fixed, at, at} {
        prepare();
    }

    /// An empty tally that has the window and the extremes of this one, so that
    /// kernels pass what has been seen before without thought.
    tally sibling() const {
        tally out(frame_);
        out.labelled.adopt_extremes(labelled);
        out.unlabelled.adopt_extremes(unlabelled);
        return out;
    }

    tally clone() const {
        tally out(frame_);
        out.labelled = labelled.clone();
        out.unlabelled = unlabelled.clone();
        out.total_ = total_;
        out.skipped = skipped;
        return out;
    }

    bool fixed() const noexcept { return frame_.fixed; }

    /// The window in use; the rows' own once the tally is settled.
    const window& at() const noexcept { return frame_.at; }
    /// The window as the rows define it.
    const window& canonical() const noexcept { return frame_.canonical; }
    /// Where the rows lie; empty in a fixed window.
    const extent& reach() const noexcept { return frame_.reach; }

    /// Extremes of all finite scores in the window.
    double lo() const noexcept { return frame_.lo; }
    double hi() const noexcept { return frame_.hi; }

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
        if (!near_) return 0;
        special found[block_rows];
        const progress done = count_bytes(labelled.target(bins_, n), scores,
                                          columns, n, found, block_rows);
        labelled.give_back(n - done.rows);
        total_ += static_cast<std::int64_t>(done.rows - done.specials);
        if (done.specials != 0)
            think(labelled, found, done.specials, nullptr, skip_nan, first_row);
        return done.rows;
    }

    /// Count one row once. If memory runs out, nothing has changed.
    void count_one(plane& to, double score, std::uint32_t cell) {
        if (near_ && score >= to.lo(cell) && score <= to.hi(cell) &&
            bins_.is_plain(score)) {
            to.add_once(bins_, frame_.at, cell, score);
            ++total_;
            return;
        }
        const double size = std::fabs(score);
        if (!std::isinf(size)) need_rows(to, 1, {size, size});
        special found{score, cell, 0};
        think(to, &found, 1, nullptr, false, -1);
    }

    /// Count a block with loads, one for each row.
    void count(plane& to, const double* scores, const std::uint32_t* cells,
               std::size_t n, const row_load* loads, bool skip_nan,
               std::int64_t first_row) {
        special found[block_rows];
        for (std::size_t i = 0; i < n; ++i)
            found[i] = {scores[i], cells[i], static_cast<std::uint32_t>(i)};
        think(to, found, n, loads, skip_nan, first_row);
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

    /// The sum of all multiplicities, in parts of a weight if asked for.
    std::int64_t total_in(bool parts) const {
        return parts && !weighted() ? in_parts_of(total_) : total_;
    }

    bool weighted() const noexcept { return labelled.weighted(); }

    /// Make counts parts of a weight, after the first weight other than 1.
    void make_weighted() {
        if (weighted()) return;
        const std::int64_t parts = total_in(true);
        need_weighted();
        labelled.make_weighted();
        unlabelled.make_weighted();
        total_ = parts;
    }

    // ---- memory -------------------------------------------------------------

    /// Allocate what is needed to count up to `n` rows of these sizes (zero and NaN
    /// aside) once each. Counting them then cannot run out of memory.
    void need_rows(plane& to, std::size_t n, const sizes& of) {
        to.need_rows(n);
        sizes all = of;
        all.add(frame_.reach.below);
        all.add(frame_.reach.above);
        if (!fixed() && all.far <= plain_.far && all.near >= plain_.near) return;
        if (frame_.keeps_plain(of))
            plain_ = all;
        else
            need_any_rows(to);
    }

    /// The same for rows of any size and load.
    void need_any_rows(plane& to, bool in_parts = false) {
        if (in_parts)
            need_weighted();
        else
            to.need_words();
        to.need_counts(in_parts || weighted());
        need_zeros();  // a growing window moves all cells
    }

    /// Allocate what is needed to make counts parts of a weight and widen the window.
    void need_room(bool in_parts, const frame& wider) {
        if (in_parts) need_weighted();
        if (frame_.at.on() != wider.at.on() && frame_.may_touch_zero(wider.at.on()))
            need_zeros();
    }

    /// Allocate what is needed to put bins of this frame into the planes.
    void need_bins(bool in_parts, const frame& wider, bool any_unlabelled) {
        labelled.need_counts(in_parts);
        if (any_unlabelled) unlabelled.need_counts(in_parts);
        if (wider.may_touch_zero(wider.at.on())) need_zeros();
    }

    // ---- growing ------------------------------------------------------------

    /// Widen the window so that it holds more finite scores from `lo` to `hi`, of
    /// the extent `more`.
    void make_room(const extent& more, double lo, double hi) {
        if (frame_.holds(more, lo, hi)) return;
        move_to(frame_.with(more, lo, hi));
    }

    /// The frame that would hold these scores as well.
    frame wider(const extent& more, double lo, double hi) const noexcept {
        return frame_.with(more, lo, hi);
    }

    /// Another tally, and which of our cells its cells are.
    struct addend {
        tally* counts;
        std::vector<std::uint32_t> labelled;
        std::vector<std::uint32_t> unlabelled;
    };

    /// Add all tallies or none; they are consumed either way.
    void merge(const std::vector<addend>& all) {
        if (total_ != 0) {
            need(all);
            for (const addend& a : all) add(a);
            return;
        }
        // If there are no rows yet, the first one is taken over as it is.
        tally sum(frame_);
        sum.skipped = skipped;
        if (weighted()) sum.make_weighted();
        sum.labelled.resize(labelled.cells());
        sum.unlabelled.resize(unlabelled.cells());
        for (const addend& a : all) {
            if (sum.total_ == 0) sum.begin_with(a);
            sum.need({a});
            sum.add(a);
        }
        *this = std::move(sum);
    }

    /// Bring everything into the canonical window.
    void settle() {
        frame next = frame_;
        next.at = next.canonical;
        move_to(next);
    }

    // ---- reading from bytes -------------------------------------------------

    /// Set what the planes do not know. `at` of the constructor is the canonical
    /// window; `reach` and the extremes are those of the rows put into the planes.
    void restore(const extent& reach, double lo, double hi,
                 std::int64_t total) noexcept {
        frame_.reach = reach;
        frame_.lo = lo;
        frame_.hi = hi;
        total_ = total;
        prepare();
    }

    plane labelled;
    plane unlabelled;
    std::int64_t skipped = 0;

private:
    void need_weighted() {
        labelled.need_weighted();
        unlabelled.need_weighted();
    }
    void need_zeros() {
        labelled.need_zeros();
        unlabelled.need_zeros();
    }

    explicit tally(const frame& of) : tally(of.at, of.fixed) {
        frame_ = of;
        prepare();
    }

    /// Allocate what is needed to add these one after the other. They are moved to the
    /// window and the unit of counts that ours will have.
    void need(const std::vector<addend>& all) {
        bool in_parts = weighted();
        frame next = frame_;
        for (const addend& a : all) {
            in_parts = in_parts || a.counts->weighted();
            next = next.joined(a.counts->frame_);
        }
        std::uint64_t labelled_rows = 0;
        std::uint64_t unlabelled_rows = 0;
        for (const addend& a : all) {
            tally& from = *a.counts;
            if (in_parts) from.make_weighted();
            frame there = from.frame_;
            there.at = next.at;
            from.move_to(there);
            labelled_rows += from.labelled.pending();
            unlabelled_rows += from.unlabelled.pending();
        }
        need_room(in_parts, next);
        for (const addend& a : all) {
            labelled.need(a.counts->labelled, a.labelled.data(), labelled_rows);
            unlabelled.need(a.counts->unlabelled, a.unlabelled.data(),
                            unlabelled_rows);
        }
        if (in_parts) make_weighted();
        move_to(next);
    }

    /// Add one of the tallies that `need` has prepared.
    void add(const addend& a) noexcept {
        labelled.merge(a.counts->labelled, a.labelled.data());
        unlabelled.merge(a.counts->unlabelled, a.unlabelled.data());
        total_ += a.counts->total_;
        skipped += a.counts->skipped;
    }

    /// With no rows yet, take over the planes whose cells have the same numbers
    /// here, so that the first rows of a sketch are not copied.
    void begin_with(const addend& a) {
        tally& from = *a.counts;
        if (weighted()) from.make_weighted();
        if (from.weighted()) make_weighted();
        frame_ = frame_.joined(from.frame_);
        prepare();
        frame there = from.frame_;
        there.at = frame_.at;
        from.move_to(there);
        const auto take = [](plane& to, plane& rows,
                             const std::vector<std::uint32_t>& map) {
            for (std::uint32_t c = 0; c < rows.cells(); ++c)
                if (map[c] != c) return;
            rows.resize(to.cells());
            to = std::move(rows);
            rows = plane(to.bins(), to.weighted());
        };
        take(labelled, from.labelled, a.labelled);
        take(unlabelled, from.unlabelled, a.unlabelled);
    }

    /// Widen the window. If memory runs out, nothing has changed.
    void move_to(const frame& next) {
        if (next.at != frame_.at) {
            need_room(false, next);
            labelled.rewindow(frame_.at, next.at);
            unlabelled.rewindow(frame_.at, next.at);
        }
        frame_ = next;
        prepare();
    }

    /// What kernels are to know of the window.
    void prepare() noexcept {
        const grid& on = frame_.at.on();
        const double inf = std::numeric_limits<double>::infinity();
        const double least = std::max(std::ldexp(1.0, on.least()),
                                      std::numeric_limits<double>::min());
        bins_.per = on.per;
        bins_.lowest = on.least() + on.per;
        bins_.highest = on.level + on.per;
        bins_.least_above = std::max(least, fixed() ? 0 : frame_.reach.above.near);
        bins_.least_below = std::max(std::nextafter(least, inf),
                                     fixed() ? 0 : frame_.reach.below.near);
        // Offsets fit the words as long as scores are no further apart than bins
        // are wide.
        const std::int64_t most = std::int64_t{1} << 24;
        near_ = fixed() ? frame_.at.first() > -most && frame_.at.last() < most
                        : std::max(-frame_.lo, frame_.hi) <
                              std::ldexp(1.0, on.level + 24);
        if (!near_) return;
        bins_.zero = fixed() ? frame_.at.holds(0) : frame_.reach.zero;
        bins_.shift_below = static_cast<std::int32_t>(frame_.at.shift_below());
        bins_.shift_zero = static_cast<std::int32_t>(frame_.at.shift_zero());
        bins_.shift_above = static_cast<std::int32_t>(frame_.at.shift_above());
    }

    template <class Float>
    std::size_t run_kernel(plane& to, const Float* scores,
                           const std::uint32_t* cells, std::size_t n,
                           special* found) {
        if (!near_) {
            for (std::size_t i = 0; i < n; ++i)
                found[i] = {static_cast<double>(scores[i]), cells[i],
                            static_cast<std::uint32_t>(i)};
            return n;
        }
        return count_rows(to.target(bins_, n), scores, cells, n, found);
    }

    /// Count the rows a kernel handed back: new extremes, scores next to zero,
    /// infinities, and NaN.
    void think(plane& to, special* found, std::size_t n, const row_load* loads,
               bool skip_nan, std::int64_t first_row) {
        extent seen;
        std::size_t kept = 0;
        const double greatest = greatest_score();
        const double bottom = fixed() ? frame_.at.edge(0) : -greatest;
        const double top = fixed() ? frame_.at.edge(frame_.at.bins()) : greatest;
        // Edges of a range may lie beyond all scores that are taken.
        const double least_usual = std::max(bottom, -greatest);
        const double most_usual = std::min(top, greatest);
        for (std::size_t i = 0; i < n; ++i) {
            const double x = found[i].score + 0.0;  // -0.0 counts as 0.0
            const row_load row =
                loads != nullptr ? loads[found[i].row] : row_load();
            if (!(x > least_usual && x < most_usual)) {
                check_score(x, first_row < 0 ? -1 : first_row + found[i].row,
                            skip_nan);
                if (std::isnan(x)) {
                    if (row.total() != 0) add_to(skipped, row.rows);
                    continue;
                }
            }
            if (row.total() == 0) continue;
            add_to(total_, row.total());
            if (std::isinf(x) || (fixed() && (x < bottom || x >= top))) {
                if (x < bottom)
                    to.add_below(found[i].cell, row);
                else
                    to.add_above(found[i].cell, row);
                continue;
            }
            seen.add(x);
            found[kept++] = {x, found[i].cell, found[i].row};
        }
        if (kept == 0) return;
        make_room(seen, seen.lo(), seen.hi());
        if (loads == nullptr && near_) {
            for (std::size_t i = 0; i < kept; ++i)
                to.add_once(bins_, frame_.at, found[i].cell, found[i].score);
            return;
        }
        for (std::size_t i = 0; i < kept; ++i)
            to.add(frame_.at, found[i].cell, found[i].score,
                   loads != nullptr ? loads[found[i].row] : row_load());
    }

    static void add_to(std::int64_t& sum, std::uint64_t more) {
        if (more > detail::most_total - static_cast<std::uint64_t>(sum))
            refuse_overflow();
        sum += static_cast<std::int64_t>(more);
    }

    frame frame_;
    count_grid bins_;    ///< the window, for kernels
    bool near_ = false;  ///< whether packed words have room for offsets
    sizes plain_{-1};    ///< for these `keeps_plain` was true, and is
    std::int64_t total_ = 0;
};

}  // namespace gstar
