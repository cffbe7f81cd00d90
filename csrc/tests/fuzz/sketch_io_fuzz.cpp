// sketch_io_fuzz.cpp - libFuzzer against from_bytes, with the checksum made right again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "gstar/sketch_io.hpp"

using namespace gstar;

namespace {

/// Length and checksum as a reader wants them, so that mutations get past both.
void sign(std::vector<std::uint8_t>& b) {
    const std::uint64_t n = b.size();
    for (std::size_t i = 0; i < 8; ++i)
        b[16 + i] = static_cast<std::uint8_t>(n >> (8 * i));
    const std::uint32_t c = crc32(b.data(), b.size() - checksum_bytes);
    for (std::size_t i = 0; i < checksum_bytes; ++i)
        b[b.size() - checksum_bytes + i] = static_cast<std::uint8_t>(c >> (8 * i));
}

std::vector<std::uint8_t> seed() {
    sketch s{sketch_options{}};
    const name groups[] = {
        name::of(3), name::of_text("F"),
        name::of_tuple({name::of_bool(true), name::of_text("x")})};
    for (const name& g : groups) {
        s.update_one(0.5, 1, g);
        s.update_one(-0.25, 0, g);
        s.update_one(1e-12, 2, g);
    }
    return to_bytes(s);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::vector<std::uint8_t> start = seed();
    // The body is the input's; head and checksum are made to fit.
    std::vector<std::uint8_t> b(start.begin(), start.begin() + header_bytes);
    b.insert(b.end(), data, data + size);
    if (size != 0) b[10] = data[0] & 7;  // flags
    b.resize(b.size() + checksum_bytes);
    sign(b);
    try {
        const auto s = from_bytes({b.data(), b.size()}, 1 << 24);
        if (to_bytes(*s) != b) std::abort();  // not the canonical form
    } catch (const std::invalid_argument&) {
    }
    return 0;
}

/// One input in sixteen starts afresh from a valid body.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size,
                                        std::size_t most);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned random) {
    static const std::vector<std::uint8_t> start = seed();
    const std::size_t body = start.size() - header_bytes - checksum_bytes;
    if (random % 16 == 0 && body <= most) {
        for (std::size_t i = 0; i < body; ++i) data[i] = start[header_bytes + i];
        size = body;
    }
    return LLVMFuzzerMutate(data, size, most);
}
