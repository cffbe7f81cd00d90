// cell_sums.hpp - the exact sums a cell keeps of its scores, and how they follow
// their bins to a coarser grid.
#pragma once

#include <cstdint>

#include "gstar/base/wide.hpp"
#include "gstar/count/grid.hpp"

namespace gstar {

using bin_sum = wide<2>;     ///< offsets of a bin, in units of 2^grid.unit(k)
using zero_sum = wide<34>;   ///< scores of a bin at zero, in units of 2^-1074
using weight_sum = wide<2>;  ///< squared weights of a cell, in units of 2^-40

constexpr int zero_unit = 1074;  ///< zero_sum counts units of 2^-zero_unit
constexpr int squared_weight_unit = 40;

/// Sums of the bins -1 and 0 of a cell.
struct zero_sums {
    zero_sum of[2];

    zero_sum& operator[](std::int64_t k) noexcept { return of[k + 1]; }
    const zero_sum& operator[](std::int64_t k) const noexcept { return of[k + 1]; }
};

/// zero += (n * j * 2^by + sum) * 2^(unit - zero_unit), a whole number also where
/// unit is negative, so deep that scores have a coarser unit of their own.
inline void add_zero(zero_sum& zero, std::uint64_t n, std::int64_t j, unsigned by,
                     bin_sum sum, int unit) noexcept {
    zero_sum value;
    value.add_product(n, static_cast<std::uint64_t>(j < 0 ? -j : j), by, j < 0);
    const bool negative = sum.negative();
    if (negative) sum.negate();
    value.add_product(sum.limb(0), 1, 0, negative);
    value.add_product(sum.limb(1), 1, 64, negative);
    for (; unit < 0; ++unit) value.halve();
    for (; unit >= 63; unit -= 63) value.shift_left(63);
    if (unit > 0) value.shift_left(static_cast<unsigned>(unit));
    zero += value;
}

/// How the rows of one bin move to the bin of a coarser grid that holds it. Sums
/// of scores stay what they are; lower edge and unit of offsets change.
struct bin_move {
    grid::whole_edge edge{};  ///< where the bin began
    int unit = 0;             ///< what its sum was counted in
    std::int64_t to = 0;      ///< number of the bin that holds it
    std::uint64_t up = 0;     ///< how far it began above that one, in old units
    unsigned down = 0;        ///< log2 of the new unit, in old units
    bool into_zero = false;   ///< whether only the new bin touches zero

    bin_move() = default;
    bin_move(const grid& from, std::int64_t k, const grid& on) noexcept
        : edge(from.edge(k)),
          unit(from.unit(k)),
          to(on.number(from.lower(k))),
          into_zero(at_zero(to) && !at_zero(k)) {
        if (at_zero(to)) return;
        const grid::whole_edge next = on.edge(to);
        up = static_cast<std::uint64_t>(in_units(edge) - in_units(next));
        down = static_cast<unsigned>(on.unit(to) - unit);
    }

    /// The sum of n rows in the new bin, which does not touch zero.
    void follow(std::uint64_t n, bin_sum& sum) const noexcept {
        sum.add_product(n, up, 0);
        for (unsigned i = 0; i < down; ++i) sum.halve();
    }

    /// The same where only the new bin touches zero.
    void follow(std::uint64_t n, const bin_sum& sum,
                zero_sum& zero) const noexcept {
        add_zero(zero, n, edge.j, static_cast<unsigned>(edge.width - unit), sum,
                 unit + zero_unit);
    }

private:
    std::int64_t in_units(const grid::whole_edge& e) const noexcept {
        return e.j * (std::int64_t{1} << (e.width - unit));
    }
};

}  // namespace gstar
