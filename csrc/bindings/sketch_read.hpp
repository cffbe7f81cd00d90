// sketch_read.hpp - what a sketch has counted, as NumPy arrays.
#pragma once

#include <pybind11/numpy.h>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "gstar/count/readout.hpp"
#include "names.hpp"
#include "numpy_view.hpp"
#include "sketch_core.hpp"

namespace gstar_py {

// Nothing that `look` calls may let the GIL go, as a copy of an array's values or a garbage
// collection does: another thread would wait for the sketch's lock and keep the GIL. So lists
// and tuples are built after it, and arrays inside it are new and filled here.

using gstar::plane;
using gstar::slot_list;
using gstar::tally;

inline py::array_t<double> edges_of(const gstar::window& at) {
    py::array_t<double> out(static_cast<py::ssize_t>(at.bins()) + 1);
    gstar::read_edges(at, out.mutable_data());
    return out;
}

/// Numbers by group and bin, and `more` besides, that `read` puts into a new array.
template <class T>
py::array_t<T> bins_by_group(sketch_core& s, std::size_t more, unsigned label,
                             void (*read)(const tally&, const slot_list&, unsigned,
                                          T*)) {
    return s.inner().look([&](const tally& t, const slot_list& slots) {
        auto out = new_array<T>(slots.size(), t.at().bins() + more);
        read(t, slots, label, out.mutable_data());
        return out;
    });
}

/// One number for each cell, three labels by groups, that `read` puts into a new array.
template <class T, class Read>
py::array_t<T> one_by_cell(sketch_core& s, Read read) {
    return s.inner().look([&](const tally& t, const slot_list& slots) {
        auto out = new_array<T>(3, slots.size());
        read(t, slots, out.mutable_data());
        return out;
    });
}

inline py::array_t<std::int64_t> counts_of(sketch_core& s, unsigned label) {
    return bins_by_group(s, 0, label, gstar::read_counts);
}

inline py::array_t<double> means_of(sketch_core& s, unsigned label) {
    return bins_by_group(s, 0, label, gstar::read_means);
}

/// Sums of squared weights by group and place: below, every bin, above.
inline py::array_t<double> squares_of(sketch_core& s, unsigned label) {
    return bins_by_group(s, 2, label, gstar::read_squares);
}

/// Rows above, or below, the window.
inline py::array_t<std::int64_t> beyond(sketch_core& s, bool above) {
    return one_by_cell<std::int64_t>(s, [&](auto& t, auto& slots, auto* to) {
        gstar::read_cells(t, slots, to, [&](const plane& p, std::uint32_t c) {
            return above ? p.above(c) : p.below(c);
        });
    });
}

inline py::array_t<std::int64_t> rows_of(sketch_core& s) {
    return one_by_cell<std::int64_t>(s, [](auto& t, auto& slots, auto* to) {
        gstar::read_cells(t, slots, to, [](const plane& p, std::uint32_t c) {
            return p.rows(c);
        });
    });
}

inline py::array_t<double> squared_weights(sketch_core& s) {
    return one_by_cell<double>(s, [](auto& t, auto& slots, auto* to) {
        gstar::read_squared_weights(t, slots, to);
    });
}

inline py::tuple extremes(sketch_core& s, unsigned label) {
    std::vector<double> lo;
    std::vector<double> hi;
    s.inner().look([&](const tally& t, const slot_list& slots) {
        lo.resize(slots.size());
        hi.resize(slots.size());
        gstar::read_extremes(t, slots, label, false, lo.data());
        gstar::read_extremes(t, slots, label, true, hi.data());
        return true;
    });
    return py::make_tuple(array_of(lo), array_of(hi));
}

/// Rows by bin, smallest and largest score, and their bins.
inline py::tuple pooled(sketch_core& s) {
    std::vector<std::int64_t> rows;
    const auto [lo, hi, first, last] =
        s.inner().look([&](const tally& t, const slot_list&) {
            rows.assign(t.at().bins(), 0);
            t.labelled.pool(rows.data());
            t.unlabelled.pool(rows.data());
            const auto bin = [&](double x) {
                return t.lo() <= t.hi() ? t.at().index(t.at().on().number(x)) : 0;
            };
            return std::make_tuple(t.lo(), t.hi(), bin(t.lo()), bin(t.hi()));
        });
    return py::make_tuple(array_of(rows), lo, hi, first, last);
}

inline py::tuple fullest(sketch_core& s, std::int64_t least) {
    const gstar::full_bin f =
        s.inner().look([&](const tally& t, const slot_list& slots) {
            return gstar::fullest(t, slots, least);
        });
    return py::make_tuple(f.share, f.label, f.group, f.bin);
}

/// A copy of one cell, for those who need no other.
inline gstar::cell_copy cell_of(sketch_core& s, unsigned label, py::handle group) {
    const name wanted = name_of(group);
    return s.inner().look([&](const tally& t, const slot_list&) {
        const std::uint32_t slot = s.inner().groups().slot_of(wanted);
        if (slot == gstar::group_table::none) throw py::key_error(text_of(wanted));
        return gstar::cell_copy::of(t, label, slot);
    });
}

}  // namespace gstar_py
