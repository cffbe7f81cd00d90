// solver_arrays.hpp - arrays of searches and densities: borrowed from Python, and given
// back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "gstar/solve/problem.hpp"
#include "numpy_view.hpp"

namespace gstar_py {

template <class T>
using array = py::array_t<T, py::array::c_style | py::array::forcecast>;
using ints = array<std::int64_t>;
using reals = array<double>;

template <class T>
gstar::span<const T> view(const array<T>& a) {
    return {a.data(), static_cast<std::size_t>(a.size())};
}

template <class T>
std::size_t size(const array<T>& a) {
    return static_cast<std::size_t>(a.size());
}

template <class T>
std::vector<T> to_vector(const array<T>& a) {
    return {a.data(), a.data() + a.size()};
}

/// A vector as an array that owns it; nothing is copied.
template <class T>
py::array_t<T> give(std::vector<T> values, std::size_t rows = 0) {
    auto* const owned = new std::vector<T>(std::move(values));
    const py::capsule owner(
        owned, [](void* p) { delete static_cast<std::vector<T>*>(p); });
    const auto n = static_cast<py::ssize_t>(owned->size()),
               m = static_cast<py::ssize_t>(rows);
    if (rows == 0) return py::array_t<T>(n, owned->data(), owner);
    return py::array_t<T>(std::vector<py::ssize_t>{m, n / m}, owned->data(), owner);
}

/// What `run` answers, without the GIL.
template <class Run>
auto unlocked(Run run) {
    const py::gil_scoped_release released;
    return run();
}

inline void check(bool fine, const char* message) {
    if (!fine) throw std::invalid_argument(message);
}

/// Attributes of a Python object; keeps alive the arrays that the core borrows.
class attributes {
public:
    /// An attribute, as whatever it is put into.
    struct attribute {
        py::object value;
        std::vector<py::object>& kept;

        template <class T>
        operator gstar::span<const T>() const {
            const auto given = value.cast<array<T>>();
            kept.push_back(given);
            return view(given);
        }
        template <class T>
        operator std::vector<T>() const {
            return to_vector(value.cast<array<T>>());
        }
        operator double() const { return value.cast<double>(); }
        operator bool() const { return value.cast<bool>(); }
    };

    explicit attributes(const py::object& of) : of_(of) {}

    attribute operator[](const char* name) { return {of_.attr(name), kept_}; }

private:
    py::object of_;
    std::vector<py::object> kept_;
};

/// The problem that Python's `Arrays` describes.
template <class Cost>
class search_arrays {
public:
    explicit search_arrays(const py::object& given)
        : from_(given), p_(problem_of(from_)) {
        p_.n_groups = p_.start.size() - 1;
        p_.n_rates = p_.limit.size();
        check(fits(), "the arrays of a search do not fit each other");
        check(!p_.totalled() || p_.n_rates > 1, "a sum of gaps needs two rates");
    }

    const gstar::problem<Cost>& problem() const noexcept { return p_; }

private:
    static gstar::problem<Cost> problem_of(attributes& from) {
        constexpr std::size_t counted = 0;  // when all arrays are there
        const gstar::span<const double> of_rates = from["rates"];
        const auto ends = [&](const char* name) {
            const bool same = from[name].value.is_none();
            return same ? of_rates : gstar::span<const double>(from[name]);
        };
        return {counted,          counted,         from["start"], from["cost"],
                from["distance"], of_rates,        from["has"],   from["limit"],
                from["ratio"],    from["penalty"], from["unit"],  ends("low"),
                ends("high"),     from["total"]};
    }

    bool fits() const {
        const std::size_t n = p_.cost.size(), values = p_.n_rates * n;
        if (p_.start.size() < 2 || p_.start[0] != 0 ||
            p_.start[p_.n_groups] != static_cast<std::int64_t>(n) ||
            p_.distance.size() != n || p_.rates.size() != values ||
            p_.lows.size() != values || p_.highs.size() != values ||
            p_.has.size() != p_.n_rates * p_.n_groups ||
            p_.ratio.size() != p_.n_rates || p_.penalty.size() != p_.n_rates)
            return false;
        for (std::size_t k = 0; k < p_.n_groups; ++k)
            if (p_.start[k] >= p_.start[k + 1]) return false;
        return true;
    }

    attributes from_;
    gstar::problem<Cost> p_;
};

}  // namespace gstar_py
