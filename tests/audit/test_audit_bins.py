"""Rows that a threshold accepts, read from bins of very different widths."""

import numpy as np
import pytest
from helpers.strategies import scattered
from hypothesis import given
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast._audit.counts import Taken

pytestmark = [
    pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning"),
    pytest.mark.filterwarnings("ignore::gstar_fast.errors.SentinelWarning"),
]


def counted(sketch, threshold):
    """Accepted rows of label 1, and what was noted."""
    counts = Taken.of(float(threshold), sketch).counts()
    return counts.accepted[1, 0], counts.notes


@given(rows=scattered, data=st.data())
def test_accepted_rows_are_exact_at_every_edge(backend, rows, data):
    sketch = gf.Sketch.from_rows(rows, [1] * len(rows), [0] * len(rows), bins=64)
    threshold = data.draw(st.sampled_from([-np.inf, *sketch.edges.tolist(), np.inf]))
    accepted, notes = counted(sketch, threshold)
    assert accepted == np.sum(np.array(rows) >= threshold)
    assert notes == ()


@given(rows=scattered, data=st.data(), share=st.floats(0.01, 0.99))
def test_rows_of_a_bin_are_accepted_in_proportion(backend, rows, data, share):
    sketch = gf.Sketch.from_rows(rows, [1] * len(rows), [0] * len(rows), bins=64)
    b = data.draw(st.integers(0, 63))
    lower, upper = sketch.edges[b : b + 2]
    threshold = lower + share * (upper - lower)
    above, below = (np.sum(np.array(rows) >= edge) for edge in (upper, lower))
    accepted, notes = counted(sketch, threshold)
    part = (upper - threshold) / (upper - lower)
    assert accepted == pytest.approx(above + part * (below - above))
    assert bool(notes) == (below > above and lower < threshold < upper)


def test_a_threshold_in_a_gap_is_exact(backend):
    """The gap between a sentinel and the scores is one bin; no row is in it."""
    rows = np.concatenate((np.full(20, -999.0), np.linspace(0.01, 0.99, 80)))
    sketch = gf.Sketch.from_rows(rows, np.ones(100, int), np.zeros(100, int))
    assert np.diff(sketch.edges).max() > 900
    assert counted(sketch, -500.0) == (80, ())
