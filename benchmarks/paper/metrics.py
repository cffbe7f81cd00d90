"""The paper's six metrics and ours, expected over coins: a decision is a probability of acceptance.

The supplement of the paper defines EOd and BD as sums of two differences; its Figure 3 draws half of both. `judge`
answers with the sums, and `halved` gives what Figure 3 draws.
"""

from __future__ import annotations

import math

import numpy as np

# name in a record -> (the paper's word, how it is measured); tpr and fpr are those of a group, P its share accepted
DEFINITIONS = {
    "accuracy": ("ACC", "share of decisions that equal the label"),
    "balanced_accuracy": ("BA", "half of tpr + tnr, all groups together"),
    "eop": ("EOp", "|tpr(1) - tpr(0)|"),
    "eod_sum": ("EOd", "|tpr(1) - tpr(0)| + |fpr(1) - fpr(0)|, the sum"),
    "bd": ("BD", "|tpr(1) + tnr(1) - tpr(0) - tnr(0)|, the sum"),
    "dimp": ("1-DIMP", "|1 - P(1) / P(0)|"),
    "eod_max": ("", "the larger of |tpr(1) - tpr(0)| and |fpr(1) - fpr(0)|"),
    "dp": ("", "|P(1) - P(0)|"),
    "pe": ("", "|fpr(1) - fpr(0)|"),
}
OF_CRITERION = {"equalized_odds": "eod_sum", "demographic_parity": "dp", "equal_opportunity": "eop"}

ROUNDING = 1e-9  # probabilities that are sums may pass 1 by it


def judge(accepted: np.ndarray, y: np.ndarray, a: np.ndarray) -> dict[str, float | None]:
    """All metrics of probabilities of acceptance; None for one whose rows are missing."""
    accepted = np.asarray(accepted, dtype=np.float64)
    if accepted.shape != y.shape:
        raise ValueError(f"need {len(y)} probabilities of acceptance, got shape {accepted.shape}")
    if not np.all((accepted >= -ROUNDING) & (accepted <= 1.0 + ROUNDING)):
        raise ValueError(f"probabilities of acceptance are 0 to 1, got {np.min(accepted)} to {np.max(accepted)}")
    rates = [[_mean(accepted[(y == label) & (a == group)]) for group in (0, 1)] for label in (0, 1)]
    share = [_mean(accepted[a == group]) for group in (0, 1)]
    tpr, fpr = rates[1][1] - rates[1][0], rates[0][1] - rates[0][0]
    found = {
        "accuracy": _mean(np.where(y == 1, accepted, 1.0 - accepted)),
        "balanced_accuracy": 0.5 * (_mean(accepted[y == 1]) + 1.0 - _mean(accepted[y == 0])),
        "eop": abs(tpr),
        "eod_sum": abs(tpr) + abs(fpr),
        "bd": abs(tpr - fpr),
        "dimp": abs(1.0 - share[1] / share[0]) if share[0] > 0.0 else math.nan,
        "eod_max": max(abs(tpr), abs(fpr)),
        "dp": abs(share[1] - share[0]),
        "pe": abs(fpr),
    }
    return {name: None if math.isnan(value) else value for name, value in found.items()}


def halved(found: dict[str, float | None]) -> dict[str, float | None]:
    """EOd and BD as Figure 3 of the paper draws them."""
    halves = {f"{name}_half": found[name] for name in ("eod_sum", "bd")}
    return {name.replace("_sum", ""): None if value is None else 0.5 * value for name, value in halves.items()}


def counts(y: np.ndarray, a: np.ndarray) -> list[list[int]]:
    """Rows of each label (outer) and group (inner)."""
    return [[int(np.sum((y == label) & (a == group))) for group in (0, 1)] for label in (0, 1)]


def _mean(values: np.ndarray) -> float:
    return float(np.mean(values)) if len(values) else math.nan
