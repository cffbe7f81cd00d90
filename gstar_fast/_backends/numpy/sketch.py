"""The sketch as `docs/sketch_format.md` states it: groups, window and counts, and how they change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

import numpy as np

from gstar_fast._backends.common.rows import (
    LOCK,
    MOST_ROWS,
    Rows,
    check_size,
    read_one,
    read_rows,
    unknown_group,
)
from gstar_fast._backends.interface import SketchCore, Watch
from gstar_fast._backends.numpy.cells import CellCopy, Cells, places_of
from gstar_fast._base import sketch_format as io
from gstar_fast._base.arrays import Floats, Ints, Values
from gstar_fast._base.grid import (
    edges,
    floor_bin,
    window_of_scores,
)
from gstar_fast._base.names import Name, canonical, check_distinct, listed
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._words import WEIGHT_UNIT

DEFAULT_BINS = 4096


class Core:
    """One sketch. Every public method takes the lock; what starts with an underscore expects it to be held."""

    def __init__(
        self,
        bins: int,
        window: tuple[int, int] | None,
        groups: tuple[Name, ...] | None,
        memory_limit: int,
        watch: Watch | None = None,
    ) -> None:
        names = () if groups is None else tuple(groups)
        check_size(len(names), bins, memory_limit)
        self.bins = bins
        self.level, self.first = (0, 0) if window is None else window
        self.fixed = window is not None
        self.given = groups is not None
        self.groups: tuple[Name, ...] = names
        self.memory_limit = memory_limit
        self.weighted = False
        self.total = 0
        self.skipped = 0
        self._cells = Cells(len(names), bins)
        self._watch = watch
        self._told: tuple[int | None, int] = (None, 0)

    # ------------------------------------------------------------------------------------------------------- counting

    def try_update(self, scores: object, labels: object, codes: object, skip_nan: bool, threads: int, /) -> bool:  # noqa: ARG002
        """No fast door here: always the long way."""
        return False

    def update(
        self,
        scores: Values,
        labels: Values | None,
        codes: Values,
        names: tuple[Name, ...] | None,
        weights: Values | None,
        skip_nan: bool,
        threads: int,  # noqa: ARG002
        unlabelled_code: bool = False,
    ) -> None:
        """Count a batch, all or nothing."""
        with LOCK:
            given = self.groups if self.given else None
            self._count(
                read_rows(scores, labels, codes, names, weights, skip_nan, unlabelled_code, given, self.weighted)
            )
        self._tell()

    def update_one(self, score: float, label: int | None, group: Name) -> None:
        """Count one row."""
        with LOCK:
            self._count(read_one(score, label, group, self.groups if self.given else None, self.weighted))
        self._tell()

    def _count(self, rows: Rows) -> None:
        """Commit checked rows: first all that may be refused, then new cells, then the exchange."""
        self._settle()
        total = self._total_in(rows.weighted)
        total += len(rows.scores) if rows.weights is None else sum(rows.weights.tolist())
        if max(total, self.skipped + rows.skipped) > MOST_ROWS:
            raise refusal("too_many_rows")
        names = self._union(rows.names)
        finite = rows.scores[np.isfinite(rows.scores)]
        level, first = self._window_with(float(finite.min(initial=math.inf)), float(finite.max(initial=-math.inf)))
        cells = self._cells_in(rows.weighted, names, level, first)
        cells.count(rows, places_of(rows.names, names), level, first)
        self._commit(cells, names, level, first, rows.weighted, total, self.skipped + rows.skipped)

    def _total_in(self, weighted: bool) -> int:
        return self.total * WEIGHT_UNIT if weighted and not self.weighted else self.total

    def _union(self, new: Sequence[Name]) -> tuple[Name, ...]:
        """Our groups with some more, in public order; given groups already hold them."""
        check_distinct((*self.groups, *new))
        if set(new) <= set(self.groups):
            return self.groups
        names = tuple(canonical({*self.groups, *new}))
        check_size(len(names), self.bins, self.memory_limit)
        return names

    def _extent(self) -> tuple[float, float]:
        """Smallest and largest score inside the window; inf and -inf where there is none."""
        return float(self._cells.mins.min(initial=math.inf)), float(self._cells.maxs.max(initial=-math.inf))

    def _window_with(self, smallest: float, largest: float) -> tuple[int, int]:
        """The window when scores in this range (inf, -inf: none) join ours."""
        lo, hi = self._extent()
        lo, hi = min(lo, smallest), max(hi, largest)
        return (self.level, self.first) if self.fixed or lo > hi else window_of_scores(lo, hi, self.bins)

    def _cells_in(self, weighted: bool, names: tuple[Name, ...], level: int, first: int) -> Cells:
        """A copy of our cells with other groups, in another window, in other units."""
        shift = max(level - self.level, 0)
        cells = self._cells.moved(places_of(self.groups, names), len(names), shift, self.first, first)
        if weighted and not self.weighted:
            cells.scale(WEIGHT_UNIT)
        return cells

    def _commit(
        self, cells: Cells, names: tuple[Name, ...], level: int, first: int, weighted: bool, total: int, skipped: int
    ) -> None:
        self._cells, self.groups, self.level, self.first = cells, names, level, first
        self.weighted, self.total, self.skipped = weighted, total, skipped

    def _tell(self) -> None:
        """Call `watch` when the level changed or the rows doubled."""
        level, total = self._told
        if self._watch is not None and self.total and (self.level != level or self.total >= 2 * total):
            self._told = (self.level, self.total)
            self._watch()

    # -------------------------------------------------------------------------------------------------------- merging

    def merge(self, other: SketchCore, /) -> None:
        """Add the rows of another sketch, of any backend."""
        if isinstance(other, type(self)) and type(other) is type(self):
            twin = other.copy()
        else:
            twin = type(self).from_bytes(other.to_bytes(), max(other.memory_limit, self.memory_limit))
        with LOCK:
            self._settle()
            twin._settle()
            if twin._is_neutral():
                return
            if self._is_neutral():
                check_size(len(twin.groups), twin.bins, self.memory_limit)
                self._become(twin)
            else:
                self._merge(twin)
        self._tell()

    def _is_neutral(self) -> bool:
        """Whether this is an empty sketch without options, which merges with any other."""
        used = self.total or self.skipped or self.weighted or self.fixed or self.given
        return not used and self.bins == DEFAULT_BINS

    def _become(self, other: Self) -> None:
        self.bins, self.fixed, self.given = other.bins, other.fixed, other.given
        self._commit(other._cells, other.groups, other.level, other.first, other.weighted, other.total, other.skipped)

    def _merge(self, other: Self) -> None:
        if self.bins != other.bins:
            raise refusal("different_bins", "bins", value=other.bins, limit=self.bins)
        if self._range() != other._range():
            raise refusal("different_range", "range", value=other._range(), limit=self._range())
        names = self._merged_groups(other)
        weighted = self.weighted or other.weighted
        total = self._total_in(weighted) + other._total_in(weighted)
        if max(total, self.skipped + other.skipped) > MOST_ROWS:
            raise refusal("too_many_rows")
        level, first = self._window_with(*other._extent())
        cells = self._cells_in(weighted, names, level, first)
        cells.add(other._cells_in(weighted, names, level, first))
        self.given = self.given or other.given
        self._commit(cells, names, level, first, weighted, total, self.skipped + other.skipped)

    def _range(self) -> tuple[float, float] | None:
        lo, hi = edges(self.level, self.first, self.bins)[[0, -1]].tolist()
        return (lo, hi) if self.fixed else None

    def _merged_groups(self, other: Self) -> tuple[Name, ...]:
        check_distinct((*self.groups, *other.groups))
        if self.given and other.given:
            if self.groups == other.groups:
                return self.groups
            if set(self.groups) != set(other.groups):
                raise refusal("different_groups", "groups", value=listed(other.groups), limit=listed(self.groups))
            return tuple(canonical(self.groups))
        if self.given or other.given:
            given, learned = (self.groups, other.groups) if self.given else (other.groups, self.groups)
            known = set(given)
            for name in learned:
                if name not in known:
                    raise unknown_group(name, given)
            check_size(len(given), self.bins, self.memory_limit)
            return given
        return self._union(other.groups)

    def copy(self) -> Self:
        """An independent copy, which nobody watches."""
        with LOCK:
            self._settle()
            twin = type(self)(self.bins, None, None, self.memory_limit)
            twin._become(self)
            twin._cells = self._cells.copy()
            return twin

    def relabelled(self, names: tuple[Name, ...]) -> Self:
        """The same rows with our group i under `names[i]`: groups that get one name become one group."""
        with LOCK:
            self._settle()
            check_distinct(names)
            kept = tuple(dict.fromkeys(names))
            kept = kept if self.given else tuple(canonical(kept))
            check_size(len(kept), self.bins, self.memory_limit)
            cells = self._cells.gathered(places_of(names, kept), len(kept))
            twin = type(self)(self.bins, None, None, self.memory_limit)
            twin._become(self)
            twin._commit(cells, kept, self.level, self.first, self.weighted, self.total, self.skipped)
            return twin

    def _settle(self) -> None:
        """Bring the cells up to date; a backend that collects rows elsewhere first does it here."""

    # ---------------------------------------------------------------------------------------------------------- bytes

    def to_bytes(self) -> bytes:
        """The canonical bytes."""
        with LOCK:
            self._settle()
            cells = [self._cell(label, group) for group in range(len(self.groups)) for label in range(3)]
            content = io.Content(
                self.bins,
                self.level,
                self.first,
                self.weighted,
                self.fixed,
                self.given,
                self.skipped,
                self.groups,
                cells,
            )
        return io.write(content)

    def _cell(self, label: int, group: int) -> io.Cell:
        c, at = self._cells, (label, group)
        used = np.flatnonzero(c.counts[at])
        bins = list(zip(used.tolist(), c.counts[at][used].tolist(), c.sums[at][used].tolist(), strict=True))
        return io.Cell(int(c.below[at]), int(c.above[at]), c.mins[at], c.maxs[at], c.squares[at], bins)

    @classmethod
    def from_bytes(cls, data: bytes, memory_limit: int, watch: Watch | None = None) -> Self:
        """The sketch these bytes describe; ValueError if there is none."""
        content = io.read(
            data, lambda n_groups, bins: check_size(n_groups, bins, memory_limit, "bytes_need_too_much_memory")
        )
        window = (content.level, content.first) if content.fixed else None
        core = cls(content.bins, window, content.names if content.given else None, memory_limit, watch)
        cells = Cells(len(content.names), content.bins)
        for i, cell in enumerate(content.cells):
            at = i % 3, i // 3
            cells.below[at], cells.above[at], cells.mins[at], cells.maxs[at], cells.squares[at] = cell[:5]
            for index, count, total in cell.bins:
                cells.counts[at][index] = count
                cells.sums[at][index] = total
        total = int(cells.counts.sum() + cells.below.sum() + cells.above.sum())
        core._commit(cells, content.names, content.level, content.first, content.weighted, total, content.skipped)
        return core

    # -------------------------------------------------------------------------------------------------------- reading

    def pooled(self) -> tuple[Ints, float, float, int, int]:
        """Rows by bin, of all cells; smallest and largest score, and the bins these are in (0 without rows)."""
        with LOCK:
            self._settle()
            lo, hi = self._extent()
            ends = [floor_bin(x, self.level) - self.first if lo <= hi else 0 for x in (lo, hi)]
            return self._cells.counts.sum(axis=(0, 1)), lo, hi, ends[0], ends[1]

    def counts(self, label: int) -> Ints:
        """Rows of each group and bin."""
        with LOCK:
            self._settle()
            counts: Ints = self._cells.counts[label].copy()
            return counts

    def below(self) -> Ints:
        """Rows under the first edge, of each label and group."""
        with LOCK:
            self._settle()
            return self._cells.below.copy()

    def above(self) -> Ints:
        """Rows at or over the last edge, of each label and group."""
        with LOCK:
            self._settle()
            return self._cells.above.copy()

    def extremes(self, label: int) -> tuple[Floats, Floats]:
        """Smallest and largest score of each group, NaN where there is none."""
        with LOCK:
            self._settle()
            mins, maxs = self._cells.mins[label], self._cells.maxs[label]
            return np.where(mins <= maxs, mins, np.nan), np.where(mins <= maxs, maxs, np.nan)

    def cell(self, label: int, group: Name) -> CellCopy:
        """A copy of one cell."""
        with LOCK:
            self._settle()
            at = label, self.groups.index(group)
            c = self._cells
            counts, sums = c.counts[at].copy(), c.sums[at].copy()
            lo, hi = (float(c.mins[at]), float(c.maxs[at])) if c.mins[at] <= c.maxs[at] else (math.nan, math.nan)
            below, above = int(c.below[at]), int(c.above[at])
            return CellCopy(self.level, self.first, self.weighted, counts, sums, c.squares[at], below, above, lo, hi)

    def _cell_copies(self, label: int) -> list[CellCopy]:
        return [self.cell(label, group) for group in self.groups]

    def means(self, label: int) -> Floats:
        """Mean score of each group and bin, NaN where there are no rows."""
        return np.array([cell.means for cell in self._cell_copies(label)]).reshape(-1, self.bins)

    def within(self, label: int) -> Floats:
        """Sum over the rows of each group of (rounded score - mean of its bin) squared."""
        return np.array([cell.within for cell in self._cell_copies(label)], np.float64)
