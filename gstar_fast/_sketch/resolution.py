"""How finely the bins divide the rows, and the warnings where that may cost something or a score stands for none."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from gstar_fast._backends.interface import SketchCore, Watch
from gstar_fast._base.names import Name
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.warn import warn
from gstar_fast._sketch.columns import sums_in
from gstar_fast._words import WEIGHT_UNIT

FEW_ROWS = 16  # so few rows in a bin move a rate by less than their own chance does
COARSE = 0.03  # a bin with a larger share of its cell's rows may cost something
SENTINEL_ROWS, SENTINEL_SHARE = 5, 0.2  # a value of so many rows, and at most this share of all, may stand for none
MANY_BINS = 64  # scores in fewer are few values, each of which is far from the others


class Coarsest(NamedTuple):
    """The bin with the largest share of its cell's rows, of those whose rows differ in score."""

    share: float
    label: int | None
    group: Name | None
    lo: float
    hi: float


def _one_row(core: SketchCore) -> float:
    """What one row counts; in a weighted sketch, what one effective row counts."""
    if not core.weighted:
        return 1
    return float(core.squared_weights().sum()) / max(core.total / WEIGHT_UNIT, 1e-300) * WEIGHT_UNIT


def resolution_of(core: SketchCore) -> int:
    """Number of bins from the 0.5 % to the 99.5 % quantile; 0 without rows."""
    running = np.cumsum(core.pooled()[0])
    n = int(running[-1])
    if not n:
        return 0
    lo, hi = np.searchsorted(running, [-(-n // 200), -(-199 * n // 200)]).tolist()
    return int(hi - lo + 1)


def coarsest_of(core: SketchCore) -> Coarsest:
    """Where rates can move most because rows share a bin; bins with few rows do not count."""
    find = core.fullest if sums_in(core.sections) else partial(_fullest, core)
    share, label, place, index = find(round(FEW_ROWS * _one_row(core)))
    if not share:
        return Coarsest(0.0, None, None, 0.0, 0.0)
    lo, hi = core.edges[index : index + 2].tolist()
    return Coarsest(share, label if label < 2 else None, core.groups[place], lo, hi)


def _fullest(core: SketchCore, least: int) -> tuple[float, int, int, int]:
    """As the core has it, where no sums tell which bins hold one score only."""
    best = (0.0, 0, 0, 0)
    below, above = core.below(), core.above()
    for label in range(3):
        counts = core.counts(label)
        for place, row in enumerate(counts):
            index = int(row.argmax())
            share = float(row[index]) / float(max(int(row.sum()) + below[label, place] + above[label, place], 1))
            best = (share, label, place, index) if row[index] >= max(least, 1) and share > best[0] else best
    return best


class Watched(Protocol):
    """What a look needs of a sketch."""

    _core: SketchCore
    _warned: bool  # of a score that may stand for none
    _looked: int  # the rows it had at the last look


def watch_of(sketch: weakref.ref[Watched]) -> Watch:
    """What a core calls when its level changed or its rows doubled; holds no reference to the sketch."""

    def look() -> None:
        if (alive := sketch()) is not None:
            look_at(alive)

    return look


def look_at(sketch: Watched) -> None:
    """Warn once of a score that may stand for none, unless no rows came since the last look."""
    core = sketch._core
    if sketch._warned or sketch._looked == core.total:
        return
    sketch._looked = core.total
    if _find_sentinel(core) and (found := _find_sentinel(core.copy())):  # a copy cannot change meanwhile
        warn(refusal("sentinel", "scores", value=found))
        sketch._warned = True


def warn_if_coarse(sketch: Watched, thresholds: Mapping[Name, Sequence[float]]) -> None:
    """Warn if a bin next to a threshold of its group holds many rows with different scores."""
    core = sketch._core.copy()
    near = (_coarsest_near(core, label, thresholds) for label in range(2))
    found = max((one for one in near if one is not None), default=None)
    if found is None:
        return
    share, label, place, index = found
    lo, hi = core.edges[index : index + 2].tolist()
    _, smallest, largest, _, _ = core.pooled()
    coarse = Coarsest(share, label, core.groups[place], lo, hi)
    warn(refusal("resolution", "scores", value=(*coarse, smallest, largest, core.bins)))


def _coarsest_near(
    core: SketchCore, label: int, thresholds: Mapping[Name, Sequence[float]]
) -> tuple[float, int, int, int] | None:
    """Share, label, position of the group and index of the fullest bin next to a threshold; None if all are fine."""
    least, most = FEW_ROWS * _one_row(core), max(COARSE, 16 / core.bins)
    counts, edges, outside = core.counts(label), core.edges, core.below()[label] + core.above()[label]
    found = []
    for place, (name, row) in enumerate(zip(core.groups, counts, strict=True)):
        used = row.nonzero()[0] if name in thresholds else row[:0]
        if not len(used):
            continue
        total = int(row.sum()) + int(outside[place])
        at = used.searchsorted(edges.searchsorted(thresholds[name])).tolist()
        for index in {int(used[min(max(i, 0), len(used) - 1)]) for one in at for i in (one - 1, one)}:
            rows = int(row[index])
            if rows >= least and rows / total > most:
                found.append((rows / total, label, place, index))
    if found and sums_in(core.sections):
        means = core.means(label)
        # rows of one score have a mean of at most its 24 bits
        found = [one for one in found if not (np.frexp(means[one[2:]])[0] * 2.0**24).is_integer()]
    return max(found, default=None)


def _find_sentinel(core: SketchCore) -> tuple[object, ...] | None:
    """The smallest or largest score, where it holds many rows far from all others."""
    counts, smallest, largest, first, last = core.pooled()
    ends = [first, last]
    rows = counts[ends]
    if core.weighted:  # effective rows of either bin
        squares = sum(core.squares(label).sum(axis=0)[1:-1][ends] for label in range(3))
        rows = np.rint((rows / WEIGHT_UNIT) ** 2 / np.maximum(squares, 1e-300))
    many = (rows >= SENTINEL_ROWS) & (counts[ends] <= SENTINEL_SHARE * counts.sum())
    if core.fixed or not many.any():
        return None
    used = np.flatnonzero(counts)
    if len(used) < MANY_BINS:
        return None
    edges = core.edges
    for end, score, index, others in ((0, smallest, first, used[1:]), (1, largest, last, used[:-1])):
        lo, hi = edges[others[0]], edges[others[-1] + 1]
        gap = score - hi if end else lo - score
        if many[end] and 2 * gap > hi - lo and _is_one_value(core, score, index):
            return score, rows[end], float(lo), float(hi)
    return None


def _is_one_value(core: SketchCore, score: float, index: int) -> bool:
    """Whether all rows of a bin have this score."""
    for label in range(3):
        in_bin = np.flatnonzero(core.counts(label)[:, index])
        if len(in_bin) and (core.means(label)[in_bin, index] != score).any():
            return False
    return True
