// sketch.hpp - counts of each cell by score: update, merge, read.
#pragma once

#include <algorithm>  // any_of, max, min
#include <cmath>      // fabs, isinf, isnan
#include <cstddef>    // size_t
#include <cstdint>
#include <limits>
#include <memory>  // shared_ptr, unique_ptr
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>  // move
#include <vector>

#include "gstar/base/error.hpp"
#include "gstar/base/name.hpp"
#include "gstar/base/number_table.hpp"
#include "gstar/base/parallel.hpp"
#include "gstar/base/rows.hpp"
#include "gstar/base/weights.hpp"
#include "gstar/count/batch.hpp"
#include "gstar/count/bytes/sections.hpp"
#include "gstar/count/group_table.hpp"
#include "gstar/count/resolve.hpp"
#include "gstar/count/tally.hpp"

namespace gstar {

/// How a sketch is made.
struct sketch_options {
    window at = no_window(4096);  ///< bins, and where they are if that is fixed
    bool fixed = false;           ///< whether the window is
    bool given = false;           ///< `groups` are all there are
    std::vector<name> groups;     ///< given groups, in order
    std::uint64_t memory_limit = std::uint64_t{1} << 30;
};

/// A one-pass, mergeable summary of rows (score, label, group).
///
/// A pure function of the multiset of rows: order, batches, threads, merges and
/// kernels leave no trace in it. Safe to update and read from many threads.
class sketch {
public:
    explicit sketch(const sketch_options& options)
        : counts_(options.at, options.fixed),
          groups_(options.given ? group_table(options.groups) : group_table()),
          memory_limit_(options.memory_limit) {
        check_room(groups_.size());
        counts_.resize(groups_.size(), false);
    }

    sketch(const sketch&) = delete;
    sketch& operator=(const sketch&) = delete;

    std::unique_ptr<sketch> clone() {
        const std::lock_guard<std::mutex> lock(guard_);
        return std::unique_ptr<sketch>(new sketch(*this, 0));
    }

    // ---- counting -----------------------------------------------------------

    /// Count rows: all of them, or none and an exception.
    void update(const rows& r, bool skip_nan = false, unsigned threads = 1) {
        if (is_small(r)) return update_small(r, skip_nan);
        job j = prepare(r, skip_nan, threads);
        for (run(j); !commit(j); run(j)) j = prepare(r, skip_nan, threads);
    }

    /// Whether rows are better counted in place: quick enough to hold the lock
    /// for, and few against the arrays that a batch of their own would need.
    bool is_small(const rows& r) {
        const std::lock_guard<std::mutex> lock(guard_);
        const std::size_t places = std::size_t{2} * n_groups() * bins();
        return !r.weights && !r.repeats &&
               r.n <= std::max<std::size_t>(4096, places / 4);
    }

    /// Count rows in place; for those that are `is_small`.
    void update_small(const rows& r, bool skip_nan) {
        const std::lock_guard<std::mutex> lock(guard_);
        if (r.scores.type == dtype::f32)
            count_in_place<float>(r, skip_nan);
        else
            count_in_place<double>(r, skip_nan);
    }

    using job = counting_job;
    job prepare(const rows& r, bool skip_nan, unsigned threads) {
        const std::size_t n_parts = parts_of(r.n, threads);
        const std::lock_guard<std::mutex> lock(guard_);
        job out{r,          skip_nan,        detail::lookup_for(r, groups_),
                n_groups(), groups_.given(), groups_.given_text(),
                {}};
        for (std::size_t i = 0; i < n_parts; ++i)
            out.parts.push_back({counts_.sibling(), n_groups(), {}});
        return out;
    }

    /// Count the rows of a job. Reads nothing that an update may change, so that
    /// it needs no lock, however long it takes.
    void run(job& j) const {
        const row_loads loads = read_loads(j.r);
        in_parts(j.r.n, j.parts.size(),
                 [&](std::size_t i, std::size_t begin, std::size_t end) {
                     detail::count_part(j, begin, end, loads, memory_limit_,
                                        j.parts[i]);
                 });
    }

    /// Add a job that was run: all of it or, where there is no room, none. False
    /// if a merge brought other bins, a range or given groups: count it again.
    bool commit(job& j) {
        const std::lock_guard<std::mutex> lock(guard_);
        const tally& t = j.parts[0].counts;
        if (t.at().bins() != bins() || t.fixed() != fixed() ||
            j.given != groups_.given())
            return false;
        add_batches(j.parts);
        return true;
    }

    /// Count `repeats` rows of a weight and of a group by its name, learned if need
    /// be.
    void update_one(double score, unsigned label, const name& group, double weight,
                    std::uint64_t repeats = 1) {
        update_one(score, label, group,
                   row_weight{repeats, detail::parts_of_weight(weight, -1)});
    }
    /// The same, by default for one row of weight 1.
    void update_one(double score, unsigned label, const name& group,
                    const row_weight& row = {}) {
        const std::lock_guard<std::mutex> lock(guard_);
        check_score(score, -1);
        const std::uint32_t slot = groups_.slot_of(group);
        if (slot != group_table::none) {
            count_one(score, label, slot, row);
            return;
        }
        if (groups_.given()) refuse_group(group, groups_.given_text(), -1);
        if (row.rows == 0 || row.parts == 0) return;
        check_room_for(n_groups() + 1, row);
        group_table::addition more = make_ready({group}, label > 1);
        count_one(score, label, n_groups(), row);
        groups_.commit(std::move(more));
    }

    /// Count one row, or some of a weight, of the group in `slot`; label 2 is "not
    /// known". Not guarded: a lock would cost as much as the counting (see "reading"
    /// below).
    void count_one(double score, unsigned label, std::uint32_t slot,
                   const row_weight& row = {}) {
        const bool plain = label < 2;
        plane& to = plain ? counts_.labelled : counts_.unlabelled;
        const std::uint32_t cell = plain ? 2 * slot + label : slot;
        if (row.rows == 1 && row.parts == one_weight && !weighted()) {
            check_sum(total(), 1);
            if (!plain) counts_.resize(n_groups(), true);
            counts_.count_one(to, score, cell);
            return;
        }
        check_score(score, -1);
        const bool in_parts = weighted() || row.parts != one_weight;
        const row_load load = load_of(row, in_parts);
        if (load.total() == 0) return;
        check_sum(counts_.total_in(in_parts), load.total());
        check_room_for(n_groups(), row);
        if (!plain) counts_.resize(n_groups(), true);
        counts_.need_any_rows(to, in_parts);
        if (in_parts) counts_.make_weighted();
        counts_.count(to, &score, &cell, 1, &load, false, -1);
    }

    /// Add what another sketch has counted.
    void merge(sketch& from) {
        const std::unique_ptr<sketch> other = from.clone();  // may be this one
        const std::lock_guard<std::mutex> lock(guard_);
        gstar::sections joined = merged_sections(sections_, other->sections_,
                                                 total() != 0, other->total() != 0);
        if (is_neutral()) {
            check_room(other->n_groups(), other->bins(), other->weighted());
            counts_ = std::move(other->counts_);
            groups_ = std::move(other->groups_);
        } else if (!other->is_neutral()) {
            add(*other);
        }
        sections_ = std::move(joined);
    }

    /// The same rows with the group at place i of the public order under
    /// `names[i]`: groups that get one name become one group.
    std::unique_ptr<sketch> relabelled(const std::vector<name>& names) {
        const std::unique_ptr<sketch> from = clone();
        const std::vector<name> order = from->groups_.order();
        if (names.size() != order.size())
            refuse({"different_groups", "names", -1,
                    static_cast<std::uint64_t>(names.size()),
                    static_cast<std::uint64_t>(order.size())});
        sketch_options options{from->at(),
                               from->counts_.fixed(),
                               from->groups_.given(),
                               {},
                               memory_limit_};
        std::set<name> seen;
        for (const name& n : names)
            if (seen.insert(n).second) options.groups.push_back(n);
        auto out = std::make_unique<sketch>(options);
        out->groups_.commit(
            out->make_ready(options.groups, from->counts_.unlabelled.cells() != 0));
        std::vector<std::uint32_t> slots(order.size());
        for (std::size_t i = 0; i < order.size(); ++i)
            slots[from->groups_.slot_of(order[i])] = out->groups_.slot_of(names[i]);
        if (from->weighted()) out->counts_.make_weighted();
        out->counts_.merge({detail::added(from->counts_, slots)});
        out->sections_ = from->sections_;
        return out;
    }

    // ---- reading ------------------------------------------------------------
    // Not guarded, for callers who know that nobody updates meanwhile (as the
    // bindings do, under the GIL); `look` is for all others.

    std::uint32_t n_groups() const noexcept { return groups_.size(); }
    const group_table& groups() const noexcept { return groups_; }
    std::uint32_t bins() const noexcept { return counts_.at().bins(); }
    const window& at() const noexcept { return counts_.canonical(); }
    bool fixed() const noexcept { return counts_.fixed(); }
    bool weighted() const noexcept { return counts_.weighted(); }
    /// The sum of all multiplicities: of weights in parts, or of rows.
    std::int64_t total() const noexcept { return counts_.total(); }
    std::int64_t skipped() const noexcept { return counts_.skipped; }
    std::uint64_t memory_limit() const noexcept { return memory_limit_; }

    /// `read(tally, slots in public order)`, guarded, in the canonical window.
    template <class Read>
    auto look(Read read) {
        const std::lock_guard<std::mutex> lock(guard_);
        counts_.settle();
        std::vector<std::uint32_t> slots;
        for (const name& n : groups_.order()) slots.push_back(groups_.slot_of(n));
        return read(counts_, slots);
    }

    const gstar::sections& sections() const noexcept { return sections_; }

    /// Replace the sections, or refuse them.
    void set_sections(gstar::sections all) {
        check_sections(all);
        const std::lock_guard<std::mutex> lock(guard_);
        sections_ = std::move(all);
    }

    /// Throw if there is no room for so many groups.
    void check_room(std::size_t groups) const {
        check_room(groups, bins(), weighted());
    }
    void check_room(std::size_t groups, std::uint32_t bins, bool weighted) const {
        check_memory(groups, bins, weighted, memory_limit_);
    }

private:
    friend struct sketch_bytes;  // sketch_io.hpp

    sketch(const sketch& other, int)
        : counts_(other.counts_.clone()),
          groups_(other.groups_),
          sections_(other.sections_),
          memory_limit_(other.memory_limit_) {}

    /// Add another sketch, or refuse it; it is used up.
    void add(sketch& other) {
        check_window(other.at(), other.fixed());
        groups_.check(other.groups_);
        check_room(groups_.size() + groups_.missing(other.groups_.names()).size(),
                   bins(), weighted() || other.weighted());
        check_sums({&other.counts_});
        group_table::addition more =
            make_ready(other.groups_.names(), other.counts_.unlabelled.cells() != 0,
                       &other.groups_);
        std::vector<std::uint32_t> slots;
        for (const name& n : other.groups_.names())
            slots.push_back(slot_of(n, more));
        counts_.merge({detail::added(other.counts_, slots)});
        groups_.commit(std::move(more));
    }

    /// Nothing counted and no option chosen: merges with anything.
    bool is_neutral() const noexcept {
        return n_groups() == 0 && !groups_.given() && !fixed() && total() == 0 &&
               skipped() == 0 && bins() == 4096 && !weighted();
    }

    /// Throw if rows in another window cannot be added to ours.
    void check_window(const window& theirs, bool theirs_fixed) const {
        if (bins() != theirs.bins())
            refuse({"different_bins", "bins", -1, std::uint64_t{theirs.bins()},
                    std::uint64_t{bins()}});
        const auto range = [](const window& w, bool is_fixed) -> refused_value {
            if (!is_fixed) return {};
            return std::vector<double>{w.edge(0), w.edge(w.bins())};
        };
        if (fixed() != theirs_fixed || (fixed() && at() != theirs))
            refuse({"different_range", "range", -1, range(theirs, theirs_fixed),
                    range(at(), fixed())});
    }

    static void check_sum(std::int64_t rows, std::uint64_t more) {
        const auto most =
            static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
        if (more > most - static_cast<std::uint64_t>(rows)) refuse_overflow();
    }

    /// Throw if the weight of a row takes more memory than the limit.
    void check_room_for(std::size_t groups, const row_weight& row) const {
        if (row.parts != one_weight && !weighted())
            check_room(groups, bins(), true);
    }

    /// The names we do not have, ready to be added, and room for their counts. Cells
    /// without a group are not visible.
    group_table::addition make_ready(const std::vector<name>& names,
                                     bool unlabelled,
                                     const group_table* joined = nullptr) {
        const std::vector<name> fresh = groups_.missing(names);
        if (!fresh.empty()) check_room(groups_.size() + fresh.size());
        group_table::addition out = groups_.prepare(fresh, joined);
        counts_.resize(groups_.size() + static_cast<std::uint32_t>(fresh.size()),
                       unlabelled);
        return out;
    }

    /// Slot of a group that we have, or will have.
    std::uint32_t slot_of(const name& n, const group_table::addition& more) const {
        const std::uint32_t slot = groups_.slot_of(n);
        return slot != group_table::none ? slot : more.slot_of(n);
    }

    /// Refuse tallies that would make ours hold 2^63 rows or more, before any of
    /// them is changed.
    void check_sums(const std::vector<const tally*>& more) const {
        bool in_parts = counts_.weighted();
        for (const tally* t : more) in_parts = in_parts || t->weighted();
        std::int64_t rows = counts_.total_in(in_parts);
        std::int64_t passed_over = skipped();
        for (const tally* t : more) {
            check_sum(rows, static_cast<std::uint64_t>(t->total_in(in_parts)));
            check_sum(passed_over, static_cast<std::uint64_t>(t->skipped));
            rows += t->total_in(in_parts);
            passed_over += t->skipped;
        }
    }

    void add_batches(std::vector<batch>& parts) {
        std::vector<const tally*> more;
        for (const batch& b : parts) more.push_back(&b.counts);
        check_sums(more);
        std::vector<name> fresh;
        bool unlabelled = false;
        for (const batch& b : parts) {
            unlabelled = unlabelled || b.counts.unlabelled.cells() != 0;
            for (std::uint32_t i = 0; i < b.learned.size(); ++i)
                if (b.counts.has_rows(b.n_known + i)) fresh.push_back(b.learned[i]);
        }
        const auto weighs = [](const tally* t) { return t->weighted(); };
        if (!weighted() && std::any_of(more.begin(), more.end(), weighs))
            check_room(n_groups() + groups_.missing(fresh).size(), bins(), true);
        group_table::addition groups = make_ready(fresh, unlabelled);
        std::vector<tally::addend> all;
        for (batch& b : parts) {
            std::vector<std::uint32_t> slots;
            for (std::uint32_t i = 0; i < b.n_known; ++i) slots.push_back(i);
            for (const name& n : b.learned) slots.push_back(slot_of(n, groups));
            all.push_back(detail::added(b.counts, slots));
        }
        counts_.merge(all);
        groups_.commit(std::move(groups));
    }

    /// A small batch is read and checked whole before anything is counted.
    template <class Float>
    void count_in_place(const rows& r, bool skip_nan) {
        std::vector<Float> scores(r.n);
        detail::read_as<Float>(r.scores, 0, r.n, scores.data());
        const sizes of = detail::check_scores(scores, skip_nan);
        std::vector<resolved_block> blocks((r.n + block_rows - 1) / block_rows);
        resolver cells(r, detail::lookup_for(r, groups_), n_groups(),
                       groups_.given() ? &groups_.given_text() : nullptr);
        bool any_mixed = false;
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            const std::size_t begin = i * block_rows;
            cells.resolve(begin, std::min(block_rows, r.n - begin), blocks[i]);
            any_mixed = any_mixed || blocks[i].mixed;
        }
        check_sum(total(), r.n);
        if (skip_nan) check_sum(skipped(), r.n);
        const bool apart = !cells.learned().empty() || weighted() || total() == 0;
        std::vector<batch> part;
        if (apart) {
            // NaN rows bring no group, and parts of a weight need scaling.
            check_room(cells.n_slots());
            part.push_back({counts_.sibling(), n_groups(),
                            detail::names_of(r, cells.learned())});
        }
        tally& to = apart ? part[0].counts : counts_;
        to.resize(cells.n_slots(), !r.labels || any_mixed);
        if (!apart) {
            // From here on nothing allocates, so all rows are counted.
            if (any_mixed) {
                to.need_any_rows(to.labelled);
                to.need_any_rows(to.unlabelled);
            }
            to.need_rows(r.labels ? to.labelled : to.unlabelled, r.n, of);
        }
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            const std::size_t begin = i * block_rows;
            detail::add_block(to, scores.data() + begin, blocks[i],
                              std::min(block_rows, r.n - begin),
                              static_cast<bool>(r.labels), nullptr, skip_nan,
                              begin);
        }
        if (apart) add_batches(part);
    }

    std::mutex guard_;
    tally counts_;
    group_table groups_;
    gstar::sections sections_;
    std::uint64_t memory_limit_;
};

}  // namespace gstar
