"""A sketch's content <-> versioned bytes. Trusts no input; `docs/sketch_format.md` has the format."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, NoReturn

from gstar_fast._base.bytes import LONGEST_VARINT, Envelope, Reader, name_bytes, varint, zigzag
from gstar_fast._base.grid import (
    HIGHEST_LEVEL,
    LARGEST_BIN,
    LARGEST_SCORE,
    LOWEST_LEVEL,
    SQUARE_UNIT,
    SUM_UNIT,
    floor_bin,
    scaled,
    window_of_scores,
)
from gstar_fast._base.names import MOST_GROUPS, Name, check_distinct, sort_key
from gstar_fast._base.refusals.refusal import refusal

MAGIC: Final = b"\x89GSTAR\r\n"
VERSION: Final = 1
HEADER: Final = struct.Struct("<8sHHIQ")
WEIGHTED, FIXED, GIVEN = 1, 2, 4


def refuse(why: str) -> NoReturn:
    """Every refusal reads alike; the compiled reader has the same words for what is wrong with a whole file."""
    raise refusal("not_valid", "sketch", value=why)


def _known(flags: int, reserved: int) -> bool:
    return not (flags & ~(WEIGHTED | FIXED | GIVEN) or reserved)


ENVELOPE: Final = Envelope(MAGIC, VERSION, HEADER, refuse, _known)


class Cell(NamedTuple):
    """One label of one group: what the format stores, sums in units of the grid's SUM_UNIT and SQUARE_UNIT."""

    below: int
    above: int
    smallest: float
    largest: float
    squares: int
    bins: Sequence[tuple[int, int, int]]  # (index, count, sum of scores) of the bins that have rows, ascending


class Content(NamedTuple):
    """All that bytes say; `cells` holds labels 0, 1, 2 of the first group, then of the second, ..."""

    bins: int
    level: int
    first: int
    weighted: bool
    fixed: bool
    given: bool
    skipped: int
    names: tuple[Name, ...]
    cells: Sequence[Cell]


# ---------------------------------------------------------------------------------------------------------------- write


def wide(value: int, unit: int) -> bytes:
    """`value * 2**unit` as an odd number times a power of two."""
    if value == 0:
        return zigzag(0)
    zeros = (value & -value).bit_length() - 1
    return zigzag(value >> zeros) + zigzag(unit + zeros)


def write(content: Content) -> bytes:
    """The canonical bytes of a sketch."""
    level, first = content.level, content.first
    out = [
        varint(content.bins.bit_length() - 1),
        zigzag(level),
        zigzag(first),
        varint(content.skipped),
        varint(len(content.names)),
        *map(name_bytes, content.names),
    ]
    for cell in content.cells:
        out += varint(cell.below), varint(cell.above), varint(len(cell.bins))
        if cell.bins:
            out += struct.pack("<dd", cell.smallest, cell.largest), wide(cell.squares, SQUARE_UNIT)
        next_index = 0
        for index, count, total in cell.bins:
            out += varint(index - next_index), varint(count)
            k = first + index
            if k in (-1, 0):
                out.append(wide(total, SUM_UNIT))
            else:
                out.append(zigzag(_offset_sum(total, count, k, level)))
            next_index = index + 1
    flags = WEIGHTED * content.weighted | FIXED * content.fixed | GIVEN * content.given
    return ENVELOPE.seal((flags, 0), b"".join(out))


def _offset_sum(total: int, count: int, k: int, level: int) -> int:
    """S: the sum of offsets from the start of bin k, in units of 2**(level - 23)."""
    return (total - ((count * k) << (level - SUM_UNIT))) >> (level - 23 - SUM_UNIT)


# ----------------------------------------------------------------------------------------------------------------- read


def reader(data: bytes, end: int) -> Reader:
    """Takes values off the body of a sketch."""
    return Reader(data, HEADER.size, end, refuse)


def read(data: bytes, check_size: Callable[[int, int], None]) -> Content:
    """The content of canonical bytes; ValueError for all others.

    `check_size(n_groups, bins)` is called before anything that grows with them is made.
    """
    (flags, _), end = ENVELOPE.open(data)
    fixed, given = bool(flags & FIXED), bool(flags & GIVEN)

    source = reader(data, end)
    bins = 1 << source.varint(17)
    if bins < 16:
        refuse("bins is below 16")
    level, first = source.zigzag(), source.zigzag()
    if not LOWEST_LEVEL <= level <= HIGHEST_LEVEL:
        refuse("the level is out of range")
    furthest = max(abs(first), abs(first + bins))
    if furthest > LARGEST_BIN or furthest.bit_length() + level > 1024:  # 2**1024 is no float
        refuse("the window is out of range")
    skipped = source.varint(2**63)
    n_groups = source.varint(MOST_GROUPS + 1)
    check_size(n_groups, bins)
    names = _read_names(source, n_groups, given)
    cells = [_read_cell(source, bins, level, first) for _ in range(3 * n_groups)]
    if source.at != source.end:
        refuse("there are more bytes than the sketch needs")

    rows = [cell.below + cell.above + sum(count for _, count, _ in cell.bins) for cell in cells]
    if sum(rows) >= 2**63:
        refuse("it holds 2**63 rows or more")
    if not given and any(sum(rows[3 * g : 3 * g + 3]) == 0 for g in range(n_groups)):
        refuse("a group has no rows")
    if not fixed:
        smallest = min((cell.smallest for cell in cells if cell.bins), default=None)
        largest = max((cell.largest for cell in cells if cell.bins), default=None)
        right = (0, 0) if smallest is None or largest is None else window_of_scores(smallest, largest, bins)
        if (level, first) != right:
            refuse("the window does not belong to the smallest and largest score")
    return Content(bins, level, first, bool(flags & WEIGHTED), fixed, given, skipped, names, cells)


def _read_names(source: Reader, n_groups: int, given: bool) -> tuple[Name, ...]:
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


def _read_cell(source: Reader, bins: int, level: int, first: int) -> Cell:
    below, above, used = source.varint(2**63), source.varint(2**63), source.varint(bins + 1)
    if not used:
        return Cell(below, above, math.inf, -math.inf, 0, ())
    smallest, largest = struct.unpack("<dd", source.take(16))
    for score in (smallest, largest):
        if not abs(score) <= LARGEST_SCORE or (score == 0 and math.copysign(1, score) < 0):
            refuse("a smallest or largest score is impossible")
    squares = _read_wide(source, SQUARE_UNIT)
    index = -1
    found = []
    for _ in range(used):
        index += 1 + source.varint(bins)
        if index >= bins:
            refuse("a bin lies beyond the last one")
        count = source.varint(2**63)
        if not count:
            refuse("a bin has no rows")
        found.append((index, count, _read_sum(source, count, first + index, level)))
    ends = floor_bin(smallest, level) - first, floor_bin(largest, level) - first
    if smallest > largest or ends != (found[0][0], found[-1][0]):
        refuse("a smallest or largest score lies outside its bin")
    most = max(_square24(smallest), _square24(largest)) * sum(count for _, count, _ in found)
    least, widest = _square_bounds(found, level, first)
    if not 0 <= squares <= most or not least <= squares << SQUARE_UNIT - 2 * SUM_UNIT <= widest:
        refuse("a sum of squares is impossible")
    return Cell(below, above, smallest, largest, squares, found)


def _square_bounds(bins: Sequence[tuple[int, int, int]], level: int, first: int) -> tuple[int, int]:
    """Least and most that the squares of rows in such bins can be, as whole numbers of 2**(2 * SUM_UNIT).

    Rounded scores are whole numbers of a unit. The least: rows as close together as their sum lets them. No sum leaves
    more than this and, for each row, the square of half the range of scores that its bin can hold.
    """
    least = room = 0
    for index, count, total in bins:
        k = first + index
        if k in (-1, 0):
            unit, half = -1074, 1 << max(level, -1045) - 1 - SUM_UNIT
        else:
            unit, half = level - 23, (1 << 22) + rounding_slack(k, level) << level - 23 - SUM_UNIT
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


def _read_wide(source: Reader, unit: int) -> int:
    """A sum, as a whole number of 2**unit."""
    odd = source.zigzag()
    if odd == 0:
        return 0
    exponent = source.zigzag()
    if not odd & 1 or not 0 <= exponent - unit <= 8 * LONGEST_VARINT:
        refuse("a sum is not in its canonical form")
    return odd << (exponent - unit)


def _read_sum(source: Reader, count: int, k: int, level: int) -> int:
    """Sum of the scores of bin k, a whole number of 2**SUM_UNIT, if `count` scores can have it."""
    width = count << (level - SUM_UNIT)  # the width of a bin, once for each row
    if k in (-1, 0):
        total = _read_wide(source, SUM_UNIT)
        width = count << (max(level, -1045) - SUM_UNIT)  # subnormal scores round to multiples of 2**-1045
        if not k * width <= total <= (k + 1) * width or total % (1 << -1074 - SUM_UNIT):
            refuse("a sum is impossible")
        return total
    offsets = source.zigzag()
    slack = rounding_slack(k, level) * count
    if not -slack <= offsets <= (count << 23) + slack:
        refuse("a sum is impossible")
    total = k * width + (offsets << (level - 23 - SUM_UNIT))
    if total % (1 << max(spacing24(k, level) - SUM_UNIT, 0)):
        refuse("a sum is impossible")
    return total


def rounding_slack(k: int, level: int) -> int:
    """How far, in units of 2**(level - 23), round24 may carry a score of bin k beyond the bin.

    Half the distance of neighbouring 24-bit numbers there, where that is wider than a bin.
    """
    half = spacing24(k, level) - 1 - (level - 23)
    return 1 << half if half >= 23 else 0


def spacing24(k: int, level: int) -> int:
    """Exponent of the smallest distance of 24-bit numbers in bin k, which does not touch zero."""
    nearest = k if k > 0 else -k - 1
    return max(level + nearest.bit_length() - 1 - 23, -1045)
