"""What several rivals share: the limits that are swept, probabilities by group, small linear programs' rows."""

from __future__ import annotations

import numpy as np

from benchmarks.paper.method import Rows, Setting, Split
from benchmarks.rivals.thresholds import probability

# From almost none to more than the gap of any of the base models, each about twice the last.
LIMITS = (0.0001, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32)

# Which labels' acceptance rates a criterion wants equal between the groups; demographic parity looks at no label.
LABELS = {"equalized_odds": (0, 1), "equal_opportunity": (1,), "demographic_parity": (None,)}


def limits(name: str) -> list[Setting]:
    """The sweep of a rival whose knob is called `name`."""
    return [{name: limit} for limit in LIMITS]


def cell_shares(rows: Rows, label: int | None) -> np.ndarray:
    """Weights w of the rows, so that w @ accepted is the privileged group's acceptance rate minus the other's.

    Only rows with this label count; all of them if it is None.
    """
    weight = np.zeros(len(rows))
    for group, sign in ((1, 1.0), (0, -1.0)):
        cell = rows.a == group
        if label is not None:
            cell &= rows.y == label
        weight[cell] = sign / max(int(cell.sum()), 1)
    return weight


class Calibrated:
    """P(label | score, group): one logistic regression on the out-of-fold score in each group.

    The base model does not know the group, and rules that compare probabilities between groups assume that they are
    those of the group.
    """

    def __init__(self, split: Split) -> None:
        from sklearn.linear_model import LogisticRegression

        self.lines = np.zeros((2, 2))
        for group in (0, 1):
            mine = split.fit.a == group
            model = LogisticRegression(C=1e6).fit(split.oof[mine, None], split.fit.y[mine])
            self.lines[group] = model.coef_[0, 0], model.intercept_[0]

    def __call__(self, score: np.ndarray, group: np.ndarray) -> np.ndarray:
        slope, shift = self.lines[group].T
        return probability(slope * score + shift)
