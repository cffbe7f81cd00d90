"""The proof that a result by segment keeps, and how it is held against a sketch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._solver.question import Objective, scale_of
from gstar_fast._solver.result import Result
from gstar_fast._solver.segments.certificate import Certificate
from gstar_fast._solver.segments.check import check
from gstar_fast._solver.segments.problem import SegmentCounts
from gstar_fast._solver.segments.roles import asked_roles
from gstar_fast._solver.snapshot import Snapshot

Parts = list[dict[float, float]]  # of each segment: thresholds and their weights


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

    def check(self, result: Result, sketch: Sketch) -> None:
        """Raise where the certificates do not prove the result on the counts of a sketch."""
        roles = asked_roles(sketch, result.fair_between, result.decide_by).roles
        snapshot = Snapshot.of(sketch)
        counts = SegmentCounts.of(snapshot, roles)
        objective = Objective.of(result.limits, None, result.costs, result.balanced)
        scale = scale_of(objective, *counts.totals[:2].sum(axis=1).tolist())
        orders: set[tuple[int, ...] | None] = {None}
        if result.monotone:
            rising = tuple(range(len(counts.segments)))
            orders = {rising, rising[::-1]}
        if {c.order for c in self.certificates} != orders:
            raise refusal("proof", value="it is about other segments, or about one of two orders alone")
        rows, best, least = counts.rows.tolist(), None, np.inf
        for c in self.certificates:
            if (dict(c.limits), c.prices, c.unit) != (dict(objective.limits), (scale.fp, scale.fn), scale.unit):
                raise refusal("proof", value="it answers another question, or speaks of other rows")
            if wrong := check(c, rows):
                raise refusal("proof", value=wrong)
            parts = [((t, 1.0),) for t in c.choice] if c.choice is not None else c.mixture
            if parts is None:
                continue
            cost = sum(
                w * (scale.fp * accepted[0] - scale.fn * accepted[1])
                for j, part in enumerate(parts)
                for t, w in part
                for accepted in [counts.accepted[:, :, j, t].sum(axis=1).tolist()]
            )
            if cost < least:
                least, best = cost, [_by_threshold(part, snapshot) for part in parts]
        if result.verdict == "infeasible":
            if best is not None:
                raise refusal("proof", value="there are thresholds that meet the limits")
        elif best != _parts(result) or tuple(result.thresholds) != counts.segments:
            raise refusal("proof", value="the thresholds are others than the proven ones")


def _by_threshold(part: tuple[tuple[int, float], ...], snapshot: Snapshot) -> dict[float, float]:
    out: dict[float, float] = {}
    for candidate, weight in part:
        threshold = float(snapshot.candidates[candidate])
        out[threshold] = out.get(threshold, 0.0) + weight
    return out


def _parts(result: Result) -> Parts:
    if result.mixtures is None:
        return [{threshold: 1.0} for threshold in result.thresholds.values()]
    return [dict(part) for part in result.mixtures.values()]
