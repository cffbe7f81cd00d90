"""Columns of NumPy and pandas come in without a step per row."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.small_rows import GROUPS, LABELS, SCORES

import gstar_fast as gf

# --------------------------------------------------------------------------------------------------------------- numpy


@pytest.mark.parametrize("dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", ">i4", ">i8", "O"])
def test_labels_of_any_dtype(backend, expected, dtype):
    assert gf.Sketch.from_rows(SCORES, np.array(LABELS).astype(dtype), GROUPS) == expected


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i2", ">u8"])
def test_groups_of_any_integer_dtype(backend, dtype):
    numbers = np.array([3, 100, 3, 7]).astype(dtype)
    sketch = gf.Sketch.from_rows(SCORES, LABELS, numbers)
    assert sketch.groups == (3, 7, 100)
    assert sketch == gf.Sketch.from_rows(SCORES, LABELS, [3, 100, 3, 7])


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8"])
def test_the_smallest_and_largest_integers_are_groups(backend, dtype):
    ends = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, -1, 0], dtype)
    assert gf.Sketch.from_rows(SCORES, LABELS, ends).groups == tuple(sorted(ends.tolist()))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4", ">f8", "g", "i4", "u1", "O"])
def test_scores_of_any_real_dtype(backend, dtype):
    values = np.array([1, 2, 0, 3]).astype(dtype)
    assert gf.Sketch.from_rows(values, LABELS, GROUPS) == gf.Sketch.from_rows([1.0, 2.0, 0.0, 3.0], LABELS, GROUPS)


@pytest.mark.parametrize("n", [4, 50_000])
def test_any_layout_is_read(backend, n):
    if backend == "numpy":
        n = min(n, 2000)
    rng = np.random.default_rng(3)
    x, y, g = rng.normal(size=n), rng.integers(0, 2, n), rng.integers(0, 4, n)
    expected = gf.Sketch.from_rows(x, y, g)
    wide = np.zeros((n, 3))
    wide[:, 1] = x
    assert gf.Sketch.from_rows(wide[:, 1], y, g) == expected
    assert gf.Sketch.from_rows(x[::-1].copy()[::-1], y[::-1].copy()[::-1], g[::-1].copy()[::-1]) == expected
    packed = np.zeros(n, dtype=[("pad", "u1"), ("x", "f8"), ("y", "i2"), ("g", "i4")])
    packed["x"], packed["y"], packed["g"] = x, y, g
    assert gf.Sketch.from_rows(packed["x"], packed["y"], packed["g"]) == expected, "unaligned"
    for array in (x, y, g):
        array.flags.writeable = False
    assert gf.Sketch.from_rows(x, y, g) == expected
    same = gf.Sketch.from_rows(np.broadcast_to(0.5, n), np.broadcast_to(1, n), np.broadcast_to(0, n))
    assert same.counts[1, 0].sum() == n


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda v: np.array(v, object)])
def test_groups_as_strings(backend, expected, kind):
    assert gf.Sketch.from_rows(SCORES, LABELS, kind(GROUPS)) == expected


def test_groups_as_bools_and_tuples(backend):
    flags = [True, False, True, False]
    assert gf.Sketch.from_rows(SCORES, LABELS, flags) == gf.Sketch.from_rows(SCORES, LABELS, np.array(flags))
    pairs = [("F", 1), ("M", 2), ("F", 1), ("M", True)]
    with pytest.raises(ValueError, match=r"."):
        gf.Sketch.from_rows(SCORES, LABELS, [("F", 1), ("F", True), ("F", 1), ("F", True)])
    assert gf.Sketch.from_rows(SCORES, LABELS, pairs).groups == (("F", 1), ("M", True), ("M", 2))


def test_names_are_plain_python_values(backend):
    sketch = gf.Sketch()
    sketch.update_one(0.5, 1, np.int64(3))
    sketch.update_one(np.float32(0.5), np.uint8(1), np.str_("a"))
    sketch.update_one(np.float64(0.5), np.bool_(True), (np.int8(1), "x"))
    sketch.update(np.array([0.5]), [1], np.array(["é"]))
    assert sketch.groups == (3, "a", "é", (1, "x"))
    assert [type(name) for name in sketch.groups[:3]] == [int, str, str]
    assert type(sketch.groups[3][0]) is int


def test_masked_arrays_and_none_mark_unlabelled_rows(backend):
    by_list = gf.Sketch.from_rows(SCORES, [0, None, 1, None], GROUPS)
    masked = np.ma.array(LABELS, mask=[False, True, False, True])
    assert gf.Sketch.from_rows(SCORES, masked, GROUPS) == by_list
    assert by_list.unlabelled.sum() == 2
    assert gf.Sketch.from_rows(SCORES, None, GROUPS) == gf.Sketch.from_rows(SCORES, [None] * 4, GROUPS)
    scores = np.ma.array(SCORES, mask=[False, True, False, False])
    assert gf.Sketch.from_rows(scores, LABELS, GROUPS, nan="skip").skipped == 1


def test_masks_count_beside_plain_arrays_too(backend):
    """The quickest way in takes plain arrays only; a mask must not slip through it."""
    scores, labels, codes = np.array([0.5, 1.5, 2.5, 3.5]), np.array([0, 1, 1, 0]), np.array([0, 1, 0, 1])
    hidden = [False, True, False, True]
    expected = gf.Sketch.from_rows(scores.tolist(), [0, None, 1, None], codes.tolist())
    for dtype in (np.uint8, np.int64, bool):
        masked = np.ma.array(labels.astype(dtype), mask=hidden)
        assert gf.Sketch.from_rows(scores, masked, codes) == expected
        assert gf.audit(decisions=scores > 1, labels=masked, groups=codes).overall["rows"].value == 4
    assert gf.Sketch.from_rows(np.ma.array(scores, mask=hidden), labels, codes, nan="skip").skipped == 2
    with pytest.raises(ValueError, match="NaN"):
        gf.Sketch.from_rows(np.ma.array(scores, mask=hidden), labels, codes)
    with pytest.raises(TypeError, match=r"null|missing|masked"):
        gf.Sketch.from_rows(scores, labels, np.ma.array(codes, mask=hidden))


def test_many_groups_of_strings_and_integers(backend):
    n = 3000
    numbers = np.random.default_rng(0).integers(-(10**12), 10**12, 300)[np.arange(n) % 300]
    texts = np.array([f"group {v}" for v in numbers])
    for groups in (numbers, texts, texts.astype(object), texts.tolist()):
        sketch = gf.Sketch.from_rows(np.linspace(0, 1, n), None, groups, bins=64)
        assert len(sketch.groups) == 300
        assert sketch.unlabelled.sum(axis=1).tolist() == [10] * 300


def test_empty_strings_and_trailing_nulls(backend):
    assert gf.Sketch.from_rows([1.0, 2.0], None, ["", "\0"]).groups == ("", "\0")
    assert gf.Sketch.from_rows([1.0], None, np.array([""])).groups == ("",)


# -------------------------------------------------------------------------------------------------------------- pandas


def test_pandas_columns(backend, expected):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": SCORES, "y": LABELS, "g": GROUPS}, index=[5, 3, 9, 1])
    assert gf.Sketch.from_rows(frame.x, frame.y, frame.g) == expected
    assert gf.Sketch.from_rows(frame.x, frame.y.astype(bool), frame.g.astype("category")) == expected
    assert gf.Sketch.from_rows(frame[["x"]], frame.y.astype("Int64"), frame.g.astype("string")) == expected
    assert gf.Sketch.from_rows(frame.x.astype("Float64"), frame.y.astype("boolean"), frame.g.astype(object)) == expected
    assert gf.Sketch.from_rows(pd.Index(SCORES), pd.array(LABELS), pd.Categorical(GROUPS)) == expected
    assert gf.Sketch(groups=["M", "F"]).update(frame.x, frame.y, frame.g.astype("category")).n_rows == 4
    unused = pd.Categorical(GROUPS, categories=["Z", "M", "F", "A"])
    assert gf.Sketch.from_rows(SCORES, LABELS, unused) == expected, "a category without rows is no group"
    numbers = pd.Categorical([3, 1, 3, 1])
    assert gf.Sketch.from_rows(SCORES, LABELS, numbers).groups == (1, 3)
    assert gf.Sketch.from_rows(SCORES, LABELS, pd.Series([3, 1, 3, 1], dtype="Int8")).groups == (1, 3)


def test_pandas_nulls(backend):
    pd = pytest.importorskip("pandas")
    unlabelled = gf.Sketch.from_rows(SCORES, [0, None, 1, 0], GROUPS)
    assert gf.Sketch.from_rows(SCORES, pd.Series([0, None, 1, 0], dtype="Int64"), GROUPS) == unlabelled
    assert gf.Sketch.from_rows(SCORES, pd.Series([False, pd.NA, True, False], dtype="boolean"), GROUPS) == unlabelled
    with pytest.raises(ValueError, match='scores has NaN at row 1; drop such rows or pass nan="skip"'):
        gf.Sketch.from_rows(pd.Series([0.1, None, 0.2, 0.3], dtype="Float64"), LABELS, GROUPS)
    with pytest.raises(ValueError, match="labels has NaN at row 1; pass labels=None"):
        gf.Sketch.from_rows(SCORES, pd.Series([0, np.nan, 1, 0]), GROUPS)
    with_null = ["F", None, "M", "F"]
    for groups in (
        pd.Categorical(with_null),
        pd.Series(with_null),
        pd.Series(with_null, dtype=object),
        pd.Series(with_null, dtype="string"),
        pd.Series([1, None, 2, 1], dtype="Int64"),
        pd.Series([1, None, 2, 1]),
    ):
        with pytest.raises(TypeError, match="groups has a missing value at row 1; drop such rows"):
            gf.Sketch.from_rows(SCORES, LABELS, groups)
