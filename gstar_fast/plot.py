"""Figures for notebooks: the scores of the cells, ROC curves, the frontier, gaps before and after.

They show the numbers that a report shows, in the same colours. Need matplotlib, the extra `plot`.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast, overload

import numpy as np
from numpy.typing import NDArray

from gstar_fast._audit.audit import Audit
from gstar_fast._base.names import Name
from gstar_fast._base.refusals.place import bad_option, bad_type, bad_value
from gstar_fast._base.text import printable_name, threshold_number
from gstar_fast._question.roles import on_its_columns, roles_of
from gstar_fast._report import data
from gstar_fast._sketch.sketch import Sketch, check_order
from gstar_fast._solver.answer.points import Frontier
from gstar_fast._solver.answer.result import Result
from gstar_fast._words import KINDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["densities", "frontier", "gaps", "roc"]

Look: TypeAlias = dict[str, Any]  # options of matplotlib

_MARKERS = dict(zip(data.MARKERS, "os^DPXv*", strict=True))  # those of the report, as matplotlib names them


def densities(
    sketch: Sketch,
    *,
    kind: str | None = "kde",
    bandwidth: float | str | None = None,
    thresholds: Result | Mapping[Name, float] | None = None,
    axes: Sequence[Axes] | NDArray[np.object_] | None = None,
) -> Figure:
    """Draw the histogram and the density of every cell: one panel for each group, one colour for each label.

    All panels have the same score axis.

    Parameters
    ----------
    sketch : Sketch
    kind : str, optional
        Kind of `density` drawn as a curve; None for histograms only.
    bandwidth : float or str, optional
        For `kind="kde"`, as in `density`.
    thresholds : Result, or mapping from group to threshold, optional
        Drawn as vertical lines.
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
    if kind is not None and kind not in KINDS:
        raise bad_option("kind", f"kind must be None or one of {', '.join(KINDS)}; got {kind!r}")
    groups = _groups_of(sketch, "gf.plot.densities(sketch, thresholds=result.thresholds)")
    values = thresholds.thresholds if isinstance(thresholds, Result) else thresholds or {}
    _check_groups(values, groups)
    panels = _panels(len(groups), axes)
    for curve in data.cell_curves(sketch, kind, bandwidth):
        _draw_cell(panels[groups.index(curve.group)], curve, kind)
    for panel, group in zip(panels, groups, strict=True):
        if group in values:
            words = f"threshold {threshold_number(values[group])}"
            panel.axvline(values[group], color="black", linestyle="--", label=words)
        panel.set_title(f"group {printable_name(group)}")
        panel.set_ylabel("density")
        if panel.get_legend_handles_labels()[0]:
            panel.legend()
    ends = [panel.get_xlim() for panel in panels]
    for panel in panels:  # one axis for all, so that thresholds can be compared from group to group
        panel.set_xlim(min(low for low, _ in ends), max(high for _, high in ends))
    panels[-1].set_xlabel("score")
    return _figure_of(panels[0])


def _draw_cell(panel: Axes, curve: data.CellCurve, kind: str | None) -> None:
    color, name = data.LABEL_COLORS[curve.label][0], f"label {curve.label}"
    rows = f"{name} ({curve.rows:,.10g} rows)"
    panel.stairs(curve.heights, curve.edges, fill=True, alpha=0.35, color=color, label=rows)
    if curve.problem is not None:
        panel.plot([], [], color=color, label=f"{name}: no {kind} density")
        panel.annotate(curve.problem, (0.01, 0.97 - 0.08 * curve.label), xycoords="axes fraction", va="top", fontsize=6)
    elif curve.kind is not None:
        panel.plot(curve.x, curve.pdf, color=color, label=f"{name}: {curve.kind}")


@overload
def roc(thresholds: Sketch, *, ax: Axes | None = None) -> Figure: ...
@overload
def roc(thresholds: Result | Mapping[Name, float], sketch: Sketch, *, ax: Axes | None = None) -> Figure: ...
def roc(
    thresholds: Result | Mapping[Name, float] | Sketch, sketch: Sketch | None = None, *, ax: Axes | None = None
) -> Figure:
    """Draw the ROC curve of every group that has both labels, with the points that were chosen.

    Call it as ``roc(result, sketch)``, or as ``roc(sketch)`` without points. For a result by segment, the curves are
    those of the segments.

    Parameters
    ----------
    thresholds : Result or mapping from group to threshold
        Their points are filled signs. Those of a result's best unified threshold are empty ones.
    sketch : Sketch
    ax : matplotlib Axes, optional
        Without it a new figure is made.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import gstar_fast as gf
    >>> table = gf.datasets.paper_synthetic(rows=8_000, seed=1)
    >>> sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups)
    >>> figure = gf.plot.roc(gf.solve(sketch, limits={"equalized_odds": 0.02}), sketch)
    >>> figure.axes[0].get_xlabel()
    'false positive rate'
    """
    if sketch is None:
        thresholds, sketch = {}, cast(Sketch, thresholds)
    check_order("roc", thresholds)
    assert not isinstance(thresholds, Sketch)
    groups = _groups_of(sketch, "gf.plot.roc(result, sketch)")
    if isinstance(thresholds, Result):
        sketch = on_its_columns(thresholds.question, thresholds.rates, sketch)
        groups = sketch.groups
    if isinstance(thresholds, Result) and thresholds.question.by_segment:
        sketch = sketch._under(roles_of(thresholds.question, sketch).segment)
        groups = sketch.groups
    names = data.display_names(groups)
    curves = data.roc_curves(sketch)
    values = thresholds.thresholds if isinstance(thresholds, Result) else thresholds
    _check_groups(values, groups)
    ax = _axes(ax)
    ax.plot([0, 1], [0, 1], color="0.8", linewidth=0.8, linestyle=":")
    for i, group in enumerate(groups):
        look = data.style(i)
        ink: Look = {"color": data.COLORS[look.color][0]}
        if group in curves:
            line = (0, look.dash) if look.dash else "-"
            ax.plot(curves[group].fpr, curves[group].tpr, linestyle=line, label=names[group], **ink)
        sign: Look = {"marker": _MARKERS[look.marker], "linestyle": "none", **ink}
        point = data.roc_point(sketch, group, values[group]) if group in values else None
        if isinstance(thresholds, Result):
            if before := data.roc_point(sketch, group, thresholds.thresholds.default):
                ax.plot(*before, markerfacecolor="white", **sign)
            at = (thresholds.rates.by_segment or thresholds.rates)[group]  # a mixture is not a point of the curve
            point = None if at.fpr is None or at.tpr is None else (at.fpr, at.tpr)
        if point is not None:
            ax.plot(*point, **sign)
    ax.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.set_aspect("equal")
    if curves:
        from matplotlib.lines import Line2D

        handles, sign = ax.get_legend_handles_labels()[0], {"marker": "o", "linestyle": "none", "color": "0.35"}
        if values:
            handles.append(Line2D([], [], label="at the chosen thresholds", **sign))
        if isinstance(thresholds, Result):
            handles.append(Line2D([], [], markerfacecolor="white", label="at the best unified threshold", **sign))
        ax.legend(handles=handles, loc="lower right")
    return _figure_of(ax)


def frontier(frontier: Frontier, result: Result | None = None, *, ax: Axes | None = None) -> Figure:
    """Draw a frontier: the least error at each gap, with the point of a result and of its unified threshold.

    Parameters
    ----------
    frontier : Frontier
    result : Result, optional
        Drawn as a filled sign; its best unified threshold as an empty one. With costs or balanced errors neither is
        drawn, since the frontier then shows the cost.
    ax : matplotlib Axes, optional
        Without it a new figure is made.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import gstar_fast as gf
    >>> table = gf.datasets.paper_synthetic(rows=8_000, seed=1)
    >>> sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups)
    >>> result = gf.solve(sketch, limits={"equalized_odds": 0.02})
    >>> figure = gf.plot.frontier(gf.frontier(sketch, "equalized_odds"), result)
    >>> figure.axes[0].get_xlabel()
    'equalized odds gap'
    """
    _check_kind(frontier, Frontier, 'gf.plot.frontier(gf.frontier(sketch, "equalized_odds"), result)')
    ax = frontier.plot(_axes(ax))
    ax.get_lines()[-1].set(
        color="black",
        label=f"least {'cost' if frontier.weighted else 'error'} possible"
        if frontier.penalty is None
        else "reached by penalties",
    )
    if result is not None and not result.question.balanced and result.question.costs == (1.0, 1.0):
        name = frontier.criterion
        if name in result.gaps.before:
            sign: Look = {"marker": "o", "linestyle": "none", "markerfacecolor": "white", "color": data.COLORS[1][0]}
            ax.plot(result.gaps.before[name], result.before_error, label="one threshold for all", **sign)
        if name in result.gaps:
            sign = {"marker": "D", "linestyle": "none", "color": data.COLORS[0][0]}
            ax.plot(result.gaps[name], result.error, label="chosen thresholds", **sign)
    ax.legend()
    return _figure_of(ax)


def gaps(audit: Audit, before: Audit | None = None, *, ax: Axes | None = None) -> Figure:
    """Draw every gap that is a difference, with its interval; those of `before` as empty signs above.

    Parameters
    ----------
    audit : Audit
        What `gf.audit` says of the chosen thresholds.
    before : Audit, optional
        What to compare with, such as ``gf.audit(result.thresholds.default, sketch)``.
    ax : matplotlib Axes, optional
        Without it a new figure is made.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import gstar_fast as gf
    >>> table = gf.datasets.paper_synthetic(rows=8_000, seed=1)
    >>> sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups)
    >>> result = gf.solve(sketch, limits={"equalized_odds": 0.02})
    >>> figure = gf.plot.gaps(gf.audit(result, sketch), gf.audit(result.thresholds.default, sketch))
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()][:2]
    ['demographic parity', 'equal opportunity']
    """
    for one in (audit,) if before is None else (audit, before):
        _check_kind(one, Audit, "gf.plot.gaps(gf.audit(result, sketch))")
    names = data.main_gaps(audit)
    ax = _axes(ax)
    rows = [(audit, "after", "D", data.COLORS[0][0], True, 0.12)]
    if before is not None:
        rows.append((before, "before", "o", data.COLORS[1][0], False, -0.12))
    for one, label, marker, color, filled, shift in rows:
        parts = [[getattr(one.gaps[n], part) for n in names] for part in ("value", "low", "high")]
        value, low, high = np.array(parts, dtype=np.float64)  # None becomes NaN, which is not drawn
        reach = np.nan_to_num([value - low, high - value])
        look: Look = {"fmt": marker, "color": color, "markerfacecolor": color if filled else "white", "capsize": 2}
        ax.errorbar(value, np.arange(len(names)) + shift, xerr=reach, label=label, **look)
    ax.set_yticks(range(len(names)), [name.replace("_", " ") for name in names])
    ax.invert_yaxis()
    ax.set_xlim(left=0)
    ax.set_xlabel("gap")
    ax.legend()
    return _figure_of(ax)


def _check_kind(given: object, kind: type, call: str) -> None:
    if not isinstance(given, kind):
        raise bad_type("sketch", f"{kind.__name__} expected, got {type(given).__name__}; call {call}")


def _groups_of(sketch: Sketch, call: str) -> tuple[Name, ...]:
    _check_kind(sketch, Sketch, call)
    if not sketch.groups:
        raise bad_value("sketch", "the sketch has no rows, so there is nothing to draw")
    return sketch.groups


def _check_groups(thresholds: Mapping[Name, float], groups: tuple[Name, ...]) -> None:
    for group in thresholds:
        if group not in groups:
            raise bad_value("thresholds", f"thresholds names group {group!r}, which is not in the sketch")


def _figure(width: float, height: float) -> Figure:
    """A figure without a window that a notebook shows: IPython draws a plain one only after pyplot was imported."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plots need matplotlib; install gstar-fast[plot]") from error
    figure = Figure(figsize=(width, height), layout="constrained")
    vars(figure)["_repr_png_"] = partial(_png, figure)
    return figure


def _png(figure: Figure) -> bytes:
    png = io.BytesIO()
    figure.savefig(png, format="png")
    return png.getvalue()


def _figure_of(ax: Axes) -> Figure:
    return cast("Figure", ax.figure)  # the axes of a user's subfigure give that


def _axes(ax: Axes | None) -> Axes:
    return _figure(6.0, 4.5).add_subplot() if ax is None else ax


def _panels(n: int, axes: Sequence[Axes] | NDArray[np.object_] | None) -> list[Axes]:
    if axes is not None:
        given = list(np.ravel(np.asarray(axes, dtype=object)))
        if len(given) != n:
            raise bad_value("axes", f"axes must have one entry for each of the {n} groups, got {len(given)}")
        return given
    figure = _figure(7.0, 1.0 + 2.2 * n)
    return [figure.add_subplot(n, 1, i + 1) for i in range(n)]
