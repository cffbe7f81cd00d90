// members.hpp - which members a saved document has, and what may stand in them.
//
// docs/guide/decide.md states the rules; gstar_fast/_decide/members.py says the same
// in Python, and tests/documents checks that both agree.
#pragma once

#include <algorithm>  // find, find_if, min
#include <cstddef>    // size_t
#include <cstdint>    // uint64_t
#include <initializer_list>
#include <iterator>  // begin, end
#include <stdexcept>
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

/// An object has the members it must have, and none but these.
template <std::size_t N>
void check_members(const json& v, const member (&members)[N],
                   const std::string& where) {
    check_value(v, is_object, where);
    for (const auto& found : v.members) {
        const auto* const known =
            std::find_if(std::begin(members), std::end(members),
                         [&](const member& m) { return m.key == found.first; });
        if (known == std::end(members))
            bad_document((where.empty() ? "the document" : where) +
                         " has an unknown member " + shown(found.first));
        if (!fits(found.second, known->kinds))  // words only where they are needed
            check_value(found.second, known->kinds,
                        (where.empty() ? "" : where + ".") + found.first);
    }
    for (const member& m : members)
        if (m.required && v.find(m.key) == nullptr)
            bad_document((where.empty() ? "it" : where) + " lacks '" +
                         std::string(m.key) + "'");
}

inline void check_word(const json& v, std::initializer_list<const char*> words,
                       const std::string& where) {
    std::string listed;
    std::size_t left = words.size();
    for (const char* word : words) {
        if (v.text == word) return;
        --left;
        listed += "'" + std::string(word) + "'" +
                  (left == 0   ? ""
                   : left == 1 ? " or "
                               : ", ");
    }
    bad_document(where + " must be " + listed);
}

/// Numbers by the name of a criterion.
inline void check_gaps(const json& v, const std::string& where) {
    check_value(v, is_object, where);
    static constexpr std::string_view known[] = {
        "demographic_parity",       "equal_opportunity",  "predictive_equality",
        "equalized_odds",           "equalized_odds_sum", "accuracy_parity",
        "balanced_accuracy_parity", "disparate_impact"};
    for (const auto& gap : v.members) {
        if (std::find(std::begin(known), std::end(known), gap.first) ==
            std::end(known))
            bad_document(where + " has " + shown(gap.first) +
                         ", which is no criterion");
        check_value(gap.second, is_number, where + "." + gap.first);
    }
}

inline void check_parts(const json& list, unsigned kinds,
                        const std::string& where) {
    for (std::size_t i = 0; i < list.list.size(); ++i)
        check_value(list.list[i], kinds, where + "[" + std::to_string(i) + "]");
}

inline void check_group(const json& v, bool in_result, const std::string& where) {
    static constexpr member in_thresholds_members[] = {
        {"name", any_value, true},
        {"threshold", is_number | is_infinity, true},
        {"mixture", is_list, false}};
    static constexpr unsigned rate = is_number | is_null;
    static constexpr member in_result_members[] = {
        {"name", any_value, true},  {"threshold", is_number | is_infinity, true},
        {"rows", is_number, true},  {"tpr", rate, true},
        {"fpr", rate, true},        {"selection_rate", rate, true},
        {"accuracy", rate, true},   {"balanced_accuracy", rate, true},
        {"mixture", is_list, false}};
    static constexpr member part_members[] = {
        {"threshold", is_number | is_infinity, true},
        {"probability", is_number, true}};
    if (in_result)
        check_members(v, in_result_members, where);
    else
        check_members(v, in_thresholds_members, where);
    const json* const mixture = v.find("mixture");
    if (mixture == nullptr) return;
    if (mixture->list.empty())
        bad_document(where + ".mixture must have at least one part");
    for (std::size_t i = 0; i < mixture->list.size(); ++i)
        check_members(mixture->list[i], part_members,
                      where + ".mixture[" + std::to_string(i) + "]");
}

/// What a result promises of new rows; whoever reads the document reads the result
/// inside, which has no promise of its own.
inline void check_promise(const json& v, std::size_t n_groups) {
    static constexpr member members[] = {
        {"confidence", is_number, true},
        {"chance", is_number, true},
        {"cost", is_number, true},
        {"plain_chance", is_number, true},
        {"upper", is_object, true},
        {"plain", is_object, true},
        {"rows_needed", is_object | is_null, true}};
    static constexpr member needed_members[] = {
        {"times", is_number | is_null, true},
        {"rows", is_number | is_null, true},
        {"by_group", is_list, true},
        {"too_small", is_list, true}};
    check_members(v, members, "promise");
    check_gaps(*v.find("upper"), "promise.upper");
    const json& needed = *v.find("rows_needed");
    if (needed.type != json::kind::null) {
        const std::string where = "promise.rows_needed";
        check_members(needed, needed_members, where);
        const json& by_group = *needed.find("by_group");
        const json& too_small = *needed.find("too_small");
        check_parts(by_group, is_number | is_null, where + ".by_group");
        check_parts(too_small, is_count, where + ".too_small");
        if (by_group.list.size() != n_groups)
            bad_document(where + ".by_group must have one entry for each group");
        for (const json& position : too_small.list)
            if (static_cast<std::uint64_t>(position.whole) >= n_groups)
                bad_document(where +
                             ".too_small has a position outside the groups");
    }
    const json& plain = *v.find("plain");
    for (const char* key : {"promise", "checksum"}) {
        const json* const found = plain.find(key);
        if (found != nullptr && found->type != json::kind::null)
            bad_document(std::string("promise.plain has a member '") + key + "'");
    }
}

/// Who is compared where thresholds are by segment; `thresholds_of` reads the names.
inline void check_roles(const json& v) {
    static constexpr unsigned rate = is_number | is_null;
    static constexpr member members[] = {{"fair_between", is_list, true},
                                         {"decide_by", is_list, true},
                                         {"monotone", is_switch, true},
                                         {"protected", is_list, true}};
    static constexpr member protected_members[] = {
        {"name", any_value, true},
        {"rows", is_number, true},
        {"tpr", rate, true},
        {"fpr", rate, true},
        {"selection_rate", rate, true},
        {"accuracy", rate, true},
        {"balanced_accuracy", rate, true}};
    check_members(v, members, "roles");
    for (const char* key : {"fair_between", "decide_by", "protected"})
        if (v.find(key)->list.empty())
            bad_document(std::string("roles.") + key +
                         " must have at least one part");
    for (const char* key : {"fair_between", "decide_by"})
        check_parts(*v.find(key), is_text | is_count, std::string("roles.") + key);
    const std::vector<json>& groups = v.find("protected")->list;
    for (std::size_t i = 0; i < groups.size(); ++i)
        check_members(groups[i], protected_members,
                      "roles.protected[" + std::to_string(i) + "]");
}

/// What a result says beside its thresholds.
inline void check_result(const json& v) {
    check_word(*v.find("verdict"),
               {"optimal", "converged", "not_converged", "infeasible", "unified",
                "promised", "unpromised"},
               "verdict");
    check_word(*v.find("method"),
               {"exact", "alternating", "gauss_newton", "newton"}, "method");
    for (const char* key : {"limits", "penalties", "gaps"})
        check_gaps(*v.find(key), key);
    static constexpr member before_members[] = {{"error", is_number, true},
                                                {"cost", is_number, false},
                                                {"gaps", is_object, true}};
    const json& before = *v.find("before");
    check_members(before, before_members, "before");
    check_gaps(*before.find("gaps"), "before.gaps");
    const json& costs = *v.find("costs");
    check_parts(costs, is_number, "costs");
    if (costs.list.size() != 2) bad_document("costs must be two numbers");
    if (v.find("balanced")->truth || costs.list[0].real != 1 ||
        costs.list[1].real != 1) {
        if (v.find("cost") == nullptr)
            bad_document("it lacks 'cost', and has costs or is balanced");
        if (before.find("cost") == nullptr)
            bad_document("before lacks 'cost', and has costs or is balanced");
    }
    check_parts(*v.find("notes"), is_text, "notes");
    check_parts(*v.find("trace"), is_number | is_infinity, "trace");
    const json* const min_rows = v.find("min_rows");
    if (min_rows != nullptr && !(min_rows->real >= 0))
        bad_document("min_rows must be at least 0");
    const json* compared = v.find("groups");
    const json* const roles = v.find("roles");
    if (roles != nullptr && roles->type != json::kind::null) {
        check_roles(*roles);
        compared = roles->find("protected");
    }
    static constexpr member evidence_members[] = {
        {"level", is_number, true},
        {"cost", is_number | is_null, true},
        {"z", is_number | is_null, true},
        {"needed", is_number | is_null, true}};
    const json* const evidence = v.find("evidence");
    if (evidence != nullptr && evidence->type != json::kind::null)
        check_members(*evidence, evidence_members, "evidence");
    const json* const promise = v.find("promise");
    if (promise != nullptr && promise->type != json::kind::null)
        check_promise(*promise, compared->list.size());
}

/// Refuse a document that has other members, or other values in them, than it may.
inline void check_document(const json& v, bool is_result) {
    static constexpr unsigned threshold = is_number | is_infinity;
    static constexpr unsigned text = is_text | is_null;
    static constexpr member of_thresholds[] = {
        {"format", is_text, true},
        {"version", is_count, true},
        {"groups", is_list, true},
        {"unified", is_switch, false},
        {"default_threshold", threshold | is_null, false},
        {"unknown", any_value, false},
        {"nan", any_value, false},
        {"sketch_digest", text, false},
        {"expires", text, false},
        {"checksum", is_text, false},
        {"score_column", text, false},
        {"group_column", text, false},
        {"cuts", is_list | is_null, false}};
    static constexpr member of_result[] = {
        {"format", is_text, true},
        {"version", is_count, true},
        {"groups", is_list, true},
        {"unified", is_switch, true},
        {"default_threshold", threshold, true},
        {"unknown", any_value, false},
        {"nan", any_value, false},
        {"sketch_digest", text, true},
        {"expires", text, false},
        {"checksum", is_text, false},
        {"score_column", text, true},
        {"group_column", text, true},
        {"cuts", is_list | is_null, false},
        {"verdict", is_text, true},
        {"message", is_text, true},
        {"method", is_text, true},
        {"density", is_text, true},
        {"iterations", is_count, true},
        {"balanced", is_switch, true},
        {"error", threshold, true},
        {"loss", threshold, true},
        {"lower_bound", threshold, true},
        {"optimality_gap", threshold, true},
        {"n_rows", threshold, true},
        {"limits", is_object, true},
        {"penalties", is_object, true},
        {"costs", is_list, true},
        {"cost", is_number, false},
        {"min_rows", is_number, false},
        {"mixing_saves", is_number | is_null, false},
        {"promise", is_object | is_null, false},
        {"evidence", is_object | is_null, false},
        {"roles", is_object | is_null, false},
        {"proof", is_list | is_null, false},  // read by Result.check in Python
        {"gaps", is_object, true},
        {"before", is_object, true},
        {"notes", is_list, true},
        {"trace", is_list, true}};
    if (is_result)
        check_members(v, of_result, "");
    else
        check_members(v, of_thresholds, "");
    const json* const cuts = v.find("cuts");
    if (cuts != nullptr) check_parts(*cuts, is_number, "cuts");
    if (is_result) check_result(v);
    const std::vector<json>& groups = v.find("groups")->list;
    for (std::size_t i = 0; i < groups.size(); ++i)
        check_group(groups[i], is_result, "groups[" + std::to_string(i) + "]");
}

}  // namespace gstar::detail
