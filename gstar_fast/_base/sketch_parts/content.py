"""What a sketch's bytes describe, and how bad bytes are rejected."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple, NoReturn, TypeAlias

from gstar_fast._base.grid import Extent, Window
from gstar_fast._base.names import Name
from gstar_fast._base.refusals.refusal import refusal

MAGIC: Final = b"\x89GSTAR\r\n"
HEADER: Final = struct.Struct("<8sHHIQ")
WEIGHTED, FIXED, GIVEN = 1, 2, 4

Section: TypeAlias = tuple[int, bool, bytes]  # type, needed, content


def refuse(why: str) -> NoReturn:
    """Every refusal reads alike; the compiled reader has the same words for what is wrong with a whole file."""
    raise refusal("not_valid", "sketch", value=why)


class Weights(NamedTuple):
    """What a weighted cell also has; squares are sums of squared weights, in units of 2**-40."""

    rows: int = 0
    below: int = 0
    above: int = 0
    bins: Sequence[int] = ()  # of the bins that have rows

    @property
    def squares(self) -> int:
        """The sum of all squared weights."""
        return self.below + self.above + sum(self.bins)


class Cell(NamedTuple):
    """One label of one group: what the format stores, sums in units of the grid's SUM_UNIT."""

    below: int
    above: int
    smallest: float
    largest: float
    bins: Sequence[tuple[int, int, int]]  # (index, count, sum of scores) of the bins that have rows, ascending
    weights: Weights | None = None  # of a weighted sketch, whose counts and sums are in units of 2**-20

    @property
    def total(self) -> int:
        """All that is counted, beyond the window too."""
        return self.below + self.above + sum(count for _, count, _ in self.bins)


class Content(NamedTuple):
    """All that bytes say; `cells` holds labels 0, 1, 2 of the first group, then of the second, ..."""

    window: Window
    extent: Extent  # empty with a range
    weighted: bool
    fixed: bool
    given: bool
    skipped: int
    names: tuple[Name, ...]
    cells: Sequence[Cell]
    sections: tuple[Section, ...] = ()
