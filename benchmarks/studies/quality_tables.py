"""Pages of held-out quality: methods on average, ours against each rival in pairs, densities, and every file by itself.

All of them are made from `quality.json.xz` alone, so they can be made again without measuring again. `quality_pairs.py`
says how two methods are compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import heading, table
from benchmarks.studies.quality_pairs import (
    DEFINITIONS,
    LIMITS,
    Curve,
    Row,
    both_ways,
    by_data_set,
    data_set,
    holm,
    hypervolume,
    over_data_sets,
)

CRITERIA = ("equalized_odds", "demographic_parity", "both")
DENSITIES = ("ours", "ours, kde", "ours, best")
AGAINST_OTHERS = (
    ("ours", "oxonfair"),
    ("ours, kde", "oxonfair"),
    ("ours, randomised", "error-parity"),
    ("ours, randomised", "fairlearn"),
)
PAIRS = (*AGAINST_OTHERS, ("ours, randomised", "ours"), ("ours, kde", "ours"), ("ours, best", "ours"))
NOTICEABLE = 0.002  # of error, on one file
READING = """
Thresholds are found on train rows and judged on test rows. Each file was run once with each method, criterion and
limit; [every file by itself](quality_files.md) has all of them. The first table of each section has means over files.
The second has differences, the first named minus the other: less error, less gap and more hypervolume are better. These
are means over data sets, with the files of one data set averaged first.

Errors are compared at the same held-out gap. `ours moved` reads the error of the first named off its own line of points
at the other's gap, and `other moved` does the reverse. `average at equal gap` is the mean of both, with a 95 % t
interval over data sets. COMPAS is there twice with mostly the same people and counts once, so there are four data sets.
Four show only differences larger than 1.6 standard deviations between data sets. Finer groups are of one data set,
which gives no interval.

`worse` and `better` count single differences beyond the noise of the test rows (paired bootstrap, Holm over the line at
5 %). The noise of the train rows is not in it, and files of one data set are not independent. `constant` decides the
same for everybody, whichever is better on train rows. fairlearn's equalized odds takes no limit, so its four points are
one. Only OxonFair, of these rivals, takes both criteria together (`additional_constraints=`); a run in which it was not
asked for both has no line of it there. Time is that of one call that finds the thresholds, averaged over files, on a
machine with other work on it: good for orders of magnitude.
"""


def rows_of(columns: dict[str, list[Any]]) -> list[Row]:
    """Columns of the JSON as rows again; what a row does not have is not in it."""
    found = zip(*columns.values(), strict=True)
    return [{k: v for k, v in zip(columns, values, strict=True) if v is not None} for values in found]


def pages(report: dict[str, Any]) -> dict[str, str]:
    """The text of each page, by name."""
    rows, pairs = rows_of(report["rows"]), rows_of(report["pairs"])
    top = heading(report["machine"]) + recorded(rows_of(report["cells"]))
    return {
        "quality": f"# Held-out quality\n\n{top}\n{READING}{summary(rows, pairs)}",
        "quality_files": f"# Held-out quality, file by file\n\n{top}\n{every_file(rows, pairs, report['cells'])}",
    }


def recorded(cells: list[Row]) -> str:
    """At which commits files were measured, if there was more than one."""
    at: dict[str, set[str]] = {}
    for cell in cells:
        at.setdefault(cell["commit"], set()).add(cell["file"])
    told = ", ".join(f"{len(files)} at commit {commit}" for commit, files in at.items())
    return f"\n\nFiles were measured in {len(at)} runs: {told}." if len(at) > 1 else ""


def summary(rows: list[Row], pairs: list[Row]) -> str:
    """All tables of the first page."""
    text = ""
    methods = list(dict.fromkeys(r["method"] for r in rows))
    two_groups = [r for r in rows if "(many)" not in r["file"]]
    for title, chosen in (("", two_groups), (", finer groups", [r for r in rows if "(many)" in r["file"]])):
        files = {r["file"] for r in chosen}
        for criterion in CRITERIA if chosen else ():
            body = [line for name in methods if (line := averages(chosen, name, criterion))]
            head = [
                "method",
                *(f"limit {x:g}: error / gap" for x in LIMITS),
                "hypervolume",
                "time",
                "answers",
                "failed",
            ]
            text += f"\n## {criterion}{title}, {len(files)} files\n\n{table(head, body)}\n"
            here = [p for p in pairs if p["criterion"] == criterion and p["file"] in files]
            body = [line for one, two in PAIRS if (line := paired(here, one, two))]
            head = ["ours", "against", "error", "gap", "ours moved", "other moved", "average at equal gap"]
            head += ["worse", "better", "of", "hypervolume", "worse", "better", "of"]
            text += f"\n{table(head, body)}\n" if body else ""
    text += equal_gaps(two_groups) + f"\n## Densities\n\n{densities(rows)}\n"
    return text + significant(two_groups, pairs) + failures(rows) + before_and_after(rows)


def before_and_after(rows: list[Row]) -> str:
    """Held-out error and gap of every file, untouched and with single thresholds."""
    found = {(r["file"], r["criterion"], r["method"], r["limit"]): r for r in rows if "error" in r}
    files = sorted({r["file"] for r in rows})
    text = (
        "\n## Every file\n\nHeld-out error / gap of the model as it is (`untouched`) and of our single thresholds"
        " (`ours`) at each limit.\n[The other page](quality_files.md) has all methods.\n"
    )
    for criterion in CRITERIA:
        body = []
        for file in files:
            asked = [(file, criterion, "untouched", LIMITS[0]), *((file, criterion, "ours", x) for x in LIMITS)]
            if asked[0] in found:
                body.append(
                    [file, *(f"{r['error']:.4f} / {r['gap']:.4f}" if (r := found.get(k)) else "-" for k in asked)]
                )
        head = ["file", "untouched", *(f"limit {x:g}" for x in LIMITS)]
        text += f"\n### {criterion}, every file\n\n{table(head, body)}\n"
    return text


def averages(rows: list[Row], method: str, criterion: str) -> list[str]:
    """Means over files of one method; empty if it was not asked."""
    asked = [r for r in rows if r["method"] == method and r["criterion"] == criterion]
    mine = [r for r in asked if "error" in r]
    failed = str(len(asked) - len(mine))
    if not mine:
        return [method, *["-"] * (len(LIMITS) + 2), "0", failed] if asked else []
    cells = []
    for limit in LIMITS:
        here = [r for r in mine if r["limit"] == limit]
        cells.append(f"{np.mean([r['error'] for r in here]):.4f} / {np.mean([r['gap'] for r in here]):.3f}")
    seconds = np.mean([r["seconds"] for r in mine])
    return [method, *cells, f"{volume(mine):.5f}", f"{seconds * 1e3:.0f} ms", str(len(mine)), failed]


def volume(rows: list[Row]) -> float:
    """Mean hypervolume over files and criteria."""
    return float(np.mean([hypervolume(*curve) for curve in curves(rows).values()]))


def curves(rows: list[Row]) -> dict[tuple[str, str, str], Curve]:
    """Gaps and errors at all limits, by file, criterion and method; methods without an answer are left out."""
    kept: dict[tuple[str, str, str], list[Row]] = {}
    for r in rows:
        if "error" in r:
            kept.setdefault((r["file"], r["criterion"], r["method"]), []).append(r)
    return {key: (np.array([r["gap"] for r in c]), np.array([r["error"] for r in c])) for key, c in kept.items()}


def interval(values: dict[str, float]) -> str:
    """Mean over data sets of values by file, with its interval where there is more than one."""
    mean, half, _ = over_data_sets(values)
    return f"{mean:+.4f}" if np.isnan(half) else f"{mean:+.4f} ({mean - half:+.4f} to {mean + half:+.4f})"


def paired(pairs: list[Row], one: str, two: str) -> list[str]:
    """One line of a table of pairs: mean differences, and how many are significant; empty if they never met."""
    met = [p for p in pairs if (p["one"], p["two"]) == (one, two)]
    limits, volumes = [p for p in met if "limit" in p], [p for p in met if "limit" not in p]
    if not met:
        return []
    means = [f"{over_data_sets(by_file(limits, key))[0]:+.4f}" for key in ("error", "gap", "ours_moved", "other_moved")]
    means.append(interval(by_file(limits, "at_equal_gap")))
    sure = holm([p["p"] for p in limits])
    worse = sum(s and p["at_equal_gap"] > 0 for s, p in zip(sure, limits, strict=True))
    found = [str(worse), str(sum(sure) - worse), str(len(limits))]
    sure = holm([p["p"] for p in volumes])
    worse = sum(s and p["hypervolume"] < 0 for s, p in zip(sure, volumes, strict=True))
    mean = f"{over_data_sets(by_file(volumes, 'hypervolume'))[0]:+.5f}"
    return [one, two, *means, *found, mean, str(worse), str(sum(sure) - worse), str(len(volumes))]


def by_file(pairs: list[Row], key: str) -> dict[str, float]:
    """Mean over limits of one difference, for each file."""
    kept: dict[str, list[float]] = {}
    for p in pairs:
        kept.setdefault(p["file"], []).append(p[key])
    return {file: float(np.mean(found)) for file, found in kept.items()}


def at_equal_gap(rows: list[Row], one: str, two: str, criterion: str, how: str) -> dict[str, float]:
    """Difference in error at equal gap, for each file, averaged over limits and both directions."""
    known, out = curves(rows), {}
    for file in dict.fromkeys(r["file"] for r in rows):
        mine, theirs = known.get((file, criterion, one)), known.get((file, criterion, two))
        if mine is not None and theirs is not None:
            constant = float(known[file, criterion, "constant"][1][0])
            ways = [w[~np.isnan(w)] for w in both_ways(mine, theirs, how, constant)]
            out[file] = float(np.mean([np.mean(w) for w in ways if len(w)])) if any(map(len, ways)) else float("nan")
    return out


def equal_gaps(rows: list[Row]) -> str:
    """How the comparison depends on what equal means, and how data sets differ."""
    choices, counts, sets = [], [], []
    names = list(dict.fromkeys(data_set(r["file"]) for r in rows))
    for criterion in CRITERIA:
        for one, two in PAIRS:
            values = {how: at_equal_gap(rows, one, two, criterion, how) for how in DEFINITIONS}
            if values["held"]:
                choices.append([criterion, one, two, *(interval(v) for v in values.values())])
                better, worse = (
                    [sum(sign * x > NOTICEABLE for x in v.values()) for v in values.values()] for sign in (-1, 1)
                )
                shares = [f"{b} / {w}" for b, w in zip(better, worse, strict=True)]
                counts.append([criterion, one, two, *shares, str(len(values["held"]))])
                means = by_data_set(values["held"])
                sets.append([criterion, one, two, *(f"{means[name]:+.4f}" for name in names)])
    meaning = "\n".join(f"- `{name}`: {words}" for name, words in DEFINITIONS.items())
    return (
        "\n## Equal gap, defined in four ways\n\nDifference in error at equal gap, two groups, averaged over both"
        " directions, with 95 % intervals over data sets. What a method does beyond its points has to be assumed:\n\n"
        f"{meaning}\n\n{table(['criterion', 'ours', 'against', *DEFINITIONS], choices)}\n\n"
        f"Files on which the first named is better / worse by more than {NOTICEABLE}:\n\n"
        f"{table(['criterion', 'ours', 'against', *DEFINITIONS, 'of'], counts)}\n\n"
        f"By data set, `held`:\n\n{table(['criterion', 'ours', 'against', *names], sets)}\n"
    )


def densities(rows: list[Row]) -> str:
    """Error, gap beyond the limit and hypervolume of each density on each data set, where all of them answered."""
    body = []
    known = {d: {(r["file"], r["criterion"]): 0 for r in rows if r["method"] == d and "error" in r} for d in DENSITIES}
    shared = set.intersection(*(set(k) for k in known.values()))
    for name in dict.fromkeys(data_set(r["file"]) for r in rows):
        for density in DENSITIES:
            mine = [r for r in rows if r["method"] == density and data_set(r["file"]) == name and "error" in r]
            mine = [r for r in mine if (r["file"], r["criterion"]) in shared]
            if mine:
                beyond = np.mean([max(0.0, r["gap"] - r["limit"]) for r in mine])
                error = np.mean([r["error"] for r in mine])
                body.append([name, density, f"{error:.4f}", f"{beyond:.4f}", f"{volume(mine):.5f}", str(len(mine))])
    return table(["data set", "density", "error", "gap beyond the limit", "hypervolume", "answers"], body)


def significant(rows: list[Row], pairs: list[Row]) -> str:
    """Every comparison with a rival that ours lost, by name: beyond noise, and by size."""
    lost, large = [], []
    for criterion in CRITERIA:
        for one, two in AGAINST_OTHERS:
            values = [at_equal_gap(rows, one, two, criterion, how) for how in DEFINITIONS]
            for file in values[0]:
                if sum(v[file] > NOTICEABLE for v in values) >= 2:
                    large.append([file, criterion, one, two, *(f"{v[file]:+.4f}" for v in values)])
            for many in (False, True):
                met = [p for p in pairs if (p["criterion"], p["one"], p["two"]) == (criterion, one, two)]
                met = [p for p in met if "limit" in p and ("(many)" in p["file"]) == many]
                for sure, p in zip(holm([p["p"] for p in met]), met, strict=True):
                    if sure and p["at_equal_gap"] > 0:
                        figures = [f"{p[key]:+.5f}" for key in ("error", "gap", "at_equal_gap")]
                        lost.append([p["file"], criterion, f"{p['limit']:g}", one, two, *figures, f"{p['p']:.1e}"])
    head = ["file", "criterion", "limit", "ours", "against", "error", "gap", "at equal gap", "p"]
    return (
        f"\n## Where we are worse\n\nSingle comparisons beyond the noise of the test rows, `held`:\n\n"
        f"{table(head, lost) if lost else 'None.'}\n\nFiles with two groups on which ours is worse at equal gap by more"
        f" than {NOTICEABLE}, by at least two of the four definitions, averaged over limits and both directions:\n\n"
        f"{table(['file', 'criterion', 'ours', 'against', *DEFINITIONS], large) if large else 'None.'}\n"
    )


def failures(rows: list[Row]) -> str:
    """Why methods gave no answer, and how often."""
    why: dict[tuple[str, str], list[str]] = {}
    for r in rows:
        if "failed" in r:
            why.setdefault((r["method"], r["failed"]), []).append(r["file"])
    body = [[method, reason, str(len(files)), files[0]] for (method, reason), files in why.items()]
    return f"\n## No answer\n\n{table(['method', 'reason', 'times', 'first'], body)}\n" if body else ""


def every_file(rows: list[Row], pairs: list[Row], cells: dict[str, list[Any]]) -> str:
    """What each method did on each file, each pair at equal gap, and how many rows there were."""
    text = "\nHeld-out error / gap at each limit. [The summary](quality.md) says how to read them.\n"
    for criterion in CRITERIA:
        body, met = [], {}
        for (file, asked, method), (gaps, errors) in curves(rows).items():
            if asked == criterion:
                figures = [f"{error:.4f} / {gap:.4f}" for gap, error in zip(gaps, errors, strict=True)]
                body.append([file, method, *figures])
        text += f"\n## {criterion}\n\n{table(['file', 'method', *(f'limit {x:g}' for x in LIMITS)], body)}\n"
        for one, two in PAIRS:
            here = [p for p in pairs if (p["criterion"], p["one"], p["two"]) == (criterion, one, two) and "limit" in p]
            if here:
                met[f"{one} - {two}"] = by_file(here, "at_equal_gap")
        files = dict.fromkeys(r["file"] for r in rows)
        body = [[file, *(f"{m[file]:+.4f}" if file in m else "-" for m in met.values())] for file in files]
        text += f"\n## {criterion}: difference in error at equal gap\n\n{table(['file', *met], body)}\n"
    counts: dict[str, dict[str, int]] = {}
    for r in rows_of(cells):
        counts.setdefault(r["file"], {})[f"{r['part']}, label {r['label']}, group {r['group']}"] = r["rows"]
    two_groups = {file: found for file, found in counts.items() if "(many)" not in file}
    head = list(next(iter(two_groups.values()), {}))
    body = [[file, *(f"{found[cell]:,}" for cell in head)] for file, found in two_groups.items()]
    return text + (f"\n## Rows\n\n{table(['file', *head], body)}\n" if body else "")
