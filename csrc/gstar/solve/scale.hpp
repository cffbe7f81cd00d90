// scale.hpp - prices of both errors as whole numbers, so that errors are compared
// exactly.
#pragma once

#include <cstddef>  // size_t
#include <cstdint>  // int64_t
#include <initializer_list>
#include <numeric>  // gcd

#include "gstar/base/error.hpp"
#include "gstar/base/wide.hpp"

namespace gstar {

/// E = (fp * false positives + fn * false negatives) / unit.
struct scale {
    std::int64_t fp = 1, fn = 1;
    double unit = 1;
    double slack = 0;  ///< largest error in E from rounding prices; 0 almost always
};

namespace detail {

using big = wide<5>;

inline big times(const big& a, std::int64_t b) noexcept {
    big out;
    for (std::size_t i = 0; i < 4; ++i)  // none of ours has more
        out.add_product(a.limb(i), static_cast<std::uint64_t>(b),
                        static_cast<unsigned>(64 * i));
    return out;
}

inline big product(std::initializer_list<std::int64_t> factors) noexcept {
    big out;
    out.add(1, 0);
    for (const std::int64_t factor : factors) out = times(out, factor);
    return out;
}

/// What is left of `of` after floor(of / by), which is put into `whole`.
inline big divide(const big& of, big by, big& whole) noexcept {
    big rest;
    by.negate();
    whole = big();
    for (int bit = of.bits() - 1; bit >= 0; --bit) {
        rest.shift_left(1);
        rest.add(static_cast<std::int64_t>(of.word_at(bit) & 1), 0);
        whole.shift_left(1);
        big less = rest;
        less += by;
        if (less.negative()) continue;
        rest = less;
        whole.add(1, 0);
    }
    return rest;
}

/// The nearest whole number to a quotient, and the even one of two.
inline std::int64_t nearest_whole(const big& of, const big& by) noexcept {
    big whole;
    big twice = divide(of, by, whole);
    twice.shift_left(1);
    const bool more = by < twice || (twice == by && (whole.limb(0) & 1) != 0);
    return static_cast<std::int64_t>(whole.limb(0)) + (more ? 1 : 0);
}

/// The nearest double to a quotient.
inline double nearest_double(big of, const big& by) noexcept {
    int shift = 0;
    for (; of.bits() - by.bits() < 64; ++shift) of.shift_left(1);
    big whole;
    const bool inexact = !divide(of, by, whole).is_zero();
    whole.shift_left(1);  // a last bit for all that is cut off
    if (inexact) whole.add(1, 0);
    return whole.to_double(-shift - 1);
}

}  // namespace detail

/// The scale of two prices, not negative, not both 0 and at most 2^31.
///
/// Balanced, both classes must have rows: each then has half of the weight.
inline scale scale_of(std::int64_t price_fp, std::int64_t price_fn, bool balanced,
                      std::int64_t negatives, std::int64_t positives) {
    using detail::product;
    using detail::times;
    const std::int64_t n = negatives + positives;
    if (price_fp == 1 && price_fn == 1 && !balanced)
        return {1, 1, static_cast<double>(n), 0};
    if (n >> 61 != 0) refuse_overflow();
    // In lowest terms the prices are a * p and b * q, and the unit is over / shared.
    const std::int64_t shared = std::gcd(price_fp, price_fn);
    std::int64_t a = price_fp / shared, b = price_fn / shared, p = 1, q = 1;
    detail::big over = product({n});
    if (balanced) {
        const std::int64_t both = std::gcd(negatives, positives);
        p = positives / both;
        q = negatives / both;
        const std::int64_t left = std::gcd(a, q), right = std::gcd(b, p);
        a /= left;
        q /= left;
        b /= right;
        p /= right;
        over = product({2, p, q, both});
    }
    detail::big largest = product({a, p, negatives});
    largest += product({b, q, positives});
    if (largest.bits() <= 62)
        return {a * p, b * q, detail::nearest_double(over, product({shared})), 0};
    // Rounded, so that all errors together cost less than 2^62.
    const std::int64_t room = (std::int64_t{1} << 62) - 2 * n;
    const detail::big top = times(over, room), bottom = times(largest, shared);
    return {detail::nearest_whole(product({a, p, room}), largest),
            detail::nearest_whole(product({b, q, room}), largest),
            detail::nearest_double(top, bottom),
            detail::nearest_double(times(bottom, n), top)};
}

}  // namespace gstar
