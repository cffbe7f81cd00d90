"""What rows, rounds, solves, groups and bins cost: each on an axis of its own, in CPU seconds, with a fitted line.

    python -m benchmarks.bench_scaling                    all axes and the rivals; some minutes on a free core
    python -m benchmarks.bench_scaling --quick            up to 1e6 rows, on the screen only
    make scaling                                          the first, with error-parity too: table, figure, docs
    pytest benchmarks/bench_scaling.py --benchmark-only   one point of each axis under pytest-benchmark

The paper says O(n + T) for n rows and T rounds of its loop. So counting should be a + b n, and a solve of T rounds
c + d T with the same c and d for all n. Counting and solving are timed apart and fitted apart. All points of an axis
take turns, and each keeps its least CPU seconds. Arrays of at most a million rows are counted again and again, so that
memory is in the same state at all n. Rivals start from the same rows, and every answer is checked before the clock
counts.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import math
import os
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pytest

import gstar_fast as gf
from benchmarks import harness
from benchmarks.bench_solver import check_rows, many_groups
from benchmarks.harness import filled
from gstar_fast import datasets

CHUNK = 1_000_000  # rows of the arrays that are counted again and again
LIMIT, LIMITS = 0.02, tuple(np.linspace(0.01, 0.1, 10).tolist())  # each solve has another limit, in turn
PENALTY, BANDWIDTH = 10.0, 0.5  # of the loop; the bandwidth is the paper's
FITTED_ROWS, FITTED_TIMES = 10**6, 100  # from here on the line must fit
SLICE = 0.03  # seconds of CPU that a contender runs in its turn
GOAL = 0.10  # largest miss

Columns: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]
Point: TypeAlias = tuple[float, float]  # where on its axis, and seconds
Curves: TypeAlias = dict[str, list[Point]]


class Line(NamedTuple):
    """seconds = start + each * x, and how far the points are from it at most, as a share of their seconds."""

    start: float
    each: float
    miss: float

    def at(self, x: float) -> float:
        return self.start + self.each * x


def line(points: list[Point]) -> Line:
    """Least squares of the relative error, so that small points count as much as large ones."""
    x, seconds = np.array(points, dtype=np.float64).T
    design = np.column_stack([np.ones(len(x)), x]) / seconds[:, None]
    (start, each), *_ = np.linalg.lstsq(design, np.ones(len(x)), rcond=None)
    return Line(float(start), float(each), float(np.abs(design @ [start, each] - 1).max()))


def power(points: list[Point]) -> float:
    """The exponent with which seconds grow."""
    x, seconds = np.log(np.array(points, dtype=np.float64)).T
    return float(np.polyfit(x, seconds, 1)[0])


def least(contenders: Mapping[Any, Callable[[], Any]], turns: int) -> dict[Any, float]:
    """Least CPU seconds of each. They take turns; in its turn each runs for `SLICE` seconds, and at least once."""
    best = dict.fromkeys(contenders, math.inf)
    for run in contenders.values():
        run()  # warm up
    for _ in range(turns):
        for name, run in contenders.items():
            end = time.process_time() + SLICE
            while True:
                start = time.process_time()
                run()
                now = time.process_time()
                best[name] = min(best[name], now - start)
                if now >= end:
                    break
    return best


# ------------------------------------------------------------------------------------------------------------ what runs


def columns(rows: int) -> Columns:
    """Scores, labels and groups of the paper's synthetic table, in the types that are fastest to count."""
    made = datasets.paper_synthetic(rows=rows, seed=0)
    return made.scores.astype(np.float32), made.labels.astype(np.uint8), made.groups.astype(np.uint8)


def counted(chunk: Columns, rows: int, bins: int = 4096) -> gf.Sketch:
    """A sketch of so many rows: the same arrays again and again."""
    sketch = gf.Sketch(bins=bins)
    for _ in range(rows // len(chunk[0])):
        sketch.update(*chunk)
    return sketch


def looped(sketch: gf.Sketch, cells: Any, rounds: int) -> gf.Result:
    """So many rounds of the paper's loop."""
    return gf.solve(sketch, penalties={"equalized_odds": PENALTY}, density=cells, method="alternating", rounds=rounds)


def solves(sketch: gf.Sketch, times: int) -> None:
    """So many exact solves, each with another limit than the one before."""
    for limit in itertools.islice(itertools.cycle(LIMITS), times):
        gf.solve(sketch, limits={"equalized_odds": limit}, evidence=0)


def smooth(sketch: gf.Sketch) -> Any:
    """The densities that the loop runs on."""
    return gf.density(sketch, kind="kde", bandwidth=BANDWIDTH)


def rows_axis(sizes: list[int], turns: int) -> list[Point]:
    """CPU seconds of counting n rows."""
    whole = columns(min(CHUNK, sizes[-1]))
    chunks = {n: tuple(column[: min(n, CHUNK)] for column in whole) for n in sizes}
    assert all(counted(chunks[n], n).n_rows == n for n in sizes)
    return list(least({n: lambda n=n: counted(chunks[n], n) for n in sizes}, turns).items())


def times_axis(sizes: list[int], rounds: list[int], many: list[int], turns: int) -> Curves:
    """CPU seconds of a solve of T rounds, and of S exact solves, on sketches of n rows."""
    whole = columns(min(CHUNK, sizes[-1]))
    sketches = {n: counted(tuple(column[: min(n, CHUNK)] for column in whole), n) for n in sizes}
    cells = {n: smooth(sketch) for n, sketch in sketches.items()}
    contenders: dict[tuple[str, int, int], Callable[[], Any]] = {}
    for n, sketch in sketches.items():
        best = gf.solve(sketch, penalties={"equalized_odds": PENALTY}, density=cells[n]).loss
        ends = [looped(sketch, cells[n], t) for t in rounds]
        assert [end.proof.iterations for end in ends] == rounds
        assert rounds[-1] < 1000 or ends[-1].loss <= best * (1 + 1e-6), "the loop did not reach the optimum"
        for t in rounds:
            contenders["rounds", n, t] = lambda s=sketch, d=cells[n], t=t: looped(s, d, t)
        for t in many:
            contenders["solves", n, t] = lambda s=sketch, t=t: solves(s, t)
    found = least(contenders, turns)
    kinds = ("rounds", rounds), ("solves", many)
    return {f"{kind}, {n:,} rows": [(t, found[kind, n, t]) for t in axis] for kind, axis in kinds for n in sizes}


def groups_axis(numbers: list[int], rows: int, turns: int) -> Curves:
    """CPU seconds of counting, of 10,000 rounds and of an exact solve with K groups."""
    contenders: dict[tuple[str, int], Callable[[], Any]] = {}
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=rows).astype(np.float32), rng.integers(0, 2, rows).astype(np.uint8)
    for k in numbers:
        chunk = scores, labels, rng.integers(0, k, rows).astype(np.uint8)
        sketch = many_groups(CHUNK, k)
        cells = smooth(sketch)
        contenders["counting", k] = lambda c=chunk: counted(c, rows)
        for t in (100, 10_100):
            contenders[f"{t} rounds", k] = lambda s=sketch, d=cells, t=t: looped(s, d, t)
        contenders["exact", k] = lambda s=sketch: gf.solve(s, penalties={"equal_opportunity": PENALTY})
    found = least(contenders, turns)
    more = [(k, found["10100 rounds", k] - found["100 rounds", k]) for k in numbers]
    return {kind: [(k, found[kind, k]) for k in numbers] for kind in ("counting", "exact")} | {"10,000 rounds": more}


def bins_axis(numbers: list[int], rows: int, turns: int) -> Curves:
    """CPU seconds of counting, of an exact solve, and of a solve of 100 rounds, with B bins."""
    chunk = columns(rows)
    contenders: dict[tuple[str, int], Callable[[], Any]] = {}
    for bins in numbers:
        sketch = counted(chunk, rows, bins)
        cells = smooth(sketch)
        contenders["counting", bins] = lambda b=bins: counted(chunk, rows, b)
        contenders["exact", bins] = lambda s=sketch: solves(s, 1)
        contenders["100 rounds", bins] = lambda s=sketch, d=cells: looped(s, d, 100)
    found = least(contenders, turns)
    return {kind: [(b, found[kind, b]) for b in numbers] for kind in ("counting", "exact", "100 rounds")}


# --------------------------------------------------------------------------------------------------------------- rivals


def minimised(scores: np.ndarray, labels: np.ndarray, groups: np.ndarray, evaluations: int) -> Any:
    """SciPy's Nelder-Mead on the loss of the rows: the same kernel density, summed over all rows at each evaluation."""
    from scipy.optimize import minimize
    from scipy.special import ndtr

    cells = [[scores[(labels == y) & (groups == a)].astype(np.float64) for y in (0, 1)] for a in (0, 1)]
    share = [[len(cell) / len(scores) for cell in both] for both in cells]

    def loss(theta: np.ndarray) -> float:
        f = [[ndtr((at - cell) / BANDWIDTH).mean() for cell in both] for at, both in zip(theta, cells, strict=True)]
        error = sum(share[a][0] * (1 - f[a][0]) + share[a][1] * f[a][1] for a in (0, 1))
        return error**2 + PENALTY * sum((f[0][y] - f[1][y]) ** 2 for y in (0, 1))

    return minimize(
        loss,
        [0.0, 0.1],
        method="Nelder-Mead",
        options={"maxfev": evaluations, "maxiter": 10**6, "xatol": 0, "fatol": 0},
    )


def check_minimised() -> dict[str, float]:
    """SciPy's loss after 200 evaluations of 100,000 rows, and ours: bins are all that is between them."""
    rows = columns(100_000)
    sketch = counted(rows, len(rows[0]))
    theirs, ours = minimised(*rows, 200).fun, looped(sketch, smooth(sketch), 10_000).loss
    assert abs(theirs - ours) <= 1e-4 * ours, (theirs, ours)
    return {"scipy": float(theirs), "ours": float(ours)}


def rivals(sizes: list[int], evaluations: list[int], patience: float) -> Curves:
    """CPU seconds from rows to thresholds. A rival is left out at a size where it would take longer than `patience`."""
    from benchmarks.rivals import thresholds as others

    packages = {"error_parity": others.error_parity, "fairlearn": others.fairlearn}
    fits = {name: fit for name, fit in packages.items() if importlib.util.find_spec(name)}
    asked = {"gstar_fast, exact": others.ours(), **{name.replace("_", "-"): fit for name, fit in fits.items()}}
    contenders: dict[str, Callable[..., Any]] = {
        **{name: lambda *rows, fit=fit: fit(*rows, "equalized_odds", LIMIT) for name, fit in asked.items()},
        **{f"gstar_fast, {t} rounds": lambda *rows, t=t: from_rows(rows, t) for t in evaluations},
        **{f"minimize, {t} evaluations": lambda *rows, t=t: minimised(*rows, t) for t in evaluations},
    }
    found: Curves = {name: [] for name in contenders}
    for n in sizes:
        made = datasets.paper_synthetic(rows=n, seed=0)
        rows = made.scores, made.labels.astype(np.int64), made.groups.astype(np.int64)
        for name, run in contenders.items():
            if found[name] and found[name][-1][1] * n / found[name][-1][0] > patience:
                continue
            start = time.process_time()
            answer = run(*rows)
            seconds = time.process_time() - start
            if name in asked:  # the others have a penalty in the place of a limit; `check_minimised` compares them
                check_rows(answer, made, 1e-12 if name.startswith("gstar") else 0.01)
            if seconds < patience / 10:
                seconds = least({name: lambda run=run, rows=rows: run(*rows)}, 3)[name]
            found[name].append((n, seconds))
    return found


def from_rows(rows: Columns, rounds: int) -> gf.Result:
    """Counting, densities and the loop."""
    sketch = gf.Sketch.from_rows(*rows)
    return looped(sketch, smooth(sketch), rounds)


# ----------------------------------------------------------------------------------------------------------------- page


def pooled(report: Mapping[str, Any], kind: str) -> list[tuple[int, float, float]]:
    """Rows, rounds or solves, and seconds, where the line must fit."""
    return [
        (n, t, seconds)
        for n in report["sizes"]
        for t, seconds in report["times"][f"{kind}, {n:,} rows"]
        if n >= FITTED_ROWS and t >= FITTED_TIMES
    ]


def fitted(report: Mapping[str, Any]) -> dict[str, Line]:
    """One line for rows, and one each for rounds and solves on all numbers of rows; and what both miss together."""
    made = {"rows": line([point for point in report["rows"] if point[0] >= FITTED_ROWS])}
    for kind in ("rounds", "solves"):
        made[kind] = line([(t, seconds) for _, t, seconds in pooled(report, kind)])
    counting = dict(map(tuple, report["rows"]))
    misses = [
        (made["rows"].at(n) + made["rounds"].at(t)) / (counting[n] + seconds) - 1
        for n, t, seconds in pooled(report, "rounds")
    ]
    made["n and T"] = made["rounds"]._replace(
        start=made["rows"].start + made["rounds"].start, miss=max(map(abs, misses))
    )
    return made


def said(report: Mapping[str, Any]) -> str:
    """The fits in words, for the docs."""
    made = fitted(report)
    rows, rounds, solves, both = (made[name] for name in ("rows", "rounds", "solves", "n and T"))
    per_row = f"{rows.each * 1e9:.2f} ns for each row"
    return f"""| what | CPU time | largest miss |
|---|---|---:|
| counting n rows | {_short(rows.start)} + {per_row} | {rows.miss:.1%} |
| a solve of T rounds | {_short(rounds.start)} + {rounds.each * 1e6:.2f} us for each round | {rounds.miss:.1%} |
| both together | {_short(both.start)} + {per_row} + {rounds.each * 1e6:.2f} us for each round | {both.miss:.1%} |
| S exact solves | {_short(solves.start)} + {solves.each * 1e6:,.0f} us for each solve | {solves.miss:.1%} |"""


def _short(seconds: float) -> str:
    return (
        f"{seconds * 1e6:,.0f} us"
        if abs(seconds) < 1e-3
        else f"{seconds * 1e3:,.1f} ms"
        if seconds < 1
        else f"{seconds:,.1f} s"
    )


def _curves(curves: Curves, first: str) -> str:
    """A table with a column for each curve; a dash where a point was left out."""
    axis = sorted({x for points in curves.values() for x, _ in points})
    at = {name: dict(map(tuple, points)) for name, points in curves.items()}
    body = [[f"{x:,}", *(_short(at[name][x]) if x in at[name] else "-" for name in curves)] for x in axis]
    grows = [
        "grows with the power",
        *(f"{power(points):.2f}" if len(points) > 1 else "-" for points in curves.values()),
    ]
    return harness.table([first, *curves], [*body, grows])


def page(report: Mapping[str, Any]) -> str:
    """The tables of a run."""
    kinds = {
        kind: {f"{n:,} rows": report["times"][f"{kind}, {n:,} rows"] for n in report["sizes"]}
        for kind in ("rounds", "solves")
    }
    before, after = (f"{load:.1f}" for load in report["load"])
    cores, again = report["machine"]["cores"], f"{fitted(report)['solves'].each * 1e6:,.0f} us"
    theirs, ours = (f"{report['losses'][name]:.7f}" for name in ("scipy", "ours"))
    return f"""# Scaling: rows, rounds, solves, groups, bins

{harness.heading(report["machine"])}

The load of this machine was {before} at the start and {after} at the end, on {cores} cores that other work shared.
Times are CPU seconds: the least of {report["turns"]} turns, in each of which a contender runs again until
{SLICE * 1e3:.0f} ms are over. All points of an axis take turns. `make scaling` runs it again.

## The fit

n is the number of rows, T the number of rounds of the paper's loop (`method="alternating"`, `rounds=T`). Lines are
fitted from n = {FITTED_ROWS:,} and T = {FITTED_TIMES} on, by least squares of the relative error. One line for rounds
and one for solves are fitted to sketches of {FITTED_ROWS:,} to {max(report["sizes"]):,} rows together. The goal was a
largest miss under {GOAL:.0%}. "Both together" is the sum of the first two lines, against the sum of their times.

{said(report)}

## Counting n rows

{_curves({"CPU time": report["rows"]}, "rows")}

Up to {CHUNK:,} rows are one array, more rows are the same arrays again.

## A solve of T rounds

Two groups, `equalized_odds` with a penalty of {PENALTY:g}, kernel density of bandwidth {BANDWIDTH:g}, made before the
clock starts. Every solve also asks whether the loop converged, and compares it with the proven optimum: this is the
fixed part, and most of the time up to 10,000 rounds.

{_curves(kinds["rounds"], "rounds")}

## S exact solves

Limits from {LIMITS[0]:g} to {LIMITS[-1]:g} on equalized odds in turn, so that no solve has the limit of the one before.

{_curves(kinds["solves"], "solves")}

## Groups

{CHUNK:,} rows are counted, and solves start from sketches of as many rows. The loop has a penalty on
`equalized_odds`, the exact solve one on `equal_opportunity`. A round updates K thresholds and reads all K groups for
each, so it grows with K squared where K is large.

{_curves(report["groups"], "groups")}

## Bins

Two groups, {CHUNK:,} rows. The exact solve has the limit {LIMITS[0]:g}.

{_curves(report["bins"], "bins")}

## From rows to thresholds, with other libraries

CPU time from arrays to thresholds. `minimize` is SciPy's Nelder-Mead on the loss of our loop, with the kernel density
summed over all rows at each evaluation: its cost grows with n T. fairlearn and error-parity sort the rows (n log n),
and do it again for each limit. For a second limit on the same rows gstar_fast takes one more solve ({again}). After 200
evaluations of 100,000 rows SciPy's loss is {theirs}, and that of our loop {ours}. A dash: not run, since it would take
more than {report["patience"]:.0f} s, or not installed.

{_curves(report["rivals"], "rows")}

![CPU time against rows, rounds, groups and bins](scaling.svg)
"""


def draw(report: Mapping[str, Any], path: Path) -> None:
    """Four axes, logarithmic: rows, rounds and solves, groups and bins, and other libraries."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "scaling"
    import matplotlib.pyplot as plt

    figure, (rows, rounds, groups, others) = plt.subplots(1, 4, figsize=(17, 4), constrained_layout=True)
    made = fitted(report)

    def straight(at: Any, fit: Line, ends: tuple[float, float], label: str) -> None:
        x = np.geomspace(*ends, 100)
        at.loglog(x, fit.start + fit.each * x, "k-", linewidth=1, label=label)

    rows.loglog(*zip(*report["rows"], strict=True), "o")
    straight(rows, made["rows"], (FITTED_ROWS, report["rows"][-1][0]), f"{made['rows'].each * 1e9:.2f} ns a row")
    for n, mark in zip(report["sizes"], "o^sDv", strict=False):
        for kind, colour in (("rounds", "C0"), ("solves", "C1")):
            x, seconds = zip(*report["times"][f"{kind}, {n:,} rows"], strict=True)
            rounds.loglog(x, seconds, mark, color=colour, alpha=0.6, label=f"{kind}, {n:,} rows")
    for kind, unit in (("rounds", "round"), ("solves", "solve")):
        ends = FITTED_TIMES, report["times"][f"{kind}, {report['sizes'][0]:,} rows"][-1][0]
        straight(rounds, made[kind], ends, f"{made[kind].each * 1e6:.3g} us a {unit}")
    for axis, mark in (("groups", "o-"), ("bins", "s--")):
        for name, points in report[axis].items():
            groups.loglog(*zip(*points, strict=True), mark, markersize=4, label=f"{axis}: {name}")
    for name, points in report["rivals"].items():
        if points:
            others.loglog(*zip(*points, strict=True), "o-", markersize=4, label=name)
    labels = "rows counted", "rounds, or exact solves", "groups, or bins", "rows to thresholds"
    for at, label in zip((rows, rounds, groups, others), labels, strict=True):
        at.set_xlabel(label)
        at.set_ylabel("CPU seconds")
        at.legend(fontsize=6)
    figure.savefig(path, metadata={"Date": None})


# ---------------------------------------------------------------------------------------------------- pytest-benchmark


@pytest.fixture(scope="module")
def sketch() -> gf.Sketch:
    chunk = columns(100_000)
    return counted(chunk, 100_000)


@pytest.mark.parametrize("rows", [10_000, 100_000])
def test_counting(benchmark: Any, rows: int) -> None:
    chunk = columns(rows)
    assert benchmark(lambda: counted(chunk, 2 * rows)).n_rows == 2 * rows


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.NotConvergedWarning")
@pytest.mark.parametrize("rounds", [10, 1000])
def test_rounds(benchmark: Any, sketch: gf.Sketch, rounds: int) -> None:
    cells = smooth(sketch)
    assert benchmark(lambda: looped(sketch, cells, rounds)).proof.iterations == rounds


def test_exact_solves(benchmark: Any, sketch: gf.Sketch) -> None:
    assert all(gf.solve(sketch, limits={"equalized_odds": x}, evidence=0).verdict == "optimal" for x in LIMITS)
    benchmark(lambda: solves(sketch, len(LIMITS)))


def test_minimize(benchmark: Any) -> None:
    check_minimised()
    rows = columns(10_000)
    benchmark(lambda: minimised(*rows, 10))


# ----------------------------------------------------------------------------------------------------------------- main


def measure(most: int, turns: int, patience: float) -> dict[str, Any]:
    """All axes; those of rows and times end at `most` rows."""
    before = os.getloadavg()[0]
    tens = [10**p for p in range(4, 9) if 10**p <= most]
    halves = sorted({*tens, *(n for n in (30_000, 300_000, 3_000_000, 30_000_000) if n < most)})
    sizes = [n for n in (10**4, 10**6, 10**8) if n <= most]
    rounds = [10, 30, 100, 300, 1000, 3000, 10_000]
    return {
        "machine": harness.machine(),
        "turns": turns,
        "patience": patience,
        "losses": check_minimised(),
        "sizes": sizes,
        "rows": rows_axis(halves, turns),
        "times": times_axis(sizes, rounds, [10, 30, 100, 300], turns),
        "groups": groups_axis([2, 3, 5, 10, 20, 50, 100], CHUNK, turns),
        "bins": bins_axis([256, 1024, 4096, 16_384, 65_536], CHUNK, turns),
        "rivals": rivals([n for n in tens if n <= 10**7], [10, 100], patience),
        "load": [before, os.getloadavg()[0]],
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="up to 1e6 rows in two turns, on the screen only")
    parser.add_argument("--turns", type=int, default=7, help="how often all points of an axis run")
    parser.add_argument("--patience", type=float, default=15.0, help="seconds that a rival may take")
    parser.add_argument("--results", type=Path, default=harness.RESULTS, help="folder for scaling.md, .json and .svg")
    parser.add_argument("--docs", type=Path, nargs="*", default=[], help="pages whose block `scaling` is filled")
    given = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    report = measure(10**6, 2, 2.0) if given.quick else measure(10**8, given.turns, given.patience)
    print(page(report))
    if given.quick:
        return
    harness.write(given.results, "scaling", report, page(report))
    draw(report, given.results / "scaling.svg")
    for docs in given.docs:
        docs.write_text(filled(docs.read_text(), {"scaling": said(report)}))


if __name__ == "__main__":
    main()
