"""Sums of rows that are not yet in the cells of a sketch: a table for the compiled loops, and its way to the cells."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gstar_fast._backends.numba import loops
from gstar_fast._backends.numba.loops import DEEP, MORE
from gstar_fast._backends.numpy.cells import Cells, places_of
from gstar_fast._base.arrays import Floats, Ints, Values
from gstar_fast._base.grid import LARGEST_SCORE, SUM_UNIT, Extent, Window
from gstar_fast._base.names import Name, SortKey, sort_key

CHUNK = 32_768  # rows that are checked before any of them is counted
DIRECT = 4096  # whole numbers below this are looked up in a table
MOST_PENDING = 2**37  # rows: sums of so many stay below 2**62


class Pending:
    """Counts and sums of rows in bins of one grid; the slots of groups are in the order in which they came."""

    def __init__(self, window: Window, fixed: bool, extent: Extent, names: Sequence[Name]) -> None:
        self.names: list[Name] = []
        self.slots: dict[SortKey, int] = {}
        self.rows = 0
        self.since = tuple(names), window  # groups and window of the cells that these sums belong to
        self.ring = 1 << (window.bins - 1).bit_length()
        self.sums = np.zeros((0, 2 * self.ring + MORE, 2), np.int64)
        self.ends = np.zeros((0, 2))
        self.codes = np.full(DIRECT + 1, -1, np.int32)  # the slot of each small whole number, -1 for all others
        self.all_small = True  # whether the names of all groups are such numbers
        self.fixed, self.found = fixed, np.zeros(5, np.int64)
        lo, hi = window.edges[[0, -1]].tolist() if fixed else (-LARGEST_SCORE, math.inf)
        self.span = float(lo), float(hi)
        self.learn(names)
        self.use(window, extent)

    def use(self, window: Window, extent: Extent) -> None:
        """Let the loops place rows of this extent. They read a grid as biased exponents and shifts: see `place`."""
        grid, octaves = window.grid, (0, 0, 0, window.grid.level + 1075)
        if grid.per is not None:
            octaves = grid.least + grid.per + 1023, grid.level + grid.per + 1023, grid.per, 52 - grid.per
        self.window, self.grid = window, (*octaves, grid.least + 1023, self.ring)
        self.seen = np.array([*extent.below, extent.zero, *extent.above], np.float64).view(np.int64)

    @property
    def extent(self) -> Extent:
        """The extent of the rows that were last looked at."""
        far, near, zero, far_above, near_above = self.found.view(np.float64).tolist()
        return Extent((far, near), zero > 0, (far_above, near_above))

    def learn(self, names: Sequence[Name]) -> None:
        """Give new groups a slot."""
        for name in names:
            slot = self.slots.setdefault(sort_key(name), len(self.names))
            if slot == len(self.names):
                self.names.append(name)
                if type(name) is int and 0 <= name < DIRECT:
                    self.codes[name] = slot
                else:
                    self.all_small = False
        if 3 * len(self.names) > len(self.sums):
            n, sums, ends = len(self.sums), self.sums, self.ends
            room = 3 * max(len(self.names), 2 * n // 3)
            self.sums, self.ends = np.zeros((room, *sums.shape[1:]), np.int64), np.tile([np.inf, -np.inf], (room, 1))
            self.sums[:n], self.ends[:n] = sums, ends

    def places_of(self, names: Sequence[Name] | None) -> Values:
        """The slot of each code; -1 for none, and at the end for codes beyond."""
        if names is None:
            return self.codes
        return np.array([*(self.slots.get(sort_key(name), -1) for name in names), -1], np.int32)

    def count(
        self, x: Floats, y: Ints, g: Ints, places: Values, most: int, skip_nan: bool, checked: bool, rest: Values
    ) -> int:
        """Count rows, all or none, by `loops.consume`."""
        how = most, skip_nan, checked, self.fixed, self.seen, self.found, self.grid, self.span
        left = int(loops.consume(x, y, g, places, *how, self.sums.reshape(-1), self.ends.reshape(-1), rest))
        if left >= 0:
            self.rows += len(x) - left
        return left

    def columns(self) -> tuple[Ints, Ints, Ints]:
        """The columns inside the window: where they are, their bins, and the biased exponent of their octave."""
        window, ring = self.window, self.ring
        k = np.delete(window.numbers[:-1], window.gaps)
        k = k[(k != 0) & (k != -1)]
        near = window.grid.edges(np.where(k > 0, k, -k - 1))  # the edge nearer to zero
        at = np.concatenate([np.where(k < 0, ring, 0) + (k & ring - 1), 2 * ring + np.arange(2 * DEEP + 1)])
        deep = window.grid.least + 1022 - np.arange(DEEP)
        octaves = np.concatenate([np.frexp(near)[1] + 1022, deep, deep, [1046 + SUM_UNIT]])
        return at, np.concatenate([k, np.zeros(DEEP, np.int64), np.full(DEEP, -1), [0]]), octaves

    def move_to(self, window: Window, extent: Extent) -> bool:
        """Move everything to the window of more rows; False, and nothing done, if rows come into a bin at zero."""
        if window.grid != self.window.grid and self.rows:
            at, k, _ = self.columns()
            used = np.flatnonzero(self.sums[:, at, 0].any(axis=0) & (at < 2 * self.ring + 2 * DEEP))
            at, there = at[used], window.grid.numbers(self.window.grid.edges(k[used]))
            if ((there == 0) | (there == -1)).any():
                return False
            starts = np.flatnonzero(np.diff(there, prepend=0))  # neighbours that fall into one bin
            to = np.where(there < 0, self.ring, 0) + (there & self.ring - 1)
            sums = np.zeros(self.sums.shape, np.int64)
            sums[:, -3:] = self.sums[:, -3:]
            if len(used):
                sums[:, to[starts]] = np.add.reduceat(self.sums[:, at], starts, axis=1)
            self.sums = sums
        self.use(window, extent)
        return True

    def absorb(self, other: Pending) -> None:
        """Add sums in the same window."""
        self.learn(other.names)
        slots = np.array([self.slots[sort_key(name)] for name in other.names], np.int64)
        cells, n = (3 * slots[:, None] + np.arange(3)).reshape(-1), 3 * len(slots)
        self.sums[cells] += other.sums[:n]
        self.ends[cells, 0] = np.minimum(self.ends[cells, 0], other.ends[:n, 0])
        self.ends[cells, 1] = np.maximum(self.ends[cells, 1], other.ends[:n, 1])
        self.rows += other.rows

    def add_to(self, cells: Cells, groups: Sequence[Name]) -> None:
        """Add everything to cells of the same window."""
        n, group = len(self.names), places_of(self.names, groups)
        table = self.sums[: 3 * n].reshape(n, 3, -1, 2)
        at, k, octaves = self.columns()
        inside = table[:, :, at]
        slot, label, column = np.nonzero(inside[..., 0])
        counts, sums = inside[slot, label, column].T
        where = label, group[slot], self.window.indices(k)[column]
        np.add.at(cells.counts, where, counts)
        np.add.at(cells.sums, where, sums.astype(object) << (octaves - 1046 - SUM_UNIT)[column].astype(object))
        cells.below[:, group] += table[:, :, -2, 0].T
        cells.above[:, group] += table[:, :, -1, 0].T
        ends = self.ends[: 3 * n].reshape(n, 3, 2)
        cells.mins[:, group] = np.minimum(cells.mins[:, group], ends[:, :, 0].T)
        cells.maxs[:, group] = np.maximum(cells.maxs[:, group], ends[:, :, 1].T)

    def summary(self) -> tuple[Ints, float, float]:
        """Rows of all cells in each bin, and the smallest and largest score."""
        at, k, _ = self.columns()
        rows = self.sums[:, at, 0].sum(axis=0)
        out = np.zeros(self.window.bins, np.int64)
        np.add.at(out, self.window.indices(k)[rows > 0], rows[rows > 0])
        return out, float(self.ends[:, 0].min(initial=np.inf)), float(self.ends[:, 1].max(initial=-np.inf))
