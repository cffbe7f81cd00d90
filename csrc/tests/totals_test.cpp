// totals_test.cpp - a limit on the sum of two gaps: every search finds what trying
// everything finds, ties included.
#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

#include "check.hpp"
#include "gstar/solve/exact_limits.hpp"
#include "gstar/solve/exact_pair.hpp"
#include "gstar/solve/exact_targets.hpp"
#include "gstar/solve/frontier.hpp"
#include "random_problem.hpp"

using namespace gstar;

int main() {
    std::mt19937 random(13);
    const std::vector<std::int64_t> nobody(4, -1);
    const double totals[] = {0.0, 0.03, 0.1, 0.4, 1.0};
    {  // limits: the cheapest allowed choice, or a finished search without one
        int kept = 0;
        for (int round = 0; round < 1500; ++round) {
            random_problem q(random, 1 + random() % 4, 8, round % 2 == 0, false);
            q.p.total = totals[random() % 5] + 1e-12;
            std::vector<std::int64_t> numbers(q.p.n_groups, -1);
            window_search<std::int64_t> search(q.p);
            const bool found = search.run(numbers.data(), 1000000);
            const auto expected = q.best(
                [&](const auto& n) { return static_cast<double>(q.cost_of(n)); });
            CHECK(search.finished());
            CHECK(found == !expected.empty());
            if (found) CHECK(numbers == expected);
            kept += found;
        }
        CHECK(kept > 500);
    }
    {  // the two limits of a cut shut the choice out, and no choice that keeps the sum
        for (int round = 0; round < 300; ++round) {
            random_problem q(random, 3, 6, false, false);
            const double total = totals[random() % 5] + 1e-12;
            std::vector<std::vector<double>> gaps;
            q.each([&](const std::vector<std::int64_t>& n) {
                double gap[2];
                both_gaps(q.p, n.data(), gap);
                gaps.push_back({gap[0], gap[1]});
            });
            const std::vector<std::int64_t> first(3, 0);
            std::vector<std::int64_t> broken = first;
            for (std::size_t k = 0; k < 3; ++k)
                broken[k] = static_cast<std::int64_t>(random() % q.p.size(k));
            const std::vector<double> any(q.p.n_rates, infinity),
                none(q.p.n_rates, -1.0);
            problem<std::int64_t> p = q.p;
            p.ratio = none;
            p.total = total;
            const box_cut cut = find_cut(p, any.data(), broken.data());
            double gap[2];
            both_gaps(q.p, broken.data(), gap);
            CHECK(cut.of_total == !(gap[0] + gap[1] <= total));
            if (!cut.of_total) continue;
            CHECK(cut.half[0] < gap[0] && cut.half[1] < gap[1]);
            for (const auto& g : gaps)
                CHECK(!(g[0] + g[1] <= total) || g[0] <= cut.half[0] ||
                      g[1] <= cut.half[1]);
        }
    }
    {  // penalties, two groups by blocks, any number by targets
        for (int round = 0; round < 600; ++round) {
            random_problem q(random, 1 + random() % 3, 20, round % 2 == 0, true);
            q.p.total = totals[random() % 5] + 1e-12;
            const auto expected =
                q.best([&](const auto& n) { return loss_of(q.p, n.data()); });
            target_search<std::int64_t> targets(q.p);
            targets.run(nobody.data(), 100000);
            CHECK((targets.numbers()[0] < 0) == expected.empty());
            if (!expected.empty()) CHECK(targets.numbers() == expected);
            if (q.p.n_groups != 2) continue;
            std::vector<std::int64_t> numbers(2, -1);
            double loss;
            pair_search<std::int64_t> pairs(q.p);
            CHECK(pairs.run(numbers.data(), loss) == !expected.empty());
            if (!expected.empty()) CHECK(numbers == expected);
        }
        for (int round = 0; round < 20;
             ++round) {  // more than are tried one by one
            random_problem q(random, 3, 90, round % 2 == 0, true);
            q.p.total = totals[random() % 5] + 1e-12;
            const auto expected =
                q.best([&](const auto& n) { return loss_of(q.p, n.data()); });
            target_search<std::int64_t> targets(q.p);
            targets.run(nobody.data(), 100000);
            CHECK((targets.numbers()[0] < 0) == expected.empty());
            if (!expected.empty()) CHECK(targets.numbers() == expected);
        }
    }
    {  // the frontier of the sum
        using point = std::tuple<std::int64_t, double, std::int64_t,
                                 std::vector<std::int64_t>>;
        const std::vector<std::uint8_t> swept{1, 1, 0, 0};
        for (int round = 0; round < 500; ++round) {
            random_problem q(random, 1 + random() % 3, 12, round % 3 == 0, false);
            if (round % 4 == 0) q.p.total = 0.4;
            std::vector<point> points, expected;
            q.each([&](const std::vector<std::int64_t>& n) {
                if (!allowed(q.p, n.data())) return;
                double gap[2];
                both_gaps(q.p, n.data(), gap);
                points.emplace_back(q.cost_of(n), gap[0] + gap[1], q.distance_of(n),
                                    n);
            });
            std::sort(points.begin(), points.end());
            for (const auto& one : points)
                if (expected.empty() ||
                    std::get<1>(one) < std::get<1>(expected.back()))
                    expected.push_back(one);
            std::reverse(expected.begin(), expected.end());
            const auto found =
                q.p.n_groups == 2
                    ? pair_frontier<std::int64_t>(q.p, swept.data(), true).run()
                    : descend_frontier<std::int64_t>(q.p, swept.data(), 1000000,
                                                     true);
            CHECK(found.gap.size() == expected.size());
            CHECK(found.proven_to == 0.0);
            for (std::size_t i = 0; i < expected.size(); ++i) {
                CHECK(found.cost[i] == std::get<0>(expected[i]));
                CHECK(found.gap[i] == std::get<1>(expected[i]));
                for (std::size_t k = 0; k < q.p.n_groups; ++k)
                    CHECK(found.numbers[i * q.p.n_groups + k] ==
                          std::get<3>(expected[i])[k]);
            }
        }
    }
    return 0;
}
