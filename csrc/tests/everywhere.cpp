// everywhere.cpp - digests of counts, thresholds and decisions, which must be the same on
// every machine: tools/everywhere.py runs it on several and compares.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "gstar/gstar.hpp"

namespace {

using namespace gstar;

/// Numbers that depend on no library: a step of hash_key.
struct draws {
    std::uint64_t state;
    std::uint64_t bits() { return state = hash_key(state); }
    /// From -1 to 1, in steps of 2^-20, with a few extreme sizes among them.
    double score() {
        const auto whole = static_cast<double>(bits() >> 43);
        const double x = whole * 0x1p-20 - 1;
        switch (bits() % 64) {
            case 0: return 0;
            case 1: return x * 0x1p-40;
            case 2: return x * 0x1p+10;
            default: return x;
        }
    }
};

void say(const char* what, int number, const std::uint8_t* bytes,
         std::size_t size) {
    std::printf("%s %d ", what, number);
    for (const std::uint8_t byte : sha256({bytes, size})) std::printf("%02x", byte);
    std::printf("\n");
}

template <class Float>
void one(int number) {
    constexpr std::size_t n = 20000;
    draws random{static_cast<std::uint64_t>(number) + 1};
    const int n_groups = 2 + number % 4;
    std::vector<Float> scores(n);
    std::vector<std::uint8_t> labels(n), accepted(n);
    std::vector<std::int32_t> groups(n);
    std::vector<double> weights(n);
    for (std::size_t i = 0; i < n; ++i) {
        groups[i] = static_cast<std::int32_t>(random.bits() % n_groups);
        labels[i] = static_cast<std::uint8_t>(
            random.bits() % 8 == 0 ? 2 : random.bits() % 2);
        scores[i] =
            static_cast<Float>(random.score() + 0.25 * labels[i] * (groups[i] + 1));
        weights[i] = static_cast<double>(random.bits() % 16 + 1) * 0.25;
    }
    constexpr dtype type = sizeof(Float) == 4 ? dtype::f32 : dtype::f64;
    const auto column_of = [](const auto& v, dtype t) {
        return column{reinterpret_cast<const char*>(v.data()), sizeof v[0], t};
    };
    rows r;
    r.n = n;
    r.scores = column_of(scores, type);
    r.groups = column_of(groups, dtype::i32);
    r.labels = column_of(labels, dtype::u8);
    r.two_is_unlabelled = true;
    if (number % 3 == 2) r.weights = column_of(weights, dtype::f64);
    sketch counts(sketch_options{});
    counts.update(r);
    counts.update_one(0.125, 1, name::of(0));
    const std::vector<std::uint8_t> bytes = to_bytes(counts);
    say("counts", number, bytes.data(), bytes.size());

    question q;
    q.limits.push_back({form::difference, {rate::tpr, rate::fpr}, 0.03125});
    q.price_fn = 1 + number % 3;
    q.balanced = number % 2 == 1;
    if (number % 5 == 4) {
        q.limits.clear();
        q.penalties.push_back({{rate::selection}, 2.0});
    }
    q.unified = number % 7 == 6;
    const result found = solve(counts, q);
    const std::vector<std::uint8_t> set = to_bytes(found.set);
    say("thresholds", number, set.data(), set.size());
    decider by(found.set);
    r.labels = r.weights = column{};
    by.many(r, accepted.data(), decide_options{});
    say("decisions", number, accepted.data(), accepted.size());
}

}  // namespace

int main() {
    for (int number = 0; number < 12; ++number) {
        one<double>(number);
        one<float>(number);
    }
    return 0;
}
