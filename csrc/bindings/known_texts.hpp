// known_texts.hpp - groups named by strings, found by the strings of Python and NumPy.
#pragma once

#include <algorithm>  // equal
#include <cstddef>
#include <cstdint>
#include <cstring>  // memcpy
#include <memory>
#include <string>
#include <vector>

#include "names.hpp"
#include "numpy_view.hpp"

namespace gstar_py {

/// Which groups of a sketch have which strings as names. Groups are only ever added.
class known_texts {
public:
    static constexpr std::int64_t unknown = -1;
    static constexpr std::size_t most_rows = 4096;  // of a batch with strings
    static constexpr std::size_t most_wide = 16;    // groups tried one by one

    /// Take up names that were added since the last call.
    void learn(const std::vector<name>& names) {
        for (; n_ < names.size(); ++n_) {
            if (names[n_].type != name::kind::text) continue;
            const py::object text = object_of(names[n_]);
            slots_[text] = n_;
            if (wide_.size() > most_wide) continue;
            const std::unique_ptr<Py_UCS4, void (*)(void*)> copy(
                PyUnicode_AsUCS4Copy(text.ptr()), PyMem_Free);
            if (!copy) throw py::error_already_set();
            wide_.push_back(
                {std::vector<Py_UCS4>(
                     copy.get(), copy.get() + PyUnicode_GET_LENGTH(text.ptr())),
                 static_cast<std::int64_t>(n_)});
        }
    }

    /// The slot of a group, or `unknown`; `text` is exactly a str.
    std::int64_t find(PyObject* text) const {
        PyObject* found = PyDict_GetItemWithError(slots_.ptr(), text);
        return found == nullptr ? unknown : PyLong_AsLong(found);
    }

    /// The slots of all rows of a list, or an array of objects or strings, in a small
    /// batch; false if any row is not a string that is known.
    bool find_all(PyObject* groups, std::vector<std::int64_t>& out) const {
        if (PyList_CheckExact(groups) || PyTuple_CheckExact(groups)) {
            const auto n =
                static_cast<std::size_t>(PySequence_Fast_GET_SIZE(groups));
            return n <= most_rows && all(n, out, [&](std::size_t i) {
                       return of_object(PySequence_Fast_ITEMS(groups)[i]);
                   });
        }
        if (!is_plain(groups)) return false;
        const auto* a = py::detail::array_proxy(groups);
        const py::dtype type = py::reinterpret_borrow<py::dtype>(a->descr);
        const auto width = static_cast<std::size_t>(type.itemsize());
        if (a->nd != 1 || a->dimensions[0] > static_cast<py::ssize_t>(most_rows))
            return false;
        const auto n = static_cast<std::size_t>(a->dimensions[0]);
        const auto row = [&](std::size_t i) {
            return a->data + static_cast<py::ssize_t>(i) * a->strides[0];
        };
        if (type.kind() == 'O')
            return all(n, out, [&](std::size_t i) {
                PyObject* value = nullptr;
                std::memcpy(&value, row(i), sizeof value);
                return of_object(value);
            });
        if (type.kind() != 'U' || wide_.size() > most_wide ||
            type.byteorder() == (PY_BIG_ENDIAN ? '<' : '>'))
            return false;
        std::vector<Py_UCS4> text(width / sizeof(Py_UCS4));
        return all(n, out, [&](std::size_t i) {
            std::memcpy(text.data(), row(i), width);
            return of_wide(text);
        });
    }

private:
    struct wide {
        std::vector<Py_UCS4> text;
        std::int64_t slot;
    };

    template <class Find>
    static bool all(std::size_t n, std::vector<std::int64_t>& out, Find find) {
        out.reserve(n);
        for (std::size_t i = 0; i < n; ++i) {
            const std::int64_t slot = find(i);
            if (slot < 0) return false;
            out.push_back(slot);
        }
        return true;
    }

    std::int64_t of_object(PyObject* value) const {
        const bool is_text = value != nullptr && PyUnicode_CheckExact(value);
        return is_text ? find(value) : unknown;
    }

    /// A string of fixed width; zeros at its end are no part of it.
    std::int64_t of_wide(const std::vector<Py_UCS4>& text) const {
        std::size_t n = text.size();
        while (n > 0 && text[n - 1] == 0) --n;
        for (const wide& w : wide_)
            if (w.text.size() == n &&
                std::equal(w.text.begin(), w.text.end(), text.begin()))
                return w.slot;
        return unknown;
    }

    py::dict slots_;
    std::vector<wide> wide_;
    std::size_t n_ = 0;
};

}  // namespace gstar_py
