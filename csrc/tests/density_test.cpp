// density_test.cpp - one face over all kinds, and a table that agrees with it.
#include "gstar/density.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "check.hpp"

using namespace gstar;

namespace {

const double none = std::numeric_limits<double>::quiet_NaN();

/// Largest difference between a table and its density on [low, high]; the derivatives
/// are measured in units of the largest pdf and of 1 / scale.
struct worst {
    double cdf, pdf, slope;
};
worst compare(const density_table& table, double low, double high, double scale) {
    worst w{0.0, 0.0, 0.0};
    double peak = 0.0;
    for (int i = 0; i <= 5000; ++i) {
        const double x = low + (high - low) * i / 5000.0;
        const point a = table.at(x), b = table.source().at(x);
        peak = std::max(peak, b.pdf);
        w.cdf = std::max(w.cdf, std::fabs(a.cdf - b.cdf));
        w.pdf = std::max(w.pdf, std::fabs(a.pdf - b.pdf));
        w.slope = std::max(w.slope, std::fabs(a.slope - b.slope));
    }
    return {w.cdf, w.pdf / peak, w.slope * scale / peak};
}

void check_close(const density_table& table, double low, double high,
                 double scale) {
    const worst w = compare(table, low, high, scale);
    CHECK(table.cells() > 0);
    CHECK(w.cdf < 2e-12);
    CHECK(w.pdf < 1e-10);
    CHECK(w.slope < 1e-8);
}

}  // namespace

int main() {
    {  // the counts are exact at edges, linear inside a bin, and atoms stay atoms
        const empirical counts({0.0, 0.5, 1.0, 1.5, 2.0}, {0.1, 0.1, 0.4, 0.4, 0.9},
                               {none, none, none, 1.75});
        const density d(counts, 0.1, 0.1);
        CHECK(d.at(-infinity).cdf == 0.0 && d.at(-7.0).cdf == 0.1);
        CHECK(d.at(0.5).cdf == 0.1 && d.at(1.0).cdf == 0.4 && d.at(2.0).cdf == 0.9);
        CHECK(std::fabs(d.at(0.75).cdf - 0.25) < 1e-15);
        CHECK(std::fabs(d.at(0.75).pdf - 0.6) < 1e-15);
        CHECK(d.at(1.75).cdf == 0.4 && d.at(1.7500001).cdf == 0.9);
        CHECK(d.at(1.75).pdf == 0.0);
        CHECK(d.at(infinity).cdf == 0.9);
        CHECK(std::isnan(d.at(none).cdf));
        CHECK(d.quantile(0.05) == -infinity && d.quantile(0.1) == -infinity);
        CHECK(std::fabs(d.quantile(0.25) - 0.75) < 1e-15);
        CHECK(d.quantile(0.4) == 1.0 && d.quantile(0.41) == 1.75);
        CHECK(d.quantile(0.9) == 1.75 && d.quantile(0.95) == infinity);
        CHECK(std::isnan(d.quantile(1.5)));
        CHECK(density_table(d, 0.0, 2.0).at(0.75).cdf == d.at(0.75).cdf);
    }
    {  // bins may be of any width: tiny ones next to zero, one that covers a gap
        const empirical counts({-999.0, -998.5, 1e-9, 2e-9, 3.0},
                               {0.0, 0.25, 0.25, 0.75, 1.0},
                               {none, none, none, none});
        CHECK(counts.at(-998.75).cdf == 0.125 && counts.at(-998.75).pdf == 0.5);
        CHECK(counts.at(-500.0).cdf == 0.25 && counts.at(-500.0).pdf == 0.0);
        CHECK(std::fabs(counts.at(1.5e-9).cdf - 0.5) < 1e-12);
        CHECK(std::fabs(counts.at(1.5e-9).pdf - 5e8) < 1.0);
        CHECK(std::fabs(counts.quantile(0.5) - 1.5e-9) < 1e-20);
        CHECK(counts.quantile(0.25) == -998.5 && counts.quantile(1.0) == 3.0);
    }
    {  // mass at the infinities stays there under every kind
        const density d(normal_family{0.0, 1.0}, 0.2, 0.3);
        CHECK(d.at(-infinity).cdf == 0.0 && d.at(-50.0).cdf == 0.2);
        CHECK(std::fabs(d.at(0.0).cdf - 0.45) < 1e-15);
        CHECK(std::fabs(d.at(50.0).cdf - 0.7) < 1e-15);
        CHECK(d.at(infinity).cdf == 0.7);
        CHECK(d.quantile(0.1) == -infinity && d.quantile(0.8) == infinity);
        CHECK(std::fabs(d.quantile(0.45)) < 1e-12);
    }
    {  // tables agree with what they tabulate
        check_close({density(normal_family{1.0, 2.0}, 0.0, 0.0), -30.0, 30.0},
                    -35.0, 35.0, 2.0);
        for (const double df : {0.3, 1.0, 2.235, 30.0})
            check_close(
                {density(student_t_family{df, 1.0, 2.0}, 0.1, 0.0), -60.0, 60.0},
                -70.0, 70.0, 2.0);
        for (const double shape :
             {0.1, 0.5, 0.9, 1.0, 1.5, 2.0, 4.0, 6.9, 7.1, 30.0, 1e4})
            for (const bool mirrored : {false, true}) {
                const double sd = std::sqrt(shape), mid = mirrored ? -shape : shape;
                check_close(
                    {density(gamma_family{shape, 0.0, 1.0, mirrored}, 0.0, 0.2),
                     mid - 12 * sd, mid + 12 * sd},
                    mid - 13 * sd, mid + 13 * sd, std::min(1.0, sd));
            }
        check_close(
            {density(kde({0.0, 0.7, 5.0}, {0.2, 0.3, 0.5}, 0.25), 0.05, 0.05), 0.0,
             5.0},
            -4.0, 9.0, 0.25);
    }
    {  // pdf and slope are the derivatives of the tabulated cdf
        const density_table t(density(kde({0.0, 1.0}, {0.5, 0.5}, 0.5), 0.0, 0.0),
                              0.0, 1.0);
        for (int i = 0; i < 54; ++i) {
            const double x = -2.0 + 0.0937 * i;
            const double h = 1e-5;
            CHECK(std::fabs((t.at(x + h).cdf - t.at(x - h).cdf) / (2 * h) -
                            t.at(x).pdf) < 1e-8);
            CHECK(std::fabs((t.at(x + h).pdf - t.at(x - h).pdf) / (2 * h) -
                            t.at(x).slope) < 1e-7);
        }
    }
    {  // a tabulated cdf rises from 0 to 1, and quantile undoes it
        const density_table t(density(kde({0.0, 40.0}, {0.5, 0.5}, 0.5), 0.0, 0.0),
                              0.0, 40.0);
        double before = 0.0;
        for (int i = 0; i < 6000; ++i) {
            const double x = -10.0 + 0.01 * i;
            const double now = t.at(x).cdf;
            CHECK(now >= before - 1e-12 && now >= 0.0 && now <= 1.0);
            CHECK(t.at(x).pdf >= 0.0);
            before = now;
        }
        for (const double p : {1e-9, 0.1, 0.49, 0.51, 0.999})
            CHECK(std::fabs(t.at(t.quantile(p)).cdf - p) < 1e-14);
    }
    {  // a bandwidth too small for a table is summed directly
        const density_table t(density(kde({0.0, 1e6}, {0.5, 0.5}, 1e-3), 0.0, 0.0),
                              0.0, 1e6);
        CHECK(t.cells() == 0);
        CHECK(t.at(0.0).cdf == 0.25 && t.at(5e5).cdf == 0.5);
    }
}
