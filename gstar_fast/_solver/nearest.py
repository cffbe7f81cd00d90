"""Limits that cannot be met: how far they are out of reach, and what comes nearest to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from gstar_fast._backends import room
from gstar_fast._backends.interface import Arrays, Ints

STEPS = 100_000  # slacks are whole numbers of 1e-5, so that the one in the message is the one that was used
BOXES = 20_000  # for one slack; there are 17 of them

Found = TypeVar("Found")


class Nearest(NamedTuple, Generic[Found]):
    """The least common slack of all limits at which something was found, and what was."""

    slack: float
    found: Found
    least: bool  # whether nothing exists at a smaller slack, or nothing was found in the boxes allowed

    def words(self, what: str) -> str:
        """The end of a verdict."""
        by = "the least" if self.least else "the least that was found"
        return f"they could be met if each were {self.slack:g} looser; shown are {what} that miss the limits by {by}"


def loosened(p: Arrays, slack: float) -> Arrays:
    """The same question with every limit looser."""
    return replace(p, limit=p.limit + slack, ratio=np.where(p.ratio >= 0, np.maximum(p.ratio - slack, 0), p.ratio))


def nearest(p: Arrays, find: Callable[[Arrays], tuple[Found | None, bool]]) -> Nearest[Found]:
    """Bisect for the least slack; `find` answers with what meets the limits, or None, and whether that is proven."""
    low, high = 0, STEPS
    found, least = None, True
    while high - low > 1:
        middle = (low + high) // 2
        met, proven = find(loosened(p, middle / STEPS))
        if met is not None:
            high, found = middle, met
        else:
            low, least = middle, least and proven
    if found is None:
        found, _ = find(loosened(p, 1.0))
        assert found is not None, "a gap is at most 1, so everything is allowed now"
    return Nearest(high / STEPS, found, least)


def cheapest_within(p: Arrays) -> tuple[Ints | None, bool]:
    """The choice of least error within the limits, penalties aside."""
    numbers, _, finished, _ = room("solver").solve_limits(p, BOXES)
    return (numbers if numbers[0] >= 0 else None), bool(finished)
