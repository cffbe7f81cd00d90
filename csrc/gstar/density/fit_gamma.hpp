// fit_gamma.hpp - maximum likelihood of a gamma density with a free location, and of
// one with a pole.
#pragma once

#include <algorithm>  // std::min, std::max, std::clamp
#include <cmath>
#include <cstddef>
#include <vector>

#include "gstar/density/families.hpp"
#include "gstar/density/special.hpp"

namespace gstar {

/// With a smaller shape most rows would lie closer to the pole of a gamma density
/// than numbers tell apart.
inline constexpr double smallest_shape = 1e-3;
/// The least distance from the pole of a gamma density, in standard deviations.
inline constexpr double nothing = 1e-200;

namespace detail {

/// The gamma density of mean `mean`, its location a distance q (in standard
/// deviations) below the mean.
struct gamma_profile {
    double shape, log_likelihood;
    double rise;  ///< has the sign of minus the slope of the likelihood in q
};

/// For a location the best scale is mean / shape, and the best shape solves log a -
/// digamma(a) = s.
inline gamma_profile profile(const std::vector<double>& z,
                             const std::vector<double>& weights,
                             double q) noexcept {
    double s = 0.0, inverse = 0.0;
    for (std::size_t i = 0; i < z.size(); ++i) {
        s -= weights[i] * std::log1p(z[i] / q);
        inverse += weights[i] / (q + z[i]);
    }
    // Below 1 the density has a pole, and the likelihood no maximum; see fit_pole.
    double a = 1.0;
    if (s < log_minus_digamma(1.0).value) {
        a = 0.5 / s;
        for (int i = 0; i < 50; ++i) {
            const value_slope at = log_minus_digamma(a);
            // Newton in 1 / a: nearly linear.
            const double next = a / (1.0 + (at.value - s) / (at.slope * a));
            const double step = std::fabs(next - a);
            a = next;
            if (step <= 1e-15 * a) break;
        }
        a = std::clamp(a, 1.0, largest_shape);
    }
    const double value = 0.5 * std::log(a) + std::log(inv_sqrt_2pi) -
                         stirling_error(a) - std::log(q) - (a - 1.0) * s;
    return {a, value, a - (a - 1.0) * q * inverse};
}

/// The least shape that solves log a - digamma(a) - share / a = s; 1 where none
/// below that does.
inline double pole_shape(double s, double share) noexcept {
    const auto miss = [&](double a) {
        return log_minus_digamma(a).value - share / a - s;
    };
    const int steps = 80;
    double low = smallest_shape, high = 1.0;
    if (!(miss(low) > 0.0)) return 1.0;
    for (int i = 1;; ++i) {
        if (i > steps) return 1.0;
        high = std::pow(smallest_shape, 1.0 - static_cast<double>(i) / steps);
        if (miss(high) <= 0.0) break;
        low = high;
    }
    for (int i = 0; i < 60; ++i) {
        const double middle = 0.5 * (low + high);
        (miss(middle) > 0.0 ? low : high) = middle;
    }
    return high;
}

/// A gamma density whose pole lies `shift` before the last row.
struct pole {
    double shape, shift, scale, log_likelihood;
};

/// The best gamma density with a shape below 1; a shape of 1 where there is none.
///
/// `x`, `mean` and `reach` are distances from the last row. The likelihood of the
/// rows grows without end as the pole nears that row, so the pole stands where it
/// would be expected: a distance from it at which a share of 1 / rows is left. Rows
/// within reach count as lying anywhere there: as x^(shape - 1) has it, the mean of
/// their logarithms is log(reach) - 1 / shape. Their sum is known, so the best scale
/// is still the mean over the shape.
inline pole fit_pole(const std::vector<double>& x,
                     const std::vector<double>& weights, double mean, double reach,
                     double rows) noexcept {
    pole p{1.0, 0.0, 1.0, -infinity};
    double share = 0.0, logs = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i)
        if (x[i] < reach) share += weights[i];
    // The shift is far below the reach: each round leaves it a small part of its
    // error.
    for (int round = 0; round < 8; ++round) {
        logs = share * std::log(reach + p.shift);
        for (std::size_t i = 0; i < x.size(); ++i)
            if (!(x[i] < reach)) logs += weights[i] * std::log(x[i] + p.shift);
        p.shape = pole_shape(std::log(mean + p.shift) - logs, share);
        if (!(p.shape < 1.0)) return p;
        p.shift =
            (mean + p.shift) / p.shape *
            std::exp((log_gamma(p.shape + 1.0) - std::log(std::max(rows, 2.0))) /
                     p.shape);
    }
    p.scale = (mean + p.shift) / p.shape;
    p.log_likelihood = (p.shape - 1.0) * (logs - share / p.shape) - p.shape -
                       p.shape * std::log(p.scale) - log_gamma(p.shape);
    return p;
}

}  // namespace detail

/// Where the scores of a cell end, on the side on which a gamma density begins.
struct score_end {
    double score;  ///< the last one
    double reach;  ///< rows may lie anywhere up to here; `score`: no pole
    double rows;   ///< of the cell
};

/// Maximum likelihood of a gamma density with a free location and a shape up to
/// 1e5, one orientation.
///
/// The likelihood is profiled down to the location, whose every stationary point is
/// bracketed on a geometric grid and found by bisection and secant steps; the ends
/// (an exponential from the smallest row, the normal limit) are candidates too, and
/// so is a pole next to the last row (a shape below 1).
/// Cost: about 60 passes over the sample.
inline fitted<gamma_family> fit_gamma(const sample& rows, bool mirrored,
                                      const score_end& end) {
    const fitted<normal_family> normal = fit_normal(rows);
    const double mean = normal.family.location, sd = normal.family.scale;
    const double sign = mirrored ? -1.0 : 1.0;
    std::vector<double> z(rows.points.size());
    for (std::size_t i = 0; i < z.size(); ++i)
        z[i] = sign * (rows.points[i] - mean) / sd;
    // What rounding left in the mean, which counts if it is far from zero.
    double left_over = 0.0;
    for (std::size_t i = 0; i < z.size(); ++i) left_over += rows.weights[i] * z[i];
    for (double& v : z) v -= left_over;
    // q is larger: no row may lie outside.
    const double nearest = sign * (mean - end.score) / sd + left_over;
    // The location, or what comes just before the last row: there the density is a
    // number, and no row is outside.
    const double last = std::nextafter(end.score, -sign * infinity),
                 clear = end.score - sign * nothing * sd;
    const auto before = [&](double location) {
        return mirrored ? std::max({location, last, clear})
                        : std::min({location, last, clear});
    };
    // The exponential from the last row.
    double best_q = nearest, best_shape = 1.0,
           best_value = -std::log(nearest) - 1.0;
    const auto consider = [&](double q, const detail::gamma_profile& at) {
        if (at.log_likelihood > best_value)
            best_q = q, best_shape = at.shape, best_value = at.log_likelihood;
    };
    const double farthest = std::max(std::sqrt(largest_shape), 10.0 * nearest);
    const int steps = 24;
    double start = 1e-4 * nearest, left = nearest + start;
    detail::gamma_profile at_left = detail::profile(z, rows.weights, left);
    // Falling already: the maximum may be nearer.
    while (at_left.rise > 0.0 && start > 1e-9 * nearest) {
        start *= 0.1;
        left = nearest + start;
        at_left = detail::profile(z, rows.weights, left);
    }
    const double ratio = std::pow((farthest - nearest) / start, 1.0 / steps);
    consider(left, at_left);
    for (int i = 1; i <= steps; ++i) {
        double right = nearest + start * std::pow(ratio, i);
        detail::gamma_profile at_right = detail::profile(z, rows.weights, right);
        // Rising on the left, falling on the right: a maximum between.
        if (at_left.rise < 0.0 && at_right.rise > 0.0) {
            double low = left, high = right, f_low = at_left.rise,
                   f_high = at_right.rise;
            double q = low;
            detail::gamma_profile at = at_left;
            for (int k = 0; k < 100 && high - low > 1e-14 * high; ++k) {
                // Illinois: secant that keeps its bracket.
                double next = (low * f_high - high * f_low) / (f_high - f_low);
                if (!(next > low && next < high)) next = 0.5 * (low + high);
                const double moved = std::fabs(next - q);
                q = next;
                at = detail::profile(z, rows.weights, q);
                if (at.rise == 0.0 || moved < 1e-14 * q) break;
                if (at.rise < 0.0) {
                    low = q, f_low = at.rise, f_high *= 0.5;
                } else {
                    high = q, f_high = at.rise, f_low *= 0.5;
                }
            }
            consider(q, at);
        }
        left = right;
        at_left = at_right;
    }
    consider(left, at_left);
    best_value -= std::log(sd);
    if (end.reach != end.score) {
        for (std::size_t i = 0; i < z.size(); ++i)
            z[i] = sign * (rows.points[i] - end.score);
        const detail::pole p =
            detail::fit_pole(z, rows.weights, sign * (mean - end.score),
                             sign * (end.reach - end.score), end.rows);
        if (p.log_likelihood > best_value) {
            return {
                {p.shape, before(end.score - sign * p.shift), p.scale, mirrored},
                p.log_likelihood,
                false};
        }
    }
    const double shift = sd * (best_q - left_over);
    return {{best_shape, before(mean - sign * shift), sd * best_q / best_shape,
             mirrored},
            best_value,
            best_q == nearest || best_q == left};
}

}  // namespace gstar
