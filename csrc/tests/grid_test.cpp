// grid_test.cpp - the dyadic grid.
#include "gstar/count/grid.hpp"

#include <cmath>
#include <limits>
#include <random>

#include "check.hpp"

using namespace gstar;

namespace {

double any_score(std::mt19937_64& random) {
    const double size = std::ldexp(static_cast<double>(random() >> 11) + 1, -53);
    const int exponent = static_cast<int>(random() % 2070) - 1073;
    return (random() & 1) != 0 ? std::ldexp(size, exponent)
                               : -std::ldexp(size, exponent);
}

}  // namespace

int main() {
    std::mt19937_64 random(3);
    {  // the window holds both ends, and no finer one does
        for (int i = 0; i < 20000; ++i) {
            double lo = any_score(random);
            double hi =
                (random() % 3) != 0 ? lo + std::fabs(lo) * 1e-3 : any_score(random);
            if (lo > hi) std::swap(lo, hi);
            const window w = window_of(lo, hi, 256);
            CHECK(w.level >= least_level);
            CHECK(w.edge(0) <= lo && hi < w.edge(256));
            CHECK(bin_floor(lo, w.level) == static_cast<double>(w.first));
            if (w.level == least_level) continue;
            const double a = bin_floor(lo, w.level - 1);
            const double b = bin_floor(hi, w.level - 1);
            CHECK(b - a >= 256 ||
                  std::fmax(std::fabs(a), std::fabs(b)) + 256 > greatest_edge);
        }
    }
    {  // a wider range never has a finer level
        for (int i = 0; i < 20000; ++i) {
            const double a = any_score(random);
            const double b = any_score(random);
            const double c = any_score(random);
            const int level = window_of(std::fmin(a, b), std::fmax(a, b), 16).level;
            const int wider = window_of(std::fmin(std::fmin(a, b), c),
                                        std::fmax(std::fmax(a, b), c), 16)
                                  .level;
            CHECK(wider >= level);
        }
    }
    {  // the edges of scores next to 2^53 units are all different
        const window w = window_of(1.0, 1.0, 4096);
        for (int i = 0; i < 4096; ++i) CHECK(w.edge(i) < w.edge(i + 1));
    }
    {  // scores next to zero
        CHECK(bin_floor(-5e-324, 300) == -1);
        CHECK(bin_floor(5e-324, 300) == 0);
        CHECK(bin_floor(-1.0, 0) == -1 && bin_floor(-1.5, 0) == -2);
        CHECK((window_of(0.0, 0.0, 16) == window{least_level, 0, 16}));
    }
    {  // a range is widened outward, its top exclusive
        CHECK((window_of_range(0, 1, 4096) == window{-12, 0, 4096}));
        CHECK((window_of_range(-1, 1, 16) == window{-3, -8, 16}));
        const window w = window_of_range(0, 0.9, 16);
        CHECK(w.edge(0) == 0 && w.edge(16) >= 0.9);
        CHECK(window_of_range(-1e-320, 1e300, 16).edge(0) < 0);
    }
    {  // round24 is the nearest 24-bit number, and float32 is left alone
        for (int i = 0; i < 20000; ++i) {
            const auto f = static_cast<float>(
                std::ldexp(static_cast<double>(random() >> 11), -40));
            CHECK(round24(static_cast<double>(f)) == static_cast<double>(f));
            const double x = std::ldexp(static_cast<double>(random() >> 11), -40);
            CHECK(round24(x) == static_cast<double>(static_cast<float>(x)));
            const rounded r = take_apart(round24(-x));
            CHECK(std::ldexp(r.mantissa, r.exponent) == round24(-x));
        }
        const rounded tiny = take_apart(round24(std::ldexp(1.0, -1045)));
        CHECK(std::ldexp(tiny.mantissa, tiny.exponent) == std::ldexp(1.0, -1045));
    }
}
