// cell_sums.hpp - the exact sums a cell keeps of its scores, and how they follow
// their bins to a coarser grid.
#pragma once

#include <algorithm>  // copy, copy_backward, fill, max, min
#include <bitset>
#include <cstddef>  // size_t
#include <cstdint>
#include <cstdlib>  // abs

#include "gstar/base/wide.hpp"
#include "gstar/count/grid.hpp"
#include "gstar/count/packed.hpp"
#include "gstar/count/window.hpp"

namespace gstar {

using bin_sum = wide<2>;     ///< offsets of a bin, in units of 2^grid.unit(k)
using zero_sum = wide<34>;   ///< scores of a bin at zero, in units of 2^-1074
using weight_sum = wide<2>;  ///< squared weights, in units of 2^-40; below 2^126

constexpr int zero_unit = 1074;  ///< zero_sum counts units of 2^-zero_unit
constexpr int squared_weight_unit = 40;

/// What a weighted cell keeps besides its bins.
struct cell_weights {
    std::int64_t rows = 0;
    weight_sum below;  ///< squared weights of the rows below the window
    weight_sum above;
};

/// Sums of the bins -1 and 0 of a cell.
struct zero_sums {
    zero_sum of[2];

    zero_sum& operator[](std::int64_t k) noexcept { return of[k + 1]; }
    const zero_sum& operator[](std::int64_t k) const noexcept { return of[k + 1]; }
};

/// Add a score, `times` over, to the sum of a bin that touches zero.
inline void add_score(zero_sum& to, const rounded& score,
                      std::uint64_t times) noexcept {
    to.add_product(static_cast<std::uint64_t>(std::abs(score.mantissa)), times,
                   static_cast<unsigned>(score.exponent + zero_unit),
                   score.mantissa < 0);
}

/// Add the offset of a score, `times` over, to the sum of another bin k.
inline void add_offset(bin_sum& to, const grid& on, std::int64_t k,
                       const rounded& score, std::uint64_t times) noexcept {
    // Both are whole numbers of the unit, and below 2^55.
    const int unit = on.unit(k);
    const grid::whole_edge edge = on.edge(k);
    const std::int64_t offset =
        score.mantissa * (std::int64_t{1} << (score.exponent - unit)) -
        edge.j * (std::int64_t{1} << (edge.width - unit));
    to.add_product(static_cast<std::uint64_t>(std::abs(offset)), times, 0,
                   offset < 0);
}

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

// ---- moving bins: nothing here allocates, so that a sketch that runs out of memory
// is never left half moved -----------------------------------------------------

/// What a cell holds by bin; null for what it does not have.
struct cell_bins {
    std::uint64_t* words;
    std::int64_t* counts;  ///< and sums: of full width
    bin_sum* sums;
    weight_sum* squares;
    zero_sums* zero;
};

/// Move the values of one cell to their places in another window of the same grid;
/// `parts` has every bin that is not empty.
///
/// Parts keep their order, so one that moves down never meets one that moves up.
template <class T>
void slide(T* values, const bin_ranges& parts) noexcept {
    for (std::size_t i = 0; i < parts.n; ++i) {
        const bin_range& p = parts.parts[i];
        if (p.to >= p.from) continue;
        std::copy(values + p.from, values + p.from + p.size, values + p.to);
        std::fill(values + std::max(p.from, p.to + p.size),
                  values + p.from + p.size, T());
    }
    for (std::size_t i = parts.n; i-- > 0;) {
        const bin_range& p = parts.parts[i];
        if (p.to <= p.from) continue;
        std::copy_backward(values + p.from, values + p.from + p.size,
                           values + p.to + p.size);
        std::fill(values + p.from, values + std::min(p.from + p.size, p.to), T());
    }
}

inline void slide(const cell_bins& of, const bin_ranges& parts) noexcept {
    if (of.words != nullptr) slide(of.words, parts);
    if (of.squares != nullptr) slide(of.squares, parts);
    if (of.counts == nullptr) return;
    slide(of.counts, parts);
    slide(of.sums, parts);
}

/// Add what another cell with the same window holds.
inline void add_bins(const cell_bins& to, const cell_bins& from,
                     std::uint32_t bins) noexcept {
    for (std::uint32_t b = 0; from.words != nullptr && b < bins; ++b)
        if (from.words[b] != 0) to.words[b] += from.words[b];
    for (std::uint32_t b = 0; from.counts != nullptr && b < bins; ++b) {
        if (from.counts[b] == 0) continue;
        to.counts[b] += from.counts[b];
        to.sums[b] += from.sums[b];
        if (to.squares != nullptr) to.squares[b] += from.squares[b];
    }
}

/// Where the rows of one bin go.
struct bin_step {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    bin_move move;
};

/// Move packed words. They still fit: at their own level and at every coarser one,
/// the unit of offsets is the spacing of scores, and no offset is above 2^23.
inline void move_words(const cell_bins& of, const bin_step& step) noexcept {
    const std::uint64_t held = of.words[step.from];
    if (held == 0) return;
    of.words[step.from] = 0;
    const auto n = static_cast<std::uint64_t>(rows_in(held));
    if (!step.move.into_zero) {
        of.words[step.to] += held + n * step.move.up;
        return;
    }
    bin_sum sum;
    sum.add(offsets_in(held), 0);
    step.move.follow(n, sum, (*of.zero)[step.move.to]);
    of.words[step.to] += n * word_one;
}

inline void move_counts(const cell_bins& of, const bin_step& step) noexcept {
    const std::int64_t held = of.counts[step.from];
    if (held == 0) return;
    bin_sum sum = of.sums[step.from];
    of.counts[step.from] = 0;
    of.sums[step.from] = bin_sum();
    of.counts[step.to] += held;
    if (of.squares != nullptr && step.to != step.from) {
        of.squares[step.to] += of.squares[step.from];
        of.squares[step.from] = weight_sum();
    }
    const auto n = static_cast<std::uint64_t>(held);
    if (step.move.into_zero) {
        step.move.follow(n, sum, (*of.zero)[step.move.to]);
    } else {
        step.move.follow(n, sum);
        of.sums[step.to] += sum;
    }
}

/// Move what a cell holds in these steps; without sums at zero nothing may move there.
inline void move_bins(const cell_bins& of, const bin_step* steps,
                      std::size_t n_steps) noexcept {
    for (std::size_t i = 0; i < n_steps; ++i) {
        if (of.words != nullptr) move_words(of, steps[i]);
        if (of.counts != nullptr) move_counts(of, steps[i]);
    }
}

/// Some of the bins of a window.
using bin_set = std::bitset<greatest_bins>;

/// Take the bins of `from` that are `used` to their places in a window of a coarser
/// grid; `apply(steps, n)` moves some of them, in this order, for all cells.
///
/// The order makes room: first the bins that stay or move down, starting with the
/// lowest, then those that move up, starting with the highest. Since no bin overtakes
/// another, the target of each bin is empty by then.
template <class Apply>
void coarsen(const window& from, const window& to, bin_set& used,
             const Apply& apply) noexcept {
    constexpr std::size_t most = 64;
    bin_step steps[most];
    const std::uint32_t bins = from.bins();
    for (const bool up : {false, true}) {
        std::size_t n = 0;
        for (std::uint32_t i = 0; i < bins; ++i) {
            const std::uint32_t b = up ? bins - 1 - i : i;
            if (!used[b]) continue;
            bin_step& next = steps[n];
            next.from = b;
            next.move = {from.on(), from.number(b), to.on()};
            next.to = static_cast<std::uint32_t>(to.index(next.move.to));
            if (!up && next.to > b) continue;
            used[b] = false;
            if (++n < most) continue;
            apply(steps, n);
            n = 0;
        }
        if (n != 0) apply(steps, n);
    }
}

}  // namespace gstar
