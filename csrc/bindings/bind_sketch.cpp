// bind_sketch.cpp - gstar::sketch seen from Python. No arithmetic in this file.
#include <cmath>  // isfinite
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>  // exchange
#include <vector>

#include "errors.hpp"
#include "fastcall.hpp"
#include "sketch_core.hpp"
#include "sketch_read.hpp"

namespace gstar_py {

namespace {

// ---- update_one, called once a row: no pybind11 on the way in ----------------

unsigned label_of(PyObject* label) {
    if (label == Py_None) return 2;
    if (PyLong_CheckExact(label)) {
        int overflow = 0;
        const long v = PyLong_AsLongAndOverflow(label, &overflow);
        if (overflow == 0 && (v == 0 || v == 1)) return static_cast<unsigned>(v);
    }
    static python_function clean("gstar_fast._backends.common.rows", "label_of");
    return py::cast<unsigned>(clean(py::handle(label)));
}

/// Whether a number of another kind becomes a finite float.
bool as_finite(PyObject* number, double& out) {
    out = PyFloat_AsDouble(number);
    if (out != -1.0 || PyErr_Occurred() == nullptr) return std::isfinite(out);
    PyErr_Clear();
    return false;
}

/// A score; Python says which kinds of numbers are scores.
double score_of(PyObject* score) {
    if (PyFloat_Check(score)) return PyFloat_AS_DOUBLE(score);
    static PyTypeObject* known = nullptr;  // the last kind that Python took, owned
    double x = 0;
    if (Py_TYPE(score) == known && as_finite(score, x)) return x;
    static python_function clean("gstar_fast._backends.common.rows", "score_of");
    x = py::cast<double>(clean(py::handle(score)));
    Py_INCREF(Py_TYPE(score));
    Py_XDECREF(std::exchange(known, Py_TYPE(score)));
    return x;
}

/// Whether the argument is missing or the int 1.
bool is_one(PyObject* number) {
    if (number == nullptr) return true;
    if (PyFloat_CheckExact(number)) return PyFloat_AS_DOUBLE(number) == 1.0;
    int overflow = 0;
    return PyLong_CheckExact(number) &&
           PyLong_AsLongAndOverflow(number, &overflow) == 1;
}

/// How much a row counts; the Python code checks weights and repeats.
gstar::row_weight weight_of(PyObject* weight, PyObject* repeats) {
    if (is_one(weight) && is_one(repeats)) return {};
    if (weight != nullptr && PyFloat_CheckExact(weight) && is_one(repeats)) {
        const double w = PyFloat_AS_DOUBLE(weight);
        if (w >= 0 && w < 1e12) return {1, gstar::detail::parts_of_weight(w, -1)};
    }
    static python_function clean("gstar_fast._backends.common.rows", "load_of");
    const py::int_ one(1);
    const auto [rows, parts] = py::cast<std::pair<std::uint64_t, std::uint64_t>>(
        clean(weight == nullptr ? py::handle(one) : py::handle(weight),
              repeats == nullptr ? py::handle(one) : py::handle(repeats)));
    return {rows, parts};
}

PyObject* update_one(PyObject* self, PyObject* const* args, Py_ssize_t n,
                     PyObject* names) {
    static const char* const words[5] = {"score", "label", "group", "weight",
                                         "repeats"};
    PyObject* given[5] = {};
    if (n > 3 || !take(args, n, names, words, given) || given[0] == nullptr ||
        given[1] == nullptr || given[2] == nullptr) {
        PyErr_SetString(
            PyExc_TypeError,
            "update_one takes score, label and group, and the keywords weight "
            "and repeats");
        return nullptr;
    }
    return guarded([&] {
        // A bound object of one C++ class keeps its pointer in this place.
        auto* const instance = reinterpret_cast<py::detail::instance*>(self);
        auto* const c = static_cast<sketch_core*>(instance->simple_value_holder[0]);
        c->update_one(score_of(given[0]), label_of(given[1]), given[2],
                      weight_of(given[3], given[4]));
        Py_RETURN_NONE;
    });
}

PyMethodDef update_one_method = {
    "update_one", as_method(update_one), METH_FASTCALL | METH_KEYWORDS,
    "Count one row: score, label (None if not known), group, weight, repeats."};

// ---- reading ----------------------------------------------------------------

template <class T>
py::array_t<T> bins_of(const gstar::cell_copy& c,
                       void (gstar::cell_copy::*read)(T*) const) {
    py::array_t<T> out(c.at.bins());
    (c.*read)(out.mutable_data());
    return out;
}

void bind_cell(py::module_& m) {
    using gstar::cell_copy;
    py::class_<cell_copy>(m, "CellCopy")
        .def_property_readonly(
            "counts",
            [](const cell_copy& c) { return bins_of(c, &cell_copy::counts); })
        .def_property_readonly(
            "means",
            [](const cell_copy& c) { return bins_of(c, &cell_copy::means); })
        .def_property_readonly("below",
                               [](const cell_copy& c) { return c.p.below(0); })
        .def_property_readonly("above",
                               [](const cell_copy& c) { return c.p.above(0); })
        .def_property_readonly("min",
                               [](const cell_copy& c) { return c.extreme(false); })
        .def_property_readonly("max",
                               [](const cell_copy& c) { return c.extreme(true); })
        .def_readonly("weighted", &cell_copy::weighted)
        .def_property_readonly("edges",
                               [](const cell_copy& c) { return edges_of(c.at); });
}

/// What the sketch itself says.
template <auto Read>
auto of_sketch(sketch_core& s) {
    return (s.inner().*Read)();
}

}  // namespace

void bind_sketch(py::module_& m);

void bind_sketch(py::module_& m) {
    using namespace py::literals;
    using core = sketch_core;
    bind_cell(m);
    py::class_<core> c(m, "SketchCore");
    c.def(py::init(&core::make), "bins"_a, "window"_a = py::none(),
          "groups"_a = py::none(), "memory_limit"_a = std::uint64_t{1} << 30,
          "watch"_a = py::none())
        .def("try_update", &core::try_update)
        .def("update", &core::update, "scores"_a, "labels"_a, "codes"_a, "names"_a,
             "weights"_a, "skip_nan"_a, "threads"_a, "unlabelled_code"_a = false,
             "repeats"_a = py::none())
        .def("merge", &core::merge)
        .def("copy", &core::copy)
        .def("relabelled", &core::relabelled)
        .def("to_bytes", &core::to_bytes)
        .def_static("from_bytes", &core::from_bytes, "data"_a, "memory_limit"_a,
                    "watch"_a = py::none())
        .def("row_bytes", &core::row_bytes)
        .def("merge_bytes", &core::merge_bytes)
        .def("set_sections", &core::set_sections)
        .def_property_readonly("sections", &core::sections)
        .def("pooled", &pooled)
        .def("fullest", &fullest, py::arg("least") = 1)
        .def("rows", &rows_of)
        .def("squared_weights", &squared_weights)
        .def("squares", &squares_of)
        .def("counts", &counts_of)
        .def("means", &means_of)
        .def("cell", &cell_of)
        .def("below", [](core& s) { return beyond(s, false); })
        .def("above", [](core& s) { return beyond(s, true); })
        .def("extremes", &extremes)
        .def_property_readonly("edges",
                               [](core& s) { return edges_of(s.inner().at()); })
        .def_property_readonly("groups", &core::groups)
        .def_property_readonly("bins", of_sketch<&sketch::bins>)
        .def_property_readonly("level",
                               [](core& s) { return s.inner().at().level(); })
        .def_property_readonly("first",
                               [](core& s) {
                                   const auto& in = s.inner();
                                   return in.fixed() ? in.at().first() : 0;
                               })
        .def_property_readonly("given",
                               [](core& s) { return s.inner().groups().given(); })
        .def_property_readonly("fixed", of_sketch<&sketch::fixed>)
        .def_property_readonly("weighted", of_sketch<&sketch::weighted>)
        .def_property_readonly("total", of_sketch<&sketch::total>)
        .def_property_readonly("skipped", of_sketch<&sketch::skipped>)
        .def_property_readonly("memory_limit", of_sketch<&sketch::memory_limit>);
    const auto method = py::reinterpret_steal<py::object>(PyDescr_NewMethod(
        reinterpret_cast<PyTypeObject*>(c.ptr()), &update_one_method));
    if (!method) throw py::error_already_set();
    c.attr("update_one") = method;
}

}  // namespace gstar_py
