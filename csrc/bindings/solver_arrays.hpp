// solver_arrays.hpp - arrays of searches and densities: borrowed from Python, and given
// back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
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

/// The arrays of `_search.Arrays`; keeps them alive while the core borrows them.
template <class Cost>
struct arrays {
    ints start;
    array<Cost> cost;
    ints distance;
    reals rates;
    array<std::uint8_t> has;
    reals limit, ratio, penalty;
    double unit;
    reals low, high;
    double total;

    gstar::problem<Cost> problem() const {
        const std::size_t groups = size(start) - 1, n_rates = size(limit),
                          n = size(cost);
        bool fits = start.size() > 1 && start.data()[0] == 0 &&
                    start.data()[groups] == static_cast<std::int64_t>(n) &&
                    size(distance) == n && size(rates) == n_rates * n &&
                    low.size() == rates.size() && high.size() == rates.size() &&
                    size(has) == n_rates * groups && size(ratio) == n_rates &&
                    size(penalty) == n_rates;
        for (std::size_t k = 0; fits && k < groups; ++k)
            fits = start.data()[k] < start.data()[k + 1];
        check(fits, "the arrays of a search do not fit each other");
        check(total == std::numeric_limits<double>::infinity() || n_rates > 1,
              "a sum of gaps needs two rates");
        return {groups,      n_rates,   view(start), view(cost),  view(distance),
                view(rates), view(has), view(limit), view(ratio), view(penalty),
                unit,        view(low), view(high),  total};
    }
};

}  // namespace gstar_py
