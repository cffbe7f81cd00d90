// batch.hpp - rows -> counts of their own, ready to be added to others.
#pragma once

#include <algorithm>  // fill, min
#include <cmath>      // fabs
#include <cstddef>    // size_t
#include <cstdint>
#include <limits>
#include <memory>  // shared_ptr
#include <string>
#include <vector>

#include "gstar/base/error.hpp"
#include "gstar/base/name.hpp"
#include "gstar/base/number_table.hpp"
#include "gstar/base/rows.hpp"
#include "gstar/count/group_table.hpp"
#include "gstar/count/resolve.hpp"
#include "gstar/count/tally.hpp"

namespace gstar {

/// Some rows counted apart, ready to be added whole.
struct batch {
    tally counts;
    std::uint32_t n_known = 0;  ///< slots known before; the next are `learned`
    std::vector<name> learned;
};

/// Rows to be counted apart, and all that it takes to know of the sketch.
struct counting_job {
    rows r;
    bool skip_nan = false;
    std::shared_ptr<const group_lookup> known;
    std::uint32_t n_known = 0;
    bool given = false;
    std::string given_text;
    std::vector<batch> parts;
};

/// Throw if the counts of this many groups take more memory than `limit`.
inline void check_memory(std::uint64_t groups, std::uint64_t bins, bool weighted,
                         std::uint64_t limit) {
    if (groups > most_groups) refuse_groups(groups, most_groups);
    // Counts and sums of two cells' bins, squared weights where there are
    // weights, and the wide sums beside them.
    const double need = static_cast<double>(groups) *
                        (static_cast<double>(bins) * (weighted ? 96 : 64) + 4096);
    // Kernels number the places of bins with 32 bits.
    const double most = std::min(static_cast<double>(limit), 64 * 1073741824.0);
    if (need > most)
        throw memory_limit_error(
            {"too_much_memory", "memory_limit", -1,
             std::vector<std::int64_t>{static_cast<std::int64_t>(groups),
                                       static_cast<std::int64_t>(bins), weighted},
             static_cast<std::uint64_t>(most)});
}

namespace detail {

/// A tally whose slot i is the `slots[i]` of another.
inline tally::addend added(tally& from, const std::vector<std::uint32_t>& slots) {
    tally::addend out{&from, {}, slots};
    out.labelled.assign(from.labelled.cells(), plane::no_cell);
    for (std::size_t i = 0; i < slots.size() && 2 * i < out.labelled.size(); ++i) {
        if (slots[i] == group_table::none) continue;
        out.labelled[2 * i] = 2 * slots[i];
        out.labelled[2 * i + 1] = 2 * slots[i] + 1;
    }
    out.unlabelled.resize(from.unlabelled.cells(), plane::no_cell);
    return out;
}

/// Rows from bytes that are counted at once.
constexpr std::size_t most_quick_rows = 16384;

/// Slots by the numbers in the group column: names themselves, or places in
/// a list of names, of which we look up those we know.
inline std::shared_ptr<const group_lookup> lookup_for(const rows& r,
                                                      const group_table& known) {
    if (r.names == nullptr) return known.lookup();
    auto out = std::make_shared<group_lookup>();
    for (std::size_t i = 0; i < r.names->size(); ++i) {
        const std::uint32_t slot = known.slot_of((*r.names)[i]);
        if (slot != group_table::none)
            out->put(static_cast<std::int64_t>(i), static_cast<std::int32_t>(slot));
    }
    return out;
}

inline std::vector<name> names_of(const rows& r,
                                  const std::vector<std::int64_t>& values) {
    std::vector<name> out;
    for (const std::int64_t v : values)
        out.push_back(r.names != nullptr ? (*r.names)[static_cast<std::size_t>(v)]
                                         : name::of(v));
    return out;
}

template <class Float>
void add_block(tally& to, const Float* scores, const resolved_block& b,
               std::size_t n, bool has_labels, const row_load* loads, bool skip_nan,
               std::size_t row) {
    const auto first_row = static_cast<std::int64_t>(row);
    if (loads == nullptr && !b.mixed) {
        plane& p = has_labels ? to.labelled : to.unlabelled;
        to.count(p, scores, b.cells, n, skip_nan, first_row);
        return;
    }
    for (std::size_t i = 0; i < n; ++i) {
        const bool plain = has_labels && !(b.mixed && b.unlabelled[i]);
        const auto x = static_cast<double>(scores[i]);
        const row_load one = loads != nullptr ? loads[i] : row_load();
        to.count(plain ? to.labelled : to.unlabelled, &x, b.cells + i, 1, &one,
                 skip_nan, first_row + static_cast<std::int64_t>(i));
    }
}

/// Count rows `begin` to `end` into `to`. `check_room(groups)` throws where there
/// is no room for so many.
template <class Float, class Room>
void count_blocks(const rows& r, std::size_t begin, std::size_t end,
                  resolver& cells, const row_load* loads, bool skip_nan, tally& to,
                  const Room& check_room) {
    resolved_block block;
    Float copied[block_rows];
    const bool plain = r.scores.is_array_of<Float>();
    for (std::size_t i = begin, n = 0; i < end; i += n) {
        const auto bytes = cells.bytes(i);
        if (bytes && plain && loads == nullptr) {
            to.resize(cells.n_slots(), false);
            n = to.count(reinterpret_cast<const Float*>(r.scores.data) + i, *bytes,
                         std::min(most_quick_rows, end - i), skip_nan,
                         static_cast<std::int64_t>(i));
            if (n != 0) continue;
        }
        n = std::min(block_rows, end - i);
        cells.resolve(i, n, block);
        if (2 * cells.n_slots() != to.labelled.cells()) check_room(cells.n_slots());
        to.resize(cells.n_slots(), !r.labels || block.mixed);
        const Float* scores = copied;
        if (plain)
            scores = reinterpret_cast<const Float*>(r.scores.data) + i;
        else
            read_as<Float>(r.scores, i, n, copied);
        add_block(to, scores, block, n, static_cast<bool>(r.labels),
                  loads != nullptr ? loads + i : nullptr, skip_nan, i);
    }
}

/// Count some rows of a job; reads nothing that an update may change.
inline void count_part(const counting_job& j, std::size_t begin, std::size_t end,
                       const row_loads& loads, std::uint64_t memory_limit,
                       batch& out) {
    resolver cells(j.r, j.known, j.n_known, j.given ? &j.given_text : nullptr);
    if (loads.in_parts) out.counts.make_weighted();
    const row_load* of = loads.of.empty() ? nullptr : loads.of.data();
    const auto room = [&](std::size_t groups) {
        check_memory(groups, out.counts.at().bins(), loads.in_parts, memory_limit);
    };
    if (j.r.scores.type == dtype::f32)
        count_blocks<float>(j.r, begin, end, cells, of, j.skip_nan, out.counts,
                            room);
    else
        count_blocks<double>(j.r, begin, end, cells, of, j.skip_nan, out.counts,
                             room);
    out.learned = names_of(j.r, cells.learned());
}

/// Reject scores that cannot be counted; the sizes of the others, zero and NaN aside.
template <class Float>
sizes check_scores(const std::vector<Float>& scores, bool skip_nan) {
    constexpr std::size_t lanes = 16;  // no branch, and nothing waits: vectors
    const auto most = static_cast<Float>(std::min(
        greatest_score(), static_cast<double>(std::numeric_limits<Float>::max())));
    const Float inf = std::numeric_limits<Float>::infinity();
    Float far[lanes] = {};
    Float near[lanes] = {};
    Float odd[lanes] = {};
    std::fill(near, near + lanes, inf);
    const auto look = [&](std::size_t i, std::size_t lane) {
        const Float size = std::fabs(scores[i]);
        const Float not_zero = size > 0 ? size : inf;
        far[lane] = size > far[lane] ? size : far[lane];
        near[lane] = not_zero < near[lane] ? not_zero : near[lane];
        odd[lane] = size <= most ? odd[lane] : 1;
    };
    std::size_t i = 0;
    for (; i + lanes <= scores.size(); i += lanes)
        for (std::size_t lane = 0; lane < lanes; ++lane) look(i + lane, lane);
    for (; i < scores.size(); ++i) look(i, 0);
    sizes out;
    bool usual = true;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        out.add({static_cast<double>(far[lane]), static_cast<double>(near[lane])});
        usual = usual && odd[lane] == 0;
    }
    if (usual) return out;
    for (i = 0; i < scores.size(); ++i)
        check_score(static_cast<double>(scores[i]), static_cast<std::int64_t>(i),
                    skip_nan);
    return out;
}

}  // namespace detail
}  // namespace gstar
