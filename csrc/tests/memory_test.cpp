// memory_test.cpp - a sketch that runs out of memory is left unchanged.
//
// Every allocation of an operation fails in turn: the bytes of the sketch must not
// change, and trying again must give what an undisturbed sketch has.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "check.hpp"

namespace {

std::atomic<bool> counting{false};
std::atomic<long> left{
    0};  ///< allocations until one fails, or below zero: none does

bool fails() noexcept { return counting && left-- == 0; }

void* obtain(std::size_t n) {
    void* const p = fails() ? nullptr : std::malloc(n != 0 ? n : 1);
    if (p == nullptr) throw std::bad_alloc();
    return p;
}

void* obtain_zeros(std::size_t n, std::size_t size) noexcept {
    return fails() ? nullptr : std::calloc(n, size);
}

}  // namespace

void* operator new(std::size_t n) { return obtain(n); }
void* operator new[](std::size_t n) { return obtain(n); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

#define GSTAR_CALLOC obtain_zeros
#include "gstar/sketch_io.hpp"
#include "table.hpp"

using namespace gstar;

namespace {

using bytes = std::vector<std::uint8_t>;
using making = std::function<std::unique_ptr<sketch>()>;
using doing = std::function<void(sketch&)>;

/// Let each allocation of `act` fail in turn; how many there are.
long fail_each(const making& make, const doing& act) {
    const std::unique_ptr<sketch> fine = make();
    act(*fine);
    const bytes expected = to_bytes(*fine);
    const bytes before = to_bytes(*make());
    for (long k = 0;; ++k) {
        const std::unique_ptr<sketch> s = make();
        left = k;
        counting = true;
        bool failed = false;
        try {
            act(*s);
        } catch (const std::bad_alloc&) {
            failed = true;
        }
        counting = false;
        if (!failed) {
            CHECK(to_bytes(*s) == expected);
            return k;
        }
        CHECK(to_bytes(*s) == before);
        act(*s);
        CHECK(to_bytes(*s) == expected);
    }
}

sketch_options few_bins() {
    sketch_options o;
    o.at = no_window(64);
    return o;
}

sketch_options in_range() {
    sketch_options o = few_bins();
    o.fixed = true;
    o.at = window_of_range(-1, 1, 64);
    return o;
}

/// Rows, and the columns they lie in.
template <class Score, class Group>
struct columns {
    std::vector<Score> scores;
    std::vector<std::uint8_t> labels;
    std::vector<Group> groups;
    std::vector<double> weights;
    std::vector<std::int64_t> repeats;

    columns(std::size_t n, unsigned n_groups, double scale, unsigned seed) {
        const table<Score> t = make_table<Score>(n, n_groups, seed);
        scores = t.scores;
        for (Score& x : scores) x = static_cast<Score>(x * scale);
        labels.assign(t.labels.begin(), t.labels.end());
        groups.assign(t.groups.begin(), t.groups.end());
        for (std::size_t i = 0; i < n; ++i)
            weights.push_back(0.25 + static_cast<double>(i % 5));
        for (std::size_t i = 0; i < n; ++i)
            repeats.push_back(static_cast<std::int64_t>(i % 3));
    }

    rows view(bool labelled = true, bool weighted = false) const {
        rows r;
        r.n = scores.size();
        r.scores = of(scores);
        r.groups = of(groups);
        if (labelled) r.labels = of(labels);
        if (weighted) r.weights = of(weights);
        if (weighted) r.repeats = of(repeats);
        r.two_is_unlabelled = true;
        return r;
    }

private:
    template <class T>
    static column of(const std::vector<T>& v) {
        column c;
        c.data = reinterpret_cast<const char*>(v.data());
        c.stride = sizeof(T);
        c.type = type_of(T{});
        return c;
    }
    static dtype type_of(float) { return dtype::f32; }
    static dtype type_of(double) { return dtype::f64; }
    static dtype type_of(std::uint8_t) { return dtype::u8; }
    static dtype type_of(std::int64_t) { return dtype::i64; }
};

/// A sketch with some rows near 1, in two groups.
making with_rows(const sketch_options& o, bool weighted = false) {
    return [=] {
        static const columns<double, std::int64_t> c(60, 2, 1, 1);
        auto s = std::make_unique<sketch>(o);
        s->update(c.view(true, weighted));
        return s;
    };
}

making empty(const sketch_options& o) {
    return [=] { return std::make_unique<sketch>(o); };
}

/// Updates of all kinds against one sketch.
template <class Score, class Group>
void check_updates(const making& make) {
    const auto update = [&](const columns<Score, Group>& c, bool labelled,
                            bool weighted, unsigned threads = 1) {
        const auto act = [&](sketch& s) {
            s.update(c.view(labelled, weighted), true, threads);
        };
        CHECK(fail_each(make, act) > 0);
    };
    const columns<Score, Group> known(40, 2, 1, 2);
    const columns<Score, Group> learned(40, 5, 1, 3);
    const columns<Score, Group> wide(40, 2, 1e6, 4);
    const columns<Score, Group> tiny(40, 2, 1e-30, 5);
    for (const auto* c : {&known, &learned, &wide, &tiny})
        for (const bool labelled : {false, true})
            for (const bool weighted : {false, true})
                update(*c, labelled, weighted);
    columns<Score, Group> mixed = known;
    for (std::size_t i = 0; i < mixed.labels.size(); i += 3) mixed.labels[i] = 2;
    update(mixed, true, false);
    columns<Score, Group> odd = learned;
    odd.scores[3] = std::numeric_limits<Score>::infinity();
    odd.scores[4] = std::numeric_limits<Score>::quiet_NaN();
    odd.scores[5] = 0;
    odd.scores[6] = std::numeric_limits<Score>::denorm_min();
    update(odd, true, false);
}

void check_one_row(const making& make) {
    for (const double score : {0.5, -0.5, 0.0, 1e-300, 1e12, 5e-324,
                               std::numeric_limits<double>::infinity()})
        for (const unsigned label : {0u, 1u, 2u})
            for (const name& group :
                 {name::of(0), name::of(70000), name::of_text("a name of a group")})
                for (const double weight : {1.0, 2.5})
                    for (const unsigned repeats : {1u, 3u})
                        fail_each(make, [&](sketch& s) {
                            s.update_one(score, label, group, weight, repeats);
                        });
}

/// A sketch with other groups, window and unit of counts, as bytes and as it is.
std::vector<making> others() {
    std::vector<making> out;
    for (const bool weighted : {false, true})
        for (const double scale : {1.0, 1e9, 1e-30})
            for (const bool labelled : {false, true})
                out.emplace_back([=] {
                    const columns<double, std::int64_t> c(40, 7, scale, 9);
                    auto s = std::make_unique<sketch>(few_bins());
                    s->update(c.view(labelled, weighted));
                    return s;
                });
    return out;
}

void check_merges(const making& make) {
    for (const making& other : others()) {
        const std::unique_ptr<sketch> from = other();
        CHECK(fail_each(make, [&](sketch& s) { s.merge(*from); }) > 0);
        const bytes stored = to_bytes(*from);
        fail_each(make, [&](sketch& s) {
            merge_bytes(s, {stored.data(), stored.size()});
        });
    }
}

/// The groups under other names, and two groups under one.
void check_relabelled(const making& make) {
    const std::uint32_t n = make()->n_groups();
    const name one = name::of_text("a name for several groups");
    std::vector<name> others(n, one);
    for (std::uint32_t i = 0; i < n; ++i) others[i] = name::of(7 * i);
    for (const std::vector<name>& names : {std::vector<name>(n, one), others}) {
        const bytes expected = to_bytes(*make()->relabelled(names));
        CHECK(fail_each(make, [&](sketch& s) {
                  const std::unique_ptr<sketch> got = s.relabelled(names);
                  counting = false;
                  CHECK(to_bytes(*got) == expected);
              }) > 0);
        fail_each(make, [&](sketch& s) { s.merge(*s.relabelled(names)); });
    }
}

}  // namespace

int main() {
    const std::vector<making> all = {empty(few_bins()), with_rows(few_bins()),
                                     with_rows(few_bins(), true)};
    for (const making& make : all) {
        check_updates<float, std::uint8_t>(make);
        check_updates<double, std::int64_t>(make);
        check_one_row(make);
        check_merges(make);
        check_relabelled(make);
    }
    {  // a fixed range, with rows out of it, and given groups
        sketch_options o = in_range();
        o.given = true;
        for (std::int64_t g = 0; g < 5; ++g) o.groups.push_back(name::of(g));
        for (const making& make : {empty(o), with_rows(o)})
            check_updates<double, std::int64_t>(make);
        check_one_row(with_rows(in_range()));
    }
    {  // given groups are taken over, and written down in an order of their own
        sketch_options o = few_bins();
        o.given = true;
        for (std::int64_t g : {6, 5, 4, 3, 2, 1, 0})
            o.groups.push_back(name::of(g));
        const std::unique_ptr<sketch> given = with_rows(o)();
        const bytes stored = to_bytes(*given);
        fail_each(with_rows(few_bins()), [&](sketch& s) { s.merge(*given); });
        fail_each(with_rows(few_bins()), [&](sketch& s) {
            merge_bytes(s, {stored.data(), stored.size()});
        });
        std::reverse(o.groups.begin(), o.groups.end());
        fail_each(with_rows(o), [&](sketch& s) { s.merge(*given); });
    }
    {  // reading, which brings the window to its place
        const auto make = [] {
            auto s = with_rows(few_bins())();
            for (const double x : {1e-3, 1e3, -2e3, 1e5})
                s->update_one(x, 1, name::of(0));
            return s;
        };
        CHECK(fail_each(make, [](sketch& s) { to_bytes(s); }) > 0);
        check_relabelled(make);
        fail_each(make, [](sketch& s) { s.clone(); });
        const bytes stored = to_bytes(*make());
        fail_each(empty(few_bins()), [&](sketch& s) {
            s.merge(*from_bytes({stored.data(), stored.size()}, 1u << 30));
        });
    }
    {  // in threads: a failing thread only ends the update
        const columns<float, std::uint8_t> c(1 << 17, 3, 1, 6);
        CHECK(fail_each(with_rows(few_bins()),
                        [&](sketch& s) { s.update(c.view(), false, 2); }) > 0);
    }
    return 0;
}
