// tally_test.cpp - what a sketch holds after any history, against its rows.
//
// The second reading keeps every row and adds scores up in one unit, 2^-1097, in
// which all of them are whole: no offsets, no units of bins, nothing to move.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "check.hpp"
#include "gstar/count/readout.hpp"
#include "gstar/sketch.hpp"

using namespace gstar;

namespace {

using total = wide<40>;
constexpr int unit = 1097;

struct row {
    double score;
    unsigned label;  ///< 2: none
    std::int64_t group;
    double weight;
    std::int64_t repeats;
};

struct bin_of_rows {
    std::int64_t n = 0;
    total scores;
    wide<4> squares;
};

struct cell_of_rows {
    std::map<std::int64_t, bin_of_rows> bins;
    double lo = std::numeric_limits<double>::infinity();
    double hi = -std::numeric_limits<double>::infinity();
    std::int64_t below = 0, above = 0;
    std::int64_t total = 0, rows = 0;
    wide<4> squares, below_squares, above_squares;
};

// ---- rows -------------------------------------------------------------------

double scaled(std::mt19937_64& random, int low, int high) {
    const int e =
        low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
    return std::ldexp(static_cast<double>(random() >> 11) + 1, e - 53);
}

double score_of(std::mt19937_64& random, int how) {
    const double u = std::ldexp(static_cast<double>(random() >> 11), -53);
    const bool minus = random() % 2 != 0;
    switch (how % 10) {
        case 0: return u;
        case 1: return static_cast<double>(static_cast<float>(u * 8 - 4));
        case 2: return (minus ? -1 : 1) * scaled(random, -40, 10);
        case 3: return static_cast<double>(random() % 7) - 3;
        case 4: return 1e6 + u;       // far from zero, narrow
        case 5: return 1 + u * 1e-9;  // beyond what words hold
        case 6: return (minus ? -1 : 1) * scaled(random, -1080, -1000);
        case 7: return random() % 3 == 0 ? 0.0 : scaled(random, -1073, 999);
        case 8: return -scaled(random, -3, 1) - 2;
        default: return random() % 50 == 0 ? 99999 : u * u * u;
    }
}

std::vector<row> rows_of(std::mt19937_64& random, std::size_t n, int how,
                         bool weights) {
    std::vector<row> out;
    const unsigned labels = random() % 3 == 0 ? 3 : 2;  // 2: all rows have one
    for (std::size_t i = 0; i < n; ++i) {
        row r{score_of(random, how), static_cast<unsigned>(random() % labels),
              static_cast<std::int64_t>(random() % 3), 1, 1};
        if (random() % 97 == 0)
            r.score = (random() % 2 != 0 ? -1 : 1) *
                      std::numeric_limits<double>::infinity();
        if (random() % 31 == 0) r.score = -0.0;
        if (weights) {
            r.weight = random() % 3 == 0
                           ? static_cast<double>(random() % 5)
                           : std::ldexp(static_cast<double>(random() % 999), -7);
            r.repeats = static_cast<std::int64_t>(random() % 4);
        }
        out.push_back(r);
    }
    return out;
}

/// Columns of some rows; owns what it points to.
struct columns {
    std::vector<double> scores, weights;
    std::vector<float> floats;
    std::vector<std::int64_t> labels, groups, repeats;
    std::vector<std::uint8_t> byte_labels, byte_groups;
    rows view;

    columns(const std::vector<row>& from, bool weighted, bool bytes) {
        bool all_floats = true;
        for (const row& r : from) {
            scores.push_back(r.score);
            floats.push_back(std::fabs(r.score) < 1e30 || std::isinf(r.score)
                                 ? static_cast<float>(r.score)
                                 : 0.0F);
            all_floats =
                all_floats && static_cast<double>(floats.back()) == r.score;
            labels.push_back(r.label);
            groups.push_back(r.group);
            byte_labels.push_back(static_cast<std::uint8_t>(r.label));
            byte_groups.push_back(static_cast<std::uint8_t>(r.group));
            weights.push_back(r.weight);
            repeats.push_back(r.repeats);
        }
        view.n = from.size();
        view.two_is_unlabelled = true;
        view.scores = column_of(scores, dtype::f64);
        if (all_floats) view.scores = column_of(floats, dtype::f32);
        view.labels = bytes ? column_of(byte_labels, dtype::u8)
                            : column_of(labels, dtype::i64);
        view.groups = bytes ? column_of(byte_groups, dtype::u8)
                            : column_of(groups, dtype::i64);
        if (!weighted) return;
        view.weights = column_of(weights, dtype::f64);
        view.repeats = column_of(repeats, dtype::i64);
    }

    template <class T>
    static column column_of(const std::vector<T>& v, dtype type) {
        return {reinterpret_cast<const char*>(v.data()), sizeof(T), type};
    }
};

// ---- the second reading -----------------------------------------------------

void check_against(sketch& s, const std::vector<row>& given) {
    std::vector<row> all;  // without those that are not there
    for (const row& r : given)
        if (r.weight > 0 && r.repeats > 0) all.push_back(r);
    s.look([&](const tally& t, const slot_list& slots) {
        extent reach;
        for (const row& r : all)
            if (std::isfinite(r.score)) reach.add(r.score);
        const window at = t.fixed() ? t.at() : window_of(reach, t.at().bins());
        CHECK(t.at() == at && t.canonical() == at);
        if (!t.fixed()) CHECK(t.reach() == reach);
        CHECK(t.weighted() == std::any_of(all.begin(), all.end(), [](const row& r) {
                  return r.weight != 1;
              }));
        std::map<std::pair<std::int64_t, unsigned>, cell_of_rows> cells;
        std::int64_t rows = 0;
        for (const row& r : all) {
            const double parts = r.weight * (t.weighted() ? one_weight : 1);
            const std::int64_t times = static_cast<std::int64_t>(parts) * r.repeats;
            cell_of_rows& c = cells[{r.group, r.label}];
            c.total += times;
            c.rows += r.repeats;
            rows += times;
            wide<4> squared;
            squared.add_product(static_cast<std::uint64_t>(parts),
                                static_cast<std::uint64_t>(times), 0);
            c.squares += squared;
            if (r.score < at.edge(0) || std::isinf(r.score) ||
                r.score >= at.edge(at.bins())) {
                (r.score < at.edge(0) ? c.below : c.above) += times;
                (r.score < at.edge(0) ? c.below_squares : c.above_squares) +=
                    squared;
                continue;
            }
            bin_of_rows& b = c.bins[at.index(at.on().number(r.score))];
            b.n += times;
            b.squares += squared;
            const rounded x = take_apart(round24(r.score));
            b.scores.add_product(static_cast<std::uint64_t>(std::abs(x.mantissa)),
                                 static_cast<std::uint64_t>(times),
                                 static_cast<unsigned>(x.exponent + unit),
                                 x.mantissa < 0);
            c.lo = std::min(c.lo, r.score + 0.0);
            c.hi = std::max(c.hi, r.score + 0.0);
        }
        CHECK(t.total() == rows);
        std::vector<double> squares(3 * slots.size());
        read_squared_weights(t, slots, squares.data());
        for (unsigned label = 0; label < 3; ++label)
            for (std::size_t g = 0; g < slots.size(); ++g) {
                const name group = s.groups().names()[slots[g]];
                const cell_of_rows& expected = cells[{group.number, label}];
                const cell_place p(t, label, slots[g]);
                std::vector<double> places(at.bins() + 2);
                read_squares(t, {slots[g]}, label, places.data());
                if (!p.exists()) {
                    CHECK(expected.rows == 0);
                    continue;
                }
                const int in = t.weighted() ? -squared_weight_unit : 0;
                CHECK(places[0] == expected.below_squares.to_double(in));
                CHECK(places[at.bins() + 1] ==
                      expected.above_squares.to_double(in));
                CHECK(p.p.total(p.cell) == expected.total);
                CHECK(p.p.rows(p.cell) == expected.rows);
                CHECK(p.p.below(p.cell) == expected.below);
                CHECK(p.p.above(p.cell) == expected.above);
                CHECK(p.has_rows() == !expected.bins.empty());
                CHECK(squares[label * slots.size() + g] ==
                      expected.squares.to_double(in));
                if (p.has_rows())
                    CHECK(p.p.lo(p.cell) == expected.lo &&
                          p.p.hi(p.cell) == expected.hi);
                for (std::uint32_t b = 0; b < at.bins(); ++b) {
                    const auto found = expected.bins.find(b);
                    const std::int64_t n = p.p.count(p.cell, b);
                    if (found == expected.bins.end()) {
                        CHECK(n == 0 && places[b + 1] == 0);
                        continue;
                    }
                    CHECK(n == found->second.n);
                    CHECK(places[b + 1] == found->second.squares.to_double(in));
                    const std::int64_t k = at.number(b);
                    total value;
                    if (at_zero(k)) {
                        const zero_sum sum = p.p.zero(p.cell, k);
                        for (int i = 0; i < 34; ++i)
                            value.add_product(sum.limb(static_cast<std::size_t>(i)),
                                              1, static_cast<unsigned>(64 * i));
                        if (sum.negative()) value.add(-1, 64 * 34);
                        value.shift_left(unit - zero_unit);
                    } else {
                        const grid::whole_edge edge = at.on().edge(k);
                        value.add_product(
                            static_cast<std::uint64_t>(n),
                            static_cast<std::uint64_t>(std::abs(edge.j)),
                            static_cast<unsigned>(edge.width + unit), edge.j < 0);
                        const bin_sum sum = p.p.sum(p.cell, b);
                        const auto u =
                            static_cast<unsigned>(at.on().unit(k) + unit);
                        value.add_product(sum.limb(0), 1, u);
                        value.add(static_cast<std::int64_t>(sum.limb(1)), u + 64);
                    }
                    CHECK(value == found->second.scores);
                }
            }
        return 0;
    });
}

sketch_options options(std::uint32_t bins) {
    sketch_options o;
    o.at = no_window(bins);
    return o;
}

/// A sketch of some rows, by batches, rows and merges of any sizes.
std::unique_ptr<sketch> counted(std::mt19937_64& random, const sketch_options& o,
                                const std::vector<row>& all, bool weighted) {
    auto out = std::make_unique<sketch>(o);
    for (std::size_t i = 0; i < all.size();) {
        const std::size_t left = all.size() - i;
        const std::size_t n = std::min<std::size_t>(
            left, random() % 4 == 0
                      ? 1
                      : 1 + random() % (random() % 3 == 0 ? 5000 : 300));
        const std::vector<row> part(
            all.begin() + static_cast<std::ptrdiff_t>(i),
            all.begin() + static_cast<std::ptrdiff_t>(i + n));
        i += n;
        if (n == 1) {
            const row& r = part[0];
            if (r.weight == 1 && r.repeats == 1)
                out->update_one(r.score, r.label, name::of(r.group));
            else
                out->update_one(r.score, r.label, name::of(r.group), r.weight,
                                static_cast<std::uint64_t>(r.repeats));
            continue;
        }
        const columns c(part, weighted, random() % 2 != 0);
        const auto threads = static_cast<unsigned>(1 + random() % 3);
        if (random() % 3 == 0) {
            sketch other(o);
            other.update(c.view, false, threads);
            if (random() % 2 == 0) {
                out->merge(other);
            } else {
                other.merge(*out);
                out = other.clone();
            }
        } else {
            out->update(c.view, false, threads);
        }
        if (random() % 4 == 0)
            out->look([](const tally&, const slot_list&) { return 0; });
    }
    return out;
}

}  // namespace

int main() {
    std::mt19937_64 random(11);
    const std::uint32_t some_bins[] = {16, 64, 256, 4096};
    for (int i = 0; i < 600; ++i) {
        if (!use_kernel(all_kernels[random() % 4])) use_kernel(best_kernel());
        const std::uint32_t bins = some_bins[random() % 4];
        const bool weighted = random() % 4 == 0;
        std::vector<row> all;
        for (std::uint64_t j = 0; j <= random() % 3; ++j) {
            const std::vector<row> more =
                rows_of(random, random() % (random() % 8 == 0 ? 6000 : 400),
                        static_cast<int>(random() % 10), weighted);
            all.insert(all.end(), more.begin(), more.end());
        }
        sketch_options o = options(bins);
        if (random() % 4 == 0) {
            o.fixed = true;
            const double lo = random() % 2 == 0 ? 0 : -1.5;
            o.at = window_of_range(lo, 1 + static_cast<double>(random() % 3), bins);
        }
        check_against(*counted(random, o, all, weighted), all);
    }
    {  // a bin of several values, and its share
        sketch s{options(16)};
        for (int i = 0; i < 3; ++i) s.update_one(1.0, 1, name::of(0));
        for (const double x : {50.0, 50.1, 50.3}) s.update_one(x, 1, name::of(0));
        s.update_one(-std::numeric_limits<double>::infinity(), 1, name::of(0));
        s.look([](const tally& t, const slot_list& slots) {
            const full_bin f = fullest(t, slots, 1);
            CHECK(f.share == 3.0 / 7 && f.label == 1 && f.group == 0);
            CHECK(t.at().edge(f.bin) <= 50 && 50.3 < t.at().edge(f.bin + 1));
            return 0;
        });
    }
}
