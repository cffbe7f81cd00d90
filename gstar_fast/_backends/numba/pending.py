"""Sums of unweighted rows in int64, on their way to the exact cells of the reference."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gstar_fast._backends.numba import loops
from gstar_fast._backends.numba.lookup import Lookup
from gstar_fast._backends.numba.windows import (
    Route,
    bits_at,
    bits_of,
    extent_of,
    is_near,
    lower_edges,
    plain,
    route,
    units_of,
    with_room,
)
from gstar_fast._backends.numpy.cells import Cells
from gstar_fast._base.arrays import DType, Floats, Ints, Values
from gstar_fast._base.grid import SUM_UNIT, Extent, Window
from gstar_fast._base.names import Name, sort_key


class Pending:
    """Sums of rows in one window; `names[slot]` is the group of cells 3 * slot + label.

    `window` has room around the rows seen, so that a new extreme rarely needs another one; `numbers` is what the loops
    know of it, `extent` what they know of the rows. With a range it is the range's.
    """

    table: Ints
    full: Ints
    zeros: Ints
    beyond: Ints
    ends: Floats
    sums: tuple[Values, ...]  # what the loops add to
    window: Window
    numbers: Ints

    def __init__(self, names: Sequence[Name], extent: Extent, window: Window, fixed: bool) -> None:
        self.bins, self.fixed = window.bins, fixed
        self.names = list(names)
        self.slots = {sort_key(name): slot for slot, name in enumerate(self.names)}  # tells True from 1
        self.extent = np.array([*bits_of(extent), *bits_of(Extent()), *bits_of(Extent())], np.int64)
        edges = window.edges if fixed else (-math.inf, math.inf)
        self.span = float(edges[0]), float(edges[-1])
        self.state = np.zeros(2, np.int64)
        self.lookups: dict[str, Lookup] = {}
        self.rows = 0
        self.room = 0
        self.reserve(max(len(self.names), 1))
        self._open(extent, window)

    def reserve(self, n_groups: int) -> None:
        """Make room for so many groups, at least doubling."""
        if n_groups <= self.room:
            return
        old = 3 * self.room
        self.room = max(n_groups, 2 * self.room)
        n = 3 * self.room
        for key, size in self._sizes.items():
            array = np.zeros(n * size, np.int64)
            if old and (key != "full" or self.state[loops.SPILLED]):
                array[: old * size] = getattr(self, key)
            setattr(self, key, array)
        ends = np.empty(2 * n)
        ends[0::2], ends[1::2] = math.inf, -math.inf
        if old:
            ends[: 2 * old] = self.ends
        self.ends = ends
        self._gather()

    @property
    def _sizes(self) -> dict[str, int]:
        """Numbers in each array, for a cell."""
        return {"table": self.bins, "full": 2 * self.bins, "zeros": 2 * loops.SLOTS * 2, "beyond": 2}

    def _gather(self) -> None:
        self.sums = self.table, self.full, self.zeros, self.ends, self.beyond, self.state

    def _open(self, extent: Extent, window: Window) -> None:
        """Take a window for rows of this extent; there is none before the first finite score, which asks for it."""
        window, room = (window, extent) if self.fixed or extent.empty else with_room(extent, window)
        self.window, self.numbers = window, plain(window)
        self.extent[loops.ROOM :] = bits_of(room)

    @property
    def seen(self) -> Extent:
        """The extent of all rows counted here, and of those that were known."""
        return extent_of(self.extent[loops.SEEN : loops.ASKED])

    @property
    def asked(self) -> Extent:
        """The extent of the rows that the loops could not count."""
        return extent_of(self.extent[loops.ASKED : loops.ROOM])

    def know(self, ends: Floats, names: Sequence[Name]) -> None:
        """Take over extremes, of shape (n_groups, 3, 2), of rows that are counted elsewhere."""
        slots = [self.slot_of(name) for name in names]
        self.ends.reshape(-1, 3, 2)[slots] = ends

    def successor(self, extent: Extent, window: Window) -> Pending:
        """No sums yet, the same slots and extremes: made for rows that will be added to the same ones as ours."""
        new = Pending(self.names, extent, window, self.fixed)
        new.know(self.ends.reshape(-1, 3, 2)[: len(self.names)], self.names)
        new.extent[: loops.ASKED] = self.extent[: loops.ASKED]
        return new

    def slot_of(self, name: Name) -> int:
        """The slot of a group, a new one if it has none."""
        slot = self.slots.setdefault(sort_key(name), len(self.names))
        if slot == len(self.names):
            self.reserve(slot + 1)
            self.names.append(name)
        return slot

    def lookup_for(self, names: tuple[Name, ...] | None, dtype: DType) -> Lookup:
        """Tables that turn the codes of a batch into slots; those for plain integers are kept."""
        lookup = self.lookups.get(dtype.str) if names is None else None
        if lookup is None:
            lookup = Lookup(names, dtype)
            if names is None:
                self.lookups[dtype.str] = lookup
        lookup.extend(self.names, self.slots)
        return lookup

    def empty_table(self) -> None:
        """Move everything from the table to where more rows fit."""
        loops.empty_table(self.table, self.full, self.ends, self.state)

    # -------------------------------------------------------------------------------------------------- other windows

    def move_to(self, extent: Extent, window: Window) -> bool:
        """Keep the sums as a window for more rows does; False if they are too large for that, and nothing is done."""
        old = self.window
        if not self.goes_to(window):
            return False
        self._open(extent, window)
        if self.rows and self.window != old:
            way = self._route(old, self.window)
            full, self.full = self.full, np.zeros_like(self.full)
            loops.pour(full, self.ends, np.arange(3 * self.room), self.bins, way, self.full, self.zeros)
            self._gather()
        return True

    def goes_to(self, window: Window) -> bool:
        """Whether no sum can overflow on its way to another window: 2**31 rows of near ones have offsets of 25 bits."""
        if is_near(self.window) and is_near(window):
            return True
        return self.rows * int(np.abs(self._route(self.window, window).starts).max(initial=0)) < 2**62

    def _route(self, old: Window, new: Window) -> Route:
        """The way of the bins that have rows, all of which are then in `full`."""
        self.empty_table()
        return route(old, new, np.flatnonzero(self.full.reshape(-1, self.bins, 2)[:, :, 0].any(axis=0)))

    def absorb(self, other: Pending) -> None:
        """Add sums of a window that is not coarser."""
        slots = [self.slot_of(name) for name in other.names]
        cells = (3 * np.array(slots, np.int64)[:, None] + np.arange(3)).reshape(-1)
        self.empty_table()
        way = other._route(other.window, self.window)
        loops.pour(other.full, other.ends, cells, self.bins, way, self.full, self.zeros)
        for key in ("zeros", "beyond"):
            ours, theirs = (getattr(p, key).reshape(3 * p.room, -1) for p in (self, other))
            ours[cells] += theirs[: len(cells)]
        ends, more = self.ends.reshape(-1, 2), other.ends.reshape(-1, 2)[: len(cells)]
        ends[cells, 0] = np.minimum(ends[cells, 0], more[:, 0])
        ends[cells, 1] = np.maximum(ends[cells, 1], more[:, 1])
        self.extent[: loops.ASKED] = bits_of(self.seen | other.seen)
        self.state[loops.SPILLED] |= other.state[loops.SPILLED]
        self.rows += other.rows

    def copy(self) -> Pending:
        """An independent copy."""
        twin = Pending.__new__(Pending)
        vars(twin).update(vars(self))
        for key in ("table", "zeros", "beyond", "ends", "extent", "state"):
            setattr(twin, key, getattr(self, key).copy())
        twin.full = self.full.copy() if self.state[loops.SPILLED] else np.zeros_like(self.full)
        twin.names, twin.slots, twin.lookups = list(self.names), dict(self.slots), {}
        twin._gather()
        return twin

    # -------------------------------------------------------------------------------------------------------- reading

    def add_counts_to(self, counts: Ints, label: int, groups: Sequence[Name], window: Window) -> None:
        """Add the rows of one label to counts of each group and bin of a window of the same grid."""
        index = {name: i for i, name in enumerate(groups)}
        for slot, name in enumerate(self.names):
            if name in index and self.ends[6 * slot + 2 * label] < math.inf:
                self._add_rows(counts[index[name]], slice(3 * slot + label, 3 * slot + label + 1), window)

    def add_beyond_to(self, rows: Ints, side: int, groups: Sequence[Name]) -> None:
        """Add the rows under the first edge (side 0) or over the last one to (3, n_groups) of them."""
        beyond = self.beyond.reshape(self.room, 3, 2)
        for place, name in enumerate(groups):
            slot = self.slots.get(sort_key(name), -1)
            if slot >= 0:
                rows[:, place] += beyond[slot, :, side]

    def add_pooled_to(self, counts: Ints, window: Window) -> None:
        """Add the rows of all cells to counts of each bin of a window of the same grid."""
        self._add_rows(counts, slice(3 * len(self.names)), window)

    def _add_rows(self, counts: Ints, cells: slice, window: Window) -> None:
        rows = (self.table.reshape(-1, self.bins)[cells] >> loops.COUNT).sum(axis=0)
        if self.state[loops.SPILLED]:
            rows += self.full.reshape(-1, self.bins, 2)[cells, :, 0].sum(axis=0)
        used = np.flatnonzero(rows)
        counts[window.indices(self.window.numbers[used])] += rows[used]

    def span_of_rows(self) -> list[float]:
        """Smallest and largest score inside the window, if there are any."""
        lo, hi = float(self.ends[0::2].min()), float(self.ends[1::2].max())
        return [lo, hi] if lo <= hi else []

    def ends_of(self, label: int, groups: Sequence[Name]) -> Floats:
        """Smallest and largest score of each group, NaN where there is none."""
        ends = self.ends.reshape(self.room, 3, 2)[:, label]
        none = np.array([math.nan, math.nan])
        slots = [self.slots.get(sort_key(name), -1) for name in groups]
        found = [ends[slot] if slot >= 0 and ends[slot, 0] <= ends[slot, 1] else none for slot in slots]
        return np.array(found).reshape(-1, 2)

    def fullest(self, least: int, groups: Sequence[Name], window: Window) -> tuple[float, int, int, int]:
        """The reference's answer from rows that are all here: the bin of several values that takes most of a cell."""
        self.empty_table()
        full, zeros = self.full.reshape(-1, self.bins, 2), self.zeros.reshape(3 * self.room, 2, -1)
        beyond = self.beyond.reshape(-1, 2).sum(axis=1)
        k = self.window.numbers[:-1]
        bits, _ = bits_at(self.window.grid, k)
        best = (0.0, 0, 0, 0)
        for label in range(3):
            for place, name in enumerate(groups):
                c = 3 * self.slots.get(sort_key(name), -1) + label
                if c < 0:
                    continue  # a given group without rows
                n, sums = full[c].T
                many = np.flatnonzero(n >= max(least, 2))
                alike = (bits[many] > 24) | (sums[many] % n[many] == 0)
                for side in range(2):
                    alike[k[many] == side - 1] = not zeros[c, side].any()
                many = many[~alike]
                if len(many):
                    at = many[n[many].argmax()]
                    share = float(n[at]) / float(n.sum() + beyond[c])
                    best = (share, label, place, window.index(int(k[at]))) if share > best[0] else best
        return best

    def occupied(self) -> list[Name]:
        """Groups that have rows."""
        n = len(self.names)
        self.empty_table()
        rows = self.full.reshape(self.room, -1, 2)[:n, :, 0].sum(axis=1)
        rows += self.beyond.reshape(self.room, 6)[:n].sum(axis=1)
        return [name for name, some in zip(self.names, (rows > 0).tolist(), strict=True) if some]

    def add_to(self, cells: Cells, groups: Sequence[Name], window: Window) -> None:
        """Add everything to exact cells in a window of the same grid."""
        self.empty_table()
        index = {name: i for i, name in enumerate(groups)}
        full = self.full.reshape(3 * self.room, self.bins, 2)
        ends, beyond = self.ends.reshape(-1, 2), self.beyond.reshape(-1, 2)
        zeros = self.zeros.reshape(3 * self.room, 2, loops.SLOTS, 2)
        k = self.window.numbers[:-1]
        shifts = np.maximum(units_of(self.window.grid, k) - SUM_UNIT, 0)  # the bins at zero have no unit
        edges = np.where((k == 0) | (k == -1), 0, lower_edges(self.window.grid, k))  # these have a wide sum instead
        for slot, name in enumerate(self.names):
            for label in range(3):
                c, at = 3 * slot + label, (label, index.get(name, -1))
                if at[1] < 0:
                    continue  # a group this sketch inherited, without rows
                used = np.flatnonzero(full[c, :, 0])
                n, v, edge = full[c, used, 0], full[c, used, 1], edges[used]
                if int(n.max(initial=0)) * int(np.abs(edge).max(initial=0)) >= 2**61:
                    n, v, edge = n.astype(object), v.astype(object), edge.astype(object)
                there = window.indices(k[used])
                cells.counts[at][there] += full[c, used, 0]
                cells.sums[at][there] += (v + n * edge).astype(object) << shifts[used].astype(object)
                for side in np.flatnonzero(zeros[c].any(axis=(1, 2))).tolist():
                    total = _whole(zeros[c, side])
                    cells.sums[at][window.index(side - 1)] += total if side else -total
                cells.below[at] += beyond[c, 0]
                cells.above[at] += beyond[c, 1]
                cells.mins[at] = min(cells.mins[at], ends[c, 0])
                cells.maxs[at] = max(cells.maxs[at], ends[c, 1])


def _whole(wide: Ints) -> int:
    """A wide sum as a whole number of 2**SUM_UNIT; `wide` has the size only."""
    return sum(low + (high << loops.PIECE) << 32 * slot for slot, (low, high) in enumerate(wide.tolist()))
