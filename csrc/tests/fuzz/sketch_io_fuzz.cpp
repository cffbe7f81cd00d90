// sketch_io_fuzz.cpp - libFuzzer against from_bytes, with the checksum made right again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "body.hpp"

using namespace gstar;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const stored::bytes b = fuzz::signed_bytes(data, size);
    if (b.empty()) return 0;
    try {
        const auto s = from_bytes(stored::view(b), 1 << 24);
        if (to_bytes(*s) != b) std::abort();  // not the canonical form
    } catch (const std::invalid_argument&) {
    }
    return 0;
}
