"""Sums of unweighted rows in int64, on their way to the exact cells of the reference.

Reads from: the compiled loops, the grid, the reference's cells. Read by: the sketch of this backend.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gstar_fast._backends.numba import loops
from gstar_fast._backends.numba.lookup import Lookup
from gstar_fast._backends.numpy.sketch import Cells
from gstar_fast._grid import SQUARE_UNIT, SUM_UNIT, whole_sums
from gstar_fast._groups import Name, sort_key
from gstar_fast._sketch_io import spacing24

MOST_TINY = 32_768


class Scales(NamedTuple):
    """How sums are kept: a rounded score of bin k is `(v + base + k * origin) * 2**unit`, v from 0 to 2**25."""

    level: int
    unit: int
    origin: int
    base: int
    lift: int  # scores are multiplied by 2**lift first, where a level is so low that its inverse overflows

    @property
    def floats(self) -> tuple[float, ...]:
        """What the compiled loop multiplies with: lift, 1 / width, 1 / unit, origin, base."""
        lifted = 2.0 ** -(self.level + self.lift), 2.0 ** -(self.unit + self.lift)
        return 2.0**self.lift, *lifted, float(self.origin), float(self.base)


def scales_of(level: int, first: int, bins: int) -> Scales:
    """Sums of a bin count from its start; where 24 bits cannot tell the scores of a bin apart, from a common base."""
    lift = 600 if level < -900 else 0
    if max(abs(first), abs(first + bins)) >= 2**24:
        unit = spacing24(first if first > 0 else first + bins - 1, level)
        start = first << level - unit if level >= unit else first >> unit - level
        return Scales(level, unit, 0, start - 1, lift)
    if level < -1045:  # round24 leaves no smaller steps than 2**-1045
        return Scales(level, -1045, 0, -(2**24), lift)
    unit = max(level - 23, -1045)
    return Scales(level, unit, 1 << level - unit, 0, lift)


class Pending:
    """Sums of rows of one window's level; `names[slot]` is the group of cells 3 * slot + label."""

    def __init__(self, bins: int, names: Sequence[Name], level: int, first: int) -> None:
        self.bins = bins
        self.names = list(names)
        self.slots = {sort_key(name): slot for slot, name in enumerate(self.names)}  # tells True from 1
        self.scales = scales_of(level, first, bins)
        self.extent = np.array([math.inf, -math.inf])
        self.skipped = np.zeros(1, np.int64)
        self.tiny_cell, self.tiny = np.empty(MOST_TINY, np.int64), np.empty(MOST_TINY)
        self.n_tiny = np.zeros(1, np.int64)
        self.tiny_sums: dict[tuple[int, int], list[int]] = {}
        self.lookups: dict[str, Lookup] = {}
        self.rows = 0
        self.room = 0
        self.reserve(max(len(self.names), 1))

    def reserve(self, n_groups: int) -> None:
        """Make room for so many groups, at least doubling."""
        if n_groups <= self.room:
            return
        old = 3 * self.room
        self.room = max(n_groups, 2 * self.room)
        n = 3 * self.room
        sizes = {
            "table": 2 * self.bins,
            "full": 2 * self.bins,
            "squares": 2,
            "zeros": 2 * loops.EXPONENTS * 3,
            "below": 1,
            "above": 1,
        }
        for key, size in sizes.items():
            array = np.zeros(n * size, np.int64)
            if old:
                array[: old * size] = getattr(self, key)
            setattr(self, key, array)
        for key, start in (("mins", math.inf), ("maxs", -math.inf)):
            ends = np.full(n, start)
            if old:
                ends[:old] = getattr(self, key)
            setattr(self, key, ends)

    table: NDArray[np.int64]
    full: NDArray[np.int64]
    squares: NDArray[np.int64]
    zeros: NDArray[np.int64]
    below: NDArray[np.int64]
    above: NDArray[np.int64]
    mins: NDArray[np.float64]
    maxs: NDArray[np.float64]

    @property
    def sums(self) -> tuple[NDArray[Any], ...]:
        """What `loops.count` adds to."""
        wide = self.table, self.full, self.squares, self.zeros, self.mins, self.maxs
        return *wide, self.tiny_cell, self.tiny, self.n_tiny

    @property
    def odd(self) -> tuple[NDArray[Any], ...]:
        """What `loops.sort_out` adds to."""
        return self.extent, self.below, self.above, self.skipped

    def slot_of(self, name: Name) -> int:
        """The slot of a group, a new one if it has none."""
        slot = self.slots.setdefault(sort_key(name), len(self.names))
        if slot == len(self.names):
            self.reserve(slot + 1)
            self.names.append(name)
        return slot

    def lookup_for(self, names: tuple[Name, ...] | None, dtype: np.dtype[Any]) -> Lookup:
        """Tables that turn the codes of a batch into slots; those for plain integers are kept."""
        lookup = Lookup(names, dtype) if names is not None else self.lookups.setdefault(dtype.str, Lookup(None, dtype))
        lookup.extend(self.names, self.slots)
        return lookup

    def drain_tiny(self) -> None:
        """Add the scores too small for `zeros` up in Python."""
        n = int(self.n_tiny[0])
        scores, squares = whole_sums(self.tiny[:n])
        for cell, x, score, square in zip(
            self.tiny_cell[:n].tolist(), self.tiny[:n].tolist(), scores, squares, strict=True
        ):
            total = self.tiny_sums.setdefault((cell, -1 if x < 0 else 0), [0, 0])
            total[0] += score
            total[1] += square
        self.n_tiny[0] = 0

    def empty_table(self) -> None:
        """Move everything from the table to where more rows fit."""
        table, full = (array.reshape(-1, self.bins, 2) for array in (self.table, self.full))
        full[:, :, 0] += table[:, :, 0] >> loops.COUNT
        full[:, :, 1] += table[:, :, 0] & ((1 << loops.COUNT) - 1)
        low = self.squares[0::2] + (table[:, :, 1] & 0xFFFFFFFF).sum(axis=1)
        self.squares[0::2] = low & 0xFFFFFFFF
        self.squares[1::2] += (table[:, :, 1] >> 32).sum(axis=1) + (low >> 32)
        table[:] = 0

    def absorb(self, other: Pending) -> None:
        """Add sums that are kept the same way."""
        slots = [self.slot_of(name) for name in other.names]
        cells = (3 * np.array(slots, np.int64)[:, None] + np.arange(3)).reshape(-1)
        in_order = slots == list(range(len(slots)))  # the rule, and much faster
        other.drain_tiny()
        for pending in (self, other):
            pending.empty_table()
        for key in ("full", "squares", "zeros", "below", "above"):
            ours, theirs = (getattr(p, key).reshape(3 * p.room, -1) for p in (self, other))
            if in_order:
                ours[: len(cells)] += theirs[: len(cells)]
            else:
                ours[cells] += theirs[: len(cells)]
        self.mins[cells] = np.minimum(self.mins[cells], other.mins[: len(cells)])
        self.maxs[cells] = np.maximum(self.maxs[cells], other.maxs[: len(cells)])
        self.rows += other.rows
        for (cell, k), (score, square) in other.tiny_sums.items():
            total = self.tiny_sums.setdefault((int(cells[cell]), k), [0, 0])
            total[0] += score
            total[1] += square

    def copy(self) -> Pending:
        """An independent copy."""
        twin = Pending.__new__(Pending)
        vars(twin).update({k: v.copy() if hasattr(v, "copy") else v for k, v in vars(self).items()})
        twin.tiny_sums = {at: list(total) for at, total in self.tiny_sums.items()}
        twin.lookups = {}
        return twin

    def add_counts_to(self, counts: NDArray[np.int64], label: int, groups: Sequence[Name], first: int) -> None:
        """Add the rows of one label to counts of each group and bin."""
        table, full = (array.reshape(self.room, 3, self.bins, 2)[:, label, :, 0] for array in (self.table, self.full))
        index = {name: i for i, name in enumerate(groups)}
        for slot, name in enumerate(self.names):
            if name in index:  # a window starts at bin `first`, the table at a multiple of `bins`
                counts[index[name]] += np.roll((table[slot] >> loops.COUNT) + full[slot], -(first % self.bins))

    def occupied(self) -> list[Name]:
        """Groups that have rows."""
        n = len(self.names)
        self.empty_table()
        rows = self.full.reshape(self.room, -1, 2)[:n, :, 0].sum(axis=1)
        rows += (self.below + self.above).reshape(self.room, 3)[:n].sum(axis=1)
        return [name for name, some in zip(self.names, (rows > 0).tolist(), strict=True) if some]

    def add_to(self, cells: Cells, groups: Sequence[Name], first: int) -> None:
        """Add everything to exact cells of the same level."""
        self.drain_tiny()
        self.empty_table()
        _, unit, origin, base, _ = self.scales
        index = {name: i for i, name in enumerate(groups)}
        full = self.full.reshape(self.room, 3, self.bins, 2)
        mask = self.bins - 1
        for slot, name in enumerate(self.names):
            for label in range(3):
                c, at = 3 * slot + label, (label, index.get(name, -1))
                if at[1] < 0:
                    continue  # a group this sketch inherited, without rows
                used = np.flatnonzero(full[slot, label, :, 0])
                k = first + ((used - first) & mask)
                counts, sums = full[slot, label, used].T
                places = k - first
                cells.counts[at][places] += counts
                away = (k != 0) & (k != -1)
                n, v, start = counts[away], sums[away], k[away] * origin + base
                if int(n.max(initial=0)) * int(np.abs(start).max(initial=0)) >= 2**61:
                    n, v, start = n.astype(object), v.astype(object), start.astype(object)
                scores = v + n * start
                cells.sums[at][places[away]] += scores.astype(object) << (unit - SUM_UNIT)
                # (v + start)**2 = v**2 + start * (2 * v + start), each summed over the rows
                squares = int(self.squares[2 * c]) + (int(self.squares[2 * c + 1]) << 32)
                squares += sum(map(operator.mul, start.tolist(), (scores + v).tolist()))
                cells.squares[at] += squares << (2 * unit - SQUARE_UNIT)
                self._add_zero_bins(cells, at, c, first)
                cells.below[at] += self.below[c]
                cells.above[at] += self.above[c]
                cells.mins[at] = min(cells.mins[at], self.mins[c])
                cells.maxs[at] = max(cells.maxs[at], self.maxs[c])

    def _add_zero_bins(self, cells: Cells, at: tuple[int, int], c: int, first: int) -> None:
        zeros = self.zeros.reshape(-1, 2, loops.EXPONENTS, 3)[c]
        for side, k in enumerate((-1, 0)):
            score, square = self.tiny_sums.get((c, k), (0, 0))
            for place in np.flatnonzero(zeros[side, :, 0]).tolist():
                mantissas, low, high = zeros[side, place].tolist()
                exponent = self.scales.level - place - 23
                score += (mantissas if k == 0 else -mantissas) << (exponent - SUM_UNIT)
                square += (low + (high << 32)) << (2 * exponent - SQUARE_UNIT)
            if score or square:
                cells.sums[at][k - first] += score
                cells.squares[at] += square
