"""Scores that stand for no score are passed over, exactly as NaN is with nan="skip"."""

from __future__ import annotations

import math
import pickle
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gstar_fast as gf

NAN = math.nan
SENTINELS = [-999.0, 0.5, math.inf, -math.inf, -1.7976931348623157e308]


@given(
    scores=st.lists(st.sampled_from([0.25, 0.5, -999.0, NAN, math.inf, 0.0, -0.0]), max_size=30),
    missing=st.lists(st.sampled_from([-999.0, 0.5, math.inf, 0.0, NAN]), max_size=3),
    weights=st.none() | st.sampled_from([[0, 1, 2], [0.5, 0.0, 1.25]]),
)
def test_missing_scores_are_as_nan(backend, scores, missing, weights):
    """The same bytes as rows whose missing scores were NaN before."""
    labels = [i % 2 for i in range(len(scores))]
    groups = ["b" if x in missing else "a" for x in scores]
    w = None if weights is None else [weights[i % 3] for i in range(len(scores))]
    marked = [NAN if x in missing else x for x in scores]
    expected = gf.Sketch.from_rows(marked, labels, groups, weights=w, nan="skip")
    for dtype in (np.float64, np.float32):
        found = gf.Sketch(nan="skip", missing=missing).update(np.array(scores, dtype), labels, groups, weights=w)
        assert found.to_bytes() == expected.to_bytes()
    if w is None:
        one_by_one = gf.Sketch(nan="skip", missing=missing)
        for row in zip(scores, labels, groups, strict=True):
            one_by_one.update_one(*row)
        assert one_by_one.to_bytes() == expected.to_bytes()


@pytest.mark.parametrize("value", SENTINELS)
def test_every_door_passes_them_over(backend, value):
    scores, labels, groups = [0.25, value, 0.75], [0, 1, 1], ["a", "new", "a"]
    expected = gf.Sketch.from_rows([0.25, NAN, 0.75], labels, groups, nan="skip")
    frame = pl.DataFrame({"p": scores, "y": labels, "g": groups})
    window = gf.Window(panes=2, missing=value)
    for pane in (window, window.advance()):
        pane.update(scores[:2], labels[:2], groups[:2])
        pane.update_one(scores[2], labels[2], groups[2])
    ways = [
        gf.Sketch(missing=value).update(scores, labels, groups),
        gf.Sketch(missing=[value, 3.0]).update(np.array(scores), np.array(labels), groups),
        gf.Sketch().update(scores, labels, groups, missing=value),
        gf.Sketch.from_rows(scores, labels, groups, missing=(value,)),
        gf.Sketch().update_table(frame, score="p", label="y", group="g", missing=value),
        gf.Sketch(missing=value).update_table(frame, score="p", label="y", group="g"),
        gf.Sketch.from_bytes(gf.Sketch().to_bytes(), missing=value).update(scores, labels, groups),
        pickle.loads(pickle.dumps(gf.Sketch(missing=value))).update(scores, labels, groups),
        gf.Sketch(missing=value).copy().update(scores, labels, groups),
        gf.merge_all([gf.Sketch()], missing=value).update(scores, labels, groups),
    ]
    for sketch in ways:
        assert sketch == expected
        assert (sketch.skipped, sketch.groups) == (1, ("a",))
    for again in (window, pickle.loads(pickle.dumps(window)), gf.Window.from_bytes(window.to_bytes(), missing=value)):
        assert again.sketch == expected + expected
        assert again.update_one(value, 1, "b") is None
        assert again.sketch.skipped == 3


def test_an_option_of_update_takes_the_place_of_the_sketchs_own(backend):
    sketch = gf.Sketch(missing=-999, nan="skip")
    assert sketch.update([-999, -1, NAN], None, [0, 0, 0], missing=-1).skipped == 2
    assert sketch.update([-999], None, [0], missing=()).skipped == 2
    with pytest.raises(ValueError, match="NaN at row 1"):
        sketch.update([-999, NAN], None, [0, 0], nan="raise")
    assert (sketch.skipped, sketch.n_rows) == (2, 2)


def test_nan_among_them_means_to_skip_nan(backend):
    assert gf.Sketch(missing=[NAN, -1]).update([NAN, -1, 0], None, [0] * 3).skipped == 2
    assert gf.Sketch(missing=NAN) == gf.Sketch()
    sketch = gf.Sketch(missing=NAN)
    sketch.update_one(NAN, 1, "a")
    gf.Sketch(nan="skip").update_one(NAN, None, "a")
    assert (sketch.skipped, sketch.groups) == (1, ())


def test_float32_scores_are_compared_as_float64(backend):
    """0.1 is no float32: the score nearest to it is another number. -999 is the same in both."""
    scores = np.array([0.1, -999.0, 0.5], np.float32)
    assert gf.Sketch(missing=0.1).update(scores, None, [0] * 3).skipped == 0
    assert gf.Sketch(missing=float(np.float32(0.1))).update(scores, None, [0] * 3).skipped == 1
    assert gf.Sketch(missing=-999).update(scores, None, [0] * 3).skipped == 1
    sketch = gf.Sketch(missing=0.1)
    sketch.update_one(np.float32(0.1), 1, 0)
    assert (sketch.skipped, sketch.n_rows) == (0, 1)


def test_kinds_of_numbers(backend):
    for missing in (-999, np.int8(-99), np.float32(-0.5), Decimal("-3"), np.array([-1, -2]), {1.0, 2.0}, range(3)):
        values = [float(x) for x in (missing if hasattr(missing, "__len__") else [missing])]
        assert gf.Sketch(missing=missing).update(values, None, [0] * len(values)).skipped == len(values)
    for missing in (-999, np.array(-999)):
        assert gf.Sketch(missing=missing).update(np.array([-999, 1]), None, [0, 0]).skipped == 1
    assert gf.Sketch(missing=0).update([-0.0, 0.0], None, [0, 0]).skipped == 2


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ((-999, 7, "a"), "must be 0 or 1, got 7"),
        ((-999, 1, 1.5), "group names must be"),
        ((-999, 1, None), "missing value"),
        ((-999, 1, "c"), "'c'.* is not one of the given groups"),
        ((True, 1, "a"), "score must be a number|must be"),
        ((NAN, 1, "a"), "has NaN"),
    ],
)
def test_a_row_that_is_passed_over_is_checked(backend, row, error):
    """A bad row is refused as a whole, whatever its score; by row and in a batch."""
    sketch = gf.Sketch(missing=-999, groups=["a", "b"])
    with pytest.raises((ValueError, TypeError), match=error) as alone:
        sketch.update_one(*row)
    assert alone.value.row is None
    if row[0] is not True:
        with pytest.raises((ValueError, TypeError), match=error):
            sketch.update([0.5, row[0]], [1, row[1]], ["a", row[2]])
    assert (sketch.skipped, sketch.n_rows) == (0, 0)


def test_nothing_changes_for_the_caller(backend):
    scores = np.array([0.5, -999.0])
    scores.flags.writeable = False
    assert gf.Sketch(missing=-999).update(scores, [0, 1], [0, 0]).skipped == 1
    assert scores.tolist() == [0.5, -999.0]


@pytest.mark.parametrize("missing", ["-999", True, [None], [-999, "x"], 1j, object(), b"1"])
def test_what_is_no_number_is_refused(missing):
    with pytest.raises(TypeError, match="missing must be a number that stands for no score, or several, got"):
        gf.Sketch(missing=missing)
    with pytest.raises(TypeError, match="missing must be a number"):
        gf.Sketch().update([0.5], [1], [0], missing=missing)


def test_what_no_score_can_be_is_refused():
    with pytest.raises(ValueError, match="missing is too large: no score can be 1000000"):
        gf.Sketch(missing=10**400)
