"""error-parity's RelaxedThresholdOptimizer: randomised thresholds of each group within a tolerance."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.paper.method import Decide, Method, Rows, Setting, Split
from benchmarks.paper.rivals._common import limits
from benchmarks.rivals.thresholds import probability

CONSTRAINTS = {
    "equalized_odds": "equalized_odds",
    "demographic_parity": "demographic_parity",
    "equal_opportunity": "true_positive_rate_parity",
}


def accepted(rule: Any, p: np.ndarray) -> np.ndarray:
    """Expected acceptance by one group's fitted rule, without its coins.

    A rule is a threshold, a mixture of rules, or a coin that does not look at the row. Inside a mixture the coin is a
    lambda of the library's that has its rate as the one number it closes over.
    """
    if hasattr(rule, "classifiers"):
        return sum(w * accepted(part, p) for w, part in zip(rule.probabilities, rule.classifiers, strict=True))
    if hasattr(rule, "threshold"):
        return (p >= rule.threshold).astype(float)
    if hasattr(rule, "target_fpr"):
        return np.full(len(p), float(rule.target_fpr))
    (rate,) = (cell.cell_contents for cell in rule.__closure__)
    return np.full(len(p), float(rate))


def fit(split: Split, criterion: str, setting: Setting) -> Decide:
    from error_parity import RelaxedThresholdOptimizer

    optimizer = RelaxedThresholdOptimizer(
        predictor=lambda x: x[:, 0],
        constraint=CONSTRAINTS[criterion],
        tolerance=setting["tolerance"],
        max_roc_ticks=1000,
        seed=split.seed,
    )
    optimizer.fit(probability(split.oof)[:, None], split.fit.y.astype(int), group=split.fit.a.astype(int))
    rules = optimizer._realized_classifier.group_to_clf

    def decide(rows: Rows, score: np.ndarray) -> np.ndarray:
        p, out = probability(score), np.zeros(len(score))
        for group, rule in rules.items():
            out[rows.a == group] = accepted(rule, p[rows.a == group])
        return np.clip(out, 0, 1)

    return decide


METHOD = Method(
    name="error_parity",
    title="error-parity",
    kind="post",
    randomised=True,
    uses_group=True,
    criteria=("equalized_odds", "demographic_parity", "equal_opportunity"),
    settings=lambda data, criterion: limits("tolerance"),
    fit=fit,
    environment="old_numpy",
    note="at most 1000 points of each ROC curve, its default; expected acceptance instead of its coins; equalized odds "
    "is limited in its larger form",
)
