"""Windows as the compiled loops take them: with room for new extremes, as plain numbers, and the way between two."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gstar_fast._backends.numba import loops
from gstar_fast._base.arrays import Ints
from gstar_fast._base.grid import SUM_UNIT, Extent, Grid, Window, window_at

SMALLEST = math.ulp(0.0)
EXACT = 2**24  # sizes of scores in units of their bin's width up to which rounded scores have an offset inside it


def with_room(extent: Extent, window: Window) -> tuple[Window, Extent]:
    """A window of the same grid that holds more than this extent, and what it holds."""
    first, last = window.starts[-1]
    spare = window.bins - 1 - first - window.runs[-1][1] + last
    share = 4  # of the bins to spare: scores may come nearer to zero, or further from it, on either side
    while spare >= share:
        more = _wider(extent, window.grid, spare // share)
        found = window_at(more, window.bins, window.grid.level)
        if found is not None and found.grid == window.grid:
            return found, more
        share *= 8
    return window, extent


def _wider(extent: Extent, grid: Grid, bins: int) -> Extent:
    below, above = (_wider_side(*side, grid, bins) for side in (extent.below, extent.above))
    return Extent(below, True, above)


def _wider_side(furthest: float, nearest: float, grid: Grid, bins: int) -> tuple[float, float]:
    if not furthest:
        return furthest, nearest
    far, near = grid.number(furthest) + bins, grid.number(nearest) - bins
    return math.ldexp(*grid.edge(far)), math.ldexp(*grid.edge(near)) if near > 0 else SMALLEST


def is_near(window: Window) -> bool:
    """Whether offsets are from 0 to 2**23 in their bin's unit, and only the bins at zero have subnormal scores."""
    ends = window.runs[0][0], window.runs[-1][1]
    if window.grid.per is None:  # the only run goes on to the end
        ends = ends[0], ends[0] + window.bins
    return window.grid.least >= -1022 and all(abs(window.grid.edge(k)[0]) < EXACT for k in ends)


def plain(window: Window) -> Ints:
    """The numbers that the loops place rows with."""
    grid, near = window.grid, is_near(window)
    at, first = window.starts[0]
    end, last = window.starts[-1]
    zeros = [at - first for (at, first), (_, to) in zip(window.starts, window.runs, strict=True) if first <= 0 <= to]
    if grid.per is None:
        octaves = 0, 0, 0, grid.level + 1075
        zeros = [-first] if 0 <= -first < window.bins else []
    else:
        octaves = grid.least + grid.per + 1023, grid.level + grid.per + 1023, grid.per, 52 - grid.per
    zero = zeros[0] if zeros else loops.NOWHERE
    return np.array([near, *octaves, at - first, end - last, zero, grid.least + 1023 << 52 if near else 0], np.int64)


class Route(NamedTuple):
    """How the sums of a window's bins are added to another's; see `loops.pour`."""

    used: Ints
    places: Ints
    sides: Ints
    starts: Ints
    units: Ints
    shifts: Ints


def route(old: Window, new: Window, used: Ints) -> Route:
    """The way of some bins of a window to one that is not finer."""
    k = old.numbers[used]
    if old.grid == new.grid:
        nothing = np.zeros_like(k)
        return Route(used, new.indices(k), np.full_like(k, 2), nothing, nothing, nothing)
    to = new.grid.numbers(old.grid.edges(k))
    units, joined = units_of(old.grid, k), units_of(new.grid, to)
    starts, at_zero = _edges_in(old.grid, k, units), (to == 0) | (to == -1)
    starts -= np.where(at_zero, starts * ((k == 0) | (k == -1)), _edges_in(new.grid, to, units))
    shifts = np.where(at_zero, 0, joined - units)
    return Route(used, new.indices(to), np.where(at_zero, to + 1, 2), starts, units - SUM_UNIT, shifts)


def units_of(grid: Grid, k: Ints) -> Ints:
    """`Grid.unit` of every bin number."""
    bits, width = bits_at(grid, k)
    units: Ints = np.minimum(width, width + bits - 24)
    return units


def bits_at(grid: Grid, k: Ints) -> tuple[Ints, Ints]:
    """Of every bin number, the bits of the edge nearer to zero in widths of the bin there, and log2 of the width."""
    j, width = _edge(grid, np.where(k > 0, k, -k - 1))
    return np.frexp(j.astype(np.float64))[1], width


def lower_edges(grid: Grid, k: Ints) -> Ints:
    """The lower edge of every bin number in the bin's unit."""
    return _edges_in(grid, k, units_of(grid, k))


def _edges_in(grid: Grid, k: Ints, units: Ints) -> Ints:
    j, width = _edge(grid, k)
    edges: Ints = j << np.clip(width - units, 0, 62)
    return edges


def _edge(grid: Grid, k: Ints) -> tuple[Ints, Ints]:
    """`Grid.edge` of every bin number."""
    if grid.per is None:
        return k, np.full(k.shape, grid.level)
    octave = np.clip((np.abs(k) >> grid.per) - 1, 0, grid.octaves)
    return k - np.sign(k) * (octave << grid.per), grid.least + octave


def bits_of(extent: Extent) -> list[int]:
    """An extent as the loops compare it."""
    sizes = np.array([*extent.below, *extent.above]).view(np.int64).tolist()
    return [*sizes[:2], int(extent.zero), *sizes[2:]]


def extent_of(bits: Ints) -> Extent:
    """The extent that has these bits."""
    below_far, below_near, _, above_far, above_near = bits.view(np.float64).tolist()
    return Extent((below_far, below_near), bool(bits[loops.ORIGIN]), (above_far, above_near))
