"""Time of merging sketches that come as bytes, against reading each of them first, and against the build before.

    python -m benchmarks.bench_merge --before FOLDER    FOLDER: a checkout of the build before, with its compiled core
    python -m benchmarks.bench_merge --blobs 200        a quick look
    pytest benchmarks/bench_merge.py                    one case under pytest-benchmark

As a service would collect them: many sketches of the same fifty groups, each of a few rows, scores between 0 and 1.
`merge_bytes` adds a sketch's bytes straight to a sketch. Its rivals read the bytes and merge what they read, now and in
the build before (in a process of its own, which makes the same sketches from the same rows), or add up sketches that
are in memory already. Each has one sketch that grows; in every round each of them merges the next twenty. Times are
for one sketch. Results go to benchmarks/results (`--results none` keeps them on the screen).
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gstar_fast as gf
from benchmarks import harness

GROUPS = 50
BLOBS = 3_000
STEP = 20  # sketches that each merges in a round
SOME = 300  # sketches for those who are slow: they take them again and again
GOAL = 0.3e-3


def sketches(n_blobs: int, rows: int) -> Any:
    """One sketch after the other, the same in every build."""
    for seed in range(n_blobs):
        rng = np.random.default_rng(seed)
        scores = 1 / (1 + np.exp(-rng.normal(-0.5, 1.5, rows)))
        yield gf.Sketch.from_rows(scores, rng.integers(0, 2, rows), rng.integers(0, GROUPS, rows))


def add_bytes(to: gf.Sketch, blob: bytes) -> None:
    """Add bytes to a sketch."""
    to._core.merge_bytes(blob)


def read_and_merge(to: gf.Sketch, blob: bytes) -> None:
    """Read a sketch, then merge it."""
    to.merge(gf.Sketch.from_bytes(blob))


class Merging:
    """A sketch that grows: every call merges the next few of some blobs."""

    def __init__(self, merge: Callable[[gf.Sketch, bytes], None], blobs: list[bytes]) -> None:
        self.sketch, self._merge, self._blobs = gf.Sketch(), merge, itertools.cycle(blobs)

    def __call__(self) -> None:
        for blob in itertools.islice(self._blobs, STEP):
            self._merge(self.sketch, blob)


def serve(n_blobs: int, rows: int) -> None:
    """The other build: merge a few for every line that comes in."""
    blobs = [sketch.to_bytes() for sketch in sketches(n_blobs, rows)]
    print(sum(map(len, blobs)) // n_blobs, flush=True)
    merging = Merging(read_and_merge, blobs)
    for _ in sys.stdin:
        merging()
        print(merging.sketch.n_rows, flush=True)


class Before:
    """The build before, in a process of its own."""

    def __init__(self, folder: str, n_blobs: int, rows: int) -> None:
        command = [sys.executable, __file__, "--serve", str(n_blobs), str(rows)]
        environment = {**os.environ, "PYTHONPATH": folder}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder, env=environment
        )
        self.size = int(self._answer())

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def __call__(self) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return int(self._answer())

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def run(n_blobs: int, rows: int, before: str | None) -> tuple[dict[str, Any], list[list[str]]]:
    """One case: all sketches into one, and the rivals as often as their time allows."""
    blobs = [sketch.to_bytes() for sketch in sketches(n_blobs, rows)]
    size = sum(map(len, blobs)) // n_blobs
    held = list(sketches(STEP, rows))
    straight, apart = Merging(add_bytes, blobs), Merging(read_and_merge, blobs[:SOME])
    straight()
    apart()
    assert straight.sketch == apart.sketch == sum(held[1:], held[0])
    contenders: dict[str, Callable[[], Any]] = {
        "merge_bytes": straight,
        "from_bytes and merge": apart,
        "sum of sketches in memory": lambda: sum(held[1:], held[0]),
    }
    sizes = dict.fromkeys(contenders, size)
    if before:
        rival = Before(before, min(n_blobs, SOME), rows)
        contenders["from_bytes and merge, build before"] = rival
        sizes["from_bytes and merge, build before"] = rival.size
    timings = harness.race(contenders, repeats=max(n_blobs // STEP - 2, 2), budget=15)
    if before:
        rival.close()
    times, body = {}, []
    for name, timing in timings.items():
        least, median = timing.least / STEP, timing.median / STEP
        times[name] = {"least": least, "median": median, "rounds": timing.repeats, "bytes": sizes[name]}
        shown = [f"{1e3 * seconds:.3f} ms" for seconds in (least, median)]
        ratios = [f"{times[name][kind] / times['merge_bytes'][kind]:.1f}" for kind in ("least", "median")]
        body.append([name, f"{rows:,}", f"{sizes[name]:,}", f"{timing.repeats * STEP:,}", *shown, *ratios])
    return {"rows": rows, "groups": GROUPS, "blobs": n_blobs, "times": times}, body


def memory(n_blobs: int, rows: int) -> dict[str, float]:
    """Megabytes at the peak of a process that merges twenty sketches, and then all of them."""
    program = (
        "import resource, sys; sys.path[:0] = sys.argv[1].split(':')\n"
        "from benchmarks import bench_merge as b\n"
        f"blobs = [s.to_bytes() for s in b.sketches({n_blobs}, {rows})]\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
        "merging = b.Merging(b.add_bytes, blobs); merging(); twenty = peak()\n"
        f"for _ in range({n_blobs} // b.STEP - 1): merging()\n"
        "print(twenty, peak())\n"
    )
    command = [sys.executable, "-c", program, ":".join(sys.path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    twenty, everything = map(float, done.stdout.split())
    return {"twenty": twenty, "all": everything}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--blobs", type=int, default=BLOBS)
    options.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000], help="rows of each sketch")
    options.add_argument("--before", help="a checkout of the build before, with its compiled core")
    options.add_argument("--results", default=str(harness.RESULTS))
    options.add_argument("--serve", type=int, nargs=2, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.serve:
        serve(*given.serve)
        return
    records, body = [], []
    for rows in given.rows:
        record, lines = run(given.blobs, rows, given.before)
        record["memory"] = memory(given.blobs, rows)
        records.append(record)
        body += lines
    head = ["way", "rows each", "bytes each", "sketches", "least", "median", "times merge_bytes", "median"]
    peaks = "; ".join(
        f"{r['rows']:,} rows each, {r['memory']['twenty']:,.0f} MB after twenty, {r['memory']['all']:,.0f} MB after all"
        for r in records
    )
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    about = harness.machine()
    page = f"""# Merging sketches that come as bytes

{harness.heading(about)}

`python -m benchmarks.bench_merge --blobs {given.blobs}`: sketches of {GROUPS} groups and 4096 bins, merged into one,
{STEP} in a round; times are for one sketch, goal {1e3 * GOAL:g} ms. The build before reads version 1 of the format, in
a process of its own; the others read version 2. The machine's load was {load:.1f}.

{harness.table(head, body)}

Peak memory of a process that merges {given.blobs:,} with `merge_bytes` and holds their bytes: {peaks}.
"""
    print(page)
    if given.results != "none":
        harness.write(Path(given.results), "merge", {"machine": about, "load": load, "cases": records}, page)


def test_merge_bytes(benchmark: Any) -> None:
    blobs = [sketch.to_bytes() for sketch in sketches(STEP, 1_000)]
    merging = Merging(add_bytes, blobs)
    benchmark(merging)
    assert merging.sketch.n_rows % (STEP * 1_000) == 0


if __name__ == "__main__":
    main()
