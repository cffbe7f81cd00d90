// name.hpp - what a group is called, and the order names stand in.
#pragma once

#include <cstdint>
#include <string>
#include <utility>  // move
#include <vector>

namespace gstar {

/// Groups that a sketch or a set of thresholds may have.
constexpr std::uint32_t most_groups = 65535;

/// Parts that a tuple may have.
constexpr std::uint32_t longest_tuple = 16;

/// A group's name: a bool, an int, a string (UTF-8), or a tuple of these.
///
/// Canonical order is bools, ints ascending, strings by code point (which is
/// the order of their UTF-8 bytes), tuples element by element.
struct name {
    enum class kind : std::uint8_t { boolean, integer, text, tuple };

    kind type = kind::integer;
    std::int64_t number = 0;
    std::string text;
    std::vector<name> parts;

    static name of(std::int64_t v) {
        name n;
        n.number = v;
        return n;
    }
    static name of_bool(bool v) {
        name n;
        n.type = kind::boolean;
        n.number = v ? 1 : 0;
        return n;
    }
    static name of_text(std::string v) {
        name n;
        n.type = kind::text;
        n.text = std::move(v);
        return n;
    }
    static name of_tuple(std::vector<name> v) {
        name n;
        n.type = kind::tuple;
        n.parts = std::move(v);
        return n;
    }

    bool operator==(const name& o) const {
        return type == o.type && number == o.number && text == o.text &&
               parts == o.parts;
    }
    bool operator!=(const name& o) const { return !(*this == o); }
    bool operator<(const name& o) const {
        if (type != o.type) return type < o.type;
        switch (type) {
            case kind::text: return text < o.text;
            case kind::tuple: return parts < o.parts;
            default: return number < o.number;
        }
    }
};

/// The same name with True as 1 and False as 0, as a Python dict sees it.
inline name as_dict_key(name n) {
    if (n.type == name::kind::boolean) n.type = name::kind::integer;
    for (name& part : n.parts) part = as_dict_key(part);
    return n;
}

/// The name as Python would print it.
inline std::string text_of(const name& n) {
    switch (n.type) {
        case name::kind::boolean: return n.number != 0 ? "True" : "False";
        case name::kind::integer: return std::to_string(n.number);
        case name::kind::text: {
            const char quote = n.text.find('\'') != std::string::npos &&
                                       n.text.find('"') == std::string::npos
                                   ? '"'
                                   : '\'';
            std::string out(1, quote);
            for (const char c : n.text) {
                if (c == quote || c == '\\') out += '\\';
                out += c;
            }
            return out + quote;
        }
        default: {
            std::string out = "(";
            for (std::size_t i = 0; i < n.parts.size(); ++i)
                out += (i != 0 ? ", " : "") + text_of(n.parts[i]);
            return out + (n.parts.size() == 1 ? ",)" : ")");
        }
    }
}

}  // namespace gstar
