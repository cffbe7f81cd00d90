"""`missing_group`: rows without a group are an error, are skipped, or get a name."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gstar_fast as gf

NAN = math.nan
NONE = [None, NAN, np.float32("nan"), pd.NA, pd.NaT]
SCORES, LABELS = [0.125, 0.5, 0.25, 0.75], [0, 1, 1, 0]

# forms of the groups "a", missing, "b", missing
TEXTS = ["a", None, "b", None]
FORMS = {
    "list": TEXTS,
    "array of objects": np.array(["a", NAN, "b", None], object),
    "series": pd.Series(TEXTS),
    "categories": pd.Series(TEXTS, dtype="category"),
    "pandas strings": pd.Series(TEXTS, dtype="string"),
    "arrow strings of pandas": pd.Series(TEXTS, dtype="string[pyarrow]"),
    "arrow": pa.array(TEXTS),
    "dictionary": pa.array(TEXTS).dictionary_encode(),
    "null in a dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 1]), pa.array(["a", None, "b"])),
    "chunks": pa.chunked_array([["a", None], ["b", None]]),
    "polars": pl.Series(TEXTS),
    "polars categories": pl.Series(TEXTS, dtype=pl.Categorical),
    "masked": np.ma.MaskedArray(np.array(["a", "x", "b", "y"]), [False, True, False, True]),
    "masked objects": np.ma.MaskedArray(np.array(["a", 1.5, "b", []], object), [False, True, False, True]),
    "one column of a frame": pd.DataFrame({"g": TEXTS}),
}
# forms of the groups 7, missing, -1, missing
NUMBERS = {
    "list": [7, None, -1, pd.NA],
    "floats of pandas": pd.Series([7, None, -1, None]),
    "float32": np.array([7, NAN, -1, NAN], np.float32),
    "integers of pandas": pd.Series([7, None, -1, None], dtype="Int64"),
    "arrow": pa.array([7, None, -1, None]),
    "small integers of arrow": pa.array([7, None, -1, None], pa.int8()),
    "floats of arrow": pa.array([7.0, None, -1.0, NAN]),
    "polars": pl.Series([7, None, -1, None]),
    "masked": np.ma.MaskedArray([7, 0, -1, 2**62], [False, True, False, True]),
}
BOOLS = {
    "list": [True, None, False, NAN],
    "pandas": pd.Series([True, None, False, None], dtype="boolean"),
    "arrow": pa.array([True, None, False, None]),
    "masked": np.ma.MaskedArray([True, True, False, False], [False, True, False, True]),
}
CASES = [
    *(pytest.param(form, ["a", "b"], id=f"text: {what}") for what, form in FORMS.items()),
    *(pytest.param(form, [7, -1], id=f"numbers: {what}") for what, form in NUMBERS.items()),
    *(pytest.param(form, [True, False], id=f"bools: {what}") for what, form in BOOLS.items()),
]


def dropped(rows, groups, **options):
    """The sketch of rows that have a group, with the others counted as skipped."""
    sketch = gf.Sketch(**options)
    for score, label, group in zip(*rows, groups, strict=True):
        if group is None:
            sketch.update([NAN], None, ["a"], nan="skip")
        else:
            sketch.update([score], [label], [group])
    return sketch


@pytest.mark.parametrize(("form", "there"), CASES)
def test_every_form_of_a_missing_group_is_skipped_named_or_an_error(backend, form, there):
    first, second = there
    expected = dropped((SCORES, LABELS), [first, None, second, None])
    skipping = gf.Sketch(missing_group="skip").update(SCORES, LABELS, form)
    assert skipping.to_bytes() == expected.to_bytes()
    assert (skipping.skipped, skipping.n_rows) == (2, 2)
    named = gf.Sketch(missing_group="unknown").update(SCORES, LABELS, form)
    assert named.to_bytes() == gf.Sketch.from_rows(SCORES, LABELS, [first, "unknown", second, "unknown"]).to_bytes()
    sketch = gf.Sketch()
    with pytest.raises(TypeError, match=r"missing value at row 1|masked"):
        sketch.update(SCORES, LABELS, form)
    assert (sketch.n_rows, sketch.skipped) == (0, 0)


@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from([0.25, 0.5, -999.0, NAN, math.inf, 3.0]),
            st.sampled_from([0, 1, None]),
            st.sampled_from(["a", "b", "", 7, True, ("a", 1), *NONE, ("a", None), (NAN, 1)]),
            st.sampled_from([0, 1, 2, 0.5]),
        ),
        max_size=20,
    ),
    weighted=st.booleans(),
    given_groups=st.booleans(),
    name=st.sampled_from(["unknown", "a", -1, ("none", 0), ""]),
)
def test_skipping_is_dropping_and_naming_is_filling(backend, rows, weighted, given_groups, name):
    """The same bytes, also one row at a time."""
    options = {"nan": "skip", "missing": -999}
    if given_groups:
        options["groups"] = ["b", "a", "", 7, True, ("a", 1), "unknown", -1, ("none", 0)]

    def lacks(group):
        return any(map(pd.isna, group)) if isinstance(group, tuple) else pd.isna(group)

    def counted(rows, **more):
        scores, labels, groups, weights = ([row[i] for row in rows] for i in range(4))
        return gf.Sketch(**options, **more).update(scores, labels, groups, weights=weights if weighted else None)

    without = [(NAN, label, "a", weight) if lacks(group) else row for row in rows for _, label, group, weight in [row]]
    assert counted(rows, missing_group="skip").to_bytes() == counted(without).to_bytes()
    there = counted([row for row in rows if not lacks(row[2])])
    assert counted(rows, missing_group="skip").n_rows == there.n_rows
    filled = [(score, label, name if lacks(group) else group, w) for score, label, group, w in rows]
    assert counted(rows, missing_group=name).to_bytes() == counted(filled).to_bytes()
    if not weighted:
        for policy, same in (("skip", without), (name, filled)):
            one_by_one = gf.Sketch(**options, missing_group=policy)
            for score, label, group, _ in rows:
                one_by_one.update_one(score, label, group)
            assert one_by_one.to_bytes() == counted(same).to_bytes()


@pytest.mark.parametrize(("policy", "groups"), [("skip", ["a", None, "b"]), ("unknown", ["a", "unknown", "b"])])
def test_every_route_takes_it(backend, policy, groups):
    scores, labels, given_groups = [0.25, 0.5, 0.75], [0, 1, 1], ["a", None, "b"]
    expected = dropped((scores, labels), groups)
    frame = pl.DataFrame({"p": scores, "y": labels, "g": given_groups})
    columns = {"score": "p", "label": "y", "group": "g"}
    window = gf.Window(panes=2, missing_group=policy)
    for pane in (window, window.advance()):
        pane.update(scores[:2], labels[:2], given_groups[:2])
        pane.update_one(scores[2], labels[2], given_groups[2])
    ways = [
        gf.Sketch(missing_group=policy).update(scores, labels, given_groups),
        gf.Sketch().update(scores, labels, given_groups, missing_group=policy),
        gf.Sketch.from_rows(scores, labels, given_groups, missing_group=policy),
        gf.Sketch(missing_group=policy).update_table(frame, **columns),
        gf.Sketch().update_table(frame, **columns, missing_group=policy),
        gf.Sketch.from_bytes(gf.Sketch().to_bytes(), missing_group=policy).update(scores, labels, given_groups),
        pickle.loads(pickle.dumps(gf.Sketch(missing_group=policy))).update(scores, labels, given_groups),
        gf.Sketch(missing_group=policy).copy().update(scores, labels, given_groups),
        gf.merge_all([gf.Sketch()], missing_group=policy).update(scores, labels, given_groups),
    ]
    for sketch in ways:
        assert sketch == expected
    pickled = pickle.loads(pickle.dumps(window))
    for again in (window, pickled, gf.Window.from_bytes(window.to_bytes(), missing_group=policy)):
        assert again.sketch == expected + expected
        again.update_one(0.5, 1, None)
        assert (again.sketch.skipped, again.sketch.n_rows) == ((3, 4) if policy == "skip" else (0, 7))


def test_saved_sketches_and_windows_take_it_when_they_are_loaded(backend, tmp_path):
    gf.Sketch().save(tmp_path / "s.gstar")
    gf.Window(panes=2).save(tmp_path / "w.gwindow")
    assert gf.Sketch.load(tmp_path / "s.gstar", missing_group="skip").update([0.5], [1], [None]).skipped == 1
    window = gf.Window.load(tmp_path / "w.gwindow", missing_group="?").update([0.5], [1], [None])
    assert window.sketch.groups == ("?",)


@pytest.mark.parametrize("form", ["frame", "columns", "array", "table", "tuples"])
def test_a_missing_part_makes_the_whole_group_missing(backend, form):
    sexes, ages = ["F", None, "M", "F"], [1, 2, None, 3]
    frame = pd.DataFrame({"sex": sexes, "age": pd.array(ages, "Int64")})
    groups = {
        "frame": frame,
        "columns": [np.array(sexes, object), np.array(ages, object)],
        "array": np.array([sexes, ages], object).T,
        "tuples": list(zip(sexes, ages, strict=True)),
    }

    def counted(policy):
        if form != "table":
            return gf.Sketch(missing_group=policy).update(SCORES, LABELS, groups[form])
        table = pa.table({"p": SCORES, "y": LABELS, "sex": sexes, "age": ages})
        return gf.Sketch(missing_group=policy).update_table(table, score="p", label="y", group=["sex", "age"])

    pairs = [("F", 1), None, None, ("F", 3)]
    assert counted("skip") == dropped((SCORES, LABELS), pairs)
    assert counted("?") == gf.Sketch.from_rows(SCORES, LABELS, [pair or "?" for pair in pairs])
    assert counted(("?", 0)) == gf.Sketch.from_rows(SCORES, LABELS, [pair or ("?", 0) for pair in pairs])


def test_an_option_of_update_overrides_the_sketch(backend):
    sketch = gf.Sketch(missing_group="skip")
    assert sketch.update([0.5], [1], [None], missing_group="?").groups == ("?",)
    with pytest.raises(TypeError, match="missing value at row 0"):
        sketch.update([0.5], [1], [None], missing_group="raise")
    assert sketch.update([0.5], [1], [None]).skipped == 1


def test_a_row_that_is_skipped_for_its_group_is_checked_but_for_its_score(backend):
    sketch = gf.Sketch(missing_group="skip", groups=["a", "b"])
    for row, error in (((0.5, 7, None), "must be 0 or 1, got 7"), ((True, 1, None), "score must be|must be")):
        with pytest.raises((ValueError, TypeError), match=error):
            sketch.update_one(*row)
    with pytest.raises(ValueError, match="must be 0 or 1, got 7 at row 1"):
        sketch.update([0.5, 0.5], [1, 7], ["a", None])
    with pytest.raises(ValueError, match="'c' at row 1 is not one of the given groups"):
        sketch.update([0.5, 0.5], [1, 1], [None, "c"])
    with pytest.raises(ValueError, match="NaN at row 1"):
        sketch.update([NAN, NAN], [1, 1], [None, "a"])
    assert (sketch.n_rows, sketch.skipped) == (0, 0)
    assert sketch.update([NAN, 1e308, 0.5], [1, 0, 1], [None, None, "a"]).skipped == 2
    sketch.update_one(NAN, 1, None)
    assert (sketch.n_rows, sketch.skipped) == (1, 3)


def test_skipped_rows_move_no_window_and_bring_no_group(backend):
    rows = ([0.25, 1e9, -1e-9, 0.5], [0, 1, 1, 0])
    sketch = gf.Sketch(missing_group="skip", bins=16).update(*rows, ["a", None, None, "a"])
    assert sketch.to_bytes() == dropped(rows, ["a", None, None, "a"], bins=16).to_bytes()
    assert gf.Sketch(missing_group="skip").update([0.5] * 3, None, [None] * 3).groups == ()
    assert "3 without a score or a group skipped" in repr(sketch.update([1.0], [1], [None]))


def test_whole_numbers_in_floats_are_integers_and_others_are_not_groups(backend):
    """pandas makes floats of integers where some are missing; a piece without missing ones is read alike."""
    sketch = gf.Sketch(missing_group="skip").update([0.5, 0.5], None, np.array([7.0, 8.0]))
    assert sketch.groups == (7, 8)
    for bad in (1.5, math.inf, 2.0**60):
        with pytest.raises(TypeError, match=r"group names must be int.*got float at row 1"):
            sketch.update([0.5] * 3, None, np.array([NAN, bad, 1.0]))
    with pytest.raises(TypeError, match="column 'h' of groups: group names must be int"):
        sketch.update([0.5], None, pd.DataFrame({"g": ["a"], "h": [1.5]}))


def test_a_name_that_may_not_be_is_an_error(backend):
    sketch = gf.Sketch(missing_group="c", groups=["a"])
    with pytest.raises(ValueError, match=r"'c'.* is not one of the given groups"):
        sketch.update([0.5], [1], [None])
    for wrong in (1.5, ["a"], b"a", ("a", None), NAN, (), 2**63, "\ud800"):
        with pytest.raises((TypeError, ValueError), match='missing_group must be "raise", "skip" or the name'):
            gf.Sketch(missing_group=wrong)
        with pytest.raises((TypeError, ValueError), match="missing_group must be"):
            gf.Sketch().update([0.5], [1], ["a"], missing_group=wrong)


def test_nothing_changes_for_the_caller(backend):
    groups = np.array(["a", None], object)
    scores = np.array([0.5, 0.25])
    for array in (groups, scores):
        array.flags.writeable = False
    assert gf.Sketch(missing_group="skip").update(scores, [0, 1], groups).skipped == 1
    assert (scores.tolist(), groups.tolist()) == ([0.5, 0.25], ["a", None])
