"""What comes of accepting these rows: error, rates and gaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gstar_fast._backends.interface import Floats, Ints
from gstar_fast._solver.question import Scale, has_rate, rates_of
from gstar_fast._solver.result import GroupRates


def gaps_of(rates: Floats, has: Any) -> dict[str, float]:
    """Every gap that is defined, from rates (5, K) and which groups have them."""
    n_groups = rates.shape[1]
    members = has.sum(axis=1).tolist()
    low = np.where(has, rates, np.inf).min(axis=1).tolist()
    high = np.where(has, rates, -np.inf).max(axis=1).tolist()
    known = [m >= 2 or n_groups == 1 for m in members]
    tpr, fpr, selection, accuracy, balanced = (h - b if m else 0.0 for b, h, m in zip(low, high, members, strict=True))
    gaps: dict[str, float] = {}
    if known[2]:
        gaps["demographic_parity"] = selection
    if known[0]:
        gaps["equal_opportunity"] = tpr
    if known[1]:
        gaps["predictive_equality"] = fpr
    if known[0] and known[1]:
        gaps["equalized_odds"] = max(tpr, fpr)
        gaps["equalized_odds_sum"] = tpr + fpr
    if known[3]:
        gaps["accuracy_parity"] = accuracy
    if known[4]:
        gaps["balanced_accuracy_parity"] = balanced
    if known[2]:
        gaps["disparate_impact"] = low[2] / high[2] if members[2] and high[2] > 0 else 1.0
    return gaps


@dataclass(frozen=True)
class Outcome:
    """Error, gaps and rates when these (expected) counts are accepted, (3, K)."""

    error: float
    weighted_error: float  # E
    gaps: dict[str, float]
    rates: Floats
    has: Any

    @classmethod
    def of(cls, accepted: Any, totals: Ints, scale: Scale) -> Outcome:
        return cls._from(accepted, totals, scale, rates_of(accepted, totals), has_rate(totals))

    @classmethod
    def both(cls, one: Any, two: Any, totals: Ints, scale: Scale, has: Any) -> tuple[Outcome, Outcome]:
        """Two outcomes of the same rows."""
        n_groups = totals.shape[1]
        rates = rates_of(np.concatenate([one, two], axis=1), np.concatenate([totals, totals], axis=1))
        return (
            cls._from(one, totals, scale, rates[:, :n_groups], has),
            cls._from(two, totals, scale, rates[:, n_groups:], has),
        )

    @classmethod
    def _from(cls, accepted: Any, totals: Ints, scale: Scale, rates: Floats, has: Any) -> Outcome:
        negative, positive, _ = totals.sum(axis=1).tolist()
        false_positive, true_positive, _ = accepted.sum(axis=1).tolist()
        false_negative = positive - true_positive
        cost = scale.fp * false_positive + scale.fn * false_negative
        error = (false_positive + false_negative) / (negative + positive)
        return cls(error, cost / scale.unit, gaps_of(rates, has), rates, has)

    def by_group(self, groups: tuple[Any, ...], rows: Floats) -> dict[Any, GroupRates]:
        return rates_by_group(groups, self.rates, self.has, rows)


def rates_by_group(groups: tuple[Any, ...], rates: Floats, has: Any, rows: Floats) -> dict[Any, GroupRates]:
    """Rates (5, K) by name, None where a group lacks the rows for one."""
    known = np.where(has, rates, np.nan).T.tolist()
    return {
        name: GroupRates(n, *(None if x != x else x for x in row))
        for name, n, row in zip(groups, rows.tolist(), known, strict=True)
    }
