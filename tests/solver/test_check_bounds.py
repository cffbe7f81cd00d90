"""Proofs about limits on rates themselves, of one group, of each, and of all rows: against enumeration."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from gstar_fast._criteria import BOUNDS, SELECTED, Limit
from gstar_fast._solver.answer.proof import Certificate, Leaf
from gstar_fast._solver.segments.check import ALL, Checker

GROUPS, SEGMENTS, BINS = 2, 2, 4
PRICES, UNIT = (2, 3), 10.0


def tables(random):
    """Rows of a label, group, segment and bin; every group has rows of both labels."""
    rows = random.integers(0, 4, (3, GROUPS, SEGMENTS, BINS))
    rows[:2, :, 0, 1] += 1
    return rows


def asked(random):
    """Some limits on rates, one side each."""
    rates = list(BOUNDS)[:5]
    limits = [Limit(BOUNDS[str(random.choice(rates))], least=0.25), Limit(BOUNDS["tpr"], least=0.5, group=1)]
    return (*limits, Limit(BOUNDS[str(random.choice(rates))], most=0.75), Limit(SELECTED, most=0.625, least=0.125))


def rate_by_rows(name, accepted, totals):
    """From rows of label 0, 1 and none, as the definitions say."""
    (fp, tp, free), (n0, n1, spare) = map(tuple, (accepted.tolist(), totals.tolist()))
    tpr, tnr = Fraction(tp, n1), Fraction(n0 - fp, n0)
    return {
        "tpr": tpr,
        "fpr": 1 - tnr,
        "selection_rate": Fraction(fp + tp + free, n0 + n1 + spare),
        "selected": Fraction(fp + tp + free, n0 + n1 + spare),
        "accuracy": Fraction(tp + n0 - fp, n0 + n1),
        "balanced_accuracy": (tpr + tnr) / 2,
    }[name]


def of_choice(rows, choice, limits):
    """Cost / unit of a choice, and whether it meets the limits."""
    accepted = sum(rows[:, :, j, t:].sum(axis=2) for j, t in enumerate(choice))
    totals = rows.sum(axis=(2, 3))
    met = True
    for limit in limits:
        groups = range(GROUPS) if limit.group is None else [limit.group]
        which = [list(range(GROUPS))] if limit.criterion is SELECTED else [[a] for a in groups]
        for mine in which:
            rate = rate_by_rows(limit.criterion.name, accepted[:, mine].sum(axis=1), totals[:, mine].sum(axis=1))
            met &= limit.least <= rate <= limit.most
    cost = PRICES[0] * int(accepted[0].sum()) + PRICES[1] * int((totals - accepted)[1].sum())
    return Fraction(cost) / Fraction(UNIT), met


def checker(rows, limits):
    return Checker(Certificate(limits, PRICES, UNIT, None, choice=None), rows.tolist())


def test_a_choice_breaks_a_bound_where_its_rows_do():
    random = np.random.default_rng(1)
    seen = set()
    for _ in range(30):
        rows, limits = tables(random), asked(random)
        for choice in product(range(BINS), repeat=SEGMENTS):
            cost, met = of_choice(rows, choice, limits)
            assert checker(rows, limits).outcome([[(t, 1)] for t in choice], Fraction(0)) == (
                cost * Fraction(UNIT),
                not met,
            )
            seen.add(met)
    assert seen == {True, False}


def test_no_multipliers_bound_more_than_the_best_choice():
    random = np.random.default_rng(2)
    tried = 0
    for _ in range(60):
        rows, limits = tables(random), asked(random)
        it = checker(rows, limits)
        found = [of_choice(rows, choice, limits) for choice in product(range(BINS), repeat=SEGMENTS)]
        best = min((cost for cost, met in found if met), default=None)
        if best is None:
            continue
        for _ in range(5):
            multipliers = tuple((*key, float(random.exponential() * random.integers(0, 2))) for key in it.ends)
            assert it.bound(Leaf(1, multipliers), [list(range(BINS))] * SEGMENTS)[0] <= best + Fraction(1, 10**10)
        tried += 1
    assert tried > 20


def test_multipliers_of_a_linear_program_bound_as_much_as_it_does():
    """Strong duality: the bound is the least cost of mixtures, so no limit is forgotten."""
    random, tried = np.random.default_rng(3), 0
    for _ in range(40):
        rows, limits = tables(random), asked(random)
        it, totals = checker(rows, limits), rows.sum(axis=(2, 3))
        at = [(j, t) for j in range(SEGMENTS) for t in range(BINS)]
        taken = np.array([rows[:, :, j, t:].sum(axis=2) for j, t in at])  # (entries, 3, groups)
        cost = (PRICES[0] * taken[:, 0].sum(axis=1) - PRICES[1] * taken[:, 1].sum(axis=1)) / UNIT
        left, right = [], []
        for (name, a, kind), end in it.ends.items():
            mine = list(range(GROUPS)) if a == ALL else [a]
            own, zero = totals[:, mine].sum(axis=1), np.zeros(3, dtype=int)
            base = float(rate_by_rows(name, zero, own))
            slopes = [float(rate_by_rows(name, np.eye(3, dtype=int)[y], own)) - base for y in range(3)]
            sign = -1 if kind == 4 else 1
            left.append(sign * (taken[:, :, mine].sum(axis=2) @ slopes))
            right.append(sign * (float(end) - base))
        each = np.array([[float(j == k) for k, _ in at] for j in range(SEGMENTS)])
        solved = linprog(cost, left, right, each, np.ones(SEGMENTS))
        if solved.status != 0:
            continue
        multipliers = tuple(
            (*key, max(-float(m), 0.0)) for key, m in zip(it.ends, solved.ineqlin.marginals, strict=True)
        )
        bound = it.bound(Leaf(1, multipliers), [list(range(BINS))] * SEGMENTS)[0]
        assert float(bound) == pytest.approx(solved.fun + PRICES[1] * float(totals[1].sum()) / UNIT, abs=1e-8)
        tried += any(m > 1e-6 for *_, m in multipliers)
    assert tried > 10


def test_a_multiplier_of_a_bound_that_was_not_asked_proves_nothing():
    it = checker(tables(np.random.default_rng(4)), (Limit(SELECTED, most=0.5),))
    for entry in (
        ("selection_rate", ALL, 4, 1.0),
        ("selection_rate", 0, 5, 1.0),
        ("tpr", ALL, 5, 1.0),
        ("tpr", ALL, 1, 1.0),
    ):
        with pytest.raises(ValueError, match="belongs to no limit"):
            it.bound(Leaf(1, (entry,)), [list(range(BINS))] * SEGMENTS)
