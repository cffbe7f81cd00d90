// decide_test.cpp - decisions are `score >= threshold`, on every kernel and for every kind of column.
#include "gstar/decide.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "gstar/live.hpp"

using namespace gstar;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

thresholds numbered(unsigned n, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    thresholds t;
    for (unsigned i = 0; i < n; ++i) {
        const double v = i == 3   ? inf
                         : i == 5 ? -inf
                         : i == 6 ? 1e-310
                                  : normal(random);
        t.groups.push_back({name::of(i), v, {}});
    }
    return t;
}

template <class T>
column column_of(const std::vector<T>& v, dtype type) {
    return {reinterpret_cast<const char*>(v.data()), sizeof(T), type};
}

/// Scores at, next to and far from the thresholds.
template <class Float>
std::vector<Float> hard_scores(const thresholds& t, std::size_t n, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<Float> out;
    while (out.size() < n) {
        const double at = t.groups[random() % t.groups.size()].threshold;
        auto f = static_cast<Float>(at);
        switch (random() % 6) {
            case 0: f = std::nextafter(f, static_cast<Float>(inf)); break;
            case 1: f = std::nextafter(f, static_cast<Float>(-inf)); break;
            case 2: {
                const std::uint64_t bits = random();
                std::memcpy(&f, &bits, sizeof f);
                if (std::isnan(f)) f = Float(-0.0);
                break;
            }
            case 3: f = static_cast<Float>(random() % 2 == 0 ? inf : -inf); break;
            default: break;
        }
        out.push_back(f);
    }
    return out;
}

template <class Float, class Index>
void check_all(const thresholds& t, dtype scores_type, dtype groups_type,
               std::size_t n) {
    const decider d(t);
    const std::vector<Float> scores = hard_scores<Float>(t, n, 5);
    std::vector<Index> groups;
    std::mt19937 random(9);
    for (std::size_t i = 0; i < n; ++i)
        groups.push_back(static_cast<Index>(random() % t.groups.size()));
    rows r;
    r.n = n;
    r.scores = column_of(scores, scores_type);
    r.groups = column_of(groups, groups_type);
    for (const kernel k : all_kernels) {
        if (!use_kernel(k)) continue;
        std::vector<std::uint8_t> out(n, 7);
        std::vector<double> margins(n);
        d.many(r, out.data());
        d.margins(r, margins.data());
        for (std::size_t i = 0; i < n; ++i) {
            const double threshold =
                t.groups[static_cast<std::size_t>(groups[i])].threshold;
            const bool wanted = static_cast<double>(scores[i]) >= threshold;
            CHECK(out[i] == (wanted ? 1 : 0));
            CHECK((margins[i] >= 0) == wanted);
            CHECK(d.one(scores[i], static_cast<std::int64_t>(groups[i])) == wanted);
        }
    }
    use_kernel(best_kernel());
}

/// Numbers at, next to and far from the cut points, and NaN.
template <class Float>
std::vector<Float> hard_numbers(const std::vector<double>& cuts, std::size_t n) {
    std::mt19937_64 random(11);
    std::vector<Float> out;
    while (out.size() < n) {
        auto f =
            static_cast<Float>(cuts.empty() ? 0.5 : cuts[random() % cuts.size()]);
        switch (random() % 6) {
            case 0: f = std::nextafter(f, static_cast<Float>(inf)); break;
            case 1: f = std::nextafter(f, static_cast<Float>(-inf)); break;
            case 2: f = static_cast<Float>(not_a_number); break;
            case 3: f = static_cast<Float>(random() % 2 == 0 ? inf : -inf); break;
            default: break;
        }
        out.push_back(f);
    }
    return out;
}

/// A number decides as the count of cut points that it reaches.
template <class Float>
void check_numbers(std::size_t n_cuts, dtype type) {
    constexpr std::size_t n = 5003;
    thresholds t = numbered(static_cast<unsigned>(n_cuts) + 1, 4);
    t.cuts.emplace();
    for (std::size_t k = 0; k < n_cuts; ++k)
        t.cuts->push_back(0.1 * static_cast<double>(k) - 1.0);
    t.unknown = unknown_policy::use_number;
    t.unknown_number = 0.25;
    if (n_cuts > 2) t.groups.erase(t.groups.begin() + 1);  // an empty segment
    const decider d(t);
    const std::vector<Float> scores = hard_scores<Float>(t, n, 5);
    const std::vector<Float> numbers = hard_numbers<Float>(*t.cuts, n);
    rows r;
    r.n = n;
    r.scores = column_of(scores, type);
    r.groups = column_of(numbers, type);
    for (const kernel k : all_kernels) {
        if (!use_kernel(k)) continue;
        std::vector<std::uint8_t> out(n, 7);
        std::vector<double> margins(n);
        d.many(r, out.data());
        d.margins(r, margins.data());
        for (std::size_t i = 0; i < n; ++i) {
            std::int64_t segment = 0;
            for (const double cut : *t.cuts)
                segment += static_cast<double>(numbers[i]) >= cut ? 1 : 0;
            double threshold = t.unknown_number;
            for (const group_threshold& g : t.groups)
                if (!std::isnan(numbers[i]) && g.group == name::of(segment))
                    threshold = g.threshold;
            const bool wanted = static_cast<double>(scores[i]) >= threshold;
            CHECK(out[i] == (wanted ? 1 : 0));
            CHECK((margins[i] >= 0) == wanted);
            CHECK(d.one(scores[i], numbers[i]) == wanted);
        }
    }
    use_kernel(best_kernel());
}

std::string message(const decider& d, const rows& r) {
    std::vector<std::uint8_t> out(r.n);
    try {
        d.many(r, out.data());
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "";
}

}  // namespace

int main() {
    {  // every kernel, float width, integer type and number of groups
        for (const unsigned n_groups :
             {1u, 4u, 8u, 9u, 16u, 17u, 32u, 33u, 200u, 256u}) {
            const thresholds t = numbered(n_groups, n_groups);
            check_all<float, std::uint8_t>(t, dtype::f32, dtype::u8, 5003);
            check_all<double, std::uint8_t>(t, dtype::f64, dtype::u8, 5003);
            check_all<float, std::uint16_t>(t, dtype::f32, dtype::u16, 777);
            check_all<double, std::int64_t>(t, dtype::f64, dtype::i64, 777);
            if (n_groups <= 128)
                check_all<float, std::int8_t>(t, dtype::f32, dtype::i8, 777);
        }
        const thresholds many = numbered(1000, 3);
        check_all<float, std::uint16_t>(many, dtype::f32, dtype::u16, 5003);
        check_all<double, std::int32_t>(many, dtype::f64, dtype::i32, 5003);
        check_all<float, std::uint64_t>(many, dtype::f32, dtype::u64, 5003);
    }
    {  // numbers that stand for groups, by their segments
        for (const std::size_t n_cuts : {0u, 1u, 2u, 3u, 7u, 8u, 31u, 300u}) {
            check_numbers<float>(n_cuts, dtype::f32);
            check_numbers<double>(n_cuts, dtype::f64);
        }
        thresholds t = numbered(2, 1);
        t.cuts = std::vector<double>{0.5};
        const decider d(t);
        CHECK(throws<type_error>([&] { d.one(0.5, std::int64_t{1}); }));
        CHECK(throws<type_error>([&] { d.one(0.5, "1"); }));
        CHECK(throws<type_error>([&] { d.one(0.5, name::of(1)); }));
        CHECK(throws<input_error>([&] { d.one(0.5, not_a_number); }));
        CHECK(throws<input_error>([&] { d.one(0.5); }));
        CHECK(throws<type_error>([&] { decider(numbered(2, 1)).one(0.5, 0.5); }));
        const std::vector<double> scores = {0.5, 0.5};
        std::vector<double> numbers = {0.5, not_a_number};
        const std::vector<std::int32_t> codes = {0, 1};
        rows r;
        r.n = 2;
        r.scores = column_of(scores, dtype::f64);
        r.groups = column_of(numbers, dtype::f64);
        CHECK(message(d, r) == "groups at row 1: segment nan");
        numbers[1] = 0.25;
        CHECK(message(d, r).empty());
        CHECK(message(decider(numbered(2, 1)), r).find("bad group type") !=
              std::string::npos);
        r.groups = column_of(codes, dtype::i32);
        CHECK(message(d, r) == "groups: needs numbers");
        decide_options by_code;
        by_code.codes = true;
        std::vector<std::uint8_t> out(2);
        d.many(r, out.data(), by_code);
        CHECK(out[1] == (0.5 >= t.groups[1].threshold ? 1 : 0));
        t.groups.erase(t.groups.begin());
        CHECK(throws<input_error>([&] { decider(t).one(0.5, 0.25); }));
    }
    {  // the least float not below a threshold asks the same question
        std::mt19937_64 random(1);
        for (int i = 0; i < 100000; ++i) {
            const std::uint64_t bits = random();
            double t = 0;
            std::memcpy(&t, &bits, sizeof t);
            if (i % 2 == 0) t = std::ldexp(t, -static_cast<int>(random() % 1000));
            if (std::isnan(t)) continue;
            const float f = float_not_below(t);
            const float near[] = {f, std::nextafter(f, -INFINITY),
                                  std::nextafter(f, INFINITY)};
            for (const float s : near)
                if (!std::isnan(s))
                    CHECK((s >= f) == (static_cast<double>(s) >= t));
        }
    }
    {  // unknown groups and NaN scores are refused by row, or decided as chosen
        thresholds t = numbered(2, 1);
        std::vector<float> scores(200, 10.0f);
        std::vector<std::uint8_t> groups(200, 1);
        rows r;
        r.n = 200;
        r.scores = column_of(scores, dtype::f32);
        r.groups = column_of(groups, dtype::u8);
        groups[70] = 6;
        CHECK(message(decider(t), r) ==
              "groups at row 70: no threshold, got 6; allowed: 0, 1");
        groups[70] = 200;
        CHECK(message(decider(t), r)
                  .find("groups at row 70: no threshold, got 200;") == 0);
        groups[70] = 1;
        scores[150] = static_cast<float>(not_a_number);
        CHECK(message(decider(t), r) == "scores at row 150: undecided nan");
        groups[70] = 200;
        t.unknown = unknown_policy::use_number;
        t.unknown_number = 11;
        std::vector<std::uint8_t> out(200, 9);
        t.nan = nan_policy::accept;
        decider(t).many(r, out.data());
        CHECK(out[70] == 0 && out[150] == 1 && out[0] == 1);
        t.nan = nan_policy::reject;
        t.unknown_number = 10;
        out.assign(200, 9);
        decider(t).many(r, out.data());
        CHECK(out[70] == 1 && out[150] == 0 && out[0] == 1);
        for (const std::uint8_t answer : out) CHECK(answer != 9);
        std::vector<std::int8_t> below(200, 1);
        below[90] = -1;
        r.groups = column_of(below, dtype::i8);
        t.unknown_number = 11;
        decider(t).many(r, out.data());
        CHECK(out[90] == 0 && out[0] == 1);
        t.unknown = unknown_policy::raise;
        CHECK(message(decider(t), r)
                  .find("groups at row 90: no threshold, got -1;") == 0);
        t.unknown = unknown_policy::use_default;
        CHECK(throws<std::invalid_argument>([&] { const decider d(t); }));
    }
    {  // names of every kind, in lists, and numbers too large for a table
        thresholds t;
        t.groups = {{name::of_text("F"), 0.25, {}},
                    {name::of_text("M"), 0.75, {}},
                    {name::of(-7), 0.5, {}},
                    {name::of(1000000), 0.125, {}},
                    {name::of_tuple({name::of_text("F"), name::of(1)}), 0.375, {}}};
        const decider d(t);
        CHECK(d.one(0.25, "F") && !d.one(0.25, "M") && d.one(0.5, -7) &&
              d.one(0.2, 1000000));
        CHECK(d.one(0.375, t.groups[4].group));
        CHECK(throws<std::invalid_argument>([&] { d.one(0.5, "X"); }));
        CHECK(throws<std::invalid_argument>([&] { d.one(0.5, 3); }));
        CHECK(throws<std::invalid_argument>([&] { d.one(not_a_number, "F"); }));
        const std::vector<double> scores = {0.3, 0.3, 0.4, 0.3};
        const std::vector<std::int8_t> places = {0, 1, 2, 0};
        const std::vector<name> list = {name::of_text("F"), name::of_text("M"),
                                        t.groups[4].group,
                                        name::of_text("nobody has it")};
        rows r;
        r.n = 4;
        r.scores = column_of(scores, dtype::f64);
        r.groups = column_of(places, dtype::i8);
        r.names = &list;
        std::uint8_t out[4];
        d.many(r, out);
        CHECK(out[0] == 1 && out[1] == 0 && out[2] == 1 && out[3] == 1);
        const std::vector<std::int8_t> gone = {0, -1, 2, 0};
        r.groups = column_of(gone, dtype::i8);
        CHECK(message(d, r) == "groups at row 1: missing group");
        const std::vector<std::int64_t> large = {-7, 1000000, -7, 1000000};
        r.groups = column_of(large, dtype::i64);
        r.names = nullptr;
        d.many(r, out);
        CHECK(out[0] == 0 && out[1] == 1);
        decide_options codes;
        codes.codes = true;
        const std::vector<std::int64_t> positions = {0, 1, 2, 3};
        r.groups = column_of(positions, dtype::i64);
        d.many(r, out, codes);
        CHECK(out[0] == 1 && out[1] == 0 && out[2] == 0 && out[3] == 1);
    }
    {  // a unified set needs no group
        thresholds t = numbered(1, 4);
        t.unified = true;
        const decider d(t);
        const std::vector<float> scores = hard_scores<float>(t, 1000, 2);
        rows r;
        r.n = scores.size();
        r.scores = column_of(scores, dtype::f32);
        std::vector<std::uint8_t> out(r.n);
        d.many(r, out.data());
        for (std::size_t i = 0; i < r.n; ++i)
            CHECK(out[i] == (scores[i] >= t.groups[0].threshold ? 1 : 0));
        CHECK(d.one(inf) && !d.one(-inf));
        CHECK(throws<std::invalid_argument>(
            [&] { decider(numbered(2, 4)).one(0.5); }));
    }
    {  // a randomised row is drawn by its key, with the probabilities asked for
        thresholds t;
        t.randomized = true;
        t.groups = {{name::of(0), 1.0, {{1.0, 0.7}, {0.0, 0.3}}}};
        const decider d(t);
        const std::size_t n = 100000;
        std::vector<double> scores(n, 0.5);
        std::vector<std::uint8_t> groups(n, 0);
        std::vector<std::uint64_t> keys;
        for (std::uint64_t i = 0; i < n; ++i) keys.push_back(hash_key(i));
        rows r;
        r.n = n;
        r.scores = column_of(scores, dtype::f64);
        r.groups = column_of(groups, dtype::u8);
        decide_options o;
        CHECK(throws<std::invalid_argument>([&] { d.one(0.5, 0); }));
        o.keys = column_of(keys, dtype::u64);
        std::vector<std::uint8_t> out(n);
        d.many(r, out.data(), o);
        double accepted = 0;
        for (std::size_t i = 0; i < n; ++i) {
            accepted += out[i];
            CHECK((out[i] == 1) == d.one(0.5, name::of(0), keys[i]));
        }
        CHECK(std::fabs(accepted / static_cast<double>(n) - 0.3) < 0.006);
        // published values, for whoever writes the hash again
        CHECK(hash_key(std::uint64_t{0}) == 0xE220A8397B1DCDAFu);
        CHECK(hash_key("") == hash_key(0xCBF29CE484222325u));
    }
    {  // threads change nothing, and the first bad row is named
        const thresholds t = numbered(8, 8);
        const decider d(t);
        std::vector<float> scores = hard_scores<float>(t, 200000, 3);
        std::vector<std::uint8_t> groups;
        for (std::size_t i = 0; i < scores.size(); ++i) groups.push_back(i % 8);
        rows r;
        r.n = scores.size();
        r.scores = column_of(scores, dtype::f32);
        r.groups = column_of(groups, dtype::u8);
        std::vector<std::uint8_t> one(r.n);
        std::vector<std::uint8_t> three(r.n);
        decide_options o;
        o.threads = 3;
        d.many(r, one.data());
        d.many(r, three.data(), o);
        CHECK(one == three);
        scores[70001] = scores[190001] = NAN;
        try {
            d.many(r, three.data(), o);
            CHECK(false);
        } catch (const std::invalid_argument& e) {
            CHECK(std::string(e.what()).find("row 70001:") != std::string::npos);
        }
    }
    {  // a swap is seen whole, has a version, and a refused one changes nothing
        live_decider live(numbered(2, 1));
        CHECK(live.version() == 1);
        thresholds t = numbered(2, 2);
        CHECK(live.swap(t) == 2);
        CHECK(live_decider::reading(live)->set().groups[0].threshold ==
              t.groups[0].threshold);
        t.groups.clear();
        CHECK(throws<std::invalid_argument>([&] { live.swap(t); }));
        CHECK(live.version() == 2);
        CHECK(!live.expired() && !live.seconds_left());
    }
    {  // thresholds expire: a swap rejects expired ones, but they still decide
        thresholds t = numbered(2, 1);
        t.expires = 0;
        live_decider late(t);
        CHECK(late.expired() && *late.seconds_left() == 0);
        CHECK(live_decider::reading(late)->one(inf, std::int64_t{0}));
        live_decider live(numbered(2, 1));
        CHECK(throws<std::invalid_argument>([&] { live.swap(t); }));
        CHECK(live.version() == 1 && !live.expired());
        t.expires = std::int64_t{1} << 40;
        CHECK(live.swap(t) == 2);
        CHECK(!live.expired() && *live.seconds_left() > 1e11);
    }
}
