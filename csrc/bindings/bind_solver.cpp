// bind_solver.cpp - the searches on counts seen from Python. No arithmetic in this
// file.
#include <memory>
#include <string>
#include <tuple>

#include "gstar/solve.hpp"
#include "gstar/solve/exact_limits.hpp"
#include "gstar/solve/exact_pair.hpp"
#include "gstar/solve/exact_targets.hpp"
#include "gstar/solve/frontier.hpp"
#include "gstar/solve/segments/segments.hpp"
#include "gstar/solve/table.hpp"
#include "gstar/thresholds_io.hpp"
#include "sketch_core.hpp"
#include "solver_arrays.hpp"

namespace gstar_py {

using namespace py::literals;

namespace {

// ---- groups -----------------------------------------------------------------

template <class Cost>
py::tuple solve_limits(const arrays<Cost>& self, std::size_t node_limit,
                       double seconds) {
    const gstar::problem<Cost> p = self.problem();
    std::vector<std::int64_t> numbers(p.n_groups, -1);
    const auto search = unlocked([&] {
        gstar::window_search<Cost> s(p, p.limit.data(), p.total);
        s.run(numbers.data(), node_limit, gstar::deadline(seconds));
        return s;
    });
    return py::make_tuple(give(std::move(numbers)), search.opened(),
                          search.finished(), search.bound());
}

template <class Cost>
py::tuple solve_pair(const arrays<Cost>& self) {
    const gstar::problem<Cost> p = self.problem();
    check(p.n_groups == 2, "solve_pair needs two groups");
    std::vector<std::int64_t> numbers(2, -1);
    double loss = 0;
    const std::size_t opened = unlocked([&] {
        gstar::pair_search<Cost> search(p);
        search.run(numbers.data(), loss);
        return search.opened();
    });
    return py::make_tuple(give(std::move(numbers)), loss, opened);
}

template <class Cost>
py::tuple solve_penalties(const arrays<Cost>& self, const ints& guess,
                          std::size_t node_limit, double seconds) {
    const gstar::problem<Cost> p = self.problem();
    bool fits = size(guess) == p.n_groups;
    for (std::size_t k = 0; fits && k < p.n_groups; ++k)
        fits = guess.data()[k] < static_cast<std::int64_t>(p.size(k)) &&
               (guess.data()[k] >= 0 || guess.data()[0] < 0);
    check(fits, "guess needs one candidate a group, or -1 for all of them");
    gstar::target_search<Cost> search(p);
    const std::int64_t* begin = guess.data();
    unlocked([&] { search.run(begin, node_limit, gstar::deadline(seconds)); });
    return py::make_tuple(give(search.numbers()), search.loss(), search.bound(),
                          search.opened());
}

template <class Cost>
py::tuple frontier(const arrays<Cost>& self, const array<std::uint8_t>& swept,
                   std::size_t node_limit, bool added) {
    const gstar::problem<Cost> p = self.problem();
    check(!added || p.n_rates > 1, "a sum of gaps needs two rates");
    check(size(swept) == p.n_rates, "swept needs one entry a rate");
    const std::uint8_t* which = swept.data();
    auto points = unlocked([&] {
        return p.n_groups == 2
                   ? gstar::pair_frontier<Cost>(p, which, added).run()
                   : gstar::descend_frontier<Cost>(p, which, node_limit, added);
    });
    const std::vector<py::ssize_t> shape{
        static_cast<py::ssize_t>(points.gap.size()),
        static_cast<py::ssize_t>(p.n_groups)};
    return py::make_tuple(give(std::move(points.numbers)).reshape(shape),
                          give(std::move(points.gap)), points.proven_to);
}

template <class Cost>
void bind_searches(py::module_& m, const char* name) {
    using given = arrays<Cost>;
    py::class_<given>(m, name)
        .def(
            py::init([](ints start, array<Cost> cost, ints distance, reals rates,
                        array<std::uint8_t> has, reals limit, reals ratio,
                        reals penalty, double unit, const std::optional<reals>& low,
                        const std::optional<reals>& high, double total) {
                given g{start,
                        cost,
                        distance,
                        rates,
                        has,
                        limit,
                        ratio,
                        penalty,
                        unit,
                        low.value_or(rates),
                        high.value_or(rates),
                        total};
                g.problem();  // throws if they do not fit
                return g;
            }),
            "start"_a, "cost"_a, "distance"_a, "rates"_a, "has"_a, "limit"_a,
            "ratio"_a, "penalty"_a, "unit"_a, "low"_a = py::none(),
            "high"_a = py::none(),
            "total"_a = std::numeric_limits<double>::infinity())
        .def("solve_limits", &solve_limits<Cost>, "node_limit"_a, "seconds"_a)
        .def("solve_pair", &solve_pair<Cost>)
        .def("solve_penalties", &solve_penalties<Cost>, "guess"_a, "node_limit"_a,
             "seconds"_a)
        .def("frontier", &frontier<Cost>, "swept"_a, "node_limit"_a,
             "added"_a = false);
}

py::tuple tabulate(const ints& rows, std::int64_t price_fp, std::int64_t price_fn) {
    check(rows.ndim() == 3 && rows.shape(0) == 3,
          "rows must have shape (3, groups, candidates)");
    const auto k = static_cast<std::size_t>(rows.shape(1)),
               c = static_cast<std::size_t>(rows.shape(2));
    const auto in = view(rows);
    gstar::tabulation t =
        unlocked([&] { return gstar::tabulate(in, k, c, price_fp, price_fn); });
    return py::make_tuple(give(std::move(t.start)), give(std::move(t.candidate)),
                          give(std::move(t.accepted), 3), give(std::move(t.cost)),
                          give(std::move(t.totals), 3),
                          give(std::move(t.at_unified), 3), t.unified);
}

// ---- segments ---------------------------------------------------------------

/// A member of a Python object, as whatever it is put into.
struct member {
    py::object of;
    member operator[](const char* name) const { return {of.attr(name)}; }
    template <class T>
    operator T() const {
        return of.cast<T>();
    }
};

/// The arrays of a `Program`; keeps them alive while the core borrows them.
struct segment_arrays {
    ints start, begin, slot;
    reals values;
    ints cost, distance;
    reals price, most;
    double constant;
    ints term, measure;
    reals slope, hits, base, given, trials;
    ints kind, about, window;
    reals scale, share, right;
    double unit;
    bool rising;

    static segment_arrays of(const py::object& p) {
        const member from{p}, row{p.attr("rows")};
        segment_arrays out{
            from["start"],    from["begin"],    from["slot"],    from["values"],
            from["cost"],     from["distance"], from["price"],   from["most"],
            from["constant"], from["term"],     from["measure"], from["slope"],
            from["hits"],     from["base"],     from["given"],   from["trials"],
            row["kind"],      row["measure"],   row["window"],   row["scale"],
            row["share"],     row["right"],     from["unit"],    from["rising"]};
        check(out.fits(),
              "the arrays of a search over segments do not fit each other");
        return out;
    }

    gstar::segment_problem problem() const {
        return {size(start) - 1, size(price),   size(base),   view(start),
                view(begin),     view(slot),    view(values), view(cost),
                view(distance),  view(price),   view(most),   constant,
                view(term),      view(measure), view(slope),  view(hits),
                view(base),      view(given),   view(trials), view(kind),
                view(about),     view(window),  view(scale),  view(share),
                view(right),     unit,          rising};
    }

private:
    /// Whether numbers go from 0 to `to` in steps of `least` or more.
    static bool climbs(const ints& a, std::size_t to, std::int64_t least) {
        const std::size_t n = size(a);
        bool fine = n > 0 && a.data()[0] == 0 &&
                    a.data()[n - 1] == static_cast<std::int64_t>(to);
        for (std::size_t i = 1; fine && i < n; ++i)
            fine = a.data()[i] - a.data()[i - 1] >= least;
        return fine;
    }
    static bool below(const ints& a, std::size_t end, std::int64_t least = 0) {
        for (const std::int64_t v : view(a))
            if (v < least || v >= static_cast<std::int64_t>(end)) return false;
        return true;
    }

    bool fits() const {
        const std::size_t m = size(start) - 1, n = size(cost), slots = size(price),
                          terms = size(measure), measures = size(base),
                          rows = size(kind);
        if (start.size() < 2 || !climbs(start, n, 1) || size(begin) != m + 1 ||
            !climbs(begin, size(slot), 0) || size(term) != slots + 1 ||
            !climbs(term, terms, 0) || !below(slot, slots) ||
            !below(measure, measures) || size(distance) != n ||
            size(most) != slots || size(slope) != terms ||
            size(hits) != 2 * terms || size(given) != 2 * measures ||
            size(trials) != 2 * measures || size(about) != rows ||
            size(window) != rows || size(scale) != rows || size(share) != rows ||
            size(right) != rows || !below(about, measures) || !below(kind, 6) ||
            !below(window, rows, -1) || !(unit > 0))
            return false;
        std::int64_t held = 0;
        for (std::size_t j = 0; j < m; ++j) {
            held += (begin.data()[j + 1] - begin.data()[j]) *
                    (start.data()[j + 1] - start.data()[j]);
            if (rising && start.data()[j + 1] !=
                              static_cast<std::int64_t>(j + 1) * start.data()[1])
                return false;
        }
        return held == values.size() && windows_have_ends();
    }

    /// Whether every window that rows belong to has a low end.
    bool windows_have_ends() const {
        std::vector<bool> low(size(kind), false);
        for (std::size_t i = 0; i < size(kind); ++i) {
            const std::int64_t w = window.data()[i], k = kind.data()[i];
            if ((w < 0) != (k > 3) || (share.data()[i] != 0.0 && k != 3))
                return false;
            if (k == 0) low[static_cast<std::size_t>(w)] = true;
        }
        for (const std::int64_t w : view(window))
            if (w >= 0 && !low[static_cast<std::size_t>(w)]) return false;
        return true;
    }
};

py::tuple price(const segment_arrays& self, const reals& weights, const ints& low,
                const ints& high) {
    const gstar::segment_problem p = self.problem();
    bool fits = size(low) == p.n_segments && size(high) == p.n_segments &&
                size(weights) == p.n_slots;
    for (std::size_t j = 0; fits && j < p.n_segments; ++j)
        fits = low.data()[j] >= 0 && low.data()[j] <= high.data()[j] &&
               high.data()[j] < static_cast<std::int64_t>(p.size(j));
    check(fits, "price needs a weight for each slot and a range for each segment");
    const gstar::choice from(view(low).begin(), view(low).end()),
        to(view(high).begin(), view(high).end());
    gstar::choice numbers(p.n_segments);
    std::vector<double> values(p.n_segments);
    const double* w = weights.data();
    unlocked([&] { gstar::pricing{p}(w, from, to, numbers, values); });
    return py::make_tuple(give(std::move(numbers)), give(std::move(values)));
}

py::object mix(const segment_arrays& self) {
    const gstar::segment_problem p = self.problem();
    auto found = unlocked([&] { return gstar::mix_segments(p); });
    if (!found.found) return py::none();
    return py::make_tuple(
        give(std::move(found.segment)), give(std::move(found.number)),
        give(std::move(found.weight)), give(std::move(found.multipliers)),
        found.bound, found.value, found.scans);
}

py::tuple choose(const segment_arrays& self, std::size_t node_limit,
                 double seconds) {
    const gstar::segment_problem p = self.problem();
    auto best = unlocked([&] {
        return gstar::choose_segments(p, node_limit, gstar::deadline(seconds));
    });
    gstar::segment_leaves& leaves = best.leaves;
    return py::make_tuple(
        give(std::move(best.numbers)), best.nodes, best.finished, best.bound,
        py::make_tuple(
            give(std::move(leaves.segment)), give(std::move(leaves.candidate)),
            give(std::move(leaves.child)), give(std::move(leaves.weight)),
            give(std::move(leaves.multipliers))));
}

// ---- the front door ---------------------------------------------------------

using limit_fields = std::tuple<int, std::vector<int>, double>;
using penalty_fields = std::tuple<std::vector<int>, double>;

std::vector<gstar::rate> rates_of(const std::vector<int>& places) {
    std::vector<gstar::rate> out;
    for (const int place : places) {
        check(place >= 0 && place < static_cast<int>(gstar::n_rates),
              "there is no such rate");
        out.push_back(static_cast<gstar::rate>(place));
    }
    return out;
}

py::dict solve(sketch_core& sketch, const std::vector<limit_fields>& limits,
               const std::vector<penalty_fields>& penalties, std::int64_t price_fp,
               std::int64_t price_fn, bool balanced, bool unified, bool randomize,
               double seconds) {
    gstar::question q;
    for (const auto& [form, of, bound] : limits) {
        check(form >= 0 && form < 3, "there is no such form");
        q.limits.push_back({static_cast<gstar::form>(form), rates_of(of), bound});
    }
    for (const auto& [of, weight] : penalties)
        q.penalties.push_back({rates_of(of), weight});
    q.price_fp = price_fp;
    q.price_fn = price_fn;
    q.balanced = balanced;
    q.unified = unified;
    q.randomize = randomize;
    q.seconds = seconds;
    const std::unique_ptr<gstar::sketch> still =
        sketch.inner().clone();  // under the GIL
    const gstar::result r = unlocked([&] { return gstar::solve(*still, q); });
    py::dict out("verdict"_a = static_cast<int>(r.outcome), "error"_a = r.error,
                 "cost"_a = r.cost, "loss"_a = r.loss,
                 "lower_bound"_a = r.lower_bound, "slack"_a = r.slack,
                 "opened"_a = r.opened, "rates"_a = r.rates);
    if (r.found()) {
        const std::vector<std::uint8_t> bytes = gstar::to_bytes(r.set);
        out["thresholds"] =
            py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return out;
}

}  // namespace

void bind_solver(py::module_& m);

void bind_solver(py::module_& m) {
    m.def("tabulate", &tabulate, "rows"_a, "price_fp"_a, "price_fn"_a);
    bind_searches<std::int64_t>(m, "CountSearch");
    bind_searches<double>(m, "ShareSearch");
    py::class_<segment_arrays>(m, "SegmentSearch")
        .def(py::init(&segment_arrays::of), "program"_a)
        .def("price", &price, "weights"_a, "low"_a, "high"_a)
        .def("mix", &mix)
        .def("choose", &choose, "node_limit"_a, "seconds"_a);
    m.def("solve", &solve, "sketch"_a, "limits"_a, "penalties"_a, "price_fp"_a,
          "price_fn"_a, "balanced"_a, "unified"_a, "randomize"_a, "seconds"_a);
}

}  // namespace gstar_py
