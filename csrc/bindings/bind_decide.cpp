// bind_decide.cpp - gstar::decider seen from Python. No arithmetic in this file.
//
// Two raw types, because what pybind11 does around a call takes longer than a
// decision: one set of thresholds, and a place where sets are swapped. The GIL
// guards that place; a batch owns a reference to the set it began with, so a
// swap neither waits for it nor pulls the set away.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "gstar/decide.hpp"
#include "gstar/thresholds_io.hpp"
#include "numpy_view.hpp"

#include <structmember.h>  // PyMemberDef; needs Python.h before it

namespace gstar_py {

using gstar::decide_options;
using gstar::decider;
using gstar::name;

namespace {

/// Rows from which on other threads may run meanwhile.
constexpr std::size_t many_rows = 4096;

struct core {
    decider what;
    py::dict table;  ///< name -> threshold, for one row at a time
    py::object clean;
};

struct core_object {
    PyObject_HEAD vectorcallfunc call;
    core* inside;
};

struct live_object {
    PyObject_HEAD vectorcallfunc call;
    PyObject* now;  ///< a core_object
    std::uint64_t version;
};

core& inside(PyObject* self) {
    return *reinterpret_cast<core_object*>(self)->inside;
}

/// Run, and turn what is thrown into a Python exception.
template <class Run>
PyObject* guarded(Run run) {
    try {
        return run();
    } catch (py::error_already_set& e) {
        e.restore();
    } catch (const py::builtin_exception& e) {
        e.set_error();
    } catch (const gstar::missing_group_error& e) {
        PyErr_SetString(PyExc_TypeError, e.what());
    } catch (const std::invalid_argument& e) {
        PyErr_SetString(PyExc_ValueError, e.what());
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& e) {
        PyErr_SetString(PyExc_RuntimeError, e.what());
    }
    return nullptr;
}

// ---- names and keys ---------------------------------------------------------

/// A name that the Python side has cleaned already.
name plain_name(py::handle h) {
    PyObject* o = h.ptr();
    if (PyBool_Check(o)) return name::of_bool(o == Py_True);
    if (PyLong_Check(o)) return name::of(py::cast<std::int64_t>(h));
    if (PyUnicode_Check(o)) return name::of_text(py::cast<std::string>(h));
    std::vector<name> parts;
    for (const py::handle part : py::reinterpret_borrow<py::tuple>(h))
        parts.push_back(plain_name(part));
    return name::of_tuple(std::move(parts));
}

std::uint64_t hash_of(PyObject* key) {
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
        throw py::type_error("a key must be an int, a str or bytes, got " +
                             std::string(Py_TYPE(key)->tp_name));
    }
    int overflow = 0;
    const long long v = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
    if (overflow == 0) return gstar::hash_key(static_cast<std::uint64_t>(v));
    const unsigned long long u = PyLong_AsUnsignedLongLong(whole.ptr());
    if (PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        throw py::value_error("key " + std::string(py::str(whole)) +
                              " does not fit into 64 bits; pass it as a string");
    }
    return gstar::hash_key(u);
}

// ---- one row ----------------------------------------------------------------

struct one_arguments {
    PyObject* score = nullptr;
    PyObject* group = nullptr;
    PyObject* key = nullptr;
};

bool take(PyObject* const* args, Py_ssize_t n, PyObject* names,
          one_arguments& out) {
    PyObject** const places[3] = {&out.score, &out.group, &out.key};
    static const char* const words[3] = {"score", "group", "key"};
    if (n > 3) return false;
    for (Py_ssize_t i = 0; i < n; ++i) *places[i] = args[i];
    const Py_ssize_t n_names = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < n_names; ++i) {
        int place = 0;
        while (place < 3 && PyUnicode_CompareWithASCIIString(
                                PyTuple_GET_ITEM(names, i), words[place]) != 0)
            ++place;
        if (place == 3 || *places[place] != nullptr) return false;
        *places[place] = args[n + i];
    }
    if (out.group == Py_None) out.group = nullptr;
    if (out.key == Py_None) out.key = nullptr;
    return out.score != nullptr;
}

PyObject* one_closely(core& c, PyObject* const* args, Py_ssize_t n,
                      PyObject* names) {
    return guarded([&]() -> PyObject* {
        one_arguments a;
        if (!take(args, n, names, a))
            throw py::type_error(
                "one takes score, group and, where drawn by it, key");
        const double score = PyFloat_AsDouble(a.score);
        if (score == -1.0 && PyErr_Occurred() != nullptr) {
            if (PyErr_ExceptionMatches(PyExc_TypeError) == 0)
                throw py::error_already_set();
            PyErr_Clear();
            throw py::type_error(std::string("score must be a number, got ") +
                                 Py_TYPE(a.score)->tp_name +
                                 "; for many rows call decider(scores, groups)");
        }
        if (c.what.set().unified) return PyBool_FromLong(c.what.one(score));
        if (a.group == nullptr)
            throw py::value_error(
                "group must be given: each group has a threshold of its own");
        const name group = plain_name(c.clean(py::handle(a.group)));
        if (c.what.set().randomized && a.key != nullptr)
            return PyBool_FromLong(c.what.one(score, group, hash_of(a.key)));
        return PyBool_FromLong(c.what.one(score, group));
    });
}

/// `table` has only plain cases; all others, and errors, are looked at closely.
PyObject* one_of(core& c, PyObject* const* args, Py_ssize_t n, PyObject* names) {
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
    }
    return one_closely(c, args, n, names);
}

PyObject* core_one(PyObject* self, PyObject* const* args, Py_ssize_t n,
                   PyObject* names) {
    return one_of(inside(self), args, n, names);
}

// ---- many rows --------------------------------------------------------------

PyObject* new_array(std::size_t n, int type) {
    auto& api = py::detail::npy_api::get();
    const auto length = static_cast<Py_intptr_t>(n);
    PyObject* out = api.PyArray_NewFromDescr_(
        api.PyArray_Type_, api.PyArray_DescrFromType_(type), 1, &length, nullptr,
        nullptr, 0, nullptr);
    if (out == nullptr) throw py::error_already_set();
    return out;
}

char* data_of(PyObject* array) { return py::detail::array_proxy(array)->data; }

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
PyObject* quick(core& c, PyObject* const* args, std::size_t n) {
    const gstar::thresholds& set = c.what.set();
    if (set.randomized || n != (set.unified ? 1u : 2u)) return nullptr;
    gstar::rows r;
    r.scores = column_of(args[0], r.n);
    if (!is_float(r.scores.type)) return nullptr;
    if (!set.unified) {
        std::size_t n_groups = 0;
        r.groups = column_of(args[1], n_groups);
        if (!is_whole(r.groups.type) || r.groups.type == gstar::dtype::boolean ||
            n_groups != r.n)
            return nullptr;
    }
    return guarded([&] {
        auto out = py::reinterpret_steal<py::object>(
            new_array(r.n, py::detail::npy_api::NPY_BOOL_));
        auto* const to = reinterpret_cast<std::uint8_t*>(data_of(out.ptr()));
        away_from_python(r.n, [&] { c.what.many(r, to); });
        return out.release().ptr();
    });
}

PyObject* core_call(PyObject* self, PyObject* const* args, std::size_t n,
                    PyObject* names) {
    if (names == nullptr) {
        PyObject* out = quick(inside(self), args,
                              static_cast<std::size_t>(PyVectorcall_NARGS(n)));
        if (out != nullptr || PyErr_Occurred() != nullptr) return out;
    }
    static PyObject* const method = PyUnicode_InternFromString("_decide");
    PyObject* bound = PyObject_GetAttr(self, method);
    if (bound == nullptr) return nullptr;
    PyObject* out = PyObject_Vectorcall(bound, args, n, names);
    Py_DECREF(bound);
    return out;
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
                names.push_back(plain_name(h));
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

PyObject* core_decide(PyObject* self, PyObject* const* args, Py_ssize_t n) {
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

PyObject* core_margins(PyObject* self, PyObject* const* args, Py_ssize_t n) {
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

// ---- making and ending ------------------------------------------------------

PyObject* core_new(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject* self = type->tp_alloc(type, 0);
    if (self == nullptr) return nullptr;
    auto* const object = reinterpret_cast<core_object*>(self);
    object->call = core_call;
    PyObject* made = guarded([&] {
        const auto given = py::reinterpret_borrow<py::tuple>(args);
        if (given.size() != 3)
            throw py::type_error("DecideCore takes bytes, a dict and a function");
        const auto bytes = py::cast<std::string_view>(given[0]);
        gstar::thresholds set = gstar::thresholds_from_bytes(
            {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
        object->inside =
            new core{decider(std::move(set)), py::cast<py::dict>(given[1]),
                     py::object(given[2])};
        return self;
    });
    if (made == nullptr) Py_DECREF(self);
    return made;
}

void core_end(PyObject* self) {
    PyTypeObject* const type = Py_TYPE(self);
    delete reinterpret_cast<core_object*>(self)->inside;
    type->tp_free(self);
    Py_DECREF(type);
}

// ---- live -------------------------------------------------------------------

PyTypeObject* core_type = nullptr;
PyTypeObject* live_type = nullptr;

/// The set of the moment, owned, so that it outlives a swap.
py::object current(PyObject* self) {
    return py::reinterpret_borrow<py::object>(
        reinterpret_cast<live_object*>(self)->now);
}

PyObject* live_one(PyObject* self, PyObject* const* args, Py_ssize_t n,
                   PyObject* names) {
    const py::object held = current(self);
    return one_of(inside(held.ptr()), args, n, names);
}

PyObject* live_call(PyObject* self, PyObject* const* args, std::size_t n,
                    PyObject* names) {
    if (names == nullptr) {
        const py::object held = current(self);
        return core_call(held.ptr(), args, n, names);
    }
    static PyObject* const method = PyUnicode_InternFromString("_decide");
    PyObject* bound = PyObject_GetAttr(self, method);
    if (bound == nullptr) return nullptr;
    PyObject* out = PyObject_Vectorcall(bound, args, n, names);
    Py_DECREF(bound);
    return out;
}

/// The set and its version, which belong together.
PyObject* live_read(PyObject* self, PyObject*) {
    auto* const live = reinterpret_cast<live_object*>(self);
    return Py_BuildValue("OK", live->now,
                         static_cast<unsigned long long>(live->version));
}

PyObject* live_put(PyObject* self, PyObject* next) {
    if (PyObject_TypeCheck(next, core_type) == 0) {
        PyErr_SetString(PyExc_TypeError,
                        "a decider of the native backend is needed");
        return nullptr;
    }
    auto* const live = reinterpret_cast<live_object*>(self);
    PyObject* const old = live->now;
    Py_INCREF(next);
    live->now = next;
    const std::uint64_t version = ++live->version;
    Py_DECREF(old);  // the last: it may run anything
    return PyLong_FromUnsignedLongLong(version);
}

PyObject* live_new(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject* first = nullptr;
    if (PyArg_ParseTuple(args, "O!", core_type, &first) == 0) return nullptr;
    PyObject* self = type->tp_alloc(type, 0);
    if (self == nullptr) return nullptr;
    auto* const live = reinterpret_cast<live_object*>(self);
    live->call = live_call;
    Py_INCREF(first);
    live->now = first;
    live->version = 1;
    return self;
}

void live_end(PyObject* self) {
    PyTypeObject* const type = Py_TYPE(self);
    Py_XDECREF(reinterpret_cast<live_object*>(self)->now);
    type->tp_free(self);
    Py_DECREF(type);
}

// ---- tables of the two types ------------------------------------------------

template <class Function>
PyCFunction as_method(Function f) noexcept {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
}

PyMethodDef core_methods[] = {
    {"one", as_method(core_one), METH_FASTCALL | METH_KEYWORDS,
     "Decide one row: score, group and, where drawn by it, key."},
    {"decide", as_method(core_decide), METH_FASTCALL,
     "scores, codes, names, as_codes, keys, threads, out: clean arrays -> bools."},
    {"margins", as_method(core_margins), METH_FASTCALL,
     "scores, codes, names, as_codes, keys, threads: clean arrays -> float64."},
    {nullptr, nullptr, 0, nullptr}};

PyMethodDef live_methods[] = {
    {"one", as_method(live_one), METH_FASTCALL | METH_KEYWORDS,
     "Decide one row by the thresholds of the moment."},
    {"read", live_read, METH_NOARGS, "The decider of the moment and its version."},
    {"put", live_put, METH_O, "Put another decider in place; the new version."},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef core_members[] = {{"__vectorcalloffset__", T_PYSSIZET,
                               offsetof(core_object, call), READONLY, nullptr},
                              {nullptr, 0, 0, 0, nullptr}};

PyMemberDef live_members[] = {{"__vectorcalloffset__", T_PYSSIZET,
                               offsetof(live_object, call), READONLY, nullptr},
                              {nullptr, 0, 0, 0, nullptr}};

template <class Object>
py::object make_type(const char* full_name, newfunc make, destructor end,
                     PyMethodDef* methods, PyMemberDef* members, const char* doc) {
    PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)},
                           {Py_tp_dealloc, reinterpret_cast<void*>(end)},
                           {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                           {Py_tp_methods, methods},
                           {Py_tp_members, members},
                           {Py_tp_doc, const_cast<char*>(doc)},
                           {0, nullptr}};
    PyType_Spec spec = {full_name, static_cast<int>(sizeof(Object)), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                            static_cast<unsigned>(Py_TPFLAGS_HAVE_VECTORCALL),
                        slots};
    auto type = py::reinterpret_steal<py::object>(PyType_FromSpec(&spec));
    if (!type) throw py::error_already_set();
    return type;
}

/// Give a subclass the quick methods as its own. Python calls a method, and the
/// object itself, the shortest way only where they belong to exactly its class.
void own_methods(const py::type& kind) {
    auto* const type = reinterpret_cast<PyTypeObject*>(kind.ptr());
    const bool is_core = PyType_IsSubtype(type, core_type) != 0;
    if (!is_core && PyType_IsSubtype(type, live_type) == 0)
        throw py::type_error("a subclass of DecideCore or LiveCore is needed");
    const auto one = py::reinterpret_steal<py::object>(
        PyDescr_NewMethod(type, is_core ? core_methods : live_methods));
    if (!one) throw py::error_already_set();
    py::setattr(kind, "one", one);
    type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;  // as Python 3.12 does by itself
}

}  // namespace

void bind_decide(py::module_& m) {
    const py::object one = make_type<core_object>(
        "gstar_fast._core.DecideCore", core_new, core_end, core_methods,
        core_members, "A set of thresholds, ready to decide by.");
    core_type = reinterpret_cast<PyTypeObject*>(one.ptr());
    m.attr("DecideCore") = one;
    const py::object live = make_type<live_object>(
        "gstar_fast._core.LiveCore", live_new, live_end, live_methods, live_members,
        "A place where sets of thresholds are swapped.");
    live_type = reinterpret_cast<PyTypeObject*>(live.ptr());
    m.attr("LiveCore") = live;
    m.def("own_methods", &own_methods, "Make the raw methods a subclass's own.");
    m.def(
        "hash_keys",
        [](const py::list& keys) {
            py::array_t<std::uint64_t> out(static_cast<py::ssize_t>(keys.size()));
            std::uint64_t* to = out.mutable_data();
            for (const py::handle key : keys) *to++ = hash_of(key.ptr());
            return out;
        },
        "Hash the keys of rows: ints, strings or bytes.");
}

}  // namespace gstar_py
