"""The whole road: stream ten million scores, merge, solve, decide, and write a report.

Two workers, each a process of its own, make their half of the paper's synthetic table as a stream of batches, count
every batch and forget it, and hand back the bytes of a sketch: the only thing that ever travels. Thresholds are found
from the merged sketch, and judged on scores that nobody has counted.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

import gstar_fast as gf
from gstar_fast.datasets import paper_synthetic, paper_synthetic_batches

ROWS, BATCH, WORKERS = 10_000_000, 65_536, 2
LIMITS = {"equalized_odds": 0.02}
FOLDER = Path("build/demo")


class Counted(NamedTuple):
    """What a worker hands back."""

    blob: bytes
    seconds: float  # spent in update alone


def count(worker: int) -> Counted:
    sketch, seconds = gf.Sketch(), 0.0
    for batch in paper_synthetic_batches(ROWS // WORKERS, BATCH, seed=worker):
        start = time.perf_counter()
        sketch.update(batch.scores, batch.labels, batch.groups)
        seconds += time.perf_counter() - start
    return Counted(sketch.to_bytes(), seconds)


def warm_up(_: int) -> int:
    """Start a worker before the clock does: imports, and compilation where the backend needs it."""
    gf.Sketch().update([0.5, 1.5], [0, 1], [0, 1])
    time.sleep(0.1)  # long enough for every worker to get one of these
    return os.getpid()


def main() -> None:
    print(f"Counting {ROWS:,} scores of the paper's synthetic table: {WORKERS} workers, batches of {BATCH:,}.\n")
    with ProcessPoolExecutor(WORKERS) as pool:
        list(pool.map(warm_up, range(WORKERS)))
        start = time.perf_counter()
        parts = list(pool.map(count, range(WORKERS)))
        total = sum((gf.Sketch.from_bytes(part.blob) for part in parts), start=gf.Sketch())
        overall = time.perf_counter() - start

    alone = max(part.seconds for part in parts)
    print(f"  counting alone          {ROWS / alone / 1e6:8,.0f} million rows a second ({alone:.3f} s)")
    print(f"  with making the scores  {ROWS / overall / 1e6:8,.0f} million rows a second ({overall:.3f} s)")
    sizes = " + ".join(f"{len(part.blob):,}" for part in parts)
    print(f"  bytes                   {sizes} from the workers, {len(total.to_bytes()):,} merged\n")
    print(total)

    start = time.perf_counter()
    result = gf.solve(total, limits=LIMITS)
    solving = time.perf_counter() - start
    print(f"\nThresholds from the sketch alone, in {1e3 * solving:.1f} ms:\n\n{result}")

    judged = judge(result)
    print(judged)
    print(report(total, result, judged))


def judge(result: gf.Result) -> str:
    """Decide a million new scores and say what became of error and gaps."""
    new = paper_synthetic(rows=1_000_000, seed=WORKERS)
    decider = result.decider()
    decider(new.scores[:1], new.groups[:1])
    start = time.perf_counter()
    accepted = decider(new.scores, new.groups)
    seconds = time.perf_counter() - start
    wrong = float(np.mean(accepted != new.labels))
    rates = [[accepted[(new.labels == y) & (new.groups == a)].mean() for a in (0, 1)] for y in (0, 1)]
    gap = max(abs(a - b) for a, b in rates)
    return (
        f"\nA million new scores decided in {1e3 * seconds:.2f} ms, {1e-6 * len(accepted) / seconds:,.0f} million rows "
        f"a second:\nerror {wrong:.4f} (promised {result.error:.4f}), equalized odds gap {gap:.4f} (limit "
        f"{LIMITS['equalized_odds']})"
    )


def report(sketch: gf.Sketch, result: gf.Result, judged: str) -> str:
    """Save sketch, thresholds and a page to read, and say where they are."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    sketch.save(FOLDER / "scores.gstar")
    result.save(FOLDER / "thresholds.json")
    page = f"{sketch}\n\n{result}\n{judged}\n\nsketch {sketch.digest()}\n"
    (FOLDER / "report.txt").write_text(page, encoding="utf-8")
    return f"\nVerdict: {result.verdict}. Sketch, thresholds and report are in {FOLDER}/."


if __name__ == "__main__":
    main()
