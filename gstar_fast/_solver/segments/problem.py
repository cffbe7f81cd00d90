"""From counts whose groups are tuples to a search over segments.

A group's name is a tuple. Some of its positions say between whom gaps are measured (`fair_between`), some what the
threshold may depend on (`decide_by`). Groups that agree in the latter make up a segment. Rates are sums over segments:
tpr of a protected group = its accepted positives in all segments / its positives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gstar_fast._backends.common.segments import LEAST, MOST, Program, Row, rows_of
from gstar_fast._base.arrays import Bools, Floats, Ints, Values
from gstar_fast._base.names import Name, sort_key
from gstar_fast._criteria import TOLERANCE, Form, Limit
from gstar_fast._question.question import Question
from gstar_fast._question.roles import Roles
from gstar_fast._rates import SOLVER_RATES, Rate, has_rate
from gstar_fast._solver.answer.note import Note
from gstar_fast._solver.question import Scale, check_groups, scale_of
from gstar_fast._solver.snapshot import Snapshot


@dataclass(frozen=True)
class SegmentCounts:
    """Rows of each label (2: unlabelled), cell and bin (as in `Snapshot`). A cell is a protected group in a segment.

    A protected group and a segment without rows in common have no cell: 100 groups that are segments have 100 cells.
    """

    protected: tuple[Name, ...]
    segments: tuple[Name, ...]
    cells: Values  # (3, K, C)
    group: Ints  # (K,) of each cell
    segment: Ints  # (K,)

    @classmethod
    def of(cls, snapshot: Snapshot, roles: Roles, values: Values | None = None) -> SegmentCounts:
        """Lay out the rows of a snapshot, or other values of its groups and bins, (3, K, C)."""
        given = snapshot.rows if values is None else values
        protected = tuple(sorted({roles.protected(name) for name in snapshot.groups}, key=sort_key))
        segments = tuple(sorted({roles.segment(name) for name in snapshot.groups}, key=sort_key))
        of_group, of_segment = ({name: i for i, name in enumerate(names)} for names in (protected, segments))
        at = [(of_group[roles.protected(name)], of_segment[roles.segment(name)]) for name in snapshot.groups]
        pairs = sorted(set(at))
        if at == pairs:  # every pair once and in order: the counts lie as they should
            cells = given
        else:
            cells = np.zeros((3, len(pairs), given.shape[2]), dtype=given.dtype)
            place = {pair: i for i, pair in enumerate(pairs)}
            for k, pair in enumerate(at):
                cells[:, place[pair]] += given[:, k]
        group, segment = np.array(pairs, dtype=np.int64).T
        return cls(protected, segments, cells, group, segment)

    @classmethod
    def dense(cls, protected: tuple[Name, ...], segments: tuple[Name, ...], rows: Values) -> SegmentCounts:
        """The same from rows (3, A, m, C)."""
        group, segment = np.indices((len(protected), len(segments))).reshape(2, -1)
        return cls(protected, segments, rows.reshape(3, -1, rows.shape[3]), group, segment)

    @property
    def rows(self) -> Values:
        """Rows of each label, protected group, segment and bin, (3, A, m, C)."""
        many = len(self.protected), len(self.segments)
        if len(self.group) == many[0] * many[1]:
            return self.cells.reshape(3, *many, -1)
        out = np.zeros((3, *many, self.cells.shape[2]), dtype=self.cells.dtype)
        out[:, self.group, self.segment] = self.cells
        return out

    @cached_property
    def members(self) -> list[Ints]:
        """Cells of each segment, by protected group."""
        return [np.flatnonzero(self.segment == j) for j in range(len(self.segments))]

    def accepted(self, j: int, candidate: int) -> Values:
        """Rows (3, A) of segment `j` that a candidate accepts."""
        mine = self.members[j]
        out = np.zeros((3, len(self.protected)), dtype=self.cells.dtype)
        out[:, self.group[mine]] = self.cells[:, mine, candidate:].sum(axis=2)
        return out

    @cached_property
    def pooled(self) -> Ints:
        """Rows of everybody that each candidate accepts, (3, C)."""
        return from_above(self.cells.sum(axis=1))

    @property
    def totals(self) -> Values:
        """Rows of each label and protected group, (3, A)."""
        if self.cells.dtype.kind == "f":  # one order of sums
            return np.asarray(self.rows.sum(axis=(2, 3)))
        out = np.zeros((3, len(self.protected)), dtype=np.int64)
        for a, rows in zip(self.group.tolist(), self.cells.sum(axis=2).T, strict=True):
            out[:, a] += rows
        return out


@dataclass(frozen=True)
class SegmentSearch:
    """A question about segments ready for a backend, and the way back from its numbers to thresholds."""

    counts: SegmentCounts
    question: Question
    scale: Scale
    has: Bools  # (5, A)
    candidate: Ints  # (n,) of each entry of the arrays
    last: Ints  # (n,) the highest candidate that accepts the same rows
    order: tuple[int, ...]  # segments as the arrays have them; reversed where thresholds fall
    unified: int  # the best candidate for everybody
    rates: tuple[int, ...]  # that are limited; measure r * A + a is that of protected group a
    arrays: Program
    notes: tuple[Note, ...]

    def candidates(self, numbers: Ints) -> Ints:
        """Candidates of all segments, in the order of `counts.segments`."""
        out = np.empty(len(self.order), dtype=np.int64)
        out[list(self.order)] = self.candidate[self.arrays.start[:-1] + numbers]
        return out

    def accepted(self, candidates: Ints) -> Ints:
        """Rows (3, A) that a choice accepts."""
        return np.asarray(sum(self.counts.accepted(j, t) for j, t in enumerate(candidates.tolist())))

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


def prepare(snapshot: Snapshot, roles: Roles, question: Question, monotone: str | None = None) -> SegmentSearch:
    """Lay out a question. `monotone` is None, "rising" or "falling": thresholds along the order of segments."""
    counts = SegmentCounts.of(snapshot, roles)
    totals = counts.totals
    has = has_rate(totals)
    notes = [*snapshot.notes, *check_groups(question, counts.protected, has)]
    scale = scale_of(question, int(totals[0].sum()), int(totals[1].sum()))
    return lay_out(counts, question, scale, has, monotone, tuple(notes))


def lay_out(
    counts: SegmentCounts,
    question: Question,
    scale: Scale,
    has: Bools,
    monotone: str | None = None,
    notes: tuple[Note, ...] = (),
) -> SegmentSearch:
    """What `prepare` does once the counts are there and checked."""
    totals, n_segments = counts.totals, len(counts.segments)
    order = tuple(range(n_segments))[:: -1 if monotone == "falling" else 1]
    unified = int(np.argmin(scale.fp * counts.pooled[0] - scale.fn * counts.pooled[1]))
    cell = np.flatnonzero(totals.T.reshape(-1) > 0)  # 3 a + label
    slot_of = np.full(totals.size, -1)
    slot_of[cell] = np.arange(len(cell))
    ends, chosen, slots, values, cost = [], [], [], [], []
    for j in order:  # one after the other: each fits into the cache
        mine = counts.members[j]
        rows = counts.cells[:, mine]
        ends.append(_ends(np.asarray(rows.any(axis=(0, 1))), monotone is not None))
        at = np.clip(unified, *ends[-1])
        accepted = from_above(rows)[..., at]
        here = rows.any(axis=2).T.reshape(-1)  # of the cells, by group and label
        slots.append(slot_of[(3 * counts.group[mine][:, None] + np.arange(3)).reshape(-1)[here]])
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
    single = [row for one in bounds for row in _bounds(one, active, measured, counts.protected)]
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
    return SegmentSearch(counts, question, scale, has, candidate, last, order, unified, tuple(active), arrays, notes)


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
