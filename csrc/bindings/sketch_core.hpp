// sketch_core.hpp - gstar::sketch as Python holds it: who is told of news, and
// when the GIL is released.
//
// Counting runs with the GIL released, into batches nobody else sees; adding a
// batch to the sketch runs with it held. So a fork, which needs the GIL, always
// finds sketches whole, and their locks open.
#pragma once

#include <algorithm>  // max
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "gstar/count/watch.hpp"
#include "gstar/sketch.hpp"
#include "gstar/sketch_io.hpp"
#include "known_texts.hpp"
#include "names.hpp"
#include "numpy_view.hpp"

namespace gstar_py {

using gstar::sketch;

class sketch_core {
public:
    sketch_core(std::unique_ptr<sketch> s, py::object watch)
        : sketch_(std::move(s)), watch_(std::move(watch)) {}

    static std::unique_ptr<sketch_core> make(
        std::uint32_t bins, std::optional<std::pair<int, std::int64_t>> window,
        const std::optional<py::tuple>& groups, std::uint64_t memory_limit,
        py::object watch) {
        gstar::sketch_options o;
        o.at = gstar::no_window(bins);
        o.memory_limit = memory_limit;
        if (window) {
            o.fixed = true;
            o.at = gstar::window::linear(window->first, window->second, bins);
        }
        if (groups) {
            o.given = true;
            o.groups = names_of(*groups);
        }
        return std::make_unique<sketch_core>(std::make_unique<sketch>(o),
                                             std::move(watch));
    }

    sketch& inner() { return *sketch_; }

    // ---- counting -----------------------------------------------------------

    /// Count plain arrays of one length, or a few rows of known groups that are named
    /// by strings; false, with nothing counted, for others.
    bool try_update(py::handle scores, py::handle labels, py::handle groups,
                    bool skip_nan, unsigned threads) {
        gstar::rows r;
        std::size_t n_labels = 0;
        std::size_t n_groups = 0;
        r.scores = column_of(scores.ptr(), r.n);
        if (!is_float(r.scores.type)) return false;
        if (!labels.is_none()) {
            r.labels = column_of(labels.ptr(), n_labels);
            if (!is_whole(r.labels.type) || n_labels != r.n) return false;
        }
        r.groups = column_of(groups.ptr(), n_groups);
        std::vector<std::int64_t> places;
        std::vector<name> used;
        if (!is_number(r.groups.type)) {
            if (!known_names(groups.ptr(), places, used)) return false;
            n_groups = places.size();
            r.groups = {reinterpret_cast<const char*>(places.data()),
                        sizeof(std::int64_t), gstar::dtype::i64};
            r.names = &used;
        }
        if (n_groups != r.n) return false;
        count(r, skip_nan, threads);
        return true;
    }

    /// Count arrays that Python has cleaned.
    void update(const py::array& scores, const py::object& labels,
                const py::array& codes, const std::optional<py::tuple>& names,
                const py::object& weights, bool skip_nan, unsigned threads,
                bool unlabelled_code, const py::object& repeats) {
        gstar::rows r;
        std::size_t n[4] = {0, 0, 0, 0};
        r.scores = column_of(scores.ptr(), r.n);
        r.groups = column_of(codes.ptr(), n[0]);
        n[1] = n[2] = n[3] = n[0];
        if (!labels.is_none()) r.labels = column_of(labels.ptr(), n[1]);
        if (!weights.is_none()) r.weights = column_of(weights.ptr(), n[2]);
        if (!repeats.is_none()) r.repeats = column_of(repeats.ptr(), n[3]);
        r.two_is_unlabelled = unlabelled_code;
        const auto is_real = [](const py::object& given, const gstar::column& c) {
            return given.is_none() || c.type == gstar::dtype::f64 ||
                   is_whole(c.type);
        };
        if (!is_float(r.scores.type) || !is_number(r.groups.type) ||
            (!labels.is_none() && !is_whole(r.labels.type)) ||
            !is_real(weights, r.weights) || !is_real(repeats, r.repeats) ||
            n[0] != r.n || n[1] != r.n || n[2] != r.n || n[3] != r.n)
            throw py::type_error("update takes clean arrays of one length only");
        std::vector<name> list;
        if (names) {
            list = names_of(*names);
            r.names = &list;
        }
        count(r, skip_nan, threads);
    }

    /// Count one row; anything but a known group goes by name.
    void update_one(double score, unsigned label, PyObject* group,
                    const gstar::row_weight& row) {
        std::int64_t slot = gstar::group_lookup::unknown;
        if (PyLong_CheckExact(group)) {
            int overflow = 0;
            const long long v = PyLong_AsLongLongAndOverflow(group, &overflow);
            if (overflow == 0) slot = sketch_->groups().find(v);
        } else if (PyUnicode_CheckExact(group)) {
            texts_.learn(sketch_->groups().names());
            slot = texts_.find(group);
        }
        if (slot >= 0)
            sketch_->count_one(score, label, static_cast<std::uint32_t>(slot), row);
        else
            sketch_->update_one(score, label, name_of(group), row);
        tell();
    }

    void merge(const py::object& other) {
        if (py::isinstance<sketch_core>(other)) {
            sketch_->merge(*py::cast<sketch_core&>(other).sketch_);
        } else {
            const py::bytes bytes = other.attr("to_bytes")();
            sketch_->merge(*read(bytes, std::max(sketch_->memory_limit(),
                                                 py::cast<std::uint64_t>(
                                                     other.attr("memory_limit")))));
        }
        tell();
    }

    std::unique_ptr<sketch_core> copy() {
        return std::make_unique<sketch_core>(sketch_->clone(), py::none());
    }

    std::unique_ptr<sketch_core> relabelled(const py::tuple& names) {
        return std::make_unique<sketch_core>(sketch_->relabelled(names_of(names)),
                                             py::none());
    }

    // ---- bytes --------------------------------------------------------------

    py::bytes to_bytes() { return bytes_of(gstar::to_bytes(*sketch_)); }
    py::bytes row_bytes() { return bytes_of(gstar::row_bytes(*sketch_)); }

    py::tuple merge_bytes(const py::bytes& data) {
        py::tuple told =
            tuple_of_sections(gstar::merge_bytes(*sketch_, view_of(data)));
        tell();
        return told;
    }

    static std::unique_ptr<sketch_core> from_bytes(const py::bytes& data,
                                                   std::uint64_t limit,
                                                   py::object watch) {
        return std::make_unique<sketch_core>(read(data, limit), std::move(watch));
    }

    py::tuple sections() const { return tuple_of_sections(sketch_->sections()); }

    void set_sections(
        const std::vector<std::tuple<std::uint64_t, bool, py::bytes>>& all) {
        gstar::sections out;
        for (const auto& [type, needed, content] : all)
            out.push_back({type, needed, std::string(content)});
        sketch_->set_sections(std::move(out));
    }

    py::tuple groups() const { return tuple_of(sketch_->groups().order()); }

private:
    static gstar::span<const std::uint8_t> view_of(const py::bytes& data) {
        const auto view = static_cast<std::string_view>(data);
        return {reinterpret_cast<const std::uint8_t*>(view.data()), view.size()};
    }
    /// (type, needed, content) of each section.
    static py::tuple tuple_of_sections(const gstar::sections& all) {
        py::list out;
        for (const gstar::section& s : all)
            out.append(py::make_tuple(s.type, s.needed, py::bytes(s.content)));
        return py::tuple(out);
    }
    static py::bytes bytes_of(const std::vector<std::uint8_t>& out) {
        return {reinterpret_cast<const char*>(out.data()), out.size()};
    }
    static std::unique_ptr<sketch> read(const py::bytes& data,
                                        std::uint64_t limit) {
        return gstar::from_bytes(view_of(data), limit);
    }

    void count(const gstar::rows& r, bool skip_nan, unsigned threads) {
        if (sketch_->is_small(r)) {
            sketch_->update_small(r, skip_nan);
        } else {
            for (bool added = false; !added;) {
                sketch::job j = sketch_->prepare(r, skip_nan, threads);
                {
                    const py::gil_scoped_release unlocked;
                    sketch_->run(j);
                }
                added = sketch_->commit(j);
            }
        }
        tell();
    }

    /// The groups of some rows as places in `used`, the names that occur.
    bool known_names(PyObject* groups, std::vector<std::int64_t>& places,
                     std::vector<name>& used) {
        const std::vector<name>& names = sketch_->groups().names();
        texts_.learn(names);
        if (names.empty() || !texts_.find_all(groups, places)) return false;
        std::vector<std::int64_t> place(names.size(), known_texts::unknown);
        for (std::int64_t& row : places) {
            std::int64_t& mine = place[static_cast<std::size_t>(row)];
            if (mine < 0) {
                mine = static_cast<std::int64_t>(used.size());
                used.push_back(names[static_cast<std::size_t>(row)]);
            }
            row = mine;
        }
        return true;
    }

    void tell() {
        if (!watch_.is_none() && news_.tell(sketch_->at().on(), sketch_->total()))
            watch_();
    }

    std::unique_ptr<sketch> sketch_;
    py::object watch_;
    gstar::news news_;
    known_texts texts_;
};

}  // namespace gstar_py
