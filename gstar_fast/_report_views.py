"""The sections of a report that are pictures: scores, ROC curves, the frontier with its slider. Each has its table.

Reads from: _report_contents, _report_data, _report_figures.  Read by: _report_page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gstar_fast import _report_figures as figures
from gstar_fast._groups import Name
from gstar_fast._report_contents import Contents, confidence, plain, section, threshold_text, who
from gstar_fast._report_data import (
    cell_curves,
    quantiles,
    roc_curves,
    score_window,
    shortened,
    some_cells,
    thinned,
    weighted_error,
)
from gstar_fast._report_html import Html, details, join, table, tag
from gstar_fast._report_svg import line as line_mark
from gstar_fast._report_svg import place
from gstar_fast._result import Result, _count, _number

if TYPE_CHECKING:
    from gstar_fast._audit import Audit

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
ROC_ROWS = 24  # points of a curve in its table
FRONTIER_ROWS = 60  # points of the frontier in its table
SHOWN_RATES = ("selection_rate", "tpr", "fpr")


def _choice(contents: Contents) -> str:
    """Which groups are drawn, where not all are."""
    n, shown = len(contents.audit.groups), len(contents.featured)
    if n == shown:
        return ""
    return (
        f" Drawn are {shown} of {n} groups: those with the lowest and the highest tpr, fpr and selection rate, and the "
        "largest. The tables list the others too."
    )


# ---------------------------------------------------------------------------------------------------------- scores


def score_section(contents: Contents) -> Html:
    """Histograms and densities of the cells, with the thresholds across them: the paper's Figure 1."""
    r, audit = contents.result, contents.audit
    marks = [r.default_threshold, *(r.thresholds[g] for g in contents.featured)]
    window = score_window(contents.sketch, contents.featured, marks)
    kind = "kde" if r.density == "empirical" else r.density
    curves = cell_curves(contents.sketch, kind, window=window, groups=contents.featured)
    panels = []
    for i, group in enumerate(contents.featured):
        estimate = (audit.thresholds or {}).get(group)
        low, high = (None, None) if estimate is None else (estimate.low, estimate.high)
        picture = figures.score_panel(
            f"scores-{i}",
            contents.names[group],
            [c for c in curves if c.group == group],
            window,
            r.thresholds[group],
            r.default_threshold,
            None if low is None or high is None else (low, high),
            {1: audit.rates[group]["tpr"].value, 0: audit.rates[group]["fpr"].value},
        )
        rows = tag("span", f"{_count(audit.rates[group]['rows'].value or 0.0)} {contents.unit}")
        panels.append(tag("div", tag("h3", who(contents, group), " ", rows), picture, class_="panel"))
    line = figures.sign(line_mark(17, 0, 17, 16, "threshold"))
    dashed = figures.sign(line_mark(17, 0, 17, 16, "unified"))
    signs = [(line, "threshold of the group"), (dashed, "before: one threshold for all")]
    if any(e.low is not None for e in (audit.thresholds or {}).values()):
        band = tag("rect", x="9", y="0", width="16", height="16", class_="interval")
        signs.insert(1, (figures.sign(band), f"its interval, with {confidence(audit)}"))
    caption = (
        "Bars are counts, lines their density; label 1 stands above the axis, label 0 below. What is right of the "
        "threshold is accepted. Each panel has its own height, and leaves out the last thousandth at either end."
        + _choice(contents)
    )
    problems = list(dict.fromkeys(c.problem for c in curves if c.problem is not None))
    return section(
        "scores",
        "Scores of each group",
        tag("figure", tag("div", *panels, class_="panels"), figures.legend(signs), tag("figcaption", caption)),
        *(tag("p", f"No curve: {problem}.", class_="soft small") for problem in problems[:5]),
        details("The scores as a table", _score_table(contents)),
    )


def _score_table(contents: Contents) -> Html:
    """Where the scores of each cell lie."""
    rows = []
    for group in contents.listed:
        for cell in some_cells(contents.sketch, [group]):
            at = (_number(q) for q in quantiles(cell, QUANTILES))
            rows.append([who(contents, group), str(cell.label), _count(cell.rows), *at])
    head = ["group", "label", "rows", *(f"{q:.0%} below".replace("%", " %") for q in QUANTILES)]
    return table("Quantiles of the scores", head, rows, quiet=True)


# ------------------------------------------------------------------------------------------------------------- ROC


def _point(audit: Audit, group: Name) -> tuple[float, float] | None:
    fpr, tpr = audit.rates[group]["fpr"].value, audit.rates[group]["tpr"].value
    return None if fpr is None or tpr is None else (fpr, tpr)


def roc_section(contents: Contents) -> Html:
    """What each group's scores make possible, and the point that was chosen: the paper's path figure."""
    curves = roc_curves(contents.sketch, contents.featured)
    short = {g: shortened(contents.names[g], 40) for g in contents.featured}
    chosen = {g: _point(contents.audit, g) for g in contents.featured}
    unified = {g: _point(contents.before, g) for g in contents.featured}
    caption = (
        "Every threshold of a group is a point on its curve; up and to the left is better. Groups whose filled signs "
        "lie together are accepted at the same rates." + _choice(contents)
    )
    points = []
    for group in contents.featured:
        for word, audit in (("before", contents.before), ("after", contents.audit)):
            at = audit.rates[group]
            points.append([who(contents, group), tag("td", word), _number(at["fpr"].value), _number(at["tpr"].value)])
    lines = []
    for group, curve in curves.items():
        for i in thinned(1 - curve.fpr, 1 - curve.tpr, ROC_ROWS).tolist():
            numbers = (float(v[i]) for v in (curve.thresholds, curve.fpr, curve.tpr))
            lines.append([who(contents, group), *(_number(v) for v in numbers)])
    picture = tag("figure", figures.roc(curves, short, chosen, unified), tag("figcaption", caption))
    ends = table("Points before and after", ["group", "", "fpr", "tpr"], points)
    whole = table(f"{ROC_ROWS} points of each curve", ["group", "threshold", "fpr", "tpr"], lines, quiet=True)
    return section(
        "roc",
        "ROC curves",
        tag("div", picture, ends, class_="split"),
        details("The curves as a table", whole),
    )


# -------------------------------------------------------------------------------------------------------- frontier


def _error_name(contents: Contents) -> str:
    return "weighted error" if contents.costly else "error rate"


def _marks(contents: Contents) -> tuple[tuple[float, float], tuple[float, float] | None]:
    """(gap, error) of the chosen thresholds and of the unified one, as far as they are known."""
    points, r = contents.points, contents.result
    assert points is not None
    if points.on_curve:
        chosen = r.gaps[points.criterion], points.errors[points.start]
    else:
        error = weighted_error(contents.audit, r) if contents.costly else r.error
        chosen = r.gaps.get(points.criterion, 0.0), r.error if error is None else error
    was = r.before_gaps.get(points.criterion)
    error = weighted_error(contents.before, r) if contents.costly else r.before_error
    return chosen, None if was is None or error is None else (was, error)


def frontier_section(contents: Contents) -> Html:
    """The whole trade-off: a curve, a slider along it, and a table."""
    points = contents.points
    if points is None:
        return section("frontier", "Trade-off between error and gap", tag("p", contents.no_points))
    chosen, unified = _marks(contents)
    limit = contents.result.limits.get(points.criterion)
    picture = figures.frontier(points, chosen, unified, limit=limit, error_name=_error_name(contents))
    shown = f"It has {points.total} points."
    if points.straight:
        shown = f"It is straight between its {points.total} corners."
    elif len(points.results) < points.total:
        shown = f"Shown are {len(points.results)} of its {points.total} points, at equal steps along the curve."
    words = (
        f"No thresholds have both a smaller {plain(points.criterion)} gap and a smaller error than this curve. {shown}"
    )
    control, follow = _explore(contents)
    return section(
        "frontier",
        "Trade-off between error and gap",
        tag("p", words, " ", _where(contents)),
        tag("div", tag("div", tag("figure", picture), control), follow, id="explore", class_="split"),
        details("The curve as a table", _frontier_table(contents)),
    )


def _where(contents: Contents) -> str:
    """How the result stands to the curve."""
    points, r = contents.points, contents.result
    assert points is not None
    if points.on_curve:
        return "The chosen thresholds are a point of the curve."
    if r.unified:
        why = "since one threshold for everybody is a narrower choice than one for each group"
    elif r.verdict == "infeasible":
        why = "since the limits could not be met and the unified threshold is shown instead"
    elif r.density != "empirical":
        why = f"since they were found on {r.density} densities and the curve is that of the counts"
    elif len([*r.limits, *r.penalties]) > 1 or points.criterion not in r.limits:
        why = "since more was asked than this one gap"
    else:
        why = "since they were not proven to be the best"
    return (
        f"The chosen thresholds need not lie on the curve, {why}. The slider starts at the last point whose gap is not "
        "larger than theirs."
    )


def _cells(contents: Contents, point: Result, error: float) -> list[str]:
    """What the slider changes, in the order of the page: threshold and rates of each group, error, gaps."""
    points = contents.points
    assert points is not None
    out: list[str] = []
    for group in _explored(contents):
        at = point.rates[group]
        out += [threshold_text(point, group), *(_number(getattr(at, rate)) for rate in SHOWN_RATES)]
    out += [_number(point.error), *([_number(error)] if contents.costly else [])]
    return out + [_number(point.gaps.get(name)) for name in _gap_names(contents)]


def _gap_names(contents: Contents) -> list[str]:
    points = contents.points
    assert points is not None
    return list(points.results[points.start].gaps)


def _explored(contents: Contents) -> tuple[Name, ...]:
    """Groups in the slider's table: all up to fifty, then those that are drawn."""
    return contents.audit.groups if len(contents.audit.groups) <= 50 else contents.featured


def _said(contents: Contents, i: int) -> str:
    points = contents.points
    assert points is not None
    gap = points.results[i].gaps[points.criterion]
    return (
        f"point {i + 1} of {len(points.results)}: {plain(points.criterion)} gap {_number(gap)}, "
        f"{_error_name(contents)} {_number(points.errors[i])}"
    )


def slider_points(contents: Contents) -> list[str]:
    """What the page's script puts in place, as text, tab by tab: words, place of the ring, every cell."""
    points = contents.points
    if points is None:
        return []
    _, _, at = figures.frontier_positions(points, [p for p in _marks(contents) if p is not None])
    return [
        "\t".join([_said(contents, i), f"{place(x)} {place(y)}", *_cells(contents, point, points.errors[i])])
        for i, (point, (x, y)) in enumerate(zip(points.results, at, strict=True))
    ]


def _explore(contents: Contents) -> tuple[Html, Html]:
    """The slider, and two small tables that follow it; without a script they show the point it starts at."""
    points = contents.points
    assert points is not None
    start, last = points.start, len(points.results) - 1
    values = iter(_cells(contents, points.results[start], points.errors[start]))

    def live() -> Html:
        return tag("td", next(values), class_="n", data_cell=True)

    ends = {"min": 0, "max": last, "step": 1, "value": start}
    said = _said(contents, start)
    slider = tag("input", type="range", id="slider", **ends, aria_valuetext=said, autocomplete="off")
    place_of = "the chosen thresholds" if points.on_curve else "the point nearest to the chosen thresholds"
    jumps = [(0, "smallest gap"), (start, place_of.removeprefix("the ")), (last, "least error")]
    control = tag(
        "div",
        tag("label", "Move along the curve", for_="slider"),
        slider,
        tag("div", tag("span", "smallest gap"), tag("span", "least error"), class_="ends", aria_hidden="true"),
        tag("div", *(tag("button", words, type="button", value=i) for i, words in jumps), class_="buttons"),
        tag("output", said, id="said", for_="slider", aria_live="polite"),
        class_="control live",
    )
    needs = f"Moving along the curve needs JavaScript. Shown is {place_of}; the table below has the others."
    groups = [[who(contents, g), *(live() for _ in range(4))] for g in _explored(contents)]
    by_group = table("Groups at this point", ["group", "threshold", "selected", "tpr", "fpr"], groups)
    names = ["error rate", *(["weighted error"] if contents.costly else []), *map(plain, _gap_names(contents))]
    numbers = table("Error and gaps at this point", ["", "value"], [[name, live()] for name in names])
    return control, tag("div", tag("p", needs, class_="needs small"), by_group, numbers)


def _frontier_table(contents: Contents) -> Html:
    points = contents.points
    assert points is not None
    gaps = [r.gaps[points.criterion] for r in points.results]
    kept = thinned(gaps, points.errors, FRONTIER_ROWS, keep=[points.start])
    shown = contents.audit.groups if len(contents.audit.groups) <= 12 else contents.featured
    rows = []
    for i in kept.tolist():
        point = points.results[i]
        number = f"{i + 1}{' (slider starts here)' if i == points.start else ''}"
        rows.append([number, _number(gaps[i]), _number(points.errors[i]), *(threshold_text(point, g) for g in shown)])
    columns = [join(["threshold ", who(contents, g)]) for g in shown]
    head = ["point", f"{plain(points.criterion)} gap", _error_name(contents), *columns]
    return table(f"{len(kept)} points of the curve", head, rows, quiet=True)
