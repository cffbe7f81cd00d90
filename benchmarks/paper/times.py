"""How long each method takes, in one run: all in turn, round after round, each in a worker of its environment.

    python -m benchmarks.paper.times --folder build/paper --results benchmarks/results

A time is that of one fit on the rows of the paper's protocol, without training the base model and without deciding.
Every method is called once on German first, so that no import is timed. What takes longer than `DEAR` seconds is
timed once, and the table says so. CPU seconds are those of the whole worker process, which has one thread.
"""

from __future__ import annotations

import argparse
import csv
import queue
import statistics
import time
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.paper import data as tables
from benchmarks.paper import run
from benchmarks.paper.method import Method, Setting

CRITERION = "equalized_odds"
DEAR = 1.0  # seconds of CPU
OURS = {  # method -> the setting that is timed
    "exact": {"limit": 0.02},
    "randomised": {"limit": 0.02},
    "kde": {"limit": 0.02},
    "loop": {"penalty": 10.0},
    "loop_kde": {"penalty": 10.0},
    "unified": {"limit": 0.2},
    "promised": {"limit": 0.05},
}
# Seconds in the table of the supplement; its GSTAR is without the fits of densities, its LAFTR stands there in minutes.
PUBLISHED = Path(__file__).parent / "published" / "times.csv"


def published() -> dict[tuple[str, str], float]:
    """The paper's seconds, by data set and method."""
    with PUBLISHED.open() as lines:
        return {(row["data"], row["method"]): float(row["seconds"]) for row in csv.DictReader(lines)}


def setting_of(method: Method, data: str) -> Setting | None:
    """The setting that is timed: ours by name, of a rival the one in the middle; None if it leaves the data set out."""
    if method.name in OURS:
        return OURS[method.name]
    listed = method.settings(data, CRITERION) if CRITERION in method.criteria else []
    return listed[len(listed) // 2] if listed else None


def once(slot: run.Slot, method: Method, data: str, protocol: str, seed: int) -> dict[str, Any] | None:
    """One fit: its record, or None if there is nothing to time."""
    setting = setting_of(method, data)
    if setting is None or time.monotonic() > slot.deadline:
        return None
    task = run.Task(data, "lr", protocol, seed, method.name, CRITERION, [setting], method.environment)
    process, found = slot.ask(task, [setting]), None
    while True:
        answer = slot.answer(process)
        if answer is None:
            slot.end(method.environment)
            return found
        if "done" in answer:
            return found if found is None or found["error"] is None else None
        if answer["method"] == method.name:
            found = answer


def measure(slot: run.Slot, methods: list[Method], data: str, repeats: int) -> list[dict[str, Any]]:
    """Rows of the table for one data set; ours twice, from a sketch and with counting the rows.

    Each round has a split of its own: a method that remembers what it did for a split must do it again.
    """
    spent: dict[str, list[dict[str, Any]]] = {method.name: [] for method in methods}
    for turn in range(repeats):
        for method in methods:
            told = spent[method.name]
            if turn and (not told or told[0]["seconds"]["cpu"] > DEAR):
                continue
            record = once(slot, method, data, "paper", turn)
            if record is not None:
                told.append(record)
    rows, said = [], published()
    for method in methods:
        told = spent[method.name]
        if not told:
            continue
        row = {"data": data, "method": method.name, "title": method.title, "environment": method.environment}
        row |= {"setting": told[0]["setting"], "n": len(told), "published": said.get((data, method.name))}
        rows.append(row | {"part": "fit"} | _of([record["seconds"] for record in told]))
        if method.name in OURS:
            rows.append(row | {"part": "from a sketch"} | _of([record["solving"] for record in told]))
    return rows


def _of(seconds: list[dict[str, float]]) -> dict[str, Any]:
    return {
        clock: {"least": min(times), "median": statistics.median(times)}
        for clock in ("wall", "cpu")
        for times in [[one[clock] for one in seconds]]
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=tables.FOLDER)
    parser.add_argument("--results", type=Path, help="paper_times.json.xz goes there; the folder unless given")
    parser.add_argument("--data", default="german,compas,adult,celeba")
    parser.add_argument("--methods", help="names, ours or rivals, separated by commas; all unless given")
    parser.add_argument(
        "--repeats", type=int, default=5, choices=range(1, 6), help="rounds, each on a split of its own"
    )
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--patience", type=float, default=300.0, help="seconds for one fit")
    parser.add_argument("--python", action="append", default=[], metavar="NAME=PATH", help="Python of an environment")
    options = parser.parse_args()
    python = run.pythons(options.folder, options.python)
    ready = [
        method
        for method in run.choose(options.methods)
        if method.environment in python and CRITERION in method.criteria
    ]
    deadline = time.monotonic() + 60.0 * options.minutes
    slot = run.Slot(options.folder, python, options.patience, deadline, queue.Queue())
    rows: list[dict[str, Any]] = []
    try:
        for method in ready:
            once(slot, method, "german", "frontier", 0)  # warm up: imports, compilers
        for data in options.data.split(","):
            rows += measure(slot, ready, data, options.repeats)
            print(f"{data}: {sum(row['data'] == data for row in rows)} rows", flush=True)
    finally:
        for name in list(slot.processes):
            slot.end(name)
    report = {"machine": harness.machine(), "criterion": CRITERION, "rows": rows}
    harness.write_long(options.results or options.folder, "paper_times", report)


if __name__ == "__main__":
    main()
