"""The Numba backend's sketches have the reference's bytes, for rows of any sizes, in any batches, by any merges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from helpers.strategies import bins as some_bins
from helpers.strategies import scores as any_scores
from hypothesis import given, settings
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast._backends.numba import sketch as numba
from gstar_fast._backends.numpy import sketch as reference

LIMIT = 2**40


class Batch(NamedTuple):
    """Rows of one update, and how the compiled backend takes them."""

    scores: np.ndarray
    labels: np.ndarray
    groups: np.ndarray
    weights: np.ndarray | None
    how: str

    def into(self, core: reference.Core, how: str = "update") -> None:
        """Count the rows."""
        scores, labels, groups, weights, _ = self
        if how == "rows":
            for score, label, group in zip(scores.tolist(), labels.tolist(), groups.tolist(), strict=True):
                core.update_one(score, None if label == 2 else label, group)
        elif how == "try":
            assert core.try_update(scores, None if 2 in labels else labels, groups, True, 1)
        else:
            core.update(scores, labels, groups, None, weights, True, 2, True)


def neighbours() -> st.SearchStrategy[float]:
    """Powers of two of moderate size, and the numbers next to them."""
    power = st.integers(-40, 12).map(lambda e: 2.0**e)
    next_to = st.sampled_from([lambda x: x, lambda x: np.nextafter(x, 0.0), lambda x: np.nextafter(x, np.inf)])
    return st.builds(lambda x, near, sign: float(sign * near(x)), power, next_to, st.sampled_from([1.0, -1.0]))


def wild() -> st.SearchStrategy[float]:
    """Scores of every kind: sentinels and whole numbers too, and what lies on edges or beside them."""
    sentinels = st.sampled_from([-999.0, -1.0, 9999.0, 1e9, -1e30, 0.0, -0.0])
    return st.one_of(any_scores(), neighbours(), sentinels, st.integers(-5, 300).map(float))


@st.composite
def batches(draw: st.DrawFn, weighted: bool = False) -> list[Batch]:
    """A few rows of any kind, alone or among many of one scale."""
    found = []
    kind = draw(st.sampled_from([wild(), neighbours(), st.floats(-2, 2), st.floats(0, 1, width=32)]))
    for _ in range(draw(st.integers(1, 5))):
        few = np.array(draw(st.lists(kind, max_size=12)))
        rng = np.random.default_rng(draw(st.integers(0, 99)))
        middle, log_scale = draw(st.sampled_from([0.0, 0.0, 1.0, -3.0, 2.0**28])), draw(st.integers(-30, 30))
        many = np.ldexp(rng.normal(size=draw(st.sampled_from([0, 0, 0, 60, 1500]))) + middle, log_scale)
        scores = rng.permutation(np.concatenate((few, many)))
        with np.errstate(over="ignore"):
            scores = scores.astype(draw(st.sampled_from([np.float64, np.float32])))
        n = len(scores)
        how = draw(st.sampled_from(["update", "try", "rows" if n <= 12 else "update"]))
        labels = rng.integers(0, 2 if how == "try" else 3, n) if draw(st.booleans()) else np.full(n, 2)
        weights = rng.choice([0.0, 1.0, 2.0, 0.25, 1e-3], n) if weighted and how == "update" else None
        groups = rng.integers(0, draw(st.integers(1, 4)), n).astype(np.uint8)
        found.append(Batch(scores, labels.astype(np.uint8), groups, weights, how))
    return found


def windows() -> st.SearchStrategy[tuple[int, int] | None]:
    """Mostly no range; ranges near zero, far from it, and of subnormal numbers."""
    near = st.tuples(st.integers(-12, 3), st.integers(-40, 8))
    return st.one_of(
        st.none(), st.none(), near, st.sampled_from([(-20, 2**25), (-8, -(2**30)), (-1074, -9), (-1030, 0)])
    )


@pytest.mark.slow
@settings(max_examples=200)
@given(batches(), some_bins(), windows(), st.data())
def test_any_rows_in_any_batches(rows, bins, window, data):
    expected = reference.Core(bins, window, None, LIMIT)
    core = numba.Core(bins, window, None, LIMIT)
    for batch in rows:
        batch.into(expected)
        batch.into(core, batch.how)
        if data.draw(st.integers(0, 5)) == 0:  # reading settles what is pending
            assert core.to_bytes() == expected.to_bytes()
        assert np.array_equal(core.edges, expected.edges)
        assert (core.level, core.first) == (expected.level, expected.first)
    for label in range(3):
        assert np.array_equal(core.counts(label), expected.counts(label))
    for least in (1, 3):
        assert core.fullest(least) == expected.fullest(least)
    ours, theirs = core.pooled(), expected.pooled()
    assert np.array_equal(ours[0], theirs[0])
    assert ours[1:] == theirs[1:]
    assert core.to_bytes() == expected.to_bytes()


@pytest.mark.slow
@settings(max_examples=100)
@given(batches(weighted=True), some_bins(), windows(), st.data())
def test_any_rows_by_any_merges(rows, bins, window, data):
    """Weighted rows too, whose squares are known."""
    expected = reference.Core(bins, window, None, LIMIT)
    parts = []
    for batch in rows:
        batch.into(expected)
        parts.append(numba.Core(bins, window, None, LIMIT))
        batch.into(parts[-1], batch.how)
    while len(parts) > 1:
        other = parts.pop(data.draw(st.integers(0, len(parts) - 1)))
        parts[data.draw(st.integers(0, len(parts) - 1))].merge(other)
    assert parts[0].to_bytes() == expected.to_bytes()
    assert np.array_equal(parts[0].squared_weights(), expected.squared_weights())


@pytest.mark.parametrize("limits", [None, (-1.0, 1.0)])
def test_rows_join_those_of_bytes(limits):
    """Few of them, and more than are read at once; with and without a range."""
    old = (
        gf.Sketch(bins=64, range=limits).update([0.25, -0.5, 3.0, 1e-9], [0, 1, 1, 0], ["F", "M", "F", "F"]).to_bytes()
    )
    rng = np.random.default_rng(4)
    expected, core = reference.Core.from_bytes(old, LIMIT), numba.Core.from_bytes(old, LIMIT)
    for n in (3, 200, numba.CHUNK + 500):
        rows = rng.normal(size=n) * 3, rng.integers(0, 2, n), rng.integers(0, 2, n)
        for sketch in (expected, core):
            sketch.update(*rows, (*core.groups, "a", "b")[:2], None, False, 1)
        assert core.to_bytes() == expected.to_bytes()
