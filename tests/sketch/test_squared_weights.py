"""What a sketch knows besides counts and means: squared weights, the fullest bin, and when it tells a watcher."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from helpers.strategies import Table, tables
from hypothesis import given
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast import _backends

pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")

WEIGHTS = st.one_of(
    st.sampled_from([0.0, 1.0, 2.0, 3.0, 0.5, 1.5, 1e-9, 2.0**-20, 2.0**-21, 1.0 + 2.0**-21, 1e6]), st.floats(0, 1000)
)


def squared(table: Table, weights: list[float], name: object, label: int) -> Fraction:
    """The sum of a cell's squared weights."""
    rounded = [Fraction(round(Fraction(w) * 2**20), 2**20) for w in weights]
    mine = [y == label and g == name for y, g in zip(table.labels.tolist(), table.groups, strict=True)]
    return sum((w * w for w, own in zip(rounded, mine, strict=True) if own), Fraction(0))


@given(table=tables(max_rows=20), data=st.data(), limits=st.sampled_from([None, (-0.5, 0.5)]))
def test_squared_weights_are_those_of_the_rows_in_any_batching(backend, table, data, limits):
    n = len(table.scores)
    weights = data.draw(st.lists(WEIGHTS, min_size=n, max_size=n))
    whole = table.into(gf.Sketch(bins=16, range=limits), weights=weights)
    found = whole._core.squared_weights()
    assert found.shape == (3, len(whole.groups))
    for label in range(3):
        for i, name in enumerate(whole.groups):
            assert found[label, i] == float(squared(table, weights, name, label))
    cut = data.draw(st.integers(0, n))
    parts = [
        table.take(np.arange(n)[part]).into(gf.Sketch(bins=16, range=limits), weights=weights[part])
        for part in (slice(0, cut), slice(cut, n))
    ]
    assert parts[1] + parts[0] == whole
    back = gf.Sketch.from_bytes(whole.to_bytes())
    assert np.array_equal(back._core.squared_weights(), found)


@given(table=tables())
def test_without_weights_they_are_the_rows(backend, table):
    core = table.into(gf.Sketch(bins=16))._core
    rows = np.stack([core.counts(label).sum(axis=1) for label in range(3)]) + core.below() + core.above()
    found = core.squared_weights()
    assert found.dtype == np.float64
    assert np.array_equal(found, rows)


def test_rows_counted_before_a_sketch_was_weighted_have_weight_1(backend):
    sketch = gf.Sketch(bins=16).update([0.5, 0.5, np.inf], [1, 1, 1], ["a"] * 3)
    sketch.update([0.5, 0.25], [1, 0], ["a", "a"], weights=[0.5, 3])
    assert sketch._core.squared_weights().tolist() == [[9.0], [3.25], [0.0]]
    merged = gf.Sketch(bins=16).update([0.5], [1], ["a"]) + sketch
    assert merged._core.squared_weights().tolist() == [[9.0], [4.25], [0.0]]


def test_groups_under_one_name_add_theirs(backend):
    sketch = gf.Sketch(bins=16).update([0.5, 0.5], [1, 1], ["a", "b"], weights=[0.5, 0.25])
    assert sketch._core.relabelled(("c", "c")).squared_weights().tolist() == [[0.0], [0.3125], [0.0]]


# -------------------------------------------------------------------------------------------------------------- fullest


@given(table=tables(), limits=st.sampled_from([None, (-0.5, 0.5)]))
def test_the_fullest_bin_is_never_one_of_a_single_value_unless_it_touches_zero(backend, table, limits):
    """There the sum of a score that is not zero does not tell how many values it is of."""
    sketch = table.into(gf.Sketch(bins=16, range=limits))
    share, label, group, at = sketch._core.fullest()
    with gf.use_backend("numpy"):
        assert table.into(gf.Sketch(bins=16, range=limits))._core.fullest() == (share, label, group, at)
    edges = sketch.edges
    for y in range(3):
        for i, name in enumerate(sketch.groups):
            mine = [g == name and own == y for g, own in zip(table.groups, table.labels.tolist(), strict=True)]
            x = table.scores[np.array(mine, bool)]
            inside = x[(x >= edges[0]) & (x < edges[-1])]
            bins = np.searchsorted(edges, inside, side="right") - 1
            for b in np.unique(bins):
                values = inside[bins == b]
                if (y, i, b) == (label, group, at) and share:
                    assert len(set(values.tolist())) > 1 or (len(values) > 1 and 0.0 in edges[b : b + 2])
                    assert share == len(values) / len(x)


def test_one_value_is_never_too_much_for_its_bin(backend):
    sketch = gf.Sketch.from_rows([0.5] * 10 + [0.0] * 5, [1] * 15, ["a"] * 15)
    assert sketch._core.fullest() == (0.0, 0, 0, 0)
    assert gf.Sketch()._core.fullest() == (0.0, 0, 0, 0)


def test_the_fullest_bin_is_found_and_ties_go_to_the_first(backend):
    sketch = gf.Sketch(bins=16, range=(0, 16)).update(
        [3.25, 3.5, 3.5, 9.0, 20.0, 1.25, 1.75, 1.75, -1.0, 9.0], [1] * 5 + [1] * 5, ["b"] * 5 + ["a"] * 5
    )
    assert sketch._core.fullest() == (0.6, 1, 0, 1)
    sketch.update([5.25, 5.5, 5.75, 6.0, 7.0], [None] * 5, ["a"] * 5)
    assert sketch._core.fullest() == (0.6, 1, 0, 1)


# ----------------------------------------------------------------------------------------------------- window and watch


@given(table=tables(), n_bins=st.sampled_from([16, 64]), limits=st.sampled_from([None, (-0.5, 0.5)]))
def test_pooled_rows_belong_to_the_edges(backend, table, n_bins, limits):
    core = table.into(gf.Sketch(bins=n_bins, range=limits))._core
    rows, smallest, largest, first, last = core.pooled()
    edges = core.edges
    inside = table.scores[(table.scores >= edges[0]) & (table.scores < edges[-1])]
    assert np.array_equal(rows, np.bincount(np.searchsorted(edges, inside, side="right") - 1, minlength=n_bins))
    if len(inside):
        assert (smallest, largest) == (inside.min(), inside.max())
        assert edges[first] <= smallest < edges[first + 1]
        assert edges[last] <= largest < edges[last + 1]
    else:
        assert (smallest, largest, first, last) == (np.inf, -np.inf, 0, 0)
    for name in core.groups:
        assert np.array_equal(core.cell(0, name).edges, edges)


def test_a_watcher_hears_of_new_levels_of_fewer_bins_an_octave_and_of_twice_the_rows(backend):
    heard: list[int] = []
    core = _backends.room("sketch").Core(1024, None, None, 2**30, lambda: heard.append(1))
    count = lambda x, n=1: core.update(np.full(n, x), None, np.zeros(n, np.int64), None, None, False, 1)  # noqa: E731
    count(1.0, 4)
    count(1.0)
    assert len(heard) == 1
    count(1.0, 3)
    assert len(heard) == 2, "twice the rows"
    level = core.level
    count(1e9)
    assert core.level > level
    assert len(heard) == 3, "a higher level"
    level = core.level
    count(-(2.0**20))
    assert core.level >= level
    assert len(heard) == 4, "the sides overlap, so that an octave has fewer bins"
