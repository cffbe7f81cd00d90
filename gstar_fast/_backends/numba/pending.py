"""Sums of rows that are not yet in the cells of a sketch: a table for the compiled loops, and its way to the cells."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from copy import copy
from typing import Self

import numpy as np

from gstar_fast._backends.numba import loops
from gstar_fast._backends.numba.loops import BLOCK, DEEP, MORE
from gstar_fast._backends.numpy.cells import Cells, places_of
from gstar_fast._base.arrays import Floats, Ints, Values
from gstar_fast._base.grid import LARGEST_SCORE, SUM_UNIT, Extent, Grid, Window
from gstar_fast._base.names import Name, SortKey, sort_key

CHUNK = 32_768  # rows that are checked before any of them is counted
DIRECT = 4096  # whole numbers below this are looked up in a table
MOST_PENDING = 2**37  # rows: sums of so many stay below 2**62


class Threads(threading.local):
    """The buffers of each thread: cells, rows that are left, and a block's columns and values."""

    def __init__(self) -> None:
        block = np.empty((2, BLOCK), np.int64)
        self.buffers = np.empty(CHUNK, np.int32), np.empty(CHUNK, np.int32), block[0], block[1]


THREADS = Threads()


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
        """Let the loops place rows of this extent."""
        self.window, self.seen, self.grid = window, bits_of(extent), numbers_of(window.grid, self.ring)

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

    def count(self, x: Floats, y: Ints, g: Ints, places: Values, most: int, skip_nan: bool, checked: bool) -> int:
        """Count rows, all or none, by `loops.consume`."""
        how = most, skip_nan, checked, self.fixed, self.seen, self.found, self.grid, self.span
        left = int(loops.consume(x, y, g, places, *how, self.sums.reshape(-1), self.ends.reshape(-1), THREADS.buffers))
        if left >= 0:
            self.rows += len(x) - left
        return left

    def columns(self, window: Window) -> tuple[Ints, Ints, Ints]:
        """The columns inside a window: where they are, their bin numbers, and the biased exponent of their octave."""
        k, ring = np.delete(window.numbers[:-1], window.gaps), self.ring
        k = k[(k != 0) & (k != -1)]
        near = window.grid.edges(np.where(k > 0, k, -k - 1))  # the edge nearer to zero
        at = np.concatenate([np.where(k < 0, ring, 0) + (k & ring - 1), 2 * ring + np.arange(2 * DEEP + 1)])
        deep = window.grid.least + 1022 - np.arange(DEEP)
        octaves = np.concatenate([np.frexp(near)[1] + 1022, deep, deep, [1046 + SUM_UNIT]])
        return at, np.concatenate([k, np.zeros(DEEP, np.int64), np.full(DEEP, -1), [0]]), octaves

    def move_to(self, window: Window, extent: Extent) -> bool:
        """Move everything to the window of more rows; False, and nothing done, if some rows would have no column."""
        if window.grid != self.window.grid and self.rows:
            here, ring = self.sums[: 3 * len(self.names)], self.ring
            at, k, octaves = self.columns(self.window)
            used = np.flatnonzero(here[:, at, 0].any(axis=0))
            at, octaves, there = at[used], octaves[used], window.grid.numbers(self.window.grid.edges(k[used]))
            deep = window.grid.least + 1022 - octaves
            at_zero = ((there == 0) | (there == -1)) & (at < 2 * ring + 2 * DEEP)
            if (at_zero & (deep >= DEEP)).any():
                return False
            to = np.where(there < 0, ring, 0) + (there & ring - 1)
            to = np.where(at_zero, 2 * ring - DEEP * there + deep, np.where(at < 2 * ring + 2 * DEEP, to, at))
            order = np.argsort(to, kind="stable")
            to, at = to[order], at[order]
            starts = np.flatnonzero(np.diff(to, prepend=-1))
            sums = np.zeros(self.sums.shape, np.int64)
            sums[: len(here), -2:] = here[:, -2:]
            if len(used):
                sums[: len(here), to[starts]] = np.add.reduceat(here[:, at], starts, axis=1)
            self.sums = sums
        self.use(window, extent)
        return True

    def copy(self) -> Self:
        """An independent copy."""
        twin = copy(self)
        twin.names, twin.slots, twin.codes = self.names.copy(), self.slots.copy(), self.codes.copy()
        twin.ends, twin.found, twin.sums = self.ends.copy(), self.found.copy(), np.zeros(self.sums.shape, np.int64)
        used = (self.ends[:, 0] <= self.ends[:, 1]) | self.sums[:, -2:, 0].any(axis=1)
        twin.sums[used] = self.sums[used]
        return twin

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
        at, k, octaves = self.columns(self.window)
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

    def rows_by_bin(self) -> Ints:
        """Rows of all cells in each bin."""
        at, k, _ = self.columns(self.window)
        rows = self.sums[: 3 * len(self.names), at, 0].sum(axis=0)
        out = np.zeros(self.window.bins, np.int64)
        np.add.at(out, self.window.indices(k)[rows > 0], rows[rows > 0])
        return out

    def fullest(self, least: int, groups: Sequence[Name]) -> tuple[float, int, int, int]:
        """The reference's answer from rows that are all here: the bin of several values with most rows of a cell."""
        ring, grid = self.ring, self.window.grid
        at, k, octaves = (values[: -2 * DEEP - 1] for values in self.columns(self.window))
        fine = octaves - np.frexp(grid.edges(k + 1) - grid.edges(k))[1] > 1045  # scores are a width apart
        index = self.window.indices(np.concatenate([k, [0, -1]]))
        best = (0.0, 0, 0, 0)
        for label in range(3):
            for place, name in enumerate(groups):
                table = self.sums[3 * self.slots[sort_key(name)] + label]
                counts, sums = table[at].T
                near = table[2 * ring : 2 * ring + 2 * DEEP, 0].reshape(2, DEEP).sum(axis=1)
                several = np.concatenate([~fine & (sums % np.maximum(counts, 1) != 0), near > 0])
                near[0] += table[-3, 0]
                counts = np.concatenate([counts, near])
                several &= counts >= max(least, 2)
                if several.any():
                    most = counts[several].max()
                    share = float(most) / float(table[:, 0].sum())
                    first = int(index[several & (counts == most)].min())
                    best = (share, label, place, first) if share > best[0] else best
        return best


def numbers_of(grid: Grid, ring: int) -> tuple[int, ...]:
    """A grid as the loops read it."""
    octaves = 0, 0, 0, grid.level + 1075
    if grid.per is not None:
        octaves = grid.least + grid.per + 1023, grid.level + grid.per + 1023, grid.per, 52 - grid.per
    return (*octaves, grid.least + 1023, ring)


def bits_of(extent: Extent) -> Ints:
    """An extent as the loops compare it."""
    sizes = np.array([*extent.below, *extent.above]).view(np.int64)
    return np.array([*sizes[:2], extent.zero, *sizes[2:]], np.int64)


def extent_of(bits: Ints) -> Extent:
    """The extent that has these bits."""
    below_far, below_near, _, above_far, above_near = bits.view(np.float64).tolist()
    return Extent((below_far, below_near), bool(bits[loops.ORIGIN]), (above_far, above_near))
