"""The best thresholds by segment, from HiGHS: shares no code with the library."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

RATES = {
    "demographic_parity": ("selection",),
    "equal_opportunity": ("tpr",),
    "predictive_equality": ("fpr",),
    "equalized_odds": ("tpr", "fpr"),
    "accuracy_parity": ("accuracy",),
    "balanced_accuracy_parity": ("balanced",),
}


def _rate(rate: str, neg: Any, pos: Any, spare: Any, n_neg: float, n_pos: float, n_spare: float) -> Any:
    """A group's rate at each candidate of a segment, and the constant part of it; None where undefined."""
    if rate == "tpr":
        return (pos / n_pos, 0.0) if n_pos else None
    if rate == "fpr":
        return (neg / n_neg, 0.0) if n_neg else None
    if rate == "selection":
        total = n_neg + n_pos + n_spare
        return ((neg + pos + spare) / total, 0.0) if total else None
    if rate == "accuracy":
        return ((pos - neg) / (n_neg + n_pos), n_neg / (n_neg + n_pos)) if n_neg + n_pos else None
    return ((pos / n_pos - neg / n_neg) / 2, 0.5) if n_neg and n_pos else None


def least_cost(
    rows: Any,
    prices: tuple[int, int],
    limits: dict[str, float],
    *,
    whole: bool,
    order: str | None = None,
    bounds: Sequence[tuple[str, int | None, float, float]] = (),
) -> float | None:
    """Least cost within the limits, None where nothing meets them; rows by label, protected group, segment and bin.

    Bounds have a rate, a group (None: all rows together), the least and the most that the rate may be.
    """
    accepted = np.asarray(rows, dtype=float)[..., ::-1].cumsum(axis=3)[..., ::-1]
    _, n_groups, m, bins = accepted.shape
    totals = accepted[..., 0].sum(axis=2)
    cost = prices[0] * accepted[0].sum(axis=0) + prices[1] * (accepted[1].sum(axis=0)[:, :1] - accepted[1].sum(axis=0))
    lines, low, high = [], [], []

    def add(line: Any, least: float, most: float) -> None:
        lines.append(np.asarray(line).reshape(-1))
        low.append(least)
        high.append(most)

    for j in range(m):
        one = np.zeros((m, bins))
        one[j] = 1
        add(one, 1, 1)
    for name, limit in limits.items():
        if name == "equalized_odds_sum":
            pairs = []
            for rate in ("tpr", "fpr"):
                each = [_rate(rate, *accepted[:, a], *totals[:, a]) for a in range(n_groups)]
                known = [x[0] for x in each if x is not None]
                pairs.append([one - two for one in known for two in known if one is not two] or [np.zeros((m, bins))])
            for one, two in itertools.product(*pairs):
                add(one + two, -np.inf, limit + 1e-12)
            continue
        for rate in RATES.get(name, ("selection",)):
            each = [_rate(rate, *accepted[:, a], *totals[:, a]) for a in range(n_groups)]
            known = [x for x in each if x is not None]
            for one in known:
                for two in known:
                    if one is two:
                        continue
                    if name == "disparate_impact":
                        add(limit * one[0] - two[0], -np.inf, 1e-12)
                    else:
                        add(one[0] - two[0], -np.inf, limit + 1e-12 - one[1] + two[1])
    for name, a, least, most in bounds:
        one = (accepted[:, a], totals[:, a]) if a is not None else (accepted.sum(axis=1), totals.sum(axis=1))
        found = _rate(name, *one[0], *one[1])
        if found is not None:
            add(found[0], least - 1e-12 - found[1], most + 1e-12 - found[1])
    for j in range(m - 1) if order else ():
        for t in range(bins - 1):  # of two segments, the later one is at a low candidate less often, or more often
            line = np.zeros((m, bins))
            line[j, : t + 1] = -1 if order == "rising" else 1
            line[j + 1, : t + 1] = -line[j, 0]
            add(line, -np.inf, 0)
    found = milp(
        cost.reshape(-1),
        constraints=LinearConstraint(np.array(lines), low, high),
        integrality=np.full(m * bins, int(whole)),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0},
    )
    return None if found.x is None else float(found.fun)
