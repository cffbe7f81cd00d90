// segments_test.cpp - thresholds by segment: what trying everything finds, and bounds
// that hold.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "gstar/base/deadline.hpp"
#include "gstar/solve/segments.hpp"

using namespace gstar;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Two protected groups, a few segments, limits on tpr, fpr and sometimes a ratio of
/// selection rates.
struct random_segments {
    std::size_t m, n;
    std::vector<std::int64_t> start{0}, cell, cost, distance, rate{0, 1, 2};
    std::vector<double> accepted, totals, price, slope, base, limit, ratio;
    std::vector<std::uint8_t> has{1, 1, 1, 1, 1, 1};
    double constant, unit;
    bool rising;
    double total = std::numeric_limits<double>::infinity();

    random_segments(std::mt19937& random, std::size_t segments, std::size_t bins,
                    bool rises)
        : m(segments),
          n(segments * bins),
          totals(6, 0.0),
          base(6, 0.0),
          rising(rises) {
        const std::vector<std::int64_t> cells{0, 1, 3, 4};
        cell = cells;
        accepted.assign(4 * n, 0.0);
        for (std::size_t c = 0; c < 4; ++c)
            for (std::size_t j = 0; j < m; ++j) {
                double sum = 0;
                for (std::size_t i = bins; i-- > 0;) {
                    sum += static_cast<double>(random() % 5);
                    accepted[c * n + j * bins + i] = sum;
                }
                totals[static_cast<std::size_t>(cells[c] % 3 * 2 + cells[c] / 3)] +=
                    sum;
            }
        for (double& t : totals) t = std::max(t, 1.0);
        const double rows = totals[0] + totals[1] + totals[2] + totals[3];
        unit = rows;
        for (std::size_t j = 0; j < m; ++j) {
            const std::size_t first = j * bins;
            for (std::size_t i = 0; i < bins; ++i) {
                cost.push_back(static_cast<std::int64_t>(
                    at(0, first + i) + at(2, first + i) + at(1, first) +
                    at(3, first) - at(1, first + i) - at(3, first + i)));
                distance.push_back(std::abs(static_cast<std::int64_t>(i) -
                                            static_cast<std::int64_t>(bins / 2)));
            }
            start.push_back(static_cast<std::int64_t>(cost.size()));
        }
        price = {1 / unit, -1 / unit, 1 / unit, -1 / unit};
        double positive = 0;
        for (std::size_t j = 0; j < m; ++j)
            positive += at(1, j * bins) + at(3, j * bins);
        constant = positive / unit;
        const double all[] = {totals[0] + totals[2] + totals[4],
                              totals[1] + totals[3] + totals[5]};
        slope = {0,
                 1 / totals[2],
                 0,
                 1 / totals[3],  // tpr
                 1 / totals[0],
                 0,
                 1 / totals[1],
                 0,  // fpr
                 1 / all[0],
                 1 / all[0],
                 1 / all[1],
                 1 / all[1]};  // selection
        const double limits[] = {0.0, 0.05, 0.2};
        limit = {limits[random() % 3], limits[random() % 3], infinity};
        ratio = {-1, -1, random() % 2 ? 0.8 : 0.5};
    }
    random_segments(const random_segments&) = delete;
    random_segments& operator=(const random_segments&) = delete;

    double at(std::size_t c, std::size_t i) const { return accepted[c * n + i]; }

    segment_problem problem() const {
        const auto view = [](const auto& v) {
            return span<const typename std::decay_t<decltype(v)>::value_type>{
                v.data(), v.size()};
        };
        return {m,
                4,
                2,
                3,
                view(start),
                view(accepted),
                view(cell),
                view(cost),
                view(distance),
                view(totals),
                view(price),
                constant,
                view(rate),
                view(slope),
                view(base),
                view(has),
                view(limit),
                view(ratio),
                unit,
                rising,
                total};
    }

    bool allowed(const choice& numbers) const {
        double sum[4] = {0, 0, 0, 0};
        for (std::size_t j = 0; j < m; ++j)
            for (std::size_t c = 0; c < 4; ++c)
                sum[c] += at(c, static_cast<std::size_t>(start[j] + numbers[j]));
        if (std::abs(sum[1] / totals[2] - sum[3] / totals[3]) > limit[0])
            return false;
        if (std::abs(sum[0] / totals[0] - sum[2] / totals[1]) > limit[1])
            return false;
        if (std::abs(sum[1] / totals[2] - sum[3] / totals[3]) +
                std::abs(sum[0] / totals[0] - sum[2] / totals[1]) >
            total)
            return false;
        const double one = (sum[0] + sum[1]) / (totals[0] + totals[2] + totals[4]),
                     two = (sum[2] + sum[3]) / (totals[1] + totals[3] + totals[5]);
        const double low = std::min(one, two), high = std::max(one, two);
        return high <= 0 || low / high >= ratio[2];
    }

    std::int64_t cost_of(const choice& numbers) const {
        std::int64_t out = 0;
        for (std::size_t j = 0; j < m; ++j)
            out += cost[static_cast<std::size_t>(start[j] + numbers[j])];
        return out;
    }

    /// The least cost of an allowed choice, -1 where there is none.
    std::int64_t least() const {
        choice numbers(m, 0);
        std::int64_t best = -1;
        for (;;) {
            bool fine = true;
            for (std::size_t j = 1; j < m; ++j)
                fine = fine && (!rising || numbers[j] >= numbers[j - 1]);
            if (fine && (best < 0 || cost_of(numbers) < best) && allowed(numbers))
                best = cost_of(numbers);
            std::size_t j = 0;
            while (j < m && ++numbers[j] == start[j + 1] - start[j])
                numbers[j++] = 0;
            if (j == m) return best;
        }
    }
};

}  // namespace

int main() {
    std::mt19937 random(5);
    {  // the cheapest allowed choice, or a finished search without one; mixtures bound it
        int found = 0, empty = 0;
        for (int round = 0; round < 1500; ++round) {
            const random_segments q(random, 1 + random() % 4, 3 + random() % 5,
                                    round % 3 == 0);
            const segment_problem p = q.problem();
            const std::int64_t expected = q.least();
            const segment_best best = choose_segments(p, 100000);
            CHECK(best.finished);
            CHECK((best.numbers[0] < 0) == (expected < 0));
            const segment_mixture mixture = mix_segments(p);
            if (expected < 0) {
                ++empty;
                continue;
            }
            ++found;
            CHECK(q.allowed(best.numbers));
            CHECK(q.cost_of(best.numbers) == expected);
            CHECK(mixture.found);
            CHECK(mixture.value <= static_cast<double>(expected) / q.unit + 1e-9);
            CHECK(mixture.bound <= mixture.value + 1e-12);
            CHECK(mixture.value - mixture.bound <= 1e-9);
        }
        CHECK(found > 1000);
        static_cast<void>(empty);
    }
    {  // a limit on the sum of two gaps
        int found = 0;
        for (int round = 0; round < 600; ++round) {
            random_segments q(random, 1 + random() % 4, 3 + random() % 5,
                              round % 3 == 0);
            if (round % 2 == 0) q.limit[0] = q.limit[1] = 2.0;
            q.total = round % 5 == 0 ? 1e-12 : 0.05 * (round % 5) + 1e-12;
            const segment_problem p = q.problem();
            const std::int64_t expected = q.least();
            const segment_best best = choose_segments(p, 100000);
            CHECK(best.finished);
            CHECK((best.numbers[0] < 0) == (expected < 0));
            if (expected < 0) continue;
            ++found;
            CHECK(q.allowed(best.numbers));
            CHECK(q.cost_of(best.numbers) == expected);
            const segment_mixture mixture = mix_segments(p);
            CHECK(mixture.found);
            CHECK(mixture.value <= static_cast<double>(expected) / q.unit + 1e-9);
            CHECK(mixture.value - mixture.bound <= 1e-9);
        }
        CHECK(found > 400);
    }
    {  // a search that runs out of nodes says so, and its bound is below the optimum
        int stopped = 0;
        for (int round = 0; round < 300; ++round) {
            const random_segments q(random, 4, 7, false);
            const segment_best best = choose_segments(q.problem(), 2);
            if (best.finished) continue;
            ++stopped;
            const std::int64_t expected = q.least();
            if (expected >= 0)
                CHECK(best.bound <= static_cast<double>(expected) / q.unit + 1e-12);
        }
        CHECK(stopped > 5);
    }
    {  // a search out of time says so
        int stopped = 0;
        for (int round = 0; round < 100; ++round) {
            const random_segments q(random, 4, 7, false);
            stopped +=
                !choose_segments(q.problem(), 100000, deadline(0.0)).finished;
        }
        CHECK(stopped > 2);
    }
    return 0;
}
