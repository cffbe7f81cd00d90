"""Several columns of groups mean intersections wherever groups are taken, and a float is a group nowhere."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast._input.group_columns import columns_of

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

rng = np.random.default_rng(5)
N = 400
SEX, OLD = rng.choice(["F", "M"], N), rng.choice([30, 60], N)
LABELS = rng.integers(0, 2, N)
SCORES = rng.normal(LABELS + (SEX == "M"))
TUPLES = list(zip(SEX.tolist(), OLD.tolist(), strict=True))
DECIDER_OF = {("F", 30): 0.25, ("F", 60): 0.5, ("M", 30): 0.75, ("M", 60): 1.0}

FORMS = {
    "pandas": lambda: pd.DataFrame({"sex": SEX, "old": OLD}),
    "categories": lambda: pd.DataFrame({"sex": pd.Categorical(SEX), "old": pd.Series(OLD, dtype="Int64")}),
    "polars": lambda: pl.DataFrame({"sex": SEX, "old": OLD}),
    "pyarrow": lambda: pa.table({"sex": SEX, "old": OLD}),
    "record batch": lambda: pa.record_batch({"sex": pa.array(SEX), "old": pa.array(OLD)}),
    "structured": lambda: np.array(TUPLES, [("sex", "U1"), ("old", "i4")]),
    "2-D objects": lambda: np.array(TUPLES, object),
    "lists as rows": lambda: [list(row) for row in TUPLES],
    "list of arrays": lambda: [SEX, OLD],
    "tuple of arrays": lambda: (SEX, OLD),
    "list of series": lambda: [pd.Series(SEX, name="sex"), pd.Series(OLD, name="old")],
    "mixed list": lambda: [SEX.tolist(), pa.array(OLD)],
    "polars series": lambda: [pl.Series(SEX), pl.Series(OLD)],
}


@pytest.fixture(params=FORMS)
def columns(request):
    return FORMS[request.param]()


def test_a_sketch_counts_intersections(backend, columns):
    expected = gf.Sketch.from_rows(SCORES, LABELS, TUPLES)
    assert gf.Sketch.from_rows(SCORES, LABELS, columns) == expected
    assert gf.Sketch().update(SCORES, LABELS, columns, weights=np.ones(N)) == expected
    assert gf.Window(panes=2).update(SCORES, LABELS, columns).sketch == expected


def test_a_decider_decides_intersections(backend, columns):
    decider = gf.Decider(DECIDER_OF)
    expected = np.array([decider.one(score, group) for score, group in zip(SCORES.tolist(), TUPLES, strict=True)])
    assert np.array_equal(decider(SCORES, columns), expected)
    assert np.array_equal(decider.margin(SCORES, columns) >= 0, expected)
    assert np.array_equal(gf.LiveDecider(decider)(SCORES, columns), expected)
    out = np.empty(N, bool)
    assert np.array_equal(decider(SCORES, columns, out=out, threads=2), expected)
    with pytest.raises(TypeError, match="codes=True needs one column"):
        decider(SCORES, columns, codes=True)


def test_an_audit_has_intersections(columns):
    decisions = SCORES > 0.5
    expected = gf.audit(decisions=decisions, labels=LABELS, groups=TUPLES, replicates=0)
    assert gf.audit(decisions=decisions, labels=LABELS, groups=columns, replicates=0) == expected
    assert expected.groups == tuple(DECIDER_OF)


@pytest.mark.slow
def test_the_estimator_takes_the_same_columns(columns):
    from sklearn.linear_model import LogisticRegression

    rows = SCORES[:, None]
    model = gf.GroupThresholdClassifier(LogisticRegression(), cv=2).fit(rows, LABELS, sensitive_features=columns)
    assert tuple(model.thresholds_) == tuple(DECIDER_OF)
    by_tuples = gf.GroupThresholdClassifier(LogisticRegression(), cv=2).fit(rows, LABELS, sensitive_features=TUPLES)
    assert model.sketch_ == by_tuples.sketch_
    assert np.array_equal(
        model.predict(rows, sensitive_features=columns), by_tuples.predict(rows, sensitive_features=TUPLES)
    )


@pytest.mark.parametrize("one", [SEX, pd.DataFrame({"sex": SEX}), SEX[:, None], [SEX], [[name] for name in SEX]])
def test_one_column_keeps_its_names(backend, one):
    """As in update_table: a single column makes plain names, not tuples of one."""
    assert gf.Sketch.from_rows(SCORES, LABELS, one) == gf.Sketch.from_rows(SCORES, LABELS, SEX)
    decider = gf.Decider({"F": 0.25, "M": 0.75})
    assert np.array_equal(decider(SCORES, one), decider(SCORES, SEX))


@pytest.mark.slow
@given(
    rows=st.lists(st.tuples(st.sampled_from("ab"), st.booleans(), st.integers(-3, 3)), max_size=30),
    form=st.sampled_from(["frame", "arrays", "lists"]),
)
def test_columns_are_the_tuples_of_their_rows(backend, rows, form):
    columns = [np.array([row[i] for row in rows], kind) for i, kind in enumerate(("U1", bool, np.int64))]
    groups = {"frame": pd.DataFrame(dict(enumerate(columns))), "arrays": columns, "lists": [list(row) for row in rows]}
    scores, labels = np.arange(len(rows)) / 8, np.arange(len(rows)) % 2
    assert gf.Sketch.from_rows(scores, labels, groups[form]) == gf.Sketch.from_rows(scores, labels, rows)


@pytest.mark.parametrize(
    ("groups", "error", "text"),
    [
        ([SEX, OLD[:9]], ValueError, "column 0 of groups has 400, column 1 of groups has 9"),
        ([SEX[:9], OLD[:9]], ValueError, "arrays differ in length: scores has 400, .*groups has 9"),
        (np.array([SEX, OLD]), ValueError, "groups has 400 columns, and at most 16 make a group; .* one row"),
        ([SEX.tolist(), OLD.tolist()], ValueError, "groups has 400 columns, .* pass columns as a frame, or as a list"),
        ([SEX, 5], TypeError, "groups is a list of columns, but its entry 1 is a int"),
        (pd.DataFrame({"sex": SEX, "old": OLD})[[]], ValueError, "groups has no columns; pass at least one"),
        (
            pd.DataFrame({"sex": SEX, "old": pd.Series(OLD).where(OLD == 30)}),
            TypeError,
            r"column 'old' of groups: groups has a missing value at row \d+; .* then pass groups.astype\(int\)",
        ),
        (
            pd.DataFrame({"sex": SEX, "old": SCORES}),
            TypeError,
            "column 'old' of groups: group names must be int, .*, got float at row 0; .* cut others into ranges",
        ),
        (pl.DataFrame({"sex": SEX, "old": OLD}).lazy(), TypeError, r"no rows yet; pass groups.collect\(\)"),
        ({"sex": SEX, "old": OLD}, TypeError, "groups must be an array, a frame or a list of columns, got dict"),
        ([["F", 30], ["M"]], ValueError, "groups is a list of lists, one for each row, which differ in length"),
        ([["F", 30], "M"], ValueError, "groups is a list of lists, one for each row, which differ in length"),
        ([SEX] * 17, ValueError, "groups has 17 columns, and at most 16 make a group"),
    ],
)
def test_bad_columns_are_named_and_change_nothing(backend, groups, error, text):
    sketch, decider = gf.Sketch(), gf.Decider(DECIDER_OF)
    with pytest.raises(error, match=text):
        sketch.update(SCORES, LABELS, groups)
    assert sketch == gf.Sketch()
    with pytest.raises(error, match=text):
        decider(SCORES, groups)


# ---------------------------------------------------------------------------------------------------------------- float

FLOATS = {
    "float64": np.array([1.0, 2.0] * 200),
    "float32": np.array([1.0, 2.0] * 200, np.float32),
    "list": [1.0, 2.0] * 200,
    "mixed list": [1, 2.0] * 200,
    "objects": np.array([1.0, 2.0] * 200, object),
    "series": pd.Series([1.0, 2.0] * 200),
    "nullable": pd.Series([1.0, 2.0] * 200, dtype="Float64"),
    "categories": pd.Categorical([1.0, 2.0] * 200),
    "polars": pl.Series([1.0, 2.0] * 200),
    "arrow": pa.array([1.0, 2.0] * 200),
    "ages": SCORES,
    "frame": pd.DataFrame({"a": SEX, "b": [1.0, 2.0] * 200}),
    "with a hole": pd.Series([1, None] * 200),
}


@pytest.mark.parametrize("groups", FLOATS.values(), ids=FLOATS)
def test_floats_are_refused_alike_wherever_groups_are_taken(backend, groups):
    """1.0 is not the group 1: not here and there, but nowhere."""
    from sklearn.linear_model import LogisticRegression

    model = gf.GroupThresholdClassifier(LogisticRegression(), cv=2)
    takers = [
        lambda: gf.Sketch.from_rows(SCORES, LABELS, groups),
        lambda: gf.Window().update(SCORES, LABELS, groups),
        lambda: gf.Decider({1: 0.5, 2: 0.5})(SCORES, groups),
        lambda: gf.Decider({1: 0.5, 2: 0.5}).margin(SCORES, groups),
        lambda: gf.LiveDecider(gf.Decider({1: 0.5, 2: 0.5}))(SCORES, groups),
        lambda: gf.audit(decisions=LABELS, labels=LABELS, groups=groups),
    ]
    said = set()
    for take in takers:
        with pytest.raises(TypeError) as error:
            take()
        said.add(str(error.value))
    assert len(said) == 1
    (text,) = said
    assert ("astype(int)" in text) or ("cut others" in text)
    with pytest.raises((TypeError, ValueError), match=r"group names must be|missing value"):
        model.fit(SCORES[:, None], LABELS, sensitive_features=groups)


def test_a_float_as_the_name_of_one_group_is_refused(backend):
    sketch = gf.Sketch.from_rows(SCORES, LABELS, OLD)
    for take in (
        lambda: gf.Sketch(groups=[30.0]),
        lambda: gf.Sketch().update_one(0.5, 1, 30.0),
        lambda: gf.Decider({30.0: 0.5}),
        lambda: gf.Decider({30: 0.5}).one(0.5, 30.0),
        lambda: gf.Decider({30: 0.5}).one(0.5, np.float32(30)),
        lambda: gf.audit({30.0: 0.5, 60.0: 0.5}, sketch),
        lambda: sketch.moments(1, 30.0),
        lambda: gf.density(sketch, 1, 30.0),
        lambda: sketch.update_table(pl.DataFrame({"p": [0.5], "y": [1], "g": [30.0]}), score="p", label="y", group="g"),
    ):
        with pytest.raises(
            TypeError, match=r"group names must be int, str, bool or tuples of these, got float.*as int"
        ):
            take()


def test_the_command_line_refuses_a_column_of_floats_too(tmp_path, capsys):
    from gstar_fast.__main__ import main

    path = tmp_path / "people.parquet"
    pl.DataFrame({"p": SCORES, "y": LABELS, "g": OLD.astype(float)}).write_parquet(path)
    sketch = ["sketch", str(path), "--score", "p", "--label", "y", "--group", "g", "-o", str(tmp_path / "out.gstar")]
    assert main(sketch) == 1
    assert "groups must be integers or text" in capsys.readouterr().err


# -------------------------------------------------------------------------------------------------------- what is what


def test_names_are_not_taken_for_columns():
    for names in (["F", "M"], [1, 2], [("F", 1), ("M", 2)], [np.str_("F")], [np.int64(1)], [], np.array(["F"]), [None]):
        assert columns_of(names, "groups") is None
    assert columns_of(pd.MultiIndex.from_tuples(TUPLES), "groups") is None
    assert columns_of(pa.chunked_array([["F"], ["M"]]), "groups") is None


def test_a_list_of_series_keeps_their_names_for_the_thresholds_file():
    from sklearn.linear_model import LogisticRegression

    model = gf.GroupThresholdClassifier(LogisticRegression(), cv=2)
    model.fit(SCORES[:, None], LABELS, sensitive_features=FORMS["list of series"]())
    assert json.loads(model.result_.to_json())["group_column"] == "sex,old"
