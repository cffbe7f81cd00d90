// wide_numbers.hpp - whole numbers of many bits <-> bytes.
#pragma once

#include <cstddef>  // size_t
#include <cstdint>

#include "gstar/base/bytes.hpp"
#include "gstar/base/wide.hpp"

namespace gstar::detail {

/// zigzag of v / 2^shift, which leaves no remainder.
template <std::size_t N>
void write_zigzag(byte_writer& to, wide<N> v, int shift = 0) {
    const bool minus = v.negative();
    if constexpr (N == 2) {  // the sum of a bin, which nearly always fits
        const std::uint64_t low = v.limb(0);
        if (shift == 0 && v.limb(1) == (minus ? ~std::uint64_t{0} : 0) &&
            (low >> 63 != 0) == minus) {
            to.zigzag(static_cast<std::int64_t>(low));
            return;
        }
    }
    if (minus) v.negate();
    // 2v, or 2v - 1 below zero: as bits, the magnitude and then the sign.
    // 2(m) - 1 = 2(m - 1) + 1, so the magnitude loses one first.
    wide<N> magnitude;
    for (int i = 0; i < static_cast<int>(N); ++i)
        magnitude.set_limb(static_cast<std::size_t>(i), v.word_at(shift + 64 * i));
    if (minus) magnitude.add(-1, 0);
    const int length = magnitude.bits() + 1;
    std::uint8_t low = static_cast<std::uint8_t>(
        ((magnitude.limb(0) << 1) | (minus ? 1u : 0u)) & 0x7F);
    int at = 6;  // bits of the magnitude written with the sign
    while (at < length - 1) {
        to.out.push_back(static_cast<std::uint8_t>(low | 0x80));
        low = static_cast<std::uint8_t>(magnitude.word_at(at) & 0x7F);
        at += 7;
    }
    to.out.push_back(low);
}

/// An integer in units of 2^-unit as odd mantissa and exponent.
template <std::size_t N>
void write_number(byte_writer& to, const wide<N>& v, int unit) {
    if (v.is_zero()) {
        to.out.push_back(0);
        return;
    }
    int shift = 0;
    while ((v.limb(static_cast<std::size_t>(shift) / 64) >> (shift % 64) & 1) == 0)
        ++shift;
    write_zigzag(to, v, shift);
    to.zigzag(static_cast<std::int64_t>(shift - unit));
}

/// varint of a number that is not negative.
template <std::size_t N>
void write_varint(byte_writer& to, const wide<N>& v) {
    const int length = v.bits();
    int at = 0;
    for (; at + 7 < length; at += 7)
        to.out.push_back(static_cast<std::uint8_t>((v.word_at(at) & 0x7F) | 0x80));
    to.out.push_back(static_cast<std::uint8_t>(v.word_at(at) & 0x7F));
}

/// A number read in pieces of seven bits, of which the first has `skip` in front
/// that belong to something else.
template <std::size_t N>
struct wide_number {
    wide<N> v;
    bool fits =
        true;  ///< whether N words hold it, with a bit to spare and the sign
    std::uint64_t front = 0;

    wide_number(byte_reader& from, int skip) {
        constexpr int most = 64 * static_cast<int>(N) - 2;
        for (int i = 0; i < longest_varint; ++i) {
            const std::uint8_t b = from.byte();
            std::uint64_t part = b & 0x7Fu;
            const int at = 7 * i - skip;
            if (i == 0) {
                front = part & ((1u << skip) - 1);
                v.add(static_cast<std::int64_t>(part >> skip), 0);
            } else if (part != 0) {
                if (at + bit_length(part) > most)
                    fits = false;
                else
                    v.add(static_cast<std::int64_t>(part),
                          static_cast<unsigned>(at));
            }
            if (b >= 0x80) continue;
            if (b == 0 && i > 0)
                from.refuse("a number is not in its shortest form");
            return;
        }
        from.refuse("a number is too large");
    }
};

/// varint of any size; false where N words do not hold it.
template <std::size_t N>
bool read_varint(byte_reader& from, wide<N>& v) {
    const wide_number<N> read(from, 0);
    v = read.v;
    return read.fits;
}

/// zigzag of any size; false where N words do not hold it.
template <std::size_t N>
bool read_zigzag(byte_reader& from, wide<N>& v) {
    if constexpr (N == 2) {  // the sum of a bin, which nearly always fits
        const byte_reader start = from;
        std::uint64_t u = 0;
        if (from.fits(u)) {
            const std::uint64_t sign = ~(u & 1) + 1;
            v.set_limb(0, (u >> 1) ^ sign);
            v.set_limb(1, sign);
            return true;
        }
        from = start;
    }
    const wide_number<N> read(from, 1);
    v = read.v;
    if (read.front != 0) {
        v.add(1, 0);
        v.negate();
    }
    return read.fits;
}

/// Mantissa and exponent, in units of 2^-unit; false where N words do not hold it.
/// Exponents down to -lowest are in canonical form, though those under -unit do
/// not fit.
template <std::size_t N>
bool read_number(byte_reader& from, wide<N>& v, int unit, int lowest) {
    const bool fits = read_zigzag(from, v);
    if (fits && v.is_zero()) return true;
    const bool odd = (v.limb(0) & 1) != 0;
    const std::int64_t exponent = from.zigzag();
    if (!odd || exponent < -lowest || exponent > 8 * longest_varint - lowest)
        from.refuse("a sum is not in its canonical form");
    wide<N> size = v;
    if (size.negative()) size.negate();
    if (!fits || exponent < -unit ||
        exponent + unit + size.bits() > 64 * static_cast<std::int64_t>(N) - 2)
        return false;
    auto shift = static_cast<unsigned>(exponent + unit);
    for (; shift >= 63; shift -= 63) v.shift_left(63);
    if (shift != 0) v.shift_left(shift);
    return true;
}

}  // namespace gstar::detail
