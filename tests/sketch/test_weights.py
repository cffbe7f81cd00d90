"""Laws of weights (of one row) and repeats (several rows), on every backend."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from helpers.strategies import Table, tables
from hypothesis import given, settings
from hypothesis import strategies as st

import gstar_fast as gf

pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")

WEIGHT = st.sampled_from([0.0, 1.0, 1.0, 2.0, 10.0, 0.5, 1e-9, 2.0**-20, 1.0 + 2.0**-21, 1e6]) | st.floats(0, 1000)
LIMITS = st.sampled_from([None, (-0.5, 0.5)])


@st.composite
def loads(draw: st.DrawFn, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights and repeats of n rows."""
    w = draw(st.lists(draw(st.sampled_from([WEIGHT, st.just(1.0)])), min_size=n, max_size=n))
    k = draw(st.lists(draw(st.sampled_from([st.integers(0, 3), st.just(1)])), min_size=n, max_size=n))
    return np.array(w, np.float64), np.array(k, np.int64)


def counted(table: Table, w: np.ndarray, k: np.ndarray, limits: object, rows: np.ndarray | None = None) -> gf.Sketch:
    """Some of the rows, in a sketch of their own."""
    at = np.arange(len(table.scores)) if rows is None else rows
    return table.take(at).into(gf.Sketch(bins=16, range=limits), weights=w[at], repeats=k[at])


@settings(max_examples=40)
@given(table=tables(max_rows=20), data=st.data(), limits=LIMITS)
def test_repeats_give_the_bytes_of_repeated_rows_also_with_weights(backend, table, data, limits):
    w, k = data.draw(loads(len(table.scores)))
    again = np.repeat(np.arange(len(k)), k)
    repeated = table.take(again).into(gf.Sketch(bins=16, range=limits), weights=w[again])
    assert counted(table, w, k, limits).to_bytes() == repeated.to_bytes()
    plain = table.take(again).into(gf.Sketch(bins=16, range=limits))
    for repeats in (k, k.astype(np.float64), k.astype(np.uint8), k.tolist()):
        assert table.into(gf.Sketch(bins=16, range=limits), repeats=repeats).to_bytes() == plain.to_bytes()


@settings(max_examples=20)
@given(table=tables(), kind=st.sampled_from([np.float64, np.float32, np.int64, np.uint8]))
def test_a_weight_of_1_is_the_same_as_no_weight(backend, table, kind):
    n = len(table.scores)
    plain = table.into(gf.Sketch(bins=16))
    assert table.into(gf.Sketch(bins=16), weights=np.ones(n, kind)).to_bytes() == plain.to_bytes()
    assert (
        table.into(gf.Sketch(bins=16), weights=np.ones(n, kind), repeats=np.ones(n, kind)).to_bytes()
        == plain.to_bytes()
    )
    assert not plain.weighted


@settings(max_examples=40)
@given(table=tables(max_rows=20), data=st.data(), limits=LIMITS)
def test_order_batches_single_rows_and_merges_do_not_change_the_bytes(backend, table, data, limits):
    n = len(table.scores)
    w, k = data.draw(loads(n))
    whole = counted(table, w, k, limits)
    order = np.array(data.draw(st.permutations(range(n))), int)
    stream, total = gf.Sketch(bins=16, range=limits), gf.Sketch(bins=16, range=limits)
    for part in np.array_split(order, 3):
        table.take(part).into(stream, weights=w[part], repeats=k[part])
        total = counted(table, w, k, limits, part) + total
    one_by_one, by_bytes = gf.Sketch(bins=16, range=limits), gf.Sketch(bins=16, range=limits)
    for i in order.tolist():
        label = None if table.labels[i] == 2 else int(table.labels[i])
        one_by_one.update_one(float(table.scores[i]), label, table.groups[i], weight=w[i], repeats=int(k[i]))
        by_bytes._core.merge_bytes(counted(table, w, k, limits, np.array([i])).to_bytes())
    for other in (stream, total, one_by_one, by_bytes, gf.Sketch.from_bytes(whole.to_bytes())):
        assert other.to_bytes() == whole.to_bytes()


@settings(max_examples=40)
@given(table=tables(max_rows=20), data=st.data(), limits=LIMITS)
def test_rows_weights_and_squares_are_those_of_the_rows(backend, table, data, limits):
    w, k = data.draw(loads(len(table.scores)))
    sketch = counted(table, w, k, limits)
    parts = [Fraction(round(Fraction(x) * 2**20), 2**20) for x in w.tolist()]
    there = [bool(p and n) for p, n in zip(parts, k.tolist(), strict=True)]
    assert sketch.weighted == any(p != 1 for p, own in zip(parts, there, strict=True) if own)
    assert sketch.n_rows == sum(n for n, own in zip(k.tolist(), there, strict=True) if own)
    assert sketch.weight == float(sum(p * n for p, n in zip(parts, k.tolist(), strict=True)))
    core = sketch._core
    rows, edges = core.rows(), core.edges
    assert rows.shape == (3, len(core.groups))
    for label in range(3):
        found = core.squares(label)
        assert found.shape == (len(core.groups), 18)
        expected: dict[tuple[int, int], Fraction] = {}
        number = [0] * len(core.groups)
        for i, own in enumerate(there):
            if not own or table.labels[i] != label:
                continue
            group, x = core.groups.index(table.groups[i]), float(table.scores[i])
            place = 0 if x < edges[0] else 17 if x >= edges[-1] else int(np.searchsorted(edges, x, side="right"))
            expected[group, place] = expected.get((group, place), Fraction(0)) + parts[i] ** 2 * int(k[i])
            number[group] += int(k[i])
        assert rows[label].tolist() == number
        assert {at: found[at] for at in zip(*map(np.ndarray.tolist, np.nonzero(found)), strict=True)} == {
            at: float(value) for at, value in expected.items()
        }
        exact = [sum((v for (g, _), v in expected.items() if g == i), Fraction(0)) for i in range(len(core.groups))]
        assert core.squared_weights()[label].tolist() == list(map(float, exact))


def test_threads_do_not_change_the_bytes(backend):
    rng = np.random.default_rng(5)
    n = 150_000
    rows = rng.normal(size=n), rng.integers(0, 2, n), rng.integers(0, 3, n)
    w, k = rng.choice([0.5, 1.0, 3.0], n), rng.integers(0, 3, n)
    sketches = [gf.Sketch(bins=64).update(*rows, weights=w, repeats=k, threads=threads) for threads in (1, 3)]
    assert sketches[0].to_bytes() == sketches[1].to_bytes()
    assert sketches[0].n_rows == k.sum()


def test_a_row_of_any_weight_is_one_row(backend):
    ten = gf.Sketch.from_rows([0.5, 0.25], [1, 0], ["a", "a"], weights=[10, 10])
    more = gf.Sketch.from_rows([0.5, 0.25], [1, 0], ["a", "a"], weights=[10.5, 10.5])
    assert (ten.n_rows, ten.weight, ten.weighted) == (2, 20.0, True)
    assert (more.n_rows, more.weight) == (2, 21.0)
    assert ten.squared_weights.tolist() == [[100.0], [100.0]]
    assert repr(ten).startswith("Sketch(2 rows of weight 20, 1 group: 'a'")
    assert repr(gf.Sketch.from_rows([0.5], [1], ["a"], repeats=[10])).startswith("Sketch(10 rows, 1 group")


def test_a_row_of_weight_0_or_repeated_0_times_changes_nothing(backend):
    sketch = gf.Sketch(groups=None).update([0.5], [1], ["a"])
    before = sketch.to_bytes()
    sketch.update([1e9, -1e9], [1, 0], ["b", "c"], weights=[0, 5], repeats=[3, 0])
    sketch.update_one(1e9, 1, "b", weight=0)
    sketch.update_one(1e9, 1, "b", weight=2.0**-22)
    sketch.update_one(-1e9, 1, "a", repeats=0)
    assert sketch.to_bytes() == before
    with pytest.raises(ValueError, match="not one of the given groups"):
        gf.Sketch(groups=["a"]).update_one(0.5, 1, "b", weight=0)
    with pytest.raises(ValueError, match="NaN"):
        sketch.update_one(math.nan, 1, "a", repeats=0)


def test_rows_without_a_score_are_skipped_as_often_as_they_are_repeated(backend):
    skipping = gf.Sketch(nan="skip", missing=-999).update(
        [math.nan, -999, 0.5, math.nan], [1] * 4, ["a"] * 4, repeats=[2, 3, 1, 4], weights=[5, 5, 1, 0]
    )
    assert (skipping.skipped, skipping.n_rows, skipping.weighted) == (5, 1, False)
    one_by_one = gf.Sketch(nan="skip", missing=-999)
    for x, w, k in ((math.nan, 5, 2), (-999, 5, 3), (0.5, 1, 1), (math.nan, 0, 4)):
        one_by_one.update_one(x, 1, "a", weight=w, repeats=k)
    assert one_by_one.to_bytes() == skipping.to_bytes()


def test_a_table_has_columns_of_both(backend):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"p": [0.25, 0.5], "y": [0, 1], "g": ["a", "b"], "w": [2.0, 1.0], "k": [3, 1]})
    names = {"score": "p", "label": "y", "group": "g"}
    both = gf.Sketch(bins=16).update_table(frame, **names, weight="w", repeats="k")
    assert both == gf.Sketch(bins=16).update([0.25] * 3 + [0.5], [0] * 3 + [1], ["a"] * 3 + ["b"], weights=[2, 2, 2, 1])
    assert gf.Sketch(bins=16).update_table(frame, **names, repeats="k").n_rows == 4


def test_the_memory_limit_covers_squared_weights(backend):
    limit = 3 * (16 * 80 + 4096)  # of three groups: enough without weights
    rows = [0.25, 0.5, 0.75], [0, 1, 1], ["a", "b", "c"]
    plain = gf.Sketch(bins=16, memory_limit=limit).update(*rows)
    before = plain.to_bytes()
    weighted = gf.Sketch(bins=16).update(*rows, weights=[0.5, 1, 2])
    assert weighted.nbytes > limit > plain.nbytes
    for count in (
        lambda: plain.update(*rows, weights=[0.5, 1, 2]),
        lambda: plain.update_one(0.5, 1, "a", weight=2),
        lambda: plain.merge(weighted),
        lambda: plain._core.merge_bytes(weighted.to_bytes()),
    ):
        with pytest.raises((MemoryError, ValueError), match="memory_limit"):
            count()
        assert plain.to_bytes() == before
    with pytest.raises(ValueError, match="memory_limit"):
        gf.Sketch.from_bytes(weighted.to_bytes(), memory_limit=limit)
    assert plain.update(*rows, repeats=[5, 5, 5]).n_rows == 18


def test_one_row_of_any_weight_has_one_value(backend):
    for weight in (0.5, 1.0, 300.0):
        sketch = gf.Sketch.from_rows([1e-9, 0.5, 0.5], [1, 1, 1], ["a"] * 3, weights=[weight, 20, 20], bins=16)
        assert sketch._core.fullest() == (0.0, 0, 0, 0)
    two = gf.Sketch.from_rows([1e-9, 2e-9, 0.5], [1, 1, 1], ["a"] * 3, weights=[0.5, 0.5, 1], bins=16, range=(0, 1))
    assert two._core.fullest()[0] == 0.5, "two rows of weight 0.5 are not one row"


@pytest.mark.filterwarnings("default::gstar_fast.errors.ResolutionWarning")
@pytest.mark.parametrize("table", [False, True])
def test_weights_that_rounding_would_change_are_told(backend, table):
    """Weights of many rows that add up to 1 are a few multiples of 2**-20 each."""
    rng = np.random.default_rng(0)
    n = 100_000
    weights = rng.exponential(size=n)
    rows = {"s": np.linspace(0, 1, n), "y": np.arange(n) % 2, "g": np.arange(n) % 3}

    def count(weights: np.ndarray) -> gf.Sketch:
        if not table:
            return gf.Sketch(bins=64, range=(0, 1)).update(*rows.values(), weights=weights)
        data = pa.table({**rows, "w": weights})
        return gf.Sketch(bins=64, range=(0, 1)).update_table(data, score="s", label="y", group="g", weight="w")

    words = r"rounding to multiples of 2\*\*-20 changes them by more than 1 % on average\. Multiply all of them"
    with pytest.warns(gf.errors.ResolutionWarning, match=words) as caught:
        count(weights / weights.sum())
    assert [one.filename for one in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = count(weights / weights.sum() * 2**20)
        count(np.where(np.arange(n) == 7, 1e-7, 1.0))  # a small one among others is nothing to speak of
    assert whole.n_rows == n
    assert whole.weight == pytest.approx(2**20, rel=1e-9)
