"""Held-out error and gap at a limit, against fairlearn, error-parity, OxonFair and the untouched model.

    python benchmarks/quality.py --data FOLDER [--files "adult_*" ...] [--many "adult_*" ...] [--results FOLDER]
    python benchmarks/quality.py --tables-only --results FOLDER

FOLDER has `scores/*.npz` with arrays score, label, group, mgroup, split (0 train, 1 test) and, where the model
overfits, oof: thresholds are found on train (on oof where present) and judged on test. `quality_pairs.py` says how
methods are compared. JSON and pages are written again after each file, so that a run may be cut short; `--tables-only`
makes the pages from the JSON without measuring.
"""

from __future__ import annotations

import argparse
import json
import signal
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from harness import machine
from quality_pairs import LIMITS, pair
from quality_tables import CRITERIA, PAIRS, pages
from threshold_rivals import Decide, constant, error_parity, fairlearn, ours, oxonfair, untouched

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
    """The rule a method finds, within its time."""

    def too_late(*_: Any) -> None:
        raise TimeoutError(f"no answer within {PATIENCE} s")

    signal.signal(signal.SIGALRM, too_late)
    signal.alarm(PATIENCE)
    try:
        return fit(*train, *asked)
    finally:
        signal.alarm(0)


def run(path: Path, many: bool) -> dict[str, list[dict[str, Any]]]:
    """All methods, criteria and limits on one file, the pairs of methods compared, and how many rows there were."""
    train, test = load(path, many)
    name = path.stem + (" (many)" if many else "")
    draws = np.random.default_rng(0).poisson(1.0, (RESAMPLES, len(test[0])))  # a bootstrap, row by row
    weights = np.vstack([np.ones(len(test[0])), draws])
    rows, pairs = [], []
    for criterion in CRITERIA:
        found: dict[str, Any] = {}
        for method, fit in METHODS.items():
            if criterion == "both" and method in ("oxonfair", "error-parity", "fairlearn"):
                continue  # they have it for one criterion only
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
        for part, (_, labels, groups) in (("train", train), ("test", test))
        for y in (0, 1)
        for g in np.unique(train[2])
    ]
    return {"rows": rows, "pairs": pairs, "cells": cells}


def by_column(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """The same rows as columns of short numbers: a small file."""
    keys = dict.fromkeys(key for row in rows for key in row)
    return {key: [float(f"{x:.5g}") if isinstance(x := row.get(key), float) else x for row in rows] for key in keys}


def keep(folder: Path, report: dict[str, Any]) -> None:
    """Write the JSON and the pages made from it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "quality.json").write_text(json.dumps(report) + "\n")
    for name, text in pages(report).items():
        (folder / f"{name}.md").write_text(text)


def main() -> None:
    """Parse, run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with scores/*.npz")
    parser.add_argument("--files", nargs="*", default=["*"], help="patterns of the names of files, in this order")
    parser.add_argument("--many", nargs="*", default=[], help="the same, for runs on mgroup, the finer groups")
    parser.add_argument("--results", type=Path, help="folder to write quality.json, quality.md and quality_files.md to")
    parser.add_argument("--tables-only", action="store_true", help="make the pages from quality.json in --results")
    given = parser.parse_args()
    if given.tables_only and given.results is not None:
        return keep(given.results, json.loads((given.results / "quality.json").read_text()))
    if given.tables_only or given.data is None:
        parser.error("give --data to measure, or --tables-only with --results to make the pages again")
    report: dict[str, Any] = {"machine": machine()}
    measured: dict[str, list[dict[str, Any]]] = {"rows": [], "pairs": [], "cells": []}
    jobs = [(pattern, True) for pattern in given.many] + [(pattern, False) for pattern in given.files]
    for path, many in dict.fromkeys(
        (path, many) for pattern, many in jobs for path in sorted((given.data / "scores").glob(f"{pattern}.npz"))
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for part, new in run(path, many).items():
                measured[part] += new
        print(path.stem, "done", flush=True)
        report |= {part: by_column(found) for part, found in measured.items()}
        if given.results is not None:
            keep(given.results, report)
    print(pages(report)["quality"])
    return None


if __name__ == "__main__":
    main()
