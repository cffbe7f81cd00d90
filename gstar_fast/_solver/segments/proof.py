"""The proof of a result: certificates it keeps, or those of a new search, held against the counts of a sketch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from gstar_fast._backends import room
from gstar_fast._backends.common.segments import SEGMENT_NODES
from gstar_fast._base.arrays import Ints
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._solver.question import Objective, Scale, scale_of
from gstar_fast._solver.rates import has_rate
from gstar_fast._solver.result import Result
from gstar_fast._solver.segments.certificate import Certificate, certificate_of, certificate_of_mix
from gstar_fast._solver.segments.check import check
from gstar_fast._solver.segments.problem import SegmentCounts, lay_out
from gstar_fast._solver.segments.roles import asked_roles, on_its_columns
from gstar_fast._solver.segments.solve import ORDERS
from gstar_fast._solver.snapshot import Snapshot

MOST_COUNTS = 2**24  # of groups as segments: groups times groups times bins


@dataclass
class Proof:
    """Certificates, made when first asked for."""

    _made: tuple[Certificate, ...] | Callable[[], tuple[Certificate, ...]] = field(repr=False)

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """One, or one for each order of monotone thresholds."""
        if callable(self._made):
            self._made = self._made()
        return self._made

    def __getstate__(self) -> dict[str, object]:
        return {"_made": self.certificates}  # a pickle holds the numbers, not the search


def check_result(result: Result, kept: Proof | None, sketch: Sketch) -> None:
    """Raise where a result claims no least error, or where certificates do not prove it on the counts of a sketch."""
    if why := _claims_nothing(result):
        raise refusal("no_proof", value=why)
    result, sketch = on_its_columns(result, sketch)
    snapshot = Snapshot.of(sketch)
    counts = _counts(result, sketch, snapshot)
    objective = Objective.of(result.limits, None, result.costs, result.balanced)
    scale = scale_of(objective, *counts.totals[:2].sum(axis=1).tolist())
    certificates = _searched(result, counts, objective, scale) if kept is None else kept.certificates
    rising = tuple(range(len(counts.segments)))
    if {c.order for c in certificates} != ({rising, rising[::-1]} if result.monotone else {None}):
        raise refusal("proof", value="it is about other segments, or about one of two orders alone")
    rows = counts.rows.tolist()
    for c in certificates:
        if (dict(c.limits), c.prices, c.unit) != (dict(objective.limits), (scale.fp, scale.fn), scale.unit):
            raise refusal("proof", value="it answers another question, or speaks of other rows")
        _held(c, rows)
    answered = [c for c in certificates if c.choice is not None or c.mixture is not None]
    if result.verdict == "infeasible":
        if answered:
            raise refusal("proof", value="there are thresholds that meet the limits")
        return
    if not answered:
        raise refusal("proof", value="no thresholds meet the limits")
    best = min(answered, key=lambda c: _cost(c, counts, scale))
    own = _own_parts(result, counts, snapshot)
    choice = None if result.randomized else tuple(part[0][0] for part in own)
    best = replace(best, choice=choice, mixture=own if result.randomized else None)
    _held(best, rows)


def _claims_nothing(result: Result) -> str | None:
    """Why a result does not say that its error is the least; None if it does, or says that limits cannot be met."""
    if result.method != "exact" or result.density != "empirical" or result.penalties:
        return "it is about limits on counts, not about penalties or smooth densities"
    if result.min_rows:
        return "small groups were pooled before the thresholds were found"
    if result.verdict not in ("optimal", "infeasible"):
        return f"the verdict is {result.verdict!r}, which does not say that the error is the least"
    if result.verdict == "optimal" and result.optimality_gap > 0:
        return "the thresholds are not those of least error, but stable ones"
    if result.verdict == "infeasible" and result.randomized:
        return "a mixture that misses its limits has none"
    return None


def _counts(result: Result, sketch: Sketch, snapshot: Snapshot) -> SegmentCounts:
    """Rows by protected group and segment; for thresholds by group, each group is a segment, or all are one."""
    if result.decide_by is not None:
        return SegmentCounts.of(snapshot, asked_roles(sketch, result.fair_between, result.decide_by).roles)
    rows, groups = snapshot.rows, snapshot.groups
    if result.unified:
        return SegmentCounts(groups, groups[:1], rows[:, :, None])
    if 3 * len(groups) * rows.shape[1] * rows.shape[2] > MOST_COUNTS:
        raise refusal("no_proof", value=f"{len(groups)} groups are too many to search for one")
    spread = np.zeros((3, len(groups), *rows.shape[1:]), dtype=np.int64)
    for k in range(len(groups)):
        spread[:, k, k] = rows[:, k]
    return SegmentCounts(groups, groups, spread)


def _searched(result: Result, counts: SegmentCounts, objective: Objective, scale: Scale) -> tuple[Certificate, ...]:
    """Certificates of a new search."""
    out = []
    for order in ORDERS if result.monotone else (None,):
        search = lay_out(counts, objective, scale, has_rate(counts.totals), order)
        if result.randomized:
            mix = room("segments").mix(search.nominal())
            if mix is None:
                raise refusal("proof", value="no mixture meets the limits")
            out.append(certificate_of_mix(search, mix))
            continue
        best = room("segments").choose(search.arrays, SEGMENT_NODES)
        if not best.finished:
            raise refusal("no_proof", value=f"the search for one was ended after {best.nodes} boxes")
        out.append(certificate_of(search, best))
    return tuple(out)


def _held(certificate: Certificate, rows: list[list[list[list[int]]]]) -> None:
    if wrong := check(certificate, rows):
        raise refusal("proof", value=wrong)


def _cost(c: Certificate, counts: SegmentCounts, scale: Scale) -> float:
    """What an answer costs, but for what all answers do."""
    parts = [((t, 1.0),) for t in c.choice] if c.choice is not None else c.mixture or ()
    fp, tp, _ = sum(
        (w * counts.accepted(j, t).sum(axis=1) for j, part in enumerate(parts) for t, w in part), np.zeros(3)
    )
    return float(scale.fp * fp - scale.fn * tp)


def _own_parts(result: Result, counts: SegmentCounts, snapshot: Snapshot) -> tuple[tuple[tuple[int, float], ...], ...]:
    """Candidates and weights that the result has for each segment."""
    names = counts.protected if result.unified else counts.segments
    if tuple(result.thresholds) != names:
        raise refusal("proof", value="the thresholds are for other groups or segments")
    if result.mixtures is not None:
        each = list(result.mixtures.values())
    else:
        each = [((threshold, 1.0),) for threshold in result.thresholds.values()]
    if result.unified and len(set(each)) > 1:
        raise refusal("proof", value="unified thresholds differ")
    return tuple(
        tuple((_candidate(threshold, snapshot), weight) for threshold, weight in part)
        for part in each[: len(counts.segments)]
    )


def _candidate(threshold: float, snapshot: Snapshot) -> int:
    found: Ints = np.flatnonzero(snapshot.candidates == threshold)
    if not len(found):
        raise refusal("proof", value=f"the threshold {threshold!r} is at no bin edge")
    return int(found[0])
