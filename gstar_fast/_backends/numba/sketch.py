"""The reference's sketch with a compiled counting loop in front of it.

Rows are counted into pending int64 sums, which are added to the reference's exact cells when those are read and before
anything could overflow. Weighted rows go the reference's way.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Self, TypeGuard

import numpy as np

from gstar_fast._backends.common.rows import LOCK, MOST_ROWS, read_one, read_rows
from gstar_fast._backends.interface import Watch
from gstar_fast._backends.numba import loops
from gstar_fast._backends.numba.pending import Pending
from gstar_fast._backends.numpy import sketch as reference
from gstar_fast._backends.numpy.cells import Cells, places_of
from gstar_fast._base.arrays import DType, Floats, Ints, Values
from gstar_fast._base.grid import LOWEST_LEVEL, Extent, Window, window_of
from gstar_fast._base.names import Name, canonical

BLOCK = 1024  # rows read at once from a large batch: the buffers stay in the first cache
SMALL = 16_384  # batches up to here are read as a whole, so that a refusal needs no undoing
MOST_PENDING = 2**31  # rows; sums of offsets stay below 2**61, and so do the parts of wide sums
PARALLEL = 65_536  # least rows for each thread


UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
NO_LABELS = np.empty(0, np.uint8)


class Buffers(threading.local):
    """The rows of a block, one set for each thread."""

    def __init__(self) -> None:
        self.x, self.cell = np.empty(SMALL), np.empty(SMALL, np.uint32)
        self.y, self.g = np.empty(SMALL, np.uint64), np.empty(SMALL, np.uint64)
        self.at = np.empty(SMALL, np.int64)
        self.special = np.empty(SMALL, np.uint32)
        self.views: dict[tuple[int, int], tuple[Values, ...]] = {}

    def typed(self, label_size: int, code_size: int) -> tuple[Values, ...]:
        """All buffers, those for labels and groups as wide as the caller's."""
        key = label_size, code_size
        if key not in self.views:
            y, g = self.y.view(UNSIGNED[label_size]), self.g.view(UNSIGNED[code_size])
            self.views[key] = self.x, self.x.view(np.int64), y, g, self.cell, self.at, self.special
        return self.views[key]


BUFFERS = Buffers()


class Source:
    """The caller's arrays as the compiled loop takes them: integers seen as unsigned, nothing writable."""

    def __init__(
        self,
        scores: Values,
        labels: Values | None,
        codes: Values,
        names: tuple[Name, ...] | None,
        skip_nan: bool,
        unlabelled_code: bool,
    ) -> None:
        self.label_dtype = None if labels is None else labels.dtype
        self.code_dtype = codes.dtype
        self.names, self.skip_nan, self.unlabelled_code = names, skip_nan, unlabelled_code
        self.scores = _read_only(scores, scores.dtype)
        self.labels = _read_only(NO_LABELS if labels is None else labels)
        self.codes = _read_only(codes)
        self.most_label = 2 if unlabelled_code or labels is None else 1

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def buffers(self) -> tuple[Values, ...]:
        """The buffers of the running thread, for such rows."""
        return BUFFERS.typed(self.labels.itemsize, self.codes.itemsize)


def _read_only(array: Values, dtype: DType | None = None) -> Values:
    view = array.view(UNSIGNED[array.itemsize] if dtype is None else dtype)
    view.flags.writeable = False
    return view


class Core(reference.Core):
    """One sketch; `_cells` holds the rows up to the last `_settle`, `_pending` those since."""

    _pending: Pending | None = None
    _cells_at: tuple[tuple[Name, ...], Window]  # groups and window of _cells
    _has_cells = False  # whether _cells holds any rows

    def __init__(
        self,
        bins: int,
        window: tuple[int, int] | None,
        groups: tuple[Name, ...] | None,
        memory_limit: int,
        watch: Watch | None = None,
    ) -> None:
        super().__init__(bins, window, groups, memory_limit, watch)
        self._cells_at = (self.groups, self.window)

    def try_update(self, scores: object, labels: object, codes: object, skip_nan: bool, threads: int, /) -> bool:
        """Count plain arrays of numbers; False, and nothing done, for all that needs a closer look."""
        if not (_is_plain(scores, "f") and scores.itemsize >= 4 and _is_plain(codes, "iu")):
            return False
        if labels is not None and not (_is_plain(labels, "biu") and len(labels) == len(scores)):
            return False
        if scores.itemsize > 8 or len(codes) != len(scores):
            return False
        self.update(scores, labels, codes, None, None, skip_nan, threads)
        return True

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
        plain = weights is None and repeats is None
        if plain and len(scores) <= SMALL:
            with LOCK:
                done = self._can_count(len(scores))
                if done:
                    self._consume(Source(scores, labels, codes, names, skip_nan, unlabelled_code), 0, len(scores))
        elif plain and self._can_count(len(scores)):
            twin = self._counted_apart(Source(scores, labels, codes, names, skip_nan, unlabelled_code), threads)
            with LOCK:
                self._take(twin)
            done = True
        elif plain and len(scores) > SMALL:  # weighted: count in a plain sketch, and merge
            window = (self.level, self.first) if self.fixed else None
            twin = type(self)(self.bins, window, self.groups if self.given else None, self.memory_limit)
            twin.update(scores, labels, codes, names, None, skip_nan, threads, unlabelled_code)
            with LOCK:
                twin._settle()
                self._settle()
                self._merge(twin)
            done = True
        else:
            done = False
        if done:
            self._tell()
        else:
            super().update(scores, labels, codes, names, weights, skip_nan, threads, unlabelled_code, repeats)

    def update_one(self, score: float, label: int | None, group: Name, *, weight: float = 1, repeats: int = 1) -> None:
        """Count one row."""
        plain = type(weight) in (int, float) and type(repeats) is int and weight == repeats == 1
        with LOCK:
            if not (plain and self._count_quickly(score, label, group)):
                given = self.groups if self.given else None
                rows = read_one(score, label, group, given, self.weighted, weight, repeats)
                if plain and self._can_count(1):
                    self._consume(Source(rows.scores, rows.labels, rows.codes, rows.names, False, True), 0, 1)
                else:
                    self._count(rows)
        self._tell()

    def _count_quickly(self, score: object, label: object, group: object) -> bool:
        """Count one row like others before it: plain values, a group we know, a score within its cell's extremes."""
        pending = self._pending
        if pending is None or type(score) is not float or not (label is None or type(label) is int):
            return False
        if type(group) is int:
            slot = pending.slots.get((1, group), -1)
        else:
            slot = pending.slots.get((2, group), -1) if type(group) is str else -1
        if slot < 0 or label not in (0, 1, None) or pending.rows >= MOST_PENDING or not self._can_count(1):
            return False
        cell = 3 * slot + (2 if label is None else label)
        buffers = BUFFERS.typed(1, 8)
        place = pending.numbers, self.fixed, pending.span, self.bins, pending.extent, pending.sums
        if not loops.count_one(score, cell, buffers, *place):
            return False
        self._note(pending, 1)
        return True

    def _can_count(self, n: int) -> bool:
        return not self.weighted and max(self.total, self.skipped) + n <= MOST_ROWS

    def _counted_apart(self, source: Source, threads: int) -> Self:
        """A large batch counted without the lock, so that a refusal needs no undoing."""
        n = len(source)
        parts = max(1, min(threads, n // PARALLEL))
        cuts = [n * i // parts for i in range(parts + 1)]
        with LOCK:
            twins = [self._twin() for _ in range(parts)]
        if parts == 1:
            twins[0]._consume(source, 0, n)
            return twins[0]
        with ThreadPoolExecutor(parts) as pool:
            jobs = [pool.submit(twin._consume, source, a, b) for twin, a, b in zip(twins, cuts, cuts[1:], strict=False)]
        for job in jobs:
            job.result()  # in the order of rows, so that the first bad row is the one named
        for twin in twins[1:]:
            twins[0]._take(twin)
        return twins[0]

    def _twin(self) -> Self:
        """An empty sketch of our kind in our window, with our slots and extremes: it is made to be added to us."""
        self._find_window()
        twin = type(self)(self.bins, None, None, self.memory_limit)
        twin.groups, twin.given = self.groups if self.given else (), self.given
        twin.fixed, twin.extent, twin.window = self.fixed, self.extent, self.window
        twin._cells_at = ((), self.window)
        twin._pending = self._pend().successor(self.extent, self.window)
        return twin

    # ------------------------------------------------------------------------------------------------------- counting

    def _consume(self, source: Source, start: int, end: int) -> None:
        """Count rows start..end. Where they fit into one block, nothing changes before all have been checked."""
        at, held, n_special, counted = start, 0, 0, 0
        small = end - start <= SMALL
        while at < end:
            pending = self._pend()
            if pending.rows >= MOST_PENDING // 2 and not held:
                self._settle()
                pending = self._pend()
            lookup = pending.lookup_for(source.names, source.code_dtype)
            before = at
            at, held, n_special, event = loops.consume(
                source.scores,
                source.labels,
                source.codes,
                at,
                min(end, at + MOST_PENDING // 2),
                end - start if small else BLOCK,
                held,
                n_special,
                source.most_label,
                lookup.arrays,
                len(pending.names),
                source.buffers,
                pending.numbers,
                self.fixed,
                pending.span,
                source.skip_nan,
                self.bins,
                pending.extent,
                pending.sums,
            )
            ahead = held - n_special if event == loops.GROW else 0  # rows of the block held that are counted already
            self._note(pending, at + ahead - before - counted)
            counted = ahead
            if event == loops.REFUSED:
                self._learn(source, at, held)
            elif event == loops.GROW:
                self._widen(pending.seen | pending.asked)

    def _note(self, pending: Pending, rows: int) -> None:
        skipped = int(pending.state[loops.SKIPPED])
        if skipped:
            pending.state[loops.SKIPPED] = 0
            self.skipped += skipped
        pending.rows += rows
        self.total += rows - skipped

    def _learn(self, source: Source, start: int, m: int) -> None:
        """Refuse the rows in the buffers, or learn their groups."""
        x, y, g = source.buffers[0], source.buffers[2], source.buffers[3]
        labels = None if source.label_dtype is None else np.array(y[:m]).view(source.label_dtype)
        codes = np.array(g[:m]).view(source.code_dtype)
        given = self.groups if self.given else None
        how = source.names, None, None, source.skip_nan, source.unlabelled_code, given, False, start
        rows = read_rows(x[:m], labels, codes, *how)
        self.groups = self._union(rows.names, self.weighted)
        for name in rows.names:
            self._pend().slot_of(name)

    def _pend(self) -> Pending:
        if self._pending is None:
            pending = Pending(self.groups, self.extent, self.window, self.fixed)
            if self._has_cells:
                cells = self._cells
                pending.know(np.stack([cells.mins, cells.maxs], axis=2).swapaxes(0, 1), self._cells_at[0])
            self._pending = pending
        return self._pending

    def _window_for(self, extent: Extent) -> Window:
        """The window of rows of this extent, which has ours in it."""
        if self.fixed or extent == self.extent:
            return self.window
        return window_of(extent, self.bins, LOWEST_LEVEL if self.extent.empty else self.level)

    def _widen(self, extent: Extent) -> None:
        """Make room for rows of this extent; sums stay pending if they can."""
        if not self._moved_to(extent):
            pending = self._pend()
            window = self._window_for(extent)
            self._settle()
            self.extent, self.window = extent, window
            self._pending = pending.successor(extent, window)

    def _moved_to(self, extent: Extent) -> bool:
        """Move pending sums to the window of more rows, if they can be."""
        window = self._window_for(extent)
        done = self._pend().move_to(extent, window)
        if done:
            self.extent, self.window = extent, window
        return done

    def _find_window(self) -> None:
        """Bring `window` up to date: while rows are counted it is known to be of the same grid."""
        if self._pending is not None and not self.fixed:
            extent = self._pending.seen
            self.extent, self.window = extent, self._window_for(extent)

    # -------------------------------------------------------------------------------------------------------- merging

    def _take(self, twin: Self) -> None:
        """Add a twin's rows, quickly where its sums are kept as ours are."""
        alike = (self.bins, self.fixed, self.given) == (twin.bins, twin.fixed, twin.given)
        if alike and not self.total and not self.skipped and self._can_count(twin.total):
            self._become_twin(twin)
            return
        pending, other = self._pend(), twin._pend()
        extent = pending.seen | other.seen
        quick = not twin._has_cells and self._can_count(twin.total) and pending.rows + other.rows < MOST_PENDING
        groups = self._union(twin.groups, self.weighted) if quick else ()
        if quick and other.goes_to(self._window_for(extent)) and self._moved_to(extent):
            self.groups = groups
            pending.absorb(other)
            self.total += twin.total
            self.skipped += twin.skipped
        else:
            twin._settle()
            self._settle()
            self._merge(twin)

    def _become_twin(self, twin: Self) -> None:
        """Take over the state of a twin that was made when we were as empty as now."""
        self.groups, self.extent, self.window = twin.groups, twin.extent, twin.window
        self.total, self.skipped = twin.total, twin.skipped
        self._cells, self._cells_at, self._pending = twin._cells, twin._cells_at, twin._pending
        self._has_cells = twin._has_cells

    def copy(self) -> Self:
        """An independent copy; what is pending stays so."""
        with LOCK:
            self._find_window()
            twin = type(self)(self.bins, None, None, self.memory_limit)
            twin._become(self)
            twin._cells, twin._cells_at, twin._has_cells = self._cells.copy(), self._cells_at, self._has_cells
            twin._pending = None if self._pending is None else self._pending.copy()
            return twin

    def counts(self, label: int) -> Ints:
        """Rows of each group and bin, without settling all sums first."""
        with LOCK:
            self._find_window()
            if self._has_cells:
                self._move_cells()
                counts: Ints = self._cells.counts[label].copy()
            else:
                counts = np.zeros((len(self.groups), self.bins), np.int64)
            if self._pending is not None:
                self._pending.add_counts_to(counts, label, self.groups, self.window)
            return counts

    def below(self) -> Ints:
        """Rows under the first edge, of each label and group, without settling all sums first."""
        return self._beyond(0)

    def above(self) -> Ints:
        """Rows at or over the last edge, of each label and group, without settling all sums first."""
        return self._beyond(1)

    def _beyond(self, side: int) -> Ints:
        with LOCK:
            self._find_window()
            self._move_cells()
            rows: Ints = (self._cells.below, self._cells.above)[side].copy()
            if self._pending is not None:
                self._pending.add_beyond_to(rows, side, self.groups)
            return rows

    def _pooled_rows(self) -> Ints:
        self._find_window()
        self._move_cells()
        rows = super()._pooled_rows()
        if self._pending is not None:
            self._pending.add_pooled_to(rows, self.window)
        return rows

    def fullest(self, least: int = 1) -> tuple[float, int, int, int]:
        """The bin of several values that has the largest share of its cell, without settling sums for it."""
        with LOCK:
            if self._pending is not None and not self._has_cells:
                self._find_window()
                return self._pending.fullest(least, self.groups, self.window)
        return super().fullest(least)

    @property
    def edges(self) -> Floats:
        """All edges of the bins, ascending, without settling all sums first."""
        with LOCK:
            self._find_window()
            return self.window.edges

    def _ends(self) -> list[float]:
        return super()._ends() if self._pending is None else self._pending.span_of_rows()

    def extremes(self, label: int) -> tuple[Floats, Floats]:
        """Smallest and largest score of each group, NaN where there is none, without settling all sums first."""
        with LOCK:
            ends = self._pend().ends_of(label, self.groups)
            return ends[:, 0], ends[:, 1]

    def _settle(self) -> None:
        self._find_window()
        pending, self._pending = self._pending, None
        if pending is not None and not self.given:  # a twin's inherited slots may have no rows
            self.groups = tuple(canonical({*self.groups, *pending.occupied()}))
        self._move_cells()
        if pending is not None and pending.rows:
            pending.add_to(self._cells, self.groups, self.window)
            self._has_cells = True

    def _move_cells(self) -> None:
        """Bring the exact cells to our groups and window."""
        groups, window = self._cells_at
        if self._cells_at != (self.groups, self.window):
            self._cells = self._cells.moved(places_of(groups, self.groups), len(self.groups), window, self.window)
            self._cells_at = (self.groups, self.window)

    def _commit(self, cells: Cells, names: tuple[Name, ...], total: int, skipped: int) -> None:
        super()._commit(cells, names, total, skipped)
        self._cells_at = (self.groups, self.window)
        self._pending = None
        self._has_cells = True


def _is_plain(data: object, kinds: str) -> TypeGuard[Values]:
    if type(data) is not np.ndarray or data.ndim != 1 or data.dtype.kind not in kinds:
        return False
    return data.dtype.isnative and data.flags.aligned
