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

namespace detail {

/// Row r: what a byte does to a checksum from r bytes further on.
using crc_tables = std::array<std::array<std::uint32_t, 256>, 8>;

inline const crc_tables& crc32_tables() noexcept {
    static const crc_tables tables = [] {
        crc_tables t{};
        for (std::uint32_t i = 0; i < 256; ++i) {
            std::uint32_t c = i;
            for (int bit = 0; bit < 8; ++bit)
                c = (c >> 1) ^ ((c & 1) != 0 ? 0xEDB88320u : 0);
            t[0][i] = c;
        }
        for (std::size_t r = 1; r < 8; ++r)
            for (std::size_t i = 0; i < 256; ++i)
                t[r][i] = t[0][t[r - 1][i] & 0xFF] ^ (t[r - 1][i] >> 8);
        return t;
    }();
    return tables;
}

}  // namespace detail

/// CRC-32 as in zlib and PNG, eight bytes at a time.
inline std::uint32_t crc32(const std::uint8_t* data, std::size_t n) noexcept {
    const detail::crc_tables& t = detail::crc32_tables();
    std::uint32_t c = 0xFFFFFFFFu;
    for (; n >= 8; data += 8, n -= 8)
        c = t[7][(c ^ data[0]) & 0xFF] ^ t[6][(c >> 8 ^ data[1]) & 0xFF] ^
            t[5][(c >> 16 ^ data[2]) & 0xFF] ^ t[4][(c >> 24 ^ data[3]) & 0xFF] ^
            t[3][data[4]] ^ t[2][data[5]] ^ t[1][data[6]] ^ t[0][data[7]];
    for (; n > 0; ++data, --n) c = t[0][(c ^ *data) & 0xFF] ^ (c >> 8);
    return c ^ 0xFFFFFFFFu;
}

namespace detail {

/// Refuse bytes that were meant to be `what` ("sketch").
[[noreturn]] inline void bad_bytes(const char* what, const std::string& why) {
    gstar::refuse({"not_valid", what, -1, why});
}

[[noreturn]] inline void bad_bytes(const char* what, const char* why) {
    bad_bytes(what, std::string(why));
}

class byte_writer {
public:
    std::vector<std::uint8_t> out;

    byte_writer() = default;

    /// Begins with a header: magic, version, flags, four bytes more, and room for
    /// the length, which `sealed` knows.
    byte_writer(const bytes_magic& magic, unsigned version, unsigned flags,
                std::uint32_t more) {
        out.assign(magic.begin(), magic.end());
        fixed(version, 2);
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
    void raw(const std::string& bytes) {
        out.insert(out.end(), bytes.begin(), bytes.end());
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
                raw(n.text);
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

/// Longest number that is read, in bytes: the largest sum of scores takes about
/// half of it.
constexpr int longest_varint = 640;

class byte_reader {
public:
    byte_reader(const std::uint8_t* at, const std::uint8_t* end, const char* what)
        : at_(at), end_(end), what_(what) {}

    [[noreturn]] void refuse(const char* why) const { bad_bytes(what_, why); }

    const char* what() const noexcept { return what_; }
    std::size_t left() const noexcept {
        return static_cast<std::size_t>(end_ - at_);
    }

    std::uint8_t byte() {
        if (at_ == end_) refuse("it ends too early");
        return *at_++;
    }
    /// The next n bytes, and past them.
    const std::uint8_t* take(std::uint64_t n) {
        if (n > left()) refuse("it ends too early");
        at_ += n;
        return at_ - n;
    }
    std::uint64_t fixed(int bytes) {
        const std::uint8_t* const from = take(static_cast<std::uint64_t>(bytes));
        std::uint64_t v = 0;
        for (int i = 0; i < bytes; ++i) v |= std::uint64_t{from[i]} << (8 * i);
        return v;
    }
    double real() {
        const std::uint64_t bits = fixed(8);
        double v = 0;
        std::memcpy(&v, &bits, sizeof v);
        return v;
    }

    /// Read an unsigned number of any size, in shortest form; false where 64 bits
    /// do not hold it, and then the lowest ones are right.
    bool fits(std::uint64_t& v) {
        if (at_ != end_ && *at_ < 0x80) {  // mostly
            v = *at_++;
            return true;
        }
        if (left() >= 4) {  // nearly always all of the rest
            v = at_[0] & 0x7Fu;
            for (int i = 1; i < 4; ++i) {
                v |= std::uint64_t{at_[i] & 0x7Fu} << (7 * i);
                if (at_[i] >= 0x80) continue;
                if (at_[i] == 0) break;  // not the shortest form
                at_ += i + 1;
                return true;
            }
        }
        const long_number n = read_long(at_, end_, what_);
        at_ = n.end;
        v = n.low;
        return n.fits;
    }

    /// An unsigned number of at most `most`.
    std::uint64_t varint(std::uint64_t most = ~std::uint64_t{0}) {
        std::uint64_t v = 0;
        if (!fits(v) || v > most) refuse("a number is too large");
        return v;
    }
    /// A signed number; the largest of its sign where 64 bits do not hold it.
    std::int64_t zigzag() {
        std::uint64_t v = 0;
        const bool whole = fits(v);
        if (!whole) v = (v & 1) | ~std::uint64_t{1};
        return static_cast<std::int64_t>((v >> 1) ^ (~(v & 1) + 1));
    }

    /// Bytes, with their number in front.
    std::string string() {
        std::uint64_t n = 0;
        if (!fits(n)) n = ~std::uint64_t{0};
        const std::uint8_t* const from = take(n);
        return {reinterpret_cast<const char*>(from), static_cast<std::size_t>(n)};
    }
    std::string text() {
        std::string out = string();
        if (!is_utf8(out)) refuse("a name is not valid UTF-8");
        return out;
    }

    /// A name, `in_tuple` if it is a part of one.
    name group(bool in_tuple = false) {
        const std::uint8_t kind = byte();
        if (kind == 0) {
            std::uint64_t v = 0;
            if (!fits(v)) refuse("a group's number does not fit into 64 bits");
            return name::of(static_cast<std::int64_t>((v >> 1) ^ (~(v & 1) + 1)));
        }
        if (kind == 1) return name::of_text(text());
        if (kind == 2) return name::of_bool(varint(1) != 0);
        if (kind != 3 || in_tuple) refuse("a group's name has an unknown type");
        const std::uint64_t n = varint(longest_tuple);
        if (n == 0) refuse("a group's name is an empty tuple");
        std::vector<name> parts;
        for (std::uint64_t i = 0; i < n; ++i) parts.push_back(group(true));
        return name::of_tuple(std::move(parts));
    }

private:
    struct long_number {
        const std::uint8_t* end;
        std::uint64_t low;  ///< its lowest 64 bits
        bool fits;
    };

    /// Takes no reader, so that compilers keep readers in registers.
    static long_number read_long(const std::uint8_t* at, const std::uint8_t* end,
                                 const char* what) {
        long_number out{at, 0, true};
        for (int i = 0; i < longest_varint; ++i) {
            if (out.end == end) bad_bytes(what, "it ends too early");
            const std::uint8_t b = *out.end++;
            const std::uint64_t part = b & 0x7Fu;
            if (i < 9 || (i == 9 && part < 2))
                out.low |= part << (7 * i);
            else
                out.fits = out.fits && part == 0;
            if (b >= 0x80) continue;
            if (b == 0 && i > 0)
                bad_bytes(what, "a number is not in its shortest form");
            return out;
        }
        bad_bytes(what, "a number is too large");
    }

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

/// Check header and checksum; `known(flags, more)` says whether we know the rest of
/// the header.
template <class Known>
opened_bytes open_bytes(span<const std::uint8_t> bytes, const bytes_magic& magic,
                        const char* what, unsigned version, Known known) {
    if (bytes.size() < header_bytes + checksum_bytes)
        bad_bytes(what,
                  "it has " + std::to_string(bytes.size()) + " bytes, too few");
    if (std::memcmp(bytes.data(), magic.data(), magic.size()) != 0)
        bad_bytes(what, "it does not begin like one");
    byte_reader head(bytes.data() + magic.size(), bytes.end(), what);
    const std::uint64_t found = head.fixed(2);
    if (found != version)
        bad_bytes(what, "it is of version " + std::to_string(found) +
                            ", and this library reads version " +
                            std::to_string(version) + "; install a newer one");
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
