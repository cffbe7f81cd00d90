"""A sketch's content <-> versioned bytes. Trusts no input; `docs/sketch_format.md` has the format."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, NamedTuple

from gstar_fast._base.bytes import CHECKSUM, LONGEST_VARINT, Envelope, Reader, name_bytes, varint, zigzag
from gstar_fast._base.grid import (
    HIGHEST_LEVEL,
    LARGEST_BIN,
    LARGEST_SCORE,
    LOWEST_LEVEL,
    SUM_UNIT,
    Extent,
    Grid,
    Window,
    linear_window,
    window_of,
)
from gstar_fast._base.names import MOST_GROUPS, Name, check_distinct, sort_key
from gstar_fast._base.sections import LABELS, OF_ROWS, Section, read_sections, refuse, sections_bytes
from gstar_fast._words import WEIGHT_UNIT

WEIGHTED, FIXED, GIVEN = 1, 2, 4  # flags
BELOW, ZERO, ABOVE = 1, 2, 4  # sides of zero that have scores
MAGIC: Final = b"\x89GSTAR\r\n"
HEADER: Final = struct.Struct("<8sHHIQ")
EXTREMES: Final = struct.Struct("<dd")


_UNKNOWN: Final = ~(WEIGHTED | FIXED | GIVEN)
ENVELOPE: Final = Envelope(MAGIC, 1, HEADER, refuse, lambda flags, reserved: not (flags & _UNKNOWN or reserved))


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
    smallest: float = math.inf
    largest: float = -math.inf
    bins: Sequence[tuple[int, int, int]] = ()  # (index, count, sum of scores) of the bins that have rows, ascending
    weights: Weights | None = None  # of a weighted sketch, whose counts and sums are in units of 2**-20

    @property
    def total(self) -> int:
        """All that is counted, beyond the window too."""
        return self.below + self.above + sum(count for _, count, _ in self.bins)

    @property
    def has_weight_one(self) -> bool:
        """Whether every row has weight 1: only then the squares add up to this."""
        weights = self.weights or Weights()
        return self.total == weights.rows * WEIGHT_UNIT and weights.squares == weights.rows * WEIGHT_UNIT**2


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


def edge_of(grid: Grid, k: int) -> int:
    """The lower edge of bin k, a whole number of 2**SUM_UNIT."""
    j, exponent = grid.edge(k)
    return j << exponent - SUM_UNIT


def offset_sum(grid: Grid, k: int, count: int, total: int) -> int:
    """The sum of offsets from the lower edge of bin k, in units of 2**grid.unit(k); `total` is that of the scores.

    Bins that touch zero have none.
    """
    return (total - count * edge_of(grid, k)) >> grid.unit(k) - SUM_UNIT


# ---------------------------------------------------------------------------------------------------------------- write


def write(content: Content) -> bytes:
    """The canonical bytes of a sketch."""
    window = content.window
    out = [varint(window.bins.bit_length() - 1), zigzag(window.grid.level)]
    out.append(zigzag(window.runs[0][0]) if content.fixed else _extent_bytes(content.extent))
    out += varint(content.skipped), varint(len(content.names)), *map(name_bytes, content.names)
    numbers = window.numbers.tolist()
    start = cache(lambda k: (edge_of(window.grid, k), window.grid.unit(k) - SUM_UNIT))  # once for all cells
    for cell in content.cells:
        out += varint(cell.below), varint(cell.above), varint(len(cell.bins))
        weights = cell.weights if content.weighted else None
        if weights is not None and cell.total:
            out += varint(weights.rows), varint(weights.below), varint(weights.above)
        if cell.bins:
            out.append(EXTREMES.pack(cell.smallest, cell.largest))
        next_index = 0
        for place, (index, count, total) in enumerate(cell.bins):
            out += varint(index - next_index), varint(count)
            if weights is not None:
                out.append(varint(weights.bins[place]))
            k = numbers[index]
            if k in (-1, 0):
                out.append(_wide(total))
            else:
                lower, unit = start(k)
                out.append(zigzag((total - count * lower) >> unit))  # `offset_sum`
            next_index = index + 1
    both = _both_labels(content.cells)
    out.append(sections_bytes([section for section in content.sections if not (both and section[0] == LABELS)]))
    flags = WEIGHTED * content.weighted | FIXED * content.fixed | GIVEN * content.given
    return ENVELOPE.seal((flags, 0), b"".join(out))


def _both_labels(cells: Sequence[Cell]) -> bool:
    """Whether rows of both labels are known; the texts of labels are then not kept."""
    return all(any(cell.total for cell in cells[label::3]) for label in (0, 1))


def _extent_bytes(extent: Extent) -> bytes:
    sides = BELOW * (extent.below[0] > 0) | ZERO * extent.zero | ABOVE * (extent.above[0] > 0)
    sizes = [EXTREMES.pack(least, most) for most, least in (extent.below, extent.above) if most]
    return bytes((sides,)) + b"".join(sizes)


def _wide(total: int) -> bytes:
    """A sum as an odd number times a power of two."""
    zeros = max((total & -total).bit_length() - 1, 0)
    return zigzag(total >> zeros) + (zigzag(SUM_UNIT + zeros) if total else b"")


# ----------------------------------------------------------------------------------------------------------------- read


def read(data: bytes, check_size: Callable[[int, int, bool], None]) -> Content:
    """The content of canonical bytes; ValueError for all others.

    `check_size(n_groups, bins, weighted)` is called before anything that grows with them is made.
    """
    (flags, _), end = ENVELOPE.open(data)
    weighted, fixed, given = bool(flags & WEIGHTED), bool(flags & FIXED), bool(flags & GIVEN)
    source = Reader(data, HEADER.size, end, refuse)
    bins, n_groups, level, first, extent, skipped = _read_front(source, fixed)
    check_size(n_groups, bins, weighted)
    window = linear_window(level, first, bins) if fixed else window_of(extent, bins)
    if window.grid.level != level:
        refuse("the level does not belong to the extent of its scores")
    names = _read_names(source, n_groups, given)
    numbers = window.numbers.tolist()
    cells = [_read_cell(source, window, numbers, weighted) for _ in range(3 * n_groups)]
    sections = read_sections(source)
    if source.at != source.end:
        refuse("there are more bytes than the sketch needs")
    if any(kind == LABELS for kind, _, _ in sections) and _both_labels(cells):
        refuse("a section is impossible")
    totals = [cell.total for cell in cells]
    if sum(totals) >= 2**63:
        refuse("it holds 2**63 rows or more")
    if not given and any(sum(totals[at : at + 3]) == 0 for at in range(0, len(totals), 3)):
        refuse("a group has no rows")
    if weighted and all(cell.has_weight_one for cell in cells):
        refuse("it is marked as weighted, and every weight is 1")
    if not fixed:
        _check_extent(extent, window, numbers, [cell for cell in cells if cell.bins])
    return Content(window, extent, weighted, fixed, given, skipped, names, cells, sections)


def front(data: bytes) -> tuple[int, int, bool]:
    """Number of bins and groups in the header, and whether the sketch is weighted, before anything is allocated."""
    flags = HEADER.unpack_from(data)[2] if len(data) >= HEADER.size else 0
    bins, n_groups, *_ = _read_front(Reader(data, HEADER.size, len(data), refuse), bool(flags & FIXED))
    return bins, n_groups, bool(flags & WEIGHTED)


def rows_in(data: bytes, sections: Sequence[Section]) -> bytes:
    """Canonical bytes with only the sections that are part of the rows."""
    kept = [one for one in sections if one[0] in OF_ROWS]
    if len(kept) == len(sections):
        return data
    fields = HEADER.unpack_from(data)[2:-1]
    end = len(data) - CHECKSUM.size - len(sections_bytes(sections))
    return ENVELOPE.seal(fields, data[HEADER.size : end] + sections_bytes(kept))


def _read_front(source: Reader, fixed: bool) -> tuple[int, int, int, int, Extent, int]:
    """Bins, groups, level, first bin, extent and rows skipped: all that stands before the names."""
    bins = 1 << source.varint(17)
    if bins < 16:
        refuse("bins is below 16")
    level, first = source.zigzag(), source.zigzag() if fixed else 0
    if not LOWEST_LEVEL <= level < HIGHEST_LEVEL + 64:
        refuse("the level is out of range")
    furthest = max(abs(first), abs(first + bins))
    if fixed and (furthest > LARGEST_BIN or furthest.bit_length() + level > 1024):  # 2**1024 is no float
        refuse("the window is out of range")
    extent = Extent() if fixed else _read_extent(source)
    skipped = source.varint(2**63)
    return bins, source.varint(MOST_GROUPS + 1), level, first, extent, skipped


def _read_extent(source: Reader) -> Extent:
    sides = source.take(1)[0]
    if sides > (BELOW | ZERO | ABOVE):
        refuse("an extent is impossible")
    return Extent(_read_sizes(source, sides & BELOW), bool(sides & ZERO), _read_sizes(source, sides & ABOVE))


def _read_sizes(source: Reader, there: int) -> tuple[float, float]:
    if not there:
        return 0.0, math.inf
    least, most = EXTREMES.unpack(source.take(16))
    if not 0 < least <= most <= LARGEST_SCORE:
        refuse("an extent is impossible")
    return most, least


def _check_extent(extent: Extent, window: Window, numbers: list[int], cells: Sequence[Cell]) -> None:
    """Reject an extent that the cells, all with rows in the window, contradict."""
    known = Extent.of_scores(x for cell in cells for x in (cell.smallest, cell.largest))
    if extent != extent | known or (extent.below[0], extent.above[0]) != (known.below[0], known.above[0]):
        refuse("an extent is impossible")
    for x in extent.ends:
        k = window.grid.number(x)
        if not any(c.smallest <= x <= c.largest and any(numbers[b] == k for b, _, _ in c.bins) for c in cells):
            refuse("an extent is impossible")


def _read_names(source: Reader, n_groups: int, given: bool) -> tuple[Name, ...]:
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


def _read_cell(source: Reader, window: Window, numbers: list[int], weighted: bool) -> Cell:
    below, above, used = source.varint(2**63), source.varint(2**63), source.varint(window.bins + 1)
    weighs = weighted and bool(below or above or used)
    beyond = (source.varint(2**63), source.varint(), source.varint()) if weighs else (0, 0, 0)
    squares: list[int] = []
    cell = Cell(below, above)
    if used:
        smallest, largest = EXTREMES.unpack(source.take(16))
        for score in (smallest, largest):
            if not abs(score) <= LARGEST_SCORE or (score == 0 and math.copysign(1, score) < 0):
                refuse("a smallest or largest score is impossible")
        bins = _read_bins(source, used, window, numbers, squares if weighs else None)
        ends = numbers[bins[0][0]], numbers[bins[-1][0]]
        if smallest > largest or (window.grid.number(smallest), window.grid.number(largest)) != ends:
            refuse("a smallest or largest score lies outside its bin")
        cell = Cell(below, above, smallest, largest, bins)
    if weighted:
        cell = cell._replace(weights=Weights(*beyond, squares))
        if cell.total < 2**63:
            _check_weights(cell)
    return cell


def _read_bins(
    source: Reader, used: int, window: Window, numbers: list[int], squares: list[int] | None
) -> list[tuple[int, int, int]]:
    """Index, rows and sum of scores of the bins that have rows; sums of squared weights go to `squares`."""
    found, index = [], -1
    for _ in range(used):
        index += 1 + source.varint(window.bins)
        if index >= window.bins:
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


def _read_sum(source: Reader, count: int, grid: Grid, k: int) -> int:
    """Sum of the scores of bin k, a whole number of 2**SUM_UNIT, if `count` scores can have it."""
    if k in (-1, 0):
        total = _read_wide(source)
        most = count << (max(grid.least, -1045) - SUM_UNIT)  # subnormal scores round to multiples of 2**-1045
        possible = k * most <= total <= (k + 1) * most and total % (1 << -1074 - SUM_UNIT) == 0
    else:
        j, width = grid.edge(k if k > 0 else -k - 1)  # the edge nearer to zero
        spacing = 1 << max(width + j.bit_length() - 24, -1045) - SUM_UNIT  # of numbers of 24 bits in this bin
        lower, upper = edge_of(grid, k), edge_of(grid, k + 1)
        slack = spacing // 2 if spacing > upper - lower else 0  # how far rounding may carry a score beyond the bin
        total = count * lower + (source.zigzag() << grid.unit(k) - SUM_UNIT)
        possible = count * (lower - slack) <= total <= count * (upper + slack) and total % spacing == 0
    if not possible:
        refuse("a sum is impossible")
    return total


def _read_wide(source: Reader) -> int:
    odd = source.zigzag()
    if odd == 0:
        return 0
    exponent = source.zigzag()
    if not odd & 1 or not 0 <= exponent - SUM_UNIT <= 8 * LONGEST_VARINT:
        refuse("a sum is not in its canonical form")
    return odd << (exponent - SUM_UNIT)


def _check_weights(cell: Cell) -> None:
    """Reject impossible numbers of rows and sums of squared weights; a row of t units adds t * t, that is t or more."""
    weights = cell.weights or Weights()
    counts = [cell.below, cell.above, *(count for _, count, _ in cell.bins)]
    squares = [weights.below, weights.above, *weights.bins]
    if not sum(count > 0 for count in counts) <= weights.rows <= cell.total:
        refuse("a number of rows is impossible")
    possible = all(v >= n if n else v == 0 for n, v in zip(counts, squares, strict=True))
    if not possible or not weights.squares <= cell.total**2 <= weights.rows * weights.squares:
        refuse("a sum of squared weights is impossible")
