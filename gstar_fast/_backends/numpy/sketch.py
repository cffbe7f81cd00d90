"""The sketch as `docs/sketch_format.md` states it: groups, window and counts, and how they change."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Self, TypeAlias

import numpy as np

from gstar_fast._backends.common.lock import LOCK
from gstar_fast._backends.common.rows import MOST_ROWS, Rows, check_size, read_one, read_rows, unknown_group
from gstar_fast._backends.interface import SketchCore, Watch
from gstar_fast._backends.numpy.cells import CellCopy, Cells, places_of
from gstar_fast._base import sketch_format as io
from gstar_fast._base.arrays import Floats, Ints, Objects, Values
from gstar_fast._base.grid import Extent, Grid, Window, linear_window, to_float, window_of
from gstar_fast._base.names import Name, canonical, check_distinct, listed
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.sections import OF_ROWS, Section, check_sections, merged_sections
from gstar_fast._base.sketch_format import Cell, Content, Weights
from gstar_fast._words import WEIGHT_UNIT

DEFAULT_BINS = 4096

Batch: TypeAlias = "tuple[Values, Values | None, Values, tuple[Name, ...] | None, bool, bool]"  # of `update`


class Core:
    """One sketch: counts of each label (0, 1, and 2 for unlabelled), group and bin.

    Its public methods are those of the sketches of every backend. Here each of them takes the lock, and those that
    start with an underscore expect it to be held.
    """

    def __init__(
        self,
        bins: int,
        window: tuple[int, int] | None,
        groups: tuple[Name, ...] | None,
        memory_limit: int,
        watch: Watch | None = None,
    ) -> None:
        names = () if groups is None else tuple(groups)
        check_size(len(names), bins, False, memory_limit)
        self.bins = bins
        self.fixed = window is not None  # whether the window was given
        self.extent = Extent()  # of the rows; not kept with a range
        self.window = window_of(self.extent, bins) if window is None else linear_window(*window, bins)
        self.given = groups is not None  # whether groups were named
        self.groups: tuple[Name, ...] = names
        self.memory_limit = memory_limit
        self.weighted = False
        self.total = 0  # of all counts: rows, or weights in units of 2**-20
        self.skipped = 0
        self.sections: tuple[Section, ...] = ()  # ascending by type
        self._cells = Cells(len(names), bins, weighted=False)
        self._watch = watch
        self._told: tuple[Grid | None, int] = (None, 0)

    @property
    def level(self) -> int:
        """The widest bins are 2**level wide."""
        return self.window.grid.level

    @property
    def first(self) -> int:
        """Number of the first bin if all are of one width, else 0."""
        return self.window.runs[0][0] if self.fixed else 0

    # ------------------------------------------------------------------------------------------------------- counting

    def try_update(self, scores: object, labels: object, codes: object, skip_nan: bool, threads: int, /) -> bool:  # noqa: ARG002
        """Count plain arrays of numbers; False, and nothing done, for all that needs a closer look: here always."""
        return False

    def update(
        self,
        scores: Values,
        labels: Values | None,
        codes: Values,
        names: tuple[Name, ...] | None,
        weights: Values | None,
        skip_nan: bool,
        threads: int,
        unlabelled_code: bool = False,
        repeats: Values | None = None,
    ) -> None:
        """Count a batch, all or nothing."""
        batch = scores, labels, codes, names, skip_nan, unlabelled_code
        if weights is not None or repeats is not None or not self._count_plain(batch, threads):
            with LOCK:
                how = skip_nan, unlabelled_code, self.groups if self.given else None, self.weighted
                self._count(read_rows(scores, labels, codes, names, weights, repeats, *how))
        self._tell()

    def _count_plain(self, batch: Batch, threads: int) -> bool:  # noqa: ARG002
        """Count rows without weights in another way, all or nothing; False, and nothing done, where there is none."""
        return False

    def update_one(self, score: float, label: int | None, group: Name, *, weight: float = 1, repeats: int = 1) -> None:
        """Count one row."""
        with LOCK:
            given = self.groups if self.given else None
            self._count(read_one(score, label, group, given, self.weighted, weight, repeats))
        self._tell()

    def _count(self, rows: Rows) -> None:
        """Commit checked rows: first all that may be refused, then new cells, then the exchange."""
        self._settle()
        weighted = self.weighted or rows.weighted
        total = self._total_in(weighted) + rows.total
        if max(total, self.skipped + rows.skipped) > MOST_ROWS:
            raise refusal("too_many_rows")
        names = self._union(rows.names, weighted)
        extent = self._extent_with(Extent.of(rows.scores[np.isfinite(rows.scores)]))
        window = self._window_of(extent)
        cells = self._cells_in(weighted, names, window)
        cells.count(rows, places_of(rows.names, names), window)
        self.extent, self.window = extent, window
        self._commit(cells, names, total, self.skipped + rows.skipped)

    def _total_in(self, weighted: bool) -> int:
        return self.total * WEIGHT_UNIT if weighted and not self.weighted else self.total

    def _union(self, new: Sequence[Name], weighted: bool) -> tuple[Name, ...]:
        """Our groups with some more, in public order; given groups already hold them."""
        check_distinct((*self.groups, *new))
        known = set(new) <= set(self.groups)
        names = self.groups if known else tuple(canonical({*self.groups, *new}))
        if not known or weighted != self.weighted:
            check_size(len(names), self.bins, weighted, self.memory_limit)
        return names

    def _extent_with(self, extent: Extent) -> Extent:
        return self.extent if self.fixed else self.extent | extent

    def _window_of(self, extent: Extent) -> Window:
        """The window of rows of this extent."""
        return self.window if self.fixed else window_of(extent, self.bins)

    def _cells_in(self, weighted: bool, names: tuple[Name, ...], window: Window) -> Cells:
        """A copy of our cells with other groups, in another window, in other units."""
        cells = self._cells.moved(places_of(self.groups, names), len(names), self.window, window)
        if weighted and not self.weighted:
            cells.become_weighted()
        return cells

    def _commit(self, cells: Cells, names: tuple[Name, ...], total: int, skipped: int) -> None:
        self._cells, self.groups, self.total, self.skipped = cells, names, total, skipped
        self.weighted = cells.weighted

    def _tell(self) -> None:
        """Call `watch` when the grid changed or the rows doubled."""
        grid, total = self._told
        if self._watch is not None and self.total and (self.window.grid != grid or self.total >= 2 * total):
            self._told = (self.window.grid, self.total)
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
            sections = merged_sections(self.sections, twin.sections, self.total > 0, twin.total > 0)
            if self._is_neutral() or self._is_blank_of(twin):
                check_size(len(twin.groups), twin.bins, twin.weighted, self.memory_limit)
                self._become(twin)
            elif not twin._is_neutral():
                self._merge(twin)
            self.sections = sections
        self._tell()

    def merge_bytes(self, data: bytes) -> tuple[Section, ...]:
        """Add the rows of a sketch that was written, and return its sections."""
        twin = type(self).from_bytes(data, self.memory_limit)
        self.merge(twin)
        return twin.sections

    def _is_neutral(self) -> bool:
        """Whether this is an empty sketch without options, which merges with any other."""
        used = self.total or self.skipped or self.weighted or self.fixed or self.given
        return not used and self.bins == DEFAULT_BINS

    def _is_blank_of(self, other: Self) -> bool:
        """Whether this is an empty sketch with the options of another, whose cells it may take as they are."""
        ours, theirs = ((one.bins, one._range(), one.given and one.groups) for one in (self, other))
        return not (self.total or self.skipped or self.weighted) and ours == theirs

    def _become(self, other: Self) -> None:
        self.bins, self.fixed, self.given = other.bins, other.fixed, other.given
        self.extent, self.window, self.sections = other.extent, other.window, other.sections
        self._commit(other._cells, other.groups, other.total, other.skipped)

    def _merge(self, other: Self) -> None:
        if self.bins != other.bins:
            raise refusal("different_bins", "bins", value=other.bins, limit=self.bins)
        if self._range() != other._range():
            raise refusal("different_range", "range", value=other._range(), limit=self._range())
        weighted = self.weighted or other.weighted
        names = self._merged_groups(other, weighted)
        total = self._total_in(weighted) + other._total_in(weighted)
        if max(total, self.skipped + other.skipped) > MOST_ROWS:
            raise refusal("too_many_rows")
        extent = self._extent_with(other.extent)
        window = self._window_of(extent)
        cells = self._cells_in(weighted, names, window)
        cells.add(other._cells_in(weighted, names, window))
        self.given = self.given or other.given
        self.extent, self.window = extent, window
        self._commit(cells, names, total, self.skipped + other.skipped)

    def _range(self) -> tuple[float, float] | None:
        lo, hi = self.window.edges[[0, -1]].tolist()
        return (lo, hi) if self.fixed else None

    def _merged_groups(self, other: Self, weighted: bool) -> tuple[Name, ...]:
        check_distinct((*self.groups, *other.groups))
        if self.given and other.given:
            if set(self.groups) != set(other.groups):
                raise refusal("different_groups", "groups", value=listed(other.groups), limit=listed(self.groups))
            check_size(len(self.groups), self.bins, weighted, self.memory_limit)
            return self.groups if self.groups == other.groups else tuple(canonical(self.groups))
        if self.given or other.given:
            given, learned = (self.groups, other.groups) if self.given else (other.groups, self.groups)
            known = set(given)
            for name in learned:
                if name not in known:
                    raise unknown_group(name, given)
            check_size(len(given), self.bins, weighted, self.memory_limit)
            return given
        return self._union(other.groups, weighted)

    def copy(self) -> Self:
        """An independent copy, which nobody watches."""
        with self._settled() as cells:
            return self._twin_with(cells.copy(), self.groups)

    def relabelled(self, names: tuple[Name, ...]) -> Self:
        """The same rows with our group i under `names[i]`: groups that get one name become one group."""
        with self._settled() as cells:
            check_distinct(names)
            kept = tuple(dict.fromkeys(names))
            kept = kept if self.given else tuple(canonical(kept))
            check_size(len(kept), self.bins, self.weighted, self.memory_limit)
            return self._twin_with(cells.gathered(places_of(names, kept), len(kept)), kept)

    def _twin_with(self, cells: Cells, groups: tuple[Name, ...]) -> Self:
        """A sketch like this one with other cells."""
        twin = type(self)(self.bins, None, None, self.memory_limit)
        twin._become(self)
        twin._commit(cells, groups, self.total, self.skipped)
        return twin

    def _settle(self) -> None:
        """Bring the cells up to date; a backend that collects rows elsewhere first does it here."""

    @contextmanager
    def _settled(self) -> Iterator[Cells]:
        """The cells, up to date and under the lock."""
        with LOCK:
            self._settle()
            yield self._cells

    # ---------------------------------------------------------------------------------------------------------- bytes

    def set_sections(self, sections: tuple[Section, ...]) -> None:
        """Replace the sections; ValueError for a wrong form."""
        check_sections(sections)
        with LOCK:
            self.sections = tuple(sections)

    def to_bytes(self) -> bytes:
        """The canonical bytes."""
        return io.write(self._content())

    def row_bytes(self) -> bytes:
        """The same with no sections but those that speak of the rows."""
        content = self._content()
        return io.write(content._replace(sections=tuple(s for s in content.sections if s[0] in OF_ROWS)))

    def _content(self) -> Content:
        with self._settled():
            cells = [self._cell(label, group) for group in range(len(self.groups)) for label in range(3)]
            kind = self.weighted, self.fixed, self.given
            return Content(self.window, self.extent, *kind, self.skipped, self.groups, cells, self.sections)

    def _cell(self, label: int, group: int) -> Cell:
        c, at = self._cells, (label, group)
        used = np.flatnonzero(c.counts[at])
        bins = list(zip(used.tolist(), c.counts[at][used].tolist(), c.sums[at][used].tolist(), strict=True))
        weights = None
        if c.weighted:
            squares = c.squares[at].tolist()
            weights = Weights(int(c.number[at]), squares[0], squares[-1], [squares[i + 1] for i in used.tolist()])
        return Cell(int(c.below[at]), int(c.above[at]), c.mins[at], c.maxs[at], bins, weights)

    @classmethod
    def from_bytes(cls, data: bytes, memory_limit: int, watch: Watch | None = None) -> Self:
        """The sketch these bytes describe; ValueError if there is none."""
        content = io.read(data, partial(_check_claim, memory_limit))
        bins = content.window.bins
        core = cls(bins, None, content.names if content.given else None, memory_limit, watch)
        core.fixed = content.fixed
        core.window, core.extent, core.sections = content.window, content.extent, content.sections
        cells = Cells(len(content.names), bins, content.weighted)
        for i, cell in enumerate(content.cells):
            at = i % 3, i // 3
            cells.below[at], cells.above[at], cells.mins[at], cells.maxs[at] = cell[:4]
            for index, count, total in cell.bins:
                cells.counts[at][index] = count
                cells.sums[at][index] = total
            if cell.weights is not None:
                cells.number[at] = cell.weights.rows
                cells.squares[at][[0, -1]] = cell.weights.below, cell.weights.above
                cells.squares[at][[index + 1 for index, _, _ in cell.bins]] = cell.weights.bins
        core._commit(cells, content.names, int(cells.totals.sum()), content.skipped)
        return core

    # -------------------------------------------------------------------------------------------------------- reading

    @property
    def edges(self) -> Floats:
        """All edges of the bins, ascending."""
        with LOCK:
            return self.window.edges

    def pooled(self) -> tuple[Ints, float, float, int, int]:
        """Rows by bin, of all cells; smallest and largest score, and the bins these are in (0 without rows)."""
        with LOCK:
            rows, lo, hi = self._summary()
            if lo > hi:
                return rows, math.inf, -math.inf, 0, 0
            first, last = (self.window.index(self.window.grid.number(x)) for x in (lo, hi))
            return rows, lo, hi, first, last

    def _summary(self) -> tuple[Ints, float, float]:
        """Rows by bin, of all cells; smallest and largest score inside the window."""
        c = self._cells
        return c.counts.sum(axis=(0, 1)), float(c.mins.min(initial=math.inf)), float(c.maxs.max(initial=-math.inf))

    def fullest(self, least: int = 1) -> tuple[float, int, int, int]:
        """The bin of several values that has the largest share of its cell: share, label, group's position, bin.

        Bins that count less than `least` are passed over.
        """
        best = (0.0, 0, 0, 0)
        for label in range(3):
            for group, cell in enumerate(self._cell_copies(label)):
                at = cell.fullest(least)
                if at is not None:
                    share = float(cell.counts[at]) / float(int(cell.counts.sum()) + cell.below + cell.above)
                    best = (share, label, group, at) if share > best[0] else best
        return best

    def rows(self) -> Ints:
        """Number of rows of each label and group."""
        with self._settled() as c:
            return c.rows

    def squared_weights(self) -> Floats:
        """Sum of the squared weights of each label's and group's rows."""
        with self._settled() as c:
            return _in_squares(c.squares.sum(axis=2)) if self.weighted else c.totals.astype(np.float64)

    def squares(self, label: int) -> Floats:
        """Sum of the squared weights of each group's rows: below, every bin, above."""
        with self._settled() as c:
            return _in_squares(c.squares[label]) if self.weighted else c.places[label].astype(np.float64)

    def counts(self, label: int) -> Ints:
        """Rows of each group and bin, or weights in units of 2**-20; so are all counts."""
        with self._settled() as c:
            counts: Ints = c.counts[label].copy()
            return counts

    def below(self) -> Ints:
        """Rows under the first edge, of each label and group."""
        with self._settled() as c:
            return c.below.copy()

    def above(self) -> Ints:
        """Rows at or over the last edge, of each label and group."""
        with self._settled() as c:
            return c.above.copy()

    def extremes(self, label: int) -> tuple[Floats, Floats]:
        """Smallest and largest score of each group, NaN where there is none."""
        with self._settled() as c:
            mins, maxs = c.mins[label], c.maxs[label]
            return np.where(mins <= maxs, mins, np.nan), np.where(mins <= maxs, maxs, np.nan)

    def cell(self, label: int, group: Name) -> CellCopy:
        """A copy of one cell."""
        with self._settled() as c:
            at = label, self.groups.index(group)
            counts, sums, squares = c.counts[at].copy(), c.sums[at].copy(), c.squares[at][1:-1].copy()
            lo, hi = (float(c.mins[at]), float(c.maxs[at])) if c.mins[at] <= c.maxs[at] else (math.nan, math.nan)
            beyond = int(c.below[at]), int(c.above[at])
            return CellCopy(self.window, self.weighted, counts, squares, sums, *beyond, lo, hi)

    def _cell_copies(self, label: int) -> list[CellCopy]:
        return [self.cell(label, group) for group in self.groups]

    def means(self, label: int) -> Floats:
        """Mean score of each group and bin, NaN where there are no rows."""
        return np.array([cell.means for cell in self._cell_copies(label)]).reshape(-1, self.bins)


def _check_claim(memory_limit: int, n_groups: int, bins: int, weighted: bool) -> None:
    check_size(n_groups, bins, weighted, memory_limit, "bytes_need_too_much_memory")


def _in_squares(sums: Objects) -> Floats:
    """Sums of squared weights in units of 2**-40 as floats."""
    return np.array([to_float(v, -40) for v in sums.ravel().tolist()], np.float64).reshape(sums.shape)
