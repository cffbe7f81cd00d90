"""How often groups are accepted, and what comes of it: rates, gaps and error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gstar_fast._backends.interface import Curve, Floats, Ints, SmoothProblem
from gstar_fast._base.arrays import Bools
from gstar_fast._base.names import Name
from gstar_fast._criteria import RATES
from gstar_fast._solver.question import Objective, Scale
from gstar_fast._solver.result import GroupRates

Counts = Ints | Floats  # rows counted, or expected of densities


def rates_at(accepted: Counts, totals: Counts, start: Ints, wanted: list[int]) -> Floats:
    """As `rates_of` for groups end to end: `accepted` is (3, n), `totals` (3, K), `start` (K + 1,)."""
    if totals.shape[1] > 100:
        return rates_of(accepted, totals[:, np.repeat(np.arange(totals.shape[1]), np.diff(start))], wanted)
    out = np.empty((len(wanted), accepted.shape[1]))
    for k, (lo, hi) in enumerate(zip(start[:-1].tolist(), start[1:].tolist(), strict=True)):
        out[:, lo:hi] = rates_of(accepted[:, lo:hi], totals[:, k], wanted)
    return out


def rates_of(accepted: Counts, totals: Counts, wanted: Iterable[int] = range(5)) -> Floats:
    """The wanted rates (R, n) of n candidates; `accepted` is (3, n), `totals` (3, n) or (3,): label 0, 1, unlabelled.

    Integer counts give the exact rates; densities pass expected counts. A rate whose rows are missing reads 0.
    """
    neg, pos, spare = accepted
    n_neg, n_pos, n_spare = totals
    out = np.empty((len(tuple(wanted)), len(neg)))
    for row, r in zip(out, wanted, strict=True):
        if r == 0:
            np.divide(pos, np.maximum(n_pos, 1), out=row)
        elif r == 1:
            np.divide(neg, np.maximum(n_neg, 1), out=row)
        elif r == 2:
            np.divide(neg + pos + spare, np.maximum(n_neg + n_pos + n_spare, 1), out=row)
        elif r == 3:
            np.divide(pos + (n_neg - neg), np.maximum(n_neg + n_pos, 1), out=row)
        else:
            row[:] = (pos / np.maximum(n_pos, 1) + (n_neg - neg) / np.maximum(n_neg, 1)) / 2
            row *= np.minimum(n_pos, 1) * np.minimum(n_neg, 1)
    return out


def has_rate(totals: Counts) -> Bools:
    """Which groups have the rows each rate needs: (5, K)."""
    out = np.empty((5, totals.shape[1]), dtype=bool)
    out[1], out[0], spare = totals > 0
    out[3] = out[0] | out[1]
    out[2] = out[3] | spare
    out[4] = out[0] & out[1]
    return out


def gaps_of(rates: Floats, has: Bools) -> dict[str, float]:
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
    has: Bools

    @classmethod
    def of(cls, accepted: Counts, totals: Ints, scale: Scale) -> Outcome:
        return cls._from(accepted, totals, scale, rates_of(accepted, totals), has_rate(totals))

    @classmethod
    def both(cls, one: Counts, two: Counts, totals: Ints, scale: Scale, has: Bools) -> tuple[Outcome, Outcome]:
        """Two outcomes of the same rows."""
        n_groups = totals.shape[1]
        rates = rates_of(np.concatenate([one, two], axis=1), np.concatenate([totals, totals], axis=1))
        return (
            cls._from(one, totals, scale, rates[:, :n_groups], has),
            cls._from(two, totals, scale, rates[:, n_groups:], has),
        )

    @classmethod
    def _from(cls, accepted: Counts, totals: Ints, scale: Scale, rates: Floats, has: Bools) -> Outcome:
        negative, positive, _ = totals.sum(axis=1).tolist()
        false_positive, true_positive, _ = accepted.sum(axis=1).tolist()
        false_negative = positive - true_positive
        cost = scale.fp * false_positive + scale.fn * false_negative
        error = (false_positive + false_negative) / (negative + positive)
        return cls(error, cost / scale.unit, gaps_of(rates, has), rates, has)

    def by_group(self, groups: tuple[Name, ...], rows: Counts) -> dict[Name, GroupRates]:
        return rates_by_group(groups, self.rates, self.has, rows)


def rates_by_group(groups: tuple[Name, ...], rates: Floats, has: Bools, rows: Counts) -> dict[Name, GroupRates]:
    """Rates (5, K) by name, None where a group lacks the rows for one."""
    known = np.where(has, rates, np.nan).T.tolist()
    return {
        name: GroupRates(float(n), *(None if x != x else x for x in row))
        for name, n, row in zip(groups, rows.tolist(), known, strict=True)
    }


def linear_forms(
    cells: Sequence[Curve | None],
    totals: Ints,
    objective: Objective,
    scale: Scale,
    active: list[int],
    low: float,
    high: float,
    bulk: float,
) -> SmoothProblem:
    """Write E and the active rates as linear forms in the cdfs; `totals` is (3, K)."""
    n0, n1, nu = totals.astype(np.float64)
    zero, one = np.zeros_like(n0), np.ones_like(n0)
    rows, labelled = np.maximum(n0 + n1 + nu, 1), np.maximum(n0 + n1, 1)
    # everybody is accepted where all cdfs are 0
    forms = {
        "tpr": (one, (zero, one, zero)),
        "fpr": (one, (one, zero, zero)),
        "selection_rate": (one, (n0 / rows, n1 / rows, nu / rows)),
        "accuracy": (n1 / labelled, (-n0 / labelled, n1 / labelled, zero)),
        "balanced_accuracy": (one / 2, (-one / 2, one / 2, zero)),
    }
    n_groups = len(n0)
    return SmoothProblem(
        cells=list(cells),
        error_base=scale.fp * n0 / scale.unit,
        error_coefficient=np.stack([-scale.fp * n0, scale.fn * n1, zero], axis=1) / scale.unit,
        rate_base=np.array([forms[RATES[r]][0] for r in active]).reshape(len(active), n_groups),
        rate_coefficient=np.array([np.stack(forms[RATES[r]][1], axis=1) for r in active]).reshape(
            len(active), n_groups, 3
        ),
        has=has_rate(totals)[active].astype(np.uint8),
        penalty=objective.penalty[active],
        low=low,
        high=high,
        bulk=bulk,
    )
