"""The page of the reproduction, from recorded results alone.

    python -m benchmarks.paper.page --records benchmarks/results/paper.jsonl.gz --results benchmarks/results

Reads the records, and `paper_curves.json.xz` and `paper_times.json.xz` in the folder of results. Writes `paper.md`,
`paper_settings.md` and the figures there. The same records give the same text.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.harness import filled, heading, read_long
from benchmarks.paper import acceptance, tables, versus
from benchmarks.paper.figures import figures
from benchmarks.paper.frontier import Comparison, among_ours, comparisons
from benchmarks.paper.records import (
    DATA,
    GAP_WORDS,
    RECORDED,
    SHOWN,
    Record,
    absent,
    by,
    failures,
    keep,
    load,
    ours,
)

CRITERIA = ("equalized_odds", "demographic_parity", "equal_opportunity")
TARGETS = {"equalized_odds": 0.05, "demographic_parity": 0.05, "equal_opportunity": 0.05}
FIGURES = {
    "paper_densities": "Figure 1: densities and thresholds",
    "paper_frontiers": "Figure 2: accuracy against EOd",
    "paper_metrics": "Figure 3: six metrics",
    "paper_on_top": "Figure 4: on top of fair models",
    "paper_unified": "One threshold for everybody",
    "paper_noise": "Noise on one density",
    "paper_synthetic": "The synthetic table by penalty",
}
ALT = {
    "paper_densities": "Scores of each label and group, densities and thresholds",
    "paper_frontiers": "Accuracy against EOd on four data sets",
    "paper_metrics": "Six metrics, here and published",
    "paper_on_top": "Fair models before and after our thresholds",
    "paper_unified": "One threshold for all against one for each group",
    "paper_noise": "Noise on one density",
    "paper_synthetic": "The synthetic table by penalty",
}
WORDS = Path(__file__).parent / "words.md"
Report = dict[str, Any]


@cache
def words(name: str) -> str:
    """A part of words.md: from its mark to the next one."""
    parts = re.split(r"^<!-- (\w+) -->$", WORDS.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))[name].strip()


def pages(records: Sequence[Record], curves: Report, times: Report | None) -> dict[str, str]:
    """Everything that is written, by file name."""
    drawn = figures(records, curves)
    found = comparisons(records)
    files = {f"{name}.svg": svg for name, svg in drawn.items()}
    files["paper.md"] = main_page(records, curves, times, found, set(drawn))
    files["paper_settings.md"] = settings_page(records)
    return files


def section(title: str, *parts: str, level: int = 2) -> str:
    return "\n\n".join(["#" * level + " " + title, *(part for part in parts if part)])


def figure(name: str, drawn: set[str]) -> str:
    return f"![{ALT[name]}]({name}.svg)" if name in drawn else "*Not measured in this run.*"


def main_page(
    records: Sequence[Record], curves: Report, times: Report | None, found: list[Comparison], drawn: set[str]
) -> str:
    points = acceptance.points(records, times, found)
    about = heading(curves["machine"]) if "machine" in curves else ""
    parts = [
        "# The paper's comparison, recorded",
        words("about").format(heading=about, counted=counted(records)),
        section("What was asked, and what came out", judged(points), tables.floor_words(records), asked_table(points)),
        section("Noise floor", words("german"), tables.floors(records)),
        section("Means at fixed settings", *fixed(records)),
        section("Accuracy at equal gap", words("chosen"), *equal_gap(records, found)),
        section("The paper's figures", *paper_figures(records, curves, drawn)),
        section("Adult's accuracy cost is not reproduced", *adult(records, curves)),
    ]
    if curves.get("synthetic"):
        parts.append(section("The synthetic table", words("synthetic"), tables.synthetic(curves["synthetic"])))
    if times:
        parts.append(section("Times", words("times"), tables.times(times)))
    parts += [
        section("Choices made after results were seen", words("choices")),
        section("How each method was run, and what failed", *run_notes(records)),
        section("Where this differs from the paper", words("differences")),
    ]
    return "\n\n".join(parts) + "\n"


def counted(records: Sequence[Record]) -> str:
    """How many records there are, of what."""
    good = keep(records)
    methods = {one["method"] for one in good}
    mine = {name for name in methods if ours(name)}
    said = f"{len(records):,} records: {len(mine)} forms of ours and {len(methods - mine)} rivals"
    protocols = Counter(one["protocol"] for one in records)
    said += "; " + ", ".join(f"{count:,} in protocol {name}" for name, count in sorted(protocols.items()))
    packages = {(name, version) for one in records for name, version in (one.get("versions") or {}).items()}
    return f"{said}. They ran with {', '.join(' '.join(pair) for pair in sorted(packages))}" if packages else said


def judged(points: Sequence[acceptance.Point]) -> str:
    met = sum(point.met is True for point in points)
    missed = [point for point in points if point.met is False]
    absent = [point for point in points if point.met is None]
    said = [f"{met} of {len(points)} lines were met. Numbers are those of the list that was written before the runs."]
    for words_of, some in (("Missed", missed), ("Not measured", absent)):
        if some:
            said.append(f"{words_of}:\n\n" + "\n".join(f"- {point.asked}: {point.found}" for point in some))
    return "\n\n".join(said)


def asked_table(points: Sequence[acceptance.Point]) -> str:
    met = {True: "yes", False: "NO", None: "not measured"}
    body = [[point.asked, point.found, point.number, met[point.met]] for point in points]
    return tables.listing(["asked (accuracy / EOd as a sum; means of seeds 0 to 4)", "found", "point", "met"], body)


def fixed(records: Sequence[Record]) -> list[str]:
    said = (
        "Held-out accuracy / EOd (sum), means of seeds 0 to 4, protocol `paper`. *Unpromised*: in so many splits no "
        "promise could be made, and the thresholds are those of exact. Settings are those that the "
        "points above name, fixed beforehand; of rivals those without a knob. A number in brackets: so many splits "
        "only. [Every setting of every method](paper_settings.md) is on a page of its own."
    )
    return [said, tables.summary(records)]


def equal_gap(records: Sequence[Record], found: list[Comparison]) -> list[str]:
    parts = []
    if found:
        parts.append(versus.tally(found, records))
        parts.append("\n".join(f"- {line}" for line in versus.verdicts(found, records)))
    for criterion in CRITERIA:
        for randomised in (False, True):
            some = [
                one
                for one in found
                if one.criterion == criterion and one.randomised == randomised and one.model == "lr"
            ]
            if some:
                kind = "randomised rules" if randomised else "deterministic rules"
                floor = tables.floor_words(records, criterion)
                title = f"{GAP_WORDS[criterion]}, {kind}"
                parts.append(section(title, floor, versus.compared(some, records), level=3))
    other = [one for one in found if one.model != "lr"]
    if other:
        said = "The same with gradient boosting as the base model: methods that read scores, and FairGBM."
        parts.append(section("Gradient boosting", said, versus.compared(other, records, with_gap=True), level=3))
    mine = [one for one in among_ours(records) if one.model == "lr"]
    if mine:
        said = f"Our other forms (*rival*) against exact; Holm's correction over these alone. {promises(records)}"
        parts.append(
            section("Our forms among themselves", said, versus.compared(mine, records, with_gap=True), level=3)
        )
    for criterion in CRITERIA:
        if keep(records, protocol="frontier", criterion=criterion):
            said = (
                f"Accuracy / {GAP_WORDS[criterion]} on test rows of the setting that validation rows choose for a gap "
                f"of at most {TARGETS[criterion]:g}; means over ten splits. A method that cannot shows its least gap."
            )
            title = f"What is chosen for {GAP_WORDS[criterion]} at most {TARGETS[criterion]:g}"
            parts.append(section(title, said, tables.chosen(records, criterion, TARGETS[criterion]), level=3))
    return parts


def promises(records: Sequence[Record]) -> str:
    """How many answers of the form that asks for a promise came without one, in protocol frontier."""
    asked = keep(records, protocol="frontier", method="promised")
    counts = [
        f"{SHOWN[data]} {sum(one['verdict'] == 'unpromised' for one in some):,} of {len(some):,}"
        for (data,), some in sorted(by(asked, "data").items(), key=lambda item: DATA.index(item[0][0]))
    ]
    said = "The line *promised* has answers without a promise, whose thresholds are those of exact"
    return f"{said}; over all limits and criteria: {', '.join(counts)}." if counts else ""


def paper_figures(records: Sequence[Record], curves: Report, drawn: set[str]) -> list[str]:
    parts = []
    for name, title in FIGURES.items():
        extra = []
        if name == "paper_metrics":
            shown = [data for data in DATA if keep(records, protocol="paper", data=data)]
            extra = [f"{tables.halved_floor(records, data)}\n\n{tables.figure3_table(records, data)}" for data in shown]
        if name == "paper_noise" and curves.get("noise"):
            given = curves["noise"]["parameters"]
            said = ", ".join(f"{key} {value:.3f}" for key, value in given.items())
            extra = [f"Fitted here: {said}. The paper's: df 2.235, location -0.567, scale 0.756."]
            lines = curves["noise"]["lines"]
            extra += [moved(lines, tables.floor_of(records, "compas")), tables.density_noise(lines)]
        parts.append(section(title, words(name), tables.floor_words(records), figure(name, drawn), *extra, level=3))
    parts.append(section("Share of EOd removed, and what it costs", tables.removal(records), level=3))
    said = "COMPAS, means of five splits; the paper's table is one run. EOd is the sum here; the paper does not say."
    floor = tables.floor_words(records)
    parts.append(section("Train and test", f"{said} {floor}", tables.train_test(records), level=3))
    return parts


def moved(lines: Sequence[Report], floor: float) -> str:
    """How far accuracy and EOd move: to the largest EOd within half a point of accuracy, and over all alphas."""
    start = next(line["test"] for line in lines if line["alpha"] == 0)
    near = [line for line in lines if abs(line["test"]["accuracy"] - start["accuracy"]) <= 0.005]
    worst = max(near, key=lambda line: line["test"]["eod_sum"])
    gaps, hits = (f"from {start[name]:{form}} to {worst['test'][name]:{form}}" for name, form in WATCHED)
    least = min(line["test"]["accuracy"] for line in lines)
    gap = max(abs(line["test"]["eod_sum"] - start["eod_sum"]) for line in lines)
    below = "less" if gap < floor else "more"
    return (
        "The paper finds accuracy the most sensitive to this noise and gaps relatively stable. Here, with alpha up to "
        f"{worst['alpha']:g}, EOd goes {gaps} and accuracy {hits}. Over all alphas accuracy falls to {least:.4f}, and "
        f"EOd moves by at most {gap:.3f}, {below} than its noise floor of {floor:.3f}. One split cannot say which "
        "moves first."
    )


WATCHED = (("eod_sum", ".3f"), ("accuracy", ".4f"))


def adult(records: Sequence[Record], curves: Report) -> list[str]:
    mine, paper = acceptance.cost(records, "adult")
    picked = tables.picked_on_test(records)
    parts = [words("adult").format(mine=f"{100 * mine:.2f}", paper=f"{100 * paper:.2f}", picked=picked)]
    if curves.get("adult_cost"):
        parts.append(tables.adult_cost(curves["adult_cost"], tables.floor_of(records, "adult")))
    if curves.get("adult_variants"):
        parts.append("Other baselines, means of five splits; the noise floor is about the same:")
        parts.append(tables.adult_variants(curves["adult_variants"]))
    return parts


def run_notes(records: Sequence[Record]) -> list[str]:
    """A line for each method, then what failed."""
    from benchmarks.paper import worker

    known = worker.methods()
    good = by(keep(records), "method")
    body = []
    for (name,), some in sorted(good.items(), key=lambda item: (not ours(item[0][0]), item[0][0])):
        method = known.get(name)
        where = sorted({one["data"] for one in some}, key=DATA.index)
        without = [SHOWN[data] for data in DATA if data not in where]
        note = method.note if method is not None else ""
        body.append(
            [
                tables.title_of(some, name),
                some[0].get("kind") or "",
                "yes" if some[0]["randomised"] else "no",
                "yes" if some[0]["uses_group"] else "no",
                f"{len(some):,}",
                ", ".join(without) or "-",
                note or "-",
            ]
        )
    head = ["method", "kind", "coins", "asks for the group", "records", "left out", "note"]
    parts = [tables.listing(head, body)]
    failed = by(failures(records), "method", "data", "error")
    if failed:
        lines = [
            f"- {m}, {SHOWN.get(d, d)}: {len(few)} records: {' '.join(str(e).split())[:200]}"
            for (m, d, e), few in failed.items()
        ]
        parts.append("Failed:\n\n" + "\n".join(lines))
    else:
        parts.append("No record is a failure.")
    lost = absent(records)
    if lost:
        lines = [f"- {missing(records, method, data, some)}" for (method, data), some in lost.items()]
        parts.append("Missing, so that means of these settings have fewer splits:\n\n" + "\n".join(lines))
    parts.append(words("dropped"))
    return parts


def missing(records: Sequence[Record], method: str, data: str, some: Sequence[Record]) -> str:
    """Which records of a method are absent."""
    there = len(keep(records, method=method, data=data))
    which = "; ".join(f"seed {seed}, {setting}" for seed, setting in by(some, "seed", "setting"))
    name = tables.title_of(records, method)
    return f"{name}, {SHOWN.get(data, data)}: {len(some)} of {there + len(some)} records ({which})"


def settings_page(records: Sequence[Record]) -> str:
    parts = [
        "# The paper's comparison: every setting",
        words("settings").format(page="[the page of the comparison](paper.md)"),
    ]
    for data in DATA:
        if keep(records, protocol="paper", data=data, criterion="equalized_odds"):
            floor = f"Noise floor of EOd (sum): {tables.floor_of(records, data):.3f}."
            parts.append(section(SHOWN[data], floor, tables.every_setting(records, data)))
    return "\n\n".join(parts) + "\n"


def quoted(records: Sequence[Record], times: Report | None) -> dict[str, str]:
    """What pages of the docs quote, by the mark of the block."""
    found = comparisons(records)
    missed = [point.asked for point in acceptance.points(records, times, found) if point.met is False]
    return {
        "paper_missed": "\n".join(f"- {asked}" for asked in missed) or "- none",
        "floors": tables.floors(records),
        "means": tables.summary(records),
        "removal": tables.removal(records),
        "tally": versus.tally(found, records),
        "verdicts": "\n".join(f"- {line}" for line in versus.verdicts(found, records)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=Path, nargs="+", default=[RECORDED])
    parser.add_argument("--results", type=Path, default=RECORDED.parent)
    parser.add_argument("--docs", type=Path, nargs="*", default=[], help="pages whose marked blocks are filled")
    options = parser.parse_args()
    records = load(*options.records)
    curves, times = (read_long(options.results, f"paper_{name}") for name in ("curves", "times"))
    made = pages(records, curves, times or None)
    for name, text in made.items():
        (options.results / name).write_text(text)
    for path in options.docs:
        path.write_text(filled(path.read_text(), quoted(records, times or None)))
    print(f"{len(made)} files in {options.results}")


if __name__ == "__main__":
    main()
