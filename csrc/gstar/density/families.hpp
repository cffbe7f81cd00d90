// families.hpp - the paper's parametric families: evaluate them, and fit them to
// binned scores.
//
// A fit sees a `sample`: a few thousand weighted points that stand for the rows of
// a cell. Its cost depends on the number of points (two for each occupied bin),
// never on the number of rows. All fits maximise the likelihood to rounding, not to
// a loose tolerance, so that every backend finds the same parameters.
#pragma once

#include <algorithm>  // std::min, std::max, std::clamp
#include <array>      // of three parameters
#include <cmath>
#include <cstddef>
#include <vector>

#include "gstar/density/cholesky.hpp"
#include "gstar/density/special.hpp"

namespace gstar {

/// Weighted points that stand for the rows of a cell: ascending, weights above zero
/// with sum 1.
struct sample {
    std::vector<double> points;
    std::vector<double> weights;
};

/// A cdf with its first three derivatives at one point.
struct jet {
    double cdf, pdf, slope, curvature;
};

// ---- evaluation

struct normal_family {
    double location, scale;

    jet at(double x) const noexcept {
        const double z = (x - location) / scale;
        const double f = normal_pdf(z) / scale;
        return {normal_cdf(z), f, -z * f / scale,
                (z * z - 1.0) * f / (scale * scale)};
    }
    double quantile(double p) const noexcept {
        return location + scale * normal_quantile(p);
    }
};

struct student_t_family {
    double df, location, scale;

    jet at(double x) const noexcept {
        const double z = (x - location) / scale;
        const double f = student_t_pdf(df, z) / scale;
        if (f == 0.0) return {student_t_cdf(df, z), 0.0, 0.0, 0.0};
        // g = log f; f' = g' f and f'' = (g'' + g'^2) f
        const double d = df + z * z;
        const double g1 = -(df + 1.0) * z / d / scale;
        const double g2 = -(df + 1.0) * (df - z * z) / d / d / (scale * scale);
        return {student_t_cdf(df, z), f, g1 * f, (g2 + g1 * g1) * f};
    }
    double quantile(double p) const noexcept {
        return location + scale * student_t_quantile(df, p);
    }
};

/// Gamma with a shift; mirrored, it has its long tail on the left.
struct gamma_family {
    double shape, location, scale;
    bool mirrored;

    jet at(double x) const noexcept {
        const double y = (mirrored ? location - x : x - location) / scale;
        const tails t = gamma_tails(shape, y);
        const double f = gamma_pdf(shape, y) / scale;
        const double below = mirrored ? t.upper : t.lower;
        if (!(y > 0.0) || f == 0.0) return {below, f, 0.0, 0.0};
        const double g1 = ((shape - 1.0) / y - 1.0) / scale;
        const double g2 = -(shape - 1.0) / y / y / (scale * scale);
        return {below, f, (mirrored ? -g1 : g1) * f, (g2 + g1 * g1) * f};
    }
    double quantile(double p) const noexcept {
        return mirrored ? location - scale * gamma_quantile(shape, 1.0 - p)
                        : location + scale * gamma_quantile(shape, p);
    }
};

// ---- fits

/// What a fit found. `at_bound` says that the likelihood still rose at the edge of
/// the allowed parameters.
template <class Family>
struct fitted {
    Family family;
    double log_likelihood;  ///< mean over the sample
    bool at_bound;
};

/// Beyond these a Student-t or gamma density cannot be told from a normal one (4e-6
/// in the log-likelihood per row).
inline constexpr double largest_df = 1e5, largest_shape = 1e5;
/// With fewer degrees of freedom one row could outweigh all others.
inline constexpr double smallest_df = 0.1;

inline fitted<normal_family> fit_normal(const sample& rows) noexcept {
    // From the first point on: a mean far from zero keeps its last digits.
    const double start = rows.points.front();
    double mean = 0.0, square = 0.0;
    for (std::size_t i = 0; i < rows.points.size(); ++i)
        mean += rows.weights[i] * (rows.points[i] - start);
    mean += start;
    for (std::size_t i = 0; i < rows.points.size(); ++i) {
        const double d = rows.points[i] - mean;
        square += rows.weights[i] * d * d;
    }
    const double scale = std::sqrt(square);
    return {{mean, scale}, std::log(inv_sqrt_2pi / scale) - 0.5, false};
}

/// The smallest point with at least share `p` of the weight at or below it.
inline double weighted_quantile(const sample& rows, double p) noexcept {
    double below = 0.0;
    for (std::size_t i = 0; i + 1 < rows.points.size(); ++i)
        if ((below += rows.weights[i]) >= p) return rows.points[i];
    return rows.points.back();
}

namespace detail {

using vector3 = std::array<double, 3>;
using matrix3 = std::array<double, 9>;

/// Mean log-likelihood of a Student t, with gradient and minus the Hessian in
/// (location / scale, log scale, log df).
struct student_t_slopes {
    double value;
    vector3 gradient;
    matrix3 curvature;
};

inline student_t_slopes slopes(const sample& rows,
                               const student_t_family& t) noexcept {
    const double nu = t.df;
    double sum_log = 0, sum_q = 0, m = 0, mm = 0, ms = 0, ss = 0, mn = 0, sn = 0,
           nn = 0;
    for (std::size_t i = 0; i < rows.points.size(); ++i) {
        const double w = rows.weights[i];
        const double z = (rows.points[i] - t.location) / t.scale, q = z * z,
                     r = 1.0 / (nu + q), wrr = w * r * r;
        sum_log += w * std::log1p(q / nu);
        sum_q += w * q * r;
        m += w * z * r;
        mm += wrr * (nu - q);
        ms += wrr * z;
        ss += wrr * q;
        mn += wrr * z * (q - 1.0);
        sn += wrr * q * (q - 1.0);
        nn += wrr * q * (nu * (nu + q) - (nu + 1.0) * (2.0 * nu + q));
    }
    const gamma_ratio c = log_gamma_half_ratio(0.5 * nu);
    const double constant = c.value - 0.5 * std::log(pi * nu);
    const double dn =
        0.5 * c.slope - 0.5 / nu - 0.5 * sum_log + 0.5 * (nu + 1.0) / nu * sum_q;
    const double dnn = 0.25 * c.curvature + 0.5 / (nu * nu) + 0.5 * sum_q / nu +
                       0.5 * nn / (nu * nu);
    student_t_slopes out;
    out.value = constant - std::log(t.scale) - 0.5 * (nu + 1.0) * sum_log;
    out.gradient = {(nu + 1.0) * m, (nu + 1.0) * sum_q - 1.0, nu * dn};
    const double h_mm = (nu + 1.0) * mm, h_ms = 2.0 * nu * (nu + 1.0) * ms,
                 h_ss = 2.0 * nu * (nu + 1.0) * ss;
    const double h_mn = -nu * mn, h_sn = -nu * sn,
                 h_nn = -(nu * nu * dnn + nu * dn);
    out.curvature = {h_mm, h_ms, h_mn, h_ms, h_ss, h_sn, h_mn, h_sn, h_nn};
    return out;
}

/// Climb from a start by Newton's method with Levenberg damping, inside the bounds.
inline fitted<student_t_family> climb(const sample& rows, student_t_family t,
                                      double smallest_scale) noexcept {
    student_t_slopes here = slopes(rows, t);
    double damping = 0.0;
    for (int i = 0; i < 200; ++i) {
        vector3 step = here.gradient;
        matrix3 m = here.curvature;
        // A bound that the likelihood pushes against holds its parameter still.
        const bool stuck_scale = t.scale <= smallest_scale && step[1] < 0.0;
        const bool stuck_df = (t.df >= largest_df && step[2] > 0.0) ||
                              (t.df <= smallest_df && step[2] < 0.0);
        for (std::size_t k = 1; k < 3; ++k)
            if (k == 1 ? stuck_scale : stuck_df) {
                for (std::size_t j = 0; j < 3; ++j)
                    m[3 * k + j] = m[3 * j + k] = 0.0;
                m[4 * k] = 1.0;
                step[k] = 0.0;
            }
        const double push =
            std::max({std::fabs(step[0]), std::fabs(step[1]), std::fabs(step[2])});
        if (push < 1e-13) break;
        // Along log df the likelihood is convex far out; its size is still the
        // right length of a step.
        for (std::size_t k = 0; k < 3; ++k)
            m[4 * k] = std::fabs(m[4 * k]) + damping;
        if (!solve_positive(m, step)) {
            damping = std::max(4.0 * damping, 1e-3);
            continue;
        }
        for (double& s : step) s = std::clamp(s, -2.0, 2.0);
        const student_t_family next{
            std::clamp(t.df * std::exp(step[2]), smallest_df, largest_df),
            t.location + t.scale * step[0],
            std::max(t.scale * std::exp(step[1]), smallest_scale)};
        const student_t_slopes there = slopes(rows, next);
        const double length =
            std::max({std::fabs(step[0]), std::fabs(step[1]), std::fabs(step[2])});
        if (there.value >= here.value) {
            t = next;
            here = there;
            damping *= 0.1;
            if (damping < 1e-9) damping = 0.0;
        } else {
            // Flat to rounding: the last Newton step is the better guess.
            if (length < 1e-8) {
                t = next;
                here = there;
                break;
            }
            damping = std::max(8.0 * damping, 1e-3);
        }
        if (length < 1e-14) break;
    }
    return {t, here.value,
            t.scale <= 1.001 * smallest_scale || t.df <= 1.001 * smallest_df};
}

}  // namespace detail

/// Maximum likelihood of a Student t with df in [0.1, 1e5] and a scale not below
/// `smallest_scale`.
///
/// Without a bound on the scale there may be no maximum: on rows that tie, the
/// likelihood grows without end as the scale goes to zero. `at_bound` then says so.
/// Cost: about 20 passes over the sample.
inline fitted<student_t_family> fit_student_t(const sample& rows,
                                              double smallest_scale) noexcept {
    const fitted<normal_family> normal = fit_normal(rows);
    const double middle = weighted_quantile(rows, 0.5);
    const double quartiles =
        weighted_quantile(rows, 0.75) - weighted_quantile(rows, 0.25);
    const double spread =
        std::max({0.6 * quartiles, 0.01 * normal.family.scale, smallest_scale});
    fitted<student_t_family> best{{largest_df, normal.family.location,
                                   std::max(normal.family.scale, smallest_scale)},
                                  0.0,
                                  false};
    best.log_likelihood = detail::slopes(rows, best.family).value;
    for (const double df : {1.5, 8.0}) {
        const fitted<student_t_family> found =
            detail::climb(rows, {df, middle, spread}, smallest_scale);
        if (found.log_likelihood > best.log_likelihood + 1e-13) best = found;
    }
    return best;
}

}  // namespace gstar
