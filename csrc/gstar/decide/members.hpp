// members.hpp - what may stand in the members of a saved document that decide.
//
// docs/guide/decide.md states the rules. gstar_fast/_decide/members.py says the same
// in Python, also of what else a result has; tests/documents compares the two.
#pragma once

#include <algorithm>  // find_if, min
#include <cstddef>    // size_t
#include <iterator>   // begin, end
#include <string>
#include <string_view>
#include <vector>

#include "gstar/base/error.hpp"
#include "gstar/base/json.hpp"

namespace gstar::detail {

[[noreturn]] inline void bad_document(const std::string& what) {
    refuse({"not_valid", "thresholds", -1, what});
}

/// The beginning of a text that may be long, in quotes; no character is cut.
inline std::string shown(const std::string& text) {
    std::size_t n = std::min<std::size_t>(text.size(), 40);
    while (n < text.size() && (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80)
        --n;
    return "'" + text.substr(0, n) + (n < text.size() ? "..." : "") + "'";
}

/// Kinds of values, to be combined: `is_text | is_null`.
enum value_kind : unsigned {
    is_null = 1,
    is_switch = 2,
    is_number = 4,
    is_infinity = 8,  ///< the strings "inf" and "-inf"
    is_count = 16,    ///< a whole number, not negative
    is_text = 32,
    is_list = 64,
    is_object = 128,
    any_value = 256  ///< looked at by whoever takes it
};

struct member {
    std::string_view key;
    unsigned kinds;
    bool required;
};

inline bool fits(const json& v, unsigned kinds) noexcept {
    const auto may_be = [&](unsigned kind) { return (kinds & kind) != 0; };
    if (may_be(any_value)) return true;
    switch (v.type) {
        case json::kind::null: return may_be(is_null);
        case json::kind::boolean: return may_be(is_switch);
        case json::kind::whole:
            return may_be(is_number) || (may_be(is_count) && v.whole >= 0);
        case json::kind::real: return may_be(is_number);
        case json::kind::text:
            return may_be(is_text) ||
                   (may_be(is_infinity) && (v.text == "inf" || v.text == "-inf"));
        case json::kind::list: return may_be(is_list);
        default: return may_be(is_object);
    }
}

/// "a string or null": what the kinds are called.
inline std::string words_of(unsigned kinds) {
    struct word {
        unsigned kind;
        const char* text;
    };
    std::vector<std::string> words;
    for (const word& w :
         {word{is_switch, "true or false"}, word{is_number, "a number"},
          word{is_infinity, "'inf'"}, word{is_infinity, "'-inf'"},
          word{is_count, "a whole number of at least 0"}, word{is_text, "a string"},
          word{is_list, "a list"}, word{is_object, "an object"},
          word{is_null, "null"}})
        if ((kinds & w.kind) != 0) words.emplace_back(w.text);
    std::string out = words[0];
    for (std::size_t i = 1; i < words.size(); ++i)
        out += (i + 1 == words.size() ? " or " : ", ") + words[i];
    return out;
}

inline void check_value(const json& v, unsigned kinds, const std::string& where) {
    if (!fits(v, kinds)) bad_document(where + " must be " + words_of(kinds));
}

/// Whether an object may have members that are not listed.
enum class others : bool { refused, ignored };

/// An object has the members it must have.
template <std::size_t N>
void check_members(const json& v, const member (&members)[N],
                   const std::string& where, others more) {
    check_value(v, is_object, where);
    for (const auto& found : v.members) {
        const auto* const known =
            std::find_if(std::begin(members), std::end(members),
                         [&](const member& m) { return m.key == found.first; });
        if (known == std::end(members)) {
            if (more == others::ignored) continue;
            bad_document((where.empty() ? "the document" : where) +
                         " has an unknown member " + shown(found.first));
        }
        if (!fits(found.second, known->kinds))  // words only where they are needed
            check_value(found.second, known->kinds,
                        (where.empty() ? "" : where + ".") + found.first);
    }
    for (const member& m : members)
        if (m.required && v.find(m.key) == nullptr)
            bad_document((where.empty() ? "it" : where) + " lacks '" +
                         std::string(m.key) + "'");
}

inline void check_group(const json& v, const std::string& where, others more) {
    static constexpr member of_group[] = {
        {"name", any_value, true},
        {"threshold", is_number | is_infinity, true},
        {"mixture", is_list, false}};
    static constexpr member of_part[] = {
        {"threshold", is_number | is_infinity, true},
        {"probability", is_number, true}};
    check_members(v, of_group, where, more);
    const json* const mixture = v.find("mixture");
    if (mixture == nullptr) return;
    if (mixture->list.empty())
        bad_document(where + ".mixture must have at least one part");
    for (std::size_t i = 0; i < mixture->list.size(); ++i)
        check_members(mixture->list[i], of_part,
                      where + ".mixture[" + std::to_string(i) + "]",
                      others::refused);
}

/// Refuse a document that has other values than it may in the members that decide.
/// What else a result says is for Python to read.
inline void check_document(const json& v, bool is_result) {
    static constexpr unsigned text = is_text | is_null;
    static constexpr member members[] = {
        {"format", is_text, true},
        {"version", is_count, true},
        {"groups", is_list, true},
        {"unified", is_switch, false},
        {"default_threshold", is_number | is_infinity | is_null, false},
        {"unknown", any_value, false},
        {"nan", any_value, false},
        {"sketch_digest", text, false},
        {"expires", text, false},
        {"checksum", is_text, false},
        {"score_column", text, false},
        {"group_column", text, false},
        {"cuts", is_list | is_null, false}};
    const others more = is_result ? others::ignored : others::refused;
    check_members(v, members, "", more);
    if (const json* const cuts = v.find("cuts"))
        for (std::size_t i = 0; i < cuts->list.size(); ++i)
            check_value(cuts->list[i], is_number,
                        "cuts[" + std::to_string(i) + "]");
    const std::vector<json>& groups = v.find("groups")->list;
    for (std::size_t i = 0; i < groups.size(); ++i)
        check_group(groups[i], "groups[" + std::to_string(i) + "]", more);
}

}  // namespace gstar::detail
