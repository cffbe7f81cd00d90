"""The optimisation problem of docs/reference/problem.md, solved by trying everything; tests compare the searches.

Reads rows, not sketches: acceptance is `score >= threshold`, and every rate is counted from the decisions.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

TOLERANCE = 1e-12
RATES = {
    "demographic_parity": ["selection"],
    "equal_opportunity": ["tpr"],
    "predictive_equality": ["fpr"],
    "equalized_odds": ["tpr", "fpr"],
    "accuracy_parity": ["accuracy"],
    "balanced_accuracy_parity": ["balanced"],
}
ORDER = ["tpr", "fpr", "selection", "accuracy", "balanced"]


class Rows:
    """Scores, labels (2 for unlabelled) and groups, with the candidates of each group."""

    def __init__(self, scores, labels, groups, edges):
        self.scores, self.labels, self.groups = np.asarray(scores, float), np.asarray(labels), np.asarray(groups)
        self.names = sorted({g.item() for g in self.groups})
        self.candidates = {}
        for name in self.names:
            mine = self.scores[self.groups == name]
            top = [] if (mine >= edges[-1]).any() else [math.inf]
            self.candidates[name] = [-math.inf, *edges.tolist(), *top]

    def counts(self, name, threshold):
        """TP, FP, accepted unlabelled rows."""
        mine = (self.groups == name) & (self.scores >= threshold)
        return tuple(int((mine & (self.labels == y)).sum()) for y in (1, 0, 2))

    def totals(self, name):
        return self.counts(name, -math.inf)

    def rates(self, name, threshold):
        tp, fp, u = self.counts(name, threshold)
        n1, n0, nu = self.totals(name)
        return {
            "tpr": tp / n1 if n1 else None,
            "fpr": fp / n0 if n0 else None,
            "selection": (tp + fp + u) / (n1 + n0 + nu) if n1 + n0 + nu else None,
            "accuracy": (tp + n0 - fp) / (n1 + n0) if n1 + n0 else None,
            "balanced": (tp / n1 + (n0 - fp) / n0) / 2 if n1 and n0 else None,
        }

    def wrong(self, name, threshold):
        """FP, FN."""
        tp, fp, _ = self.counts(name, threshold)
        return fp, self.totals(name)[0] - tp


def solve(rows, limits=None, penalties=None, prices=(1, 1), unified=False):
    """The least (value, distance, positions) over all allowed choices, or None.

    The value is the priced number of errors with limits only, and the loss with penalties. `prices` are integers.
    """
    limits, penalties = limits or {}, {k: v for k, v in (penalties or {}).items() if v > 0}
    labelled = int((rows.labels < 2).sum())
    table = {name: [(rows.wrong(name, t), rows.rates(name, t)) for t in rows.candidates[name]] for name in rows.names}
    cost = {name: [prices[0] * fp + prices[1] * fn for (fp, fn), _ in table[name]] for name in rows.names}
    shared = min(len(c) for c in rows.candidates.values())
    pooled = [sum(cost[name][c] for name in rows.names) for c in range(shared)]
    centre = pooled.index(min(pooled))
    best = None
    choices = (
        ((c,) * len(rows.names) for c in range(shared))
        if unified
        else itertools.product(*(range(len(rows.candidates[name])) for name in rows.names))
    )
    for choice in choices:
        rates = [table[name][c][1] for name, c in zip(rows.names, choice, strict=True)]
        if not all(holds(name, limit, rates) for name, limit in limits.items()):
            continue
        total = sum(cost[name][c] for name, c in zip(rows.names, choice, strict=True))
        value = loss(total / labelled, penalties, rates) if penalties else total
        key = (value, sum(abs(c - centre) for c in choice), choice)
        if best is None or key < best:
            best = key
    return best


def spread(rate, rates):
    values = [r[rate] for r in rates if r[rate] is not None]
    return max(values) - min(values) if values else 0.0


def holds(criterion, limit, rates):
    if criterion == "disparate_impact":
        values = [r["selection"] for r in rates if r["selection"] is not None]
        return max(values) == 0 or min(values) / max(values) >= limit - TOLERANCE
    if criterion == "equalized_odds_sum":
        return spread("tpr", rates) + spread("fpr", rates) <= limit + TOLERANCE
    return all(spread(rate, rates) <= limit + TOLERANCE for rate in RATES[criterion])


def loss(error, penalties, rates):
    out = error * error
    for rate in ORDER:
        weight = sum(w for name, w in penalties.items() if rate in RATES[name])
        values = [r[rate] for r in rates if r[rate] is not None]
        pairs = list(itertools.combinations(values, 2))
        if weight > 0 and pairs:
            total = 0.0
            for a, b in pairs:
                total += (a - b) * (a - b)
            out += weight * (total / len(pairs))
    return out
