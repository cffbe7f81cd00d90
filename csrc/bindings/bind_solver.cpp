// bind_solver.cpp - the searches seen from Python. No arithmetic in this file.
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "gstar/frontier.hpp"
#include "gstar/solve/exact_limits.hpp"
#include "gstar/solve/exact_pair.hpp"
#include "gstar/solve/exact_targets.hpp"
#include "gstar/solve/problem.hpp"
#include "gstar/solve/tabulate.hpp"
#include "solver_arrays.hpp"

namespace gstar_py {

using namespace py::literals;

namespace {

template <class Cost>
void bind_searches(py::module_& m, const char* name) {
    using given = arrays<Cost>;

    py::class_<given>(m, name)
        .def(py::init([](array<std::int64_t> start, array<Cost> cost,
                         array<std::int64_t> distance, array<double> rates,
                         array<std::uint8_t> has, array<double> limit,
                         array<double> ratio, array<double> penalty, double unit,
                         const py::object& low, const py::object& high,
                         double total) {
                 const auto ends = [&](const py::object& band) {
                     return band.is_none() ? rates : band.cast<array<double>>();
                 };
                 given g{start, cost,    distance, rates,     has,        limit,
                         ratio, penalty, unit,     ends(low), ends(high), total};
                 g.problem();  // throws if they do not fit
                 return g;
             }),
             "start"_a, "cost"_a, "distance"_a, "rates"_a, "has"_a, "limit"_a,
             "ratio"_a, "penalty"_a, "unit"_a, "low"_a = py::none(),
             "high"_a = py::none(),
             "total"_a = std::numeric_limits<double>::infinity())
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
                    gstar::window_search<Cost> search(p, p.limit.data(), p.total);
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
               std::size_t node_limit, bool added) {
                const gstar::problem<Cost> p = self.problem();
                if (added && p.n_rates < 2)
                    throw std::invalid_argument("a sum of gaps needs two rates");
                if (static_cast<std::size_t>(swept.size()) != p.n_rates)
                    throw std::invalid_argument("swept needs one entry a rate");
                const std::uint8_t* which = swept.data();
                gstar::frontier_points<Cost> points;
                {
                    const py::gil_scoped_release unlocked;
                    points = p.n_groups == 2
                                 ? gstar::pair_frontier<Cost>(p, which, added).run()
                                 : gstar::descend_frontier<Cost>(p, which,
                                                                 node_limit, added);
                }
                const std::size_t n = points.gap.size();
                return py::make_tuple(
                    n == 0 ? py::array_t<std::int64_t>(std::vector<py::ssize_t>{
                                 0, static_cast<py::ssize_t>(p.n_groups)})
                           : give(std::move(points.numbers), n),
                    give(std::move(points.gap)), points.proven_to);
            },
            "swept"_a, "node_limit"_a, "added"_a = false);
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
}

}  // namespace gstar_py
