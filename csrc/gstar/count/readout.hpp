// readout.hpp - counts of a tally in the order of groups, as plain arrays.
//
// Label 2 stands for rows without one. A cell nobody counted into has no place of
// its own yet; it reads as empty.
#pragma once

#include <cstdint>
#include <cstring>  // memcpy, memset
#include <limits>
#include <vector>

#include "gstar/count/moments.hpp"
#include "gstar/count/plane.hpp"
#include "gstar/count/tally.hpp"

namespace gstar {

/// Where the rows of one label and group are.
struct cell_place {
    const plane& p;
    std::uint32_t cell;

    cell_place(const tally& t, unsigned label, std::uint32_t slot)
        : p(label < 2 ? t.labelled : t.unlabelled),
          cell(label < 2 ? 2 * slot + label : slot) {}
    bool exists() const { return cell < p.cells(); }
};

/// Rows by group and bin, bins of one group beside each other.
inline void read_counts(const tally& t, const std::vector<std::uint32_t>& slots,
                        unsigned label, std::int64_t* to) {
    const std::uint32_t bins = t.at().bins;
    for (const std::uint32_t slot : slots) {
        const cell_place c(t, label, slot);
        const std::int64_t* from = c.exists() ? c.p.counts(c.cell) : nullptr;
        if (from != nullptr)
            std::memcpy(to, from, bins * sizeof(std::int64_t));
        else
            std::memset(to, 0, bins * sizeof(std::int64_t));
        to += bins;
    }
}

/// Mean score by group and bin; NaN where a bin has no rows.
inline void read_means(const tally& t, const std::vector<std::uint32_t>& slots,
                       unsigned label, double* to) {
    for (const std::uint32_t slot : slots) {
        const cell_place c(t, label, slot);
        for (std::uint32_t b = 0; b < t.at().bins; ++b)
            *to++ = c.exists() && c.p.count(c.cell, b) != 0
                        ? bin_mean(c.p, t.at(), c.cell, b)
                        : std::numeric_limits<double>::quiet_NaN();
    }
}

/// Rows above, or below, the window: three labels by groups.
inline void read_beyond(const tally& t, const std::vector<std::uint32_t>& slots,
                        bool above, std::int64_t* to) {
    for (unsigned label = 0; label < 3; ++label)
        for (const std::uint32_t slot : slots) {
            const cell_place c(t, label, slot);
            *to++ = !c.exists() ? 0 : above ? c.p.above(c.cell) : c.p.below(c.cell);
        }
}

/// One number a group, from `of(plane, window, cell)` of a cell with rows.
template <class Of>
void read_cells(const tally& t, const std::vector<std::uint32_t>& slots,
                unsigned label, double otherwise, double* to, Of of) {
    for (const std::uint32_t slot : slots) {
        const cell_place c(t, label, slot);
        *to++ = c.exists() && c.p.has_rows(c.cell) ? of(c.p, t.at(), c.cell)
                                                   : otherwise;
    }
}

/// One cell, as it was when it was copied.
struct cell_copy {
    plane p;
    window at;
    bool weighted;

    static cell_copy of(const tally& t, unsigned label, std::uint32_t slot) {
        const cell_place c(t, label, slot);
        return {c.p.only(c.cell), t.at(), t.weighted};
    }

    void counts(std::int64_t* to) const {
        for (std::uint32_t b = 0; b < at.bins; ++b) to[b] = p.count(0, b);
    }
    void means(double* to) const {
        for (std::uint32_t b = 0; b < at.bins; ++b)
            to[b] = p.count(0, b) != 0 ? bin_mean(p, at, 0, b)
                                       : std::numeric_limits<double>::quiet_NaN();
    }
    double extreme(bool largest) const {
        if (!p.has_rows(0)) return std::numeric_limits<double>::quiet_NaN();
        return largest ? p.hi(0) : p.lo(0);
    }
    double width() const { return at.edge(1) - at.edge(0); }
    double within() const { return spread_within(p, at, 0); }
};

}  // namespace gstar
