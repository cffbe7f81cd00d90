"""What a sketch knows: its groups, its window, the counts of each cell, and how finely the bins divide the rows."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gstar_fast._base.arrays import Floats, Ints, Values
from gstar_fast._base.grid import memory_of
from gstar_fast._base.names import Name, Scalar, clean_name, listed
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.warn import warn
from gstar_fast._sketch.columns import (
    Columns,
    assumption_in,
    columns_in,
    labels_in,
    labels_there,
    positive_in,
    sums_in,
)
from gstar_fast._words import UNLABELLED, WEIGHT_UNIT

if TYPE_CHECKING:
    from gstar_fast._backends.interface import SketchCore, Watch
    from gstar_fast._sketch.cell import Moments, SketchCell

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


class Known(NamedTuple):
    """A digest, and the state of the core that it belongs to."""

    state: tuple[object, ...]
    digest: str


class SketchView:
    """The half of `Sketch` that only reads."""

    _core: SketchCore
    _backend: str
    _known: Known | None  # the last digest that was computed
    _warned: bool  # of a score that may stand for none
    _looked: int  # the rows it had at the last look

    @property
    def groups(self) -> tuple[Name, ...]:
        """Names of the groups: in canonical order (bools, ints, strings, tuples), or as given."""
        return self._core.groups

    @property
    def bins(self) -> int:
        """Number of bins."""
        return self._core.bins

    @property
    def level(self) -> int:
        """The widest bins are `2**level` wide: those far from zero; with `range`, or from an old file, all of them."""
        return self._core.level

    @property
    def backend(self) -> str:
        """Backend that counts for this sketch."""
        return self._backend

    @property
    def weighted(self) -> bool:
        """Whether a row with a weight other than 1 has been counted; counts are then floats, sums of weights."""
        return self._core.weighted

    @property
    def n_rows(self) -> int:
        """Number of rows counted, regardless of weights."""
        frozen = self._core.copy()
        return int(frozen.rows().sum()) if frozen.weighted else frozen.total

    @property
    def weight(self) -> float:
        """Sum of the weights of all rows; without weights, the number of rows."""
        frozen = self._core.copy()
        return frozen.total / WEIGHT_UNIT if frozen.weighted else float(frozen.total)

    @property
    def skipped(self) -> int:
        """Rows skipped because their score was NaN or missing, or their group was missing."""
        return self._core.skipped

    @property
    def columns(self) -> Columns:
        """Names of the columns that the rows came from, as far as tables named them."""
        return columns_in(self._core.sections)

    @property
    def positive(self) -> Scalar | None:
        """The label that 1 stands for, such as "yes"; None where no one was named."""
        return positive_in(self._core.sections)

    @property
    def label_texts(self) -> tuple[str, ...]:
        """Texts of the first eight labels in tables, kept only while all labelled rows mean 0, or all mean 1."""
        found = labels_in(self._core.sections).texts
        return found if found and len(labels_there(self._core)) == 1 else ()

    @property
    def edges(self) -> Floats:
        """Edges of the bins, ascending, shape (bins + 1,); a gap without scores may be one bin, which stays empty."""
        return self._core.edges

    @property
    def counts(self) -> Values:
        """Rows of each label, group and bin, shape (2, n_groups, bins); sums of weights, float64, if it is weighted."""
        frozen = self._core.copy()
        return _in_rows(np.stack([frozen.counts(0), frozen.counts(1)]), frozen)

    @property
    def has_means(self) -> bool:
        """Whether the sums of scores are known; not where rows were counted elsewhere without them.

        Thresholds and audits need none. `means`, and all of `moments` but the count and the extremes, are NaN without
        them, and densities other than the empirical one are rejected.
        """
        return sums_in(self._core.sections)

    @property
    def assumption(self) -> str | None:
        """The assumptions behind estimated groups, see `ProxySketch.unmixed`; None if all groups are known.

        They are saved with the sketch, and are among the notes of results from it.
        """
        return assumption_in(self._core.sections)

    @property
    def means(self) -> Floats:
        """Mean score of each label, group and bin, shape (2, n_groups, bins); NaN where there are no rows."""
        frozen = self._core.copy()
        if not sums_in(frozen.sections):
            return np.full((2, len(frozen.groups), frozen.bins), np.nan)
        return np.stack([frozen.means(0), frozen.means(1)])

    @property
    def below(self) -> Values:
        """Rows under the first edge, -inf included, shape (2, n_groups)."""
        return self._beyond("below")[:2]

    @property
    def above(self) -> Values:
        """Rows at or over the last edge, +inf included, shape (2, n_groups)."""
        return self._beyond("above")[:2]

    @property
    def squared_weights(self) -> Floats:
        """Sum of squared weights of each label and group, shape (2, n_groups); without weights, the number of rows."""
        return self._core.squared_weights()[:2]

    @property
    def unlabelled(self) -> Values:
        """Unlabelled rows of each group and bin, shape (n_groups, bins)."""
        frozen = self._core.copy()
        return _in_rows(frozen.counts(UNLABELLED), frozen)

    @property
    def unlabelled_below(self) -> Values:
        """Unlabelled rows under the first edge, shape (n_groups,)."""
        free: Values = self._beyond("below")[UNLABELLED]
        return free

    @property
    def unlabelled_above(self) -> Values:
        """Unlabelled rows at or over the last edge, shape (n_groups,)."""
        free: Values = self._beyond("above")[UNLABELLED]
        return free

    def _beyond(self, side: str) -> Values:
        frozen = self._core.copy()
        return _in_rows(getattr(frozen, side)(), frozen)

    def _cell(self, row: int, group: Name) -> SketchCell:
        """A copy of one cell; `row` is its label, 2 for unlabelled rows."""
        from gstar_fast._sketch.cell import SketchCell  # not at import: counting needs none

        name = clean_name(group)
        names = self.groups
        if name not in names:
            raise refusal("group_not_there", "group", value=name, limit=listed(names))
        if not self._core.weighted:
            return SketchCell(self._core.cell(row, name), self.has_means)
        frozen, place = self._core.copy(), names.index(name)
        more = frozen.squares(row)[place, 1:-1], int(frozen.rows()[row, place])
        return SketchCell(frozen.cell(row, name), self.has_means, *more)

    def moments(self, label: int | None, group: Name) -> Moments:
        """Moments of one cell's finite scores inside the window.

        Count, mean, min and max are those of the rows (the mean that of scores rounded to 24 bits); variance, skewness
        and kurtosis are derived from the bins and agree with the rows to 1e-4 at a `resolution` of 1024 or more. For
        the third and fourth moment that is relative to the mean of `|x - mean|` to the third and fourth power.

        Parameters
        ----------
        label : 0, 1 or None
            None for the unlabelled rows.
        group : name
            One of `groups`.

        Examples
        --------
        >>> import gstar_fast as gf
        >>> sketch = gf.Sketch.from_rows([1.0, 2.0, 3.0], [1, 1, 1], ["a", "a", "a"])
        >>> sketch.moments(1, "a").variance
        0.6666666666666666
        """
        if label not in (0, 1, None):
            raise refusal("label_not_there", "label", value=label)
        row = UNLABELLED if label is None else int(label)
        return self._cell(row, group).moments()

    @property
    def resolution(self) -> int:
        """Number of bins from the 0.5 % to the 99.5 % quantile of all finite scores inside the window."""
        running = np.cumsum(self._core.pooled()[0])
        n = int(running[-1])
        if not n:
            return 0
        lo, hi = np.searchsorted(running, [-(-n // 200), -(-199 * n // 200)]).tolist()
        return int(hi - lo + 1)

    @property
    def coarseness(self) -> Coarsest:
        """Up to how much a rate can be off because rows with different scores share a bin, and which bin that is.

        The largest share of a cell's rows in one bin; bins of fewer than 16 rows, or of one score only, do not count.
        """
        core = self._core.copy()
        find = core.fullest if sums_in(core.sections) else partial(_fullest, core)
        share, label, place, index = find(round(FEW_ROWS * _one_row(core)))
        if not share:
            return Coarsest(0.0, None, None, 0.0, 0.0)
        lo, hi = core.edges[index : index + 2].tolist()
        return Coarsest(share, label if label < 2 else None, core.groups[place], lo, hi)

    def digest(self) -> str:
        """SHA-256, in hexadecimal, of the counted rows and of `positive`. It does not depend on the names of columns.

        The sketch remembers it until rows are added.
        """
        known = self._known_digest()
        return self._digest_of(self._core.copy()) if known is None else known

    def _digest_of(self, copy: SketchCore) -> str:
        """The digest of a copy of the core; the sketch remembers it for as long as its rows are those of the copy."""
        state, known = _state(copy), self._known
        if known is None or known.state != state:
            known = self._known = Known(state, sha256_of(copy.row_bytes()))
        return known.digest

    def _stands_for(self, whole: SketchView) -> None:
        """Give this sketch the digest of another one, whose rows it has under other names."""
        self._known = Known(_state(self._core), whole.digest())

    def _known_digest(self) -> str | None:
        """The digest if it was computed since rows were last added."""
        known = self._known
        return known.digest if known is not None and known.state == _state(self._core) else None

    @property
    def nbytes(self) -> int:
        """Memory the counts take, as it is held against `memory_limit`."""
        return memory_of(len(self.groups), self.bins, self.weighted)


def sha256_of(data: bytes) -> str:
    """SHA-256 of bytes, in hexadecimal."""
    import hashlib  # slow, and needed here only

    return hashlib.sha256(data).hexdigest()


def _state(core: SketchCore) -> tuple[object, ...]:
    """A key that changes whenever the row bytes of a core change.

    Rows are only added, so the total and the number of skipped rows show most changes. The rest may change when a
    sketch without rows is merged.
    """
    options = core.bins, core.level, core.first, core.given, core.fixed, core.groups
    return core.total, core.skipped, core.weighted, options, core.sections


def _in_rows(counts: Ints, core: SketchCore) -> Values:
    return counts / WEIGHT_UNIT if core.weighted else counts


def check_sketch(given: object) -> None:
    """Reject what is not a sketch, such as the rows themselves."""
    if not isinstance(given, SketchView):
        raise refusal("needs_a_sketch", "sketch", value=given)


def check_order(call: str, first: object) -> None:
    """Reject a sketch in the place of thresholds."""
    if isinstance(first, SketchView):
        raise refusal("sketch_last", "sketch", value=call)


# ---------------------------------------------------------------------------------------------------------- resolution


def _one_row(core: SketchCore) -> float:
    """What one row counts; in a weighted sketch, what one effective row counts."""
    if not core.weighted:
        return 1
    return float(core.squared_weights().sum()) / max(core.total / WEIGHT_UNIT, 1e-300) * WEIGHT_UNIT


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


def watch_of(sketch: weakref.ref[SketchView]) -> Watch:
    """What a core calls when its level changed or its rows doubled; holds no reference to the sketch."""

    def look() -> None:
        if (alive := sketch()) is not None:
            look_at(alive)

    return look


def look_at(sketch: SketchView) -> None:
    """Warn once of a score that may stand for none, unless no rows came since the last look."""
    core = sketch._core
    if sketch._warned or sketch._looked == core.total:
        return
    sketch._looked = core.total
    if _find_sentinel(core) and (found := _find_sentinel(core.copy())):  # a copy cannot change meanwhile
        warn(refusal("sentinel", "scores", value=found))
        sketch._warned = True


def warn_if_coarse(sketch: SketchView, thresholds: Mapping[Name, Sequence[float]]) -> None:
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
        at, last = used.searchsorted(edges.searchsorted(thresholds[name])).tolist(), len(used) - 1
        beside = {0 if i < 0 else last if i > last else i for one in at for i in (one - 1, one)}
        for index in used[list(beside)].tolist():
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
