// thresholds.hpp - a set of thresholds and the policies it is used with; its binary form.
//
// The form is docs/guide/decide.md. Whatever is read is checked before it is believed.
#pragma once

#include <array>
#include <cmath>    // fabs, isnan
#include <cstddef>  // size_t
#include <cstdint>
#include <cstring>  // memcmp
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>  // move
#include <vector>

#include "gstar/base/name.hpp"
#include "gstar/base/span.hpp"
#include "gstar/count/group_lookup.hpp"
#include "gstar/sketch_io.hpp"

namespace gstar {

/// What to do with a row of a group that has no threshold.
enum class unknown_policy : std::uint8_t { raise, use_default, use_number };

/// What to do with a row whose score is NaN.
enum class nan_policy : std::uint8_t { raise, reject, accept };

/// One of the thresholds a randomised decision may draw.
struct mixture_part {
    double threshold = 0;
    double probability = 0;
};

struct group_threshold {
    name group;
    double threshold = 0;               ///< accept when score >= threshold
    std::vector<mixture_part> mixture;  ///< of a randomised set; else empty
};

struct thresholds {
    std::vector<group_threshold> groups;
    bool unified = false;     ///< one threshold for everybody: no group is needed
    bool randomized = false;  ///< every group has a mixture
    std::optional<double> default_threshold;  ///< the best unified one
    unknown_policy unknown = unknown_policy::raise;
    double unknown_number = 0;
    nan_policy nan = nan_policy::raise;
    std::optional<std::array<std::uint8_t, 32>> sketch_digest;
    std::optional<std::int64_t> expires;  ///< seconds since 1970, UTC

    /// The threshold of an unknown group; none where it is refused.
    std::optional<double> unknown_threshold() const {
        if (unknown == unknown_policy::use_default) return default_threshold;
        if (unknown == unknown_policy::use_number) return unknown_number;
        return std::nullopt;
    }
};

[[noreturn]] inline void bad_thresholds(const std::string& what) {
    refuse({"not_valid", "thresholds", -1, what});
}

/// Refuse a set that cannot be decided by.
inline void check_thresholds(const thresholds& t) {
    if (t.groups.empty()) bad_thresholds("there is no group");
    if (t.groups.size() > most_groups) bad_thresholds("more than 65535 groups");
    std::map<name, std::size_t> seen;
    for (const group_threshold& g : t.groups) {
        if (!seen.emplace(as_dict_key(g.group), seen.size()).second)
            bad_thresholds("group " + text_of(g.group) + " is there twice");
        if (std::isnan(g.threshold))
            bad_thresholds("group " + text_of(g.group) + " has NaN");
        if (t.randomized == g.mixture.empty())
            bad_thresholds("either all groups or none have a mixture");
        if (g.mixture.empty()) continue;
        double sum = 0;
        for (const mixture_part& part : g.mixture) {
            if (std::isnan(part.threshold) || !(part.probability >= 0))
                bad_thresholds("group " + text_of(g.group) +
                               " has a mixture with NaN");
            sum += part.probability;
        }
        if (!(std::fabs(sum - 1) <= 1e-9))
            bad_thresholds("the probabilities of group " + text_of(g.group) +
                           " do not add up to 1");
    }
    if (t.unified)
        for (const group_threshold& g : t.groups)
            if (g.threshold != t.groups[0].threshold || t.randomized)
                bad_thresholds("they are unified, but groups differ");
    if (t.default_threshold && std::isnan(*t.default_threshold))
        bad_thresholds("the default is NaN");
    if (t.unknown == unknown_policy::use_default && !t.default_threshold)
        bad_thresholds("unknown groups take the default, but there is none");
    if (t.unknown == unknown_policy::use_number && std::isnan(t.unknown_number))
        bad_thresholds("the threshold of unknown groups is NaN");
}

// ---- the binary form --------------------------------------------------------

constexpr std::array<std::uint8_t, 8> thresholds_magic = {0x89, 'G', 'T',  'H',
                                                          'R',  'S', '\r', '\n'};

enum thresholds_flags : unsigned {
    flag_unified = 1,
    flag_randomized = 2,
    flag_default = 4,
    flag_digest = 8,
    flag_expires = 16
};

/// The set as bytes, the same for the same set; it ends in its checksum.
inline std::vector<std::uint8_t> to_bytes(const thresholds& t) {
    detail::byte_writer to;
    to.out.insert(to.out.end(), thresholds_magic.begin(), thresholds_magic.end());
    to.fixed(1, 2);
    to.fixed(
        (t.unified ? flag_unified : 0u) | (t.randomized ? flag_randomized : 0u) |
            (t.default_threshold ? flag_default : 0u) |
            (t.sketch_digest ? flag_digest : 0u) | (t.expires ? flag_expires : 0u),
        2);
    to.fixed(static_cast<std::uint64_t>(t.unknown), 1);
    to.fixed(static_cast<std::uint64_t>(t.nan), 1);
    to.fixed(0, 2);
    to.fixed(0, 8);  // the length, known at the end
    if (t.default_threshold) to.real(*t.default_threshold);
    if (t.unknown == unknown_policy::use_number) to.real(t.unknown_number);
    if (t.sketch_digest)
        to.out.insert(to.out.end(), t.sketch_digest->begin(),
                      t.sketch_digest->end());
    if (t.expires) to.fixed(static_cast<std::uint64_t>(*t.expires), 8);
    to.varint(t.groups.size());
    for (const group_threshold& g : t.groups) {
        to.group(g.group);
        to.real(g.threshold);
        if (!t.randomized) continue;
        to.varint(g.mixture.size());
        for (const mixture_part& part : g.mixture) {
            to.real(part.threshold);
            to.real(part.probability);
        }
    }
    const std::uint64_t length = to.out.size() + checksum_bytes;
    for (std::size_t i = 0; i < 8; ++i)
        to.out[16 + i] = static_cast<std::uint8_t>(length >> (8 * i));
    to.fixed(crc32(to.out.data(), to.out.size()), 4);
    return std::move(to.out);
}

/// The checksum the bytes of a set end in; its JSON carries it too.
inline std::uint32_t checksum_of(const thresholds& t) {
    const std::vector<std::uint8_t> bytes = to_bytes(t);
    return crc32(bytes.data(), bytes.size() - checksum_bytes);
}

namespace detail {

inline thresholds read_thresholds(span<const std::uint8_t> bytes) {
    if (bytes.size() < header_bytes + checksum_bytes)
        bad_bytes("it has " + std::to_string(bytes.size()) + " bytes, too few");
    if (std::memcmp(bytes.data(), thresholds_magic.data(), 8) != 0)
        bad_bytes("it does not begin like one");
    byte_reader head(bytes.data() + 8, bytes.end());
    const std::uint64_t version = head.fixed(2);
    if (version != 1)
        bad_bytes("it is of version " + std::to_string(version) +
                  ", and this library reads version 1; install a newer one");
    const std::uint64_t flags = head.fixed(2);
    const std::uint64_t unknown = head.fixed(1);
    const std::uint64_t nan = head.fixed(1);
    if (flags > 31 || unknown > 2 || nan > 2 || head.fixed(2) != 0)
        bad_bytes("it has unknown flags");
    if (head.fixed(8) != bytes.size())
        bad_bytes("its length is not what it says; it may be cut off");
    const std::uint8_t* const end = bytes.end() - checksum_bytes;
    if (byte_reader(end, bytes.end()).fixed(4) !=
        crc32(bytes.data(), bytes.size() - checksum_bytes))
        bad_bytes("its checksum is wrong; it is damaged");

    byte_reader from(bytes.data() + header_bytes, end);
    thresholds t;
    t.unified = (flags & flag_unified) != 0;
    t.randomized = (flags & flag_randomized) != 0;
    t.unknown = static_cast<unknown_policy>(unknown);
    t.nan = static_cast<nan_policy>(nan);
    if ((flags & flag_default) != 0) t.default_threshold = from.real();
    if (t.unknown == unknown_policy::use_number) t.unknown_number = from.real();
    if ((flags & flag_digest) != 0) {
        t.sketch_digest.emplace();
        for (std::uint8_t& b : *t.sketch_digest) b = from.byte();
    }
    if ((flags & flag_expires) != 0)
        t.expires = static_cast<std::int64_t>(from.fixed(8));
    const std::uint64_t n = from.varint();
    // A group takes ten bytes at the least: refuse before making room.
    if (n > most_groups || n * 10 > from.left())
        bad_bytes("it has too many groups");
    for (std::uint64_t i = 0; i < n; ++i) {
        group_threshold g;
        g.group = from.group();
        g.threshold = from.real();
        if (t.randomized) {
            const std::uint64_t parts = from.varint();
            if (parts > from.left() / 16) bad_bytes("it ends too early");
            for (std::uint64_t j = 0; j < parts; ++j) {
                const double threshold = from.real();
                g.mixture.push_back({threshold, from.real()});
            }
        }
        t.groups.push_back(std::move(g));
    }
    if (from.left() != 0) bad_bytes("it goes on after its end");
    return t;
}

}  // namespace detail

/// The set that these bytes describe, or std::invalid_argument.
inline thresholds thresholds_from_bytes(span<const std::uint8_t> bytes) {
    thresholds t;
    try {
        t = detail::read_thresholds(bytes);
    } catch (const input_error& e) {
        bad_thresholds(text_of(e.why.value));  // the reader takes them for a sketch
    }
    check_thresholds(t);
    return t;
}

}  // namespace gstar
