// row_cost.cpp - nanoseconds of one embedded decision, or of counting one row; run by bench_decide.py, also
// under callgrind, and by bench_sketch.py.
//
//     row_cost KIND N      KIND: number, text, live, count, nothing; prints nanoseconds a row
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "gstar/live.hpp"
#include "gstar/sketch.hpp"

namespace {

template <class Decide>
double run(std::size_t n, Decide decide) {
    const auto start = std::chrono::steady_clock::now();
    std::size_t accepted = 0;
    for (std::size_t i = 0; i < n; ++i) accepted += decide(i) ? 1 : 0;
    const auto end = std::chrono::steady_clock::now();
    if (accepted == n + 1) std::puts("never");  // keeps the loop
    return std::chrono::duration<double, std::nano>(end - start).count() /
           static_cast<double>(n);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const std::string kind = argv[1];
    const auto n = static_cast<std::size_t>(std::atof(argv[2]));
    gstar::thresholds t;
    std::vector<std::string> names;
    for (int g = 0; g < 8; ++g) {
        names.push_back("group " + std::to_string(g));
        const gstar::name name = kind == "text" ? gstar::name::of_text(names.back())
                                                : gstar::name::of(g);
        t.groups.push_back({name, 0.1 * g, {}});
    }
    std::vector<double> scores;
    for (int i = 0; i < 1024; ++i) scores.push_back((i * 37 % 1024) / 1024.0);
    const gstar::decider decider(t);
    gstar::live_decider live(t);
    double cost = 0;
    if (kind == "nothing")
        cost = run(n, [&](std::size_t i) { return scores[i & 1023] >= 0.5; });
    else if (kind == "number")
        cost = run(n, [&](std::size_t i) {
            return decider.one(scores[i & 1023], static_cast<std::int64_t>(i & 7));
        });
    else if (kind == "count") {
        gstar::sketch sketch{gstar::sketch_options{}};
        const gstar::name group = gstar::name::of(0);
        for (const double score : scores) sketch.update_one(score, 1, group);
        cost = run(n, [&](std::size_t) {
            sketch.update_one(0.25, 1, group);
            return true;
        });
    } else if (kind == "text")
        cost = run(n, [&](std::size_t i) {
            return decider.one(scores[i & 1023], std::string_view(names[i & 7]));
        });
    else
        cost = run(n, [&](std::size_t i) {
            const gstar::live_decider::reading now(live);
            return now->one(scores[i & 1023], static_cast<std::int64_t>(i & 7));
        });
    std::printf("%.3f\n", cost);
}
