"""Figures: what the densities of the cells look like, with the thresholds (the paper's Figure 1).

Reads from: the sketch and its densities. Needs matplotlib, the extra `plot`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gstar_fast import _density
from gstar_fast._density_cell import Cell, NoDensityError, cells_of
from gstar_fast._groups import Name
from gstar_fast._sketch import Sketch

__all__ = ["densities"]

HISTOGRAM_BARS = 64
CURVE_POINTS = 513
COLORS = ("tab:red", "tab:blue")  # label 0, label 1


def densities(
    sketch: Sketch,
    *,
    kind: str | None = "kde",
    bandwidth: float | str | None = None,
    thresholds: Mapping[Name, float] | None = None,
    axes: Any = None,
) -> Any:
    """Draw the histogram and the density of every cell: one panel for each group, one colour for each label.

    Parameters
    ----------
    sketch : Sketch
    kind : str, optional
        Kind of `density` drawn as a curve; None for histograms only.
    bandwidth : float or str, optional
        For `kind="kde"`, as in `density`.
    thresholds : mapping from group to threshold, optional
        Drawn as vertical lines; `result.thresholds` fits.
    axes : sequence of matplotlib Axes, optional
        One for each group; without it a new figure is made.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import gstar_fast as gf
    >>> table = gf.datasets.paper_synthetic(rows=8_000, seed=1)
    >>> sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups)
    >>> figure = gf.plot.densities(sketch, kind="kde", thresholds={0: -0.5, 1: 0.4})
    >>> len(figure.axes)
    2
    """
    if kind is not None and kind not in _density.KINDS:
        raise ValueError(f"kind must be None or one of {', '.join(_density.KINDS)}; got {kind!r}")
    groups = sketch.groups
    if not groups:
        raise ValueError("the sketch has no rows, so there is nothing to draw")
    for group in thresholds or {}:
        if group not in groups:
            raise ValueError(f"thresholds names group {group!r}, which is not in the sketch")
    panels = _panels(len(groups), axes)
    for cell in cells_of(sketch):
        panel = panels[groups.index(cell.group)]
        _draw_cell(panel, cell, kind, bandwidth)
    for panel, group in zip(panels, groups, strict=True):
        if thresholds is not None and group in thresholds:
            panel.axvline(thresholds[group], color="black", linestyle="--", label=f"threshold {thresholds[group]:.3g}")
        panel.set_title(f"group {group}")
        panel.set_ylabel("density")
        if panel.get_legend_handles_labels()[0]:
            panel.legend()
    panels[-1].set_xlabel("score")
    return panels[0].figure


def _panels(n: int, axes: Any) -> list[Any]:
    if axes is not None:
        given = list(np.ravel(np.asarray(axes, dtype=object)))
        if len(given) != n:
            raise ValueError(f"axes must have one entry for each of the {n} groups, got {len(given)}")
        return given
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plots need matplotlib; install gstar-fast[plot]") from error
    figure = Figure(figsize=(7.0, 1.0 + 2.2 * n), layout="constrained")
    return [figure.add_subplot(n, 1, i + 1) for i in range(n)]


def _draw_cell(panel: Any, cell: Cell, kind: str | None, bandwidth: float | str | None) -> None:
    color, name = COLORS[cell.label], f"label {cell.label}"
    if not cell.inside:
        return
    edges, heights = _histogram(cell)
    panel.stairs(heights, edges, fill=True, alpha=0.35, color=color, label=f"{name} ({cell.rows:,.10g} rows)")
    if kind is None:
        return
    try:
        made = _density._make(cell, kind, bandwidth)
    except NoDensityError as error:
        panel.plot([], [], color=color, label=f"{name}: no {kind} density")
        panel.annotate(str(error), (0.01, 0.97 - 0.08 * cell.label), xycoords="axes fraction", va="top", fontsize=6)
        return
    x = np.linspace(edges[0], edges[-1], CURVE_POINTS)
    panel.plot(x, made.pdf(x), color=color, label=f"{name}: {made.kind}")


def _histogram(cell: Cell) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """About 64 bars over the bins that have rows; the edges are edges of the sketch, so the counts are exact."""
    start, stop = int(cell.used[0]), int(cell.used[-1]) + 1
    step = max(1, -(-(stop - start) // HISTOGRAM_BARS))
    places = np.arange(start, stop + step, step)
    padded = np.concatenate(([0], np.cumsum(cell.counts)))
    inside = np.minimum(places, cell.bins)
    heights = np.diff(padded[inside]) / (cell.rows * cell.width * step)
    return np.asarray(cell.first + cell.width * places, dtype=np.float64), heights
