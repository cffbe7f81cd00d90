// merge_bytes_fuzz.cpp - libFuzzer against merge_bytes: the same as merging what
// from_bytes reads, and nothing changes where bytes are refused.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>

#include "body.hpp"

using namespace gstar;

namespace {

/// What became of a sketch, and whether it took the bytes.
template <class Merge>
bool took(sketch& s, Merge merge) {
    const stored::bytes before = to_bytes(s);
    try {
        merge();
        return true;
    } catch (const std::exception&) {
        if (to_bytes(s) != before) std::abort();
        return false;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const stored::bytes b = fuzz::signed_bytes(data, size);
    if (b.empty()) return 0;
    // Into which sketch is left to chance.
    const auto straight = stored::sketch_of(crc32(data, size) % 16, 64);
    const auto apart = straight->clone();
    const bool one =
        took(*straight, [&] { merge_bytes(*straight, stored::view(b)); });
    const bool other = took(*apart, [&] {
        apart->merge(*from_bytes(stored::view(b), apart->memory_limit()));
    });
    if (one != other || to_bytes(*straight) != to_bytes(*apart)) std::abort();
    return 0;
}
