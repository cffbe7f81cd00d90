"""Seconds for each row through Sketch.update, against everything else people count scores with.

    python -m benchmarks.bench_sketch            the standard case against all rivals, then each factor varied alone
    python -m benchmarks.bench_sketch --full     every combination of rows, groups, bins, dtype and distribution
    python -m benchmarks.bench_sketch --huge     with 1e8 rows at the end of the cost curve
    python -m benchmarks.bench_sketch --loops    ours against the two Numba loops alone, with more rounds
    python -m benchmarks.bench_sketch --kernels  the counting kernels of this CPU, on smooth and on hot scores
    pytest benchmarks/bench_sketch.py            the standard case at 1e6 rows under pytest-benchmark

Every contender counts the same rows in the same run, in turn; its answer is compared with the exact counts before the
clock counts. Tables and JSON go to benchmarks/results (`--results none` keeps them on the screen).
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gstar_fast as gf
from benchmarks import harness
from benchmarks.rivals import counting as rivals

OURS, READ = "gstar_fast", "only reading the arrays"
LOOPS = ("careful Numba loop", "Numba loop, counts only")
LOOP_ROUNDS = 21
ABOUT_LOOPS = """\
One thread each. The careful loop keeps what a sketch keeps of a bin and of a cell, and rejects bad rows. The other one
keeps 32-bit counts in float32 arithmetic, and a bad row makes it write anywhere. Both are told the bins, which a sketch
has to find. This is a run of its own: DuckDB and polars use all cores, and would have lost time on a busy machine."""

KERNEL_ROUNDS = 25
KERNELS = ("generic", "four", "avx2", "avx512")  # in rising order: a CPU that has one has those before it
ABOUT_KERNELS = """\
One thread; nanoseconds of CPU a row, the least of 25 rounds, which go through all kernels in turn. `generic` works on
one row at a time and is the reference; `four` needs no AVX (here it uses SSE2). Half of the saturated scores are
0.999, half of the scores with zeros are 0. Time on ARM was not measured, because no such machine was at hand. Please
run `python -m benchmarks.bench_sketch --kernels --results none` on yours and send the output as an issue."""
ABOUT_ARM = """\
Instructions a row on AArch64 (cells from bytes, 2 groups, normal scores, `aarch64-linux-gnu-g++ -O3`): `generic` 80.7
for float32 and 98.1 for float64, `four` 21.5 and 31.0. Each is the difference of runs with 2,048 and 10,240 rows under
`qemu-aarch64 -singlestep -d exec,nochain`, with `-dfilter` on the counting loops. It says little about time."""

OTHER_RUN = "A ten-line Numba loop that only counts is compared [in a run of its own](sketch_loops.md)."


@dataclass(frozen=True)
class Case:
    """One combination of the factors."""

    rows: int = 10_000_000
    groups: int = 2
    bins: int = 4096
    dtype: str = "float32"
    scores: str = "normal"

    def __str__(self) -> str:
        return f"{self.rows:.0e} rows, {self.groups} groups, {self.bins} bins, {self.dtype}, {self.scores}"


FACTORS = {
    "rows": [100_000, 1_000_000, 10_000_000],
    "groups": [2, 16],
    "bins": [1024, 4096],
    "dtype": ["float32", "float64"],
    "scores": ["normal", "skewed", "uniform"],
}


def make_rows(case: Case, seed: int = 0) -> rivals.Rows:
    random = np.random.default_rng(seed)
    if case.scores == "uniform":
        scores = random.random(case.rows, dtype=np.float32)
    else:
        scores = random.standard_normal(case.rows, dtype=np.float32)
    if case.scores == "skewed":  # 90 % in one bin: a saturated model
        scores[random.random(case.rows, dtype=np.float32) < 0.9] = 1.0
    elif case.scores in ("saturated", "zeros"):
        scores[random.random(case.rows, dtype=np.float32) < 0.5] = {"saturated": 0.999, "zeros": 0.0}[case.scores]
    labels = random.integers(0, 2, case.rows, dtype=np.uint8)
    groups = random.integers(0, case.groups, case.rows, dtype=np.uint8)
    return rivals.Rows(scores.astype(case.dtype), labels, groups, case.groups)


def count(rows: rivals.Rows, bins: int, **options: Any) -> gf.Sketch:
    """Our side of the race: a new sketch, told nothing about window or groups."""
    return gf.Sketch(bins=bins).update(rows.scores, rows.labels, rows.groups, **options)


def linear_window(rows: rivals.Rows, bins: int) -> rivals.Window:
    """What rivals get: the finest equal bins whose edges every one of them computes alike, and which hold all rows."""
    lo, hi = float(rows.scores.min()), float(np.nextafter(np.float64(rows.scores.max()), np.inf))
    sketch = gf.Sketch(bins=bins, range=(lo, hi))
    first = int(np.ldexp(float(sketch.edges[0]), -sketch.level))
    return rivals.Window(level=sketch.level, first=first, bins=bins)


def contenders(rows: rivals.Rows, bins: int, *, kll: bool) -> dict[str, Any]:
    """All calls to time, each with its answer compared first: fast and wrong is out."""
    sketch = count(rows, bins)
    if not np.array_equal(sketch.counts, rivals.reference_between(rows, sketch.edges)):
        raise AssertionError("Sketch.counts are wrong")
    window = linear_window(rows, bins)
    expected = rivals.reference(rows, window)
    fixed = gf.Sketch(bins=bins, range=(window.low, window.high)).update(rows.scores, rows.labels, rows.groups)
    if not np.array_equal(fixed.counts, expected):
        raise AssertionError("Sketch.counts are wrong in the rivals' bins")

    calls: dict[str, Any] = {OURS: lambda: count(rows, bins), READ: rivals.read_only(rows)}
    for name, prepare in rivals.RIVALS.items():
        calls[name] = prepare(rows, window)
        if not np.array_equal(calls[name](), expected):
            raise AssertionError(f"{name} counts wrongly")
    if kll:
        calls["DataSketches KLL"] = rivals.kll(rows)
        error = rivals.kll_worst_rank_error(calls["DataSketches KLL"](), expected, window)
        if error > 0.03:  # its own bound for the default k is 0.0133 at 99 %, for each of many edges and cells
            raise AssertionError(f"KLL ranks are off by {error}")
    return calls


def race(case: Case, *, kll: bool = True) -> dict[str, harness.Timing]:
    return harness.race(contenders(make_rows(case), case.bins, kll=kll))


def shown(name: str) -> str:
    """A contender as the tables call it; DuckDB and polars use as many threads as there are cores."""
    return f"{name}, all threads" if name in rivals.ALL_THREADS else name


def race_table(case: Case, times: dict[str, harness.Timing]) -> str:
    ours = times[OURS].least
    body = [
        [
            shown(name),
            f"{timing.least / case.rows * 1e9:.2f}",
            f"{timing.median / case.rows * 1e9:.2f}",
            f"{case.rows / timing.least / 1e6:,.0f}",
            f"{timing.least / ours:.2f}",
        ]
        for name, timing in sorted(times.items(), key=lambda item: item[1].least)
    ]
    return harness.table(["contender", "ns a row, least", "median", "million rows/s", "times ours"], body)


def short_table(case: Case, times: dict[str, harness.Timing]) -> str:
    """The table of docs/benchmarks/index.md, with every rival; tests/project/test_readme.py checks it."""
    others = [name for name in times if name not in (OURS, READ)]
    body = [
        [shown(name), f"{case.rows / times[name].least / 1e6:,.0f}", f"{times[name].least / times[OURS].least:.1f}"]
        for name in [OURS, *sorted(others, key=lambda name: times[name].least)]
    ]
    return harness.table(["one thread, unless it says all", "million rows a second", "its time / ours"], body)


def refresh_docs(table: str, mark: str = "speed") -> None:
    """Put the table between the two marks in the page of benchmarks."""
    page = Path(__file__).parent.parent / "docs/benchmarks/index.md"
    before, rest = page.read_text().split(f"<!-- {mark} -->\n", 1)
    _, after = rest.split(f"<!-- end of {mark} -->\n", 1)
    page.write_text(f"{before}<!-- {mark} -->\n{table}\n<!-- end of {mark} -->\n{after}")


def sweep_cases(standard: Case, *, full: bool) -> list[Case]:
    """Each factor varied alone around the standard case, or all combinations."""
    if full:
        return [Case(*values) for values in itertools.product(*FACTORS.values())]
    varied = [replace(standard, **{name: value}) for name, values in FACTORS.items() for value in values]
    return [case for case in dict.fromkeys(varied) if case != standard]


def sweep_table(results: list[tuple[Case, dict[str, harness.Timing]]]) -> str:
    names = [name for name in results[0][1] if name not in (OURS, "DataSketches KLL")]
    body = [
        [str(case), f"{times[OURS].least / case.rows * 1e9:.2f}"]
        + [f"{times[name].least / times[OURS].least:.2f}" for name in names]
        for case, times in results
    ]
    return harness.table(["case", "ours, ns a row", *(f"{shown(name)}, times ours" for name in names)], body)


def threads(case: Case) -> dict[str, Any]:
    """Two threads against one."""
    rows = make_rows(case)
    if count(rows, case.bins, threads=2) != count(rows, case.bins, threads=1):
        raise AssertionError("two threads count differently")
    times = harness.race({f"threads={n}": lambda n=n: count(rows, case.bins, threads=n) for n in (1, 2)})
    return {"times": times, "ratio": times["threads=1"].least / times["threads=2"].least}


def small_batches(calls: int = 2_000) -> dict[str, harness.Timing]:
    """Seconds a call: an update of 100 rows, update_one and an empty loop in Python, and update_one in C++."""
    rows = make_rows(Case(rows=100))
    sketch = count(rows, 4096)  # a stream: window and groups are known after the first batch
    scores, labels, groups = rows.scores, rows.labels, rows.groups
    many = range(calls)

    def update_100() -> None:
        update = sketch.update
        for _ in many:
            update(scores, labels, groups)

    def update_one() -> None:
        update = sketch.update_one
        for _ in many:
            update(0.25, 1, 0)

    def empty() -> None:
        for _ in many:
            pass

    runs = {"update of 100 rows": update_100, "update_one": update_one, "empty loop": empty}
    times = harness.race(runs, repeats=20)
    found = {name: harness.Timing(t.least / calls, t.median / calls, t.repeats) for name, t in times.items()}
    with tempfile.TemporaryDirectory() as folder:
        if (program := harness.row_cost(folder)) is not None:
            cpp = [float(harness.output(program, "count", "1e6")) * 1e-9 for _ in range(20)]
            found["update_one in C++"] = harness.Timing(min(cpp), statistics.median(cpp), len(cpp))
    return found


def backends(case: Case) -> dict[str, harness.Timing]:
    """The Numba backend against the native one and the careful Numba loop."""
    rows = make_rows(case)
    window = linear_window(rows, case.bins)

    def on(backend: str) -> gf.Sketch:
        with gf.use_backend(backend):
            return count(rows, case.bins)

    if on("numba") != on("native"):
        raise AssertionError("the Numba backend counts differently")
    runs = {backend: lambda backend=backend: on(backend) for backend in ("native", "numba")}
    return harness.race({**runs, "careful Numba loop": rivals.numba_loop(rows, window)})


def cost_curve(most: int) -> list[tuple[int, float, float]]:
    """(rows, seconds a row in a sketch that has counted before, seconds a row in a new one), from 1e5 rows to `most`.

    A new sketch finds its window and takes its memory once, whatever the number of rows; a stream pays for that once.
    """
    points = [n for exponent in range(10, 17) if (n := round(10 ** (exponent / 2))) <= most]
    rows = make_rows(Case(rows=points[-1]))
    stream = count(rows, 4096)
    curve = []
    for n in points:
        part = replace(rows, scores=rows.scores[:n], labels=rows.labels[:n], groups=rows.groups[:n])
        contenders = {
            OURS: lambda part=part: stream.update(part.scores, part.labels, part.groups),
            "new": lambda part=part: count(part, 4096),
        }
        times = harness.race(contenders, repeats=5, budget=10.0)
        curve.append((n, times[OURS].least / n, times["new"].least / n))
    return curve


def plot_cost(curve: list[tuple[int, float, float]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
    rows = [n for n, _, _ in curve]
    axes.semilogx(rows, [1e9 * again for _, again, _ in curve], "o-", color="black", label="in a sketch of a stream")
    axes.semilogx(rows, [1e9 * new for _, _, new in curve], "o:", color="grey", label="in a new sketch")
    axes.legend()
    axes.set(xlabel="rows", ylabel="ns a row", title="Sketch.update: cost of a row", ylim=(0, None))
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def import_times(repeats: int = 9) -> dict[str, float]:
    """Least seconds to import, each in a process of its own, in turn; ours with what counts, which comes when named."""
    code = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
    cached = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}  # as installed
    imports = {"numpy": "import numpy", "gstar_fast": "from gstar_fast import Sketch"}
    found: dict[str, list[float]] = {name: [] for name in imports}
    for _ in range(repeats):
        for name, times in found.items():
            command = [sys.executable, "-c", code.format(imports[name])]
            run = subprocess.run(command, env=cached, capture_output=True, text=True, check=True)
            times.append(float(run.stdout))
    return {name: min(times) for name, times in found.items()}


def goals(standard: dict[str, harness.Timing], report: dict[str, Any]) -> list[tuple[str, float, float, bool]]:
    """(goal, measured, wanted, larger is better); the native backend is meant."""
    ours, read = standard[OURS].least, standard[READ].least
    small, imports = report["small_batches"], report["import"]
    found = [
        ("boost-histogram as usually called, times ours", standard["boost-histogram, usual"].least / ours, 10.0, True),
        ("boost-histogram at its best, times ours", standard["boost-histogram, best"].least / ours, 6.0, True),
        ("np.histogram per cell, times ours", standard["np.histogram per cell"].least / ours, 40.0, True),
        ("careful Numba loop, times ours", standard["careful Numba loop"].least / ours, 2.5, True),
        ("share of the read roofline", read / ours, 0.25, True),
        ("two threads against one", report["threads"]["ratio"], 1.5, True),
        ("update of 100 rows, microseconds", small["update of 100 rows"].least * 1e6, 3.0, False),
        (
            "update_one beyond an empty loop, nanoseconds",
            (small["update_one"].least - small["empty loop"].least) * 1e9,
            40.0,
            False,
        ),
        ("import, times numpy's own", imports["gstar_fast"] / imports["numpy"], 1.25, False),
        ("dearest row of a stream's cost curve, times the cheapest", report["cost_spread"], 1.5, False),
    ]
    if "update_one in C++" in small:
        ratio = small["update_one in C++"].least / small["update_one"].least
        found.append(("update_one in C++, times Python's", ratio, 1.5, False))
    if "backends" in report:
        times = report["backends"]
        found.append(
            (
                "Numba backend, times the careful Numba loop",
                times["numba"].least / times["careful Numba loop"].least,
                1.5,
                False,
            )
        )
    return found


def goal_table(found: list[tuple[str, float, float, bool]]) -> str:
    body = [
        [name, f"{value:.2f}", f"{'>=' if larger else '<='} {wanted:g}", "yes" if (value >= wanted) == larger else "NO"]
        for name, value, wanted, larger in found
    ]
    return harness.table(["goal", "measured", "wanted", "met"], body)


def place(about: dict[str, Any]) -> str:
    """Where a run was made, and how busy the machine was."""
    load = ", ".join(map(str, about["load"])) if about["load"] else "unknown"
    return f"{harness.heading(about)}\n\nLoad average at the start (1, 5 and 15 minutes): {load}."


def loops(case: Case) -> tuple[dict[str, Any], str]:
    """Ours against the two Numba loops alone: the report and the page of `--loops`."""
    about = harness.machine()
    calls = contenders(make_rows(case), case.bins, kll=False)
    times = harness.race({name: calls[name] for name in (OURS, *LOOPS)}, repeats=LOOP_ROUNDS)
    title = f"{case}; {LOOP_ROUNDS} rounds, in turn"
    parts = ["# Counting: the Numba loops", place(about), f"## {title}", ABOUT_LOOPS, race_table(case, times)]
    return {"machine": about, "case": str(case), "times": times}, "\n\n".join(parts) + "\n"


def kernels(rows: int) -> tuple[dict[str, Any], str]:
    """Every counting kernel of this CPU on smooth and hot scores: the report and the page of `--kernels`."""
    from gstar_fast import _core

    about = harness.machine()
    best = _core.kernel()
    names = KERNELS[: KERNELS.index(best) + 1]
    cases = [
        Case(rows, groups, 4096, dtype, scores)
        for dtype in FACTORS["dtype"]
        for scores in ("normal", "uniform", "skewed", "saturated", "zeros")
        for groups in ((2, 8, 16, 32) if dtype == "float32" else (2, 16))
    ]

    def seconds(kernel: str, counted: rivals.Rows) -> float:
        """Of the processor: other programs on the machine count less."""
        _core.use_kernel(kernel)
        start = time.thread_time()
        count(counted, 4096)
        return time.thread_time() - start

    def digest(kernel: str, counted: rivals.Rows) -> str:
        _core.use_kernel(kernel)
        return count(counted, 4096).digest()

    found, body = [], []
    for case in cases:
        counted = make_rows(case)
        if len({digest(kernel, counted) for kernel in names}) != 1:
            raise AssertionError(f"kernels count differently: {case}")
        rounds = [[seconds(kernel, counted) / rows * 1e9 for kernel in names] for _ in range(KERNEL_ROUNDS)]
        least = [min(times) for times in zip(*rounds, strict=True)]
        found.append({"case": str(case), "ns_a_row": dict(zip(names, least, strict=True))})
        body.append([case.dtype, case.scores, str(case.groups), *(f"{t:.2f}" for t in least)])
    _core.use_kernel(best)
    table = harness.table(["scores are", "their kind", "groups", *names], body)
    parts = ["# Counting: the kernels", place(about), f"## {rows:.0e} rows", ABOUT_KERNELS, table, "## ARM", ABOUT_ARM]
    return {"machine": about, "cases": found}, "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=Case.rows, help="rows of the standard case (default 10,000,000)")
    parser.add_argument("--full", action="store_true", help="every combination of the factors")
    parser.add_argument("--quick", action="store_true", help="the standard case only, without the sweep")
    parser.add_argument("--loops", action="store_true", help="the two Numba loops alone; writes sketch_loops")
    parser.add_argument("--kernels", action="store_true", help="our own kernels alone; writes sketch_kernels")
    parser.add_argument("--huge", action="store_true", help="1e8 rows too")
    parser.add_argument("--results", default=str(harness.RESULTS), help="folder for the results, or none")
    options = parser.parse_args()
    begun = time.perf_counter()
    if options.kernels:
        found, text = kernels(options.rows)
        print(text)
        if options.results != "none":
            harness.write(Path(options.results), "sketch_kernels", found, text)
        return
    if options.loops:
        found, text = loops(Case(rows=options.rows))
        print(text)
        if options.results != "none":
            harness.write(Path(options.results), "sketch_loops", found, text)
            if Path(options.results) == harness.RESULTS:
                refresh_docs(short_table(Case(rows=options.rows), found["times"]), "loops")
        return

    pages = ["# Sketch: counting, measured", "", "Reproduce with `make bench`; see `benchmarks/README.md`.", ""]
    report: dict[str, Any] = {"machine": harness.machine()}
    about = report["machine"]

    def show(title: str, text: str) -> None:
        print(f"\n{title}\n\n{text}", flush=True)
        pages.extend([f"## {title}", "", text, ""])

    show("Machine", place(about))

    case = Case(rows=options.rows)
    standard = race(case)
    report["standard"] = {"case": str(case), "times": standard}
    show(f"{case}", f"{race_table(case, standard)}\n\n{OTHER_RUN}")
    if options.huge:
        large = replace(case, rows=100_000_000)
        times = race(large, kll=False)
        report["huge"] = {"case": str(large), "times": times}
        show(f"{large}", race_table(large, times))

    report["threads"] = threads(case)
    report["small_batches"] = small_batches()
    report["import"] = import_times()
    if about["native"]:
        report["backends"] = backends(case)
    curve = cost_curve(100_000_000 if options.huge else options.rows)
    report["cost_curve"] = curve
    report["cost_spread"] = max(again for _, again, _ in curve) / min(again for _, again, _ in curve)
    lines = [[f"{n:,}", f"{1e9 * again:.3f}", f"{1e9 * new:.3f}"] for n, again, new in curve]
    show("Cost of a row", harness.table(["rows", "ns a row", "in a new sketch"], lines))
    show("Goals", goal_table(goals(standard, report)))

    if not options.quick:
        sweep = [(other, race(other, kll=False)) for other in sweep_cases(case, full=options.full)]
        report["sweep"] = [{"case": str(other), "times": times} for other, times in sweep]
        show("Other cases", sweep_table(sweep))

    print(f"\nmeasured in {time.perf_counter() - begun:.0f} s")
    if options.results != "none":
        folder = Path(options.results)
        harness.write(folder, "sketch", report, "\n".join(pages))
        plot_cost(curve, folder / "sketch_cost.svg")
        print(f"written to {folder}")
        if folder == harness.RESULTS:
            refresh_docs(short_table(case, standard))


@pytest.fixture(scope="module")
def million() -> rivals.Rows:
    return make_rows(Case(rows=1_000_000))


@pytest.mark.parametrize("name", [OURS, *rivals.RIVALS])
def test_count(benchmark: Any, million: rivals.Rows, name: str) -> None:
    window = linear_window(million, 4096)
    run = (lambda: count(million, 4096).counts) if name == OURS else rivals.RIVALS[name](million, window)
    run()  # warm up: compile, touch memory
    counts = benchmark(run)
    ours = rivals.reference_between(million, count(million, 4096).edges)
    assert np.array_equal(counts, ours if name == OURS else rivals.reference(million, window))  # fast and wrong is out


if __name__ == "__main__":
    main()
