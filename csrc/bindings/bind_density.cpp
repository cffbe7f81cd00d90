// bind_density.cpp - densities, their fits and their tables seen from Python. No
// arithmetic in this file.
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "bind_density.hpp"
#include "gstar/density.hpp"
#include "numpy_view.hpp"

namespace gstar_py {

using namespace pybind11::literals;
using namespace gstar;

namespace {

using doubles = py::array_t<double, py::array::c_style | py::array::forcecast>;

std::vector<double> to_vector(const doubles& a) {
    return {a.data(), a.data() + a.size()};
}

/// Evaluate at every x: two new arrays, cdf and pdf.
template <class Evaluate>
py::tuple cdf_and_pdf(const doubles& x, const Evaluate& at) {
    const py::ssize_t n = x.size();
    py::array_t<double> cdf(n), pdf(n);
    const double* in = x.data();
    double *c = cdf.mutable_data(), *f = pdf.mutable_data();
    {
        const py::gil_scoped_release unlocked;
        for (py::ssize_t i = 0; i < n; ++i) {
            const point p = at(in[i]);
            c[i] = p.cdf;
            f[i] = p.pdf;
        }
    }
    return py::make_tuple(std::move(cdf), std::move(pdf));
}

std::shared_ptr<density_handle> make(density::kind shape, double below,
                                     double above, double low, double high) {
    return std::make_shared<density_handle>(density(std::move(shape), below, above),
                                            low, high);
}

}  // namespace

void bind_density(py::module_& m);

void bind_density(py::module_& m) {
    py::class_<density_handle, std::shared_ptr<density_handle>>(m, "Density")
        .def_static(
            "empirical",
            [](const doubles& edges, const doubles& cdf, const doubles& atoms) {
                std::vector<double> e = to_vector(edges), c = to_vector(cdf),
                                    a = to_vector(atoms);
                if (a.empty() || c.size() != a.size() + 1 || e.size() != c.size())
                    throw py::value_error(
                        "edges and cdf must have one entry more than atoms");
                const double below = c.front(), above = 1.0 - c.back(),
                             low = e.front(), high = e.back();
                return make(empirical(std::move(e), std::move(c), std::move(a)),
                            below, above, low, high);
            },
            "edges"_a, "cdf"_a, "atoms"_a)
        .def_static(
            "kde",
            [](const doubles& points, const doubles& weights, double bandwidth,
               double below, double above) {
                std::vector<double> p = to_vector(points), w = to_vector(weights);
                if (p.empty() || p.size() != w.size())
                    throw py::value_error(
                        "points and weights must be as long, and not empty");
                if (!(bandwidth > 0.0))
                    throw py::value_error("bandwidth must be above 0");
                const double low = p.front(), high = p.back();
                return make(kde(std::move(p), std::move(w), bandwidth), below,
                            above, low, high);
            },
            "points"_a, "weights"_a, "bandwidth"_a, "below"_a, "above"_a)
        .def_static(
            "normal",
            [](double location, double scale, double below, double above,
               double low, double high) {
                return make(normal_family{location, scale}, below, above, low,
                            high);
            },
            "location"_a, "scale"_a, "below"_a, "above"_a, "low"_a, "high"_a)
        .def_static(
            "student_t",
            [](double df, double location, double scale, double below, double above,
               double low, double high) {
                return make(student_t_family{df, location, scale}, below, above,
                            low, high);
            },
            "df"_a, "location"_a, "scale"_a, "below"_a, "above"_a, "low"_a,
            "high"_a)
        .def_static(
            "gamma",
            [](double shape, double location, double scale, bool mirrored,
               double below, double above, double low, double high) {
                return make(gamma_family{shape, location, scale, mirrored}, below,
                            above, low, high);
            },
            "shape"_a, "location"_a, "scale"_a, "mirrored"_a, "below"_a, "above"_a,
            "low"_a, "high"_a)
        .def(
            "at",
            [](const density_handle& self, const doubles& x) {
                if (!self.tabulated())
                    return cdf_and_pdf(
                        x, [&](double v) { return self.source().at(v); });
                const density_table& table = self.table();
                return cdf_and_pdf(x, [&](double v) { return table.at(v); });
            },
            "x"_a, "cdf and pdf at every x, as users see them.")
        .def(
            "table_at",
            [](const density_handle& self, const doubles& x) {
                const density_table& table = self.table();
                return cdf_and_pdf(x, [&](double v) { return table.at(v); });
            },
            "x"_a, "cdf and pdf at every x, as solvers see them.")
        .def(
            "source_at",
            [](const density_handle& self, const doubles& x) {
                return cdf_and_pdf(x,
                                   [&](double v) { return self.source().at(v); });
            },
            "x"_a,
            "cdf and pdf at every x by direct summation; the table is tested "
            "against it.")
        .def(
            "quantile",
            [](const density_handle& self, const doubles& p) {
                const py::ssize_t n = p.size();
                py::array_t<double> out(n);
                const double* in = p.data();
                double* x = out.mutable_data();
                const py::gil_scoped_release unlocked;
                for (py::ssize_t i = 0; i < n; ++i) x[i] = self.quantile(in[i]);
                return out;
            },
            "p"_a);

    m.def(
        "fit_student_t",
        [](const doubles& points, const doubles& weights, double smallest_scale) {
            const sample rows{to_vector(points), to_vector(weights)};
            fitted<student_t_family> fit;
            {
                const py::gil_scoped_release unlocked;
                fit = fit_student_t(rows, smallest_scale);
            }
            return py::make_tuple(fit.family.df, fit.family.location,
                                  fit.family.scale, fit.log_likelihood,
                                  fit.at_bound);
        },
        "points"_a, "weights"_a, "smallest_scale"_a,
        "df, location, scale, mean log-likelihood, at_bound.");
    m.def(
        "fit_gamma",
        [](const doubles& points, const doubles& weights, bool mirrored, double end,
           double reach, double rows_in_all) {
            const sample rows{to_vector(points), to_vector(weights)};
            fitted<gamma_family> fit;
            {
                const py::gil_scoped_release unlocked;
                fit = fit_gamma(rows, mirrored, {end, reach, rows_in_all});
            }
            return py::make_tuple(fit.family.shape, fit.family.location,
                                  fit.family.scale, fit.log_likelihood,
                                  fit.at_bound);
        },
        "points"_a, "weights"_a, "mirrored"_a, "end"_a, "reach"_a, "rows"_a,
        "shape, location, scale, mean log-likelihood, at_bound.");
}

}  // namespace gstar_py
