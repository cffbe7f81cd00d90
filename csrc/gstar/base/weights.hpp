// weights.hpp - weights of rows -> how often each row counts.
#pragma once

#include <cmath>    // ldexp, nearbyint, floor
#include <cstddef>  // size_t
#include <cstdint>
#include <string>
#include <vector>

#include "gstar/base/error.hpp"
#include "gstar/base/rows.hpp"

namespace gstar {

constexpr unsigned weight_bits = 20;  ///< weights are kept to 2^-20

/// How often each row counts; no entries mean once each.
struct multiplicities {
    std::vector<std::uint64_t> times;
    bool in_parts = false;  ///< in units of 2^-20: some weight was not whole
};

/// Weights in a column of whole numbers, exact up to the last one.
inline std::vector<std::uint64_t> read_whole_weights(const rows& r) {
    std::vector<std::int64_t> weights(r.n);
    read_whole(r.weights, 0, r.n, weights.data());
    for (std::size_t i = 0; i < r.n; ++i) {
        if (weights[i] >= 0) continue;
        if (r.weights.type == dtype::u64) refuse_overflow();  // 2^63 or more
        refuse_weight(weights[i], static_cast<std::int64_t>(i));
    }
    return {weights.begin(), weights.end()};
}

/// Whole weights are repetitions; one that is not makes all of them parts.
inline multiplicities read_weights(const rows& r) {
    multiplicities out;
    if (!r.weights) return out;
    if (r.weights.type != dtype::f64) {
        out.times = read_whole_weights(r);
        return out;
    }
    std::vector<double> weights(r.n);
    detail::read_as<double>(r.weights, 0, r.n, weights.data());
    for (std::size_t i = 0; i < r.n; ++i) {
        const double w = weights[i];
        if (!(w >= 0) || std::isinf(w))
            refuse_weight(w, static_cast<std::int64_t>(i));
        out.in_parts = out.in_parts || w != std::floor(w);
    }
    const double most = std::ldexp(1.0, 63);
    out.times.resize(r.n);
    for (std::size_t i = 0; i < r.n; ++i) {
        const double t = out.in_parts
                             ? std::nearbyint(std::ldexp(weights[i], weight_bits))
                             : weights[i];
        if (t >= most) refuse_overflow();
        out.times[i] = static_cast<std::uint64_t>(t);
    }
    return out;
}

}  // namespace gstar
