"""CPU seconds of counting on engines, against what the engine does by itself; driver memory; what large tables need.

    python -m benchmarks.bench_engines                     ten million rows; writes benchmarks/results/engines
    python -m benchmarks.bench_engines --only duckdb       measure one section again, keep the others as recorded
    python -m benchmarks.bench_engines --rows 800000 --partitions 200 --results none    a quick look
    pytest benchmarks/bench_engines.py                     the simulation of merging, a small one

Needs the extra `engines` and Java 17. Answers are compared before anything is measured. Each contender runs once
before, then all take turns; least and median are of the rounds after that. Goals are judged on the medians.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.engines import cluster

ROWS_OF_LARGE, ROWS_OF_PARTITION = 10**12, 10**7


def times_table(spent: dict[str, list[float]], rows: int) -> str:
    """Least and median CPU seconds, and nanoseconds for each row."""
    body = [
        [name, f"{min(times):.2f}", f"{(middle := statistics.median(times)):.2f}", f"{middle / rows * 1e9:,.0f}"]
        for name, times in spent.items()
    ]
    return harness.table([f"{rows:,} rows, CPU seconds", "least", "median", "ns a row"], body)


def goal(name: str, value: float, limit: float, unit: str = "x") -> list[str]:
    """A line of the table of goals."""
    return [name, f"{value:,.2f}{unit}", f"{limit:g}{unit}", "yes" if value <= limit else "NO"]


def goals_of(report: dict[str, Any]) -> list[list[str]]:
    """What was to be reached, and what was."""
    found = []
    if "duckdb" in report:
        own, *others = ((name, statistics.median(times)) for name, times in report["duckdb"].items())
        ours = next(seconds for name, seconds in others if name.startswith("gf.sql.sketch"))
        found.append(goal("gf.sql.sketch in DuckDB, against its own counts", ours / own[1], 4))
    if "spark" in report:
        middle = {name: statistics.median(times) for name, times in report["spark"].items()}
        alone = middle["Spark hands the rows to Python, which does nothing"]
        found.append(goal("gf.spark.sketch, against handing the rows to Python", middle["gf.spark.sketch"] / alone, 2))
    if "dask" in report:
        middle = {name: statistics.median(times) for name, times in report["dask"].items()}
        parts = middle["Dask reads all partitions, nothing more"] + middle["counting frames in memory, one process"]
        found.append(goal("gf.dask.sketch, against reading plus counting", middle["gf.dask.sketch"] / parts, 1.3))
    for engine, memory in report["drivers"].items():
        words = f"driver memory, {engine}, {memory['partitions']:,} partitions of {cluster.GROUPS} groups"
        found.append(goal(words, memory["peak"], 500, " MB"))
    return found


def merging_table(cases: list[dict[str, Any]]) -> str:
    """What merging costs, in one process; the last line for each size is ten times the one before."""
    body = []
    for case in cases:
        for step in case["steps"]:
            total = step["partitions"] * case["bytes"]
            body.append(merging_line(case, step["partitions"], step["seconds"], total, step["bytes"]))
        last = case["steps"][-1]
        partitions, seconds = 10 * last["partitions"], 10 * last["seconds"]
        body.append(merging_line(case, partitions, seconds, partitions * case["bytes"], last["bytes"], "computed"))
    head = [
        "rows of a partition",
        "partitions",
        "bytes each",
        "bytes of all",
        "CPU seconds",
        "bytes of the whole",
        "from",
    ]
    return harness.table(head, body)


def merging_line(case: Any, partitions: int, seconds: float, total: float, whole: int, how: str = "run") -> list[str]:
    """One line of it."""
    return [
        f"{case['rows']:,}",
        f"{partitions:,}",
        f"{case['bytes']:,.0f}",
        f"{total / 1e6:,.0f} MB",
        f"{seconds:,.1f}",
        f"{whole / 1e6:.2f} MB",
        how,
    ]


def large_table(report: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """What a table of 1e12 rows would need, from the figures of this run."""
    case = report["merging"][-1]
    partitions = ROWS_OF_LARGE // ROWS_OF_PARTITION
    each = case["steps"][-1]["seconds"] / case["steps"][-1]["partitions"]
    ways = {}
    for engine, name in (
        ("spark", "pyarrow and update_table, one process"),
        ("spark", "gf.spark.sketch"),
        ("dask", "gf.dask.sketch"),
    ):
        if engine in report:
            ways[name] = statistics.median(report[engine][name]) / report["rows"] * ROWS_OF_LARGE
    body = [[name, f"{seconds:,.0f}", f"{seconds / 60 / 1000:,.1f}"] for name, seconds in ways.items()]
    merge = partitions * each
    body.append([f"merging {partitions:,} sketches", f"{merge:,.0f}", f"{merge / 60 / 1000:,.3f}"])
    needs = {"partitions": partitions, "merge_seconds": merge, "bytes": partitions * case["bytes"], "ways": ways}
    head = ["1e12 rows", "seconds of one core", "minutes on 1,000 cores"]
    return harness.table(head, body), needs


SECTIONS = ("spark", "dask", "duckdb", "drivers", "merging")
NEEDED = {"spark": "pyspark", "dask": "distributed", "duckdb": "benchmarks.engines.sql"}


def measured(asked: argparse.Namespace) -> dict[str, Any]:
    """The sections that are asked for, on top of those that are recorded; engines that are not there are left out."""
    report: dict[str, Any] = {"load": {}}
    if asked.only:
        report |= json.loads((Path(asked.results) / "engines.json").read_text())
        asked.rows = report["rows"]
    else:
        report |= {"rows": asked.rows, "machine": harness.machine()}
    with tempfile.TemporaryDirectory() as folder:
        sections = asked.only or SECTIONS
        path = cluster.write_rows(Path(folder), asked.rows) if {"spark", "dask"} & {*sections} else ""
        for section in sections:
            if section in NEEDED and importlib.util.find_spec(NEEDED[section]) is None:
                continue
            report["load"][section] = round(os.getloadavg()[0], 1)
            report[section] = SECTION[section](asked, path)
    return report


def _duckdb(asked: argparse.Namespace, _path: str) -> Any:
    from benchmarks.engines import sql

    return sql.measure(asked.rows, asked.repeats)


def _drivers(asked: argparse.Namespace, _path: str) -> Any:
    partitions = {"dask": asked.partitions, "spark": asked.spark_partitions}
    return {
        engine: {"partitions": n, **cluster.in_a_process(f"driver_of_{engine}", n)}
        for engine, n in partitions.items()
        if importlib.util.find_spec(NEEDED[engine]) is not None
    }


SECTION: dict[str, Callable[[argparse.Namespace, str], Any]] = {
    "spark": lambda asked, path: cluster.in_a_process("spark", path, asked.repeats),
    "dask": lambda asked, path: cluster.in_a_process("dask", path, asked.repeats),
    "duckdb": _duckdb,
    "drivers": _drivers,
    "merging": lambda _asked, _path: [cluster.merging(rows, 10_000) for rows in (1_000, 100_000)],
}


def page_of(report: dict[str, Any]) -> str:
    """The page to read."""
    large, needs = large_table(report)
    titles = {"Spark": "spark", "Dask": "dask", "DuckDB": "duckdb"}
    tables = [
        f"## {title}\n\n{times_table(report[name], report['rows'])}" for title, name in titles.items() if name in report
    ]
    drivers = [
        f"- {engine}: {memory['before']:,.0f} MB before, {memory['peak']:,.0f} MB at the peak; "
        f"{memory['seconds']:,.0f} CPU seconds for {memory['partitions']:,} partitions of 1,000 rows"
        for engine, memory in report["drivers"].items()
    ]
    loads = ", ".join(f"{name} {load}" for name, load in report["load"].items())
    about = f"""`python -m benchmarks.bench_engines`: CPU seconds of the whole process tree, the engine's own processes
among them. The rows are Parquet files (for DuckDB its own table) of probabilities, labels and five groups of text.
Spark is `local[2]`, Dask has two processes, DuckDB two threads, all on one machine. Others worked on it: its load at
the start of each section was {loads}."""
    of_drivers = f"""Peak of the Python process that calls `sketch`, with {cluster.GROUPS} groups in every partition.
Dask's scheduler runs in the same process. Spark's Java process, which holds the executors here, is not counted."""
    of_merging = f"""Sketches of {cluster.GROUPS} groups, merged one after the other in one process; the last line of
each size is computed from the one before it. Of each size 200 sketches were made, and merged again and again."""
    of_large = f"""A table of 1e12 rows in {needs["partitions"]:,} partitions of {ROWS_OF_PARTITION:,} rows, computed
from the medians above. If the sketches of its partitions are as large as those of 100,000 rows, they have
{needs["bytes"] / 1e9:,.0f} GB together. The driver gets one sketch."""
    lines = ["# Counting on engines", harness.heading(report["machine"]), about]
    lines += [harness.table(["goal", "found", "limit", "reached"], goals_of(report)), *tables]
    lines += ["## Memory of the driver", of_drivers, "\n".join(drivers)]
    lines += ["## Merging, and a table of 1e12 rows", of_merging, merging_table(report["merging"]), of_large, large]
    return "\n\n".join(lines) + "\n"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--partitions", type=int, default=10_000)
    options.add_argument("--spark-partitions", type=int, default=10_000, help="0.1 CPU seconds each")
    options.add_argument("--results", default=str(harness.RESULTS))
    options.add_argument("--only", nargs="+", choices=SECTIONS, help="sections to measure again")
    asked = options.parse_args()
    report = measured(asked)
    page = page_of(report)
    print(page)
    if asked.results != "none":
        harness.write(Path(asked.results), "engines", report, page)


def test_merging_is_simulated_with_real_sketches(benchmark: Any) -> None:
    case = benchmark.pedantic(cluster.merging, (100, 1_000), rounds=1)
    assert [step["partitions"] for step in case["steps"]] == [100, 1_000]


if __name__ == "__main__":
    main()
