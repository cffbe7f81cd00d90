"""FairBayes (Zeng, Dobriban, Cheng, 2022): the thresholds that the Bayes-optimal fair rule has, by one multiplier.

With P(label | x, group) = p the most accurate rule under a limit on one gap accepts where the gain 2p - 1 pays for the
gap: t times what the row adds to it. So one number t sets both groups' thresholds, and the gap falls as t moves away
from zero. Equalized odds would need two numbers, and coins; the authors leave it out, and so does this.
"""

from __future__ import annotations

import numpy as np

from benchmarks.paper.method import Decide, Method, Setting, Split
from benchmarks.paper.rivals._common import LABELS, Calibrated, cell_shares, limits


def thresholds(split: Split, label: int | None, t: float) -> np.ndarray:
    """Least probability that each group accepts at; above 1 for nobody."""
    out = np.empty(2)
    for group, sign in ((0, -1.0), (1, 1.0)):
        mine = split.fit.a == group
        if label is None:
            out[group] = 0.5 + sign * t / (2.0 * mine.mean())
        else:  # p (2 - s) > 1, where s is the price of one row of label 1 in this group
            room = 2.0 - sign * t / (mine & (split.fit.y == label)).mean()
            out[group] = 1.0 / room if room > 0 else np.inf
    return out


def fit(split: Split, criterion: str, setting: Setting) -> Decide:
    (label,) = LABELS[criterion]
    chance = Calibrated(split)
    p, weight = chance(split.oof, split.fit.a), cell_shares(split.fit, label)

    def gap(t: float) -> float:
        """The privileged group's rate minus the other's: never rises with t."""
        return float(weight @ (p >= thresholds(split, label, t)[split.fit.a]))

    side = 1.0 if gap(0.0) > 0 else -1.0
    low, high = 0.0, 2.0  # at t = 2 one group has passed all thresholds there are
    if side * gap(0.0) > setting["limit"]:
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if side * gap(side * middle) > setting["limit"] else (low, middle)
        t = side * high
    else:
        t = 0.0
    found = thresholds(split, label, t)
    return lambda rows, score: (chance(score, rows.a) >= found[rows.a]).astype(float)


METHOD = Method(
    name="fair_bayes",
    title="FairBayes",
    kind="post",
    randomised=False,
    uses_group=True,
    criteria=("demographic_parity", "equal_opportunity"),
    settings=lambda data, criterion: limits("limit"),
    fit=fit,
    note="written from the paper; scores are calibrated in each group first; no equalized odds, as in the paper",
)
