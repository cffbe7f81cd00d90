// bind_sketch.cpp - gstar::sketch seen from Python. No arithmetic in this file.
//
// Counting runs with the GIL released, into batches nobody else sees; adding a
// batch to the sketch runs with it held. So a fork, which needs the GIL, always
// finds sketches whole, and their locks open.
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gstar/base/factorize.hpp"
#include "gstar/count/moments.hpp"
#include "gstar/sketch.hpp"
#include "gstar/sketch_io.hpp"
#include "numpy_view.hpp"

namespace gstar_py {

using gstar::name;
using gstar::plane;
using gstar::sketch;
using gstar::tally;

namespace {

// ---- group names ------------------------------------------------------------

[[noreturn]] void refuse_name(py::handle h) {
    if (PyFloat_Check(h.ptr()) && std::isnan(PyFloat_AS_DOUBLE(h.ptr())))
        gstar::refuse_missing_group("");
    std::string kind = Py_TYPE(h.ptr())->tp_name;
    std::string cure;
    if (PyFloat_Check(h.ptr())) {
        kind = "float";
        cure =
            "; pass whole numbers as int, such as column.astype(int), and cut "
            "others into ranges";
    } else if (PyBytes_Check(h.ptr())) {
        kind = "bytes";
        cure = "; decode bytes first: name.decode(), or np.char.decode(groups)";
    }
    throw py::type_error(
        "group names must be int, str, bool or tuples of these, got " + kind +
        cure);
}

name name_of(py::handle h, bool inside = false) {
    PyObject* o = h.ptr();
    if (o == Py_None) gstar::refuse_missing_group("");
    if (PyBool_Check(o)) return name::of_bool(o == Py_True);
    if (PyUnicode_Check(o)) {
        Py_ssize_t n = 0;
        const char* text = PyUnicode_AsUTF8AndSize(o, &n);
        if (text == nullptr) {
            PyErr_Clear();
            throw py::value_error("group name " + std::string(py::repr(h)) +
                                  " is not valid Unicode");
        }
        return name::of_text(std::string(text, static_cast<std::size_t>(n)));
    }
    if (PyTuple_Check(o)) {
        const auto n = static_cast<std::size_t>(PyTuple_GET_SIZE(o));
        if (inside || n < 1 || n > 16)
            throw py::value_error("a tuple as group name has 1 to 16 names, got " +
                                  std::string(py::repr(h)));
        std::vector<name> parts;
        for (std::size_t i = 0; i < n; ++i)
            parts.push_back(
                name_of(PyTuple_GET_ITEM(o, static_cast<Py_ssize_t>(i)), true));
        return name::of_tuple(std::move(parts));
    }
    if (PyLong_Check(o)) {
        int overflow = 0;
        const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
        if (overflow != 0)
            throw py::value_error(
                "group " + std::string(py::repr(h)) +
                " does not fit into 64 bits with a sign; pass such "
                "names as strings");
        return name::of(v);
    }
    if (py::hasattr(h, "item") && py::hasattr(h, "dtype") &&
        py::cast<int>(h.attr("ndim")) == 0) {
        const py::object plain = h.attr("item")();
        if (!plain.is(h)) return name_of(plain, inside);
    }
    refuse_name(h);
}

py::object object_of(const name& n) {
    switch (n.type) {
        case name::kind::boolean: return py::bool_(n.number != 0);
        case name::kind::integer: return py::int_(n.number);
        case name::kind::text: return py::str(n.text);
        default: break;
    }
    py::tuple out(n.parts.size());
    for (std::size_t i = 0; i < n.parts.size(); ++i) out[i] = object_of(n.parts[i]);
    return out;
}

std::vector<name> names_of(const py::tuple& names) {
    std::vector<name> out;
    for (const py::handle h : names) out.push_back(name_of(h));
    return out;
}

// ---- the class --------------------------------------------------------------

/// One cell, as it was when it was copied.
struct cell_copy {
    plane p;
    gstar::window at;
    bool weighted;

    py::array_t<std::int64_t> counts() const {
        py::array_t<std::int64_t> out(at.bins);
        for (std::uint32_t b = 0; b < at.bins; ++b)
            out.mutable_data()[b] = p.count(0, b);
        return out;
    }
    py::array_t<double> means() const {
        py::array_t<double> out(at.bins);
        for (std::uint32_t b = 0; b < at.bins; ++b)
            out.mutable_data()[b] = p.count(0, b) != 0
                                        ? gstar::bin_mean(p, at, 0, b)
                                        : std::numeric_limits<double>::quiet_NaN();
        return out;
    }
    double extreme(bool largest) const {
        if (!p.has_rows(0)) return std::numeric_limits<double>::quiet_NaN();
        return largest ? p.hi(0) : p.lo(0);
    }
};

class core {
public:
    core(std::unique_ptr<sketch> s, py::object watch)
        : sketch_(std::move(s)), watch_(std::move(watch)) {}

    static std::unique_ptr<core> make(
        std::uint32_t bins, std::optional<std::pair<int, std::int64_t>> window,
        const std::optional<py::tuple>& groups, std::uint64_t memory_limit,
        py::object watch) {
        gstar::sketch_options o;
        o.at.bins = bins;
        o.memory_limit = memory_limit;
        if (window) {
            o.fixed = true;
            o.at.level = window->first;
            o.at.first = window->second;
        }
        if (groups) {
            o.given = true;
            o.groups = names_of(*groups);
        }
        return std::make_unique<core>(std::make_unique<sketch>(o),
                                      std::move(watch));
    }

    sketch& inner() { return *sketch_; }

    bool try_update(py::handle scores, py::handle labels, py::handle groups,
                    bool skip_nan, unsigned threads) {
        gstar::rows r;
        std::size_t n_labels = 0;
        std::size_t n_groups = 0;
        r.scores = column_of(scores.ptr(), r.n);
        if (!is_float(r.scores.type)) return false;
        r.groups = column_of(groups.ptr(), n_groups);
        if (!is_whole(r.groups.type) || r.groups.type == gstar::dtype::boolean)
            return false;
        if (!labels.is_none()) {
            r.labels = column_of(labels.ptr(), n_labels);
            if (!is_whole(r.labels.type) || n_labels != r.n) return false;
        }
        if (n_groups != r.n) return false;
        count(r, skip_nan, threads);
        return true;
    }

    void update(const py::array& scores, const py::object& labels,
                const py::array& codes, const std::optional<py::tuple>& names,
                const py::object& weights, bool skip_nan, unsigned threads,
                bool unlabelled_code) {
        gstar::rows r;
        std::size_t n[3] = {0, 0, 0};
        r.scores = column_of(scores.ptr(), r.n);
        r.groups = column_of(codes.ptr(), n[0]);
        n[1] = n[2] = n[0];
        if (!labels.is_none()) r.labels = column_of(labels.ptr(), n[1]);
        if (!weights.is_none()) r.weights = column_of(weights.ptr(), n[2]);
        r.two_is_unlabelled = unlabelled_code;
        if (!is_float(r.scores.type) || !is_whole(r.groups.type) ||
            (!labels.is_none() && !is_whole(r.labels.type)) ||
            (!weights.is_none() && r.weights.type != gstar::dtype::f64 &&
             !is_whole(r.weights.type)))
            throw py::type_error("update takes clean arrays only");
        if (n[0] != r.n || n[1] != r.n || n[2] != r.n)
            refuse_lengths(r, n, weights);
        std::vector<name> list;
        if (names)
            list = names_of(*names);
        else if (r.groups.type == gstar::dtype::boolean)
            list = {name::of_bool(false), name::of_bool(true)};
        if (names || r.groups.type == gstar::dtype::boolean) r.names = &list;
        count(r, skip_nan, threads);
    }

    /// Count one row; anything but a known group goes by name.
    void update_one(double score, unsigned label, PyObject* group) {
        std::int64_t slot = gstar::group_lookup::unknown;
        if (PyLong_CheckExact(group)) {
            int overflow = 0;
            const long long v = PyLong_AsLongLongAndOverflow(group, &overflow);
            if (overflow == 0) slot = sketch_->groups().find(v);
        } else if (PyUnicode_CheckExact(group)) {
            PyObject* found = PyDict_GetItemWithError(slots().ptr(), group);
            if (found != nullptr) slot = PyLong_AsLong(found);
        }
        if (slot >= 0)
            sketch_->count_one(score, label, static_cast<std::uint32_t>(slot));
        else
            sketch_->update_one(score, label, name_of(group));
        tell();
    }

    void merge(const py::object& other) {
        if (py::isinstance<core>(other)) {
            sketch_->merge(*py::cast<core&>(other).sketch_);
        } else {
            const py::bytes bytes = other.attr("to_bytes")();
            sketch_->merge(*read(bytes, std::max(sketch_->memory_limit(),
                                                 py::cast<std::uint64_t>(
                                                     other.attr("memory_limit")))));
        }
        tell();
    }

    std::unique_ptr<core> copy() {
        return std::make_unique<core>(sketch_->clone(), py::none());
    }

    std::unique_ptr<core> relabelled(const py::tuple& names) {
        return std::make_unique<core>(sketch_->relabelled(names_of(names)),
                                      py::none());
    }

    py::bytes to_bytes() {
        const std::vector<std::uint8_t> out = gstar::to_bytes(*sketch_);
        return {reinterpret_cast<const char*>(out.data()), out.size()};
    }

    static std::unique_ptr<sketch> read(const py::bytes& data,
                                        std::uint64_t limit) {
        const auto view = static_cast<std::string_view>(data);
        return gstar::from_bytes(
            {reinterpret_cast<const std::uint8_t*>(view.data()), view.size()},
            limit);
    }

    static std::unique_ptr<core> from_bytes(const py::bytes& data,
                                            std::uint64_t limit, py::object watch) {
        return std::make_unique<core>(read(data, limit), std::move(watch));
    }

    py::tuple groups() const {
        const std::vector<name> order = sketch_->groups().order();
        py::tuple out(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) out[i] = object_of(order[i]);
        return out;
    }

    /// Rows by bin, smallest and largest score, and their bins.
    py::tuple pooled() {
        const sketch::pooled p = sketch_->pool();
        const bool any = p.lo <= p.hi;
        return py::make_tuple(
            py::array_t<std::int64_t>(static_cast<py::ssize_t>(p.counts.size()),
                                      p.counts.data()),
            p.lo, p.hi, any ? gstar::bin_number(p.lo, p.at.level) - p.at.first : 0,
            any ? gstar::bin_number(p.hi, p.at.level) - p.at.first : 0);
    }

    py::array_t<std::int64_t> counts(unsigned label) {
        return sketch_->look(
            [&](const tally& t, const std::vector<std::uint32_t>& slots) {
                const std::uint32_t bins = t.at().bins;
                auto out = new_array<std::int64_t>(slots.size(), bins);
                std::int64_t* to = out.mutable_data();
                for (const std::uint32_t slot : slots) {
                    const plane& p = label < 2 ? t.labelled : t.unlabelled;
                    const std::uint32_t cell = label < 2 ? 2 * slot + label : slot;
                    const std::int64_t* from =
                        cell < p.cells() ? p.counts(cell) : nullptr;
                    if (from != nullptr)
                        std::memcpy(to, from, bins * sizeof(std::int64_t));
                    else
                        std::memset(to, 0, bins * sizeof(std::int64_t));
                    to += bins;
                }
                return out;
            });
    }

    py::array_t<double> means(unsigned label) {
        return sketch_->look(
            [&](const tally& t, const std::vector<std::uint32_t>& slots) {
                const std::uint32_t bins = t.at().bins;
                auto out = new_array<double>(slots.size(), bins);
                double* to = out.mutable_data();
                for (const std::uint32_t slot : slots) {
                    const plane& p = label < 2 ? t.labelled : t.unlabelled;
                    const std::uint32_t cell = label < 2 ? 2 * slot + label : slot;
                    for (std::uint32_t b = 0; b < bins; ++b)
                        *to++ = cell < p.cells() && p.count(cell, b) != 0
                                    ? gstar::bin_mean(p, t.at(), cell, b)
                                    : std::numeric_limits<double>::quiet_NaN();
                }
                return out;
            });
    }

    /// A copy of one cell, for those who need no other.
    cell_copy cell(unsigned label, py::handle group) {
        const name wanted = name_of(group);
        return sketch_->look(
            [&](const tally& t, const std::vector<std::uint32_t>&) {
                const std::uint32_t slot = sketch_->groups().slot_of(wanted);
                if (slot == gstar::group_table::none)
                    throw py::key_error(text_of(wanted));
                const bool plain = label < 2;
                return cell_copy{plain ? t.labelled.only(2 * slot + label)
                                       : t.unlabelled.only(slot),
                                 t.at(), t.weighted};
            });
    }

    py::array_t<std::int64_t> beyond(bool above) {
        return sketch_->look([&](const tally& t,
                                 const std::vector<std::uint32_t>& slots) {
            auto out = new_array<std::int64_t>(3, slots.size());
            std::int64_t* to = out.mutable_data();
            for (unsigned label = 0; label < 3; ++label) {
                const plane& p = label < 2 ? t.labelled : t.unlabelled;
                for (const std::uint32_t slot : slots) {
                    const std::uint32_t cell = label < 2 ? 2 * slot + label : slot;
                    *to++ = cell >= p.cells() ? 0
                            : above           ? p.above(cell)
                                              : p.below(cell);
                }
            }
            return out;
        });
    }

    /// One number a group, from `of(plane, window, cell)` of a cell with rows.
    template <class Of>
    py::array_t<double> of_cells(unsigned label, double otherwise, Of of) {
        return sketch_->look([&](const tally& t,
                                 const std::vector<std::uint32_t>& slots) {
            py::array_t<double> out(static_cast<py::ssize_t>(slots.size()));
            double* to = out.mutable_data();
            const plane& p = label < 2 ? t.labelled : t.unlabelled;
            for (const std::uint32_t slot : slots) {
                const std::uint32_t cell = label < 2 ? 2 * slot + label : slot;
                *to++ = cell < p.cells() && p.has_rows(cell) ? of(p, t.at(), cell)
                                                             : otherwise;
            }
            return out;
        });
    }

    py::tuple extremes(unsigned label) {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        return py::make_tuple(of_cells(label, nan,
                                       [](const plane& p, const gstar::window&,
                                          std::uint32_t c) { return p.lo(c); }),
                              of_cells(label, nan,
                                       [](const plane& p, const gstar::window&,
                                          std::uint32_t c) { return p.hi(c); }));
    }

    py::array_t<double> within(unsigned label) {
        return of_cells(label, 0.0, gstar::spread_within);
    }

private:
    void count(const gstar::rows& r, bool skip_nan, unsigned threads) {
        if (sketch_->is_small(r)) {
            sketch_->update_small(r, skip_nan);
        } else {
            sketch::job j = sketch_->prepare(r, skip_nan, threads);
            {
                const py::gil_scoped_release unlocked;
                sketch_->run(j);
            }
            sketch_->commit(j);
        }
        tell();
    }

    [[noreturn]] static void refuse_lengths(const gstar::rows& r,
                                            const std::size_t* n,
                                            const py::object& weights) {
        std::string text =
            "arrays differ in length: scores has " + std::to_string(r.n);
        if (r.labels) text += ", labels has " + std::to_string(n[1]);
        text += ", groups has " + std::to_string(n[0]);
        if (!weights.is_none()) text += ", weights has " + std::to_string(n[2]);
        throw py::value_error(text);
    }

    /// Slots of groups named by strings, for `update_one`.
    py::dict& slots() {
        const auto& names = sketch_->groups().names();
        for (; n_slots_ < names.size(); ++n_slots_)
            if (names[n_slots_].type == name::kind::text)
                slots_[object_of(names[n_slots_])] = n_slots_;
        return slots_;
    }

    /// Call `watch` when the level changed or the rows doubled.
    void tell() {
        const std::int64_t total = sketch_->total();
        if (sketch_->level() == told_level_ && total < next_told_) return;
        if (total == 0 || watch_.is_none()) return;
        told_level_ = sketch_->level();
        const std::int64_t most = std::numeric_limits<std::int64_t>::max();
        next_told_ = total > most / 2 ? most : 2 * total;
        watch_();
    }

    std::unique_ptr<sketch> sketch_;
    py::object watch_;
    py::dict slots_;
    std::size_t n_slots_ = 0;
    int told_level_ = std::numeric_limits<int>::min();
    std::int64_t next_told_ = 0;
};

// ---- update_one, called once a row: no pybind11 on the way in ----------------

/// 0 or 1, or 2 for None; anything else raises.
unsigned label_of(PyObject* label) {
    if (PyLong_CheckExact(label)) {
        const long v = PyLong_AsLong(label);
        if (v == 0 || v == 1) return static_cast<unsigned>(v);
        PyErr_Clear();  // too large for a long
    }
    if (label == Py_None) return 2;
    if (py::hasattr(label, "item") && py::hasattr(label, "dtype")) {
        const py::object plain = py::handle(label).attr("item")();
        if (plain.ptr() != label) return label_of(plain.ptr());
    }
    if (PyFloat_Check(label)) {
        const double v = PyFloat_AS_DOUBLE(label);
        if (v != 0 && v != 1) gstar::refuse_label(std::string(py::str(label)), -1);
        return v == 1 ? 1 : 0;
    }
    if (!PyLong_Check(label))
        throw py::type_error("label must be 0, 1 or None, got " +
                             std::string(Py_TYPE(label)->tp_name));
    int overflow = 0;
    const long v = PyLong_AsLongAndOverflow(label, &overflow);
    if (overflow != 0 || v < 0 || v > 1)
        gstar::refuse_label(std::string(py::str(label)), -1);
    return static_cast<unsigned>(v);
}

/// A number as float64; one that is finite and too large for it raises.
double score_of(PyObject* score) {
    if (PyFloat_CheckExact(score)) return PyFloat_AS_DOUBLE(score);
    const bool is_bool = PyBool_Check(score);
    const double x = is_bool ? -1.0 : PyFloat_AsDouble(score);
    const bool failed = is_bool || (x == -1.0 && PyErr_Occurred() != nullptr);
    const bool too_large =
        failed && !is_bool && PyErr_ExceptionMatches(PyExc_OverflowError) != 0;
    if (failed) PyErr_Clear();
    // A Decimal becomes infinite without a word.
    if (too_large || (std::isinf(x) && !py::handle(score).equal(py::float_(x))))
        gstar::refuse_huge(std::string(py::repr(score)), -1);
    if (failed)
        throw py::type_error("score must be a number, got " +
                             std::string(Py_TYPE(score)->tp_name));
    return x;
}

/// The arguments in order, whether they came by place or by name.
bool take_arguments(PyObject* const* args, Py_ssize_t n, PyObject* names,
                    PyObject** out) {
    static const char* const words[3] = {"score", "label", "group"};
    if (n > 3) return false;
    for (Py_ssize_t i = 0; i < n; ++i) out[i] = args[i];
    const Py_ssize_t n_names = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < n_names; ++i) {
        int place = 0;
        while (place < 3 && PyUnicode_CompareWithASCIIString(
                                PyTuple_GET_ITEM(names, i), words[place]) != 0)
            ++place;
        if (place == 3 || out[place] != nullptr) return false;
        out[place] = args[n + i];
    }
    return out[0] != nullptr && out[1] != nullptr && out[2] != nullptr;
}

PyObject* update_one(PyObject* self, PyObject* const* args, Py_ssize_t n,
                     PyObject* names) {
    PyObject* given[3] = {nullptr, nullptr, nullptr};
    if (!take_arguments(args, n, names, given)) {
        PyErr_SetString(PyExc_TypeError, "update_one takes score, label and group");
        return nullptr;
    }
    try {
        // A bound object of one C++ class keeps its pointer in this place.
        auto* const instance = reinterpret_cast<py::detail::instance*>(self);
        auto* const c = static_cast<core*>(instance->simple_value_holder[0]);
        c->update_one(score_of(given[0]), label_of(given[1]), given[2]);
        Py_RETURN_NONE;
    } catch (py::error_already_set& e) {
        e.restore();
    } catch (const py::builtin_exception& e) {
        e.set_error();
    } catch (const std::invalid_argument& e) {
        PyErr_SetString(PyExc_ValueError, e.what());
    } catch (const gstar::memory_limit_error& e) {
        PyErr_SetString(PyExc_MemoryError, e.what());
    } catch (const gstar::type_error& e) {
        PyErr_SetString(PyExc_TypeError, e.what());
    } catch (const std::overflow_error& e) {
        PyErr_SetString(PyExc_OverflowError, e.what());
    } catch (const std::exception& e) {
        PyErr_SetString(PyExc_RuntimeError, e.what());
    }
    return nullptr;
}

PyMethodDef update_one_method = {
    "update_one",
    reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(update_one)),
    METH_FASTCALL | METH_KEYWORDS,
    "Count one row: score, label (None: not known), group."};

}  // namespace

void bind_sketch(py::module_& m) {
    using namespace py::literals;
    py::register_exception_translator([](std::exception_ptr p) {
        try {
            if (p) std::rethrow_exception(std::move(p));
        } catch (const gstar::memory_limit_error& e) {
            PyErr_SetString(PyExc_MemoryError, e.what());
        } catch (const gstar::type_error& e) {
            PyErr_SetString(PyExc_TypeError, e.what());
        }
    });
    m.def(
        "unique_rows",
        [](const py::array_t<std::uint8_t, py::array::c_style>& raw) {
            if (raw.ndim() != 2) throw py::value_error("raw must be 2-D");
            py::array_t<std::int32_t> codes(raw.shape(0));
            const auto* from = reinterpret_cast<const char*>(raw.data());
            std::int32_t* const to = codes.mutable_data();
            std::vector<std::int64_t> firsts;
            {
                const py::gil_scoped_release unlocked;
                firsts =
                    gstar::factorize(from, static_cast<std::size_t>(raw.shape(0)),
                                     static_cast<std::size_t>(raw.shape(1)), to);
            }
            return py::make_tuple(
                codes, py::array_t<std::int64_t>(
                           static_cast<py::ssize_t>(firsts.size()), firsts.data()));
        },
        "Number the distinct rows of a byte matrix; also the first row of each.");
    py::class_<cell_copy>(m, "CellCopy")
        .def_property_readonly("counts", &cell_copy::counts)
        .def_property_readonly("means", &cell_copy::means)
        .def_property_readonly("below",
                               [](const cell_copy& c) { return c.p.below(0); })
        .def_property_readonly("above",
                               [](const cell_copy& c) { return c.p.above(0); })
        .def_property_readonly("min",
                               [](const cell_copy& c) { return c.extreme(false); })
        .def_property_readonly("max",
                               [](const cell_copy& c) { return c.extreme(true); })
        .def_readonly("weighted", &cell_copy::weighted)
        .def_property_readonly("first_edge",
                               [](const cell_copy& c) { return c.at.edge(0); })
        .def_property_readonly(
            "width", [](const cell_copy& c) { return c.at.edge(1) - c.at.edge(0); })
        .def_property_readonly("within", [](const cell_copy& c) {
            return gstar::spread_within(c.p, c.at, 0);
        });
    py::class_<core> c(m, "SketchCore");
    c.def(py::init(&core::make), "bins"_a, "window"_a = py::none(),
          "groups"_a = py::none(), "memory_limit"_a = std::uint64_t{1} << 30,
          "watch"_a = py::none())
        .def("try_update", &core::try_update)
        .def("update", &core::update, "scores"_a, "labels"_a, "codes"_a, "names"_a,
             "weights"_a, "skip_nan"_a, "threads"_a, "unlabelled_code"_a = false)
        .def("merge", &core::merge)
        .def("copy", &core::copy)
        .def("relabelled", &core::relabelled)
        .def("to_bytes", &core::to_bytes)
        .def_static("from_bytes", &core::from_bytes, "data"_a, "memory_limit"_a,
                    "watch"_a = py::none())
        .def("pooled", &core::pooled)
        .def("counts", &core::counts)
        .def("means", &core::means)
        .def("cell", &core::cell)
        .def("below", [](core& s) { return s.beyond(false); })
        .def("above", [](core& s) { return s.beyond(true); })
        .def("extremes", &core::extremes)
        .def("within", &core::within)
        .def_property_readonly("groups", &core::groups)
        .def_property_readonly("bins", [](core& s) { return s.inner().bins(); })
        .def_property_readonly("level", [](core& s) { return s.inner().level(); })
        .def_property_readonly("first",
                               [](core& s) { return s.inner().at().first; })
        .def_property_readonly("given",
                               [](core& s) { return s.inner().groups().given(); })
        .def_property_readonly("fixed", [](core& s) { return s.inner().fixed(); })
        .def_property_readonly("weighted",
                               [](core& s) { return s.inner().weighted(); })
        .def_property_readonly("total", [](core& s) { return s.inner().total(); })
        .def_property_readonly("skipped",
                               [](core& s) { return s.inner().skipped(); })
        .def_property_readonly("memory_limit",
                               [](core& s) { return s.inner().memory_limit(); });
    const auto method = py::reinterpret_steal<py::object>(PyDescr_NewMethod(
        reinterpret_cast<PyTypeObject*>(c.ptr()), &update_one_method));
    if (!method) throw py::error_already_set();
    c.attr("update_one") = method;
}

}  // namespace gstar_py
