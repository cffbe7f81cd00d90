// names.hpp - group names of Python as names of the core, and back.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>  // move
#include <vector>

#include "gstar/base/name.hpp"
#include "python.hpp"

namespace gstar_py {

using gstar::name;

namespace detail {

constexpr Py_ssize_t most_parts = 16;

/// A bool, an int of 64 bits or a valid string; nothing for all others.
inline std::optional<name> plain_scalar(PyObject* o) {
    if (PyBool_Check(o)) return name::of_bool(o == Py_True);
    if (PyLong_CheckExact(o)) {
        int overflow = 0;
        const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
        if (overflow == 0) return name::of(v);
    } else if (PyUnicode_CheckExact(o)) {
        Py_ssize_t n = 0;
        const char* text = PyUnicode_AsUTF8AndSize(o, &n);
        if (text != nullptr)
            return name::of_text(std::string(text, static_cast<std::size_t>(n)));
        PyErr_Clear();  // half a character
    }
    return std::nullopt;
}

inline std::optional<name> plain_name(PyObject* o) {
    if (!PyTuple_CheckExact(o)) return plain_scalar(o);
    const Py_ssize_t n = PyTuple_GET_SIZE(o);
    if (n < 1 || n > most_parts) return std::nullopt;
    std::vector<name> parts;
    for (Py_ssize_t i = 0; i < n; ++i) {
        std::optional<name> part = plain_scalar(PyTuple_GET_ITEM(o, i));
        if (!part) return std::nullopt;
        parts.push_back(*std::move(part));
    }
    return name::of_tuple(std::move(parts));
}

}  // namespace detail

/// Any name; what is not plain is cleaned, or refused, by Python.
inline name name_of(py::handle h) {
    std::optional<name> n = detail::plain_name(h.ptr());
    if (!n) {
        static python_function clean_name("gstar_fast._base.names", "clean_name");
        const py::object clean = clean_name(h);
        n = detail::plain_name(clean.ptr());
        if (!n) throw py::type_error("clean_name must give a plain name");
    }
    return *std::move(n);
}

inline std::vector<name> names_of(const py::tuple& names) {
    std::vector<name> out;
    for (const py::handle h : names) out.push_back(name_of(h));
    return out;
}

inline py::object object_of(const name& n) {
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

inline py::tuple tuple_of(const std::vector<name>& names) {
    py::tuple out(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) out[i] = object_of(names[i]);
    return out;
}

}  // namespace gstar_py
