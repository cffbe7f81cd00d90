// bind_solver.cpp - the searches on counts seen from Python. No arithmetic in this
// file.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "gstar/solve/exact_limits.hpp"
#include "gstar/solve/exact_pair.hpp"
#include "gstar/solve/exact_targets.hpp"
#include "gstar/solve/frontier.hpp"
#include "gstar/solve/segments/segments.hpp"
#include "gstar/solve/table.hpp"
#include "solver_arrays.hpp"

namespace gstar_py {

using namespace py::literals;

namespace {

// ---- groups -----------------------------------------------------------------

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

/// What `use` answers to the problem of Python's `Arrays`: costs are whole numbers, or
/// shares.
template <class Use>
py::tuple with_problem(const py::object& given, Use use) {
    if (given.attr("cost").cast<py::array>().dtype().kind() != 'f')
        return use(search_arrays<std::int64_t>(given).problem());
    return use(search_arrays<double>(given).problem());
}

py::tuple solve_limits(const py::object& arrays, std::size_t node_limit,
                       double seconds) {
    return with_problem(arrays, [&](const auto& p) {
        std::vector<std::int64_t> numbers(p.n_groups, -1);
        const auto search = unlocked([&] {
            gstar::window_search s(p);
            s.run(numbers.data(), node_limit, gstar::deadline(seconds));
            return s;
        });
        return py::make_tuple(give(std::move(numbers)), search.opened(),
                              search.finished(), search.bound());
    });
}

py::tuple solve_pair(const py::object& arrays) {
    return with_problem(arrays, [](const auto& p) {
        check(p.n_groups == 2, "solve_pair needs two groups");
        std::vector<std::int64_t> numbers(2, -1);
        double loss = 0;
        const std::size_t opened = unlocked([&] {
            gstar::pair_search search(p);
            search.run(numbers.data(), loss);
            return search.opened();
        });
        return py::make_tuple(give(std::move(numbers)), loss, opened);
    });
}

py::tuple solve_penalties(const py::object& arrays, const ints& guess,
                          std::size_t node_limit, double seconds) {
    return with_problem(arrays, [&](const auto& p) {
        const auto from = view(guess);
        bool fits = from.size() == p.n_groups;
        for (std::size_t k = 0; fits && k < p.n_groups; ++k)
            fits = from[k] < static_cast<std::int64_t>(p.size(k)) &&
                   (from[k] >= 0 || from[0] < 0);
        check(fits, "guess needs one candidate a group, or -1 for all of them");
        gstar::target_search search(p);
        unlocked(
            [&] { search.run(from.data(), node_limit, gstar::deadline(seconds)); });
        return py::make_tuple(give(search.numbers()), search.loss(), search.bound(),
                              search.opened());
    });
}

py::tuple frontier(const py::object& arrays, const array<std::uint8_t>& swept,
                   std::size_t node_limit, bool added) {
    return with_problem(arrays, [&](const auto& p) {
        check(!added || p.n_rates > 1, "a sum of gaps needs two rates");
        check(size(swept) == p.n_rates, "swept needs one entry a rate");
        const std::uint8_t* which = swept.data();
        auto points = unlocked([&] {
            return p.n_groups == 2
                       ? gstar::pair_frontier(p, which, added).run()
                       : gstar::descend_frontier(p, which, node_limit, added);
        });
        const std::vector<py::ssize_t> shape{
            static_cast<py::ssize_t>(points.gap.size()),
            static_cast<py::ssize_t>(p.n_groups)};
        return py::make_tuple(give(std::move(points.numbers)).reshape(shape),
                              give(std::move(points.gap)), points.proven_to);
    });
}

// ---- segments ---------------------------------------------------------------

/// The problem that Python's `Program` describes.
class segment_arrays {
public:
    explicit segment_arrays(const py::object& given)
        : from_(given), rows_(given.attr("rows")), p_(problem_of(from_, rows_)) {
        p_.n_segments = p_.start.size() - 1;
        p_.n_slots = p_.price.size();
        p_.n_measures = p_.base.size();
        check(fits(), "the arrays of a search over segments do not fit each other");
    }

    const gstar::segment_problem& problem() const noexcept { return p_; }

private:
    static gstar::segment_problem problem_of(attributes& from, attributes& row) {
        constexpr std::size_t counted = 0;  // when all arrays are there
        return {counted,          counted,         counted,        from["start"],
                from["begin"],    from["slot"],    from["values"], from["cost"],
                from["distance"], from["price"],   from["most"],   from["constant"],
                from["term"],     from["measure"], from["slope"],  from["hits"],
                from["base"],     from["given"],   from["trials"], row["kind"],
                row["measure"],   row["window"],   row["scale"],   row["share"],
                row["right"],     from["unit"],    from["rising"]};
    }

    using numbers = gstar::span<const std::int64_t>;

    /// Whether numbers go from 0 to `to` in steps of `least` or more.
    static bool climbs(numbers a, std::size_t to, std::int64_t least) {
        const std::size_t n = a.size();
        bool fine = n > 0 && a[0] == 0 && a[n - 1] == static_cast<std::int64_t>(to);
        for (std::size_t i = 1; fine && i < n; ++i) fine = a[i] - a[i - 1] >= least;
        return fine;
    }
    static bool below(numbers a, std::size_t end, std::int64_t least = 0) {
        for (const std::int64_t v : a)
            if (v < least || v >= static_cast<std::int64_t>(end)) return false;
        return true;
    }

    bool fits() const {
        const std::size_t m = p_.n_segments, n = p_.cost.size(),
                          terms = p_.measure.size(), rows = p_.kind.size();
        if (p_.start.size() < 2 || !climbs(p_.start, n, 1) ||
            p_.begin.size() != m + 1 || !climbs(p_.begin, p_.slot.size(), 0) ||
            p_.term.size() != p_.n_slots + 1 || !climbs(p_.term, terms, 0) ||
            !below(p_.slot, p_.n_slots) || !below(p_.measure, p_.n_measures) ||
            p_.distance.size() != n || p_.most.size() != p_.n_slots ||
            p_.slope.size() != terms || p_.hits.size() != 2 * terms ||
            p_.given.size() != 2 * p_.n_measures ||
            p_.trials.size() != 2 * p_.n_measures || p_.about.size() != rows ||
            p_.window.size() != rows || p_.scale.size() != rows ||
            p_.share.size() != rows || p_.right.size() != rows ||
            !below(p_.about, p_.n_measures) || !below(p_.kind, 6) ||
            !below(p_.window, rows, -1) || !(p_.unit > 0))
            return false;
        std::size_t held = 0;
        for (std::size_t j = 0; j < m; ++j) {
            held += p_.n_features(j) * p_.size(j);
            if (p_.rising && p_.size(j) != p_.size(0)) return false;
        }
        return held == p_.values.size() && windows_have_ends();
    }

    /// Whether every window that rows belong to has a low end.
    bool windows_have_ends() const {
        std::vector<bool> low(p_.kind.size(), false);
        for (std::size_t i = 0; i < p_.kind.size(); ++i) {
            const std::int64_t w = p_.window[i], k = p_.kind[i];
            if ((w < 0) != (k > 3) || (p_.share[i] != 0.0 && k != 3)) return false;
            if (k == 0) low[static_cast<std::size_t>(w)] = true;
        }
        for (const std::int64_t w : p_.window)
            if (w >= 0 && !low[static_cast<std::size_t>(w)]) return false;
        return true;
    }

    attributes from_, rows_;
    gstar::segment_problem p_;
};

py::object mix_segments(const py::object& program) {
    const segment_arrays given(program);
    auto found = unlocked([&] { return gstar::mix_segments(given.problem()); });
    if (!found.found) return py::none();
    return py::make_tuple(
        give(std::move(found.segment)), give(std::move(found.number)),
        give(std::move(found.weight)), give(std::move(found.multipliers)),
        found.bound, found.value, found.scans);
}

py::tuple choose_segments(const py::object& program, std::size_t node_limit,
                          double seconds) {
    const segment_arrays given(program);
    auto best = unlocked([&] {
        return gstar::choose_segments(given.problem(), node_limit,
                                      gstar::deadline(seconds));
    });
    gstar::segment_leaves& leaves = best.leaves;
    return py::make_tuple(
        give(std::move(best.numbers)), best.nodes, best.finished, best.bound,
        py::make_tuple(
            give(std::move(leaves.segment)), give(std::move(leaves.candidate)),
            give(std::move(leaves.child)), give(std::move(leaves.weight)),
            give(std::move(leaves.multipliers))));
}

}  // namespace

void bind_solver(py::module_& m);

void bind_solver(py::module_& m) {
    m.def("tabulate", &tabulate, "rows"_a, "price_fp"_a, "price_fn"_a);
    m.def("solve_limits", &solve_limits, "arrays"_a, "node_limit"_a, "seconds"_a);
    m.def("solve_pair", &solve_pair, "arrays"_a);
    m.def("solve_penalties", &solve_penalties, "arrays"_a, "guess"_a,
          "node_limit"_a, "seconds"_a);
    m.def("frontier", &frontier, "arrays"_a, "swept"_a, "node_limit"_a, "added"_a);
    m.def("mix_segments", &mix_segments, "program"_a);
    m.def("choose_segments", &choose_segments, "program"_a, "node_limit"_a,
          "seconds"_a);
}

}  // namespace gstar_py
