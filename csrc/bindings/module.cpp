// module.cpp - the compiled module: which rooms it has, and what it was built with.
#include <string>

#include "errors.hpp"
#include "gstar/base/simd/dispatch.hpp"
#include "numpy_view.hpp"

namespace gstar_py {

void bind_density(py::module_& m);
void bind_decide(py::module_& m);
void bind_groups(py::module_& m);
void bind_sketch(py::module_& m);
void bind_smooth(py::module_& m);
void bind_solver(py::module_& m);

namespace {

PyObject* reduce(PyObject* self, PyObject*) {
    PyErr_Format(PyExc_TypeError,
                 "%s cannot be pickled; pickle the object of gstar_fast that "
                 "holds it",
                 Py_TYPE(self)->tp_name);
    return nullptr;
}

PyMethodDef reduce_method = {"__reduce__", reduce, METH_NOARGS,
                             "Raise TypeError: compiled objects are not pickled."};

/// The `__reduce__` of `object` makes an instance of pybind11's base class, which
/// crashes. `__reduce_ex__`, and so copy and pickle, call this one instead.
void refuse_pickles(const py::module_& m) {
    for (const auto& entry : py::cast<py::dict>(m.attr("__dict__"))) {
        if (PyType_Check(entry.second.ptr()) == 0) continue;
        auto* const type = reinterpret_cast<PyTypeObject*>(entry.second.ptr());
        const auto method = py::reinterpret_steal<py::object>(
            PyDescr_NewMethod(type, &reduce_method));
        if (!method) throw py::error_already_set();
        py::setattr(entry.second, "__reduce__", method);
    }
}

}  // namespace
}  // namespace gstar_py

PYBIND11_MODULE(_core, m) {
    namespace py = pybind11;
    m.doc() =
        "The compiled core of gstar_fast; see gstar_fast for the public names.";
    m.attr("compiler") =
#if defined(__clang__)
        "clang " __clang_version__;
#elif defined(__GNUC__)
        "g++ " __VERSION__;
#else
        "unknown";
#endif
    m.def("kernel", [] { return gstar::name_of(gstar::active_kernel()); });
    m.def("use_kernel", [](const std::string& wanted) {
        for (const gstar::kernel k : gstar::all_kernels) {
            if (wanted != gstar::name_of(k)) continue;
            if (!gstar::use_kernel(k))
                throw py::value_error("this CPU has no " + wanted);
            return;
        }
        throw py::value_error(
            "kernel must be one of generic, four, avx2, avx512; got '" + wanted +
            "'");
    });
    gstar_py::register_refusals();
    gstar_py::bind_groups(m);
    gstar_py::bind_sketch(m);
    gstar_py::bind_decide(m);
    gstar_py::bind_density(m);
    gstar_py::bind_solver(m);
    gstar_py::bind_smooth(m);
    gstar_py::refuse_pickles(m);
}
