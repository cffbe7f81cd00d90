// body.hpp - inputs of the fuzzers of sketches: the body of a file, to which a header
// and a checksum are made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../stored.hpp"

namespace fuzz {

/// The first byte has the flags; all others are the body.
inline stored::bytes signed_bytes(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return {};
    gstar::detail::byte_writer to(gstar::sketch_magic, 1, data[0] & 15, 0);
    to.out.insert(to.out.end(), data + 1, data + size);
    return to.sealed();
}

/// What `signed_bytes` makes a file of.
inline stored::bytes body_of(const stored::bytes& b) {
    stored::bytes out{b[10]};
    out.insert(out.end(), b.begin() + gstar::header_bytes,
               b.end() - gstar::checksum_bytes);
    return out;
}

}  // namespace fuzz

/// One input in sixteen starts afresh from a valid body.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size,
                                        std::size_t most);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned random) {
    static const std::vector<stored::bytes> seeds = [] {
        std::vector<stored::bytes> all;
        for (unsigned which = 0; which < 16; ++which)
            all.push_back(
                fuzz::body_of(gstar::to_bytes(*stored::sketch_of(which, 64))));
        return all;
    }();
    const stored::bytes& start = seeds[random / 16 % seeds.size()];
    if (random % 16 == 0 && start.size() <= most) {
        for (std::size_t i = 0; i < start.size(); ++i) data[i] = start[i];
        size = start.size();
    }
    return LLVMFuzzerMutate(data, size, most);
}
