"""From counts whose groups are tuples to a search over segments.

A group's name is a tuple. Some of its positions say between whom gaps are measured (`fair_between`), some what the
threshold may depend on (`decide_by`). Groups that agree in the latter make up a segment. Rates are sums over segments:
tpr of a protected group = its accepted positives in all segments / its positives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gstar_fast._backends.common.segments import SegmentArrays
from gstar_fast._base.arrays import Bools, Floats, Ints, Values
from gstar_fast._base.names import Name, sort_key
from gstar_fast._criteria import RATES
from gstar_fast._rates import SOLVER_RATES, has_rate
from gstar_fast._solver.question import TOLERANCE, Objective, Scale, check_groups, scale_of
from gstar_fast._solver.snapshot import Snapshot


@dataclass(frozen=True)
class Roles:
    """Which positions of a group's tuple play which role."""

    fair_between: tuple[int, ...]
    decide_by: tuple[int, ...]

    def protected(self, name: Name) -> Name:
        return part(name, self.fair_between)

    def segment(self, name: Name) -> Name:
        return part(name, self.decide_by)


def part(name: Name, positions: tuple[int, ...]) -> Name:
    """The values of a tuple at these positions: one alone as it is, several as a tuple, none as an empty text."""
    values = name if isinstance(name, tuple) else (name,)
    chosen = tuple(values[i] for i in positions)
    return "" if not chosen else chosen[0] if len(chosen) == 1 else chosen


@dataclass(frozen=True)
class SegmentCounts:
    """Rows of each label (2: unlabelled), protected group, segment and bin; bins as in `Snapshot`."""

    protected: tuple[Name, ...]
    segments: tuple[Name, ...]
    rows: Ints  # (3, A, m, C)

    @classmethod
    def of(cls, snapshot: Snapshot, roles: Roles, values: Values | None = None) -> SegmentCounts:
        """Lay out the rows of a snapshot, or other values of its groups and bins, (3, K, C)."""
        given = snapshot.rows if values is None else values
        protected = tuple(sorted({roles.protected(name) for name in snapshot.groups}, key=sort_key))
        segments = tuple(sorted({roles.segment(name) for name in snapshot.groups}, key=sort_key))
        at = [(protected.index(roles.protected(name)), segments.index(roles.segment(name))) for name in snapshot.groups]
        shape = (3, len(protected), len(segments), given.shape[2])
        if at == list(np.ndindex(shape[1:3])):  # every pair once and in order: the counts lie as they should
            return cls(protected, segments, given.reshape(shape))
        rows = np.zeros(shape, dtype=given.dtype)
        some = slice(3 if given[2].any() else 2)
        for k, (a, j) in enumerate(at):
            rows[some, a, j] += given[some, k]
        return cls(protected, segments, rows)

    def accepted(self, j: int, candidate: int) -> Ints:
        """Rows (3, A) of segment `j` that a candidate accepts."""
        return np.asarray(self.rows[:, :, j, candidate:].sum(axis=2))

    @cached_property
    def pooled(self) -> Ints:
        """Rows of everybody that each candidate accepts, (3, C)."""
        return from_above(self.rows.sum(axis=(1, 2)))

    @property
    def totals(self) -> Ints:
        """Rows of each label and protected group, (3, A)."""
        return np.asarray(self.rows.sum(axis=(2, 3)))


@dataclass(frozen=True)
class SegmentSearch:
    """A question about segments ready for a backend, and the way back from its numbers to thresholds."""

    counts: SegmentCounts
    objective: Objective
    scale: Scale
    has: Bools  # (5, A)
    candidate: Ints  # (n,) of each entry of the arrays
    last: Ints  # (n,) the highest candidate that accepts the same rows
    order: tuple[int, ...]  # segments as the arrays have them; reversed where thresholds fall
    unified: int  # the best candidate for everybody
    arrays: SegmentArrays
    notes: tuple[str, ...]

    def candidates(self, numbers: Ints) -> Ints:
        """Candidates of all segments, in the order of `counts.segments`."""
        out = np.empty(len(self.order), dtype=np.int64)
        out[list(self.order)] = self.candidate[self.arrays.start[:-1] + numbers]
        return out

    def accepted(self, candidates: Ints) -> Ints:
        """Rows (3, A) that a choice accepts."""
        return np.asarray(sum(self.counts.accepted(j, t) for j, t in enumerate(candidates.tolist())))

    def nominal(self) -> SegmentArrays:
        """The same with limits that leave no tolerance, as mixtures are held to."""
        p = self.arrays
        limit = np.where(p.limit < np.inf, np.maximum(p.limit - TOLERANCE, 0.0), np.inf)
        ratio = np.where(p.ratio >= 0, p.ratio + TOLERANCE, -1.0)
        return replace(p, limit=limit, ratio=ratio, total=max(p.total - TOLERANCE, 0.0))


def from_above(rows: Ints) -> Ints:
    """Rows in each bin and all bins over it: sums along the last axis, from its end."""
    out = np.empty_like(rows)
    out[..., 0] = 0
    np.cumsum(rows[..., :-1], axis=-1, out=out[..., 1:])  # those under each bin: quicker than from the end
    np.subtract(rows.sum(axis=-1, keepdims=True), out, out=out)
    return out


def loosened(p: SegmentArrays, slack: float) -> SegmentArrays:
    """The same question with every limit looser."""
    ratio = np.where(p.ratio >= 0, np.maximum(p.ratio - slack, 0), p.ratio)
    return replace(p, limit=p.limit + slack, ratio=ratio, total=p.total + slack)


def prepare(snapshot: Snapshot, roles: Roles, objective: Objective, monotone: str | None = None) -> SegmentSearch:
    """Lay out a question. `monotone` is None, "rising" or "falling": thresholds along the order of segments."""
    counts = SegmentCounts.of(snapshot, roles)
    totals = counts.totals
    has = has_rate(totals)
    notes = [*snapshot.notes, *check_groups(objective, counts.protected, has)]
    scale = scale_of(objective, int(totals[0].sum()), int(totals[1].sum()))
    return lay_out(counts, objective, scale, has, monotone, tuple(notes))


def lay_out(
    counts: SegmentCounts,
    objective: Objective,
    scale: Scale,
    has: Bools,
    monotone: str | None = None,
    notes: tuple[str, ...] = (),
) -> SegmentSearch:
    """What `prepare` does once the counts are there and checked."""
    totals, n_segments = counts.totals, len(counts.segments)
    order = tuple(range(n_segments))[:: -1 if monotone == "falling" else 1]
    unified = int(np.argmin(scale.fp * counts.pooled[0] - scale.fn * counts.pooled[1]))
    filled = np.asarray(counts.rows.any(axis=(0, 1)))
    ends = [_ends(filled[j], monotone is not None) for j in order]
    chosen = [np.clip(unified, first, last) for first, last in ends]
    candidate = np.concatenate(chosen)
    start = np.concatenate([[0], np.cumsum([len(at) for at in chosen])]).astype(np.int64)
    cell = np.flatnonzero(totals.T.reshape(-1) > 0)  # 3 a + label
    by_cell, cost = np.empty((len(cell), len(candidate))), np.empty(len(candidate), dtype=np.int64)
    for i, (j, at) in enumerate(zip(order, chosen, strict=True)):  # one after the other: each fits into the cache
        accepted, here = from_above(counts.rows[:, :, j])[..., at], slice(start[i], start[i + 1])
        by_cell[:, here] = accepted[cell % 3, cell // 3]
        missed = counts.rows[1, :, j].sum() - accepted[1].sum(axis=0)
        cost[here] = scale.fp * accepted[0].sum(axis=0) + scale.fn * missed
    limit, ratio = objective.limit, objective.ratio
    active = [r for r in range(len(RATES)) if (limit[r] < np.inf or ratio[r] > 0) and int(has[r].sum()) > 1]
    slope, base = _linear(totals, cell, active)
    arrays = SegmentArrays(
        start=start,
        accepted=by_cell,
        cell=cell.astype(np.int64),
        cost=cost,
        distance=np.abs(candidate - unified).astype(np.int64),
        totals=totals.astype(np.float64),
        price=np.array([(scale.fp, -scale.fn, 0)[c % 3] for c in cell.tolist()], dtype=np.float64) / scale.unit,
        constant=scale.fn * int(totals[1].sum()) / scale.unit,
        rate=np.array(active, dtype=np.int64),
        slope=slope,
        base=base,
        has=has[active].astype(np.uint8),
        limit=limit[active],
        ratio=ratio[active],
        unit=scale.unit,
        rising=monotone is not None,
        total=objective.total if active[:2] == [0, 1] else np.inf,  # one gap alone has its limit above
    )
    last = np.concatenate([last for _, last in ends])
    return SegmentSearch(counts, objective, scale, has, candidate, last, order, unified, arrays, notes)


def _ends(filled: Bools, every: bool) -> tuple[Ints, Ints]:
    """First and last of the candidates that accept the same rows of a segment, whose bins are `filled` or empty."""
    n = len(filled)
    if every:
        return np.arange(n), np.arange(n)
    first = np.concatenate([[0], 1 + np.flatnonzero(filled[: n - 1])])
    return first, np.concatenate([first[1:] - 1, [n - 1]])


def _linear(totals: Ints, cell: Ints, active: Sequence[int]) -> tuple[Floats, Floats]:
    """Rates as sums over accepted rows: slopes (R, C) and bases (R, A)."""
    rows, wanted = totals.astype(np.float64), [SOLVER_RATES[r] for r in active]
    slope = np.array([rate.slopes(rows).T.reshape(-1)[cell] for rate in wanted]).reshape(-1, len(cell))
    return slope, np.array([rate.base(rows) for rate in wanted]).reshape(-1, rows.shape[1])
