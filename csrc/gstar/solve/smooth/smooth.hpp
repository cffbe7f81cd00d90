// smooth.hpp - the paper's loss on continuous densities, with its slopes.
//
// Every rate and the error are linear in the cdfs of a group's cells (label 0,
// label 1, unlabelled):
//   rate = base - sum of coefficient * cdf,   E = sum over groups of base + sum of coefficient * cdf.
// So their derivatives are the same sums over pdfs, and over the slopes of the pdfs.
// A density is anything with `point at(double) const`, where point has cdf, pdf and slope.
#pragma once

#include <cstddef>  // size_t
#include <vector>

namespace gstar {

/// One group's share of E and its rates at a threshold, with first and second
/// derivatives.
struct group_point {
    double error, d_error, dd_error;
    double rate[5], d_rate[5], dd_rate[5];  ///< the first n_rates entries are used
};

/// The loss of a threshold for each group: E^2 plus penalties (paper, eq. 2, for
/// any number of groups).
template <class Density>
struct smooth_problem {
    std::size_t n_groups = 0, n_rates = 0;
    std::vector<const Density*> cells;      ///< n_groups x 3; null: without rows
    std::vector<double> error_base;         ///< n_groups
    std::vector<double> error_coefficient;  ///< n_groups x 3
    std::vector<double> rate_base;          ///< n_rates x n_groups
    std::vector<double> rate_coefficient;   ///< n_rates x n_groups x 3
    std::vector<char> has;                  ///< n_rates x n_groups
    std::vector<double> penalty;            ///< n_rates
    double low = 0.0, high = 0.0;           ///< thresholds stay in here

    std::size_t members(std::size_t r) const noexcept {
        std::size_t n = 0;
        for (std::size_t k = 0; k < n_groups; ++k) n += has[r * n_groups + k] != 0;
        return n;
    }

    /// Cost: one call for each cell that has rows.
    group_point at(std::size_t k, double threshold) const noexcept {
        group_point g{};
        g.error = error_base[k];
        for (std::size_t r = 0; r < n_rates; ++r)
            g.rate[r] = rate_base[r * n_groups + k];
        for (std::size_t c = 0; c < 3; ++c) {
            const Density* cell = cells[k * 3 + c];
            if (cell == nullptr) continue;
            const auto p = cell->at(threshold);
            const double e = error_coefficient[k * 3 + c];
            g.error += e * p.cdf;
            g.d_error += e * p.pdf;
            g.dd_error += e * p.slope;
            for (std::size_t r = 0; r < n_rates; ++r) {
                const double a = rate_coefficient[(r * n_groups + k) * 3 + c];
                g.rate[r] -= a * p.cdf;
                g.d_rate[r] -= a * p.pdf;
                g.dd_rate[r] -= a * p.slope;
            }
        }
        return g;
    }

    /// The loss of groups already evaluated. The mean over pairs of squared
    /// differences is 2 / (m - 1) times the sum of squared distances to the mean.
    double loss(const std::vector<group_point>& groups) const noexcept {
        double error = 0.0;
        for (const group_point& g : groups) error += g.error;
        double total = error * error;
        for (std::size_t r = 0; r < n_rates; ++r) {
            const std::size_t m = members(r);
            if (m < 2 || !(penalty[r] > 0)) continue;
            const double mean = mean_of(groups, r, m);
            double squares = 0.0;
            for (std::size_t k = 0; k < n_groups; ++k)
                if (has[r * n_groups + k]) {
                    const double apart = groups[k].rate[r] - mean;
                    squares += apart * apart;
                }
            total += 2 * penalty[r] / static_cast<double>(m - 1) * squares;
        }
        return total;
    }

    double mean_of(const std::vector<group_point>& groups, std::size_t r,
                   std::size_t m) const noexcept {
        double sum = 0.0;
        for (std::size_t k = 0; k < n_groups; ++k)
            if (has[r * n_groups + k]) sum += groups[k].rate[r];
        return sum / static_cast<double>(m);
    }

    double loss_at(const std::vector<double>& thresholds,
                   std::vector<group_point>& groups) const noexcept {
        for (std::size_t k = 0; k < n_groups; ++k) groups[k] = at(k, thresholds[k]);
        return loss(groups);
    }

    /// Gradient, and Hessian (row by row); `second` leaves out the curvature of the
    /// residuals when false, which makes it the Gauss-Newton matrix 2 J^T J.
    void slopes(const std::vector<group_point>& groups, bool second,
                std::vector<double>& gradient,
                std::vector<double>& hessian) const noexcept {
        const std::size_t n = n_groups;
        double error = 0.0;
        for (const group_point& g : groups) error += g.error;
        for (std::size_t k = 0; k < n; ++k) {
            gradient[k] = 2 * error * groups[k].d_error;
            for (std::size_t j = 0; j < n; ++j)
                hessian[k * n + j] = 2 * groups[k].d_error * groups[j].d_error;
            if (second) hessian[k * n + k] += 2 * error * groups[k].dd_error;
        }
        for (std::size_t r = 0; r < n_rates; ++r) {
            const std::size_t m = members(r);
            if (m < 2 || !(penalty[r] > 0)) continue;
            const double weight = 4 * penalty[r] / static_cast<double>(m - 1),
                         mean = mean_of(groups, r, m);
            for (std::size_t k = 0; k < n; ++k) {
                if (!has[r * n + k]) continue;
                const group_point& g = groups[k];
                gradient[k] += weight * (g.rate[r] - mean) * g.d_rate[r];
                hessian[k * n + k] += weight * g.d_rate[r] * g.d_rate[r];
                if (second)
                    hessian[k * n + k] +=
                        weight * (g.rate[r] - mean) * g.dd_rate[r];
                for (std::size_t j = 0; j < n; ++j)
                    if (has[r * n + j])
                        hessian[k * n + j] -= weight * g.d_rate[r] *
                                              groups[j].d_rate[r] /
                                              static_cast<double>(m);
            }
        }
    }
};

}  // namespace gstar
