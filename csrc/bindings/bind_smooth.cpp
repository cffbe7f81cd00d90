// bind_smooth.cpp - the smooth searches seen from Python. No arithmetic in this file.
#include <memory>
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

/// The problem that Python's `SmoothProblem` describes.
smooth make_smooth(const py::object& given) {
    smooth s;
    attributes from(given);
    const array<std::uint8_t> has(given.attr("has"));
    s.p.error_base = from["error_base"];
    s.p.error_coefficient = from["error_coefficient"];
    s.p.rate_base = from["rate_base"];
    s.p.rate_coefficient = from["rate_coefficient"];
    s.p.has.assign(has.data(), has.data() + has.size());
    s.p.penalty = from["penalty"];
    s.p.low = from["low"];
    s.p.high = from["high"];
    const std::size_t n = s.p.n_groups = s.p.error_base.size(),
                      r = s.p.n_rates = s.p.penalty.size();
    const py::list cells = given.attr("cells");
    check(cells.size() == 3 * n && s.p.error_coefficient.size() == 3 * n &&
              r <= 5 && s.p.rate_base.size() == r * n &&
              s.p.rate_coefficient.size() == 3 * r * n && s.p.has.size() == r * n,
          "the arrays of a smooth problem do not fit each other");
    for (const py::handle cell : cells) {
        if (cell.is_none()) {
            s.p.cells.push_back(nullptr);
            continue;
        }
        s.held.push_back(cell.cast<std::shared_ptr<gstar::density_handle>>());
        s.p.cells.push_back(&s.held.back()->table());
    }
    return s;
}

std::vector<double> checked_start(const smooth& s, const reals& start) {
    check(size(start) == s.p.n_groups, "start needs one threshold a group");
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
        .def(py::init(&make_smooth), "problem"_a)
        .def(
            "slopes",
            [](const smooth& s, const reals& thresholds) {
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
            [](const smooth& s, const reals& start, double shrink,
               std::size_t limit, double tolerance, bool trace) {
                std::vector<double> from = checked_start(s, start);
                return answer(unlocked([&] {
                    return gstar::alternate(s.p, std::move(from), shrink, limit,
                                            tolerance, trace);
                }));
            },
            "start"_a, "shrink"_a, "limit"_a, "tolerance"_a, "trace"_a)
        .def(
            "newton",
            [](const smooth& s, const reals& start, bool exact, bool shared,
               std::size_t limit, double tolerance, bool trace) {
                std::vector<double> from = checked_start(s, start);
                return answer(unlocked([&] {
                    return gstar::newton(s.p, std::move(from), exact, shared, limit,
                                         tolerance, trace);
                }));
            },
            "start"_a, "exact"_a, "shared"_a, "limit"_a, "tolerance"_a, "trace"_a)
        .def(
            "sweep",
            [](const smooth& s, const py::object& grid, const reals& edges,
               const reals& penalties, double tolerance) {
                const search_arrays<double> given(grid);
                const gstar::problem<double>& g = given.problem();
                const std::size_t points =
                    s.p.n_rates == 0 ? 0 : size(penalties) / s.p.n_rates;
                check(g.n_groups == 2 && s.p.n_groups == 2 &&
                          g.n_rates == s.p.n_rates &&
                          points * s.p.n_rates == size(penalties),
                      "sweep needs two groups and one penalty a rate and point");
                check(g.size(0) == size(edges) && g.size(1) == size(edges),
                      "sweep needs all edges as candidates of both groups");
                const double *e = edges.data(), *w = penalties.data();
                const gstar::sweep_points out = unlocked(
                    [&] { return gstar::sweep(s.p, g, e, w, points, tolerance); });
                return py::make_tuple(give(out.thresholds, points), give(out.loss),
                                      out.evaluations, out.restarts);
            },
            "grid"_a, "edges"_a, "penalties"_a, "tolerance"_a);
}

}  // namespace gstar_py
