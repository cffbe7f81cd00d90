"""The page and the picture of the study of promises, from what was found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from benchmarks.harness import heading, table
from benchmarks.studies.promises_found import Report, at, goals, percent, signed
from benchmarks.studies.promises_settings import CONFIDENCE, DRAWS, OTHERS

WORDS = {"equalized_odds": "odds", "demographic_parity": "parity", "equal_opportunity": "opportunity"}


def row_of(one: Report, level: float = CONFIDENCE) -> list[str]:
    """The line of a setting."""
    found = at(one, level)
    n = found["draws"]
    name = f"{one['name']}{' (mixture)' if one['mixture'] and 'mixture' not in one['name'] else ''}"
    return [
        name,
        str(one["groups"]),
        f"{WORDS[one['criterion']]} {one['limit']:g}",
        f"{one['rows']:,}",
        str(n),
        percent(one["plain_holds"], one["draws"]),
        percent(found["made"], n),
        percent(found["false"], n),
        percent(found["false"], found["made"]),
        percent(found["useful"], n),
        signed(found["cost"]),
        percent(found["refused"], n),
    ]


HEAD = ["setting", "groups", "limit", "rows", "draws", "plain holds", "promised", "false, of all", "false, of promised"]
HEAD += ["useful", "cost", "refused"]


def with_level(level: object, row: list[str]) -> list[str]:
    """A line with its confidence after the name."""
    return [row[0], str(level), *row[1:]]


def section(title: str, words: str, head: list[str], body: Iterable[list[str]]) -> str:
    rows = list(body)
    return f"## {title}\n\n{words}\n\n{table(head, rows)}\n" if rows else ""


def page(report: Report) -> str:
    """The record to read."""
    settings = report["settings"]
    met = goals(report)
    missed = [what for what, _, _, ok in met if not ok]
    fewer = sorted({one["draws"] for one in settings if one["draws"] < DRAWS})
    counted = f"Settings have {DRAWS} draws each"
    if fewer:
        counted = (
            f"{DRAWS} draws were meant for each setting; some had fewer ({', '.join(map(str, fewer))}), see the column"
        )
    levels = [
        with_level(level, row_of(one, level)) for level in OTHERS for one in settings if str(level) in one["levels"]
    ]
    parts = [
        section(
            "Goals",
            f"Missed: {'; '.join(missed)}." if missed else "All goals of this run were met.",
            ["what", "goal", "found", "met"],
            [[what, goal, figure, "yes" if ok else "NO"] for what, goal, figure, ok in met],
        ),
        section(
            f"Promises at confidence {CONFIDENCE:g}",
            f"{counted}. All shares are per cent of the draws, *false, of promised* of the promises made.",
            HEAD,
            map(row_of, settings),
        ),
        section(
            "Added later",
            "The five and ten real groups above have cells too small for their limits: one of the five has about "
            "135 positives in 50,000 rows. When ten draws of other seeds had shown that, these were added: the "
            "same groups with twice the limit, and as mixtures. No goal above is judged by them.",
            HEAD,
            map(row_of, report["added"]),
        ),
        section("Other confidences", "The same settings and draws.", with_level("confidence", HEAD), levels),
        section(
            "Rows needed",
            "`gf.rows_needed` is asked on samples (*pilots*). New samples have the number of rows it names, and half "
            "of it. *Times* is the median factor; it is below 1 where fewer rows would do.",
            ["setting", "pilots", "with a number", "times", "promised there", "promised at half", "seconds"],
            [
                [
                    one["name"],
                    str(one["pilots"]),
                    str(one["named"]),
                    "-" if one["times"] is None else f"{one['times']:.2f}",
                    percent(one["at"], one["at_draws"]),
                    percent(one["half"], one["half_draws"]),
                    f"{one['seconds']:.3f}",
                ]
                for one in report["planned"]
            ],
        ),
        section(
            "Certificates",
            "`gf.certify` with fixed thresholds whose true gap is a little above the limit: per cent of fresh samples "
            "that are certified falsely. *Rows of a cell* are those of the two groups that lie furthest apart.",
            ["rows of a cell", "groups", "limit", "lowest rate", "draws", "certify", "exact"],
            [
                [
                    str(one["cell"]),
                    str(one["groups"]),
                    f"{one['limit']:g}",
                    f"{one['low']:g}",
                    f"{one['draws']:,}",
                    percent(one["mover"], one["draws"]),
                    percent(one["exact"], one["draws"]),
                ]
                for one in report["certified"]
            ],
        ),
        halves_section(report["halves"]),
        section(
            "Times",
            "Least of up to five rounds in which the three take turns, in milliseconds.",
            ["setting", "rows", "verdict", "plain solve", "promise", "ratio", "planner"],
            [
                [
                    one["name"],
                    f"{one['rows']:,}",
                    one["verdict"],
                    *(f"{1e3 * one[key]:.1f}" for key in ("plain", "promised")),
                    f"{one['promised'] / one['plain']:.0f}",
                    f"{1e3 * one['planned']:.0f}",
                ]
                for one in report["times"]
            ],
        ),
    ]
    return INTRODUCTION.format(heading=heading(report["machine"])) + "\n" + "\n".join(part for part in parts if part)


def halves_section(lines: list[Report]) -> str:
    """Held-out halves, by data set."""
    by_data: dict[str, list[Report]] = defaultdict(list)
    for line in lines:
        by_data[line["name"].rsplit("_s", 1)[0].rsplit("_", 2 if "aware" in line["name"] else 1)[0]].append(line)
    if lines:
        by_data["all"] = lines
    keys = ("asked", "promised", "above", "broken", "plain_above", "plain_broken")
    body = []
    for data, some in by_data.items():
        total = {key: sum(line[key] for line in some) for key in keys}
        shares = [percent(total[key], total["promised"]) for key in keys[2:]]
        body.append([data, str(len(some)), str(total["asked"]), str(total["promised"]), *shares])
    return section(
        "Halves of the score files",
        "Promises found on either half of a file and looked at on the other. *Above*: the gap there is above the "
        "limit, which chance in that half causes too. *Surely broken*: the lower end of its interval of 95 % is. "
        "Both are per cent of the promises made; the last columns are of the plain thresholds in the same halves.",
        ["data", "files", "asked", "promised", "above", "surely broken", "plain: above", "plain: surely broken"],
        body,
    )


INTRODUCTION = """# Promises: do limits hold on new rows?

{heading}

`python -m benchmarks.studies.promises` makes this page. Samples are drawn from populations that are known: score files,
all of their rows, and normal scores. Thresholds are found on a sample, without and with `confidence`, and judged on the
whole population.

- *plain holds*: the limit holds in truth for thresholds found without a promise.
- *promised*: a promise was made. *refused*: the verdict was "unpromised". What is left had limits that cannot be met.
- *false, of all*: a promise was made and the limit does not hold in truth, among all calls. *false, of promised*: the
  same, among the promises made.
- *useful*: a promise was made, and its thresholds keep at least 3/4 of what plain thresholds gain over the better
  constant decision, in true error.
- *cost*: mean true error over that of plain thresholds of the same sample, where a promise was made.
- Where several commits are named, parts were run again after a change of what they measure, such as `certify`; shown
  is the newest.
- The list of settings was committed before the first run. While the study and the method were built, up to ten draws of
  each setting were looked at. Shares of 5 % of 400 draws are known to 2.2 points (two
  standard errors).

![Share of samples that keep the limit](promises.svg)
"""


# ---------------------------------------------------------------------------------------------------------- the picture

WORDING = "Share of samples whose thresholds keep the limit on the whole population, plain and promised"
WIDTH, LEFT, RIGHT, STEP, TOP = 760, 270, 700, 20, 56
STYLE = """<style>
text { font: 12px system-ui, sans-serif; fill: #222 } .small { font-size: 11px; fill: #666 }
.rule { stroke: #ddd } .level { stroke: #666; stroke-dasharray: 3 3 } .joint { stroke: #bbb; stroke-width: 2 }
.plain { fill: #fff; stroke: #b5541c; stroke-width: 2 } .promised { fill: #1f6f8b }
.paper { fill: #fff }
@media (prefers-color-scheme: dark) {
text { fill: #ddd } .small { fill: #999 } .rule { stroke: #333 } .level { stroke: #999 } .joint { stroke: #555 }
.plain { fill: #16181c; stroke: #e08a52 } .promised { fill: #5fb3cf } .paper { fill: #16181c }
}
</style>"""


def picture(report: Report) -> str:
    """For each setting the share of samples that keep the limit: plain thresholds, and promised ones.

    Settings in which fewer than a tenth of the calls got a promise are left out; the table has them.
    """
    shown = [one for one in report["settings"] if at(one)["made"] >= at(one)["draws"] / 10 and at(one)["made"]]
    shown.sort(key=lambda one: (-one["plain_holds"] / one["draws"], one["name"]))
    height = TOP + STEP * len(shown) + 40

    def x(share: float) -> str:
        return f"{LEFT + (RIGHT - LEFT) * share:.1f}"

    bottom = TOP + STEP * len(shown)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{WORDING}">',
        STYLE,
        f'<rect class="paper" width="{WIDTH}" height="{height}"/>',
        f'<circle class="plain" cx="{LEFT + 6}" cy="16" r="5"/><text x="{LEFT + 18}" y="20">plain thresholds</text>',
        f'<circle class="promised" cx="{LEFT + 156}" cy="16" r="6"/>',
        f'<text x="{LEFT + 168}" y="20">promised at 95 %</text>',
        *(
            f'<line class="rule" x1="{x(share)}" x2="{x(share)}" y1="{TOP - 12}" y2="{bottom}"/>'
            f'<text class="small" text-anchor="middle" x="{x(share)}" y="{bottom + 16}">{share:.0%}</text>'
            for share in (0, 0.25, 0.5, 0.75, 1)
        ),
        f'<line class="level" x1="{x(CONFIDENCE)}" x2="{x(CONFIDENCE)}" y1="{TOP - 12}" y2="{bottom}"/>',
        f'<text class="small" text-anchor="middle" x="{x(CONFIDENCE)}" y="{TOP - 18}">95 %</text>',
    ]
    for i, one in enumerate(shown):
        y = TOP + STEP * i + 6
        found = at(one)
        plain = x(one["plain_holds"] / one["draws"])
        kept = x(1 - found["false"] / found["made"])
        parts += [
            f'<text text-anchor="end" x="{LEFT - 14}" y="{y + 4}">{one["name"]}</text>',
            f'<line class="joint" x1="{plain}" x2="{kept}" y1="{y}" y2="{y}"/>',
            f'<circle class="plain" cx="{plain}" cy="{y}" r="5"/><circle class="promised" cx="{kept}" cy="{y}" r="6"/>',
        ]
    words = "share of samples that keep the limit on the whole population (promised: of those with a promise)"
    parts += [
        f'<text class="small" text-anchor="middle" x="{WIDTH / 2 + 60}" y="{height - 4}">{words}</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
