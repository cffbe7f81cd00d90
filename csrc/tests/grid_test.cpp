// grid_test.cpp - the grid, against a second reading of docs/sketch_format.md.
#include "gstar/count/window.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"

using namespace gstar;

namespace {

// ---- the page, word for word, in long double (range and bits to spare) -------

using real = long double;
constexpr bool exact = std::numeric_limits<real>::digits >= 64;

int width_at(const grid& g, double x) {
    if (x == 0) return g.level - g.octaves;
    const int e = std::ilogb(x);
    return std::max(g.level - g.octaves, std::min(g.level, e - g.per));
}

std::int64_t number_of(const grid& g, double x) {
    const int w = width_at(g, x);
    const real a = std::ldexp(std::fabs(static_cast<real>(x)), -w);
    const std::int64_t before = std::int64_t{w - (g.level - g.octaves)} << g.per;
    if (x >= 0) return before + static_cast<std::int64_t>(std::floor(a));
    return -before - static_cast<std::int64_t>(std::ceil(a));
}

real edge_of(const grid& g, std::int64_t k) {
    const std::int64_t size = std::abs(k);
    const std::int64_t octave = std::max<std::int64_t>(
        0, std::min<std::int64_t>((size >> g.per) - 1, g.octaves));
    const real out = std::ldexp(static_cast<real>(size - (octave << g.per)),
                                g.level - g.octaves + static_cast<int>(octave));
    return k < 0 ? -out : out;
}

struct span_of_bins {
    std::int64_t first, last;
};

std::vector<span_of_bins> runs(const grid& g, const extent& of) {
    std::vector<span_of_bins> all;
    if (of.below.far > 0)
        all.push_back({number_of(g, -of.below.far), number_of(g, -of.below.near)});
    if (of.zero) all.push_back({0, 0});
    if (of.above.far > 0)
        all.push_back({number_of(g, of.above.near), number_of(g, of.above.far)});
    std::vector<span_of_bins> out;
    for (const span_of_bins& r : all) {
        if (!out.empty() && r.first <= out.back().last + 1)
            out.back().last = std::max(out.back().last, r.last);
        else
            out.push_back(r);
    }
    return out;
}

std::int64_t size_of(const std::vector<span_of_bins>& runs) {
    std::int64_t out = static_cast<std::int64_t>(runs.size()) - 1;
    for (const span_of_bins& r : runs) out += r.last - r.first + 1;
    return out;
}

bool fits(const extent& of, int level, std::uint32_t bins) {
    const double far = std::max(of.below.far, of.above.far);
    const real widths = std::floor(std::ldexp(static_cast<real>(far), -level));
    if (widths + bins > std::ldexp(1.0L, 53)) return false;
    const int most = std::max(std::ilogb(bins) - 6, 0);
    const int octaves = std::min(40, static_cast<int>(bins) / 4 + 1);
    const bool overlap =
        of.below.near <= of.above.far && of.above.near <= of.below.far;
    const int per = overlap ? std::max(most - 1, 0) : most;
    if (size_of(runs({level, per, octaves}, of)) > bins) return false;
    if (!overlap) return true;
    extent folded;
    folded.above = {far, std::min(of.below.near, of.above.near)};
    folded.zero = of.zero;
    return size_of(runs({level, most, octaves}, folded)) <=
           static_cast<std::int64_t>(bins) - 4;
}

// ---- random scores ----------------------------------------------------------

double any_score(std::mt19937_64& random, int spread = 2070, int middle = -1073) {
    const double size = std::ldexp(static_cast<double>(random() >> 11) + 1, -53);
    const int exponent =
        static_cast<int>(random() % static_cast<unsigned>(spread)) + middle;
    return (random() & 1) != 0 ? std::ldexp(size, exponent)
                               : -std::ldexp(size, exponent);
}

extent any_extent(std::mt19937_64& random) {
    extent out;
    const bool narrow = random() % 3 == 0;
    const bool one_side = random() % 3 == 0;
    const double centre = any_score(random);
    const std::uint64_t n = random() % 6;
    for (std::uint64_t i = 0; i <= n; ++i) {
        double x =
            narrow
                ? centre * (1 + std::ldexp(1.0, -static_cast<int>(random() % 60)))
                : any_score(random, random() % 2 != 0 ? 60 : 2070,
                            random() % 2 != 0 ? -40 : -1073);
        if (one_side) x = std::fabs(x);
        if (std::fabs(x) <= greatest_score()) out.add(x);
    }
    if (random() % 4 == 0) out.add(0.0);
    return out;
}

void check_window(const extent& of, std::uint32_t bins) {
    const window w = window_of(of, bins);
    const grid& g = w.on();
    const grid most = shape(bins);
    CHECK(g.octaves == most.octaves);
    if (of.empty()) {
        CHECK(g.level == 0 && g.per == most.per && w.number(0) == 0);
        return;
    }
    CHECK(g.per == (of.overlap() ? std::max(most.per - 1, 0) : most.per));
    CHECK(fits(of, g.level, bins));
    CHECK(g.level == least_level + g.octaves || !fits(of, g.level - 1, bins));
    const std::vector<span_of_bins> expected = runs(g, of);
    CHECK(w.n_runs() == expected.size());
    std::int64_t at = 0;
    for (std::uint32_t i = 0; i < w.n_runs(); ++i) {
        CHECK(w.start(i) == at);
        CHECK(w[i].first == expected[i].first && w[i].last == expected[i].last);
        for (const std::int64_t k : {w[i].first, w[i].last}) {
            const std::int64_t index = at + k - w[i].first;
            CHECK(w.holds(k) && w.index(k) == index && w.number(index) == k);
            CHECK(!w.is_gap(index));
            CHECK(k + (k < 0    ? w.shift_below()
                       : k == 0 ? w.shift_zero()
                                : w.shift_above()) ==
                  index);
        }
        at += w[i].last - w[i].first + 2;
        if (i + 1 < w.n_runs()) {
            CHECK(w.is_gap(at - 1) && w.number(at - 1) == w[i].last + 1);
            CHECK(!w.holds(w[i].last + 1));
        }
    }
    CHECK(w.size() == at - 1 && w.size() <= bins);
    CHECK(w.holds(w.last()) && w.index(w.last()) == bins - 1);
    CHECK(!w.holds(w.last() + 1));
}

}  // namespace

int main() {
    if (!exact) return 0;  // no second reading on this machine
    std::mt19937_64 random(3);
    const std::uint32_t some_bins[] = {16, 32, 64, 256, 4096, 65536};
    {  // bins and edges
        for (int i = 0; i < 100000; ++i) {
            grid g = shape(some_bins[random() % 6]);
            if (random() % 2 != 0) g.per = std::max(g.per - 2, 0);
            if (random() % 5 == 0) g.per = g.octaves = 0;
            double x = any_score(random, 1900, -950);
            const int near = std::ilogb(x) - static_cast<int>(random() % 50) + 4;
            g.level = std::max(near + static_cast<int>(random() % 30),
                               least_level + g.octaves);
            if (random() % 4 == 0) x = g.lower(g.number(x));
            if (random() % 8 == 0) x = std::nextafter(x, 0.0);
            const std::int64_t k = g.number(x);
            CHECK(k == number_of(g, x));
            CHECK(static_cast<real>(g.lower(k)) == edge_of(g, k));
            CHECK(edge_of(g, k) <= static_cast<real>(x));
            CHECK(static_cast<real>(x) < edge_of(g, k + 1));
            CHECK(edge_of(g, k) + std::ldexp(1.0L, g.width(k)) ==
                  edge_of(g, k + 1));
            if (at_zero(k)) continue;
            // Every bin lies in one octave: that of its edge nearer to zero.
            const real nearer = k > 0 ? edge_of(g, k) : -edge_of(g, k + 1);
            CHECK(std::ilogb(nearer) == std::ilogb(x) || g.lower(k) == x);
            CHECK(g.unit(k) == std::min(g.width(k), std::ilogb(nearer) - 23));
            // Coarser grids only join neighbours.
            grid coarser = g;
            coarser.level += static_cast<int>(random() % 9);
            if (coarser.octaves != 0)
                coarser.per = std::max(g.per - static_cast<int>(random() % 3), 0);
            const std::int64_t to = coarser.number(x);
            CHECK(coarser.number(g.lower(k)) == to);
            CHECK(edge_of(coarser, to) <= edge_of(g, k));
            CHECK(edge_of(g, k + 1) <= edge_of(coarser, to + 1));
        }
        CHECK((grid{0, 7, 20}.number(0.0)) == 0);
        CHECK((grid{300, 0, 0}.number(-5e-324)) == -1);
        CHECK((grid{300, 0, 0}.number(5e-324)) == 0);
        CHECK((grid{-1000, 0, 0}.number(1e300)) >= std::int64_t{1} << 62);
        CHECK((grid{-1000, 0, 0}.number(-1e300)) <= -(std::int64_t{1} << 62));
    }
    {  // the window holds its scores, and no finer one does
        for (int i = 0; i < 60000; ++i)
            check_window(any_extent(random), some_bins[random() % 6]);
        extent zero;
        zero.add(0.0);
        check_window(zero, 16);
        check_window({}, 4096);
    }
    {  // more scores never have a finer grid
        for (int i = 0; i < 60000; ++i) {
            const std::uint32_t bins = some_bins[random() % 6];
            const extent few = any_extent(random);
            extent more = any_extent(random);
            more.add(few);
            if (few.empty()) continue;
            const grid a = window_of(few, bins).on();
            const grid b = window_of(more, bins).on();
            CHECK(b.level >= a.level && b.per <= a.per);
        }
    }
    {  // extents
        extent of;
        CHECK(of.empty() && !of.overlap());
        of.add(2.0);
        of.add(3.0);
        CHECK(of.lo() == 2 && of.hi() == 3);
        of.add(-1.0);
        CHECK(!of.overlap() && of.lo() == -1);
        of.add(-2.5);
        CHECK(of.overlap() && of.below.far == 2.5 && of.below.near == 1);
        CHECK(of.folded().above.far == 3 && of.folded().above.near == 1);
        extent left;
        left.add(-4.0);
        left.add(0.0);
        CHECK(left.hi() == 0 && left.lo() == -4);
    }
    {  // the window of a range covers it, and no finer one does
        for (int i = 0; i < 20000; ++i) {
            double lo = any_score(random);
            double hi =
                (random() % 3) != 0 ? lo + std::fabs(lo) * 1e-3 : any_score(random);
            if (lo > hi) std::swap(lo, hi);
            if (lo == hi) continue;
            const window w = window_of_range(lo, hi, 256);
            CHECK(w.level() >= least_level);
            CHECK(w.edge(0) <= lo && hi <= w.edge(256));
            CHECK(bin_floor(lo, w.level()) == static_cast<double>(w.first()));
            CHECK(w.on().number(lo) == w.first());
            if (w.level() == least_level) continue;
            const double a = bin_floor(lo, w.level() - 1);
            const double b = -bin_floor(-hi, w.level() - 1);
            CHECK(b - a > 256 ||
                  std::fmax(std::fabs(a), std::fabs(b)) + 256 > greatest_edge);
        }
        const window w = window_of_range(1.0, std::nextafter(1.0, 2.0), 4096);
        for (int i = 0; i < 4096; ++i) CHECK(w.edge(i) < w.edge(i + 1));
    }
    {  // a range is widened outward, its top exclusive
        CHECK(window_of_range(0, 1, 4096) == window::linear(-12, 0, 4096));
        CHECK(window_of_range(-1, 1, 16) == window::linear(-3, -8, 16));
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
