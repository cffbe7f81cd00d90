"""FACT (Kim, Chen, Talwalkar, 2020): the most accurate way to flip hard labels within a limit on the gaps.

Four numbers, the probability of acceptance of each (group, hard label), come out of one linear program. The limit
holds for each gap of the criterion, so equalized odds is limited in its larger form.
"""

from __future__ import annotations

import numpy as np

from benchmarks.paper.method import Decide, Method, Setting, Split
from benchmarks.paper.rivals._common import LABELS, cell_shares, limits


def solve(accepted: np.ndarray, split: Split, criterion: str, limit: float) -> np.ndarray:
    """Probabilities of acceptance [group, hard label] that lose least accuracy."""
    from scipy.optimize import linprog

    fit = split.fit
    kind = 2 * fit.a.astype(int) + accepted  # which of the four numbers decides a row
    gain = np.bincount(kind, weights=2.0 * fit.y - 1.0, minlength=4) / len(fit)
    gaps = np.array([np.bincount(kind, weights=cell_shares(fit, label), minlength=4) for label in LABELS[criterion]])
    found = linprog(-gain, A_ub=np.vstack([gaps, -gaps]), b_ub=np.full(2 * len(gaps), limit), bounds=(0, 1))
    return np.clip(found.x, 0, 1).reshape(2, 2)


def fit(split: Split, criterion: str, setting: Setting) -> Decide:
    flips = solve(split.oof >= 0, split, criterion, setting["eps"])
    return lambda rows, score: flips[rows.a, (score >= 0).astype(int)]


METHOD = Method(
    name="fact",
    title="FACT",
    kind="post",
    randomised=True,
    uses_group=True,
    criteria=("equalized_odds", "demographic_parity", "equal_opportunity"),
    settings=lambda data, criterion: limits("eps"),
    fit=fit,
    note="flips hard labels: it never looks at the score again",
)
