// sweep.hpp - many penalties on the same smooth densities, each answer checked against every pair of edges.
//
// Reads from: exact_pair.hpp, newton.hpp.  Read by: bind_solver.cpp.
//
// Neighbouring penalties have neighbouring optima, so Newton starts from the last answer and needs a few steps. A search
// over all pairs of edges that allows only losses below the answer's then either proves it (it finds none) or finds a
// better valley, and Newton starts again from there.
#pragma once

#include <cstddef>  // size_t
#include <cstdint>  // int64_t
#include <vector>

#include "exact_pair.hpp"
#include "newton.hpp"

namespace gstar {

struct sweep_points {
    std::vector<double> thresholds;  ///< points x 2
    std::vector<double> loss;
    std::size_t evaluations = 0;  ///< Newton steps in all
    std::size_t restarts = 0;     ///< how often the proof found a better valley
};

/// Two groups. `edges` are the candidates of both groups in `grid`, whose costs and rates are those of the densities.
/// `penalties` is points x n_rates.
template <class Density>
sweep_points sweep(smooth_problem<Density> p, const problem<double>& grid, const double* edges, const double* penalties,
                   std::size_t points, double tolerance) {
    pair_search<double> search(grid);
    sweep_points out;
    std::vector<double> at(2, 0.5 * (p.low + p.high));
    for (std::size_t i = 0; i < points; ++i) {
        const double* penalty = penalties + i * p.n_rates;
        p.penalty.assign(penalty, penalty + p.n_rates);
        descent d = newton(p, at, true, false, 100, tolerance, false);
        out.evaluations += d.iterations;
        std::int64_t numbers[2];
        double loss;
        // a margin of rounding, so that the edge next to the answer is not taken for a better valley
        while (search.run_below(penalty, d.loss * (1 - 1e-12), numbers, loss)) {
            ++out.restarts;
            std::vector<double> from = {edges[numbers[0]], edges[numbers[1]]};
            for (double& x : from) x = x < p.low ? p.low : x > p.high ? p.high : x;
            descent again = newton(p, from, true, false, 100, tolerance, false);
            out.evaluations += again.iterations;
            if (!(again.loss < d.loss)) break;
            d = again;
        }
        at = d.thresholds;
        out.thresholds.insert(out.thresholds.end(), at.begin(), at.end());
        out.loss.push_back(d.loss);
    }
    return out;
}

}  // namespace gstar
