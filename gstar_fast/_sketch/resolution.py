"""How finely the bins divide the rows, and the warnings where that may cost something or a score stands for none."""

from __future__ import annotations

import sys
import warnings
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gstar_fast._backends.interface import SketchCore
from gstar_fast._base.names import Name
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._sketch.columns import sums_in
from gstar_fast._words import WEIGHT_UNIT

_PACKAGE = str(Path(__file__).parent.parent)

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


def _bulk(running: NDArray[np.int64]) -> tuple[int, int]:
    """Bins of the 0.5 % and the 99.5 % quantile."""
    n = int(running[-1])
    return int(np.searchsorted(running, -(-n // 200))), int(np.searchsorted(running, -(-199 * n // 200)))


def resolution_of(core: SketchCore) -> int:
    """Number of bins from the 0.5 % to the 99.5 % quantile; 0 without rows."""
    running = np.cumsum(core.pooled()[0])
    if not running[-1]:
        return 0
    lo, hi = _bulk(running)
    return hi - lo + 1


def coarsest_of(core: SketchCore) -> Coarsest:
    """Where rates can move most because rows share a bin; bins with few rows do not count."""
    find = core.fullest if sums_in(core.sections) else partial(_fullest, core)
    share, label, place, index = find(FEW_ROWS * (WEIGHT_UNIT if core.weighted else 1))
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


def warn_of(core: SketchCore, told: frozenset[str]) -> frozenset[str]:
    """Warn of what may be wrong with the scores, each kind once; return the kinds that have been told of."""
    for kind, find in _FINDERS.items():
        if kind not in told and (found := find(core)) is not None:
            _warn(refusal(kind, "scores", value=found))
            told |= {kind}
    return told


def _find_coarse(core: SketchCore) -> tuple[object, ...] | None:
    """Where rows that differ share bins so much that it may cost something."""
    coarsest = coarsest_of(core)
    if coarsest.share <= max(COARSE, 16 / core.bins):
        return None
    _, smallest, largest, _, _ = core.pooled()
    return (*coarsest, smallest, largest, core.bins)


def _find_sentinel(core: SketchCore) -> tuple[object, ...] | None:
    """The smallest or largest score, where it holds many rows far from all others."""
    counts, smallest, largest, first, last = core.pooled()
    rows = counts[[first, last]] / (WEIGHT_UNIT if core.weighted else 1)
    many = (rows >= SENTINEL_ROWS) & (counts[[first, last]] <= SENTINEL_SHARE * counts.sum())
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


_FINDERS = {"resolution": _find_coarse, "sentinel": _find_sentinel}
WARNINGS = frozenset(_FINDERS)


def _is_one_value(core: SketchCore, score: float, index: int) -> bool:
    """Whether all rows of a bin have this score."""
    for label in range(3):
        in_bin = np.flatnonzero(core.counts(label)[:, index])
        if len(in_bin) and (core.means(label)[in_bin, index] != score).any():
            return False
    return True


def _warn(warning: Warning) -> None:
    """Warn in the name of the first caller outside this package."""
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(warning, stacklevel=depth)
