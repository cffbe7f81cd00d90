"""The grid: every score in its bin, edges that only join as scores spread, and no level higher than it must be."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from helpers import plain_sketch
from helpers.strategies import finite_scores, sentinels
from hypothesis import given, settings
from hypothesis import strategies as st

from gstar_fast._base.grid import (
    LARGEST_BIN,
    Extent,
    Grid,
    round24,
    shape,
    whole_scores,
    window_of,
    window_of_range,
)

BINS = st.sampled_from([16, 32, 64, 256, 4096, 65_536])
SCORES = st.one_of(finite_scores(), st.floats(-8, 8), sentinels()).map(lambda x: x + 0.0)
SOME = st.lists(SCORES, min_size=1, max_size=8)


def extent_of(scores: list[float]) -> Extent:
    return Extent.of(np.array(scores, np.float64))


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    """Grids of every level, with bins enough for every shape."""
    if draw(st.booleans()):
        return Grid(draw(st.integers(-1074, 1000)))
    most, octaves = shape(draw(BINS))
    return Grid(draw(st.integers(-1074 + octaves, 1000)), draw(st.sampled_from([most, max(most - 1, 0)])), octaves)


def within(grid: Grid, scores: list[float]) -> list[float]:
    """Scores whose bins have numbers that a float64 holds."""
    return [x for x in scores if abs(x) / 2.0 ** min(grid.level, 1000) < LARGEST_BIN - 2**17]


# ----------------------------------------------------------------------------------------------------------------- bins


@given(grid=grids(), scores=st.lists(SCORES, max_size=20))
def test_numbers_are_those_of_the_page_rise_with_scores_and_arrays_agree_with_scalars(grid, scores):
    scores = sorted(within(grid, scores))
    plain = plain_sketch.Grid(grid.level, grid.per, grid.octaves)
    numbers = [grid.number(x) for x in scores]
    assert numbers == [plain.number(x) for x in scores] == sorted(numbers)
    assert grid.numbers(np.array(scores, np.float64)).tolist() == numbers


@given(grid=grids(), ks=st.lists(st.integers(-(2**40), 2**40) | st.integers(-5000, 5000), min_size=1, max_size=20))
def test_edges_are_those_of_the_page_rise_with_numbers_and_start_their_bins(grid, ks):
    ks = sorted(set(ks))
    plain = plain_sketch.Grid(grid.level, grid.per, grid.octaves)
    exact = [j * Fraction(2) ** exponent for j, exponent in map(grid.edge, ks)]
    assert exact == [plain.lower(k) for k in ks]
    assert all(a < b for a, b in pairwise(exact))
    held = [(k, e) for k, e in zip(ks, exact, strict=True) if abs(e) <= 2**1000]
    assert grid.edges(np.array([k for k, _ in held], np.int64)).tolist() == [float(e) for _, e in held]
    assert [grid.number(float(e)) for _, e in held] == [k for k, _ in held]


@given(grid=grids(), scores=st.lists(SCORES, max_size=20))
def test_a_bin_has_the_width_that_its_octave_has_and_sums_are_whole_in_its_unit(grid, scores):
    for x in within(grid, scores):
        k = grid.number(x)
        lower, upper = (j * Fraction(2) ** e for j, e in (grid.edge(k), grid.edge(k + 1)))
        assert lower <= Fraction(x) < upper
        if k in (0, -1):
            assert upper - lower == Fraction(2) ** grid.least
            continue
        e = math.frexp(float(min(abs(lower), abs(upper))))[1] - 1
        assert Fraction(2) ** e <= abs(Fraction(x)) <= Fraction(2) ** (e + 1), "one octave"
        width = grid.width_at(e)
        assert upper - lower == Fraction(2) ** width
        assert grid.unit(k) == min(width, e - 23)
        offset = (plain_sketch.round24(x) - lower) / Fraction(2) ** grid.unit(k)
        assert offset.denominator == 1


@given(grid=grids(), up=st.integers(0, 60), fewer=st.booleans(), scores=st.lists(SCORES, max_size=10))
def test_a_coarser_grid_joins_whole_bins(grid, up, fewer, scores):
    per = None if grid.per is None else max(grid.per - fewer, 0)
    coarser = Grid(grid.level + up, per, grid.octaves)
    for x in within(grid, scores):
        for k in (coarser.number(x), coarser.number(x) + 1):
            j, e = coarser.edge(k)
            edge = j * Fraction(2) ** e
            if abs(edge) <= 2**1000:
                fine, exponent = grid.edge(grid.number(float(edge)))
                assert fine * Fraction(2) ** exponent == edge


# -------------------------------------------------------------------------------------------------------------- windows


@given(scores=SOME, bins=BINS)
def test_a_window_is_that_of_the_page_and_holds_its_scores(scores, bins):
    window = window_of(extent_of(scores), bins)
    grid, numbers = plain_sketch.nested(scores, bins)
    assert (window.grid.level, window.grid.per, window.grid.octaves) == grid
    assert [None if at in window.gaps else k for at, k in enumerate(window.numbers[:-1].tolist())] == numbers
    edges = window.edges
    assert edges.shape == (bins + 1,)
    assert np.isfinite(edges).all()
    assert (np.diff(edges) > 0).all()
    at = [window.index(window.grid.number(x)) for x in scores]
    assert window.indices(window.grid.numbers(np.array(scores))).tolist() == at
    assert np.array_equal(at, np.searchsorted(edges, scores, side="right") - 1)
    assert not set(at) & set(window.gaps)


@given(scores=SOME, more=SOME, bins=BINS)
def test_windows_nest_as_scores_spread(scores, more, bins):
    """However the extent grows: the level never falls, bins an octave never rise, and bins only join."""
    small, large = (window_of(extent_of(xs), bins) for xs in (scores, scores + more))
    assert large.grid.level >= small.grid.level
    assert large.grid.per <= small.grid.per
    edges = large.edges[(large.edges > min(scores)) & (large.edges <= max(scores))]
    assert np.array_equal(small.grid.edges(small.grid.numbers(edges)), edges)


@given(a=st.lists(SCORES, max_size=6), b=st.lists(SCORES, max_size=6))
def test_the_extent_of_rows_is_that_of_their_parts(a, b):
    assert extent_of(a) | extent_of(b) == extent_of(b) | extent_of(a) == extent_of(a + b)
    assert extent_of(a + b).empty == (not a + b)
    ends = extent_of(a + b).ends
    assert set(ends) <= set(a + b)
    if a + b:
        assert (min(ends), max(ends)) == (min(a + b), max(a + b))


@pytest.mark.parametrize("bins", [16, 64, 4096, 65_536])
@pytest.mark.parametrize(
    ("scores", "finest"),
    [
        ([0.0], -1074),
        ([5e-324], -1074),
        ([-5e-324], -1074),
        ([-5e-324, 0.0, 5e-324], -1074),
    ],
)
def test_the_smallest_scores_get_the_smallest_bins(bins, scores, finest):
    window = window_of(extent_of(scores), bins)
    assert window.grid.least == finest
    assert np.diff(window.edges).min() == 5e-324


@pytest.mark.parametrize("bins", [16, 4096, 65_536])
def test_the_largest_scores_have_finite_edges(bins):
    for scores in ([2.0**1000], [-(2.0**1000)], [-(2.0**1000), 2.0**1000], [-(2.0**1000), 5e-324]):
        assert np.isfinite(window_of(extent_of(scores), bins).edges).all()


@pytest.mark.parametrize("far", [-999.0, 1e6, -1e9, 1e12, -1e12])
def test_one_far_score_leaves_probabilities_their_bins(far):
    """What a linear grid did not: it gave 4096 bins to the way from the far score."""
    scores = np.random.default_rng(0).random(1000)
    window = window_of(Extent.of(np.append(scores, far)), 4096)
    assert len(np.unique(window.grid.numbers(scores))) > 250


@given(lo=st.floats(-1e6, 1e6), size=st.floats(1e-6, 1e6), bins=BINS)
def test_a_range_is_covered_by_the_finest_equal_bins(lo, size, bins):
    hi = lo + size
    if not lo < hi:
        return
    level, first = window_of_range(lo, hi, bins)
    unit = Fraction(2) ** level
    assert first == math.floor(Fraction(lo) / unit)
    assert (first + bins) * unit >= Fraction(hi)
    half = unit / 2
    finer = math.ceil(Fraction(hi) / half) - math.floor(Fraction(lo) / half) > bins
    assert finer or max(abs(Fraction(lo)), abs(Fraction(hi))) / half + bins > 2**53 - 2


# ------------------------------------------------------------------------------------------------------------- rounding


@settings(max_examples=200)
@given(xs=st.lists(SCORES, max_size=20))
def test_rounding_is_that_of_the_page_and_sums_are_whole(xs):
    rounded = round24(np.array(xs, np.float64))
    assert [Fraction(x) for x in rounded.tolist()] == [plain_sketch.round24(x) for x in xs]
    whole = [Fraction(int(number)) * Fraction(2) ** -1097 for number in whole_scores(rounded)]
    assert whole == [Fraction(x) for x in rounded.tolist()]


def test_a_range_keeps_every_edge_below_two_to_the_53():
    """One bin more would need numbers that float64 does not have, so the next level is taken."""
    assert window_of_range(2.0**53 - 32, 2.0**53 - 16, 16)[0] == 0
    assert window_of_range(2.0**53 - 31, 2.0**53 - 15, 16)[0] == 1
