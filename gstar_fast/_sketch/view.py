"""What a sketch knows: its groups, its window, and the counts of each cell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gstar_fast._backends.interface import SketchCore
from gstar_fast._base.arrays import Floats, Ints, Values
from gstar_fast._base.grid import memory_of
from gstar_fast._base.names import Name, Scalar, clean_name, listed
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._sketch.cell import Moments, SketchCell
from gstar_fast._sketch.columns import (
    Columns,
    assumption_in,
    columns_in,
    labels_in,
    labels_there,
    positive_in,
    sums_in,
)
from gstar_fast._sketch.resolution import Coarsest, coarsest_of, resolution_of
from gstar_fast._words import UNLABELLED, WEIGHT_UNIT


class Known(NamedTuple):
    """A digest, and the state of the core that it belongs to."""

    state: tuple[object, ...]
    digest: str


class SketchView:
    """The half of `Sketch` that only reads."""

    _core: SketchCore
    _backend: str
    _known: Known | None  # the last digest that was computed

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
        return resolution_of(self._core)

    @property
    def coarseness(self) -> Coarsest:
        """Up to how much a rate can be off because rows with different scores share a bin, and which bin that is.

        The largest share of a cell's rows in one bin; bins of fewer than 16 rows, or of one score only, do not count.
        """
        return coarsest_of(self._core.copy())

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
