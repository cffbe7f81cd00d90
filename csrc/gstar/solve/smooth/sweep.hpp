// sweep.hpp - many penalties on the same smooth densities, each answer checked
// against every pair of edges.
//
// Penalties go from light to heavy. Neighbouring penalties have neighbouring
// optima, so Newton starts from the last answers and needs a few steps. A search
// over all pairs of edges that allows only losses below the best answer then finds
// no pair, or shows a better valley, which is followed from there on besides the
// others: where a heavy penalty has made the valleys narrower than a bin, they are
// known from lighter ones.
#pragma once

#include <cstddef>  // size_t
#include <cstdint>  // int64_t
#include <vector>

#include "gstar/solve/exact_pair.hpp"
#include "gstar/solve/smooth/newton.hpp"

namespace gstar {

struct sweep_points {
    std::vector<double> thresholds;  ///< points x 2
    std::vector<double> loss;
    std::size_t evaluations = 0;  ///< Newton steps in all
    std::size_t restarts = 0;     ///< how often the proof found a better valley
};

/// Two groups. `edges` are the candidates of both groups in `grid`, whose costs and
/// rates are those of the densities. `penalties` is points x n_rates, light ones
/// first.
template <class Density>
sweep_points sweep(smooth_problem<Density> p, const problem<double>& grid,
                   const double* edges, const double* penalties, std::size_t points,
                   double tolerance) {
    constexpr std::size_t most_tracks = 8;
    pair_search<double> search(grid);
    sweep_points out;
    std::vector<std::vector<double>> tracks;
    for (std::size_t i = 0; i < points; ++i) {
        const double* penalty = penalties + i * p.n_rates;
        p.penalty.assign(penalty, penalty + p.n_rates);
        descent best;
        for (std::vector<double>& track : tracks) {
            descent d = newton(p, track, true, false, 100, tolerance, false);
            out.evaluations += d.iterations;
            track = d.thresholds;
            if (d.loss < best.loss) best = std::move(d);
        }
        std::int64_t numbers[2];
        double loss;
        // a margin of rounding, so that the edge next to the answer is not taken
        // for a better valley
        while (search.run_below(penalty, best.loss * (1 - 1e-12), numbers, loss)) {
            ++out.restarts;
            std::vector<double> from = {edges[numbers[0]], edges[numbers[1]]};
            for (double& x : from) x = x < p.low ? p.low : x > p.high ? p.high : x;
            descent d = newton(p, from, true, false, 100, tolerance, false);
            out.evaluations += d.iterations;
            if (!(d.loss < best.loss)) break;
            if (tracks.size() == most_tracks) tracks.erase(tracks.begin());
            tracks.push_back(d.thresholds);
            best = std::move(d);
        }
        out.thresholds.insert(out.thresholds.end(), best.thresholds.begin(),
                              best.thresholds.end());
        out.loss.push_back(best.loss);
    }
    return out;
}

}  // namespace gstar
