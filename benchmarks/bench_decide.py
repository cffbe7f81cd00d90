"""Time of a decision: many rows, a small batch, one row, and embedded in C++, against what a careful user would write.

    python -m benchmarks.bench_decide            all of it, with 1e5, 1e6 and 1e7 rows
    python -m benchmarks.bench_decide --quick    without 1e7 rows and callgrind
    pytest benchmarks/bench_decide.py            one case under pytest-benchmark

All contenders run in turn in one process, and every answer is compared before the clock counts. Tables and JSON go to
benchmarks/results (`--results none` keeps them on the screen).
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gstar_fast as gf
from benchmarks import harness

GOALS = {2: 8.0, 8: 8.0, 16: 6.0}
FLOAT64_GOAL = 4.5


def make_rows(n: int, n_groups: int, dtype: Any, seed: int = 0) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(seed)
    scores = random.standard_normal(n, dtype=np.float32).astype(dtype)
    groups = random.integers(0, n_groups, n).astype(np.uint8 if n_groups <= 256 else np.uint16)
    return scores, groups, np.sort(random.standard_normal(n_groups))


def race(contenders: dict[str, Callable[[], Any]], n: int, repeats: int) -> dict[str, float]:
    """Nanoseconds a row, the least of some rounds; short runs are repeated until they last."""
    number = max(1, 1_000_000 // max(n, 1))

    def many(run: Callable[[], Any]) -> Callable[[], None]:
        def loop() -> None:
            for _ in range(number):
                run()

        return loop

    timings = harness.race({name: many(run) for name, run in contenders.items()}, repeats=repeats, budget=5.0)
    return {name: timing.least / number / n * 1e9 for name, timing in timings.items()}


def arrays(sizes: list[int], repeats: int) -> tuple[list[dict[str, Any]], str]:
    """Against numpy's idiom, and against the plain compare that ignores groups."""
    records, body = [], []
    for n in sizes:
        for n_groups in (2, 8, 16, 1000):
            for dtype in (np.float32, np.float64):
                scores, groups, values = make_rows(n, n_groups, dtype)
                decider = gf.Decider(dict(enumerate(values.tolist())))
                same, one = values.astype(dtype), dtype(0.25)
                assert np.array_equal(decider(scores, groups), scores.astype(np.float64) >= values[groups])
                times = race(
                    {
                        "ours": lambda s=scores, g=groups, d=decider: d(s, g),
                        "numpy": lambda s=scores, g=groups, t=same: s >= t[g],
                        "plain": lambda s=scores, c=one: s >= c,
                    },
                    n,
                    repeats,
                )
                goal = None if n_groups not in GOALS else GOALS[n_groups] if dtype is np.float32 else FLOAT64_GOAL
                record = {
                    "rows": n,
                    "groups": n_groups,
                    "dtype": dtype.__name__,
                    **times,
                    "faster": times["numpy"] / times["ours"],
                    "goal": goal,
                    "of_plain": times["ours"] / times["plain"],
                    "of_plain_goal": 2.5 if n <= 100_000 else 1.5,
                }
                records.append(record)
                body.append(
                    [f"{n:.0e}", str(n_groups), dtype.__name__]
                    + [f"{times[name]:.3f}" for name in ("ours", "numpy", "plain")]
                    + [f"{record['faster']:.1f}x", "" if goal is None else f"{goal:g}x", f"{record['of_plain']:.2f}x"]
                )
    head = [
        "rows",
        "groups",
        "scores",
        "ours ns/row",
        "scores >= t[groups]",
        "scores >= c",
        "faster",
        "goal",
        "of plain",
    ]
    return records, harness.table(head, body)


def columns(n: int, repeats: int) -> tuple[dict[str, float], str]:
    """String groups in columns that hold codes, against the codes themselves."""
    scores, groups, values = make_rows(n, 8, np.float32)
    names = [f"group {i}" for i in range(8)]
    decider = gf.Decider(dict(zip(names, values.tolist(), strict=True)))
    categorical = pd.Categorical.from_codes(groups.astype(np.int8), names)
    dictionary = pa.DictionaryArray.from_arrays(pa.array(groups.astype(np.int8)), names)
    signed = groups.astype(np.int8)
    expected = scores.astype(np.float64) >= values[groups]
    contenders = {
        "codes (uint8)": lambda: decider(scores, groups, codes=True),
        "codes (int8)": lambda: decider(scores, signed, codes=True),
        "pandas categorical": lambda: decider(scores, categorical),
        "Arrow dictionary": lambda: decider(scores, dictionary),
    }
    for run in contenders.values():
        assert np.array_equal(run(), expected)
    times = race(contenders, n, repeats)
    base = times["codes (int8)"]
    body = [[name, f"{t:.3f}", f"{t / base:.2f}x"] for name, t in times.items()]
    return times, harness.table([f"groups, {n:.0e} rows", "ns/row", "of codes"], body)


def numbers(n: int, repeats: int) -> tuple[list[dict[str, Any]], str]:
    """Numbers that stand for groups, against plain groups, and against numpy's search and the compare after it."""
    records, body = [], []
    for n_segments in (8, 32):
        for dtype in (np.float32, np.float64):
            scores, groups, values = make_rows(n, n_segments, dtype)
            q = np.random.default_rng(1).random(n).astype(dtype)
            cuts = np.arange(1, n_segments) / n_segments
            same, edges, thresholds = values.astype(dtype), cuts.astype(dtype), dict(enumerate(values.tolist()))
            decider, plain = gf.Decider(thresholds, cuts=cuts.tolist()), gf.Decider(thresholds)
            expected = scores.astype(np.float64) >= values[np.searchsorted(cuts, q.astype(np.float64), side="right")]
            assert np.array_equal(decider(scores, q), expected)
            times = race(
                {
                    "ours": lambda s=scores, x=q, d=decider: d(s, x),
                    "groups": lambda s=scores, g=groups, d=plain: d(s, g),
                    "numpy": lambda s=scores, x=q, t=same, c=edges: s >= t[np.searchsorted(c, x, side="right")],
                },
                n,
                repeats,
            )
            records.append({"rows": n, "segments": n_segments, "dtype": dtype.__name__, **times})
            shown = [f"{times[name]:.3f}" for name in ("ours", "groups", "numpy")]
            body.append([str(n_segments), dtype.__name__, *shown, f"{times['numpy'] / times['ours']:.1f}x"])
    head = [
        f"segments, {n:.0e} rows",
        "both columns",
        "ours ns/row",
        "ours, plain groups",
        "numpy.searchsorted",
        "faster",
    ]
    return records, harness.table(head, body)


STATEMENTS = {
    "nothing": "pass",
    "inline: s >= t[g], a code": "s >= t[g]",
    "inline: s >= t[g], a string": "s >= ts[gs]",
    "a function of s >= t[g]": "bare(s, g)",
    "a function with the policies, a code": "same(s, g)",
    "a function with the policies, a string": "same_text(s, gs)",
    "decider.one, a code": "decider.one(s, g)",
    "decider.one, a string": "named.one(s, gs)",
    "decider.one, a number, 32 segments": "cut.one(s, q)",
    "live.one, a code": "live.one(s, g)",
    "live.one_with_version, a code": "live.one_with_version(s, g)",
    "call, 4 rows: decider(scores, groups)": "decider(scores, groups)",
    "call, 4 rows: live(scores, groups)": "live(scores, groups)",
    "call, 4 rows: scores >= table[groups]": "scores >= table[groups]",
    "call, 4 rows: scores >= 0.25": "scores >= 0.25",
}


def small(rounds: int) -> tuple[dict[str, float], str]:
    """One row and small batches, in nanoseconds a call; the empty statement is taken off."""
    t = {g: g / 8 for g in range(8)}
    ts = {f"group {g}": g / 8 for g in range(8)}

    def bare(s: float, g: int) -> bool:
        return s >= t[g]

    def careful(table: dict[Any, float]) -> Callable[[float, Any], bool]:
        def same(s: float, g: Any) -> bool:
            """What `one` does: unknown groups and NaN are refused."""
            threshold = table.get(g)
            if threshold is None:
                raise ValueError(f"group {g!r} has no threshold")
            if s != s:
                raise ValueError("scores has NaN")
            return s >= threshold

        return same

    space = {
        "s": 0.3,
        "q": 0.7,
        "cut": gf.Decider({g: g / 32 for g in range(32)}, cuts=[g / 32 for g in range(1, 32)]),
        "g": 3,
        "gs": "group 3",
        "t": t,
        "ts": ts,
        "bare": bare,
        "same": careful(t),
        "same_text": careful(ts),
        "decider": gf.Decider(t),
        "named": gf.Decider(ts),
        "live": gf.LiveDecider(gf.Decider(t)),
        "scores": np.array([0.1, 0.3, 0.6, 0.9], np.float32),
        "groups": np.array([0, 3, 7, 1], np.uint8),
        "table": np.arange(8, dtype=np.float32) / 8,
    }
    timers = {name: timeit.Timer(code, globals=space) for name, code in STATEMENTS.items()}
    least = dict.fromkeys(timers, float("inf"))
    for _ in range(rounds):
        for name, timer in timers.items():
            least[name] = min(least[name], timer.timeit(20_000) / 20_000 * 1e9)
    times = {name: time - least["nothing"] for name, time in least.items() if name != "nothing"}
    inline = {kind: times[f"inline: s >= t[g], a {kind}"] for kind in ("code", "string")}
    function = {kind: times[f"a function with the policies, a {kind}"] for kind in ("code", "string")}
    body = []
    for name, time in times.items():
        kind = "string" if name.endswith("string") else "code"
        body.append([name, f"{time:.1f}", f"{time / inline[kind]:.2f}x", f"{function[kind] / time:.2f}x"])
    ratio = times["live.one_with_version, a code"] / times["live.one, a code"]
    note = f"\n\n`live.one_with_version` takes {ratio:.2f} times as long as `live.one` (goal: at most 1.5)."
    return times, harness.table(["one call", "ns", "of inline", "faster than the function"], body) + note


def embedded(callgrind: bool) -> tuple[dict[str, Any], str] | None:
    """One decision in C++: nanoseconds, and instructions counted by callgrind."""
    with tempfile.TemporaryDirectory() as folder:
        program = harness.row_cost(folder)
        if program is None:
            return None
        kinds = ("nothing", "number", "text", "live")
        times = {kind: min(float(harness.output(program, kind, "2e6")) for _ in range(5)) for kind in kinds}
        counts: dict[str, float] = {}
        if callgrind and shutil.which("valgrind"):
            for kind in kinds:
                few, many = (_instructions(folder, program, kind, n) for n in (1000, 21_000))
                counts[kind] = (many - few) / 20_000
    labels = {
        "nothing": "loop and compare only",
        "number": "decider.one(score, 3)",
        "text": 'decider.one(score, "group 3")',
        "live": "live_decider: hold and decide",
    }
    body = [[labels[k], f"{times[k]:.2f}", f"{counts[k]:.0f}" if counts else "-"] for k in kinds]
    return {"ns": times, "instructions": counts}, harness.table(["C++, one row", "ns", "instructions"], body)


def _instructions(folder: str, program: str, kind: str, n: int) -> int:
    out = Path(folder, "callgrind.out")
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program, kind, str(n)]
    subprocess.run(command, check=True, capture_output=True)
    line = next(line for line in out.read_text().splitlines() if line.startswith(("summary:", "totals:")))
    return int(line.split()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="without 1e7 rows and callgrind")
    parser.add_argument("--results", default=str(harness.RESULTS), help="folder for the report, or none")
    options = parser.parse_args()
    sizes = [100_000, 1_000_000] if options.quick else [100_000, 1_000_000, 10_000_000]
    repeats = 5 if options.quick else 9
    parts: list[tuple[str, str, Any]] = []
    for title, key, part in (
        ("Arrays", "arrays", lambda: arrays(sizes, repeats)),
        ("Columns of strings", "columns", lambda: columns(sizes[-1], repeats)),
        ("Numbers that stand for groups", "numbers", lambda: numbers(1_000_000, repeats)),
        ("Small calls", "small", lambda: small(5 if options.quick else 15)),
        ("Embedded in C++", "embedded", lambda: embedded(not options.quick)),
    ):
        found = part()
        if found is not None:
            parts.append((title, key, found))
            print(f"\n## {title}\n\n{found[1]}", flush=True)
    if options.results != "none":
        page = "# Deciding\n\n" + "\n\n".join(f"## {title}\n\n{found[1]}" for title, _, found in parts) + "\n"
        report = {"machine": harness.machine(), **{key: found[0] for _, key, found in parts}}
        harness.write(Path(options.results), "decide", report, page)


@pytest.mark.parametrize("contender", ["gstar_fast", "numpy"])
def test_decide_million_rows(benchmark: Any, contender: str) -> None:
    scores, groups, values = make_rows(1_000_000, 8, np.float32)
    decider = gf.Decider(dict(enumerate(values.tolist())))
    same = values.astype(np.float32)
    run = {"gstar_fast": lambda: decider(scores, groups), "numpy": lambda: scores >= same[groups]}[contender]
    benchmark.group = "decide 1e6 rows, 8 groups"
    answers = benchmark(run)
    if contender == "gstar_fast":
        assert np.array_equal(answers, scores.astype(np.float64) >= values[groups])


if __name__ == "__main__":
    main()
