"""Sums of unweighted rows in int64, on their way to the exact cells of the reference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gstar_fast._backends.numba import loops
from gstar_fast._backends.numba.lookup import Lookup
from gstar_fast._backends.numpy.cells import Cells
from gstar_fast._base.arrays import DType, Floats, Ints, Values
from gstar_fast._base.grid import SQUARE_UNIT, SUM_UNIT, floor_bin, whole_sums
from gstar_fast._base.names import Name, sort_key
from gstar_fast._base.sketch_format import spacing24

MOST_TINY = 32_768
MOST_SHIFT = 8  # levels; sums that come to touch zero then stay below 2**62


class Scales(NamedTuple):
    """How sums are kept: a rounded score of bin k is `(v + base + k * origin) * 2**unit`, v from 0 to 2**25."""

    level: int
    unit: int
    origin: int
    base: int
    lift: int  # scores are multiplied by 2**lift first, where a level is so low that its inverse overflows

    @property
    def is_near(self) -> bool:
        """Whether an offset is a bin's 2**-23: rows may then be counted without thought, and coarsened."""
        return self.unit == self.level - 23 and not self.lift

    @property
    def floats(self) -> tuple[float, ...]:
        """What the compiled loop multiplies with: 1 / width (0 makes all rows special), and for special rows all."""
        width, unit = 2.0 ** -(self.level + self.lift), 2.0 ** -(self.unit + self.lift)
        return width if self.is_near else 0.0, 2.0**self.lift, width, unit, float(self.origin), float(self.base)


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
    """Sums of rows of one window's level; `names[slot]` is the group of cells 3 * slot + label.

    `extent` is the range of all scores in `ends`, and the range the loop last asked for. `grid` is what the loop knows
    of the window; without a range it has room on both sides, so that a new extreme rarely moves it.
    """

    table: Ints
    full: Ints
    squares: Ints
    zeros: Ints
    beyond: Ints
    ends: Floats
    sums: tuple[Values, ...]  # what the loop adds to

    def __init__(self, bins: int, names: Sequence[Name], level: int, first: int, fixed: bool) -> None:
        self.bins, self.fixed = bins, fixed
        self.names = list(names)
        self.slots = {sort_key(name): slot for slot, name in enumerate(self.names)}  # tells True from 1
        self.extent = np.array([math.inf, -math.inf, math.inf, -math.inf])
        self.grid = np.empty(8)
        self.state = np.zeros(3, np.int64)
        self.tiny_cell, self.tiny = np.empty(MOST_TINY, np.int64), np.empty(MOST_TINY)
        self.tiny_sums: dict[tuple[int, int], list[int]] = {}
        self.rest: dict[int, int] = {}  # for each cell: what coarsening took from the squares that its bins tell
        self.lookups: dict[str, Lookup] = {}
        self.rows = 0
        self.room = 0
        self.reserve(max(len(self.names), 1))
        self.scales = scales_of(level, first, bins)
        self.open_window(level, first)

    @property
    def sizes(self) -> dict[str, int]:
        """Numbers in each array, for a cell."""
        bins = self.bins
        return {
            "table": bins,
            "full": 2 * bins,
            "squares": 3,
            "zeros": 2 * loops.EXPONENTS * 3,
            "beyond": 2,
        }

    def reserve(self, n_groups: int) -> None:
        """Make room for so many groups, at least doubling."""
        if n_groups <= self.room:
            return
        old = 3 * self.room
        self.room = max(n_groups, 2 * self.room)
        n = 3 * self.room
        for key, size in self.sizes.items():
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

    def _gather(self) -> None:
        wide = self.table, self.full, self.squares, self.zeros, self.ends, self.beyond
        self.sums = *wide, self.state, self.tiny_cell, self.tiny

    def open_window(self, level: int, first: int) -> None:
        """Tell the loop where the window is; none while there is no finite score, so that the first one asks for it."""
        lo, hi = float(self.extent[0::2].min()), float(self.extent[1::2].max())  # also of rows about to be counted
        start = first
        if not self.fixed and lo <= hi:
            spare = self.bins - 1 - (floor_bin(hi, level) - first)
            if spare > 0 and scales_of(level, first - spare // 2, self.bins) == self.scales:
                start = first - spare // 2
        if self.fixed or lo <= hi:
            lo, hi = math.ldexp(float(start), level), math.ldexp(float(start + self.bins), level)
        self.grid[:] = lo, hi, *self.scales.floats

    def know(self, ends: Floats, names: Sequence[Name]) -> None:
        """Take over extremes, of shape (n_groups, 3, 2), of rows that are counted elsewhere."""
        slots = [self.slot_of(name) for name in names]
        self.ends.reshape(-1, 3, 2)[slots] = ends
        self.extent[:2] = self.ends[0::2].min(), self.ends[1::2].max()

    def successor(self, level: int, first: int) -> Pending:
        """No sums yet, the same slots and extremes: made for rows that will be added to the same ones as ours."""
        new = Pending(self.bins, self.names, level, first, self.fixed)
        new.know(self.ends.reshape(-1, 3, 2)[: len(self.names)], self.names)
        new.extent[2:] = self.extent[2:]
        new.open_window(level, first)
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

    def drain_tiny(self) -> None:
        """Add the scores too small for `zeros` up in Python."""
        n = int(self.state[loops.N_TINY])
        scores, squares = whole_sums(self.tiny[:n])
        cells, numbers = self.tiny_cell[:n].tolist(), np.where(self.tiny[:n] < 0, -1, 0).tolist()
        for cell, k, score, square in zip(cells, numbers, scores, squares, strict=True):
            self._add_tiny((cell, k), score, square)
        self.state[loops.N_TINY] = 0

    def _add_tiny(self, at: tuple[int, int], score: int, square: int) -> None:
        total = self.tiny_sums.setdefault(at, [0, 0])
        total[0] += score
        total[1] += square

    def empty_table(self) -> None:
        """Move everything from the table to where more rows fit."""
        loops.empty_table(self.table, self.full, self.squares, self.state)

    # -------------------------------------------------------------------------------------------------- other windows

    def move_to(self, level: int, first: int) -> bool:
        """Keep the sums as a wider window does; False if that cannot be done quickly, and nothing has changed."""
        scales, old = scales_of(level, first, self.bins), self.scales
        if scales != old and self.rows and self.extent[0] <= self.extent[1]:
            shift = level - old.level
            if not (scales.is_near and old.is_near and 0 < shift <= MOST_SHIFT):
                return False
            self._coarsen(shift, scales)
        self.scales = scales
        self.open_window(level, first)
        return True

    def _coarsen(self, shift: int, scales: Scales) -> None:
        first = floor_bin(float(self.extent[0]), self.scales.level)
        self.empty_table()
        squares = self._squares(first)
        zeros = self.zeros.reshape(-1, 2, loops.EXPONENTS, 3)
        kept = loops.EXPONENTS - shift
        for c, side, place in np.argwhere(zeros[:, :, kept:, 0]).tolist():  # too small for `zeros` from now on
            self._add_tiny((c, side - 1), *self._zero_sum(c, side, kept + place))
        moved = np.zeros_like(zeros)
        moved[:, :, shift:] = zeros[:, :, :kept]
        self.zeros = moved.reshape(-1)
        full, self.full = self.full, np.zeros_like(self.full)
        loops.coarsen(full, self.bins, first, shift, self.zeros, self.full)
        self._gather()
        self.scales = scales
        self.squares[:] = 0
        for c, (square, told) in enumerate(zip(squares, self._squares(first >> shift), strict=True)):
            if square != told:
                self.rest[c] = self.rest.get(c, 0) + square - told

    def _numbers(self, first: int) -> Ints:
        """Number of the bin stored at each place."""
        return first + ((np.arange(self.bins) - first) & (self.bins - 1))

    def _squares(self, first: int) -> list[int]:
        """Sum of the squares that bins and sums tell, for each cell, as a whole number of 2**SQUARE_UNIT.

        It is that of (v + start)**2 = v**2 + start * (2 * v + start) over the rows.
        """
        _, unit, origin, base, _ = self.scales
        k = self._numbers(first)
        k[(k == 0) | (k == -1)] = 0  # these keep their squares elsewhere
        weight, start = (k, origin) if origin else ((k != 0).astype(np.int64), base)
        n, v = self.full.reshape(-1, self.bins, 2).transpose(2, 0, 1)
        furthest = int(np.abs(weight).max())
        if self.rows * furthest * max(furthest, 2**25) >= 2**62:
            n, v, weight = n.astype(object), v.astype(object), weight.astype(object)
        by_edges, mixed = (n @ (weight * weight)).tolist(), (v @ weight).tolist()
        low, high = self.squares[1::3].tolist(), self.squares[2::3].tolist()
        return [
            (a + (b << 32) + start * (start * c + 2 * d)) << (2 * unit - SQUARE_UNIT)
            for a, b, c, d in zip(low, high, by_edges, mixed, strict=True)
        ]

    def absorb(self, other: Pending) -> None:
        """Add sums that are kept the same way."""
        slots = [self.slot_of(name) for name in other.names]
        cells = (3 * np.array(slots, np.int64)[:, None] + np.arange(3)).reshape(-1)
        in_order = slots == list(range(len(slots)))  # the rule, and much faster
        other.drain_tiny()
        for pending in (self, other):
            pending.empty_table()
        for key in ("full", "squares", "zeros", "beyond"):
            ours, theirs = (getattr(p, key).reshape(3 * p.room, -1) for p in (self, other))
            if in_order:
                ours[: len(cells)] += theirs[: len(cells)]
            else:
                ours[cells] += theirs[: len(cells)]
        ends, more = self.ends.reshape(-1, 2), other.ends.reshape(-1, 2)[: len(cells)]
        ends[cells, 0] = np.minimum(ends[cells, 0], more[:, 0])
        ends[cells, 1] = np.maximum(ends[cells, 1], more[:, 1])
        self.extent[:2] = ends[:, 0].min(), ends[:, 1].max()
        self.state[loops.SPILLED] |= other.state[loops.SPILLED]
        self.rows += other.rows
        for (cell, k), (score, square) in other.tiny_sums.items():
            self._add_tiny((int(cells[cell]), k), score, square)
        for cell, square in other.rest.items():
            self.rest[int(cells[cell])] = self.rest.get(int(cells[cell]), 0) + square

    def copy(self) -> Pending:
        """An independent copy."""
        twin = Pending.__new__(Pending)
        vars(twin).update(vars(self))
        for key in ("table", "squares", "zeros", "beyond", "ends", "extent", "grid", "state"):
            setattr(twin, key, getattr(self, key).copy())
        twin.full = self.full.copy() if self.state[loops.SPILLED] else np.zeros_like(self.full)
        n = int(self.state[loops.N_TINY])
        twin.tiny_cell, twin.tiny = np.empty_like(self.tiny_cell), np.empty_like(self.tiny)
        twin.tiny_cell[:n], twin.tiny[:n] = self.tiny_cell[:n], self.tiny[:n]
        twin.names, twin.slots, twin.rest, twin.lookups = list(self.names), dict(self.slots), dict(self.rest), {}
        twin.tiny_sums = {at: list(total) for at, total in self.tiny_sums.items()}
        twin._gather()
        return twin

    # -------------------------------------------------------------------------------------------------------- reading

    def add_counts_to(self, counts: Ints, label: int, groups: Sequence[Name], first: int) -> None:
        """Add the rows of one label to counts of each group and bin."""
        index = {name: i for i, name in enumerate(groups)}
        for slot, name in enumerate(self.names):
            if name in index and self.ends[6 * slot + 2 * label] < math.inf:
                counts[index[name]] += self._in_window(self._rows_of(3 * slot + label), first)

    def _rows_of(self, c: int) -> Ints:
        bins = slice(self.bins * c, self.bins * (c + 1))
        rows: Ints = self.table[bins] >> loops.COUNT
        if self.state[loops.SPILLED]:
            rows += self.full.reshape(-1, 2)[bins, 0]
        return rows

    def _in_window(self, stored: Ints, first: int) -> Ints:
        """What is stored at `k mod bins`, from bin `first` on."""
        start = first % self.bins
        return np.concatenate((stored[start:], stored[:start]))

    def ends_of(self, label: int, groups: Sequence[Name]) -> Floats:
        """Smallest and largest score of each group, NaN where there is none."""
        ends = self.ends.reshape(self.room, 3, 2)[:, label]
        none = np.array([math.nan, math.nan])
        slots = [self.slots.get(sort_key(name), -1) for name in groups]
        found = [ends[slot] if slot >= 0 and ends[slot, 0] <= ends[slot, 1] else none for slot in slots]
        return np.array(found).reshape(-1, 2)

    def occupied(self) -> list[Name]:
        """Groups that have rows."""
        n = len(self.names)
        self.empty_table()
        rows = self.full.reshape(self.room, -1, 2)[:n, :, 0].sum(axis=1)
        rows += self.beyond.reshape(self.room, 6)[:n].sum(axis=1)
        return [name for name, some in zip(self.names, (rows > 0).tolist(), strict=True) if some]

    def add_to(self, cells: Cells, groups: Sequence[Name], first: int) -> None:
        """Add everything to exact cells of the same level."""
        self.drain_tiny()
        self.empty_table()
        _, unit, origin, base, _ = self.scales
        index = {name: i for i, name in enumerate(groups)}
        full = self.full.reshape(3 * self.room, self.bins, 2)
        ends, beyond = self.ends.reshape(-1, 2), self.beyond.reshape(-1, 2)
        numbers, squares = self._numbers(first), self._squares(first)
        away = (numbers != 0) & (numbers != -1)
        for slot, name in enumerate(self.names):
            for label in range(3):
                c, at = 3 * slot + label, (label, index.get(name, -1))
                if at[1] < 0:
                    continue  # a group this sketch inherited, without rows
                cells.counts[at] += self._in_window(full[c, :, 0], first)
                used = np.flatnonzero((full[c, :, 0] != 0) & away)
                k, (n, v) = numbers[used], full[c, used].T
                cells.squares[at] += squares[c] + self.rest.get(c, 0)
                start = k * origin + base
                if int(n.max(initial=0)) * int(np.abs(start).max(initial=0)) >= 2**61:
                    n, v, start = n.astype(object), v.astype(object), start.astype(object)
                cells.sums[at][k - first] += (v + n * start).astype(object) << (unit - SUM_UNIT)
                self._add_zero_bins(cells, at, c, first)
                cells.below[at] += beyond[c, 0]
                cells.above[at] += beyond[c, 1]
                cells.mins[at] = min(cells.mins[at], ends[c, 0])
                cells.maxs[at] = max(cells.maxs[at], ends[c, 1])

    def _add_zero_bins(self, cells: Cells, at: tuple[int, int], c: int, first: int) -> None:
        zeros = self.zeros.reshape(-1, 2, loops.EXPONENTS, 3)[c]
        for side, k in enumerate((-1, 0)):
            score, square = self.tiny_sums.get((c, k), (0, 0))
            for place in np.flatnonzero(zeros[side, :, 0]).tolist():
                more = self._zero_sum(c, side, place)
                score, square = score + more[0], square + more[1]
            if score or square:
                cells.sums[at][k - first] += score
                cells.squares[at] += square

    def _zero_sum(self, c: int, side: int, place: int) -> tuple[int, int]:
        """Scores and squares at one exponent of a bin that touches zero, as whole numbers."""
        mantissas, low, high = self.zeros.reshape(-1, 2, loops.EXPONENTS, 3)[c, side, place].tolist()
        exponent = self.scales.level - place - 23
        score = (mantissas if side else -mantissas) << (exponent - SUM_UNIT)
        return score, (low + (high << 32)) << (2 * exponent - SQUARE_UNIT)
