"""The cells of the reference's sketch, in exact Python integers: arrays of all of them, and a copy of one.

For each label (0, 1, and 2 for unlabelled), group and bin a count and the sum of the rounded scores; for each cell the
sum of their squares, the smallest and the largest score, and the rows below and above the window. Sums are whole
numbers of one fixed unit (2**-1097, squares 2**-2148), the same at every level, so that coarsening only adds; the
format's offsets `S` are computed when bytes are written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gstar_fast._backends.common.rows import Rows
from gstar_fast._base.arrays import Floats, Ints, Objects, Values
from gstar_fast._base.grid import (
    SQUARE_UNIT,
    SUM_UNIT,
    bin_numbers,
    edges,
    round24,
    to_float,
    whole_sums,
)
from gstar_fast._base.names import Name


class Cells:
    """The arrays of a sketch: first axis the label, second the group, third the bin."""

    def __init__(self, n_groups: int, bins: int) -> None:
        self.counts = np.zeros((3, n_groups, bins), np.int64)
        self.sums = np.zeros((3, n_groups, bins), object)
        self.squares = np.zeros((3, n_groups), object)
        self.mins = np.full((3, n_groups), math.inf)
        self.maxs = np.full((3, n_groups), -math.inf)
        self.below = np.zeros((3, n_groups), np.int64)
        self.above = np.zeros((3, n_groups), np.int64)

    def copy(self) -> Cells:
        """An independent copy."""
        twin = Cells.__new__(Cells)
        vars(twin).update({key: array.copy() for key, array in vars(self).items()})
        return twin

    def moved(self, places: Values, n_groups: int, shift: int, old_first: int, new_first: int) -> Cells:
        """The same rows with group g at `places[g]`, `shift` levels coarser, in a window that starts at `new_first`."""
        bins = self.counts.shape[2]
        new = Cells(n_groups, bins)
        for key in ("squares", "mins", "maxs", "below", "above"):
            getattr(new, key)[:, places] = getattr(self, key)
        used = np.flatnonzero(self.counts.any(axis=(0, 1)))
        if len(used):
            index = ((old_first + used) >> min(shift, 63)) - new_first
            starts = np.flatnonzero(np.diff(index, prepend=index[0] - 1))  # neighbours that fall into one bin
            where = np.ix_(np.arange(3), places, index[starts])
            new.counts[where] = np.add.reduceat(self.counts[:, :, used], starts, axis=2)
            new.sums[where] = np.add.reduceat(self.sums[:, :, used], starts, axis=2)
        return new

    def gathered(self, places: Values, n_groups: int) -> Cells:
        """The same rows with group g at `places[g]`, where several may meet."""
        new = Cells(n_groups, self.counts.shape[2])
        where: Any = (slice(None), places)  # NumPy's stubs know no slices in `at`
        for key in ("counts", "sums", "squares", "below", "above"):
            np.add.at(getattr(new, key), where, getattr(self, key))
        np.minimum.at(new.mins, where, self.mins)
        np.maximum.at(new.maxs, where, self.maxs)
        return new

    def scale(self, factor: int) -> None:
        """Count every row `factor` times."""
        for key in ("counts", "sums", "squares", "below", "above"):
            setattr(self, key, getattr(self, key) * factor)

    def add(self, other: Cells) -> None:
        """Add the rows of cells with the same groups and window."""
        for key in ("counts", "sums", "squares", "below", "above"):
            setattr(self, key, getattr(self, key) + getattr(other, key))
        self.mins = np.minimum(self.mins, other.mins)
        self.maxs = np.maximum(self.maxs, other.maxs)

    def count(self, rows: Rows, places: Values, level: int, first: int) -> None:
        """Add rows; `places` says which group each of the batch's names is."""
        bins = self.counts.shape[2]
        lo, hi = edges(level, first, bins)[[0, -1]]
        x, label, group = rows.scores, rows.labels, places[rows.codes]
        n = np.ones(len(x), object) if rows.weights is None else rows.weights
        inside = (x >= lo) & (x < hi)
        for counts, beyond in ((self.below, x < lo), (self.above, x >= hi)):
            np.add.at(counts, (label[beyond], group[beyond]), n[beyond].astype(np.int64))
        x, label, group, n = x[inside], label[inside], group[inside], n[inside]
        scores, squares = whole_sums(round24(x))
        where = label, group, bin_numbers(x, level) - first
        np.add.at(self.counts, where, n.astype(np.int64))
        np.add.at(self.sums, where, n * scores)
        np.add.at(self.squares, (label, group), n * squares)
        np.minimum.at(self.mins, (label, group), x)
        np.maximum.at(self.maxs, (label, group), x)


def places_of(names: Sequence[Name], among: Sequence[Name]) -> Ints:
    """Where each of the names stands among others."""
    index = {name: i for i, name in enumerate(among)}
    return np.array([index[name] for name in names], np.int64)


@dataclass(frozen=True, slots=True)
class CellCopy:
    """One cell, as it was when it was copied."""

    level: int
    first: int
    weighted: bool
    counts: Ints
    sums: Objects
    squares: int
    below: int
    above: int
    min: float
    max: float

    @property
    def first_edge(self) -> float:
        """The lower edge of the first bin."""
        return math.ldexp(float(self.first), self.level)

    @property
    def width(self) -> float:
        """The width of a bin."""
        return math.ldexp(1.0, self.level)

    @property
    def means(self) -> Floats:
        """Mean score of each bin, NaN where there are no rows."""
        out = np.full(len(self.counts), np.nan)
        for index, count, total in self._used_bins():
            out[index] = bin_mean(self.first + index, self.level, count, total)
        return out

    @property
    def within(self) -> float:
        """Sum over the rows of (rounded score - mean of its bin) squared."""
        guard = 64  # bits below the unit, so that the quotients' remainders do not show
        left = self.squares << guard
        for _, count, total in self._used_bins():
            left -= (total * total << guard) // (count << SQUARE_UNIT - 2 * SUM_UNIT)
        return max(to_float(left, SQUARE_UNIT - guard), 0.0)

    def _used_bins(self) -> Iterator[tuple[int, int, int]]:
        for index in np.flatnonzero(self.counts).tolist():
            yield index, int(self.counts[index]), self.sums[index]


def bin_mean(k: int, level: int, count: int, total: int) -> float:
    """Mean score of bin k, the same float64 on every backend."""
    if k in (-1, 0):
        mean = to_float(total, SUM_UNIT) / float(count)
    else:
        offsets = (total - ((count * k) << (level - SUM_UNIT))) >> (level - 23 - SUM_UNIT)
        whole, rest = divmod(offsets, count)
        mean = math.ldexp(float(k) + (float(whole) + float(rest) / float(count)) * 2.0**-23, level)
    return min(max(mean, math.ldexp(float(k), level)), math.ldexp(float(k + 1), level))
