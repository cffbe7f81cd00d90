"""Ten million scores of the paper's synthetic table, counted by two workers and merged.

Each worker is a process of its own. It makes its half of the rows as a stream of batches, counts every batch and
forgets it, and hands back the bytes of its sketch: the only thing that ever travels.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import gstar_fast as gf
from gstar_fast.datasets import paper_synthetic_batches

ROWS, BATCH, WORKERS = 10_000_000, 65_536, 2


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

    means = "  ".join(f"{total.moments(y, a).mean:+.3f}" for y in (0, 1) for a in (0, 1))
    print(f"\nmean score of each cell   {means}")
    print("by the paper's table      -2.880  -1.710  +2.190  +3.500   (label, group) = (0, 0) (0, 1) (1, 0) (1, 1)")


if __name__ == "__main__":
    main()
