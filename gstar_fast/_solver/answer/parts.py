"""Parts of a result that are more than one number."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Slack:
    """How far the limits are out of reach."""

    each: float  # every limit would have to be looser by this
    least: bool  # whether less is proven not to be enough

    def words(self, what: str) -> str:
        """The end of a message; `what` is shown instead, such as thresholds."""
        by = "the least" if self.least else "the least that was found"
        return f"they could be met if each were {self.each:g} looser; shown are {what} that miss the limits by {by}"


@dataclass(frozen=True)
class Point:
    """Where a result stands on a frontier."""

    criterion: str
    number: int  # from 1
    of: int  # points in all
    between: bool = False  # between this point and the next one

    def __str__(self) -> str:
        where = f"between points {self.number} and {self.number + 1}" if self.between else f"point {self.number}"
        return f"{where} of {self.of} on the frontier of {self.criterion}"
