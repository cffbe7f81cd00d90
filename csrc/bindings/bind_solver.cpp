// bind_solver.cpp - the searches seen from Python. No arithmetic in this file.
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bind_density.hpp"
#include "gstar/frontier.hpp"
#include "gstar/solve/alternating.hpp"
#include "gstar/solve/exact_limits.hpp"
#include "gstar/solve/exact_pair.hpp"
#include "gstar/solve/exact_targets.hpp"
#include "gstar/solve/newton.hpp"
#include "gstar/solve/problem.hpp"
#include "gstar/solve/smooth.hpp"
#include "gstar/solve/sweep.hpp"
#include "gstar/solve/tabulate.hpp"
#include "numpy_view.hpp"

namespace gstar_py {

using namespace py::literals;

namespace {

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

    gstar::problem<Cost> problem() const {
        const std::size_t n_groups = static_cast<std::size_t>(start.size()) - 1;
        const std::size_t n_rates = static_cast<std::size_t>(limit.size());
        const std::size_t n = static_cast<std::size_t>(cost.size());
        if (start.size() < 2 || start.data()[0] != 0 ||
            static_cast<std::size_t>(start.data()[n_groups]) != n ||
            static_cast<std::size_t>(distance.size()) != n ||
            static_cast<std::size_t>(rates.size()) != n_rates * n ||
            static_cast<std::size_t>(has.size()) != n_rates * n_groups ||
            static_cast<std::size_t>(ratio.size()) != n_rates ||
            static_cast<std::size_t>(penalty.size()) != n_rates)
            throw std::invalid_argument(
                "the arrays of a search do not fit each other");
        for (std::size_t k = 0; k < n_groups; ++k)
            if (start.data()[k] >= start.data()[k + 1])
                throw std::invalid_argument(
                    "every group of a search needs a candidate");
        return {n_groups,       n_rates,       view(start), view(cost),
                view(distance), view(rates),   view(has),   view(limit),
                view(ratio),    view(penalty), unit};
    }
};

template <class Cost>
void bind_searches(py::module_& m, const char* name) {
    using given = arrays<Cost>;

    py::class_<given>(m, name)
        .def(py::init([](array<std::int64_t> start, array<Cost> cost,
                         array<std::int64_t> distance, array<double> rates,
                         array<std::uint8_t> has, array<double> limit,
                         array<double> ratio, array<double> penalty, double unit) {
                 given g{start, cost,  distance, rates, has,
                         limit, ratio, penalty,  unit};
                 g.problem();  // throws if they do not fit
                 return g;
             }),
             "start"_a, "cost"_a, "distance"_a, "rates"_a, "has"_a, "limit"_a,
             "ratio"_a, "penalty"_a, "unit"_a)
        .def(
            "solve_limits",
            [](const given& self, std::size_t node_limit, double seconds) {
                const gstar::problem<Cost> p = self.problem();
                std::vector<std::int64_t> numbers(p.n_groups, -1);
                std::size_t opened;
                bool finished;
                Cost bound;
                {
                    const py::gil_scoped_release unlocked;
                    gstar::window_search<Cost> search(p, p.limit.data());
                    search.run(numbers.data(), node_limit,
                               gstar::deadline(seconds));
                    opened = search.opened();
                    finished = search.finished();
                    bound = search.bound();
                }
                return py::make_tuple(give(numbers), opened, finished, bound);
            },
            "node_limit"_a, "seconds"_a)
        .def("solve_pair",
             [](const given& self) {
                 const gstar::problem<Cost> p = self.problem();
                 if (p.n_groups != 2)
                     throw std::invalid_argument("solve_pair needs two groups");
                 std::vector<std::int64_t> numbers(2, -1);
                 double loss;
                 std::size_t opened;
                 {
                     const py::gil_scoped_release unlocked;
                     gstar::pair_search<Cost> search(p);
                     search.run(numbers.data(), loss);
                     opened = search.opened();
                 }
                 return py::make_tuple(give(numbers), loss, opened);
             })
        .def(
            "solve_penalties",
            [](const given& self, const array<std::int64_t>& guess,
               std::size_t node_limit, double seconds) {
                const gstar::problem<Cost> p = self.problem();
                if (static_cast<std::size_t>(guess.size()) != p.n_groups)
                    throw std::invalid_argument("guess needs one number a group");
                for (std::size_t k = 0; k < p.n_groups; ++k)
                    if (guess.data()[k] >= static_cast<std::int64_t>(p.size(k)) ||
                        (guess.data()[k] < 0 && guess.data()[0] >= 0))
                        throw std::invalid_argument(
                            "guess names a candidate that is not there");
                const std::int64_t* begin = guess.data();
                gstar::target_search<Cost> search(p);
                {
                    const py::gil_scoped_release unlocked;
                    search.run(begin, node_limit, gstar::deadline(seconds));
                }
                return py::make_tuple(give(search.numbers()), search.loss(),
                                      search.bound(), search.opened());
            },
            "guess"_a, "node_limit"_a, "seconds"_a)
        .def(
            "frontier",
            [](const given& self, const array<std::uint8_t>& swept,
               std::size_t node_limit) {
                const gstar::problem<Cost> p = self.problem();
                if (static_cast<std::size_t>(swept.size()) != p.n_rates)
                    throw std::invalid_argument("swept needs one entry a rate");
                const std::uint8_t* which = swept.data();
                gstar::frontier_points<Cost> points;
                {
                    const py::gil_scoped_release unlocked;
                    points =
                        p.n_groups == 2
                            ? gstar::pair_frontier<Cost>(p, which).run()
                            : gstar::descend_frontier<Cost>(p, which, node_limit);
                }
                const std::size_t n = points.gap.size();
                return py::make_tuple(
                    n == 0 ? py::array_t<std::int64_t>(std::vector<py::ssize_t>{
                                 0, static_cast<py::ssize_t>(p.n_groups)})
                           : give(std::move(points.numbers), n),
                    give(std::move(points.gap)), points.proven_to);
            },
            "swept"_a, "node_limit"_a);
}

/// The smooth problem over the tables of densities that Python holds.
struct smooth {
    std::vector<std::shared_ptr<gstar::density_handle>> held;
    gstar::smooth_problem<gstar::density_table> p;
};

std::vector<double> to_vector(const array<double>& a) {
    return {a.data(), a.data() + a.size()};
}

smooth make_smooth(const py::list& cells, const array<double>& error_base,
                   const array<double>& error_coefficient,
                   const array<double>& rate_base,
                   const array<double>& rate_coefficient,
                   const array<std::uint8_t>& has, const array<double>& penalty,
                   double low, double high) {
    smooth s;
    s.p.n_groups = static_cast<std::size_t>(error_base.size());
    s.p.n_rates = static_cast<std::size_t>(penalty.size());
    const std::size_t n = s.p.n_groups, r = s.p.n_rates;
    if (cells.size() != 3 * n ||
        static_cast<std::size_t>(error_coefficient.size()) != 3 * n || r > 5 ||
        static_cast<std::size_t>(rate_base.size()) != r * n ||
        static_cast<std::size_t>(rate_coefficient.size()) != 3 * r * n ||
        static_cast<std::size_t>(has.size()) != r * n)
        throw std::invalid_argument(
            "the arrays of a smooth problem do not fit each other");
    for (const py::handle cell : cells) {
        if (cell.is_none()) {
            s.p.cells.push_back(nullptr);
            continue;
        }
        s.held.push_back(cell.cast<std::shared_ptr<gstar::density_handle>>());
        s.p.cells.push_back(&s.held.back()->table());
    }
    s.p.error_base = to_vector(error_base);
    s.p.error_coefficient = to_vector(error_coefficient);
    s.p.rate_base = to_vector(rate_base);
    s.p.rate_coefficient = to_vector(rate_coefficient);
    s.p.has.assign(has.data(), has.data() + has.size());
    s.p.penalty = to_vector(penalty);
    s.p.low = low;
    s.p.high = high;
    return s;
}

std::vector<double> checked_start(const smooth& s, const array<double>& start) {
    if (static_cast<std::size_t>(start.size()) != s.p.n_groups)
        throw std::invalid_argument("start needs one threshold a group");
    return to_vector(start);
}

py::tuple give(const gstar::descent& d) {
    return py::make_tuple(give(d.thresholds), d.loss, d.iterations, d.stalled,
                          give(d.trace));
}

void bind_smooth(py::module_& m) {
    py::class_<smooth>(m, "SmoothProblem")
        .def(py::init(&make_smooth), "cells"_a, "error_base"_a,
             "error_coefficient"_a, "rate_base"_a, "rate_coefficient"_a, "has"_a,
             "penalty"_a, "low"_a, "high"_a)
        .def(
            "slopes",
            [](const smooth& s, const array<double>& thresholds) {
                const std::size_t n = s.p.n_groups;
                std::vector<gstar::group_point> groups(n);
                std::vector<double> gradient(n), hessian(n * n);
                const double loss =
                    s.p.loss_at(checked_start(s, thresholds), groups);
                s.p.slopes(groups, true, gradient, hessian);
                return py::make_tuple(loss, give(gradient), give(hessian, n));
            },
            "thresholds"_a)
        .def(
            "alternate",
            [](const smooth& s, const array<double>& start, double shrink,
               std::size_t limit, double tolerance, bool trace) {
                std::vector<double> from = checked_start(s, start);
                gstar::descent d;
                {
                    const py::gil_scoped_release unlocked;
                    d = gstar::alternate(s.p, std::move(from), shrink, limit,
                                         tolerance, trace);
                }
                return give(d);
            },
            "start"_a, "shrink"_a, "limit"_a, "tolerance"_a, "trace"_a)
        .def(
            "newton",
            [](const smooth& s, const array<double>& start, bool exact, bool shared,
               std::size_t limit, double tolerance, bool trace) {
                std::vector<double> from = checked_start(s, start);
                gstar::descent d;
                {
                    const py::gil_scoped_release unlocked;
                    d = gstar::newton(s.p, std::move(from), exact, shared, limit,
                                      tolerance, trace);
                }
                return give(d);
            },
            "start"_a, "exact"_a, "shared"_a, "limit"_a, "tolerance"_a, "trace"_a)
        .def(
            "sweep",
            [](const smooth& s, const arrays<double>& grid,
               const array<double>& edges, const array<double>& penalties,
               double tolerance) {
                const gstar::problem<double> g = grid.problem();
                const std::size_t points =
                    s.p.n_rates == 0
                        ? 0
                        : static_cast<std::size_t>(penalties.size()) / s.p.n_rates;
                if (g.n_groups != 2 || s.p.n_groups != 2 ||
                    g.n_rates != s.p.n_rates ||
                    points * s.p.n_rates !=
                        static_cast<std::size_t>(penalties.size()))
                    throw std::invalid_argument(
                        "sweep needs two groups and one penalty a rate and point");
                for (std::size_t k = 0; k < 2; ++k)
                    if (g.size(k) != static_cast<std::size_t>(edges.size()))
                        throw std::invalid_argument(
                            "sweep needs all edges as candidates of both groups");
                const double *e = edges.data(), *w = penalties.data();
                gstar::sweep_points out;
                {
                    const py::gil_scoped_release unlocked;
                    out = gstar::sweep(s.p, g, e, w, points, tolerance);
                }
                return py::make_tuple(give(out.thresholds, points), give(out.loss),
                                      out.evaluations, out.restarts);
            },
            "grid"_a, "edges"_a, "penalties"_a, "tolerance"_a);
}

}  // namespace

void bind_solver(py::module_& m);

void bind_solver(py::module_& m) {
    m.def(
        "tabulate",
        [](const array<std::int64_t>& rows, std::int64_t price_fp,
           std::int64_t price_fn) {
            if (rows.ndim() != 3 || rows.shape(0) != 3)
                throw std::invalid_argument(
                    "rows must have shape (3, groups, candidates)");
            const std::size_t k = static_cast<std::size_t>(rows.shape(1)),
                              c = static_cast<std::size_t>(rows.shape(2));
            gstar::tabulation t;
            {
                const auto in = view(rows);
                const py::gil_scoped_release unlocked;
                t = gstar::tabulate(in, k, c, price_fp, price_fn);
            }
            return py::make_tuple(
                give(std::move(t.start)), give(std::move(t.candidate)),
                give(std::move(t.accepted), 3), give(std::move(t.cost)),
                give(std::move(t.totals), 3), give(std::move(t.at_unified), 3),
                t.unified);
        },
        "rows"_a, "price_fp"_a, "price_fn"_a);
    bind_searches<std::int64_t>(m, "CountSearch");
    bind_searches<double>(m, "ShareSearch");
    bind_smooth(m);
}

}  // namespace gstar_py
