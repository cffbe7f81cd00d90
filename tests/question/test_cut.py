"""Cut points of a group probability: how many the rows can carry, and which segment a row belongs to."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast._base import json as strict


def rows(n, positives_of_b):
    """Group b has few positives; all other cells have many."""
    label, group = np.arange(n) % 2, np.array(["a", "b"])[np.arange(n) // 2 % 2]
    label[np.flatnonzero((group == "b") & (label == 1))[positives_of_b:]] = 0
    return np.random.default_rng(0).random(n), label, group


@pytest.mark.parametrize(
    ("smallest", "monotone", "expected"),
    [(63, True, 1), (127, True, 1), (128, True, 2), (640, True, 10), (4000, True, 32), (4000, False, 16), (1, True, 1)],
)
def test_there_is_a_segment_for_each_64_rows_of_the_smallest_cell(smallest, monotone, expected):
    q, label, group = rows(20_000, smallest)
    cut = gf.Segments.from_scores(q, label, group, monotone=monotone)
    assert (cut.count, cut.monotone) == (expected, monotone)
    sizes = np.bincount(cut.cut(q), minlength=expected)
    assert len(sizes) == expected
    assert sizes.max() - sizes.min() <= 2


def test_a_cell_without_rows_does_not_count():
    q, label, group = rows(2000, 0)
    assert gf.Segments.from_scores(q, label, group).count == 500 // 64
    assert gf.Segments.from_scores(q, None, group).count == 1


def test_ties_are_never_cut():
    q, label, group = rows(4000, 1000)
    q = np.where(q < 0.7, 0.0, 0.25)
    cut = gf.Segments.from_scores(q, label, group)
    assert cut.cuts == (0.25,)
    assert np.array_equal(cut.cut(q), q > 0)
    assert gf.Segments.from_scores(np.ones(4000), label, group).count == 1


@given(
    st.lists(st.floats(-1e6, 1e6), unique=True, max_size=40).map(sorted),
    st.lists(st.floats(-1e6, 1e6), max_size=20),
    st.booleans(),
)
def test_a_segment_is_how_many_cut_points_a_number_reaches(cuts, numbers, monotone):
    cut = gf.Segments(tuple(cuts), monotone=monotone)
    assert cut.cut(numbers).tolist() == [sum(c <= x for c in cuts) for x in numbers]
    assert gf.Segments.from_json(cut.to_json()) == cut


def test_files_are_read_whole_or_refused(tmp_path):
    path = tmp_path / "segments.json"
    cut = gf.Segments((0.25, 0.5))
    cut.save(path)
    assert gf.Segments.load(path) == cut
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "cuts": [0.25, 0.75]}))
    with pytest.raises(ValueError, match=r"segments\.json': the checksum is"):
        gf.Segments.load(path)
    wrong = {
        "'format' is not": {"format": "gstar_fast.result"},
        "other members": {"more": 1},
        "another version": {"version": 2},
        "must be a list of numbers": {"cuts": ["a"]},
        "finite and ascending": {"cuts": [0.5, 0.25]},
        "monotone must be": {"monotone": 1},
    }
    for words, change in wrong.items():
        path.write_text(json.dumps(strict.sealed({**content, **change})))
        with pytest.raises((TypeError, ValueError), match=words):
            gf.Segments.load(path)


@pytest.mark.parametrize(
    ("cuts", "words"),
    [
        (0.5, "cuts must be a list of numbers, got 0.5"),
        (None, "Segments needs cuts, or column= with the name of a column"),
        ("0.5", "cuts must be a list of numbers, got '0.5'"),
        ([0.1, float("nan")], r"cuts must be finite and ascending; got \(0.1, nan\)"),
    ],
)
def test_what_are_no_cut_points_is_said(cuts, words):
    with pytest.raises((TypeError, ValueError), match=words):
        gf.Segments(cuts)


def test_numbers_to_cut_are_refused_in_their_own_words():
    cut = gf.Segments((0.5,))
    with pytest.raises(ValueError, match=r"^q must be one finite number .*, got NaN at row 1; drop such rows"):
        cut.cut([0.1, np.nan])
    with pytest.raises(ValueError, match=r"^q must be one finite number .*, got shape \(1, 2\); pass proba"):
        cut.cut([[0.1, 0.9]])
    with pytest.raises(TypeError, match=r"^q must be one finite number .* no numbers"):
        cut.cut(["a"])
    with pytest.raises(ValueError, match=r"^q must be one finite number .*, got no rows"):
        gf.Segments.from_scores([], [], [])


def test_what_is_no_number_is_refused():
    _, label, group = rows(200, 40)
    cut = gf.Segments((0.5,))
    for q in ([0.1, np.nan], [[0.1]], [np.inf]):
        with pytest.raises(ValueError, match="one finite number for each row"):
            cut.cut(q)
    with pytest.raises(ValueError, match="NaN"):
        gf.Segments.from_scores(np.where(np.arange(200) == 3, np.nan, 0.5), label, group)
    with pytest.raises(ValueError, match="one finite number"):
        gf.Segments.from_scores(np.where(np.arange(200) == 3, np.inf, 0.5), label, group)
    with pytest.raises(ValueError, match="differ in length"):
        gf.Segments.from_scores(np.full(100, 0.5), label, group)


def test_a_column_that_is_in_order_already_has_no_cut_points():
    ages = gf.Segments(column="age", monotone=False)
    assert (ages.cuts, ages.column, ages.monotone) == (None, "age", False)
    assert gf.Segments.from_json(ages.to_json()) == ages
    with pytest.raises(ValueError, match="the column 'age' holds them already"):
        ages.cut([0.5])
    with pytest.raises(ValueError, match="the column 'age' holds them already"):
        ages.count  # noqa: B018


def test_the_column_of_cut_points_can_be_named_later():
    cut = gf.Segments((0.5,), monotone=False)
    assert cut.column is None
    assert cut.of(1) == gf.Segments((0.5,), column=1, monotone=False)
    assert gf.Segments.from_json(cut.of("p").to_json()).column == "p"
    for column in (True, 0.5, ["p"]):
        with pytest.raises(TypeError, match="column must be the name of a group column"):
            cut.of(column)
