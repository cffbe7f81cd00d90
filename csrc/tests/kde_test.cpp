// kde_test.cpp - the grid equals the sum, on every kernel.
#include "gstar/density/kde.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "check.hpp"
#include "gstar/base/simd/dispatch.hpp"

using namespace gstar;

namespace {

/// Numbers in [0, 1) that are the same everywhere.
struct random_numbers {
    std::uint64_t state = 1;
    double operator()() {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<double>(state >> 11) * 0x1p-53;
    }
};

kde some_kernels(std::size_t bins, double bandwidth) {
    random_numbers next;
    std::vector<double> points, weights;
    for (std::size_t b = 0; b < bins; ++b) {
        points.push_back((static_cast<double>(b) + next()) / 64.0 - 20.0);
        weights.push_back(next() + 0.01);
    }
    return kde(points, weights, bandwidth);
}

double worst_of_grid(const kde& kernels) {
    const jet_grid grid = kernels.on_grid();
    double worst = 0.0;
    for (std::size_t i = 0; i < grid.nodes; i += 3) {
        const jet fast = grid.node(i);
        const jet slow =
            kernels.at(grid.first + grid.step * static_cast<double>(i));
        const double s = grid.step;
        worst = std::max({worst, std::fabs(fast.cdf - slow.cdf),
                          std::fabs(fast.pdf - slow.pdf * s),
                          std::fabs(fast.slope - slow.slope * s * s),
                          std::fabs(fast.curvature - slow.curvature * s * s * s)});
    }
    return worst;
}

}  // namespace

int main() {
    {  // a single kernel is the normal distribution
        const kde one({2.0}, {1.0}, 0.5);
        for (const double x : {-1.0, 1.3, 2.0, 2.9, 6.0}) {
            const jet want = normal_family{2.0, 0.5}.at(x), got = one.at(x);
            CHECK(std::fabs(got.cdf - want.cdf) < 1e-15);
            CHECK(std::fabs(got.pdf - want.pdf) < 1e-15);
            CHECK(std::fabs(got.slope - want.slope) < 1e-14);
            CHECK(std::fabs(got.curvature - want.curvature) < 1e-13);
        }
        CHECK(one.at(-100.0).cdf == 0.0 && one.at(100.0).cdf == 1.0);
    }
    {  // the grid equals direct summation to 1e-12, wherever the points fall on it
        for (const double bandwidth : {0.01, 0.3, 2.0, 50.0})
            CHECK(worst_of_grid(some_kernels(500, bandwidth)) < 1e-12);
        for (int i = 0; i < 50; ++i)  // isolated kernels have no errors to average
            CHECK(worst_of_grid(kde({0.0, 10.0 + i / 50.0}, {0.3, 0.7}, 1.0)) <
                  1e-12);
    }
    {  // generic and AVX2 give the same bits
        const kde kernels = some_kernels(777, 0.4);
        const kernel before = active_kernel();
        use_kernel(kernel::generic);
        const jet_grid plain = kernels.on_grid();
        if (use_kernel(kernel::avx2))
            CHECK(kernels.on_grid().columns == plain.columns);
        use_kernel(before);
    }
    {  // quantile undoes the cdf
        const kde kernels = some_kernels(300, 0.2);
        for (const double p : {1e-6, 0.01, 0.37, 0.5, 0.99, 1.0 - 1e-9})
            CHECK(std::fabs(kernels.at(kernels.quantile(p)).cdf - p) < 1e-14);
        CHECK(kernels.quantile(0.0) == kernels.low());
        CHECK(kernels.quantile(1.0) == kernels.high());
    }
}
