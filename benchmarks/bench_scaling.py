"""What counting and solving cost: time = a + b n + c T over rows n and solves T, fitted and drawn.

    python -m benchmarks.bench_scaling [--most 10000000] [--results FOLDER]

Counting is O(n) and solving is independent of n: b (a row) and c (a solve) should be constants. Both are measured at
every n and T, and each solve has another limit, so that nothing can be remembered.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import gstar_fast as gf
from benchmarks.harness import heading, machine, table, write
from gstar_fast import datasets


def measure(n: int, solves: int) -> tuple[float, float]:
    """Seconds to count n rows, and to solve `solves` times from the counts."""
    best_count, best_solve = np.inf, np.inf
    batches = list(datasets.paper_synthetic_batches(rows=n, batch=min(n, 1_000_000), seed=0))
    batches = [(b.scores.astype(np.float32), b.labels.astype(np.uint8), b.groups.astype(np.uint8)) for b in batches]
    limits = np.linspace(0.01, 0.2, solves)
    for _ in range(3):
        start = time.perf_counter()
        sketch = gf.Sketch()
        for batch in batches:
            sketch.update(*batch)
        best_count = min(best_count, time.perf_counter() - start)
        start = time.perf_counter()
        for limit in limits:
            gf.solve(sketch, limits={"equalized_odds": float(limit)}, evidence=0)
        best_solve = min(best_solve, time.perf_counter() - start)
    return best_count, best_solve


def draw(points: list[tuple[int, int, float, float]], fit: np.ndarray, path: Path) -> None:
    """Counting against rows, and solving against solves, on logarithmic axes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
    n = np.array(sorted({p[0] for p in points}))
    t = np.array(sorted({p[1] for p in points}))
    left.loglog(n, [min(p[2] for p in points if p[0] == x) for x in n], "o", label="measured")
    fine = np.geomspace(n[0], n[-1], 100)
    left.loglog(fine, fit[0] + fit[1] * fine, "-", label=f"{fit[1] * 1e9:.2f} ns a row")
    left.set_xlabel("rows counted"), left.set_ylabel("seconds"), left.legend()
    for x in n:
        right.loglog(t, [p[3] for y in t for p in points if p[:2] == (x, y)], "o", alpha=0.6, label=f"{x:,} rows")
    right.loglog(t, fit[2] * t, "k-", label=f"{fit[2] * 1e6:.0f} us a solve")
    right.set_xlabel("solves from the counts"), right.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    """Parse, run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=10_000_000, help="largest number of rows")
    parser.add_argument("--solves", type=int, nargs="*", default=[1, 10, 100, 1000])
    parser.add_argument("--results", type=Path, help="folder to write scaling.md, scaling.json and scaling.svg to")
    given = parser.parse_args()
    sizes = [n for n in (10**4, 10**5, 10**6, 10**7, 10**8) if n <= given.most]
    points = [(n, t, *measure(n, t)) for n in sizes for t in given.solves]
    # least squares in relative error, so that small cases count as much as large ones
    total = np.array([p[2] + p[3] for p in points])
    design = np.array([[1.0, p[0], p[1]] for p in points])
    fit, *_ = np.linalg.lstsq(design / total[:, None], np.ones(len(points)), rcond=None)
    miss = np.abs(design @ fit / total - 1)
    body = [[f"{n:,}", f"{t:,}", f"{c * 1e3:,.2f} ms", f"{s * 1e6 / t:,.0f} us"] for n, t, c, s in points]
    text = table(["rows", "solves", "counting", "a solve"], body)
    text += f"\n\ntime = {fit[0] * 1e6:.0f} us + {fit[1] * 1e9:.2f} ns n + {fit[2] * 1e6:.0f} us T"
    text += f"; largest miss {miss.max():.0%}\n"
    print(text)
    if given.results is not None:
        where = machine()
        report = {"machine": where, "points": points, "fit": fit.tolist()}
        write(given.results, "scaling", report, f"# Scaling\n\n{heading(where)}\n\n{text}")
        draw(points, fit, given.results / "scaling.svg")


if __name__ == "__main__":
    main()
