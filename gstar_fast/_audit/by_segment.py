"""Thresholds by segment, measured between protected groups: what a sketch of both says of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gstar_fast._base.arrays import Floats, Ints, Values
from gstar_fast._base.names import Name, canonical, listed
from gstar_fast._base.refusals.place import bad_value
from gstar_fast._base.thresholds import Thresholds, make
from gstar_fast._question.question import Question
from gstar_fast._question.roles import Asked, Roles
from gstar_fast._rates import has_rate
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._solver.question import compared_rates, scale_of
from gstar_fast._solver.result import Result
from gstar_fast._solver.segments.answer import accepted_by, parts_of
from gstar_fast._solver.segments.problem import SegmentCounts, lay_out
from gstar_fast._solver.segments.roles import roles_of
from gstar_fast._solver.segments.solve import ORDERS, choose_among, mix_among
from gstar_fast._solver.snapshot import Snapshot

BOXES = 1000  # of a search on resampled counts


@dataclass(frozen=True)
class BySegment:
    """A result by segment on a sketch whose groups are protected groups and segments."""

    result: Result
    sketch: Sketch
    asked: Asked

    @classmethod
    def of(cls, thresholds: object, sketch: Sketch) -> BySegment | None:
        """None where thresholds are by group."""
        if not isinstance(thresholds, Result) or thresholds.decide_by is None:
            return None
        return cls(thresholds, sketch, roles_of(thresholds, sketch))

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds of the sketch's groups: those of their segments."""
        at = {name: self.asked.roles.segment(name) for name in self.sketch.groups}
        values, mixtures = self.result.thresholds, self.result.mixtures
        unknown = sorted({repr(segment) for segment in at.values() if segment not in values})
        if unknown:
            raise bad_value(
                "thresholds",
                f"there are rows in segments without a threshold: {', '.join(unknown)}; there are thresholds for "
                f"{listed(list(values))}; leave such rows out",
            )
        mixed = None if mixtures is None else {name: mixtures[segment] for name, segment in at.items()}
        return make({name: values[segment] for name, segment in at.items()}, mixtures=mixed)

    @cached_property
    def groups(self) -> tuple[Name, ...]:
        """Protected groups that have rows."""
        return tuple(canonical({self.asked.roles.protected(name) for name in self.sketch.groups}))

    def summed(self, columns: Values, groups: tuple[Name, ...]) -> Values:
        """Columns of the sketch's groups, (..., K), added up to those of protected groups."""
        at = [self.groups.index(self.asked.roles.protected(name)) for name in groups]
        out = np.zeros((*columns.shape[:-1], len(self.groups)), dtype=columns.dtype)
        for k, place in enumerate(at):
            out[..., place] += columns[..., k]
        return out


@dataclass(frozen=True)
class SolveSegments:
    """The question of a result by segment, asked again of resampled counts; `rows` are the counts themselves."""

    rows: SegmentCounts
    roles: Roles
    question: Question
    result: Result

    def found(self, snapshot: Snapshot) -> tuple[Floats, Floats | Ints] | None:
        """Threshold of each segment, of a mixture the likeliest, and the rows (3, A) they accept of `rows`."""
        counts, question = SegmentCounts.of(snapshot, self.roles), self.question
        totals = counts.totals
        has, labelled = has_rate(totals), (int(totals[0].sum()), int(totals[1].sum()))
        if not any(labelled) or (question.balanced and not all(labelled)):
            return None
        if any(has[r].sum() < 2 for _, r in compared_rates(question)):
            return None
        scale = scale_of(question, *labelled)
        orders = ORDERS if self.result.monotone else (None,)
        searches = [lay_out(counts, question, scale, has, order) for order in orders]
        if self.result.verdict == "unified":
            parts = [{searches[0].unified: 1.0}] * len(counts.segments)
        elif self.result.randomized:
            mixture = mix_among(searches).best
            if mixture is None:
                return None
            parts = parts_of(*mixture)
        else:
            candidates = choose_among(searches, BOXES).candidates
            if candidates is None:
                return None
            parts = [{t: 1.0} for t in candidates]
        likeliest = np.array([-max((w, -t) for t, w in part.items())[1] for part in parts])
        accepted = accepted_by(self.rows, parts, self.result.randomized).sum(axis=2)
        return snapshot.thresholds(likeliest), accepted
