"""How long thresholds by segment take, against HiGHS on the same counts, and on the problems of the paper's comparison.

    python -m benchmarks.bench_segments [--folder build/paper] [--results FOLDER]
    pytest benchmarks/bench_segments.py --benchmark-only    one case, and HiGHS on it, under pytest-benchmark

Against HiGHS: made-up scores of two groups, equalized odds limit 0.02; answers are compared before the clock counts.
HiGHS starts from counts that are laid out for it; ours from the sketch, so that it lays them out itself. `--folder` has
the splits of `benchmarks.paper`: each seed, data set, criterion and limit is solved once with 8 segments. The table
says how many were proven within 0.3 s of CPU.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gstar_fast as gf
from benchmarks.harness import heading, machine, race, table, write
from benchmarks.rivals.segments import highs

LIMIT = 0.02
CASES = ((4, 64), (8, 256), (16, 256), (16, 4096))  # segments and bins
DATA = ("adult", "compas", "german", "celeba")
CRITERIA = ("equalized_odds", "demographic_parity", "equal_opportunity")
LIMITS = (0.005, 0.01, 0.02, 0.05, 0.1)
SEGMENTS, PROVEN_IN = 8, 0.3  # seconds


def people(rows: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Scores, labels, groups, and a number that tells the groups apart: two groups of unequal base rates."""
    rng = np.random.default_rng(seed)
    groups = (rng.random(rows) < 2 / 3).astype(np.uint8)
    labels = (rng.random(rows) < np.where(groups, 0.3, 0.11)).astype(np.uint8)
    scores = 2.2 * labels + 0.5 * groups + 1.3 * rng.normal(size=rows) - 2.0
    q = 1.0 / (1.0 + np.exp(-3.0 * (groups - 0.5) - rng.normal(size=rows)))
    return scores, labels, groups, q


def segments_of(q: np.ndarray, m: int) -> np.ndarray:
    """Segments of equally many rows."""
    return gf.Segments(tuple(np.unique(np.quantile(q, np.arange(1, m) / m)).tolist())).cut(q)


def laid_out(sketch: gf.Sketch, m: int) -> np.ndarray:
    """Counts by label, group, segment and bin."""
    counts = np.zeros((2, 2, m, sketch.counts.shape[2]), dtype=np.int64)
    for k, (group, segment) in enumerate(sketch.groups):
        counts[:, group, segment] = sketch.counts[:, k]
    return counts


def by_segment(sketch: gf.Sketch, limits: dict[str, float], monotone: bool = False, **options: Any) -> gf.Result:
    """What is timed."""
    columns: Any = gf.Segments(column=1) if monotone else 1
    return gf.solve(sketch, limits=limits, fair_between=0, decide_by=columns, evidence=0, **options)


def against_highs(m: int, bins: int, patience: float) -> list[list[str]]:
    """One row for mixtures and one for single thresholds; HiGHS is left out where it took longer than `patience`."""
    scores, labels, groups, q = people(25_000)
    sketch = gf.Sketch(bins=bins).update(scores, labels, [groups, segments_of(q, m)])
    counts, limits = laid_out(sketch, m), {"equalized_odds": LIMIT}
    lines = []
    for randomize in (True, False):
        start = time.perf_counter()
        theirs = highs(counts, LIMIT, whole=not randomize)
        took = time.perf_counter() - start
        ours = by_segment(sketch, limits, randomize=randomize)
        assert ours.verdict == "optimal", ours.verdict
        if theirs is not None:
            assert abs(ours.error - theirs) < 1e-7, (ours.error, theirs)
        contenders = {"ours": lambda r=randomize: by_segment(sketch, limits, randomize=r)}
        if took < patience:
            contenders["highs"] = lambda r=randomize: highs(counts, LIMIT, whole=not r)
        times = race(contenders, repeats=15, budget=10.0)
        rival = times["highs"].least if "highs" in times else took
        lines.append(
            [
                f"{m} segments, {bins:,} bins, {'mixtures' if randomize else 'single'}",
                f"{times['ours'].least * 1e3:.1f} ms",
                f"{times['ours'].median * 1e3:.1f} ms",
                f"{rival * 1e3:,.0f} ms" + ("" if "highs" in times else " (once)"),
                f"{rival / times['ours'].least:,.0f}",
            ]
        )
    return lines


def study(folder: Path) -> list[list[str]]:
    """CPU seconds of every problem with 8 segments, single thresholds, free and monotone."""
    from benchmarks.paper.splits import load

    lines = []
    for data in DATA:
        for monotone in (False, True):
            seconds, verdicts = [], []
            for seed in range(10):
                split = load(folder, data, "lr", "frontier", seed)
                segment = segments_of(split.oof_q, SEGMENTS)
                sketch = gf.Sketch.from_rows(split.oof, split.fit.y, [split.fit.a, segment])
                for criterion in CRITERIA:
                    for limit in LIMITS:
                        start = time.process_time()
                        result = by_segment(sketch, {criterion: limit}, monotone)
                        seconds.append(time.process_time() - start)
                        verdicts.append(result.verdict)
            proven = [v in ("optimal", "infeasible") and s <= PROVEN_IN for v, s in zip(verdicts, seconds, strict=True)]
            lines.append(
                [
                    f"{data}, {'monotone' if monotone else 'free'}",
                    str(len(seconds)),
                    f"{np.median(seconds) * 1e3:.0f} ms",
                    f"{max(seconds) * 1e3:,.0f} ms",
                    str(sum(v in ("optimal", "infeasible") for v in verdicts)),
                    f"{100 * np.mean(proven):.0f} %",
                ]
            )
    return lines


# ---------------------------------------------------------------------------------------------------- pytest-benchmark


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("randomize", [False, True], ids=["single", "mixtures"])
@pytest.mark.parametrize("who", ["ours", "highs"])
def test_segments(benchmark: Any, who: str, randomize: bool) -> None:
    scores, labels, groups, q = people(5_000)
    sketch = gf.Sketch(bins=64).update(scores, labels, [groups, segments_of(q, 4)])
    counts = laid_out(sketch, 4)
    runs = {
        "ours": lambda: by_segment(sketch, {"equalized_odds": LIMIT}, randomize=randomize).error,
        "highs": lambda: highs(counts, LIMIT, whole=not randomize),
    }
    assert runs["ours"]() == pytest.approx(runs["highs"](), abs=1e-7)
    benchmark(runs[who])


def main() -> None:
    """Parse, run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, help="splits of benchmarks.paper; without it the study is left out")
    parser.add_argument("--patience", type=float, default=5.0, help="seconds of HiGHS beyond which it runs once")
    parser.add_argument("--results", type=Path, help="folder to write segments.md and segments.json to")
    given = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    head = ["what", "least", "median", "HiGHS", "times ours"]
    parts = {"Against HiGHS": (head, [line for case in CASES for line in against_highs(*case, given.patience)])}
    if given.folder is not None:
        head = [f"{SEGMENTS} segments", "problems", "median CPU", "largest CPU", "proven", "proven within 0.3 s"]
        parts["Problems of the paper's comparison"] = (head, study(given.folder))
    text = "".join(f"\n## {title}\n\n{table(head, body)}\n" for title, (head, body) in parts.items())
    print(text)
    if given.results is not None:
        where, about = machine(), (__doc__ or "").split("\n\n", 2)[2]
        page = f"# Thresholds by segment\n\n{heading(where)}\n\n{about}{text}"
        write(given.results, "segments", {"machine": where, "parts": parts}, page)


if __name__ == "__main__":
    main()
