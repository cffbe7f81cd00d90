"""Cell: what a sketch knows about the scores of one label and group, as plain arrays for the density room."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gstar_fast._base.names import Name, clean_name
from gstar_fast._sketch.cell import Moments, SketchCell
from gstar_fast._sketch.sketch import Sketch

Array = NDArray[np.float64]

VISIBLE = 0.01  # share of a cell's rows from which a tie in the middle of a bin is looked for
CLOSE = 2.0**-20  # part of a bin that counts as nothing
TINY = 1e-290  # a variance below has lost its digits


class NoDensityError(ValueError):
    """A cell from which a density of the kind asked for cannot be made."""


class Cell:
    """Counts and mean scores of one cell, and what follows from them.

    Parameters
    ----------
    label, group
        The cell.
    own : SketchCell
        Its bins, copied from the sketch. Moments are asked for once, and only where they are needed.
    """

    def __init__(self, label: int, group: Name, own: SketchCell) -> None:
        self.label, self.group = label, group
        self.first, self.width = own.first, own.width
        self.counts, self.below, self.above = own.counts, own.below, own.above
        self.smallest, self.largest = own.smallest, own.largest
        self._own = own
        self.used = np.flatnonzero(own.counts)
        self.n = own.counts[self.used].astype(np.float64)
        self.points = own.means[self.used]
        self.inside = float(self.n.sum())

    def __str__(self) -> str:
        return f"label {self.label}, group {self.group!r}"

    @property
    def rows(self) -> float:
        """Rows of the cell, those beyond the window included."""
        return self.inside + float(self.below) + float(self.above)

    @property
    def bins(self) -> int:
        """Number of bins."""
        return len(self.counts)

    @property
    def last(self) -> float:
        """Upper edge of the last bin."""
        return self.first + self.width * self.bins

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
    def deviation(self) -> float:
        """Standard deviation of the rows inside the window."""
        return float(np.sqrt(self.variance))

    @cached_property
    def cdf_at_edges(self) -> Array:
        """P(X < edge) at the bins + 1 edges: each one a single division of exact counts."""
        before = np.concatenate((np.zeros(1, self.counts.dtype), np.cumsum(self.counts))) + self.below
        return np.asarray(before / (before[-1] + self.above), dtype=np.float64)

    @cached_property
    def _limits(self) -> tuple[Array, Array]:
        """Between what the rows of each used bin lie."""
        lower = self.first + self.width * self.used
        return np.maximum(lower, self.smallest), np.minimum(lower + self.width, self.largest)

    @cached_property
    def _within(self) -> float:
        """Sum over the rows of the squared distance from the mean of their bin, in units of the bin's width."""
        if not TINY < self.variance < math.inf and self.smallest < self.largest:
            return self.inside / 12.0  # squares of such scores are no numbers any more: rows are taken to lie evenly
        mean = float(self.weights @ self.points)
        between = float(self.weights @ ((self.points - mean) / self.width) ** 2)
        whole = self.variance / self.width / self.width
        noise = 8.0 * np.finfo(float).eps * whole
        return self.inside * max(whole - between - noise, 0.0)

    @cached_property
    def atoms(self) -> Array:
        """The score that all rows of a bin share, as far as the sketch can tell; NaN for other bins. Shape (bins,).

        A bin of two rows or more is an atom where its mean is an edge, or the smallest or largest score of the cell;
        where the squared distances inside all bins together are too small for its rows to differ; and where it towers
        over its neighbours while those squared distances are no larger than the other bins explain.
        """
        out = np.full(self.bins, np.nan)
        if not self.used.size:
            return out
        h = self.width
        lower = self.first + h * self.used
        near = CLOSE * h
        rounding = 2.0**-23 * np.abs(self.points)  # the sketch keeps 24 bits of a score
        shared = (self.points - lower <= near) | (lower + h - self.points <= near)
        shared |= np.abs(self.points - self.smallest) <= near + rounding
        shared |= np.abs(self.points - self.largest) <= near + rounding
        shared |= self._within <= self.n / 64.0**2
        several = self.n >= 2
        spike = several & ~shared & (self.n >= VISIBLE * self.inside)
        if spike.any():
            padded = np.zeros(self.bins + 4)
            padded[self.used + 2] = self.n
            around = np.max([padded[self.used + k] for k in (0, 1, 3, 4)], axis=0)
            spike &= around * 16.0 <= self.n
            even = self.n / 12.0  # what a bin adds when its rows lie evenly
            others = float(even[several & ~shared & ~spike].sum())
            if self._within <= others + 0.25 * float(even[spike].sum()):
                shared |= spike
        chosen = shared & several
        out[self.used[chosen]] = self.points[chosen]
        return out

    @cached_property
    def atom_shares(self) -> Array:
        """Shares of the cell's rows inside the window that sit on atoms, largest first."""
        shares = self.counts[~np.isnan(self.atoms)] / self.inside
        return np.sort(np.asarray(shares, dtype=np.float64))[::-1]

    @cached_property
    def sample(self) -> tuple[Array, Array]:
        """Weighted points that stand for the rows: ascending, weights of sum 1.

        Two for each bin, placed so that the bin keeps its mean and all bins together keep the variance inside them; for
        rows that lie evenly this is Gauss' rule. A likelihood summed over these points differs from that of the rows
        by the fourth power of the bin width.
        """
        lower, upper = self._limits
        left = np.maximum(self.points - lower, 0.0) / self.width
        right = np.maximum(upper - self.points, 0.0) / self.width
        tied = (self.n < 2) | ~np.isnan(self.atoms[self.used])
        room = float((self.n * left * right)[~tied].sum())
        part = np.sqrt(min(self._within / room, 1.0)) if room > 0.0 else 0.0
        wide = ~tied & (left > 0.0) & (right > 0.0) & (part > 0.0)
        a, b = part * left[wide], part * right[wide]
        center, w = self.points[wide], self.weights[wide]
        points = np.concatenate((self.points[~wide], center - a * self.width, center + b * self.width))
        weights = np.concatenate((self.weights[~wide], w * b / (a + b), w * a / (a + b)))
        order = np.argsort(points, kind="stable")
        return points[order], weights[order]


def cell_of(sketch: Sketch, label: int, group: Name) -> Cell:
    """Return one cell of the sketch, or raise."""
    if label not in (0, 1):
        raise ValueError(f"label must be 0 or 1, got {label!r}")
    return _cell(sketch, int(label), clean_name(group))


def cells_of(sketch: Sketch) -> Iterator[Cell]:
    """Yield every cell that has rows: label 0 of all groups, then label 1."""
    frozen = sketch.copy()
    cells = (_cell(frozen, label, group) for label in (0, 1) for group in frozen.groups)
    return (cell for cell in cells if cell.rows)


def _cell(sketch: Sketch, label: int, group: Name) -> Cell:
    own = sketch._cell(label, group)
    return Cell(label, group, own)
