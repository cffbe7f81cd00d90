"""Thresholds with cut points decide by the number that stands for the group: as by its segment, in every language."""

import math
import pickle
import sqlite3

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from helpers.cut_points import CUTS, EMPTY, THRESHOLDS, hard_rows
from hypothesis import given, settings
from hypothesis import strategies as st

import gstar_fast as gf

INF, NAN = math.inf, math.nan
POLICIES = [
    {},
    {"nan": False},
    {"nan": True, "unknown": 0.3},
    {"unknown": "default", "default": 0.2},
    {"unknown": -INF, "nan": False},
]


def answers(decider, scores, numbers):
    """True, False, or None where the decider raises."""

    def one(score, number):
        try:
            return decider.one(float(score), float(number))
        except ValueError:
            return None

    return [one(score, number) for score, number in zip(scores, numbers, strict=True)]


def plain_answer(decider, score, number):
    """The rules of docs/guide/decide.md, one row at a time."""
    segment = None if number != number else sum(number >= cut for cut in decider.cuts)
    threshold = decider.thresholds.get(segment)
    if threshold is None:
        if decider.unknown == "raise":
            return None
        threshold = decider.default if decider.unknown == "default" else decider.unknown
    if score != score:
        return None if decider.nan == "raise" else decider.nan
    return bool(score >= threshold)


# ------------------------------------------------------------------------------------------------------------ deciding


@pytest.mark.parametrize("thresholds", [THRESHOLDS, EMPTY], ids=["all", "empty segments"])
@pytest.mark.parametrize("options", POLICIES, ids=str)
def test_a_row_is_decided_by_the_segment_of_its_number(backend, options, thresholds):
    decider = gf.Decider(thresholds, cuts=CUTS, **options)
    for scores, numbers in (hard_rows(), hard_rows(np.float32, np.float32), hard_rows(np.float32, np.float64)):
        expected = [
            plain_answer(decider, s, x) for s, x in zip(scores.astype(float), numbers.astype(float), strict=True)
        ]
        assert answers(decider, scores, numbers) == expected
        decided = np.array([answer is not None for answer in expected])
        many = decider(scores[decided], numbers[decided])
        assert many.tolist() == [answer for answer in expected if answer is not None]
        if not decided.all():
            with pytest.raises(ValueError, match=rf" at row {decided.argmin()}[ ,;]"):
                decider(scores, numbers)


finite = st.floats(allow_nan=False, allow_infinity=False, width=32)


@settings(max_examples=60)
@given(
    cuts=st.lists(finite, max_size=40, unique=True).map(sorted),
    more=st.lists(st.floats(allow_nan=False), min_size=1, max_size=20),
    seed=st.integers(0, 2**32),
)
def test_numbers_decide_as_their_segments_do(backend, cuts, more, seed):
    """`Segments.cut`, and then plain thresholds by segment; margins and threads too."""
    cuts = tuple(np.unique(np.array(cuts) + 0.0).tolist())
    cut, rng = gf.Segments(cuts), np.random.default_rng(seed)
    numbers = np.array([*cuts, *np.nextafter(cuts, -INF), *np.nextafter(cuts, INF), *more])
    thresholds = dict(enumerate(rng.normal(size=cut.count).tolist()))
    by_number, by_segment = gf.Decider(thresholds, cuts=cuts), gf.Decider(thresholds)
    scores = rng.choice([*thresholds.values(), 0.0, INF], len(numbers))
    segments = np.array([sum(x >= c for c in cuts) for x in numbers], np.int64)
    finite_ones = np.isfinite(numbers)
    assert cut.cut(numbers[finite_ones]).tolist() == segments[finite_ones].tolist()
    assert by_number(scores, numbers).tolist() == by_segment(scores, segments).tolist()
    assert by_number.margin(scores, numbers).tolist() == by_segment.margin(scores, segments).tolist()
    assert gf.Decider.from_json(by_number.to_json()) == by_number
    large = np.resize(numbers, 9000)
    assert np.array_equal(
        by_number(np.resize(scores, 9000), large, threads=2), np.resize(by_number(scores, numbers), 9000)
    )


def test_columns_of_every_kind_hold_numbers(backend):
    pandas, polars = (pytest.importorskip(name) for name in ("pandas", "polars"))
    decider = gf.Decider(THRESHOLDS, cuts=CUTS, unknown=0.5)
    scores, numbers = [0.6, 0.6, 0.6], [0.05, 0.2, 0.9]
    expected = [True, False, True]
    strided = np.repeat(np.array(numbers), 2)[::2]
    for column in (numbers, tuple(numbers), pandas.Series(numbers), polars.Series(numbers), pa.array(numbers), strided):
        assert decider(scores, column).tolist() == expected
    for column in ([0.05, None, NAN], pa.array([0.05, None, NAN]), pandas.array([0.05, None, None], dtype="Float64")):
        assert decider(scores, column).tolist() == [True, True, True]  # nobody knows: 0.5
    assert decider.one(np.float64(0.6), np.float32(0.2)) is False
    assert decider([], []).tolist() == []
    assert decider(scores, [4, 0, 2], codes=True).tolist() == [True, True, False]  # positions, as ever


def test_randomised_thresholds_draw_in_the_segment(backend):
    mixtures = {0: [(0.25, 0.5), (0.75, 0.5)], 1: [(0.5, 1.0)]}
    thresholds = {0: 0.25, 1: 0.5}
    by_number, by_segment = (
        gf.Decider(thresholds, mixtures=mixtures, cuts=[0.5]),
        gf.Decider(thresholds, mixtures=mixtures),
    )
    rng = np.random.default_rng(0)
    scores, numbers, keys = rng.random(500), rng.random(500), np.arange(500)
    segments = (numbers >= 0.5).astype(int)
    expected = by_segment(scores, segments, keys=keys)
    assert np.array_equal(by_number(scores, numbers, keys=keys), expected)
    assert [by_number.one(s, q, k) for s, q, k in zip(scores[:50], numbers[:50], range(50), strict=True)] == expected[
        :50
    ].tolist()
    with pytest.raises(ValueError, match="randomised"):
        by_number.one(0.5, 0.5)
    with pytest.raises(ValueError, match="groups has NaN, which lies in no segment"):
        by_number.one(0.5, NAN, 1)


def test_what_is_no_number_is_refused(backend):
    """Above all whole numbers: they may be the segments, which would be cut once more."""
    decider = gf.Decider(THRESHOLDS, cuts=CUTS)
    bad = [[0, 1], np.array([0, 1], np.uint8), [True, False], ["a", "b"], [0.5, "b"], np.array([0.5, 1], object)]
    for column in bad:
        with pytest.raises(
            TypeError, match=r"must be given as floats that stand for the group, such as P\(group \| x\)"
        ):
            decider([0.5, 0.5], column)
    for one in (1, True, np.int64(1), "a", b"a", (0.5,), [0.5]):
        with pytest.raises(TypeError, match="group must be given as floats"):
            decider.one(0.5, one)
    for call in (lambda: decider.one(0.5), lambda: decider([0.5])):
        with pytest.raises(ValueError, match="must be given: each group has a threshold of its own"):
            call()
    with pytest.raises(ValueError, match="arrays differ in length: scores has 2, groups has 1"):
        decider([0.5, 0.5], [0.5])
    with pytest.raises(ValueError, match=r"segment 1 has no threshold, since no row that was counted .* are 0, 2, 3;"):
        gf.Decider(EMPTY, cuts=CUTS).one(0.5, 0.2)
    with pytest.raises(TypeError, match="group names must be int, str"):
        gf.Decider(THRESHOLDS).one(0.5, 0.2)


@pytest.mark.parametrize(
    ("thresholds", "cuts", "words"),
    [
        ({0: 1.0, 1: 2.0}, [0.5, 0.5], "cuts must be finite and ascending"),
        ({0: 1.0, 1: 2.0}, [0.5, 0.25], "cuts must be finite and ascending"),
        ({0: 1.0, 1: 2.0}, [INF], "cuts must be finite and ascending"),
        ({0: 1.0, 1: 2.0}, [NAN], "a cut point is NaN"),
        ({0: 1.0, 2: 2.0}, [0.5], "group 2 is not a segment of the cuts: these are the whole numbers from 0 to 1"),
        ({"a": 1.0}, [0.5], "group 'a' is not a segment of the cuts"),
        ({True: 1.0}, [0.5], "group True is not a segment of the cuts"),
    ],
)
def test_cut_points_that_do_not_fit_are_refused(thresholds, cuts, words):
    with pytest.raises(ValueError, match=words):
        gf.Decider(thresholds, cuts=cuts)


def test_unified_thresholds_have_no_cut_points():
    with pytest.raises(ValueError, match="they are unified, and have cuts"):
        gf.Decider({0: 0.5}, unified=True, cuts=[0.5])


# -------------------------------------------------------------------------------------------------------------- saving


@pytest.mark.parametrize("cuts", [CUTS, ()])
def test_cut_points_are_saved_with_the_thresholds(backend, tmp_path, cuts):
    decider = gf.Decider({k: THRESHOLDS[k] for k in range(len(cuts) + 1)}, cuts=cuts, unknown=0.5)
    decider.save(tmp_path / "t.json")
    for copy in (gf.Decider.load(tmp_path / "t.json"), pickle.loads(pickle.dumps(decider))):
        assert copy == decider
        assert copy.cuts == cuts
        assert copy.one(0.6, 0.05) is True
    assert gf.Decider(decider.thresholds, unknown=0.5) != decider
    assert f"{len(cuts) + 1} segments" in repr(decider)


def test_a_live_decider_takes_cut_points_and_gives_them_up(backend):
    live = gf.LiveDecider(gf.Decider({0: 0.25, 1: 0.75}, cuts=[0.5]))
    assert (live.one(0.5, 0.1), live.one(0.5, 0.9)) == (True, False)
    live.swap(gf.Decider({0: 0.25, 1: 0.75}, cuts=[0.05]))
    assert live([0.5], [0.1]).tolist() == [False]
    live.swap(gf.Decider({0: 0.25, 1: 0.75}))
    with pytest.raises(TypeError):
        live.one(0.5, 0.1)
    assert live.one(0.5, 0) is True


# ------------------------------------------------------------------------------------------------------------ exports


@pytest.mark.parametrize("thresholds", [THRESHOLDS, EMPTY], ids=["all", "empty segments"])
@pytest.mark.parametrize("options", POLICIES, ids=str)
@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE"])
def test_duckdb_decides_alike(options, thresholds, kind):
    decider = gf.Decider(thresholds, cuts=CUTS, **options)
    scores, numbers = hard_rows(*[np.float32 if kind == "FLOAT" else np.float64] * 2)
    base = duckdb.connect()
    base.execute(f"CREATE TABLE people(i INT, score {kind}, q {kind})")
    rows = pa.table({"i": np.arange(len(scores)), "score": scores, "q": numbers})  # noqa: F841 (duckdb reads it)
    base.execute("INSERT INTO people SELECT * FROM rows")
    case = gf.to_sql(decider, group="q", dialect="duckdb")
    found = [row[0] for row in base.execute(f"SELECT {case} FROM people ORDER BY i").fetchall()]
    assert found == answers(decider, scores, numbers)
    missing = base.execute(f"SELECT {case} FROM (SELECT 0.5 AS score, NULL AS q)").fetchall()
    assert missing == [(answers(decider, [0.5], [NAN])[0],)]


@pytest.mark.parametrize("options", POLICIES, ids=str)
def test_sqlite_decides_alike(options):
    """It stores NaN as NULL, and bools as 0 and 1."""
    decider = gf.Decider(EMPTY, cuts=CUTS, **options)
    scores, numbers = hard_rows()
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE people(i INT, score REAL, q REAL)")
    rows = zip(range(len(scores)), scores.tolist(), numbers.tolist(), strict=True)
    base.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
    case = gf.to_sql(decider, group="q", dialect="sqlite")
    found = [row[0] for row in base.execute(f"SELECT {case} FROM people ORDER BY i").fetchall()]
    assert [None if x is None else bool(x) for x in found] == answers(decider, scores, numbers)


@pytest.mark.parametrize(
    ("thresholds", "cuts"), [(THRESHOLDS, CUTS), (EMPTY, CUTS), ({0: 0.25}, ())], ids=["all", "empty segments", "one"]
)
@pytest.mark.parametrize("options", POLICIES, ids=str)
def test_onnxruntime_decides_alike(options, thresholds, cuts):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    decider = gf.Decider(thresholds, cuts=cuts, **options)
    session = runtime.InferenceSession(gf.to_onnx(decider, group="q").SerializeToString())
    for kinds in ((np.float64, np.float64), (np.float32, np.float32)):
        scores, numbers = hard_rows(*kinds)
        inputs = {"score": scores.astype(np.float64), "q": numbers.astype(np.float64)}
        decisions, valid = session.run(["decision", "valid"], inputs)
        found = [bool(d) if v else None for d, v in zip(decisions, valid, strict=True)]
        assert found == answers(decider, scores, numbers)
        assert not decisions[~valid].any()
