"""The four pictures of a report, drawn as static SVG: scores, ROC curves, frontier, gaps before and after.

Colours and strokes are classes, so that the style sheet can follow light, dark and paper.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from gstar_fast._base.names import Name
from gstar_fast._base.text import short_number, threshold_number
from gstar_fast._report.data import CellCurve, FrontierPoints, Roc, main_gaps, style
from gstar_fast._report.html import Html, join, tag
from gstar_fast._report.svg import Scale, around, dashes, line, marker, place, polyline, stairs, svg, text

if TYPE_CHECKING:
    from gstar_fast._audit.audit import Audit, Estimate

Point: TypeAlias = tuple[float, float]
Legend: TypeAlias = list[tuple[Html, object]]


def legend(entries: Sequence[tuple[Html, object]], live: Sequence[tuple[Html, object]] = ()) -> Html:
    """Signs with their words, as a list that wraps; `live` ones need the page's script."""
    both = [*((one, None) for one in entries), *((one, "live") for one in live)]
    return tag(
        "ul", *(tag("li", sign, tag("span", words), class_=kind) for (sign, words), kind in both), class_="legend"
    )


def upwards(y: float, words: str) -> Html:
    """The name of a vertical axis."""
    return tag("text", words, class_="axis-name", text_anchor="middle", transform=f"translate(13 {y}) rotate(-90)")


def sign(*parts: Html) -> Html:
    """A small picture for the legend; the words beside it say what it is."""
    return tag("svg", *parts, viewBox="0 0 34 16", class_="sign", aria_hidden="true")


def score_panel(
    name: str,
    group: str,
    cells: Sequence[CellCurve],
    window: tuple[float, float],
    threshold: float,
    before: float,
    interval: tuple[float, float] | None,
    accepted: Mapping[int, float | None],
) -> Html:
    """One group: label 1 above the axis, label 0 below it, the threshold across both (the paper's Figure 1)."""
    width, height, middle, room = 360.0, 238.0, 118.0, 86.0
    across = Scale(*window, 10, 350)
    highest = max((float(v) for c in cells for v in (*c.heights, *c.pdf)), default=0.0) or 1.0
    parts: list[Html] = []
    if interval is not None:
        left, right = across(interval[0]), across(interval[1])
        parts.append(
            tag("rect", x=place(left), y="24", width=place(max(right - left, 1)), height="188", class_="interval")
        )
    for cell in cells:
        side = Scale(0, highest, middle, middle - room if cell.label == 1 else middle + room)
        if len(cell.heights):
            tops = [side(float(v)) for v in cell.heights]
            edges = [across(float(v)) for v in cell.edges]
            parts.append(tag("path", d=stairs(edges, tops, middle), class_=f"bars y{cell.label}"))
        if len(cell.x):
            points = [(across(float(x)), side(float(y))) for x, y in zip(cell.x, cell.pdf, strict=True)]
            parts.append(tag("path", d=polyline(points), class_=f"curve y{cell.label}"))
    parts.append(line(10, middle, 350, middle, "axis"))
    for value, kind, top in ((before, "unified", 24), (threshold, "threshold", 18)):
        parts.append(line(across(value), top, across(value), 214, kind))
    for label, y in ((1, 38), (0, 208)):
        share = accepted[label]
        parts.append(text(16, y, f"label {label}", classes=f"name y{label}"))
        if share is not None:
            words = f"accepted: {share:.1%}".replace("%", " %")
            parts.append(text(350, y, words, "end", f"name y{label}"))
        if not any(c.label == label for c in cells):
            parts.append(text(180, middle - 30 if label == 1 else middle + 38, "no scores to draw", "middle", "note"))
    at = across(threshold)
    anchor = "start" if at < 70 else "end" if at > 290 else "middle"
    own, unified = threshold_number(threshold), threshold_number(before)
    said = own if math.isfinite(threshold) else "-inf: accepts all" if threshold < 0 else "inf: accepts none"
    parts.append(text(at, 13, said, anchor, "value"))
    for value, words in across.ticks(5):
        parts.append(line(across(value), 216, across(value), 220, "axis"))
        parts.append(text(across(value), 233, words, "middle", "tick"))
    title = f"Scores of group {group} with its threshold {own} and the unified one {unified}"
    return svg(name, width, height, title, *parts)


def roc(
    curves: Mapping[Name, Roc],
    names: Mapping[Name, str],
    chosen: Mapping[Name, Point | None],
    unified: Mapping[Name, Point | None],
) -> Html:
    """ROC curves; a filled sign is the chosen point, an empty one the unified threshold, the way between is dotted."""
    across, up = Scale(0, 1, 50, 390), Scale(0, 1, 350, 10)
    parts: list[Html] = []
    for value, words in Scale(0, 1, 0, 1).ticks(5):
        parts += [line(across(value), 10, across(value), 350, "grid"), line(50, up(value), 390, up(value), "grid")]
        parts += [text(across(value), 367, words, "middle", "tick"), text(44, up(value) + 4, words, "end", "tick")]
    parts.append(line(50, 350, 390, 10, "chance"))
    parts.append(text(220, 388, "false positive rate", "middle", "axis-name"))
    parts.append(upwards(180, "true positive rate"))
    ways: list[Html] = []
    marks: list[Html] = []
    entries: Legend = []
    for i, group in enumerate(names):
        if group not in curves:  # nothing to draw, so nothing to explain
            continue
        look, curve = style(i), curves[group]
        color = f"g{look.color}"
        points = [(across(float(x)), up(float(y))) for x, y in zip(curve.fpr, curve.tpr, strict=True)]
        parts.append(tag("path", d=polyline(points), class_=f"roc {color}", stroke_dasharray=dashes(look.dash)))
        one, two = unified.get(group), chosen.get(group)
        if one is not None and two is not None:
            ways.append(line(across(one[0]), up(one[1]), across(two[0]), up(two[1]), f"way {color}"))
        if one is not None:
            said = f"{names[group]}, unified threshold: fpr {short_number(one[0])}, tpr {short_number(one[1])}"
            ways.append(marker(look.marker, across(one[0]), up(one[1]), f"empty {color}", 5, said))
        if two is not None:
            said = f"{names[group]}, chosen threshold: fpr {short_number(two[0])}, tpr {short_number(two[1])}"
            marks.append(marker(look.marker, across(two[0]), up(two[1]), f"filled {color}", 5.5, said))
        stroke = tag("line", x1="1", y1="8", x2="33", y2="8", class_=f"roc {color}", stroke_dasharray=dashes(look.dash))
        entries.append((sign(stroke, marker(look.marker, 17, 8, f"filled {color}", 4.5)), names[group]))
    entries.append((sign(marker("circle", 17, 8, "empty g4", 4.5)), "empty sign: at the unified threshold"))
    title = "ROC curves of the groups with the chosen points and those of the unified threshold"
    return join([svg("roc", 400, 396, title, *parts, *ways, *marks, classes="square"), legend(entries)])


def frontier_positions(points: FrontierPoints, extra: Sequence[Point]) -> tuple[Scale, Scale, list[Point]]:
    """Scales that show the whole frontier and the extra points, and where each point of the frontier lies."""
    gaps = [r.gaps[points.criterion] for r in points.results]
    across = Scale(*around([*gaps, *(x for x, _ in extra), 0.0], floor=0.0), 74, 448)
    up = Scale(*around([*points.errors, *(y for _, y in extra)], floor=0.0), 248, 12)
    return across, up, [(across(x), up(y)) for x, y in zip(gaps, points.errors, strict=True)]


def frontier(
    points: FrontierPoints, chosen: Point, unified: Point | None, *, limit: float | None, error_name: str
) -> Html:
    """Error against gap: the curve of least errors, the chosen point, the unified one, the slider's ring."""
    across, up, at = frontier_positions(points, [p for p in (chosen, unified) if p is not None])
    parts: list[Html] = []
    for value, words in up.ticks(5):
        parts += [line(66, up(value), 448, up(value), "grid"), text(60, up(value) + 4, words, "end", "tick")]
    for value, words in across.ticks(6):
        x = across(value)
        parts += [line(x, 248, x, 252, "axis"), text(x, 266, words, "middle", "tick")]
    parts.append(line(66, 248, 448, 248, "axis"))
    entries: Legend = []
    stroke = tag("line", x1="1", y1="8", x2="33", y2="8", class_="frontier")
    entries.append((sign(stroke), "what penalties reach" if points.kind == "penalties" else "least error at each gap"))
    if limit is not None and across.low <= limit <= across.high:
        parts.append(line(across(limit), 12, across(limit), 248, "limit"))
        entries.append((sign(line(17, 0, 17, 16, "limit")), f"limit asked for: {limit:g}"))
    # the error stays what it was until the next point allows less: a staircase; between mixtures, a straight line
    path: list[Point] = []
    for x, y in at:
        if path and points.kind == "all":
            path.append((x, path[-1][1]))
        path.append((x, y))
    if points.kind == "all":
        path.append((448, path[-1][1]))
    parts.append(tag("path", d=polyline(path), class_="frontier"))
    if unified is not None:
        said = f"unified threshold: gap {short_number(unified[0])}, error {short_number(unified[1])}"
        parts.append(marker("circle", across(unified[0]), up(unified[1]), "empty g1", 5, said))
        entries.append((sign(marker("circle", 17, 8, "empty g1", 5)), "before: one threshold for all"))
    said = f"chosen thresholds: gap {short_number(chosen[0])}, error {short_number(chosen[1])}"
    parts.append(marker("diamond", across(chosen[0]), up(chosen[1]), "filled g0", 5, said))
    entries.append((sign(marker("diamond", 17, 8, "filled g0", 5)), "the chosen thresholds"))
    x, y = at[points.start]
    ring = tag("circle", r="9", class_="ring")
    parts.append(tag("g", ring, id="ring", class_="live", transform=f"translate({place(x)} {place(y)})"))
    parts.append(text(257, 287, f"{points.criterion.replace('_', ' ')} gap", "middle", "axis-name"))
    parts.append(upwards(130, error_name))
    ringed = (sign(tag("circle", cx="17", cy="8", r="6.5", class_="ring")), "where the slider stands")
    picture = svg("frontier", 460, 294, f"Frontier of error and {points.criterion} gap", *parts)
    return join([picture, legend(entries, [ringed])])


def gaps(before: Audit, after: Audit, limits: Mapping[str, float], before_words: str) -> Html:
    """Every difference gap before (empty) and after (filled), with intervals and limits."""
    names = main_gaps(after)
    values: list[float] = [0.0]
    for name in names:
        for estimate in (before.gaps.get(name), after.gaps[name]):
            if estimate is not None:
                values += [v for v in (estimate.value, estimate.low, estimate.high) if v is not None]
    across = Scale(0.0, max(around(values)[1], 0.01), 10, 445)
    bottom = 44.0 * len(names) + 6
    parts: list[Html] = []
    for value, words in across.ticks(5):
        parts += [line(across(value), 4, across(value), bottom, "grid")]
        parts.append(text(across(value), bottom + 15, words, "start" if value == 0 else "middle", "tick"))
    for i, name in enumerate(names):
        y = 44.0 * i + 34
        parts.append(text(12, y - 15, name.replace("_", " "), classes="name"))
        if name in limits:
            parts.append(line(across(limits[name]), y - 11, across(limits[name]), y + 12, "limit"))
        parts += _gap_marks(before.gaps.get(name), across, y - 4, "empty g1", "circle", f"{name} before")
        parts += _gap_marks(after.gaps[name], across, y + 5, "filled g0", "diamond", f"{name} after")
    was = sign(line(1, 8, 33, 8, "whisker g1"), marker("circle", 17, 8, "empty g1", 4.5))
    now = sign(line(1, 8, 33, 8, "whisker g0"), marker("diamond", 17, 8, "filled g0", 4.5))
    entries: Legend = [(was, before_words), (now, "after: the chosen thresholds")]
    if any(name in limits for name in names):
        entries.append((sign(line(17, 0, 17, 16, "limit")), "limit asked for"))
    picture = svg("gaps", 460, bottom + 22, "Gaps before and after, with their intervals", *parts)
    return join([picture, legend(entries)])


def _gap_marks(estimate: Estimate | None, across: Scale, y: float, classes: str, shape: str, said: str) -> list[Html]:
    if estimate is None or estimate.value is None:
        return []
    parts = []
    if estimate.low is not None and estimate.high is not None:
        parts.append(line(across(estimate.low), y, across(estimate.high), y, f"whisker {classes.split()[1]}"))
    return [*parts, marker(shape, across(estimate.value), y, classes, 4.5, f"{said}: {short_number(estimate.value)}")]
