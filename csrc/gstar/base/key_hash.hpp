// key_hash.hpp - the key of a row -> 64 bits that decide its draw.
//
// A randomised threshold is drawn by the row's own key, so that anybody can
// draw it again: on another machine, in another language, next year.
#pragma once

#include <cstdint>
#include <string_view>

namespace gstar {

/// SplitMix64's step from one whole number (two's complement) to another.
constexpr std::uint64_t hash_key(std::uint64_t key) noexcept {
    key += 0x9E3779B97F4A7C15u;
    key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9u;
    key = (key ^ (key >> 27)) * 0x94D049BB133111EBu;
    return key ^ (key >> 31);
}

/// FNV-1a (64 bits) of the bytes, a string's being UTF-8, then the step above.
constexpr std::uint64_t hash_key(std::string_view bytes) noexcept {
    std::uint64_t h = 0xCBF29CE484222325u;
    for (const char c : bytes)
        h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
    return hash_key(h);
}

/// The draw: the upper 53 bits as a number in [0, 1), exact in float64.
constexpr double draw_of(std::uint64_t hash) noexcept {
    return static_cast<double>(hash >> 11) * 0x1p-53;
}

}  // namespace gstar
