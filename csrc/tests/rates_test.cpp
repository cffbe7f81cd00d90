// rates_test.cpp - a table of accepted rows is what counting row by row gives.
#include "gstar/solve/table.hpp"

#include <cstdlib>
#include <random>
#include <vector>

#include "check.hpp"

using namespace gstar;

int main() {
    std::mt19937 random(3);
    for (int round = 0; round < 500; ++round) {
        const std::size_t groups = 1 + random() % 4, candidates = 3 + random() % 20;
        std::vector<std::int64_t> rows(3 * groups * candidates);
        for (auto& n : rows)
            n = random() % 3 == 0 ? static_cast<std::int64_t>(random() % 5) : 0;
        const tabulation t =
            tabulate({rows.data(), rows.size()}, groups, candidates, 2, 3);

        // what a candidate accepts, the long way
        const auto accepted = [&](std::size_t label, std::size_t k, std::size_t c) {
            std::int64_t sum = 0;
            for (std::size_t b = c; b < candidates; ++b)
                sum += rows[(label * groups + k) * candidates + b];
            return sum;
        };
        const auto cost = [&](std::size_t k, std::size_t c) {
            return 2 * accepted(0, k, c) +
                   3 * (accepted(1, k, 0) - accepted(1, k, c));
        };
        std::int64_t least = -1;
        std::size_t unified = 0;
        for (std::size_t c = 0; c < candidates; ++c) {
            std::int64_t sum = 0;
            for (std::size_t k = 0; k < groups; ++k) sum += cost(k, c);
            if (least < 0 || sum < least) {
                least = sum;
                unified = c;
            }
        }
        CHECK(t.unified == static_cast<std::int64_t>(unified));
        const std::size_t n = t.candidate.size();
        for (std::size_t k = 0; k < groups; ++k) {
            for (std::size_t label = 0; label < 3; ++label) {
                CHECK(t.totals[label * groups + k] == accepted(label, k, 0));
                CHECK(t.at_unified[label * groups + k] ==
                      accepted(label, k, unified));
            }
            // every candidate has exactly one representative, none nearer to the
            // unified one
            for (std::size_t c = 0; c < candidates; ++c) {
                int alike = 0;
                for (auto i = static_cast<std::size_t>(t.start[k]);
                     i < static_cast<std::size_t>(t.start[k + 1]); ++i) {
                    bool same = true;
                    for (std::size_t label = 0; label < 3; ++label)
                        same = same &&
                               t.accepted[label * n + i] == accepted(label, k, c);
                    if (!same) continue;
                    ++alike;
                    CHECK(t.cost[i] == cost(k, c));
                    CHECK(std::abs(t.candidate[i] - t.unified) <=
                          std::abs(static_cast<std::int64_t>(c) - t.unified));
                }
                CHECK(alike == 1);
            }
        }
    }
    return 0;
}
