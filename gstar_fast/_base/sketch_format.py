"""A sketch's content <-> versioned bytes. Trusts no input; `docs/sketch_format.md` has the format."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Final

from gstar_fast._base.bytes import CHECKSUM, Envelope, Reader, name_bytes, varint, zigzag
from gstar_fast._base.grid import (
    HIGHEST_LEVEL,
    LARGEST_SCORE,
    LOWEST_LEVEL,
    SUM_UNIT,
    Extent,
    Grid,
    Window,
    linear_window,
    window_of,
)
from gstar_fast._base.names import MOST_GROUPS
from gstar_fast._base.sketch_parts.checks import (
    check_extremes,
    check_rows,
    check_weights,
    check_window,
    edge_of,
    has_weight_one,
    read_bins,
    read_extremes,
    read_names,
    reader,
)
from gstar_fast._base.sketch_parts.content import (
    FIXED,
    GIVEN,
    HEADER,
    MAGIC,
    WEIGHTED,
    Cell,
    Content,
    Section,
    Weights,
    refuse,
)
from gstar_fast._base.sketch_parts.sections import LABELS, OF_ROWS, read_sections, sections_bytes

VERSION: Final = 1
BELOW, ZERO, ABOVE = 1, 2, 4  # sides of zero that have scores


def _known(flags: int, reserved: int) -> bool:
    return not (flags & ~(WEIGHTED | FIXED | GIVEN) or reserved)


ENVELOPE: Final = Envelope(MAGIC, VERSION, HEADER, refuse, _known)


# ---------------------------------------------------------------------------------------------------------------- write


def write(content: Content) -> bytes:
    """The canonical bytes of a sketch."""
    window = content.window
    out = [varint(window.bins.bit_length() - 1), zigzag(window.grid.level)]
    out.append(zigzag(window.runs[0][0]) if content.fixed else _extent_bytes(content.extent))
    out += varint(content.skipped), varint(len(content.names)), *map(name_bytes, content.names)
    numbers = window.numbers.tolist()
    starts: dict[int, tuple[int, int]] = {}  # of bins by their index, found once for all cells
    for cell in content.cells:
        out += varint(cell.below), varint(cell.above), varint(len(cell.bins))
        weights = cell.weights if content.weighted else None
        if weights is not None and cell.total:
            out += varint(weights.rows), varint(weights.below), varint(weights.above)
        if cell.bins:
            out.append(struct.pack("<dd", cell.smallest, cell.largest))
        next_index = 0
        for place, (index, count, total) in enumerate(cell.bins):
            out += varint(index - next_index), varint(count)
            if weights is not None:
                out.append(varint(weights.bins[place]))
            if numbers[index] in (-1, 0):
                out.append(wide(total, SUM_UNIT))
            else:
                lower, unit = starts.get(index) or starts.setdefault(index, start_of(window.grid, numbers[index]))
                out.append(zigzag((total - count * lower) >> unit))
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
    sizes = [struct.pack("<dd", least, most) for most, least in (extent.below, extent.above) if most]
    return bytes((sides,)) + b"".join(sizes)


def start_of(grid: Grid, k: int) -> tuple[int, int]:
    """The lower edge of bin k, which does not touch zero, in units of 2**SUM_UNIT, and log2 of 2**u in those units."""
    return edge_of(grid, k), grid.unit(k) - SUM_UNIT


def offset_sum(grid: Grid, k: int, count: int, total: int) -> int:
    """`S`: the sum of offsets from the lower edge of bin k, in units of 2**u; `total` is that of the scores."""
    lower, unit = start_of(grid, k)
    return (total - count * lower) >> unit


def wide(value: int, unit: int) -> bytes:
    """`value * 2**unit` as an odd number times a power of two."""
    if value == 0:
        return zigzag(0)
    zeros = (value & -value).bit_length() - 1
    return zigzag(value >> zeros) + zigzag(unit + zeros)


# ----------------------------------------------------------------------------------------------------------------- read


def read(data: bytes, check_size: Callable[[int, int, bool], None]) -> Content:
    """The content of canonical bytes; ValueError for all others.

    `check_size(n_groups, bins, weighted)` is called before anything that grows with them is made.
    """
    (flags, _), end = ENVELOPE.open(data)
    weighted, fixed, given = bool(flags & WEIGHTED), bool(flags & FIXED), bool(flags & GIVEN)
    source = reader(data, end)
    bins, n_groups, level, first, extent, skipped = _read_front(source, fixed)
    check_size(n_groups, bins, weighted)
    if fixed:
        window = linear_window(level, first, bins)
    else:
        window = window_of(extent, bins)
        if window.grid.level != level:
            refuse("the level does not belong to the extent of its scores")

    names = read_names(source, n_groups, given)
    numbers = window.numbers.tolist()
    cells = [_read_cell(source, window, numbers, weighted) for _ in range(3 * n_groups)]
    sections = read_sections(source)
    if source.at != source.end:
        refuse("there are more bytes than the sketch needs")
    if any(kind == LABELS for kind, _, _ in sections) and _both_labels(cells):
        refuse("a section is impossible")
    check_rows(cells, given)
    if weighted and all(map(has_weight_one, cells)):
        refuse("it is marked as weighted, and every weight is 1")
    if not fixed:
        _check_extent(extent, window, numbers, [cell for cell in cells if cell.bins])
    return Content(window, extent, weighted, fixed, given, skipped, names, cells, sections)


def front(data: bytes) -> tuple[int, int, bool]:
    """Number of bins and groups in the header, and whether the sketch is weighted, before anything is allocated."""
    flags = HEADER.unpack_from(data)[2] if len(data) >= HEADER.size else 0
    bins, n_groups, *_ = _read_front(reader(data, len(data)), bool(flags & FIXED))
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
    if fixed:
        check_window(level, first, bins)
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
    least, most = struct.unpack("<dd", source.take(16))
    if not 0 < least <= most <= LARGEST_SCORE:
        refuse("an extent is impossible")
    return most, least


def _read_cell(source: Reader, window: Window, numbers: list[int], weighted: bool) -> Cell:
    below, above, used = source.varint(2**63), source.varint(2**63), source.varint(window.bins + 1)
    weighs = weighted and bool(below or above or used)
    beyond = (source.varint(2**63), source.varint(), source.varint()) if weighs else (0, 0, 0)
    squares: list[int] | None = [] if weighs else None
    cell = Cell(below, above, math.inf, -math.inf, ())
    if used:
        smallest, largest = read_extremes(source)
        found = read_bins(source, used, window, numbers, squares)
        check_extremes(window.grid, numbers, smallest, largest, found)
        cell = cell._replace(smallest=smallest, largest=largest, bins=found)
    if not weighted:
        return cell
    weights = Weights(*beyond, squares or ())
    if cell.total < 2**63:
        check_weights(cell, weights)
    return cell._replace(weights=weights)


def _check_extent(extent: Extent, window: Window, numbers: list[int], cells: Sequence[Cell]) -> None:
    """Refuse an extent that the cells, all with rows in the window, contradict."""
    known = Extent.of_scores(x for cell in cells for x in (cell.smallest, cell.largest))
    if extent != extent | known or (extent.below[0], extent.above[0]) != (known.below[0], known.above[0]):
        refuse("an extent is impossible")
    for x in extent.ends:
        k = window.grid.number(x)
        if not any(c.smallest <= x <= c.largest and any(numbers[b] == k for b, _, _ in c.bins) for c in cells):
            refuse("an extent is impossible")
