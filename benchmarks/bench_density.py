"""What a density costs: kernel curves, fits and single points, against KDEpy and SciPy.

    python -m benchmarks.bench_density                   all questions; SciPy fits one cell of the four
    python -m benchmarks.bench_density --quick           with 1e5 rows, for a look
    python -m benchmarks.bench_density --full            SciPy fits all four cells; some minutes
    python -m benchmarks.bench_density --huge            the cost curve up to 1e8 rows
    python -m benchmarks.bench_density --scores FOLDER   also: which family wins on score files (.npz)
    pytest benchmarks/bench_density.py                   kernel curve and fits under pytest-benchmark

Answers are compared before the clock counts: curves with the sum over all bins, fits with the log-likelihood of the
rows. Tables and JSON go to benchmarks/results (`--results none` keeps them on the screen).
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import gstar_fast as gf
from benchmarks import harness
from gstar_fast._backends import room
from gstar_fast._density.cell import cells_of
from gstar_fast._density.density import make as make_density

OURS = "gstar_fast"
BANDWIDTH = 0.06
FAMILIES = {"normal": stats.norm, "student_t": stats.t, "gamma": stats.gamma}
CELLS = [(0, 0), (0, 1), (1, 0), (1, 1)]


def normal_cell(rows: int, seed: int = 0) -> tuple[np.ndarray, gf.Sketch]:
    scores = np.random.default_rng(seed).normal(size=rows)
    return scores, gf.Sketch.from_rows(scores, np.ones(rows, np.uint8), np.zeros(rows, np.uint8))


def four_cells(rows: int, seed: int = 0) -> tuple[dict[tuple[int, int], np.ndarray], gf.Sketch]:
    """Cells that look like logits: skewed, heavy-tailed, of `rows` rows each."""
    random = np.random.default_rng(seed)
    cells = {
        (0, 0): -0.6 + 0.8 * np.clip(random.standard_t(3.0, rows), -20, 20),
        (0, 1): random.normal(-1.0, 1.2, rows),
        (1, 0): random.gamma(6.0, 0.5, rows) - 2.0,
        (1, 1): 3.0 - random.gamma(4.0, 0.6, rows),
    }
    sketch = gf.Sketch()
    for (label, group), scores in cells.items():
        sketch.update(scores, np.full(rows, label, np.uint8), np.full(rows, group, np.uint8))
    return cells, sketch


# ---------------------------------------------------------------- the whole kernel curve


def curve(sketch: gf.Sketch, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Our side: from the sketch to pdf and cdf on all edges."""
    return gf.density(sketch, 1, 0, kind="kde", bandwidth=BANDWIDTH).at(edges)


def direct_sum(sketch: gf.Sketch, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    counts, means = sketch.counts[1, 0], sketch.means[1, 0]
    used = counts > 0
    z = (x[:, None] - means[used]) / BANDWIDTH
    weights = counts[used] / counts.sum()
    return special.ndtr(z) @ weights, stats.norm.pdf(z) @ weights / BANDWIDTH


def kernel_curve(rows: int) -> tuple[str, dict[str, Any]]:
    from KDEpy import FFTKDE

    scores, sketch = normal_cell(rows)
    edges = sketch.edges
    counts, means = sketch.counts[1, 0], sketch.means[1, 0]
    points, weights = means[counts > 0], counts[counts > 0].astype(float)
    width = edges[1] - edges[0]
    grid = np.concatenate(([edges[0] - width], edges, [edges[-1] + width]))  # FFTKDE wants the points strictly inside
    few = edges[:: max(1, len(edges) // 40)]  # SciPy needs minutes for all edges
    rows_kde = stats.gaussian_kde(scores, BANDWIDTH / scores.std(ddof=1))
    contenders = {
        OURS: lambda: curve(sketch, edges),
        f"{OURS}, given the bins": lambda: room("density").kde(points, weights, BANDWIDTH, 0.0, 0.0).at(edges),
        "KDEpy FFTKDE on the rows": lambda: FFTKDE(kernel="gaussian", bw=BANDWIDTH).fit(scores).evaluate(grid),
        "KDEpy FFTKDE on the bins": lambda: (
            FFTKDE(kernel="gaussian", bw=BANDWIDTH).fit(points, weights=weights).evaluate(grid)
        ),
        f"SciPy gaussian_kde, {len(few)} edges": lambda: rows_kde(few),
    }
    at = edges[::16]
    cdf, pdf = direct_sum(sketch, at)
    ours, given = curve(sketch, at), contenders[f"{OURS}, given the bins"]()[0][::16]
    errors = {
        OURS: float(np.max(np.abs(ours[0] - cdf))),
        f"{OURS}, given the bins": float(np.max(np.abs(given - cdf))),
        "KDEpy FFTKDE on the rows": float(np.max(np.abs(contenders["KDEpy FFTKDE on the rows"]()[1:-1:16] - pdf))),
        "KDEpy FFTKDE on the bins": float(np.max(np.abs(contenders["KDEpy FFTKDE on the bins"]()[1:-1:16] - pdf))),
    }
    assert max(errors[OURS], errors[f"{OURS}, given the bins"]) < 1e-11, errors
    assert np.max(np.abs(ours[1] - pdf)) < 1e-10
    assert max(errors.values()) < 1e-3, errors
    # SciPy apart: half a second of it between two contenders would leave the next one with cold caches.
    slow = {name: run for name, run in contenders.items() if name.startswith("SciPy")}
    times = harness.race({name: run for name, run in contenders.items() if name not in slow}, repeats=50, budget=5.0)
    times |= harness.race(slow, repeats=3, budget=5.0)
    body = []
    for name, timing in times.items():
        scale = len(edges) / len(few) if name.startswith("SciPy") else 1.0
        body.append(
            [
                name,
                f"{timing.least * 1e3:.3f}",
                f"{timing.least * scale / times[OURS].least:.1f}",
                f"{errors[name]:.0e}" if name in errors else "",
            ]
        )
    note = (
        "Largest error is of the cdf (ours) and of the pdf (KDEpy, which has no cdf). "
        f"SciPy's time is for {len(few)} edges, its ratio for all."
    )
    text = harness.table(["pdf and cdf on all edges", "ms", "times ours", "largest error"], body)
    return (
        f"## Whole kernel curve, {rows:.0e} rows in the cell, {len(edges)} edges\n\n{text}\n\n{note}\n",
        {"times": times, "errors": errors},
    )


# ---------------------------------------------------------------- one point


def one_point() -> tuple[str, dict[str, Any]]:
    """Nanoseconds for cdf and pdf at one point, from the table that solvers read, over a million random points."""
    from gstar_fast import _core

    x = np.random.default_rng(1).normal(0.0, 1.5, 1_000_000)
    _, sketch = normal_cell(1_000_000)
    counts, means = sketch.counts[1, 0], sketch.means[1, 0]
    used = counts > 0
    low, high = float(sketch.edges[0]), float(sketch.edges[-1])
    made = {
        "kde": _core.Density.kde(means[used], counts[used] / counts.sum(), BANDWIDTH, 0.0, 0.0),
        "normal": _core.Density.normal(0.0, 1.0, 0.0, 0.0, low, high),
        "student_t": _core.Density.student_t(2.235, 0.0, 1.0, 0.0, 0.0, low, high),
        "gamma": _core.Density.gamma(9.0, -3.0, 0.33, False, 0.0, 0.0, low, high),
    }
    some = x[:2000]
    body, report = [], {}
    for kind, density in made.items():
        error = float(np.max(np.abs(density.table_at(some)[0] - density.source_at(some)[0])))
        assert error < 1e-11
        fast = harness.race({kind: lambda d=density: d.table_at(x)}, repeats=5)[kind].least / len(x)
        slow = harness.race({kind: lambda d=density: d.source_at(some)}, repeats=5)[kind].least / len(some)
        body.append([kind, f"{fast * 1e9:.1f}", f"{slow * 1e9:.0f}", f"{error:.0e}"])
        report[kind] = {"table": fast, "direct": slow, "error": error}
    text = harness.table(["cdf and pdf at one point", "table, ns", "direct, ns", "cdf error of the table"], body)
    return f"## One point\n\n{text}\n", report


# ---------------------------------------------------------------- fits


def fits(rows: int, full: bool) -> tuple[str, dict[str, Any]]:
    """`kind="best"` fits all three families in each cell."""
    cells, sketch = four_cells(rows)
    ours = harness.race({OURS: lambda: gf.density(sketch, kind="best")}, repeats=5)[OURS].least
    spent, body, report = 0.0, [], {}
    compared = CELLS if full else CELLS[:1]
    for cell in compared:
        scores = cells[cell]
        for kind, family in FAMILIES.items():
            density = gf.density(sketch, *cell, kind=kind)
            sign = -1.0 if density.parameters.get("mirrored") else 1.0
            start = time.perf_counter()
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                parameters = family.fit(sign * scores)
            seconds = time.perf_counter() - start
            spent += seconds
            theirs = float(np.mean(family.logpdf(sign * scores, *parameters)))
            own = float(np.mean(np.log(density.pdf(scores))))
            from_bins = density.log_likelihood / rows
            assert own > theirs - 1e-5, (cell, density, own, theirs)
            assert abs(own - from_bins) < 1e-5
            body.append([f"{cell} {kind}", f"{seconds:.2f}", f"{own - theirs:+.1e}", f"{from_bins - own:+.1e}"])
            report[f"{cell} {kind}"] = {"scipy seconds": seconds, "ahead": own - theirs}
    head = ["cell and family", "scipy fit on the rows, s", "log-likelihood a row, ours - scipy", "bins - rows"]
    whole = spent * len(CELLS) / len(compared)
    text = (
        f"All three families in four cells of {rows:.0e} rows: ours {ours * 1e3:.1f} ms, SciPy {whole:.1f} s"
        f"{'' if full else ' (one cell times four)'}, {whole / ours:,.0f} times ours.\n"
    )
    page = f"## Maximum likelihood\n\n{text}\n{harness.table(head, body)}\n"
    return page, {"ours": ours, "scipy": whole, "fits": report}


def cost_curve(largest: int) -> tuple[str, dict[str, Any]]:
    """The time of a fit depends on the bins that have rows, not on the rows behind them."""
    body, report = [], {}
    rows = 10_000
    while rows <= largest:
        sketch = gf.Sketch(groups=[0, 1], range=(-16.0, 16.0))
        for table in gf.datasets.paper_synthetic_batches(rows, batch=1_000_000, seed=1):
            sketch.update(table.scores, table.labels, table.groups)
        cells = list(cells_of(sketch))
        for cell in cells:
            cell.sample  # noqa: B018 - read what fits need before the clock counts
        contenders = {
            "kde": lambda read=cells: [make_density(cell, "kde", 0.5).at(np.zeros(1)) for cell in read],
            "best": lambda read=cells: [make_density(cell, "best", None) for cell in read],
            "whole": lambda counted=sketch: gf.density(counted, kind="best"),
        }
        times = harness.race(contenders, repeats=5)
        used = sum(len(cell.used) for cell in cells)
        body.append([f"{rows:.0e}", str(used), *(f"{times[name].least * 1e3:.2f}" for name in contenders)])
        report[str(rows)] = {"bins with rows": used, **times}
        rows *= 10
    head = [
        "rows in the sketch",
        "bins with rows",
        "kde, ms",
        "best family, ms",
        "best family and reading the sketch, ms",
    ]
    return f"## Cost against rows, four cells\n\n{harness.table(head, body)}\n", report


# ---------------------------------------------------------------- quality


def paper_table() -> tuple[str, dict[str, Any]]:
    """Largest distance from the true cdf on the paper's synthetic table."""
    table = gf.datasets.paper_synthetic(rows=40_000, seed=0)
    sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups)
    x = np.linspace(-18.0, 18.0, 2001)
    kinds: dict[str, dict[str, Any]] = {
        "kde, bandwidth 0.5 (the paper's)": {"kind": "kde", "bandwidth": 0.5},
        "kde, silverman": {"kind": "kde"},
        "kde, isj": {"kind": "kde", "bandwidth": "isj"},
        **{kind: {"kind": kind} for kind in ("empirical", "normal", "student_t", "gamma")},
    }
    body, report = [], {}
    for name, options in kinds.items():
        made = gf.density(sketch, **options)
        misses = [float(np.max(np.abs(made[cell].cdf(x) - gf.datasets.true_cdf(*cell, x)))) for cell in CELLS]
        body.append([name, *(f"{miss:.4f}" for miss in misses)])
        report[name] = misses
    text = harness.table(["distance from the true cdf", *(str(cell) for cell in CELLS)], body)
    return f"## The paper's synthetic table, 40,000 rows\n\n{text}\n", report


def score_files(folder: Path) -> tuple[str, dict[str, Any]]:
    """Which family wins in each cell of score files, on the training rows."""
    body, report = [], {}
    for path in sorted(folder.glob("*.npz")):
        file = np.load(path)
        train = file["split"] == 0
        scores = (file["oof"] if "oof" in file else file["score"])[train]
        sketch = gf.Sketch.from_rows(scores, file["label"][train], file["group"][train])
        for (label, group), made in gf.density(sketch, kind="best").items():
            shown = ", ".join(f"{name} {value:.3g}" for name, value in made.parameters.items())
            kernel = gf.density(sketch, label, group, kind="kde").kolmogorov
            body.append([path.stem, f"({label}, {group})", made.kind, shown, f"{made.kolmogorov:.3f}", f"{kernel:.3f}"])
            report[f"{path.stem} {label} {group}"] = {"kind": made.kind, **made.parameters, "d_K": made.kolmogorov}
    head = ["scores", "cell", "best family", "parameters", "d_K", "d_K of kde"]
    return f"## Best family on real scores\n\n{harness.table(head, body)}\n", report


# ---------------------------------------------------------------- pytest-benchmark


@pytest.fixture(scope="module")
def cell() -> tuple[np.ndarray, gf.Sketch]:
    return normal_cell(200_000)


def test_kernel_curve(benchmark, cell):
    _, sketch = cell
    edges = sketch.edges
    cdf, _ = benchmark(lambda: curve(sketch, edges))
    assert np.max(np.abs(cdf[::64] - direct_sum(sketch, edges[::64])[0])) < 1e-11


def test_best_family(benchmark, cell):
    scores, sketch = cell
    made = benchmark(lambda: gf.density(sketch, 1, 0, kind="best"))
    assert made.log_likelihood / len(scores) > np.mean(stats.norm.logpdf(scores, *stats.norm.fit(scores))) - 1e-5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1e5 rows")
    parser.add_argument("--full", action="store_true", help="SciPy fits all four cells")
    parser.add_argument("--huge", action="store_true", help="the cost curve up to 1e8 rows")
    parser.add_argument("--scores", type=Path, help="folder of score files")
    parser.add_argument("--results", default=str(harness.RESULTS), help="folder for tables and JSON, or none")
    options = parser.parse_args()
    rows = 100_000 if options.quick else 1_000_000
    largest = 10**8 if options.huge else 10 * rows
    parts = {
        "kernel curve": lambda: kernel_curve(rows),
        "one point": one_point,
        "fits": lambda: fits(rows, options.full),
        "cost": lambda: cost_curve(largest),
        "paper table": paper_table,
    }
    if options.scores is not None:
        parts["score files"] = lambda: score_files(options.scores)
    page, report = ["# Densities\n"], {"machine": harness.machine()}
    for name, ask in parts.items():
        text, report[name] = ask()
        page.append(text)
        print(text, flush=True)
    if options.results != "none":
        harness.write(Path(options.results), "density", report, "\n".join(page))


if __name__ == "__main__":
    main()
