// families_test.cpp - fits find the parameters that made the sample.
#include "gstar/density/families.hpp"

#include <cmath>
#include <cstddef>

#include "check.hpp"
#include "gstar/density/fit_gamma.hpp"

using namespace gstar;

namespace {

/// The quantiles of a family at evenly spaced probabilities: a sample without noise.
template <class Family>
sample quantiles_of(const Family& f, int n) {
    sample rows;
    for (int i = 0; i < n; ++i) {
        rows.points.push_back(f.quantile((i + 0.5) / n));
        rows.weights.push_back(1.0 / n);
    }
    return rows;
}

/// Where rows end, for densities without a pole.
score_end last(const sample& rows, bool mirrored) {
    const double score = mirrored ? rows.points.back() : rows.points.front();
    return {score, score, static_cast<double>(rows.points.size())};
}

template <class Family>
double mean_log_pdf(const sample& rows, const Family& f) {
    double sum = 0.0;
    for (std::size_t i = 0; i < rows.points.size(); ++i)
        sum += rows.weights[i] * std::log(f.at(rows.points[i]).pdf);
    return sum;
}

/// Largest difference of slope and curvature from central differences of the pdf.
template <class Family>
double worst_derivative(const Family& f, double from, double to, double step) {
    double worst = 0.0;
    for (int i = 0; i < 27; ++i) {
        const double x = from + 0.037 * i * (to - from);
        const jet left = f.at(x - step), here = f.at(x), right = f.at(x + step);
        worst = std::max(
            {worst, std::fabs((right.cdf - left.cdf) / (2 * step) - here.pdf),
             std::fabs((right.pdf - left.pdf) / (2 * step) - here.slope),
             std::fabs((right.slope - left.slope) / (2 * step) - here.curvature)});
    }
    return worst;
}

}  // namespace

int main() {
    {  // each derivative is the derivative of the one before
        CHECK(worst_derivative(normal_family{1.0, 2.0}, -6.0, 8.0, 1e-4) < 1e-7);
        CHECK(worst_derivative(student_t_family{2.2, 1.0, 2.0}, -9.0, 9.0, 1e-4) <
              1e-7);
        for (const bool mirrored : {false, true}) {
            const double sign = mirrored ? -1.0 : 1.0;
            const gamma_family f{3.5, 0.0, 2.0, mirrored};
            CHECK(worst_derivative(f, mirrored ? -25.0 : 1.0,
                                   mirrored ? -1.0 : 25.0, 1e-4) < 1e-6);
            CHECK(std::fabs(f.at(f.quantile(0.3)).cdf - 0.3) < 1e-12);
            CHECK(f.at(-sign).pdf == 0.0);
        }
    }
    {  // a Student t finds its parameters, and no neighbour is likelier
        const student_t_family truth{2.235, -0.567, 0.756};
        const sample rows = quantiles_of(truth, 4001);
        const fitted<student_t_family> fit = fit_student_t(rows, 1e-3);
        CHECK(!fit.at_bound);
        CHECK(std::fabs(fit.family.df - truth.df) < 0.03);
        CHECK(std::fabs(fit.family.location - truth.location) < 1e-9);
        CHECK(std::fabs(fit.family.scale - truth.scale) < 0.01);
        CHECK(std::fabs(mean_log_pdf(rows, fit.family) - fit.log_likelihood) <
              1e-12);
        for (const double nudge : {0.999, 1.001}) {
            student_t_family near = fit.family;
            near.df *= nudge;
            CHECK(mean_log_pdf(rows, near) < fit.log_likelihood);
            near = fit.family;
            near.scale *= nudge;
            CHECK(mean_log_pdf(rows, near) < fit.log_likelihood);
            near = fit.family;
            near.location *= nudge;
            CHECK(mean_log_pdf(rows, near) < fit.log_likelihood);
        }
    }
    {  // light tails end in the normal limit, not in an endless climb
        const fitted<student_t_family> fit =
            fit_student_t(quantiles_of(normal_family{3.0, 0.5}, 1001), 1e-3);
        CHECK(fit.family.df == largest_df && !fit.at_bound);
    }
    {  // a tie leaves the Student-t likelihood without a maximum, and the fit says so
        sample rows = quantiles_of(normal_family{0.0, 1.0}, 1001);
        for (double& w : rows.weights) w *= 0.5;
        rows.weights[500] += 0.5;
        CHECK(fit_student_t(rows, 1e-3).at_bound);
    }
    {  // a gamma finds its parameters on either side
        for (const bool mirrored : {false, true}) {
            const gamma_family truth{4.5, 1.25, 0.8, mirrored};
            const sample rows = [&] {
                sample s = quantiles_of(truth, 4001);
                return s;
            }();
            const fitted<gamma_family> fit =
                fit_gamma(rows, mirrored, last(rows, mirrored));
            CHECK(!fit.at_bound);
            CHECK(std::fabs(fit.family.shape - truth.shape) < 0.1);
            CHECK(std::fabs(fit.family.location - truth.location) < 0.05);
            CHECK(std::fabs(fit.family.scale - truth.scale) < 0.01);
            CHECK(std::fabs(mean_log_pdf(rows, fit.family) - fit.log_likelihood) <
                  1e-12);
            CHECK(fit_gamma(rows, !mirrored, last(rows, !mirrored)).log_likelihood <
                  fit.log_likelihood);
            for (const double nudge : {0.999, 1.001}) {
                gamma_family near = fit.family;
                near.shape *= nudge;
                CHECK(mean_log_pdf(rows, near) < fit.log_likelihood);
            }
        }
    }
    {  // no pole: the steepest gamma is the exponential from the smallest row
        const sample rows = quantiles_of(gamma_family{0.4, 0.0, 1.0, false}, 1001);
        const fitted<gamma_family> fit = fit_gamma(rows, false, last(rows, false));
        CHECK(fit.family.shape == 1.0 && fit.at_bound);
        CHECK(std::isfinite(fit.log_likelihood));
    }
    {  // where a pole may be, shapes below 1 are found on either side
        for (const bool mirrored : {false, true})
            for (const double shape : {0.1, 0.4, 0.8}) {
                const gamma_family truth{shape, 2.0, 0.5, mirrored};
                const sample rows = quantiles_of(truth, 20001);
                score_end end = last(rows, mirrored);
                end.reach += mirrored ? -1e-4 : 1e-4;
                end.rows = 20001;
                const gamma_family found = fit_gamma(rows, mirrored, end).family;
                CHECK(std::fabs(found.shape - shape) < 0.02 * shape);
                CHECK(std::fabs(found.scale - truth.scale) < 0.02);
                CHECK(std::fabs(found.location - truth.location) < 1e-5);
                CHECK(mirrored ? found.location > end.score
                               : found.location < end.score);
            }
    }
    {  // two rows end somewhere finite
        const sample rows{{0.0, 1.0}, {0.5, 0.5}};
        CHECK(std::isfinite(fit_student_t(rows, 1e-6).log_likelihood));
        CHECK(std::isfinite(
            fit_gamma(rows, false, last(rows, false)).log_likelihood));
        CHECK(fit_normal(rows).family.scale == 0.5);
    }
}
