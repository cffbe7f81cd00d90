// exact_test.cpp - every search finds what trying everything finds, ties included.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "gstar/base/deadline.hpp"
#include "gstar/solve/exact_limits.hpp"
#include "gstar/solve/exact_pair.hpp"
#include "gstar/solve/exact_targets.hpp"
#include "gstar/solve/neighbours.hpp"
#include "random_problem.hpp"

using namespace gstar;

int main() {
    std::mt19937 random(7);
    const std::vector<std::int64_t> nobody(4, -1);

    {  // limits: the cheapest allowed choice, or a finished search without one
        for (int round = 0; round < 3000; ++round) {
            const random_problem q(random, 1 + random() % 4, 8, true, false);
            std::vector<std::int64_t> numbers(q.p.n_groups, -1);
            window_search<std::int64_t> search(q.p);
            const bool found = search.run(numbers.data(), 1000000);
            const auto expected = q.best(
                [&](const auto& n) { return static_cast<double>(q.cost_of(n)); });
            CHECK(search.finished());
            CHECK(found == !expected.empty());
            if (found) CHECK(numbers == expected);
        }
    }
    {  // a search that runs out of boxes says so, and its bound is below the optimum
        int stopped = 0;
        for (int round = 0; round < 300; ++round) {
            const random_problem q(random, 3, 8, true, false);
            std::vector<std::int64_t> numbers(3, -1);
            window_search<std::int64_t> search(q.p);
            if (search.run(numbers.data(), 3) || search.finished()) continue;
            ++stopped;
            const auto expected = q.best(
                [&](const auto& n) { return static_cast<double>(q.cost_of(n)); });
            if (!expected.empty()) CHECK(search.bound() <= q.cost_of(expected));
        }
        CHECK(stopped > 10);
    }
    {  // penalties with limits, two groups by blocks, any number by targets
        for (int round = 0; round < 1500; ++round) {
            const random_problem q(random, 1 + random() % 3, 20, round % 2 == 0,
                                   true);
            const auto expected =
                q.best([&](const auto& n) { return loss_of(q.p, n.data()); });
            target_search<std::int64_t> targets(q.p);
            targets.run(nobody.data(), 100000);
            CHECK((targets.numbers()[0] < 0) == expected.empty());
            if (!expected.empty()) {
                CHECK(targets.numbers() == expected);
                CHECK(targets.loss() == loss_of(q.p, expected.data()));
                CHECK(targets.loss() - targets.bound() <=
                      1e-12 * (1 + targets.loss()));
            }
            if (q.p.n_groups != 2) continue;
            std::vector<std::int64_t> numbers(2, -1);
            double loss;
            pair_search<std::int64_t> pairs(q.p);
            CHECK(pairs.run(numbers.data(), loss) == !expected.empty());
            if (!expected.empty())
                CHECK(numbers == expected && loss == targets.loss());
            // nothing is below the best, and the best is below anything larger
            if (!expected.empty()) {
                CHECK(
                    !pairs.run_below(q.penalty.data(), loss, numbers.data(), loss));
                CHECK(pairs.run_below(q.penalty.data(), loss * 2 + 1,
                                      numbers.data(), loss));
                CHECK(numbers == expected);
            }
        }
    }
    {  // more choices than are tried one by one: a tree of nodes loses nothing, ties
        // included
        int split = 0;
        for (int round = 0; round < 60; ++round) {
            const random_problem q(random, 3, 90, round % 2 == 0, true);
            const auto expected =
                q.best([&](const auto& n) { return loss_of(q.p, n.data()); });
            target_search<std::int64_t> targets(q.p);
            targets.run(nobody.data(), 100000);
            split += targets.opened() > 0;
            CHECK((targets.numbers()[0] < 0) == expected.empty());
            if (!expected.empty()) CHECK(targets.numbers() == expected);
        }
        CHECK(split > 10);
    }
    {  // the loss of neighbours is that of the choice, but for rounding
        for (int round = 0; round < 300; ++round) {
            const random_problem q(random, 1 + random() % 5, 6, round % 2 == 0,
                                   true);
            neighbours<std::int64_t> near(q.p);
            std::vector<std::int64_t> numbers(q.p.n_groups, 0);
            for (std::size_t k = 0; k < q.p.n_groups; ++k) {
                near.leave_out(numbers.data(), k);
                for (std::size_t i = 0; i < q.p.size(k); ++i) {
                    numbers[k] = static_cast<std::int64_t>(i);
                    const double loss = near.loss(i),
                                 expected = loss_of(q.p, numbers.data());
                    CHECK((loss < std::numeric_limits<double>::infinity()) ==
                          allowed(q.p, numbers.data()));
                    if (allowed(q.p, numbers.data()))
                        CHECK(std::abs(loss - expected) <=
                              1e-13 * (expected + 1e-3));
                }
            }
        }
    }
    {  // a search out of time says so
        const random_problem q(random, 3, 90, false, true);
        target_search<std::int64_t> targets(q.p);
        const std::vector<std::int64_t> guess(3, 0);
        targets.run(guess.data(), 100000, deadline(0.0));
        CHECK(targets.opened() == 0 && targets.bound() <= targets.loss());
    }
    {  // a good guess changes nothing but the time
        for (int round = 0; round < 200; ++round) {
            const random_problem q(random, 3, 10, false, true);
            target_search<std::int64_t> without(q.p), with(q.p);
            without.run(nobody.data(), 100000);
            const std::vector<std::int64_t> guess(3, 0);
            with.run(guess.data(), 100000);
            CHECK(without.numbers() == with.numbers() &&
                  without.loss() == with.loss());
        }
    }
    return 0;
}
