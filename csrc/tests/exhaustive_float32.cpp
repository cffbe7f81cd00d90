// exhaustive_float32.cpp - all 2^32 float32 values through every kernel; minutes, so not a quick test.
//
// For each kernel and window: every value is counted in the bin whose edges it lies
// between, at its distance from the lower one, or handed back. Values go by in
// ascending order, so that those of a bin stand in a row and it is known beforehand
// what a block adds to which words. With an argument n, only every nth block goes by.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "check.hpp"
#include "gstar/base/rows.hpp"
#include "gstar/count/kernels/count.hpp"
#include "gstar/count/window.hpp"

using namespace gstar;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::uint64_t all_places = std::uint64_t{1} << 32;

/// The float32 at place i when all of them stand in ascending order, NaN with a
/// sign first and others last.
float at_place(std::uint32_t i) {
    const std::uint32_t bits = (i & 0x80000000u) != 0 ? i & 0x7fffffffu : ~i;
    float x = 0;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

/// The place of the first float32 that is not below x.
std::uint64_t place_of(double x) {
    auto near = static_cast<float>(x);
    if (static_cast<double>(near) < x)
        near = std::nextafter(near, std::numeric_limits<float>::infinity());
    if (near == 0) return 0x7fffffffu;  // -0.0 comes before 0.0
    std::uint32_t bits = 0;
    std::memcpy(&bits, &near, sizeof bits);
    return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

/// Values from one place to another that go to one word, the first at this distance
/// from the lower edge, every other one unit further.
struct stretch {
    std::uint64_t from, to;  ///< `to` is the first that is not in it
    std::uint32_t bin;
    std::uint64_t offset, step;

    /// What rows of it, from place a to place b, add to the word.
    std::uint64_t sum(std::uint64_t a, std::uint64_t b) const {
        const std::uint64_t n = b - a;
        return n * word_one + n * (offset + step * (a - from)) +
               step * (n * (n - 1) / 2);
    }
};

/// A window with the scores that its cells have seen.
struct question {
    const char* name;
    window at;
    extent seen;
    double lo, hi;
};

count_grid grid_of(const question& q) {
    count_grid out;
    const grid& on = q.at.on();
    const double least = std::ldexp(1.0, on.least());
    out.per = on.per;
    out.lowest = on.least() + on.per;
    out.highest = on.level + on.per;
    out.least_above = std::max(least, q.seen.above.near);
    out.least_below = std::max(std::nextafter(least, infinity), q.seen.below.near);
    out.zero = q.seen.zero;
    out.shift_below = static_cast<std::int32_t>(q.at.shift_below());
    out.shift_zero = static_cast<std::int32_t>(q.at.shift_zero());
    out.shift_above = static_cast<std::int32_t>(q.at.shift_above());
    return out;
}

/// By the definition: what lies between two edges is in the bin between them.
std::vector<stretch> stretches_of(const question& q, double lo, double hi) {
    std::vector<stretch> out;
    const std::uint64_t first = place_of(lo);
    const std::uint64_t last = place_of(hi) + 1;
    for (std::uint32_t b = 0; b < q.at.bins(); ++b) {
        const std::int64_t k = q.at.number(b);
        if (q.at.is_gap(b)) continue;
        if (at_zero(k)) {
            if (k == 0 && q.seen.zero && lo <= 0 && hi >= 0)
                out.push_back({0x7fffffffu, 0x80000001u, b, 0, 0});
            continue;
        }
        const double lower = q.at.edge(b);
        double from = std::max(lower, lo);
        if (k > 0) from = std::max(from, q.seen.above.near);
        std::uint64_t to = std::min(place_of(q.at.on().lower(k + 1)), last);
        if (k < 0) to = std::min(to, place_of(-q.seen.below.near) + 1);
        const std::uint64_t start = std::max(place_of(from), first);
        if (start >= to) continue;
        const double x =
            static_cast<double>(at_place(static_cast<std::uint32_t>(start)));
        const double offset = std::ldexp(x - lower, -q.at.on().unit(k));
        CHECK(offset >= 0 && offset == std::floor(offset));
        out.push_back({start, to, b, static_cast<std::uint64_t>(offset), 1});
    }
    return out;
}

/// The values of some blocks through one kernel, by cells or by bytes.
class run {
public:
    /// Two cells; the second has seen less.
    run(const question& q, bool by_bytes)
        : by_bytes_(by_bytes),
          bins_(q.at.bins()),
          words_(2 * std::size_t{bins_} + 1, 0) {
        const double middle = (q.lo + q.hi) / 2;
        lo_ = {q.lo, by_bytes ? middle - (q.hi - q.lo) / 4 : q.lo};
        hi_ = {q.hi, by_bytes ? middle + (q.hi - q.lo) / 4 : q.hi};
        for (int c = 0; c < 2; ++c) {
            lo_near_.push_back(
                at_place(static_cast<std::uint32_t>(place_of(lo_[c]))));
            hi_near_.push_back(at_place(static_cast<std::uint32_t>(
                place_of(std::nextafter(hi_[c], infinity)) - 1)));
            hi_[c] = static_cast<double>(hi_near_[c]);
            stretches_[c] = stretches_of(q, lo_[c], hi_[c]);
        }
        static_cast<count_grid&>(to_) = grid_of(q);
        to_.words = words_.data();
        to_.lo = lo_.data();
        to_.hi = hi_.data();
        to_.lo_near = lo_near_.data();
        to_.hi_near = hi_near_.data();
        to_.cells = 2;
        to_.spare = 2 * bins_;
        to_.stride = bins_;
    }

    void block(std::uint64_t start, unsigned cell) {
        float scores[block_rows];
        special found[block_rows];
        for (std::uint32_t i = 0; i < block_rows; ++i)
            scores[i] = at_place(static_cast<std::uint32_t>(start) + i);
        const std::size_t n_found = count(scores, cell, found);
        check(start, cell, scores, found, n_found);
        in_bins += block_rows - n_found;
        handed_back += n_found;
    }

    /// No row went where none should.
    void finish() const {
        CHECK(std::all_of(words_.begin(), words_.end() - 1,
                          [](std::uint64_t word) { return word == 0; }));
    }

    std::uint64_t in_bins = 0;
    std::uint64_t handed_back = 0;

private:
    std::size_t count(const float* scores, unsigned cell, special* found) const {
        if (!by_bytes_) {
            const std::vector<std::uint32_t>& cells = cells_[cell];
            return count_rows(to_, scores, cells.data(), block_rows, found);
        }
        std::uint8_t slots[256];
        std::fill_n(slots, 256, std::uint8_t{255});
        slots[3] = 0;
        const byte_columns columns{labels_[cell].data(), groups_.data(), slots, 4};
        const progress done =
            count_bytes(to_, scores, columns, block_rows, found, block_rows);
        CHECK(done.rows == block_rows);
        return done.specials;
    }

    void check(std::uint64_t start, unsigned cell, const float* scores,
               const special* found, std::size_t n_found) {
        const std::uint64_t end = start + block_rows;
        const std::vector<stretch>& all = stretches_[cell];
        auto s =
            std::partition_point(all.begin(), all.end(),
                                 [&](const stretch& v) { return v.to <= start; });
        std::size_t next = 0;
        for (std::uint64_t at = start; at < end;) {
            const bool none = s == all.end() || s->from >= end;
            const std::uint64_t counted = none ? end : std::max(s->from, at);
            for (; at < counted; ++at, ++next) {
                const auto row = static_cast<std::uint32_t>(at - start);
                const double x = found[next].score;
                CHECK(next < n_found && found[next].row == row &&
                      found[next].cell == cell &&
                      (x == static_cast<double>(scores[row]) ||
                       (std::isnan(x) && std::isnan(scores[row]))));
            }
            if (none) break;
            const std::uint64_t to = std::min(s->to, end);
            std::uint64_t& word = words_[std::size_t{cell} * bins_ + s->bin];
            CHECK(word == s->sum(at, to));
            word = 0;
            at = to;
            ++s;
        }
        CHECK(next == n_found);
    }

    bool by_bytes_;
    std::uint32_t bins_;
    std::vector<std::uint64_t> words_;
    std::vector<double> lo_, hi_;
    std::vector<float> lo_near_, hi_near_;
    std::vector<stretch> stretches_[2];
    std::vector<std::uint32_t> cells_[2] = {
        std::vector<std::uint32_t>(block_rows, 0),
        std::vector<std::uint32_t>(block_rows, 1)};
    std::vector<std::uint8_t> labels_[2] = {
        std::vector<std::uint8_t>(block_rows, 0),
        std::vector<std::uint8_t>(block_rows, 1)};
    std::vector<std::uint8_t> groups_ = std::vector<std::uint8_t>(block_rows, 3);
    count_target to_{};
};

void all_values(const question& q, bool by_bytes, kernel k, std::uint64_t every) {
    std::atomic<std::uint64_t> in_bins{0};
    std::atomic<std::uint64_t> handed_back{0};
    const auto half = [&](std::uint64_t from) {
        run r(q, by_bytes);
        for (std::uint64_t i = from; i < all_places / block_rows; i += 2 * every)
            r.block(i * block_rows,
                    static_cast<unsigned>(i * 0x9E3779B97F4A7C15u >> 63));
        r.finish();
        in_bins += r.in_bins;
        handed_back += r.handed_back;
    };
    std::thread other(half, 1);
    half(0);
    other.join();
    std::printf("%-8s %-9s by %-5s: %10llu in bins, %10llu handed back\n",
                name_of(k), q.name, by_bytes ? "bytes" : "cells",
                static_cast<unsigned long long>(in_bins),
                static_cast<unsigned long long>(handed_back));
    std::fflush(stdout);
}

question nested(const char* name, const extent& seen) {
    return {name, window_of(seen, 4096), seen, seen.lo(), seen.hi()};
}

/// The window that `range=` gives: all its scores may be counted.
question fixed(const char* name, int level, std::int64_t first,
               std::uint32_t bins) {
    const window at = window::linear(level, first, bins);
    extent seen;
    seen.below = {1, 0};
    seen.above = {1, 0};
    seen.zero = at.holds(0);
    return {name, at, seen, at.edge(0), std::nextafter(at.edge(bins), at.edge(0))};
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t every =
        argc > 1 ? std::strtoull(argv[1], nullptr, 10) : std::uint64_t{1};
    extent one_sided;
    one_sided.above = {1.0, 0x1p-24};
    extent overlapping;
    overlapping.below = {5.75, 0x1.3p-20};
    overlapping.above = {5.25, 0x1.8p-22};
    overlapping.zero = true;
    extent apart;
    apart.below = {1234.5, 901.25};
    apart.above = {3.5, 0.0078125};
    apart.zero = true;
    const question questions[] = {
        nested("one side", one_sided), nested("overlap", overlapping),
        nested("gaps", apart), fixed("fixed", -7, -2048, 4096),
        fixed("far", -12, 4096 * 1000, 4096)};
    for (const kernel k : all_kernels) {
        if (!use_kernel(k)) continue;
        for (const question& q : questions)
            for (const bool by_bytes : {false, true})
                all_values(q, by_bytes, k, every);
    }
}
