// generic.hpp - the primitives of kernels for any CPU: one row at a time.
//
// Each instruction set has these primitives under the same names, so that a loop
// is written once (decide/kernels/body.hpp; counting works on bits, and has its own
// in count/kernels/). A set says how many rows it takes at once (`lanes`) and how
// many values its registers hold for `pick` (none here). `numbers` are whole
// numbers of 32 bits.
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
    static values gather(const Value* from, numbers at) noexcept {
        return from[at];
    }

    // ---- numbers ------------------------------------------------------------

    static values all_of(Value v) noexcept { return v; }
    static numbers all_of(std::uint32_t v) noexcept { return v; }
    static numbers least(numbers a, numbers b) noexcept { return a < b ? a : b; }

    // ---- masks --------------------------------------------------------------

    static mask at_least(values a, values b) noexcept { return a >= b; }
    static mask unordered(values a, values b) noexcept {
        return std::isunordered(a, b);
    }
    static mask none() noexcept { return false; }
    static mask either(mask a, mask b) noexcept { return a | b; }
    static bool any(mask m) noexcept { return m; }

    // ---- rounding -----------------------------------------------------------

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
