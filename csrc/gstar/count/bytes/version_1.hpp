// version_1.hpp - the sum of squares that bytes of version 1 have: checked, and dropped.
#pragma once

#include <algorithm>  // max
#include <cmath>      // fabs
#include <cstddef>    // size_t
#include <cstdint>

#include "gstar/base/wide.hpp"
#include "gstar/count/bytes/wide_numbers.hpp"
#include "gstar/count/cell_sums.hpp"
#include "gstar/count/grid.hpp"
#include "gstar/count/readout.hpp"

namespace gstar::detail {

constexpr int old_offset_bits = 23;  ///< sums are in units of 2^(level - 23)

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
        const auto bit =
            static_cast<unsigned>(2 * (level_ - old_offset_bits) + 2194);
        const std::uint64_t far = size_of(k);
        add_square(least_, far, n, bit + 2 * old_offset_bits);
        const bool minus = (k < 0) != sum.negative();
        if (sum.negative()) sum.negate();
        least_.add_product(sum.limb(0), far, bit + old_offset_bits + 1, minus);
        least_.add_product(sum.limb(1), far, bit + old_offset_bits + 65, minus);
        add_square(least_, size_of(q), n, bit);
        least_.add_product(size_of(q), rest, bit + 1, q < 0);
        least_.add_product(rest, 1, bit);
        add_square(room_, (std::uint64_t{1} << (old_offset_bits - 1)) + slack, n,
                   bit);
        rows_ += n;
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
        rows_ += n;
    }

    /// Whether rows from `lo` to `hi` can have this sum of squares, in units of
    /// 2^-2148.
    bool hold(const wide<66>& squares, double lo, double hi) const noexcept {
        if (squares.negative()) return false;
        const double far = std::max(std::fabs(round24(lo)), std::fabs(round24(hi)));
        const rounded parts = take_apart(far);
        const auto size = static_cast<std::uint64_t>(parts.mantissa);
        wide<66> widest;
        widest.add_product(size * size, rows_,
                           static_cast<unsigned>(2 * parts.exponent + 2148));
        if (widest < squares) return false;
        wide<68> claimed;
        for (std::size_t i = 0; i < 66; ++i) claimed.set_limb(i, squares.limb(i));
        claimed.shift_left(46);
        wide<68> most = least_;
        most += room_;
        return !(claimed < least_) && !(most < claimed);
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
    std::uint64_t rows_ = 0;
    wide<68> least_;
    wide<68> room_;
};

}  // namespace gstar::detail
