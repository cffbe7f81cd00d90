// bands_test.cpp - limits and gaps of rates that are only known to lie in a band,
// against trying everything.
#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

#include "check.hpp"
#include "gstar/solve/exact_limits.hpp"
#include "gstar/solve/frontier.hpp"
#include "random_problem.hpp"

using namespace gstar;

namespace {

/// Bands around the rates of a random search: of no width, narrow, or wide, and
/// each end falling with the threshold or not.
struct random_bands {
    random_problem plain;
    std::vector<double> low, high;
    std::vector<std::uint8_t> all;
    problem<std::int64_t> p;

    random_bands(std::mt19937& random, std::size_t groups, int most, bool limits)
        : plain(random, groups, most, limits, false),
          low(plain.rates),
          high(plain.rates),
          all(plain.has.size(), 1),
          p(plain.p) {
        const double widths[] = {0.0, 0.01, 0.1, 0.3};
        std::uniform_real_distribution<double> share(0.0, 1.0);
        const bool lows_fall = random() % 2 == 0, highs_fall = random() % 2 == 0;
        for (std::size_t r = 0; r < p.n_rates; ++r)
            for (std::size_t k = 0; k < groups; ++k) {
                const double below = widths[random() % 4],
                             above = widths[random() % 4];
                const std::size_t from = r * p.cost.size() + p.first(k),
                                  to = from + p.size(k);
                for (std::size_t i = from; i < to; ++i) {
                    low[i] = std::max(0.0, low[i] - below * share(random));
                    high[i] = std::min(1.0, high[i] + above * share(random));
                }
                if (r == 3) continue;  // accuracies do not fall
                for (std::size_t i = from + 1; lows_fall && i < to; ++i)
                    low[i] = std::min(low[i], low[i - 1]);
                for (std::size_t i = to - 1; highs_fall && i > from; --i)
                    high[i - 1] = std::max(high[i - 1], high[i]);
            }
        p.lows = {low.data(), low.size()};
        p.highs = {high.data(), high.size()};
        p.has = {all.data(), all.size()};
    }
    random_bands(const random_bands&) = delete;

    double width(std::size_t r, const std::vector<std::int64_t>& numbers,
                 double& least, double& most) const {
        least = 2.0;
        most = -1.0;
        for (std::size_t k = 0; k < numbers.size(); ++k) {
            const std::size_t i = r * p.cost.size() + p.first(k) +
                                  static_cast<std::size_t>(numbers[k]);
            least = std::min(least, low[i]);
            most = std::max(most, high[i]);
        }
        return most - least;
    }

    bool allows(const std::vector<std::int64_t>& numbers) const {
        for (std::size_t r = 0; r < p.n_rates; ++r) {
            double least, most;
            if (width(r, numbers, least, most) > p.limit[r]) return false;
            if (p.ratio[r] >= 0 && most > 0 && least / most < p.ratio[r])
                return false;
        }
        return true;
    }
};

using point =
    std::tuple<std::int64_t, double, std::int64_t, std::vector<std::int64_t>>;

}  // namespace

int main() {
    std::mt19937 random(23);
    const std::vector<std::uint8_t> swept{1, 1, 0, 0};
    int found = 0, forbidden = 0;
    for (int round = 0; round < 1200; ++round) {
        const random_bands q(random, 1 + random() % 3, 13, round % 4 > 0);
        CHECK(q.p.banded() && !q.plain.p.banded());
        std::vector<point> points;
        q.plain.each([&](const std::vector<std::int64_t>& numbers) {
            CHECK(q.allows(numbers) == allowed(q.p, numbers.data()));
            if (!q.allows(numbers)) return;
            double gap = 0.0, least, most;
            for (std::size_t r = 0; r < 2; ++r)
                gap = std::max(gap, q.width(r, numbers, least, most));
            points.emplace_back(q.plain.cost_of(numbers), gap,
                                q.plain.distance_of(numbers), numbers);
        });

        // the cheapest choice
        std::vector<std::int64_t> numbers(q.p.n_groups, -1);
        window_search<std::int64_t> search(q.p);
        const bool any = search.run(numbers.data(), 1000000);
        CHECK(any == !points.empty() && search.finished());
        ++(any ? found : forbidden);
        if (any) {
            const auto best = std::min_element(
                points.begin(), points.end(), [](const point& a, const point& b) {
                    return std::tie(std::get<0>(a), std::get<2>(a),
                                    std::get<3>(a)) <
                           std::tie(std::get<0>(b), std::get<2>(b), std::get<3>(b));
                });
            CHECK(numbers == std::get<3>(*best));
        }

        // every choice nobody dominates
        std::sort(points.begin(), points.end());
        std::vector<point> expected;
        for (const point& x : points)
            if (expected.empty() || std::get<1>(x) < std::get<1>(expected.back()))
                expected.push_back(x);
        std::reverse(expected.begin(), expected.end());
        const frontier_points<std::int64_t> stairs =
            q.p.n_groups == 2
                ? pair_frontier<std::int64_t>(q.p, swept.data()).run()
                : descend_frontier<std::int64_t>(q.p, swept.data(), 1000000);
        CHECK(stairs.gap.size() == expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            CHECK(stairs.cost[i] == std::get<0>(expected[i]) &&
                  stairs.gap[i] == std::get<1>(expected[i]));
            for (std::size_t k = 0; k < q.p.n_groups; ++k)
                CHECK(stairs.numbers[i * q.p.n_groups + k] ==
                      std::get<3>(expected[i])[k]);
        }
    }
    CHECK(found > 200 && forbidden > 50);
    return 0;
}
