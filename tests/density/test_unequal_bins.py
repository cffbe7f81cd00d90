"""Densities on bins of very different widths: scores near zero and far from it, gaps, outliers, sentinels."""

import numpy as np
import pytest
from helpers.densities import COUNTING, KINDS, one, sketch_of
from helpers.strategies import scattered
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

import gstar_fast as gf
from gstar_fast import _backends

pytestmark = [
    pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning"),
    pytest.mark.filterwarnings("ignore::gstar_fast.errors.SentinelWarning"),
]


def rows_of(name, n=20_000):
    rng = np.random.default_rng(21)
    z = rng.normal(size=n)
    return {
        "an outlier": lambda: np.append(z, 1e6),
        "a sentinel": lambda: np.append(1 / (1 + np.exp(-2 * z)), np.full(20, -999.0)),
        "cauchy": lambda: rng.standard_cauchy(n),
        "lognormal": lambda: np.exp(2 * z + 5),
        "rare events": lambda: 1 / (1 + np.exp(8 + 1.2 * z)),
        "twelfth digit": lambda: 1 + 1e-12 * z,
    }[name]()


NAMES = ["an outlier", "a sentinel", "cauchy", "lognormal", "rare events", "twelfth digit"]

# ---------------------------------------------------------------- the counts


@given(rows=scattered, bins=st.sampled_from([16, 128, 4096]))
def test_counts_are_exact_at_every_edge_whatever_the_widths(backend, rows, bins):
    sketch = sketch_of(rows, bins=bins)
    made = gf.density(sketch, 1, "a")
    below = np.searchsorted(np.sort(rows), sketch.edges)
    assert made.cdf(sketch.edges).tolist() == (below / len(rows)).tolist()


@pytest.mark.every_backend
@given(rows=scattered, share=st.floats(0.0, 1.0))
@example(rows=np.repeat([1799.0, 1e5, 592652.0, 592652.04, 2.0**20], [1, 2, 4, 2, 1]), share=0.5)
def test_counts_rise_and_their_quantiles_lie_in_the_bin_of_the_rows(backend, rows, share):
    sketch = sketch_of(rows, bins=64)
    made, edges = gf.density(sketch, 1, "a"), sketch.edges
    x = np.sort(np.concatenate((edges, 0.5 * edges[:-1] + 0.5 * edges[1:], rows)))
    assert np.all(np.diff(made.cdf(x)) >= 0.0)
    exact = np.sort(rows)[max(int(np.ceil(share * len(rows))) - 1, 0)]
    b = int(np.searchsorted(edges, exact, side="right")) - 1
    nudge = 1e-9 * len(rows)  # shares are divisions, so that a bin may end a rounding earlier or later
    low, high = made.quantile(max(share - nudge, 0.0)), made.quantile(min(share + nudge, 1.0))
    assert low <= edges[b + 1]
    assert high >= edges[b]


@pytest.mark.parametrize("name", NAMES)
def test_counts_are_linear_inside_a_bin_of_any_width(backend, name):
    sketch = sketch_of(rows_of(name))
    made, edges = gf.density(sketch, 1, "a"), sketch.edges
    places = np.flatnonzero(np.isnan(made._cell.atoms))[::7]
    lower, width = edges[places], np.diff(edges)[places]
    for part in (0.25, 0.5):
        ends = made.cdf(edges)[places], made.cdf(edges)[places + 1]
        inside = lower + part * width
        part_of_it = (inside - lower) / width  # rounding, where a bin holds few numbers
        assert made.cdf(inside) == pytest.approx(ends[0] + part_of_it * (ends[1] - ends[0]), abs=1e-14)
        assert made.pdf(inside) == pytest.approx((ends[1] - ends[0]) / width, rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_quantiles_are_those_of_the_rows_to_one_bin(backend, name):
    rows = rows_of(name)
    sketch = sketch_of(rows)
    p = np.array([0.003, 0.05, 0.25, 0.5, 0.75, 0.95, 0.997])
    found, exact = gf.density(sketch, 1, "a").quantile(p), np.quantile(rows, p, method="inverted_cdf")
    widths = np.diff(sketch.edges)[np.searchsorted(sketch.edges, exact, side="right") - 1]
    assert np.all(np.abs(found - exact) <= widths)


def test_a_gap_between_scores_has_no_density(backend):
    made = one(np.concatenate((np.full(20, -999.0), np.linspace(0.01, 0.99, 980))), "empirical")
    assert made.pdf([-500.0, -10.0, 0.005]).tolist() == [0.0, 0.0, 0.0]
    assert made.cdf([-998.0, -500.0, 0.005]) == pytest.approx([0.02, 0.02, 0.02], abs=1e-12)
    assert made.quantile([0.01, 0.02]).tolist() == [-999.0, -999.0]


@pytest.mark.parametrize("name", NAMES)
def test_scores_of_any_size_that_differ_have_no_atoms(backend, name):
    made = one(rows_of(name), "empirical")
    tied = made._cell.atoms[~np.isnan(made._cell.atoms)]
    assert set(tied) <= {-999.0}


@pytest.mark.parametrize("decimals", [2, 3])
def test_rounded_scores_are_atoms_though_no_bin_begins_at_them(backend, decimals):
    rows = np.round(np.random.default_rng(22).beta(2, 3, 20_000), decimals)
    made = one(rows, "empirical")
    values, n = np.unique(rows, return_counts=True)
    often = values[n > 1]
    assert made._cell.atom_shares.sum() == pytest.approx(n[n > 1].sum() / len(rows))
    step = made.cdf(often + 1e-6) - made.cdf(often - 1e-6)
    assert step == pytest.approx(n[n > 1] / len(rows))


# ---------------------------------------------------------------- kernels


@pytest.mark.parametrize("name", NAMES)
def test_kde_is_the_sum_over_bin_means_whatever_the_widths(backend, name):
    rows = rows_of(name, 3_000)
    sketch = sketch_of(rows)
    made = gf.density(sketch, 1, "a", kind="kde")
    bandwidth = made.parameters["bandwidth"]
    x = np.concatenate((np.quantile(rows, np.linspace(0.01, 0.99, 21)), [rows.min(), rows.max()]))
    z = (x[:, None] - rows) / bandwidth
    assert made.cdf(x) == pytest.approx(stats.norm.cdf(z).mean(axis=1), abs=2e-3)
    assert made.pdf(x) == pytest.approx(stats.norm.pdf(z).mean(axis=1) / bandwidth, abs=2e-2 / bandwidth)


@pytest.mark.parametrize("far", [100.0, 1e6, -1e6])
@pytest.mark.parametrize("rule", ["silverman", "isj"])
def test_one_far_score_does_not_change_the_bandwidth(backend, rule, far):
    rows = np.random.default_rng(23).normal(size=10_000)
    alone, beside = (one(x, "kde", rule).parameters for x in (rows, np.append(rows, far)))
    assert beside["bandwidth"] == pytest.approx(alone["bandwidth"], rel=0.03)
    assert beside["rule"] == alone["rule"] == rule


def test_isj_is_that_of_an_equal_grid(backend):
    """The bandwidth of the same rows in equal bins, which is what the rule is written for."""
    rng = np.random.default_rng(24)
    rows = np.concatenate((rng.gamma(2.0, size=5_000), rng.normal(9, 1, 5_000)))
    near_zero = one(rows, "kde", "isj").parameters["bandwidth"]
    equal = one(rows, "kde", "isj", range=(-8.0, 24.0)).parameters["bandwidth"]
    assert near_zero == pytest.approx(equal, rel=0.02)


# ---------------------------------------------------------------- families


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("cauchy", ["student_t"]),
        ("lognormal", ["gamma", "student_t"]),
        ("rare events", ["gamma", "student_t"]),
        ("twelfth digit", ["normal", "student_t", "gamma"]),
    ],
)
def test_likelihoods_are_those_of_the_rows(backend, name, kinds):
    rows = rows_of(name)
    for kind in kinds:
        made = one(rows, kind)
        on_rows = float(np.mean(np.log(made.pdf(rows))))
        assert made.log_likelihood / len(rows) == pytest.approx(on_rows, abs=1e-3)


def test_student_t_follows_a_cauchy_with_all_its_rows(backend):
    rows = rows_of("cauchy")
    made = one(rows, "student_t")
    assert made.parameters["df"] == pytest.approx(1.0, rel=0.05)
    assert made.parameters["scale"] == pytest.approx(1.0, rel=0.05)
    df, location, scale = stats.t.fit(rows)
    rival = float(np.mean(stats.t.logpdf(rows, df, location, scale)))
    assert float(np.mean(np.log(made.pdf(rows)))) >= rival - 1e-4


def distance(rows, cdf):
    """Largest difference between a cdf and the rows, which may tie."""
    x = np.sort(rows)
    before, after = np.searchsorted(x, x) / len(x), np.searchsorted(x, x, side="right") / len(x)
    return max(np.abs(cdf(x) - before).max(), np.abs(cdf(np.nextafter(x, np.inf)) - after).max())


@pytest.mark.parametrize("shape", [0.1, 0.3, 0.5, 0.9, 1.0, 1.2, 1.5])
@pytest.mark.parametrize(("shift", "sign"), [(0.0, 1.0), (0.0, -1.0), (0.37, 1.0), (5.0, -1.0), (-5.0, 1.0)])
def test_gamma_follows_a_pile_of_scores_as_closely_as_scipy(backend, shape, shift, sign):
    for n in (100, 20_000) if shape > 0.1 else (1_000, 20_000):  # 100 rows, half of them in one bin, tell too little
        drawn = shift + np.random.default_rng(26 + n).gamma(shape, 2.0, n)
        rows = sign * drawn
        made = one(rows, "gamma")
        location, mirrored = made.parameters["location"], made.parameters["mirrored"]
        assert np.all(rows < location) if mirrored else np.all(rows > location)
        flip = -1.0 if mirrored else 1.0
        rival = stats.gamma(*stats.gamma.fit(flip * rows, floc=flip * location))
        theirs = distance(rows, (lambda x, r=rival: r.sf(-x)) if mirrored else rival.cdf)
        assert distance(rows, made.cdf) <= theirs + 0.02
        if n == 20_000:
            assert made.parameters["shape"] == pytest.approx(shape, rel=0.05)
            assert location == pytest.approx(sign * shift, abs=0.01)


def test_a_pile_makes_gamma_the_best_family(backend):
    made = one(np.random.default_rng(27).gamma(0.3, size=5_000), "best")
    assert (made.kind, made.parameters["mirrored"]) == ("gamma", False)
    assert made.kolmogorov < 0.03
    assert made.cdf(made.quantile([0.001, 0.2, 0.9])) == pytest.approx([0.001, 0.2, 0.9], abs=1e-11)


# ---------------------------------------------------------------- backends


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*NAMES, "a pile"])
def test_backends_agree_on_unequal_bins(name, kind):
    rows = np.random.default_rng(28).gamma(0.2, size=4_000) if name == "a pile" else rows_of(name, 4_000)
    sketch = sketch_of(rows)
    edges = sketch.edges[:: max(len(sketch.edges) // 256, 1)]
    x = np.concatenate((edges, np.quantile(rows, np.linspace(0.0, 1.0, 41))))
    near = 1e-3 if name == "twelfth digit" else 1e-9  # two neighbouring numbers are as far apart as that
    answers = {}
    for backend in [name for name in _backends.BACKENDS if name != "native" or _backends.has_native()]:
        with gf.use_backend(backend):
            made = gf.density(sketch, 1, "a", kind=kind)
            answers[backend] = (made.cdf(x), made.kolmogorov, made.log_likelihood)
    for cdf, distance_to_counts, likelihood in answers.values():
        want = answers["numpy"]
        assert cdf == pytest.approx(want[0], abs=near)
        assert distance_to_counts == pytest.approx(want[1], abs=near)
        assert likelihood == pytest.approx(want[2], rel=100 * near)


def test_a_far_row_of_another_group_changes_no_density_much(backend):
    """Bins are shared by all cells; a cell whose rows did not change keeps its density but for their widths."""
    rows = np.random.default_rng(29).normal(size=4_000)
    with gf.use_backend(COUNTING):
        alone = gf.Sketch.from_rows(rows, np.ones(4_000, int), ["a"] * 4_000)
        beside = alone + gf.Sketch.from_rows([1e6], [0], ["b"])
    x = np.linspace(-3, 3, 61)
    for kind in ("kde", "normal", "student_t", "gamma"):
        one_of_them, other = (gf.density(s, 1, "a", kind=kind).cdf(x) for s in (alone, beside))
        assert other == pytest.approx(one_of_them, abs=2e-3)


@pytest.mark.parametrize("kind", ["normal", "student_t", "gamma", "best"])
def test_a_cell_within_a_part_of_one_bin_has_a_density(backend, kind):
    near, far = np.linspace(3e-10, 8e-10, 95), np.linspace(1e8, 8e8, 95)
    sketch = gf.Sketch(bins=16).update(np.append(near, far), np.ones(190, int), np.repeat(["near", "far"], 95))
    density = gf.density(sketch, 1, "near", kind=kind)
    assert 3e-10 < density.quantile(0.5) < 8e-10
    assert np.isfinite(density.log_likelihood)


@pytest.mark.parametrize("kind", ["kde", "normal", "gamma"])
def test_a_refusal_says_whether_scores_are_too_close_or_too_far_apart(backend, kind):
    tiny = gf.Sketch.from_rows(np.arange(1, 9) * 1e-310, np.ones(8, int), np.zeros(8, int))
    with pytest.raises(ValueError, match="has scores too close together"):
        gf.density(tiny, 1, 0, kind=kind)


def test_a_mean_lies_between_the_smallest_and_the_largest_score(backend):
    m = gf.Sketch.from_rows([0.3] * 3, [1] * 3, [0] * 3).moments(label=1, group=0)
    assert m.min == m.mean == m.max == 0.3
