// wide.hpp - whole numbers of many bits, added exactly in any order.
#pragma once

#include <array>
#include <cmath>    // ldexp
#include <cstddef>  // size_t
#include <cstdint>

namespace gstar {

/// Position of the highest set bit plus one; 0 for 0.
inline int bit_length(std::uint64_t v) noexcept {
#if defined(__GNUC__)
    return v != 0 ? 64 - __builtin_clzll(v) : 0;
#else
    int n = 0;
    for (int step = 32; step > 0; step /= 2) {
        if ((v >> step) != 0) {
            v >>= step;
            n += step;
        }
    }
    return v != 0 ? n + 1 : 0;
#endif
}

/// Full product of two words: high half returned, low half in `low`.
inline std::uint64_t multiply(std::uint64_t a, std::uint64_t b,
                              std::uint64_t& low) noexcept {
    const std::uint64_t mask = 0xffffffffu;
    const std::uint64_t p00 = (a & mask) * (b & mask);
    const std::uint64_t p01 = (a & mask) * (b >> 32);
    const std::uint64_t p10 = (a >> 32) * (b & mask);
    const std::uint64_t middle = (p00 >> 32) + (p01 & mask) + (p10 & mask);
    low = (p00 & mask) | (middle << 32);
    return (a >> 32) * (b >> 32) + (p01 >> 32) + (p10 >> 32) + (middle >> 32);
}

/// A two's complement integer of `Limbs` 64-bit words, lowest word first.
///
/// Sums of floating-point values depend on their order; sums of these do not.
/// Callers choose `Limbs` so that nothing they add can reach the sign.
template <std::size_t Limbs>
class wide {
public:
    std::uint64_t limb(std::size_t i) const noexcept { return limb_[i]; }
    void set_limb(std::size_t i, std::uint64_t v) noexcept { limb_[i] = v; }

    bool negative() const noexcept { return (limb_[Limbs - 1] >> 63) != 0; }

    bool is_zero() const noexcept {
        for (const std::uint64_t v : limb_)
            if (v != 0) return false;
        return true;
    }

    /// this += value * 2^bit. Cost: two words and a carry that mostly stops.
    void add(std::int64_t value, unsigned bit) noexcept {
        const std::uint64_t sign = value < 0 ? ~std::uint64_t{0} : 0;
        add_parts(static_cast<std::uint64_t>(value), sign, bit, sign);
    }

    /// this += a * b * 2^bit, negated if `minus`.
    void add_product(std::uint64_t a, std::uint64_t b, unsigned bit,
                     bool minus = false) noexcept {
        std::uint64_t low = 0;
        std::uint64_t high = multiply(a, b, low);
        std::uint64_t sign = 0;
        if (minus && (low | high) != 0) {
            low = ~low + 1;
            high = ~high + (low == 0 ? 1 : 0);
            sign = ~std::uint64_t{0};
        }
        add_parts(low, high, bit, sign);
    }

    wide& operator+=(const wide& other) noexcept {
        std::uint64_t carry = 0;
        for (std::size_t i = 0; i < Limbs; ++i)
            carry = add_word(limb_[i], other.limb_[i], carry);
        return *this;
    }

    void negate() noexcept {
        std::uint64_t carry = 1;
        for (std::uint64_t& v : limb_) {
            v = ~v + carry;
            carry = carry != 0 && v == 0 ? 1 : 0;
        }
    }

    /// this *= 2^bits, for bits from 1 to 63.
    void shift_left(unsigned bits) noexcept {
        for (std::size_t i = Limbs - 1; i > 0; --i)
            limb_[i] = (limb_[i] << bits) | (limb_[i - 1] >> (64 - bits));
        limb_[0] <<= bits;
    }

    /// this = floor(this / 2).
    void halve() noexcept {
        for (std::size_t i = 0; i + 1 < Limbs; ++i)
            limb_[i] = (limb_[i] >> 1) | (limb_[i + 1] << 63);
        const std::uint64_t sign = limb_[Limbs - 1] & (std::uint64_t{1} << 63);
        limb_[Limbs - 1] = (limb_[Limbs - 1] >> 1) | sign;
    }

    bool operator==(const wide& other) const noexcept {
        return limb_ == other.limb_;
    }

    bool operator<(const wide& other) const noexcept {
        if (negative() != other.negative()) return negative();
        for (std::size_t i = Limbs; i-- > 0;)
            if (limb_[i] != other.limb_[i]) return limb_[i] < other.limb_[i];
        return false;
    }

    /// Number of bits of the magnitude; `this` must not be negative.
    int bits() const noexcept {
        for (std::size_t i = Limbs; i-- > 0;)
            if (limb_[i] != 0)
                return static_cast<int>(i) * 64 + bit_length(limb_[i]);
        return 0;
    }

    /// Bits [from, from + 64) of a value that is not negative.
    std::uint64_t word_at(int from) const noexcept {
        const std::size_t i = static_cast<std::size_t>(from) / 64;
        const unsigned off = static_cast<unsigned>(from) % 64;
        std::uint64_t word = i < Limbs ? limb_[i] >> off : 0;
        if (off != 0 && i + 1 < Limbs) word |= limb_[i + 1] << (64 - off);
        return word;
    }

    /// this * 2^exponent as a double, rounded once to nearest even.
    double to_double(int exponent) const noexcept {
        wide magnitude = *this;
        const bool minus = negative();
        if (minus) magnitude.negate();
        const int length = magnitude.bits();
        const int from = length > 64 ? length - 64 : 0;
        std::uint64_t top = magnitude.word_at(from);
        for (int i = 0; i < from; i += 64) {  // whatever is cut off, as one bit
            const int left = from - i;
            const std::uint64_t word = magnitude.word_at(i);
            if ((left >= 64 ? word : word << (64 - left)) != 0) top |= 1;
        }
        const double value = std::ldexp(static_cast<double>(top), from + exponent);
        return minus ? -value : value;
    }

private:
    static std::uint64_t add_word(std::uint64_t& to, std::uint64_t value,
                                  std::uint64_t carry) noexcept {
        const std::uint64_t sum = to + value;
        const std::uint64_t total = sum + carry;
        const std::uint64_t out = (sum < value ? 1u : 0u) | (total < sum ? 1u : 0u);
        to = total;
        return out;
    }

    /// Add the 128-bit (low, high), continued by `sign`, shifted by `bit`.
    void add_parts(std::uint64_t low, std::uint64_t high, unsigned bit,
                   std::uint64_t sign) noexcept {
        std::size_t i = bit / 64;
        const unsigned off = bit % 64;
        std::uint64_t part[3] = {low, high, sign};
        if (off != 0) {
            part[2] = (high >> (64 - off)) | (sign << off);
            part[1] = (low >> (64 - off)) | (high << off);
            part[0] = low << off;
        }
        std::uint64_t carry = 0;
        for (std::size_t j = 0; j < 3 && i < Limbs; ++j, ++i)
            carry = add_word(limb_[i], part[j], carry);
        // A sign of all ones plus a carry, or zeros without one, changes nothing.
        for (; i < Limbs && carry != (sign & 1); ++i)
            carry = add_word(limb_[i], sign, carry);
    }

    std::array<std::uint64_t, Limbs> limb_{};
};

}  // namespace gstar
