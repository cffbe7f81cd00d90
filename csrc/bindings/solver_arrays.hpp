// solver_arrays.hpp - the arrays of a search: borrowed from Python, and given back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "gstar/solve/problem.hpp"
#include "numpy_view.hpp"

namespace gstar_py {

template <class T>
using array = py::array_t<T, py::array::c_style | py::array::forcecast>;

template <class T>
gstar::span<const T> view(const array<T>& a) {
    return {a.data(), static_cast<std::size_t>(a.size())};
}

/// A vector as an array that owns it; nothing is copied.
template <class T>
py::array_t<T> give(std::vector<T> values, std::size_t rows = 0) {
    auto owned = std::make_unique<std::vector<T>>(std::move(values));
    const auto size = static_cast<py::ssize_t>(owned->size()),
               n = static_cast<py::ssize_t>(rows);
    const std::vector<py::ssize_t> shape =
        rows == 0 ? std::vector<py::ssize_t>{size}
                  : std::vector<py::ssize_t>{n, size / n};
    const T* data = owned->data();
    const py::capsule owner(
        owned.get(), [](void* p) { delete static_cast<std::vector<T>*>(p); });
    static_cast<void>(owned.release());
    return py::array_t<T>(shape, data, owner);
}

/// The arrays of `_search.Arrays`; keeps them alive while the core borrows them.
template <class Cost>
struct arrays {
    array<std::int64_t> start;
    array<Cost> cost;
    array<std::int64_t> distance;
    array<double> rates;
    array<std::uint8_t> has;
    array<double> limit, ratio, penalty;
    double unit;
    array<double> low, high;
    double total;

    gstar::problem<Cost> problem() const {
        const std::size_t n_groups = static_cast<std::size_t>(start.size()) - 1;
        const std::size_t n_rates = static_cast<std::size_t>(limit.size());
        const std::size_t n = static_cast<std::size_t>(cost.size());
        if (start.size() < 2 || start.data()[0] != 0 ||
            static_cast<std::size_t>(start.data()[n_groups]) != n ||
            static_cast<std::size_t>(distance.size()) != n ||
            static_cast<std::size_t>(rates.size()) != n_rates * n ||
            low.size() != rates.size() || high.size() != rates.size() ||
            static_cast<std::size_t>(has.size()) != n_rates * n_groups ||
            static_cast<std::size_t>(ratio.size()) != n_rates ||
            static_cast<std::size_t>(penalty.size()) != n_rates)
            throw std::invalid_argument(
                "the arrays of a search do not fit each other");
        if (total < std::numeric_limits<double>::infinity() && n_rates < 2)
            throw std::invalid_argument("a sum of gaps needs two rates");
        for (std::size_t k = 0; k < n_groups; ++k)
            if (start.data()[k] >= start.data()[k + 1])
                throw std::invalid_argument(
                    "every group of a search needs a candidate");
        return {n_groups,    n_rates,   view(start), view(cost),  view(distance),
                view(rates), view(has), view(limit), view(ratio), view(penalty),
                unit,        view(low), view(high),  total};
    }
};

}  // namespace gstar_py
