// thresholds_json.hpp - thresholds from the JSON that Python saves.
//
// The form is docs/guide/decide.md. A saved result is read too: its checksum covers
// everything, and only the members that decide are looked at.
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
#include "gstar/decide/members.hpp"
#include "gstar/thresholds_io.hpp"

namespace gstar {
namespace detail {

/// Of a value that `check_document` found to be a number: -0.0 is 0.0.
inline double number_in(const json& v) noexcept { return v.real + 0.0; }

/// Of a value that `check_document` found to be a number, "inf" or "-inf".
inline double threshold_number(const json& v) noexcept {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (v.type == json::kind::text) return v.text == "inf" ? infinity : -infinity;
    return number_in(v);
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

/// How many days a month has; 0 where there is no such month.
inline unsigned days_in(unsigned year, unsigned month) noexcept {
    constexpr unsigned days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (month < 1 || month > 12) return 0;
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap ? 1 : 0);
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
    const unsigned year = part(0, 4);
    const unsigned month = part(5, 2);
    const unsigned day = part(8, 2);
    const unsigned hour = part(11, 2);
    const unsigned minute = part(14, 2);
    const unsigned second = part(17, 2);
    if (year < 1 || day < 1 || day > days_in(year, month) || hour > 23 ||
        minute > 59 || second > 59)
        bad_thresholds("expires is not a date of the calendar: " + text);
    return days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
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
    const auto is_word = [](const json& v, const char* word) {
        return v.type == json::kind::text && v.text == word;
    };
    if (const json* v = document.find("unknown")) {
        if (is_word(*v, "default")) {
            t.unknown = unknown_policy::use_default;
        } else if (!is_word(*v, "raise")) {
            if (!fits(*v, is_number | is_infinity))
                bad_thresholds(
                    "unknown must be 'raise', 'default', a number, 'inf' or "
                    "'-inf'");
            t.unknown = unknown_policy::use_number;
            t.unknown_number = threshold_number(*v);
        }
    }
    if (const json* v = document.find("nan")) {
        if (v->type == json::kind::boolean)
            t.nan = v->truth ? nan_policy::accept : nan_policy::reject;
        else if (!is_word(*v, "raise"))
            bad_thresholds("nan must be 'raise', true or false");
    }
}

inline group_threshold read_group(const json& entry, const std::string& where) {
    group_threshold g;
    g.group = threshold_name(*entry.find("name"), where + ".name");
    g.threshold = threshold_number(*entry.find("threshold"));
    if (const json* mixture = entry.find("mixture"))
        for (const json& part : mixture->list)
            g.mixture.push_back({threshold_number(*part.find("threshold")),
                                 number_in(*part.find("probability"))});
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

/// Whether a document is a result; refuse what is neither that nor thresholds.
inline bool is_result(const json& document) {
    const json* const format = document.find("format");
    const bool is_one = format != nullptr && format->text == "gstar_fast.result";
    if (!is_one && (format == nullptr || format->text != "gstar_fast.thresholds"))
        bad_thresholds(
            "'format' is not 'gstar_fast.result' nor 'gstar_fast.thresholds'");
    return is_one;
}

inline void check_version(const json& document) {
    const json* const version = document.find("version");
    if (version == nullptr || version->type != json::kind::whole ||
        version->whole != 1)
        bad_thresholds(
            "it is of another version, and this library reads 1; install a newer "
            "one");
}

/// "crc32:" and eight digits, as a document carries it.
inline std::string checksum_text(const json& document) {
    char text[16];
    std::snprintf(text, sizeof text, "crc32:%08x", content_checksum(document));
    return text;
}

/// The thresholds of a document, its checksum not yet compared.
inline thresholds thresholds_of(const json& document) {
    const bool result = is_result(document);
    check_version(document);
    check_document(document, result);
    thresholds t;
    if (const json* v = document.find("unified")) t.unified = v->truth;
    if (const json* v = given(document, "default_threshold"))
        t.default_threshold = threshold_number(*v);
    read_policies(document, t);
    if (const json* v = given(document, "sketch_digest"))
        t.sketch_digest = digest_of(v->text);
    if (const json* v = given(document, "expires")) t.expires = seconds_of(v->text);
    if (const json* v = given(document, "cuts")) {
        t.cuts.emplace();
        for (const json& cut : v->list) t.cuts->push_back(number_in(cut));
    }
    for (const json& entry : document.find("groups")->list)
        t.groups.push_back(
            read_group(entry, "groups[" + std::to_string(t.groups.size()) + "]"));
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
