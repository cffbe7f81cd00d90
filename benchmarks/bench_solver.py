"""How long thresholds take: from rows against what a user would run instead, and from counts against np.sort.

    python -m benchmarks.bench_solver [--rows 48842 1000000 10000000] [--rivals] [--results FOLDER]
    pytest benchmarks/bench_solver.py --benchmark-only     counts and rows of one size under pytest-benchmark

Every figure is a ratio in the same run. From rows: all contenders start from the same arrays of scores, labels and
groups, so ours includes counting; two groups, equalized odds limit 0.02. Each answer is checked before the clock
counts. From counts: one exact solve, the frontier, the paper's loop and the lambda sweep, in units of one np.sort of
100,000 floats and of scipy's least_squares.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gstar_fast as gf
from benchmarks.harness import Timing, heading, machine, race, table, write
from gstar_fast import _core, datasets
from gstar_fast._backends import room
from gstar_fast._question.question import Question
from gstar_fast._solver.smooth.smooth import prepare_smooth

LIMIT = 0.02
RECIPE = "the paper's recipe in scipy"


def check_rows(decide: Any, rows: datasets.ScoreTable, slack: float) -> None:
    """The answer must keep the limit on the rows it was found on."""
    accept = decide(rows.scores, rows.groups)
    for y in (0, 1):
        rates = [accept[(rows.groups == g) & (rows.labels == y)].mean() for g in (0, 1)]
        assert abs(rates[0] - rates[1]) <= LIMIT + slack, "fast and wrong is out"


def from_rows(n: int, with_rivals: bool, patience: float, known: dict[str, float]) -> list[list[str]]:
    """Seconds from arrays to thresholds.

    `known` keeps each rival's seconds a row. A rival that would take longer than `patience` seconds here is left out,
    with what it would take; one that takes longer than a quarter of it is timed once, in the run that is checked.
    """
    from benchmarks.rivals.thresholds import error_parity, fairlearn, ours, oxonfair

    rows = datasets.paper_synthetic(rows=n, seed=0)
    args = rows.scores, rows.labels.astype(np.int64), rows.groups.astype(np.int64), "equalized_odds", LIMIT
    contenders: dict[str, Callable[[], Any]] = {"gstar_fast": lambda: ours()(*args)}
    contenders["gstar_fast, randomised"] = lambda: ours(randomize=True)(*args)
    check_rows(ours()(*args), rows, 1e-12)
    rivals = {"error-parity": error_parity, "OxonFair": oxonfair, "fairlearn": fairlearn, RECIPE: scipy_recipe}
    once: dict[str, Timing] = {}
    left_out: dict[str, float] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, rival in rivals.items() if with_rivals else ():
            if (expected := known.get(name, 0.0) * n) > patience:
                left_out[name] = expected
                continue
            start = time.perf_counter()
            decide = rival(*args)
            seconds = time.perf_counter() - start
            if name != RECIPE:  # it has penalties, no limit to keep
                check_rows(decide, rows, 0.01)
            if seconds > patience / 4:
                once[name] = Timing(seconds, seconds, 1)
            else:
                contenders[name] = lambda rival=rival: rival(*args)
        times = {**race(contenders, repeats=5, budget=10.0), **once}
    known.update({name: t.least / n for name, t in times.items()})
    base = times["gstar_fast"].least
    lines = [
        [f"{n:,}", name, f"{t.least * 1e3:,.2f} ms", str(t.repeats), f"{t.least / base:,.1f}"]
        for name, t in times.items()
    ]
    return lines + [[f"{n:,}", name, f"not run; about {s:,.0f} s", "0", ""] for name, s in left_out.items()]


def scipy_recipe(scores: np.ndarray, labels: np.ndarray, groups: np.ndarray, *_: Any) -> Any:
    """Fit a Student t to each cell, then least_squares on the paper's residuals, as its authors did."""
    from scipy import optimize, stats

    cells = {(y, a): stats.t(*stats.t.fit(scores[(labels == y) & (groups == a)])) for y in (0, 1) for a in (0, 1)}
    share = {(y, a): np.mean((labels == y) & (groups == a)) for y in (0, 1) for a in (0, 1)}

    def residuals(theta: np.ndarray) -> np.ndarray:
        f = {(y, a): cells[y, a].cdf(theta[a]) for y in (0, 1) for a in (0, 1)}
        error = sum(share[0, a] * (1 - f[0, a]) + share[1, a] * f[1, a] for a in (0, 1))
        return np.array([error, np.sqrt(10.0) * (f[1, 0] - f[1, 1]), np.sqrt(10.0) * (f[0, 0] - f[0, 1])])

    return optimize.least_squares(residuals, np.zeros(2)).x


def many_groups(n: int, n_groups: int, seed: int = 0) -> gf.Sketch:
    """Groups of unequal size, shift, spread and separation."""
    rng = np.random.default_rng(seed)
    groups = rng.choice(n_groups, n, p=rng.dirichlet(np.ones(n_groups)))
    base, shift = rng.uniform(0.2, 0.6, n_groups), rng.normal(0, 0.5, n_groups)
    spread, apart = rng.uniform(0.8, 1.3, n_groups), rng.uniform(1.2, 2.5, n_groups)
    labels = (rng.random(n) < base[groups]).astype(np.uint8)
    return gf.Sketch.from_rows(
        shift[groups] + spread[groups] * rng.normal(size=n) + apart[groups] * (labels - 0.5), labels, groups
    )


def from_counts() -> list[list[str]]:
    """Seconds from a finished sketch, in units of one np.sort of 100,000 floats."""
    rows = datasets.paper_synthetic(rows=1_000_000, seed=0)
    two = gf.Sketch.from_rows(rows.scores, rows.labels, rows.groups)
    ten, hundred = many_groups(1_000_000, 10), many_groups(1_000_000, 100)
    floats = np.random.default_rng(0).normal(size=100_000)
    limits = {"equalized_odds": LIMIT}
    assert (
        gf.solve(two, limits=limits, evidence=0).verdict
        == gf.solve(ten, limits=limits, evidence=0).verdict
        == "optimal"
    )
    assert gf.solve(hundred, penalties={"equalized_odds": 10.0}).verdict == "optimal"
    times = race(
        {
            "np.sort of 100,000 floats": lambda: np.sort(floats),
            "exact, 2 groups": lambda: gf.solve(two, limits=limits, evidence=0),
            "exact, 2 groups, penalties": lambda: gf.solve(two, penalties={"equalized_odds": 10.0}),
            "exact, 10 groups": lambda: gf.solve(ten, limits=limits, evidence=0),
            "exact, 10 groups, penalties": lambda: gf.solve(ten, penalties={"equal_opportunity": 10.0}),
            "exact, 100 groups, penalties": lambda: gf.solve(hundred, penalties={"equalized_odds": 10.0}),
            "randomised, 2 groups": lambda: gf.solve(two, limits=limits, randomize=True, evidence=0),
            "frontier, 2 groups": lambda: gf.frontier(two, "equalized_odds"),
        },
        repeats=30,
        budget=10.0,
    )
    unit = times["np.sort of 100,000 floats"].least
    return [[name, f"{t.least * 1e6:,.0f} us", f"{t.least / unit:.2f}"] for name, t in times.items()]


def on_densities() -> list[list[str]]:
    """The paper's loop and the lambda sweep on prepared kernel densities."""
    from scipy.optimize import least_squares

    rows = datasets.paper_synthetic(rows=40_000, seed=0)
    sketch = gf.Sketch.from_rows(rows.scores, rows.labels, rows.groups)
    cells = gf.density(sketch, kind="kde", bandwidth=0.5)
    s = prepare_smooth(sketch, Question.of(penalties={"equalized_odds": 1e4}), cells)
    problem = _core.SmoothProblem(s.problem)
    iterations = problem.alternate(np.zeros(2), 1.0, 10**6, 0.0, False)[2]
    penalties = np.logspace(-2, 7, 1000)
    weights = penalties[:, None] * (s.problem.penalty > 0)
    grid = s.grid()
    span = s.problem.high - s.problem.low
    share = s.totals[:2].T.reshape(-1) / s.totals.sum()

    def residuals(theta: np.ndarray, weight: float) -> np.ndarray:
        f = [float(cells[y, a].cdf(theta[a])) for a in (0, 1) for y in (0, 1)]
        error = share[0] * (1 - f[0]) + share[1] * f[1] + share[2] * (1 - f[2]) + share[3] * f[3]
        return np.array([error, np.sqrt(weight) * (f[1] - f[3]), np.sqrt(weight) * (f[0] - f[2])])

    some = penalties[::50]
    swept = gf.frontier(sketch, "equalized_odds", by="penalties", penalties=penalties, density=cells)
    best = [gf.solve(sketch, penalties={"equalized_odds": float(w)}, density=cells).loss for w in some]
    ours = [swept.result(int(np.flatnonzero(swept.penalty == w)[0])).loss for w in some]
    assert np.allclose(ours, best, rtol=1e-9), "fast and wrong is out"
    times = race(
        {
            "alternating": lambda: problem.alternate(np.zeros(2), 1.0, 10**6, 0.0, False),
            "sweep of 1000 lambdas": lambda: room("solver").sweep(s.problem, grid, s.candidates, weights, 1e-13 * span),
            "the same through gf.frontier": lambda: gf.frontier(
                sketch, "equalized_odds", by="penalties", penalties=penalties, density=cells
            ),
            "least_squares, 20 of the 1000": lambda: [least_squares(residuals, np.zeros(2), args=(w,)) for w in some],
        },
        repeats=7,
    )
    rival = times["least_squares, 20 of the 1000"].least * 50
    return [
        ["one alternating iteration", f"{times['alternating'].least / iterations * 1e6:.3f} us", ""],
        *(
            [name, f"{times[name].least * 1e3:.1f} ms", f"{rival / times[name].least:,.0f}"]
            for name in ("sweep of 1000 lambdas", "the same through gf.frontier")
        ),
        ["scipy least_squares, 1000 calls", f"{rival * 1e3:,.0f} ms", "1"],
    ]


# ---------------------------------------------------------------------------------------------------- pytest-benchmark


def test_from_rows(benchmark: Any) -> None:
    from benchmarks.rivals.thresholds import ours

    rows = datasets.paper_synthetic(rows=48_842, seed=0)
    args = rows.scores, rows.labels.astype(np.int64), rows.groups.astype(np.int64), "equalized_odds", LIMIT
    check_rows(benchmark(lambda: ours()(*args)), rows, 1e-12)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("n_groups", [2, 10])
@pytest.mark.parametrize(
    "asked",
    [{"limits": {"equalized_odds": LIMIT}}, {"penalties": {"equal_opportunity": 10.0}}],
    ids=["limits", "penalties"],
)
def test_from_counts(benchmark: Any, n_groups: int, asked: dict[str, Any]) -> None:
    sketch = many_groups(100_000, n_groups)
    assert benchmark(lambda: gf.solve(sketch, evidence=0, **asked)).verdict == "optimal"


def main() -> None:
    """Parse, run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[48_842, 1_000_000])
    parser.add_argument("--rivals", action="store_true", help="time fairlearn, error-parity, OxonFair and scipy too")
    parser.add_argument("--results", type=Path, help="folder to write solver.md and solver.json to")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds a rival may take")
    given = parser.parse_args()
    known: dict[str, float] = {}
    parts = {
        "From rows": (
            ["rows", "contender", "time", "repeats", "times ours"],
            [r for n in sorted(given.rows) for r in from_rows(n, given.rivals, given.patience, known)],
        ),
        "From counts": (["what", "time", "in np.sorts"], from_counts()),
        "On densities": (["what", "time", "times faster than scipy"], on_densities()),
    }
    text = "".join(f"\n## {title}\n\n{table(head, body)}\n" for title, (head, body) in parts.items())
    print(text)
    if given.results is not None:
        where = machine()
        write(given.results, "solver", {"machine": where, "parts": parts}, f"# Solver\n\n{heading(where)}\n{text}")


if __name__ == "__main__":
    main()
