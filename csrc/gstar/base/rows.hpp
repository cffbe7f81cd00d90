// rows.hpp - columns of rows as callers have them, read once, block by block.
#pragma once

#include <cmath>    // isnan
#include <cstddef>  // ptrdiff_t, size_t
#include <cstdint>
#include <cstring>  // memcpy
#include <vector>

#include "gstar/base/name.hpp"

namespace gstar {

/// Most rows that are counted at once: small enough for all that is written
/// meanwhile to stay in the first-level cache.
constexpr std::size_t block_rows = 1024;

enum class dtype : std::uint8_t {
    none,
    boolean,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
    f32,
    f64
};

/// One column: any stride, any alignment, owned by the caller.
struct column {
    const char* data = nullptr;
    std::ptrdiff_t stride = 0;  ///< bytes from row to row
    dtype type = dtype::none;

    explicit operator bool() const noexcept { return type != dtype::none; }

    /// Whether the values lie side by side, aligned for plain access.
    template <class T>
    bool is_array_of() const noexcept {
        return stride == static_cast<std::ptrdiff_t>(sizeof(T)) &&
               reinterpret_cast<std::uintptr_t>(data) % alignof(T) == 0;
    }
};

/// Some rows to count.
struct rows {
    std::size_t n = 0;
    column scores;   ///< f32 or f64
    column labels;   ///< whole numbers or bools; none: no row has a label
    column groups;   ///< whole numbers: names of groups, or places in `names`
    column weights;  ///< f64 or whole numbers; none: every row has weight 1
    column repeats;  ///< whole numbers, also as f64: how many rows each stands for
    const std::vector<name>* names = nullptr;
    bool two_is_unlabelled = false;  ///< label 2 means "not known"
};

namespace detail {

template <class From, class To>
void read_as(const column& c, std::size_t begin, std::size_t n, To* out) {
    const char* at = c.data + static_cast<std::ptrdiff_t>(begin) * c.stride;
    if (c.is_array_of<From>()) {
        const From* from = reinterpret_cast<const From*>(at);
        for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<To>(from[i]);
        return;
    }
    for (std::size_t i = 0; i < n; ++i, at += c.stride) {
        From value;
        std::memcpy(&value, at, sizeof value);
        out[i] = static_cast<To>(value);
    }
}

}  // namespace detail

/// `use` with a zero of the type that a column of whole numbers has.
template <class Use>
auto with_whole(dtype type, Use use) {
    switch (type) {
        case dtype::boolean:
        case dtype::u8: return use(std::uint8_t{});
        case dtype::i8: return use(std::int8_t{});
        case dtype::i16: return use(std::int16_t{});
        case dtype::i32: return use(std::int32_t{});
        case dtype::i64: return use(std::int64_t{});
        case dtype::u16: return use(std::uint16_t{});
        case dtype::u32: return use(std::uint32_t{});
        default: return use(std::uint64_t{});
    }
}

/// Read whole numbers as int64. A u64 beyond 2^63 comes out negative.
inline void read_whole(const column& c, std::size_t begin, std::size_t n,
                       std::int64_t* out) {
    with_whole(c.type, [&](auto zero) {
        detail::read_as<decltype(zero)>(c, begin, n, out);
    });
}

/// Read numbers of f32 or f64 as double.
inline void read_reals(const column& c, std::size_t begin, std::size_t n,
                       double* out) {
    if (c.type == dtype::f32)
        detail::read_as<float>(c, begin, n, out);
    else
        detail::read_as<double>(c, begin, n, out);
}

/// Whether a score, of f32 or f64, is NaN.
inline bool is_nan(const column& scores, std::size_t row) {
    double x = 0;
    read_reals(scores, row, 1, &x);
    return std::isnan(x);
}

}  // namespace gstar
