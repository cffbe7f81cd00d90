// fastcall.hpp - arguments of methods that Python calls the shortest way.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>

namespace gstar_py {

/// Arguments in their places, whether they came by place or by name; false where
/// there are too many, one comes twice or has no such name.
template <std::size_t N>
bool take(PyObject* const* args, Py_ssize_t n, PyObject* names,
          const char* const (&words)[N], PyObject* (&out)[N]) {
    if (n > static_cast<Py_ssize_t>(N)) return false;
    for (Py_ssize_t i = 0; i < n; ++i) out[i] = args[i];
    const Py_ssize_t n_names = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < n_names; ++i) {
        std::size_t place = 0;
        while (place < N && PyUnicode_CompareWithASCIIString(
                                PyTuple_GET_ITEM(names, i), words[place]) != 0)
            ++place;
        if (place == N || out[place] != nullptr) return false;
        out[place] = args[n + i];
    }
    return true;
}

template <class Function>
PyCFunction as_method(Function f) noexcept {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
}

}  // namespace gstar_py
