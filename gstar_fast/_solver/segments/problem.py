"""From cells to a search over segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gstar_fast._backends.common.segments import LEAST, MOST, Program, Row, rows_of
from gstar_fast._base.arrays import Bools, Floats, Ints, Values
from gstar_fast._base.names import Name
from gstar_fast._criteria import TOLERANCE, Form, Limit
from gstar_fast._rates import SOLVER_RATES, Rate
from gstar_fast._solver.search import Problem

ORDERS = ("rising", "falling")  # tried in this order where thresholds shall be monotone; the first of equals stays


@dataclass(frozen=True)
class SegmentSearch(Problem):
    """A question about segments ready for a backend, and the way back from its numbers to thresholds."""

    candidate: Ints  # (n,) of each entry of the arrays
    last: Ints  # (n,) the highest candidate that accepts the same rows
    order: tuple[int, ...]  # segments as the arrays have them; reversed where thresholds fall
    unified: int  # the best candidate for everybody
    rates: tuple[int, ...]  # that are limited; measure r * A + a is that of protected group a
    arrays: Program

    def candidates(self, numbers: Ints) -> Ints:
        """Candidates of all segments, in the order of `cells.segments`."""
        out = np.empty(len(self.order), dtype=np.int64)
        out[list(self.order)] = self.candidate[self.arrays.start[:-1] + numbers]
        return out

    def held_to(self, limit: Floats, ratio: Floats, total: float) -> SegmentSearch:
        """The same with other limits on the rates: tolerance included, inf and -1 where there is none."""
        total = total if self.arrays.rows.share.any() else np.inf
        rows = self.arrays.rows
        made = rows_of(limit, ratio, total, self.measured, rows.kept(rows.kind >= LEAST))
        return replace(self, arrays=replace(self.arrays, rows=made))

    @property
    def measured(self) -> Bools:
        """Which measures there are, by rate and protected group; all rows together come last where they are limited."""
        groups = len(self.arrays.base) // len(self.rates) if self.rates else self.has.shape[1]
        return _measured(self.has, self.rates, groups)

    def nominal(self) -> Program:
        """The same with limits that leave no tolerance, as mixtures are held to."""
        p = self.arrays
        return replace(p, rows=p.rows.looser(-TOLERANCE, least=0.0))


def from_above(rows: Ints) -> Ints:
    """Rows in each bin and all bins over it: sums along the last axis, from its end."""
    out = np.empty_like(rows)
    out[..., 0] = 0
    np.cumsum(rows[..., :-1], axis=-1, out=out[..., 1:])  # those under each bin: quicker than from the end
    np.subtract(rows.sum(axis=-1, keepdims=True), out, out=out)
    return out


def loosened(p: Program, slack: float) -> Program:
    """The same question with every limit looser."""
    return replace(p, rows=p.rows.looser(slack))


def searches_of(problem: Problem) -> list[SegmentSearch]:
    """One search, or one for each of ORDERS where thresholds shall be monotone."""
    return [lay_out(problem, order) for order in (ORDERS if problem.question.monotone else (None,))]


def lay_out(problem: Problem, monotone: str | None = None) -> SegmentSearch:
    """Lay out a question. `monotone` is None, "rising" or "falling": thresholds along the order of segments."""
    cells, question, totals, scale, has = problem.cells, problem.question, problem.totals, problem.scale, problem.has
    order = tuple(range(len(cells.segments)))[:: -1 if monotone == "falling" else 1]
    everybody = from_above(cells.rows.sum(axis=1))
    unified = int(np.argmin(scale.fp * everybody[0] - scale.fn * everybody[1]))
    cell = np.flatnonzero(totals.T.reshape(-1) > 0)  # 3 a + label
    slot_of = np.full(totals.size, -1)
    slot_of[cell] = np.arange(len(cell))
    ends, chosen, slots, values, cost = [], [], [], [], []
    for j in order:  # one after the other: each fits into the cache
        mine = cells.members[j]
        rows = cells.rows[:, mine]
        ends.append(_ends(np.asarray(rows.any(axis=(0, 1))), monotone is not None))
        at = np.clip(unified, *ends[-1])
        accepted = from_above(rows)[..., at]
        here = rows.any(axis=2).T.reshape(-1)  # of the cells, by group and label
        slots.append(slot_of[(3 * cells.group[mine][:, None] + np.arange(3)).reshape(-1)[here]])
        values.append(accepted.transpose(1, 0, 2).reshape(-1, len(at))[here].astype(np.float64).reshape(-1))
        cost.append(scale.fp * accepted[0].sum(axis=0) + scale.fn * (rows[1].sum() - accepted[1].sum(axis=0)))
        chosen.append(at)
    candidate = np.concatenate(chosen)
    limit, ratio = question.windows.most, question.windows.ratio
    bounds = [one for one in question.limits if one.form in (Form.BOUND, Form.TOTAL)]
    alone = {SOLVER_RATES.index(rate) for one in bounds for rate in one.criterion.rates}
    compared = [r for r in range(len(SOLVER_RATES)) if (limit[r] < np.inf or ratio[r] > 0) and int(has[r].sum()) > 1]
    active = sorted(alone.union(compared))
    groups = totals.shape[1] + any(one.form is Form.TOTAL for one in bounds)
    measured = _measured(has, active, groups)
    single = [row for one in bounds for row in _bounds(one, active, measured, cells.groups)]
    total = question.windows.total if compared[:2] == [0, 1] else np.inf  # one gap alone has its limit above
    arrays = Program(
        start=_offsets(chosen),
        begin=_offsets(slots),
        slot=np.concatenate(slots),
        values=np.concatenate(values),
        cost=np.concatenate(cost),
        distance=np.abs(candidate - unified).astype(np.int64),
        price=np.array([(scale.fp, -scale.fn, 0)[c % 3] for c in cell.tolist()], dtype=np.float64) / scale.unit,
        most=totals.T.reshape(-1)[cell].astype(np.float64),
        constant=scale.fn * int(totals[1].sum()) / scale.unit,
        **_measures(totals, cell, [SOLVER_RATES[r] for r in active], groups),
        rows=rows_of(limit[active], ratio[active], total, measured, single),
        unit=scale.unit,
        rising=monotone is not None,
    )
    last = np.concatenate([last for _, last in ends])
    given = cells, question, totals, scale, has, problem.notes
    return SegmentSearch(*given, candidate, last, order, unified, tuple(active), arrays)


def _offsets(parts: Sequence[Values]) -> Ints:
    """Where each of these begins, end to end."""
    return np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)


def _ends(filled: Bools, every: bool) -> tuple[Ints, Ints]:
    """First and last of the candidates that accept the same rows of a segment, whose bins are `filled` or empty."""
    n = len(filled)
    if every:
        return np.arange(n), np.arange(n)
    first = np.concatenate([[0], 1 + np.flatnonzero(filled[: n - 1])])
    return first, np.concatenate([first[1:] - 1, [n - 1]])


def _measured(has: Bools, rates: Sequence[int], groups: int) -> Bools:
    """Which protected groups have each rate, and that all rows together are not compared with them."""
    out = np.zeros((len(rates), groups), dtype=bool)
    out[:, : has.shape[1]] = has[list(rates)]
    return out


def _bounds(limit: Limit, active: list[int], measured: Bools, protected: tuple[Name, ...]) -> list[Row]:
    """The rows of a bound on a rate of every group, of one, or of all rows together."""
    found = []
    for r in (active.index(SOLVER_RATES.index(rate)) for rate in limit.criterion.rates):
        some = [len(protected)] if limit.form is Form.TOTAL else np.flatnonzero(measured[r]).tolist()
        for a in some if limit.group is None else [protected.index(limit.group)]:
            measure = r * measured.shape[1] + a
            if limit.least > -np.inf:
                found.append(Row(LEAST, measure, -1, -1.0, TOLERANCE - limit.least))
            if limit.most < np.inf:
                found.append(Row(MOST, measure, -1, 1.0, limit.most + TOLERANCE))
    return found


def _measures(totals: Ints, cell: Ints, rates: Sequence[Rate], groups: int) -> dict[str, Any]:
    """Measure r * groups + a of a program is rate r of protected group a; of all rows where there is one more group."""
    rows = totals.astype(np.float64)
    if groups > rows.shape[1]:
        rows = np.concatenate([rows, rows.sum(axis=1, keepdims=True)], axis=1)
    every = np.array([rate.slopes(rows) for rate in rates]).reshape(-1, 3, groups)
    own = every[:, cell % 3, cell // 3]
    slopes = np.stack([own, every[:, cell % 3, -1]], axis=1) if groups > totals.shape[1] else own[:, None]
    slot, r, whole = np.nonzero(slopes.transpose(2, 0, 1))
    hits, given, trials = np.zeros((len(rates), 2, 3)), *np.zeros((2, len(rates), groups, 2))
    for i, rate in enumerate(rates):
        for k, share in enumerate(rate.shares):
            hits[i, k] = share.hits[:3]
            given[i, :, k], trials[i, :, k] = share.counted(np.zeros_like(rows), rows)
    trials[..., 0] = np.maximum(trials[..., 0], 1.0)
    return {
        "term": np.searchsorted(slot, np.arange(len(cell) + 1)),
        "measure": r * groups + np.where(whole, groups - 1, cell[slot] // 3),
        "slope": slopes[r, whole, slot],
        "hits": hits[r, :, cell[slot] % 3],
        "base": np.array([rate.base(rows) for rate in rates]).reshape(-1),
        "given": given.reshape(-1, 2),
        "trials": trials.reshape(-1, 2),
    }
