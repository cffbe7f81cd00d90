"""What comes of accepting these rows: error, rates and gaps.

Reads from: _objective, _result.  Read by: _solver, _smooth, _frontier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gstar_fast._backends._search import Floats, Ints
from gstar_fast._objective import RATES, Scale, has_rate, rates_of
from gstar_fast._result import GroupRates


def gaps_of(rates: Floats, has: Any) -> dict[str, float]:
    """Every gap that is defined, from rates (5, K)."""
    spread: dict[str, float] = {}
    for name, row, present in zip(RATES, rates, has, strict=True):
        values = row[present]
        if len(values) >= 2 or len(row) == 1:
            spread[name] = float(values.max() - values.min()) if len(values) else 0.0
    gaps: dict[str, float] = {}
    if "selection_rate" in spread:
        gaps["demographic_parity"] = spread["selection_rate"]
    if "tpr" in spread:
        gaps["equal_opportunity"] = spread["tpr"]
    if "fpr" in spread:
        gaps["predictive_equality"] = spread["fpr"]
    if "tpr" in spread and "fpr" in spread:
        gaps["equalized_odds"] = max(spread["tpr"], spread["fpr"])
        gaps["equalized_odds_sum"] = spread["tpr"] + spread["fpr"]
    if "accuracy" in spread:
        gaps["accuracy_parity"] = spread["accuracy"]
    if "balanced_accuracy" in spread:
        gaps["balanced_accuracy_parity"] = spread["balanced_accuracy"]
    if "selection_rate" in spread:
        selected = rates[2][has[2]]
        highest = float(selected.max()) if len(selected) else 0.0
        gaps["disparate_impact"] = float(selected.min()) / highest if highest > 0 else 1.0
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
        rates, has = rates_of(accepted, totals), has_rate(totals)
        false_positive, false_negative = accepted[0].sum(), (totals[1] - accepted[1]).sum()
        labelled = totals[0].sum() + totals[1].sum()
        cost = scale.fp * false_positive + scale.fn * false_negative
        return cls(
            float((false_positive + false_negative) / labelled), float(cost / scale.unit), gaps_of(rates, has), rates, has
        )

    def by_group(self, groups: tuple[Any, ...], rows: Floats) -> dict[Any, GroupRates]:
        known = np.where(self.has, self.rates, np.nan).T.tolist()
        return {
            name: GroupRates(n, *(None if x != x else x for x in row))
            for name, n, row in zip(groups, rows.tolist(), known, strict=True)
        }


def extreme_groups(groups: tuple[Any, ...], outcome: Outcome) -> list[str]:
    """A plain word on groups in which everybody, or nobody, is accepted."""
    notes = []
    for rate, word in ((1.0, "accepts everybody in"), (0.0, "rejects everybody in")):
        found = [g for g, x, h in zip(groups, outcome.rates[2], outcome.has[2], strict=True) if h and x == rate]
        if found:
            listed = ", ".join(str(g) for g in found[:5]) + (", ..." if len(found) > 5 else "")
            notes.append(f"this {word} {'every group' if len(found) == len(groups) else listed}")
    return notes
