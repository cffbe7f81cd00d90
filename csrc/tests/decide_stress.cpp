// decide_stress.cpp - eight readers of one live decider, swapped all the time; run under TSan.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#include "check.hpp"
#include "gstar/live.hpp"

using namespace gstar;

namespace {

/// Version v accepts scores from v on, in every group: a mixed batch would show.
thresholds at(double threshold) {
    thresholds t;
    for (int g = 0; g < 8; ++g) t.groups.push_back({name::of(g), threshold, {}});
    return t;
}

}  // namespace

int main(int argc, char** argv) {
    const double decisions = argc > 1 ? std::atof(argv[1]) : 4e6;
    constexpr unsigned n_readers = 8;
    constexpr std::size_t batch = 4000;
    std::vector<float> scores;
    std::vector<std::uint8_t> groups;
    for (std::size_t i = 0; i < batch; ++i) {
        scores.push_back(static_cast<float>(i));
        groups.push_back(static_cast<std::uint8_t>(i % 8));
    }
    rows r;
    r.n = batch;
    r.scores = {reinterpret_cast<const char*>(scores.data()), 4, dtype::f32};
    r.groups = {reinterpret_cast<const char*>(groups.data()), 1, dtype::u8};
    live_decider live(at(1));
    std::atomic<bool> done{false};
    std::atomic<std::uint64_t> published{1};
    std::thread swapper([&] {
        while (!done) {
            const std::uint64_t next = published + 1;
            CHECK(live.swap(at(static_cast<double>(next))) == next);
            published = next;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    });
    const auto rounds = static_cast<std::size_t>(
        decisions / (n_readers * static_cast<double>(batch)));
    std::vector<std::thread> readers;
    for (unsigned k = 0; k < n_readers; ++k)
        readers.emplace_back([&] {
            std::vector<std::uint8_t> out(batch);
            for (std::size_t round = 0; round < rounds; ++round) {
                const std::uint64_t before = published;
                const live_decider::reading now(live);
                CHECK(now.version() >= before);  // not stale
                now->many(r, out.data());
                for (std::size_t i = 0; i < batch; ++i)
                    CHECK(out[i] ==
                          (i >= now.version() ? 1 : 0));  // not torn, not mixed
                CHECK(now->one(static_cast<double>(now.version()), 3));
            }
        });
    for (std::thread& t : readers) t.join();
    done = true;
    swapper.join();
    CHECK(published > 1);
}
