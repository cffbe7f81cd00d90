// body.hpp - the counting loop, compiled once for each instruction set.
//
// count.hpp includes this file in the namespace of each set, with GSTAR_TARGET as
// the attribute that lets the compiler use it: a template cannot take such an
// attribute from its arguments. Alone, the file is empty.
#ifdef GSTAR_TARGET

/// Extremes of the cells, from memory; squares are left to the second loop.
template <class S>
class any_cells {
public:
    explicit any_cells(const count_target& to) noexcept
        : lo_(lows<typename S::value>(to)), hi_(highs<typename S::value>(to)) {}

    GSTAR_TARGET typename S::values lo(typename S::numbers cell) const noexcept {
        return S::gather(lo_, cell);
    }
    GSTAR_TARGET typename S::values hi(typename S::numbers cell) const noexcept {
        return S::gather(hi_, cell);
    }
    GSTAR_TARGET void add(typename S::numbers, typename S::numbers) noexcept {}
    void finish(const count_target& to, const block_places& at,
                const std::uint32_t* cells, std::size_t n) const noexcept {
        add_squares(to, at, cells, n);
    }

private:
    const typename S::value* lo_;
    const typename S::value* hi_;
};

/// Extremes and squares of up to four cells (two groups), in registers.
template <class S>
class few_cells {
public:
    GSTAR_TARGET explicit few_cells(const count_target& to) noexcept {
        alignas(64) typename S::value lo[S::one_register] = {};
        alignas(64) typename S::value hi[S::one_register] = {};
        for (std::uint32_t c = 0; c < to.cells && c < most_few_cells; ++c) {
            lo[c] = lows<typename S::value>(to)[c];
            hi[c] = highs<typename S::value>(to)[c];
        }
        lo_ = S::read(lo);
        hi_ = S::read(hi);
        for (auto& sum : sums_) sum = S::no_sum();
    }

    GSTAR_TARGET typename S::values lo(typename S::numbers cell) const noexcept {
        return S::pick(lo_, cell);
    }
    GSTAR_TARGET typename S::values hi(typename S::numbers cell) const noexcept {
        return S::pick(hi_, cell);
    }
    /// Offsets below 2^24 and their cells.
    GSTAR_TARGET void add(typename S::numbers cell,
                          typename S::numbers offset) noexcept {
        const auto squares = S::squared(offset);
        const auto key = S::widened_numbers(cell);
        for (std::uint32_t c = 0; c < most_few_cells; ++c)
            sums_[c] = S::add_where(sums_[c], key, c, squares);
    }
    GSTAR_TARGET void finish(const count_target& to, const block_places&,
                             const std::uint32_t*, std::size_t) const noexcept {
        for (std::uint32_t c = 0; c < to.cells; ++c)
            to.squares[c * square_lanes] += S::total(sums_[c]);
    }

private:
    typename S::values lo_;
    typename S::values hi_;
    typename S::wide_sum sums_[most_few_cells];
};

/// Count `n` rows and return how many went to `specials` (room for `n`).
template <class S, class Cells>
GSTAR_TARGET std::size_t count_block(const count_target& to,
                                     const typename S::score* scores,
                                     const std::uint32_t* cells, std::size_t n,
                                     special* specials) noexcept {
    using value = typename S::value;
    const auto scale = S::all_of(  // a power of two: exact
        static_cast<value>(std::ldexp(1.0, -to.at.level)));
    const auto units = S::all_of(static_cast<value>(1 << offset_bits));
    const auto minus_one = S::all_of(value{-1});
    const auto one = S::all_of(value{1});
    const auto first = S::all_of(static_cast<std::uint32_t>(to.at.first));
    const auto spare = S::all_of(to.spare);
    const auto zero = S::all_of(std::uint32_t{0});
    const int shift = std::ilogb(static_cast<double>(to.at.bins));
    block_places at;
    Cells known(to);
    std::size_t n_special = 0;
    std::size_t i = 0;
    for (; i + S::lanes <= n; i += S::lanes) {
        if constexpr (S::lanes > 1) prefetch(scores + i + block_rows);
        const auto x = S::read_once(scores + i);
        const auto cell = S::load(cells + i);
        const auto t = x * scale;
        const auto inside = S::within(x, known.lo(cell), known.hi(cell));
        const auto fine = S::and_outside(inside, t, minus_one, one);
        const auto bin = S::floor(t, fine);
        auto place =
            S::add(S::shifted(cell, shift), S::subtract(bin.number, first));
        auto offset = S::truncate((S::round24(t) - bin.whole) * units, fine);
        if (const unsigned others = S::others(fine); others != 0) {
            alignas(64) value read[S::lanes];
            S::store(read, x);
            for (unsigned left = others; left != 0; left &= left - 1) {
                const unsigned j = S::lowest(left);
                const auto row = static_cast<std::uint32_t>(i) + j;
                specials[n_special++] = {static_cast<double>(read[j]), cells[row],
                                         row};
            }
            if constexpr (S::lanes == 1) continue;
            place = S::keep(fine, place, spare);
            offset = S::keep(fine, offset, zero);
        }
        if constexpr (S::lanes == 1) {
            to.words[place] += word_one + offset;
            to.squares[cell * square_lanes + i % square_lanes] +=
                std::uint64_t{offset} * offset;
        } else {
            S::store(at.place + i, place);
            S::store(at.offset + i, offset);
            known.add(cell, offset);
        }
    }
    if constexpr (S::lanes > 1) {
        known.finish(to, at, cells, i);
        add_places(to, at, i);
        const std::size_t rest =
            count_generic(to, scores + i, cells + i, n - i, specials + n_special);
        for (std::size_t j = n_special; j < n_special + rest; ++j)
            specials[j].row += static_cast<std::uint32_t>(i);
        n_special += rest;
    }
    return n_special;
}

#endif
