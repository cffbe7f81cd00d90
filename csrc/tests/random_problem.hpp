// random_problem.hpp - small searches with known answers: random ones, and trying
// everything.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gstar/solve/problem.hpp"

/// Arrays of a random search and the view the core reads. Ties, atoms and limits of
/// 0 are common.
struct random_problem {
    std::vector<std::int64_t> start{0}, cost, distance;
    std::vector<double> rates, limit, ratio, penalty;
    std::vector<std::uint8_t> has;
    gstar::problem<std::int64_t> p{};

    random_problem(std::mt19937& random, std::size_t groups, int most, bool limits,
                   bool penalties) {
        const auto whole = [&](int low, int high) {
            return std::uniform_int_distribution<int>(low, high)(random);
        };
        const std::size_t n_rates = 4;
        std::vector<std::vector<double>> by_rate(n_rates);
        double unit = 0;
        for (std::size_t k = 0; k < groups; ++k) {
            const int n0 = whole(1, 20), n1 = whole(1, 20), size = whole(2, most);
            int fp = n0, tp = n1;
            for (int i = 0; i < size; ++i) {
                cost.push_back(fp + n1 - tp);
                distance.push_back(std::abs(i - most / 3));
                by_rate[0].push_back(static_cast<double>(tp) / n1);
                by_rate[1].push_back(static_cast<double>(fp) / n0);
                by_rate[2].push_back(static_cast<double>(tp + fp) / (n0 + n1));
                by_rate[3].push_back(static_cast<double>(tp + n0 - fp) / (n0 + n1));
                fp -= whole(0, fp);
                tp -= whole(0, tp) / 2;
            }
            start.push_back(static_cast<std::int64_t>(cost.size()));
            unit += n0 + n1;
        }
        for (const auto& r : by_rate) rates.insert(rates.end(), r.begin(), r.end());
        const double none = std::numeric_limits<double>::infinity(),
                     choices[] = {0.0, 0.05, 0.2, 0.5, none};
        const double weights[] = {0.0, 0.01, 1.0, 1e3, 1e7};
        for (std::size_t r = 0; r < n_rates; ++r) {
            limit.push_back(limits ? choices[whole(0, 4)] + 1e-12 : none);
            ratio.push_back(limits && r == 2 && whole(0, 3) == 0 ? 0.8 - 1e-12
                                                                 : -1.0);
            penalty.push_back(penalties ? weights[whole(0, 4)] : 0.0);
            for (std::size_t k = 0; k < groups; ++k) has.push_back(whole(0, 9) > 0);
        }
        p = {groups,
             n_rates,
             {start.data(), start.size()},
             {cost.data(), cost.size()},
             {distance.data(), distance.size()},
             {rates.data(), rates.size()},
             {has.data(), has.size()},
             {limit.data(), limit.size()},
             {ratio.data(), ratio.size()},
             {penalty.data(), penalty.size()},
             unit,
             {rates.data(), rates.size()},
             {rates.data(), rates.size()}};
    }
    random_problem(const random_problem&) = delete;

    std::int64_t cost_of(const std::vector<std::int64_t>& numbers) const {
        std::int64_t sum = 0;
        for (std::size_t k = 0; k < numbers.size(); ++k)
            sum += cost[static_cast<std::size_t>(start[k] + numbers[k])];
        return sum;
    }
    std::int64_t distance_of(const std::vector<std::int64_t>& numbers) const {
        std::int64_t sum = 0;
        for (std::size_t k = 0; k < numbers.size(); ++k)
            sum += distance[static_cast<std::size_t>(start[k] + numbers[k])];
        return sum;
    }

    /// Call `visit` with every choice.
    template <class Visit>
    void each(Visit visit) const {
        std::vector<std::int64_t> numbers(p.n_groups, 0);
        for (;;) {
            visit(numbers);
            std::size_t k = p.n_groups;
            while (k > 0 && ++numbers[k - 1] == start[k] - start[k - 1])
                numbers[--k] = 0;
            if (k == 0) return;
        }
    }

    /// The best allowed choice by value, distance and lower numbers; empty if there
    /// is none.
    template <class Value>
    std::vector<std::int64_t> best(Value value) const {
        std::vector<std::int64_t> found;
        double least = 0.0;
        std::int64_t near = 0;
        each([&](const std::vector<std::int64_t>& numbers) {
            if (!gstar::allowed(p, numbers.data())) return;
            const double v = value(numbers);
            const std::int64_t d = distance_of(numbers);
            if (!found.empty() && (v > least || (v == least && d >= near))) return;
            found = numbers;
            least = v;
            near = d;
        });
        return found;
    }
};
