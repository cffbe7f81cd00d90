"""What a sketch promises: laws, moments, and what it tells."""

from __future__ import annotations

import dataclasses
import math
import re
import statistics
from fractions import Fraction

import numpy as np
import pytest
from helpers.strategies import Table, bins, finite_scores, scores, tables
from hypothesis import assume, given
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast._base import grid

pytestmark = pytest.mark.filterwarnings(
    "ignore::gstar_fast.errors.ResolutionWarning", "ignore::gstar_fast.errors.SentinelWarning"
)


def sketch_of(table: Table, **options: object) -> gf.Sketch:
    return table.into(gf.Sketch(**options))  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------------------------- laws


@given(table=tables(), n_bins=bins(), data=st.data())
def test_any_cut_order_and_merge_tree_give_the_same_bytes(backend, table, n_bins, data):
    whole = sketch_of(table, bins=n_bins)
    rows = data.draw(st.permutations(range(len(table.scores))))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    parts = [sketch_of(table.take(rows[a:b]), bins=n_bins) for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    while len(parts) > 1:
        i = data.draw(st.integers(0, len(parts) - 1))
        one = parts.pop(i)
        j = data.draw(st.integers(0, len(parts) - 1))
        parts[j] = parts[j] + one
    assert parts[0] == whole
    assert parts[0].digest() == whole.digest()
    stream = gf.Sketch(bins=n_bins)
    for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        table.take(rows[a:b]).into(stream)
    assert stream == whole


@given(table=tables(max_rows=15), n_bins=bins())
def test_a_row_at_a_time_equals_a_batch(backend, table, n_bins):
    one_by_one = gf.Sketch(bins=n_bins)
    for x, y, g in zip(table.scores.tolist(), table.labels.tolist(), table.groups, strict=True):
        one_by_one.update_one(x, None if y == 2 else y, g)
    assert one_by_one == sketch_of(table, bins=n_bins)


@pytest.mark.slow
@given(a=tables(max_rows=12), b=tables(max_rows=12), c=tables(max_rows=12))
def test_merge_is_associative_and_commutative_with_the_empty_sketch_neutral(backend, a, b, c):
    kinds = {type(name) for table in (a, b, c) for name in table.groups}
    assume(not (bool in kinds and int in kinds))
    x, y, z = (sketch_of(table, bins=32) for table in (a, b, c))
    assert (x + y) + z == x + (y + z)
    assert x + y == y + x
    assert gf.Sketch() + x == x == x + gf.Sketch()
    assert sum([x, y, z]) == x + y + z
    accumulated = x.copy()
    accumulated += y
    assert accumulated == x + y
    assert x == sketch_of(a, bins=32), "merging leaves its inputs alone"


@given(
    xs=st.lists(st.one_of(st.floats(-8, 8, width=32), scores(32)), max_size=40),
    n_bins=bins(),
)
def test_float32_and_float64_of_the_same_values_agree(backend, xs, n_bins):
    single = np.array(xs, np.float32)
    y, g = np.arange(len(xs)) % 2, np.arange(len(xs)) % 3
    a = gf.Sketch.from_rows(single, y, g, bins=n_bins)
    b = gf.Sketch.from_rows(single.astype(np.float64), y, g, bins=n_bins)
    assert a.to_bytes() == b.to_bytes()


@pytest.mark.parametrize("n", [1000, 20_000, 300_000])
def test_any_number_of_threads_gives_the_same_bytes(backend, n):
    if backend == "numpy":
        n //= 50
    rng = np.random.default_rng(n)
    x, y, g = rng.normal(size=n), rng.integers(0, 2, n), rng.integers(0, 5, n)
    one = gf.Sketch.from_rows(x, y, g)
    assert all(gf.Sketch.from_rows(x, y, g, threads=t) == one for t in (2, 3, 8))
    batches = gf.Sketch()
    for rows in np.array_split(rng.permutation(n), 7):
        batches.update(x[rows], y[rows], g[rows], threads=2)
    assert batches == one


@given(
    table=tables(labelled=True), limits=st.one_of(st.none(), st.just((-1.0, 1.5)), st.just((0.0, 1.0))), n_bins=bins()
)
def test_counts_above_every_edge_are_the_rows_with_score_at_or_over_it(backend, table, limits, n_bins):
    sketch = sketch_of(table, bins=n_bins, range=limits)
    edges, counts, above, below = sketch.edges, sketch.counts, sketch.above, sketch.below
    assert edges.shape == (n_bins + 1,)
    assert (np.diff(edges) > 0).all()
    assert counts.shape == (2, len(sketch.groups), n_bins)
    for label in (0, 1):
        for i, name in enumerate(sketch.groups):
            mine = [g == name and y == label for g, y in zip(table.groups, table.labels, strict=True)]
            x = np.sort(table.scores[np.array(mine, bool)])
            at_or_over = len(x) - np.searchsorted(x, edges, side="left")
            tail = above[label, i] + np.concatenate([np.cumsum(counts[label, i][::-1])[::-1], [0]])
            assert np.array_equal(at_or_over, tail)
            assert below[label, i] == len(x) - tail[0]


@given(table=tables(), wider=finite_scores())
def test_coarsening_equals_counting_at_the_coarser_level(backend, table, wider):
    first = sketch_of(table, bins=16)
    names = table.groups[:1] or ["a"]
    first.update([wider], [1], names)
    both = Table(np.append(table.scores, wider), np.append(table.labels, np.uint8(1)), [*table.groups, *names])
    assert first == sketch_of(both, bins=16)


@given(table=tables(), factor=st.sampled_from([1, 2, 3, 2**40]))
def test_repeats_give_the_bytes_of_repeated_rows(backend, table, factor):
    repeated = table.into(gf.Sketch(bins=16), repeats=[factor] * len(table.scores))
    assert not repeated.weighted
    if factor < 4:
        rows = np.repeat(np.arange(len(table.scores)), factor)
        assert repeated.to_bytes() == sketch_of(table.take(rows), bins=16).to_bytes()
    assert repeated.n_rows == repeated.weight == factor * len(table.scores)


@given(table=tables(), data=st.data())
def test_weights_of_any_kind_are_free_of_order_too(backend, table, data):
    n = len(table.scores)
    weight = st.one_of(st.sampled_from([0.0, 1.0, 2.0, 0.5, 1e-9, 0.1]), st.floats(0, 1000))
    w = np.array(data.draw(st.lists(weight, min_size=n, max_size=n)))
    whole = table.into(gf.Sketch(bins=16), weights=w)
    units = np.round(w * 2**20) / 2**20
    assert whole.weighted == bool(((units != 0) & (units != 1)).any())
    cut = data.draw(st.integers(0, n))
    parts = [slice(cut, n), slice(0, cut)]
    stream, total = gf.Sketch(bins=16), gf.Sketch(bins=16)
    for part in parts:
        piece = table.take(np.arange(n)[part])
        piece.into(stream, weights=w[part])
        total += piece.into(gf.Sketch(bins=16), weights=w[part])
    assert stream == whole == total
    assert whole.n_rows == (units > 0).sum()
    assert whole.weight == pytest.approx(units.sum(), abs=1e-9 * max(1.0, units.sum()))


@given(table=tables(max_rows=25))
def test_means_and_extremes_are_those_of_the_rows(backend, table):
    sketch = sketch_of(table, bins=32)
    means, edges = sketch.means, sketch.edges
    for label in (0, 1):
        for i, name in enumerate(sketch.groups):
            mine = np.array([g == name and y == label for g, y in zip(table.groups, table.labels, strict=True)], bool)
            x = table.scores[mine]
            x = x[np.isfinite(x)]
            bin_of = np.searchsorted(edges, x, side="right") - 1
            assert np.isnan(means[label, i, np.setdiff1d(np.arange(32), bin_of)]).all()
            for b in np.unique(bin_of):
                rounded = grid.round24(x[bin_of == b] + 0.0)
                exact = sum(int(v) for v in grid.whole_scores(rounded))
                mean = grid.to_float(exact, grid.SUM_UNIT) / len(rounded)
                mean = min(max(mean, edges[b]), edges[b + 1])
                assert means[label, i, b] == pytest.approx(mean, rel=1e-14, abs=5e-324)
            m = sketch.moments(label, name)
            assert m.count == len(x)
            if len(x):
                assert (m.min, m.max) == (x.min(), x.max())


# ------------------------------------------------------------------------------------------------------------- moments


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_moments_agree_with_the_rows(backend, dtype):
    rng = np.random.default_rng(5)
    x = rng.gamma(3.0, size=4000).astype(dtype)
    sketch = gf.Sketch.from_rows(x, np.ones(4000, int), ["a"] * 4000, bins=8192)
    assert sketch.resolution >= 1024
    m = sketch.moments(1, "a")
    d = x.astype(float) - x.mean(dtype=float)
    second = (d**2).mean()
    assert m.count == 4000
    assert m.mean == pytest.approx(x.mean(dtype=float), rel=1e-7)
    assert m.variance == pytest.approx(second, rel=1e-6)
    assert m.skewness == pytest.approx((d**3).mean() / second**1.5, rel=1e-6)
    assert m.kurtosis == pytest.approx((d**4).mean() / second**2 - 3, rel=1e-6)


def _sets():
    """Scores of many kinds: an outlier, a sentinel, heavy tails, rare events, piles at both ends, the twelfth digit."""
    rng = np.random.default_rng(8)
    z = rng.normal(size=20_000)
    sigmoid = 1 / (1 + np.exp(-2 * z))
    return {
        "logits": 3 * z + 1,
        "an outlier": np.append(z, 1e6),
        "probabilities": sigmoid,
        "a sentinel": np.append(sigmoid, np.full(20, -999.0)),
        "cauchy": rng.standard_cauchy(20_000),
        "lognormal": np.exp(2 * z + 5),
        "rare events": 1 / (1 + np.exp(8 + 1.2 * z)),
        "saturated": (1 / (1 + np.exp(-5 * z))).astype(np.float32),
        "whole numbers": np.round(600 + 80 * z),
        "twelfth digit": 1 + 1e-12 * z,
        "log-probabilities": np.append(np.log(sigmoid), [-745.0] * 3),
    }


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.SentinelWarning")
@pytest.mark.parametrize("name", _sets())
def test_derived_moments_of_the_middle_rows_agree_to_1e_4(backend, name):
    """Scores far out shape the bins, but not the moments of the others."""
    x = np.asarray(_sets()[name], np.float64)
    low, high = np.quantile(x, [0.005, 0.995])
    middle = (low <= x) & (x <= high)
    sketch = gf.Sketch.from_rows(x, middle.astype(int), ["a"] * len(x))
    m, rows = sketch.moments(1, "a"), x[middle]
    d = rows - rows[0]  # exact where rows differ by little
    d -= d.mean()
    second, third, fourth = ((d**k).mean() for k in (2, 3, 4))
    assert (m.count, m.min, m.max) == (len(rows), rows.min(), rows.max())
    assert m.mean == pytest.approx(rows.mean(), rel=1e-7)
    assert m.variance == pytest.approx(second, rel=1e-4)
    sizes = (np.abs(d) ** 3).mean()  # what the third moment adds up, before signs cancel it
    assert m.skewness * second**1.5 == pytest.approx(third, abs=1e-4 * sizes)
    assert (m.kurtosis + 3) * second**2 == pytest.approx(fourth, rel=1e-4)


@given(
    x=st.lists(st.floats(-1e6, 1e6) | st.floats(-1e-3, 1e-3) | st.sampled_from([0.0, -999.0, 0.5]), min_size=1),
    bins=st.sampled_from([16, 64, 4096]),
)
def test_variance_is_off_by_no_more_than_rows_can_move_inside_their_bins(backend, x, bins):
    rows = np.array(x)
    sketch = gf.Sketch.from_rows(rows, None, [0] * len(x), bins=bins)
    counts, widths = sketch.unlabelled[0], np.diff(sketch.edges)
    m = sketch.moments(None, 0)
    room = float((counts * widths**2)[counts > 1].sum()) / 4 / len(x)
    exact = float(statistics.pvariance([Fraction(value) for value in x]))  # np.var of equal numbers may not be 0
    assert abs(m.variance - exact) <= room + 1e-6 * exact + 1e-300
    assert (m.count, m.min, m.max) == (len(x), rows.min(), rows.max())


def test_moments_of_nothing_are_nan(backend):
    m = gf.Sketch(groups=["a"]).moments(0, "a")
    assert m.count == 0
    assert all(math.isnan(v) for v in dataclasses.astuple(m)[1:])


def test_a_weighted_sketch_says_so_and_counts_in_weights(backend):
    sketch = gf.Sketch.from_rows([0.1, 0.9, 0.9], [0, 1, 1], ["a"] * 3, weights=[0.5, 1, 0.25])
    assert sketch.weighted
    assert sketch.counts.dtype == np.float64
    assert sketch.counts.sum() == sketch.weight == 1.75
    assert sketch.n_rows == 3
    assert sketch.moments(1, "a").count == 1.25
    assert "3 rows of weight 1.75" in repr(sketch)


# ------------------------------------------------------------------------------------------------------------- showing


def test_repr_says_rows_groups_and_window(backend):
    sketch = gf.Sketch.from_rows([0.25, 0.75], [0, 1], ["F", "M"], range=(0, 1), bins=16)
    assert repr(sketch) == "Sketch(2 rows, 2 groups: 'F', 'M'; 16 bins of 0.0625 from 0 to 1)"
    near, far = gf.Sketch.from_rows([0.25, 0.75], [0, 1], [0, 0]), gf.Sketch.from_rows([1.0, 1.0 + 1e-12], None, [0, 0])
    assert re.search(r"4096 bins, at most 0\.00024 wide, from 0\.25 to \d\.\d+\)$", repr(near))
    assert "wide, from 1.0 to 1.0000" in repr(far)


def test_html_escapes_names(backend):
    page = gf.Sketch.from_rows([0.25], [0], ["<b>"])._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>'" not in page


def test_to_uhi_keeps_every_count(backend):
    bh = pytest.importorskip("boost_histogram")
    sketch = gf.Sketch.from_rows([-5.0, 0.25, 0.75, 9.0], [0, 0, 1, 1], ["F", "M", "M", "M"], range=(0, 1), bins=16)
    histogram = sketch.to_uhi()
    assert isinstance(histogram, bh.Histogram)
    assert np.array_equal(histogram.values(), sketch.counts)
    assert histogram.sum(flow=True) == 4
    assert np.array_equal(histogram.axes[2].edges, sketch.edges)
    assert list(histogram.axes[1]) == ["F", "M"]
    assert isinstance(histogram.axes[2], bh.axis.Regular)
    uneven = gf.Sketch.from_rows([-999.0, 0.001, 0.25, 0.75], [0, 0, 1, 1], [0] * 4)
    assert np.array_equal(uneven.to_uhi().axes[2].edges, uneven.edges)
    assert np.array_equal(uneven.to_uhi().values(), uneven.counts)
    assert list(gf.Sketch.from_rows([0.5], [1], [7]).to_uhi().axes[1]) == [7]
    weighted = gf.Sketch.from_rows([0.5], [1], [("a", 1)], weights=[0.5]).to_uhi()
    assert weighted.sum() == 0.5
