"""Counting where only probabilities of the group are known: sums from which the groups' counts can be unmixed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from threading import Lock
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gstar_fast._base import sketch_format
from gstar_fast._base.arrays import Floats, Ints, Objects
from gstar_fast._base.grid import SUM_UNIT, Extent, Window, round24, to_float, whole_scores, window_of
from gstar_fast._base.names import Name, given_names
from gstar_fast._base.public import lives_in
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.sections import UNMIXED
from gstar_fast._base.sketch_format import Content
from gstar_fast._base.warn import warn
from gstar_fast._input.columns import Batch, as_labels, as_scores, column_of
from gstar_fast._input.group_columns import check_one_length
from gstar_fast._input.options import NOTHING
from gstar_fast._sketch.columns import CONTRADICTED
from gstar_fast._sketch.counting import count
from gstar_fast._sketch.options import GridOptions
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._words import UNLABELLED, WEIGHT_UNIT

COARSE = 256  # bins of the counts by segment
BLOCK = 8192  # rows whose products, in units of 2**-40, add up exactly in float64
CLOSE = 1e-6  # how far from 1 the probabilities of a row may be
LABELS = (0, 1, UNLABELLED)
LEVEL = 0.01  # how often the test warns if the assumptions hold
RANGES = 5  # score ranges, with about equal numbers of rows
POWERS = (2, 3)  # of the probabilities; under the assumptions they explain nothing
FEWEST = 100  # rows of a label for each group
LEAST_WORTH = 50  # effective rows that a contrast needs
STEPS = 8  # probabilities of the likeliest group are cut at 4/8, 5/8, 6/8 and 7/8
LEVELS = 5

Row: TypeAlias = tuple[object, ...]  # as `Sketch.from_bins` takes it


@lives_in("gstar_fast")
class ProxySketch:
    """Counts of scores where the group of a row is known with probabilities only.

    Each row is counted in every group, with its probability as weight, and the K x K sums of products of probabilities
    are kept beside. `unmixed` makes the sketch that the groups themselves would have: `solve`, `frontier` and `audit`
    take it like any other sketch, and their results list the assumptions in their notes. There are three. Among the
    rows of each label the probabilities are calibrated: of rows with 0.3 for a group, three in ten belong to it. Given
    group and label, the probabilities are independent of the score. And rows are independent.

    Parameters
    ----------
    groups : list of names
        The groups, in the order of the columns of `group_probabilities`.
    bins, range
        As in `Sketch`.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> proxy = gf.ProxySketch(["a", "b"])
    >>> for score in range(8):
    ...     _ = proxy.update([score, score + 1], [score % 2] * 2, [[0.9, 0.1], [0.2, 0.8]])
    >>> proxy
    ProxySketch(16 rows, 2 groups: 'a', 'b')
    >>> {cell: round(rows, 1) for cell, rows in proxy.effective_rows.items()}
    {(0, 'a'): 2.2, (0, 'b'): 1.8, (1, 'a'): 2.2, (1, 'b'): 1.8}
    """

    def __init__(
        self,
        groups: Iterable[Name],
        *,
        bins: int = 4096,
        range: tuple[float, float] | None = None,  # noqa: A002 (the word numpy uses)
    ) -> None:
        names = given_names(groups)
        if len(names) < 2:
            raise refusal("proxy_groups", "groups", value=len(names))
        self._mixed = Sketch(groups=names, bins=bins, range=range)
        self._options: GridOptions = {"bins": bins, "range": range}
        self._products: Objects = np.zeros((3, len(names), len(names)), dtype=object)  # whole numbers of 2**-40
        self._cells = Sketch(groups=np.arange(LEVELS * len(names)).tolist(), **self._coarse)  # rows by segment
        self._sums: Objects = np.zeros((3, LEVELS * len(names), len(names)), dtype=object)  # of these, in 2**-20
        self._rows = 0
        self._lock = Lock()

    @property
    def groups(self) -> tuple[Name, ...]:
        """The groups, in the order of the columns of probabilities."""
        return self._mixed.groups

    @property
    def _coarse(self) -> GridOptions:
        """Options of the counts for the test of assumptions, which needs few score ranges."""
        return {**self._options, "bins": min(self._options["bins"], COARSE)}

    @property
    def n_rows(self) -> int:
        """Rows counted."""
        return self._rows

    @property
    def effective_rows(self) -> dict[tuple[int, Name], float]:
        """How many rows of known group say as much as these, by (label, group).

        Intervals, promises and `NoiseWarning` on the unmixed sketch use this number in the place of rows.
        """
        out: dict[tuple[int, Name], float] = {}
        for label in (0, 1):
            present, inverse = _inverse(self._products, label)
            for k, one in zip(present.tolist(), inverse, strict=True):
                out[label, self.groups[k]] = float(1.0 / np.abs(one).sum())
        return out

    def update(self, scores: ArrayLike, labels: ArrayLike | None, group_probabilities: ArrayLike) -> Self:
        """Count one batch and return the sketch itself. A rejected batch changes nothing.

        Parameters
        ----------
        scores : array-like of shape (n_samples,)
            What the classifier gave; higher means more likely positive.
        labels : array-like of shape (n_samples,) or None
            True outcomes, 0 or 1; a null, or None for all, where they are not known.
        group_probabilities : array-like of shape (n_samples, n_groups)
            Probability that the row belongs to each group. A row's probabilities add up to 1. Columns of a data frame
            that have the names of the groups are taken by name, in whatever order they stand.
        """
        units = _units(_in_order(group_probabilities, self.groups), len(self.groups))
        score = as_scores(*column_of(scores, "scores"))
        label, nulls = (None, False) if labels is None else as_labels(*column_of(labels, "labels"))
        given = {"scores": score, "labels": label, "group_probabilities": units}
        check_one_length({name: len(array) for name, array in given.items() if array is not None})
        twin = Sketch(groups=self.groups, **self._options)
        cells = Sketch(groups=self._cells.groups, **self._coarse)
        for place, column in enumerate(units.T):
            own = Batch(score, label, np.full(len(score), place), self.groups, column / WEIGHT_UNIT, nulls)
            count(twin._core, own, NOTHING, 1)
        segments = segments_of(units / WEIGHT_UNIT)
        count(cells._core, Batch(score, label, segments, cells.groups, None, nulls), NOTHING, 1)
        products, sums = np.zeros_like(self._products), np.zeros_like(self._sums)
        for y in LABELS:
            chosen = np.full(len(score), y == UNLABELLED) if label is None else label == y
            mine = units[chosen]
            for start in range(0, len(mine), BLOCK):
                block = mine[start : start + BLOCK]
                products[y] += (block.T @ block).astype(np.int64).astype(object)
            by_group = [np.bincount(segments[chosen], column, len(cells.groups)) for column in mine.T]
            sums[y] = np.column_stack(by_group).astype(np.int64).astype(object)
        self._add(twin, cells, products, sums, len(score))
        return self

    def _add(self, mixed: Sketch, cells: Sketch, products: Objects, sums: Objects, rows: int) -> None:
        with self._lock:  # two threads may count at once and lose nothing
            self._mixed.merge(mixed)
            self._cells.merge(cells)
            self._products = self._products + products
            self._sums = self._sums + sums
            self._rows += rows

    def __getstate__(self) -> dict[str, object]:
        with self._lock:
            return {**self.__dict__, "_mixed": self._mixed.copy(), "_cells": self._cells.copy(), "_lock": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, _lock=Lock())

    def merge(self, other: ProxySketch) -> Self:
        """Add the rows of another one of the same groups and options."""
        if not isinstance(other, ProxySketch):
            raise refusal("proxy_merge", "other", value=type(other).__name__)
        if other.groups != self.groups:
            raise refusal("proxy_merge", "other", value=f"one of the groups {list(other.groups)!r}")
        with other._lock:
            taken = other._mixed.copy(), other._cells.copy(), other._products, other._sums, other._rows
        self._add(*taken)
        return self

    def unmixed(self) -> Sketch:
        """The sketch of the groups themselves, as the probabilities tell it: weighted, and for `solve` and `audit`.

        Cumulative counts of each group are unmixed, and made monotone. A row says less than one of known group, which
        the squared weights of the sketch allow for, see `effective_rows`. They do not allow for assumptions that fail.
        `Sketch.assumption` has the assumptions as text, also after saving and merging.

        Raises
        ------
        ValueError
            If probabilities hardly differ from row to row: they cannot tell the groups apart.

        Warns
        -----
        AssumptionWarning
            If the shares of rows in five score ranges are not linear in the probabilities, as the assumptions imply. If
            the assumptions hold, one in a hundred sketches warns. Not every failure is detected.
        """
        with self._lock:
            mixed, products, cells, sums = self._mixed.copy(), self._products, self._cells.copy(), self._sums
        if not mixed.weighted:  # every group is known
            return mixed
        content = sketch_format.read(mixed.to_bytes(), lambda *_: None)
        rows = _rows(content, products, ends=True)
        if not (content.fixed or _has_window(rows, content.window)):  # unmixing emptied a bin that defines the window
            rows = _rows(content, products, ends=False)
        unmixed = Sketch.from_bins(rows, groups=self.groups, **self._options)
        fit = _fit(cells, sums)
        unmixed._core.set_sections(((UNMIXED, True, CONTRADICTED if fit.contradicts else b"\0"),))
        if fit.contradicts:
            warn(refusal("assumption", "group_probabilities", value=(*fit, fit.chance)))
        return unmixed

    def __add__(self, other: object) -> ProxySketch:
        if not isinstance(other, ProxySketch):
            return NotImplemented
        return ProxySketch(self.groups, **self._options).merge(self).merge(other)

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self.groups[:5])) + (", ..." if len(self.groups) > 5 else "")
        return f"ProxySketch({self.n_rows} rows, {len(self.groups)} groups: {names})"


def _inverse(products: Objects, label: int) -> tuple[Ints, Floats]:
    """Groups that have probability among rows of a label, and the inverse of their sums of products."""
    sums = (products[label] / WEIGHT_UNIT**2).astype(np.float64)
    present = np.flatnonzero(sums.diagonal() > 0.0)
    sums = sums[np.ix_(present, present)]
    if len(present) and np.linalg.cond(sums) < 1e10:
        inverse = np.linalg.inv(sums)
        if np.abs(inverse).sum(axis=1).max() <= 1.0 + CLOSE:  # each has a row at least
            return present, inverse
    if len(present):
        raise refusal("proxy_weak", "group_probabilities", value=label)
    return present, sums


def _fit(cells: Sketch, sums: Objects) -> Fit:
    """How far the counts of all labels are from the assumptions of unmixing."""
    core, fits = cells._core, []
    below, above = core.below(), core.above()
    for label in LABELS:
        counts = np.column_stack([below[label], core.counts(label), above[label]])
        fits.append(fit_of(counts, (sums[label] / WEIGHT_UNIT).astype(np.float64)))
    return Fit(sum(fit.chi_square for fit in fits), sum(fit.degrees for fit in fits))  # labels are independent


def _in_order(given: ArrayLike, groups: tuple[Name, ...]) -> ArrayLike:
    """Columns of a frame that are named as the groups are, in the order of the groups; anything else as it is."""
    names = list(getattr(given, "columns", ()))
    if names == list(groups) or not set(names) & set(groups):
        return given
    if len(names) != len(groups) or set(names) != set(groups):
        raise refusal("proxy_columns", "group_probabilities", value=names, limit=groups)
    return np.column_stack([np.asarray(given)[:, names.index(name)] for name in groups])


def _units(given: ArrayLike, n_groups: int) -> Floats:
    """Probabilities as whole numbers of 2**-20 that add up to 2**20 in every row, or a refusal."""
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise refusal("proxy_type", "group_probabilities", value=type(given).__name__) from None
    if values.ndim != 2 or values.shape[1] != n_groups:
        raise refusal("proxy_shape", "group_probabilities", value=values.shape, limit=n_groups)
    wrong = ~((values >= 0.0) & (values <= 1.0)).all(axis=1)
    wrong |= ~(np.abs(values.sum(axis=1) - 1.0) <= CLOSE)
    if wrong.any():
        row = int(wrong.argmax())
        raise refusal("proxy_row", "group_probabilities", row, value=values[row].tolist())
    units = np.rint(values * WEIGHT_UNIT)
    rows, largest = np.arange(len(units)), units.argmax(axis=1)
    units[rows, largest] += WEIGHT_UNIT - units.sum(axis=1)
    return units


def _rows(content: Content, products: Objects, ends: bool) -> list[Row]:
    """Counts of the groups themselves, as `Sketch.from_bins` takes them; `ends` as in `_unmix`."""
    rows: list[Row] = []
    for label in LABELS:
        present, inverse = _inverse(products, label)
        if len(present):
            rows += _unmix(content, label, present.tolist(), inverse, ends)
    return rows


def _has_window(rows: list[Row], window: Window) -> bool:
    """Whether the sketch of these rows will have this window, and each row is on one side of zero."""
    scores = np.array([row[3:5] for row in rows], np.float64).reshape(-1, 2)
    scores = scores[np.isfinite(scores).all(axis=1)]
    apart = np.sign(scores[:, 0]) != np.sign(scores[:, 1])
    return not apart.any() and window_of(Extent.of(scores.ravel()), window.bins) == window


def _unmix(content: Content, label: int, present: list[int], inverse: Floats, ends: bool) -> list[Row]:
    """Counts of the groups of one label, from cells in which every row was counted with its probability.

    One score stands for the rows of a bin; with `ends` the first and the last bin also have the extreme scores.
    """
    cells = [content.cells[3 * k + label] for k in present]
    used = sorted({index for cell in cells for index, _, _ in cell.bins})
    place = {index: i for i, index in enumerate(used)}
    counts = np.zeros((len(cells), len(used) + 2))
    sums, rows = [0] * len(used), [0] * len(used)
    for k, cell in enumerate(cells):
        counts[k, 0], counts[k, -1] = cell.below, cell.above
        for index, n, total in cell.bins:
            i = place[index]
            counts[k, i + 1] = n
            sums[i] += total
            rows[i] += n
    points = _points(content.window, used, sums, rows)
    wholes = whole_scores(points).tolist() if used else []
    lows, highs = points.tolist(), points.tolist()
    if used and ends:
        lows[0] = min(lows[0], *(cell.smallest for cell in cells if cell.bins))
        highs[-1] = max(highs[-1], *(cell.largest for cell in cells if cell.bins))
    cumulative = np.cumsum(inverse @ (counts / WEIGHT_UNIT), axis=1)  # shares of each group at or before a bin
    out: list[Row] = []
    code = None if label == UNLABELLED else label
    for k, cell in enumerate(cells):
        name, total = content.names[present[k]], cell.total
        before = np.rint(np.clip(monotone(cumulative[k]), 0.0, 1.0) * total).astype(np.int64)
        before[-1] = total
        own = np.diff(before, prepend=0).tolist()
        beyond = [(own[0], -math.inf), (own[-1], math.inf)]
        parts: list[Row] = [(name, code, n, end, end, None, None) for n, end in beyond if n]
        inside = zip(own[1:-1], lows, highs, wholes, strict=True)
        parts += [(name, code, n, low, high, n * whole, SUM_UNIT) for n, low, high, whole in inside if n]
        out += _weighed(parts, [n for n in (own[0], own[-1], *own[1:-1]) if n], float(np.abs(inverse[k]).sum()))
    return out


def _weighed(parts: list[Row], counts: list[int], share: float) -> list[Row]:
    """Rows of a cell with squared weights that give it, and each of its parts, the right number of effective rows.

    `share` is one over the effective rows of the cell. The cell has as many rows as its probabilities add up to.
    """
    total = sum(counts)
    each = min(max(round(total * share), WEIGHT_UNIT), total)
    rows = max(-(-total // WEIGHT_UNIT), len(parts))
    numbers = [rows - len(parts) + 1, *[1] * (len(parts) - 1)]
    return [(*part, k, n * each) for part, k, n in zip(parts, numbers, counts, strict=True)]


def _points(window: Window, used: list[int], sums: list[int], rows: list[int]) -> Floats:
    """A score of each used bin: the mean of its rows, rounded as scores are."""
    means = [to_float(total // n, SUM_UNIT) for total, n in zip(sums, rows, strict=True)]
    points = round24(np.array(means, dtype=np.float64)) if used else np.zeros(0)
    edges, numbers = window.edges, window.numbers
    for i, index in enumerate(used):
        if window.grid.number(float(points[i])) != int(numbers[index]):
            points[i] = round24(np.array([0.5 * (edges[index] + edges[index + 1])]))[0]
    return points


def monotone(values: NDArray[np.float64]) -> Floats:
    """The nearest numbers, by squares, that never fall: neighbours in the wrong order are pooled."""
    means: list[float] = []
    sizes: list[int] = []
    for value in values.tolist():
        mean, size = value, 1
        while means and means[-1] > mean:
            last, n = means.pop(), sizes.pop()
            mean, size = (mean * size + last * n) / (size + n), size + n
        means.append(mean)
        sizes.append(size)
    return np.repeat(means, sizes)


# ----------------------------------------------------------------------------------------------------------- linearity

# Unmixing assumes that the shares of rows in a score range are linear in the probabilities of the groups; this is
# tested. `docs/reference/proxies.md` has the formulas, the level and the power.


def segments_of(probabilities: Floats) -> Ints:
    """Segment of each row: its likeliest group, and one of `LEVELS` levels of that group's probability."""
    likeliest = probabilities.argmax(axis=1)
    level = np.ceil(STEPS * probabilities.max(axis=1)).astype(np.int64) - STEPS // 2
    out: Ints = LEVELS * likeliest + np.clip(level, 0, LEVELS - 1)
    return out


class Fit(NamedTuple):
    """How far counts are from linear ones: a chi-square and its degrees of freedom."""

    chi_square: float
    degrees: int

    @property
    def chance(self) -> float:
        """The chance of a chi-square this large if the assumptions hold."""
        from scipy.special import chdtrc  # not at import: the package starts without scipy

        return float(chdtrc(self.degrees, self.chi_square)) if self.degrees else 1.0

    @property
    def contradicts(self) -> bool:
        """Whether the assumptions are rejected."""
        return self.chance < LEVEL


def fit_of(counts: Ints, sums: Floats) -> Fit:
    """Fit of one label's rows, from (segments, bins) counts and (segments, groups) sums of probabilities."""
    used = counts.sum(axis=1) > 0
    seen, rows = _in_ranges(counts[used]), counts[used].sum(axis=1).astype(np.float64)
    n_groups = sums.shape[1]
    if len(rows) <= n_groups or rows.sum() < FEWEST * n_groups or seen.shape[1] < 2:
        return Fit(0.0, 0)
    mean = sums[used] / rows[:, None]
    weighted = (rows[:, None] * mean).T
    more = np.hstack([mean**power for power in POWERS])
    solved = np.linalg.lstsq(weighted @ mean, np.hstack([weighted @ more, mean.T @ seen]), rcond=None)[0]
    share = np.clip(mean @ solved[:, more.shape[1] :], 1e-3, None)
    share /= share.sum(axis=1, keepdims=True)
    contrasts = _contrasts(more - mean @ solved[:, : more.shape[1]], rows)
    found = (contrasts.T @ seen)[:, :-1].ravel()
    if not len(found):
        return Fit(0.0, 0)
    share = share[:, :-1]
    # each row falls into one range: variances share (1 - share), covariances -share share
    each = rows[:, None, None] * (
        np.einsum("sa,ab->sab", share, np.eye(share.shape[1])) - share[:, :, None] * share[:, None, :]
    )
    covariance = np.einsum("sc,sab,sd->cadb", contrasts, each, contrasts).reshape(len(found), len(found))
    return Fit(float(found @ np.linalg.solve(covariance, found)), len(found))


def _in_ranges(counts: Ints) -> Floats:
    """The same rows in a few ranges of neighbouring bins, with about equal numbers of rows."""
    below = np.cumsum(counts.sum(axis=0))
    ends = np.unique(np.searchsorted(below, below[-1] * np.arange(1, RANGES + 1) / RANGES)) + 1
    starts = np.concatenate([[0], ends[:-1]])
    return np.add.reduceat(counts, starts, axis=1).astype(np.float64)


def _contrasts(left: Floats, rows: Floats) -> Floats:
    """Orthogonal contrasts of the residuals `left`, without those that are nearly zero or depend on few rows."""
    _, sizes, turned = np.linalg.svd(np.sqrt(rows)[:, None] * left, full_matrices=False)
    turned = turned[sizes > 1e-6 * math.sqrt(rows.sum())]
    out: Floats = left @ turned.T
    squares = rows[:, None] * out**2
    worth = squares.sum(axis=0) ** 2 / (squares * out**2).sum(axis=0)
    return out[:, worth >= LEAST_WORTH]
