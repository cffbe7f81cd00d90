// json.hpp - a small reader of JSON text; trusts no input.
//
// The grammar is RFC 8259, with what it leaves open decided: docs/guide/decide.md says how.
// Python's reader (gstar_fast/_base/json.py) takes the same texts.
#pragma once

#include <algorithm>  // adjacent_find, sort
#include <charconv>   // from_chars
#include <clocale>    // localeconv
#include <cmath>      // isinf
#include <cstddef>    // size_t
#include <cstdint>
#include <cstdlib>  // strtod
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>  // pair
#include <vector>

#include "gstar/base/utf8.hpp"

namespace gstar {

/// A value of JSON. Whole numbers that fit stay whole numbers.
struct json {
    enum class kind : std::uint8_t {
        null,
        boolean,
        whole,
        real,
        text,
        list,
        object
    };

    kind type = kind::null;
    bool truth = false;
    std::int64_t whole = 0;
    double real = 0;  ///< of a whole number too
    std::string text;
    std::vector<json> list;
    std::vector<std::pair<std::string, json>> members;

    bool is_null() const noexcept { return type == kind::null; }
    bool is_number() const noexcept {
        return type == kind::whole || type == kind::real;
    }

    /// A member of an object; null where there is none.
    const json* find(std::string_view key) const noexcept {
        for (const auto& m : members)
            if (m.first == key) return &m.second;
        return nullptr;
    }
};

namespace detail {

/// The number between these two, which is spelled right; infinite if it is too large
/// for a double, and 0 if it is too small, as in Python.
inline double real_of(const char* begin, const char* end) {
#ifdef __cpp_lib_to_chars
    double value = 0;
    if (std::from_chars(begin, end, value).ec == std::errc()) return value;
#endif  // libc++ before version 20 (macOS) has it for whole numbers only
    std::string text(begin, end);
    const std::size_t point = text.find('.');
    if (point != std::string::npos)
        text.replace(point, 1, std::localeconv()->decimal_point);
    return std::strtod(text.c_str(), nullptr);
}

class json_reader {
public:
    explicit json_reader(std::string_view text)
        : at_(text.data()), end_(at_ + text.size()) {}

    json document() {
        const std::string_view text(at_, static_cast<std::size_t>(end_ - at_));
        if (!is_utf8(text)) refuse("it is not UTF-8 text");
        if (text.substr(0, 3) == "\xEF\xBB\xBF")
            refuse("it begins with a byte order mark; save it without one");
        json v = value(0);
        space();
        if (at_ != end_) refuse("it goes on after its end");
        return v;
    }

private:
    static constexpr int deepest = 32;

    [[noreturn]] static void refuse(const std::string& why) {
        throw std::invalid_argument("not JSON: " + why);
    }
    char peek() const noexcept { return at_ == end_ ? '\0' : *at_; }
    void space() noexcept {
        while (at_ != end_ &&
               (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t'))
            ++at_;
    }
    void expect(std::string_view word) {
        if (static_cast<std::size_t>(end_ - at_) < word.size() ||
            std::string_view(at_, word.size()) != word)
            refuse("'" + std::string(word) + "' is missing");
        at_ += word.size();
    }

    json value(int depth) {
        if (depth > deepest) refuse("it is nested too deeply");
        space();
        json v;
        switch (peek()) {
            case '{': object(v, depth); break;
            case '[': list(v, depth); break;
            case '"':
                v.type = json::kind::text;
                v.text = string();
                break;
            case 't':
            case 'f':
                v.type = json::kind::boolean;
                v.truth = peek() == 't';
                expect(v.truth ? "true" : "false");
                break;
            case 'n': expect("null"); break;
            default: number(v);
        }
        return v;
    }

    void object(json& v, int depth) {
        v.type = json::kind::object;
        expect("{");
        space();
        if (peek() == '}') return expect("}");
        for (;;) {
            space();
            std::string key = string();
            space();
            expect(":");
            v.members.emplace_back(std::move(key), value(depth + 1));
            space();
            if (peek() != ',') break;
            expect(",");
        }
        expect("}");
        std::vector<std::string_view> keys;
        for (const auto& m : v.members) keys.emplace_back(m.first);
        std::sort(keys.begin(), keys.end());
        if (std::adjacent_find(keys.begin(), keys.end()) != keys.end())
            refuse("an object has a key twice");
    }

    void list(json& v, int depth) {
        v.type = json::kind::list;
        expect("[");
        space();
        if (peek() == ']') return expect("]");
        for (;;) {
            v.list.push_back(value(depth + 1));
            space();
            if (peek() != ',') return expect("]");
            expect(",");
        }
    }

    void number(json& v) {
        const char* const begin = at_;
        const auto digits = [&] {
            const char* const first = at_;
            while (peek() >= '0' && peek() <= '9') ++at_;
            if (at_ == first) refuse("a value is missing");
        };
        if (peek() == '-') ++at_;
        if (peek() == '0')
            ++at_;  // and no digit after it: 007 is not JSON
        else
            digits();
        bool whole = true;
        if (peek() == '.') {
            whole = false;
            ++at_;
            digits();
        }
        if (peek() == 'e' || peek() == 'E') {
            whole = false;
            ++at_;
            if (peek() == '+' || peek() == '-') ++at_;
            digits();
        }
        v.type = json::kind::real;
        if (whole && std::from_chars(begin, at_, v.whole).ec == std::errc())
            v.type = json::kind::whole;
        v.real = real_of(begin, at_);
        if (std::isinf(v.real)) refuse("a number is too large");
    }

    std::string string() {
        expect("\"");
        std::string out;
        for (;;) {
            if (at_ == end_) refuse("a string does not end");
            const char c = *at_++;
            if (c == '"') return out;
            if (static_cast<unsigned char>(c) < 0x20)
                refuse("a string has a control character");
            if (c != '\\')
                out += c;
            else
                escaped(out);
        }
    }

    void escaped(std::string& out) {
        const char c = peek();
        if (at_ != end_) ++at_;
        switch (c) {
            case '"':
            case '\\':
            case '/': out += c; break;
            case 'b': out += '\b'; break;
            case 'f': out += '\f'; break;
            case 'n': out += '\n'; break;
            case 'r': out += '\r'; break;
            case 't': out += '\t'; break;
            case 'u': {
                std::uint32_t code = hexadecimal();
                if (code >= 0xD800 && code < 0xDC00) {
                    if (std::string_view(at_, static_cast<std::size_t>(end_ - at_))
                            .substr(0, 2) != "\\u")
                        refuse("half a character in a string");
                    at_ += 2;
                    const std::uint32_t low = hexadecimal();
                    if (low < 0xDC00 || low > 0xDFFF)
                        refuse("half a character in a string");
                    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                } else if (code >= 0xDC00 && code < 0xE000) {
                    refuse("half a character in a string");
                }
                add_utf8(out, code);
                break;
            }
            default: refuse("a string has an unknown escape");
        }
    }

    std::uint32_t hexadecimal() {
        std::uint32_t code = 0;
        if (end_ - at_ < 4) refuse("a string does not end");
        const auto read = std::from_chars(at_, at_ + 4, code, 16);
        if (read.ptr != at_ + 4) refuse("a string has an unknown escape");
        at_ += 4;
        return code;
    }

    const char* at_;
    const char* end_;
};

}  // namespace detail

/// The value that this text says, or std::invalid_argument.
inline json read_json(std::string_view text) {
    return detail::json_reader(text).document();
}

}  // namespace gstar
