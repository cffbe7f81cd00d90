"""Which thresholds are good enough to be promised.

Thresholds that accept or reject almost everybody keep any limit. So thresholds are promised only if they keep three
quarters of what plain thresholds gain over the better constant decision (accept or reject everybody), and three
quarters of what the best unified threshold gains over it.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from gstar_fast._backends.interface import Ints
from gstar_fast._base.arrays import Values
from gstar_fast._solver.question import Scale

KEPT = 0.75


class HasCost(Protocol):
    """An option and its cost E."""

    @property
    def cost(self) -> float: ...


Priced = TypeVar("Priced", bound=HasCost)


class Worth(NamedTuple):
    """The cost E of the decisions that thresholds are compared with."""

    constant: float  # the better constant decision
    unified: float  # the best unified threshold, ignoring limits

    @classmethod
    def of(cls, scale: Scale, totals: Ints, at_unified: Values) -> Worth:
        """From rows (3, K) of each label and group, and those that the best unified threshold accepts."""
        negative, positive = (int(n) for n in totals[:2].sum(axis=1))
        accepted = np.asarray(at_unified)[:2].sum(axis=1)
        unified = scale.fp * int(accepted[0]) + scale.fn * (positive - int(accepted[1]))
        return cls(min(scale.fp * negative, scale.fn * positive) / scale.unit, unified / scale.unit)

    def most(self, plain: float) -> float:
        """The largest cost of thresholds that may be promised, given the cost of the plain ones."""
        return self.constant - KEPT * max(self.constant - min(plain, self.unified), 0.0) + 1e-12

    def useful(self, options: list[Priced], plain: float) -> list[Priced]:
        """The options that may be promised."""
        most = self.most(plain)
        return [option for option in options if option.cost <= most]
