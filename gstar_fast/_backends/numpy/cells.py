"""The cells of the reference's sketch, in exact Python integers: arrays of all of them, and a copy of one.

For each label (0, 1, and 2 for unlabelled), group and bin a count and the sum of the rounded scores; for each cell the
smallest and the largest score, and the rows below and above the window. Weighted cells have their number of rows, and
the sum of squared weights of each bin. Sums of scores are whole numbers of 2**-1097, the same on every grid, so that
coarsening only adds; the format's offsets `S` are computed when bytes are written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gstar_fast._backends.common.rows import Rows
from gstar_fast._base.arrays import Floats, Ints, Objects, Values
from gstar_fast._base.grid import SUM_UNIT, Window, round24, to_float, whole_scores
from gstar_fast._base.names import Name
from gstar_fast._base.sketch_format import offset_sum
from gstar_fast._words import WEIGHT_UNIT

COUNTED = ("counts", "sums", "below", "above")  # in units of weight where cells are weighted
ADDED = (*COUNTED, "squares", "number")  # arrays whose numbers add up when rows come together


class Cells:
    """The arrays of a sketch: first axis the label, second the group, third the bin."""

    def __init__(self, n_groups: int, bins: int, weighted: bool) -> None:
        self.counts = np.zeros((3, n_groups, bins), np.int64)
        self.sums = np.zeros((3, n_groups, bins), object)
        self.squares = np.zeros((3, n_groups, bins + 2 if weighted else 0), object)  # V: below, every bin, above
        self.number = np.zeros((3, n_groups if weighted else 0), np.int64)  # rows
        self.mins = np.full((3, n_groups), math.inf)
        self.maxs = np.full((3, n_groups), -math.inf)
        self.below = np.zeros((3, n_groups), np.int64)
        self.above = np.zeros((3, n_groups), np.int64)

    @property
    def weighted(self) -> bool:
        """Whether counts are in units of weight."""
        return self.squares.shape[2] > 0

    @property
    def places(self) -> Ints:
        """What each cell counts below, in every bin, and above."""
        return np.concatenate([self.below[..., None], self.counts, self.above[..., None]], axis=2)

    @property
    def totals(self) -> Ints:
        """All that each cell counts."""
        totals: Ints = self.counts.sum(axis=2) + self.below + self.above
        return totals

    @property
    def rows(self) -> Ints:
        """Number of rows of each cell."""
        return self.number.copy() if self.weighted else self.totals

    def copy(self) -> Cells:
        """An independent copy."""
        twin = Cells.__new__(Cells)
        vars(twin).update({key: array.copy() for key, array in vars(self).items()})
        return twin

    def moved(self, places: Values, n_groups: int, old: Window, new: Window) -> Cells:
        """The same rows with group g at `places[g]`, in a window of the same or a coarser grid."""
        cells = Cells(n_groups, new.bins, self.weighted)
        for key in ("mins", "maxs", "below", "above", *(("number",) if self.weighted else ())):
            getattr(cells, key)[:, places] = getattr(self, key)
        if self.weighted:
            for end in (0, -1):
                cells.squares[:, places, end] = self.squares[:, :, end]
        used = np.flatnonzero(self.counts.any(axis=(0, 1)))
        if len(used):
            index = new.indices(new.grid.numbers(old.edges[used]))
            starts = np.flatnonzero(np.diff(index, prepend=index[0] - 1))  # neighbours that fall into one bin
            where = np.ix_(np.arange(3), places, index[starts])
            cells.counts[where] = np.add.reduceat(self.counts[:, :, used], starts, axis=2)
            cells.sums[where] = np.add.reduceat(self.sums[:, :, used], starts, axis=2)
            if self.weighted:
                where = np.ix_(np.arange(3), places, index[starts] + 1)
                cells.squares[where] = np.add.reduceat(self.squares[:, :, used + 1], starts, axis=2)
        return cells

    def gathered(self, places: Values, n_groups: int) -> Cells:
        """The same rows with group g at `places[g]`, where several may meet."""
        new = Cells(n_groups, self.counts.shape[2], self.weighted)
        for key in ADDED if self.weighted else COUNTED:
            np.add.at(getattr(new, key).swapaxes(0, 1), places, getattr(self, key).swapaxes(0, 1))
        np.minimum.at(new.mins.T, places, self.mins.T)
        np.maximum.at(new.maxs.T, places, self.maxs.T)
        return new

    def become_weighted(self) -> None:
        """Count in units of weight: until now every row had weight 1."""
        self.number = self.totals
        self.squares = self.places.astype(object) * WEIGHT_UNIT**2
        for key in COUNTED:
            setattr(self, key, getattr(self, key) * WEIGHT_UNIT)

    def add(self, other: Cells) -> None:
        """Add the rows of cells with the same groups and window."""
        for key in ADDED:
            setattr(self, key, getattr(self, key) + getattr(other, key))
        self.mins = np.minimum(self.mins, other.mins)
        self.maxs = np.maximum(self.maxs, other.maxs)

    def count(self, rows: Rows, places: Values, window: Window) -> None:
        """Add rows; `places` says which group each of the batch's names is."""
        lo, hi = window.edges[[0, -1]]
        x, cell, n = rows.scores, (rows.labels, places[rows.codes]), rows.multiplicities
        inside = (x >= lo) & (x < hi)
        place = np.where(x < lo, 0, self.counts.shape[2] + 1)
        place[inside] = window.indices(window.grid.numbers(x[inside])) + 1
        if rows.weights is not None:
            np.add.at(self.number, cell, rows.rows.astype(np.int64))
            np.add.at(self.squares, (*cell, place), n * rows.weights)
        for counts, beyond in ((self.below, x < lo), (self.above, x >= hi)):
            np.add.at(counts, (cell[0][beyond], cell[1][beyond]), n[beyond].astype(np.int64))
        x, cell, n = x[inside], (cell[0][inside], cell[1][inside]), n[inside]
        where = *cell, place[inside] - 1
        np.add.at(self.counts, where, n.astype(np.int64))
        np.add.at(self.sums, where, n * whole_scores(round24(x)))
        np.minimum.at(self.mins, cell, x)
        np.maximum.at(self.maxs, cell, x)


def places_of(names: Sequence[Name], among: Sequence[Name]) -> Ints:
    """Where each of the names stands among others."""
    index = {name: i for i, name in enumerate(among)}
    return np.array([index[name] for name in names], np.int64)


@dataclass(frozen=True, slots=True)
class CellCopy:
    """One cell, as it was when it was copied."""

    window: Window
    weighted: bool
    counts: Ints
    squares: Objects  # of the bins; none where nothing is weighted
    sums: Objects
    below: int
    above: int
    min: float
    max: float

    @property
    def edges(self) -> Floats:
        """All edges of the bins, ascending."""
        return self.window.edges

    @property
    def means(self) -> Floats:
        """Mean score of each bin, NaN where there are no rows."""
        out, numbers = np.full(len(self.counts), np.nan), self.window.numbers.tolist()
        for index in np.flatnonzero(self.counts).tolist():
            out[index] = self._mean(numbers[index], int(self.counts[index]), self.sums[index])
        return np.asarray(np.minimum(np.maximum(out, self.edges[:-1]), self.edges[1:]))

    def _mean(self, k: int, count: int, total: int) -> float:
        """Mean score of bin k, the same float64 on every backend."""
        if k in (-1, 0):
            return to_float(total, SUM_UNIT) / float(count)
        grid = self.window.grid
        j, exponent = grid.edge(k)
        whole, rest = divmod(offset_sum(grid, k, count, total), count)
        lower = j << exponent - grid.unit(k)
        return math.ldexp(float(lower + whole) + float(rest) / float(count), grid.unit(k))

    def fullest(self, least: int) -> int | None:
        """The first of the fullest bins that count `least` or more and may hold several values."""
        for index in np.argsort(-self.counts, kind="stable").tolist():
            if self.counts[index] < max(least, 1):
                break
            if not self._is_one_value(index):
                return int(index)
        return None

    def _is_one_value(self, index: int) -> bool:
        """Whether all rows of a bin may have one score: they agree in 24 bits, or their mean has no more than 24."""
        grid, k = self.window.grid, int(self.window.numbers[index])
        count, total = int(self.counts[index]), self.sums[index]
        if self.squares[index] == count**2 if self.weighted else count == 1:  # one row
            return True
        if k in (-1, 0):
            return bool(total == 0)
        bits = grid.edge(k if k > 0 else -k - 1)[0].bit_length()  # scores of so many bits are a width apart
        return bits > 24 or offset_sum(grid, k, count, total) % count == 0
