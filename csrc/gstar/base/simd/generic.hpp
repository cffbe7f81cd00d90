// generic.hpp - the primitives of kernels for any CPU: one row at a time.
//
// Each instruction set has these primitives under the same names, so that a loop
// is written once (count/kernels/body.hpp, decide/kernels/body.hpp). A set says
// how many rows it takes at once (`lanes`) and how many values its registers
// hold for `pick` (none here). `numbers` are whole numbers of 32 bits.
#pragma once

#include <cmath>  // isunordered
#include <cstdint>
#include <cstring>  // memcpy

namespace gstar::generic {

/// A score that lies in memory as `Score` and is computed with as `Value`.
template <class Score, class Value>
struct lane {
    using score = Score;
    using value = Value;
    using values = Value;
    using numbers = std::uint32_t;
    using mask = bool;
    static constexpr unsigned lanes = 1;
    static constexpr unsigned one_register = 0;
    static constexpr unsigned two_registers = 0;

    // ---- memory -------------------------------------------------------------

    static values read(const Score* from) noexcept {
        return static_cast<Value>(*from);
    }
    /// One reading, whatever the optimiser would like.
    static values read_once(const Score* from) noexcept {
        return static_cast<Value>(*static_cast<const volatile Score*>(from));
    }
    static numbers load(const std::uint32_t* from) noexcept { return *from; }
    static values gather(const Value* from, numbers at) noexcept {
        return from[at];
    }
    static void store(Value* to, values v) noexcept { *to = v; }
    static void store(std::uint32_t* to, numbers v) noexcept { *to = v; }

    // ---- numbers ------------------------------------------------------------

    static values all_of(Value v) noexcept { return v; }
    static numbers all_of(std::uint32_t v) noexcept { return v; }
    static numbers add(numbers a, numbers b) noexcept { return a + b; }
    static numbers subtract(numbers a, numbers b) noexcept { return a - b; }
    static numbers shifted(numbers a, int bits) noexcept { return a << bits; }
    static numbers least(numbers a, numbers b) noexcept { return a < b ? a : b; }

    // ---- masks --------------------------------------------------------------

    static mask at_least(values a, values b) noexcept { return a >= b; }
    static mask unordered(values a, values b) noexcept {
        return std::isunordered(a, b);
    }
    static mask within(values x, values lo, values hi) noexcept {
        return x >= lo && x <= hi;
    }
    /// The lanes of `m` where x < lo or x >= hi.
    static mask and_outside(mask m, values x, values lo, values hi) noexcept {
        return m && (x >= hi || x < lo);
    }
    static mask none() noexcept { return false; }
    static mask either(mask a, mask b) noexcept { return a | b; }
    static bool any(mask m) noexcept { return m; }
    /// A bit for each lane that is not in `m`.
    static unsigned others(mask m) noexcept { return m ? 0 : 1; }
    static unsigned lowest(unsigned) noexcept { return 0; }
    static numbers keep(mask m, numbers a, numbers otherwise) noexcept {
        return m ? a : otherwise;
    }

    // ---- rounding -----------------------------------------------------------

    struct parts {
        values whole;
        numbers number;
    };
    /// floor(t), as a value and as a number; anything for lanes not in `m`.
    static parts floor(values t, mask m) noexcept {
        if (!m) return {0, 0};
        auto k = static_cast<std::int64_t>(t);
        k -= static_cast<Value>(k) > t ? 1 : 0;
        return {static_cast<Value>(k), static_cast<std::uint32_t>(k)};
    }
    /// The number of a value that is not negative; anything for lanes not in `m`.
    static numbers truncate(values v, mask m) noexcept {
        return m ? static_cast<std::uint32_t>(static_cast<std::int32_t>(v)) : 0;
    }
    /// Rounded to 24 significant bits, half to even.
    static values round24(values v) noexcept {
        if (sizeof(Score) == 4) return v;  // it has no more
        std::uint64_t bits = 0;
        std::memcpy(&bits, &v, sizeof v);
        bits =
            (bits + 0x0FFFFFFFu + ((bits >> 29) & 1)) & ~std::uint64_t{0x1FFFFFFF};
        std::memcpy(&v, &bits, sizeof v);
        return v;
    }

    // ---- decisions ----------------------------------------------------------

    using groups = std::uint32_t;
    static constexpr unsigned group_lanes = 1;

    static groups no_groups() noexcept { return 0; }
    template <class Index>
    static groups widened(const Index* from) noexcept {
        return *from;
    }
    static groups bits_of_both(groups a, groups b) noexcept { return a | b; }

    using answer = bool;
    static answer answer_of(mask m) noexcept { return m; }
    struct answers {
        static constexpr unsigned parts = 1;
        bool accepted;
        void put(unsigned, answer a) noexcept { accepted = a; }
        void store(std::uint8_t* to) const noexcept { *to = accepted ? 1 : 0; }
    };
};

using floats = lane<float, float>;
using doubles = lane<double, double>;

}  // namespace gstar::generic
