// generic.hpp - what the counting loop asks of any CPU: one row at a time.
//
// Each instruction set has these under the same names, so that the loop is
// written once (body.hpp). `values` are scores of `lanes` rows, `numbers` whole
// numbers of 32 bits, one for each. No branches: scores come in no order, and a
// wrong guess costs more than all the rest.
#pragma once

#include <algorithm>  // max, min
#include <cstdint>
#include <cstring>  // memcpy

namespace gstar::generic {

/// Rows whose scores lie in memory as `Score`, counted as float64.
template <class Score>
struct one_row {
    using score = Score;
    using value = double;
    using values = double;
    using numbers = std::uint32_t;
    using mask = bool;
    static constexpr unsigned lanes = 1;
    static constexpr unsigned table_size = 0;  ///< values that a register holds
    static constexpr int bias = 1023;          ///< of the exponent in `bits`

    static numbers load(const std::uint32_t* from) noexcept { return *from; }
    static numbers load(const std::uint8_t* from) noexcept { return *from; }
    /// One reading, whatever the optimiser would like.
    static values read_once(const Score* from) noexcept {
        return static_cast<double>(*static_cast<const volatile Score*>(from));
    }
    static void put(double* to, values x) noexcept { *to = x; }
    static values gather(const double* from, numbers at) noexcept {
        return from[at];
    }

    static values all_of(double v) noexcept { return v; }
    static numbers whole(std::int32_t v) noexcept {
        return static_cast<std::uint32_t>(v);
    }
    static numbers add(numbers a, numbers b) noexcept { return a + b; }
    static numbers subtract(numbers a, numbers b) noexcept { return a - b; }
    static numbers differ(numbers a, numbers b) noexcept { return a ^ b; }
    /// Signed, as is nothing else.
    static numbers clamp(numbers v, numbers lo, numbers hi) noexcept {
        const auto x = static_cast<std::int32_t>(v);
        const auto most = static_cast<std::int32_t>(hi);
        return static_cast<std::uint32_t>(
            std::min(std::max(x, static_cast<std::int32_t>(lo)), most));
    }
    static numbers left(numbers v, numbers bits) noexcept { return v << bits; }
    static numbers right(numbers v, numbers bits) noexcept { return v >> bits; }

    /// One number for each side of zero: that above, and where the other differs.
    struct sides {
        numbers positive, change;
    };
    static numbers by_sign(numbers sign, const sides& v) noexcept {
        return v.positive ^ (sign & v.change);
    }
    /// Unsigned.
    static bool all_at_most(numbers v, numbers most) noexcept { return v <= most; }

    static mask within(values x, values lo, values hi) noexcept {
        return (x >= lo) & (x <= hi);
    }
    static mask outside(values x, values lo, values hi) noexcept {
        return (x <= lo) | (x >= hi);
    }
    static mask is_zero(values x) noexcept { return x == 0; }
    static mask all_or_none(bool all) noexcept { return all; }
    /// a and (b or (c and d)).
    static mask and_either(mask a, mask b, mask c, mask d) noexcept {
        return a & (b | (c & d));
    }
    static numbers keep(mask m, numbers a, numbers otherwise) noexcept {
        return m ? a : otherwise;
    }
    /// A bit for each lane that is not in `m`.
    static unsigned others(mask m) noexcept { return m ? 0 : 1; }

    /// Of |x|, less one in the last place if x is negative: a bin has its lower
    /// edge and not its upper one, on either side of zero.
    struct bits {
        numbers sign;  ///< all ones if x is negative
        numbers size;  ///< the first 32 bits: exponent, and some of the rest
        numbers exponent;
        numbers significand;  ///< the first 24 bits, of a score that is normal
        numbers rest;         ///< the last 32 bits of a float64, ^ sign
    };
    static bits bits_of(values x) noexcept {
        std::uint64_t u = 0;
        std::memcpy(&u, &x, sizeof u);
        const auto sign = std::uint64_t{0} - (u >> 63);
        const std::uint64_t a = (u & ~(std::uint64_t{1} << 63)) + sign;
        return {static_cast<std::uint32_t>(sign),
                static_cast<std::uint32_t>(a >> 32),
                static_cast<std::uint32_t>(a >> 52),
                (static_cast<std::uint32_t>(a >> 29) & 0x7fffffu) | 0x800000u,
                static_cast<std::uint32_t>(a ^ sign)};
    }
    /// How far round24(x) is from the lower edge of its bin, which is `width` bits
    /// wide: the score cut to 24 bits, and one more if it is rounded up (half to
    /// even).
    static numbers offset(const bits& b, numbers width) noexcept {
        const numbers cut = (b.significand ^ b.sign) & ~(~numbers{0} << width);
        return cut +
               (((b.rest & 0x1fffffffu) + 0x0fffffffu + ((b.rest >> 29) & 1)) >>
                29);
    }
};

/// The set for scores of this width.
template <class Float>
using rows_of = one_row<Float>;

/// Cells of 64 rows from bytes, each read once; false if a label is above 1, or a
/// group above 15 or without a slot.
inline bool cells_of_bytes(const std::uint8_t* labels, const std::uint8_t* groups,
                           const std::uint8_t* slots,
                           std::uint8_t* cells) noexcept {
    unsigned bad = 0;
    for (int i = 0; i < 64; ++i) {
        const unsigned label =
            *static_cast<const volatile std::uint8_t*>(labels + i);
        const unsigned group =
            *static_cast<const volatile std::uint8_t*>(groups + i);
        const unsigned slot = slots[group & 15];
        bad |= (label & 0xFE) | (group & 0xF0) | (slot & 1);
        cells[i] = static_cast<std::uint8_t>(slot | label);
    }
    return bad == 0;
}

}  // namespace gstar::generic
