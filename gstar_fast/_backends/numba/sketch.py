"""The reference's sketch with a compiled counting loop in front of it.

Rows are counted into pending int64 sums, which are added to the reference's exact cells when those are read, when the
level changes, and before anything could overflow. Weighted rows go the reference's way.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gstar_fast._backends._rows import LOCK, MOST_ROWS, check_lengths, read_one, read_rows
from gstar_fast._backends.numba import loops
from gstar_fast._backends.numba.lookup import Lookup
from gstar_fast._backends.numba.pending import MOST_TINY, Pending, scales_of
from gstar_fast._backends.numpy import sketch as reference
from gstar_fast._grid import edges, window_of_scores
from gstar_fast._groups import Name, canonical

BLOCK = 2048  # rows read at once from a large batch: the buffers stay in the first cache
SMALL = MOST_TINY // 2  # batches up to here are read as a whole, so that a refusal needs no undoing
MOST_PENDING = 2**31  # rows; sums of v stay below 2**56, sums of halves of squares below 2**63
PARALLEL = 65_536  # least rows for each thread


class Buffers(threading.local):
    """The rows of a block, one set for each thread."""

    def __init__(self) -> None:
        self.x, self.r, self.cell = np.empty(SMALL), np.empty(SMALL), np.empty(SMALL, np.int32)
        self.y, self.g = np.empty(SMALL, np.uint64), np.empty(SMALL, np.uint64)

    def typed(self, source: Source) -> tuple[NDArray[Any], ...]:
        """All buffers, those for labels and groups as wide as the caller's."""
        y, g = self.y.view(source.labels.dtype), self.g.view(source.codes.dtype)
        return self.x, self.x.view(np.uint64), self.r, self.r.view(np.uint64), y, g, self.cell


BUFFERS = Buffers()


class Source:
    """The caller's arrays as the compiled loop takes them: integers seen as unsigned, nothing writable."""

    def __init__(
        self,
        scores: NDArray[Any],
        labels: NDArray[Any] | None,
        codes: NDArray[Any],
        names: tuple[Name, ...] | None,
        skip_nan: bool,
        unlabelled_code: bool,
    ) -> None:
        self.label_dtype = None if labels is None else labels.dtype
        self.code_dtype = codes.dtype
        self.names, self.skip_nan, self.unlabelled_code = names, skip_nan, unlabelled_code
        self.scores = _read_only(scores, scores.dtype)
        self.labels = _read_only(np.empty(0, np.uint8) if labels is None else labels)
        self.codes = _read_only(codes)
        self.most_label = self.labels.dtype.type(2 if unlabelled_code else 1)
        self.exact = scores.dtype == np.float32  # round24 has nothing to do

    def __len__(self) -> int:
        return len(self.scores)


def _read_only(array: NDArray[Any], dtype: np.dtype[Any] | None = None) -> NDArray[Any]:
    view = array.view(np.dtype(f"u{array.dtype.itemsize}") if dtype is None else dtype)
    view.flags.writeable = False
    return view


class Core(reference.Core):
    """One sketch; `_cells` holds the rows up to the last `_settle`, `_pending` those since."""

    _pending: Pending | None = None
    _cells_at: tuple[tuple[Name, ...], int, int]  # groups, level and first bin number of _cells
    _seed = (math.inf, -math.inf)  # extent of the sketch this one is a twin of

    def __init__(
        self,
        bins: int,
        window: tuple[int, int] | None,
        groups: tuple[Name, ...] | None,
        memory_limit: int,
        watch: Callable[[], object] | None = None,
    ) -> None:
        super().__init__(bins, window, groups, memory_limit, watch)
        self._cells_at = (self.groups, self.level, self.first)

    def update(
        self,
        scores: NDArray[Any],
        labels: NDArray[Any] | None,
        codes: NDArray[Any],
        names: tuple[Name, ...] | None,
        weights: NDArray[np.float64] | None,
        skip_nan: bool,
        threads: int,
        unlabelled_code: bool = False,
    ) -> None:
        """Count a batch, all or nothing."""
        check_lengths(scores, labels, codes, weights)
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
            rows = read_one(score, label, group, self.groups if self.given else None, self.weighted)
            if self._can_count(1):
                self._consume(Source(rows.scores, rows.labels, rows.codes, rows.names, False, True), 0, 1)
            else:
                self._count(rows)
        self._tell()

    def _can_count(self, n: int) -> bool:
        return not self.weighted and self.total + n <= MOST_ROWS

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
        """An empty sketch of our kind in our window, with our slots."""
        window = (self.level, self.first) if self.fixed else None
        twin = type(self)(self.bins, window, self.groups if self.given else None, self.memory_limit)
        twin.level, twin.first = self.level, self.first
        twin._cells_at = (twin.groups, self.level, self.first)
        twin._seed = self._extent()
        twin._pending = Pending(self.bins, self._pend().names, self.level, self.first)
        return twin

    # ------------------------------------------------------------------------------------------------------- counting

    def _consume(self, source: Source, start: int, end: int) -> None:
        """Count rows start..end. Where they fit into one block, nothing changes before all have been checked."""
        at = start
        pending = self._pend()
        while at < end:
            if pending.rows >= MOST_PENDING // 2:
                self._settle()
                pending = self._pend()
            lookup = pending.lookup_for(source.names, source.code_dtype)
            # the first rows of all, and a small batch, are taken at once: the window then needs to grow less often
            whole = end - start <= SMALL or at == start
            block = min(SMALL, end - at) if whole else BLOCK
            stop = at + block if whole else min(end, at + MOST_PENDING // 2)
            before = at
            at, m, event = loops.consume(
                source.scores,
                source.labels,
                source.codes,
                at,
                stop,
                block,
                source.most_label,
                lookup.arrays,
                BUFFERS.typed(source),
                self._open_window(),
                self.fixed,
                source.skip_nan,
                source.exact,
                pending.scales.floats,
                self.bins,
                self.level + 1023,
                pending.odd,
                pending.sums,
            )
            self._note(pending, at - before)
            if m:
                self._finish_block(source, at, m, event, lookup)
                at += m
                pending = self._pend()
                self._note(pending, m)
            elif event:
                pending.drain_tiny()

    def _note(self, pending: Pending, rows: int) -> None:
        skipped = int(pending.skipped[0])
        pending.skipped[0] = 0
        pending.rows += rows
        self.skipped += skipped
        self.total += rows - skipped

    def _finish_block(self, source: Source, start: int, m: int, event: int, lookup: Lookup) -> None:
        """Refuse the rows in the buffers, or learn their groups, widen the window and count them."""
        x, x_bits, r, r_bits, y, g, cell = BUFFERS.typed(source)
        pending = self._pend()
        if event == loops.REFUSED:
            labels = None if source.label_dtype is None else np.array(y[:m]).view(source.label_dtype)
            codes = np.array(g[:m]).view(source.code_dtype)
            given = self.groups if self.given else None
            rows = read_rows(
                x[:m], labels, codes, source.names, None, source.skip_nan, source.unlabelled_code, given, False, start
            )
            self.groups = self._union(rows.names)
            for name in rows.names:
                pending.slot_of(name)
            values, inverse = np.unique(codes, return_inverse=True)
            slots = np.array([lookup.slot(int(value), pending.slots) for value in values.tolist()], np.int64)[inverse]
            cell[:m] = 3 * slots + (
                2 if labels is None else y[:m].astype(np.int64)
            )  # negative only where NaN is skipped
        window = self._open_window()
        while True:
            kept = loops.sort_out(x, cell, m, window, self.fixed, source.skip_nan, *pending.odd)
            if kept != loops.GROW:
                break
            lo, hi = (float(end) for end in pending.extent)
            ours = self._extent()
            lo, hi = min(lo, ours[0], self._seed[0]), max(hi, ours[1], self._seed[1])
            self._widen(*window_of_scores(lo, hi, self.bins))
            pending = self._pend()
            window = edges(self.level, self.first, self.bins)[[0, -1]]
        loops.round24(x_bits, r_bits, kept)
        loops.count(x, r, r_bits, cell, kept, pending.scales.floats, self.bins, self.level + 1023, pending.sums)

    def _pend(self) -> Pending:
        if self._pending is None:
            self._pending = Pending(self.bins, self.groups, self.level, self.first)
        return self._pending

    def _open_window(self) -> NDArray[np.float64]:
        """First and last edge; an empty window while there is no finite score, so that the first one makes it grow."""
        if not self.fixed and min(self._extent()[0], self._seed[0]) == math.inf:
            return np.array([math.inf, -math.inf])
        return edges(self.level, self.first, self.bins)[[0, -1]]

    def _widen(self, level: int, first: int) -> None:
        """Move to another window; pending sums stay where they are if they are kept the same way in both."""
        pending = self._pend()
        if scales_of(level, first, self.bins) != pending.scales:
            names = pending.names
            self._settle()
            self._pending = Pending(self.bins, names, level, first)
        self.level, self.first = level, first

    # -------------------------------------------------------------------------------------------------------- merging

    def _take(self, twin: Self) -> None:
        """Add a twin's rows, quickly where its sums are kept as ours are."""
        alike = (self.bins, self.fixed, self.given) == (twin.bins, twin.fixed, twin.given)
        if alike and not self.total and not self.skipped and self._can_count(twin.total):
            self._become_twin(twin)
            return
        pending, other = self._pend(), twin._pend()
        lo, hi = (f(a, b) for f, a, b in zip((min, max), self._extent(), twin._extent(), strict=True))
        window = (self.level, self.first)
        if not self.fixed and lo <= hi:
            window = window_of_scores(lo, hi, self.bins)
        alike = scales_of(*window, self.bins) == pending.scales == other.scales
        rows = pending.rows + other.rows
        if alike and twin._unsettled() and self._can_count(twin.total) and rows < MOST_PENDING:
            self.groups = self._union(twin.groups)
            pending.absorb(other)
            self.level, self.first = window
            self.total += twin.total
            self.skipped += twin.skipped
        else:
            twin._settle()
            self._settle()
            self._merge(twin)

    def _become_twin(self, twin: Self) -> None:
        """Take over the state of a twin that was made when we were as empty as now."""
        self.groups, self.level, self.first = twin.groups, twin.level, twin.first
        self.total, self.skipped = twin.total, twin.skipped
        self._cells, self._cells_at, self._pending = twin._cells, twin._cells_at, twin._pending

    def _unsettled(self) -> bool:
        """Whether all rows are still pending."""
        return not self._cells.squares.any() and not self._cells.counts.any()

    def _extent(self) -> tuple[float, float]:
        lo, hi = super()._extent()
        if self._pending is not None:
            lo, hi = min(lo, float(self._pending.mins.min())), max(hi, float(self._pending.maxs.max()))
        return lo, hi

    def copy(self) -> Self:
        """An independent copy; what is pending stays so."""
        with LOCK:
            twin = type(self)(self.bins, None, None, self.memory_limit)
            twin._become(self)
            twin._cells, twin._cells_at = self._cells.copy(), self._cells_at
            twin._pending = None if self._pending is None else self._pending.copy()
            return twin

    def counts(self, label: int) -> NDArray[np.int64]:
        """Rows of each group and bin, without settling all sums first."""
        with LOCK:
            self._move_cells()
            counts: NDArray[np.int64] = self._cells.counts[label].copy()
            if self._pending is not None:
                self._pending.add_counts_to(counts, label, self.groups, self.first)
            return counts

    def _settle(self) -> None:
        pending, self._pending = self._pending, None
        if pending is not None and not self.given:
            self.groups = tuple(
                canonical({*self.groups, *pending.occupied()})
            )  # a twin's inherited slots may have none
        self._move_cells()
        if pending is not None and pending.rows:
            pending.add_to(self._cells, self.groups, self.first)

    def _move_cells(self) -> None:
        """Bring the exact cells to our groups and window."""
        groups, level, first = self._cells_at
        here = (self.groups, self.level, self.first)
        if self._cells_at != here:
            places = reference._places(groups, self.groups)
            shift = max(self.level - level, 0)
            self._cells = self._cells.moved(places, len(self.groups), shift, first, self.first)
            self._cells_at = here

    def _commit(self, *state: Any) -> None:
        super()._commit(*state)
        self._cells_at = (self.groups, self.level, self.first)
        self._pending = None
