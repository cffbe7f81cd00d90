"""What GroupThresholdClassifier refuses, in the user's words, with nothing changed."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.estimator_cases import FirstColumn, people, prefit
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC

import gstar_fast as gf
from gstar_fast import GroupThresholdClassifier

LIMITS = {"equalized_odds": 0.05}
X, y = people()
FEATURES = X[["a", "b"]]


@pytest.mark.parametrize(
    ("options", "table", "text"),
    [
        (
            {"sensitive_features": "gender"},
            X,
            "names the column 'gender', but X has no such column; its columns are",
        ),
        (
            {"sensitive_features": "sex"},
            X.to_numpy(),
            "names the column 'sex', but X is a ndarray without names",
        ),
        ({"sensitive_features": 7}, X, "asks for column 7, but X has 4, numbered from 0"),
        (
            {"sensitive_features": X["sex"]},
            X,
            "names columns of X, which has 4, got 1200 values; groups of rows",
        ),
        ({"sensitive_features": []}, X, "sensitive_features is an empty list; name at least one column of X"),
        ({"sensitive_features": ["sex", "sex"]}, X, r"names a column twice: \['sex', 'sex'\]"),
        ({"sensitive_features": "sex"}, X[["sex"]], "names every column of X; nothing is left to predict from"),
        (
            {"sensitive_features": "sex"},
            pd.concat([X, X[["sex"]]], axis=1),
            "names the column 'sex', but X has more than one of them",
        ),
        (
            {"sensitive_features": "sex"},
            X.assign(sex=X["sex"].where(X.index != 5)),
            "column 'sex' of X has 1 missing value, first at row 5; drop such rows or give them a group",
        ),
        (
            {"sensitive_features": ["sex", "race"]},
            X.assign(race=[None, None, *X["race"][2:]]),
            "column 'race' of X has 2 missing values, first at row 0; drop such rows or give",
        ),
        ({"limits": {"equal_odds": 0.1}}, X, "names in limits must be among .*; got 'equal_odds'; did you mean"),
        ({"objective": {"fp": 1}}, X, r"objective must be 'error', .*; got {'fp': 1}"),
        ({"method": "fast"}, X, "method must be one of exact, alternating"),
        (
            {"density": "foo"},
            X,
            r"density must be one of empirical, kde, .*, or what gf\.density\(sketch, kind=\.\.\.\) returns; got 'foo'",
        ),
        ({"method": "newton"}, X, "method='newton' needs density too; pass a smooth one, such as density='kde'"),
        ({"method": "newton", "density": "kde"}, X, "method='newton' needs penalties too"),
        ({"density": "kde", "randomize": True}, X, "randomize=True does not go with density='kde'"),
        (
            {"method": "alternating", "density": "kde", "unified": True, "penalties": {"equalized_odds": 1}},
            X,
            "method='alternating' does not go with unified=True: it moves one group at a time",
        ),
        ({"unknown": "accept"}, X, 'unknown must be "raise", "default" or a threshold'),
        ({"bins": 1000}, X, "bins must be a power of two"),
        ({"range": (1, 0)}, X, "range must have lo < hi"),
        ({"response_method": "predict"}, X, "response_method must be one of auto, predict_proba, decision_function"),
        ({"pos_label": "yes"}, X, r"pos_label must be one of the classes \[0, 1\], got 'yes'"),
        ({"limits": LIMITS}, X, "limits and penalties compare groups, but there are none: pass sensitive_features=..."),
    ],
)
def test_fit_says_what_is_wrong_before_it_trains(options, table, text):
    class Untrained(FirstColumn):
        def fit(self, X, y, sample_weight=None):
            raise AssertionError("trained")

    model = GroupThresholdClassifier(Untrained(), **options)
    with pytest.raises(ValueError, match=text):
        model.fit(table, y)
    with pytest.raises(ValueError, match=text):
        model.set_params(estimator=prefit(), cv="prefit").partial_fit(table, y)
    assert not hasattr(model, "sketch_")


@pytest.mark.parametrize(
    "options",
    [
        {"density": "foo"},
        {"density": None},
        {"method": "fast"},
        {"method": "newton"},
        {"method": "newton", "density": "kde"},
        {"randomize": True, "unified": True},
    ],
)
def test_options_are_refused_in_the_words_of_solve(options):
    with pytest.raises(ValueError) as of_solve:
        gf.solve(gf.Sketch.from_rows(X["a"], y, X["sex"]), **options)
    with pytest.raises(ValueError) as of_fit:
        GroupThresholdClassifier(FirstColumn(), **options).fit(FEATURES, y)
    assert str(of_fit.value) == str(of_solve.value)


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (
            "sex",
            TypeError,
            r"one value for each row, got 'sex'; to name a column of X, write",
        ),
        (X["sex"][:9], ValueError, "arrays differ in length: X has 1200, sensitive_features has 9"),
        (X["a"], TypeError, "sensitive_features: group names must be int, .*, got float at row 0; .* cut others into"),
        (pd.cut(X["a"], 3), TypeError, "sensitive_features: group names must be int, str, bool .*, got Interval"),
        (pd.Series([pd.NA] * 1200), ValueError, "sensitive_features has 1200 missing values, first at row 0"),
        (pl.Series([None, *X["sex"][1:]]), ValueError, "sensitive_features has 1 missing value, first at row 0"),
        (pa.array([None, *X["sex"][1:]]), ValueError, "sensitive_features has 1 missing value, first at row 0"),
        (
            X[["sex", "race"]].replace("black", None),
            ValueError,
            "column 'race' of sensitive_features has .* missing values",
        ),
        (np.zeros((1200, 2, 2)), ValueError, "sensitive_features must be 1-D, got shape"),
        (
            dict(enumerate(X["sex"])),
            TypeError,
            "must be a column, an array, a list or a table .*, got dict",
        ),
        (iter(X["sex"]), TypeError, "with one value for each row, got"),
        (5, TypeError, "with one value for each row, got int"),
        (np.array("F"), TypeError, "with one value for each row, got ndarray"),
        (X[[]], ValueError, "sensitive_features has no columns; pass at least one"),
    ],
)
def test_fit_says_what_is_wrong_with_sensitive_features(given, error, text):
    with pytest.raises(error, match=text):
        GroupThresholdClassifier(FirstColumn()).fit(FEATURES, y, sensitive_features=given)


@pytest.mark.parametrize("codes", [X["a"], (X["sex"] == "M").astype(float)])
def test_a_column_of_floats_in_a_frame_is_refused_as_group(codes):
    """As everywhere: 1.0 is not the group 1. Only a matrix, which has one type for all columns, is read as meant."""
    model = GroupThresholdClassifier(FirstColumn(), sensitive_features="code")
    with pytest.raises(TypeError, match=r"column 'code' of X: group names must be .* pass whole numbers as int"):
        model.fit(X.assign(code=codes), y)
    matrix = np.column_stack([X["a"], X["b"]])
    with pytest.raises(TypeError, match=r"column 1 of X: group names must be .* cut others into ranges"):
        GroupThresholdClassifier(FirstColumn(), sensitive_features=1).fit(matrix, y)


def test_groups_come_from_one_place():
    both = GroupThresholdClassifier(FirstColumn(), sensitive_features="sex")
    with pytest.raises(ValueError, match="sensitive_features='sex' of the classifier names columns of X, so none may"):
        both.fit(X, y, sensitive_features=X["race"])
    both.fit(X, y)
    with pytest.raises(ValueError, match="sensitive_features='sex' of the classifier names columns of X, so none may"):
        both.predict(X, sensitive_features=X["sex"])
    beside = GroupThresholdClassifier(FirstColumn()).fit(FEATURES, y, sensitive_features=X["sex"])
    with pytest.raises(ValueError, match="fit had sensitive_features, so this needs them too: pass"):
        beside.predict(FEATURES)
    none = GroupThresholdClassifier(FirstColumn()).fit(FEATURES, y)
    with pytest.raises(ValueError, match="fit had no sensitive_features, so there is one threshold for all"):
        none.predict(FEATURES, sensitive_features=X["sex"])


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        ([0, 1, 2] * 400, "Only binary classification is supported. Unknown label type: multiclass"),
        (np.linspace(0, 1, 1200), "Only binary classification is supported. Unknown label type: continuous"),
        ([1] * 1200, "y has only one class, .*1.*; thresholds need rows of both classes"),
        ([0.0, np.nan] * 600, "y has 600 missing labels, first at row 1; drop such rows from X, y and the groups"),
        (["yes", None] * 600, "y has 600 missing labels, first at row 1; drop such rows"),
        (pd.Series([pd.NA, 0, 1] * 400, dtype="Int64"), "y has 400 missing labels, first at row 0; drop such rows"),
        ([0.0, np.inf] * 600, "Input y contains infinity"),
        (None, "requires y to be passed, but the target y is None"),
        ([0, 1], "inconsistent numbers of samples"),
    ],
)
def test_wrong_labels_are_refused(labels, text):
    with pytest.raises(ValueError, match=text):
        GroupThresholdClassifier(FirstColumn()).fit(FEATURES, labels)


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        ([1, 2], "arrays differ in length: y has 1200, sample_weight has 2"),
        (np.r_[-1, np.ones(1199)], "sample_weight must be finite and not negative, got -1.0 at row 0"),
        (np.r_[np.ones(1199), np.nan], "sample_weight must be finite and not negative, got nan at row 1199"),
        (np.zeros(1200), "sample_weight is zero for all rows"),
        (["a"] * 1200, "sample_weight must be numbers, one for each row: could not convert string to float: 'a'"),
        (y, "y has only one class"),
    ],
)
def test_wrong_weights_are_refused(weights, text):
    with pytest.raises(ValueError, match=text):
        GroupThresholdClassifier(FirstColumn()).fit(FEATURES, y, sample_weight=weights)


def test_prefit_looks_at_the_estimator_first():
    with pytest.raises(NotFittedError, match="cv='prefit' needs a fitted estimator, and this LogisticRegression is"):
        GroupThresholdClassifier(LogisticRegression(), cv="prefit").fit(FEATURES, y)
    codes = X[["a", "b"]].assign(sex=(X["sex"] == "M").astype(int))
    for table in (codes, codes.to_numpy()):
        place = "sex" if table is codes else 2
        aware = LogisticRegression().fit(table, y)
        model = GroupThresholdClassifier(aware, cv="prefit", sensitive_features=place)
        with pytest.raises(ValueError, match=r"was fitted with the sensitive columns .*; pass drop_sensitive=False"):
            model.fit(table, y)
        assert list(model.set_params(drop_sensitive=False).fit(table, y).thresholds_) == [0, 1]
        unaware = LogisticRegression().fit(codes[["a", "b"]] if table is codes else table[:, :2], y)
        model = GroupThresholdClassifier(unaware, cv="prefit", sensitive_features=place, drop_sensitive=False)
        with pytest.raises(ValueError, match=r"was fitted without the sensitive columns .*; leave drop_sensitive=True"):
            model.fit(table, y)
        assert list(model.set_params(drop_sensitive=True).fit(table, y).thresholds_) == [0, 1]
    with pytest.raises(ValueError, match="y has 2 at row 1, but the classes are"):
        GroupThresholdClassifier(prefit(), cv="prefit").fit(FEATURES[:2], [0, 2])
    with pytest.raises(ValueError, match="cv='prefit' trains nothing, so there is no use for 'epochs'"):
        GroupThresholdClassifier(prefit(), cv="prefit").fit(FEATURES, y, epochs=3)


def test_an_estimator_without_scores_is_refused():
    with pytest.raises(TypeError, match="estimator must have predict_proba or decision_function, which Linear"):
        GroupThresholdClassifier(LinearRegression()).fit(FEATURES, y)
    with pytest.raises(TypeError, match="estimator must have predict_proba, which LinearSVC has not"):
        GroupThresholdClassifier(LinearSVC(), response_method="predict_proba").fit(FEATURES, y)


def notes_of(error):
    return getattr(error.value, "__notes__", [])


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_estimator_that_misses_a_dropped_column_is_explained(n_jobs):
    encode = make_column_transformer((OneHotEncoder(), ["sex"]), remainder="passthrough")
    pipeline = make_pipeline(encode, LogisticRegression())
    table = X[["a", "b", "sex"]]
    model = GroupThresholdClassifier(pipeline, sensitive_features="sex", n_jobs=n_jobs)
    with pytest.raises(ValueError, match="columns") as error:
        model.fit(table, y)
    assert notes_of(error) == [
        "The columns sensitive_features='sex' were dropped before the estimator saw X; drop_sensitive=False keeps them."
    ]
    assert list(model.set_params(drop_sensitive=False).fit(table, y).thresholds_) == ["F", "M"]


def test_only_errors_of_the_estimator_are_explained():
    table = X[["a", "b", "sex"]]
    beside = GroupThresholdClassifier(LogisticRegression())
    with pytest.raises(ValueError, match="could not convert string to float") as error:
        beside.fit(table, y, sensitive_features=X["sex"])
    assert notes_of(error) == [
        "The estimator was given columns of X that hold text: 'sex'. Encode text in a pipeline, or leave it out of X."
    ]
    with pytest.raises(ValueError, match="fold 3 would train on") as error:
        GroupThresholdClassifier(LogisticRegression(), sensitive_features="sex").fit(table[:9], [0] * 8 + [1])
    assert notes_of(error) == []


def test_infeasible_limits_warn():
    model = GroupThresholdClassifier(prefit(), limits={"accuracy_parity": 0.0}, cv="prefit")
    with pytest.warns(UserWarning, match="infeasible: no thresholds at bin edges meet these limits"):
        model.fit([[0.0]] * 5, [0, 1, 1, 1, 0], sensitive_features=list("aabbb"))
    assert model.result_.verdict == "infeasible"


def test_a_lazy_frame_is_refused():
    model = GroupThresholdClassifier(FirstColumn(), sensitive_features="sex").fit(X, y)
    with pytest.raises(TypeError, match=r"X is a LazyFrame, which has no rows yet; pass X.collect\(\)"):
        model.predict(pl.LazyFrame({"a": [1.0], "sex": ["F"]}))


def test_a_failed_fit_keeps_what_was_learned():
    model = GroupThresholdClassifier(FirstColumn(), limits=LIMITS).fit(FEATURES, y, sensitive_features=X["sex"])
    result = model.result_
    with pytest.raises(ValueError):
        model.fit(FEATURES, y, sensitive_features=["F"] * len(y) + ["M"])
    assert model.result_ is result
