"""The best monotone thresholds by segment, by trying all of them on the rows: shares no code with the library."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

GAPS = {
    "demographic_parity": ("selection",),
    "equal_opportunity": ("tpr",),
    "predictive_equality": ("fpr",),
    "equalized_odds": ("tpr", "fpr"),
    "accuracy_parity": ("accuracy",),
    "balanced_accuracy_parity": ("balanced",),
}


class MonotoneProblem(NamedTuple):
    """Rows, and what is asked of them."""

    scores: Any
    labels: Any
    groups: Any
    segments: Any
    limits: dict[str, float]
    costs: tuple[int, int]
    balanced: bool


def random_problem(rng: Any) -> MonotoneProblem:
    """Small enough that all choices can be tried, and often degenerate: limits of 0, cells without rows, ties."""
    rows = int(rng.choice([30, 80, 200, 600]))
    n_groups, m = int(rng.integers(2, 5)), int(rng.choice([2, 3, 3, 4, 4, 5]))
    groups, segments, labels = rng.integers(0, n_groups, rows), rng.integers(0, m, rows), rng.integers(0, 2, rows)
    scores = rng.normal(labels * rng.choice([0.3, 1.0, 2.0]) + rng.normal(0, 0.5, n_groups)[groups], 1.0)
    if rng.random() < 0.3:
        scores = np.rint(2 * scores)
    if rng.random() < 0.2:  # a cell without rows
        labels[(groups == 0) & (segments == 0)] = 1
    names = rng.choice([*GAPS, "equalized_odds_sum"], size=int(rng.integers(1, 4)), replace=False).tolist()
    limits = {name: float(rng.choice([0, 0, 0.01, 0.03, 0.05, 0.1, 0.3])) for name in names}
    if rng.random() < 0.25:
        limits["disparate_impact"] = float(rng.choice([0.5, 0.8, 0.95, 1.0]))
    costs = [(1, 1), (1, 5), (3, 2)][int(rng.integers(3))]
    return MonotoneProblem(scores, labels, groups, segments, limits, costs, bool(rng.random() < 0.4))


def least_cost(problem: MonotoneProblem, edges: Any) -> float | None:
    """The least weighted error within the limits, None where no choice meets them; nothing is skipped."""
    q = problem
    candidates = [-np.inf, *edges]
    m = int(q.segments.max()) + 1
    names = np.unique(q.groups)
    at = np.array(list(itertools.combinations_with_replacement(range(len(candidates)), m)))
    at = np.unique(np.concatenate([at, at[:, ::-1]]), axis=0)
    taken, total = {}, {}
    for a in names:
        for y in (0, 1):
            mine = (q.groups == a) & (q.labels == y)
            by = [[int((q.scores[mine & (q.segments == j)] >= t).sum()) for t in candidates] for j in range(m)]
            taken[a, y] = np.sum([np.array(by[j])[at[:, j]] for j in range(m)], axis=0)
            total[a, y] = int(mine.sum())
    negative, positive = (sum(total[a, y] for a in names) for y in (0, 1))
    wrong = sum(taken[a, 0] for a in names), positive - sum(taken[a, 1] for a in names)
    if q.balanced:
        cost = (q.costs[0] * wrong[0] / negative + q.costs[1] * wrong[1] / positive) / 2
    else:
        cost = (q.costs[0] * wrong[0] + q.costs[1] * wrong[1]) / (negative + positive)
    keep = np.ones(len(at), bool)
    for name, limit in q.limits.items():
        if name == "equalized_odds_sum":
            keep &= sum(np.subtract(*_ends(rate, names, taken, total)) for rate in ("tpr", "fpr")) <= limit + 1e-12
        elif name == "disparate_impact":
            high, low = _ends("selection", names, taken, total)
            keep &= low >= (limit - 1e-12) * high
        else:
            for rate in GAPS[name]:
                keep &= np.subtract(*_ends(rate, names, taken, total)) <= limit + 1e-12
    return float(cost[keep].min()) if keep.any() else None


def _ends(rate: str, names: Any, taken: Any, total: Any) -> tuple[Any, Any]:
    """Highest and lowest rate of all groups that have one."""
    found = []
    for a in names:
        neg, pos, n, p = taken[a, 0], taken[a, 1], total[a, 0], total[a, 1]
        if rate == "tpr" and p:
            found.append(pos / p)
        elif rate == "fpr" and n:
            found.append(neg / n)
        elif rate == "selection":
            found.append((neg + pos) / (n + p))
        elif rate == "accuracy":
            found.append((pos + n - neg) / (n + p))
        elif rate == "balanced" and n and p:
            found.append((pos / p + (n - neg) / n) / 2)
    return np.max(found, axis=0), np.min(found, axis=0)
