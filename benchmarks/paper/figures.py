"""The paper's figures from the records: the same questions, our answers, the published points beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.paper.records import DATA, SHOWN, Record, by, figure3, floor_of, keep, mean, ours, published
from benchmarks.paper.svg import COLOURS, SHAPES, Panel, legend, mark, picture, span_of, text

OURS_COLOURS = {"exact": "#1f6f8b", "randomised": "#5b8c3a", "loop": "#8c4f9e", "loop_unified": "#777777"}
OURS_TITLES = {"exact": "ours, exact", "randomised": "ours, randomised", "loop": "ours, the paper's loop"}
METRICS = (("EOp", "eop", 1.0), ("EOd / 2", "eod_sum", 0.5), ("BD / 2", "bd", 0.5), ("1-DIMP", "dimp", 1.0))
METRICS += (("BA", "balanced_accuracy", 1.0), ("ACC", "accuracy", 1.0))
DRAWN = ("EOp", "EOd", "BD", "1-DIMP", "BA", "ACC")  # the same in the published file
EODDS = "equalized_odds"
BOTH = "demographic_parity+equalized_odds"
# The paper's methods: its name, our name, criterion, and a setting where we fix one.
PAPER = (
    ("Baseline", "baseline", EODDS, {}),
    ("AdvDeb", "adv_deb", EODDS, None),
    ("Eq.Odds", "eq_odds", EODDS, {}),
    ("CEOPost", "ceo_post", EODDS, None),
    ("LAFTR", "laftr", EODDS, None),
    ("FACT", "fact", EODDS, None),
    ("GSTAR(DP)", "loop", "demographic_parity", {"penalty": 10.0}),
    ("GSTAR(EOd)", "loop", EODDS, {"penalty": 10.0}),
    ("GSTAR(DP+EOd)", "loop", BOTH, {"penalty": 10.0}),
)
MORE_SHAPES = (*SHAPES, "star", "bar")
COLOUR_OF_GROUP = {0: "#c0446c", 1: "#1f6f8b"}
Report = dict[str, Any]


def figures(records: Sequence[Record], curves: Report) -> dict[str, str]:
    """All figures as SVG text, by file name; those whose records are missing are left out."""
    made = {
        "paper_densities": densities(curves),
        "paper_frontiers": frontiers(records),
        "paper_metrics": six_metrics(records),
        "paper_on_top": on_top(records),
        "paper_unified": unified(records),
        "paper_noise": noise(curves),
        "paper_synthetic": synthetic(curves),
    }
    return {name: svg for name, svg in made.items() if svg}


# ------------------------------------------------------------------------------------------------------------- figure 1


def densities(curves: Report) -> str:
    """Scores of each cell, the fitted densities, and the thresholds."""
    found = curves.get("figure1")
    if not found:
        return ""
    x, edges, parts = found["x"], found["edges"], []
    panels = {}
    for i, label in enumerate((1, 0)):
        cells = [cell for cell in found["cells"] if cell["label"] == label]
        top = 1.08 * max(max(cell["shares"]) for cell in cells)
        panel = panels[label] = Panel(60, 34 + 230 * i, 520, 170, (edges[0], edges[-1]), (0, top))
        panel.frame(("attractive, y = 1", "not attractive, y = 0")[i], "score (logit)", "density")
        for cell in cells:
            colour = COLOUR_OF_GROUP[cell["group"]]
            heights = [(e, s) for a, b, s in zip(edges, edges[1:], cell["shares"], strict=False) for e in (a, b)]
            panel.area(heights, colour)
            panel.line(zip(x, cell["pdf"], strict=True), colour)
        panel.upright(0.0, "#888888")
        for group, at in found["thresholds"]["loop"].items():
            panel.upright(at, COLOUR_OF_GROUP[int(group)])
        parts += panel.parts
    entries = [
        ("women (a = 1)", COLOUR_OF_GROUP[1], "circle", False),
        ("men (a = 0)", COLOUR_OF_GROUP[0], "circle", False),
    ]
    parts += legend(600, 44, entries)
    parts += [text(594, 92 + 16 * i, words, "small") for i, words in enumerate(_threshold_words(found))]
    return picture(780, 460, "Scores of each label and group with fitted densities and thresholds", parts)


def _threshold_words(found: Report) -> list[str]:
    loop = found["thresholds"]["loop"]
    return [
        "grey: threshold 0 for both",
        f"dashed: the loop's, {loop['1']:.2f} and {loop['0']:.2f}",
        "(the paper's: 0.640, -0.627,",
        "for a network on images)",
    ]


# ------------------------------------------------------------------------------------------------------------- figure 2


def points_of(records: Sequence[Record]) -> list[tuple[float, float]]:
    """Mean EOd (sum) and accuracy on test rows of each setting, in order of EOd."""
    found = [(mean(some, "eod_sum"), mean(some, "accuracy")) for some in by(records, "setting").values()]
    return sorted(found)


def frontiers(records: Sequence[Record], protocol: str = "paper") -> str:
    """Accuracy against EOd: our forms as lines, rivals as points, the published points hollow."""
    some = keep(records, protocol=protocol, criterion=EODDS, model="lr")
    rivals = sorted({one["method"] for one in some if not ours(one["method"])})
    if not some:
        return ""
    looks = {name: (COLOURS[i % len(COLOURS)], SHAPES[i % len(SHAPES)]) for i, name in enumerate(rivals)}
    titles = {one["method"]: one.get("form") or one["method"] for one in some}
    parts: list[str] = []
    for i, data in enumerate(DATA):
        here = keep(some, data=data)
        if not here:
            continue
        lines = {name: points_of(keep(here, method=name)) for name in (*OURS_TITLES, *rivals)}
        drawn = [point for points in lines.values() for point in points]
        paper = [line for line in published("figure2_points") if line["dataset"].lower() == data]
        drawn += [(line["EOd_sum"], line["accuracy"]) for line in paper]
        floor = floor_of(records, data)
        best = max(accuracy for _, accuracy in drawn)
        worst = max(min(accuracy for _, accuracy in drawn), best - 0.14)
        widest = max(gap for gap, _ in drawn)
        if lines.get("baseline"):
            widest = min(widest, 1.5 * lines["baseline"][-1][0])  # what lies beyond is drawn at the end of the axis
        left, top = 60 + 430 * (i % 2), 34 + 300 * (i // 2)
        panel = Panel(left, top, 350, 225, (0, 1.05 * widest), (worst, best + 0.005))
        panel.frame(SHOWN[data], "EOd (sum), test rows", "accuracy")
        panel.band(0, floor)
        for name, points in lines.items():
            colour, shape = looks.get(name, (OURS_COLOURS.get(name, "#000000"), "star"))
            if name in OURS_TITLES and points:
                panel.line(points, colour, 2)
            for point in points:
                panel.point(*point, colour, shape)
        for line in paper:
            panel.point(
                line["EOd_sum"], line["accuracy"], "#999999", "star" if "GSTAR" in line["series"] else "circle", True
            )
        parts += panel.parts
    entries = [(OURS_TITLES[name], OURS_COLOURS[name], "star", False) for name in OURS_TITLES]
    entries += [(titles[name], *looks[name], False) for name in rivals]
    entries += [("published: GSTAR", "#999999", "star", True), ("published: others", "#999999", "circle", True)]
    parts += legend(900, 44, entries)
    parts.append(text(894, 52 + 17 * len(entries), "grey stripe: noise floor", "small"))
    height = max(640, 80 + 17 * len(entries))
    return picture(1130, height, "Accuracy against the sum of both gaps, by data set and method", parts)


# ------------------------------------------------------------------------------------------------------------- figure 3


def chosen_setting(records: Sequence[Record], setting: dict[str, Any] | None) -> list[Record]:
    """Records of the setting that is fixed, or of that with the most accuracy minus half of EOd on the fit rows."""
    if setting is not None:
        return [one for one in records if one["setting"] == setting]
    found = by(records, "setting").values()
    return max(found, key=lambda some: mean(some, "accuracy", "fit") - mean(some, "eod_sum", "fit") / 2, default=[])


def six_metrics(records: Sequence[Record]) -> str:
    """The paper's six metrics, ours filled and the published ones hollow; EOd and BD are halves, as it draws them."""
    parts: list[str] = []
    drawn = [data for data in DATA if keep(records, protocol="paper", data=data)]
    if not drawn:
        return ""
    for i, data in enumerate(drawn):
        paper = figure3(data)
        top = 40 + 226 * i
        parts.append(text(20, top - 14, SHOWN[data], "title"))
        for j, (words, name, factor) in enumerate(METRICS):
            left = 130 + 165 * j
            rows = {}
            for k, (title, method, criterion, setting) in enumerate(PAPER):
                some = keep(records, protocol="paper", data=data, method=method, criterion=criterion, model="lr")
                mine = factor * mean(chosen_setting(some, setting), name)
                rows[k] = (title, mine, paper.get(title, {}).get(DRAWN[j]))
            values = [
                v for _, mine, theirs in rows.values() for v in (mine, theirs) if v is not None and np.isfinite(v)
            ]
            low, high = (min(values) - 0.02, max(values) + 0.02) if j >= 4 else (0.0, 1.08 * max(values) + 1e-9)
            panel = Panel(left, top, 140, 165, (low, high), (-0.5, len(PAPER) - 0.5))
            parts.append(text(left + 70, top - 6, words, "small", "middle"))
            parts.append(f'<rect class="axis" x="{left}" y="{top}" width="140" height="165"/>')
            for place in (low, high):
                parts.append(text(panel.at(place, 0)[0], top + 178, f"{place:.2f}", "small", "middle"))
            for k, (title, mine, theirs) in rows.items():
                y = len(PAPER) - 1 - k
                if j == 0:
                    parts.append(text(left - 8, panel.at(low, y)[1] + 4, title, "small", "end"))
                if theirs is not None:
                    parts.append(mark(*panel.at(theirs, y), "#b5541c", "circle", True))
                if np.isfinite(mine):
                    parts.append(mark(*panel.at(mine, y), "#1f6f8b"))
    bottom = 40 + 226 * len(drawn)
    parts += legend(140, bottom, [("here, mean of five splits", "#1f6f8b", "circle", False)])
    parts += legend(340, bottom, [("published (Figure 3)", "#b5541c", "circle", True)])
    return picture(1130, bottom + 20, "The paper's six metrics, measured here and published", parts)


# ------------------------------------------------------------------------------------------------------------- figure 4


def on_top(records: Sequence[Record]) -> str:
    """Fair models, and our thresholds on top of them: from each setting to what the thresholds make of it."""
    some = keep(records, protocol="paper", criterion=EODDS, model="lr")
    names = sorted({one["method"].removeprefix("exact_on_") for one in some if one["method"].startswith("exact_on_")})
    parts: list[str] = []
    shown = [
        data for data in ("adult", "compas") if keep(some, data=data, method=tuple(f"exact_on_{n}" for n in names))
    ]
    if not shown:
        return ""
    for i, data in enumerate(shown):
        pairs = []
        for name in names:
            after = by(keep(some, data=data, method=f"exact_on_{name}"), "setting").values()
            for group in after:
                asked = group[0]["setting"]
                if asked["limit"] != 0.02:
                    continue
                bare = {key: value for key, value in asked.items() if key != "limit"}
                before = [one for one in keep(some, data=data, method=name) if one["setting"] == bare]
                if before:
                    ends = [(mean(few, "eod_sum"), mean(few, "accuracy")) for few in (before, group)]
                    pairs.append((name, *ends))
        values = [end for _, *ends in pairs for end in ends]
        panel = Panel(60 + 430 * i, 34, 350, 260, (0, 1.05 * max(g for g, _ in values)), span_of(a for _, a in values))
        panel.frame(SHOWN[data], "EOd (sum), test rows", "accuracy")
        for name, before, after in pairs:
            shape = MORE_SHAPES[names.index(name) % len(MORE_SHAPES)]
            panel.line([before, after], "#aaaaaa", 1)
            panel.point(*before, "#3f6fb5", shape)
            panel.point(*after, "#c2188b", shape)
        parts += panel.parts
    titles = {one["method"]: one.get("form") or one["method"] for one in some}
    right = 60 + 430 * len(shown)
    shapes = [(titles.get(n, n), "#666666", MORE_SHAPES[i % len(MORE_SHAPES)], False) for i, n in enumerate(names)]
    parts += legend(
        right,
        44,
        [*shapes, ("the model alone", "#3f6fb5", "circle", False), ("with our thresholds", "#c2188b", "circle", False)],
    )
    return picture(right + 230, 350, "Fair models before and after thresholds for each group", parts)


# --------------------------------------------------------------------------------------------------- unified thresholds


def unified(records: Sequence[Record], data: str = "compas") -> str:
    """One threshold for everybody against one for each group, by penalty: thresholds, and accuracy against EOd."""
    some = keep(records, protocol="paper", criterion=EODDS, data=data, model="lr")
    pair, single = keep(some, method="loop"), keep(some, method="loop_unified")
    if not pair or not single or not pair[0].get("thresholds"):
        return ""

    def path(records: Sequence[Record], group: str) -> list[tuple[float, float]]:
        found = by([one for one in records if one["setting"]["penalty"] <= 100], "setting").values()
        values = [(few[0]["setting"]["penalty"], [one["thresholds"][group] for one in few]) for few in found]
        return sorted((penalty, float(np.mean(some))) for penalty, some in values if None not in some)

    lines = {"group 0": path(pair, "0"), "group 1": path(pair, "1"), "one for all": path(single, "0")}
    colours = {"group 0": COLOUR_OF_GROUP[0], "group 1": COLOUR_OF_GROUP[1], "one for all": "#777777"}
    lambdas = [x for points in lines.values() for x, _ in points]
    left = Panel(
        60, 34, 340, 240, (min(lambdas), max(lambdas)), span_of(y for p in lines.values() for _, y in p), log_x=True
    )
    left.frame(f"{SHOWN[data]}: thresholds", "lambda", "threshold", x_ticks=[10.0**k for k in range(-2, 3)])
    for name, points in lines.items():
        left.line(points, colours[name], 2, "5 3" if name == "one for all" else "")
        for point in points:
            left.point(*point, colours[name])
    curves = {"loop": points_of(pair), "loop_unified": points_of(single)}
    drawn = [point for points in curves.values() for point in points]
    baseline = keep(some, method="baseline")
    right = Panel(480, 34, 340, 240, (0, 1.08 * max(g for g, _ in drawn)), span_of(a for _, a in drawn))
    right.frame(f"{SHOWN[data]}: what they reach", "EOd (sum), test rows", "accuracy")
    for name, points in curves.items():
        for point in points:
            right.point(*point, OURS_COLOURS[name], "star" if name == "loop" else "square")
    if baseline:
        right.point(mean(baseline, "eod_sum"), mean(baseline, "accuracy"), "#222222", "circle", True)
    entries = [(f"threshold: {name}", colour, "circle", False) for name, colour in colours.items()]
    entries += [("one for each group", OURS_COLOURS["loop"], "star", False)]
    entries += [("one for all", OURS_COLOURS["loop_unified"], "square", False), ("baseline", "#222222", "circle", True)]
    parts = [*left.parts, *right.parts, *legend(845, 44, entries)]
    return picture(990, 330, "Thresholds by penalty, one for all and one for each group", parts)


# ------------------------------------------------------------------------------------------------------- density noise


def noise(curves: Report) -> str:
    """A wrong scale of one cell's density: how the density looks, and what becomes of likelihood, accuracy and gaps."""
    found = curves.get("noise")
    if not found:
        return ""
    given = found["parameters"]
    x = np.linspace(-6, 6, 161)
    left = Panel(60, 34, 330, 240, (-6, 6), (0, 0.75))
    left.frame("the density of y = 0, a = 0", "score (logit)", "density")
    shown = [line for line in found["lines"] if line["alpha"] in (-0.1, 0.0, 0.5, 2.0, 10.0)]
    for i, line in enumerate(shown):
        pdf = stats.t.pdf(x, given["df"], given["location"], given["scale"] + line["alpha"])
        left.line(zip(x, pdf, strict=True), COLOURS[i], 2)
    names = [("accuracy", "accuracy", COLOURS[5]), ("eod_sum", "EOd (sum)", COLOURS[6]), ("dp", "DP", COLOURS[9])]
    places = list(range(len(found["lines"])))
    right = Panel(470, 34, 360, 240, (0, places[-1]), (0, 1))
    right.frame("what the loop makes of it", "noise alpha, added to the scale", "metric", x_ticks=[])
    for place, line in zip(places, found["lines"], strict=True):
        right.parts.append(text(right.at(place, 0)[0], right.top + 253, f"{line['alpha']:g}", "small", "middle"))
    for name, _, colour in names:
        right.line([(p, line["test"][name]) for p, line in zip(places, found["lines"], strict=True)], colour, 2)
        right.line([(0, found["baseline"][name]), (places[-1], found["baseline"][name])], colour, 1, "4 3")
    most = max(line["nll"] for line in found["lines"])
    right.line([(p, line["nll"] / most) for p, line in zip(places, found["lines"], strict=True)], "#777777", 2)
    entries = [(f"alpha {line['alpha']:g}", COLOURS[i], "circle", False) for i, line in enumerate(shown)]
    entries += [(words, colour, "circle", False) for _, words, colour in names]
    entries += [(f"NLL / {most:.2f}", "#777777", "circle", False)]
    parts = [
        *left.parts,
        *right.parts,
        *legend(855, 44, entries),
        text(849, 60 + 17 * len(entries), "dashed: baseline", "small"),
    ]
    return picture(990, 330, "Noise on the scale of one density and its effect", parts)


# ----------------------------------------------------------------------------------------------------------- synthetic


def synthetic(curves: Report) -> str:
    """The synthetic table: accuracy and gaps by penalty, for three questions."""
    lines = curves.get("synthetic")
    if not lines:
        return ""
    metrics = [("accuracy", "accuracy"), ("dp", "DP"), ("eod_sum", "EOd (sum)"), ("eop", "EOp")]
    base = [line["test"] for line in lines if line["question"] == "baseline"]
    questions = list(dict.fromkeys(line["question"] for line in lines if line["question"] != "baseline"))
    parts: list[str] = []
    for i, question in enumerate(questions):
        here = [line for line in lines if line["question"] == question]
        lambdas = sorted({line["penalty"] for line in here})
        panel = Panel(60 + 320 * i, 34, 250, 220, (lambdas[0], lambdas[-1]), (0, 1), log_x=True)
        panel.frame(f"penalty on {question}", "lambda", "metric", x_ticks=[10.0**k for k in range(-2, 5)])
        for j, (name, _) in enumerate(metrics):
            means = [(x, float(np.mean([o["test"][name] for o in here if o["penalty"] == x]))) for x in lambdas]
            panel.line(means, COLOURS[j], 2)
            level = float(np.mean([one[name] for one in base]))
            panel.line([(lambdas[0], level), (lambdas[-1], level)], COLOURS[j], 1, "4 3")
        parts += panel.parts
    parts += legend(
        60 + 320 * len(questions), 44, [(words, COLOURS[j], "circle", False) for j, (_, words) in enumerate(metrics)]
    )
    parts.append(text(54 + 320 * len(questions), 120, "dashed: thresholds 0", "small"))
    return picture(190 + 320 * len(questions), 310, "The synthetic table: accuracy and gaps by penalty", parts)
