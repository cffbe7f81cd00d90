// sketch_io.hpp - sketch <-> versioned bytes; trusts no input.
//
// The format is docs/sketch_format.md. Only the canonical form is accepted, and
// everything that is read is checked before it is believed.
#pragma once

#include <cmath>  // isfinite
#include <cstdint>
#include <memory>   // unique_ptr
#include <utility>  // move
#include <vector>

#include "gstar/base/bytes.hpp"
#include "gstar/base/span.hpp"
#include "gstar/count/cell_bytes.hpp"
#include "gstar/sketch.hpp"

namespace gstar {

constexpr bytes_magic sketch_magic = {0x89, 'G', 'S', 'T', 'A', 'R', '\r', '\n'};

enum sketch_flags : unsigned { flag_weighted = 1, flag_fixed = 2, flag_given = 4 };

namespace detail {

inline group_table read_groups(byte_reader& from, bool given) {
    const std::uint64_t n = from.varint();
    // A group takes eleven bytes at the least: refuse before making room.
    if (n > most_groups || n * 11 > from.left())
        from.refuse("it has more groups than it can have");
    std::vector<name> names;
    for (std::uint64_t i = 0; i < n; ++i) {
        names.push_back(from.group());
        if (!given && i != 0 && !(names[i - 1] < names[i]))
            from.refuse("its groups are out of order");
    }
    if (given) return group_table(names);
    group_table out;
    if (out.missing(names).size() != names.size())
        from.refuse("it has a group twice");
    out.add(names);
    return out;
}

}  // namespace detail

/// The sketch as bytes, the same for the same rows.
inline std::vector<std::uint8_t> to_bytes(sketch& s) {
    return s.look(
        [&](const tally& counts, const std::vector<std::uint32_t>& slots) {
            detail::byte_writer to(sketch_magic,
                                   (counts.weighted ? flag_weighted : 0u) |
                                       (counts.fixed() ? flag_fixed : 0u) |
                                       (s.groups().given() ? flag_given : 0u),
                                   0);
            const window& at = counts.at();
            to.varint(static_cast<std::uint64_t>(bit_length(at.bins) - 1));
            to.zigzag(static_cast<std::int64_t>(at.level));
            to.zigzag(at.first);
            to.varint(static_cast<std::uint64_t>(counts.skipped));
            to.varint(slots.size());
            for (const std::uint32_t slot : slots)
                to.group(s.groups().names()[slot]);
            for (const std::uint32_t slot : slots) {
                detail::write_cell(to, counts.labelled, 2 * slot, at);
                detail::write_cell(to, counts.labelled, 2 * slot + 1, at);
                detail::write_cell(to, counts.unlabelled, slot, at);
            }
            return to.sealed();
        });
}

/// The sketch that these bytes describe, or std::invalid_argument.
inline std::unique_ptr<sketch> from_bytes(span<const std::uint8_t> bytes,
                                          std::uint64_t memory_limit) {
    const detail::opened_bytes opened = detail::open_bytes(
        bytes, sketch_magic, "sketch", [](std::uint64_t known, std::uint64_t more) {
            return known <= 7 && more == 0;
        });
    const std::uint64_t flags = opened.flags;
    detail::byte_reader from = opened.body;
    const std::uint64_t log_bins = from.varint();
    if (log_bins < 4 || log_bins > 16)
        from.refuse("its number of bins is not supported");
    const std::int64_t level = from.zigzag();
    const std::int64_t first = from.zigzag();
    sketch_options options;
    options.at = {static_cast<int>(level), first, 1u << log_bins};
    options.fixed = (flags & flag_fixed) != 0;
    options.memory_limit = memory_limit;
    const auto most_edge = static_cast<std::int64_t>(greatest_edge);
    if (level < least_level || level > greatest_level || first < -most_edge ||
        first > most_edge - options.at.bins || !std::isfinite(options.at.edge(0)) ||
        !std::isfinite(options.at.edge(options.at.bins)))
        from.refuse("its window is out of range");
    const std::uint64_t skipped = from.varint();
    if (skipped > most_rows) from.refuse("it has skipped 2**63 rows or more");
    group_table groups = detail::read_groups(from, (flags & flag_given) != 0);
    auto out = std::make_unique<sketch>(options);
    try {
        out->check_room(groups.size());
    } catch (const memory_limit_error& e) {
        refuse({"bytes_need_too_much_memory", e.why.argument, -1, e.why.value,
                e.why.limit});
    }

    tally counts(options.at, options.fixed);
    const std::uint32_t n = groups.size();
    detail::cell_reader cells(from, options.at);
    counts.resize(n, true);
    for (std::uint32_t g = 0; g < n; ++g) {
        bool any = false;
        for (std::uint32_t label = 0; label < 2; ++label) {
            cells.read(counts.labelled, 2 * g + label);
            any = any || cells.any();
        }
        cells.read(counts.unlabelled, g);
        any = any || cells.any();
        if (!any && !groups.given()) from.refuse("a learned group has no rows");
    }
    from.check_end();
    if (!options.fixed) {
        const window wanted =
            cells.lo() <= cells.hi()
                ? window_of(cells.lo(), cells.hi(), options.at.bins)
                : window{0, 0, options.at.bins};
        if (wanted != options.at)
            from.refuse("its window is not the one of its scores");
    }
    counts.skipped = static_cast<std::int64_t>(skipped);
    counts.weighted = (flags & flag_weighted) != 0;
    counts.restore(cells.lo(), cells.hi(), cells.total());
    out->restore(std::move(groups), std::move(counts));
    return out;
}

}  // namespace gstar
