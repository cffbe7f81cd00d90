// sections.hpp - what the bytes of a sketch say beside its rows.
//
// Five types are known: the columns that rows came from, the value that label 1
// stood for, that sums of scores are not those of the rows, the texts of labels while
// all labelled rows have the same one, and that groups were unmixed from
// probabilities. Others are kept as they are, unless a reader must know them
// (docs/sketch_format.md).
#pragma once

#include <algorithm>  // max, set_union, sort
#include <array>
#include <cstddef>  // size_t
#include <cstdint>
#include <iterator>  // back_inserter
#include <string>
#include <utility>  // move
#include <vector>

#include "gstar/base/bytes.hpp"
#include "gstar/base/error.hpp"
#include "gstar/base/name.hpp"

namespace gstar {

struct section {
    static constexpr std::uint64_t columns = 1;   ///< named by their roles
    static constexpr std::uint64_t positive = 2;  ///< what label 1 stood for
    static constexpr std::uint64_t no_sums = 3;   ///< sums are of bins, not rows
    static constexpr std::uint64_t labels = 4;    ///< texts of labels in tables
    static constexpr std::uint64_t unmixed = 5;   ///< groups are estimates
    static constexpr std::uint64_t most_type = (std::uint64_t{1} << 63) - 1;

    std::uint64_t type = 0;
    bool needed = false;  ///< a reader that does not know it refuses the whole
    std::string content;

    bool known() const noexcept {
        return type == columns || type == labels || speaks_of_rows();
    }

    /// Whether it is part of what was counted, not of where that came from.
    bool speaks_of_rows() const noexcept {
        return type == positive || type == no_sums || type == unmixed;
    }
};

using sections = std::vector<section>;  ///< types ascending

namespace detail {

/// Columns of scores, labels and groups, each as the bytes that say it.
using column_roles = std::array<std::string, 3>;

inline std::string not_named() { return std::string(1, '\0'); }
inline std::string several_names() { return std::string(1, '\2'); }

inline byte_reader content_reader(const std::string& content) {
    const auto* const at = reinterpret_cast<const std::uint8_t*>(content.data());
    return {at, at + content.size(), "sketch"};
}

inline column_roles columns_of(const std::string& content) {
    byte_reader from = content_reader(content);
    column_roles out;
    std::size_t start = 0;
    for (std::size_t role = 0; role < out.size(); ++role) {
        const std::uint8_t how = from.byte();
        if (how > 2) from.refuse("a section is impossible");
        if (how == 1) {
            const std::uint64_t n = from.varint(role == 2 ? longest_tuple : 1);
            if (n == 0) from.refuse("a section is impossible");
            for (std::uint64_t i = 0; i < n; ++i) from.text();
        }
        const std::size_t end = content.size() - from.left();
        out[role] = content.substr(start, end - start);
        start = end;
    }
    if (from.left() != 0) from.refuse("a section is impossible");
    return out;
}

inline std::string joined_columns(const std::string& ours,
                                  const std::string& theirs) {
    const column_roles a = columns_of(ours);
    const column_roles b = columns_of(theirs);
    std::string out;
    for (std::size_t role = 0; role < a.size(); ++role)
        out += a[role] == not_named()                         ? b[role]
               : b[role] == not_named() || b[role] == a[role] ? a[role]
                                                              : several_names();
    return out;
}

inline name positive_of(const std::string& content) {
    byte_reader from = content_reader(content);
    name out = from.group(true);
    if (from.left() != 0) from.refuse("a section is impossible");
    return out;
}

constexpr std::size_t most_labels = 8;
constexpr std::size_t longest_label = 256;  ///< bytes

/// Texts of labels, ascending; `more` if only the first are kept.
struct label_texts {
    std::vector<std::string> texts;
    bool more = false;
};

inline label_texts labels_of(const std::string& content) {
    byte_reader from = content_reader(content);
    label_texts out;
    out.more = from.varint(1) != 0;
    const std::uint64_t n = from.varint(most_labels);
    if (n == 0 || (out.more && n != most_labels))
        from.refuse("a section is impossible");
    for (std::uint64_t i = 0; i < n; ++i) {
        std::string text = from.text();
        if (text.size() > longest_label || (i != 0 && !(out.texts.back() < text)))
            from.refuse("a section is impossible");
        out.texts.push_back(std::move(text));
    }
    if (from.left() != 0) from.refuse("a section is impossible");
    return out;
}

inline std::string joined_labels(const std::string& ours,
                                 const std::string& theirs) {
    const label_texts a = labels_of(ours);
    const label_texts b = labels_of(theirs);
    std::vector<std::string> all;
    std::set_union(a.texts.begin(), a.texts.end(), b.texts.begin(), b.texts.end(),
                   std::back_inserter(all));
    const bool more = a.more || b.more || all.size() > most_labels;
    if (all.size() > most_labels) all.resize(most_labels);
    std::string out{static_cast<char>(more), static_cast<char>(all.size())};
    for (const std::string& text : all) {  // lengths are varints of at most 14 bits
        const std::size_t n = text.size();
        if (n >= 128) out += static_cast<char>(n % 128 + 128);
        out += static_cast<char>(n >= 128 ? n / 128 : n);
        out += text;
    }
    return out;
}

inline void write_sections(byte_writer& to, const sections& all) {
    to.varint(all.size());
    for (const section& s : all) {
        to.varint(s.type);
        to.varint(s.needed ? 1 : 0);
        to.varint(s.content.size());
        to.raw(s.content);
    }
}

/// The sections as they are; `check_sections` says whether they are right.
inline sections read_sections(byte_reader& from) {
    const std::uint64_t n = from.varint(section::most_type);
    sections out;
    for (std::uint64_t i = 0; i < n; ++i) {
        section s;
        s.type = from.varint(section::most_type);
        s.needed = from.varint(1) != 0;
        s.content = from.string();
        out.push_back(std::move(s));
    }
    return out;
}

inline const section* find_section(const sections& all, std::uint64_t type) {
    for (const section& s : all)
        if (s.type == type) return &s;
    return nullptr;
}

}  // namespace detail

/// Refuse sections out of order or of a wrong form, and needed ones that nobody
/// here knows.
inline void check_sections(const sections& all) {
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].type > section::most_type ||
            (i != 0 && all[i].type <= all[i - 1].type))
            detail::bad_bytes("sketch", "sections are out of order");
    for (const section& s : all) {
        if (s.needed && !s.known())
            detail::bad_bytes(
                "sketch", "it needs a section of type " + std::to_string(s.type) +
                              ", which this library does not know; install a "
                              "newer one");
        if (s.needed != s.speaks_of_rows() ||
            (s.type == section::no_sums && !s.content.empty()) ||
            (s.type == section::unmixed &&
             (s.content.size() != 1 ||
              static_cast<unsigned char>(s.content[0]) > 1)))
            detail::bad_bytes("sketch", "a section is impossible");
        if (s.type == section::columns &&
            detail::columns_of(s.content) ==
                detail::column_roles{detail::not_named(), detail::not_named(),
                                     detail::not_named()})
            detail::bad_bytes("sketch", "a section is impossible");
        if (s.type == section::positive) detail::positive_of(s.content);
        if (s.type == section::labels) detail::labels_of(s.content);
    }
}

/// The sections of two sketches in one; a type that nobody here knows stays with
/// the only one of them that has rows.
inline sections merged_sections(const sections& ours, const sections& theirs,
                                bool we_have_rows, bool they_have_rows) {
    if (theirs.empty() && !they_have_rows) return ours;
    if (ours.empty() && !we_have_rows) return theirs;
    sections out;
    for (const std::uint64_t type :
         {section::columns, section::positive, section::no_sums, section::labels,
          section::unmixed}) {
        const section* const a = detail::find_section(ours, type);
        const section* const b = detail::find_section(theirs, type);
        if (a == nullptr && b == nullptr) continue;
        out.push_back(a != nullptr ? *a : *b);
        if (a == nullptr || b == nullptr || a->content == b->content) continue;
        if (type == section::positive)
            refuse({"different_positive", "positive", -1,
                    text_of(detail::positive_of(b->content)),
                    text_of(detail::positive_of(a->content))});
        out.back().content = type == section::labels
                                 ? detail::joined_labels(a->content, b->content)
                             : type == section::unmixed
                                 ? std::max(a->content, b->content)
                                 : detail::joined_columns(a->content, b->content);
    }
    if (we_have_rows != they_have_rows)
        for (const section& s : we_have_rows ? ours : theirs)
            if (!s.known()) out.push_back(s);
    std::sort(out.begin(), out.end(),
              [](const section& a, const section& b) { return a.type < b.type; });
    return out;
}

}  // namespace gstar
