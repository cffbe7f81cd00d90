// bind_segments.cpp - the search over segments seen from Python. No arithmetic in
// this file.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>

#include "gstar/solve/segments.hpp"
#include "solver_arrays.hpp"

namespace gstar_py {

using namespace pybind11::literals;

namespace {

/// The arrays of `SegmentArrays`; keeps them alive while the core borrows them.
struct segment_arrays {
    array<std::int64_t> start;
    array<double> accepted;
    array<std::int64_t> cell, cost, distance;
    array<double> totals, price;
    double constant;
    array<std::int64_t> rate;
    array<double> slope, base;
    array<std::uint8_t> has;
    array<double> limit, ratio;
    double unit;
    bool rising;
    double total;

    gstar::segment_problem problem() const {
        const auto size = [](const auto& a) {
            return static_cast<std::size_t>(a.size());
        };
        const std::size_t n = size(cost), cells = size(cell), rates = size(rate),
                          protects = size(totals) / 3;
        bool fits =
            start.size() >= 2 && start.data()[0] == 0 &&
            static_cast<std::size_t>(start.data()[start.size() - 1]) == n &&
            size(accepted) == cells * n && size(distance) == n &&
            size(totals) == 3 * protects && size(price) == cells &&
            size(slope) == rates * cells && size(base) == rates * protects &&
            size(has) == rates * protects && size(limit) == rates &&
            size(ratio) == rates && unit > 0 &&
            (rates > 1 || !(total < std::numeric_limits<double>::infinity()));
        for (py::ssize_t j = 0; fits && j + 1 < start.size(); ++j)
            fits = start.data()[j] < start.data()[j + 1] &&
                   (!rising || start.data()[j + 1] == (j + 1) * start.data()[1]);
        for (std::size_t c = 0; fits && c < cells; ++c)
            fits = cell.data()[c] >= 0 &&
                   static_cast<std::size_t>(cell.data()[c]) < 3 * protects;
        for (std::size_t r = 0; fits && r < rates; ++r) {
            bool any = false;
            for (std::size_t a = 0; a < protects; ++a)
                any = any || has.data()[r * protects + a] != 0;
            fits = any;
        }
        if (!fits)
            throw std::invalid_argument(
                "the arrays of a search over segments do not fit each other");
        return {size(start) - 1,
                cells,
                protects,
                rates,
                view(start),
                view(accepted),
                view(cell),
                view(cost),
                view(distance),
                view(totals),
                view(price),
                constant,
                view(rate),
                view(slope),
                view(base),
                view(has),
                view(limit),
                view(ratio),
                unit,
                rising,
                total};
    }
};

}  // namespace

void bind_segments(py::module_& m);

void bind_segments(py::module_& m) {
    py::class_<segment_arrays>(m, "SegmentSearch")
        .def(py::init([](array<std::int64_t> start, array<double> accepted,
                         array<std::int64_t> cell, array<std::int64_t> cost,
                         array<std::int64_t> distance, array<double> totals,
                         array<double> price, double constant,
                         array<std::int64_t> rate, array<double> slope,
                         array<double> base, array<std::uint8_t> has,
                         array<double> limit, array<double> ratio, double unit,
                         bool rising, double total) {
                 segment_arrays out{std::move(start),
                                    std::move(accepted),
                                    std::move(cell),
                                    std::move(cost),
                                    std::move(distance),
                                    std::move(totals),
                                    std::move(price),
                                    constant,
                                    std::move(rate),
                                    std::move(slope),
                                    std::move(base),
                                    std::move(has),
                                    std::move(limit),
                                    std::move(ratio),
                                    unit,
                                    rising,
                                    total};
                 out.problem();  // throws where the arrays do not fit
                 return out;
             }),
             "start"_a, "accepted"_a, "cell"_a, "cost"_a, "distance"_a, "totals"_a,
             "price"_a, "constant"_a, "rate"_a, "slope"_a, "base"_a, "has"_a,
             "limit"_a, "ratio"_a, "unit"_a, "rising"_a, "total"_a)
        .def(
            "price",
            [](const segment_arrays& self, const array<double>& weights,
               const array<std::int64_t>& low, const array<std::int64_t>& high) {
                const gstar::segment_problem p = self.problem();
                const auto l = view(low), h = view(high);
                if (l.size() != p.n_segments || h.size() != p.n_segments ||
                    static_cast<std::size_t>(weights.size()) != p.n_cells)
                    throw std::invalid_argument(
                        "price needs a weight for each cell and a range for each "
                        "segment");
                const gstar::choice from(l.begin(), l.end()),
                    to(h.begin(), h.end());
                for (std::size_t j = 0; j < p.n_segments; ++j)
                    if (from[j] < 0 || from[j] > to[j] ||
                        static_cast<std::size_t>(to[j]) >= p.size(j))
                        throw std::invalid_argument("a range has no candidates");
                gstar::choice numbers(p.n_segments);
                std::vector<double> values(p.n_segments);
                {
                    const double* w = weights.data();
                    const py::gil_scoped_release unlocked;
                    gstar::pricing scan(p);
                    scan(w, from, to, numbers, values);
                }
                return py::make_tuple(give(std::move(numbers)),
                                      give(std::move(values)));
            },
            "weights"_a, "low"_a, "high"_a)
        .def("mix",
             [](const segment_arrays& self) -> py::object {
                 const gstar::segment_problem p = self.problem();
                 gstar::segment_mixture found;
                 {
                     const py::gil_scoped_release unlocked;
                     found = gstar::mix_segments(p);
                 }
                 if (!found.found) return py::none();
                 return py::make_tuple(give(std::move(found.segment)),
                                       give(std::move(found.number)),
                                       give(std::move(found.weight)),
                                       give(std::move(found.multipliers)),
                                       found.bound, found.value, found.scans);
             })
        .def(
            "choose",
            [](const segment_arrays& self, std::size_t node_limit, double seconds) {
                const gstar::segment_problem p = self.problem();
                gstar::segment_best best;
                {
                    const py::gil_scoped_release unlocked;
                    best = gstar::choose_segments(p, node_limit,
                                                  gstar::deadline(seconds));
                }
                gstar::segment_leaves& leaves = best.leaves;
                return py::make_tuple(
                    give(std::move(best.numbers)), best.nodes, best.finished,
                    best.bound,
                    py::make_tuple(give(std::move(leaves.segment)),
                                   give(std::move(leaves.candidate)),
                                   give(std::move(leaves.child)),
                                   give(std::move(leaves.weight)),
                                   give(std::move(leaves.multipliers))));
            },
            "node_limit"_a, "seconds"_a);
}

}  // namespace gstar_py
