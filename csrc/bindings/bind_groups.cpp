// bind_groups.cpp - columns of texts, of Python and of Arrow, as numbers.
#include <cstddef>
#include <cstdint>
#include <cstring>  // memcpy
#include <vector>

#include "gstar/base/factorize.hpp"
#include "numpy_view.hpp"

namespace gstar_py {

namespace {

using codes_array = py::array_t<std::int32_t>;
using bytes_array = py::array_t<std::uint8_t, py::array::c_style>;

// ---- texts of Arrow and of arrays ---------------------------------------------

/// Which rows there are; null for all.
const std::uint8_t* valid_rows(const py::object& valid, std::size_t n) {
    if (valid.is_none()) return nullptr;
    const auto rows = py::cast<py::array>(valid);
    if (rows.itemsize() != 1 || rows.ndim() != 1 || rows.strides(0) != 1 ||
        static_cast<std::size_t>(rows.size()) != n)
        throw py::value_error("valid must have a byte for each row");
    return static_cast<const std::uint8_t*>(rows.data());
}

/// Numbers of `n` rows, found with the GIL released: `number` touches no object.
template <class Number>
codes_array numbered(std::size_t n, Number number) {
    codes_array codes(static_cast<py::ssize_t>(n));
    std::int32_t* const to = codes.mutable_data();
    const py::gil_scoped_release unlocked;
    number(to);
    return codes;
}

codes_array number_offsets(gstar::text_numbers& texts, const py::array& offsets,
                           const bytes_array& data, const py::object& valid) {
    if (offsets.ndim() != 1 || offsets.size() == 0 ||
        offsets.strides(0) != offsets.itemsize())
        throw py::value_error("offsets must be 1-D, side by side, one at least");
    const auto n = static_cast<std::size_t>(offsets.size() - 1);
    const std::uint8_t* const rows = valid_rows(valid, n);
    const auto* const from = static_cast<const char*>(offsets.data());
    const auto* const bytes = reinterpret_cast<const char*>(data.data());
    const auto size = static_cast<std::size_t>(data.size());
    const bool is_wide = offsets.itemsize() == sizeof(std::int64_t);
    if (!is_wide && offsets.itemsize() != sizeof(std::int32_t))
        throw py::value_error("offsets must have 32 or 64 bits");
    return numbered(n, [&, n](std::int32_t* codes) {
        if (is_wide)
            gstar::number_offsets<std::int64_t>(texts, from, n, bytes, size, rows,
                                                codes);
        else
            gstar::number_offsets<std::int32_t>(texts, from, n, bytes, size, rows,
                                                codes);
    });
}

codes_array number_views(gstar::text_numbers& texts, const bytes_array& views,
                         const std::vector<bytes_array>& data,
                         const py::object& valid) {
    const auto n = static_cast<std::size_t>(views.size() / 16);
    const std::uint8_t* const rows = valid_rows(valid, n);
    const auto* const from = reinterpret_cast<const char*>(views.data());
    std::vector<gstar::text_buffer> buffers;
    for (const bytes_array& part : data)
        buffers.push_back({reinterpret_cast<const char*>(part.data()),
                           static_cast<std::size_t>(part.size())});
    return numbered(n, [&, n](std::int32_t* codes) {
        gstar::number_views(texts, from, n, buffers, rows, codes);
    });
}

codes_array number_records(gstar::text_numbers& texts, const py::array& records) {
    if (records.ndim() != 1) throw py::value_error("records must be 1-D");
    const auto n = static_cast<std::size_t>(records.size());
    const auto* const from = static_cast<const char*>(records.data());
    const auto width = static_cast<std::size_t>(records.itemsize());
    const py::ssize_t stride = records.strides(0);
    return numbered(n, [&, n](std::int32_t* codes) {
        gstar::number_records(texts, from, n, width, stride, codes);
    });
}

py::list texts_from(const gstar::text_numbers& texts, std::size_t first) {
    py::list out;
    for (std::size_t i = first; i < texts.size(); ++i)
        out.append(py::bytes(texts.text(i)));
    return out;
}

// ---- strings of Python ----------------------------------------------------------

/// A list, a tuple or an array of objects: pointers, `stride` bytes apart.
struct objects {
    const char* data = nullptr;
    std::ptrdiff_t stride = sizeof(void*);
    std::size_t n = 0;

    PyObject* operator[](std::size_t i) const noexcept {
        PyObject* out = nullptr;
        std::memcpy(&out, data + static_cast<std::ptrdiff_t>(i) * stride,
                    sizeof(void*));
        return out;
    }
};

/// Nothing for containers that may have rules of their own.
objects objects_of(PyObject* values) {
    objects out;
    if (PyList_CheckExact(values)) {
        auto* const list = reinterpret_cast<PyListObject*>(values);
        out.data = reinterpret_cast<const char*>(list->ob_item);
        out.n = static_cast<std::size_t>(PyList_GET_SIZE(values));
    } else if (PyTuple_CheckExact(values)) {
        auto* const tuple = reinterpret_cast<PyTupleObject*>(values);
        out.data = reinterpret_cast<const char*>(tuple->ob_item);
        out.n = static_cast<std::size_t>(PyTuple_GET_SIZE(values));
    } else if (is_plain(values)) {
        const auto array = py::reinterpret_borrow<py::array>(values);
        if (array.ndim() != 1 || array.dtype().kind() != 'O') return out;
        out.data = static_cast<const char*>(array.data());
        out.stride = array.strides(0);
        out.n = static_cast<std::size_t>(array.size());
    }
    return out;
}

/// Numbers of Python strings. Equal ones mostly are one object: a small cache
/// knows the last objects by their addresses, and asks for the text of others.
class string_numbers {
public:
    /// The number of an object; -1 if it is no string, or of a class of its own.
    std::int32_t of(PyObject* object) {
        seen& last = cache_[static_cast<std::size_t>(
            (reinterpret_cast<std::uintptr_t>(object) * multiplier) >> shift)];
        if (last.object != object || object == nullptr) {
            if (object == nullptr || !PyUnicode_CheckExact(object)) return -1;
            last = {object, number(object)};
        }
        return last.number;
    }

    const py::list& names() const noexcept { return names_; }

private:
    struct seen {
        PyObject* object = nullptr;
        std::int32_t number = -1;
    };
    static constexpr int n_bits = 9;
    static constexpr int shift = 64 - n_bits;
    static constexpr std::uint64_t multiplier = 0x9E3779B97F4A7C15u;

    std::int32_t number(PyObject* string) {
#if PY_VERSION_HEX < 0x030C0000
        if (PyUnicode_READY(string) < 0) throw py::error_already_set();
#endif
        // A string is stored in the narrowest of three kinds; the bytes of one
        // kind are no text of another. Its header stands before a compact one.
        const auto* const text = static_cast<const char*>(PyUnicode_DATA(string));
        const auto kind = static_cast<unsigned>(PyUnicode_KIND(string));
        const auto n = static_cast<std::size_t>(PyUnicode_GET_LENGTH(string));
        const std::int32_t found = texts_.of(
            text, n * kind,
            PyUnicode_IS_COMPACT(string) ? reinterpret_cast<char*>(string) : text,
            kind / 2);
        if (static_cast<std::size_t>(found) == names_.size())
            names_.append(py::handle(string));
        return found;
    }

    std::vector<seen> cache_ = std::vector<seen>(std::size_t{1} << n_bits);
    gstar::text_numbers texts_;
    py::list names_;
};

/// Codes and names of strings; None where a value is anything else.
///
/// No code of Python runs between the first row and the last, and the GIL is
/// held: nobody changes the container, or lets go of a string, meanwhile. The
/// list of names comes first, since a new list may set off garbage collection.
py::object number_strings(const py::object& values) {
    string_numbers numbers;
    const objects from = objects_of(values.ptr());
    if (from.n == 0) return py::none();
    codes_array codes(static_cast<py::ssize_t>(from.n));
    std::int32_t* const to = codes.mutable_data();
    for (std::size_t i = 0; i < from.n; ++i) {
        const std::int32_t number = numbers.of(from[i]);
        if (number < 0) return py::none();
        to[i] = number;
    }
    return py::make_tuple(codes, py::tuple(numbers.names()));
}

}  // namespace

void bind_groups(py::module_& m);

void bind_groups(py::module_& m) {
    using namespace py::literals;
    using texts = gstar::text_numbers;
    py::class_<texts>(m, "Texts")
        .def(py::init<>())
        .def("__len__", &texts::size)
        .def("number_offsets", &number_offsets, "offsets"_a, "data"_a, "valid"_a)
        .def("number_views", &number_views, "views"_a, "data"_a, "valid"_a)
        .def("number_records", &number_records, "records"_a)
        .def("since", &texts_from, "first"_a);
    m.def("number_strings", &number_strings,
          "Codes and names of a list or array of strings; None for others.");
}

}  // namespace gstar_py
