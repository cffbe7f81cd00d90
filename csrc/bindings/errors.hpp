// errors.hpp - what the core throws as what Python raises.
//
// A refusal goes to Python as code and fields; gstar_fast/_base/refusals words
// it, for this backend as for the others.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "gstar/base/error.hpp"
#include "names.hpp"
#include "python.hpp"

namespace gstar_py {

namespace detail {

struct value_object {
    py::object operator()(std::monostate) const { return py::none(); }
    py::object operator()(const name& v) const { return object_of(v); }
    py::object operator()(const std::vector<name>& v) const { return tuple_of(v); }
    template <class T>
    py::object operator()(const std::vector<T>& v) const {
        return py::tuple(py::cast(v));
    }
    template <class T>
    py::object operator()(const T& v) const {
        return py::cast(v);
    }
};

/// Make the error in Python, and the one that Python is to raise.
inline void set_refusal(const char* code, const char* argument, std::int64_t row,
                        const py::object& value, const py::object& limit) {
    const py::object none = py::none();
    static python_function refusal("gstar_fast._base.refusals.refusal", "refusal");
    const py::object error =
        refusal(code, *argument == '\0' ? none : py::object(py::str(argument)),
                row < 0 ? none : py::object(py::int_(row)), value, limit);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
}

}  // namespace detail

inline void set_refusal(const gstar::refusal& why) {
    try {
        detail::set_refusal(why.code, why.argument, why.row,
                            std::visit(detail::value_object{}, why.value),
                            std::visit(detail::value_object{}, why.limit));
    } catch (py::error_already_set& e) {
        e.restore();
    }
}

/// Refuse a value that only Python knows.
[[noreturn]] inline void refuse(const char* code, const char* argument,
                                py::handle value) {
    detail::set_refusal(code, argument, -1,
                        py::reinterpret_borrow<py::object>(value), py::none());
    throw py::error_already_set();
}

/// Run; null with a Python error set for whatever is thrown.
template <class Run>
PyObject* guarded(Run run) {
    try {
        return run();
    } catch (py::error_already_set& e) {
        e.restore();
    } catch (const py::builtin_exception& e) {
        e.set_error();
    } catch (const gstar::refused& e) {
        set_refusal(e.why);
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& e) {
        PyErr_SetString(PyExc_RuntimeError, e.what());
    }
    return nullptr;
}

/// The same for functions that pybind11 calls.
inline void register_refusals() {
    py::register_exception_translator([](std::exception_ptr p) {
        try {
            if (p) std::rethrow_exception(std::move(p));
        } catch (const gstar::refused& e) {
            set_refusal(e.why);
        }
    });
}

}  // namespace gstar_py
