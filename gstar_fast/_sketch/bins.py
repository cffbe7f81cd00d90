"""Rows of bins that were counted elsewhere -> the content of a sketch, or an error that names the row."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple, NoReturn, SupportsIndex, cast

import numpy as np

from gstar_fast._backends.common.rows import MOST_ROWS, check_size, label_of, unknown_group
from gstar_fast._base.arrays import Bools, Floats, Ints
from gstar_fast._base.grid import (
    LARGEST_SCORE,
    SUM_UNIT,
    Extent,
    Window,
    as_float,
    round24,
    whole_scores,
    window_of,
)
from gstar_fast._base.names import Name, canonical, check_distinct, clean_name
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.sections import NO_SUMS
from gstar_fast._base.sketch_format import Cell, Content, Weights
from gstar_fast._sketch.cell import spacing24
from gstar_fast._words import WEIGHT_UNIT

COUNTS, EXACT, WEIGHTED = 5, 7, 9  # values of a row
REST: tuple[object, ...] = (None, None, 1, 1)  # sum, unit, number and squares where a row does not have them
HIGHEST_UNIT = 1024  # sums of scores within 2**1000 need none above this
MOST_DIGITS = 1300  # of a whole number in a row: a sum of 2**63 scores within 2**1000 has fewer


class Counted(NamedTuple):
    """A row that came from elsewhere: each value is possible."""

    at: int  # which row
    name: Name
    label: int
    n: int  # rows, or sum of weights
    smallest: float
    largest: float
    total: int | None  # sum of the rounded scores, in units of 2**SUM_UNIT; None where it is not known
    number: int  # of rows, where they are weighted
    squares: int


def content_of(
    rows: Iterable[Sequence[object]],
    bins: int,
    fixed: Window | None,
    given: tuple[Name, ...] | None,
    memory_limit: int,
) -> Content:
    """What the bytes of these rows will say."""
    read, width, skipped = _read(rows, given)
    names = tuple(canonical({row.name for row in read})) if given is None else given
    check_distinct((*names, *(row.name for row in read)))
    check_size(len(names), bins, width == WEIGHTED, memory_limit)
    if max(skipped, sum(row.n for row in read)) > MOST_ROWS:
        raise refusal("too_many_rows")
    ends = np.array([(row.smallest, row.largest) for row in read], np.float64).reshape(-1, 2)
    extent = _extent(read, ends) if fixed is None else Extent()
    window = window_of(extent, bins) if fixed is None else fixed
    places = _places(read, window, ends, fixed is not None)
    totals = _totals(read, ends, (places >= 0) & (places < bins), width)
    cells = _cells(read, totals, places.tolist(), names, bins)
    weighted = width == WEIGHTED and not all(cell.has_weight_one for cell in cells)
    if width == WEIGHTED and not weighted:
        cells = list(map(_without_weights, cells))
    flags = weighted, fixed is not None, given is not None
    return Content(window, extent, *flags, skipped, names, cells, ((NO_SUMS, True, b""),) * (width == COUNTS))


def _without_weights(cell: Cell) -> Cell:
    """A cell whose rows all have weight 1."""
    parts = [cell.below, cell.above, *(number for _, *numbers in cell.bins for number in numbers)]
    if any(number % WEIGHT_UNIT for number in parts):
        _refuse(0, "and all others have weights of 1, but their counts or sums are not whole")
    bins = [(index, count // WEIGHT_UNIT, total // WEIGHT_UNIT) for index, count, total in cell.bins]
    return cell._replace(below=cell.below // WEIGHT_UNIT, above=cell.above // WEIGHT_UNIT, bins=bins, weights=None)


def _extent(read: Sequence[Counted], ends: Floats) -> Extent:
    """The extent of rows that each have scores on one side of zero."""
    finite = np.isfinite(ends).all(axis=1)
    apart = finite & (np.sign(ends[:, 0]) != np.sign(ends[:, 1]))
    _refuse_first(apart, read, "scores on more than one side of zero")
    return Extent.of(ends[finite].reshape(-1))


def _places(read: Sequence[Counted], window: Window, ends: Floats, fixed: bool) -> Ints:
    """Which of our bins each row is; -1 for scores below the window, and the number of bins for those above."""
    lo, hi = window.edges[[0, -1]].tolist() if fixed else (-LARGEST_SCORE, math.nextafter(LARGEST_SCORE, math.inf))
    below, above = ends[:, 1] < lo, ends[:, 0] >= hi
    inside = (ends[:, 0] >= lo) & (ends[:, 1] < hi)
    _refuse_first(~(below | above | inside), read, "scores inside and outside of the window")
    numbers = window.grid.numbers(np.where(inside[:, None], ends, 0.0))
    level = window.grid.level
    _refuse_first(inside & (numbers[:, 0] != numbers[:, 1]), read, f"scores of more than one bin of level {level}")
    places: Ints = np.where(below, -1, window.bins)
    places[inside] = window.indices(numbers[inside, 0])
    return places


def _refuse_first(wrong: Bools, read: Sequence[Counted], what: str) -> None:
    if wrong.any():
        row = read[int(wrong.argmax())]
        _refuse(row.at, f"has {what}, from {row.smallest!r} to {row.largest!r}; give each part a row of its own")


def _totals(read: Sequence[Counted], ends: Floats, inside: Bools, width: int) -> list[int]:
    """The sum of each row, 0 outside of the window; rejects one that scores between the ends of its row do not have.

    Where sums are not known, all scores of a row are taken to be half way between its ends.
    """
    ends = np.where(inside[:, None], ends, 0.0)
    if width == COUNTS:
        return [row.n * one for row, one in zip(read, whole_scores(round24(ends.sum(axis=1) / 2)), strict=True)]
    totals = [row.total or 0 for row in read]
    spacings = (np.log2(spacing24(np.abs(ends).min(axis=1))) - SUM_UNIT).astype(int).tolist()
    for place, (lo, hi) in enumerate(whole_scores(round24(ends))):
        row = read[place]
        if not inside[place]:
            totals[place] = 0
        elif row.total is None:
            _refuse(row.at, "has no sum, and its scores lie inside the window")
        elif not row.n * lo <= row.total <= row.n * hi or row.total & (1 << spacings[place]) - 1:
            scores = f"{row.n} scores from {row.smallest!r} to {row.largest!r}"
            _refuse(row.at, f"has a sum that {scores}, rounded to 24 bits, do not have")
    return totals


def _cells(
    read: Sequence[Counted], totals: Sequence[int], places: Sequence[int], names: Sequence[Name], bins: int
) -> list[Cell]:
    """The cells of each group, labels 0, 1, 2."""
    first = {name: 3 * i for i, name in enumerate(names)}
    rows: list[list[tuple[int, int, Counted]]] = [[] for _ in range(3 * len(names))]
    for row, total, index in zip(read, totals, places, strict=True):
        rows[first[row.name] + row.label].append((index, total, row))
    return [_cell(own, bins) for own in rows]


def _cell(rows: Sequence[tuple[int, int, Counted]], bins: int) -> Cell:
    """One cell, with the weights of a weighted one; rows of one bin are added up."""
    nothing = 0, 0, 0
    sums: dict[int, tuple[int, int, int]] = {}  # count, sum and squares by index; -1 is below, the number of bins above
    for index, total, row in rows:
        n, s, v = sums.get(index, nothing)
        sums[index] = n + row.n, s + total, v + row.squares
    below, above = sums.pop(-1, nothing), sums.pop(bins, nothing)
    used = sorted(sums.items())
    weights = Weights(sum(row.number for *_, row in rows), below[2], above[2], [v for _, (_, _, v) in used])
    smallest = min((row.smallest for index, _, row in rows if index in sums), default=math.inf)
    largest = max((row.largest for index, _, row in rows if index in sums), default=-math.inf)
    return Cell(below[0], above[0], smallest, largest, [(index, n, s) for index, (n, s, _) in used], weights)


# ----------------------------------------------------------------------------------------------------------------- rows


def _refuse(row: int, what: str) -> NoReturn:
    raise refusal("bad_bin", "rows", row, what)


def _read(rows: Iterable[Sequence[object]], given: tuple[Name, ...] | None) -> tuple[list[Counted], int, int]:
    """The rows that have scores, how many values each has, and how many scores are missing."""
    known = None if given is None else set(given)
    read: list[Counted] = []
    width, skipped = 0, 0
    for at, row in enumerate(rows):
        if isinstance(row, (str, bytes)) or not isinstance(row, Iterable):
            raise refusal("not_a_bin", "rows", at, row)
        values = tuple(row)
        if len(values) not in (COUNTS, EXACT, WEIGHTED) or len(values) != (width or len(values)):
            kinds = "group, label, count, min, max; then sum, unit; then number, squares"
            _refuse(at, f"has {len(values)} values; all rows have 5, 7 or 9: {kinds}")
        width = len(values)
        one = _read_row(at, values)
        if known is not None and one.name not in known:
            raise unknown_group(one.name, given or (), at)
        if one.smallest != one.smallest:
            skipped += one.number if width == WEIGHTED else one.n
        else:
            read.append(one)
    return read, width, skipped


def _read_row(at: int, values: tuple[object, ...]) -> Counted:
    group, label, count, smallest, largest, total, unit, number, squares = (*values, *REST[len(values) - COUNTS :])
    name = clean_name(group, at)
    try:
        code = label_of(label)
    except (TypeError, ValueError):
        _refuse(at, f"has the label {label!r}; labels are 0, 1 or None")
    n = whole_number(count)
    if n is None or n < 1:
        _refuse(at, f"has a count of {_shown(count)}; counts are whole numbers from 1 to 2**63 - 1")
    k, v = whole_number(number), whole_number(squares)
    if k is None or k < 1 or v is None or v < 1:
        _refuse(
            at, f"has a number of {_shown(number)} and squares of {_shown(squares)}; both are whole numbers from 1 on"
        )
    if smallest is None and largest is None and total is None:
        return Counted(at, name, code, n, math.nan, math.nan, None, k, 0)
    lo, hi = _score(smallest, "min", at), _score(largest, "max", at)
    if not lo <= hi:
        _refuse(at, f"has a min of {lo!r} above its max of {hi!r}")
    return Counted(at, name, code, n, lo, hi, None if total is None else _total(total, unit, at), k, v)


def _score(value: object, what: str, at: int) -> float:
    if isinstance(value, (bool, np.bool_, str, bytes, complex)) or not hasattr(value, "__float__"):
        _refuse(at, f"has a {what} of {value!r}; it must be a number")
    try:
        score = as_float(value) + 0.0  # -0.0 becomes 0.0
    except OverflowError:
        raise refusal("too_large", "scores", at, value) from None
    if score != score:
        _refuse(at, f"has a {what} that is NaN; a row of scores that are missing has None for min, max and sum")
    if LARGEST_SCORE < abs(score) < math.inf:
        raise refusal("too_large", "scores", at, score)
    return score


def _total(total: object, unit: object, at: int) -> int:
    """A sum, in units of 2**SUM_UNIT."""
    number, exponent = whole_number(total), whole_number(unit)
    if number is None or exponent is None:
        _refuse(
            at, f"has a sum of {_shown(total)} and a unit of {_shown(unit)}; both are whole numbers, for sum * 2**unit"
        )
    if not SUM_UNIT <= exponent <= HIGHEST_UNIT:
        _refuse(at, f"has a unit of {exponent}; units are from {SUM_UNIT} to {HIGHEST_UNIT}")
    return number << exponent - SUM_UNIT


def whole_number(value: object) -> int | None:
    """An int, or a Decimal as databases return sums; None for anything else, and for impossibly large numbers."""
    if isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, Decimal):
        if not value.is_finite() or value.adjusted() > MOST_DIGITS:  # converting a million digits takes minutes
            return None
        return int(value) if value == value.to_integral_value() else None
    try:
        number = operator.index(cast(SupportsIndex, value))
    except TypeError:
        return None
    return number if number.bit_length() <= 4 * MOST_DIGITS else None


def _shown(value: object) -> str:
    """A value in a message; Python does not print an int of thousands of digits."""
    try:
        return f"{value!r}"
    except ValueError:
        return f"an int of {cast(int, value).bit_length()} bits"
