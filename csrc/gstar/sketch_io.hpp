// sketch_io.hpp - sketch <-> versioned bytes; trusts no input.
//
// The format is docs/sketch_format.md. Only the canonical form is accepted, and
// everything that is read is checked before it is believed.
#pragma once

#include <array>
#include <cmath>    // isfinite, ldexp, signbit
#include <cstddef>  // size_t
#include <cstdint>
#include <cstring>  // memcpy, memcmp
#include <limits>
#include <memory>  // unique_ptr
#include <stdexcept>
#include <string>
#include <utility>  // move
#include <vector>

#include "gstar/base/span.hpp"
#include "gstar/count/moments.hpp"
#include "gstar/sketch.hpp"

namespace gstar {

constexpr std::array<std::uint8_t, 8> sketch_magic = {0x89, 'G', 'S',  'T',
                                                      'A',  'R', '\r', '\n'};
constexpr std::size_t header_bytes = 24;
constexpr std::size_t checksum_bytes = 4;
constexpr std::uint64_t most_rows = (std::uint64_t{1} << 63) - 1;

enum sketch_flags : unsigned { flag_weighted = 1, flag_fixed = 2, flag_given = 4 };

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

[[noreturn]] inline void bad_bytes(const std::string& what) {
    refuse({"not_valid", "sketch", -1, what});
}

class byte_writer {
public:
    std::vector<std::uint8_t> out;

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

    /// zigzag of v / 2^shift, which leaves no remainder.
    template <std::size_t N>
    void zigzag(wide<N> v, int shift = 0) {
        const bool minus = v.negative();
        if (minus) v.negate();
        // 2v, or 2v - 1 below zero: as bits, the magnitude and then the sign.
        // 2(m) - 1 = 2(m - 1) + 1, so the magnitude loses one first.
        wide<N> magnitude;
        for (int i = 0; i < static_cast<int>(N); ++i)
            magnitude.set_limb(static_cast<std::size_t>(i),
                               v.word_at(shift + 64 * i));
        if (minus) magnitude.add(-1, 0);
        const int length = magnitude.bits() + 1;
        std::uint8_t low = static_cast<std::uint8_t>(
            ((magnitude.limb(0) << 1) | (minus ? 1u : 0u)) & 0x7F);
        int at = 6;  // bits of the magnitude written with the sign
        while (at < length - 1) {
            out.push_back(static_cast<std::uint8_t>(low | 0x80));
            low = static_cast<std::uint8_t>(magnitude.word_at(at) & 0x7F);
            at += 7;
        }
        out.push_back(low);
    }

    /// An integer in units of 2^-unit as odd mantissa and exponent.
    template <std::size_t N>
    void number(const wide<N>& v, int unit) {
        if (v.is_zero()) {
            out.push_back(0);
            return;
        }
        int shift = 0;
        while ((v.limb(static_cast<std::size_t>(shift) / 64) >> (shift % 64) & 1) ==
               0)
            ++shift;
        zigzag(v, shift);
        zigzag(static_cast<std::int64_t>(shift - unit));
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
    byte_reader(const std::uint8_t* at, const std::uint8_t* end)
        : at_(at), end_(end) {}

    std::size_t left() const noexcept {
        return static_cast<std::size_t>(end_ - at_);
    }

    std::uint8_t byte() {
        if (at_ == end_) bad_bytes("it ends too early");
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
            if (shift == 63 && b > 1) bad_bytes("a number is too large");
            v |= std::uint64_t{b & 0x7Fu} << shift;
            if (b < 0x80) {
                if (b == 0 && shift != 0)
                    bad_bytes("a number is not in shortest form");
                return v;
            }
        }
    }
    std::int64_t zigzag() {
        const std::uint64_t v = varint();
        return static_cast<std::int64_t>((v >> 1) ^ (~(v & 1) + 1));
    }
    /// zigzag of up to `most` bits of magnitude.
    template <std::size_t N>
    wide<N> zigzag_wide(int most) {
        wide<N> v;
        bool minus = false;
        for (int at = -1;; at += 7) {  // bit -1 is the sign
            const std::uint8_t b = byte();
            const std::uint64_t part = b & 0x7Fu;
            if (at < 0) {
                minus = (part & 1) != 0;
                v.add(static_cast<std::int64_t>(part >> 1), 0);
            } else if (part != 0) {
                if (at + bit_length(part) > most)
                    bad_bytes("a number is too large");
                v.add(static_cast<std::int64_t>(part), static_cast<unsigned>(at));
            }
            if (b < 0x80) {
                if (b == 0 && at >= 0)
                    bad_bytes("a number is not in shortest form");
                break;
            }
            if (at > most) bad_bytes("a number is too large");
        }
        if (minus) {
            v.add(1, 0);
            v.negate();
        }
        return v;
    }
    /// Mantissa and exponent, in units of 2^-unit and of at most `most` bits.
    template <std::size_t N>
    wide<N> number(int unit, int most) {
        wide<N> v = zigzag_wide<N>(most);
        if (v.is_zero()) return v;
        if ((v.limb(0) & 1) == 0) bad_bytes("a sum is not in shortest form");
        const std::int64_t exponent = zigzag();
        wide<N> size = v;
        if (size.negative()) size.negate();
        if (exponent < -unit || exponent + unit + size.bits() > most)
            bad_bytes("a sum is out of range");
        auto shift = static_cast<unsigned>(exponent + unit);
        for (; shift >= 63; shift -= 63) v.shift_left(63);
        if (shift != 0) v.shift_left(shift);
        return v;
    }
    name group(bool inside = false) {
        switch (byte()) {
            case 0: return name::of(zigzag());
            case 1: {
                const std::uint64_t n = varint();
                if (n > left()) bad_bytes("it ends too early");
                std::string text(reinterpret_cast<const char*>(at_),
                                 static_cast<std::size_t>(n));
                at_ += n;
                if (!is_utf8(text)) bad_bytes("a group name is not valid UTF-8");
                return name::of_text(std::move(text));
            }
            case 2: {
                const std::uint8_t v = byte();
                if (v > 1) bad_bytes("a group name is neither true nor false");
                return name::of_bool(v == 1);
            }
            case 3: {
                if (inside) bad_bytes("a group name has a tuple in a tuple");
                const std::uint64_t n = varint();
                if (n < 1 || n > 16)
                    bad_bytes("a group name has a tuple of wrong size");
                std::vector<name> parts;
                for (std::uint64_t i = 0; i < n; ++i) parts.push_back(group(true));
                return name::of_tuple(std::move(parts));
            }
            default: bad_bytes("a group name is of unknown kind");
        }
    }

private:
    static bool is_utf8(const std::string& s) noexcept {
        std::size_t i = 0;
        const auto at = [&](std::size_t j) {
            return j < s.size() ? static_cast<std::uint8_t>(s[j]) : 0u;
        };
        while (i < s.size()) {
            const unsigned b = at(i);
            const unsigned more = b < 0x80 ? 0 : b < 0xE0 ? 1 : b < 0xF0 ? 2 : 3;
            if ((b >= 0x80 && b < 0xC2) || b > 0xF4) return false;
            for (unsigned j = 1; j <= more; ++j)
                if ((at(i + j) & 0xC0) != 0x80) return false;
            const unsigned second = at(i + 1);
            if ((b == 0xE0 && second < 0xA0) || (b == 0xED && second > 0x9F) ||
                (b == 0xF0 && second < 0x90) || (b == 0xF4 && second > 0x8F))
                return false;
            i += more + 1;
        }
        return true;
    }

    const std::uint8_t* at_;
    const std::uint8_t* end_;
};

inline void write_cell(byte_writer& to, const plane& p, std::uint32_t cell,
                       const window& at) {
    if (cell >= p.cells()) {
        to.fixed(0, 3);
        return;
    }
    to.varint(static_cast<std::uint64_t>(p.below(cell)));
    to.varint(static_cast<std::uint64_t>(p.above(cell)));
    std::vector<std::uint32_t> full;
    for (std::uint32_t b = 0; b < at.bins; ++b)
        if (p.count(cell, b) != 0) full.push_back(b);
    to.varint(full.size());
    if (full.empty()) return;
    to.real(p.lo(cell));
    to.real(p.hi(cell));
    to.number(p.more(cell)->squares, square_unit);
    std::uint32_t next = 0;
    for (const std::uint32_t b : full) {
        to.varint(b - next);
        next = b + 1;
        to.varint(static_cast<std::uint64_t>(p.count(cell, b)));
        const std::int64_t k = at.first + b;
        if (k == 0 || k == -1)
            to.number(p.more(cell)->zero[k + 1], zero_unit);
        else
            to.zigzag(p.sum(cell, b));
    }
}

/// Least and most that the squares of a cell's rows can be, given the count and
/// the sum of each bin; in units of 2^-2194, the square of the finest unit of sums.
///
/// Rounded scores are whole numbers of a unit. The least: rows as close together
/// as their sum lets them. No sum leaves more than this and, for each row, the
/// square of half the range of scores that its bin can hold.
class square_bounds {
public:
    explicit square_bounds(int level) : level_(level) {}

    /// A bin away from zero: `sum` of offsets, which round out of it by `slack`.
    void add(std::uint64_t n, std::int64_t k, bin_sum sum, std::uint64_t slack) {
        // Of scores k 2^23 + q, and `rest` of them one more, the squares are
        // n k^2 2^46 + 2 k 2^23 sum + n q^2 + 2 q rest + rest.
        const auto [q, rest] = divide(sum, n);
        const auto bit = static_cast<unsigned>(2 * (level_ - offset_bits) + 2194);
        const std::uint64_t far = size_of(k);
        add_square(least_, far, n, bit + 2 * offset_bits);
        const bool minus = (k < 0) != sum.negative();
        if (sum.negative()) sum.negate();
        least_.add_product(sum.limb(0), far, bit + offset_bits + 1, minus);
        least_.add_product(sum.limb(1), far, bit + offset_bits + 65, minus);
        add_square(least_, size_of(q), n, bit);
        least_.add_product(size_of(q), rest, bit + 1, q < 0);
        least_.add_product(rest, 1, bit);
        add_square(room_, (std::uint64_t{1} << (offset_bits - 1)) + slack, n, bit);
    }

    /// A bin that touches zero: the sum of its scores, in units of 2^-1074.
    void add_zero(std::uint64_t n, zero_sum sum) {
        if (sum.negative()) sum.negate();
        zero_sum q;
        std::uint64_t rest = 0;
        for (int bit = sum.bits() - 1; bit >= 0; --bit) {
            const auto i = static_cast<std::size_t>(bit) / 64;
            rest = (rest << 1) | (sum.limb(i) >> (bit % 64) & 1);
            if (rest < n) continue;
            rest -= n;
            q.set_limb(i, q.limb(i) | std::uint64_t{1} << (bit % 64));
        }
        // n q^2 + (2 q + 1) rest, where sum = n q + rest
        sum.add_product(rest, 1, 0);
        for (std::size_t i = 0; i < 34; ++i)  // few words of a sum are not 0
            for (std::size_t j = 0; j < 34 && sum.limb(i) != 0; ++j)
                least_.add_product(sum.limb(i), q.limb(j),
                                   static_cast<unsigned>(46 + 64 * (i + j)));
        least_.add_product(rest, 1, 46);
        room_.add_product(
            n, 1, static_cast<unsigned>(2 * std::max(level_, -1045) + 2192));
    }

    void check(const square_sum& squares) const {
        wide<68> claimed;
        for (std::size_t i = 0; i < 66; ++i) claimed.set_limb(i, squares.limb(i));
        claimed.shift_left(46);  // from units of 2^-2148
        wide<68> most = least_;
        most += room_;
        if (claimed < least_ || most < claimed)
            bad_bytes("a sum of squares does not fit its bins");
    }

private:
    static std::uint64_t size_of(std::int64_t v) noexcept {
        return v < 0 ? ~static_cast<std::uint64_t>(v) + 1
                     : static_cast<std::uint64_t>(v);
    }

    /// to += n * x^2 * 2^bit.
    static void add_square(wide<68>& to, std::uint64_t x, std::uint64_t n,
                           unsigned bit) noexcept {
        std::uint64_t low = 0;
        const std::uint64_t high = multiply(x, x, low);
        to.add_product(low, n, bit);
        if (high != 0) to.add_product(high, n, bit + 64);
    }

    int level_;
    wide<68> least_;
    wide<68> room_;
};

/// Reads cells one after the other and checks that they belong together.
class cell_reader {
public:
    cell_reader(byte_reader& from, const window& at) : from_(from), at_(at) {}

    void read(plane& p, std::uint32_t cell) {
        const std::uint64_t below = add_rows(from_.varint());
        const std::uint64_t above = add_rows(from_.varint());
        const std::uint64_t n_full = from_.varint();
        if (n_full > at_.bins) bad_bytes("a cell has more bins than the sketch");
        any_ = below != 0 || above != 0 || n_full != 0;
        if (!any_) return;
        p.add_below(cell, static_cast<std::int64_t>(below));
        p.add_above(cell, static_cast<std::int64_t>(above));
        if (n_full != 0) read_bins(p, cell, n_full);
    }

    bool any() const noexcept { return any_; }
    std::int64_t total() const noexcept {
        return static_cast<std::int64_t>(total_);
    }
    double lo() const noexcept { return lo_; }
    double hi() const noexcept { return hi_; }

private:
    std::uint64_t add_rows(std::uint64_t n) {
        if (n > most_rows - total_) bad_bytes("it has 2**63 rows or more");
        total_ += n;
        return n;
    }

    double extreme() {
        const double x = from_.real();
        if (!(std::fabs(x) <= greatest_score()) || (x == 0 && std::signbit(x)))
            bad_bytes("an extreme score is not a score");
        return x;
    }

    void read_bins(plane& p, std::uint32_t cell, std::uint64_t n_full) {
        const double lo = extreme();
        const double hi = extreme();
        if (lo > hi) bad_bytes("the smallest score is above the largest");
        cell_extra& more = p.extra(cell);
        more.squares = from_.number<66>(square_unit, 64 * 66 - 2);
        if (more.squares.negative()) bad_bytes("a sum of squares is negative");
        square_bounds bounds(at_.level);
        std::uint64_t rows = 0;
        std::uint64_t next = 0;
        for (std::uint64_t i = 0; i < n_full; ++i) {
            const std::uint64_t gap = from_.varint();
            if (gap >= at_.bins - next) bad_bytes("a bin is outside the window");
            const std::uint64_t b = next + gap;
            next = b + 1;
            const std::int64_t k = at_.first + static_cast<std::int64_t>(b);
            if (i == 0 && bin_floor(lo, at_.level) != static_cast<double>(k))
                bad_bytes("the smallest score is not in the first bin");
            if (i + 1 == n_full &&
                bin_floor(hi, at_.level) != static_cast<double>(k))
                bad_bytes("the largest score is not in the last bin");
            const std::uint64_t n = add_rows(from_.varint());
            if (n == 0) bad_bytes("a bin that is listed has no rows");
            rows += n;
            bin_sum sum;
            if (k == 0 || k == -1) {
                more.zero[k + 1] = read_zero(n, k);
                bounds.add_zero(n, more.zero[k + 1]);
            } else {
                sum = read_sum(n, k);
                bounds.add(n, k, sum, slack_of(spacing_at(k)));
            }
            p.put(cell, static_cast<std::uint32_t>(b), static_cast<std::int64_t>(n),
                  sum);
        }
        check_squares(more.squares, rows, lo, hi);
        bounds.check(more.squares);
        p.cover(cell, lo, hi);
        lo_ = std::min(lo_, lo);
        hi_ = std::max(hi_, hi);
    }

    /// Distance of 24-bit numbers at the nearer edge of bin k, away from zero, as
    /// a power of two of the unit of sums.
    int spacing_at(std::int64_t k) const noexcept {
        const auto nearer = static_cast<std::uint64_t>(k > 0 ? k : -k - 1);
        return std::max(at_.level + bit_length(nearer) - 1 - 23, -1045) -
               (at_.level - offset_bits);
    }

    /// How far rounding may carry a score out of its bin, in units of sums.
    static std::uint64_t slack_of(int spacing) noexcept {
        return spacing - 1 >= offset_bits ? std::uint64_t{1} << (spacing - 1) : 0;
    }

    bin_sum read_sum(std::uint64_t n, std::int64_t k) {
        const bin_sum sum = from_.zigzag_wide<2>(126);
        const int spacing = spacing_at(k);
        const std::uint64_t slack = slack_of(spacing);
        bin_sum least;
        least.add_product(n, slack, 0, true);
        bin_sum most;
        most.add_product(n, slack + (std::uint64_t{1} << offset_bits), 0);
        if (sum < least || most < sum) bad_bytes("a sum is not within its bin");
        wide<4> scores;
        scores.add_product(n, static_cast<std::uint64_t>(k < 0 ? -k : k),
                           offset_bits, k < 0);
        scores.add_product(sum.limb(0), 1, 0);
        scores.add(static_cast<std::int64_t>(sum.limb(1)), 64);
        if (spacing > 0 && scores.limb(0) << (64 - spacing) != 0)
            bad_bytes("a sum is not one of rounded scores");
        return sum;
    }

    zero_sum read_zero(std::uint64_t n, std::int64_t k) {
        const zero_sum sum = from_.number<34>(zero_unit, 64 * 34 - 2);
        zero_sum bound;
        bound.add_product(
            n, 1, static_cast<unsigned>(std::max(at_.level, -1045) + zero_unit),
            k != 0);
        const zero_sum nothing;
        const bool fine = k == 0 ? !sum.negative() && !(bound < sum)
                                 : !(sum < bound) && !(nothing < sum);
        if (!fine) bad_bytes("a sum is not within its bin");
        return sum;
    }

    static void check_squares(const square_sum& squares, std::uint64_t rows,
                              double lo, double hi) {
        const double far = std::max(std::fabs(round24(lo)), std::fabs(round24(hi)));
        const rounded parts = take_apart(far);
        const auto size = static_cast<std::uint64_t>(parts.mantissa);
        square_sum most;
        most.add_product(size * size, rows,
                         static_cast<unsigned>(2 * parts.exponent + square_unit));
        if (most < squares) bad_bytes("a sum of squares is too large");
    }

    byte_reader& from_;
    window at_;
    std::uint64_t total_ = 0;
    bool any_ = false;
    double lo_ = std::numeric_limits<double>::infinity();
    double hi_ = -std::numeric_limits<double>::infinity();
};

inline group_table read_groups(byte_reader& from, bool given) {
    const std::uint64_t n = from.varint();
    // A group takes eleven bytes at the least: refuse before making room.
    if (n > most_groups || n * 11 > from.left())
        bad_bytes("it has more groups than it can have");
    std::vector<name> names;
    for (std::uint64_t i = 0; i < n; ++i) {
        names.push_back(from.group());
        if (!given && i != 0 && !(names[i - 1] < names[i]))
            bad_bytes("its groups are out of order");
    }
    if (given) return group_table(names);
    group_table out;
    if (out.missing(names).size() != names.size())
        bad_bytes("it has a group twice");
    out.add(names);
    return out;
}

}  // namespace detail

/// The sketch as bytes, the same for the same rows.
inline std::vector<std::uint8_t> to_bytes(sketch& s) {
    return s.look(
        [&](const tally& counts, const std::vector<std::uint32_t>& slots) {
            detail::byte_writer to;
            to.out.insert(to.out.end(), sketch_magic.begin(), sketch_magic.end());
            to.fixed(1, 2);
            to.fixed((counts.weighted ? flag_weighted : 0u) |
                         (counts.fixed() ? flag_fixed : 0u) |
                         (s.groups().given() ? flag_given : 0u),
                     2);
            to.fixed(0, 4);
            to.fixed(0, 8);  // the length, known at the end
            const window& at = counts.at();
            to.varint(static_cast<std::uint64_t>(bit_length(at.bins) - 1));
            to.zigzag(static_cast<std::int64_t>(at.level));
            to.zigzag(at.first);
            to.varint(static_cast<std::uint64_t>(counts.skipped));
            to.varint(slots.size());
            for (const std::uint32_t slot : slots)
                to.group(s.groups().names()[slot]);
            for (const std::uint32_t slot : slots) {
                detail::write_cell(to, counts.labelled, 2 * slot, at);
                detail::write_cell(to, counts.labelled, 2 * slot + 1, at);
                detail::write_cell(to, counts.unlabelled, slot, at);
            }
            const std::uint64_t length = to.out.size() + checksum_bytes;
            for (std::size_t i = 0; i < 8; ++i)
                to.out[16 + i] = static_cast<std::uint8_t>(length >> (8 * i));
            to.fixed(crc32(to.out.data(), to.out.size()), 4);
            return std::move(to.out);
        });
}

/// The sketch that these bytes describe, or std::invalid_argument.
inline std::unique_ptr<sketch> from_bytes(span<const std::uint8_t> bytes,
                                          std::uint64_t memory_limit) {
    using detail::bad_bytes;
    if (bytes.size() < header_bytes + checksum_bytes)
        bad_bytes("it has " + std::to_string(bytes.size()) + " bytes, too few");
    if (std::memcmp(bytes.data(), sketch_magic.data(), sketch_magic.size()) != 0)
        bad_bytes("it does not begin like one");
    detail::byte_reader head(bytes.data() + 8, bytes.end());
    const std::uint64_t version = head.fixed(2);
    if (version != 1)
        bad_bytes("it is of version " + std::to_string(version) +
                  ", and this library reads version 1; install a newer one");
    const std::uint64_t flags = head.fixed(2);
    if (flags > 7 || head.fixed(4) != 0) bad_bytes("it has unknown flags");
    if (head.fixed(8) != bytes.size())
        bad_bytes("its length is not what it says; it may be cut off");
    const std::uint8_t* end = bytes.end() - checksum_bytes;
    detail::byte_reader tail(end, bytes.end());
    if (tail.fixed(4) != crc32(bytes.data(), bytes.size() - checksum_bytes))
        bad_bytes("its checksum is wrong; it is damaged");

    detail::byte_reader from(bytes.data() + header_bytes, end);
    const std::uint64_t log_bins = from.varint();
    if (log_bins < 4 || log_bins > 16)
        bad_bytes("its number of bins is not supported");
    const std::int64_t level = from.zigzag();
    const std::int64_t first = from.zigzag();
    sketch_options options;
    options.at = {static_cast<int>(level), first, 1u << log_bins};
    options.fixed = (flags & flag_fixed) != 0;
    options.memory_limit = memory_limit;
    const auto most_edge = static_cast<std::int64_t>(greatest_edge);
    if (level < least_level || level > greatest_level || first < -most_edge ||
        first > most_edge - options.at.bins || !std::isfinite(options.at.edge(0)) ||
        !std::isfinite(options.at.edge(options.at.bins)))
        bad_bytes("its window is out of range");
    const std::uint64_t skipped = from.varint();
    if (skipped > most_rows) bad_bytes("it has skipped 2**63 rows or more");
    group_table groups = detail::read_groups(from, (flags & flag_given) != 0);
    auto out = std::make_unique<sketch>(options);
    try {
        out->check_room(groups.size());
    } catch (const memory_limit_error& e) {
        refuse({"bytes_need_too_much_memory", e.why.argument, -1, e.why.value,
                e.why.limit});
    }

    tally counts(options.at, options.fixed);
    const std::uint32_t n = groups.size();
    detail::cell_reader cells(from, options.at);
    counts.resize(n, true);
    for (std::uint32_t g = 0; g < n; ++g) {
        bool any = false;
        for (std::uint32_t label = 0; label < 2; ++label) {
            cells.read(counts.labelled, 2 * g + label);
            any = any || cells.any();
        }
        cells.read(counts.unlabelled, g);
        any = any || cells.any();
        if (!any && !groups.given()) bad_bytes("a learned group has no rows");
    }
    if (from.left() != 0) bad_bytes("it goes on after its end");
    if (!options.fixed) {
        const window wanted =
            cells.lo() <= cells.hi()
                ? window_of(cells.lo(), cells.hi(), options.at.bins)
                : window{0, 0, options.at.bins};
        if (wanted != options.at)
            bad_bytes("its window is not the one of its scores");
    }
    counts.skipped = static_cast<std::int64_t>(skipped);
    counts.weighted = (flags & flag_weighted) != 0;
    counts.restore(cells.lo(), cells.hi(), cells.total());
    out->restore(std::move(groups), std::move(counts));
    return out;
}

}  // namespace gstar
