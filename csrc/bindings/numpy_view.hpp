// numpy_view.hpp - NumPy arrays as columns of the core. The only door to pybind11.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <vector>

#include "gstar/base/rows.hpp"

namespace gstar_py {

namespace py = pybind11;

/// What the core calls the type of an array's values; none if it has no word.
inline gstar::dtype dtype_of(PyObject* array) {
    const auto* a = py::detail::array_proxy(array);
    const auto* d = py::detail::array_descriptor_proxy(a->descr);
    if (d->byteorder == '>' || (d->byteorder == '<' && PY_BIG_ENDIAN))
        return gstar::dtype::none;
    using api = py::detail::npy_api;
    switch (d->type_num) {
        case api::NPY_BOOL_: return gstar::dtype::boolean;
        case api::NPY_BYTE_: return gstar::dtype::i8;
        case api::NPY_UBYTE_: return gstar::dtype::u8;
        case api::NPY_SHORT_: return gstar::dtype::i16;
        case api::NPY_USHORT_: return gstar::dtype::u16;
        case api::NPY_INT_: return gstar::dtype::i32;
        case api::NPY_UINT_: return gstar::dtype::u32;
        case api::NPY_LONG_:
            return sizeof(long) == 8 ? gstar::dtype::i64 : gstar::dtype::i32;
        case api::NPY_ULONG_:
            return sizeof(long) == 8 ? gstar::dtype::u64 : gstar::dtype::u32;
        case api::NPY_LONGLONG_: return gstar::dtype::i64;
        case api::NPY_ULONGLONG_: return gstar::dtype::u64;
        case api::NPY_FLOAT_: return gstar::dtype::f32;
        case api::NPY_DOUBLE_: return gstar::dtype::f64;
        default: return gstar::dtype::none;
    }
}

inline bool is_float(gstar::dtype t) {
    return t == gstar::dtype::f32 || t == gstar::dtype::f64;
}
inline bool is_whole(gstar::dtype t) {
    return t != gstar::dtype::none && !is_float(t);
}

/// Whole numbers that may name groups: True is no number.
inline bool is_number(gstar::dtype t) {
    return is_whole(t) && t != gstar::dtype::boolean;
}

/// An array and nothing more: a subclass may have a mask, or rules of its own.
inline bool is_plain(PyObject* object) {
    return Py_TYPE(object) == py::detail::npy_api::get().PyArray_Type_;
}

/// A plain 1-D array as a column, and its length in `n`; none if it is anything else.
inline gstar::column column_of(PyObject* object, std::size_t& n) {
    if (!is_plain(object)) return {};
    const auto* a = py::detail::array_proxy(object);
    if (a->nd != 1) return {};
    n = static_cast<std::size_t>(a->dimensions[0]);
    return {a->data, a->strides[0], dtype_of(object)};
}

/// A new array of `rows` x `columns`, and where its values are.
template <class T>
py::array_t<T> new_array(std::size_t rows, std::size_t columns) {
    return py::array_t<T>(std::vector<py::ssize_t>{
        static_cast<py::ssize_t>(rows), static_cast<py::ssize_t>(columns)});
}

/// A new array with a copy of `values`.
template <class T>
py::array_t<T> array_of(const std::vector<T>& values) {
    return py::array_t<T>(static_cast<py::ssize_t>(values.size()), values.data());
}

}  // namespace gstar_py
