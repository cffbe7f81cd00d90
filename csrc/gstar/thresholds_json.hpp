// thresholds_json.hpp - thresholds from the JSON that Python saves.
//
// The form is docs/guide/decide.md. A saved result is read too: its checksum covers
// everything, and only the members that decide are looked at.
#pragma once

#include <algorithm>  // find, min
#include <cmath>      // fabs, trunc
#include <cstdint>
#include <cstdio>  // snprintf
#include <map>
#include <string>
#include <string_view>
#include <utility>  // move
#include <vector>

#include "gstar/base/deadline.hpp"  // infinity
#include "gstar/base/json.hpp"
#include "gstar/thresholds_io.hpp"

namespace gstar {
namespace detail {

/// The beginning of a text that may be long, in quotes; no character is cut.
inline std::string shown(const std::string& text) {
    std::size_t n = std::min<std::size_t>(text.size(), 40);
    while (n < text.size() && (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80)
        --n;
    return "'" + text.substr(0, n) + (n < text.size() ? "..." : "") + "'";
}

/// What may stand in a member, and how messages call it.
struct json_kind {
    const char* words;
    bool (*holds)(const json&);
};

inline bool is_json_switch(const json& v) { return v.type == json::kind::boolean; }
inline bool is_json_threshold(const json& v) {
    return v.is_number() || v.text == "inf" || v.text == "-inf";
}

constexpr json_kind anything{"", [](const json&) { return true; }};
constexpr json_kind a_number{"a number",
                             [](const json& v) { return v.is_number(); }};
constexpr json_kind a_threshold{"a number, 'inf' or '-inf'", is_json_threshold};
constexpr json_kind a_switch{"true or false", is_json_switch};
constexpr json_kind a_text{
    "a string", [](const json& v) { return v.type == json::kind::text; }};
constexpr json_kind a_list{
    "a list", [](const json& v) { return v.type == json::kind::list; }};
constexpr json_kind a_policy{
    "'raise', 'default', a number, 'inf' or '-inf'", [](const json& v) {
        return is_json_threshold(v) || v.text == "raise" || v.text == "default";
    }};
constexpr json_kind a_nan_policy{"'raise', true or false", [](const json& v) {
                                     return is_json_switch(v) || v.text == "raise";
                                 }};

/// The members of an object, asked for by name.
class json_members {
public:
    json_members(const json& object, std::string where)
        : object_(object), where_(std::move(where)) {
        if (object.type != json::kind::object)
            bad_thresholds((where_.empty() ? "the document" : where_) +
                           " must be an object");
    }

    /// A member that may be left out: nullptr where it is, and where it is null if
    /// that is allowed.
    const json* find(std::string_view key, const json_kind& kind,
                     bool or_null = false) {
        asked_.push_back(key);
        const json* const v = object_.find(key);
        if (v == nullptr || (or_null && v->is_null())) return nullptr;
        if (!kind.holds(*v)) {
            std::string words = kind.words;  // "a, b or c": null is one more
            if (const std::size_t at = words.rfind(" or ");
                or_null && at != std::string::npos)
                words.replace(at, 4, ", ");
            bad_thresholds((where_.empty() ? "" : where_ + ".") + std::string(key) +
                           " must be " + words + (or_null ? " or null" : ""));
        }
        return v;
    }
    const json& need(std::string_view key, const json_kind& kind) {
        const json* const v = find(key, kind);
        if (v == nullptr)
            bad_thresholds((where_.empty() ? "it" : where_) + " lacks '" +
                           std::string(key) + "'");
        return *v;
    }
    /// Refuse members that were not asked for.
    void end() const {
        for (const auto& m : object_.members)
            if (std::find(asked_.begin(), asked_.end(), m.first) == asked_.end())
                bad_thresholds((where_.empty() ? "the document" : where_) +
                               " has an unknown member " + shown(m.first));
    }

private:
    const json& object_;
    std::string where_;
    std::vector<std::string_view> asked_;
};

/// Of a value that is a number, "inf" or "-inf"; -0.0 is 0.0.
inline double threshold_number(const json& v) noexcept {
    if (v.type == json::kind::text) return v.text == "inf" ? infinity : -infinity;
    return v.real + 0.0;
}

inline name threshold_name(const json& v, const std::string& where,
                           bool inside = false) {
    switch (v.type) {
        case json::kind::whole: return name::of(v.whole);
        case json::kind::text: return name::of_text(v.text);
        case json::kind::boolean: return name::of_bool(v.truth);
        case json::kind::object: {
            const json* parts = v.find("tuple");
            if (inside || v.members.size() != 1 || parts == nullptr ||
                parts->list.empty() || parts->list.size() > 16)
                break;
            std::vector<name> out;
            for (const json& part : parts->list)
                out.push_back(threshold_name(part, where, true));
            return name::of_tuple(std::move(out));
        }
        default: break;
    }
    bad_thresholds(where + " must be an int, a string, a bool or {'tuple': [...]}");
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

/// Seconds from 1970 of "2030-01-31T00:00:00Z", the one form a date is written in.
inline std::int64_t seconds_of(const std::string& text) {
    constexpr std::string_view form = "0000-00-00T00:00:00Z";
    bool fine = text.size() == form.size();
    for (std::size_t i = 0; fine && i < form.size(); ++i)
        fine =
            form[i] == '0' ? text[i] >= '0' && text[i] <= '9' : text[i] == form[i];
    const auto part = [&](std::size_t at, std::size_t n) {
        unsigned v = 0;
        for (std::size_t i = at; i < at + n; ++i)
            v = 10 * v + static_cast<unsigned>(text[i] - '0');
        return v;
    };
    if (!fine)
        bad_thresholds(
            "expires must be a date in UTC such as '2030-01-31T00:00:00Z'");
    const unsigned year = part(0, 4), month = part(5, 2), day = part(8, 2),
                   hour = part(11, 2), minute = part(14, 2), second = part(17, 2);
    const std::int64_t first = days_of(year, month, 1);
    const std::int64_t next = days_of(year + month / 12, month % 12 + 1, 1);
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > next - first ||
        hour > 23 || minute > 59 || second > 59)
        bad_thresholds("expires is not a date of the calendar: " + text);
    return (first + day - 1) * 86400 + hour * 3600 + minute * 60 + second;
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

inline group_threshold read_group(const json& entry, const std::string& where,
                                  bool result) {
    json_members from(entry, where);
    group_threshold g;
    g.group = threshold_name(from.need("name", anything), where + ".name");
    g.threshold = threshold_number(from.need("threshold", a_threshold));
    if (const json* mixture = from.find("mixture", a_list)) {
        if (mixture->list.empty())
            bad_thresholds(where + ".mixture must have at least one part");
        for (const json& v : mixture->list) {
            json_members part(
                v, where + ".mixture[" + std::to_string(g.mixture.size()) + "]");
            g.mixture.push_back(
                {threshold_number(part.need("threshold", a_threshold)),
                 threshold_number(part.need("probability", a_number))});
            part.end();
        }
    }
    if (!result) from.end();
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

/// Whether a document is a result; refuse what is neither that nor thresholds, or of
/// another version.
inline bool is_result(const json& document) {
    const json* const format = document.find("format");
    const bool is_one = format != nullptr && format->text == "gstar_fast.result";
    if (!is_one && (format == nullptr || format->text != "gstar_fast.thresholds"))
        bad_thresholds(
            "'format' is not 'gstar_fast.result' nor 'gstar_fast.thresholds'");
    const json* const version = document.find("version");
    if (version == nullptr || version->type != json::kind::whole ||
        version->whole != 1)
        bad_thresholds(
            "it is of another version, and this library reads 1; install a newer "
            "one");
    return is_one;
}

/// "crc32:" and eight digits, as a document carries it.
inline std::string checksum_text(const json& document) {
    char text[16];
    std::snprintf(text, sizeof text, "crc32:%08x", content_checksum(document));
    return text;
}

/// The thresholds of a document, its checksum not yet compared. What else a result
/// says is for Python to read.
inline thresholds thresholds_of(const json& document) {
    const bool result = is_result(document);
    json_members from(document, "");
    thresholds t;
    for (const char* const key : {"format", "version"}) from.need(key, anything);
    for (const char* const key : {"score_column", "group_column"})
        from.find(key, a_text, true);
    from.find("checksum", a_text);
    if (const json* v = from.find("unified", a_switch)) t.unified = v->truth;
    if (const json* v = from.find("default_threshold", a_threshold, true))
        t.default_threshold = threshold_number(*v);
    if (const json* v = from.find("unknown", a_policy)) {
        t.unknown = v->text == "raise"     ? unknown_policy::raise
                    : v->text == "default" ? unknown_policy::use_default
                                           : unknown_policy::use_number;
        if (t.unknown == unknown_policy::use_number)
            t.unknown_number = threshold_number(*v);
    }
    if (const json* v = from.find("nan", a_nan_policy))
        t.nan = v->type == json::kind::text ? nan_policy::raise
                : v->truth                  ? nan_policy::accept
                                            : nan_policy::reject;
    if (const json* v = from.find("sketch_digest", a_text, true))
        t.sketch_digest = digest_of(v->text);
    if (const json* v = from.find("expires", a_text, true))
        t.expires = seconds_of(v->text);
    if (const json* v = from.find("cuts", a_list, true)) {
        t.cuts.emplace();
        for (const json& cut : v->list) {
            if (!cut.is_number())
                bad_thresholds("cuts[" + std::to_string(t.cuts->size()) +
                               "] must be a number");
            t.cuts->push_back(threshold_number(cut));
        }
    }
    for (const json& entry : from.need("groups", a_list).list)
        t.groups.push_back(read_group(
            entry, "groups[" + std::to_string(t.groups.size()) + "]", result));
    if (!result) from.end();
    t.randomized = !t.groups.empty() && !t.groups[0].mixture.empty();
    check_thresholds(t);
    return t;
}

}  // namespace detail

/// The longest text that is read: 65,535 groups take less than half of it.
constexpr std::size_t longest_json = std::size_t{1} << 27;

/// The thresholds that this JSON says, or std::invalid_argument.
///
/// Whether they have expired or came from the right sketch is for the caller to
/// ask: `expires`, `sketch_digest`.
inline thresholds thresholds_from_json(std::string_view text) {
    if (text.size() > longest_json) bad_thresholds("larger than 128 MiB");
    const json document = read_json(text);
    thresholds t = detail::thresholds_of(document);
    const json* const found = document.find("checksum");
    if (found == nullptr) bad_thresholds("it lacks 'checksum'");
    const std::string wanted = detail::checksum_text(document);
    if (found->text != wanted)
        bad_thresholds("the checksum is " + detail::shown(found->text) +
                       ", but the content has '" + wanted +
                       "': it was changed or damaged");
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
