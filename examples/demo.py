"""All steps: stream ten million scores, merge, solve, show the trade-off, decide, audit and write a report.

There are two workers, each a process of its own. A worker makes half of the paper's synthetic table as a stream of
batches, counts every batch without keeping it, and returns the bytes of a sketch. Thresholds are found from the merged
sketch and judged on new scores.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

import gstar_fast as gf
from gstar_fast.datasets import paper_synthetic, paper_synthetic_batches

ROWS, NEW_ROWS, BATCH, WORKERS = 10_000_000, 1_000_000, 65_536, 2
LIMITS = {"equalized_odds": 0.02}
FOLDER = Path("build/demo")

Answer = TypeVar("Answer")


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


def timed(call: Callable[[], Answer]) -> tuple[Answer, float]:
    start = time.perf_counter()
    answer = call()
    return answer, time.perf_counter() - start


def stream_and_merge() -> gf.Sketch:
    print(f"Counting {ROWS:,} scores of the paper's synthetic table: {WORKERS} workers, batches of {BATCH:,}.\n")
    with ProcessPoolExecutor(WORKERS) as pool:
        list(pool.map(warm_up, range(WORKERS)))
        parts, overall = timed(lambda: list(pool.map(count, range(WORKERS))))
    total = gf.merge_all(part.blob for part in parts)
    alone = max(part.seconds for part in parts)
    print(f"  counting alone          {ROWS / alone / 1e6:8,.0f} million rows a second ({alone:.3f} s)")
    print(f"  with making the scores  {ROWS / overall / 1e6:8,.0f} million rows a second ({overall:.3f} s)")
    sizes = " + ".join(f"{len(part.blob):,}" for part in parts)
    print(f"  bytes                   {sizes} from the workers, {len(total.to_bytes()):,} merged\n")
    print(total)
    return total


def decide_new_scores(result: gf.Result) -> gf.results.Audit:
    """Decide scores nobody has counted, and audit the decisions."""
    new = paper_synthetic(rows=NEW_ROWS, seed=WORKERS)
    decider = result.decider()
    decider(new.scores[:1], new.groups[:1])
    accepted, seconds = timed(lambda: decider(new.scores, new.groups))
    speed = 1e-6 * len(accepted) / seconds
    print(f"\nA million new scores decided in {1e3 * seconds:.2f} ms, {speed:,.0f} million rows a second.")
    judged, seconds = timed(lambda: gf.audit(decisions=accepted, labels=new.labels, groups=new.groups))
    gap, error = judged.gaps["equalized_odds"], np.mean(accepted != new.labels)
    print(
        f"Audited in {1e3 * seconds:.0f} ms: error {error:.4f} (promised {result.error:.4f}), "
        f"equalized odds gap {gap.value:.4f}\n(limit {LIMITS['equalized_odds']}; between {gap.low:.4f} and "
        f"{gap.high:.4f} with {judged.confidence:.0%} confidence)."
    )
    return judged


def main() -> None:
    sketch = stream_and_merge()
    gf.solve(gf.Sketch.from_rows([0.0, 1.0], [0, 1], [0, 1]))  # open the room, so that the clock sees the work alone
    result, seconds = timed(lambda: gf.solve(sketch, limits=LIMITS))
    print(f"\nThresholds from the sketch alone, in {1e3 * seconds:.1f} ms:\n\n{result}")
    frontier, seconds = timed(lambda: gf.frontier(sketch, "equalized_odds"))
    print(f"\nThe whole trade-off in {1e3 * seconds:.0f} ms: {frontier}.")
    judged = decide_new_scores(result)

    FOLDER.mkdir(parents=True, exist_ok=True)
    sketch.save(FOLDER / "scores.gstar")
    result.save(FOLDER / "thresholds.json")
    (FOLDER / "audit.txt").write_text(f"{judged}\n", encoding="utf-8")
    page, seconds = timed(lambda: gf.report(result, sketch, frontier=frontier, command="make demo"))
    page.save(FOLDER / "report.html")
    print(f"\nVerdict: {result.verdict}. Sketch, thresholds and audit are in {FOLDER}/;")
    print(f"the report, made in {1e3 * seconds:.0f} ms, is {FOLDER / 'report.html'}: open it in a browser.")


if __name__ == "__main__":
    main()
