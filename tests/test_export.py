"""SQL and ONNX decide as the decider does, wherever it decides, and say so where it would raise."""

import math
import sqlite3

import duckdb
import numpy as np
import pytest

import gstar_fast as gf
from gstar_fast._export import to_onnx, to_sql

INF, NAN = math.inf, math.nan
THRESHOLDS = {"F": 0.1, "it's": 0.75, "nobody": INF, "everybody": -INF, "tiny": 1e-310}
POLICIES = [
    {},
    {"nan": False},
    {"nan": True, "unknown": 0.3},
    {"unknown": "default", "default": 0.2},
    {"unknown": -INF, "nan": False},
]


def hard_rows(dtype):
    scores = [
        INF,
        -INF,
        0.0,
        1e-310,
        3e38,
        NAN,
        *(f(dtype(t), dtype(d)) for t in (0.1, 0.75) for d in (INF, -INF) for f in (np.nextafter, max, min)),
    ]
    names = [*THRESHOLDS, "unseen"]
    return np.repeat(np.array(scores, dtype), len(names)), np.tile(np.array(names, object), len(scores))


def answers(decider, scores, groups):
    """True, False, or None where the decider raises."""

    def one(score, group):
        try:
            return decider.one(float(score), group)
        except ValueError:
            return None

    return [one(score, group) for score, group in zip(scores, groups, strict=True)]


@pytest.mark.parametrize("options", POLICIES, ids=str)
@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE"])
def test_duckdb_decides_alike(options, kind):
    decider = gf.Decider(THRESHOLDS, **options)
    scores, groups = hard_rows(np.float32 if kind == "FLOAT" else np.float64)
    base = duckdb.connect()
    base.execute(f'CREATE TABLE people(i INT, "the score" {kind}, "who ""?""" VARCHAR)')
    base.executemany(
        "INSERT INTO people VALUES (?, ?, ?)",
        [(i, s.item(), g) for i, (s, g) in enumerate(zip(scores, groups, strict=True))],
    )
    case = to_sql(decider, score="the score", group='who "?"', dialect="duckdb")
    found = [row[0] for row in base.execute(f"SELECT {case} FROM people ORDER BY i").fetchall()]
    assert found == answers(decider, scores, groups)


@pytest.mark.parametrize("options", POLICIES, ids=str)
def test_sqlite_decides_alike(options):
    """It stores NaN as NULL, and bools as 0 and 1."""
    decider = gf.Decider(THRESHOLDS, **options)
    scores, groups = hard_rows(np.float64)
    base = sqlite3.connect(":memory:")
    base.execute('CREATE TABLE people(i INT, score REAL, "group" TEXT)')
    base.executemany(
        "INSERT INTO people VALUES (?, ?, ?)",
        [(i, float(s), g) for i, (s, g) in enumerate(zip(scores, groups, strict=True))],
    )
    found = [row[0] for row in base.execute(f"SELECT {to_sql(decider, dialect='sqlite')} FROM people ORDER BY i")]
    assert [None if x is None else bool(x) for x in found] == answers(decider, scores, groups)


def test_a_row_without_group_is_null_in_sql():
    base = duckdb.connect()
    for options in POLICIES:
        case = to_sql(gf.Decider(THRESHOLDS, **options), dialect="duckdb")
        assert base.execute(
            f'SELECT {case} FROM (SELECT 0.5 AS score, CAST(NULL AS VARCHAR) AS "group")'
        ).fetchall() == [(None,)]


def test_sql_of_unified_and_numbered_thresholds():
    base = duckdb.connect()
    unified = to_sql(gf.Decider({"F": 0.5}, unified=True), dialect="duckdb")
    assert '"group"' not in unified
    assert base.execute(f"SELECT {unified} FROM (VALUES (0.4), (0.5)) AS t(score)").fetchall() == [(False,), (True,)]
    numbered = to_sql(gf.Decider({1: 0.5, -2: 0.25}), dialect="duckdb")
    rows = '(VALUES (0.3, 1), (0.3, -2), (0.3, 7)) AS t(score, "group")'
    assert base.execute(f"SELECT {numbered} FROM {rows}").fetchall() == [(False,), (True,), (None,)]


@pytest.mark.parametrize(
    ("decider", "options", "text"),
    [
        (
            gf.Decider({"F": 0.5}, mixtures={"F": [(0.5, 1.0)]}),
            {},
            "randomised thresholds need the hash of a key, which SQL",
        ),
        (gf.Decider({("F", 1): 0.5}), {}, "SQL cannot compare a column with the tuple"),
        (gf.Decider({"F": 0.5}), {"dialect": "oracle"}, "dialect must be one of standard, duckdb"),
        (gf.Decider({"F": 0.5}), {"score": ""}, "a column must have a name"),
        (gf.Decider({"F\0": 0.5}), {}, "SQL has no string with a null character"),
    ],
)
def test_what_sql_cannot_say_is_refused(decider, options, text):
    with pytest.raises(ValueError, match=text):
        to_sql(decider, **options)


# ----------------------------------------------------------------------------------------------------------------- ONNX


def run_onnx(model, **inputs):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    decision, valid = session.run(["decision", "valid"], inputs)
    return [bool(d) if v else None for d, v in zip(decision, valid, strict=True)]


@pytest.mark.parametrize("options", POLICIES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_onnxruntime_decides_alike(options, dtype):
    pytest.importorskip("onnx")
    decider = gf.Decider(THRESHOLDS, **options)
    scores, groups = hard_rows(dtype)
    assert run_onnx(to_onnx(decider), score=scores.astype(np.float64), group=groups) == answers(decider, scores, groups)


def test_onnx_of_unified_and_numbered_thresholds():
    pytest.importorskip("onnx")
    scores = np.array([0.3, 0.5, NAN, INF])
    unified = gf.Decider({"F": 0.5}, unified=True, nan=True)
    assert run_onnx(to_onnx(unified, score="x"), x=scores) == [False, True, True, True]
    numbered = gf.Decider({1: 0.5, -2: 0.25, 10**12: 0.4})
    groups = np.array([1, -2, 1, 7])
    assert run_onnx(to_onnx(numbered), score=scores, group=groups) == answers(numbered, scores, groups.tolist())


def test_what_onnx_cannot_say_is_refused():
    pytest.importorskip("onnx")
    with pytest.raises(ValueError, match="all strings or all ints"):
        to_onnx(gf.Decider({"F": 0.5, 1: 0.5}))
    with pytest.raises(ValueError, match="randomised thresholds need the hash of a key, which ONNX"):
        to_onnx(gf.Decider({"F": 0.5}, mixtures={"F": [(0.5, 1.0)]}))
