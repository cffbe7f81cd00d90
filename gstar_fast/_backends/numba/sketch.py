"""The reference's sketch with a compiled counting loop in front of it.

Rows are counted into pending int64 sums, which are added to the reference's exact cells when those are read. Weighted
rows, and the few scores that are too near to zero for a column, are counted by the reference.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Self

import numpy as np

from gstar_fast._backends.common.lock import LOCK
from gstar_fast._backends.common.rows import MOST_ROWS, read_one, read_rows
from gstar_fast._backends.numba.loops import GROW
from gstar_fast._backends.numba.pending import CHUNK, MOST_PENDING, Pending
from gstar_fast._backends.numpy import sketch as reference
from gstar_fast._backends.numpy.cells import places_of
from gstar_fast._backends.numpy.sketch import Batch
from gstar_fast._base.arrays import Ints
from gstar_fast._base.grid import LARGEST_SCORE, LOWEST_LEVEL, Extent, window_of
from gstar_fast._base.names import Name

PARALLEL = 65_536  # least rows for each thread


class Core(reference.Core):
    """One sketch; `_cells` holds the rows that `_pending` has not, in the groups and the window of `_pending.since`."""

    _pending: Pending | None = None

    def try_update(self, scores: object, labels: object, codes: object, skip_nan: bool, threads: int, /) -> bool:
        """Count plain arrays of numbers; False, and nothing done, for all that needs a closer look."""
        given = [array for array in (scores, labels, codes) if array is not None]
        arrays = [a for a in given if isinstance(a, np.ndarray) and type(a) is np.ndarray and a.dtype.isnative]
        if len(arrays) < len(given) or any(a.ndim != 1 or len(a) != len(arrays[0]) for a in arrays):
            return False
        kinds = [array.dtype.kind for array in arrays]
        if kinds[0] != "f" or kinds[-1] not in "iu" or kinds[1] not in "biu" or arrays[0].itemsize not in (4, 8):
            return False
        self.update(arrays[0], None if labels is None else arrays[1], arrays[-1], None, None, skip_nan, threads)
        return True

    def _count_plain(self, batch: Batch, threads: int) -> bool:
        n = len(batch[0])
        with LOCK:  # another thread may add weighted rows
            done = n <= CHUNK and self._can_count(n)
            if done:
                self._consume(batch, 0, n)
        if n > CHUNK and (self.weighted or self._can_count(n)):
            twin, done = self._counted_apart(batch, n, threads), True
            with LOCK:
                self._take(twin)
        return done

    def update_one(self, score: float, label: int | None, group: Name, *, weight: float = 1, repeats: int = 1) -> None:
        """Count one row."""
        plain = type(weight) in (int, float) and type(repeats) is int and weight == repeats == 1
        with LOCK:
            rows = read_one(score, label, group, self.groups if self.given else None, self.weighted, weight, repeats)
            if plain and self._can_count(1):
                self._consume((rows.scores, rows.labels, rows.codes, rows.names, False, True), 0, 1)
            else:
                self._count(rows)
        self._tell()

    def _can_count(self, n: int) -> bool:
        return not self.weighted and max(self.total, self.skipped) + n <= MOST_ROWS

    def _counted_apart(self, batch: Batch, n: int, threads: int) -> Self:
        """A large batch counted without the lock, so that an error needs no undoing."""
        cuts = np.linspace(0, n, 1 + max(1, min(threads, n // PARALLEL)), dtype=np.int64).tolist()
        with LOCK:
            twins = [self._twin() for _ in cuts[1:]]
        if len(twins) == 1:
            twins[0]._count_chunks(batch, 0, n)
            return twins[0]
        with ThreadPoolExecutor(len(twins)) as pool:
            jobs = [pool.submit(twin._count_chunks, batch, *cuts[i : i + 2]) for i, twin in enumerate(twins)]
        for job in jobs:
            job.result()  # in the order of rows, so that the first bad row is the one named
        for twin in twins[1:]:
            twins[0]._take(twin)
        return twins[0]

    def _twin(self) -> Self:
        """An empty sketch of our kind in our window: it is made to be added to us."""
        twin = type(self)(self.bins, None, self.groups if self.given else None, self.memory_limit)
        twin.fixed, twin.extent, twin.window = self.fixed, self.extent, self.window
        return twin

    def _count_chunks(self, batch: Batch, start: int, end: int) -> None:
        few = np.array(batch[0][start : end : 1 + (end - start) // 1024], np.float64)
        few = few[np.abs(few) <= LARGEST_SCORE]
        self._widen(self._extent_with(Extent.of(few)))  # most of what comes, so that sums are seldom moved
        for at in range(start, end, CHUNK):
            self._consume(batch, at, min(end, at + CHUNK))

    def _consume(self, batch: Batch, start: int, end: int) -> None:
        """Count up to CHUNK rows, all or nothing."""
        scores, labels, codes, names, skip_nan, unlabelled_code = batch
        x, codes = np.array(scores[start:end], np.float64), np.array(codes[start:end])
        x += 0.0  # -0.0 becomes 0.0
        labels = None if labels is None else np.array(labels[start:end])
        y = np.full(len(x), 2) if labels is None else labels.astype(np.int64, copy=False)
        g, known, checked, rest = codes.astype(np.int64, copy=False), names, False, np.empty(len(x), np.int32)
        most = 2 if unlabelled_code or labels is None else 1
        if self._pend().rows > MOST_PENDING - CHUNK:
            self._settle()
        while True:
            pending = self._pend()
            if known is None and not pending.all_small:
                different, g = np.unique(codes, return_inverse=True)
                known = tuple(different.tolist())
            left = pending.count(x, y, g, pending.places_of(known), most, skip_nan, checked, rest)
            if left >= 0:
                break
            if left == GROW:
                self._widen(self.extent | pending.extent)
            else:
                how = skip_nan, unlabelled_code, self.groups if self.given else None, False, start
                rows = read_rows(x, labels, codes, names, None, None, *how)
                self.groups, checked = self._union(rows.names, self.weighted), True
                pending.learn(rows.names)
        rest = rest[:left][~np.isnan(x[rest[:left]])]
        self.total += len(x) - left
        self.skipped += left - len(rest)
        if len(rest):
            self._count(read_rows(x[rest], y[rest], codes[rest], names, None, None, False, True, None, False))

    def _pend(self) -> Pending:
        if self._pending is None:
            self._pending = Pending(self.window, self.fixed, self.extent, self.groups)
        return self._pending

    def _widen(self, extent: Extent) -> None:
        """Make room for rows of this extent; sums stay pending if they can."""
        window = self.window
        if not self.fixed:
            window = window_of(extent, self.bins, LOWEST_LEVEL if self.extent.empty else self.level)
        if not self._pend().move_to(window, extent):
            self._settle()
            self._cells = self._cells_in(False, self.groups, window)
        self.extent, self.window = extent, window

    def _take(self, twin: Self) -> None:
        """Add a twin's rows, quickly where its sums are kept as ours are."""
        fits = self._can_count(max(twin.total, twin.skipped)) and self._pend().rows + twin.total <= MOST_PENDING - CHUNK
        groups, extent = self._union(twin.groups, self.weighted), self._extent_with(twin.extent)
        if fits:
            twin._widen(extent)
        if not fits or twin._pend().rows < twin.total:
            twin._settle()
            self._settle()
            self._merge(twin)
            return
        self._widen(extent)
        self.groups = groups
        if self.total:
            self._pend().absorb(twin._pend())
        else:
            twin._pend().since, self._pending = self._pend().since, twin._pend()
        self.total += twin.total
        self.skipped += twin.skipped

    def _summary(self) -> tuple[Ints, float, float]:
        if self._pending is not None and self._pending.rows == self.total:
            return self._pending.summary()
        self._settle()
        return super()._summary()

    def _settle(self) -> None:
        pending, self._pending = self._pending, None
        if pending is not None:
            groups, window = pending.since
            self._cells = self._cells.moved(places_of(groups, self.groups), len(self.groups), window, self.window)
            if pending.rows:
                pending.add_to(self._cells, self.groups)
