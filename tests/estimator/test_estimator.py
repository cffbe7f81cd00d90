"""GroupThresholdClassifier: thresholds from out-of-fold scores, groups from any column, errors in the user's words."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from helpers.estimator_cases import FirstColumn, people, prefit
from helpers.strategies import tables
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import gstar_fast as gf
from gstar_fast import GroupThresholdClassifier

LIMITS = {"equalized_odds": 0.05}


X, y = people()
FEATURES = X[["a", "b"]]


# ---------------------------------------------------------------------------------------------------------------- laws


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gstar_fast.errors.DegenerateWarning")
@pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")
@given(table=tables(labelled=True).filter(lambda t: len(t.scores)), bins=st.sampled_from([16, 4096]))
def test_prefit_equals_solve_on_the_sketch_of_the_scores(backend, table, bins):
    model = GroupThresholdClassifier(prefit(), cv="prefit", bins=bins)
    model.fit(table.scores[:, None], table.labels, sensitive_features=table.groups)
    sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups, bins=bins)
    assert model.sketch_ == sketch
    assert model.result_ == gf.solve(sketch)


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.DegenerateWarning")
@pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")
@given(table=tables(labelled=True).filter(lambda t: len(t.scores)))
def test_predict_equals_the_decider_on_the_scores(backend, table):
    model = GroupThresholdClassifier(prefit((3, 7)), cv="prefit")
    rows = table.scores[:, None]
    model.fit(rows, np.where(table.labels, 7, 3), sensitive_features=table.groups)
    decisions = model.result_.decider()(table.scores, table.groups)
    assert model.predict(rows, sensitive_features=table.groups).tolist() == np.where(decisions, 7, 3).tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gstar_fast.errors.DegenerateWarning")
@pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")
@given(table=tables(labelled=True).filter(lambda t: len(t.scores)), cut=st.integers(1, 40))
def test_partial_fit_in_pieces_equals_all_at_once(backend, table, cut):
    whole = GroupThresholdClassifier(prefit(), cv="prefit")
    whole.fit(table.scores[:, None], table.labels, sensitive_features=table.groups)
    pieces = GroupThresholdClassifier(prefit(), cv="prefit")
    for rows in (range(cut), range(cut, len(table.scores))):
        part = table.take([row for row in rows if row < len(table.scores)])
        if len(part.scores):
            pieces.partial_fit(part.scores[:, None], part.labels, sensitive_features=part.groups)
    assert pieces.sketch_ == whole.sketch_
    assert pieces.result_ == whole.result_


def test_fit_counts_every_row_once_out_of_fold(backend):
    model = GroupThresholdClassifier(FirstColumn(), limits=LIMITS).fit(FEATURES, y, sensitive_features=X["sex"])
    assert model.sketch_ == gf.Sketch.from_rows(FEATURES["a"], y, X["sex"])


def test_weight_two_decides_as_twice_and_weight_zero_equals_absent(backend):
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    weighted = GroupThresholdClassifier(prefit(), limits=LIMITS, cv="prefit")
    weighted.fit(FEATURES, y, sensitive_features=X["sex"], sample_weight=weight)
    repeated = GroupThresholdClassifier(prefit(), limits=LIMITS, cv="prefit")
    rows = np.repeat(np.arange(len(y)), weight)
    repeated.fit(FEATURES.iloc[rows], y[rows], sensitive_features=X["sex"].iloc[rows])
    assert weighted.result_.thresholds == repeated.result_.thresholds
    assert weighted.result_.error == repeated.result_.error
    assert (weighted.sketch_.n_rows, weighted.sketch_.weight) == ((weight > 0).sum(), weight.sum())


def test_the_limit_holds_on_the_counted_scores(backend):
    model = GroupThresholdClassifier(LogisticRegression(), limits=LIMITS, sensitive_features="sex", drop_sensitive=True)
    result = model.fit(X[["a", "b", "sex"]], y).result_
    assert result.verdict == "optimal"
    assert result.gaps["equalized_odds"] <= 0.05
    assert result.gaps.before["equalized_odds"] > 0.2
    assert result.origin.group_column == "sex"
    assert result.origin.score_column is None
    assert model.thresholds_ == result.thresholds


# ------------------------------------------------------------------------------------------------- groups in any form


FORMS = {
    "Series": lambda: X["sex"],
    "categorical": lambda: X["sex"].astype("category"),
    "array": lambda: X["sex"].to_numpy(),
    "fixed width": lambda: X["sex"].to_numpy().astype("U1"),
    "list": lambda: X["sex"].tolist(),
    "polars": lambda: pl.Series("sex", X["sex"].to_numpy()),
    "Arrow": lambda: pa.array(X["sex"]),
    "chunked Arrow": lambda: pa.chunked_array([X["sex"][:7], X["sex"][7:]]),
    "dictionary": lambda: pa.array(X["sex"]).dictionary_encode(),
    "frame": lambda: X[["sex"]],
    "polars frame": lambda: pl.DataFrame({"sex": X["sex"].to_numpy()}),
    "2-D array": lambda: X[["sex"]].to_numpy(),
}


@pytest.mark.parametrize("form", FORMS)
def test_one_sensitive_feature_in_any_form(form):
    expected = GroupThresholdClassifier(prefit(), limits=LIMITS, cv="prefit")
    expected.fit(FEATURES, y, sensitive_features=np.array(X["sex"], object))
    model = GroupThresholdClassifier(prefit(), limits=LIMITS, cv="prefit")
    model.fit(FEATURES, y, sensitive_features=FORMS[form]())
    assert model.thresholds_ == expected.thresholds_
    decisions = model.predict(FEATURES, sensitive_features=FORMS[form]())
    assert np.array_equal(decisions, expected.predict(FEATURES, sensitive_features=X["sex"]))


@pytest.mark.parametrize(
    "both",
    [
        X[["sex", "race"]],
        pl.DataFrame({"sex": X["sex"].to_numpy(), "race": X["race"].to_numpy()}),
        pa.table({"sex": pa.array(X["sex"]), "race": pa.array(X["race"])}),
        X[["sex", "race"]].to_numpy(),
        list(zip(X["sex"], X["race"], strict=True)),
        X[["sex", "race"]].to_numpy().tolist(),
        pd.MultiIndex.from_frame(X[["sex", "race"]]).rename([None, None]),
    ],
    ids=["pandas", "polars", "pyarrow", "array", "tuples", "lists", "MultiIndex"],
)
def test_several_sensitive_features_make_intersections(both):
    model = GroupThresholdClassifier(prefit(), limits=LIMITS, cv="prefit").fit(FEATURES, y, sensitive_features=both)
    assert list(model.thresholds_) == [("F", "black"), ("F", "white"), ("M", "black"), ("M", "white")]
    assert model.result_.origin.group_column == ("sex,race" if hasattr(both, "columns") else None)
    pairs = list(zip(X["sex"], X["race"], strict=True))
    cut = GroupThresholdClassifier(LogisticRegression(), limits=LIMITS, cv=3)  # folds too are the same in every form
    expected = cut.fit(FEATURES, y, sensitive_features=pairs).thresholds_
    assert cut.fit(FEATURES, y, sensitive_features=both).thresholds_ == expected
    decisions = model.result_.decider()(FEATURES["a"], pairs)
    assert np.array_equal(model.predict(FEATURES, sensitive_features=both), decisions)


TABLES = {
    "pandas": lambda: X,
    "polars": lambda: pl.DataFrame({name: X[name].to_numpy() for name in X}),
    "pyarrow": lambda: pa.table({name: pa.array(X[name]) for name in X}),
}


@pytest.mark.parametrize("form", TABLES)
@pytest.mark.parametrize("columns", ["sex", ["sex"], ["sex", "race"], 2, [-2, 3]])
def test_sensitive_features_as_columns_of_a_table(form, columns):
    table, several = TABLES[form](), isinstance(columns, list) and len(columns) > 1
    drop = X.columns[[2, 3]].tolist() if several else ["sex"]
    model = GroupThresholdClassifier(FirstColumn(), limits=LIMITS, sensitive_features=columns).fit(table, y)
    beside = GroupThresholdClassifier(FirstColumn(), limits=LIMITS)
    beside.fit(X.drop(columns=drop), y, sensitive_features=X[drop])
    assert model.result_.thresholds == beside.result_.thresholds
    assert model.result_.origin.group_column == ("sex,race" if several else "sex")
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == ["a", "b", "sex", "race"]
    expected = beside.predict(X.drop(columns=drop), sensitive_features=X[drop])
    assert np.array_equal(model.predict(table), expected)


@pytest.mark.parametrize("form", TABLES)
def test_strings_in_a_dropped_column_do_not_break_a_numeric_model(form):
    table = TABLES[form]()
    model = GroupThresholdClassifier(LogisticRegression(), limits=LIMITS, sensitive_features=["sex", "race"])
    assert model.fit(table, y).estimator_.feature_names_in_.tolist() == ["a", "b"]
    assert model.predict_proba(table).shape == (len(y), 2)
    assert model.score(table, y) > 0.6


@pytest.mark.parametrize("form", TABLES)
def test_a_pipeline_may_keep_and_encode_the_sensitive_column(form):
    encode = make_column_transformer((OneHotEncoder(), ["sex", "race"]), remainder=StandardScaler())
    pipeline = make_pipeline(encode, LogisticRegression())
    model = GroupThresholdClassifier(pipeline, limits=LIMITS, sensitive_features="sex", drop_sensitive=False)
    assert model.fit(TABLES[form](), y).estimator_.n_features_in_ == 4
    assert list(model.thresholds_) == ["F", "M"]


@pytest.mark.parametrize("to", [np.asarray, scipy.sparse.csr_array, scipy.sparse.coo_array, np.ndarray.tolist])
def test_codes_in_an_array_of_floats_are_whole_numbers(to):
    rows = np.column_stack([X["a"], X["sex"] == "M", X["b"]]).astype(float)
    model = GroupThresholdClassifier(LogisticRegression(), limits=LIMITS, sensitive_features=1).fit(to(rows), y)
    assert list(model.thresholds_) == [0, 1]
    assert model.estimator_.n_features_in_ == 2
    assert model.n_features_in_ == 3
    assert not hasattr(model, "feature_names_in_")
    assert model.predict(to(rows)).shape == y.shape


def test_strings_beside_numbers_in_an_array_of_objects():
    for rows in (X[["a", "sex"]].to_numpy(dtype=object), X[["a", "sex"]].to_numpy(dtype=object).tolist()):
        model = GroupThresholdClassifier(LogisticRegression(), sensitive_features=1).fit(rows, y)
        assert list(model.thresholds_) == ["F", "M"]


def test_without_sensitive_features_there_is_one_group():
    model = GroupThresholdClassifier(LogisticRegression()).fit(FEATURES, y)
    assert list(model.thresholds_) == ["all"]
    scores = model.predict_proba(FEATURES)[:, 1]
    assert np.array_equal(model.predict(FEATURES), scores >= model.thresholds_["all"])


def test_unified_thresholds_need_no_group_to_predict():
    model = GroupThresholdClassifier(FirstColumn(), unified=True, penalties={"equal_opportunity": 1.0})
    model.fit(FEATURES, y, sensitive_features=X["sex"])
    assert len(set(model.thresholds_.values())) == 1
    assert np.array_equal(model.predict(FEATURES), model.predict(FEATURES, sensitive_features=X["sex"]))


@pytest.mark.parametrize("columns", ["sex", ["sex", "race"]])
def test_where_groups_do_not_matter_x_may_come_without_them(columns):
    options = {"sensitive_features": columns, "penalties": {"equal_opportunity": 1.0}}
    table = X if isinstance(columns, list) else X.drop(columns="race")
    model = GroupThresholdClassifier(LogisticRegression(), unified=True, **options).fit(table, y)
    assert np.array_equal(model.predict(FEATURES), model.predict(table))
    assert np.array_equal(model.predict_proba(FEATURES), model.predict_proba(table))
    by_group = GroupThresholdClassifier(LogisticRegression(), **options).fit(table, y)
    with pytest.raises(ValueError, match="names the column 'sex', but X has no such column"):
        by_group.predict(FEATURES)


def test_an_unseen_group_follows_the_policy(backend):
    groups = np.array(["F", "X", "M"])
    rows = FEATURES[:3]

    def fitted(unknown):
        model = GroupThresholdClassifier(FirstColumn(), limits=LIMITS, unknown=unknown)
        return model.fit(FEATURES, y, sensitive_features=X["sex"])

    with pytest.raises(ValueError, match=r"group 'X' at row 1 was not there in fit; its groups were 'F', 'M'; choose"):
        fitted("raise").predict(rows, sensitive_features=groups)
    assert fitted(-np.inf).predict(rows, sensitive_features=groups)[1] == 1
    assert fitted(np.inf).predict(rows, sensitive_features=groups)[1] == 0
    model = fitted("default")
    assert model.predict(rows, sensitive_features=groups)[1] == (rows["a"].iloc[1] >= model.result_.thresholds.default)


def test_randomised_decisions_follow_keys(backend):
    model = GroupThresholdClassifier(FirstColumn(), limits={"equalized_odds": 0.0}, randomize=True)
    model.fit(FEATURES, y, sensitive_features=X["sex"])
    keys = np.arange(len(y))
    decisions = model.predict(FEATURES, sensitive_features=X["sex"], keys=keys)
    assert np.array_equal(decisions, model.result_.decider()(FEATURES["a"], X["sex"], keys=keys))
    with pytest.raises(ValueError, match=r"these thresholds are randomised; pass keys=..., what identifies each row"):
        model.predict(FEATURES, sensitive_features=X["sex"])


# -------------------------------------------------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    "labels",
    [
        np.where(y, "yes", "no"),
        np.where(y, 1, -1),
        y.astype(bool),
        y.astype(float),
        pd.Series(np.where(y, "yes", "no")),
        pd.Series(y).astype("category"),
        pl.Series(np.where(y, "yes", "no")),
        pa.array(np.where(y, "yes", "no")),
        np.where(y, "yes", "no").astype(object),
    ],
    ids=lambda labels: f"{type(labels).__module__.split('.')[0]} {getattr(labels, 'dtype', '')}",
)
def test_labels_of_any_kind(labels):
    model = GroupThresholdClassifier(LogisticRegression(), limits=LIMITS, sensitive_features="sex")
    model.fit(X[["a", "b", "sex"]], labels)
    plain = GroupThresholdClassifier(LogisticRegression(), limits=LIMITS, sensitive_features="sex")
    plain.fit(X[["a", "b", "sex"]], y)
    assert model.thresholds_ == plain.thresholds_
    decisions = model.predict(X[["a", "b", "sex"]])
    assert decisions.dtype == model.classes_.dtype
    assert np.array_equal(decisions == model.classes_[1], plain.predict(X[["a", "b", "sex"]]) == 1)


@pytest.mark.parametrize("method", ["predict_proba", "decision_function"])
def test_pos_label_turns_the_scores_around(method):
    """Accepting the other class: scores, labels and so tpr are those of `classes_[0]`."""
    model = GroupThresholdClassifier(LogisticRegression(), pos_label="no", response_method=method)
    labels = np.where(y, "yes", "no")
    model.fit(FEATURES, labels, sensitive_features=X["sex"])
    answer = getattr(model, method)(FEATURES)
    scores = answer[:, 0] if method == "predict_proba" else -answer
    decisions = model.result_.decider()(scores, X["sex"])
    predicted = model.predict(FEATURES, sensitive_features=X["sex"])
    assert np.array_equal(predicted, np.where(decisions, "no", "yes"))
    assert (predicted == labels).mean() > 0.6


def test_auto_takes_probabilities_first():
    features, labels = FEATURES, y
    auto = GroupThresholdClassifier(LogisticRegression()).fit(features, labels)
    assert 0 < auto.thresholds_["all"] < 1
    chosen = GroupThresholdClassifier(LogisticRegression(), response_method="predict_proba").fit(features, labels)
    assert auto.thresholds_ == chosen.thresholds_
    only = GroupThresholdClassifier(LinearSVC()).fit(features, labels)
    assert np.array_equal(only.predict(features), only.decision_function(features) >= only.thresholds_["all"])
    assert not hasattr(only, "predict_proba")


# -------------------------------------------------------------------------------------------------------- partial_fit


def test_partial_fit_counts_and_does_not_train(backend):
    rows = X[["a", "b", "sex"]]
    model = GroupThresholdClassifier(LogisticRegression(), limits=LIMITS, sensitive_features="sex")
    model.fit(rows[:600], y[:600])
    estimator, coefficients = model.estimator_, model.estimator_.coef_.copy()
    before, old = model.sketch_.copy(), model.thresholds_
    new, new_y = people(seed=5)
    new = new[rows.columns]
    assert model.partial_fit(new, new_y) is model
    assert model.estimator_ is estimator
    assert np.array_equal(estimator.coef_, coefficients)
    scores = model.predict_proba(new)[:, 1]
    assert model.sketch_ == before + gf.Sketch.from_rows(scores, new_y, new["sex"])
    assert model.thresholds_ == gf.solve(model.sketch_, limits=LIMITS).thresholds != old
    assert model.result_.origin.group_column == "sex"


def test_a_stream_may_begin_before_it_can_be_solved():
    """The first rows have one group without positives; thresholds are asked for when there are enough."""
    model = GroupThresholdClassifier(prefit(), limits=LIMITS, cv="prefit")
    model.partial_fit([[0.1], [0.2], [0.3]], [0, 1, 0], sensitive_features=["F", "F", "M"], classes=[0, 1])
    with pytest.raises(ValueError, match="group 'M' has no positive labels"):
        model.predict([[0.1]], sensitive_features=["F"])
    model.partial_fit([[0.7]], [1], sensitive_features=["M"])
    assert model.predict([[0.9]], sensitive_features=["M"]).tolist() == [1]


def test_the_first_partial_fit_of_an_unfitted_classifier_is_fit():
    model = GroupThresholdClassifier(LogisticRegression(), limits=LIMITS)
    model.partial_fit(FEATURES, y, sensitive_features=X["sex"], classes=[0, 1])
    fitted = GroupThresholdClassifier(LogisticRegression(), limits=LIMITS).fit(FEATURES, y, sensitive_features=X["sex"])
    assert model.result_ == fitted.result_


def test_a_refused_partial_fit_changes_nothing(backend):
    model = GroupThresholdClassifier(FirstColumn(), limits=LIMITS).fit(FEATURES, y, sensitive_features=X["sex"])
    before, result = model.sketch_.to_bytes(), model.result_
    for labels, groups, more in [
        ([2, 0], ["F", "M"], {}),
        ([0, 1], ["F", None], {}),
        ([0, 1], ["F"], {}),
        ([0, 1], None, {}),
        ([0, 1], ["F", "M"], {"sample_weight": [1, -1]}),
        ([0, 1], ["F", "M"], {"classes": [1, 2]}),
    ]:
        with pytest.raises(ValueError):
            model.partial_fit([[0.5], [0.1]], labels, sensitive_features=groups, **more)
    with pytest.raises(ValueError, match=r"FirstColumn.decision_function gave NaN for 1 of 2 rows, first for row 1"):
        model.partial_fit([[0.5], [np.nan]], [0, 1], sensitive_features=["F", "M"])
    assert model.sketch_.to_bytes() == before
    assert model.result_ is result


# ------------------------------------------------------------------------------------------------------------- weights


def test_weights_for_an_estimator_that_takes_none_are_counted_all_the_same():
    class Plain(FirstColumn):
        def fit(self, X, y):
            return super().fit(X, y)

    with pytest.warns(UserWarning, match="Plain.fit takes no sample_weight; weights count for the thresholds only"):
        model = GroupThresholdClassifier(Plain()).fit(FEATURES, y, sample_weight=np.full(len(y), 2))
    assert model.sketch_.weight == 2 * len(y)


def test_weights_reach_the_estimator_that_takes_them():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights = np.random.default_rng(0).random(len(y))
        model = GroupThresholdClassifier(FirstColumn()).fit(FEATURES, y, sample_weight=weights)
    assert np.array_equal(model.estimator_.weights_, weights)
    assert model.sketch_.weighted
