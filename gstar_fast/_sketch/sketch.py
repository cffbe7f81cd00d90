"""Sketch: counts of the scores of each label and group. Count once, forget the rows, merge anywhere."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, Self, Unpack

import numpy as np

from gstar_fast import _backends
from gstar_fast._base.names import Name, Scalar, clean_name, given_names
from gstar_fast._base.public import lives_in
from gstar_fast._base.refusals.place import bad_option
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.sections import LabelTexts
from gstar_fast._base.warn import warn
from gstar_fast._input.columns import as_batch
from gstar_fast._input.options import (
    NOTHING,
    Missing,
    Passing,
    checked_batch,
    checked_bins,
    checked_min_rows,
    checked_passing,
    checked_reading,
    checked_threads,
    checked_window,
)
from gstar_fast._input.positive import checked_positive
from gstar_fast._sketch import show
from gstar_fast._sketch.columns import NO_LABELS, Columns, sections_of
from gstar_fast._sketch.counting import Table, count, count_table, empty_like, skip_one
from gstar_fast._sketch.from_bins import FromBins
from gstar_fast._sketch.options import BatchOptions, PlotOptions, State, WindowOptions
from gstar_fast._sketch.view import SketchView, watch_of
from gstar_fast._sketch.view import check_order as check_order
from gstar_fast._sketch.view import check_sketch as check_sketch
from gstar_fast._words import WEIGHT_UNIT

if TYPE_CHECKING:
    import boost_histogram as bh
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from gstar_fast._backends.interface import SketchCore, Watch


@lives_in("gstar_fast")
class Sketch(FromBins, SketchView):
    """Counts of scores for each label and group: exact at its edges, mergeable, independent of the order of rows.

    Parameters
    ----------
    groups : list of names, optional
        The groups, in the order they must have. Others are rejected. Without it groups are learned as they appear.
    bins : int
        Number of bins, a power of two from 16 to 65,536.
    range : (float, float), optional
        Fix the window; scores outside are then only known to be below or above. Without it the window grows with the
        scores.
    nan : {"raise", "skip"}
        What to do with rows whose score is NaN; skipped ones are counted in `skipped`.
    missing : float or several, optional
        Scores that stand for no score, such as -999: their rows are counted in `skipped` only. A score is missing if
        it equals one of these as float64. NaN among them means ``nan="skip"``.
    memory_limit : int
        Bytes; more groups than fit are rejected.
    missing_group : {"raise", "skip"} or a name
        What to do with rows whose group, or one value of its tuple, is missing (None, NaN, null). "skip" only counts
        them in `skipped`; any other name is used as their group. Unless it is "raise", a column of floats that are
        whole numbers is read as integers, because pandas stores integers with missing values as floats.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> sketch = gf.Sketch(bins=16, range=(0, 1))
    >>> sketch.update([0.1, 0.8, 0.7, 0.3], [0, 1, 1, 0], ["F", "F", "M", "M"])
    Sketch(4 rows, 2 groups: 'F', 'M'; 16 bins of 0.0625 from 0 to 1)
    >>> sketch.counts[1, 0]
    array([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0])
    >>> sketch + sketch == gf.Sketch.from_bytes((sketch + sketch).to_bytes())
    True
    """

    pooled_groups: tuple[Name, ...] = ()
    """Groups that `pooled` put under one name in this copy; not part of the bytes."""

    def __init__(
        self,
        *,
        groups: Iterable[Name] | None = None,
        bins: int = 4096,
        range: tuple[float, float] | None = None,  # noqa: A002 (the word numpy uses)
        nan: Literal["raise", "skip"] = "raise",
        missing: Missing = None,
        memory_limit: int = 2**30,
        missing_group: Name = "raise",
    ) -> None:
        bins = checked_bins(bins)
        window = None if range is None else checked_window(range, bins)
        names = None if groups is None else given_names(groups)
        passing, limit = checked_reading(nan, missing, memory_limit, missing_group)
        backend = _backends.current()
        core = _backends.room("sketch", backend).Core
        self._set_up(backend, passing, lambda watch: core(bins, window, names, limit, watch))

    def _set_up(self, backend: str, passing: Passing, make_core: Callable[[Watch], SketchCore]) -> None:
        self._backend = backend
        self._passing = passing
        self._warned = False  # whether it has warned of its scores
        self._known = None
        self._looked = 0  # how much it held when it was last looked at for warnings
        self._core = make_core(watch_of(weakref.ref(self)))
        if passing == NOTHING:  # the core's own bound method, so that a row at a time costs no Python frame
            self.update_one = self._core.update_one  # type: ignore[method-assign]

    @classmethod
    def _around(cls, core: SketchCore, like: Sketch) -> Self:
        """A new sketch with the rows of a core and the manners of another sketch."""
        new = cls.__new__(cls)
        new._set_up(like._backend, like._passing, lambda watch: empty_like(core, like._backend, watch))
        new._warned = True  # these rows have had theirs
        new._core.merge(core)
        new._warned, new._looked = like._warned, like._looked
        return new

    # ------------------------------------------------------------------------------------------------------- counting

    @classmethod
    def from_rows(
        cls,
        scores: ArrayLike,
        labels: ArrayLike | None,
        groups: ArrayLike,
        *,
        weights: ArrayLike | None = None,
        repeats: ArrayLike | None = None,
        threads: int = 1,
        **options: Unpack[WindowOptions],
    ) -> Self:
        """Count rows into a new sketch; takes the options of `Sketch` too.

        Examples
        --------
        >>> import gstar_fast as gf
        >>> gf.Sketch.from_rows([0.25, 0.75], [0, 1], ["a", "b"], bins=16).n_rows
        2
        """
        return cls(**options).update(scores, labels, groups, weights=weights, repeats=repeats, threads=threads)

    def update(
        self,
        scores: ArrayLike,
        labels: ArrayLike | None,
        groups: ArrayLike,
        *,
        weights: ArrayLike | None = None,
        repeats: ArrayLike | None = None,
        nan: Literal["raise", "skip"] | None = None,
        missing: Missing = None,
        threads: int = 1,
        missing_group: Name | None = None,
    ) -> Self:
        """Count one batch of scores and return the sketch itself. A rejected batch changes nothing.

        Parameters
        ----------
        scores : array-like of shape (n_samples,)
            What the classifier gave; higher means more likely positive. -inf and +inf are counted at the ends.
        labels : array-like of shape (n_samples,) or None
            True outcomes, 0 or 1; a null, or None for all, where they are not known.
        groups : array-like of shape (n_samples,), or several columns
            Group of each row: integers, strings, bools, tuples of these, or a categorical column. A frame, a 2-D array
            or a list of columns means intersections: each row's group is the tuple of its values.
        weights : array-like of shape (n_samples,), optional
            Weight of each row, such as a survey weight; a row of weight 10 is one row. A weight of 1 is the same as no
            weight, and a row of weight 0 is left out. Weights are rounded to multiples of 2**-20.
        repeats : array-like of shape (n_samples,), optional
            How many rows each line stands for: whole numbers; 0 leaves it out. The bytes are the same as if the rows
            were repeated. With `weights`, each repeated row has the weight.
        nan, missing, missing_group : optional
            As in `Sketch`; they override the sketch's own choice for this batch.
        threads : int
            Threads to count a large batch with; the result is the same.

        Returns
        -------
        Sketch
            The sketch itself.

        Raises
        ------
        ValueError
            If a row has a value that cannot be counted, or the arrays differ in length or are not 1-D.
        TypeError
            If an array holds the wrong kind of values, or a group is missing.
        MemoryError
            If there are more groups than `memory_limit` allows.

        Warns
        -----
        ResolutionWarning
            If weights are so small that rounding changes them by more than 1 % on average.
        SentinelWarning
            Once, when one score holds many rows far from all others.

        Examples
        --------
        >>> import gstar_fast as gf
        >>> gf.Sketch().update([0.2, float("nan")], None, [7, 7], nan="skip").skipped
        1
        """
        if threads != 1:
            threads = checked_threads(threads)
        passing = self._passing
        if nan is None and missing is None and weights is None and repeats is None and missing_group is None:
            if not passing.values and self._core.try_update(scores, labels, groups, passing.nan, threads):
                return self
        else:
            passing = checked_passing(nan, missing, passing, missing_group)
        count(self._core, as_batch(scores, labels, groups, weights, repeats, passing.group), passing, threads)
        return self

    def update_one(self, score: float, label: int | None, group: Name, *, weight: float = 1, repeats: int = 1) -> None:
        """Count a single row; `label` is None if it is not known, `weight` and `repeats` are as in `update`.

        Examples
        --------
        >>> import gstar_fast as gf
        >>> sketch = gf.Sketch()
        >>> sketch.update_one(0.25, 1, "F")
        >>> sketch.n_rows
        1
        """
        group = self._passing.named(group)
        if not skip_one(self._core, score, label, group, self._passing, weight, repeats):
            self._core.update_one(score, label, group, weight=weight, repeats=repeats)

    def update_table(
        self,
        data: object,
        *,
        score: str,
        label: str | None,
        group: str | list[str],
        weight: str | None = None,
        repeats: str | None = None,
        positive: Scalar | None = None,
        **options: Unpack[BatchOptions],
    ) -> Self:
        """Count the rows of a table or stream, batch by batch and in constant memory. All rows or none.

        The sketch remembers the names of the columns and the positive label, see `columns` and `positive`.

        Parameters
        ----------
        data : object with `__arrow_c_stream__`
            A pyarrow table or record batch reader, a polars or pandas frame, a DuckDB relation, ...
        score, label, weight, repeats : str
            Names of columns; `label` is None for unlabelled rows. Weights and repeats are as in `update`.
        group : str or list of str
            Name of the column of groups; several make tuples, for intersections.
        positive : str, int or bool, optional
            The label that means 1; all others mean 0, unless missing. Without it labels are 0 and 1. While all rows
            mean 0, or all mean 1, the sketch keeps the texts of the labels (`label_texts`), and `solve`, `frontier`,
            `audit`, `certify`, `rows_needed` and `report` list them in a warning.
        nan, missing, threads, missing_group
            As in `update`.

        Examples
        --------
        >>> import gstar_fast as gf
        >>> import polars as pl
        >>> people = pl.DataFrame({"p": [0.25, 0.75], "y": [0, 1], "sex": ["F", "M"], "old": [True, False]})
        >>> gf.Sketch().update_table(people, score="p", label="y", group=["sex", "old"]).groups
        (('F', True), ('M', False))
        """
        groups = (group,) if isinstance(group, str) else tuple(group)
        if not groups:
            raise refusal("no_group_column", "group")
        passing, threads = checked_batch(self._passing, **options)
        twin = empty_like(self._core, self._backend)
        named = checked_positive(positive, label)
        labels = count_table(twin, Table(data, score, label, groups, weight, named, repeats), passing, threads)
        twin.set_sections(sections_of(Columns(score, label, groups), named, labels=labels))
        self._core.merge(twin)
        return self

    def _remember(self, columns: Columns, positive: Scalar | None, labels: LabelTexts = NO_LABELS) -> Self:
        """Say where the rows come from, in the place of what was said before."""
        self._core.set_sections(sections_of(columns, positive, self._core.sections, labels))
        return self

    # -------------------------------------------------------------------------------------------------------- merging

    def __add__(self, other: object) -> Self:
        if not isinstance(other, Sketch):
            return NotImplemented
        return self.copy().__iadd__(other)

    def __radd__(self, other: object) -> Self:
        return self.copy() if isinstance(other, int) and other == 0 else NotImplemented  # sum() begins with 0

    def __iadd__(self, other: object) -> Self:
        if not isinstance(other, Sketch):
            return NotImplemented
        known = self._known_digest() if self._core.total else None
        repeats = known is not None and known == other._known_digest()  # no digest is computed for it
        told, self._warned = self._warned, self._warned or other._warned  # what was said of its rows is not said again
        try:
            self._core.merge(other._core)
        except BaseException:
            self._warned = told
            raise
        if repeats:
            warn(refusal("repeated_rows", "other", value="both sketches"))
        return self

    def merge(self, other: Sketch) -> Self:
        """Add the rows of another sketch to this one and return it; the same as `+=`.

        Groups are merged by name. Different `bins`, `range` or `positive` are rejected; an empty default sketch merges
        with any. For many sketches or files see `merge_all`.

        Warns
        -----
        RepeatedRowsWarning
            If `digest` of both was computed since rows were last added, and is the same.
        """
        if not isinstance(other, Sketch):
            raise refusal("not_a_sketch", "other", value=other)
        return self.__iadd__(other)

    def _under(self, named: Callable[[Name], Name]) -> Self:
        """A copy with other names of groups; groups that get one name become one. Its digest is that of this sketch."""
        core = self.copy()._core
        new = type(self)._around(core.relabelled(tuple(map(named, core.groups))), self)
        new._stands_for(self)
        return new

    def pooled(self, min_rows: float, *, name: Name = "other") -> Self:
        """A copy in which all groups of fewer than `min_rows` rows are one group, called `name`.

        Groups of a few rows know their rates too roughly to be held to a limit. Counts are added exactly, as if the
        rows had been counted under `name`; `pooled_groups` of the copy says which groups were. Thresholds for the
        original groups come from ``solve(sketch, min_rows=...)``.

        Parameters
        ----------
        min_rows : float
            Rows of a group, with and without a label. Rows with weights w count as (sum w)^2 / (sum w^2) rows.
        name : name
            What the pooled groups are called. A group of that name is pooled too if it is small, else it is an error.

        Examples
        --------
        >>> import gstar_fast as gf
        >>> sketch = gf.Sketch.from_rows([1, 2, 3, 4, 5], [0, 1, 0, 1, 1], ["a", "a", "b", "c", "a"])
        >>> fewer = sketch.pooled(min_rows=2)
        >>> fewer.groups, fewer.pooled_groups
        (('a', 'other'), ('b', 'c'))
        """
        least, core = checked_min_rows(min_rows), self._core.copy()
        rows = sum(core.counts(label).sum(axis=1) for label in range(3)) + (core.below() + core.above()).sum(axis=0)
        if core.weighted:
            rows = (rows / WEIGHT_UNIT) ** 2 / np.maximum(core.squared_weights().sum(axis=0), 1e-300)
        small = tuple(group for group, n in zip(core.groups, rows.tolist(), strict=True) if n < least)
        if small:
            shared = clean_name(name)
            if shared in core.groups and shared not in small:
                raise bad_option(
                    "name",
                    f"the sketch has a group {shared!r} that is not small, so small groups cannot be pooled under that "
                    "name; choose another: name=...",
                )
            pooled = set(small)
            core = core.relabelled(tuple(shared if group in pooled else group for group in core.groups))
        new = type(self)._around(core, self)
        new.pooled_groups = small
        return new

    def copy(self) -> Self:
        """An independent copy."""
        known = self._known  # read before the rows: rows added in between make it out of date, and it is then ignored
        new = type(self)._around(self._core, self)
        new._known = known
        return new

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> Self:
        return self.copy()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sketch):
            return NotImplemented
        return self is other or self._core.row_bytes() == other._core.row_bytes()

    __hash__ = None  # type: ignore[assignment]

    # ---------------------------------------------------------------------------------------------------------- bytes

    def to_bytes(self) -> bytes:
        """The sketch as bytes: versioned, checksummed, the same for the same rows and columns on every platform."""
        return self._core.to_bytes()

    def _read(self, data: bytes, passing: Passing, limit: int) -> None:
        backend = _backends.current()
        core = _backends.room("sketch", backend).Core
        self._set_up(backend, passing, lambda watch: core.from_bytes(data, limit, watch))

    def __getstate__(self) -> State:
        return {
            "data": self.to_bytes(),
            "skip": (*self._passing,),
            "memory_limit": self._core.memory_limit,
            "warned": self._warned,
        }

    def __setstate__(self, state: State) -> None:
        super().__setstate__(state)
        self._warned = state["warned"]

    # --------------------------------------------------------------------------------------------------------- showing

    def to_uhi(self) -> bh.Histogram[bh.storage.Storage]:
        """The labelled counts as a `boost_histogram.Histogram` with axes label, group and score.

        Groups become categories (integers if all names are, else their text); below and above go to the flow bins of
        the score axis. Needs the extra `uhi`.
        """
        return show.to_uhi(self)

    def plot(self, **options: Unpack[PlotOptions]) -> Figure:
        """Draw the cells' histograms and densities; options as for `gstar_fast.plot.densities` (extra `plot`)."""
        from gstar_fast import plot  # downstream, so not before somebody asks for a picture

        figure: Figure = plot.densities(self, **options)
        return figure

    def __repr__(self) -> str:
        return show.text(self)

    def _repr_html_(self) -> str:
        return show.html(self)
