// sketch_stress.cpp - eight threads on one sketch, with merges and readers; run under TSan.
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "check.hpp"
#include "gstar/sketch_io.hpp"
#include "table.hpp"

using namespace gstar;

int main() {
    constexpr unsigned n_threads = 8;
    constexpr std::size_t n_rows = 1000000;
    const table<float> t = make_table<float>(n_rows, 6, 21);
    sketch s{sketch_options{}};
    sketch other{sketch_options{}};
    other.update(t.view(0, 1000));
    std::atomic<bool> done{false};
    std::thread reader([&] {
        while (!done) {
            // A copy read back must be whole: its rows are a number of batches.
            const std::vector<std::uint8_t> b = to_bytes(s);
            const auto twin = from_bytes({b.data(), b.size()}, 1 << 28);
            CHECK(twin->total() % 1000 == 0);
        }
    });
    std::vector<std::thread> writers;
    for (unsigned w = 0; w < n_threads; ++w)
        writers.emplace_back([&, w] {
            const std::size_t batch = w % 2 == 0 ? 1000 : 20000;
            for (std::size_t i = 0; i < n_rows; i += batch)
                s.update(t.view(i, i + batch), false, w % 3 == 0 ? 2 : 1);
            s.merge(other);
        });
    for (std::thread& w : writers) w.join();
    done = true;
    reader.join();
    CHECK(s.total() == n_threads * (n_rows + 1000));

    sketch one{sketch_options{}};
    for (unsigned w = 0; w < n_threads; ++w) {
        one.update(t.view());
        one.merge(other);
    }
    CHECK(to_bytes(s) == to_bytes(one));
}
