"""The grid: which bin a score falls into, at which level, and where the edges are.

A bin's width depends on the size of its scores: linear far from zero, log-linear near it, linear again next to it. With
`e = floor(log2 |x|)` it is `2**max(level - octaves, min(level, e - per))`: a whole level, a share `2**-per` of the
octave, and never less than the smallest. Bins are numbered outward from zero, 0, 1, ... for scores at or above it and
-1, -2, ... below. Everything here is exact; `docs/sketch_format.md` has the rules.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple, Self, SupportsFloat

import numpy as np

from gstar_fast._base.arrays import Floats, Ints, Objects

LOWEST_LEVEL: Final = -1074
HIGHEST_LEVEL: Final = 1000
LARGEST_SCORE: Final = 2.0**1000
LARGEST_BIN: Final = 2**53  # numbers of levels up to here are exact in float64, so every edge is a float64
MOST_OCTAVES: Final = 40

SUM_UNIT: Final = -1097  # sums of rounded scores are whole numbers of 2**-1097


class Extent(NamedTuple):
    """Where scores lie: the largest and smallest size of those on each side of zero (0.0, inf: none), and zero."""

    below: tuple[float, float] = (0.0, math.inf)  # of -x, for x < 0
    zero: bool = False
    above: tuple[float, float] = (0.0, math.inf)  # of x, for x > 0

    @classmethod
    def of(cls, x: Floats) -> Self:
        """The extent of finite scores."""
        sides = (-x[x < 0], x[x > 0])
        below, above = ((float(side.max()), float(side.min())) if len(side) else (0.0, math.inf) for side in sides)
        return cls(below, bool((x == 0).any()), above)

    @classmethod
    def of_scores(cls, scores: Iterable[float]) -> Self:
        """The extent of a few finite scores."""
        return cls.of(np.fromiter(scores, np.float64))

    def __or__(self, other: Self) -> Self:
        """The extent of the scores of both."""
        return type(self)(
            (max(self.below[0], other.below[0]), min(self.below[1], other.below[1])),
            self.zero or other.zero,
            (max(self.above[0], other.above[0]), min(self.above[1], other.above[1])),
        )

    @property
    def empty(self) -> bool:
        """Whether there is no score."""
        return not (self.below[0] or self.zero or self.above[0])

    @property
    def ends(self) -> list[float]:
        """The scores that it tells: the furthest and nearest on each side of zero, and zero."""
        below, above = [-size for size in self.below if self.below[0]], [size for size in self.above if self.above[0]]
        return [*below, *[0.0] * self.zero, *above]

    @property
    def overlap(self) -> bool:
        """Whether some size lies between those of scores on either side of zero."""
        return self.below[1] <= self.above[0] and self.above[1] <= self.below[0]

    @property
    def folded(self) -> Self:
        """All sizes on one side."""
        sizes = (max(self.below[0], self.above[0]), min(self.below[1], self.above[1]))
        return type(self)((0.0, math.inf), self.zero, sizes)


def scaled(x: float, exponent: int) -> tuple[int, int]:
    """Return `divmod(x, 2**exponent)` as whole numbers: the floor, and 1 if something is left over."""
    numerator, denominator = x.as_integer_ratio()
    if exponent >= 0:
        quotient, rest = divmod(numerator, denominator << exponent)
    else:
        quotient, rest = divmod(numerator << -exponent, denominator)
    return quotient, int(rest != 0)


def shape(bins: int) -> tuple[int, int]:
    """How finely so many bins divide: log2 of the bins an octave where there is room, and the octaves below linear."""
    return max(bins.bit_length() - 7, 0), min(MOST_OCTAVES, bins // 4 + 1)


@dataclass(frozen=True)
class Grid:
    """All edges there are: bins of `2**level` far from zero, `2**per` in each of `octaves` below that, then linear.

    `per = None` is the linear grid: bins of `2**level` everywhere.
    """

    level: int
    per: int | None = None
    octaves: int = 0

    @property
    def least(self) -> int:
        """log2 of the width of the smallest bins."""
        return self.level - self.octaves

    def width_at(self, e: int) -> int:
        """log2 of the width of the bins in `[2**e, 2**(e + 1))`."""
        return self.level if self.per is None else max(self.least, min(self.level, e - self.per))

    def number(self, x: float) -> int:
        """The bin of one score, exactly."""
        if x == 0:
            return 0
        width = self.width_at(math.frexp(x)[1] - 1)
        whole, rest = scaled(abs(x), width)
        size = whole + self._before(width)
        return size if x > 0 else -size - rest  # bins are [lower, upper): below zero an edge is the end of its bin

    def _before(self, width: int) -> int:
        """How far numbers run ahead of multiples of the width, since bins nearer to zero are smaller."""
        return 0 if self.per is None else (width - self.least) << self.per

    def edge(self, k: int) -> tuple[int, int]:
        """The lower edge of bin k as a whole number of a power of two: `j, exponent`."""
        octave = 0 if self.per is None else max(0, min((abs(k) >> self.per) - 1, self.octaves))
        before = self._before(self.least + octave)
        return (k - before if k > 0 else k + before), self.least + octave

    def unit(self, k: int) -> int:
        """log2 of what sums of bin k's offsets are counted in: the spacing of 24-bit numbers there, or its width.

        The two bins that touch zero, 0 and -1, hold scores of every size and have none.
        """
        j, width = self.edge(k if k > 0 else -k - 1)  # the edge nearer to zero
        return min(width, width + j.bit_length() - 24)

    def numbers(self, x: Floats) -> Ints:
        """The bin of every score of an array."""
        if self.per is None:
            width = np.full(x.shape, self.level)
        else:
            width = np.clip(np.frexp(x)[1] - 1 - self.per, self.least, self.level)
            width[x == 0] = self.least
        whole = np.ldexp(np.abs(x), -width)
        # what is left of a tiny score may vanish, yet a score below zero is never in bin 0
        k = np.where(x < 0, -np.maximum(np.ceil(whole), 1.0), np.floor(whole)).astype(np.int64)
        before = 0 if self.per is None else np.where(x < 0, -1, 1) * ((width - self.least) << self.per)
        numbers: Ints = k + before
        return numbers

    def edges(self, k: Ints) -> Floats:
        """The lower edge of every bin number of an array."""
        octave = 0 if self.per is None else np.clip((np.abs(k) >> self.per) - 1, 0, self.octaves)
        before = 0 if self.per is None else np.sign(k) * (octave << self.per)
        edges: Floats = np.ldexp((k - before).astype(np.float64), self.least + octave)
        return edges


@dataclass(frozen=True)
class Window:
    """Which bins a sketch has: up to three runs of neighbours, and between two runs one bin, always empty, for the gap.

    The last run goes on until there are `bins` bins.
    """

    grid: Grid
    runs: tuple[tuple[int, int], ...]  # first and last bin number of each, ascending
    bins: int

    @cached_property
    def starts(self) -> tuple[tuple[int, int], ...]:
        """Index and bin number at which each run starts."""
        at, out = 0, []
        for first, last in self.runs:
            out.append((at, first))
            at += last - first + 2
        return tuple(out)

    @cached_property
    def gaps(self) -> tuple[int, ...]:
        """Which of our bins are gaps between runs."""
        return tuple(at - 1 for at, _ in self.starts[1:])

    def index(self, k: int) -> int:
        """Which of our bins is bin number k, which lies in a run."""
        at, first = next(start for start in reversed(self.starts) if start[1] <= k)
        return at + k - first

    def indices(self, k: Ints) -> Ints:
        """The same for an array."""
        at, first = np.array(self.starts, np.int64).T
        run = np.searchsorted(first, k, side="right") - 1
        indices: Ints = k + (at - first)[run]
        return indices

    @property
    def numbers(self) -> Ints:
        """The bin number of each of our bins (of the lower edge, for a gap), and of the end of the last."""
        out = np.arange(self.bins + 1)
        for at, first in self.starts:
            out[at:] = np.arange(first, first + self.bins + 1 - at)
        return out

    @property
    def edges(self) -> Floats:
        """All `bins + 1` edges, ascending."""
        return self.grid.edges(self.numbers)


def _least_level(lowest: int, fits: Callable[[int], bool]) -> int:
    levels = range(lowest, HIGHEST_LEVEL + 64)  # a level that fits is followed only by levels that fit
    return levels[bisect_left(levels, True, key=fits)]


def _runs(grid: Grid, extent: Extent) -> tuple[tuple[int, int], ...]:
    """The bins from the furthest to the nearest score on each side of zero, and zero's; runs that touch are one."""
    runs = []
    if extent.below[0]:
        runs.append((grid.number(-extent.below[0]), grid.number(-extent.below[1])))
    if extent.zero:
        runs.append((0, 0))
    if extent.above[0]:
        runs.append((grid.number(extent.above[1]), grid.number(extent.above[0])))
    out: list[tuple[int, int]] = []
    for first, last in runs:
        if out and first <= out[-1][1] + 1:
            first, last = out.pop()[0], max(last, first)
        out.append((first, last))
    return tuple(out)


def _size(runs: tuple[tuple[int, int], ...]) -> int:
    """Bins that runs and the gaps between them take."""
    return sum(last - first + 2 for first, last in runs) - 1


def window_at(extent: Extent, bins: int, level: int) -> Window | None:
    """The window of this level with the scores of this extent, which is not empty; None if they do not fit."""
    most_per, octaves = shape(bins)
    if scaled(max(extent.below[0], extent.above[0]), level)[0] + bins > LARGEST_BIN:
        return None
    grid = Grid(level, max(most_per - 1, 0) if extent.overlap else most_per, octaves)
    runs = _runs(grid, extent)
    # before sides overlapped, each had `most_per`: never be finer than then (4: what gaps and zero may add)
    before = _size(_runs(replace(grid, per=most_per), extent.folded)) + 4 if extent.overlap else 0
    return Window(grid, runs, bins) if max(_size(runs), before) <= bins else None


def window_of(extent: Extent, bins: int, lowest: int = LOWEST_LEVEL) -> Window:
    """The finest window that holds scores of this extent; `lowest` is that of a part of them, if known."""
    most_per, octaves = shape(bins)
    if extent.empty:
        return Window(Grid(0, most_per, octaves), ((0, 0),), bins)
    lowest = max(lowest, LOWEST_LEVEL + octaves)
    window = window_at(extent, bins, lowest)
    if window is None:
        window = window_at(extent, bins, _least_level(lowest + 1, lambda level: bool(window_at(extent, bins, level))))
    assert window is not None
    return window


def linear_window(level: int, first: int, bins: int) -> Window:
    """Equal bins of `2**level`, the first one number `first`: what `range=` gives."""
    return Window(Grid(level), ((first, first),), bins)


def window_of_range(lo: float, hi: float, bins: int) -> tuple[int, int]:
    """Level and first bin number of the finest linear window that covers `[lo, hi)`."""

    def fits(level: int) -> bool:
        first = scaled(lo, level)[0]
        last, rest = scaled(hi, level)
        end = last + rest
        return end - first <= bins and max(abs(first), abs(end)) + bins <= LARGEST_BIN

    level = _least_level(LOWEST_LEVEL, fits)
    return level, scaled(lo, level)[0]


def round24(x: Floats) -> Floats:
    """Round to 24 significant bits, ties to even; the rule that makes sums independent of the level."""
    u = np.ascontiguousarray(x).view(np.uint64)
    rounded = u + np.uint64(0x0FFFFFFF) + ((u >> np.uint64(29)) & np.uint64(1))
    return (rounded & np.uint64(0xFFFFFFFFE0000000)).view(np.float64)


def whole_scores(x: Floats) -> Objects:
    """Each score as a whole number of 2**SUM_UNIT; `x` is already rounded."""
    mantissa, exponent = np.frexp(x)
    m = np.ldexp(mantissa, 24).astype(np.int64).astype(object)  # at most 24 bits, exact
    e = (exponent - 24).astype(object)  # at least -1068, since a rounded subnormal is a multiple of 2**-1045
    scores: Objects = m << (e - SUM_UNIT)
    return scores


def to_float(number: int, unit: int) -> float:
    """The float64 nearest to `number * 2**unit`, ties to even; infinite where it is too large for one."""
    try:
        return number / (1 << -unit) if unit < 0 else float(number << unit)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def as_float(value: SupportsFloat) -> float:
    """`float(value)`; OverflowError where it would make a finite value infinite, as it does with a Decimal."""
    number = float(value)
    if math.isinf(number) and value != number:
        raise OverflowError("too large for a float")
    return number


def memory_of(n_groups: int, bins: int, weighted: bool) -> int:
    """Bytes that this many groups take: counts, sums and squared weights of two cells' bins, and the wide sums."""
    return n_groups * (bins * (96 if weighted else 64) + 4096)
