// thresholds_fuzz.cpp - hostile JSON and bytes are refused, or read and decided by.
//
// tests/helpers/saved_documents.py writes texts to begin with.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "gstar/decide.hpp"
#include "gstar/thresholds_json.hpp"

namespace {

void check(bool condition) {
    if (!condition) __builtin_trap();
}

/// Whatever is accepted can be written, read again, and used.
void use(const gstar::thresholds& t) {
    const std::vector<std::uint8_t> bytes = gstar::to_bytes(t);
    const gstar::decider decider(
        gstar::thresholds_from_bytes({bytes.data(), bytes.size()}));
    check(gstar::to_bytes(decider.set()) == bytes);
    const gstar::name& group = t.groups[0].group;
    if (t.cuts) {  // rows are decided by a number: the least of the first segment
        const auto segment = static_cast<std::size_t>(group.number);
        const double number = segment == 0 ? -INFINITY : (*t.cuts)[segment - 1];
        check(t.randomized ? decider.one(INFINITY, number, 7)
                           : decider.one(INFINITY, number));
        return;
    }
    check(t.randomized ? decider.one(INFINITY, group, 7)
                       : decider.one(INFINITY, group));
}

template <class Read>
void try_to(Read read) {
    gstar::thresholds t;
    try {
        t = read();
    } catch (const std::invalid_argument&) {
        return;
    }
    use(t);
}

/// Whatever a document says it says in UTF-8, and its keys are all different.
void check_value(const gstar::json& v) {
    check(gstar::is_utf8(v.text));
    for (const gstar::json& part : v.list) check_value(part);
    for (const auto& m : v.members) {
        check(gstar::is_utf8(m.first));
        check(v.find(m.first) == &m.second);
        check_value(m.second);
    }
}

/// The document without its checksum, which would keep the fuzzer out.
gstar::thresholds read_unsealed(std::string_view text) {
    const gstar::json document = gstar::read_json(text);
    check_value(document);
    return gstar::detail::thresholds_of(document);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try_to([&] { return gstar::read_thresholds({data, size}); });
    try_to([&] {
        return read_unsealed({reinterpret_cast<const char*>(data), size});
    });
    // The checksum keeps the fuzzer out of the binary reader: put a right one in.
    std::vector<std::uint8_t> bytes(data, data + size);
    if (size < 28) return 0;
    for (std::size_t i = 0; i < 8; ++i) {
        bytes[i] = gstar::thresholds_magic[i];
        bytes[16 + i] = static_cast<std::uint8_t>(std::uint64_t{size} >> (8 * i));
    }
    const std::uint32_t sum = gstar::crc32(bytes.data(), size - 4);
    for (std::size_t i = 0; i < 4; ++i)
        bytes[size - 4 + i] = static_cast<std::uint8_t>(sum >> (8 * i));
    try_to([&] { return gstar::thresholds_from_bytes({bytes.data(), size}); });
    return 0;
}
