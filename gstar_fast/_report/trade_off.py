"""The section of a report on the trade-off between error and gap: the frontier, a slider along it, and its table."""

from __future__ import annotations

from gstar_fast._base.names import Name
from gstar_fast._base.text import printable_name, short_number
from gstar_fast._report import figures
from gstar_fast._report.contents import Contents, asked, plain, section, threshold_text, who
from gstar_fast._report.data import FrontierPoints, thinned
from gstar_fast._report.html import Html, details, join, table, tag
from gstar_fast._report.svg import place

TABLE_ROWS = 60  # points of the frontier in its table
TABLE_GROUPS = 12  # groups with a column of thresholds there
SLIDER_GROUPS = 50  # groups in the slider's table
MOST_NAMED = 5  # groups spelled out beside the slider
RATES = ("selection_rate", "tpr", "fpr")

Point = tuple[float, float]


def frontier_section(contents: Contents) -> Html:
    """The whole trade-off: a curve, a slider along it, and a table."""
    title, points = "Trade-off between error and gap", contents.points
    if points is None:
        return section("frontier", title, tag("p", contents.no_points))
    limit = contents.result.question.gap_limits.get(points.criterion)
    picture = figures.frontier(points, *_marks(contents, points), limit=limit, error_name=contents.error_name)
    control, follow = _explore(contents, points)
    return section(
        "frontier",
        title,
        tag("p", " ".join([_what(contents, points), _where(contents, points)])),
        tag("div", tag("div", tag("figure", picture), control), follow, id="explore", class_="split"),
        details("The curve as a table", _table(contents, points)),
    )


def slider_points(contents: Contents) -> list[str]:
    """What the page's script puts in place, as text, tab by tab: words, place of the ring, every cell."""
    points = contents.points
    if points is None:
        return []
    _, _, at = figures.frontier_positions(points, [p for p in _marks(contents, points) if p is not None])
    return [
        "\t".join([_said(contents, points, i), f"{place(x)} {place(y)}", *_cells(contents, points, i)])
        for i, (x, y) in enumerate(at)
    ]


def _what(contents: Contents, points: FrontierPoints) -> str:
    """What the curve is, and how much of it is shown."""
    gap = f"{plain(points.criterion)} gap"
    if points.kind == "penalties":
        return f"The points that a penalty on the {gap} reaches, {len(points.results)} of {points.total}."
    words = f"No thresholds have both a smaller {gap} and a smaller {contents.measure} than this curve"
    if points.proven_to > 0:
        words += (
            f", for gaps from {short_number(points.proven_to)} up; below, the search was stopped before it was complete"
        )
    if points.kind == "mixtures":
        words = words.replace("thresholds have", "mixtures of thresholds have")
    if points.between is not None:
        what = "mixtures" if points.results[0].randomized else "thresholds"
        return (
            f"The least {contents.measure} of {what} by segment for {points.total} limits on the {gap}. Between two "
            f"points it lies between theirs, which differ by {short_number(points.between)} in the middle of all."
        )
    if points.kind == "mixtures":
        return f"{words}. It is straight between its {points.total} corners."
    if len(points.results) < points.total:
        return f"{words}. Shown are {len(points.results)} of its {points.total} points, at equal steps along the curve."
    return f"{words}. It has {points.total} points."


def _where(contents: Contents, points: FrontierPoints) -> str:
    """How the result stands to the curve."""
    r = contents.result
    if points.on_curve:
        return "The chosen thresholds are a point of the curve."
    if r.question.unified:
        why = "since one threshold for everybody is a narrower choice than one for each group"
    elif r.verdict == "unified":
        why = f"since there is no evidence that thresholds by {contents.kind} have a lower {contents.measure}"
    elif r.verdict == "infeasible":
        why = "since the limits could not be met and thresholds that miss them by the least are shown instead"
    elif r.verdict == "promised":
        why = "since they were chosen to keep the limits on new rows and the curve is that of the counted ones"
    elif r.question.density != "empirical":
        why = f"since they were found on {r.question.density} densities and the curve is that of the counts"
    elif r.question.min_rows:
        why = "since they were found with small groups pooled and the curve is that of all groups"
    elif points.criterion not in asked(r):
        why = "since nothing was asked of this gap itself"
    elif len(asked(r)) > 1:
        why = "since more was asked than this one gap"
    elif r.question.penalties:
        why = "since a penalty weighs squared gaps, not the largest one"
    else:
        why = "since they were found in another way"
    return (
        f"The chosen thresholds need not lie on the curve, {why}. The slider starts at the last point whose gap is not "
        "larger than theirs."
    )


def _said(contents: Contents, points: FrontierPoints, i: int) -> str:
    gap = points.results[i].gaps[points.criterion]
    return (
        f"point {i + 1} of {len(points.results)}: {plain(points.criterion)} gap {short_number(gap)}, "
        f"{contents.error_name} {short_number(points.errors[i])}{_extremes(contents, points, i)}"
    )


def _extremes(contents: Contents, points: FrontierPoints, i: int) -> str:
    """A warning of groups in which a point decides nothing: a gap closes where everybody is treated alike."""
    rates = points.results[i].rates
    said = ""
    for rate, word in ((0.0, "rejects"), (1.0, "accepts")):
        found = [g for g in rates if rates[g].selection_rate == rate]
        some = [printable_name(contents.names[g]) for g in found[:MOST_NAMED]]
        more = ["..."] if len(found) > MOST_NAMED else []
        if found:
            said += f"; {word} everybody in {'every group' if len(found) == len(rates) else ', '.join(some + more)}"
    return said


def _marks(contents: Contents, points: FrontierPoints) -> tuple[Point, Point | None]:
    """(gap, cost) of the chosen thresholds and of the unified one, as far as they are known."""
    r = contents.result
    chosen = r.gaps.get(points.criterion, 0.0), points.errors[points.start] if points.on_curve else r.cost
    was = r.gaps.before.get(points.criterion)
    return chosen, None if was is None else (was, r.before_cost)


def _shown(contents: Contents, most: int) -> tuple[Name, ...]:
    """Groups in a table: all of them, or those that are drawn."""
    groups = contents.deciding.audit.groups
    return groups if len(groups) <= most else contents.deciding.featured


def _cells(contents: Contents, points: FrontierPoints, i: int) -> list[str]:
    """What the slider changes, in the order of the page: threshold and rates of each group, error, gaps."""
    point = points.results[i]
    out: list[str] = []
    for group in _shown(contents, SLIDER_GROUPS):
        at = (point.rates.by_segment or point.rates)[group]
        out += [threshold_text(point, group), *(short_number(getattr(at, rate)) for rate in RATES)]
    out += [short_number(point.error), *([short_number(points.errors[i])] if contents.costly else [])]
    return out + [short_number(point.gaps.get(name)) for name in points.results[points.start].gaps]


def _explore(contents: Contents, points: FrontierPoints) -> tuple[Html, Html]:
    """The slider, and two small tables that follow it; without a script they show the point it starts at."""
    start, last = points.start, len(points.results) - 1
    values = iter(_cells(contents, points, start))

    def live(classes: str = "n") -> Html:
        return tag("td", next(values), class_=classes, data_cell=True)

    ends = {"min": 0, "max": last, "step": 1, "value": start}
    said = _said(contents, points, start)
    slider = tag("input", type="range", id="slider", **ends, aria_valuetext=said, autocomplete="off")
    here = "chosen thresholds" if points.on_curve else "point nearest to the chosen thresholds"
    least = f"least {contents.measure}"
    jumps = [(0, "smallest gap"), (start, here), (last, least)]
    control = tag(
        "div",
        tag("label", "Move along the curve", for_="slider"),
        slider,
        tag("div", tag("span", "smallest gap"), tag("span", least), class_="ends", aria_hidden="true"),
        tag("div", *(tag("button", words, type="button", value=i) for i, words in jumps), class_="buttons"),
        tag("output", said, id="said", for_="slider", aria_live="polite"),
        class_="control live",
    )
    needs = f"Moving along the curve needs JavaScript. Shown here: the {here}; the table below has other points."
    groups = [[who(contents, g), live("n wrap"), live(), live(), live()] for g in _shown(contents, SLIDER_GROUPS)]
    by_group = table(
        f"{contents.kind.capitalize()}s at this point", [contents.kind, "threshold", "selected", "tpr", "fpr"], groups
    )
    names = ["error rate", *(["cost"] if contents.costly else []), *map(plain, points.results[start].gaps)]
    numbers = table("Error and gaps at this point", ["", "value"], [[name, live()] for name in names])
    return control, tag("div", tag("p", needs, class_="needs small"), by_group, numbers)


def _table(contents: Contents, points: FrontierPoints) -> Html:
    gaps = [r.gaps[points.criterion] for r in points.results]
    kept = thinned(gaps, points.errors, TABLE_ROWS, keep=[points.start]).tolist()
    shown = _shown(contents, TABLE_GROUPS)
    rows = []
    for i in kept:
        number = f"{i + 1}{' (the slider starts here)' * (i == points.start)}"
        thresholds = (tag("td", threshold_text(points.results[i], g), class_="n wrap") for g in shown)
        rows.append([number, short_number(gaps[i]), short_number(points.errors[i]), *thresholds])
    columns = [join(["threshold ", who(contents, g)]) for g in shown]
    head = ["point", f"{plain(points.criterion)} gap", contents.error_name, *columns]
    return table(f"{len(kept)} points of the curve", head, rows, quiet=True)
