// newton.hpp - all thresholds at once: damped Gauss-Newton, and Newton with the
// exact Hessian.
#pragma once

#include <algorithm>  // max, min
#include <cmath>      // fabs
#include <cstddef>    // size_t
#include <utility>    // move
#include <vector>

#include "gstar/density/cholesky.hpp"
#include "gstar/solve/smooth/alternating.hpp"
#include "gstar/solve/smooth/smooth.hpp"

namespace gstar {

inline double largest(const std::vector<double>& values) noexcept {
    double most = 0.0;
    for (const double x : values) most = std::max(most, std::fabs(x));
    return most;
}

/// The largest entry of the gradient; with one threshold for all, the size of its
/// sum.
template <class Density>
double steepness(const smooth_problem<Density>& p,
                 const std::vector<group_point>& groups, bool shared,
                 std::vector<double>& gradient,
                 std::vector<double>& hessian) noexcept {
    p.slopes(groups, true, gradient, hessian);
    if (!shared) return largest(gradient);
    double sum = 0.0;
    for (const double x : gradient) sum += x;
    return std::fabs(sum);
}

/// Descend from `start` with damped steps; `exact` uses the full Hessian, else the
/// Gauss-Newton matrix.
///
/// The damping falls after a step that lowers the loss and rises after one that
/// does not. Ends when a step that is not damped to nothing moves no threshold by
/// more than `tolerance`, or no damping helps; one below 0 runs all `limit` rounds.
template <class Density>
descent newton(const smooth_problem<Density>& p, std::vector<double> start,
               bool exact, bool shared, std::size_t limit, double tolerance,
               bool keep_trace) {
    const std::size_t n = p.n_groups, m = shared ? 1 : n;
    std::vector<group_point> groups(n), trial_groups(n);
    std::vector<double> gradient(n), hessian(n * n), step(m), work, trial(n), g(m),
        h(m * m), trial_gradient(n);
    descent d;
    d.thresholds = std::move(start);
    d.loss = p.loss_at(d.thresholds, groups);
    double damping = 0.0;
    for (; d.iterations < limit; ++d.iterations) {
        p.slopes(groups, exact, gradient, hessian);
        if (shared) {  // one threshold for all: sum over groups
            g[0] = h[0] = 0.0;
            for (double x : gradient) g[0] += x;
            for (double x : hessian) h[0] += x;
        } else {
            g = gradient;
            h = hessian;
        }
        double scale = 0.0;
        for (std::size_t i = 0; i < m; ++i)
            scale = std::max(scale, std::fabs(h[i * m + i]));
        if (!(scale > 0.0) && tolerance >= 0.0) {
            d.stalled = true;
            break;
        }
        bool better = false;
        double moved = 0.0;
        for (int attempt = 0; attempt < 40 && !better; ++attempt) {
            for (std::size_t i = 0; i < m; ++i) step[i] = -g[i];
            work = h;
            for (std::size_t i = 0; i < m; ++i) work[i * m + i] += damping * scale;
            if (!solve_positive(work, step)) {
                damping = std::max(10 * damping, 1e-6);
                continue;
            }
            moved = 0.0;
            for (std::size_t k = 0; k < n; ++k) {
                trial[k] = std::min(
                    std::max(d.thresholds[k] + step[shared ? 0 : k], p.low),
                    p.high);
                moved = std::max(moved, std::fabs(trial[k] - d.thresholds[k]));
            }
            const double loss = p.loss_at(trial, trial_groups);
            // next to the optimum the loss is flat to the last bit, but its slope
            // still tells better from worse
            const bool flatter = exact && loss <= d.loss * (1 + 1e-13) &&
                                 steepness(p, trial_groups, shared, trial_gradient,
                                           hessian) < 0.5 * largest(g);
            if (loss < d.loss || flatter) {
                better = true;
                d.loss = std::min(loss, d.loss);
                d.thresholds = trial;
                groups = trial_groups;
                damping = damping < 1e-9 ? 0.0 : damping / 10;
            } else if (moved <= tolerance) {
                break;
            } else {
                damping = std::max(10 * damping, 1e-6);
            }
        }
        if (keep_trace) d.trace.push_back(d.loss);
        if (tolerance < 0.0) {
            if (!better) damping = 0.0;
        } else if (!better || moved <= tolerance) {
            d.stalled = true;
            ++d.iterations;
            break;
        }
    }
    return d;
}

}  // namespace gstar
