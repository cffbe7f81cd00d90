"""Held-out error and gap at a limit, against fairlearn, error-parity, OxonFair and the untouched model.

    python benchmarks/quality.py --data FOLDER [--files adult_lr_s0 ...] [--results FOLDER]

FOLDER has `scores/*.npz` with arrays score, label, group, mgroup, split (0 train, 1 test) and, where the model
overfits, oof: thresholds are found on train (on oof where present) and judged on test. The second table of a criterion
pairs ours with each rival, file by file and limit by limit: differences in held-out error and gap, and the largest
difference in error against us in standard errors of one error rate; with n comparisons, values below about
sqrt(2 ln n) are what chance alone gives.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from harness import machine, table, write
from threshold_rivals import error_parity, fairlearn, ours, oxonfair, untouched

LIMITS = (0.01, 0.02, 0.05, 0.1)
CRITERIA = ("equalized_odds", "demographic_parity", "both")
SINGLE = {"ours": ours(), "ours, kde": ours("kde"), "oxonfair": oxonfair, "untouched": untouched}
MIXED = {"ours, randomised": ours(randomize=True), "error-parity": error_parity, "fairlearn": fairlearn}


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


def judge(accept: np.ndarray, labels: np.ndarray, groups: np.ndarray, criterion: str) -> tuple[float, float, float]:
    """Error, its standard error, and the gap, expected over the coins of randomised rules."""
    wrong = np.where(labels == 1, 1 - accept, accept)
    gaps = []
    if criterion in ("equalized_odds", "both"):
        for y in (0, 1):
            cells = [accept[(groups == g) & (labels == y)] for g in np.unique(groups)]
            rates = [cell.mean() for cell in cells if len(cell)]
            gaps.append(max(rates) - min(rates))
    if criterion in ("demographic_parity", "both"):
        rates = [accept[groups == g].mean() for g in np.unique(groups)]
        gaps.append(max(rates) - min(rates))
    return float(wrong.mean()), float(wrong.std() / np.sqrt(len(wrong))), float(max(gaps))


def hypervolume(points: list[tuple[float, float]]) -> float:
    """Area between the staircase of (gap, error) points and the corner (0.3, 0.5)."""
    area, best, last = 0.0, 0.5, 0.0
    for gap, error in [*sorted(p for p in points if p[0] < 0.3), (0.3, 0.5)]:
        area += (gap - last) * (0.5 - best)
        last, best = gap, min(best, error)
    return area


def run(path: Path, many: bool, with_fairlearn: bool) -> list[dict[str, Any]]:
    """All methods, criteria and limits on one file."""
    train, test = load(path, many)
    rows = []
    for criterion in CRITERIA:
        for name, fit in {**SINGLE, **MIXED}.items():
            if criterion == "both" and not name.startswith("ours"):
                continue
            if name == "fairlearn" and not with_fairlearn:
                continue
            for limit in LIMITS:
                start = time.perf_counter()
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        decide = fit(*train, criterion, limit)
                        accept = decide(test[0], test[2])
                except Exception as error:  # a rival that cannot answer is recorded, not hidden
                    rows.append(
                        {
                            "file": path.stem,
                            "criterion": criterion,
                            "method": name,
                            "limit": limit,
                            "failed": repr(error)[:200],
                        }
                    )
                    continue
                error, deviation, gap = judge(accept, test[1], test[2], criterion)
                rows.append(
                    {
                        "file": path.stem + (" (many)" if many else ""),
                        "criterion": criterion,
                        "method": name,
                        "limit": limit,
                        "error": error,
                        "deviation": deviation,
                        "gap": gap,
                        "seconds": time.perf_counter() - start,
                    }
                )
    return rows


def summary(rows: list[dict[str, Any]]) -> str:
    """For each method mean error and gap at each limit and the hypervolume; then ours against each rival, paired."""
    text = ""
    for criterion in CRITERIA:
        body = [line for name in [*SINGLE, *MIXED] if (line := averages(rows, name, criterion))]
        head = ["method", *(f"limit {x:g}: error / gap" for x in LIMITS), "hypervolume", "time", "failed"]
        text += f"\n## {criterion}\n\n{table(head, body)}\n"
        pairs = [("ours", "oxonfair"), ("ours, kde", "oxonfair")]
        pairs += [("ours, randomised", "error-parity"), ("ours, randomised", "fairlearn")]
        body = [line for one, two in pairs if (line := paired(rows, one, two, criterion))]
        if body:
            head = ["ours", "rival", "error difference", "gap difference", "worst for us", "best for us", "n"]
            text += f"\n{table(head, body)}\n"
    return text


def of(rows: list[dict[str, Any]], method: str, criterion: str) -> list[dict[str, Any]]:
    """Answers of one method to one criterion."""
    return [r for r in rows if r["method"] == method and r["criterion"] == criterion and "failed" not in r]


def averages(rows: list[dict[str, Any]], method: str, criterion: str) -> list[str]:
    """One line of the first table; empty if the method has no answers."""
    mine = of(rows, method, criterion)
    if not mine:
        return []
    line = [method]
    for limit in LIMITS:
        here = [r for r in mine if r["limit"] == limit]
        line.append(f"{np.mean([r['error'] for r in here]):.4f} / {np.mean([r['gap'] for r in here]):.3f}")
    files = {r["file"] for r in mine}
    volumes = [hypervolume([(r["gap"], r["error"]) for r in mine if r["file"] == f]) for f in files]
    failed = sum("failed" in r and r["method"] == method and r["criterion"] == criterion for r in rows)
    time_each = np.mean([r["seconds"] for r in mine]) * 1e3
    return [*line, f"{np.mean(volumes):.5f}", f"{time_each:.0f} ms", str(failed)]


def paired(rows: list[dict[str, Any]], one: str, two: str, criterion: str) -> list[str]:
    """One line of the second table; empty if they never met."""
    rival = {(r["file"], r["limit"]): r for r in of(rows, two, criterion)}
    met = [(r, rival[r["file"], r["limit"]]) for r in of(rows, one, criterion) if (r["file"], r["limit"]) in rival]
    if not met:
        return []
    errors = np.array([a["error"] - b["error"] for a, b in met])
    gaps = np.array([a["gap"] - b["gap"] for a, b in met])
    against = errors / np.array([b["deviation"] for _, b in met])
    ends = f"{against.max():+.2f}", f"{against.min():+.2f}"
    return [one, two, f"{errors.mean():+.4f}", f"{gaps.mean():+.4f}", *ends, str(len(met))]


def main() -> None:
    """Parse, run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--files", nargs="*", help="stems of files; all if none are given")
    parser.add_argument("--many", action="store_true", help="use mgroup, the finer groups")
    parser.add_argument("--no-fairlearn", action="store_true", help="leave out the slowest rival")
    parser.add_argument("--results", type=Path, help="folder to write quality.md and quality.json to")
    given = parser.parse_args()
    rows = []
    for path in sorted((given.data / "scores").glob("*.npz")):
        if given.files and path.stem not in given.files:
            continue
        rows += run(path, given.many, not given.no_fairlearn)
        print(path.stem, "done", flush=True)
    text = summary(rows)
    print(text)
    if given.results is not None:
        write(given.results, "quality", {"machine": machine(), "rows": rows}, f"# Held-out quality\n{text}")


if __name__ == "__main__":
    main()
