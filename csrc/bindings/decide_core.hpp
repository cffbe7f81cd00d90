// decide_core.hpp - one set of thresholds as Python holds it: one row and many.
//
// A raw type, because what pybind11 does around a call takes longer than a
// decision. No arithmetic in this file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "errors.hpp"
#include "fastcall.hpp"
#include "gstar/decide.hpp"
#include "gstar/thresholds_io.hpp"
#include "names.hpp"
#include "numpy_view.hpp"

namespace gstar_py {

using gstar::decide_options;
using gstar::decider;

/// Rows from which on other threads may run meanwhile.
constexpr std::size_t many_rows = 4096;

struct core {
    decider what;
    py::dict table;  ///< name -> threshold, for one row at a time
};

struct core_object {
    PyObject_HEAD vectorcallfunc call;
    core* inside;
};

inline core& inside(PyObject* self) {
    return *reinterpret_cast<core_object*>(self)->inside;
}

inline std::uint64_t hash_of(PyObject* key) {
    if (PyUnicode_Check(key)) {
        Py_ssize_t n = 0;
        const char* text = PyUnicode_AsUTF8AndSize(key, &n);
        if (text == nullptr) throw py::error_already_set();
        return gstar::hash_key(std::string_view(text, static_cast<std::size_t>(n)));
    }
    if (PyBytes_Check(key))
        return gstar::hash_key(
            std::string_view(PyBytes_AS_STRING(key),
                             static_cast<std::size_t>(PyBytes_GET_SIZE(key))));
    const auto whole = py::reinterpret_steal<py::object>(PyNumber_Index(key));
    if (!whole) {
        PyErr_Clear();
        refuse("key_type", "key", key);
    }
    int overflow = 0;
    const long long v = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
    if (overflow == 0) return gstar::hash_key(static_cast<std::uint64_t>(v));
    const unsigned long long u = PyLong_AsUnsignedLongLong(whole.ptr());
    if (PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        refuse("key_size", "key", whole);
    }
    return gstar::hash_key(u);
}

// ---- one row ----------------------------------------------------------------

/// The number that stands for a group. A whole number is refused: it may be the
/// segment itself.
inline double number_of(PyObject* group) {
    if (PyIndex_Check(group) == 0) {
        const double number = PyFloat_AsDouble(group);
        if (number != -1.0 || PyErr_Occurred() == nullptr) return number;
        if (PyErr_ExceptionMatches(PyExc_TypeError) == 0)
            throw py::error_already_set();
        PyErr_Clear();
    }
    refuse("needs_numbers", "group", group);
}

inline PyObject* one_closely(core& c, PyObject* const* args, Py_ssize_t n,
                             PyObject* names) {
    return guarded([&]() -> PyObject* {
        static const char* const words[3] = {"score", "group", "key"};
        PyObject* given[3] = {nullptr, nullptr, nullptr};
        if (!take(args, n, names, words, given) || given[0] == nullptr)
            throw py::type_error(
                "one takes score, group and, where drawn by it, key");
        const auto [score_object, group, key] = given;
        const double score = PyFloat_AsDouble(score_object);
        if (score == -1.0 && PyErr_Occurred() != nullptr) {
            if (PyErr_ExceptionMatches(PyExc_TypeError) == 0)
                throw py::error_already_set();
            PyErr_Clear();
            refuse("score_to_decide", "score", score_object);
        }
        if (c.what.set().unified) return PyBool_FromLong(c.what.one(score));
        if (group == nullptr || group == Py_None)
            gstar::refuse({"needs_groups", "group"});
        if (c.what.set().cuts) {
            const double number = number_of(group);
            if (c.what.set().randomized && key != nullptr && key != Py_None)
                return PyBool_FromLong(c.what.one(score, number, hash_of(key)));
            return PyBool_FromLong(c.what.one(score, number));
        }
        const name called = name_of(group);
        if (c.what.set().randomized && key != nullptr && key != Py_None)
            return PyBool_FromLong(c.what.one(score, called, hash_of(key)));
        return PyBool_FromLong(c.what.one(score, called));
    });
}

/// `table` has only plain cases; all others, and errors, are looked at closely.
inline PyObject* one_of(core& c, PyObject* const* args, Py_ssize_t n,
                        PyObject* names) {
    if (n == 2 && names == nullptr && PyFloat_CheckExact(args[0]) &&
        (PyUnicode_CheckExact(args[1]) || PyLong_CheckExact(args[1]))) {
        PyObject* threshold = PyDict_GetItemWithError(c.table.ptr(), args[1]);
        if (threshold != nullptr) {
            const double s = PyFloat_AS_DOUBLE(args[0]);
            const double t = PyFloat_AS_DOUBLE(threshold);
            if (s >= t) Py_RETURN_TRUE;
            if (s < t) Py_RETURN_FALSE;
        } else {
            PyErr_Clear();
        }
    } else if (n == 2 && names == nullptr && PyFloat_CheckExact(args[0]) &&
               PyFloat_CheckExact(args[1])) {
        const double s = PyFloat_AS_DOUBLE(args[0]);
        const double t = c.what.threshold_of_number(PyFloat_AS_DOUBLE(args[1]));
        if (s >= t) Py_RETURN_TRUE;
        if (s < t) Py_RETURN_FALSE;
    }
    return one_closely(c, args, n, names);
}

inline PyObject* core_one(PyObject* self, PyObject* const* args, Py_ssize_t n,
                          PyObject* names) {
    return one_of(inside(self), args, n, names);
}

// ---- many rows --------------------------------------------------------------

inline PyObject* new_array(std::size_t n, int type) {
    auto& api = py::detail::npy_api::get();
    const auto length = static_cast<Py_intptr_t>(n);
    PyObject* out = api.PyArray_NewFromDescr_(
        api.PyArray_Type_, api.PyArray_DescrFromType_(type), 1, &length, nullptr,
        nullptr, 0, nullptr);
    if (out == nullptr) throw py::error_already_set();
    return out;
}

inline char* data_of(PyObject* array) {
    return py::detail::array_proxy(array)->data;
}

template <class Run>
void away_from_python(std::size_t n, Run run) {
    if (n < many_rows) {
        run();
        return;
    }
    const py::gil_scoped_release unlocked;
    run();
}

/// The answer for plain arrays; null, without an error, for anything else.
inline PyObject* quick(core& c, PyObject* const* args, std::size_t n) {
    const gstar::thresholds& set = c.what.set();
    if (set.randomized || n != (set.unified ? 1u : 2u)) return nullptr;
    gstar::rows r;
    r.scores = column_of(args[0], r.n);
    if (!is_float(r.scores.type)) return nullptr;
    if (!set.unified) {
        std::size_t n_groups = 0;
        r.groups = column_of(args[1], n_groups);
        const bool fits =
            set.cuts ? is_float(r.groups.type) : is_number(r.groups.type);
        if (!fits || n_groups != r.n) return nullptr;
    }
    return guarded([&] {
        auto out = py::reinterpret_steal<py::object>(
            new_array(r.n, py::detail::npy_api::NPY_BOOL_));
        auto* const to = reinterpret_cast<std::uint8_t*>(data_of(out.ptr()));
        away_from_python(r.n, [&] { c.what.many(r, to); });
        return out.release().ptr();
    });
}

/// The same call as Python's `_decide`, which takes every kind of column.
inline PyObject* call_decide(PyObject* self, PyObject* const* args, std::size_t n,
                             PyObject* names) {
    static PyObject* const method = PyUnicode_InternFromString("_decide");
    PyObject* bound = PyObject_GetAttr(self, method);
    if (bound == nullptr) return nullptr;
    PyObject* out = PyObject_Vectorcall(bound, args, n, names);
    Py_DECREF(bound);
    return out;
}

inline PyObject* core_call(PyObject* self, PyObject* const* args, std::size_t n,
                           PyObject* names) {
    if (names == nullptr) {
        PyObject* out = quick(inside(self), args,
                              static_cast<std::size_t>(PyVectorcall_NARGS(n)));
        if (out != nullptr || PyErr_Occurred() != nullptr) return out;
    }
    return call_decide(self, args, n, names);
}

/// scores, codes, names, as_codes, keys, ...: clean arrays of one length.
struct clean_rows {
    gstar::rows rows;
    std::vector<name> names;
    decide_options options;

    explicit clean_rows(PyObject* const* args) {
        rows.scores = column_of(args[0], rows.n);
        std::size_t n = rows.n;
        if (args[1] != Py_None) rows.groups = column_of(args[1], n);
        if (args[2] != Py_None) {
            for (const py::handle h : py::reinterpret_borrow<py::tuple>(args[2]))
                names.push_back(name_of(h));
            rows.names = &names;
        }
        options.codes = args[3] == Py_True;
        std::size_t n_keys = rows.n;
        if (args[4] != Py_None) options.keys = column_of(args[4], n_keys);
        if (!is_float(rows.scores.type) || n != rows.n || n_keys != rows.n)
            throw py::type_error("clean arrays of one length are needed");
        options.threads = py::cast<unsigned>(py::handle(args[5]));
    }
};

inline PyObject* core_decide(PyObject* self, PyObject* const* args, Py_ssize_t n) {
    return guarded([&] {
        if (n != 7) throw py::type_error("decide takes seven arguments");
        core& c = inside(self);
        const clean_rows r(args);
        auto out = args[6] == Py_None
                       ? py::reinterpret_steal<py::object>(
                             new_array(r.rows.n, py::detail::npy_api::NPY_BOOL_))
                       : py::reinterpret_borrow<py::object>(args[6]);
        auto* const to = reinterpret_cast<std::uint8_t*>(data_of(out.ptr()));
        away_from_python(r.rows.n, [&] { c.what.many(r.rows, to, r.options); });
        return out.release().ptr();
    });
}

inline PyObject* core_margins(PyObject* self, PyObject* const* args, Py_ssize_t n) {
    return guarded([&] {
        if (n != 6) throw py::type_error("margins takes six arguments");
        core& c = inside(self);
        const clean_rows r(args);
        auto out = py::reinterpret_steal<py::object>(
            new_array(r.rows.n, py::detail::npy_api::NPY_DOUBLE_));
        auto* const to = reinterpret_cast<double*>(data_of(out.ptr()));
        away_from_python(r.rows.n, [&] { c.what.margins(r.rows, to, r.options); });
        return out.release().ptr();
    });
}

}  // namespace gstar_py
