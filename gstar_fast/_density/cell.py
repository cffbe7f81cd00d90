"""Cell: what a sketch knows about the scores of one label and group, as plain arrays for the density room."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gstar_fast._base.grid import round24
from gstar_fast._base.names import Name, clean_name
from gstar_fast._base.refusals.place import bad_option
from gstar_fast._sketch.cell import ALONE, Moments, SketchCell, spacing24
from gstar_fast._sketch.sketch import Sketch
from gstar_fast.errors import InputValueError

Array = NDArray[np.float64]

VISIBLE = 0.01  # share of a cell's rows from which a tie in the middle of a bin is looked for
CLOSE = 2.0**-20  # part of a bin that counts as nothing
FINE = 64.0  # scores of 24 bits that a bin must hold for its mean to say whether they are one


class NoDensityError(InputValueError):
    """A cell from which a density of the kind asked for cannot be made."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="no_density", argument="sketch")


class Cell:
    """Counts and mean scores of one cell, and what follows from them; `own` has its bins, copied from the sketch."""

    def __init__(self, label: int, group: Name, own: SketchCell) -> None:
        self.label, self.group = label, group
        self.edges: Array = own.edges
        self.counts, self.below, self.above = own.counts, own.below, own.above
        self.smallest, self.largest, self.has_means = own.smallest, own.largest, own.has_means
        self._own, self._bins = own, own.used
        self.used, self.points = self._bins.places, self._bins.points
        self.n = own.counts[self.used].astype(np.float64)
        self.inside = float(self.n.sum())
        self.each = own.each[self.used].astype(np.float64)  # effective rows of each used bin
        self.n_rows = own.n_rows

    def __str__(self) -> str:
        return f"label {self.label}, group {self.group!r}"

    @property
    def rows(self) -> float:
        """Rows of the cell, those beyond the window included."""
        return self.inside + float(self.below) + float(self.above)

    @property
    def effective(self) -> float:
        """Effective rows inside the window."""
        return self.inside**2 / float(np.sum(self.n**2 / self.each)) if self._own.weighted else self.inside

    @property
    def bins(self) -> int:
        """Number of bins."""
        return len(self.counts)

    @cached_property
    def widths(self) -> Array:
        """Width of each used bin."""
        return self.edges[self.used + 1] - self.edges[self.used]

    @property
    def typical_width(self) -> float:
        """Width of the bin that holds the median of the rows inside the window."""
        return float(self.widths[np.searchsorted(np.cumsum(self.n), self.inside / 2)])

    @cached_property
    def weights(self) -> Array:
        """Share of each used bin among the rows inside the window: the paper's w_b."""
        return self.n / self.inside

    @cached_property
    def _moments(self) -> Moments:
        with np.errstate(over="ignore", invalid="ignore"):  # powers of huge scores; what matters here is not hurt
            return self._own.moments()

    @property
    def variance(self) -> float:
        """Variance of the rows inside the window."""
        return self._moments.variance

    @cached_property
    def mean(self) -> float:
        """Mean of the rows inside the window, exact beside their spread also where that is in the last digits."""
        points, weights = self.sample
        return float(points[0] + weights @ (points - points[0]))

    @cached_property
    def deviation(self) -> float:
        """Standard deviation of the rows inside the window."""
        return float(np.sqrt(self.variance))

    @property
    def spread_words(self) -> str:
        """What is wrong with a deviation that is 0 or no number."""
        if self.smallest == self.largest:
            return f"has only one score ({self.smallest:g})"
        return f"has scores too {'far apart' if self.deviation else 'close together'}"

    @cached_property
    def cdf_at_edges(self) -> Array:
        """P(X < edge) at the bins + 1 edges: each one a single division of exact counts."""
        before = np.concatenate((np.zeros(1, self.counts.dtype), np.cumsum(self.counts))) + self.below
        return np.asarray(before / (before[-1] + self.above), dtype=np.float64)

    @cached_property
    def atoms(self) -> Array:
        """The score that all rows of a bin share, as far as the sketch can tell; NaN for other bins. Shape (bins,).

        A bin of two rows or more is an atom where it has room for one score only; where its mean is an edge, or the
        smallest or largest score of the cell; where it towers over its neighbours; and where its mean is a number of
        24 bits, as a score is, if more bins have such a mean than chance explains: of n rows that differ, one in n.
        """
        out = np.full(self.bins, np.nan)
        if not self.used.size:
            return out
        lower, h, x = self.edges[self.used], self.widths, self.points
        with np.errstate(over="ignore"):
            room = np.minimum(h, self.largest - self.smallest)  # a bin may be far wider than the scores of the cell
            near, numbers = CLOSE * room, h / spacing24(x)  # of 24 bits in a bin; sums tell them apart if some are
        several, alike = self.each > ALONE, h <= np.spacing(np.abs(lower))
        if not self.has_means:
            out[self.used[several & alike]] = lower[several & alike]
            return out
        shared = (x - lower <= near) | (lower + h - x <= near)
        for end in (self.smallest, self.largest):
            shared |= np.abs(x - end) <= near + np.abs(round24(np.array(end)) - end)
        shared = (shared & (numbers >= 2.0)) | alike
        unsure = several & ~shared & (numbers >= 2.0)
        for place in (self.used[0], self.used[-1]):  # where rows pile up at an end they differ, or all are that score
            unsure &= np.abs(self.used - place) > 1
        rare = unsure & (numbers >= np.maximum(FINE, 2.0 * np.sqrt(self.each)))
        exact = rare & (x == round24(x))
        by_chance = float(np.sum(1.0 / self.each[rare]))
        if np.count_nonzero(exact) > 3.0 * by_chance + 0.9:
            shared |= exact
        heights = np.zeros(self.bins + 4)
        heights[self.used + 2] = height = self.weights / (h / h.max())
        around = np.max([heights[self.used + k] for k in (0, 1, 3, 4)], axis=0)
        shared |= unsure & (self.n >= VISIBLE * self.inside) & (around * 16.0 <= height)
        chosen = shared & several
        out[self.used[chosen]] = np.where(alike, lower, x)[chosen]
        return out

    @cached_property
    def atom_shares(self) -> Array:
        """Shares of the cell's rows inside the window that sit on atoms, largest first."""
        shares = self.counts[~np.isnan(self.atoms)] / self.inside
        return np.sort(np.asarray(shares, dtype=np.float64))[::-1]

    @cached_property
    def sample(self) -> tuple[Array, Array]:
        """Weighted points that stand for the rows: ascending, weights of sum 1.

        Two for each bin, placed so that the bin keeps its mean, and a variance as of rows that lie evenly, for which
        this is Gauss' rule. A likelihood summed over these points differs from that of the rows by the fourth power of
        the bin width.
        """
        left, right = self.points - self._bins.lower, self._bins.upper - self.points
        deviations = np.where(np.isnan(self.atoms[self.used]), self._bins.deviations, 0.0)
        wide = deviations > 0.0
        center, w, left, right = self.points[wide], self.weights[wide], left[wide], right[wide]
        part = deviations[wide] / (np.sqrt(left) * np.sqrt(right))
        points = np.concatenate((self.points[~wide], center - part * left, center + part * right))
        weights = np.concatenate((self.weights[~wide], w * (right / (left + right)), w * (left / (left + right))))
        order = np.argsort(points, kind="stable")
        return points[order], weights[order]

    def end(self, mirrored: bool) -> tuple[float, float]:
        """Smallest score (mirrored: the largest), and how far rows next to it may lie anywhere.

        That is the edge beyond which bins are narrower than their distance from it; or the score itself, where most
        rows there share it, and a density must have no pole.
        """
        lower, upper, widths, n = self.edges[self.used], self.edges[self.used + 1], self.widths, self.n
        tied = ~np.isnan(self.atoms[self.used])
        score = self.largest if mirrored else self.smallest
        near, far = (upper[::-1], lower[::-1]) if mirrored else (lower, upper)
        if mirrored:
            widths, n, tied = widths[::-1], n[::-1], tied[::-1]
        within = int(np.argmax(np.append(np.abs(near - score) >= widths, True)[1:])) + 1
        if 2.0 * float(n[:within][tied[:within]].sum()) > float(n[:within].sum()):
            return score, score
        return score, float(far[within - 1])


def cell_of(sketch: Sketch, label: int, group: Name) -> Cell:
    """Return one cell of the sketch, or raise."""
    if label not in (0, 1):
        raise bad_option("label", f"label must be 0 or 1, got {label!r}")
    name = clean_name(group)
    return Cell(int(label), name, sketch._cell(int(label), name))


def cells_of(sketch: Sketch) -> Iterator[Cell]:
    """Yield every cell that has rows: label 0 of all groups, then label 1."""
    frozen = sketch.copy()
    cells = (Cell(label, group, frozen._cell(label, group)) for label in (0, 1) for group in frozen.groups)
    return (cell for cell in cells if cell.rows)
