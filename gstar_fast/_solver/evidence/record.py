"""The evidence for thresholds by group that a result records."""

from __future__ import annotations

from dataclasses import dataclass

from gstar_fast._base.public import lives_in


@lives_in("gstar_fast.results")
@dataclass(frozen=True)
class Evidence:
    """Evidence that thresholds by group, or by segment, cost less than the best unified threshold.

    Attributes
    ----------
    level : float
        The `evidence` that was asked for.
    cost : float or None
        Cost of the best thresholds by group. This number and the next two are None if there was nothing to compare: the
        unified threshold misses a limit, or is itself the best.
    z : float or None
        What they save on the rows that the two rules decide differently, divided by its standard error.
    needed : float or None
        Thresholds by group are returned if `z` is larger than this.
    """

    level: float
    cost: float | None = None
    z: float | None = None
    needed: float | None = None
