// bytes.hpp - numbers and names <-> bytes, with a header and a checksum around them.
//
// docs/sketch_format.md has the encodings. Whatever is read is checked before it
// is believed, and a refusal says whose bytes they were meant to be.
#pragma once

#include <array>
#include <cstddef>  // size_t
#include <cstdint>
#include <cstring>  // memcpy, memcmp
#include <string>
#include <utility>  // move
#include <vector>

#include "gstar/base/error.hpp"
#include "gstar/base/name.hpp"
#include "gstar/base/span.hpp"
#include "gstar/base/utf8.hpp"

namespace gstar {

using bytes_magic = std::array<std::uint8_t, 8>;

constexpr std::size_t header_bytes = 24;
constexpr std::size_t checksum_bytes = 4;

/// CRC-32 as in zlib and PNG.
inline std::uint32_t crc32(const std::uint8_t* data, std::size_t n) noexcept {
    static const std::array<std::uint32_t, 256> table = [] {
        std::array<std::uint32_t, 256> t{};
        for (std::uint32_t i = 0; i < 256; ++i) {
            std::uint32_t c = i;
            for (int bit = 0; bit < 8; ++bit)
                c = (c >> 1) ^ ((c & 1) != 0 ? 0xEDB88320u : 0);
            t[i] = c;
        }
        return t;
    }();
    std::uint32_t c = 0xFFFFFFFFu;
    for (std::size_t i = 0; i < n; ++i) c = table[(c ^ data[i]) & 0xFF] ^ (c >> 8);
    return c ^ 0xFFFFFFFFu;
}

namespace detail {

/// Refuse bytes that were meant to be `what` ("sketch").
[[noreturn]] inline void bad_bytes(const char* what, const std::string& why) {
    gstar::refuse({"not_valid", what, -1, why});
}

class byte_writer {
public:
    std::vector<std::uint8_t> out;

    byte_writer() = default;

    /// Begins with a header: magic, version 1, flags, four bytes more, and room
    /// for the length, which `sealed` knows.
    byte_writer(const bytes_magic& magic, unsigned flags, std::uint32_t more) {
        out.insert(out.end(), magic.begin(), magic.end());
        fixed(1, 2);
        fixed(flags, 2);
        fixed(more, 4);
        fixed(0, 8);
    }

    /// All that was written, with its length and its checksum.
    std::vector<std::uint8_t> sealed() {
        const std::uint64_t length = out.size() + checksum_bytes;
        for (std::size_t i = 0; i < 8; ++i)
            out[header_bytes - 8 + i] =
                static_cast<std::uint8_t>(length >> (8 * i));
        fixed(crc32(out.data(), out.size()), 4);
        return std::move(out);
    }

    void fixed(std::uint64_t v, int bytes) {
        for (int i = 0; i < bytes; ++i)
            out.push_back(static_cast<std::uint8_t>(v >> (8 * i)));
    }
    void real(double v) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &v, sizeof bits);
        fixed(bits, 8);
    }
    void varint(std::uint64_t v) {
        for (; v >= 0x80; v >>= 7)
            out.push_back(static_cast<std::uint8_t>(v | 0x80));
        out.push_back(static_cast<std::uint8_t>(v));
    }
    void zigzag(std::int64_t v) {
        const auto u = static_cast<std::uint64_t>(v);
        varint((u << 1) ^ (v < 0 ? ~std::uint64_t{0} : 0));
    }

    void group(const name& n) {
        switch (n.type) {
            case name::kind::integer:
                out.push_back(0);
                zigzag(n.number);
                break;
            case name::kind::text:
                out.push_back(1);
                varint(n.text.size());
                out.insert(out.end(), n.text.begin(), n.text.end());
                break;
            case name::kind::boolean:
                out.push_back(2);
                out.push_back(n.number != 0 ? 1 : 0);
                break;
            case name::kind::tuple:
                out.push_back(3);
                varint(n.parts.size());
                for (const name& part : n.parts) group(part);
        }
    }
};

class byte_reader {
public:
    byte_reader(const std::uint8_t* at, const std::uint8_t* end, const char* what)
        : at_(at), end_(end), what_(what) {}

    [[noreturn]] void refuse(const std::string& why) const {
        bad_bytes(what_, why);
    }

    std::size_t left() const noexcept {
        return static_cast<std::size_t>(end_ - at_);
    }
    void check_end() const {
        if (left() != 0) refuse("it goes on after its end");
    }

    std::uint8_t byte() {
        if (at_ == end_) refuse("it ends too early");
        return *at_++;
    }
    std::uint64_t fixed(int bytes) {
        std::uint64_t v = 0;
        for (int i = 0; i < bytes; ++i) v |= std::uint64_t{byte()} << (8 * i);
        return v;
    }
    double real() {
        const std::uint64_t bits = fixed(8);
        double v = 0;
        std::memcpy(&v, &bits, sizeof v);
        return v;
    }
    std::uint64_t varint() {
        std::uint64_t v = 0;
        for (int shift = 0;; shift += 7) {
            const std::uint8_t b = byte();
            if (shift == 63 && b > 1) refuse("a number is too large");
            v |= std::uint64_t{b & 0x7Fu} << shift;
            if (b < 0x80) {
                if (b == 0 && shift != 0)
                    refuse("a number is not in shortest form");
                return v;
            }
        }
    }
    std::int64_t zigzag() {
        const std::uint64_t v = varint();
        return static_cast<std::int64_t>((v >> 1) ^ (~(v & 1) + 1));
    }
    name group(bool inside = false) {
        switch (byte()) {
            case 0: return name::of(zigzag());
            case 1: {
                const std::uint64_t n = varint();
                if (n > left()) refuse("it ends too early");
                std::string text(reinterpret_cast<const char*>(at_),
                                 static_cast<std::size_t>(n));
                at_ += n;
                if (!is_utf8(text)) refuse("a group name is not valid UTF-8");
                return name::of_text(std::move(text));
            }
            case 2: {
                const std::uint8_t v = byte();
                if (v > 1) refuse("a group name is neither true nor false");
                return name::of_bool(v == 1);
            }
            case 3: {
                if (inside) refuse("a group name has a tuple in a tuple");
                const std::uint64_t n = varint();
                if (n < 1 || n > 16)
                    refuse("a group name has a tuple of wrong size");
                std::vector<name> parts;
                for (std::uint64_t i = 0; i < n; ++i) parts.push_back(group(true));
                return name::of_tuple(std::move(parts));
            }
            default: refuse("a group name is of unknown kind");
        }
    }

private:
    const std::uint8_t* at_;
    const std::uint8_t* end_;
    const char* what_;
};

/// Bytes whose header and checksum are right, and what stands between the two.
struct opened_bytes {
    std::uint64_t flags;
    std::uint64_t more;  ///< the four bytes after the flags
    byte_reader body;
};

/// Check header and checksum; `known(flags, more)` says whether we know them.
template <class Known>
opened_bytes open_bytes(span<const std::uint8_t> bytes, const bytes_magic& magic,
                        const char* what, Known known) {
    if (bytes.size() < header_bytes + checksum_bytes)
        bad_bytes(what,
                  "it has " + std::to_string(bytes.size()) + " bytes, too few");
    if (std::memcmp(bytes.data(), magic.data(), magic.size()) != 0)
        bad_bytes(what, "it does not begin like one");
    byte_reader head(bytes.data() + magic.size(), bytes.end(), what);
    const std::uint64_t version = head.fixed(2);
    if (version != 1)
        head.refuse("it is of version " + std::to_string(version) +
                    ", and this library reads version 1; install a newer one");
    const std::uint64_t flags = head.fixed(2);
    const std::uint64_t more = head.fixed(4);
    if (!known(flags, more)) head.refuse("it has unknown flags");
    if (head.fixed(8) != bytes.size())
        head.refuse("its length is not what it says; it may be cut off");
    const std::uint8_t* const end = bytes.end() - checksum_bytes;
    if (byte_reader(end, bytes.end(), what).fixed(4) !=
        crc32(bytes.data(), bytes.size() - checksum_bytes))
        head.refuse("its checksum is wrong; it is damaged");
    return {flags, more, byte_reader(bytes.data() + header_bytes, end, what)};
}

}  // namespace detail
}  // namespace gstar
