"""Random problems for the solvers, small enough for brute force, and a linear program to compare mixtures with."""

from __future__ import annotations

import numpy as np
import pytest

import gstar_fast as gf
from gstar_fast._backends.interface import Arrays

CRITERIA = ["demographic_parity", "equal_opportunity", "predictive_equality", "equalized_odds"]
ACCURACIES = ["accuracy_parity", "balanced_accuracy_parity"]


def random_rows(rng, n_groups, most=40):
    """A few rows a group, with ties, atoms, infinities, unlabelled rows and groups of one class."""
    scores, labels, groups = [], [], []
    for k in range(n_groups):
        n = int(rng.integers(3, most))
        label = rng.integers(0, 2, n) if rng.random() < 0.9 else np.full(n, rng.integers(0, 2))
        score = np.round(rng.normal(label * rng.uniform(0, 2) + rng.normal(), 1.0, n), int(rng.integers(0, 3)))
        score[rng.random(n) < 0.1] = 0.5
        score[rng.random(n) < 0.03] = rng.choice([-np.inf, np.inf])
        label[rng.random(n) < rng.choice([0, 0.1])] = 2
        scores.append(score), labels.append(label), groups.append(np.full(n, k))
    scores, labels, groups = (np.concatenate(x) for x in (scores, labels, groups))
    if not (labels < 2).any():
        labels[0] = 1
    return scores, labels, groups


def sketch_of(scores, labels, groups, bins=16):
    sketch = gf.Sketch(bins=bins)
    known = labels < 2
    sketch.update(scores[known], labels[known], groups[known])
    if not known.all():
        sketch.update(scores[~known], None, groups[~known])
    return sketch


def random_question(rng, kind):
    limits, penalties = {}, {}
    if "limits" in kind:
        for name in rng.choice(CRITERIA + ACCURACIES, int(rng.integers(1, 3)), replace=False):
            limits[str(name)] = float(rng.choice([0.0, 0.01, 0.05, 0.1, 0.3]))
        if rng.random() < 0.2:
            limits["disparate_impact"] = float(rng.choice([0.5, 0.8, 1.0]))
    if "penalties" in kind:
        for name in rng.choice(CRITERIA + ACCURACIES, int(rng.integers(1, 3)), replace=False):
            penalties[str(name)] = float(10.0 ** rng.integers(-2, 8))
    return limits, penalties


def arrays_of(rng, n_groups, n):
    """A search in plain arrays, larger than brute force could do, for comparing backends."""
    sizes = rng.integers(n // 2, n, n_groups)
    start = np.concatenate([[0], np.cumsum(sizes)])
    cost, rates = [], []
    for size in sizes:
        fp = np.sort(rng.integers(0, 5 * n, size))[::-1]
        fn = np.sort(rng.integers(0, 5 * n, size))
        cost.append(fp + fn)
        accepted, right = fp + 5 * n - fn, 10 * n - fp - fn
        rates.append(np.stack([1 - fn / (5 * n), fp / (5 * n), accepted / (10 * n), right / (10 * n)]))
    return Arrays(
        start=start,
        cost=np.concatenate(cost).astype(np.int64),
        distance=np.concatenate([np.abs(np.arange(s) - n // 3) for s in sizes]),
        rates=np.concatenate(rates, axis=1),
        has=np.ones((4, n_groups), dtype=np.uint8),
        limit=np.array([*rng.choice([0.01, 0.05, 0.2, np.inf], 3), rng.choice([0.1, np.inf])]),
        ratio=np.array([-1.0, -1.0, rng.choice([-1.0, 0.8]), -1.0]),
        penalty=10.0 ** rng.integers(-2, 8, 4),
        unit=float(10 * n * n_groups),
    )


def linear_program(p):
    """What scipy says of the cheapest mixture within the limits; where rates have bands, of their means."""
    optimize = pytest.importorskip("scipy.optimize")
    n_groups, n_rates = len(p.start) - 1, len(p.limit)
    group = np.repeat(np.arange(n_groups), np.diff(p.start))
    lows, highs = p.rates if p.low is None else p.low, p.rates if p.high is None else p.high
    upper, right = [], []
    summed = p.total < np.inf
    n_rates += 2 * summed  # two more variables: the gaps of the first two rates
    if summed:
        upper.append(np.concatenate([np.zeros(len(group) + n_rates - 2), [1.0, 1.0]])), right.append(p.total)
    for r in range(len(p.limit)):
        for k in np.flatnonzero(p.has[r]):
            low, high = np.where(group == k, lows[r], 0.0), np.where(group == k, highs[r], 0.0)
            unit = np.eye(n_rates)[r]
            if summed and r < 2:
                upper.append(np.concatenate([high, -unit - np.eye(n_rates)[n_rates - 2 + r]])), right.append(0.0)
            if p.limit[r] < np.inf or p.ratio[r] >= 0 or (summed and r < 2):
                upper.append(np.concatenate([-low, unit])), right.append(0.0)
            if p.limit[r] < np.inf:
                upper.append(np.concatenate([high, -unit])), right.append(p.limit[r])
            if p.ratio[r] >= 0:
                upper.append(np.concatenate([high * p.ratio[r], -unit])), right.append(0.0)
    return optimize.linprog(
        np.concatenate([p.cost / p.unit, np.zeros(n_rates)]),
        A_ub=np.array(upper) if upper else None,
        b_ub=right if upper else None,
        A_eq=np.concatenate([np.eye(n_groups)[:, group], np.zeros((n_groups, n_rates))], axis=1),
        b_eq=np.ones(n_groups),
    )
