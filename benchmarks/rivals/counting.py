"""What others use to count scores by label, group and bin, each written as a careful user would write it.

A rival is made with `prepare(rows, window)`, which may convert its input to whatever it likes best and compile; only
the call it returns is timed. All of them get a window known beforehand, with equal bins, which they compute quickest;
the sketch has to find its own, whose bins are finer near zero. Each call answers with counts of shape
(2, n_groups, bins), so that answers can be compared before the clock counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

Call = Callable[[], np.ndarray]


@dataclass(frozen=True)
class Rows:
    """What every contender counts."""

    scores: np.ndarray  # float32 or float64
    labels: np.ndarray  # uint8
    groups: np.ndarray  # uint8
    n_groups: int

    def __len__(self) -> int:
        return len(self.scores)


@dataclass(frozen=True)
class Window:
    """Bins of width 2^level from `first * 2^level` on; scaling by a power of two is exact, so all can agree."""

    level: int
    first: int
    bins: int

    @property
    def scale(self) -> float:
        return float(np.ldexp(1.0, -self.level))

    @property
    def low(self) -> float:
        return float(np.ldexp(float(self.first), self.level))

    @property
    def high(self) -> float:
        return float(np.ldexp(float(self.first + self.bins), self.level))


def reference(rows: Rows, window: Window) -> np.ndarray:
    """Counts by the definition: floor(score / 2^level), exact in float64. Not a contender."""
    number = np.floor(rows.scores.astype(np.float64) * window.scale).astype(np.int64) - window.first
    counts = np.zeros((2, rows.n_groups, window.bins), dtype=np.int64)
    np.add.at(counts, (rows.labels, rows.groups, number), 1)
    return counts


def reference_between(rows: Rows, edges: np.ndarray) -> np.ndarray:
    """Counts between any ascending edges, each bin with its lower one. Not a contender."""
    bins = len(edges) - 1
    number = np.searchsorted(edges, rows.scores, side="right") - 1
    cell = rows.labels.astype(np.int64) * rows.n_groups + rows.groups
    return np.bincount(cell * bins + number, minlength=2 * rows.n_groups * bins).reshape(2, rows.n_groups, bins)


def numpy_histogram(rows: Rows, window: Window) -> Call:
    """np.histogram of each cell, as most notebooks do it."""

    def run() -> np.ndarray:
        counts = np.empty((2, rows.n_groups, window.bins), dtype=np.int64)
        for label in (0, 1):
            of_label = rows.labels == label
            for group in range(rows.n_groups):
                cell = rows.scores[of_label & (rows.groups == group)]
                counts[label, group] = np.histogram(cell, bins=window.bins, range=(window.low, window.high))[0]
        return counts

    return run


def numpy_bincount(rows: Rows, window: Window) -> Call:
    """np.bincount on one fused index, in blocks that stay in the cache."""
    cells = 2 * rows.n_groups * window.bins
    block = max(1 << 16, 2 * cells)
    scale = rows.scores.dtype.type(window.scale)

    def run() -> np.ndarray:
        counts = np.zeros(cells, dtype=np.int64)
        for start in range(0, len(rows), block):
            part = slice(start, start + block)
            index = rows.labels[part].astype(np.intp)
            index *= rows.n_groups
            index += rows.groups[part]
            index *= window.bins
            index -= window.first
            index += np.floor(rows.scores[part] * scale).astype(np.intp)
            counts += np.bincount(index, minlength=cells)
        return counts.reshape(2, rows.n_groups, window.bins)

    return run


def boost_best(rows: Rows, window: Window) -> Call:
    """boost-histogram with integer axes, no flow bins and Int64 storage; inputs in dtypes it fills from uncopied."""
    import boost_histogram as bh

    scores = rows.scores.astype(np.float64)
    labels, groups = rows.labels.astype(np.int32), rows.groups.astype(np.int32)

    def run() -> np.ndarray:
        histogram = bh.Histogram(
            bh.axis.Integer(0, 2, underflow=False, overflow=False),
            bh.axis.Integer(0, rows.n_groups, underflow=False, overflow=False),
            bh.axis.Regular(window.bins, window.low, window.high, underflow=False, overflow=False),
            storage=bh.storage.Int64(),
        )
        histogram.fill(labels, groups, scores)
        return histogram.view(flow=False)

    return run


def boost_usual(rows: Rows, window: Window) -> Call:
    """boost-histogram as its documentation shows it: category axes, a regular axis, the default storage."""
    import boost_histogram as bh

    def run() -> np.ndarray:
        histogram = bh.Histogram(
            bh.axis.IntCategory([0, 1]),
            bh.axis.IntCategory(list(range(rows.n_groups))),
            bh.axis.Regular(window.bins, window.low, window.high),
        )
        histogram.fill(rows.labels, rows.groups, rows.scores)
        return histogram.view(flow=False).astype(np.int64)

    return run


@cache
def _numba_loops() -> tuple[Any, Any, Any]:
    """Compile when first asked for: (count rows and keep sums, count rows, read arrays)."""
    import numba

    @numba.njit(nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
    def count(scores, labels, groups, n_groups, scale, first, bins, counts, sums, least, most):  # type: ignore[no-untyped-def]
        # Unsigned numbers need one comparison instead of two: what is below zero wraps far above the rest.
        refused = 0
        for i in range(len(scores)):
            x = np.float64(scores[i])
            label, group = np.uint64(labels[i]), np.uint64(groups[i])
            number = np.uint64(np.int64(np.floor(x * scale)) - first)
            if (label > 1) | (group >= n_groups) | (number >= bins):
                refused += 1
                continue
            cell = label * n_groups + group
            at = cell * bins + number
            counts[at] += 1
            sums[at] += x
            if x < least[cell]:
                least[cell] = x
            if x > most[cell]:
                most[cell] = x
        return refused

    @numba.njit(nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
    def count_only(scores, labels, groups, n_groups, scale, first, bins, counts):  # type: ignore[no-untyped-def]
        for i in range(len(scores)):
            number = np.uint32(np.int32(np.floor(scores[i] * scale)) - first)
            cell = np.uint32(labels[i]) * n_groups + np.uint32(groups[i])
            counts[cell * bins + number] += np.uint32(1)

    @numba.njit(nogil=True)  # type: ignore[untyped-decorator]
    def read(words):  # type: ignore[no-untyped-def]
        mixed = np.uint64(0)
        for i in range(len(words)):
            mixed ^= words[i]
        return mixed

    return count, count_only, read


def numba_loop(rows: Rows, window: Window) -> Call:
    """A careful Numba loop: counts and sums of bins, least and most of cells, bad rows refused, one pass."""
    count, _, _ = _numba_loops()
    n_cells = 2 * rows.n_groups

    def run() -> np.ndarray:
        counts = np.zeros(n_cells * window.bins, dtype=np.int64)
        sums = np.zeros(n_cells * window.bins)
        least, most = np.full(n_cells, np.inf), np.full(n_cells, -np.inf)
        refused = count(
            rows.scores, rows.labels, rows.groups, np.uint64(rows.n_groups),
            window.scale, window.first, np.uint64(window.bins), counts, sums, least, most,
        )  # fmt: skip
        if refused:
            raise ValueError(f"{refused} rows outside the window")
        return counts.reshape(2, rows.n_groups, window.bins)

    return run


def numba_counts(rows: Rows, window: Window) -> Call:
    """A Numba loop of ten lines that only counts: in the dtype of the scores, 32-bit counts, no row is checked."""
    _, count_only, _ = _numba_loops()
    scale, first = rows.scores.dtype.type(window.scale), np.int32(window.first)

    def run() -> np.ndarray:
        counts = np.zeros(2 * rows.n_groups * window.bins, dtype=np.uint32)
        n_groups, bins = np.uint32(rows.n_groups), np.uint32(window.bins)
        count_only(rows.scores, rows.labels, rows.groups, n_groups, scale, first, bins, counts)
        return counts.reshape(2, rows.n_groups, window.bins)

    return run


def polars_group_by(rows: Rows, window: Window) -> Call:
    """Polars group-by on one fused key; uses as many threads as it likes."""
    import polars as pl

    frame = pl.DataFrame({"score": rows.scores, "label": rows.labels, "group": rows.groups})
    cell = pl.col("label").cast(pl.Int32) * rows.n_groups + pl.col("group")
    number = (pl.col("score") * window.scale).floor().cast(pl.Int32) - window.first
    query = frame.lazy().group_by((cell * window.bins + number).alias("key")).agg(pl.len())

    def run() -> np.ndarray:
        found = query.collect()
        return _dense(found["key"].to_numpy(), found["len"].to_numpy(), rows, window)

    return run


def duckdb_group_by(rows: Rows, window: Window) -> Call:
    """DuckDB group-by on one fused key, from a table of its own; uses as many threads as it likes."""
    import duckdb
    import pyarrow as pa

    connection = duckdb.connect()
    connection.register("arrow", pa.table({"score": rows.scores, "label": rows.labels, "grp": rows.groups}))
    connection.execute("create table rows as select * from arrow")
    query = f"""
        select (label::integer * {rows.n_groups} + grp) * {window.bins}
               + floor(score * {window.scale!r})::integer - ({window.first}) as key, count(*) as n
        from rows group by key
    """

    def run() -> np.ndarray:
        found = connection.execute(query).fetchnumpy()
        return _dense(found["key"], found["n"], rows, window)

    return run


def _dense(keys: np.ndarray, counts: np.ndarray, rows: Rows, window: Window) -> np.ndarray:
    dense = np.zeros(2 * rows.n_groups * window.bins, dtype=np.int64)
    dense[keys] = counts
    return dense.reshape(2, rows.n_groups, window.bins)


def kll(rows: Rows) -> Callable[[], dict[tuple[int, int], Any]]:
    """DataSketches KLL, one sketch a cell. Its answer is approximate: `kll_worst_rank_error` checks it."""
    import datasketches

    make = datasketches.kll_floats_sketch if rows.scores.dtype == np.float32 else datasketches.kll_doubles_sketch

    def run() -> dict[tuple[int, int], Any]:
        sketches = {}
        for label in (0, 1):
            of_label = rows.labels == label
            for group in range(rows.n_groups):
                sketch = make()
                sketch.update(rows.scores[of_label & (rows.groups == group)])
                sketches[label, group] = sketch
        return sketches

    return run


def kll_worst_rank_error(sketches: dict[tuple[int, int], Any], counts: np.ndarray, window: Window) -> float:
    """Largest difference between the ranks KLL gives at the edges and the exact ones."""
    edges = np.ldexp(np.arange(window.first, window.first + window.bins + 1, 64, dtype=np.float64), window.level)
    worst = 0.0
    for (label, group), sketch in sketches.items():
        below = np.concatenate([[0], np.cumsum(counts[label, group])])[::64]
        if below[-1]:
            ranks = np.array([sketch.get_rank(edge, False) for edge in edges])
            worst = max(worst, float(np.abs(ranks - below / below[-1]).max()))
    return worst


def read_only(rows: Rows) -> Callable[[], Any]:
    """Read the arrays and nothing more: the roofline. Whole words, so that the compiler can use its widest loads."""
    _, _, read = _numba_loops()
    n = len(rows) // 8 * 8
    words = [array[:n].view(np.uint64) for array in (rows.scores, rows.labels, rows.groups)]
    return lambda: [read(part) for part in words]


RIVALS: dict[str, Callable[[Rows, Window], Call]] = {
    "np.histogram per cell": numpy_histogram,
    "np.bincount, fused index": numpy_bincount,
    "boost-histogram, usual": boost_usual,
    "boost-histogram, best": boost_best,
    "careful Numba loop": numba_loop,
    "Numba loop, counts only": numba_counts,
    "polars group-by": polars_group_by,
    "DuckDB group-by": duckdb_group_by,
}
ALL_THREADS = ("polars group-by", "DuckDB group-by")  # what the tables must not call one thread
