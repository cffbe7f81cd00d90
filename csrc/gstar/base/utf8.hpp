// utf8.hpp - text as UTF-8 bytes: what is valid, and how one character is written.
#pragma once

#include <cstddef>  // size_t
#include <cstdint>
#include <string>
#include <string_view>

namespace gstar {

/// Whether these bytes are UTF-8: no surrogates, no overlong forms, nothing cut.
inline bool is_utf8(std::string_view s) noexcept {
    std::size_t i = 0;
    const auto at = [&](std::size_t j) {
        return j < s.size() ? static_cast<std::uint8_t>(s[j]) : 0u;
    };
    while (i < s.size()) {
        const unsigned b = at(i);
        if (b < 0x80) {
            ++i;
            continue;
        }
        const unsigned more = b < 0xE0 ? 1 : b < 0xF0 ? 2 : 3;
        if (b < 0xC2 || b > 0xF4) return false;
        for (unsigned j = 1; j <= more; ++j)
            if ((at(i + j) & 0xC0) != 0x80) return false;
        const unsigned second = at(i + 1);
        if ((b == 0xE0 && second < 0xA0) || (b == 0xED && second > 0x9F) ||
            (b == 0xF0 && second < 0x90) || (b == 0xF4 && second > 0x8F))
            return false;
        i += more + 1;
    }
    return true;
}

/// Append the character with this code point.
inline void add_utf8(std::string& out, std::uint32_t code) {
    const auto add = [&](std::uint32_t b) { out += static_cast<char>(b); };
    if (code < 0x80) {
        add(code);
    } else if (code < 0x800) {
        add(0xC0 | (code >> 6));
        add(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        add(0xE0 | (code >> 12));
        add(0x80 | ((code >> 6) & 0x3F));
        add(0x80 | (code & 0x3F));
    } else {
        add(0xF0 | (code >> 18));
        add(0x80 | ((code >> 12) & 0x3F));
        add(0x80 | ((code >> 6) & 0x3F));
        add(0x80 | (code & 0x3F));
    }
}

}  // namespace gstar
