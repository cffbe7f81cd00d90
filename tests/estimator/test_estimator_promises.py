"""GroupThresholdClassifier passes `confidence` and `evidence` on, and warns where nothing is promised."""

import warnings

import numpy as np
import pytest
from helpers.estimator_cases import people
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import gstar_fast as gf
from gstar_fast import GroupThresholdClassifier

X, y = people()
FEATURES, SEX = X[["a", "b"]], X["sex"]


def fitted(**options):
    return GroupThresholdClassifier(LogisticRegression(), **options).fit(FEATURES, y, sensitive_features=SEX)


def test_a_promise_is_that_of_solve_on_the_out_of_fold_scores():
    model = fitted(limits={"demographic_parity": 0.5}, confidence=0.9)
    assert model.result_.promised
    expected = gf.solve(model.sketch_, limits={"demographic_parity": 0.5}, confidence=0.9)
    assert model.thresholds_ == expected.thresholds
    assert clone(model).get_params()["confidence"] == 0.9


def test_what_cannot_be_promised_warns_and_decides_by_plain_thresholds():
    limits = {"equalized_odds": 0.02}
    with pytest.warns(gf.errors.UnpromisedWarning, match="unpromised"):
        model = fitted(limits=limits, confidence=0.95)
    assert model.result_.verdict == "unpromised"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        decided = model.predict(FEATURES, sensitive_features=SEX)  # said once, by fit
    plain = fitted(limits=limits)
    assert plain.thresholds_ == model.thresholds_
    assert (plain.predict(FEATURES, sensitive_features=SEX) == decided).all()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"confidence": 95}, "confidence"),
        ({"confidence": "high"}, "confidence"),
        ({"confidence": 0.95, "limits": None}, "limits"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_trained(options, text):
    class Never(LogisticRegression):
        def fit(self, *_, **__):
            raise AssertionError("trained")

    model = GroupThresholdClassifier(Never(), **{"limits": {"equalized_odds": 0.1}} | options)
    with pytest.raises((ValueError, TypeError), match=text):
        model.fit(FEATURES, y, sensitive_features=SEX)
    assert not hasattr(model, "sketch_")


@pytest.mark.slow
def test_evidence_is_that_of_solve():
    lots = np.random.default_rng(0).integers(0, 2, len(y))
    for evidence, verdict in ((0.95, "unified"), (0, "optimal")):
        model = GroupThresholdClassifier(LogisticRegression(), evidence=evidence).fit(
            FEATURES, y, sensitive_features=lots
        )
        assert model.result_.verdict == verdict
        assert clone(model).get_params()["evidence"] == evidence
    assert set(model.predict(FEATURES, sensitive_features=lots)) <= set(y)
    with pytest.raises(ValueError, match="evidence must be at least 0 and below 1"):
        fitted(evidence=1)
