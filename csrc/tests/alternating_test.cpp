// alternating_test.cpp - slopes equal differences, descents go down, and a sweep
// ends where Newton does.
#include "gstar/solve/smooth/alternating.hpp"

#include <cmath>
#include <random>
#include <vector>

#include "check.hpp"
#include "gstar/solve/smooth/newton.hpp"
#include "gstar/solve/smooth/sweep.hpp"

using namespace gstar;

namespace {

struct normal_point {
    double cdf, pdf, slope;
};

/// A normal density, as plain as can be.
struct normal_density {
    double mean, deviation;

    normal_point at(double x) const noexcept {
        const double z = (x - mean) / deviation;
        const double pdf = std::exp(-0.5 * z * z) /
                           (deviation * std::sqrt(2 * 3.14159265358979323846));
        return {0.5 * std::erfc(-z / std::sqrt(2.0)), pdf, -z / deviation * pdf};
    }
};

/// Groups with normal cells, equal shares, and penalties on tpr and fpr.
struct binormal {
    std::vector<normal_density> held;
    smooth_problem<normal_density> p;

    binormal(std::mt19937& random, std::size_t groups, double tpr_weight,
             double fpr_weight) {
        std::uniform_real_distribution<double> shift(-0.5, 0.5), apart(0.5, 2.5),
            width(0.7, 1.4);
        for (std::size_t k = 0; k < groups; ++k) {
            const double at = shift(random);
            held.push_back({at, width(random)});
            held.push_back({at + apart(random), width(random)});
        }
        p.n_groups = groups;
        p.n_rates = 2;
        const double share = 0.5 / static_cast<double>(groups);
        for (std::size_t k = 0; k < groups; ++k) {
            p.cells.insert(p.cells.end(),
                           {&held[2 * k], &held[2 * k + 1], nullptr});
            p.error_base.push_back(share);
            p.error_coefficient.insert(p.error_coefficient.end(),
                                       {-share, share, 0.0});
        }
        p.rate_base.assign(2 * groups, 1.0);
        for (std::size_t r = 0; r < 2; ++r)
            for (std::size_t k = 0; k < groups; ++k)
                p.rate_coefficient.insert(
                    p.rate_coefficient.end(),
                    {r == 1 ? 1.0 : 0.0, r == 0 ? 1.0 : 0.0, 0.0});
        p.has.assign(2 * groups, 1);
        p.penalty = {tpr_weight, fpr_weight};
        p.low = -8.0;
        p.high = 8.0;
    }
    binormal(const binormal&) = delete;
};

}  // namespace

int main() {
    std::mt19937 random(5);
    {  // gradient and Hessian equal finite differences, for two groups and for four
        for (int round = 0; round < 50; ++round) {
            const std::size_t n = round % 2 ? 2 : 4;
            const binormal b(random, n, 3.0, 0.7);
            std::vector<double> at(n), gradient(n), hessian(n * n), up(n), down(n),
                scratch(n * n);
            for (double& x : at)
                x = std::uniform_real_distribution<double>(-2, 3)(random);
            std::vector<group_point> groups(n);
            b.p.loss_at(at, groups);
            b.p.slopes(groups, true, gradient, hessian);
            const double h = 1e-5;
            for (std::size_t k = 0; k < n; ++k) {
                std::vector<double> moved = at;
                moved[k] = at[k] + h;
                const double above = b.p.loss_at(moved, groups);
                b.p.slopes(groups, true, up, scratch);
                moved[k] = at[k] - h;
                const double below = b.p.loss_at(moved, groups);
                b.p.slopes(groups, true, down, scratch);
                CHECK(std::fabs((above - below) / (2 * h) - gradient[k]) < 1e-8);
                for (std::size_t j = 0; j < n; ++j)
                    CHECK(std::fabs((up[j] - down[j]) / (2 * h) -
                                    hessian[k * n + j]) < 1e-7);
            }
        }
    }
    {  // the step of the loop is the paper's formula for two groups and one rate
        const binormal b(random, 2, 2.5, 0.0);
        std::vector<group_point> g(2);
        b.p.loss_at({0.3, -0.2}, g);
        const double eta = g[0].error + g[1].error, alpha = g[1].d_error,
                     beta = g[1].d_rate[0];
        const double epsilon = g[1].rate[0] - g[0].rate[0];
        const double step = -(alpha * eta + 2.5 * beta * epsilon) /
                            (alpha * alpha + 2.5 * beta * beta);
        CHECK(std::fabs(alternating_step(b.p, g, 1) - step) < 1e-15);
    }
    {  // descents never go up, and Newton ends where the gradient vanishes
        for (int round = 0; round < 60; ++round) {
            const double weight = std::pow(10.0, round % 9 - 2);
            const std::size_t n = 2 + static_cast<std::size_t>(round) % 3;
            const binormal b(random, n, weight, round % 2 ? weight : 0.0);
            const std::vector<double> start(n, 0.5);
            for (const descent& d :
                 {alternate(b.p, start, 1.0, 500, 1e-12, true),
                  newton(b.p, start, false, false, 500, 1e-12, true),
                  newton(b.p, start, true, false, 500, 1e-12, true)}) {
                for (std::size_t i = 1; i < d.trace.size(); ++i)
                    CHECK(d.trace[i] <= d.trace[i - 1]);
                for (const double x : d.thresholds)
                    CHECK(x >= b.p.low && x <= b.p.high);
            }
            const descent d = newton(b.p, start, true, false, 500, 1e-14, false);
            std::vector<group_point> groups(n);
            std::vector<double> gradient(n), hessian(n * n);
            b.p.loss_at(d.thresholds, groups);
            b.p.slopes(groups, true, gradient, hessian);
            CHECK(d.stalled);
            CHECK(largest(gradient) < 1e-9 * (1 + weight));
        }
    }
    {  // a tolerance below 0 runs all rounds; they begin as those that end by themselves
        for (const double weight : {0.01, 10.0, 1e4}) {
            const binormal b(random, 3, weight, weight);
            for (const std::size_t limit : {1, 3, 700}) {
                const descent all =
                    alternate(b.p, {0.0, 0.0, 0.0}, 1.0, limit, -1.0, true);
                CHECK(all.iterations == limit && all.trace.size() == limit &&
                      !all.stalled);
                const descent own =
                    alternate(b.p, {0.0, 0.0, 0.0}, 1.0, limit, 0.0, true);
                for (std::size_t i = 0; i < own.trace.size(); ++i)
                    CHECK(all.trace[i] == own.trace[i]);
                CHECK(all.loss == own.loss && all.thresholds == own.thresholds);
                for (const bool exact : {false, true}) {
                    const descent d = newton(b.p, {0.0, 0.0, 0.0}, exact, false,
                                             limit, -1.0, true);
                    CHECK(d.iterations == limit && d.trace.size() == limit &&
                          !d.stalled);
                }
            }
        }
    }
    {  // one threshold for all stays one threshold
        const binormal b(random, 3, 10.0, 10.0);
        const descent d =
            newton(b.p, {0.0, 0.0, 0.0}, true, true, 200, 1e-13, false);
        CHECK(d.thresholds[0] == d.thresholds[1] &&
              d.thresholds[1] == d.thresholds[2]);
    }
    {  // a sweep finds, for every penalty, nothing worse than Newton from anywhere
        const binormal b(random, 2, 1.0, 1.0);
        const std::size_t n = 401;
        std::vector<double> edges(n), cost, rates(2 * 2 * n);
        std::vector<std::int64_t> start{0, static_cast<std::int64_t>(n),
                                        static_cast<std::int64_t>(2 * n)},
            distance(2 * n, 0);
        for (std::size_t i = 0; i < n; ++i)
            edges[i] =
                -8.0 + 16.0 * static_cast<double>(i) / static_cast<double>(n - 1);
        for (std::size_t k = 0; k < 2; ++k)
            for (std::size_t i = 0; i < n; ++i) {
                const group_point g = b.p.at(k, edges[i]);
                cost.push_back(g.error);
                for (std::size_t r = 0; r < 2; ++r)
                    rates[r * 2 * n + k * n + i] = g.rate[r];
            }
        const double none = std::numeric_limits<double>::infinity();
        const std::vector<std::uint8_t> has(4, 1);
        const std::vector<double> limit(2, none), ratio(2, -1.0), zero(2, 0.0);
        const problem<double> grid{2,
                                   2,
                                   {start.data(), 3},
                                   {cost.data(), cost.size()},
                                   {distance.data(), distance.size()},
                                   {rates.data(), rates.size()},
                                   {has.data(), 4},
                                   {limit.data(), 2},
                                   {ratio.data(), 2},
                                   {zero.data(), 2},
                                   1.0,
                                   {rates.data(), rates.size()},
                                   {rates.data(), rates.size()}};
        std::vector<double> penalties;
        for (int i = 0; i < 40; ++i)
            penalties.insert(penalties.end(), 2,
                             std::pow(10.0, -2.0 + 9.0 * i / 39.0));
        const sweep_points found =
            sweep(b.p, grid, edges.data(), penalties.data(), 40, 1e-13);
        CHECK(found.loss.size() == 40 && found.thresholds.size() == 80);
        smooth_problem<normal_density> p = b.p;
        for (std::size_t i = 0; i < 40; ++i) {
            p.penalty = {penalties[2 * i], penalties[2 * i]};
            for (const double from : {-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0}) {
                const descent d =
                    newton(p, {from, from}, true, false, 500, 1e-13, false);
                CHECK(found.loss[i] <= d.loss * (1 + 1e-9));
            }
        }
    }
    return 0;
}
