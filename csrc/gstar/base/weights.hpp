// weights.hpp - weights and repeats of rows -> how much each row counts.
#pragma once

#include <cmath>    // floor, isinf, isnan, ldexp, nearbyint
#include <cstddef>  // size_t
#include <cstdint>
#include <limits>
#include <vector>

#include "gstar/base/error.hpp"
#include "gstar/base/rows.hpp"

namespace gstar {

constexpr unsigned weight_bits = 20;  ///< weights are kept to 2^-20
constexpr std::uint64_t one_weight = std::uint64_t{1} << weight_bits;

/// Rows that are alike, and what each of them counts.
struct row_load {
    std::uint64_t rows = 1;
    std::uint64_t each = 1;  ///< parts of a weight; 1 where nothing is weighted

    std::uint64_t total() const noexcept { return rows * each; }
};

/// A number of rows and the parts of a weight of each; by default one row of weight 1.
struct row_weight {
    std::uint64_t rows = 1;
    std::uint64_t parts = one_weight;
};

/// The load of each row; if empty, each is one row without a weight.
struct row_loads {
    std::vector<row_load> of;
    bool in_parts = false;  ///< some row has a weight other than 1
};

namespace detail {

constexpr std::uint64_t most_total = std::numeric_limits<std::int64_t>::max();

/// Whole numbers, or floats that are whole; none is negative.
inline std::vector<std::uint64_t> read_repeats(const column& c, std::size_t n) {
    std::vector<std::uint64_t> out(n);
    if (c.type != dtype::f64) {
        std::vector<std::int64_t> whole(n);
        read_whole(c, 0, n, whole.data());
        for (std::size_t i = 0; i < n; ++i) {
            if (whole[i] < 0) {
                if (c.type == dtype::u64) refuse_overflow();  // 2^63 or more
                refuse({"bad_repeats", "repeats", static_cast<std::int64_t>(i),
                        whole[i]});
            }
            out[i] = static_cast<std::uint64_t>(whole[i]);
        }
        return out;
    }
    std::vector<double> real(n);
    read_as<double>(c, 0, n, real.data());
    for (std::size_t i = 0; i < n; ++i) {
        if (!(real[i] >= 0) || std::isinf(real[i]) ||
            real[i] != std::floor(real[i]))
            refuse(
                {"bad_repeats", "repeats", static_cast<std::int64_t>(i), real[i]});
        if (real[i] >= std::ldexp(1.0, 63)) refuse_overflow();
        out[i] = static_cast<std::uint64_t>(real[i]);
    }
    return out;
}

/// Parts of a weight: to nearest, ties to even.
inline std::uint64_t parts_of_weight(double weight, std::int64_t row) {
    if (!(weight >= 0) || std::isinf(weight))
        refuse({"bad_weight", "weights", row, weight});
    const double parts = std::nearbyint(std::ldexp(weight, weight_bits));
    if (parts >= std::ldexp(1.0, 63)) refuse_overflow();
    return static_cast<std::uint64_t>(parts);
}

inline std::vector<std::uint64_t> read_parts(const column& c, std::size_t n) {
    std::vector<std::uint64_t> out(n);
    if (c.type == dtype::f64) {
        std::vector<double> real(n);
        read_as<double>(c, 0, n, real.data());
        for (std::size_t i = 0; i < n; ++i)
            out[i] = parts_of_weight(real[i], static_cast<std::int64_t>(i));
        return out;
    }
    std::vector<std::int64_t> whole(n);
    read_whole(c, 0, n, whole.data());
    for (std::size_t i = 0; i < n; ++i) {
        if (whole[i] < 0 && c.type != dtype::u64)
            refuse(
                {"bad_weight", "weights", static_cast<std::int64_t>(i), whole[i]});
        const auto weight = static_cast<std::uint64_t>(whole[i]);
        if (weight > most_total >> weight_bits) refuse_overflow();
        out[i] = weight << weight_bits;
    }
    return out;
}

}  // namespace detail

/// Rows of weight 1 as parts of a weight.
inline std::int64_t in_parts_of(std::int64_t rows) {
    if (rows > static_cast<std::int64_t>(detail::most_total >> weight_bits))
        refuse_overflow();
    return rows << weight_bits;
}

/// What rows count, in parts of a weight or as rows. Rows of weight 0 are ignored.
inline row_load load_of(const row_weight& row, bool in_parts) {
    const row_load out{row.parts == 0 ? 0 : row.rows, in_parts ? row.parts : 1};
    if (out.each != 0 && out.rows > detail::most_total / out.each)
        refuse_overflow();
    return out;
}

/// The loads of rows. Weights of rows without a score do not make others weighted.
inline row_loads read_loads(const rows& r) {
    row_loads out;
    if (!r.weights && !r.repeats) return out;
    std::vector<std::uint64_t> parts(r.n, one_weight);
    std::vector<std::uint64_t> repeats(r.n, 1);
    if (r.weights) parts = detail::read_parts(r.weights, r.n);
    if (r.repeats) repeats = detail::read_repeats(r.repeats, r.n);
    bool plain = true;
    for (std::size_t i = 0; i < r.n; ++i) {
        plain = plain && parts[i] == one_weight && repeats[i] == 1;
        if (parts[i] == one_weight || parts[i] == 0 || repeats[i] == 0) continue;
        out.in_parts = out.in_parts || !is_nan(r.scores, i);
    }
    if (plain) return out;
    out.of.reserve(r.n);
    for (std::size_t i = 0; i < r.n; ++i)
        out.of.push_back(load_of({repeats[i], parts[i]}, out.in_parts));
    return out;
}

}  // namespace gstar
