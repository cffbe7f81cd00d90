// cell_reader.hpp - the counts and sums of cells, taken off bytes and checked.
#pragma once

#include <algorithm>  // max, min
#include <cmath>      // fabs, signbit
#include <cstddef>    // size_t
#include <cstdint>
#include <limits>

#include "gstar/base/bytes.hpp"
#include "gstar/base/wide.hpp"
#include "gstar/count/bytes/wide_numbers.hpp"
#include "gstar/count/cell_sums.hpp"
#include "gstar/count/window.hpp"

namespace gstar {

constexpr std::uint64_t most_rows = (std::uint64_t{1} << 63) - 1;

namespace detail {

/// A cell without its bins.
struct cell_totals {
    std::uint64_t below = 0;
    std::uint64_t above = 0;
    std::uint64_t total = 0;  ///< of all counts; more than `most_rows`: too many
    cell_weights weights;     ///< where bytes have weights
    weight_sum squared;       ///< of all places, in the first reading
    bool fits = true;         ///< whether this is a possible sum of each place
    double lo = std::numeric_limits<double>::infinity();
    double hi = -std::numeric_limits<double>::infinity();
};

/// A bin as bytes have it; `zero` has the sum if it touches zero.
struct stored_bin {
    std::int64_t index;
    std::int64_t k;
    std::uint64_t n;
    weight_sum squared;  ///< where bytes have weights
    bin_sum sum;         ///< of offsets, in units of 2^grid::unit(k)
    zero_sum zero;
};

/// Takes cells off bytes, one after the other. What a cell has goes to a `Sink`:
/// `bin(const stored_bin&)` for each bin, and then `cell(const cell_totals&)`.
/// Where `Sink::first` the bytes are checked; who reads them again may trust them.
class cell_reader {
public:
    cell_reader(byte_reader from, const window& at, bool weighted)
        : from_(from), at_(at), weighted_(weighted) {}

    template <class Sink>
    void read(Sink& sink) {
        byte_reader from = from_;  // a local one stays in registers
        cell_totals t;
        t.below = from.varint(most_rows);
        t.above = from.varint(most_rows);
        t.total = t.below + t.above;
        const std::uint64_t n_full = from.varint(at_.bins());
        const bool weighted = weighted_ && (t.total != 0 || n_full != 0);
        if (weighted) {
            t.weights.rows = static_cast<std::int64_t>(from.varint(most_rows));
            t.weights.below = read_squared(from, t, t.below);
            t.weights.above = read_squared(from, t, t.above);
        }
        if (n_full != 0) {
            t.lo = from.real();
            t.hi = from.real();
            if (!is_score(t.lo) || !is_score(t.hi))
                from.refuse("a smallest or largest score is impossible");
            read_bins(from, t, n_full, sink);
        }
        if (Sink::first && weighted && t.total <= most_rows)
            check_weights(from, t, n_full + (t.below != 0) + (t.above != 0));
        sink.cell(t);
        from_ = from;
    }

    const byte_reader& rest() const noexcept { return from_; }

private:
    static bool is_score(double x) noexcept {
        return std::fabs(x) <= greatest_score() && !(x == 0 && std::signbit(x));
    }

    /// The sum of squared weights of a place that counts `n`.
    static weight_sum read_squared(byte_reader& from, cell_totals& t,
                                   std::uint64_t n) {
        weight_sum out;
        const bool fits = read_varint(from, out);
        // A row of t parts adds t^2, which is no less than t.
        const bool least =
            n == 0 ? out.is_zero() : out.limb(1) != 0 || out.limb(0) >= n;
        t.fits = t.fits && fits && least;
        t.squared += out;
        t.fits = t.fits && t.squared.bits() <= 126;
        if (!t.fits) t.squared = weight_sum();
        return out;
    }

    /// Reject impossible numbers of rows and sums of squared weights.
    static void check_weights(const byte_reader& from, const cell_totals& t,
                              std::uint64_t places) {
        const auto rows = static_cast<std::uint64_t>(t.weights.rows);
        if (rows < places || rows > t.total)
            from.refuse("a number of rows is impossible");
        wide<4> square;  // of the sum of weights
        square.add_product(t.total, t.total, 0);
        wide<4> most;
        most.add_product(t.squared.limb(0), 1, 0);
        most.add_product(t.squared.limb(1), 1, 64);
        wide<4> least;
        least.add_product(t.squared.limb(0), rows, 0);
        least.add_product(t.squared.limb(1), rows, 64);
        if (!t.fits || square < most || least < square)
            from.refuse("a sum of squared weights is impossible");
    }

    template <class Sink>
    void read_bins(byte_reader& caller, cell_totals& t, std::uint64_t n_full,
                   Sink& sink) {
        byte_reader from = caller;
        const std::int64_t bins = at_.bins();
        const grid on = at_.on();
        std::uint32_t run = 0;
        std::int64_t first = 0;
        stored_bin b;
        b.index = -1;
        for (std::uint64_t i = 0; i < n_full; ++i) {
            b.index += 1 + static_cast<std::int64_t>(
                               from.varint(static_cast<std::uint64_t>(bins) - 1));
            if (b.index >= bins) from.refuse("a bin lies beyond the last one");
            while (run + 1 < at_.n_runs() && b.index >= at_.start(run + 1)) ++run;
            if (run + 1 < at_.n_runs() && b.index + 1 == at_.start(run + 1))
                from.refuse("a gap between bins has rows");
            b.k = at_[run].first + (b.index - at_.start(run));
            b.n = from.varint(most_rows);
            if (b.n == 0) from.refuse("a bin has no rows");
            t.total = std::min(t.total, most_rows + 1) + b.n;
            if (weighted_) b.squared = read_squared(from, t, b.n);
            const bool fine = at_zero(b.k) ? read_zero(from, b, on, Sink::first)
                                           : read_sum(from, b, on, Sink::first);
            if (!fine) from.refuse("a sum is impossible");
            if (i == 0) first = b.k;
            sink.bin(b);
        }
        caller = from;
        if (!Sink::first) return;
        if (t.lo > t.hi || on.number(t.lo) != first || on.number(t.hi) != b.k)
            from.refuse("a smallest or largest score lies outside its bin");
    }

    /// Read the sum of a bin; false if no n rounded scores of the bin can have it.
    static bool read_sum(byte_reader& from, stored_bin& b, const grid& on,
                         bool check) {
        const bool fits = read_zigzag(from, b.sum);
        if (!check) return true;
        const grid::whole_edge nearer = on.edge(b.k > 0 ? b.k : -b.k - 1);
        const int spacing =
            nearer.width + bit_length(static_cast<std::uint64_t>(nearer.j)) - 24;
        return fits && is_possible(b, on,
                                   {nearer.width, std::min(nearer.width, spacing),
                                    std::max(spacing, -1045)});
    }

    /// Powers of two of a bin that does not touch zero.
    struct bin_form {
        int width;
        int unit;     ///< of the sum of offsets
        int spacing;  ///< distance of 24-bit numbers, the unit or more
    };

    static bool is_possible(const stored_bin& b, const grid& on,
                            const bin_form& form) noexcept {
        const auto wider = static_cast<unsigned>(form.width - form.unit);
        if (form.spacing <= form.unit && b.n >> 32 == 0)  // nearly always
            return b.sum.limb(1) == 0 && b.sum.limb(0) <= b.n << wider;
        // Half the spacing is how far rounding may carry a score out of its bin.
        const std::uint64_t slack = form.spacing > form.width
                                        ? std::uint64_t{1}
                                              << (form.spacing - 1 - form.unit)
                                        : 0;
        bin_sum least;
        least.add_product(b.n, slack, 0, true);
        bin_sum most;
        most.add_product(b.n, slack + (std::uint64_t{1} << wider), 0);
        if (b.sum < least || most < b.sum) return false;
        if (form.spacing <= form.unit) return true;
        // The sum of scores is a multiple of the spacing.
        const grid::whole_edge lower = on.edge(b.k);
        const bool minus = b.k < 0;
        wide<4> scores;
        scores.add_product(b.n,
                           static_cast<std::uint64_t>(minus ? -lower.j : lower.j),
                           static_cast<unsigned>(lower.width - form.unit), minus);
        scores.add_product(b.sum.limb(0), 1, 0);
        scores.add(static_cast<std::int64_t>(b.sum.limb(1)), 64);
        return scores.limb(0) << (64 - (form.spacing - form.unit)) == 0;
    }

    static bool read_zero(byte_reader& from, stored_bin& b, const grid& on,
                          bool check) {
        constexpr int lowest = 1097;  // exponents that the format has for sums
        const bool fits = read_number(from, b.zero, zero_unit, lowest);
        if (!check) return true;
        zero_sum bound;
        bound.add_product(
            b.n, 1, static_cast<unsigned>(std::max(on.least(), -1045) + zero_unit),
            b.k != 0);
        const zero_sum nothing;
        return fits && (b.k == 0 ? !b.zero.negative() && !(bound < b.zero)
                                 : !(b.zero < bound) && !(nothing < b.zero));
    }

    byte_reader from_;
    const window& at_;
    bool weighted_;
};

}  // namespace detail
}  // namespace gstar
