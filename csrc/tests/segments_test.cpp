// segments_test.cpp - thresholds by segment: what trying everything finds, and bounds
// that hold.
#include <cmath>
#include <limits>
#include <random>
#include <tuple>
#include <vector>

#include "check.hpp"
#include "gstar/base/deadline.hpp"
#include "gstar/solve/segments/segments.hpp"

using namespace gstar;

namespace {

/// Two protected groups, a few segments, limits on tpr, fpr and sometimes a ratio of
/// selection rates.
struct random_segments {
    std::size_t m, n, bins;
    std::vector<std::int64_t> start{0}, begin{0}, slot, cost, distance, term{0},
        measure, kind, about, window;
    std::vector<double> values, totals, price, most, slope, hits, base, given,
        trials, limit, ratio, scale, share, right;
    double constant, unit;
    bool rising;
    double total = std::numeric_limits<double>::infinity();

    random_segments(std::mt19937& random, std::size_t segments, std::size_t many,
                    bool rises)
        : m(segments),
          n(segments * many),
          bins(many),
          totals(4, 0.0),
          rising(rises) {
        for (std::size_t j = 0; j < m; ++j) {
            for (std::size_t c = 0; c < 4; ++c) {
                std::vector<double> each(bins);
                double sum = 0;
                for (std::size_t i = bins; i-- > 0;)
                    each[i] = sum += static_cast<double>(random() % 5);
                values.insert(values.end(), each.begin(), each.end());
                slot.push_back(static_cast<std::int64_t>(c));
                totals[c] += sum;
            }
            begin.push_back(static_cast<std::int64_t>(slot.size()));
            start.push_back(start.back() + static_cast<std::int64_t>(bins));
        }
        most = totals;
        for (double& t : totals) t = std::max(t, 1.0);
        unit = totals[0] + totals[1] + totals[2] + totals[3];
        price = {1 / unit, -1 / unit, 1 / unit, -1 / unit};
        double positive = 0;
        for (std::size_t j = 0; j < m; ++j) {
            for (std::size_t i = 0; i < bins; ++i) {
                cost.push_back(static_cast<std::int64_t>(
                    at(0, j, i) + at(2, j, i) + at(1, j, 0) + at(3, j, 0) -
                    at(1, j, i) - at(3, j, i)));
                distance.push_back(std::abs(static_cast<std::int64_t>(i) -
                                            static_cast<std::int64_t>(bins / 2)));
            }
            positive += at(1, j, 0) + at(3, j, 0);
        }
        constant = positive / unit;
        // measures: tpr, fpr and selection rate, of two groups each
        for (std::size_t c = 0; c < 4; ++c) {
            const std::size_t a = c / 2, own = c % 2 == 1 ? a : 2 + a;
            for (const std::size_t q : {own, 4 + a}) {
                measure.push_back(static_cast<std::int64_t>(q));
                slope.push_back(1 / rows_of(q));
                hits.insert(hits.end(), {1.0, 0.0});
            }
            term.push_back(static_cast<std::int64_t>(measure.size()));
        }
        base.assign(6, 0.0);
        given.assign(12, 0.0);
        for (std::size_t q = 0; q < 6; ++q)
            trials.insert(trials.end(), {rows_of(q), 0.0});
        const double limits[] = {0.0, 0.05, 0.2};
        limit = {limits[random() % 3], limits[random() % 3], infinity};
        ratio = {-1, -1, random() % 2 ? 0.8 : 0.5};
    }
    random_segments(const random_segments&) = delete;
    random_segments& operator=(const random_segments&) = delete;

    /// Rows behind a measure.
    double rows_of(std::size_t q) const {
        const std::size_t a = q % 2;
        if (q < 2) return totals[2 * a + 1];
        return q < 4 ? totals[2 * a] : totals[2 * a] + totals[2 * a + 1];
    }
    double at(std::size_t c, std::size_t j, std::size_t i) const {
        return values[(4 * j + c) * bins + i];
    }

    void add(row_kind what, std::size_t q, std::int64_t w, double by, double to,
             double part = 0.0) {
        kind.push_back(static_cast<std::int64_t>(what));
        about.push_back(static_cast<std::int64_t>(q));
        window.push_back(w);
        scale.push_back(by);
        right.push_back(to);
        share.push_back(part);
    }

    /// The limits as rows.
    segment_problem problem() {
        for (std::vector<std::int64_t>* ints : {&kind, &about, &window})
            ints->clear();
        for (std::vector<double>* each : {&scale, &right, &share}) each->clear();
        for (std::size_t q = 0; q < 6; ++q) {
            const std::size_t r = q / 2;
            const auto w = static_cast<std::int64_t>(r);
            const bool summed = total < infinity && r < 2;
            add(row_kind::low, q, w, -1.0, 0.0);
            if (limit[r] < infinity && !(summed && limit[r] >= total))
                add(row_kind::high, q, w, 1.0, limit[r]);
            if (summed)
                add(row_kind::share, q, w, 1.0, r == 0 ? 0.0 : total,
                    r == 0 ? -1.0 : 1.0);
            if (ratio[r] > 0) add(row_kind::ratio, q, w, ratio[r], 0.0);
        }
        for (const auto& [q, low, high] : singles) {
            if (low > 0) add(row_kind::least, q, -1, -1.0, -low);
            if (high < 1) add(row_kind::most, q, -1, 1.0, high);
        }
        const auto view = [](const auto& v) {
            return span<const typename std::decay_t<decltype(v)>::value_type>{
                v.data(), v.size()};
        };
        return {m,
                4,
                6,
                view(start),
                view(begin),
                view(slot),
                view(values),
                view(cost),
                view(distance),
                view(price),
                view(most),
                constant,
                view(term),
                view(measure),
                view(slope),
                view(hits),
                view(base),
                view(given),
                view(trials),
                view(kind),
                view(about),
                view(window),
                view(scale),
                view(share),
                view(right),
                unit,
                rising};
    }
    std::vector<std::tuple<std::size_t, double, double>>
        singles;  ///< floors, ceilings

    bool allowed(const choice& numbers) const {
        double sum[4] = {0, 0, 0, 0};
        for (std::size_t j = 0; j < m; ++j)
            for (std::size_t c = 0; c < 4; ++c)
                sum[c] += at(c, j, static_cast<std::size_t>(numbers[j]));
        const double tpr[] = {sum[1] / totals[1], sum[3] / totals[3]},
                     fpr[] = {sum[0] / totals[0], sum[2] / totals[2]};
        const double of_tpr = std::abs(tpr[0] - tpr[1]),
                     of_fpr = std::abs(fpr[0] - fpr[1]);
        if (of_tpr > limit[0] || of_fpr > limit[1] || of_tpr + of_fpr > total)
            return false;
        for (const auto& [q, low, high] : singles) {
            const std::size_t a = q % 2;
            const double v = q < 2   ? tpr[a]
                             : q < 4 ? fpr[a]
                                     : (sum[2 * a] + sum[2 * a + 1]) / rows_of(q);
            if (v < low || v > high) return false;
        }
        const double one = (sum[0] + sum[1]) / rows_of(4),
                     two = (sum[2] + sum[3]) / rows_of(5);
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
            random_segments q(random, 1 + random() % 4, 3 + random() % 5,
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
    {  // pricing finds the choice of least value in a box, with whole numbers exactly
        for (int round = 0; round < 300; ++round) {
            const bool rises = round % 2 == 0;
            random_segments q(random, 1 + random() % 3, 3 + random() % 5, rises);
            const segment_problem p = q.problem();
            std::vector<double> weights, values(q.m);
            for (int c = 0; c < 4; ++c)
                weights.push_back(static_cast<double>(random() % 7) - 3);
            choice low, high, numbers(q.m);
            for (std::size_t j = 0; j < q.m; ++j) {
                low.push_back(static_cast<std::int64_t>(random() % q.bins));
                high.push_back(static_cast<std::int64_t>(random() % q.bins));
                if (low[j] > high[j]) std::swap(low[j], high[j]);
                // where choices rise, as the search narrows boxes
                if (rises && j > 0) low[j] = std::max(low[j], low[j - 1]);
                if (rises) high[j] = std::max(high[j], low[j]);
            }
            for (std::size_t j = q.m; rises && --j > 0;)
                high[j - 1] = std::min(high[j - 1], high[j]);
            pricing{p}(weights.data(), low, high, numbers, values);
            const auto value = [&](const choice& at) {
                double out = 0.0;
                for (std::size_t j = 0; j < q.m; ++j)
                    for (std::size_t c = 0; c < 4; ++c)
                        out += weights[c] *
                               q.at(c, j, static_cast<std::size_t>(at[j]));
                return out;
            };
            choice each = low;
            double least = infinity, told = 0.0;
            for (std::size_t j = 0; j < q.m;) {
                bool fine = true;
                for (std::size_t k = 1; k < q.m; ++k)
                    fine = fine && (!rises || each[k] >= each[k - 1]);
                if (fine) least = std::min(least, value(each));
                for (j = 0; j < q.m && ++each[j] > high[j]; ++j) each[j] = low[j];
            }
            for (std::size_t j = 0; j < q.m; ++j) {
                told += values[j];
                CHECK(low[j] <= numbers[j] && numbers[j] <= high[j]);
                CHECK(!rises || j == 0 || numbers[j] >= numbers[j - 1]);
            }
            CHECK(told == least);
            CHECK(value(numbers) == least);
        }
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
    {  // floors and ceilings of one rate of one group
        int found = 0;
        for (int round = 0; round < 600; ++round) {
            random_segments q(random, 1 + random() % 4, 3 + random() % 5,
                              round % 3 == 0);
            q.limit[0] = q.limit[1] = 0.2;
            q.singles.emplace_back(random() % 6, 0.25 * (round % 4), 1.0);
            q.singles.emplace_back(random() % 6, 0.0, 0.4 + 0.2 * (round % 5));
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
        CHECK(found > 200);
    }
    {  // a search that runs out of nodes says so, and its bound is below the optimum
        int stopped = 0;
        for (int round = 0; round < 300; ++round) {
            random_segments q(random, 4, 7, false);
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
            random_segments q(random, 4, 7, false);
            stopped +=
                !choose_segments(q.problem(), 100000, deadline(0.0)).finished;
        }
        CHECK(stopped > 2);
    }
    return 0;
}
