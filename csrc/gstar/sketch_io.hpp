// sketch_io.hpp - sketch <-> versioned bytes; trusts no input.
//
// The format is docs/sketch_format.md. Bytes are read twice: the first time all
// of them are checked, and only then anything is made or changed.
#pragma once

#include <algorithm>  // find
#include <cstddef>    // size_t
#include <cstdint>
#include <memory>  // unique_ptr
#include <mutex>
#include <utility>  // move
#include <vector>

#include "gstar/base/bytes.hpp"
#include "gstar/base/span.hpp"
#include "gstar/base/weights.hpp"
#include "gstar/count/bytes/sections.hpp"
#include "gstar/count/bytes/stored_sketch.hpp"
#include "gstar/count/bytes/wide_numbers.hpp"
#include "gstar/sketch.hpp"

namespace gstar {

namespace detail {

// ---- writing ----------------------------------------------------------------

inline void write_extent(byte_writer& to, const extent& e) {
    to.fixed(
        (e.below.any() ? 1u : 0u) | (e.zero ? 2u : 0u) | (e.above.any() ? 4u : 0u),
        1);
    for (const sizes& side : {e.below, e.above}) {
        if (!side.any()) continue;
        to.real(side.near);
        to.real(side.far);
    }
}

/// Whether the cell has rows, once it is written.
inline bool write_cell(byte_writer& to, const plane& p, std::uint32_t cell,
                       const window& at) {
    if (cell >= p.cells()) {
        to.fixed(0, 3);
        return false;
    }
    to.varint(static_cast<std::uint64_t>(p.below(cell)));
    to.varint(static_cast<std::uint64_t>(p.above(cell)));
    std::uint64_t n_full = 0;
    for (std::uint32_t b = 0; p.has_rows(cell) && b < at.bins(); ++b)
        if (p.count(cell, b) != 0) ++n_full;
    to.varint(n_full);
    const bool any = n_full != 0 || p.below(cell) != 0 || p.above(cell) != 0;
    if (p.weighted() && any) {
        to.varint(static_cast<std::uint64_t>(p.rows(cell)));
        write_varint(to, p.weights(cell).below);
        write_varint(to, p.weights(cell).above);
    }
    if (n_full == 0) return any;
    to.real(p.lo(cell));
    to.real(p.hi(cell));
    std::uint32_t next = 0;
    for (std::uint32_t b = 0; b < at.bins(); ++b) {
        const std::int64_t n = p.count(cell, b);
        if (n == 0) continue;
        to.varint(b - next);
        next = b + 1;
        to.varint(static_cast<std::uint64_t>(n));
        if (p.weighted()) write_varint(to, p.square(cell, b));
        const std::int64_t k = at.number(b);
        if (at_zero(k))
            write_number(to, p.zero(cell, k), zero_unit);
        else
            write_zigzag(to, p.sum(cell, b));
    }
    return true;
}

// ---- reading ----------------------------------------------------------------

/// Bins on their way into planes. They lie far apart in memory, so each is fetched
/// some time before it is put.
class bins_on_their_way {
public:
    bins_on_their_way() = default;
    bins_on_their_way(const bins_on_their_way&) = delete;
    bins_on_their_way& operator=(const bins_on_their_way&) = delete;

    void add(plane& to, std::uint32_t cell, std::uint32_t bin, std::int64_t n,
             const weight_sum& squared, const bin_sum& sum) {
        to.fetch(cell, bin);
        place& next = places_[n_++ % most];
        next.put();
        next = {&to, cell, bin, n, squared, sum};
    }

    /// Put all that are still on their way.
    void arrive() {
        for (place& one : places_) {
            one.put();
            one.to = nullptr;
        }
    }

private:
    static constexpr std::size_t most = 32;
    struct place {
        plane* to = nullptr;
        std::uint32_t cell = 0;
        std::uint32_t bin = 0;
        std::int64_t n = 0;
        weight_sum squared;
        bin_sum sum;

        void put() const {
            if (to != nullptr) to->put(cell, bin, n, squared, sum);
        }
    };

    place places_[most];
    std::size_t n_ = 0;
};

/// Puts a cell that is being read into a plane, whose window may be coarser.
class cell_adder {
public:
    static constexpr bool first = false;

    cell_adder(bins_on_their_way& bins, plane& to, std::uint32_t cell,
               const window& at, const stored_sketch& from)
        : bins_(bins),
          to_(to),
          cell_(cell),
          at_(at),
          from_(from.at().on()),
          same_(from_ == at.on()),
          scale_(to.weighted() && !from.weighted() ? weight_bits : 0) {}

    void bin(const stored_bin& b) {
        const auto n = static_cast<std::int64_t>(b.n << scale_);
        const weight_sum squared = scale_ != 0 ? of_rows(b.n) : b.squared;
        if (at_zero(b.k)) {
            zero_sum sum = b.zero;
            if (scale_ != 0) sum.shift_left(scale_);
            to_.put(cell_, index(b.k), n, squared, sum, b.k);
            return;
        }
        bin_sum sum = b.sum;
        if (scale_ != 0) sum.shift_left(scale_);
        if (same_) {
            bins_.add(to_, cell_, index(b.k), n, squared, sum);
            return;
        }
        const bin_move move(from_, b.k, at_.on());
        if (move.into_zero) {
            zero_sum zero;
            move.follow(static_cast<std::uint64_t>(n), sum, zero);
            to_.put(cell_, index(move.to), n, squared, zero, move.to);
        } else {
            move.follow(static_cast<std::uint64_t>(n), sum);
            bins_.add(to_, cell_, index(move.to), n, squared, sum);
        }
    }

    void cell(const cell_totals& t) {
        if (t.total == 0) return;
        cell_weights weights = t.weights;
        if (scale_ != 0)
            weights = {static_cast<std::int64_t>(t.total), of_rows(t.below),
                       of_rows(t.above)};
        to_.put_beyond(cell_, static_cast<std::int64_t>(t.below << scale_),
                       static_cast<std::int64_t>(t.above << scale_), weights);
        if (t.lo <= t.hi) to_.cover(cell_, t.lo, t.hi);
    }

private:
    /// Squared weights of this many rows of weight 1.
    static weight_sum of_rows(std::uint64_t n) noexcept {
        weight_sum out;
        out.add(static_cast<std::int64_t>(n), squared_weight_unit);
        return out;
    }

    std::uint32_t index(std::int64_t k) const noexcept {
        return static_cast<std::uint32_t>(at_.index(k));
    }

    bins_on_their_way& bins_;
    plane& to_;
    std::uint32_t cell_;
    const window& at_;
    const grid from_;
    bool same_;
    unsigned scale_;  ///< rows become parts of a weight by so many bits
};

}  // namespace detail

/// What bytes may do with a sketch.
struct sketch_bytes {
    /// The sketch as bytes, the same for the same rows and sections.
    static std::vector<std::uint8_t> write(sketch& s, bool all_sections) {
        return s.look([&](const tally& t, const std::vector<std::uint32_t>& slots) {
            detail::byte_writer to(sketch_magic, 1,
                                   (t.weighted() ? flag_weighted : 0u) |
                                       (t.fixed() ? flag_fixed : 0u) |
                                       (s.groups_.given() ? flag_given : 0u),
                                   0);
            const window& at = t.at();
            to.varint(static_cast<std::uint64_t>(bit_length(at.bins()) - 1));
            to.zigzag(at.level());
            if (t.fixed())
                to.zigzag(at.first());
            else
                detail::write_extent(to, t.reach());
            to.varint(static_cast<std::uint64_t>(t.skipped));
            to.varint(slots.size());
            for (const std::uint32_t slot : slots)
                to.group(s.groups_.names()[slot]);
            bool rows[2] = {false, false};  // whether labels 0 and 1 have any
            for (const std::uint32_t slot : slots) {
                for (const std::uint32_t label : {0u, 1u})
                    if (detail::write_cell(to, t.labelled, 2 * slot + label, at))
                        rows[label] = true;
                detail::write_cell(to, t.unlabelled, slot, at);
            }
            const bool both = rows[0] && rows[1];
            sections written;
            for (const section& one : s.sections_)
                if (one.speaks_of_rows() ||
                    (all_sections && !(both && one.type == section::labels)))
                    written.push_back(one);
            detail::write_sections(to, written);
            return to.sealed();
        });
    }

    static std::unique_ptr<sketch> read(span<const std::uint8_t> bytes,
                                        std::uint64_t memory_limit) {
        sketch_options options;
        options.memory_limit = memory_limit;
        auto out = std::make_unique<sketch>(options);
        const stored_sketch from = checked(*out, bytes);
        become(*out, from);
        return out;
    }

    /// The sections of the bytes, as they were before they were merged.
    static sections merge(sketch& s, span<const std::uint8_t> bytes) {
        const stored_sketch from = checked(s, bytes);
        sections told = from.sections();
        const std::lock_guard<std::mutex> lock(s.guard_);
        sections joined = merged_sections(s.sections_, from.sections(),
                                          s.total() > 0, from.total() > 0);
        if (s.is_neutral())
            become(s, from);
        else if (!is_neutral(from))
            add(s, from);
        s.sections_ = std::move(joined);
        return told;
    }

private:
    static stored_sketch checked(const sketch& s, span<const std::uint8_t> bytes) {
        return {bytes,
                [&](std::uint64_t groups, std::uint32_t bins, bool weighted) {
                    try {
                        s.check_room(groups, bins, weighted);
                    } catch (const memory_limit_error& e) {
                        refuse({"bytes_need_too_much_memory", e.why.argument, -1,
                                e.why.value, e.why.limit});
                    }
                }};
    }

    static bool is_neutral(const stored_sketch& from) noexcept {
        return from.names().empty() && !from.given() && !from.fixed() &&
               from.total() == 0 && from.skipped() == 0 &&
               from.at().bins() == 4096 && !from.weighted();
    }

    static group_table groups_of(const stored_sketch& from) {
        if (from.given()) return group_table(from.names());
        group_table out;
        out.commit(out.prepare(from.names()));
        return out;
    }

    /// Put all cells into a tally whose window holds them; group i is slot `slots[i]`.
    static void put_cells(tally& to, const stored_sketch& from,
                          const std::vector<std::uint32_t>& slots) {
        detail::bins_on_their_way bins;
        from.read_cells([&](std::uint32_t g, unsigned label) {
            const std::uint32_t slot = slots[g];
            plane& cells = label < 2 ? to.labelled : to.unlabelled;
            return detail::cell_adder(
                bins, cells, label < 2 ? 2 * slot + label : slot, to.at(), from);
        });
        bins.arrive();
    }

    /// Make an empty sketch the one that the bytes describe.
    static void become(sketch& s, const stored_sketch& from) {
        tally counts(from.at(), from.fixed());
        if (from.weighted()) counts.make_weighted();
        counts.skipped = from.skipped();
        const auto n = static_cast<std::uint32_t>(from.names().size());
        counts.resize(n, from.any_unlabelled());
        std::vector<std::uint32_t> slots;
        for (std::uint32_t slot = 0; slot < n; ++slot) slots.push_back(slot);
        put_cells(counts, from, slots);
        counts.restore(from.counted(), from.lo(), from.hi(), from.total());
        sections all = from.sections();
        s.groups_ = groups_of(from);  // the last that may throw
        s.counts_ = std::move(counts);
        s.sections_ = std::move(all);
    }

    /// Add the rows of bytes to a sketch that is not empty: first all that may be
    /// refused, then all that changes.
    static void add(sketch& s, const stored_sketch& from) {
        s.check_window(from.at(), from.fixed());
        const bool learned = !s.groups_.given() && !from.given();
        const group_table theirs = learned ? group_table() : groups_of(from);
        s.groups_.check(theirs);
        std::vector<std::uint32_t> slots = slots_of(s, from);
        const bool known =
            std::find(slots.begin(), slots.end(), group_table::none) == slots.end();
        const bool parts = s.weighted() || from.weighted();
        if (!known || parts != s.weighted())
            s.check_room(s.n_groups() + s.groups_.missing(from.names()).size(),
                         s.bins(), parts);
        const std::int64_t total =
            parts && !from.weighted() ? in_parts_of(from.total()) : from.total();
        sketch::check_sum(s.counts_.total_in(parts),
                          static_cast<std::uint64_t>(total));
        sketch::check_sum(s.skipped(), static_cast<std::uint64_t>(from.skipped()));

        tally& to = s.counts_;
        group_table::addition groups =
            s.make_ready(known ? std::vector<name>() : from.names(),
                         from.any_unlabelled(), learned ? nullptr : &theirs);
        for (std::size_t i = 0; !known && i < slots.size(); ++i)
            slots[i] = s.slot_of(from.names()[i], groups);
        const frame wider = to.wider(from.counted(), from.lo(), from.hi());
        to.need_room(parts, wider);
        to.need_bins(parts, wider, from.any_unlabelled());

        // From here on nothing throws and nothing allocates.
        s.groups_.commit(std::move(groups));
        if (parts) to.make_weighted();
        to.make_room(from.counted(), from.lo(), from.hi());
        put_cells(to, from, slots);
        to.restore(to.reach(), to.lo(), to.hi(), to.total() + total);
        to.skipped += from.skipped();
    }

    static std::vector<std::uint32_t> slots_of(const sketch& s,
                                               const stored_sketch& from) {
        std::vector<std::uint32_t> out;
        for (const name& n : from.names()) out.push_back(s.groups_.slot_of(n));
        return out;
    }
};

/// The sketch as bytes, the same for the same rows and sections.
inline std::vector<std::uint8_t> to_bytes(sketch& s) {
    return sketch_bytes::write(s, true);
}

/// The same with no sections but those that speak of the rows.
inline std::vector<std::uint8_t> row_bytes(sketch& s) {
    return sketch_bytes::write(s, false);
}

/// The sketch that these bytes describe, or std::invalid_argument.
inline std::unique_ptr<sketch> from_bytes(span<const std::uint8_t> bytes,
                                          std::uint64_t memory_limit) {
    return sketch_bytes::read(bytes, memory_limit);
}

/// Add what bytes describe: the same as merging `from_bytes`, without a second
/// sketch. If it throws, nothing has changed. Returns the sections of the bytes.
inline sections merge_bytes(sketch& s, span<const std::uint8_t> bytes) {
    return sketch_bytes::merge(s, bytes);
}

}  // namespace gstar
