"""Reads parts of a sketch's bytes, and checks that rows can have them."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from gstar_fast._base.bytes import LONGEST_VARINT, Reader
from gstar_fast._base.grid import LARGEST_BIN, LARGEST_SCORE, SUM_UNIT, Grid, Window
from gstar_fast._base.names import Name, check_distinct, sort_key
from gstar_fast._base.sketch_parts.content import HEADER, Cell, Weights, refuse
from gstar_fast._words import WEIGHT_UNIT


def reader(data: bytes, end: int) -> Reader:
    """Takes values off the body of a sketch."""
    return Reader(data, HEADER.size, end, refuse)


def read_names(source: Reader, n_groups: int, given: bool) -> tuple[Name, ...]:
    """The groups, which are distinct and, if they were learned, in canonical order."""
    names = tuple(source.name() for _ in range(n_groups))
    try:
        check_distinct(names)
    except ValueError as error:
        refuse(str(error))
    if len(set(names)) < n_groups:
        refuse("a group appears twice")
    keys = list(map(sort_key, names))
    if not given and keys != sorted(keys):
        refuse("groups are out of order")
    return names


def read_extremes(source: Reader) -> tuple[float, float]:
    """The smallest and the largest score of a cell."""
    smallest, largest = struct.unpack("<dd", source.take(16))
    for score in (smallest, largest):
        if not abs(score) <= LARGEST_SCORE or (score == 0 and math.copysign(1, score) < 0):
            refuse("a smallest or largest score is impossible")
    return smallest, largest


def read_bins(
    source: Reader,
    used: int,
    window: Window,
    numbers: Sequence[int],
    squares: list[int] | None = None,
) -> list[tuple[int, int, int]]:
    """Index, rows and sum of scores of the bins that have rows; sums are of offsets in units of 2**grid.unit(k).

    Sums of squared weights are read into `squares`, where there are any.
    """
    found, index, bins = [], -1, len(numbers) - 1
    for _ in range(used):
        index += 1 + source.varint(bins)
        if index >= bins:
            refuse("a bin lies beyond the last one")
        if index in window.gaps:
            refuse("a gap between bins has rows")
        count = source.varint(2**63)
        if not count:
            refuse("a bin has no rows")
        if squares is not None:
            squares.append(source.varint())
        found.append((index, count, _read_sum(source, count, window.grid, numbers[index])))
    return found


def check_extremes(
    grid: Grid, numbers: Sequence[int], smallest: float, largest: float, bins: Sequence[tuple[int, int, int]]
) -> None:
    """Refuse a smallest or largest score that is not in the first or last bin that has rows."""
    ends = numbers[bins[0][0]], numbers[bins[-1][0]]
    if smallest > largest or (grid.number(smallest), grid.number(largest)) != ends:
        refuse("a smallest or largest score lies outside its bin")


def read_wide(source: Reader) -> int:
    """A sum, as a whole number of 2**SUM_UNIT."""
    odd = source.zigzag()
    if odd == 0:
        return 0
    exponent = source.zigzag()
    if not odd & 1 or not 0 <= exponent - SUM_UNIT <= 8 * LONGEST_VARINT:
        refuse("a sum is not in its canonical form")
    return odd << (exponent - SUM_UNIT)


def _read_sum(source: Reader, count: int, grid: Grid, k: int) -> int:
    """Sum of the scores of bin k, a whole number of 2**SUM_UNIT, if `count` scores can have it."""
    if k in (-1, 0):
        total = read_wide(source)
        most = count << (max(grid.least, -1045) - SUM_UNIT)  # subnormal scores round to multiples of 2**-1045
        if not k * most <= total <= (k + 1) * most or total % (1 << -1074 - SUM_UNIT):
            refuse("a sum is impossible")
        return total
    lower, upper, slack = edge_of(grid, k), edge_of(grid, k + 1), rounding_slack(grid, k)
    total = count * lower + (source.zigzag() << grid.unit(k) - SUM_UNIT)
    if not count * (lower - slack) <= total <= count * (upper + slack) or total % (1 << spacing24(grid, k) - SUM_UNIT):
        refuse("a sum is impossible")
    return total


def edge_of(grid: Grid, k: int) -> int:
    """The lower edge of bin k, a whole number of 2**SUM_UNIT."""
    j, exponent = grid.edge(k)
    return j << exponent - SUM_UNIT


def spacing24(grid: Grid, k: int) -> int:
    """Exponent of the distance of 24-bit numbers in bin k, which does not touch zero."""
    j, width = grid.edge(k if k > 0 else -k - 1)  # the edge nearer to zero
    return max(width + j.bit_length() - 24, -1045)


def rounding_slack(grid: Grid, k: int) -> int:
    """How far round24 may carry a score of bin k beyond the bin, a whole number of 2**SUM_UNIT.

    Half the distance of neighbouring 24-bit numbers there, where that distance is more than the bin.
    """
    spacing = 1 << spacing24(grid, k) - SUM_UNIT
    return spacing // 2 if spacing > edge_of(grid, k + 1) - edge_of(grid, k) else 0


def check_window(level: int, first: int, bins: int) -> None:
    """Refuse equal bins whose edges are not all float64."""
    furthest = max(abs(first), abs(first + bins))
    if furthest > LARGEST_BIN or furthest.bit_length() + level > 1024:  # 2**1024 is no float
        refuse("the window is out of range")


def check_rows(cells: Sequence[Cell], given: bool) -> None:
    """Refuse too many rows, and a learned group without any."""
    totals = [cell.total for cell in cells]
    if sum(totals) >= 2**63:
        refuse("it holds 2**63 rows or more")
    if not given and any(sum(totals[at : at + 3]) == 0 for at in range(0, len(totals), 3)):
        refuse("a group has no rows")


def check_weights(cell: Cell, weights: Weights) -> None:
    """Reject impossible numbers of rows and sums of squared weights; a row of t units adds t * t, that is t or more."""
    places = [*zip([cell.below, cell.above], weights[1:3], strict=True)]
    places += [(count, square) for (_, count, _), square in zip(cell.bins, weights.bins, strict=True)]
    if not sum(count > 0 for count, _ in places) <= weights.rows <= cell.total:
        refuse("a number of rows is impossible")
    possible = all(square >= count if count else square == 0 for count, square in places)
    if not possible or not weights.squares <= cell.total**2 <= weights.rows * weights.squares:
        refuse("a sum of squared weights is impossible")


def has_weight_one(cell: Cell) -> bool:
    """Whether every row of a cell has weight 1: only then the squares add up to this."""
    weights = cell.weights or Weights()
    return cell.total == weights.rows * WEIGHT_UNIT and weights.squares == weights.rows * WEIGHT_UNIT**2
