// error.hpp - refusals: what is wrong, in fields that a face can word.
//
// The core throws the code of a mistake, the argument and row where it is, what
// was found and what is allowed. The Python face has a sentence for each code;
// `what()` puts the fields side by side for those who have no face.
#pragma once

#include <charconv>   // to_chars
#include <cstdint>    // int64_t
#include <stdexcept>  // invalid_argument, overflow_error
#include <string>
#include <utility>  // move
#include <variant>
#include <vector>

#include "gstar/base/name.hpp"

namespace gstar {

/// Shortest text that reads back as the same double.
inline std::string text_of(double value) {
    if (value != value) return "nan";
    char buffer[40];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
    std::string text(buffer, end.ptr);
    if (text.find_first_of(".ein") == std::string::npos) text += ".0";
    return text;
}

/// What was found, or what is allowed; a string is words on it.
using refused_value =
    std::variant<std::monostate, std::int64_t, std::uint64_t, double, std::string,
                 name, std::vector<std::int64_t>, std::vector<double>,
                 std::vector<name>>;

/// One mistake. The codes are those of gstar_fast/_base/refusals/sentences.py.
struct refusal {
    const char* code = "";
    const char* argument = "";
    std::int64_t row = -1;  ///< counted from 0; -1 where no single row is wrong
    refused_value value = {};
    refused_value limit = {};
};

namespace detail {

struct value_text {
    std::string operator()(std::monostate) const { return ""; }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(std::uint64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return text_of(v); }
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(const name& v) const { return text_of(v); }
    template <class T>
    std::string operator()(const std::vector<T>& v) const {
        std::string out;
        for (const T& one : v) out += (out.empty() ? "" : ", ") + (*this)(one);
        return out;
    }
};

}  // namespace detail

inline std::string text_of(const refused_value& v) {
    return std::visit(detail::value_text{}, v);
}

/// The fields side by side: "labels at row 2: bad label, got 7".
inline std::string text_of(const refusal& r) {
    std::string out = r.argument;
    if (r.row >= 0) out += " at row " + std::to_string(r.row);
    if (!out.empty()) out += ": ";
    for (const char* c = r.code; *c != '\0'; ++c) out += *c == '_' ? ' ' : *c;
    if (std::holds_alternative<std::string>(r.value))
        out += ": " + text_of(r.value);
    else if (r.value.index() != 0)
        out += ", got " + text_of(r.value);
    if (r.limit.index() != 0) out += "; allowed: " + text_of(r.limit);
    return out;
}

/// Base of everything that is thrown for what a caller passed.
struct refused {
    refusal why;
};

template <class Standard>
struct refused_as : Standard, refused {
    explicit refused_as(refusal r) : Standard(text_of(r)), refused{std::move(r)} {}
};

/// Thrown for a value that cannot be worked with.
using input_error = refused_as<std::invalid_argument>;

/// Thrown where a value is of the wrong kind, or missing.
struct type_error : refused_as<std::invalid_argument> {
    using refused_as::refused_as;
};

/// Thrown where going on would need more memory than the user allowed.
struct memory_limit_error : refused_as<std::runtime_error> {
    using refused_as::refused_as;
};

/// Thrown where counts would not fit into 64 bits.
using count_overflow_error = refused_as<std::overflow_error>;

[[noreturn]] inline void refuse(refusal why) { throw input_error(std::move(why)); }

[[noreturn]] inline void refuse_missing_group(std::int64_t row) {
    throw type_error({"missing_group", "groups", row});
}

[[noreturn]] inline void refuse_label(refused_value label, std::int64_t row) {
    refuse({"bad_label", "labels", row, std::move(label)});
}

[[noreturn]] inline void refuse_overflow() {
    throw count_overflow_error({"too_many_rows"});
}

[[noreturn]] inline void refuse_groups(std::uint64_t groups, std::uint64_t most) {
    refuse({"too_many_groups", "groups", -1, groups, most});
}

}  // namespace gstar
