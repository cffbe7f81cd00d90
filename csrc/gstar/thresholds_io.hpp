// thresholds_io.hpp - a set of thresholds <-> versioned bytes; trusts no input.
//
// The format is docs/guide/decide.md. Whatever is read is checked before it is
// believed.
#pragma once

#include <cstddef>  // size_t
#include <cstdint>
#include <utility>  // move
#include <vector>

#include "gstar/base/bytes.hpp"
#include "gstar/base/span.hpp"
#include "gstar/thresholds.hpp"

namespace gstar {

constexpr bytes_magic thresholds_magic = {0x89, 'G', 'T',  'H',
                                          'R',  'S', '\r', '\n'};

enum thresholds_flags : unsigned {
    flag_unified = 1,
    flag_randomized = 2,
    flag_default = 4,
    flag_digest = 8,
    flag_expires = 16,
    flag_cuts = 32
};

/// The set as bytes, the same for the same set; it ends in its checksum.
inline std::vector<std::uint8_t> to_bytes(const thresholds& t) {
    const unsigned flags =
        (t.unified ? flag_unified : 0u) | (t.randomized ? flag_randomized : 0u) |
        (t.default_threshold ? flag_default : 0u) |
        (t.sketch_digest ? flag_digest : 0u) | (t.expires ? flag_expires : 0u) |
        (t.cuts ? flag_cuts : 0u);
    const auto policies = static_cast<std::uint32_t>(t.unknown) |
                          static_cast<std::uint32_t>(t.nan) << 8;
    detail::byte_writer to(thresholds_magic, 1, flags, policies);
    const auto real = [&to](double v) { to.real(v + 0.0); };  // -0.0 is 0.0
    if (t.default_threshold) real(*t.default_threshold);
    if (t.unknown == unknown_policy::use_number) real(t.unknown_number);
    if (t.sketch_digest)
        to.out.insert(to.out.end(), t.sketch_digest->begin(),
                      t.sketch_digest->end());
    if (t.expires) to.fixed(static_cast<std::uint64_t>(*t.expires), 8);
    if (t.cuts) {
        to.varint(t.cuts->size());
        for (const double cut : *t.cuts) real(cut);
    }
    to.varint(t.groups.size());
    for (const group_threshold& g : t.groups) {
        to.group(g.group);
        real(g.threshold);
        if (!t.randomized) continue;
        to.varint(g.mixture.size());
        for (const mixture_part& part : g.mixture) {
            real(part.threshold);
            real(part.probability);
        }
    }
    return to.sealed();
}

/// The set that these bytes describe, or std::invalid_argument.
inline thresholds thresholds_from_bytes(span<const std::uint8_t> bytes) {
    const detail::opened_bytes opened = detail::open_bytes(
        bytes, thresholds_magic, "thresholds", 1,
        [](std::uint64_t flags, std::uint64_t policies) {
            return flags <= 63 && (policies & 0xFF) <= 2 && policies >> 8 <= 2;
        });
    const std::uint64_t flags = opened.flags;
    detail::byte_reader from = opened.body;
    thresholds t;
    t.unified = (flags & flag_unified) != 0;
    t.randomized = (flags & flag_randomized) != 0;
    t.unknown = static_cast<unknown_policy>(opened.more & 0xFF);
    t.nan = static_cast<nan_policy>(opened.more >> 8);
    if ((flags & flag_default) != 0) t.default_threshold = from.real();
    if (t.unknown == unknown_policy::use_number) t.unknown_number = from.real();
    if ((flags & flag_digest) != 0) {
        t.sketch_digest.emplace();
        for (std::uint8_t& b : *t.sketch_digest) b = from.byte();
    }
    if ((flags & flag_expires) != 0)
        t.expires = static_cast<std::int64_t>(from.fixed(8));
    if ((flags & flag_cuts) != 0) {
        const std::uint64_t n_cuts = from.varint();
        if (n_cuts > from.left() / 8) from.refuse("it ends too early");
        t.cuts.emplace();
        for (std::uint64_t i = 0; i < n_cuts; ++i) t.cuts->push_back(from.real());
    }
    const std::uint64_t n = from.varint();
    // A group takes ten bytes at the least: refuse before making room.
    if (n > most_groups || n * 10 > from.left())
        from.refuse("it has too many groups");
    for (std::uint64_t i = 0; i < n; ++i) {
        group_threshold g;
        g.group = from.group();
        g.threshold = from.real();
        if (t.randomized) {
            const std::uint64_t parts = from.varint();
            if (parts > from.left() / 16) from.refuse("it ends too early");
            for (std::uint64_t j = 0; j < parts; ++j) {
                const double threshold = from.real();
                g.mixture.push_back({threshold, from.real()});
            }
        }
        t.groups.push_back(std::move(g));
    }
    if (from.left() != 0) from.refuse("it goes on after its end");
    check_thresholds(t);
    return t;
}

}  // namespace gstar
