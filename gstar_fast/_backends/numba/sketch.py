"""The reference's sketch with a compiled counting loop in front of it.

Rows are counted into pending int64 sums, which are added to the reference's exact cells when those are read, when the
level changes, and before anything could overflow. Weighted rows go the reference's way.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Self, TypeGuard

import numpy as np

from gstar_fast._backends.common.rows import LOCK, MOST_ROWS, read_one, read_rows
from gstar_fast._backends.interface import Watch
from gstar_fast._backends.numba import loops
from gstar_fast._backends.numba.pending import MOST_TINY, Pending
from gstar_fast._backends.numpy import sketch as reference
from gstar_fast._backends.numpy.cells import Cells, places_of
from gstar_fast._base.arrays import DType, Floats, Ints, Values
from gstar_fast._base.grid import floor_bin, window_of_scores
from gstar_fast._base.names import Name, canonical

BLOCK = 1024  # rows read at once from a large batch: the buffers stay in the first cache
SMALL = MOST_TINY // 2  # batches up to here are read as a whole, so that a refusal needs no undoing
MOST_PENDING = 2**31  # rows; sums of v stay below 2**56, sums of halves of squares below 2**63
PARALLEL = 65_536  # least rows for each thread


UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
NO_LABELS = np.empty(0, np.uint8)


class Buffers(threading.local):
    """The rows of a block, one set for each thread."""

    def __init__(self) -> None:
        self.x, self.r, self.cell = np.empty(SMALL), np.empty(SMALL), np.empty(SMALL, np.uint32)
        self.y, self.g = np.empty(SMALL, np.uint64), np.empty(SMALL, np.uint64)
        self.at, self.offset = np.empty(SMALL, np.int64), np.empty(SMALL, np.int32)
        self.special = np.empty(SMALL, np.uint32)
        self.views: dict[tuple[int, int], tuple[Values, ...]] = {}

    def typed(self, label_size: int, code_size: int) -> tuple[Values, ...]:
        """All buffers, those for labels and groups as wide as the caller's."""
        key = label_size, code_size
        if key not in self.views:
            y, g = self.y.view(UNSIGNED[label_size]), self.g.view(UNSIGNED[code_size])
            scores = self.x, self.x.view(np.uint64), self.r, self.r.view(np.uint64)
            self.views[key] = *scores, y, g, self.cell, self.at, self.offset, self.special
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
        self.exact = scores.dtype == np.float32  # round24 has nothing to do

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
    _cells_at: tuple[tuple[Name, ...], int, int]  # groups, level and first bin number of _cells
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
        self._cells_at = (self.groups, self.level, self.first)

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
    ) -> None:
        """Count a batch, all or nothing."""
        if weights is None and len(scores) <= SMALL:
            with LOCK:
                done = self._can_count(len(scores))
                if done:
                    self._consume(Source(scores, labels, codes, names, skip_nan, unlabelled_code), 0, len(scores))
        elif weights is None and self._can_count(len(scores)):
            twin = self._counted_apart(Source(scores, labels, codes, names, skip_nan, unlabelled_code), threads)
            with LOCK:
                self._take(twin)
            done = True
        else:
            done = False
        if done:
            self._tell()
        else:
            super().update(scores, labels, codes, names, weights, skip_nan, threads, unlabelled_code)

    def update_one(self, score: float, label: int | None, group: Name) -> None:
        """Count one row."""
        with LOCK:
            if not self._count_quickly(score, label, group):
                rows = read_one(score, label, group, self.groups if self.given else None, self.weighted)
                if self._can_count(1):
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
        place = self.fixed, self.bins, self.level + 1023, pending.extent, pending.sums
        if not loops.count_one(score, cell, buffers, pending.grid, *place):
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
        window = (self.level, self.first) if self.fixed else None
        twin = type(self)(self.bins, window, None, self.memory_limit)
        twin.groups, twin.given = self.groups if self.given else (), self.given
        twin.level, twin.first = self.level, self.first
        twin._cells_at = ((), self.level, self.first)
        twin._pending = self._pend().successor(self.level, self.first)
        return twin

    # ------------------------------------------------------------------------------------------------------- counting

    def _consume(self, source: Source, start: int, end: int) -> None:
        """Count rows start..end. Where they fit into one block, nothing changes before all have been checked."""
        at, held, n_special, counted = start, 0, 0, 0
        small = end - start <= SMALL
        while at < end:
            pending = self._pend()
            if pending.rows >= MOST_PENDING // 2 and not held:
                self._find_first()
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
                pending.grid,
                self.fixed,
                source.skip_nan,
                source.exact,
                self.bins,
                self.level + 1023,
                pending.extent,
                pending.sums,
            )
            ahead = held - n_special if event == loops.GROW else 0  # rows of the block held that are counted already
            self._note(pending, at + ahead - before - counted)
            counted = ahead
            if event == loops.REFUSED:
                self._learn(source, at, held)
            elif event == loops.GROW:
                lo, hi, smallest, largest = pending.extent.tolist()
                self._widen(*window_of_scores(min(lo, smallest), max(hi, largest), self.bins))
            elif event == loops.DRAIN:
                pending.drain_tiny()
        self._find_first()

    def _note(self, pending: Pending, rows: int) -> None:
        skipped = int(pending.state[loops.SKIPPED])
        if skipped:
            pending.state[loops.SKIPPED] = 0
            self.skipped += skipped
        pending.rows += rows
        self.total += rows - skipped

    def _learn(self, source: Source, start: int, m: int) -> None:
        """Refuse the rows in the buffers, or learn their groups."""
        x, y, g = source.buffers[0], source.buffers[4], source.buffers[5]
        labels = None if source.label_dtype is None else np.array(y[:m]).view(source.label_dtype)
        codes = np.array(g[:m]).view(source.code_dtype)
        given = self.groups if self.given else None
        how = source.names, None, source.skip_nan, source.unlabelled_code, given, False, start
        rows = read_rows(x[:m], labels, codes, *how)
        self.groups = self._union(rows.names)
        for name in rows.names:
            self._pend().slot_of(name)

    def _pend(self) -> Pending:
        if self._pending is None:
            pending = Pending(self.bins, self.groups, self.level, self.first, self.fixed)
            if self._has_cells:
                cells = self._cells
                pending.know(np.stack([cells.mins, cells.maxs], axis=2).swapaxes(0, 1), self._cells_at[0])
                pending.open_window(self.level, self.first)
            self._pending = pending
        return self._pending

    def _widen(self, level: int, first: int) -> None:
        """Move to another window; sums stay pending if that is quick."""
        if self._moved_to((level, first)):
            return
        pending = self._pend()
        self._find_first()
        self._settle()
        self.level, self.first = level, first
        self._pending = pending.successor(level, first)

    def _find_first(self) -> None:
        """Bring `first` up to date: while rows are counted the window is known to begin somewhere below."""
        pending = self._pend()
        if not self.fixed and pending.extent[0] <= pending.extent[1]:
            self.first = floor_bin(float(pending.extent[0]), self.level)

    # -------------------------------------------------------------------------------------------------------- merging

    def _take(self, twin: Self) -> None:
        """Add a twin's rows, quickly where its sums are kept as ours are."""
        alike = (self.bins, self.fixed, self.given) == (twin.bins, twin.fixed, twin.given)
        if alike and not self.total and not self.skipped and self._can_count(twin.total):
            self._become_twin(twin)
            return
        pending, other = self._pend(), twin._pend()
        window = (self.level, self.first)
        lo, hi = min(pending.extent[0], other.extent[0]), max(pending.extent[1], other.extent[1])
        if not self.fixed and lo <= hi:
            window = window_of_scores(float(lo), float(hi), self.bins)
        quick = not twin._has_cells and self._can_count(twin.total) and pending.rows + other.rows < MOST_PENDING
        groups = self._union(twin.groups) if quick else ()
        if quick and twin._moved_to(window) and self._moved_to(window):
            self.groups = groups
            pending.absorb(other)
            pending.open_window(*window)
            self.total += twin.total
            self.skipped += twin.skipped
        else:
            twin._settle()
            self._settle()
            self._merge(twin)

    def _moved_to(self, window: tuple[int, int]) -> bool:
        """Move pending sums to a wider window, if that is quick."""
        done = self._pend().move_to(*window)
        if done:
            self.level, self.first = window
        return done

    def _become_twin(self, twin: Self) -> None:
        """Take over the state of a twin that was made when we were as empty as now."""
        self.groups, self.level, self.first = twin.groups, twin.level, twin.first
        self.total, self.skipped = twin.total, twin.skipped
        self._cells, self._cells_at, self._pending = twin._cells, twin._cells_at, twin._pending
        self._has_cells = twin._has_cells

    def _extent(self) -> tuple[float, float]:
        if self._pending is None:
            return super()._extent()
        lo, hi = self._pending.extent[:2].tolist()
        return lo, hi

    def copy(self) -> Self:
        """An independent copy; what is pending stays so."""
        with LOCK:
            twin = type(self)(self.bins, None, None, self.memory_limit)
            twin._become(self)
            twin._cells, twin._cells_at, twin._has_cells = self._cells.copy(), self._cells_at, self._has_cells
            twin._pending = None if self._pending is None else self._pending.copy()
            return twin

    def counts(self, label: int) -> Ints:
        """Rows of each group and bin, without settling all sums first."""
        with LOCK:
            if self._has_cells:
                self._move_cells()
                counts: Ints = self._cells.counts[label].copy()
            else:
                counts = np.zeros((len(self.groups), self.bins), np.int64)
            if self._pending is not None:
                self._pending.add_counts_to(counts, label, self.groups, self.first)
            return counts

    def extremes(self, label: int) -> tuple[Floats, Floats]:
        """Smallest and largest score of each group, NaN where there is none, without settling all sums first."""
        with LOCK:
            ends = self._pend().ends_of(label, self.groups)
            return ends[:, 0], ends[:, 1]

    def _settle(self) -> None:
        pending, self._pending = self._pending, None
        if pending is not None and not self.given:  # a twin's inherited slots may have no rows
            self.groups = tuple(canonical({*self.groups, *pending.occupied()}))
        self._move_cells()
        if pending is not None and pending.rows:
            pending.add_to(self._cells, self.groups, self.first)
            self._has_cells = True

    def _move_cells(self) -> None:
        """Bring the exact cells to our groups and window."""
        groups, level, first = self._cells_at
        here = (self.groups, self.level, self.first)
        if self._cells_at != here:
            places = places_of(groups, self.groups)
            shift = max(self.level - level, 0)
            self._cells = self._cells.moved(places, len(self.groups), shift, first, self.first)
            self._cells_at = here

    def _commit(
        self, cells: Cells, names: tuple[Name, ...], level: int, first: int, weighted: bool, total: int, skipped: int
    ) -> None:
        super()._commit(cells, names, level, first, weighted, total, skipped)
        self._cells_at = (self.groups, self.level, self.first)
        self._pending = None
        self._has_cells = True


def _is_plain(data: object, kinds: str) -> TypeGuard[Values]:
    if type(data) is not np.ndarray or data.ndim != 1 or data.dtype.kind not in kinds:
        return False
    return data.dtype.isnative and data.flags.aligned
