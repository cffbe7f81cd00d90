// body.hpp - the counting loop, compiled once for each instruction set.
//
// count.hpp includes this file in the namespace of each set, with GSTAR_TARGET as
// the attribute that lets the compiler use it: a template cannot take such an
// attribute from its arguments. Alone, the file is empty.
#ifdef GSTAR_TARGET

/// Values by cell, from memory.
template <class S>
struct cells_in_memory {
    const typename S::value* values;
    cells_in_memory(const typename S::value* v, std::uint32_t) noexcept
        : values(v) {}
    GSTAR_TARGET typename S::values of(typename S::numbers cell) const noexcept {
        return S::gather(values, cell);
    }
};

/// From a register.
template <class S>
struct cells_in_register {
    typename S::held values;
    GSTAR_TARGET cells_in_register(const typename S::value* v,
                                   std::uint32_t cells) noexcept
        : values(S::hold(padded(v, cells).values)) {}
    GSTAR_TARGET typename S::values of(typename S::numbers cell) const noexcept {
        return S::pick(values, cell);
    }

private:
    struct room {
        alignas(64) typename S::value values[S::table_size];
    };
    static room padded(const typename S::value* v, std::uint32_t cells) noexcept {
        room out = {};
        for (std::uint32_t c = 0; c < cells; ++c) out.values[c] = v[c];
        return out;
    }
};

/// Of |x|, less one in the last place if x is negative: a bin has its lower edge and
/// not its upper one, on either side of zero.
template <class S>
struct score_bits {
    using numbers = typename S::numbers;
    numbers sign;  ///< all ones if x is negative
    numbers size;  ///< the first 32 bits: exponent, and some of the rest
    numbers exponent;
    numbers significand;  ///< the first 24 bits, of a score that is normal
    numbers rest;         ///< the last 32 bits of a float64, ^ sign

    GSTAR_TARGET explicit score_bits(const typename S::values& x) noexcept {
        constexpr unsigned tail = 31 - S::exponent_bits;  // bits of `size`
        constexpr std::uint32_t implied = 1u << tail;
        const numbers high = S::high(x);
        sign = (numbers)((typename S::signs)high >> 31);
        size = high & 0x7fffffffu;
        if constexpr (S::exponent_bits == 8) {
            size += sign;
            significand = (size & (implied - 1)) | implied;
        } else {
            const numbers low = S::low(x);
            size = S::add_if_zero(size, sign, low);
            rest = low + sign;
            significand = ((size & (implied - 1)) | implied) << 3 | rest >> 29;
            rest ^= sign;
        }
        exponent = size >> tail;
    }

    /// How far round24(x) is from the lower edge of its bin, which is `width` bits
    /// wide: the score cut to 24 bits, and one more if it is rounded up (half to
    /// even).
    GSTAR_TARGET numbers offset(numbers width) const noexcept {
        const numbers cut = (significand ^ sign) & S::low_bits(width);
        if constexpr (S::exponent_bits == 8) return cut;
        const numbers up = (rest & 0x1fffffffu) + 0x0fffffffu + (rest >> 29 & 1u);
        return cut + (up >> 29);
    }
};

/// Cells from bytes, 64 rows at a time: all of them can be had, or none.
class byte_cells {
public:
    static constexpr std::size_t rows = byte_rows;  ///< that are taken at once

    explicit byte_cells(const byte_columns& from) noexcept : from_(from) {}

    GSTAR_TARGET bool take(std::size_t i) noexcept {
        prefetch(from_.labels + i + ahead_rows);
        prefetch(from_.groups + i + ahead_rows);
        return cells_of_bytes(from_, i, cells_);
    }
    const std::uint8_t* at(std::size_t i) const noexcept {
        return cells_ + i % byte_rows;
    }

private:
    byte_columns from_;
    alignas(64) std::uint8_t cells_[byte_rows];
};

/// Which word rows go to, and what they add to it.
template <class S, class Extremes>
class placer {
public:
    using value = typename S::value;
    using numbers = typename S::numbers;

    GSTAR_TARGET explicit placer(const count_target& to) noexcept
        : lo_(lows<value>(to), to.cells),
          hi_(highs<value>(to), to.cells),
          below_(S::all_of(-size_as<value>(to.least_below))),
          above_(S::all_of(size_as<value>(to.least_above))),
          zero_counts_(S::all_or_none(to.zero)),
          lowest_(S::whole(to.lowest + S::bias)),
          highest_(S::whole(to.highest + S::bias)),
          ulps_(S::whole(23 - to.per)),
          per_(S::whole(to.per)),
          stride_(S::whole(static_cast<std::int32_t>(to.stride))),
          // Numbers are progress from octave 0 of the score's type.
          first_(
              sides::of(to.shift_above - before(to), to.shift_below + before(to))),
          zero_(S::whole(to.shift_zero)),
          spare_(S::whole(static_cast<std::int32_t>(to.spare))) {
        if constexpr (S::lanes > 1) {
            const inner_range<value> inner(to);
            inner_lo_ = S::all_of(inner.lo);
            inner_hi_ = S::all_of(inner.hi);
            least_ = sides::of(inner.least[0], inner.least[1]);
            span_ = sides::of(inner.span[0], inner.span[1]);
            zero_is_usual_ =
                S::all_or_none(to.zero && inner.lo <= 0 && inner.hi >= 0);
        }
    }

    struct rows {
        numbers place;
        numbers offset;
    };

    /// Where rows go if they are usual; `odd` says which of them may not be.
    GSTAR_TARGET rows usual(const typename S::values& x, numbers cell,
                            typename S::mask& odd) const noexcept {
        const score_bits<S> b(x);
        // All three parts of the grid are one formula: only the clamp differs.
        const numbers octave = S::clamp(b.exponent, lowest_, highest_);
        const numbers width = octave + ulps_ - b.exponent;
        const numbers number =
            (S::right(b.significand, width) + (octave << per_)) ^ b.sign;
        if constexpr (S::lanes > 1) {
            odd = S::above(b.size - least_.at(b.sign), span_.at(b.sign));
            if constexpr (S::exponent_bits != 8)  // else all of it is in `size`
                odd = (typename S::mask)(odd | ~S::within(x, inner_lo_, inner_hi_));
        }
        return {S::times(cell, stride_) + (number + first_.at(b.sign)),
                b.offset(width)};
    }

    /// Rows of which some are `odd`: where they do go. Returns a bit for each that is
    /// special; they go to the spare word.
    GSTAR_TARGET unsigned correct(const typename S::values& x, numbers cell,
                                  typename S::mask odd, rows& to) const noexcept {
        const auto zero = S::is_zero(x);
        to.place = S::keep(zero, S::times(cell, stride_) + zero_, to.place);
        to.offset = S::keep(zero, S::whole(0), to.offset);
        if (!S::any((typename S::mask)(odd & ~(zero & zero_is_usual_)))) return 0;
        const auto counts = fine(x, cell);
        to.place = S::keep(counts, to.place, spare_);
        return S::others(counts);
    }

    /// One row at a time.
    GSTAR_TARGET unsigned place(const typename S::values& x, numbers cell,
                                rows& to) const noexcept {
        if (S::others(fine(x, cell)) != 0) return 1;
        typename S::mask odd{};
        to = S::any(S::is_zero(x)) ? rows{S::times(cell, stride_) + zero_, 0}
                                   : usual(x, cell, odd);
        return 0;
    }

private:
    /// One number for each side of zero: that above, and where the other differs.
    struct sides {
        numbers positive, change;
        GSTAR_TARGET static sides of(std::int32_t above,
                                     std::int32_t below) noexcept {
            return {S::whole(above), S::whole(above ^ below)};
        }
        GSTAR_TARGET numbers at(numbers sign) const noexcept {
            return positive ^ (sign & change);
        }
    };

    GSTAR_TARGET typename S::mask fine(const typename S::values& x,
                                       numbers cell) const noexcept {
        return (typename S::mask)(
            S::within(x, lo_.of(cell), hi_.of(cell)) &
            (S::outside(x, below_, above_) | (S::is_zero(x) & zero_counts_)));
    }
    static std::int32_t before(const count_target& to) noexcept {
        return (to.lowest + S::bias) * (1 << to.per);
    }

    Extremes lo_;
    Extremes hi_;
    typename S::values below_;
    typename S::values above_;
    typename S::mask zero_counts_;
    numbers lowest_;
    numbers highest_;
    numbers ulps_;
    numbers per_;
    numbers stride_;
    sides first_;
    numbers zero_;
    numbers spare_;
    typename S::values inner_lo_;
    typename S::values inner_hi_;
    sides least_;
    sides span_;
    typename S::mask zero_is_usual_;
};

/// Place rows of which some are `odd`. Returns how many of them are special.
template <class S, class Places, class Cells>
GSTAR_TARGET std::size_t place_odd(const Places& places,
                                   const typename S::values* xs,
                                   const typename S::mask* odd, const Cells& cells,
                                   std::size_t i, ring_slot& slot,
                                   special* specials) noexcept {
    std::size_t found = 0;
    for (std::size_t j = 0; j < ring_rows; j += S::lanes) {
        const auto x = xs[j / S::lanes];
        typename Places::rows to{S::load(slot.place + j), S::load(slot.offset + j)};
        unsigned left =
            places.correct(x, S::load(cells.at(i + j)), odd[j / S::lanes], to);
        S::store(slot.place + j, to.place);
        S::store(slot.offset + j, to.offset);
        if (left == 0) continue;
        alignas(64) typename S::value read[S::lanes];
        S::put(read, x);
        for (; left != 0; left &= left - 1) {
            const unsigned k = lowest_bit(left);
            specials[found++] = {static_cast<double>(read[k]), cells.at(i + j)[k],
                                 static_cast<std::uint32_t>(i + j + k)};
        }
    }
    return found;
}

/// Count up to `n` rows, 64 at a time where rows go through the ring. Stops before
/// rows whose cells cannot be had, or which `specials`, with room for `most`,
/// might not hold.
template <class S, class Extremes, class Cells>
GSTAR_TARGET progress count_steps(const count_target& to,
                                  const typename S::score* scores, Cells& cells,
                                  std::size_t n, special* specials,
                                  std::size_t most) noexcept {
    constexpr std::size_t step = S::lanes == 1 ? Cells::rows : byte_rows;
    placer<S, Extremes> places(to);
    std::uint64_t* const words = to.words;
    ring waiting;
    if constexpr (S::lanes > 1) waiting.clear(to.spare);
    std::size_t found = 0;
    std::size_t i = 0;
    while (i + step <= n && found + step <= most && cells.take(i)) {
        if constexpr (S::lanes == 1) {
            for (const std::size_t end = i + step; i < end; ++i) {
                const auto x = S::read_once(scores + i);
                const std::uint32_t cell = S::load(cells.at(i));
                typename placer<S, Extremes>::rows row{};
                if (places.place(x, cell, row) != 0)
                    specials[found++] = {x, cell, static_cast<std::uint32_t>(i)};
                else
                    words[row.place] += word_one + row.offset;
            }
        } else {
            for (std::size_t t = 0; t < step / ring_rows; ++t, i += ring_rows) {
                ring_slot& slot = waiting.slots[t % ring_slots];
                prefetch(scores + i + ahead_rows);
                if constexpr (sizeof(*scores) == 8)
                    prefetch(scores + i + ahead_rows + 8);
                typename S::values xs[ring_rows / S::lanes];
                typename S::mask odd[ring_rows / S::lanes], any_odd{};
                for (std::size_t j = 0; j < ring_rows; j += S::lanes) {
                    const std::size_t r = j / S::lanes;
                    xs[r] = S::read_once(scores + i + j);
                    const auto rows =
                        places.usual(xs[r], S::load(cells.at(i + j)), odd[r]);
                    any_odd = (typename S::mask)(any_odd | odd[r]);
                    S::store(slot.place + j, rows.place);
                    S::store(slot.offset + j, rows.offset);
                }
                if (S::any(any_odd))
                    found += place_odd<S>(places, xs, odd, cells, i, slot,
                                          specials + found);
                add_slot(
                    words,
                    waiting.slots[(t + ring_slots - ring_distance) % ring_slots]);
            }
        }
    }
    if constexpr (S::lanes > 1) waiting.finish(words, i / ring_rows);
    return {i, found};
}

template <class Float, class Cells>
GSTAR_TARGET progress count(const count_target& to, const Float* scores,
                            Cells& cells, std::size_t n, special* specials,
                            std::size_t most) noexcept {
    using S = rows_of<Float>;
    if constexpr (S::table_size != 0)
        if (to.cells <= S::table_size)
            return count_steps<S, cells_in_register<S>>(to, scores, cells, n,
                                                        specials, most);
    return count_steps<S, cells_in_memory<S>>(to, scores, cells, n, specials, most);
}

#endif
