"""GroupThresholdClassifier among scikit-learn's tools: its checks, clones, searches, pipelines and routing."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import sklearn
from helpers.estimator_cases import FirstColumn, people
from helpers.results import changed
from joblib import parallel_config
from sklearn.base import clone, is_classifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_classifiers_train, estimator_checks_generator

import gstar_fast as gf
from gstar_fast import GroupThresholdClassifier

LIMITS = {"equalized_odds": 0.05}
X, y = people(600)
X = X.drop(columns="race")
FEATURES = X[["a", "b"]]

# A fair threshold is not 0.5, which this check takes for granted; scikit-learn excuses its own threshold classifiers
# from it for the same reason.
EXPECTED = {"check_classifiers_train": "Threshold at probability 0.5 does not hold"}

CONFIGURATIONS = [
    GroupThresholdClassifier(LogisticRegression()),
    GroupThresholdClassifier(LinearSVC(), objective="balanced_error", cv=3, bins=1024),
    GroupThresholdClassifier(
        DecisionTreeClassifier(random_state=0), unified=True, cv=0.3, objective={"fp": 1, "fn": 2}
    ),
    GroupThresholdClassifier(LogisticRegression(), density="kde", cv=2, response_method="decision_function"),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gstar_fast.errors.DegenerateWarning")
@pytest.mark.filterwarnings(
    "ignore::gstar_fast.errors.ResolutionWarning"
)  # some of its tables have probabilities at 0.9999
@pytest.mark.parametrize("model", CONFIGURATIONS, ids=str)
def test_scikit_learns_own_checks_pass(model):
    """As `check_estimator`, but all failures at once; skipped is only what needs another array library."""
    failed = []
    for estimator, check in estimator_checks_generator(model, expected_failed_checks=EXPECTED):
        name = check.func.__name__ if hasattr(check, "func") else check.__name__
        if name in EXPECTED or name == "check_array_api_input":
            continue
        try:
            check(estimator)
        except Exception as error:
            failed.append(f"{name}: {error}")
    assert failed == []


@pytest.mark.slow
def test_the_expected_failure_is_the_threshold_alone():
    """With a threshold of 0.5, everything else that `check_classifiers_train` wants holds."""

    class AtHalf(GroupThresholdClassifier):
        def _solve(self, *given):
            return changed(super()._solve(*given), thresholds={"all": 0.5})

    check_classifiers_train("AtHalf", AtHalf(LogisticRegression()))
    with pytest.raises(AssertionError, match="Arrays are not equal"):
        check_classifiers_train("GroupThresholdClassifier", GroupThresholdClassifier(LogisticRegression()))


# --------------------------------------------------------------------------------------------------- clones and copies


def fitted(**options):
    return GroupThresholdClassifier(LogisticRegression(), limits=LIMITS, sensitive_features="sex", **options).fit(X, y)


@pytest.mark.slow
def test_clone_pickle_and_deepcopy(backend):
    model = fitted()
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert other.result_ == model.result_
        assert other.sketch_ == model.sketch_
        assert np.array_equal(other.predict(X), model.predict(X))
        assert other.partial_fit(X, y).sketch_ != model.sketch_  # nothing is shared
    blank = clone(model)
    assert not hasattr(blank, "sketch_")
    assert blank.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    assert blank.fit(X, y).result_ == model.result_


def test_pickle_after_partial_fit_solves_where_it_arrives():
    model = fitted().partial_fit(X, y)
    assert pickle.loads(pickle.dumps(model)).result_ == model.result_


def test_params_reach_the_estimator_inside():
    model = GroupThresholdClassifier(make_pipeline(StandardScaler(), LogisticRegression(C=2)))
    assert model.get_params()["estimator__logisticregression__C"] == 2
    model.set_params(estimator__logisticregression__C=3, limits=LIMITS)
    assert model.estimator[-1].C == 3
    assert model.limits == LIMITS
    with pytest.raises(ValueError, match="Invalid parameter 'limit'"):
        model.set_params(limit=3)


def test_repr_shows_what_was_set_and_html_the_estimator():
    model = GroupThresholdClassifier(LogisticRegression(C=2), limits=LIMITS)
    text = "GroupThresholdClassifier(estimator=LogisticRegression(C=2),limits={'equalized_odds':0.05})"
    assert "".join(repr(model).split()) == text
    html = model._repr_html_()
    assert "GroupThresholdClassifier" in html
    assert "LogisticRegression" in html
    assert "Not fitted" in html
    assert "Not fitted" not in fitted()._repr_html_()


def test_before_fit_everything_says_so():
    model = GroupThresholdClassifier(LogisticRegression().fit(FEATURES, y))
    for call in (
        lambda: model.predict(FEATURES),
        lambda: model.predict_proba(FEATURES),
        lambda: model.decision_function(FEATURES),
        lambda: model.score(FEATURES, y),
        lambda: model.result_,
        lambda: model.thresholds_,
        lambda: model.classes_,
    ):
        with pytest.raises(NotFittedError, match="This GroupThresholdClassifier instance is not fitted yet"):
            call()
    assert is_classifier(model)
    for name in ("sketch_", "result_", "classes_", "n_features_in_", "feature_names_in_"):
        assert not hasattr(model, name)


def test_methods_are_those_of_the_estimator_and_untouched():
    model = fitted()
    for method in ("predict_proba", "predict_log_proba", "decision_function"):
        assert np.array_equal(getattr(model, method)(X), getattr(model.estimator_, method)(FEATURES))
    assert not hasattr(model, "score_samples")
    with pytest.raises(AttributeError, match="score_samples"):
        model.score_samples(X)

    class Sampled(FirstColumn):
        def score_samples(self, X):
            return np.asarray(X)[:, 1]

    assert np.array_equal(GroupThresholdClassifier(Sampled()).fit(FEATURES, y).score_samples(FEATURES), FEATURES["b"])


@pytest.mark.slow
def test_feature_names_are_checked_as_everywhere():
    model = fitted()
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X.rename(columns={"a": "c"}))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[["b", "a", "sex"]])
    plain = GroupThresholdClassifier(LogisticRegression()).fit(FEATURES, y)
    assert plain.feature_names_in_.tolist() == ["a", "b"]
    plain.fit(FEATURES.to_numpy(), y)
    assert not hasattr(plain, "feature_names_in_")
    with pytest.raises(ValueError, match="X has 1 features, but LogisticRegression is expecting 2"):
        plain.predict(FEATURES.to_numpy()[:, :1])


def test_folds_may_be_trained_in_parallel():
    one = GroupThresholdClassifier(LogisticRegression(), limits=LIMITS, sensitive_features="sex", n_jobs=1).fit(X, y)
    with parallel_config(backend="threading"):
        two = clone(one).set_params(n_jobs=2).fit(X, y)
    assert two.result_ == one.result_


def test_without_scikit_learn_the_error_says_what_to_install():
    code = """
import sys
sys.modules["sklearn"] = None
import gstar_fast
try:
    gstar_fast.GroupThresholdClassifier
except ImportError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "GroupThresholdClassifier needs scikit-learn 1.6; install gstar-fast[sklearn]\n"


# ----------------------------------------------------------------------------------------- searches, scorers, pipelines


@pytest.mark.slow
def test_grid_search_with_a_string_scorer_needs_only_the_column():
    grid = {"estimator__C": [0.01, 1.0], "limits": [{"equalized_odds": 0.02}, {"equalized_odds": 0.2}, None]}
    search = GridSearchCV(GroupThresholdClassifier(LogisticRegression(), sensitive_features="sex"), grid, cv=3)
    search.set_params(scoring="accuracy", error_score="raise").fit(X, y)
    assert len(set(search.cv_results_["mean_test_score"])) > 1  # limits reach the thresholds, and the scorer sees it
    alone = cross_val_score(clone(search.estimator).set_params(**search.best_params_), X, y, cv=3, scoring="accuracy")
    assert search.best_score_ == alone.mean()
    best = search.best_estimator_
    assert list(best.thresholds_) == ["F", "M"]
    assert np.array_equal(search.predict(X), best.predict(X))
    assert set(search.classes_) == {0, 1}


@pytest.mark.slow
def test_cross_validation_with_every_kind_of_scorer():
    model = GroupThresholdClassifier(LogisticRegression(), limits=LIMITS, sensitive_features="sex")
    assert cross_val_score(model, X, y, cv=3, scoring="balanced_accuracy", error_score="raise").min() > 0.6
    assert cross_val_predict(model, X, y, cv=3).shape == y.shape
    scores = cross_validate(model, X, y, cv=3, scoring=["roc_auc", "f1", "neg_log_loss"], error_score="raise")
    plain = cross_validate(LogisticRegression(), FEATURES, y, cv=3, scoring=["roc_auc"])
    assert np.array_equal(scores["test_roc_auc"], plain["test_roc_auc"])  # ranking is the estimator's own


def test_as_the_last_step_of_a_pipeline():
    scale = make_column_transformer((StandardScaler(), ["a", "b"]), remainder="passthrough")
    scale.set_params(verbose_feature_names_out=False)
    model = GroupThresholdClassifier(LogisticRegression(), limits=LIMITS, sensitive_features="sex")
    pipeline = make_pipeline(scale, model).set_output(transform="pandas")
    assert pipeline.fit(X, y).score(X, y) > 0.6
    assert list(pipeline[-1].thresholds_) == ["F", "M"]
    assert cross_val_score(pipeline, X, y, cv=2, scoring="accuracy", error_score="raise").shape == (2,)
    direct = make_pipeline(StandardScaler(), GroupThresholdClassifier(LogisticRegression(), limits=LIMITS))
    direct.fit(FEATURES, y, groupthresholdclassifier__sensitive_features=X["sex"])
    assert direct.predict(FEATURES, sensitive_features=X["sex"]).shape == y.shape


@pytest.mark.slow
def test_around_a_pipeline():
    encode = make_column_transformer((OneHotEncoder(), ["sex"]), (StandardScaler(), ["a", "b"]))
    inside = make_pipeline(encode, LogisticRegression()).set_output(transform="pandas")
    inside.set_params(columntransformer__onehotencoder__sparse_output=False)
    model = GroupThresholdClassifier(inside, limits=LIMITS, sensitive_features="sex", drop_sensitive=False).fit(X, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "sex"]
    assert np.array_equal(model.classes_, [0, 1])
    assert cross_val_score(model, X, y, cv=2, error_score="raise").min() > 0.6


def test_a_frozen_estimator_survives_clones():
    """`cv="prefit"` is lost when a search clones the estimator; frozen it stays."""
    train, new = slice(0, 300), slice(300, None)
    frozen = FrozenEstimator(LogisticRegression().fit(FEATURES[train], y[train]))
    model = GroupThresholdClassifier(frozen, cv="prefit", sensitive_features="sex")
    grid = {"limits": [{"equal_opportunity": 0.1}, {"equal_opportunity": 0.3}]}
    search = GridSearchCV(model, grid, scoring="accuracy", cv=2, error_score="raise").fit(X[new], y[new])
    assert search.best_estimator_.estimator_.estimator is frozen.estimator
    with pytest.raises(NotFittedError, match="cv='prefit' needs a fitted estimator"):
        clone(model.set_params(estimator=frozen.estimator)).fit(X, y)


# -------------------------------------------------------------------------------------------------------------- routing


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.slow
def test_groups_are_routed_through_searches(routing):
    model = GroupThresholdClassifier(LogisticRegression(), limits=LIMITS)
    model.set_fit_request(sensitive_features=True).set_predict_request(sensitive_features=True)
    model.set_score_request(sensitive_features=True)
    search = GridSearchCV(model, {"estimator__C": [0.1, 1.0]}, cv=2, error_score="raise")
    search.fit(FEATURES, y, sensitive_features=X["sex"])
    assert list(search.best_estimator_.thresholds_) == ["F", "M"]
    assert search.score(FEATURES, y, sensitive_features=X["sex"]) > 0.6
    scores = cross_validate(model, FEATURES, y, cv=2, params={"sensitive_features": X["sex"]}, error_score="raise")
    assert scores["test_score"].min() > 0.6


def test_groups_are_routed_through_pipelines(routing):
    model = GroupThresholdClassifier(LogisticRegression(), limits=LIMITS)
    model.set_fit_request(sensitive_features=True).set_predict_request(sensitive_features=True)
    pipeline = make_pipeline(StandardScaler(), model).fit(FEATURES, y, sensitive_features=X["sex"])
    assert list(pipeline[-1].thresholds_) == ["F", "M"]
    assert pipeline.predict(FEATURES, sensitive_features=X["sex"]).shape == y.shape


def test_unrequested_metadata_is_refused_not_dropped(routing):
    model = GroupThresholdClassifier(LogisticRegression(), limits=LIMITS)
    with pytest.raises(UnsetMetadataPassedError, match="sensitive_features"):
        cross_validate(model, FEATURES, y, cv=2, params={"sensitive_features": X["sex"]}, error_score="raise")
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        model.fit(FEATURES, y, sensitive_features=X["sex"], sample_weight=np.ones(len(y)))
    with pytest.raises(TypeError, match="epochs"):
        model.fit(FEATURES, y, sensitive_features=X["sex"], epochs=3)


def test_weights_go_to_the_estimator_that_requests_them(routing):
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    inside = make_pipeline(scaler, FirstColumn().set_fit_request(sample_weight=True))
    model = GroupThresholdClassifier(inside).fit(FEATURES, y, sensitive_features=X["sex"], sample_weight=weights)
    assert np.array_equal(model.estimator_[-1].weights_, weights)
    assert model.sketch_.weight == weights.sum()
    outside = GroupThresholdClassifier(FirstColumn().set_fit_request(sample_weight=False))
    outside.fit(FEATURES, y, sample_weight=weights)
    assert outside.estimator_.weights_ is None
    assert outside.sketch_.weight == weights.sum()


def test_weights_the_classifier_declines_are_not_counted(routing):
    weights = np.full(len(y), 3)
    model = GroupThresholdClassifier(FirstColumn().set_fit_request(sample_weight=True))
    model.set_fit_request(sample_weight=False).fit(FEATURES, y, sample_weight=weights)
    assert np.array_equal(model.estimator_.weights_, weights)
    assert model.sketch_.n_rows == len(y)


def test_splitters_get_their_groups(routing):
    households = np.arange(len(y)) // 3
    model = GroupThresholdClassifier(FirstColumn(), cv=GroupKFold(3)).fit(FEATURES, y, groups=households)
    assert model.sketch_.n_rows == len(y)


def test_without_routing_extra_metadata_is_refused():
    with pytest.raises(ValueError, match=r"fit got 'epochs'; to pass metadata on, call sklearn.set_config"):
        GroupThresholdClassifier(FirstColumn()).fit(FEATURES, y, epochs=3)


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.DegenerateWarning")
def test_a_scorer_may_be_a_gap():
    """What a search looks for may be fairness itself: a scorer that reads the column."""

    def gap(model, X, y):
        decisions = model.predict(X) == 1
        return -abs(decisions[X["sex"] == "F"].mean() - decisions[X["sex"] == "M"].mean())

    model = GroupThresholdClassifier(RandomForestClassifier(5, random_state=0), sensitive_features="sex")
    grid = {"limits": [None, {"demographic_parity": 0.02}]}
    search = GridSearchCV(model, grid, scoring=gap, cv=2, error_score="raise").fit(X, y)
    assert search.best_params_ == {"limits": {"demographic_parity": 0.02}}
    accuracy = make_scorer(lambda truth, predicted: (truth == predicted).mean())
    assert cross_val_score(model, X, y, scoring=accuracy, cv=2, error_score="raise").min() > 0.5


def test_limits_hold_in_what_the_result_promises(backend):
    """The confusion matrix of the result is that of the decider on the scores that were counted."""
    scores = pd.Series(np.random.default_rng(0).normal(size=len(y)) + y)
    model = GroupThresholdClassifier(FirstColumn(), limits={"equalized_odds": 0.03})
    model.fit(scores.to_frame(), y, sensitive_features=X["sex"])
    decisions = model.predict(scores.to_frame(), sensitive_features=X["sex"])
    for name, rates in model.result_.rates.items():
        group = X["sex"] == name
        assert decisions[group & (y == 1)].mean() == rates.tpr
        assert decisions[group & (y == 0)].mean() == rates.fpr
    assert isinstance(model.result_, gf.Result)
