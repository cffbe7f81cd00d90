// bind_segments.cpp - the search over segments seen from Python. No arithmetic in
// this file.
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "gstar/solve/segments.hpp"
#include "solver_arrays.hpp"

namespace gstar_py {

using namespace pybind11::literals;

namespace {

/// The arrays of a `Program`; keeps them alive while the core borrows them.
struct segment_arrays {
    array<std::int64_t> start, begin, slot;
    array<double> values;
    array<std::int64_t> cost, distance;
    array<double> price, most;
    double constant;
    array<std::int64_t> term, measure;
    array<double> slope, hits, base, given, trials;
    array<std::int64_t> kind, about, window;
    array<double> scale, share, right;
    double unit;
    bool rising;

    explicit segment_arrays(const py::object& p)
        : start(p.attr("start")),
          begin(p.attr("begin")),
          slot(p.attr("slot")),
          values(p.attr("values")),
          cost(p.attr("cost")),
          distance(p.attr("distance")),
          price(p.attr("price")),
          most(p.attr("most")),
          constant(p.attr("constant").cast<double>()),
          term(p.attr("term")),
          measure(p.attr("measure")),
          slope(p.attr("slope")),
          hits(p.attr("hits")),
          base(p.attr("base")),
          given(p.attr("given")),
          trials(p.attr("trials")),
          kind(p.attr("rows").attr("kind")),
          about(p.attr("rows").attr("measure")),
          window(p.attr("rows").attr("window")),
          scale(p.attr("rows").attr("scale")),
          share(p.attr("rows").attr("share")),
          right(p.attr("rows").attr("right")),
          unit(p.attr("unit").cast<double>()),
          rising(p.attr("rising").cast<bool>()) {
        if (!fits())
            throw std::invalid_argument(
                "the arrays of a search over segments do not fit each other");
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
    template <class T>
    static std::size_t size(const array<T>& a) {
        return static_cast<std::size_t>(a.size());
    }
    /// Whether numbers go from 0 to `to` in steps of `least` or more.
    static bool climbs(const array<std::int64_t>& a, std::size_t to,
                       std::int64_t least) {
        const std::size_t n = size(a);
        if (n == 0 || a.data()[0] != 0 ||
            static_cast<std::size_t>(a.data()[n - 1]) != to)
            return false;
        for (std::size_t i = 1; i < n; ++i)
            if (a.data()[i] - a.data()[i - 1] < least) return false;
        return true;
    }
    static bool below(const array<std::int64_t>& a, std::size_t end,
                      std::int64_t least = 0) {
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
        std::size_t held = 0;
        for (std::size_t j = 0; j < m; ++j) {
            held +=
                static_cast<std::size_t>((begin.data()[j + 1] - begin.data()[j]) *
                                         (start.data()[j + 1] - start.data()[j]));
            if (rising && start.data()[j + 1] !=
                              static_cast<std::int64_t>(j + 1) * start.data()[1])
                return false;
        }
        return held == size(values) && windows_have_ends();
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

}  // namespace

void bind_segments(py::module_& m);

void bind_segments(py::module_& m) {
    py::class_<segment_arrays>(m, "SegmentSearch")
        .def(py::init<const py::object&>(), "program"_a)
        .def(
            "price",
            [](const segment_arrays& self, const array<double>& weights,
               const array<std::int64_t>& low, const array<std::int64_t>& high) {
                const gstar::segment_problem p = self.problem();
                const auto l = view(low), h = view(high);
                if (l.size() != p.n_segments || h.size() != p.n_segments ||
                    static_cast<std::size_t>(weights.size()) != p.n_slots)
                    throw std::invalid_argument(
                        "price needs a weight for each slot and a range for each "
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
