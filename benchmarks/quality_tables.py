"""Tables of held-out quality: methods on average, ours against each rival in pairs, and the densities compared.

A pair is two methods on one file at one limit. Fewer errors with a larger gap are no victory, so what is tested is the
difference in error at equal gap: the difference in error plus the difference in gap times the price of gap on that
file, the slope of error on gap over the points of both methods (0 where it is not falling). Its deviation comes from a
bootstrap of the test rows that both methods share; p values are two-sided and normal, and Holm's step-down over the
comparisons of one line keeps the chance of any false alarm in that line at 5 %. Hypervolumes are tested alike, one for
each file.
"""

from __future__ import annotations

from math import erfc, sqrt
from typing import Any

import numpy as np
from harness import table

LIMITS = (0.01, 0.02, 0.05, 0.1)
CRITERIA = ("equalized_odds", "demographic_parity", "both")
DENSITIES = ("ours", "ours, kde", "ours, best")
PAIRS = (
    ("ours", "oxonfair"),
    ("ours, kde", "oxonfair"),
    ("ours, randomised", "error-parity"),
    ("ours, randomised", "fairlearn"),
    ("ours, kde", "ours"),
    ("ours, best", "ours"),
)
Row = dict[str, Any]
READING = """
Thresholds are found on train rows and judged on test rows. First table: means over files. Second: differences, ours
minus the other, so that less error, less gap and more hypervolume are better; `worse` and `better` count differences
beyond noise for the first named (paired bootstrap of the test rows, Holm over the line at 5 %). `error at equal gap`
adds the difference in gap times the slope of error on gap on that file. fairlearn's equalized odds takes no limit, so
its four points are one; no rival has both criteria ready to call. Time is that of finding the thresholds.
"""


def hypervolume(gaps: np.ndarray, errors: np.ndarray) -> float:
    """Area between the staircase of (gap, error) points and the corner (0.3, 0.5)."""
    area, best, last = 0.0, 0.5, 0.0
    points = sorted((g, e) for g, e in zip(gaps, errors, strict=True) if g < 0.3)
    for gap, error in [*points, (0.3, 0.5)]:
        area += (gap - last) * (0.5 - best)
        last, best = gap, min(best, error)
    return area


def pair(one: str, two: str, mine: tuple[np.ndarray, ...], theirs: tuple[np.ndarray, ...]) -> list[Row]:
    """Compare two methods on one file; row 0 of errors and gaps is the estimate, the others are resamples."""
    (my_error, my_gap), (their_error, their_gap) = mine, theirs
    gaps, errors = np.append(my_gap[0], their_gap[0]), np.append(my_error[0], their_error[0])
    spread = np.var(gaps)
    price = max(0.0, -float(np.mean((gaps - gaps.mean()) * (errors - errors.mean())) / spread)) if spread > 0 else 0.0
    equal = (my_error - their_error) + price * (my_gap - their_gap)
    volume = np.array([hypervolume(g, e) for g, e in zip(my_gap, my_error, strict=True)])
    volume -= [hypervolume(g, e) for g, e in zip(their_gap, their_error, strict=True)]
    lines = [{"limit": None, "hypervolume": float(volume[0]), "p": p_value(volume)}]
    for i, limit in enumerate(LIMITS):
        line = {"limit": limit, "error": my_error[0, i] - their_error[0, i], "gap": my_gap[0, i] - their_gap[0, i]}
        lines.append({**line, "at_equal_gap": equal[0, i], "price": price, "p": p_value(equal[:, i])})
    return [{"one": one, "two": two, **line} for line in lines]


def p_value(values: np.ndarray) -> float:
    """Two-sided chance of so large a value[0], with the spread of the others, if the truth is 0."""
    deviation = float(np.std(values[1:]))
    return erfc(abs(float(values[0])) / deviation / sqrt(2)) if deviation > 0 else 1.0


def holm(p: list[float], level: float = 0.05) -> np.ndarray:
    """Which of several comparisons are significant when all are looked at."""
    order = np.argsort(p)
    passed = np.sort(p) <= level / np.arange(len(p), 0, -1)
    out = np.zeros(len(p), dtype=bool)
    out[order[: len(p) if passed.all() else int(np.argmin(passed))]] = True
    return out


def summary(rows: list[Row], pairs: list[Row], methods: list[str]) -> str:
    """All tables of a page."""
    text = READING
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
            head = ["ours", "against", "error", "gap", "error at equal gap", "worse", "better", "of"]
            head += ["hypervolume", "worse", "better", "of"]
            text += f"\n{table(head, body)}\n" if body else ""
    text += f"\n## Densities\n\n{densities(rows)}\n"
    return text + significant(pairs) + failures(rows)


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
    curves: dict[Any, list[Row]] = {}
    for r in rows:
        curves.setdefault((r["file"], r["criterion"]), []).append(r)
    return float(np.mean([hypervolume([r["gap"] for r in c], [r["error"] for r in c]) for c in curves.values()]))


def paired(pairs: list[Row], one: str, two: str) -> list[str]:
    """One line of a table of pairs: mean differences, and how many are significant; empty if they never met."""
    met = [p for p in pairs if (p["one"], p["two"]) == (one, two)]
    limits, curves = [p for p in met if p["limit"] is not None], [p for p in met if p["limit"] is None]
    if not met:
        return []
    means = [f"{np.mean([p[key] for p in limits]):+.4f}" for key in ("error", "gap", "at_equal_gap")]
    sure = holm([p["p"] for p in limits])
    worse = sum(s and p["at_equal_gap"] > 0 for s, p in zip(sure, limits, strict=True))
    found = [str(worse), str(sum(sure) - worse), str(len(limits))]
    sure = holm([p["p"] for p in curves])
    worse = sum(s and p["hypervolume"] < 0 for s, p in zip(sure, curves, strict=True))
    mean = f"{np.mean([p['hypervolume'] for p in curves]):+.5f}"
    return [one, two, *means, *found, mean, str(worse), str(sum(sure) - worse), str(len(curves))]


def densities(rows: list[Row]) -> str:
    """Error, gap beyond the limit and hypervolume of each density on each data set, where all of them answered."""
    body = []
    known = {d: {(r["file"], r["criterion"]): 0 for r in rows if r["method"] == d and "error" in r} for d in DENSITIES}
    shared = set.intersection(*(set(k) for k in known.values()))
    models = ("_lr", "_hgb", "_tree", "_xconf")

    def data_set(file: str) -> str:
        return file[: min(file.find(m) for m in models if m in file)] + (" (many)" if "(many)" in file else "")

    for name in dict.fromkeys(data_set(r["file"]) for r in rows):
        for density in DENSITIES:
            mine = [r for r in rows if r["method"] == density and data_set(r["file"]) == name and "error" in r]
            mine = [r for r in mine if (r["file"], r["criterion"]) in shared]
            if mine:
                beyond = np.mean([max(0.0, r["gap"] - r["limit"]) for r in mine])
                error = np.mean([r["error"] for r in mine])
                body.append([name, density, f"{error:.4f}", f"{beyond:.4f}", f"{volume(mine):.5f}", str(len(mine))])
    return table(["data set", "density", "error", "gap beyond the limit", "hypervolume", "answers"], body)


def significant(pairs: list[Row]) -> str:
    """Every comparison with a rival that ours lost, by name."""
    lost = []
    for criterion in CRITERIA:
        for one, two in PAIRS[:4]:
            for many in (False, True):
                met = [p for p in pairs if (p["criterion"], p["one"], p["two"]) == (criterion, one, two)]
                met = [p for p in met if p["limit"] is not None and ("(many)" in p["file"]) == many]
                for sure, p in zip(holm([p["p"] for p in met]), met, strict=True):
                    if sure and p["at_equal_gap"] > 0:
                        figures = [f"{p[key]:+.5f}" for key in ("error", "gap", "at_equal_gap")]
                        lost.append([p["file"], criterion, f"{p['limit']:g}", one, two, *figures, f"{p['p']:.1e}"])
    head = ["file", "criterion", "limit", "ours", "against", "error", "gap", "at equal gap", "p"]
    return f"\n## Where we are worse\n\n{table(head, lost) if lost else 'Nowhere beyond noise.'}\n"


def failures(rows: list[Row]) -> str:
    """Why methods gave no answer, and how often."""
    why: dict[tuple[str, str], list[str]] = {}
    for r in rows:
        if "failed" in r:
            why.setdefault((r["method"], r["failed"]), []).append(r["file"])
    body = [[method, reason, str(len(files)), files[0]] for (method, reason), files in why.items()]
    return f"\n## No answer\n\n{table(['method', 'reason', 'times', 'first'], body)}\n" if body else ""
