"""A window is the sketch of the rows that are left."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import tables

import gstar_fast as gf

pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.ResolutionWarning")


@given(pieces=st.lists(tables(max_rows=6), min_size=1, max_size=6), panes=st.integers(1, 4))
def test_a_window_equals_a_sketch_of_its_last_panes(backend, pieces, panes):
    pieces = [piece for piece in pieces if not any(isinstance(name, bool) for name in piece.groups)]
    window = gf.Window(panes=panes, bins=32)
    for i, piece in enumerate(pieces):
        if i:
            window.advance()
        piece.into(window)
        left = gf.Sketch(bins=32)
        for kept in pieces[max(0, i + 1 - panes) : i + 1]:
            kept.into(left)
        assert window.sketch == left
        assert len(window) == min(i + 1, panes)


def test_forgetting_a_wild_score_gives_the_resolution_back(backend):
    window = gf.Window(panes=2)
    usual = np.random.default_rng(0).normal(size=1000)
    window.update(np.append(usual, 1e9), None, [0] * 1001)
    window.advance().update(usual, None, [0] * 1000)
    assert window.sketch.resolution < 64
    window.advance()
    assert window.sketch.resolution > 1000


def test_rows_counted_after_a_look_are_seen(backend):
    window = gf.Window(panes=3)
    window.update_one(0.5, 1, "a")
    assert window.sketch.n_rows == 1
    window.update([0.25], [0], ["b"])
    assert window.sketch.n_rows == 2
    assert repr(window).startswith("Window(1 of 3 panes; Sketch(2 rows")


def test_options_go_to_every_pane(backend):
    window = gf.Window(panes=2, groups=["b", "a"], range=(0, 1), bins=16)
    window.advance()
    assert window.sketch.groups == ("b", "a")
    assert window.sketch.edges[-1] == 1.0
    with pytest.raises(ValueError, match="panes must be at least 1, got 0"):
        gf.Window(panes=0)
    with pytest.raises(TypeError, match="panes must be an int, got float"):
        gf.Window(panes=1.5)
    with pytest.raises(ValueError, match="bins must be a power of two"):
        gf.Window(bins=3)
