"""What a result says of its promise, and what planning says of the rows that one would need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gstar_fast._base.names import Name
from gstar_fast._base.public import lives_in
from gstar_fast._base.text import aligned, first_few, printable_name, row_count, short_number

if TYPE_CHECKING:
    from gstar_fast._solver.result import Result


@lives_in("gstar_fast.results")
@dataclass(frozen=True)
class RowsNeeded:
    """How many rows a promise would need. Made by `rows_needed`; print it.

    Attributes
    ----------
    times : float or None
        How many times the rows of all groups, below 1 where fewer would do; None where no number of rows helps.
    rows : float or None
        The same as a number of rows.
    by_group : dict
        For each group, how many times its rows would be enough if the other groups stay as they are. None where rows of
        this group alone do not help.
    too_small : tuple
        Groups whose rows cannot support the limit at all, however many rows the others have.
    limits, confidence
        What was asked.
    """

    times: float | None
    rows: float | None
    by_group: dict[Name, float | None]
    too_small: tuple[Name, ...]
    limits: Mapping[str, float] = field(default_factory=dict)
    confidence: float = 0.95

    def __str__(self) -> str:
        if self.times is None:
            first = "no number of rows like these would be enough for a promise"
        elif self.times <= 1:
            first = f"the rows are enough for a promise: about {self.times:.2g} times as many would do"
        else:
            first = f"a promise needs about {self.times:.2g} times the rows: {row_count(round(self.rows or 0))}"
        lines = [f"{first} ({self.confidence:g} confidence)"]
        if self.too_small:
            lines.append(
                f"too small for these limits, whatever the others have: {first_few(map(repr, self.too_small))}"
            )
        table = [["group", "times its rows alone"]]
        table += [[printable_name(name), short_number(times, 2)] for name, times in list(self.by_group.items())[:50]]
        return "\n".join([*lines, "", *aligned(table)])


@lives_in("gstar_fast.results")
@dataclass(frozen=True)
class Promise:
    """What is promised of the limits on new rows. Made by `solve` with `confidence`.

    Attributes
    ----------
    confidence : float
        What was asked.
    chance : float
        Chance, given the counts, that a gap on new rows is above its limit, at the thresholds of the result.
    upper : dict
        By criterion, the smallest limit that could have been promised at these thresholds (for disparate_impact the
        largest ratio).
    cost : float
        Error paid for the promise: that of the result over that of `plain`. 0 where nothing is promised.
    plain : Result
        What `solve` finds without `confidence`.
    plain_chance : float
        The chance at the thresholds of `plain`.
    rows_needed : RowsNeeded or None
        How many rows a promise would need; None where one is made.
    """

    confidence: float
    chance: float
    upper: dict[str, float]
    cost: float
    plain: Result
    plain_chance: float
    rows_needed: RowsNeeded | None = None
