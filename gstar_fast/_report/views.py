"""The sections of a report that are pictures: scores and ROC curves. Each has its table."""

from __future__ import annotations

from gstar_fast._base.names import Name
from gstar_fast._base.text import row_count, short_number, threshold_number
from gstar_fast._report import figures
from gstar_fast._report.contents import Contents, confidence, section, who
from gstar_fast._report.data import cell_curves, quantiles, roc_curves, score_window, shortened, some_cells, thinned
from gstar_fast._report.html import Html, details, table, tag
from gstar_fast._report.svg import line as line_mark
from gstar_fast._words import KINDS

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
ROC_ROWS = 24  # points of a curve in its table


def _choice(contents: Contents) -> str:
    """Which groups are drawn, where not all are."""
    n, shown = len(contents.deciding.audit.groups), len(contents.deciding.featured)
    if n == shown:
        return ""
    return (
        f" Drawn are {shown} of {n} {contents.kind}s: those with the lowest and the highest tpr, fpr and selection "
        "rate, and the largest. The tables list the others too."
    )


def score_section(contents: Contents) -> Html:
    """Histograms and densities of the cells, with the thresholds across them: the paper's Figure 1."""
    r, audit, drawn = contents.result, contents.deciding.audit, contents.deciding.featured
    window = score_window(contents.deciding.sketch, drawn, [r.thresholds.default, *(r.thresholds[g] for g in drawn)])
    kind = r.question.density if r.question.density in KINDS and r.question.density != "empirical" else "kde"
    curves = cell_curves(contents.deciding.sketch, kind, window=window, groups=drawn)
    panels = []
    for i, group in enumerate(drawn):
        estimate = (audit.thresholds or {}).get(group)
        low, high = (None, None) if estimate is None else (estimate.low, estimate.high)
        picture = figures.score_panel(
            f"scores-{i}",
            contents.names[group],
            [c for c in curves if c.group == group],
            window,
            r.thresholds[group],
            r.thresholds.default,
            None if low is None or high is None else (low, high),
            {1: audit.rates[group]["tpr"].value, 0: audit.rates[group]["fpr"].value},
        )
        rows = tag("span", f"{row_count(audit.rates[group]['rows'].value or 0.0)} rows")
        panels.append(tag("div", tag("h3", who(contents, group), " ", rows), picture, class_="panel"))
    line = figures.sign(line_mark(17, 0, 17, 16, "threshold"))
    dashed = figures.sign(line_mark(17, 0, 17, 16, "unified"))
    signs = [(line, f"threshold of the {contents.kind}"), (dashed, "the best unified threshold")]
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
        f"Scores of each {contents.kind}",
        tag("figure", tag("div", *panels, class_="panels"), figures.legend(signs), tag("figcaption", caption)),
        *(tag("p", f"No curve: {problem}.", class_="soft small") for problem in problems[:5]),
        details("The scores as a table", _score_table(contents)),
    )


def _score_table(contents: Contents) -> Html:
    """Where the scores of each cell lie."""
    rows = []
    for group in contents.deciding.listed:
        for cell in some_cells(contents.deciding.sketch, [group]):
            at = (short_number(q) for q in quantiles(cell, QUANTILES))
            rows.append([who(contents, group), str(cell.label), row_count(cell.n_rows), *at])
    head = [contents.kind, "label", "rows", *(f"{q:.0%} below".replace("%", " %") for q in QUANTILES)]
    return table("Quantiles of the scores", head, rows, quiet=True)


def roc_section(contents: Contents) -> Html:
    """What each group's scores make possible, and the point that was chosen: the paper's path figure."""
    drawn = contents.deciding.featured
    curves = roc_curves(contents.deciding.sketch, drawn)
    short = {g: shortened(contents.names[g], 40) for g in drawn}
    audits = {"before": contents.deciding.before, "after": contents.deciding.audit}
    points: dict[str, dict[Name, figures.Point | None]] = {word: {} for word in audits}
    rows = []
    for group in drawn:
        for word, audit in audits.items():
            fpr, tpr = audit.rates[group]["fpr"].value, audit.rates[group]["tpr"].value
            points[word][group] = None if fpr is None or tpr is None else (fpr, tpr)
            rows.append([who(contents, group), tag("td", word), short_number(fpr), short_number(tpr)])
    caption = (
        f"Every threshold of a {contents.kind} is a point on its curve; up and to the left is better. "
        f"{contents.kind.capitalize()}s whose filled signs lie together are accepted at the same rates."
        + _choice(contents)
    )
    if lacking := [short[g] for g in drawn if g not in curves]:
        caption += f" No curve, because there are no rows of one label: {', '.join(lacking)}."
    lines = []
    for group, curve in curves.items():
        for i in thinned(1 - curve.fpr, 1 - curve.tpr, ROC_ROWS).tolist():
            threshold, fpr, tpr = (float(v[i]) for v in (curve.thresholds, curve.fpr, curve.tpr))
            lines.append([who(contents, group), threshold_number(threshold), short_number(fpr), short_number(tpr)])
    drawing = figures.roc(curves, short, points["after"], points["before"])
    picture = tag("figure", drawing, tag("figcaption", caption))
    ends = table("Points before and after", [contents.kind, "", "fpr", "tpr"], rows)
    whole = table(f"{ROC_ROWS} points of each curve", [contents.kind, "threshold", "fpr", "tpr"], lines, quiet=True)
    return section(
        "roc", "ROC curves", tag("div", picture, ends, class_="split"), details("The curves as a table", whole)
    )
