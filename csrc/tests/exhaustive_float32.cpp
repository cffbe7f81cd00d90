// exhaustive_float32.cpp - all 2^32 float32 values through every kernel; minutes, so not a quick test.
//
// For each kernel and window: the rows of every block land in the bins that the
// comparison `score >= edge` says. Values
// go by in ascending order, so that a block meets few bins and none can hide.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include "check.hpp"
#include "gstar/count/tally.hpp"

using namespace gstar;

namespace {

/// The float32 at place i when all of them, NaN aside, stand in ascending order.
float at_place(std::uint32_t i) {
    const std::uint32_t bits = (i & 0x80000000u) != 0 ? i & 0x7fffffffu : ~i;
    float x = 0;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

struct seen {
    std::uint64_t rows = 0;
    std::uint64_t beyond = 0;
    std::uint64_t nan = 0;
};

seen run(const window& at) {
    tally t(at, true);
    t.resize(1, false);
    std::vector<double> edges;
    for (std::uint32_t b = 0; b <= at.bins; ++b) edges.push_back(at.edge(b));
    const std::vector<std::uint32_t> cells(block_rows, 0);
    std::vector<std::int64_t> counts(at.bins, 0);
    seen out;
    std::size_t bin = 0;
    std::uint64_t below = 0;
    std::uint64_t above = 0;
    for (std::uint64_t start = 0; start < (std::uint64_t{1} << 32);
         start += block_rows) {
        float scores[block_rows];
        std::size_t n = 0;
        for (std::uint32_t i = 0; i < block_rows; ++i) {
            const float x = at_place(static_cast<std::uint32_t>(start) + i);
            scores[n++] = x;
            if (std::isnan(x)) {
                ++out.nan;
                continue;
            }
            const auto wide_x = static_cast<double>(x);
            if (!(wide_x >= edges[0])) {
                ++below;
                continue;
            }
            while (bin < at.bins && wide_x >= edges[bin + 1]) ++bin;
            if (bin == at.bins) {
                ++above;
                continue;
            }
            ++counts[bin];
            ++out.rows;
        }
        t.count(t.labelled, scores, cells.data(), n, true, 0);
        if (start % (std::uint64_t{1} << 24) != 0) continue;
        t.flush();
        for (std::uint32_t b = 0; b < at.bins; ++b)
            CHECK(t.labelled.count(0, b) == counts[b]);
    }
    t.flush();
    for (std::uint32_t b = 0; b < at.bins; ++b)
        CHECK(t.labelled.count(0, b) == counts[b]);
    CHECK(static_cast<std::uint64_t>(t.labelled.below(0)) == below);
    CHECK(static_cast<std::uint64_t>(t.labelled.above(0)) == above);
    CHECK(static_cast<std::uint64_t>(t.skipped) == out.nan);
    out.beyond = below + above;
    return out;
}

}  // namespace

int main() {
    const window windows[] = {
        {-7, -2048, 4096}, {-12, 0, 4096}, {90, -8, 16}, {-60, -500, 1024}};
    for (const kernel k : {kernel::generic, kernel::avx2, kernel::avx512}) {
        if (!use_kernel(k)) continue;
        for (const window& w : windows) {
            const seen s = run(w);
            CHECK(s.rows + s.beyond + s.nan == std::uint64_t{1} << 32);
            std::printf(
                "%-8s level %4d, %5u bins: %10llu in bins, %10llu beyond, %llu "
                "NaN: no disagreement\n",
                name_of(k), w.level, w.bins,
                static_cast<unsigned long long>(s.rows),
                static_cast<unsigned long long>(s.beyond),
                static_cast<unsigned long long>(s.nan));
            std::fflush(stdout);
        }
    }
}
