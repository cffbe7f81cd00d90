// frontier_test.cpp - every point nobody dominates, and no other.
#include "gstar/solve/frontier.hpp"

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

#include "check.hpp"
#include "random_problem.hpp"

using namespace gstar;

namespace {

using found_point =
    std::tuple<std::int64_t, double, std::int64_t, std::vector<std::int64_t>>;

std::vector<found_point> undominated(const random_problem& q,
                                     const std::vector<std::uint8_t>& swept) {
    std::vector<found_point> points;
    q.each([&](const std::vector<std::int64_t>& numbers) {
        if (!allowed(q.p, numbers.data())) return;
        double gap = 0.0;
        for (std::size_t r = 0; r < q.p.n_rates; ++r) {
            double low, high;
            extremes(q.p, r, numbers.data(), low, high);
            if (swept[r]) gap = std::max(gap, high - low);
        }
        points.emplace_back(q.cost_of(numbers), gap, q.distance_of(numbers),
                            numbers);
    });
    std::sort(points.begin(), points.end());
    std::vector<found_point> out;
    for (const auto& point : points)
        if (out.empty() || std::get<1>(point) < std::get<1>(out.back()))
            out.push_back(point);
    std::reverse(out.begin(), out.end());
    return out;
}

}  // namespace

int main() {
    std::mt19937 random(11);
    for (int round = 0; round < 1500; ++round) {
        const random_problem q(random, 1 + random() % 3, 15, round % 3 == 0, false);
        std::vector<std::uint8_t> swept(4);
        for (auto& s : swept) s = random() % 2;
        const auto expected = undominated(q, swept);
        const frontier_points<std::int64_t> found =
            q.p.n_groups == 2
                ? pair_frontier<std::int64_t>(q.p, swept.data()).run()
                : descend_frontier<std::int64_t>(q.p, swept.data(), 1000000);
        CHECK(found.gap.size() == expected.size());
        CHECK(found.proven_to == 0.0);
        for (std::size_t i = 0; i < expected.size(); ++i) {
            CHECK(found.cost[i] == std::get<0>(expected[i]) &&
                  found.gap[i] == std::get<1>(expected[i]));
            for (std::size_t k = 0; k < q.p.n_groups; ++k)
                CHECK(found.numbers[i * q.p.n_groups + k] ==
                      std::get<3>(expected[i])[k]);
        }
    }
    {  // a frontier cut short says down to which gap it is complete
        const random_problem q(random, 3, 15, false, false);
        const std::vector<std::uint8_t> swept{1, 1, 0, 0};
        const auto found = descend_frontier<std::int64_t>(q.p, swept.data(), 4);
        const auto expected = undominated(q, swept);
        if (found.gap.size() < expected.size()) {
            CHECK(found.proven_to > 0.0);
            for (std::size_t i = 0; i < found.gap.size(); ++i)
                CHECK(found.gap[found.gap.size() - 1 - i] ==
                      std::get<1>(expected[expected.size() - 1 - i]));
        }
    }
    return 0;
}
