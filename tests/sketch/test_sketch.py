"""What a sketch promises: laws, moments, and what it tells."""

from __future__ import annotations

import dataclasses
import math
import warnings

import numpy as np
import pytest
from helpers.strategies import Table, bins, finite_scores, scores, tables
from hypothesis import assume, given
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast._base import grid

pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.ResolutionWarning")


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
def test_whole_weights_are_repetitions(backend, table, factor):
    weighted = table.into(gf.Sketch(bins=16), weights=[factor] * len(table.scores))
    assert not weighted.weighted
    if factor < 4:
        rows = np.repeat(np.arange(len(table.scores)), factor)
        assert weighted == sketch_of(table.take(rows), bins=16)
    assert weighted.n_rows == factor * len(table.scores)


@given(table=tables(), data=st.data())
def test_weights_of_any_kind_are_free_of_order_too(backend, table, data):
    n = len(table.scores)
    weight = st.one_of(st.sampled_from([0.0, 1.0, 2.0, 0.5, 1e-9, 0.1]), st.floats(0, 1000))
    w = np.array(data.draw(st.lists(weight, min_size=n, max_size=n)))
    whole = table.into(gf.Sketch(bins=16), weights=w)
    assert whole.weighted == bool((w % 1 != 0).any())
    cut = data.draw(st.integers(0, n))
    parts = [slice(cut, n), slice(0, cut)]
    stream, total = gf.Sketch(bins=16), gf.Sketch(bins=16)
    for part in parts:
        piece = table.take(np.arange(n)[part])
        piece.into(stream, weights=w[part])
        total += piece.into(gf.Sketch(bins=16), weights=w[part])
    assert stream == whole == total
    units = np.round(w * 2**20) / 2**20
    assert whole.n_rows == pytest.approx(units.sum(), abs=1e-9 * max(1.0, units.sum()))


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
                exact = sum(int(v) for v in grid.whole_sums(rounded)[0])
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


def test_variance_is_exact_even_where_all_rows_share_few_bins(backend):
    x = np.array([0.25, 0.5, 0.25 + 2**-12, 0.375])
    sketch = gf.Sketch.from_rows(x, [1] * 4, [0] * 4, bins=16, range=(0, 1000))
    m = sketch.moments(1, 0)
    assert m.variance == pytest.approx(x.var(), rel=1e-14)
    assert m.mean == x.mean()


def test_moments_of_nothing_are_nan(backend):
    m = gf.Sketch(groups=["a"]).moments(0, "a")
    assert m.count == 0
    assert all(math.isnan(v) for v in dataclasses.astuple(m)[1:])


def test_a_weighted_sketch_says_so_and_counts_in_weights(backend):
    sketch = gf.Sketch.from_rows([0.1, 0.9, 0.9], [0, 1, 1], ["a"] * 3, weights=[0.5, 1, 0.25])
    assert sketch.weighted
    assert sketch.counts.dtype == np.float64
    assert sketch.counts.sum() == sketch.n_rows == 1.75
    assert sketch.moments(1, "a").count == 1.25
    assert "weight 1.75" in repr(sketch)


# ---------------------------------------------------------------------------------------------------------- resolution


@pytest.mark.usefixtures("backend")
@pytest.mark.filterwarnings("error::gstar_fast.ResolutionWarning")
class TestResolution:
    def test_one_wild_score_warns_once_and_names_itself_and_the_cure(self):
        rng = np.random.default_rng(0)
        sketch = gf.Sketch.from_rows(rng.normal(size=1000), None, [0] * 1000)
        assert sketch.resolution > 1000
        with pytest.warns(gf.ResolutionWarning, match=r"the score -1000000000\.0 .* pass range=\(lo, hi\)") as caught:
            sketch.update([-1e9], None, [0])
        assert [w.filename for w in caught] == [__file__]
        assert sketch.n_rows == 1001
        assert sketch.resolution < 64
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sketch.update([1e12], None, [0])
            sketch.copy().update(rng.normal(size=5000), None, [0] * 5000)

    def test_merging_warns_too(self):
        usual = gf.Sketch.from_rows(np.random.default_rng(0).normal(size=1000), None, [0] * 1000)
        with pytest.warns(gf.ResolutionWarning, match=r"the score 1000000000\.0"):
            usual += gf.Sketch.from_rows([1e9], None, [0])

    def test_a_row_at_a_time_warns_too(self):
        sketch = gf.Sketch.from_rows(np.random.default_rng(0).normal(size=1000), None, [0] * 1000)
        with pytest.warns(gf.ResolutionWarning):
            sketch.update_one(1e9, None, 0)

    def test_a_constant_score_or_few_rows_do_not_warn(self):
        gf.Sketch.from_rows([0.3] * 1000, None, [0] * 1000)
        gf.Sketch.from_rows([0.0, 1.0] * 500, None, [0] * 1000)
        gf.Sketch.from_rows([0.1, 0.2, 1e9], None, [0] * 3)
        gf.Sketch.from_rows([np.inf] * 1000, None, [0] * 1000)
        gf.Sketch.from_rows(np.linspace(0, 1, 1000), None, [0] * 1000, range=(0, 1e6))

    def test_range_keeps_the_resolution(self):
        x = np.append(np.random.default_rng(0).normal(size=1000), 1e9)
        assert gf.Sketch.from_rows(x, None, [0] * 1001, range=(-8, 8)).resolution > 1000


# ------------------------------------------------------------------------------------------------------------- showing


def test_repr_says_rows_groups_and_window(backend):
    sketch = gf.Sketch.from_rows([0.25, 0.75], [0, 1], ["F", "M"], range=(0, 1), bins=16)
    assert repr(sketch) == "Sketch(2 rows, 2 groups: 'F', 'M'; 16 bins of 0.0625 from 0.0 to 1.0)"
    assert repr(gf.Sketch()) == "Sketch(0 rows, 0 groups; 4096 bins of 1 from 0.0 to 4096.0)"


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
    assert list(gf.Sketch.from_rows([0.5], [1], [7]).to_uhi().axes[1]) == [7]
    weighted = gf.Sketch.from_rows([0.5], [1], [("a", 1)], weights=[0.5]).to_uhi()
    assert weighted.sum() == 0.5
