"""Held-out error and gap at a limit, against fairlearn, error-parity, OxonFair and the untouched model.

    python -m benchmarks.studies.quality --data FOLDER [--files "adult_*" ...] [--many "adult_*" ...] [--results FOLDER]
    python -m benchmarks.studies.quality --tables-only --results FOLDER

FOLDER has `scores/*.npz` with arrays score, label, group, mgroup, split (0 train, 1 test) and, where the model
overfits, oof: thresholds are found on train (on oof where present) and judged on test. `quality_pairs.py` says how
methods are compared. JSON and pages are written again after each file, so that a run may be cut short: `--resume` keeps
what it has measured. `--tables-only` makes the pages from the JSON without measuring.
"""

from __future__ import annotations

import argparse
import signal
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.harness import machine
from benchmarks.rivals.thresholds import Decide, constant, error_parity, fairlearn, ours, oxonfair, untouched
from benchmarks.studies.quality_pairs import LIMITS, pair
from benchmarks.studies.quality_tables import CRITERIA, PAIRS, pages, rows_of

METHODS = {
    "untouched": untouched,
    "constant": constant,
    "ours": ours(),
    "ours, kde": ours("kde"),
    "ours, best": ours("best"),
    "oxonfair": oxonfair,
    "ours, randomised": ours(randomize=True),
    "error-parity": error_parity,
    "fairlearn": fairlearn,
}
PARTS = ("rows", "pairs", "cells")
PATIENCE = 10  # seconds a method may take for one answer
RESAMPLES = 200


def load(path: Path, many: bool) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Train and test rows: scores, labels, groups."""
    with np.load(path) as file:
        train, test = file["split"] == 0, file["split"] == 1
        fitted = file["oof"] if "oof" in file else file["score"]
        groups = file["mgroup" if many else "group"].astype(np.int64)
        labels = file["label"].astype(np.int64)
        return (
            (fitted[train].astype(np.float64), labels[train], groups[train]),
            (file["score"][test].astype(np.float64), labels[test], groups[test]),
        )


def judge(
    accept: np.ndarray, labels: np.ndarray, groups: np.ndarray, criterion: str, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Error and gap of each column of `accept` under each row of `weights`, expected over the coins of random rules."""
    kept = {}  # weight and accepted weight of each cell
    for g in np.unique(groups):
        for y in (0, 1):
            cell = (groups == g) & (labels == y)
            kept[g, y] = weights[:, cell].sum(1, keepdims=True), weights[:, cell] @ accept[cell]
    wrong = sum(total - taken if y else taken for (_, y), (total, taken) in kept.items())
    error = wrong / weights.sum(1, keepdims=True)
    gaps = []
    for y in (0, 1) if criterion != "demographic_parity" else ():
        gaps.append(_range([kept[g, y] for g in np.unique(groups)]))
    if criterion != "equalized_odds":
        both = [(kept[g, 0][0] + kept[g, 1][0], kept[g, 0][1] + kept[g, 1][1]) for g in np.unique(groups)]
        gaps.append(_range(both))
    return error, np.max(gaps, axis=0)


def _range(cells: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Largest minus smallest rate; cells without rows have none."""
    with np.errstate(invalid="ignore"):
        rates = np.array([taken / total for total, taken in cells])
    return np.nanmax(rates, axis=0) - np.nanmin(rates, axis=0)


def answer(fit: Any, train: tuple[np.ndarray, ...], *asked: Any) -> Decide:
    """The rule a method finds, within its time on the processor: other work on the machine is not its fault."""

    def too_late(*_: Any) -> None:
        raise TimeoutError(f"no answer within {PATIENCE} s")

    signal.signal(signal.SIGPROF, too_late)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        return fit(*train, *asked)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def name_of(path: Path, many: bool) -> str:
    """How the tables call a file."""
    return path.stem + (" (many)" if many else "")


def run(path: Path, many: bool, commit: str) -> dict[str, list[dict[str, Any]]]:
    """All methods, criteria and limits on one file, the pairs of methods compared, and how many rows there were."""
    train, test = load(path, many)
    name = name_of(path, many)
    draws = np.random.default_rng(0).poisson(1.0, (RESAMPLES, len(test[0])))  # a bootstrap, row by row
    weights = np.vstack([np.ones(len(test[0])), draws])
    rows, pairs = [], []
    for criterion in CRITERIA:
        found: dict[str, Any] = {}
        for method, fit in METHODS.items():
            if criterion == "both" and method in ("error-parity", "fairlearn"):
                continue  # they take one criterion
            columns = []
            for limit in LIMITS:
                row = {"file": name, "criterion": criterion, "method": method, "limit": limit}
                start = time.perf_counter()
                try:
                    decide = answer(fit, train, criterion, limit)
                    row["seconds"] = time.perf_counter() - start
                    columns.append(decide(test[0], test[2]))
                except Exception as error:  # a rival that cannot answer is recorded, not hidden
                    row["failed"] = f"{type(error).__name__}: {error}"[:160]
                rows.append(row)
                if isinstance(row.get("failed"), str) and "no answer within" in row["failed"]:
                    break  # nor would it answer the other limits
            if len(columns) < len(LIMITS):
                continue
            errors, gaps = found[method] = judge(np.column_stack(columns), test[1], test[2], criterion, weights)
            for row, error, gap in zip(rows[-len(LIMITS) :], errors[0], gaps[0], strict=True):
                row["error"], row["gap"] = float(error), float(gap)
        for one, two in PAIRS:
            if one in found and two in found:
                pairs += [{"file": name, "criterion": criterion, **p} for p in pair(one, two, found[one], found[two])]
    cells = [
        {"file": name, "part": part, "label": y, "group": int(g), "rows": int(((labels == y) & (groups == g)).sum())}
        | {"commit": commit}
        for part, (_, labels, groups) in (("train", train), ("test", test))
        for y in (0, 1)
        for g in np.unique(train[2])
    ]
    return {"rows": rows, "pairs": pairs, "cells": cells}


def by_column(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """The same rows as columns of short numbers: a small file."""
    keys = dict.fromkeys(key for row in rows for key in row)
    return {key: [float(f"{x:.5g}") if isinstance(x := row.get(key), float) else x for row in rows] for key in keys}


def known(folder: Path) -> dict[str, Any]:
    """What earlier runs left, by file; files on which a method had too little time are left out."""
    report = harness.read_long(folder, "quality")
    found = {part: rows_of(report[part]) for part in PARTS}
    late = {r["file"] for r in found["rows"] if "no answer within" in r.get("failed", "")}
    names = dict.fromkeys(r["file"] for r in found["rows"] if r["file"] not in late)
    return {name: {part: [r for r in rows if r["file"] == name] for part, rows in found.items()} for name in names}


def keep(folder: Path, report: dict[str, Any]) -> None:
    """Write the JSON and the pages made from it."""
    folder.mkdir(parents=True, exist_ok=True)
    harness.write_long(folder, "quality", report)
    for name, text in pages(report).items():
        (folder / f"{name}.md").write_text(text)


def main() -> None:
    """Parse, run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with scores/*.npz")
    parser.add_argument("--files", nargs="*", default=["*"], help="patterns of the names of files, in this order")
    parser.add_argument("--many", nargs="*", default=[], help="the same, for runs on mgroup, the finer groups")
    parser.add_argument(
        "--results", type=Path, help="folder to write quality.json.xz, quality.md and quality_files.md to"
    )
    parser.add_argument("--resume", action="store_true", help="keep the files that quality.json.xz in --results has")
    parser.add_argument("--tables-only", action="store_true", help="make the pages from quality.json.xz in --results")
    given = parser.parse_args()
    if given.tables_only and given.results is not None:
        return keep(given.results, harness.read_long(given.results, "quality"))
    if given.tables_only or given.data is None or (given.resume and given.results is None):
        parser.error("give --data to measure, and --results to resume; or --tables-only with --results for the pages")
    earlier = known(given.results) if given.resume else {}
    report: dict[str, Any] = {"machine": machine()}
    measured: dict[str, list[dict[str, Any]]] = {part: [] for part in PARTS}
    jobs = [(pattern, True) for pattern in given.many] + [(pattern, False) for pattern in given.files]
    for path, many in dict.fromkeys(
        (path, many) for pattern, many in jobs for path in sorted((given.data / "scores").glob(f"{pattern}.npz"))
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = earlier.get(name_of(path, many)) or run(path, many, report["machine"]["commit"])
        for part, new in found.items():
            measured[part] += new
        print(path.stem, "done", flush=True)
        report |= {part: by_column(rows) for part, rows in measured.items()}
        if given.results is not None and not earlier:
            keep(given.results, report)  # with --resume only at the end, so that nothing is lost on the way
    if given.results is not None:
        keep(given.results, report)
    print(pages(report)["quality"])
    return None


if __name__ == "__main__":
    main()
