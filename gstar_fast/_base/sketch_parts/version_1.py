"""Bytes of version 1 -> content: a linear window, and sums of squares that are checked and dropped."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Final

from gstar_fast._base.bytes import Envelope, Reader
from gstar_fast._base.grid import (
    HIGHEST_LEVEL,
    LOWEST_LEVEL,
    SUM_UNIT,
    Extent,
    Window,
    linear_window,
    scaled,
    window_of,
    window_of_format_1,
)
from gstar_fast._base.names import MOST_GROUPS
from gstar_fast._base.sketch_parts.checks import (
    check_extremes,
    check_rows,
    check_window,
    read_bins,
    read_extremes,
    read_names,
    read_wide,
    reader,
    rounding_slack,
)
from gstar_fast._base.sketch_parts.content import FIXED, GIVEN, HEADER, MAGIC, WEIGHTED, Cell, Content, refuse

SQUARE_UNIT: Final = -2148  # sums of squares are whole numbers of 2**-2148


def _known(flags: int, reserved: int) -> bool:
    return not (flags & ~(WEIGHTED | FIXED | GIVEN) or reserved)


ENVELOPE: Final = Envelope(MAGIC, 1, HEADER, refuse, _known)


def read(data: bytes, check_size: Callable[[int, int, bool], None]) -> Content:
    """The content of canonical bytes of version 1; ValueError for all others."""
    (flags, _), end = ENVELOPE.open(data)
    weighted, fixed, given = bool(flags & WEIGHTED), bool(flags & FIXED), bool(flags & GIVEN)
    if weighted:
        refuse("it has weights and is of version 1; count its rows again")
    source = reader(data, end)
    bins, n_groups, level, first, skipped = front(source)
    if not LOWEST_LEVEL <= level <= HIGHEST_LEVEL:
        refuse("the level is out of range")
    check_window(level, first, bins)
    check_size(n_groups, bins, False)
    window = linear_window(level, first, bins)
    names = read_names(source, n_groups, given)
    numbers = window.numbers.tolist()
    cells = [_read_cell(source, window, numbers) for _ in range(3 * n_groups)]
    if source.at != source.end:
        refuse("there are more bytes than the sketch needs")
    check_rows(cells, given)
    finite = any(cell.bins for cell in cells)
    if not fixed:
        smallest = min((cell.smallest for cell in cells), default=math.inf)
        largest = max((cell.largest for cell in cells), default=-math.inf)
        if (level, first) != (window_of_format_1(smallest, largest, bins) if finite else (0, 0)):
            refuse("the window does not belong to the smallest and largest score")
    if not (fixed or finite):
        window = window_of(Extent(), bins)
    linear = finite and not fixed
    return Content(window, Extent(), False, fixed, given, linear, skipped, names, cells)


def front(source: Reader) -> tuple[int, int, int, int, int]:
    """Bins, groups, level, first bin and rows skipped: all that stands before the names."""
    bins = 1 << source.varint(17)
    if bins < 16:
        refuse("bins is below 16")
    level, first, skipped = source.zigzag(), source.zigzag(), source.varint(2**63)
    return bins, source.varint(MOST_GROUPS + 1), level, first, skipped


def _read_cell(source: Reader, window: Window, numbers: list[int]) -> Cell:
    below, above, used = source.varint(2**63), source.varint(2**63), source.varint(window.bins + 1)
    if not used:
        return Cell(below, above, math.inf, -math.inf, ())
    smallest, largest = read_extremes(source)
    squares = read_wide(source, SQUARE_UNIT)
    found = read_bins(source, used, window, numbers, lambda _: window.grid.level - 23)
    check_extremes(window.grid, numbers, smallest, largest, found)
    most = max(_square24(smallest), _square24(largest)) * sum(count for _, count, _ in found)
    least, widest = _square_bounds(window, numbers, found)
    if not 0 <= squares <= most or not least <= squares << SQUARE_UNIT - 2 * SUM_UNIT <= widest:
        refuse("a sum of squares is impossible")
    return Cell(below, above, smallest, largest, found)


def _square_bounds(window: Window, numbers: list[int], bins: Sequence[tuple[int, int, int]]) -> tuple[int, int]:
    """Least and most that the squares of rows in such bins can be, as whole numbers of 2**(2 * SUM_UNIT).

    Rounded scores are whole numbers of a unit. The least: rows as close together as their sum lets them. No sum leaves
    more than this and, for each row, the square of half the range of scores that its bin can hold.
    """
    level = window.grid.level
    least = room = 0
    for index, count, total in bins:
        k = numbers[index]
        if k in (-1, 0):
            unit, half = -1074, 1 << max(level, -1045) - 1 - SUM_UNIT
        else:
            unit, half = level - 23, (1 << level - 1 - SUM_UNIT) + rounding_slack(window.grid, k)
        q, rest = divmod(total >> unit - SUM_UNIT, count)  # `rest` rows at q + 1, all others at q
        least += (count * q * q + (2 * q + 1) * rest) << 2 * (unit - SUM_UNIT)
        room += count * half * half
    return least, least + room


def _square24(score: float) -> int:
    """The square of round24(score), a whole number of 2**SQUARE_UNIT."""
    (bits,) = struct.unpack("<Q", struct.pack("<d", score))
    bits = (bits + 0x0FFFFFFF + (bits >> 29 & 1)) & ~0x1FFFFFFF
    (rounded,) = struct.unpack("<d", struct.pack("<Q", bits & 0xFFFFFFFFFFFFFFFF))
    root, _ = scaled(rounded, SQUARE_UNIT // 2)
    return root * root
