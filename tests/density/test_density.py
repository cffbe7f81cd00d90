"""Densities from the sketch alone: laws of every kind, cells that have none, and questions asked wrongly."""

import math

import numpy as np
import pytest
from helpers.densities import COUNTING, KINDS, SMOOTH, one, sketch_of
from scipy import stats

import gstar_fast as gf
from gstar_fast import _backends
from gstar_fast._density.cell import NoDensityError

# ---------------------------------------------------------------- laws of every kind


@pytest.mark.parametrize("kind", KINDS)
def test_cdf_rises_from_0_to_1(backend, skewed, kind):
    made = one(skewed, kind)
    x = np.concatenate(([-np.inf, -1e6], np.linspace(-8, 12, 2001), [1e6, np.inf]))
    cdf = made.cdf(x)
    assert np.all(np.diff(cdf) >= -1e-14)
    assert cdf[0] == 0.0
    assert cdf[-1] == 1.0
    assert np.all((cdf >= 0.0) & (cdf <= 1.0))
    assert np.all(made.pdf(x) >= 0.0)


@pytest.mark.parametrize("kind", SMOOTH)
def test_pdf_is_the_derivative_of_cdf(backend, skewed, kind):
    made = one(skewed, kind)
    x, h = np.linspace(-4, 8, 101), 1e-5
    assert (made.cdf(x + h) - made.cdf(x - h)) / (2 * h) == pytest.approx(made.pdf(x), abs=1e-7)


def test_empirical_pdf_is_the_derivative_of_cdf_inside_bins(backend, skewed):
    sketch = sketch_of(skewed)
    made = gf.density(sketch, 1, "a")
    middle = 0.5 * (sketch.edges[:-1] + sketch.edges[1:])
    h = 0.25 * np.diff(sketch.edges)
    assert (made.cdf(middle + h) - made.cdf(middle - h)) / (2 * h) == pytest.approx(made.pdf(middle), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_quantile_inverts_cdf(backend, skewed, kind):
    made = one(skewed, kind)
    p = np.array([1e-4, 0.01, 0.2, 0.5, 0.9, 0.9999])
    assert made.cdf(made.quantile(p)) == pytest.approx(p, abs=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_follow_the_density(backend, skewed, kind):
    made = one(skewed, kind)
    drawn = made.sample(2_000, rng=5)
    assert stats.kstest(drawn, lambda x: made.cdf(np.asarray(x))).pvalue > 1e-3
    assert made.sample(2_000, np.random.default_rng(5)).tolist() == drawn.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_give_floats_and_arrays_keep_their_shape(backend, skewed, kind):
    made = one(skewed, kind)
    assert type(made.cdf(0.5)) is float
    assert type(made.pdf(np.float32(0.5))) is float
    assert type(made.quantile(0.5)) is float
    grid = np.zeros((2, 3))
    assert made.cdf(grid).shape == (2, 3)
    assert made.cdf([]).shape == (0,)
    assert made.at(grid)[1].shape == (2, 3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_backends_agree(skewed, kind):
    x, p = np.linspace(-8, 12, 501), np.linspace(0.001, 0.999, 57)
    sketch = sketch_of(skewed)
    answers = {}
    for name in [name for name in _backends.BACKENDS if name != "native" or _backends.has_native()]:
        with gf.use_backend(name):
            made = gf.density(sketch, 1, "a", kind=kind)
            answers[name] = (*made.at(x), made.quantile(p), made.log_likelihood, made.kolmogorov)
    for name in answers:
        cdf, pdf, quantile, likelihood, distance = answers[name]
        want = answers["numpy"]
        assert cdf == pytest.approx(want[0], abs=1e-11)
        assert pdf == pytest.approx(want[1], abs=1e-10)
        assert quantile == pytest.approx(want[2], abs=1e-9)
        assert likelihood == pytest.approx(want[3], rel=1e-10)
        assert distance == pytest.approx(want[4], abs=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_mass_at_the_infinities_stays_there(backend, skewed, kind):
    beyond = np.concatenate((skewed, np.full(2_000, -np.inf), np.full(3_000, np.inf)))
    made, inside = one(beyond, kind), one(skewed, kind)
    assert made.cdf(-np.inf) == 0.0
    assert made.cdf(-1e9) == pytest.approx(2 / 15, abs=1e-7)
    assert made.cdf(1e9) == pytest.approx(12 / 15, abs=1e-7)
    assert made.cdf(np.inf) == pytest.approx(12 / 15)
    assert made.cdf(0.3) == pytest.approx(2 / 15 + 10 / 15 * inside.cdf(0.3), abs=1e-9)
    assert made.quantile([0.0, 0.1, 0.9, 1.0]).tolist() == [-np.inf, -np.inf, np.inf, np.inf]
    assert made.quantile(2 / 15 + 10 / 15 * 0.4) == pytest.approx(inside.quantile(0.4), abs=1e-9)


def test_rows_outside_a_fixed_window_stay_outside(backend, skewed):
    sketch = sketch_of(skewed, range=(-1.0, 3.0))
    made = gf.density(sketch, 1, "a", kind="kde")
    assert made.cdf(-1e9) == pytest.approx(np.mean(skewed < sketch.edges[0]))
    assert 1 - made.cdf(1e9) == pytest.approx(np.mean(skewed >= sketch.edges[-1]))


def test_rows_of_one_weight_have_the_density_of_rows(backend, skewed):
    labels, groups = np.ones(len(skewed), int), np.full(len(skewed), "a")
    with gf.use_backend(COUNTING):
        heavy = gf.Sketch.from_rows(skewed, labels, groups, weights=np.full(len(skewed), 2.5))
    for kind in ("empirical", "normal", "student_t", "gamma", "kde"):
        made, want = gf.density(heavy, 1, "a", kind=kind), one(skewed, kind)
        assert made.cdf(0.5) == pytest.approx(want.cdf(0.5), abs=1e-12)
        assert made.log_likelihood == pytest.approx(2.5 * want.log_likelihood, rel=1e-9)


def test_a_bandwidth_is_that_of_effective_rows(backend, skewed):
    """A tenth of the rows has nearly all of the weight: the kernel is as wide as for so few rows."""
    labels, groups = np.ones(len(skewed), int), np.full(len(skewed), "a")
    weights = np.where(np.arange(len(skewed)) % 10, 2.0**-10, 1.0)
    with gf.use_backend(COUNTING):
        sketch = gf.Sketch.from_rows(skewed, labels, groups, weights=weights)
    made = gf.density(sketch, 1, "a", kind="kde", bandwidth="scott").parameters["bandwidth"]
    few = one(skewed[::10], "kde", bandwidth="scott").parameters["bandwidth"]
    assert made == pytest.approx(few, rel=0.02)


# ---------------------------------------------------------------- degenerate cells


def test_an_empty_cell_has_no_density(backend):
    sketch = sketch_of([1.0, 2.0])
    for kind in KINDS:
        with pytest.raises(ValueError, match="label 0, group 'a' has no rows"):
            gf.density(sketch, 0, "a", kind=kind)
    assert list(gf.density(sketch)) == [(1, "a")]
    assert gf.density(gf.Sketch()) == {}


@pytest.mark.parametrize("rows", [[0.3], [0.3] * 50])
def test_a_constant_cell_has_counts_and_a_kernel_but_no_family(backend, rows):
    for kind in ("normal", "student_t", "gamma", "best"):
        with pytest.raises(ValueError, match=r"has only one score \(0.3\), so no .* use kind='empirical'"):
            one(rows, kind)
    with pytest.raises(ValueError, match="'silverman' gives no bandwidth; give bandwidth a number"):
        one(rows, "kde")
    kernel = one(rows, "kde", 0.5)
    assert kernel.cdf(0.3) == pytest.approx(0.5, abs=1e-6)
    counts = one(rows, "empirical")
    assert counts.cdf([0.2999, 0.3001]).tolist() == [0.0, 1.0]
    assert counts.quantile(0.5) == pytest.approx(0.3)


@pytest.mark.parametrize("rows", [[0.0, 1.0], [0.0] * 7 + [1.0] * 3, [0.0, 1.0, 5.0]])
def test_a_few_values_end_in_an_answer_or_an_error_never_in_nan(backend, rows):
    for kind in KINDS:
        try:
            made = one(rows, kind)
        except NoDensityError:
            assert kind == "student_t"
            continue
        values = np.concatenate(
            (*made.at(np.linspace(-2, 7, 19)), made.quantile([0.1, 0.5, 0.9]), [made.log_likelihood])
        )
        assert not np.isnan(values).any()


def test_a_cell_of_infinite_scores_has_only_counts(backend):
    sketch = sketch_of([np.inf, np.inf, -np.inf])
    made = gf.density(sketch, 1, "a")
    assert made.cdf(0.0) == pytest.approx(1 / 3)
    assert made.quantile([0.2, 0.5]).tolist() == [-np.inf, np.inf]
    assert made.log_likelihood == pytest.approx(math.log(1 / 3) + 2 * math.log(2 / 3))
    for kind in SMOOTH:
        with pytest.raises(ValueError, match="has no finite score inside the window"):
            gf.density(sketch, 1, "a", kind=kind)


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e150, 1e290])
def test_huge_and_tiny_scores_end_in_an_answer_or_an_error(backend, scale):
    rows = scale * np.random.default_rng(14).normal(size=500)
    for kind in KINDS:
        try:
            made = one(rows, kind)
        except NoDensityError:
            continue
        assert 0.3 < made.cdf(0.0) < 0.7


# ---------------------------------------------------------------- asking wrongly


def test_wrong_questions_are_answered_with_what_to_do(backend):
    sketch = sketch_of([1.0, 2.0, 4.0])
    with pytest.raises(ValueError, match=r"kind must be one of empirical, kde, .* got 'gauss'"):
        gf.density(sketch, 1, "a", kind="gauss")
    with pytest.raises(ValueError, match="label must be 0 or 1, got 2"):
        gf.density(sketch, 2, "a")
    with pytest.raises(ValueError, match="group 'b' is not in the sketch; its groups are"):
        gf.density(sketch, 1, "b")
    with pytest.raises(ValueError, match="bandwidth is for kind='kde'"):
        gf.density(sketch, 1, "a", kind="normal", bandwidth=0.5)
    for wrong in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="bandwidth must be above 0 and finite"):
            gf.density(sketch, 1, "a", kind="kde", bandwidth=wrong)
    with pytest.raises(ValueError, match="bandwidth must be a number or one of scott, silverman, isj; got 'wide'"):
        gf.density(sketch, 1, "a", kind="kde", bandwidth="wide")
    with pytest.raises(TypeError, match="bandwidth must be a number"):
        gf.density(sketch, 1, "a", kind="kde", bandwidth=[1.0, 2.0])
    made = gf.density(sketch, 1, "a")
    with pytest.raises(ValueError, match=r"p must be between 0 and 1, got 1.5"):
        made.quantile([0.5, 1.5])
    with pytest.raises(ValueError, match="p must be between 0 and 1, got nan"):
        made.quantile(math.nan)
    with pytest.raises(TypeError, match="x must be a number or an array of numbers, got str"):
        made.cdf("high")
    assert math.isnan(made.cdf(math.nan))


def test_a_density_does_not_change_with_its_sketch(backend, skewed):
    sketch = sketch_of(skewed)
    made = gf.density(sketch, 1, "a", kind="kde")
    before = made.cdf(0.0)
    sketch.update([50.0], [1], ["a"])
    assert made.cdf(0.0) == before
    assert made.log_likelihood == pytest.approx(one(skewed, "kde").log_likelihood)


def test_repr_can_be_read(backend):
    text = repr(one(np.arange(100.0), "normal"))
    assert text == "Density(normal of label 1, group 'a', location=49.5, scale=28.87; 100 rows)"
