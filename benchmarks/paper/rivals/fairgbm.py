"""FairGBM (Cruz, Belem, Jesus, Bravo, Saleiro, Bizarro 2023): gradient boosting under limits on FPR and FNR.

Its tolerances for the two rates are swept; they hold for smooth stand-ins of the rates on the fit rows. So is the rate
at which the limits' multipliers move: at its own default, 0.1, they swing on Adult when the tolerance is 0.
"""

from __future__ import annotations

import numpy as np

from benchmarks.paper.method import Method, Rows, Setting, Split
from benchmarks.paper.rivals._fair_model import FairModel, training_rows

CONSTRAINTS = {"equalized_odds": "FPR,FNR", "equal_opportunity": "FNR"}
TREES, LEAVES, RATE = 100, 15, 0.1
SETTINGS = [
    {"tolerance": 0.0, "multiplier_rate": 0.03},
    {"tolerance": 0.02, "multiplier_rate": 0.03},
    {"tolerance": 0.05, "multiplier_rate": 0.03},
    {"tolerance": 0.0, "multiplier_rate": 0.1},
    {"tolerance": 0.02, "multiplier_rate": 0.1},
]


def fit(split: Split, criterion: str, setting: Setting) -> FairModel:
    from fairgbm import FairGBMClassifier

    rows = training_rows(split)
    model = FairGBMClassifier(
        n_estimators=TREES,
        num_leaves=LEAVES,
        learning_rate=RATE,
        multiplier_learning_rate=setting["multiplier_rate"],
        constraint_type=CONSTRAINTS[criterion],
        constraint_fpr_tolerance=setting["tolerance"],
        constraint_fnr_tolerance=setting["tolerance"],
        random_state=split.seed,
        n_jobs=1,
        verbose=-1,
    )
    model.fit(rows.X, rows.y.astype(np.int64), constraint_group=rows.a.astype(np.int64))

    def score(rows: Rows) -> np.ndarray:
        return np.asarray(model.predict(rows.X, raw_score=True), dtype=np.float64)

    return FairModel(score)


METHOD = Method(
    name="fairgbm",
    title="FairGBM",
    kind="in",
    randomised=False,
    uses_group=False,
    criteria=tuple(CONSTRAINTS),
    settings=lambda _data, _criterion: list(SETTINGS),
    fit=fit,
    environment="fairgbm",
    note="Boosted trees, not the linear base model of the others; on CelebA 30,000 rows train it.",
)
