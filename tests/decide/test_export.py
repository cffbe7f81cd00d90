"""SQL and ONNX decide as the decider does, wherever it decides, and say so where it would raise."""

import math
import sqlite3

import duckdb
import numpy as np
import pytest

import gstar_fast as gf
from gstar_fast._decide.export import to_onnx, to_sql

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
        (
            gf.Decider({("F", 1): 0.5}),
            {},
            r"the group \('F', 1\) is made of 2 columns, and group='group' names 1; name",
        ),
        (
            gf.Decider({"F": 0.5}),
            {"group": ["a", "b"]},
            r"the group 'F' is made of 1 column, and group=\['a', 'b'\] names 2",
        ),
        (gf.Decider({"F": 0.5, ("F", 1): 0.5}), {"group": ["a"]}, r"the group \('F', 1\) is made of 2 columns"),
        (gf.Decider({("F", 1): 0.5}), {"group": ["a", "a"]}, "group names a column twice"),
        (gf.Decider({"F": 0.5}), {"dialect": "oracle"}, "dialect must be one of standard, duckdb"),
        (gf.Decider({"F": 0.5}), {"score": ""}, "a column must have a name"),
        (gf.Decider({"F\0": 0.5}), {}, "SQL has no string with a null character"),
    ],
)
def test_bad_sql_exports_are_refused(decider, options, text):
    with pytest.raises(ValueError, match=text):
        to_sql(decider, **options)


CROSSED = {("F", 1): 0.1, ("F", -2): 0.75, ("it's", 1): INF, ("it's", -2): -INF}


def crossed_rows():
    """Every combination, among them ones that no threshold is for, though their parts are known."""
    rows = [(s, a, b) for s in (INF, 0.1, 0.5, 0.75, NAN) for a in ("F", "it's", "M") for b in (1, -2, 7)]
    scores, first, second = (list(column) for column in zip(*rows, strict=True))
    return np.array(scores), np.array(first, object), np.array(second)


@pytest.mark.parametrize("options", POLICIES, ids=str)
@pytest.mark.parametrize("missing", [[], [("F", -2)]], ids=["all", "one less"])
def test_sql_of_several_columns_decides_alike(options, missing):
    decider = gf.Decider({name: t for name, t in CROSSED.items() if name not in missing}, **options)
    scores, first, second = crossed_rows()
    expected = answers(decider, scores, zip(first, second.tolist(), strict=True))
    rows = [(i, *row) for i, row in enumerate(zip(scores.tolist(), first, second.tolist(), strict=True))]
    for base, dialect in ((duckdb.connect(), "duckdb"), (sqlite3.connect(":memory:"), "sqlite")):
        base.execute('CREATE TABLE people(i INT, score DOUBLE PRECISION, "the sex" TEXT, "old" INT)')
        base.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", [*rows, (99, 0.5, "F", None), (100, 0.5, None, 1)])
        case = to_sql(decider, group=["the sex", "old"], dialect=dialect)
        found = [row[0] for row in base.execute(f"SELECT {case} FROM people ORDER BY i").fetchall()]
        assert [None if x is None else bool(x) for x in found] == [*expected, None, None]


def test_a_result_is_exported_as_its_decider_is():
    table = gf.datasets.paper_synthetic(rows=2_000, seed=1)
    result = gf.solve(gf.Sketch.from_rows(table.scores, table.labels, table.groups), limits={"equalized_odds": 0.05})
    assert to_sql(result) == to_sql(result.decider())
    for wrong in (result.thresholds, "result", None, gf.Sketch()):
        with pytest.raises(TypeError, match=f"a result or a decider is needed, got {type(wrong).__name__}"):
            to_sql(wrong)
    pytest.importorskip("onnx")
    assert to_onnx(result) == to_onnx(result.decider())
    with pytest.raises(TypeError, match="a result or a decider is needed, got dict"):
        to_onnx(dict(result.thresholds))


def test_columns_must_have_names_of_text():
    with pytest.raises(TypeError, match=r"group must be the name of a column, or a list of names, got \[1\]"):
        to_sql(gf.Decider({"F": 0.5}), group=[1])


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


@pytest.mark.parametrize("options", POLICIES, ids=str)
def test_onnx_of_float32_scores_decides_alike(options):
    pytest.importorskip("onnx")
    huge = {"beyond": 1e300, "below": -1e300, "largest": float(np.finfo(np.float32).max), "less than tiny": -1e-60}
    decider = gf.Decider(THRESHOLDS | huge, **options)
    with np.errstate(over="ignore"):
        near = np.array(list(decider.thresholds.values()), np.float32)
        near = np.concatenate([np.nextafter(near, towards) for towards in (np.float32(-INF), near, np.float32(INF))])
    scores, names = np.concatenate([np.unique(hard_rows(np.float32)[0]), near]), [*decider.groups, "unseen"]
    scores, groups = np.repeat(scores, len(names)), np.tile(np.array(names, object), len(scores))
    given = run_onnx(to_onnx(decider, score_type="float32"), score=scores, group=groups)
    assert given == answers(decider, scores, groups)
    cut = gf.Decider({0: 0.1, 1: 1e-310}, cuts=[0.5], nan=decider.nan)
    numbers = np.tile(np.array([0.25, 0.75, NAN]), len(scores))
    scores = np.repeat(scores, 3)
    assert run_onnx(to_onnx(cut, score_type="float32"), score=scores, group=numbers) == answers(cut, scores, numbers)


def test_onnx_of_float32_scores_is_merged_behind_a_model_of_them():
    """Most models answer in float32: one graph then goes from features to decisions."""
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, compose, helper

    model = helper.make_model(
        helper.make_graph(
            [
                helper.make_node("ReduceSum", ["x", "axis"], ["total"], keepdims=0),
                helper.make_node("Sigmoid", ["total"], ["probability"]),
            ],
            "model",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 3])],
            [helper.make_tensor_value_info("probability", TensorProto.FLOAT, ["rows"])],
            [helper.make_tensor("axis", TensorProto.INT64, [1], [1])],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    x = np.random.default_rng(7).normal(size=(3000, 3)).astype(np.float32)
    groups = np.tile(np.array(["F", "M"], object), 1500)
    runtime = pytest.importorskip("onnxruntime")
    (scores,) = runtime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    decider = gf.Decider({"F": float(scores[0]), "M": np.nextafter(float(scores[1]), 1.0)})
    behind = to_onnx(decider, score_type="float32")
    merged = compose.merge_models(model, behind, io_map=[("probability", "score")])
    onnx.checker.check_model(merged)
    given = run_onnx(merged, x=x, group=groups)
    assert given == answers(decider, scores, groups)
    assert given[:2] == [True, False]


def test_onnx_of_unified_and_numbered_thresholds():
    pytest.importorskip("onnx")
    scores = np.array([0.3, 0.5, NAN, INF])
    unified = gf.Decider({"F": 0.5}, unified=True, nan=True)
    assert run_onnx(to_onnx(unified, score="x"), x=scores) == [False, True, True, True]
    numbered = gf.Decider({1: 0.5, -2: 0.25, 10**12: 0.4})
    groups = np.array([1, -2, 1, 7])
    assert run_onnx(to_onnx(numbered), score=scores, group=groups) == answers(numbered, scores, groups.tolist())


@pytest.mark.parametrize("options", POLICIES, ids=str)
@pytest.mark.parametrize("missing", [[], [("F", -2)]], ids=["all", "one less"])
def test_onnx_of_several_columns_decides_alike(options, missing):
    pytest.importorskip("onnx")
    decider = gf.Decider({name: t for name, t in CROSSED.items() if name not in missing}, **options)
    scores, sex, old = crossed_rows()
    expected = answers(decider, scores, zip(sex, old.tolist(), strict=True))
    assert run_onnx(to_onnx(decider, group=["sex", "old"]), score=scores, sex=sex, old=old) == expected


def test_bad_onnx_exports_are_refused():
    pytest.importorskip("onnx")
    with pytest.raises(ValueError, match="score_type must be one of float64, float32; got 'half'"):
        to_onnx(gf.Decider({"F": 0.5}), score_type="half")
    with pytest.raises(ValueError, match=r"is made of 2 columns, and group='group' names 1"):
        to_onnx(gf.Decider({("F", 1): 0.5}))
    with pytest.raises(ValueError, match="in 64 bits, and these have more; use fewer columns"):
        to_onnx(gf.Decider({(i,) * 16: 0.5 for i in range(16)}), group=list("abcdefghijklmnop"))
    with pytest.raises(ValueError, match="all strings or all ints"):
        to_onnx(gf.Decider({"F": 0.5, 1: 0.5}))
    with pytest.raises(ValueError, match="randomised thresholds need the hash of a key, which ONNX"):
        to_onnx(gf.Decider({"F": 0.5}, mixtures={"F": [(0.5, 1.0)]}))
