"""How often `NoiseWarning` comes, and how often gaps on new rows are above the limit with it and without it.

    python -m benchmarks.studies.noise --data FOLDER [--files "adult_*" ...] [--results FOLDER]

FOLDER has `scores/*.npz` as `quality.py` takes them. Thresholds are found on train rows, for each criterion and limit,
between two groups and, where a file has more of them, between all of `mgroup`. Gaps are looked at on test rows. Beside
the library's rule stands a stricter one, for two groups: a limit below the gap that chance exceeds once in 20 times.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import gstar_fast as gf
from benchmarks.harness import heading, machine, table, write
from benchmarks.studies.quality import by_column, load
from benchmarks.studies.quality_tables import rows_of

CRITERIA = ("equalized_odds", "demographic_parity", "equal_opportunity")
RATES = {"equalized_odds": ("tpr", "fpr"), "demographic_parity": ("selection_rate",), "equal_opportunity": ("tpr",)}
LABELS = {"tpr": (1,), "fpr": (0,), "selection_rate": (0, 1)}
LIMITS = (0.005, 0.01, 0.02, 0.05, 0.1)
DATA = {"compas_aa": "COMPAS, two races", "compas": "COMPAS", "adult": "Adult", "german": "German", "celeba": "CelebA"}
ONE_IN_20 = 1.959964  # standard errors

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # scores, labels, groups


def asked(sketch: gf.Sketch, train: Rows, test: Rows, criterion: str, limit: float) -> dict[str, Any]:
    """What `solve` says about one question, and the gap on test rows."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = gf.solve(sketch, limits={criterion: limit}, evidence=0)
    kinds = {warning.category for warning in said}
    decisions = result.decider(unknown="default")(test[0], test[2])
    row = {
        "verdict": result.verdict,
        "warned": gf.errors.NoiseWarning in kinds,
        "degenerate": gf.errors.DegenerateWarning in kinds,
        "gap": gf.audit(decisions=decisions, labels=test[1], groups=test[2], replicates=0).gaps[criterion].value,
    }
    if len(sketch.groups) == 2:
        row["strict"] = not row["degenerate"] and limit < ONE_IN_20 * deviation(result, train, criterion)
    return row


def deviation(result: gf.Result, train: Rows, criterion: str) -> float:
    """Standard deviation of the difference of two groups' rates if both were the same; the larger of both rates'."""
    _, labels, groups = train
    found = []
    for rate in RATES[criterion]:
        rows = np.isin(labels, LABELS[rate])
        n = np.array([float((rows & (groups == name)).sum()) for name in result.rates])
        common = (sum(getattr(r, rate) * k for r, k in zip(result.rates.values(), n, strict=True)) + 1) / (n.sum() + 2)
        found.append(math.sqrt(common * (1.0 - common) * float((1.0 / n).sum())))
    return max(found)


def of_file(path: Path) -> Iterator[dict[str, Any]]:
    """Every question on one score file."""
    data = next(data for data in DATA if path.stem.startswith(data))
    for many in (False, True):
        train, test = load(path, many)
        if many and len(np.unique(train[2])) == 2:
            continue
        sketch = gf.Sketch.from_rows(*train)
        for criterion in CRITERIA:
            for limit in LIMITS:
                about = {"file": path.stem, "data": data, "many": many, "criterion": criterion, "limit": limit}
                yield about | asked(sketch, train, test, criterion, limit)


# --------------------------------------------------------------------------------------------------------------- tables

HEAD = ["questions", "warned", "gap above the limit, if warned", "gap above the limit, if not"]


def line(rows: list[dict[str, Any]], rule: str = "warned") -> list[str]:
    """Share with a warning, and shares and median gaps with it and without it."""
    warned = [row for row in rows if row[rule]]
    return [str(len(rows)), percent(warned, rows), above(warned), above([row for row in rows if not row[rule]])]


def percent(some: list[Any], rows: list[Any]) -> str:
    return f"{100 * len(some) / len(rows):.0f} %" if rows else "-"


def above(rows: list[dict[str, Any]]) -> str:
    """Share whose gap on test rows is above the limit, and the median gap."""
    if not rows:
        return "-"
    beyond = [row for row in rows if row["gap"] > row["limit"]]
    return f"{percent(beyond, rows)} ({np.median([row['gap'] for row in rows]):.3f})"


def by(rows: list[dict[str, Any]], key: str, rule: str = "warned") -> str:
    """A line for each value of a key."""
    values = dict.fromkeys(row[key] for row in rows)
    body = [[str(DATA.get(value, value)), *line([r for r in rows if r[key] == value], rule)] for value in values]
    return table([key, *HEAD], body)


def page(report: dict[str, Any]) -> str:
    """The tables, and how to read them."""
    rows = rows_of(report["rows"])
    two, many = ([row for row in rows if row["many"] is which] for which in (False, True))
    kinds = sorted({row["verdict"] for row in rows})
    verdicts = ", ".join(f"{sum(row['verdict'] == kind for row in rows)} {kind}" for kind in kinds)
    narrow = [row for row in two if row["limit"] == 0.02]
    proper = [row for row in rows if not row["degenerate"]]
    sections = [
        ("Every question", by(rows, "limit")),
        ("Without degenerate answers", by(proper, "limit")),
        ("Two groups", by(two, "limit")),
        ("More groups", by(many, "limit") if many else "No file has them."),
        ("Two groups, a limit of 0.02", by(narrow, "data")),
        ("The stricter rule, two groups, a limit of 0.02", by(narrow, "data", "strict")),
        ("Criteria", by(rows, "criterion")),
    ]
    return f"""# Limits below the noise

{heading(report["machine"])}

`python -m benchmarks.studies.noise`: thresholds are found on the train rows of {len({row["file"] for row in rows})}
score files under a limit, for {len(CRITERIA)} criteria, between two groups and, where a file has more, between all of
them. *warned*: the share of questions for which `solve` gives a `NoiseWarning`. The other columns are the shares of
questions whose gap on the test rows is above the limit, and in brackets the median of that gap. Test rows have noise of
their own, which is part of these gaps. Questions on one file share their rows. noise.json.xz has each question.

A degenerate answer, such as one that accepts all rows or none of a group, has a `DegenerateWarning` and no other:
{len(rows) - len(proper)} of {len(rows)} questions. The stricter rule compares with the gap that chance exceeds once in
20 times, and leaves degenerate answers out as well. Verdicts: {verdicts}.

{chr(10).join(f"## {title}{chr(10) * 2}{text}{chr(10)}" for title, text in sections).rstrip()}
"""


def main() -> None:
    """Parse, run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with scores/*.npz")
    parser.add_argument("--files", nargs="*", default=["*"], help="patterns of the names of files")
    parser.add_argument("--results", type=Path, help="folder to write noise.md and noise.json.xz to")
    given = parser.parse_args()
    about, rows = machine(), []
    for path in sorted({path for pattern in given.files for path in (given.data / "scores").glob(f"{pattern}.npz")}):
        rows += of_file(path)
        print(path.stem, "done", flush=True)
    report = {"machine": about, "rows": by_column(rows)}
    text = page(report)
    print(text)
    if given.results is not None:
        write(given.results, "noise", report, text, indent=None)


if __name__ == "__main__":
    main()
