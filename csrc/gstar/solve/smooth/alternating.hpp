// alternating.hpp - the paper's loop (Algorithm 1), one threshold at a time.
#pragma once

#include <cmath>    // fabs
#include <cstddef>  // size_t
#include <vector>

#include "gstar/base/deadline.hpp"  // infinity
#include "gstar/solve/smooth/smooth.hpp"

namespace gstar {

/// Where a descent ended.
struct descent {
    std::vector<double> thresholds;  ///< the best seen
    double loss = infinity;
    std::size_t iterations = 0;
    bool stalled = false;       ///< no step helped any more
    std::vector<double> trace;  ///< the loss after each iteration
};

/// One step for group k: -(alpha eta + sum of lambda beta epsilon) / (alpha^2 + sum
/// of lambda beta^2), paper's supplement eq. 11 with the corrections of
/// docs/design.md; for K groups epsilon and lambda sum over the pairs that k is in.
template <class Density>
double alternating_step(const smooth_problem<Density>& p,
                        const std::vector<group_point>& groups,
                        std::size_t k) noexcept {
    double error = 0.0;
    for (const group_point& g : groups) error += g.error;
    const group_point& here = groups[k];
    double slope = here.d_error * error, curve = here.d_error * here.d_error;
    for (std::size_t r = 0; r < p.n_rates; ++r) {
        if (!(p.penalty[r] > 0) || !p.has[r * p.n_groups + k]) continue;
        const std::size_t m = p.members(r);
        if (m < 2) continue;
        const double weight = p.penalty[r] / (static_cast<double>(m) *
                                              static_cast<double>(m - 1) / 2);
        double apart = 0.0;
        for (std::size_t j = 0; j < p.n_groups; ++j)
            if (p.has[r * p.n_groups + j])
                apart += here.rate[r] - groups[j].rate[r];
        slope += weight * here.d_rate[r] * apart;
        curve +=
            weight * static_cast<double>(m - 1) * here.d_rate[r] * here.d_rate[r];
    }
    return curve > 0 ? -slope / curve : 0.0;
}

/// Cycle through the groups from `start`. The step is cut by halves, beginning with
/// `shrink`, until it lowers the loss and stays in the score range. Ends after a
/// round in which no group could move by more than `tolerance`; one below 0 runs
/// all `limit` rounds. After a round without a move the next one is the same, so it
/// evaluates the first trial of each group only.
///
/// Cost: an iteration is a step and about one evaluation for each group.
template <class Density>
descent alternate(const smooth_problem<Density>& p, std::vector<double> start,
                  double shrink, std::size_t limit, double tolerance,
                  bool keep_trace) {
    std::vector<group_point> groups(p.n_groups);
    descent d;
    d.thresholds = std::move(start);
    d.loss = p.loss_at(d.thresholds, groups);
    for (int cuts = 40; d.iterations < limit; ++d.iterations) {
        double moved = 0.0;
        for (std::size_t k = 0; k < p.n_groups; ++k) {
            double step = shrink * alternating_step(p, groups, k);
            const group_point before = groups[k];
            const double at = d.thresholds[k];
            for (int cut = 0; cut < cuts; ++cut, step /= 2) {
                const double to = at + step;
                if (!(to >= p.low && to <= p.high)) continue;
                if (to == at) break;
                groups[k] = p.at(k, to);
                const double loss = p.loss(groups);
                if (loss < d.loss) {
                    d.loss = loss;
                    d.thresholds[k] = to;
                    moved = std::fabs(step) > moved ? std::fabs(step) : moved;
                    break;
                }
                groups[k] = before;
            }
        }
        cuts = moved > 0.0 ? 40 : 1;
        if (keep_trace) d.trace.push_back(d.loss);
        if (!(moved > tolerance)) {
            d.stalled = true;
            ++d.iterations;
            break;
        }
    }
    return d;
}

}  // namespace gstar
