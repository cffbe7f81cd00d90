"""What the figures show, as plain numbers: curves, points, and the few groups that stand for many.

The page and the figures for notebooks both draw what is prepared here, so they cannot disagree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gstar_fast._base.names import Name
from gstar_fast._criteria import CRITERION, Form
from gstar_fast._density import density as _density
from gstar_fast._density.cell import Cell, NoDensityError, cell_of, cells_of
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._solver.answer.result import Result

if TYPE_CHECKING:
    from gstar_fast._audit.audit import Audit
    from gstar_fast._solver.answer.points import Frontier

Array = NDArray[np.float64]

NARROWEST = 1e-300  # what is narrower is drawn as if it were so wide: one over it is a number
HISTOGRAM_BARS = 64
CURVE_POINTS = 161
ROC_POINTS = 200
FRONTIER_POINTS = 150
MIXED_POINTS = 50  # between the corners of a randomised frontier
FRONTIER_NUMBERS = 5_000  # what the slider of a report may hold: fewer points where there are many groups
MOST_FEATURED = 8  # panels and curves that a person can still tell apart
TAIL = 0.001  # share of a cell's scores beyond each end of the picture

# Okabe and Ito's colours: told apart by people of every kind of colour vision. The first of a pair is for light paper,
# the second for dark; each has a contrast of 3 or more to its own.
BLUE, VERMILLION = ("#0072b2", "#56b4e9"), ("#d55e00", "#e69f00")
GREEN, PURPLE, INK = ("#00805d", "#009e73"), ("#b35a8c", "#cc79a7"), ("#222222", "#f0f0f0")
COLORS = (BLUE, VERMILLION, GREEN, PURPLE, INK)
DASHES: tuple[tuple[float, ...], ...] = ((), (6, 3), (2, 2.5), (9, 3, 2, 3))
MARKERS = ("circle", "square", "triangle", "diamond", "plus", "cross", "down", "star")
LABEL_COLORS = (VERMILLION, BLUE)  # label 0, label 1


class Style(NamedTuple):
    """How one group is drawn: colour, dashes and marker all say the same, so that none of them is needed."""

    color: int
    dash: tuple[float, ...]
    marker: str


def style(i: int) -> Style:
    """Style of the i-th group drawn; the first 20 differ in colour or dashes."""
    return Style(i % len(COLORS), DASHES[i % len(DASHES)], MARKERS[i % len(MARKERS)])


# ---------------------------------------------------------------------------------------------------------- groups


def display_names(groups: Sequence[Name], longest: int = 48) -> dict[Name, str]:
    """Names as people read them, no two alike: as Python writes them, or numbered, where they would be."""
    plain = {g: " · ".join(map(str, g)) if isinstance(g, tuple) else str(g) for g in groups}
    if len(set(plain.values())) < len(plain) or not all(text.strip() for text in plain.values()):
        plain = {g: repr(g) for g in groups}
    short = {g: shortened(text, longest) for g, text in plain.items()}
    if len(set(short.values())) < len(short):
        return {g: f"{i + 1}. {text}" for i, (g, text) in enumerate(short.items())}
    return short


def shortened(text: str, longest: int) -> str:
    """Both ends of a text that is too long."""
    if len(text) <= longest:
        return text
    head = longest * 2 // 3
    return f"{text[:head]}…{text[head + 1 - longest :]}"


def featured(audit: Audit, most: int = MOST_FEATURED) -> tuple[Name, ...]:
    """The groups that are drawn: all, or those with the lowest and highest rates, then the largest ones."""
    groups = audit.groups
    if len(groups) <= most:
        return tuple(groups)
    chosen: dict[Name, None] = {}
    for metric in ("tpr", "fpr", "selection_rate"):
        known = {g: value for g in groups if (value := audit.rates[g][metric].value) is not None}
        if known:
            chosen[min(known, key=known.__getitem__)] = None
            chosen[max(known, key=known.__getitem__)] = None
    for group in sorted(groups, key=lambda g: -(audit.rates[g]["rows"].value or 0.0)):
        chosen[group] = None
    kept = set(list(chosen)[:most])
    return tuple(g for g in groups if g in kept)


# ------------------------------------------------------------------------------------------------------- densities


class CellCurve(NamedTuple):
    """Histogram of one cell, and its density as a curve where there is one."""

    label: int
    group: Name
    rows: float
    edges: Array
    heights: Array
    x: Array = np.empty(0)
    pdf: Array = np.empty(0)
    kind: str | None = None  #: of the density; None where only counts are drawn
    problem: str | None = None  #: why there is no density


def histogram(cell: Cell, low: float = -math.inf, high: float = math.inf) -> tuple[Array, Array]:
    """About 64 bars over the bins that have rows; the edges are edges of the sketch, so the counts are exact.

    `low` and `high` leave out bins wholly beyond them; heights stay shares of all rows of the cell. Bars are as equally
    wide as the bins allow, and a bin that covers a gap between scores is one bar, of height 0.
    """
    edges = cell.edges
    start, stop = int(cell.used[0]), int(cell.used[-1]) + 1
    start = max(start, int(np.searchsorted(edges, low, side="right")) - 1)
    stop = min(stop, int(np.searchsorted(edges, high)))
    if stop <= start:  # none of the cell's rows are in view
        return np.empty(0), np.empty(0)
    wanted = np.linspace(max(edges[start], low), min(edges[stop], high), HISTOGRAM_BARS + 1)[1:-1]
    after = np.searchsorted(edges, wanted)
    nearest = np.where(edges[after] - wanted < wanted - edges[after - 1], after, after - 1)
    empty = cell.counts[start:stop] == 0
    gap = start + np.flatnonzero(empty & (np.diff(edges[start : stop + 1]) > wanted[1] - wanted[0]))
    places = np.unique(np.concatenate(([start, stop], np.clip(nearest, start, stop), gap, gap + 1)))
    before = np.concatenate(([0], np.cumsum(cell.counts)))
    widths = np.maximum(np.diff(edges[places]), NARROWEST)
    return edges[places], np.diff(before[places]) / (cell.rows * widths)


def cell_curves(
    sketch: Sketch,
    kind: str | None = "kde",
    bandwidth: float | str | None = None,
    window: tuple[float, float] | None = None,
    groups: Iterable[Name] | None = None,
) -> list[CellCurve]:
    """Every cell of the groups (of all, if None) that has finite scores: label 0 of all groups, then label 1."""
    low, high = (-math.inf, math.inf) if window is None else window
    return [_curve(cell, kind, bandwidth, low, high) for cell in some_cells(sketch, groups) if cell.inside]


def some_cells(sketch: Sketch, groups: Iterable[Name] | None) -> Iterator[Cell]:
    """The cells of these groups (of all, if None) that have rows; others are not touched, since there may be many."""
    if groups is None:
        return cells_of(sketch)
    wanted = list(groups)
    return (cell for label in (0, 1) for group in wanted if (cell := cell_of(sketch, label, group)).rows)


def _curve(cell: Cell, kind: str | None, bandwidth: float | str | None, low: float, high: float) -> CellCurve:
    edges, heights = histogram(cell, low, high)
    bars = CellCurve(cell.label, cell.group, float(cell.n_rows), edges, heights)
    if kind is None or not len(edges):
        return bars
    try:
        made = _density.make(cell, kind, bandwidth)
    except NoDensityError as error:
        return bars._replace(problem=str(error))
    x = np.linspace(max(edges[0], low), min(edges[-1], high), CURVE_POINTS)
    pdf = np.asarray(made.pdf(x))
    if made.parameters.get("shape", 1.0) < 1.0:  # type: ignore[operator]
        pdf = np.minimum(pdf, 2.0 * heights.max())  # next to its pole the curve would leave no room for the rest
    return bars._replace(x=x, pdf=pdf, kind=made.kind)


def quantiles(cell: Cell, shares: Sequence[float]) -> list[float]:
    """Scores with these shares of the cell's rows at or below them."""
    return np.asarray(_density.make(cell, "empirical", None).quantile(shares)).tolist()  # type: ignore[no-any-return]


def score_window(sketch: Sketch, groups: Iterable[Name], marks: Iterable[float] = ()) -> tuple[float, float]:
    """What the pictures of the scores show: all but a thousandth of each cell at each end, and the finite marks."""
    ends: list[float] = [mark for mark in marks if math.isfinite(mark)]
    for cell in some_cells(sketch, groups):
        if cell.inside:
            low, high = quantiles(cell, [TAIL, 1 - TAIL])
            ends += [max(low, cell.smallest), min(high, cell.largest)]
    if not ends:
        return 0.0, 1.0
    low, high = min(ends), max(ends)
    margin = 0.04 * (high - low) if high - low > NARROWEST else max(abs(high), 1.0) / 2
    return low - margin, high + margin


# ------------------------------------------------------------------------------------------------------------- ROC


class Roc(NamedTuple):
    """tpr against fpr of one group over the edges of the sketch, thinned; from (1, 1) at -inf down to (0, 0)."""

    fpr: Array
    tpr: Array
    thresholds: Array


def roc_curves(sketch: Sketch, groups: Sequence[Name] | None = None, most: int = ROC_POINTS) -> dict[Name, Roc]:
    """The ROC curve of every group (of all, if None) that has both labels."""
    by_cell = {(cell.label, cell.group): cell for cell in some_cells(sketch, groups)}
    edges = sketch.edges
    out: dict[Name, Roc] = {}
    for group in sketch.groups if groups is None else groups:
        if (0, group) not in by_cell or (1, group) not in by_cell:
            continue
        fpr, tpr = (np.concatenate(([1.0], 1 - by_cell[label, group].cdf_at_edges, [0.0])) for label in (0, 1))
        at = np.concatenate(([-np.inf], edges, [np.inf]))
        kept = thinned(1 - fpr, 1 - tpr, most)
        out[group] = Roc(fpr[kept], tpr[kept], at[kept])
    return out


def roc_point(sketch: Sketch, group: Name, threshold: float) -> tuple[float, float] | None:
    """(fpr, tpr) of a group at a threshold; None where it lacks a label."""
    try:
        fpr, tpr = (1 - _density.density(sketch, label, group).cdf(threshold) for label in (0, 1))
    except NoDensityError:
        return None
    return fpr, tpr


def thinned(x: ArrayLike, y: ArrayLike, most: int, keep: Iterable[int] = ()) -> NDArray[np.int64]:
    """Places of at most `most` points of a curve that runs one way in both axes, besides those in `keep`.

    Both axes are scaled to one and the way along the curve (across plus along) is cut into equal steps; the first point
    of each step stays, and both ends. No point left out is further than one step from one that stayed.
    """
    across, along = (np.abs(np.asarray(v, dtype=np.float64) - np.asarray(v)[0]) for v in (x, y))
    n = len(across)
    if n <= most:
        return np.arange(n)
    way = sum((v / v.max() if v.max() > 0 else v for v in (across, along)), np.zeros(n))
    first = np.searchsorted(way, np.linspace(0, way[-1], max(most - 1, 2)))
    return np.unique([*first, 0, n - 1, *keep])


# -------------------------------------------------------------------------------------------------------- frontier


class FrontierPoints(NamedTuple):
    """The points of a frontier that are shown, each with its whole result."""

    criterion: str
    results: list[Result]
    errors: list[float]  #: what was minimised: the error rate, weighted where costs or balance were asked for
    start: int  #: which of them stands nearest to the result: the last whose gap is not larger
    on_curve: bool  #: whether the result is that one
    total: int  #: points of the whole frontier; of a randomised one, its corners
    kind: Literal["all", "mixtures", "penalties"]  #: what the frontier is made of
    proven_to: float  #: as in Frontier
    between: float | None = None  #: where not all points are known, the median of what may lie below the curve


def frontier_most(n_groups: int) -> int:
    """How many points a slider holds: 150, fewer where each has many groups."""
    return max(32, min(FRONTIER_POINTS, FRONTIER_NUMBERS // (10 + 4 * n_groups)))


def frontier_points(frontier: Frontier, result: Result, sketch: Sketch, most: int | None = None) -> FrontierPoints:
    """At most `most` points at equal steps along the frontier; both ends and the point of the result stay.

    Between the corners of a randomised frontier there are points at equal steps of the gap.
    """
    name, total, between = frontier.criterion, len(frontier), None
    kind: Literal["all", "mixtures", "penalties"] = "all" if frontier.penalty is None else "penalties"
    gap = result.gaps.get(name, 0.0)
    if frontier.lower_bounds is not None:  # known at some limits only; that of the result is added
        results = [frontier.result(i) for i in range(total)]
        limit, same = result.question.gap_limits.get(name), False
        if limit is not None and limit >= frontier.gaps[0]:
            own = frontier.at(gap=limit, sketch=sketch)
            same = own.gaps[name] == gap and abs(own.loss - result.loss) <= 1e-12
            results = [r for r in results if r.gaps[name] != own.gaps[name]] + [own]
        results.sort(key=lambda r: r.gaps[name])
        start = max((i for i, r in enumerate(results) if r.gaps[name] <= gap + 1e-12), default=0)
        errors = [math.sqrt(r.loss) for r in results]
        total, between = len(results), float(np.median(frontier.costs - frontier.lower_bounds))
    elif frontier.randomized:
        kind, low, high = "mixtures", float(frontier.gaps[0]), float(frontier.gaps[-1])
        inside = min(max(gap, low), high)
        gaps = sorted({*np.linspace(low, high, MIXED_POINTS).tolist(), *frontier.gaps.tolist(), inside})
        results = [frontier.at(gap=g) for g in gaps]
        errors = [math.sqrt(r.loss) for r in results]  # with limits only, the loss is the squared error
        start = gaps.index(inside)
        same = inside == gap and abs(math.sqrt(result.loss) - errors[start]) <= 1e-9
    else:
        near = np.flatnonzero(frontier.gaps <= gap + 1e-12)
        chosen = int(near[-1]) if len(near) else 0
        most = frontier_most(len(frontier.groups)) if most is None else most
        places = thinned(frontier.gaps, frontier.costs, most, keep=[chosen]).tolist()
        results, errors = [frontier.result(i) for i in places], frontier.costs[places].tolist()
        start = places.index(chosen)
        same = not result.randomized and results[start].thresholds == result.thresholds
    return FrontierPoints(name, results, errors, start, same, total, kind, frontier.proven_to, between)


# ------------------------------------------------------------------------------------------------------------ gaps


def main_gaps(audit: Audit) -> list[str]:
    """Gaps that are differences, in the order of the text of a result: what a picture can put on one axis."""
    return [name for name, one in CRITERION.items() if name in audit.gaps and one.form is not Form.RATIO]
