// generic.hpp - the primitives of kernels for any CPU: one row at a time.
//
// Each instruction set has these primitives under the same names, so that a loop is
// written once (count/kernels/body.hpp, decide/kernels/body.hpp). `values` are scores
// or thresholds of `lanes` rows; `numbers` are unsigned whole numbers of 32 bits, one
// for each row, with the operators of C++.
#pragma once

#include <algorithm>  // max, min
#include <cmath>      // isunordered
#include <cstdint>
#include <cstring>  // memcpy

namespace gstar::generic {

/// A score that lies in memory as `Score` and is computed with as `Value`.
///
/// No branches: scores come in no order, and a wrong guess costs more than the rest.
template <class Score, class Value>
struct lane {
    using score = Score;
    using value = Value;
    using values = Value;
    using numbers = std::uint32_t;
    using signs = std::int32_t;  ///< the same numbers with a sign
    using mask = unsigned;       ///< 0 or 1
    using held = Value;          ///< a register of values
    static constexpr unsigned lanes = 1;
    static constexpr unsigned table_size = 0;  ///< values in a register, for `pick`
    static constexpr int exponent_bits = 11;   ///< of a value
    static constexpr int bias = 1023;          ///< of its exponent

    // ---- memory -------------------------------------------------------------

    /// One reading, whatever the optimiser would like.
    static values read_once(const Score* from) noexcept {
        return static_cast<Value>(*static_cast<const volatile Score*>(from));
    }
    static void put(Value* to, values x) noexcept { *to = x; }
    template <class Number>
    static numbers load(const Number* from) noexcept {
        return *from;
    }
    static values gather(const Value* from, numbers at) noexcept {
        return from[at];
    }

    // ---- numbers ------------------------------------------------------------

    static values all_of(Value v) noexcept { return v; }
    static numbers whole(std::int32_t v) noexcept {
        return static_cast<numbers>(v);
    }
    static numbers least(numbers a, numbers b) noexcept { return a < b ? a : b; }
    /// Signed, from `lo` to `hi`.
    static numbers clamp(numbers v, numbers lo, numbers hi) noexcept {
        const auto x = static_cast<signs>(v), most = static_cast<signs>(hi);
        return whole(std::min(std::max(x, static_cast<signs>(lo)), most));
    }
    /// a + b where c is 0, else a.
    static numbers add_if_zero(numbers a, numbers b, numbers c) noexcept {
        return c == 0 ? a + b : a;
    }
    static bool all_at_most(numbers v, numbers most) noexcept { return v <= most; }
    /// Of numbers below 2^15 by a multiple of 8 below 2^18.
    static numbers times(numbers v, numbers by) noexcept { return v * by; }
    static numbers right(numbers v, numbers bits) noexcept { return v >> bits; }
    static numbers low_bits(numbers bits) noexcept { return ~(~numbers{} << bits); }
    /// The high and the low 32 bits of float64; of float32 all bits are high.
    static numbers high(values x) noexcept {
        return static_cast<numbers>(bits(x) >> 32);
    }
    static numbers low(values x) noexcept { return static_cast<numbers>(bits(x)); }

    // ---- masks --------------------------------------------------------------

    static mask at_least(values a, values b) noexcept { return a >= b; }
    /// Not empty if one of them is NaN; which lanes it has says nothing.
    static mask unordered(values a, values b) noexcept {
        return std::isunordered(a, b);
    }
    static mask within(values x, values lo, values hi) noexcept {
        return (x >= lo) & (x <= hi);
    }
    static mask outside(values x, values lo, values hi) noexcept {
        return (x <= lo) | (x >= hi);
    }
    static mask is_zero(values x) noexcept { return x == 0; }
    /// With a sign.
    static mask above(numbers a, numbers b) noexcept {
        return static_cast<signs>(a) > static_cast<signs>(b);
    }
    static mask all_or_none(bool all) noexcept { return all; }
    static bool any(mask m) noexcept { return m != 0; }
    static numbers keep(mask m, numbers a, numbers otherwise) noexcept {
        return m != 0 ? a : otherwise;
    }
    /// A bit for each lane that is not in `m`.
    static unsigned others(mask m) noexcept { return m ^ 1; }

    /// Masks of some registers, as bytes 0 and 1.
    struct answers {
        static constexpr unsigned parts = 1;
        std::uint8_t accepted;
        void put(unsigned, mask m) noexcept {
            accepted = static_cast<std::uint8_t>(m);
        }
        void store(std::uint8_t* to) const noexcept { *to = accepted; }
    };

private:
    static std::uint64_t bits(double x) noexcept {
        std::uint64_t out = 0;
        std::memcpy(&out, &x, sizeof out);
        return out;
    }
};

}  // namespace gstar::generic
