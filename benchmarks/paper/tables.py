"""The tables of the page, each from the records. EOd is the sum of both gaps unless a table says half."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.harness import table
from benchmarks.paper.acceptance import EODDS, at, cost, share_removed
from benchmarks.paper.figures import BOTH, DRAWN, METRICS, PAPER, chosen_setting
from benchmarks.paper.frontier import choose
from benchmarks.paper.records import (
    DATA,
    GAP_WORDS,
    GAPS,
    SHOWN,
    Record,
    by,
    figure3,
    floor_of,
    keep,
    mean,
    ours,
    spread,
    unpromised,
)

CRITERIA = ("equalized_odds", "demographic_parity", "equal_opportunity")
TRAIN_TEST = {  # the paper's table, COMPAS; its "0.0643" is 0.643
    "demographic_parity": (0.679, 0.001, 0.089, 0.639, 0.017, 0.018),
    "equalized_odds": (0.714, 0.071, 0.030, 0.643, 0.032, 0.034),
    BOTH: (0.705, 0.050, 0.030, 0.641, 0.027, 0.025),
}
Report = dict[str, Any]


def listing(head: list[str], body: list[list[str]]) -> str:
    """Markdown table of long texts: cells are not padded."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def both(some: Sequence[Record], gap: str = "eod_sum") -> str:
    """Accuracy and a gap, means over splits; a dash where there is nothing."""
    if not some:
        return "-"
    short = f" ({len({one['seed'] for one in some})})" if len({one["seed"] for one in some}) < 5 else ""
    return f"{mean(some, 'accuracy'):.3f} / {mean(some, gap):.3f}{short}{unpromised(list(some))}"


def title_of(records: Sequence[Record], method: str) -> str:
    """What a method is called; ours is called so."""
    title = next((one.get("form") or method for one in records if one["method"] == method), method)
    return f"ours, {title}" if ours(method) else title


def shown_data(records: Sequence[Record]) -> list[str]:
    return [data for data in DATA if any(one["data"] == data for one in records)]


# ---------------------------------------------------------------------------------------------------------- noise floor


def floors(records: Sequence[Record]) -> str:
    body = []
    for data in shown_data(records):
        base = at(records, data, "baseline")
        cells = [np.mean([one["counts"]["test"] for one in base], 0)] if base else []
        smallest = f"{cells[0].min():.0f}" if cells else "-"
        rows = f"{cells[0].sum():,.0f}" if cells else "-"
        gaps = [f"{mean(base, GAPS[c]):.3f} / {floor_of(records, data, c):.3f}" if base else "-" for c in CRITERIA]
        body.append([SHOWN[data], rows, smallest, *gaps])
    head = ["data", "test rows", "smallest cell", *(f"{GAP_WORDS[c]}: baseline / floor" for c in CRITERIA)]
    return table(head, body)


def floor_words(records: Sequence[Record], criterion: str = EODDS) -> str:
    """The noise floors in one sentence, to stand beside gaps."""
    said = ", ".join(f"{SHOWN[data]} {floor_of(records, data, criterion):.3f}" for data in shown_data(records))
    return f"Noise floor of {GAP_WORDS[criterion]}: {said}."


# ------------------------------------------------------------------------------------------------------ means by method


SUMMARY: tuple[tuple[str, dict[str, Any] | None], ...] = (
    ("baseline", None),
    ("exact", {"limit": 0.02}),
    ("randomised", {"limit": 0.02}),
    ("randomised", {"limit": 0.005}),
    ("kde", {"limit": 0.02}),
    ("promised", {"limit": 0.05}),
    ("loop", {"penalty": 10.0}),
    ("loop_kde", {"penalty": 10.0}),
    ("unified", {"limit": 0.1}),
)


def summary(records: Sequence[Record]) -> str:
    """Our forms at settings that were fixed beforehand, and rivals without a knob; the paper's protocol."""
    shown = shown_data(records)
    single = [
        (name, None)
        for name in sorted({one["method"] for one in keep(records, protocol="paper")})
        if not ours(name)
        and name != "baseline"
        and len(by(keep(records, protocol="paper", method=name), "setting")) == 1
    ]
    body = [["*noise floor of EOd*", *(f"- / {floor_of(records, data):.3f}" for data in shown)]]
    for name, setting in (*SUMMARY, *single):
        knob = "" if setting is None else ", " + ", ".join(f"{key} {value:g}" for key, value in setting.items())
        cells = [both(at(records, data, name, setting)) for data in shown]
        if any(cell != "-" for cell in cells):
            body.append([f"{title_of(records, name)}{knob}", *cells])
    return table(["accuracy / EOd (sum)", *(SHOWN[data] for data in shown)], body)


def every_setting(records: Sequence[Record], data: str) -> str:
    """Each method and setting in the paper's protocol, in order of EOd within a method."""
    some = keep(records, protocol="paper", model="lr", data=data, criterion=EODDS)
    body = []
    for (method,), few in by(some, "method").items():
        rows = []
        for (setting,), one in by(few, "setting").items():
            deviation = f"{spread(one, 'accuracy'):.3f} / {spread(one, 'eod_sum'):.3f}"
            fit = f"{mean(one, 'accuracy', 'fit'):.3f} / {mean(one, 'eod_sum', 'fit'):.3f}"
            more = [
                f"{mean(one, name):.3f}" for name in ("eod_max", "eop", "pe", "dp", "bd", "dimp", "balanced_accuracy")
            ]
            line = [
                title_of(some, method),
                setting or "-",
                str(len(one)),
                both(one).split(" (")[0],
                deviation,
                fit,
                *more,
            ]
            rows.append((mean(one, "eod_sum"), line))
        body += [row for _, row in sorted(rows, key=lambda pair: pair[0])]
    head = [
        "method",
        "setting",
        "splits",
        "accuracy / EOd (sum)",
        "their deviations",
        "on fit rows",
        "EOd (max)",
        "EOp",
        "PE",
    ]
    return table([*head, "DP", "BD (sum)", "1-DIMP", "BA"], body)


def chosen(records: Sequence[Record], criterion: str, target: float) -> str:
    """Test rows of the setting that validation rows choose for one target, means over the splits of the frontier."""
    some = [one for one in keep(records, protocol="frontier", model="lr", criterion=criterion) if one.get("validation")]
    gap = GAPS[criterion]
    shown = shown_data(some)
    body = [["*noise floor*", "", "", *(f"- / {floor_of(records, data, criterion):.3f}" for data in shown)]]
    methods = by(some, "method")
    order = sorted(methods, key=lambda name: (methods[name][0]["randomised"], not ours(name[0]), name[0]))
    for (method,) in order:
        one = methods[method,][0]
        cells = []
        for data in shown:
            splits = by(keep(methods[method,], data=data), "seed").values()
            picked = [choose(few, criterion, [target])[0] for few in splits]
            short = (f" ({len(picked)})" if len(picked) < 10 else "") + unpromised(picked)
            cells.append(f"{mean(picked, 'accuracy'):.3f} / {mean(picked, gap):.3f}{short}" if picked else "-")
        body.append(
            [title_of(some, method), *("yes" if one[k] else "no" for k in ("randomised", "uses_group")), *cells]
        )
    return table(["method", "coins", "asks for the group", *(SHOWN[data] for data in shown)], body)


# --------------------------------------------------------------------------------------------------- the paper's tables


def figure3_table(records: Sequence[Record], data: str) -> str:
    """The six metrics, measured here / published; EOd and BD are halves as Figure 3 draws them."""
    paper, body = figure3(data), []
    for title, method, criterion, setting in PAPER:
        some = keep(records, protocol="paper", model="lr", data=data, method=method, criterion=criterion)
        mine = chosen_setting(some, setting)
        theirs = paper.get(title, {})
        cells = []
        for (_, name, factor), drawn in zip(METRICS, DRAWN, strict=True):
            ours_here = f"{factor * mean(mine, name):.3f}" if mine else "-"
            cells.append(f"{ours_here} / {theirs[drawn]:.3f}" if drawn in theirs else f"{ours_here} / -")
        knob = ", ".join(f"{key} {value}" for key, value in mine[0]["setting"].items()) if mine else "-"
        body.append([title, knob or "-", *cells])
    return table(["method", "setting here", *(words for words, *_ in METRICS)], body)


def halved_floor(records: Sequence[Record], data: str) -> str:
    """The data set with its noise floors, EOd as the half that Figure 3 draws."""
    half, eop = floor_of(records, data) / 2, floor_of(records, data, "equal_opportunity")
    return f"{SHOWN[data]}; noise floor of EOd / 2: {half:.3f}, of EOp: {eop:.3f}:"


def removal(records: Sequence[Record]) -> str:
    body = []
    for data in shown_data(records):
        if not at(records, data, "baseline"):
            continue
        share, theirs = share_removed(records, data)
        mine, paper = cost(records, data)
        note = "not separable" if data == "german" else ""
        cells = [f"{100 * share:.0f} % / {100 * theirs:.0f} %", f"{100 * mine:.2f} / {100 * paper:.2f}"]
        body.append([SHOWN[data], *cells, f"{floor_of(records, data):.3f}", note])
    return table(
        ["data", "EOd removed: here / paper", "accuracy cost in points: here / paper", "noise floor", ""], body
    )


def train_test(records: Sequence[Record], data: str = "compas") -> str:
    """Metrics on the rows thresholds were found on, and on test rows."""
    body = []
    for criterion, paper in TRAIN_TEST.items():
        words = {"demographic_parity": "DP", "equalized_odds": "EOd", BOTH: "DP + EOd"}[criterion]
        body.append([f"paper, GSTAR ({words})", *(f"{value:.3f}" for value in paper)])
        for method, setting in (("loop", {"penalty": 10.0}), ("exact", {"limit": 0.02})):
            some = keep(records, protocol="paper", model="lr", data=data, method=method, criterion=criterion)
            mine = [one for one in some if one["setting"] == setting]
            if mine:
                knob = ", ".join(f"{key} {value:g}" for key, value in setting.items())
                cells = [mean(mine, name, part) for part in ("fit", "test") for name in ("accuracy", "dp", "eod_sum")]
                body.append([f"{title_of(some, method)}, {knob} ({words})", *(f"{cell:.3f}" for cell in cells)])
    names = ["ACC", "DP", "EOd (sum)"]
    return table(["", *(f"{n}, train" for n in names), *(f"{n}, test" for n in names)], body)


def times(report: Report) -> str:
    """Seconds of one fit, its ratio to exact and to the loop, and the paper's seconds."""
    rows = report["rows"]
    body = []
    for data in DATA:
        here = [row for row in rows if row["data"] == data]
        mine = {(row["method"], row["part"]): row["wall"]["least"] for row in here}
        for row in sorted(here, key=lambda row: row["wall"]["least"]):
            wall = row["wall"]["least"]
            ratios = [mine.get(("exact", "from a sketch")), mine.get(("loop", "from a sketch"))]
            paper = row.get("published")
            body.append(
                [
                    SHOWN[data],
                    row["title"] + (", from a sketch" if row["part"] != "fit" else ""),
                    str(row["n"]),
                    seconds(wall),
                    seconds(row["cpu"]["least"]),
                    *(f"{wall / ratio:,.1f}" if ratio else "-" for ratio in ratios),
                    "-" if paper is None else seconds(paper),
                    "-" if paper is None else f"{paper / wall:,.1f}",
                ]
            )
    head = ["data", "method", "rounds", "wall", "CPU", "times exact", "times the loop", "paper", "paper / here"]
    return table(head, body)


def seconds(value: float) -> str:
    if value < 1e-3:
        return f"{1e6 * value:.0f} us"
    return f"{1e3 * value:.2f} ms" if value < 1 else f"{value:.1f} s"


def synthetic(lines: Sequence[Report]) -> str:
    body = []
    base = [line["test"] for line in lines if line["question"] == "baseline"]

    def cells(some: Sequence[Report]) -> list[str]:
        return [f"{np.mean([one[name] for one in some]):.3f}" for name in ("accuracy", "dp", "eop", "eod_sum")]

    body.append(["thresholds 0", "-", *cells(base), "-", "-"])
    for question in dict.fromkeys(line["question"] for line in lines if line["question"] != "baseline"):
        here = [line for line in lines if line["question"] == question]
        for penalty in sorted({line["penalty"] for line in here})[::2]:
            some = [line for line in here if line["penalty"] == penalty]
            ended = sum(line["verdict"] == "converged" for line in some)
            above = max(line["loss_above_optimum"] or 0.0 for line in some)
            shown = cells([line["test"] for line in some])
            body.append([f"penalty on {question}", f"{penalty:g}", *shown, f"{ended} of {len(some)}", f"{above:.1e}"])
    return table(["", "lambda", "ACC", "DP", "EOp", "EOd (sum)", "converged", "loss above the optimum"], body)


# --------------------------------------------------------------------------------------------------------- Adult's cost


def density_noise(lines: Sequence[Report]) -> str:
    """What the loop makes of a density whose scale is wrong by alpha."""
    names = ("accuracy", "eod_sum", "eop", "dp")
    body = [[f"{line['alpha']:+g}", *(f"{line['test'][name]:.4f}" for name in names)] for line in lines]
    return table(["alpha", "accuracy", "EOd (sum)", "EOp", "DP"], body)


def adult_cost(lines: Sequence[Report], floor: float) -> str:
    """Points of accuracy that a gap costs on Adult, thresholds from train rows and from the test rows themselves."""
    base = np.mean([line["baseline"]["accuracy"] for line in lines])
    body = []
    for target in lines[0]["train"]:
        row = [f"{float(target):.3f}"]
        for part in ("train", "test"):
            lost = [100 * (line["baseline"]["accuracy"] - line[part][target]["accuracy"]) for line in lines]
            gap = np.mean([line[part][target]["eod_sum"] for line in lines])
            row += [f"{np.mean(lost):+.2f}", f"{min(lost):+.2f} to {max(lost):+.2f}", f"{gap:.3f}"]
        body.append(row)
    head = ["EOd (sum) at most", "cost, train", "its range", "EOd on test", "cost, test", "its range", "EOd on test"]
    gap = np.mean([line["baseline"]["eod_sum"] for line in lines])
    return f"Baseline: {base:.4f} / {gap:.3f}; noise floor {floor:.3f}.\n\n" + table(head, body)


def adult_variants(lines: Sequence[Report]) -> str:
    body = []
    for line in lines:
        accuracy = [one["accuracy"] for one in line["tests"]]
        gaps = [one["eod_sum"] for one in line["tests"]]
        lost = [100 * (one["accuracy"] - one["within"]["accuracy"]) for one in line["tests"]]
        cells = [f"{np.mean(accuracy):.3f}", f"{np.mean(gaps):.3f}", f"{min(gaps):.3f} to {max(gaps):.3f}"]
        body.append([line["variant"], *cells, f"{np.mean(lost):+.2f}", f"{min(lost):+.2f} to {max(lost):+.2f}"])
    head = ["baseline", "accuracy", "EOd (sum)", "EOd of single splits", "cost of EOd at most .04, test", "its range"]
    return table(head, body)


def picked_on_test(records: Sequence[Record], most: float = 0.045) -> str:
    """The loop with the lambda that the test rows like best within a gap, which is how the paper chose: its cost."""
    base = {one["seed"]: one["test"]["accuracy"] for one in at(records, "adult", "baseline")}
    lost, gaps = [], []
    for method in ("loop", "loop_kde"):
        for (seed,), some in by(at(records, "adult", method), "seed").items():
            within = [one for one in some if one["test"]["eod_sum"] <= most]
            if within and seed in base:
                best = max(within, key=lambda one: one["test"]["accuracy"])
                lost.append((method, 100 * (base[seed] - best["test"]["accuracy"])))
                gaps.append(best["test"]["eod_sum"])
    if not lost:
        return "not measured"
    return "; ".join(
        f"{title_of(records, method)} {np.mean([x for name, x in lost if name == method]):.2f} points"
        for method in dict.fromkeys(name for name, _ in lost)
    )
