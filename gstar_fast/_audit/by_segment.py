"""Thresholds by segment, measured between protected groups: what a sketch of both says of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gstar_fast._base.arrays import Values
from gstar_fast._base.names import Name, canonical, listed
from gstar_fast._base.refusals.place import bad_value
from gstar_fast._base.thresholds import Thresholds, make
from gstar_fast._question.roles import Roles
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._solver.result import Result
from gstar_fast._solver.segments.roles import roles_of


@dataclass(frozen=True)
class BySegment:
    """A result by segment on a sketch whose groups are protected groups and segments."""

    result: Result
    sketch: Sketch
    roles: Roles

    @classmethod
    def of(cls, thresholds: object, sketch: Sketch) -> BySegment | None:
        """None where thresholds are by group."""
        if not isinstance(thresholds, Result) or thresholds.decide_by is None:
            return None
        return cls(thresholds, sketch, roles_of(thresholds, sketch))

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds of the sketch's groups: those of their segments."""
        at = {name: self.roles.segment(name) for name in self.sketch.groups}
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
        return tuple(canonical({self.roles.protected(name) for name in self.sketch.groups}))

    def summed(self, columns: Values, groups: tuple[Name, ...]) -> Values:
        """Columns of the sketch's groups, (..., K), added up to those of protected groups."""
        at = [self.groups.index(self.roles.protected(name)) for name in groups]
        out = np.zeros((*columns.shape[:-1], len(self.groups)), dtype=columns.dtype)
        for k, place in enumerate(at):
            out[..., place] += columns[..., k]
        return out
