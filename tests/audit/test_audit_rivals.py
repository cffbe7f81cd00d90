"""Every gap that fairlearn or AIF360 also has is the same number in both."""

from __future__ import annotations

import logging
import math

import numpy as np
import pytest

import gstar_fast as gf


def rows(seed, n_groups, n=600):
    random = np.random.default_rng(seed)
    groups = random.integers(0, n_groups, n)
    labels = random.random(n) < 0.3 + 0.4 * groups / n_groups
    decisions = random.random(n) < 0.2 + 0.5 * labels + 0.2 * groups / n_groups
    return decisions.astype(int), labels.astype(int), groups


WEIGHTS = {"none": None, "whole": np.tile([1.0, 2.0, 3.0], 200), "quarters": np.tile([0.25, 1.5, 2.75], 200)}


@pytest.mark.slow
@pytest.mark.parametrize("weighting", WEIGHTS)
@pytest.mark.parametrize(("seed", "n_groups"), [(0, 2), (1, 2), (2, 3), (3, 7)])
def test_gaps_are_those_of_fairlearn(seed, n_groups, weighting):
    fl = pytest.importorskip("fairlearn.metrics")
    decisions, labels, groups = rows(seed, n_groups)
    weights = WEIGHTS[weighting]
    audit = gf.audit(decisions=decisions, labels=labels, groups=groups, weights=weights)
    common = {"y_true": labels, "y_pred": decisions, "sensitive_features": groups, "sample_weight": weights}
    expected = {
        "demographic_parity": fl.demographic_parity_difference(**common),
        "disparate_impact": fl.demographic_parity_ratio(**common),
        "equalized_odds": fl.equalized_odds_difference(**common),
        "equalized_odds_mean": fl.equalized_odds_difference(**common, agg="mean"),
        "equalized_odds_ratio": fl.equalized_odds_ratio(**common),
        "equal_opportunity": fl.equal_opportunity_difference(**common),
        "equal_opportunity_ratio": fl.equal_opportunity_ratio(**common),
        "predictive_equality": fl.false_positive_rate_difference(**common),
        "predictive_equality_ratio": fl.false_positive_rate_ratio(**common),
        "accuracy_parity": fl.accuracy_score_difference(**common),
    }
    assert {name: audit.gaps[name].value for name in expected} == pytest.approx(expected, abs=1e-12)


def test_a_group_without_positives_counts_as_zero_in_fairlearn_and_is_left_out_here():
    """What docs/guide/audit.md says of the one place where the two differ."""
    fl = pytest.importorskip("fairlearn.metrics")
    labels = np.array([1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0])
    decisions = np.array([1, 1, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0])
    groups = np.repeat(list("abc"), 4)  # b has no positives
    gaps = gf.audit(decisions=decisions, labels=labels, groups=groups).gaps
    common = {"y_true": labels, "y_pred": decisions, "sensitive_features": groups}
    assert fl.equalized_odds_difference(**common) == fl.equal_opportunity_difference(**common) == 1.0
    assert (gaps["equalized_odds"].value, gaps["equal_opportunity"].value) == (0.25, 0.0)
    flipped = gf.audit(decisions=decisions, labels=1 - labels, groups=groups).gaps  # b has no negatives
    assert fl.false_positive_rate_difference(1 - labels, decisions, sensitive_features=groups) == 1.0
    assert flipped["predictive_equality"].value == 0.0


@pytest.mark.parametrize(("seed", "n_groups"), [(4, 2), (5, 5)])
def test_rates_are_those_of_metric_frame(seed, n_groups):
    fl = pytest.importorskip("fairlearn.metrics")
    sk = pytest.importorskip("sklearn.metrics")
    decisions, labels, groups = rows(seed, n_groups)
    audit = gf.audit(decisions=decisions, labels=labels, groups=groups)
    metrics = {
        "rows": fl.count,
        "selection_rate": fl.selection_rate,
        "tpr": fl.true_positive_rate,
        "fpr": fl.false_positive_rate,
        "tnr": fl.true_negative_rate,
        "fnr": fl.false_negative_rate,
        "ppv": sk.precision_score,
        "accuracy": sk.accuracy_score,
        "balanced_accuracy": sk.balanced_accuracy_score,
    }
    frame = fl.MetricFrame(metrics=metrics, y_true=labels, y_pred=decisions, sensitive_features=groups)
    for name in metrics:
        assert [audit.rates[g][name].value for g in audit.groups] == pytest.approx(frame.by_group[name].tolist())
        assert audit.overall[name].value == pytest.approx(frame.overall[name])
    differences = {"predictive_parity": "ppv", "balanced_accuracy_parity": "balanced_accuracy"}
    for gap, name in differences.items():
        assert audit.gaps[gap].value == pytest.approx(frame.difference()[name])


@pytest.mark.parametrize("weighting", WEIGHTS)
@pytest.mark.parametrize("seed", [6, 7, 8])
def test_gaps_are_those_of_aif360(seed, weighting):
    pd = pytest.importorskip("pandas")
    logging.disable(logging.WARNING)  # it tells of optional packages on the root logger
    try:
        datasets = pytest.importorskip("aif360.datasets")
        from aif360.metrics import ClassificationMetric
    finally:
        logging.disable(logging.NOTSET)
    decisions, labels, groups = rows(seed, 2)
    weights = WEIGHTS[weighting]
    table = pd.DataFrame({"group": groups, "label": labels, "weight": 1.0 if weights is None else weights}, dtype=float)
    truth = datasets.BinaryLabelDataset(
        df=table, label_names=["label"], protected_attribute_names=["group"], instance_weights_name="weight"
    )
    decided = truth.copy()
    decided.labels = decisions.reshape(-1, 1).astype(float)
    theirs = ClassificationMetric(
        truth, decided, unprivileged_groups=[{"group": 0.0}], privileged_groups=[{"group": 1.0}]
    )
    audit = gf.audit(decisions=decisions, labels=labels, groups=groups, weights=weights)
    gaps = {name: e.value for name, e in audit.gaps.items()}
    ratio = theirs.disparate_impact()
    tnr = [theirs.true_negative_rate(privileged) for privileged in (False, True)]
    tpr = [theirs.true_positive_rate(privileged) for privileged in (False, True)]
    ppv = [theirs.positive_predictive_value(privileged) for privileged in (False, True)]
    expected = {
        "demographic_parity": abs(theirs.statistical_parity_difference()),
        "disparate_impact": min(ratio, 1 / ratio),
        # the paper's |1 - P(A=1) / P(A=0)| is one of these two, by which group stands on top
        "disparate_impact_distance": abs(1 - min(ratio, 1 / ratio)),
        "disparate_impact_excess": abs(1 - max(ratio, 1 / ratio)),
        "equal_opportunity": abs(theirs.equal_opportunity_difference()),
        "equalized_odds": theirs.equalized_odds_difference(),
        "predictive_equality": abs(theirs.false_positive_rate_difference()),
        "average_odds": abs(theirs.average_odds_difference()),
        "equalized_odds_mean": theirs.average_abs_odds_difference(),
        "equalized_odds_sum": 2 * theirs.average_abs_odds_difference(),
        "accuracy_parity": abs(theirs.error_rate_difference()),
        "balanced_accuracy_sum": abs(tpr[0] + tnr[0] - tpr[1] - tnr[1]),
        "predictive_parity": abs(ppv[0] - ppv[1]),
    }
    assert {name: gaps[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    assert audit.overall["accuracy"].value == pytest.approx(theirs.accuracy())
    assert audit.overall["ppv"].value == pytest.approx(theirs.precision())


def test_if_nobody_is_accepted_a_ratio_is_1_with_the_widest_interval():
    """0 / 0 counts as 1, and the interval says what that is worth; fairlearn gives NaN."""
    audit = gf.audit(decisions=[0] * 40, labels=[0, 1] * 20, groups=[0] * 20 + [1] * 20)
    ratio = audit.gaps["disparate_impact"]
    assert (ratio.value, ratio.low, ratio.high) == (1.0, 0.0, 1.0)
    excess = audit.gaps["disparate_impact_excess"]
    assert (excess.value, excess.low, excess.high) == (0.0, 0.0, math.inf)
