"""How often groups are accepted, and what comes of it: rates, gaps and error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gstar_fast._backends.interface import Curve, Floats, Ints, SmoothProblem
from gstar_fast._base.arrays import Bools
from gstar_fast._base.names import Name
from gstar_fast._criteria import CRITERION, Form, Limit
from gstar_fast._question.question import Question
from gstar_fast._rates import SOLVER_RATES, ends_of, has_rate, rates_of_counts
from gstar_fast._solver.answer.parts import GroupRates
from gstar_fast._solver.question import Scale

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
    positions = list(wanted)
    if len(positions) == len(SOLVER_RATES) and accepted.dtype.kind == "i" and accepted.shape == totals.shape:
        return rates_of_counts(accepted, totals)
    out = np.empty((len(positions), accepted.shape[1]))
    for row, r in zip(out, positions, strict=True):
        SOLVER_RATES[r].values(accepted, totals, row)
    return out


def gaps_of(rates: Floats, has: Bools) -> dict[str, float]:
    """Every gap that is defined, from rates (5, K) and which groups have them."""
    ends = ends_of(rates, has)
    gaps = {}
    for name, value_of, at in _COMPARED:
        value = value_of([ends[r] for r in at])
        if value is not None:
            gaps[name] = value
    return gaps


_COMPARED = [
    (name, criterion.value, [SOLVER_RATES.index(rate) for rate in criterion.rates])
    for name, criterion in CRITERION.items()
]


@dataclass(frozen=True)
class Outcome:
    """Error, gaps and rates when these (expected) counts are accepted, (3, K)."""

    error: float
    weighted_error: float  # E
    gaps: dict[str, float]
    rates: Floats
    has: Bools
    accepted: Counts
    totals: Ints

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
        return cls(error, cost / scale.unit, gaps_of(rates, has), rates, has, accepted, totals)

    def by_group(self, groups: tuple[Name, ...], rows: Counts) -> dict[Name, GroupRates]:
        return rates_by_group(groups, self.rates, self.has, rows)

    def reached(self, limit: Limit, groups: tuple[Name, ...]) -> float | None:
        """The value that is compared with a limit."""
        if limit.form is Form.BOUND:
            own = slice(None) if limit.group is None else [groups.index(limit.group)]
            accepted, totals = self.accepted[:, own], self.totals[:, own]
        elif limit.form is Form.TOTAL:
            accepted, totals = (rows.sum(axis=1, keepdims=True) for rows in (self.accepted, self.totals))
        else:
            return self.gaps.get(limit.criterion.name)
        rate = limit.criterion.rates[0]
        return limit.value(rate.values(accepted, totals)[None], rate.has(totals, accepted)[None])


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
    question: Question,
    scale: Scale,
    active: list[int],
    low: float,
    high: float,
    bulk: float,
) -> SmoothProblem:
    """Write E and the active rates as linear forms in the cdfs; `totals` is (3, K)."""
    rows = totals.astype(np.float64)
    wanted, shape = [SOLVER_RATES[r] for r in active], (len(active), rows.shape[1])
    price = np.array([[-scale.fp], [scale.fn], [0]])
    return SmoothProblem(
        cells=list(cells),
        error_base=scale.fp * rows[0] / scale.unit,
        error_coefficient=(price * rows).T / scale.unit,
        rate_base=np.array([rate.values(rows, rows) for rate in wanted]).reshape(shape),
        rate_coefficient=np.array([rate.slopes(rows, rows).T for rate in wanted]).reshape(*shape, 3),
        has=has_rate(totals)[active].astype(np.uint8),
        penalty=question.penalty[active],
        low=low,
        high=high,
        bulk=bulk,
    )
