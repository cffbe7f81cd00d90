"""Densities of given parameters: they are SciPy's, and thresholds follow from them without a row."""

import math

import numpy as np
import pytest
from scipy import integrate, optimize, stats

import gstar_fast as gf
from gstar_fast.errors import OptionError

FAMILIES = [
    ("normal", {"location": 0.2, "scale": 1.5}, stats.norm(0.2, 1.5)),
    ("normal", {}, stats.norm()),
    ("student_t", {"df": 3.5, "location": -1.0, "scale": 0.5}, stats.t(3.5, -1.0, 0.5)),
    ("student_t", {"df": 0.5}, stats.t(0.5)),
    ("gamma", {"shape": 0.4, "location": 0.1, "scale": 0.2}, stats.gamma(0.4, 0.1, 0.2)),
    ("gamma", {"shape": 30.0, "scale": 2.0}, stats.gamma(30.0, 0.0, 2.0)),
]
PROBABILITIES = np.array([1e-6, 0.001, 0.1, 0.25, 0.5, 0.8, 0.99, 0.9999])


def two_groups(rows=(500, 300, 200, 100)):
    kinds = [
        gf.density("normal", location=-1.0, rows=rows[0]),
        gf.density("normal", location=1.0, scale=1.3, rows=rows[1]),
        gf.density("normal", location=-0.4, scale=0.8, rows=rows[2]),
        gf.density("normal", location=1.2, rows=rows[3]),
    ]
    return dict(zip([(0, "a"), (1, "a"), (0, "b"), (1, "b")], kinds, strict=True))


# ------------------------------------------------------------------------------------------------------ the densities


@pytest.mark.parametrize(("family", "parameters", "same"), FAMILIES)
def test_a_family_is_that_of_scipy(backend, family, parameters, same):
    made = gf.density(family, **parameters)
    x = np.concatenate([same.ppf(PROBABILITIES), [-1e3, 1e3]])
    assert made.cdf(x) == pytest.approx(same.cdf(x), abs=1e-12)
    assert made.pdf(x) == pytest.approx(same.pdf(x), rel=1e-8, abs=1e-11)
    assert made.quantile(PROBABILITIES) == pytest.approx(same.ppf(PROBABILITIES), rel=1e-9)
    assert (made.kind, made.label, made.group, made.n_rows) == (family, None, None, None)


def test_a_mirrored_gamma_has_its_tail_on_the_left(backend):
    made, same = gf.density("gamma", shape=2.0, location=1.0, scale=0.5, mirrored=True), stats.gamma(2.0, scale=0.5)
    x = np.linspace(-3.0, 1.5, 50)
    assert made.cdf(x) == pytest.approx(same.sf(1.0 - x), abs=1e-12)
    assert made.pdf(x) == pytest.approx(same.pdf(1.0 - x), abs=1e-11)


def test_scores_beyond_all_others_keep_their_share(backend):
    made = gf.density("normal", below=0.1, above=0.2)
    assert made.cdf([-np.inf, -50.0, 0.0, 50.0, np.inf]) == pytest.approx([0.0, 0.1, 0.45, 0.8, 0.8])
    assert made.quantile([0.05, 0.45, 0.9]) == pytest.approx([-np.inf, 0.0, np.inf])
    assert made.pdf(0.0) == pytest.approx(0.7 / math.sqrt(2 * math.pi))
    assert gf.density("normal", **made.parameters).quantile(0.3) == made.quantile(0.3)


@pytest.mark.parametrize("kind", ["normal", "student_t", "gamma"])
def test_parameters_of_a_fit_give_the_same_density(backend, sketch, kind):
    fitted = gf.density(sketch, 1, 0, kind=kind)
    again = gf.density(kind, rows=fitted.n_rows, **fitted.parameters)
    x = np.linspace(-5, 5, 101)
    assert again.cdf(x) == pytest.approx(fitted.cdf(x), abs=1e-12)
    assert again.n_rows == fitted.n_rows
    assert again.parameters == fitted.parameters


def test_its_text_says_what_was_given():
    assert str(gf.density("normal", rows=500)) == "Density(normal, location=0, scale=1; 500 rows)"
    assert str(gf.density("student_t", df=4, below=0.25)) == (
        "Density(student_t, df=4, location=0, scale=1, below=0.25)"
    )


def test_samples_are_drawn_from_it(backend):
    drawn = gf.density("gamma", shape=3.0, scale=2.0).sample(2_000, 1)
    assert stats.kstest(drawn, stats.gamma(3.0, scale=2.0).cdf).pvalue > 0.01


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (["uniform"], {}, "must be one of normal, student_t, gamma; got 'uniform'"),
        (["student"], {}, "did you mean 'student_t'"),
        (["normal"], {"mean": 0.2}, "normal has the parameters location, scale; got mean; did you mean location"),
        (["gamma"], {"a": 2.0}, "did you mean shape"),
        (["student_t"], {"scale": 2.0}, "student_t needs the parameter df"),
        (["normal"], {"scale": 0.0}, "scale must be above 0 and at most 1e100, got 0.0"),
        (["normal"], {"scale": "wide"}, "scale must be a number, got 'wide'"),
        (["normal"], {"location": math.nan}, "location must be finite"),
        (["student_t"], {"df": 1e6}, "df must be from 0.1 to 100000, got 1000000.0; use 'normal'"),
        (["gamma"], {"shape": -1}, "shape must be from 0.001 to 100000, got -1"),
        (["gamma"], {"shape": 2, "mirrored": "left"}, "mirrored must be True or False"),
        (["normal"], {"below": 0.6, "above": 0.4}, "must leave some for scores; got 0.6 \\+ 0.4"),
        (["normal"], {"above": 1.5}, "above is a share of the rows"),
        (["normal"], {"rows": 0}, "rows must be a number above 0, got 0"),
        (["normal", 1], {}, "label is for a density of a sketch"),
        (["normal"], {"kind": "kde"}, "kind is for a density of a sketch"),
    ],
)
def test_wrong_parameters_are_refused_in_words(arguments, options, words):
    with pytest.raises(OptionError, match=words):
        gf.density(*arguments, **options)


def test_a_sketch_takes_no_parameters_and_a_family_has_no_counts(sketch):
    with pytest.raises(OptionError, match=r"scale=2\.0 is for a family"):
        gf.density(sketch, 1, 0, scale=2.0)
    with pytest.raises(OptionError, match="needs group"):
        gf.density(sketch, 1)
    for name in ("log_likelihood", "kolmogorov"):
        with pytest.raises(OptionError, match="no counts to compare it with"):
            getattr(gf.density("normal"), name)


# ----------------------------------------------------------------------------------------- thresholds without any rows


def error_at(cells, at):
    """Share of wrong decisions at one threshold for a and one for b."""
    wrong = [one.n_rows * abs(1 - y - one.cdf(at["ab".index(name)])) for (y, name), one in cells.items()]
    return sum(wrong) / sum(one.n_rows for one in cells.values())


def test_least_error_is_where_the_weighted_densities_cross(backend):
    cells = two_groups()
    result = gf.solve(cells)
    for name in "ab":
        negative, positive = cells[0, name], cells[1, name]
        miss = lambda x, n=negative, p=positive: p.n_rows * p.pdf(x) - n.n_rows * n.pdf(x)  # noqa: E731
        assert result.thresholds[name] == pytest.approx(optimize.brentq(miss, -0.5, 1.5), abs=1e-8)
    assert result.error == pytest.approx(error_at(cells, list(result.thresholds.values())), abs=1e-12)
    assert (result.verdict, result.question.density, result.n_rows, result.origin.digest) == (
        "optimal",
        "given",
        1_100.0,
        None,
    )
    assert {name: rates.rows for name, rates in result.rates.items()} == {"a": 800.0, "b": 300.0}


def test_a_limit_is_held_at_the_least_error(backend):
    cells, limit = two_groups(), 0.01
    result = gf.solve(cells, limits={"equal_opportunity": limit})
    assert result.gaps["equal_opportunity"] == pytest.approx(limit, abs=1e-9)

    def error(tpr, ahead):  # of the pair of thresholds with this tpr in a, and so much more in b
        at = [cells[1, "a"].quantile(1 - tpr), cells[1, "b"].quantile(1 - tpr - ahead)]
        return error_at(cells, at)

    best = min(
        optimize.minimize_scalar(
            error, (0.5, 0.95), (0.5, 0.95), (sign * limit,), "bounded", options={"xatol": 1e-10}
        ).fun
        for sign in (-1, 1)
    )
    assert result.error == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("method", ["exact", "alternating", "newton", "gauss_newton"])
def test_every_method_finds_the_same_optimum(fast_backend, method):
    cells = two_groups()
    result = gf.solve(cells, penalties={"equalized_odds": 2.0}, method=method)

    def loss(at):
        gaps = [cells[y, "a"].cdf(at[0]) - cells[y, "b"].cdf(at[1]) for y in (0, 1)]
        return error_at(cells, at) ** 2 + 2.0 * sum(gap**2 for gap in gaps)

    best = optimize.minimize(loss, [0.5, 0.5], method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-15})
    assert result.verdict in ("optimal", "converged")
    assert result.loss == pytest.approx(best.fun, rel=1e-8)
    assert list(result.thresholds.values()) == pytest.approx(best.x, abs=1e-5)


def test_the_reference_finds_it_too(fast_backend):
    fast = gf.solve(two_groups(), penalties={"equalized_odds": 2.0})
    with gf.use_backend("numpy"):
        result = gf.solve(two_groups(), penalties={"equalized_odds": 2.0})
    assert result.thresholds == pytest.approx(fast.thresholds, abs=1e-8)


def test_many_drawn_rows_lead_to_the_same_thresholds(backend):
    """Known densities are the limit of counting."""
    cells = two_groups((60_000, 40_000, 30_000, 20_000))
    rows = [(one.sample(int(one.n_rows), 7 + label), label, name) for (label, name), one in cells.items()]
    counted = gf.Sketch()
    for scores, label, name in rows:
        counted.update(scores, np.full(len(scores), label), np.full(len(scores), name))
    known = gf.solve(cells, limits={"equalized_odds": 0.05})
    fitted = gf.solve(counted, limits={"equalized_odds": 0.05}, density="normal")
    assert fitted.thresholds == pytest.approx(known.thresholds, abs=0.02)
    assert fitted.error == pytest.approx(known.error, abs=0.003)


def test_only_shares_of_rows_matter(backend):
    rows, shares = two_groups(), two_groups((5 / 11, 3 / 11, 2 / 11, 1 / 11))
    for options in ({}, {"unified": True}, {"objective": {"fp": 1, "fn": 3, "balanced": True}}):
        one, other = (gf.solve(cells, limits={"equalized_odds": 0.1}, **options) for cells in (rows, shares))
        assert one.thresholds == pytest.approx(other.thresholds, abs=1e-7)
        assert one.error == pytest.approx(other.error, abs=1e-8)


def test_given_densities_replace_those_of_a_sketch(backend, sketch):
    """Rows decide how much a cell weighs, densities where its scores lie."""
    fitted = gf.density(sketch, kind="normal")
    by_hand = {cell: gf.density("normal", **one.parameters) for cell, one in fitted.items()}
    asked = {"penalties": {"equalized_odds": 1.0}, "method": "newton"}
    given, own = gf.solve(sketch, density=by_hand, **asked), gf.solve(sketch, density="normal", **asked)
    assert given.thresholds == pytest.approx(own.thresholds, abs=1e-8)
    assert (given.question.density, own.question.density) == ("given", "normal")
    mixed = {**by_hand, (1, 0): gf.density(sketch, 1, 0, kind="kde")}
    assert gf.solve(sketch, density=mixed, **asked).question.density == "given"


def test_densities_of_a_sketch_need_no_sketch(backend, sketch):
    made = gf.density(sketch, kind="kde", bandwidth=0.5)
    alone, with_rows = gf.solve(made), gf.solve(sketch, density=made)
    assert alone.thresholds == pytest.approx(with_rows.thresholds, abs=1e-6)
    assert (alone.question.density, alone.n_rows) == ("kde", with_rows.n_rows)


def test_densities_made_by_one_backend_serve_another(backend, sketch):
    with gf.use_backend("numpy"):
        made = two_groups()
    found = gf.solve(made, penalties={"equal_opportunity": 1.0})
    assert found.loss == pytest.approx(gf.solve(two_groups(), penalties={"equal_opportunity": 1.0}).loss, rel=1e-9)


def test_the_frontier_of_penalties_needs_no_rows(fast_backend):
    curve = gf.frontier(two_groups(), "equal_opportunity", by="penalties", penalties=[0.1, 1.0, 10.0])
    assert curve.gaps[0] < curve.gaps[1] < curve.gaps[2]
    one = gf.solve(two_groups(), penalties={"equal_opportunity": 1.0})
    assert curve.thresholds[1] == pytest.approx(list(one.thresholds.values()), abs=1e-6)


def test_awkward_shapes_are_solved(backend):
    """Heavy tails, a pole, mass at the ends, one group without positives, many groups."""
    cells = {
        (0, "t"): gf.density("student_t", df=0.3, rows=3),
        (1, "t"): gf.density("student_t", df=0.3, location=2.0, rows=3),
        (0, "g"): gf.density("gamma", shape=0.01, rows=5),
        (1, "g"): gf.density("normal", location=1e-3, scale=1e-4, above=0.3, rows=5),
    }
    result = gf.solve(cells)
    assert 0.0 < result.error < 0.5
    assert all(math.isfinite(x) for x in result.thresholds.values())
    many = {(y, k): gf.density("normal", location=2 * y + 0.01 * k, rows=1) for y in (0, 1) for k in range(40)}
    assert gf.solve(many).error == pytest.approx(stats.norm.cdf(-1.0), abs=1e-6)
    with pytest.warns(gf.errors.MissingClassWarning, match="left out of the tpr gap"):
        left = gf.solve({**two_groups(), (0, "c"): gf.density("normal", rows=9)}, limits={"equal_opportunity": 0.2})
    assert left.rates["c"].tpr is None


def test_its_document_is_read_back(backend):
    result = gf.solve(two_groups(), limits={"equalized_odds": 0.1})
    assert gf.Result.from_json(result.to_json()) == result
    assert result.decider()(np.array([3.0, -3.0]), np.array(["a", "b"])).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({}, "the mapping is empty"),
        ({"a": gf.density("normal", rows=1)}, "got the key 'a'"),
        ({(2, "a"): gf.density("normal", rows=1)}, "must be 0 or 1, got 2"),
        ({(1, "a"): stats.norm()}, r"got rv_\w*frozen for \(1, 'a'\)"),
        ({(1, "a"): gf.density("normal")}, "label 1, group 'a' does not say how many rows"),
    ],
)
def test_wrong_densities_are_refused_in_words(cells, words):
    with pytest.raises(OptionError, match=words):
        gf.solve(cells)
    with pytest.raises(OptionError, match=words):
        gf.frontier(cells, "equal_opportunity", by="penalties", penalties=[1.0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"density": "kde"}, "density='kde' does not go with densities in the place"),
        ({"min_rows": 10}, "min_rows=10.0 does not go with densities in the place"),
        ({"fair_between": 0, "decide_by": 1}, "decide_by does not go with density"),
        ({"confidence": 0.95}, "confidence=0.95 does not go with density"),
        ({"randomize": True}, "randomize=True does not go with density"),
        ({"max_seconds": 1.0}, "max_seconds=1.0 does not go with density"),
    ],
)
def test_options_that_need_counts_are_refused(options, words):
    with pytest.raises(OptionError, match=words):
        gf.solve(two_groups(), limits={"equalized_odds": 0.1}, **options)


def test_the_paper_noise_moves_the_answer_a_little():
    """A small error in the parameters is a small error in the rates (the paper's Theorem 5)."""
    exact, noisy = two_groups(), two_groups()
    noisy[1, "b"] = gf.density("normal", location=1.2 + 0.05, rows=100)
    result = gf.solve(noisy, limits={"equalized_odds": 0.05})
    distance = integrate.quad(lambda x: abs(stats.norm.pdf(x, 1.2) - stats.norm.pdf(x, 1.25)), -8, 8)[0] / 2
    true = {label: [1 - exact[label, name].cdf(result.thresholds[name]) for name in "ab"] for label in (0, 1)}
    assert max(abs(a - b) for a, b in true.values()) <= 0.05 + distance
