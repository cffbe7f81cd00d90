"""What others use to choose thresholds for each group, each written as a careful user would write it.

A rival is a function of (scores, labels, groups, criterion, limit) that answers with a function of (scores, groups):
the probability of acceptance of each row, 0 or 1 for single thresholds. Scores are logits, groups are 0 .. K - 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Decide = Callable[[np.ndarray, np.ndarray], np.ndarray]

FAIRLEARN = {
    "equalized_odds": "equalized_odds",
    "demographic_parity": "demographic_parity",
    "equal_opportunity": "true_positive_rate_parity",
}


def probability(scores: np.ndarray) -> np.ndarray:
    """Logits as probabilities, which most rivals ask for."""
    return 1.0 / (1.0 + np.exp(-np.clip(scores.astype(np.float64), -500, 500)))


try:
    from sklearn.base import BaseEstimator, ClassifierMixin
except ImportError:  # only fairlearn needs them
    BaseEstimator = ClassifierMixin = object


class Given(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted classifier whose probabilities are known already."""

    classes_ = np.array([0, 1])

    def fit(self, *_: Any) -> Given:
        return self

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        p = np.asarray(x, dtype=np.float64).reshape(-1)
        return np.column_stack([1 - p, p])

    def predict(self, x: np.ndarray) -> np.ndarray:
        return (self.predict_proba(x)[:, 1] >= 0.5).astype(int)


def fairlearn(scores: np.ndarray, labels: np.ndarray, groups: np.ndarray, criterion: str, limit: float) -> Decide:
    """ThresholdOptimizer, randomised, on its grid of 1000."""
    import warnings

    from fairlearn.postprocessing import ThresholdOptimizer

    optimizer = ThresholdOptimizer(
        estimator=Given(),
        constraints=FAIRLEARN[criterion],
        objective="accuracy_score",
        grid_size=1000,
        prefit=True,
        predict_method="predict_proba",
        tol=limit if limit > 0 and criterion != "equalized_odds" else None,  # its equalized odds is exact only
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimizer.fit(probability(scores)[:, None], labels, sensitive_features=groups)

    def decide(scores: np.ndarray, groups: np.ndarray) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return optimizer._pmf_predict(probability(scores)[:, None], sensitive_features=groups)[:, 1]

    return decide


def error_parity(scores: np.ndarray, labels: np.ndarray, groups: np.ndarray, criterion: str, limit: float) -> Decide:
    """RelaxedThresholdOptimizer, randomised; its coins are tossed ten times and averaged."""
    from error_parity import RelaxedThresholdOptimizer

    optimizer = RelaxedThresholdOptimizer(
        predictor=lambda x: x[:, 0], constraint=criterion, tolerance=limit, max_roc_ticks=1000
    )
    optimizer.fit(probability(scores)[:, None], labels, group=groups)

    def decide(scores: np.ndarray, groups: np.ndarray) -> np.ndarray:
        x = probability(scores)[:, None]
        return np.mean([np.asarray(optimizer(x, group=groups)) for _ in range(10)], axis=0)

    return decide


def oxonfair(scores: np.ndarray, labels: np.ndarray, groups: np.ndarray, criterion: str, limit: float) -> Decide:
    """FairPredictor on known groups, single thresholds; equalized odds in the max form.

    Both criteria together: demographic parity is the constraint, equalized odds an additional one.
    """
    import contextlib
    import io

    import oxonfair as ox
    from oxonfair import group_metrics as gm

    if (n_groups := len(np.unique(groups))) > 5:  # with 10 groups we stopped it at 12.6 GB, still growing
        raise MemoryError(f"not run: {n_groups} groups; with 10 we stopped it ourselves at 12.6 GB")
    metric = {
        "equalized_odds": gm.equalized_odds_max,
        "demographic_parity": gm.demographic_parity,
        "equal_opportunity": gm.equal_opportunity,
        "both": gm.demographic_parity,
    }[criterion]
    more = ((gm.equalized_odds_max, limit),) if criterion == "both" else ()

    def data(scores: np.ndarray, labels: np.ndarray, groups: np.ndarray) -> Any:
        p = probability(scores)
        return ox.DataDict(labels, np.column_stack([1 - p, p]), groups)

    with contextlib.redirect_stdout(io.StringIO()):
        predictor = ox.FairPredictor(None, data(scores, labels, groups), use_fast=True)
        predictor.fit(gm.accuracy, metric, limit, additional_constraints=more)

    def decide(scores: np.ndarray, groups: np.ndarray) -> np.ndarray:
        return np.asarray(predictor.predict(data(scores, np.zeros(len(scores), dtype=int), groups)), dtype=np.float64)

    return decide


def untouched(*_: Any) -> Decide:
    """The model as it is: accept logits from 0 up."""
    return lambda scores, _: (scores >= 0).astype(np.float64)


def constant(_: np.ndarray, labels: np.ndarray, *__: Any) -> Decide:
    """The same for everybody: accept all if most labels are 1, otherwise nobody."""
    accept = float(labels.mean() > 0.5)
    return lambda scores, _: np.full(len(scores), accept)


def ours(density: str = "empirical", randomize: bool = False) -> Callable[..., Decide]:
    """gstar_fast, counting included."""
    import gstar_fast as gf

    def fit(scores: np.ndarray, labels: np.ndarray, groups: np.ndarray, criterion: str, limit: float) -> Decide:
        sketch = gf.Sketch.from_rows(scores, labels, groups)
        limits = {"equalized_odds": limit, "demographic_parity": limit} if criterion == "both" else {criterion: limit}
        result = gf.solve(sketch, limits=limits, density=density, randomize=randomize, evidence=0)
        names = max(result.groups) + 1

        def decide(scores: np.ndarray, groups: np.ndarray) -> np.ndarray:
            out = np.zeros(len(scores))
            parts = max(len(m) for m in result.mixtures.values()) if result.mixtures is not None else 1
            for part in range(parts):
                threshold, weight = np.full(names, result.thresholds.default), np.full(names, float(part == 0))
                for name, single in result.thresholds.items():
                    mixture = result.mixtures[name] if result.mixtures is not None else ((single, 1.0),)
                    threshold[name], weight[name] = mixture[part] if part < len(mixture) else (0.0, 0.0)
                out += weight[groups] * (scores >= threshold[groups])
            return out

        return decide

    return fit
