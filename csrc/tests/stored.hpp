// stored.hpp - bytes of sketches for the tests: seeds with everything in them, and
// the signature that lets changed ones past the first checks.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gstar/sketch_io.hpp"

namespace stored {

using bytes = std::vector<std::uint8_t>;

inline gstar::span<const std::uint8_t> view(const bytes& b) {
    return {b.data(), b.size()};
}

/// Length and checksum as a reader wants them, so that changes get past both.
inline void sign(bytes& b) {
    const std::uint64_t n = b.size();
    for (std::size_t i = 0; i < 8; ++i)
        b[16 + i] = static_cast<std::uint8_t>(n >> (8 * i));
    const std::uint32_t c =
        gstar::crc32(b.data(), b.size() - gstar::checksum_bytes);
    for (std::size_t i = 0; i < gstar::checksum_bytes; ++i)
        b[b.size() - gstar::checksum_bytes + i] =
            static_cast<std::uint8_t>(c >> (8 * i));
}

inline gstar::sections some_sections() {
    return {{gstar::section::columns, false,
             std::string("\1\1\5score\0\1\2\3sex\3age", 19)},
            {gstar::section::positive, true, std::string("\1\3yes", 5)},
            {77, false, "from the future"}};
}

/// A sketch with every kind of group, of cell and of row; `which` of them counts
/// weights, has a range, fewer bins, scores on one side of zero only, or sections.
inline std::unique_ptr<gstar::sketch> sketch_of(unsigned which,
                                                std::uint32_t bins = 4096) {
    using gstar::name;
    gstar::sketch_options o;
    o.at = gstar::no_window(which % 4 == 2 ? 16 : bins);
    o.memory_limit = 1 << 24;
    if (which % 4 == 1) {
        o.at = gstar::window_of_range(-1, 1, 64);
        o.fixed = true;
    }
    auto s = std::make_unique<gstar::sketch>(o);
    const name groups[] = {name::of(-7), name::of_text("caf\xC3\xA9"),
                           name::of_tuple({name::of(1), name::of_text("x")}),
                           name::of_bool(true)};
    for (const name& g : groups) {
        s->update_one(0.25, 1, g);
        s->update_one(1e-9, 2, g);
        s->update_one(INFINITY, 1, g);
        if (which % 4 == 3) continue;
        s->update_one(-0.001, 0, g);
        s->update_one(0.0, 0, g);
        s->update_one(-3.5, 0, g);
    }
    if (which % 8 >= 4) {
        const double scores[] = {0.5, 1e-12};
        const double weights[] = {0.3, 2};
        const std::int64_t groups_of_rows[] = {3, -7};
        gstar::rows r;
        r.n = 2;
        r.scores = {reinterpret_cast<const char*>(scores), 8, gstar::dtype::f64};
        r.groups = {reinterpret_cast<const char*>(groups_of_rows), 8,
                    gstar::dtype::i64};
        r.weights = {reinterpret_cast<const char*>(weights), 8, gstar::dtype::f64};
        s->update(r);
    }
    if (which % 16 >= 8) s->set_sections(some_sections());
    return s;
}

}  // namespace stored
