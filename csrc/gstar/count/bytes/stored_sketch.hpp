// stored_sketch.hpp - a sketch as bytes have it: checked, and ready to be read.
//
// The format is docs/sketch_format.md. Only the canonical form is accepted, and
// everything that is read is checked before it is believed.
#pragma once

#include <algorithm>  // adjacent_find, any_of, max, min, sort
#include <cstddef>    // size_t
#include <cstdint>
#include <cstdlib>  // abs
#include <limits>
#include <map>
#include <utility>  // move
#include <vector>

#include "gstar/base/bytes.hpp"
#include "gstar/base/name.hpp"
#include "gstar/base/span.hpp"
#include "gstar/base/weights.hpp"
#include "gstar/count/bytes/cell_reader.hpp"
#include "gstar/count/bytes/sections.hpp"
#include "gstar/count/window.hpp"

namespace gstar {

constexpr bytes_magic sketch_magic = {0x89, 'G', 'S', 'T', 'A', 'R', '\r', '\n'};

enum sketch_flags : unsigned { flag_weighted = 1, flag_fixed = 2, flag_given = 4 };

namespace detail {

// ---- parts of the bytes -----------------------------------------------------

inline bool known_sketch_flags(std::uint64_t flags, std::uint64_t reserved) {
    return reserved == 0 && flags <= 7u;
}

inline extent read_extent(byte_reader& from) {
    const std::uint8_t sides = from.byte();
    if (sides > 7) from.refuse("an extent is impossible");
    extent out;
    out.zero = (sides & 2) != 0;
    const auto read = [&](sizes& side) {
        side.near = from.real();
        side.far = from.real();
        if (!(0 < side.near && side.near <= side.far &&
              side.far <= greatest_score()))
            from.refuse("an extent is impossible");
    };
    if ((sides & 1) != 0) read(out.below);
    if ((sides & 4) != 0) read(out.above);
    return out;
}

/// Refuse names that are not distinct or, if learned, not in canonical order.
inline void check_names(const std::vector<name>& names, bool given) {
    const auto has_bool = [](const name& n) {
        const auto is_bool = [](const name& part) {
            return part.type == name::kind::boolean;
        };
        return is_bool(n) || std::any_of(n.parts.begin(), n.parts.end(), is_bool);
    };
    if (std::any_of(names.begin(), names.end(), has_bool)) {
        std::map<name, name> seen;
        for (const name& n : names) {
            const name& other = seen.emplace(as_dict_key(n), n).first->second;
            if (other != n)
                bad_bytes("sketch", "groups has both " +
                                        text_of(std::min(other, n)) + " and " +
                                        text_of(std::max(other, n)) +
                                        ", which Python cannot tell apart; use one "
                                        "kind");
        }
    }
    const auto not_before = [](const name& a, const name& b) { return !(a < b); };
    if (std::adjacent_find(names.begin(), names.end(), not_before) == names.end())
        return;
    std::vector<name> sorted = names;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
        bad_bytes("sketch", "a group appears twice");
    if (!given) bad_bytes("sketch", "groups are out of order");
}

/// Looks on while cells are read for the first time: adds up their rows, and
/// compares them with the extent that the bytes claim.
class cell_checker {
public:
    static constexpr bool first = true;

    /// `e`: the extent that the bytes claim, of rows in this window.
    cell_checker(const extent& e, const window& at) {
        if (e.below.any()) ends_ = {{-e.below.far}, {-e.below.near}};
        if (e.zero) ends_.push_back({0.0});
        if (e.above.any()) {
            ends_.push_back({e.above.near});
            ends_.push_back({e.above.far});
        }
        for (end& one : ends_) {
            const std::int64_t k = at.on().number(one.x);
            one.index = at.holds(k) ? at.index(k) : -1;
        }
    }

    void bin(const stored_bin& b) {
        while (next_ < ends_.size() && ends_[next_].index <= b.index) {
            ends_[next_].in_cell = ends_[next_].index == b.index;
            ++next_;
        }
    }

    void cell(const cell_totals& t) {
        if (t.total > most_rows - total_)
            too_many_ = true;
        else
            total_ += t.total;
        group_rows_ = group_rows_ || t.total != 0;
        any_weight_ = any_weight_ || !has_weight_one(t);
        label_rows_[cells_ % 3] = label_rows_[cells_ % 3] || t.total != 0;
        if (++cells_ % 3 == 0) {  // all labels of a group
            empty_group_ = empty_group_ || !group_rows_;
            group_rows_ = false;
        }
        for (end& one : ends_) {
            one.found =
                one.found || (one.in_cell && t.lo <= one.x && one.x <= t.hi);
            one.in_cell = false;
        }
        next_ = 0;
        if (!(t.lo <= t.hi)) return;
        scores_.add(t.lo);
        scores_.add(t.hi);
    }

    std::uint64_t total() const noexcept { return total_; }
    bool too_many() const noexcept { return too_many_; }
    bool empty_group() const noexcept { return empty_group_; }
    bool any_unlabelled() const noexcept { return label_rows_[2]; }
    bool both_labels() const noexcept { return label_rows_[0] && label_rows_[1]; }
    /// Whether some row of a weighted sketch has a weight other than 1.
    bool any_weight() const noexcept { return any_weight_; }

    /// The extent of the extremes of all cells.
    const extent& scores() const noexcept { return scores_; }

    /// Whether the extent claims a score that no cell can have.
    bool lacks_an_end() const noexcept {
        return std::any_of(ends_.begin(), ends_.end(),
                           [](const end& one) { return !one.found; });
    }

private:
    /// Whether each row has weight 1: only then the squares add up to this.
    static bool has_weight_one(const cell_totals& t) noexcept {
        weight_sum squared;
        squared.add(t.weights.rows, squared_weight_unit);
        wide<2> total;
        total.add(t.weights.rows, weight_bits);
        wide<2> found;
        found.add(static_cast<std::int64_t>(t.total), 0);
        return found == total && t.squared == squared;
    }

    /// A score that the extent says is there, and the bin it would be in.
    struct end {
        double x;
        std::int64_t index = -1;
        bool in_cell = false;
        bool found = false;
    };

    std::vector<end> ends_;  ///< ascending
    std::size_t next_ = 0;
    extent scores_;
    std::uint64_t total_ = 0;
    std::uint64_t cells_ = 0;
    bool too_many_ = false;
    bool group_rows_ = false;
    bool empty_group_ = false;
    bool label_rows_[3] = {};  ///< whether a label has rows; 2: unlabelled
    bool any_weight_ = false;
};

}  // namespace detail

// ---- what bytes describe ----------------------------------------------------

/// A sketch as bytes have it: read once, found right, and ready to be added to a
/// sketch. It points into the bytes.
class stored_sketch {
public:
    /// Rejects bytes that are not canonical. `check_room(groups, bins, weighted)` may
    /// throw too; it is called before memory of that size is allocated.
    template <class CheckRoom>
    stored_sketch(span<const std::uint8_t> data, CheckRoom check_room)
        : opened_(detail::open_bytes(data, sketch_magic, "sketch", 1,
                                     detail::known_sketch_flags)),
          cells_(opened_.body) {
        detail::byte_reader from = opened_.body;
        std::uint64_t n_groups = read_front(from);
        check_room(n_groups, at_.bins(), weighted());
        if (!fixed()) {
            const int level = at_.level();
            at_ = window_of(extent_, at_.bins());
            if (at_.level() != level)
                from.refuse(
                    "the level does not belong to the extent of its scores");
        }
        for (; n_groups > 0; --n_groups) names_.push_back(from.group());
        detail::check_names(names_, given());
        cells_ = from;
        check_cells();
    }

    bool weighted() const noexcept { return has(flag_weighted); }
    bool fixed() const noexcept { return has(flag_fixed); }
    bool given() const noexcept { return has(flag_given); }
    const window& at() const noexcept { return at_; }
    /// The extent of the rows; empty where the window is fixed.
    const extent& counted() const noexcept { return extent_; }
    const std::vector<name>& names() const noexcept { return names_; }
    const gstar::sections& sections() const noexcept { return sections_; }
    std::int64_t skipped() const noexcept { return skipped_; }
    std::int64_t total() const noexcept { return total_; }
    bool any_unlabelled() const noexcept { return any_unlabelled_; }

    /// Smallest and largest finite score; infinity and minus infinity: none.
    double lo() const noexcept {
        return scores_.empty() ? std::numeric_limits<double>::infinity()
                               : scores_.lo();
    }
    double hi() const noexcept {
        return scores_.empty() ? -std::numeric_limits<double>::infinity()
                               : scores_.hi();
    }

    /// Read all cells again: `sink(group, label)` gives who takes each.
    template <class SinkOf>
    void read_cells(SinkOf sink_of) const {
        detail::cell_reader from = cell_reader();
        for (std::uint32_t g = 0; g < names_.size(); ++g) {
            for (unsigned label = 0; label < 3; ++label) {
                auto sink = sink_of(g, label);
                from.read(sink);
            }
        }
    }

private:
    bool has(sketch_flags flag) const noexcept {
        return (opened_.flags & flag) != 0;
    }

    detail::cell_reader cell_reader() const { return {cells_, at_, weighted()}; }

    /// All that stands before the names; returns how many these are.
    std::uint64_t read_front(detail::byte_reader& from) {
        const std::uint64_t log_bins = from.varint(16);
        if (log_bins < 4) from.refuse("bins is below 16");
        const std::int64_t level = from.zigzag();
        const std::int64_t first = fixed() ? from.zigzag() : 0;
        if (level < least_level || level > greatest_level)
            from.refuse("the level is out of range");
        const auto bins = std::int64_t{1} << log_bins;
        if (fixed() && !has_edges(level, first, bins))
            from.refuse("the window is out of range");
        at_ = window::linear(static_cast<int>(level), first,
                             static_cast<std::uint32_t>(bins));
        if (!fixed()) extent_ = detail::read_extent(from);
        skipped_ = static_cast<std::int64_t>(from.varint(most_rows));
        return from.varint(most_groups);
    }

    /// Whether the edges of equal bins are all float64.
    static bool has_edges(std::int64_t level, std::int64_t first,
                          std::int64_t bins) noexcept {
        const auto most = static_cast<std::int64_t>(greatest_edge);
        if (first < -most || first > most - bins) return false;
        const std::int64_t far = std::max(std::abs(first), std::abs(first + bins));
        return bit_length(static_cast<std::uint64_t>(far)) + level <= 1024;
    }

    void check_cells() {
        detail::cell_reader from = cell_reader();
        detail::cell_checker seen(extent_, at_);
        for (std::size_t i = 0; i < 3 * names_.size(); ++i) from.read(seen);
        detail::byte_reader rest = from.rest();
        sections_ = detail::read_sections(rest);
        check_sections(sections_);
        if (seen.both_labels() &&
            detail::find_section(sections_, section::labels) != nullptr)
            rest.refuse("a section is impossible");
        if (rest.left() != 0)
            rest.refuse("there are more bytes than the sketch needs");
        if (seen.too_many()) rest.refuse("it holds 2**63 rows or more");
        if (seen.empty_group() && !given()) rest.refuse("a group has no rows");
        if (weighted() && !seen.any_weight())
            rest.refuse("it is marked as weighted, and every weight is 1");
        total_ = static_cast<std::int64_t>(seen.total());
        any_unlabelled_ = seen.any_unlabelled();
        scores_ = seen.scores();
        if (!fixed()) check_extent(rest, seen);
    }

    void check_extent(const detail::byte_reader& from,
                      const detail::cell_checker& seen) const {
        extent both = extent_;
        both.add(scores_);
        if (both != extent_ || extent_.below.far != scores_.below.far ||
            extent_.above.far != scores_.above.far)
            from.refuse("an extent is impossible");
        if (seen.lacks_an_end()) from.refuse("an extent is impossible");
    }

    detail::opened_bytes opened_;
    detail::byte_reader cells_;  ///< at the first cell
    window at_;
    extent extent_;  ///< of the rows, where the window is not fixed
    extent scores_;  ///< of the extremes of all cells
    bool any_unlabelled_ = false;
    std::int64_t skipped_ = 0;
    std::int64_t total_ = 0;
    std::vector<name> names_;
    gstar::sections sections_;
};

}  // namespace gstar
