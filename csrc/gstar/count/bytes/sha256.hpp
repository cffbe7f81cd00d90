// sha256.hpp - SHA-256 of bytes (FIPS 180-4), which identifies the rows of a sketch.
#pragma once

#include <array>
#include <cstddef>  // size_t
#include <cstdint>

#include "gstar/base/span.hpp"

namespace gstar {

using sha256_digest = std::array<std::uint8_t, 32>;

namespace detail {

constexpr std::uint32_t sha256_rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/// Take one block of 64 bytes into the state.
inline void sha256_block(std::array<std::uint32_t, 8>& state,
                         const std::uint8_t* block) noexcept {
    const auto turned = [](std::uint32_t x, unsigned by) {
        return (x >> by) | (x << (32 - by));
    };
    std::uint32_t w[64];
    for (std::size_t i = 0; i < 16; ++i)
        w[i] = std::uint32_t{block[4 * i]} << 24 |
               std::uint32_t{block[4 * i + 1]} << 16 |
               std::uint32_t{block[4 * i + 2]} << 8 | block[4 * i + 3];
    for (std::size_t i = 16; i < 64; ++i) {
        const std::uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (turned(a, 7) ^ turned(a, 18) ^ (a >> 3)) + w[i - 7] +
               (turned(b, 17) ^ turned(b, 19) ^ (b >> 10));
    }
    std::array<std::uint32_t, 8> s = state;
    for (std::size_t i = 0; i < 64; ++i) {
        const std::uint32_t one =
            s[7] + (turned(s[4], 6) ^ turned(s[4], 11) ^ turned(s[4], 25)) +
            ((s[4] & s[5]) ^ (~s[4] & s[6])) + sha256_rounds[i] + w[i];
        const std::uint32_t two =
            (turned(s[0], 2) ^ turned(s[0], 13) ^ turned(s[0], 22)) +
            ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        s = {one + two, s[0], s[1], s[2], s[3] + one, s[4], s[5], s[6]};
    }
    for (std::size_t i = 0; i < 8; ++i) state[i] += s[i];
}

}  // namespace detail

inline sha256_digest sha256(span<const std::uint8_t> bytes) noexcept {
    std::array<std::uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                          0xa54ff53a, 0x510e527f, 0x9b05688c,
                                          0x1f83d9ab, 0x5be0cd19};
    const std::size_t whole = bytes.size() / 64 * 64, rest = bytes.size() - whole;
    for (std::size_t i = 0; i < whole; i += 64)
        detail::sha256_block(state, bytes.data() + i);
    std::uint8_t last[128] = {};  // what is left, a bit, and the length in bits
    for (std::size_t i = 0; i < rest; ++i) last[i] = bytes[whole + i];
    last[rest] = 0x80;
    const std::size_t end = rest < 56 ? 64 : 128;
    for (std::size_t i = 0; i < 8; ++i)
        last[end - 1 - i] =
            static_cast<std::uint8_t>(std::uint64_t{bytes.size()} * 8 >> (8 * i));
    for (std::size_t i = 0; i < end; i += 64) detail::sha256_block(state, last + i);
    sha256_digest out{};
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<std::uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
    return out;
}

}  // namespace gstar
