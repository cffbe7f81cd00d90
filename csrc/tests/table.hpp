// table.hpp - made-up rows for the tests, and the columns the core reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "gstar/base/rows.hpp"

/// Rows that own their memory.
template <class Float>
struct table {
    std::vector<Float> scores;
    std::vector<std::uint8_t> labels;
    std::vector<std::uint8_t> groups;

    gstar::rows view(std::size_t begin, std::size_t end) const {
        gstar::rows r;
        const bool wide = sizeof(Float) == 8;
        r.n = end - begin;
        r.scores = {reinterpret_cast<const char*>(scores.data() + begin),
                    sizeof(Float), wide ? gstar::dtype::f64 : gstar::dtype::f32};
        r.labels = {reinterpret_cast<const char*>(labels.data() + begin), 1,
                    gstar::dtype::u8};
        r.groups = {reinterpret_cast<const char*>(groups.data() + begin), 1,
                    gstar::dtype::u8};
        return r;
    }
    gstar::rows view() const { return view(0, scores.size()); }
};

template <class Float>
table<Float> make_table(std::size_t n, unsigned n_groups, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal(0.2, 2.0);
    table<Float> t;
    for (std::size_t i = 0; i < n; ++i) {
        t.scores.push_back(static_cast<Float>(normal(random)));
        t.labels.push_back(static_cast<std::uint8_t>(random() & 1));
        t.groups.push_back(static_cast<std::uint8_t>(random() % n_groups));
    }
    return t;
}
