// python.hpp - functions of the package that the compiled half calls.
#pragma once

#include <pybind11/pybind11.h>

#include <utility>  // forward

namespace gstar_py {

namespace py = pybind11;

/// A function that is looked up when it is first called; use it as a static.
///
/// No local static of C++: its guard and the GIL could wait for each other.
class python_function {
public:
    constexpr python_function(const char* module, const char* name)
        : module_(module), name_(name) {}

    template <class... Args>
    py::object operator()(Args&&... args) {
        if (kept_ == nullptr)
            kept_ = py::object(py::module_::import(module_).attr(name_))
                        .release()
                        .ptr();
        return py::handle(kept_)(std::forward<Args>(args)...);
    }

private:
    const char* module_;
    const char* name_;
    PyObject* kept_ = nullptr;
};

}  // namespace gstar_py
