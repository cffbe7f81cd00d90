// bind_smooth.cpp - the smooth searches seen from Python. No arithmetic in this file.
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bind_density.hpp"
#include "gstar/solve/smooth/alternating.hpp"
#include "gstar/solve/smooth/newton.hpp"
#include "gstar/solve/smooth/smooth.hpp"
#include "gstar/solve/smooth/sweep.hpp"
#include "solver_arrays.hpp"

namespace gstar_py {

using namespace py::literals;

namespace {

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

py::tuple answer(const gstar::descent& d) {
    return py::make_tuple(give(d.thresholds), d.loss, d.iterations, d.stalled,
                          give(d.trace));
}

}  // namespace

void bind_smooth(py::module_& m);

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
                return answer(d);
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
                return answer(d);
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

}  // namespace gstar_py
