// bind_density.cpp - densities, their fits and their tables seen from Python. No
// arithmetic in this file.
#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "bind_density.hpp"
#include "gstar/density.hpp"
#include "solver_arrays.hpp"

namespace gstar_py {

using namespace pybind11::literals;
using namespace gstar;

namespace {

/// Evaluate at every x: two new arrays, cdf and pdf.
template <class Evaluate>
py::tuple cdf_and_pdf(const reals& x, const Evaluate& at) {
    std::vector<double> cdf(size(x)), pdf(size(x));
    const auto in = view(x);
    unlocked([&] {
        for (std::size_t i = 0; i < in.size(); ++i) {
            const point p = at(in[i]);
            cdf[i] = p.cdf;
            pdf[i] = p.pdf;
        }
    });
    return py::make_tuple(give(std::move(cdf)), give(std::move(pdf)));
}

std::array<double, 3> parameters(const student_t_family& f) {
    return {f.df, f.location, f.scale};
}
std::array<double, 3> parameters(const gamma_family& f) {
    return {f.shape, f.location, f.scale};
}

/// A fit of these rows: the parameters, mean log-likelihood, at_bound.
template <class Fit>
py::tuple fitted_to(const reals& points, const reals& weights, Fit fit) {
    const sample rows{to_vector(points), to_vector(weights)};
    const auto found = unlocked([&] { return fit(rows); });
    const auto [a, location, scale] = parameters(found.family);
    return py::make_tuple(a, location, scale, found.log_likelihood, found.at_bound);
}

using handle = std::shared_ptr<density_handle>;

handle make(density::kind shape, double below, double above, double low,
            double high) {
    return std::make_shared<density_handle>(density(std::move(shape), below, above),
                                            low, high);
}

handle make_empirical(const reals& edges, const reals& cdf, const reals& atoms) {
    std::vector<double> e = to_vector(edges), c = to_vector(cdf),
                        a = to_vector(atoms);
    if (a.empty() || c.size() != a.size() + 1 || e.size() != c.size())
        throw py::value_error("edges and cdf must have one entry more than atoms");
    const double below = c.front(), above = 1.0 - c.back(), low = e.front(),
                 high = e.back();
    return make(empirical(std::move(e), std::move(c), std::move(a)), below, above,
                low, high);
}

handle make_kde(const reals& points, const reals& weights, double bandwidth,
                double below, double above) {
    std::vector<double> p = to_vector(points), w = to_vector(weights);
    if (p.empty() || p.size() != w.size())
        throw py::value_error("points and weights must be as long, and not empty");
    if (!(bandwidth > 0.0)) throw py::value_error("bandwidth must be above 0");
    const double low = p.front(), high = p.back();
    return make(kde(std::move(p), std::move(w), bandwidth), below, above, low,
                high);
}

/// A family with these parameters, and then what every density has.
template <class Family, class... Parameters>
handle make_family(Parameters... parameters, double below, double above, double low,
                   double high) {
    return make(Family{parameters...}, below, above, low, high);
}

py::tuple at(const density_handle& self, const reals& x) {
    return cdf_and_pdf(x, [&](double v) { return self.at(v); });
}

py::tuple table_at(const density_handle& self, const reals& x) {
    const density_table& table = self.table();
    return cdf_and_pdf(x, [&](double v) { return table.at(v); });
}

py::tuple source_at(const density_handle& self, const reals& x) {
    return cdf_and_pdf(x, [&](double v) { return self.source().at(v); });
}

py::array_t<double> quantile(const density_handle& self, const reals& p) {
    std::vector<double> out(size(p));
    const auto in = view(p);
    unlocked([&] {
        for (std::size_t i = 0; i < in.size(); ++i) out[i] = self.quantile(in[i]);
    });
    return give(std::move(out));
}

}  // namespace

void bind_density(py::module_& m);

void bind_density(py::module_& m) {
    py::class_<density_handle, handle>(m, "Density")
        .def_static("empirical", &make_empirical, "edges"_a, "cdf"_a, "atoms"_a)
        .def_static("kde", &make_kde, "points"_a, "weights"_a, "bandwidth"_a,
                    "below"_a, "above"_a)
        .def_static("normal", &make_family<normal_family, double, double>,
                    "location"_a, "scale"_a, "below"_a, "above"_a, "low"_a,
                    "high"_a)
        .def_static("student_t",
                    &make_family<student_t_family, double, double, double>, "df"_a,
                    "location"_a, "scale"_a, "below"_a, "above"_a, "low"_a,
                    "high"_a)
        .def_static("gamma",
                    &make_family<gamma_family, double, double, double, bool>,
                    "shape"_a, "location"_a, "scale"_a, "mirrored"_a, "below"_a,
                    "above"_a, "low"_a, "high"_a)
        .def("at", &at, "x"_a, "cdf and pdf at every x, as users see them.")
        .def("table_at", &table_at, "x"_a,
             "cdf and pdf at every x, as solvers see them.")
        .def("source_at", &source_at, "x"_a,
             "cdf and pdf at every x by direct summation; benchmarks compare the "
             "table with it.")
        .def("quantile", &quantile, "p"_a);

    m.def(
        "fit_student_t",
        [](const reals& points, const reals& weights, double smallest_scale) {
            return fitted_to(points, weights, [&](const sample& rows) {
                return fit_student_t(rows, smallest_scale);
            });
        },
        "points"_a, "weights"_a, "smallest_scale"_a,
        "df, location, scale, mean log-likelihood, at_bound.");
    m.def(
        "fit_gamma",
        [](const reals& points, const reals& weights, bool mirrored, double end,
           double reach, double rows_in_all) {
            return fitted_to(points, weights, [&](const sample& rows) {
                return fit_gamma(rows, mirrored, {end, reach, rows_in_all});
            });
        },
        "points"_a, "weights"_a, "mirrored"_a, "end"_a, "reach"_a, "rows"_a,
        "shape, location, scale, mean log-likelihood, at_bound.");
}

}  // namespace gstar_py
