// kernels_test.cpp - block kernels count what the definition of the grid says, or hand it back.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "check.hpp"
#include "gstar/base/rows.hpp"
#include "gstar/count/kernels/count.hpp"
#include "gstar/count/window.hpp"

using namespace gstar;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A window whose cells have seen all of it, or each a part of it.
struct scene {
    window at;
    extent seen;
    std::vector<double> lo, hi;
    std::vector<float> lo_near, hi_near;
    std::vector<std::uint64_t> words;
    count_target to{};

    scene(const window& w, const extent& e, double from, double to_end,
          std::uint32_t cells, bool alike)
        : at(w),
          seen(e),
          words(std::size_t{cells} * stride_of(w.bins(), cells) + 1, 0) {
        for (std::uint32_t c = 0; c < cells; ++c) {
            const double cut = alike ? 0 : (to_end - from) * (c % 4) / 16;
            lo.push_back(c == 5 ? infinity : from + cut);  // nobody yet
            hi.push_back(c == 5 ? -infinity : to_end - cut);
            lo_near.push_back(
                inward(lo[c], std::numeric_limits<float>::infinity()));
            hi_near.push_back(
                inward(hi[c], -std::numeric_limits<float>::infinity()));
        }
        const grid& on = at.on();
        const double least = std::ldexp(1.0, on.least());
        to.per = on.per;
        to.lowest = on.least() + on.per;
        to.highest = on.level + on.per;
        to.least_above = std::max(least, seen.above.near);
        to.least_below = std::max(std::nextafter(least, infinity), seen.below.near);
        to.zero = seen.zero;
        to.shift_below = static_cast<std::int32_t>(at.shift_below());
        to.shift_zero = static_cast<std::int32_t>(at.shift_zero());
        to.shift_above = static_cast<std::int32_t>(at.shift_above());
        to.words = words.data();
        to.lo = lo.data();
        to.hi = hi.data();
        to.lo_near = lo_near.data();
        to.hi_near = hi_near.data();
        to.cells = cells;
        to.stride = stride_of(at.bins(), cells);
        to.spare = cells * to.stride;
    }

    static float inward(double x, float toward) {
        const auto near = static_cast<float>(x);
        const bool outside = toward > 0 ? static_cast<double>(near) < x
                                        : static_cast<double>(near) > x;
        return outside ? std::nextafter(near, toward) : near;
    }

    /// By the definition: the word that a score goes to and what it adds, if it is
    /// not to be handed back.
    template <class Float>
    bool expected(Float score, std::uint32_t cell,
                  std::vector<std::uint64_t>& out) const {
        const auto x = static_cast<double>(score);
        const std::int64_t k =
            x >= lo[cell] && x <= hi[cell] ? at.on().number(x) : 0;
        const bool near = x > 0   ? x < seen.above.near
                          : x < 0 ? -x < seen.below.near
                                  : !seen.zero;
        if (!(x >= lo[cell] && x <= hi[cell]) || near || (at_zero(k) && x != 0))
            return false;
        std::uint64_t& word = out[std::size_t{cell} * to.stride +
                                  static_cast<std::size_t>(at.index(k))];
        word += word_one;
        if (x != 0)
            word += static_cast<std::uint64_t>(
                std::ldexp(round24(x) - at.on().lower(k), -at.on().unit(k)));
        return true;
    }
};

/// Scores of every sort, many on edges and next to them.
template <class Float>
std::vector<Float> scores_for(const scene& s, std::size_t n,
                              std::mt19937_64& random) {
    using bits =
        std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
    std::normal_distribution<double> normal;
    const auto far = std::numeric_limits<Float>::infinity();
    std::vector<Float> out;
    while (out.size() < n) {
        const std::uint64_t r = random();
        auto x = static_cast<Float>(normal(random));
        const auto edge = static_cast<Float>(
            s.at.edge(static_cast<std::int64_t>(r >> 8) % s.at.bins()));
        switch (r % 8) {
            case 0:
                x = static_cast<Float>(
                    std::ldexp(normal(random), -static_cast<int>(r >> 8 & 127)));
                break;
            case 1: {
                const auto any = static_cast<bits>(random());
                std::memcpy(&x, &any, sizeof x);
                break;
            }
            case 2: x = (r >> 8) % 2 == 0 ? Float{0} : -Float{0}; break;
            case 3: x = edge; break;
            case 4: x = std::nextafter(edge, far); break;
            case 5: x = std::nextafter(edge, -far); break;
            case 6:
                x = static_cast<Float>(
                    std::ldexp((r >> 8) % 2 == 0 ? 1.0 : -1.0,
                               static_cast<int>(r >> 9) % 40 - 20));
                break;
            default: break;
        }
        out.push_back(x);
        // Halves between two numbers of 24 bits, and next to them.
        const double half =
            round24(static_cast<double>(x)) * (1 + std::ldexp(1.0, -24));
        if (sizeof(Float) == 8 && std::fabs(half) < 1e300)
            out.push_back(static_cast<Float>(
                (r >> 40) % 2 == 0 ? half : std::nextafter(half, 0.0)));
    }
    out.resize(n);
    return out;
}

template <class Float>
void check_all(scene& s, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const std::size_t n = 7 * 1024 + 23;
    const std::vector<Float> scores = scores_for<Float>(s, n, random);
    std::vector<std::uint8_t> labels(n), groups(n), slots(256, 255);
    std::vector<std::uint32_t> cells(n);
    const std::uint32_t n_groups = s.to.cells / 2;
    const std::uint32_t top = std::max(15u, n_groups + 1);  // the last group
    for (std::uint32_t g = 0; g < n_groups; ++g)
        slots[top - g] = static_cast<std::uint8_t>(2 * g);
    for (std::size_t i = 0; i < n; ++i) {
        labels[i] = static_cast<std::uint8_t>(random() % 2);
        groups[i] = static_cast<std::uint8_t>(top - random() % n_groups);
        cells[i] = std::uint32_t{slots[groups[i]]} + labels[i];
    }
    std::vector<std::uint64_t> expected(s.words.size(), 0);
    std::vector<std::uint32_t> back;
    for (std::size_t i = 0; i < n; ++i)
        if (!s.expected(scores[i], cells[i], expected))
            back.push_back(static_cast<std::uint32_t>(i));
    const auto check_words = [&](std::size_t rows,
                                 const std::vector<special>& found) {
        s.words.back() = 0;
        if (rows == n) CHECK(s.words == expected);
        std::size_t wanted = 0;
        while (wanted < back.size() && back[wanted] < rows) ++wanted;
        CHECK(found.size() == wanted);
        for (std::size_t i = 0; i < std::min(wanted, found.size()); ++i) {
            const auto x = static_cast<double>(scores[back[i]]);
            CHECK(found[i].row == back[i] && found[i].cell == cells[back[i]]);
            CHECK(found[i].score == x ||
                  (std::isnan(x) && std::isnan(found[i].score)));
        }
    };
    for (const kernel k : all_kernels) {
        if (!use_kernel(k)) continue;
        {  // cells that are known
            std::fill(s.words.begin(), s.words.end(), 0);
            std::vector<special> found(n);
            found.resize(
                count_rows(s.to, scores.data(), cells.data(), n, found.data()));
            check_words(n, found);
        }
        {  // cells from bytes; room for specials ends before the rows do
            std::fill(s.words.begin(), s.words.end(), 0);
            std::vector<special> all;
            std::size_t at = 0;
            while (n - at >= byte_rows) {
                std::vector<special> found(byte_rows);
                const byte_columns columns{labels.data() + at, groups.data() + at,
                                           slots.data(), top + 1};
                const progress done = count_bytes(s.to, scores.data() + at, columns,
                                                  n - at, found.data(), byte_rows);
                CHECK(done.rows != 0 && done.specials <= byte_rows);
                if (done.rows == 0) break;
                for (std::size_t i = 0; i < done.specials; ++i) {
                    all.push_back(found[i]);
                    all.back().row += static_cast<std::uint32_t>(at);
                }
                at += done.rows;
            }
            std::vector<special> found(byte_rows);
            found.resize(count_rows(s.to, scores.data() + at, cells.data() + at,
                                    n - at, found.data()));
            for (special& f : found) {
                f.row += static_cast<std::uint32_t>(at);
                all.push_back(f);
            }
            check_words(n, all);
        }
        for (const int kind : {0, 1, 2}) {  // 64 rows with one that is odd stay
            std::fill(s.words.begin(), s.words.end(), 0);
            const std::size_t odd = 300 + random() % 64;
            std::vector<std::uint8_t> l = labels;
            std::vector<std::uint8_t> g = groups;
            if (kind == 0) l[odd] = 2;
            if (kind == 1) g[odd] = static_cast<std::uint8_t>(top + 16);
            if (kind == 2) g[odd] = static_cast<std::uint8_t>(top - n_groups);
            if (kind == 2 && n_groups == 16) continue;
            std::vector<special> found(n);
            const progress done = count_bytes(
                s.to, scores.data(), {l.data(), g.data(), slots.data(), top + 1}, n,
                found.data(), n);
            CHECK(done.rows == odd / byte_rows * byte_rows);
            found.resize(done.specials);
            check_words(done.rows, found);
            std::vector<std::uint64_t> some(s.words.size(), 0);
            for (std::size_t i = 0; i < done.rows; ++i)
                s.expected(scores[i], cells[i], some);
            CHECK(s.words == some);
        }
    }
}

void check_window(const window& at, const extent& seen, double lo, double hi) {
    std::uint64_t seed = 1;
    for (const std::uint32_t groups : {1u, 2u, 3u, 4u, 8u, 16u, 33u, 127u})
        for (const bool alike : {true, false}) {
            scene s(at, seen, lo, hi, 2 * groups, alike);
            check_all<float>(s, ++seed);
            check_all<double>(s, ++seed);
        }
}

void check_nested(const sizes& below, const sizes& above, bool zero,
                  std::uint32_t bins) {
    extent seen;
    seen.below = below;
    seen.above = above;
    seen.zero = zero;
    check_window(window_of(seen, bins), seen, seen.lo(), seen.hi());
}

void check_fixed(int level, std::int64_t first, std::uint32_t bins) {
    const window at = window::linear(level, first, bins);
    extent seen;
    seen.below = {1, 0};
    seen.above = {1, 0};
    seen.zero = at.holds(0);
    check_window(at, seen, at.edge(0), std::nextafter(at.edge(bins), at.edge(0)));
}

}  // namespace

int main() {
    check_nested({}, {1.0, 0x1p-24}, false, 4096);
    check_nested({}, {1.0, 0x1p-9}, true, 4096);
    check_nested({5.75, 1e-6}, {5.25, 3e-7}, true, 4096);
    check_nested({5.75, 1.5}, {3.25, 0.75}, false, 1024);
    check_nested({1234.5, 901.25}, {3.5, 0.0078125}, true, 4096);
    check_nested({4.0, 0x1p-12}, {}, true, 256);
    check_nested({2.0, 0.25}, {4.0, 0.5}, true, 16);
    check_nested({}, {0x1p-110, 0x1p-124}, true, 4096);
    check_fixed(-7, -2048, 4096);
    check_fixed(-12, 0, 4096);
    check_fixed(-12, 4096 * 1000, 4096);
    check_fixed(-2, -8, 16);
}
