"""Every bad column gets an error that helps."""

from __future__ import annotations

import decimal
import gc
import sys
import weakref

import numpy as np
import pytest
from helpers.small_rows import GROUPS, LABELS, SCORES

import gstar_fast as gf
from gstar_fast._input.columns import as_batch

NAN = float("nan")

BAD = [
    # scores
    (
        ([[0.1, 0.9]] * 4, LABELS, GROUPS),
        ValueError,
        r"scores must be 1-D, got shape \(4, 2\); pass proba\[:, 1\], not proba",
    ),
    ((np.zeros((4, 1)), LABELS, GROUPS), ValueError, r"scores must be 1-D, got shape \(4, 1\); pass one column"),
    (
        (np.float64(0.5), LABELS, GROUPS),
        ValueError,
        r"scores must be 1-D, got shape \(\); for a single row use update_one",
    ),
    ((0.5, LABELS, GROUPS), ValueError, r"scores must be 1-D, got shape \(\)"),
    ((None, LABELS, GROUPS), TypeError, "scores must be an array with one value per row, got None"),
    (("abcd", LABELS, GROUPS), TypeError, "scores must be an array with one value per row, got 'abcd'"),
    ((np.array([True] * 4), LABELS, GROUPS), TypeError, "scores must be real numbers, got bool"),
    ((np.array([1j] * 4), LABELS, GROUPS), TypeError, "scores must be real numbers, got complex"),
    ((["0.1"] * 4, LABELS, GROUPS), TypeError, "scores must be real numbers, got str at row 0"),
    ((np.array(["0.1"] * 4), LABELS, GROUPS), TypeError, "scores must be real numbers, got strings"),
    (([0.1, NAN, 0.2, 0.3], LABELS, GROUPS), ValueError, 'scores has NaN at row 1; drop such rows or pass nan="skip"'),
    (([0.1, None, 0.2, 0.3], LABELS, GROUPS), ValueError, "scores has NaN at row 1"),
    (
        ([0.1, 1e302, 0.2, 0.3], LABELS, GROUPS),
        ValueError,
        r"scores has 1e\+302 at row 1; finite scores must lie within 2\*\*1000",
    ),
    (
        ([0.1, decimal.Decimal("1e400"), 0.2, 0.3], LABELS, GROUPS),
        ValueError,
        r"scores has 1E\+400 at row 1; finite scores must lie within 2\*\*1000",
    ),
    (([0.1, decimal.Decimal("-1e400"), 0.2, 0.3], LABELS, GROUPS), ValueError, r"scores has -1E\+400 at row 1"),
    (([0.1, 10**400, 0.2, 0.3], LABELS, GROUPS), ValueError, "scores has 10*0 at row 1; finite"),
    # labels
    (
        (SCORES, [0, 1, -1, 0], GROUPS),
        ValueError,
        r"labels must be 0 or 1, got -1 at row 2; for -1/\+1 labels pass labels > 0",
    ),
    (
        (SCORES, np.array([0, 1, -1, 0], np.int8), GROUPS),
        ValueError,
        r"labels must be 0 or 1, got -1 at row 2; for -1/\+1",
    ),
    ((SCORES, [0, 1, 2, 0], GROUPS), ValueError, "labels must be 0 or 1, got 2 at row 2$"),
    ((SCORES, [0, None, 2, 0], GROUPS), ValueError, "labels must be 0 or 1, got 2 at row 2"),
    (
        (SCORES, np.array([0, 1, 2**64 - 1, 0], np.uint64), GROUPS),
        ValueError,
        "labels must be 0 or 1, got 18446744073709551615 at row 2$",
    ),
    ((SCORES, [0, 1, 0.5, 0], GROUPS), ValueError, "labels must be 0 or 1, got 0.5 at row 2"),
    ((SCORES, [0, 1, NAN, 0], GROUPS), ValueError, "labels has NaN at row 2; pass labels=None"),
    ((SCORES, ["0", "1", "1", "0"], GROUPS), TypeError, "labels must be 0 or 1, got str"),
    (
        (SCORES, np.array(["no", "yes", "yes", "no"]), GROUPS),
        TypeError,
        "labels must be 0 or 1, got strings; pass labels ==",
    ),
    ((SCORES, [[0, 1]] * 4, GROUPS), ValueError, r"labels must be 1-D, got shape \(4, 2\)"),
    # groups
    ((SCORES, LABELS, ["F", None, "M", "F"]), TypeError, "groups has a missing value at row 1; drop such rows"),
    ((SCORES, LABELS, ["F", NAN, "M", "F"]), TypeError, "groups has a missing value at row 1"),
    ((SCORES, LABELS, [1.0, NAN, 2.0, 1.0]), TypeError, "groups has a missing value at row 1"),
    (
        (SCORES, LABELS, [1.5, 2.0, 2.0, 1.0]),
        TypeError,
        "group names must be int, str, bool or tuples of these, got float",
    ),
    (
        (SCORES, LABELS, ["F", b"M", "F", "F"]),
        TypeError,
        "group names must be int, str, bool or tuples of these, got bytes at row 1",
    ),
    (
        (SCORES, LABELS, np.array(GROUPS, "S4")),
        TypeError,
        r"got bytes at row 0; decode bytes first: name.decode\(\), or np.char.decode\(groups\)",
    ),
    ((SCORES, LABELS, ["F", decimal.Decimal(1), "F", "F"]), TypeError, "got Decimal at row 1"),
    ((SCORES, LABELS, [("F", 1), ("F", ("M",)), "F", "F"]), TypeError, "got tuple at row 1"),
    (
        (SCORES, LABELS, [("F", 1), (), "F", "F"]),
        ValueError,
        "a group name may be a tuple of 1 to 16 values, got 0 at row 1",
    ),
    ((SCORES, LABELS, ["F", "\ud800", "F", "F"]), ValueError, "at row 1 is not valid Unicode"),
    ((SCORES, LABELS, [1, 2**63, 1, 1]), ValueError, "group 9223372036854775808 at row 1 does not fit into 64 bits"),
    ((SCORES, LABELS, [1, 2**70, 1, 1]), ValueError, "group 1180591620717411303424 at row 1 does not fit into 64 bits"),
    (
        (SCORES, LABELS, np.zeros((4, 2, 2), int)),
        ValueError,
        r"groups must be 1-D, got shape \(4, 2, 2\); for intersections pass a frame, or a list of columns",
    ),
    ((SCORES, LABELS, "FMFM"), TypeError, "groups must be an array with one value per row, got 'FMFM'"),
    ((SCORES, LABELS, None), TypeError, "groups must be an array with one value per row, got None"),
    ((SCORES, LABELS, [True, 1, True, 1]), ValueError, "groups has both True and 1, which Python cannot tell apart"),
    # lengths
    (
        ([0.1, 0.2, 0.3], [0, 1], [0, 0, 1]),
        ValueError,
        "arrays differ in length: scores has 3, labels has 2, groups has 3",
    ),
    (([0.1, 0.2, 0.3], None, [0, 0]), ValueError, "arrays differ in length: scores has 3, groups has 2"),
    (
        (np.zeros(3), np.zeros(3, int), np.zeros(0, int)),
        ValueError,
        "arrays differ in length: scores has 3, labels has 3, groups has 0",
    ),
]


@pytest.mark.parametrize(("rows", "error", "text"), BAD, ids=[text[:60] for _, _, text in BAD])
def test_bad_rows_are_named_and_change_nothing(backend, rows, error, text):
    sketch = gf.Sketch.from_rows(SCORES, LABELS, [7, 7, 8, 8])
    before = sketch.to_bytes()
    with pytest.raises(error, match=text):
        sketch.update(*rows)
    assert sketch.to_bytes() == before


LONG = np.finfo(np.longdouble).max > np.finfo(np.float64).max  # not on every platform


@pytest.mark.skipif(not LONG, reason="longdouble is float64 here")
def test_finite_scores_beyond_float64_are_refused_whatever_holds_them(backend):
    scores = np.array([0.5, "1e400"], np.longdouble)
    for given in (scores, scores.astype(object), list(scores), np.ma.array(scores, mask=[True, False])):
        with pytest.raises(ValueError, match=r"scores has 1e\+400 at row 1; finite scores must lie within 2\*\*1000"):
            gf.Sketch().update(given, None, [0, 0])
    with pytest.raises(ValueError, match=r"scores has .*1e\+400.*; finite"):
        gf.Sketch().update_one(scores[1], None, 0)
    masked = np.ma.array(scores, mask=[False, True])
    assert gf.Sketch(nan="skip").update(masked, None, [0, 0]).skipped == 1, "what a mask hides is nobody's score"
    infinite = np.array([0.5, np.inf, -np.inf], np.longdouble)
    assert gf.Sketch.from_rows(infinite, None, [0] * 3) == gf.Sketch.from_rows([0.5, np.inf, -np.inf], None, [0] * 3)


def test_infinite_scores_of_any_kind_are_counted_at_the_ends(backend):
    expected = gf.Sketch.from_rows([np.inf, -np.inf], None, [0, 0])
    ends = [decimal.Decimal("Infinity"), decimal.Decimal("-Infinity")]
    assert gf.Sketch.from_rows(ends, None, [0, 0]) == expected
    sketch = gf.Sketch()
    for score in ends:
        sketch.update_one(score, None, 0)
    assert sketch == expected


@pytest.mark.parametrize("end", [10**400, decimal.Decimal("1e400")])
def test_a_range_beyond_float64_is_refused(end):
    with pytest.raises(ValueError, match=r"range must be finite and lie within 2\*\*1000, got \(0, "):
        gf.Sketch(range=(0, end))


WHOLE = 2**53 + 1  # the first whole number that is no float64
KINDS_OF_WHOLE = {
    "int64": lambda w: np.array(w, np.int64),
    "uint64": lambda w: np.array(w, np.uint64),
    "big-endian": lambda w: np.array(w, ">i8"),
    "strided": lambda w: np.array([w, w], np.int64).T[:, 1],
    "list": list,
    "list with a float": lambda w: [*map(int, w[:-1]), float(w[-1])],
    "objects": lambda w: np.array(w, object),
    "decimals": lambda w: list(map(decimal.Decimal, w)),
    "longdouble": lambda w: np.array(list(map(str, w)), np.longdouble),
}


@pytest.mark.parametrize("kind", KINDS_OF_WHOLE)
def test_a_row_is_repeated_exactly_so_often(backend, kind):
    if kind == "longdouble" and not LONG:
        pytest.skip("longdouble is float64 here")
    repeats = KINDS_OF_WHOLE[kind]([WHOLE, 3, 0, 2**60])
    sketch = gf.Sketch.from_rows(SCORES, LABELS, GROUPS, repeats=repeats)
    assert sketch.n_rows == WHOLE + 3 + 2**60
    assert sketch.moments(0, "F").count == WHOLE
    assert not sketch.weighted
    assert sketch.groups == ("F", "M")


def test_repeats_of_tables_are_exact_and_nulls_are_rejected(backend):
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    for table in (
        pa.table({"x": SCORES, "g": GROUPS, "w": [WHOLE] * 4}),
        pd.DataFrame({"x": SCORES, "g": GROUPS, "w": pd.array([WHOLE] * 4, "Int64")}),
    ):
        sketch = gf.Sketch().update_table(table, score="x", label=None, group="g", repeats="w")
        assert sketch.n_rows == 4 * WHOLE
        assert not sketch.weighted
    with pytest.raises(ValueError, match="weights must be finite and not negative, got nan at row 1"):
        gf.Sketch().update(SCORES, None, GROUPS, weights=pd.array([1, None, 1, 1], "Int64"))
    with pytest.raises(ValueError, match="repeats must be whole numbers that are not negative, got nan at row 1"):
        gf.Sketch().update(SCORES, None, GROUPS, repeats=pd.array([1, None, 1, 1], "Int64"))


@pytest.mark.parametrize("weights", [np.array([1, -2, 1, 1]), [1, -2, 1, 1], np.array([1, -2, 1, 1], np.int8)])
def test_a_negative_whole_weight_is_named_as_it_was_given(backend, weights):
    with pytest.raises(ValueError, match="weights must be finite and not negative, got -2 at row 1"):
        gf.Sketch().update(SCORES, LABELS, GROUPS, weights=weights)


@pytest.mark.parametrize("weight", [-1.0, NAN, np.inf, -np.inf])
def test_bad_weights_are_named_and_change_nothing(backend, weight):
    sketch = gf.Sketch()
    with pytest.raises(ValueError, match=r"weights must be finite and not negative, got .* at row 1"):
        sketch.update(SCORES, LABELS, GROUPS, weights=[1, weight, 1, 1])
    with pytest.raises(ValueError, match="scores has 4, labels has 4, groups has 4, weights has 2"):
        sketch.update(SCORES, LABELS, GROUPS, weights=[1, 1])
    with pytest.raises(TypeError, match="weights must be real numbers, got str at row 0"):
        sketch.update(SCORES, LABELS, GROUPS, weights=["1"] * 4)
    with pytest.raises(ValueError, match="weights must be 1-D"):
        sketch.update(SCORES, LABELS, GROUPS, weights=np.ones((4, 1)))
    assert sketch == gf.Sketch()


@pytest.mark.parametrize("repeats", [-1, -2.0, 0.5, 1.0000001, NAN, np.inf, -np.inf])
def test_repeats_that_are_not_whole_are_named_and_change_nothing(backend, repeats):
    sketch = gf.Sketch().update(SCORES, LABELS, GROUPS)
    before = sketch.to_bytes()
    with pytest.raises(
        ValueError, match=r"repeats must be whole numbers that are not negative, got .* at row 1; for weights"
    ):
        sketch.update(SCORES, LABELS, GROUPS, repeats=[1, repeats, 1, 1])
    with pytest.raises(ValueError, match=r"repeats must be whole numbers that are not negative, got"):
        sketch.update_one(0.5, 1, "F", repeats=repeats)
    with pytest.raises(ValueError, match="groups has 4, repeats has 2"):
        sketch.update(SCORES, LABELS, GROUPS, repeats=[1, 1])
    with pytest.raises(TypeError, match="repeats must be real numbers, got str at row 0"):
        sketch.update(SCORES, LABELS, GROUPS, repeats=["1"] * 4)
    for load in ("weights", "repeats"):  # the hint on scores that were thresholded is for scores
        with pytest.raises(TypeError, match=f"^{load} must be real numbers, got bool$"):
            sketch.update(SCORES, LABELS, GROUPS, **{load: [True] * 4})
    assert sketch.to_bytes() == before


@pytest.mark.parametrize("weight", [-1.0, NAN, np.inf, "1", True, None])
def test_a_bad_weight_of_one_row_changes_nothing(backend, weight):
    sketch = gf.Sketch().update(SCORES, LABELS, GROUPS)
    before = sketch.to_bytes()
    with pytest.raises(ValueError, match="weights must be finite and not negative, got"):
        sketch.update_one(0.5, 1, "F", weight=weight)
    for call in (lambda: sketch.update_one(0.5, 1, "F", 2.0), lambda: sketch.update_one(0.5, 1, "F", wait=2.0)):
        with pytest.raises(TypeError):
            call()
    assert sketch.to_bytes() == before


@pytest.mark.parametrize(
    ("row", "error", "text"),
    [
        ((NAN, 1, "F"), ValueError, "scores has NaN; drop"),
        ((1e302, 1, "F"), ValueError, r"scores has 1e\+302; finite"),
        ((10**400, 1, "F"), ValueError, r"scores has 10*0; finite scores must lie within 2\*\*1000"),
        ((decimal.Decimal("1e400"), 1, "F"), ValueError, r"scores has Decimal\('1E\+400'\); finite"),
        ((decimal.Decimal("-1e400"), 1, "F"), ValueError, r"scores has Decimal\('-1E\+400'\); finite"),
        ((True, 1, "F"), TypeError, "score must be a number, got bool"),
        (("0.5", 1, "F"), TypeError, "score must be a number, got str"),
        ((None, 1, "F"), TypeError, "score must be a number, got NoneType"),
        ((0.5, -1, "F"), ValueError, r"labels must be 0 or 1, got -1; for -1/\+1 labels pass labels > 0"),
        ((0.5, 2, "F"), ValueError, "labels must be 0 or 1, got 2$"),
        ((0.5, 1, None), TypeError, "groups has a missing value; drop"),
        ((0.5, 1, 1.5), TypeError, "group names must be int, str, bool or tuples of these, got float; pass whole"),
        ((0.5, 1, 1.0), TypeError, "got float; pass whole numbers as int"),
        ((0.5, 1, NAN), TypeError, "groups has a missing value; drop"),
        ((0.5, 1, 2**63), ValueError, "group 9223372036854775808 does not fit into 64 bits"),
        ((0.5, 1, ["F"]), TypeError, "group names must be int, str, bool or tuples of these, got list"),
        ((0.5, 1, True), ValueError, "groups has both True and 1, which Python cannot tell apart"),
    ],
)
def test_a_bad_single_row_is_named_and_changes_nothing(backend, row, error, text):
    sketch = gf.Sketch.from_rows(SCORES, LABELS, [1, 2, 1, 2])
    before = sketch.to_bytes()
    with pytest.raises(error, match=text):
        sketch.update_one(*row)
    assert sketch.to_bytes() == before


@pytest.mark.parametrize("at", [0, 1, 16_500, 59_999])
@pytest.mark.parametrize("what", ["nan", "huge", "label", "group"])
def test_a_bad_row_deep_in_a_large_batch_is_found_and_nothing_counted(backend, at, what):
    n = 60_000
    if backend == "numpy" and at not in (1, 59_999):
        pytest.skip("the reference has no blocks")
    rng = np.random.default_rng(at)
    x, y, g = rng.normal(size=n), rng.integers(0, 2, n), rng.integers(0, 3, n)
    text = {"nan": "NaN", "huge": r"1e\+302", "label": "got -1", "group": "group 9"}[what]
    if what in ("nan", "huge"):
        x[at] = np.nan if what == "nan" else 1e302
    elif what == "label":
        y[at] = -1
    else:
        g[at] = 9
    sketch = gf.Sketch(groups=[0, 1, 2]).update([0.5], [1], [1])
    before = sketch.to_bytes()
    for threads in (1, 3):
        with pytest.raises(ValueError, match=f"{text}.* at row {at}|{text} at row {at}"):
            sketch.update(x, y, g, threads=threads)
    assert sketch.to_bytes() == before


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2"])
def test_bad_threads(backend, threads):
    with pytest.raises(ValueError, match="threads must be a whole number of at least 1, got"):
        gf.Sketch().update(np.array(SCORES), np.array(LABELS), np.array([1, 2, 1, 2]), threads=threads)
    with pytest.raises(ValueError, match="threads must be a whole number of at least 1, got"):
        gf.Sketch().update(SCORES, LABELS, GROUPS, threads=threads)


def test_one_row_one_class_and_nothing_are_fine(backend):
    assert gf.Sketch.from_rows([0.5], [1], ["a"]).counts.sum() == 1
    assert gf.Sketch.from_rows(SCORES, [1] * 4, GROUPS).counts[0].sum() == 0
    assert gf.Sketch.from_rows(np.empty(0), np.empty(0, int), np.empty(0, "U1")) == gf.Sketch()


@pytest.mark.slow
def test_arrays_of_the_caller_are_neither_changed_nor_kept(backend):
    x, y, g = np.array(SCORES), np.array(LABELS), np.array([1, 2, 1, 2])
    copies = x.copy(), y.copy(), g.copy()
    gone = [weakref.ref(a) for a in (x, y, g)]
    gf.Sketch.from_rows(x, y, g)
    assert all(np.array_equal(a, b) for a, b in zip((x, y, g), copies, strict=True))
    assert sys.getrefcount(x) <= 3
    del x, y, g
    gc.collect()
    assert [ref() for ref in gone] == [None] * 3


def test_batches_are_clean_after_validation():
    batch = as_batch(SCORES, [0, None, 1, 1], GROUPS, [1, 2, 3, 4])
    assert (batch.scores.dtype, batch.weights.dtype) == (np.float64, np.int64)
    assert as_batch(SCORES, LABELS, GROUPS, [1, 2, 3, 0.5]).weights.dtype == np.float64
    assert batch.labels.tolist() == [0, 2, 1, 1]
    assert batch.unlabelled_code
    assert batch.names == ("F", "M")
    assert batch.codes.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("name", [b"F", np.bytes_(b"F")])
def test_bytes_as_the_name_of_one_group_are_refused_as_in_a_column(backend, name):
    for take in (lambda: gf.Sketch(groups=[name]), lambda: gf.Sketch().update_one(0.5, 1, name)):
        with pytest.raises(TypeError, match=r"got bytes.*; decode bytes first: name\.decode\(\)"):
            take()


@pytest.mark.parametrize("kind", [list, np.array, lambda scores: np.array(scores, object)])
def test_whole_numbers_that_become_one_float_are_warned_about(backend, kind):
    with pytest.warns(gf.errors.ResolutionWarning, match=r"keeps 1 of 3 different values apart") as caught:
        sketch = gf.Sketch.from_rows(kind([2**62, 2**62 + 1, 2**62 + 7, 5]), [0, 1, 1, 0], [0, 0, 1, 1])
    assert [one.filename for one in caught] == [__file__]
    assert sketch.n_rows == 4
    gf.Sketch.from_rows(kind([2**62, 2**62 + 2**12, 2**53 + 1, -5]), [0, 1, 1, 0], [0, 0, 1, 1])
