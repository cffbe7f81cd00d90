"""fairlearn's ExponentiatedGradient (Agarwal et al. 2018) around a logistic regression: a mixture of models.

The bound on the gap is swept. It limits the difference of each rate between a group and all rows, as fairlearn's
moments do, so the gap between two groups may be up to twice as large.
"""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.paper.method import Method, Rows, Setting, Split
from benchmarks.paper.rivals._fair_model import training_rows

MOMENTS = {
    "equalized_odds": "EqualizedOdds",
    "demographic_parity": "DemographicParity",
    "equal_opportunity": "TruePositiveRateParity",
}


class Mixture:
    """One model of several is drawn for each row, so a row is accepted with the weight of the models that accept it."""

    def __init__(self, reduction) -> None:  # type: ignore[no-untyped-def]
        self.reduction = reduction

    def __call__(self, rows: Rows, _base: np.ndarray) -> np.ndarray:
        accepted = self.reduction._pmf_predict(rows.X)[:, 1]
        return np.clip(accepted, 0.0, 1.0)  # the weights' sum may miss 1 by rounding

    def score(self, rows: Rows) -> np.ndarray:
        """The models' mean logit, by their weights. The mixture itself has none: it only counts votes."""
        total = np.zeros(len(rows))
        for number, weight in self.reduction.weights_.items():
            if weight > 0:
                model = self.reduction.predictors_[number]
                p = np.clip(model.predict_proba(rows.X).astype(np.float64)[:, -1], 1e-6, 1 - 1e-6)
                if list(model.classes_) == [0]:  # a constant model that saw the one label only
                    p = 1 - p
                total += weight * np.log(p / (1 - p))
        return total


def fit(split: Split, criterion: str, setting: Setting) -> Mixture:
    from fairlearn import reductions
    from sklearn.linear_model import LogisticRegression

    rows = training_rows(split)
    reduction = reductions.ExponentiatedGradient(
        LogisticRegression(C=1.0, max_iter=1000),
        getattr(reductions, MOMENTS[criterion])(difference_bound=setting["bound"]),
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Setting a value on a Series via .at")  # fairlearn does, pandas warns
        reduction.fit(rows.X, rows.y.astype(np.int64), sensitive_features=rows.a)
    return Mixture(reduction)


METHOD = Method(
    name="exponentiated_gradient",
    title="ExponentiatedGradient (fairlearn)",
    kind="in",
    randomised=True,
    uses_group=False,
    criteria=tuple(MOMENTS),
    settings=lambda _data, _criterion: [{"bound": bound} for bound in (0.002, 0.01, 0.03)],
    fit=fit,
    note="Logistic regression; expected acceptance instead of coins; on CelebA 30,000 rows train it.",
)
