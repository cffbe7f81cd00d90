"""GroupThresholdClassifier(decide_by=...): gaps between protected groups, and nobody asks for the group to decide."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from helpers.estimator_cases import FirstColumn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC

import gstar_fast as gf
from gstar_fast import GroupThresholdClassifier

LIMITS = {"equalized_odds": 0.05}
pytestmark = pytest.mark.filterwarnings(
    "ignore::gstar_fast.errors.DegenerateWarning",
    "ignore::gstar_fast.errors.InfeasibleWarning",
    "ignore::gstar_fast.errors.OverfitWarning",
)


def people(n=2400, seed=0):
    """Men score higher for the same label; their jobs and regions tell them from women, poorly."""
    rng = np.random.default_rng(seed)
    man, y = rng.random(n) < 0.5, (rng.random(n) < 0.4).astype(int)
    region = (rng.random(n) < np.where(man, 0.75, 0.25)).astype(int)
    skill, job = 1.6 * y + 0.8 * man + rng.normal(size=n), man + rng.normal(scale=0.8, size=n)
    sex, race = np.where(man, "M", "F"), rng.choice(["black", "white"], n)
    return pd.DataFrame({"skill": skill, "job": job, "region": region, "sex": sex, "race": race}), y


X, y = people()
X, RACE = X.drop(columns="race"), X["race"]
NEW, _ = people(seed=1)
NEW = NEW.drop(columns="race")
FEATURES = X[["skill", "job", "region"]]


class Job(ClassifierMixin, BaseEstimator):
    """A classifier whose probability is known; it remembers what it was trained on, and on what."""

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.seen_, self.target_, self.weights_ = np.unique(y), X, y, sample_weight
        return self

    def predict_proba(self, X):
        q = 1 / (1 + np.exp(-np.asarray(X)[:, 1].astype(float)))
        return np.column_stack([1 - q, q])


def q_of(table):
    return Job().predict_proba(table)[:, 1]


def model_by(by, estimator=None, **options):
    options = {"limits": LIMITS, "sensitive_features": "sex", **options}
    return GroupThresholdClassifier(FirstColumn() if estimator is None else estimator, decide_by=by, **options)


# ---------------------------------------------------------------------------------------------------------------- laws


@pytest.mark.slow
def test_fit_equals_cutting_counting_and_solving_by_hand(backend):
    """Of models whose scores and probabilities do not depend on what they are trained on."""
    model = model_by(gf.GroupProbability(Job())).fit(X, y)
    q = q_of(FEATURES)
    cut = gf.Segments.from_scores(q, y, X["sex"])
    assert cut.count > 4
    sketch = gf.Sketch.from_rows(X["skill"], y, [X["sex"].to_numpy(), cut.cut(q)])
    result = gf.solve(sketch, limits=LIMITS, fair_between=0, decide_by=cut.of(1))
    assert model.segments_ == cut
    assert (model.sketch_.groups, model.sketch_.n_rows) == (sketch.groups, sketch.n_rows)
    assert (model.thresholds_, model.result_.question.cuts, model.result_.question.monotone) == (
        result.thresholds,
        cut.cuts,
        True,
    )
    assert (model.result_.question.fair_between, model.result_.question.columns) == (("sex",), ("segment",))
    expected = result.decider()(NEW["skill"], q_of(NEW)).astype(int)
    assert np.array_equal(model.predict(NEW), expected)
    assert np.array_equal(gf.Decider.from_json(model.result_.to_json())(NEW["skill"], q_of(NEW)), expected)
    model.result_.check(model.sketch_)


def test_no_group_is_asked_for_to_decide(backend):
    by = gf.GroupProbability(LogisticRegression())
    model = model_by(by, LogisticRegression()).fit(X, y)
    expected = model.predict(NEW)
    assert np.array_equal(model.predict(NEW.drop(columns="sex")), expected)
    assert np.array_equal(model.predict(NEW.assign(sex="nobody knows")), expected)
    beside = model_by(by, LogisticRegression(), sensitive_features=None).fit(FEATURES, y, sensitive_features=X["sex"])
    features = NEW.drop(columns="sex")
    assert np.array_equal(beside.predict(features), expected)
    assert np.array_equal(beside.predict(features, sensitive_features=np.zeros(3)), expected)  # not looked at
    assert model.score(features, np.zeros(len(features))) == np.mean(expected == 0)
    assert np.array_equal(model.predict_proba(NEW), model.predict_proba(features))


def test_the_group_model_sees_neither_sensitive_columns_nor_labels():
    model = model_by(gf.GroupProbability(Job())).fit(X, y)
    fitted = model.group_estimator_
    assert list(fitted.seen_.columns) == ["skill", "job", "region"]
    assert np.array_equal(fitted.target_, X["sex"] == "M")  # the last name, in their order
    named = model_by(gf.GroupProbability(Job(), group="F")).fit(X, y)
    assert np.array_equal(named.group_estimator_.target_, X["sex"] == "F")


def test_q_is_out_of_fold():
    """A model that memorises the group of rows it has seen tells nothing of rows it has not."""

    class Memory(Job):
        def predict_proba(self, X):
            known = dict(zip(np.asarray(self.seen_)[:, 0].tolist(), self.target_.tolist(), strict=True))
            q = np.array([float(known.get(x, 0.5)) for x in np.asarray(X)[:, 0].tolist()])
            return np.column_stack([1 - q, q])

    model = model_by(gf.GroupProbability(Memory())).fit(X, y)
    assert model.segments_.count == 1  # every q that was cut is 0.5
    assert set(q_of_fitted(model)) == {0.0, 1.0}


def q_of_fitted(model):
    return model.group_estimator_.predict_proba(FEATURES)[:, 1].tolist()


@pytest.mark.parametrize("by", ["region", ["region"], 2])
def test_columns_of_x_decide(backend, by):
    model = model_by(by).fit(X, y)
    sketch = gf.Sketch.from_rows(X["skill"], y, [X["sex"].to_numpy(), X["region"].to_numpy()])
    result = gf.solve(sketch, limits=LIMITS, fair_between=0, decide_by=1)
    assert model.thresholds_ == result.thresholds
    assert (model.segments_, model.result_.question.cuts, model.result_.question.monotone) == (None, None, False)
    assert (model.result_.origin.group_column, model.result_.question.columns) == ("region", ("region",))
    expected = result.decider()(NEW["skill"], NEW["region"]).astype(int)
    assert np.array_equal(model.predict(NEW), expected)
    assert np.array_equal(model.predict(NEW.drop(columns="sex")), expected)


def test_intersections_are_compared_and_several_columns_decide():
    table = X.assign(race=RACE, old=(X["job"] > 0.5).astype(int))
    model = model_by(["region", "old"], sensitive_features=["sex", "race"], limits={"equal_opportunity": 0.2})
    model.fit(table, y)
    assert model.result_.question.fair_between == ("sex", "race")
    assert list(model.result_.rates) == [("F", "black"), ("F", "white"), ("M", "black"), ("M", "white")]
    assert list(model.thresholds_) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert np.array_equal(model.predict(table.drop(columns=["sex", "race"])), model.predict(table))
    by_q = model_by(gf.GroupProbability(Job(), group=("M", "white")), sensitive_features=["sex", "race"])
    by_q.set_params(limits={"equal_opportunity": 0.2}).fit(table, y)
    assert np.array_equal(by_q.group_estimator_.target_, (table["sex"] == "M") & (RACE == "white"))


def test_more_than_two_groups_need_the_name_of_one():
    three = np.where(RACE == "black", "x", X["sex"])
    by = gf.GroupProbability(Job())
    model = model_by(by, sensitive_features=None)
    with pytest.raises(ValueError, match=r"there are 3 protected groups, 'F', 'M', 'x'; name the one .*group='x'"):
        model.fit(FEATURES, y, sensitive_features=three)
    model.set_params(decide_by__group="M").fit(FEATURES, y, sensitive_features=three)
    assert list(model.result_.rates) == ["F", "M", "x"]
    assert np.array_equal(model.group_estimator_.target_, three == "M")


# --------------------------------------------------------------------------------------------- columns that decide only


class Remembers(FirstColumn):
    """Remembers the columns that it was given."""

    def fit(self, X, y, sample_weight=None):
        self.seen_ = list(getattr(X, "columns", range(np.shape(X)[1])))
        return super().fit(X, y)


def with_text(table):
    return table.assign(region=table["region"].map({0: "north", 1: "south"}))


@pytest.mark.parametrize("beside", [False, True])
def test_a_text_column_decides_and_is_not_seen_by_the_estimator(backend, beside):
    groups = {"sensitive_features": X["sex"]} if beside else {}
    table = with_text(X[["skill", "job", "region"]] if beside else X)
    model = model_by("region", LogisticRegression(), **({"sensitive_features": None} if beside else {}))
    model.fit(table, y, **groups)
    assert list(model.estimator_.feature_names_in_) == ["skill", "job"]
    assert list(model.feature_names_in_) == list(table.columns)
    assert set(model.thresholds_) == {"north", "south"}
    new = with_text(NEW)[list(table.columns)]
    assert len(model.predict(new)) == len(new)
    without = new.drop(columns=["region", "sex"], errors="ignore")
    assert np.array_equal(model.predict_proba(new), model.predict_proba(without))  # nothing is decided


@pytest.mark.parametrize("form", ["pandas", "polars", "array"])
def test_drop_decide_by_false_passes_the_columns_on(form):
    table = {"pandas": X, "polars": pl.from_pandas(X), "array": X.to_numpy()}[form]
    place, sex = (2, 3) if form == "array" else ("region", "sex")
    for drop in (True, False):
        model = model_by(place, Remembers(), sensitive_features=sex, drop_decide_by=drop).fit(table, y)
        expected = ["skill", "job"] + ["region"] * (not drop)
        assert model.estimator_.seen_ == (list(range(len(expected))) if form == "array" else expected)
        assert clone(model).drop_decide_by is drop


def test_the_hint_names_the_text_column_and_the_flag_that_leaves_it_out():
    model = model_by("region", LogisticRegression(), drop_decide_by=False)
    with pytest.raises(ValueError, match="could not convert string to float") as error:
        model.fit(with_text(X), y)
    assert error.value.__notes__ == [
        (
            "The estimator was given columns of X that hold text: 'region'. "
            "Encode text in a pipeline, or leave it out of X."
        ),
        "drop_decide_by=True leaves out decide_by='region'.",
    ]


@pytest.mark.parametrize("place", [2, [2], -1])
def test_the_hint_numbers_columns_as_the_user_does(place):
    """The estimator does not see the sensitive column, so its own numbers are others."""
    table = with_text(X)[["skill", "sex", "region"]].to_numpy(dtype=object)
    model = model_by(place, LogisticRegression(), sensitive_features=1, drop_decide_by=False)
    with pytest.raises(ValueError, match="could not convert string to float") as error:
        model.fit(table, y)
    assert error.value.__notes__ == [
        "The estimator was given columns of X that hold text: 2. Encode text in a pipeline, or leave it out of X.",
        f"drop_decide_by=True leaves out decide_by={place!r}.",
    ]
    assert set(model.set_params(drop_decide_by=True).fit(table, y).thresholds_) == {"north", "south"}


@pytest.mark.slow
@pytest.mark.parametrize("form", ["pandas", "polars"])
def test_the_hint_names_the_dropped_column_that_a_pipeline_asks_for(form):
    """Not the other column of text, which the pipeline encodes."""
    table = with_text(X).assign(trade=np.where(X["job"] > 0, "smith", "baker"))
    encode = make_column_transformer((OneHotEncoder(), ["region", "trade"]), ("passthrough", ["skill"]))
    model = model_by("region", make_pipeline(encode, LogisticRegression()))
    given = table if form == "pandas" else pl.from_pandas(table)
    with pytest.raises(ValueError, match="region") as error:
        model.fit(given, y)
    assert error.value.__notes__ == [
        "The columns decide_by='region' were dropped before the estimator saw X; drop_decide_by=False keeps them."
    ]
    assert set(model.set_params(drop_decide_by=False).fit(given, y).thresholds_) == {"north", "south"}


def test_a_fitted_estimator_that_saw_the_deciding_columns_needs_them():
    fitted = LogisticRegression().fit(FEATURES, y)
    model = model_by("region", fitted, cv="prefit")
    with pytest.raises(ValueError, match=r"fitted with the decide_by columns 'region'; pass drop_decide_by=False"):
        model.fit(X, y)
    assert set(model.set_params(drop_decide_by=False).fit(X, y).thresholds_) == {0, 1}


def test_columns_with_roles_must_leave_something_to_predict_from():
    with pytest.raises(ValueError, match="sensitive_features and decide_by name every column of X; nothing is left"):
        model_by("region").fit(X[["region", "sex"]], y)


# ---------------------------------------------------------------------------------------------------- ways to be fitted


def test_a_fitted_pair_counts_rows_as_they_come(backend):
    """The first call of partial_fit needs cut points; fit can make them."""
    job = Job().fit(FEATURES, X["sex"])
    scorer = FirstColumn().fit(None, [0, 1])
    whole = model_by(gf.GroupProbability(job), scorer, cv="prefit").fit(X, y)
    cut = gf.Segments.from_scores(q_of(FEATURES), y, X["sex"])
    assert whole.segments_ == cut
    with pytest.raises(ValueError, match=r"the cut points must be known: gf\.GroupProbability\(\.\.\., segments="):
        model_by(gf.GroupProbability(job), scorer, cv="prefit").partial_fit(X, y)
    pieces = model_by(gf.GroupProbability(job, segments=cut), scorer, cv="prefit")
    for rows in (slice(0, 500), slice(500, None)):
        pieces.partial_fit(X[rows], y[rows])
    assert pieces.sketch_ == whole.sketch_
    assert pieces.result_ == whole.result_
    pieces.partial_fit(NEW, np.zeros(len(NEW), int))
    assert pieces.sketch_.n_rows == 2 * len(X)
    assert pieces.segments_ == cut
    for classes in (["F", "M"], [False, True], [0, 1]):  # trained on names, or on being of the group
        job.classes_ = np.array(classes)
        again = model_by(gf.GroupProbability(job), scorer, cv="prefit").fit(X, y)
        assert again.segments_ == cut


def test_weights_count_and_reach_both_models():
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    cut = gf.Segments((0.4, 0.6, 0.7))
    by = gf.GroupProbability(Job(), segments=cut)
    weighted = model_by(by).fit(X, y, sample_weight=weight)
    assert np.array_equal(weighted.group_estimator_.weights_, weight)
    rows = np.repeat(np.arange(len(y)), weight)
    repeated = model_by(by).fit(X.iloc[rows], y[rows])
    assert weighted.sketch_.weight == weight.sum()
    assert weighted.thresholds_ == repeated.thresholds_


def test_rows_that_no_fold_tests_are_not_counted():
    model = model_by(gf.GroupProbability(Job()), cv=0.5, refit=False).fit(X, y)
    assert model.sketch_.n_rows == len(y) // 2
    assert len(model.group_estimator_.target_) == len(y) - len(y) // 2


def test_randomised_thresholds_need_keys():
    for by in (gf.GroupProbability(Job()), "region"):
        model = model_by(by, randomize=True).fit(X, y)
        with pytest.raises(ValueError, match="pass keys="):
            model.predict(NEW)
        keys = np.arange(len(NEW))
        assert np.array_equal(model.predict(NEW, keys=keys), model.predict(NEW.drop(columns="sex"), keys=keys))


# ------------------------------------------------------------------------------------------- scikit-learn's manners


@pytest.mark.slow
def test_it_is_cloned_searched_and_pickled():
    model = model_by(gf.GroupProbability(LogisticRegression(C=2.0)), LogisticRegression())
    assert model.get_params()["decide_by__estimator__C"] == 2.0
    twin = clone(model.set_params(decide_by__estimator__C=0.5))
    assert (twin.decide_by.estimator.C, twin.decide_by is model.decide_by) == (0.5, False)
    with pytest.raises(NotFittedError):
        _ = twin.segments_
    twin.fit(X, y)
    again = pickle.loads(pickle.dumps(twin))
    assert (again.segments_, again.result_) == (twin.segments_, twin.result_)
    assert np.array_equal(again.predict(NEW), twin.predict(NEW))
    search = GridSearchCV(model, {"decide_by__estimator__C": [0.1, 1.0]}, scoring="accuracy", cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 2
    assert cross_val_score(model, X, y, cv=2).shape == (2,)
    assert "GroupProbability" not in repr(clone(model).set_params(decide_by=None))
    model.set_params(decide_by="region").fit(X, y)  # what an earlier fit learned does not stay
    assert (model.segments_, model.group_estimator_) == (None, None)


@pytest.mark.slow
def test_tables_of_every_kind_are_taken():
    model = model_by(gf.GroupProbability(LogisticRegression()), LogisticRegression())
    expected = clone(model).fit(X, y).predict(NEW)
    polars = clone(model).fit(pl.from_pandas(X), y)
    assert np.array_equal(polars.predict(pl.from_pandas(NEW)), expected)
    assert np.array_equal(polars.predict(pl.from_pandas(NEW.drop(columns="sex"))), expected)
    numbers = np.column_stack([FEATURES, X["sex"] == "M"])
    by_position = clone(model).set_params(sensitive_features=3).fit(numbers, y)
    assert np.array_equal(by_position.predict(np.column_stack([NEW.drop(columns="sex"), np.zeros(len(NEW))])), expected)
    margins = clone(model).set_params(decide_by=gf.GroupProbability(LinearSVC())).fit(X, y)  # no probability, a number
    assert margins.segments_.count > 4
    assert margins.segments_.cuts[0] < 0


def test_metadata_is_routed_to_the_group_model():
    with sklearn.config_context(enable_metadata_routing=True):
        weight = np.ones(len(y))
        asks = Job().set_fit_request(sample_weight=True)
        plain = FirstColumn().set_fit_request(sample_weight=False)
        model = model_by(gf.GroupProbability(asks), plain).fit(X, y, sample_weight=weight)
        assert np.array_equal(model.group_estimator_.weights_, weight)
        asks.set_fit_request(sample_weight=False)
        assert (
            model_by(gf.GroupProbability(asks), plain).fit(X, y, sample_weight=weight).group_estimator_.weights_ is None
        )


# ------------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("by", "options", "words"),
    [
        (LogisticRegression(), {}, r"decide_by must be columns of X, or gf\.GroupProbability\(LogisticRegression\("),
        (3.5, {}, "decide_by must be a column of X"),
        ([], {}, "decide_by names no column; one threshold for everybody is unified=True"),
        ("town", {}, "decide_by names the column 'town', but X has no such column"),
        ("sex", {}, "decide_by='sex' names a sensitive column"),
        ("region", {"drop_sensitive": False}, "leave drop_sensitive=True"),
        ("region", {"sensitive_features": None}, "decide_by is about gaps between groups, but there are none"),
        ("region", {"penalties": LIMITS, "limits": None}, "does not go with penalties"),
        ("region", {"unified": True}, "does not go with unified"),
        (gf.GroupProbability(Job(), monotone=3), {}, "monotone must be True or False"),
        (gf.Segments((0.5,), column="region"), {}, r"pass the cut points to gf\.GroupProbability\("),
        (gf.GroupProbability(3), {}, "needs a classifier with predict_proba or decision_function"),
        (gf.GroupProbability(Job(), group="X"), {}, "group='X', and the protected groups are 'F', 'M'"),
        (gf.GroupProbability(Job(), segments=(0.5,)), {}, "segments of GroupProbability must be a gf.Segments"),
        (
            gf.GroupProbability(Job()),
            {"cv": "prefit", "estimator": FirstColumn().fit(None, [0, 1])},
            "this Job is not",
        ),
    ],
    ids=str,
)
def test_what_cannot_decide_is_refused_in_words(by, options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        model_by(by, **options).fit(X, y)


def test_a_probability_that_is_none_is_refused():
    class Broken(Job):
        def predict_proba(self, X):
            return np.full((len(X), 2), np.nan)

    with pytest.raises(
        ValueError, match="Broken, which estimates the group, gave nan for 480 of 480 rows, first for row 0"
    ):
        model_by(gf.GroupProbability(Broken())).fit(X, y)
