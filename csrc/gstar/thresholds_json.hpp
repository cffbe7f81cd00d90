// thresholds_json.hpp - thresholds from the JSON that Python saves.
//
// The form is docs/guide/decide.md; a saved result is read too, having the same fields.
#pragma once

#include <cmath>  // fabs, trunc
#include <cstdint>
#include <cstdio>  // snprintf
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>  // move
#include <vector>

#include "gstar/base/json.hpp"
#include "gstar/thresholds_io.hpp"

namespace gstar {
namespace detail {

inline double threshold_number(const json* v, const std::string& where) {
    if (v != nullptr && v->is_number()) return v->real + 0.0;  // -0.0 is 0.0
    if (v != nullptr && v->text == "inf")
        return std::numeric_limits<double>::infinity();
    if (v != nullptr && v->text == "-inf")
        return -std::numeric_limits<double>::infinity();
    bad_thresholds(where + " must be a number, 'inf' or '-inf'");
}

inline name threshold_name(const json* v, const std::string& where,
                           bool inside = false) {
    if (v != nullptr) switch (v->type) {
            case json::kind::whole: return name::of(v->whole);
            case json::kind::text: return name::of_text(v->text);
            case json::kind::boolean: return name::of_bool(v->truth);
            case json::kind::object: {
                const json* parts = v->find("tuple");
                if (inside || v->members.size() != 1 || parts == nullptr ||
                    parts->list.empty() || parts->list.size() > 16)
                    break;
                std::vector<name> out;
                for (const json& part : parts->list)
                    out.push_back(threshold_name(&part, where, true));
                return name::of_tuple(std::move(out));
            }
            default: break;
        }
    bad_thresholds(where +
                   " must be an int, a string, a bool or {\"tuple\": [...]}");
}

/// Days from 1970 of a date (Gregorian calendar).
inline std::int64_t days_of(std::int64_t year, unsigned month,
                            unsigned day) noexcept {
    year -= month <= 2 ? 1 : 0;
    const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
    const auto of_era = static_cast<unsigned>(year - era * 400);
    const unsigned of_year =
        (153 * (month + (month > 2 ? -3u : 9u)) + 2) / 5 + day - 1;
    const unsigned of_days = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    return era * 146097 + static_cast<std::int64_t>(of_days) - 719468;
}

/// Seconds from 1970 of "2030-01-31T00:00:00Z", as it is written by Python.
inline std::int64_t seconds_of(const std::string& text) {
    constexpr std::string_view form = "0000-00-00T00:00:00Z";
    bool fine = text.size() == form.size();
    for (std::size_t i = 0; fine && i < form.size(); ++i)
        fine =
            form[i] == '0' ? text[i] >= '0' && text[i] <= '9' : text[i] == form[i];
    if (!fine)
        bad_thresholds("expires must be a date such as 2030-01-31T00:00:00Z");
    const auto part = [&](std::size_t at, std::size_t n) {
        unsigned v = 0;
        for (std::size_t i = at; i < at + n; ++i)
            v = 10 * v + static_cast<unsigned>(text[i] - '0');
        return v;
    };
    return days_of(part(0, 4), part(5, 2), part(8, 2)) * 86400 +
           part(11, 2) * 3600 + part(14, 2) * 60 + part(17, 2);
}

inline std::array<std::uint8_t, 32> digest_of(const std::string& text) {
    std::array<std::uint8_t, 32> out{};
    if (text.size() != 64)
        bad_thresholds("sketch_digest must be 64 hexadecimal digits");
    for (std::size_t i = 0; i < 64; ++i) {
        const std::size_t digit =
            std::string_view("0123456789abcdef").find(text[i]);
        if (digit == std::string_view::npos)
            bad_thresholds("sketch_digest must be 64 hexadecimal digits");
        out[i / 2] = static_cast<std::uint8_t>(out[i / 2] * 16 + digit);
    }
    return out;
}

/// A member that is there and not null.
inline const json* given(const json& document, std::string_view key) noexcept {
    const json* v = document.find(key);
    return v == nullptr || v->type == json::kind::null ? nullptr : v;
}

inline void read_policies(const json& document, thresholds& t) {
    if (const json* v = given(document, "unknown")) {
        if (v->text == "default")
            t.unknown = unknown_policy::use_default;
        else if (v->text != "raise") {
            t.unknown = unknown_policy::use_number;
            t.unknown_number = threshold_number(v, "unknown");
        }
    }
    if (const json* v = given(document, "nan")) {
        if (v->type == json::kind::boolean)
            t.nan = v->truth ? nan_policy::accept : nan_policy::reject;
        else if (v->text != "raise")
            bad_thresholds("nan must be \"raise\", true or false");
    }
}

inline group_threshold read_group(const json& entry, const std::string& where) {
    group_threshold g;
    g.group = threshold_name(entry.find("name"), where + ".name");
    g.threshold = threshold_number(entry.find("threshold"), where + ".threshold");
    if (const json* mixture = entry.find("mixture"))
        for (const json& part : mixture->list)
            g.mixture.push_back(
                {threshold_number(part.find("threshold"), where),
                 threshold_number(part.find("probability"), where)});
    return g;
}

/// The bytes of a value: a letter for its kind, and then the value.
///
/// They say what the document says, not how it is laid out: keys are sorted, and
/// 1.0 is 1. Python's checksum is of the same bytes (docs/guide/decide.md).
inline void add_content(byte_writer& to, const json& v, bool outermost = true) {
    const auto begin = [&](char kind, std::uint64_t size) {
        to.fixed(static_cast<std::uint8_t>(kind), 1);
        to.fixed(size, 8);
    };
    const auto add_text = [&](const std::string& text) {
        begin('s', text.size());
        to.out.insert(to.out.end(), text.begin(), text.end());
    };
    switch (v.type) {
        case json::kind::null: to.fixed('n', 1); break;
        case json::kind::boolean: to.fixed(v.truth ? 't' : 'f', 1); break;
        case json::kind::whole:
            begin('i', static_cast<std::uint64_t>(v.whole));
            break;
        case json::kind::real:
            if (v.real == std::trunc(v.real) && std::fabs(v.real) <= 0x1p63 &&
                v.real != 0x1p63) {
                begin('i', static_cast<std::uint64_t>(
                               static_cast<std::int64_t>(v.real)));
            } else {
                to.fixed('d', 1);
                to.real(v.real);
            }
            break;
        case json::kind::text: add_text(v.text); break;
        case json::kind::list:
            begin('l', v.list.size());
            for (const json& part : v.list) add_content(to, part, false);
            break;
        case json::kind::object: {
            std::map<std::string_view, const json*> sorted;
            for (const auto& m : v.members)
                if (!outermost || m.first != "checksum")
                    sorted.emplace(m.first, &m.second);
            begin('o', sorted.size());
            for (const auto& m : sorted) {
                add_text(std::string(m.first));
                add_content(to, *m.second, false);
            }
        }
    }
}

/// The checksum of all that a document says, besides its own member.
inline std::uint32_t content_checksum(const json& document) {
    byte_writer to;
    add_content(to, document);
    return crc32(to.out.data(), to.out.size());
}

}  // namespace detail

/// The thresholds that this JSON says, or std::invalid_argument.
///
/// The checksum is compared where there is one, and version 2 must have one.
/// Whether they have expired or came from the right sketch is for the caller to
/// ask: `expires`, `sketch_digest`.
inline thresholds thresholds_from_json(std::string_view text) {
    using detail::given;
    const json document = read_json(text);
    const json* format = document.find("format");
    if (format == nullptr || (format->text != "gstar_fast.thresholds" &&
                              format->text != "gstar_fast.result"))
        bad_thresholds(
            "'format' is neither 'gstar_fast.thresholds' nor 'gstar_fast.result'");
    const json* version = document.find("version");
    if (version == nullptr || version->type != json::kind::whole ||
        version->whole < 1 || version->whole > 2)
        bad_thresholds("this library reads versions 1 and 2; install a newer one");
    thresholds t;
    if (const json* v = given(document, "unified")) t.unified = v->truth;
    if (const json* v = given(document, "default_threshold"))
        t.default_threshold = detail::threshold_number(v, "default_threshold");
    detail::read_policies(document, t);
    if (const json* v = given(document, "sketch_digest"))
        t.sketch_digest = detail::digest_of(v->text);
    if (const json* v = given(document, "expires"))
        t.expires = detail::seconds_of(v->text);
    if (const json* groups = document.find("groups"))
        for (const json& entry : groups->list)
            t.groups.push_back(detail::read_group(
                entry, "groups[" + std::to_string(t.groups.size()) + "]"));
    t.randomized = !t.groups.empty() && !t.groups[0].mixture.empty();
    // The rules for names (valid UTF-8, for one) are those of the bytes.
    const std::vector<std::uint8_t> bytes = to_bytes(t);
    t = thresholds_from_bytes({bytes.data(), bytes.size()});
    const bool whole = version->whole > 1;  // else of what decisions depend on
    const json* const checksum = given(document, "checksum");
    if (whole && checksum == nullptr)
        bad_thresholds("the checksum is missing: it was changed or damaged");
    if (const json* v = checksum) {
        char wanted[16];
        std::snprintf(wanted, sizeof wanted, "crc32:%08x",
                      whole ? detail::content_checksum(document) : checksum_of(t));
        if (v->text != wanted)
            bad_thresholds("the checksum is '" + v->text +
                           "', but the content has '" + wanted +
                           "': it was changed or damaged");
    }
    return t;
}

/// Either form, told apart by the first byte.
inline thresholds read_thresholds(span<const std::uint8_t> bytes) {
    if (!bytes.empty() && bytes[0] == thresholds_magic[0])
        return thresholds_from_bytes(bytes);
    return thresholds_from_json(
        {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace gstar
