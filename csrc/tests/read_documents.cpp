// read_documents.cpp - says of each document on standard input whether it is read.
//
//     read_documents        thresholds and results: "read crc32:<of their bytes>"
//     read_documents json   JSON of any kind: "read crc32:<of its content>"
//
// A document is its length in bytes, a line feed, and the bytes. The answer is one
// line; "refused" and why is the other one. tests/documents compares them with Python's.
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "gstar/thresholds_json.hpp"

namespace {

/// The checksum that the bytes of a set end in.
unsigned checksum_of(const gstar::thresholds& t) {
    const std::vector<std::uint8_t> bytes = gstar::to_bytes(t);
    return gstar::crc32(bytes.data(), bytes.size() - gstar::checksum_bytes);
}

std::string answer_to(const std::string& text, bool any_json) {
    try {
        const unsigned sum =
            any_json ? gstar::detail::content_checksum(gstar::read_json(text))
                     : checksum_of(gstar::thresholds_from_json(text));
        char line[32];
        std::snprintf(line, sizeof line, "read crc32:%08x", sum);
        return line;
    } catch (const std::invalid_argument& e) {
        std::string line = std::string("refused ") + e.what();
        for (char& c : line)
            if (static_cast<unsigned char>(c) < 0x20) c = ' ';
        return line;
    }
}

}  // namespace

int main(int count, char**) {
    std::string text;
    for (std::size_t size = 0; std::scanf("%zu", &size) == 1;) {
        std::getchar();
        text.resize(size);
        if (std::fread(&text[0], 1, size, stdin) != size) return 1;
        std::puts(answer_to(text, count > 1).c_str());
        std::fflush(stdout);
    }
}
