// sketch_read.hpp - what a sketch has counted, as NumPy arrays.
#pragma once

#include <pybind11/numpy.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gstar/count/readout.hpp"
#include "names.hpp"
#include "numpy_view.hpp"
#include "sketch_core.hpp"

namespace gstar_py {

using gstar::plane;
using gstar::slot_list;
using gstar::tally;

inline py::array_t<double> edges_of(const gstar::window& at) {
    py::array_t<double> out(static_cast<py::ssize_t>(at.bins()) + 1);
    gstar::read_edges(at, out.mutable_data());
    return out;
}

inline py::array_t<std::int64_t> counts_of(sketch_core& s, unsigned label) {
    return s.inner().look([&](const tally& t, const slot_list& slots) {
        auto out = new_array<std::int64_t>(slots.size(), t.at().bins());
        gstar::read_counts(t, slots, label, out.mutable_data());
        return out;
    });
}

inline py::array_t<double> means_of(sketch_core& s, unsigned label) {
    return s.inner().look([&](const tally& t, const slot_list& slots) {
        auto out = new_array<double>(slots.size(), t.at().bins());
        gstar::read_means(t, slots, label, out.mutable_data());
        return out;
    });
}

/// Rows above, or below, the window: three labels by groups.
inline py::array_t<std::int64_t> beyond(sketch_core& s, bool above) {
    return s.inner().look([&](const tally& t, const slot_list& slots) {
        auto out = new_array<std::int64_t>(3, slots.size());
        gstar::read_cells(t, slots, out.mutable_data(),
                          [&](const plane& p, std::uint32_t c) {
                              return above ? p.above(c) : p.below(c);
                          });
        return out;
    });
}

/// Number of rows, three labels by groups.
inline py::array_t<std::int64_t> rows_of(sketch_core& s) {
    return s.inner().look([&](const tally& t, const slot_list& slots) {
        auto out = new_array<std::int64_t>(3, slots.size());
        gstar::read_cells(
            t, slots, out.mutable_data(),
            [](const plane& p, std::uint32_t c) { return p.rows(c); });
        return out;
    });
}

/// Sums of squared weights, three labels by groups.
inline py::array_t<double> squared_weights(sketch_core& s) {
    return s.inner().look([&](const tally& t, const slot_list& slots) {
        auto out = new_array<double>(3, slots.size());
        gstar::read_squared_weights(t, slots, out.mutable_data());
        return out;
    });
}

/// The same of one label by group and place: below, every bin, above.
inline py::array_t<double> squares_of(sketch_core& s, unsigned label) {
    return s.inner().look([&](const tally& t, const slot_list& slots) {
        auto out = new_array<double>(slots.size(), t.at().bins() + 2);
        gstar::read_squares(t, slots, label, out.mutable_data());
        return out;
    });
}

inline py::tuple extremes(sketch_core& s, unsigned label) {
    return s.inner().look([&](const tally& t, const slot_list& slots) {
        py::array_t<double> lo(static_cast<py::ssize_t>(slots.size()));
        py::array_t<double> hi(static_cast<py::ssize_t>(slots.size()));
        gstar::read_extremes(t, slots, label, false, lo.mutable_data());
        gstar::read_extremes(t, slots, label, true, hi.mutable_data());
        return py::make_tuple(lo, hi);
    });
}

/// Rows by bin, smallest and largest score, and their bins.
inline py::tuple pooled(sketch_core& s) {
    return s.inner().look([&](const tally& t, const slot_list&) {
        std::vector<std::int64_t> rows(t.at().bins(), 0);
        t.labelled.pool(rows.data());
        t.unlabelled.pool(rows.data());
        const auto bin = [&](double x) {
            return t.lo() <= t.hi() ? t.at().index(t.at().on().number(x)) : 0;
        };
        return py::make_tuple(
            py::array_t<std::int64_t>(static_cast<py::ssize_t>(rows.size()),
                                      rows.data()),
            t.lo(), t.hi(), bin(t.lo()), bin(t.hi()));
    });
}

inline py::tuple fullest(sketch_core& s, std::int64_t least) {
    return s.inner().look([&](const tally& t, const slot_list& slots) {
        const gstar::full_bin f = gstar::fullest(t, slots, least);
        return py::make_tuple(f.share, f.label, f.group, f.bin);
    });
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
