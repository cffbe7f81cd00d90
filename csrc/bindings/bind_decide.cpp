// bind_decide.cpp - gstar::decider seen from Python, and a place where sets of
// thresholds are swapped. No arithmetic in this file.
//
// The GIL guards that place; a batch owns a reference to the set it began with, so
// a swap neither waits for it nor pulls the set away.
#include <cstddef>
#include <cstdint>
#include <ctime>  // time
#include <limits>
#include <string_view>
#include <utility>

#include "decide_core.hpp"

#include <structmember.h>  // PyMemberDef; needs Python.h before it

namespace gstar_py {

namespace {

struct live_object {
    PyObject_HEAD vectorcallfunc call;
    PyObject* now;      ///< a core_object
    PyObject* answers;  ///< ((False, version), (True, version))
    std::int64_t due;   ///< when to warn that `now` has expired, or `never`
    std::uint64_t version;
};

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

// ---- making and ending ------------------------------------------------------

PyObject* core_new(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject* self = type->tp_alloc(type, 0);
    if (self == nullptr) return nullptr;
    auto* const object = reinterpret_cast<core_object*>(self);
    object->call = core_call;
    PyObject* made = guarded([&] {
        const auto given = py::reinterpret_borrow<py::tuple>(args);
        if (given.size() != 2)
            throw py::type_error("DecideCore takes bytes and a dict");
        const auto bytes = py::cast<std::string_view>(given[0]);
        gstar::thresholds set = gstar::thresholds_from_bytes(
            {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
        object->inside =
            new core{decider(std::move(set)), py::cast<py::dict>(given[1])};
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

/// Warn, once for each set, that the thresholds have expired; false if the warning
/// is an error. `time` is cheap, and is called only for sets that expire.
bool warned_if_due(PyObject* self) {
    auto* const live = reinterpret_cast<live_object*>(self);
    if (live->due == never || std::time(nullptr) < live->due) return true;
    const std::int64_t due = std::exchange(live->due, never);
    PyObject* const done = PyObject_CallMethod(self, "_warn_expired", "L",
                                               static_cast<long long>(due));
    Py_XDECREF(done);
    return done != nullptr;
}

PyObject* live_one(PyObject* self, PyObject* const* args, Py_ssize_t n,
                   PyObject* names) {
    if (!warned_if_due(self)) return nullptr;
    const py::object held = current(self);
    return one_of(inside(held.ptr()), args, n, names);
}

PyObject* live_one_with_version(PyObject* self, PyObject* const* args, Py_ssize_t n,
                                PyObject* names) {
    if (!warned_if_due(self)) return nullptr;
    const py::object held = current(self);
    const auto answers = py::reinterpret_borrow<py::object>(
        reinterpret_cast<live_object*>(self)->answers);
    PyObject* const accepted = one_of(inside(held.ptr()), args, n, names);
    if (accepted == nullptr) return nullptr;
    PyObject* const out =
        PyTuple_GET_ITEM(answers.ptr(), accepted == Py_True ? 1 : 0);
    Py_DECREF(accepted);
    Py_INCREF(out);
    return out;
}

PyObject* live_call(PyObject* self, PyObject* const* args, std::size_t n,
                    PyObject* names) {
    if (names == nullptr) {
        if (!warned_if_due(self)) return nullptr;
        const py::object held = current(self);
        return core_call(held.ptr(), args, n, names);
    }
    return call_decide(self, args, n, names);
}

/// The set and its version, which belong together.
PyObject* live_read(PyObject* self, PyObject*) {
    auto* const live = reinterpret_cast<live_object*>(self);
    return Py_BuildValue("OK", live->now,
                         static_cast<unsigned long long>(live->version));
}

/// The same for deciding: warns if the set has expired.
PyObject* live_begin(PyObject* self, PyObject* unused) {
    return warned_if_due(self) ? live_read(self, unused) : nullptr;
}

/// Both possible answers for one row, with the version.
PyObject* answers_of(std::uint64_t version) {
    const auto v = static_cast<unsigned long long>(version);
    return Py_BuildValue("((OK)(OK))", Py_False, v, Py_True, v);
}

std::int64_t due_of(PyObject* core) {
    return inside(core).what.set().expires.value_or(never);
}

PyObject* live_put(PyObject* self, PyObject* next) {
    if (PyObject_TypeCheck(next, core_type) == 0) {
        PyErr_SetString(PyExc_TypeError,
                        "a decider of the native backend is needed");
        return nullptr;
    }
    auto* const live = reinterpret_cast<live_object*>(self);
    const std::uint64_t version = live->version + 1;
    PyObject* const answers = answers_of(version);
    if (answers == nullptr) return nullptr;
    Py_INCREF(next);
    PyObject* const old = std::exchange(live->now, next);
    PyObject* const old_answers = std::exchange(live->answers, answers);
    live->due = due_of(next);
    live->version = version;
    Py_DECREF(old_answers);
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
    live->due = due_of(first);
    live->answers = answers_of(1);
    if (live->answers != nullptr) return self;
    Py_DECREF(self);
    return nullptr;
}

void live_end(PyObject* self) {
    PyTypeObject* const type = Py_TYPE(self);
    Py_XDECREF(reinterpret_cast<live_object*>(self)->now);
    Py_XDECREF(reinterpret_cast<live_object*>(self)->answers);
    type->tp_free(self);
    Py_DECREF(type);
}

// ---- tables of the two types ------------------------------------------------

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
    {"one_with_version", as_method(live_one_with_version),
     METH_FASTCALL | METH_KEYWORDS, "The same, and the version that decided."},
    {"begin", live_begin, METH_NOARGS, "As `read`, before deciding many rows."},
    {"read", live_read, METH_NOARGS, "The decider of the moment and its version."},
    {"put", live_put, METH_O, "Put another decider in place; the new version."},
    {nullptr, nullptr, 0, nullptr}};

/// Both types keep the function to call in one place.
static_assert(offsetof(core_object, call) == offsetof(live_object, call));
PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET,
                          offsetof(core_object, call), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

template <class Object>
py::object make_type(const char* full_name, newfunc make, destructor end,
                     PyMethodDef* methods, const char* doc) {
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
    PyMethodDef* const all = is_core ? core_methods : live_methods;
    for (int i = 0; i < (is_core ? 1 : 2); ++i) {  // one, one_with_version
        const auto method =
            py::reinterpret_steal<py::object>(PyDescr_NewMethod(type, all + i));
        if (!method) throw py::error_already_set();
        py::setattr(kind, all[i].ml_name, method);
    }
    type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;  // as Python 3.12 does by itself
}

}  // namespace

void bind_decide(py::module_& m);

void bind_decide(py::module_& m) {
    const py::object one = make_type<core_object>(
        "gstar_fast._core.DecideCore", core_new, core_end, core_methods,
        "A set of thresholds, ready to decide by.");
    core_type = reinterpret_cast<PyTypeObject*>(one.ptr());
    m.attr("DecideCore") = one;
    const py::object live = make_type<live_object>(
        "gstar_fast._core.LiveCore", live_new, live_end, live_methods,
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
