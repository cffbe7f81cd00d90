// body.hpp - the deciding loop, compiled once for each instruction set.
//
// decide.hpp includes this file in the namespace of each set, with GSTAR_TARGET
// as the attribute that lets the compiler use it: a template cannot take such an
// attribute from its arguments. Alone, the file is empty.
#ifdef GSTAR_TARGET

/// Thresholds in one register. Picking looks at the low bits of a group only, so
/// larger numbers are noticed beside it, and the block is left to `in_memory`.
template <class S>
struct in_one {
    static constexpr unsigned width = S::table_size;
    typename S::held low;
    GSTAR_TARGET explicit in_one(const typename S::value* v) noexcept
        : low(S::hold(v)) {}
    GSTAR_TARGET typename S::values of(typename S::numbers group) const noexcept {
        return S::pick(low, group);
    }
};

/// In two.
template <class S>
struct in_two {
    static constexpr unsigned width = 2 * S::table_size;
    typename S::held low;
    typename S::held high;
    GSTAR_TARGET explicit in_two(const typename S::value* v) noexcept
        : low(S::hold(v)), high(S::hold(v + S::table_size)) {}
    GSTAR_TARGET typename S::values of(typename S::numbers group) const noexcept {
        return S::pick(low, high, group);
    }
};

/// Any number of them, from memory.
template <class S>
struct in_memory {
    static constexpr unsigned width = 0;
    const typename S::value* values;
    typename S::numbers size;
    GSTAR_TARGET in_memory(const typename S::value* v, std::uint32_t n) noexcept
        : values(v), size(S::whole(static_cast<std::int32_t>(n))) {}
    GSTAR_TARGET typename S::values of(typename S::numbers group) const noexcept {
        return S::gather(values, S::least(group, size));
    }
};

/// Decide as many rows as fill registers, `done` of them. False if a row needs a
/// closer look.
template <class S, class Table, class Index>
GSTAR_TARGET bool run(const typename S::score* scores, const Index* groups,
                      std::size_t n, const Table& table, std::uint8_t* out,
                      std::size_t& done) noexcept {
    constexpr unsigned parts = S::answers::parts;
    constexpr unsigned rows = parts * S::lanes;
    typename S::numbers all = S::whole(0);
    typename S::mask odd{};  // scores and thresholds that are NaN
    std::size_t i = 0;
    for (; i + rows <= n; i += rows) {
        typename S::answers accepted;
        for (unsigned j = 0; j < parts; ++j) {
            const auto group = S::load(groups + i + S::lanes * j);
            const auto score = S::read_once(scores + i + S::lanes * j);
            const auto threshold = table.of(group);
            all |= group;
            odd = (typename S::mask)(odd | S::unordered(score, threshold));
            accepted.put(j, S::at_least(score, threshold));
        }
        accepted.store(out + i);
    }
    done = i;
    if constexpr (Table::width != 0)  // a power of two
        if (!S::all_at_most(all, S::whole(Table::width - 1))) return false;
    return !S::any(odd);
}

/// `out[i] = scores[i] >= threshold of groups[i]`; see decide_rows.
template <class S, class Index>
GSTAR_TARGET bool decide(const typename S::score* scores, const Index* groups,
                         std::size_t n,
                         const threshold_view<typename S::value>& table,
                         std::uint8_t* out) noexcept {
    std::size_t done = 0;
    bool usual = false;
    if constexpr (S::table_size != 0) {
        if (table.used <= S::table_size)
            usual = run<S>(scores, groups, n, in_one<S>(table.values), out, done);
        else if (table.used <= 2 * S::table_size)
            usual = run<S>(scores, groups, n, in_two<S>(table.values), out, done);
    }
    if (!usual)
        usual = run<S>(scores, groups, n, in_memory<S>(table.values, table.size),
                       out, done);
    if constexpr (S::lanes == 1) return usual;
    // Also after a NaN: where NaN is rejected, the caller keeps all answers.
    return decide_generic(scores + done, groups + done, n - done, table,
                          out + done) &&
           usual;
}

/// One threshold for everybody: the compiler's own vectors are wide enough.
template <class Float>
GSTAR_TARGET bool decide_same(const Float* scores, std::size_t n, Float threshold,
                              std::uint8_t* out) noexcept {
    unsigned odd = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const Float score = scores[i];
        out[i] = score >= threshold ? 1 : 0;
        odd |= std::isnan(score) ? 1u : 0u;
    }
    return odd == 0;
}

/// Whole numbers as 16 bits; false if one does not fit.
template <class From>
GSTAR_TARGET bool narrow(const From* from, std::size_t n,
                         std::uint16_t* out) noexcept {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const From v = from[i];
        all |= static_cast<std::uint64_t>(v);
        out[i] = static_cast<std::uint16_t>(v);
    }
    return all <= 0xFFFF;
}

#endif
