"""The paper's comparison in a minute, from counts that are bundled: no rows, no network, no other packages.

    python -m benchmarks.paper.quick               # prints the table, exit 1 where it is not the recorded one
    python -m benchmarks.paper.quick --data adult  # one data set
    python -m benchmarks.paper.quick --record      # writes down what comes out

Thresholds are found on the sketch of the train rows and judged on that of the test rows, for each of five splits. The
table has means of the five: accuracy and EOd (the sum of both gaps). The counts are coarse, COMPAS and German most,
so figures differ from those of `make paper`, which counts rows.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy.optimize import linprog

import gstar_fast as gf
from benchmarks.harness import table
from benchmarks.paper.bundle import SEEDS, WINDOWS, load

RECORDED = Path(__file__).parent / "sketches" / "recorded.json"
CLOSE = 1e-6  # what smooth densities may differ by between platforms; counts do not
LAMBDA = 10.0
Accepted = np.ndarray  # (label, group): share of the rows of a cell that are accepted
Parts = dict[int, tuple[tuple[float, float], ...]]  # for each group thresholds and their weights


def accepted(sketch: gf.Sketch, parts: Parts) -> Accepted:
    """Share of each cell that these thresholds accept; inside a bin as if its scores lay evenly."""
    counts = np.asarray(sketch.counts, dtype=float)
    edges = np.asarray(sketch.edges, dtype=float)
    rows = counts.sum(-1) + sketch.below + sketch.above
    share = np.zeros((2, 2))
    for group, mixture in parts.items():
        for threshold, weight in mixture:
            reached = np.clip((edges[1:] - threshold) / np.diff(edges), 0, 1)  # of each bin
            inside = counts[:, group] @ reached + np.asarray(sketch.above)[:, group]
            everybody = inside + (np.asarray(sketch.below)[:, group] if threshold == -np.inf else 0)
            share[:, group] += weight * everybody / rows[:, group]
    return share


def sizes(sketch: gf.Sketch) -> np.ndarray:
    """Rows of each cell (label, group)."""
    return np.asarray(sketch.counts).sum(-1) + np.asarray(sketch.below) + np.asarray(sketch.above)


def judged(share: Accepted, rows: np.ndarray) -> dict[str, float]:
    """Accuracy and EOd (sum) of shares that are accepted."""
    right = rows[1] @ share[1] + rows[0] @ (1 - share[0])
    gaps = np.abs(share[:, 1] - share[:, 0])
    return {"accuracy": float(right / rows.sum()), "eod_sum": float(gaps.sum())}


def parts_of(result: gf.Result) -> Parts:
    if result.mixtures is not None:
        return {int(group): tuple(mixture) for group, mixture in result.mixtures.items()}
    return {int(group): ((threshold, 1.0),) for group, threshold in result.thresholds.items()}


def solved(**asked: object) -> Callable[[gf.Sketch, gf.Sketch], Accepted]:
    """A form of ours: thresholds from the train sketch, shares in the test sketch."""

    def shares(train: gf.Sketch, test: gf.Sketch) -> Accepted:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # limits below the noise of small cells; the page speaks of it
            return accepted(test, parts_of(gf.solve(train, **asked, evidence=0)))  # type: ignore[arg-type]

    return shares


def at_zero(sketch: gf.Sketch) -> Accepted:
    return accepted(sketch, {0: ((0.0, 1.0),), 1: ((0.0, 1.0),)})


def flips(train: gf.Sketch, eps: float, alike: bool = False) -> np.ndarray:
    """Probability of acceptance [group, hard label] that loses least accuracy with both gaps at most `eps`.

    With `alike` both labels of both groups weigh the same, as in AIF360's Eq.Odds, instead of by their rows.
    """
    share, rows = at_zero(train), sizes(train).astype(float)
    weight = np.array([[-1.0], [1.0]]) * (np.ones((2, 2)) if alike else rows / rows.sum())
    gain = [float(weight[:, g] @ (s[:, g])) for g in (0, 1) for s in (1 - share, share)]
    gaps = np.array(
        [[sign * s[label, g] for g, sign in ((0, -1), (1, 1)) for s in (1 - share, share)] for label in (0, 1)]
    )
    found = linprog(-np.array(gain), A_ub=np.vstack([gaps, -gaps]), b_ub=np.full(4, eps), bounds=(0, 1))
    return np.clip(found.x, 0, 1).reshape(2, 2)


def flipped(eps: float, alike: bool = False) -> Callable[[gf.Sketch, gf.Sketch], Accepted]:
    """Hard labels of the base model, flipped with probabilities that the train sketch gave."""

    def shares(train: gf.Sketch, test: gf.Sketch) -> Accepted:
        p, share = flips(train, eps, alike), at_zero(test)
        return p[:, 0] * (1 - share) + p[:, 1] * share

    return shares


METHODS: dict[str, Callable[[gf.Sketch, gf.Sketch], Accepted]] = {
    "baseline": lambda _, test: at_zero(test),
    "exact, limit .02": solved(limits={"equalized_odds": 0.02}),
    "randomised, limit .02": solved(limits={"equalized_odds": 0.02}, randomize=True),
    "randomised, limit .005": solved(limits={"equalized_odds": 0.005}, randomize=True),
    "the paper's loop, lambda 10": solved(penalties={"equalized_odds": LAMBDA}, method="alternating", density="best"),
    "Eq.Odds": flipped(0.0, alike=True),
    "FACT, eps .0001": flipped(1e-4),
    "FACT, eps .05": flipped(0.05),
}


def measure(data: str) -> dict[str, dict[str, float]]:
    """Means over the five splits of one data set, by method."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in METHODS}
    for seed in SEEDS:
        train, test = load(data, seed)
        for name, shares in METHODS.items():
            found[name].append(judged(shares(train, test), sizes(test)))
    return {
        name: {metric: float(np.mean([one[metric] for one in some])) for metric in ("accuracy", "eod_sum")}
        for name, some in found.items()
    }


def differences(
    found: dict[str, dict[str, dict[str, float]]], recorded: dict[str, dict[str, dict[str, float]]]
) -> list[str]:
    """Every figure that is not the recorded one, in words."""
    lines = []
    for data, methods in found.items():
        for name, metrics in methods.items():
            for metric, value in metrics.items():
                expected = recorded.get(data, {}).get(name, {}).get(metric)
                if expected is None:
                    lines.append(f"{data}, {name}: {metric} is {value:.6f}, nothing is recorded")
                elif not abs(value - expected) <= CLOSE:
                    lines.append(f"{data}, {name}: {metric} is {value:.6f}, recorded {expected:.6f}")
    return lines


def coarse(data: Sequence[str]) -> str:
    """How wide the bundled bins are, and what that means for the table."""
    widths = [f"{name} {2 * WINDOWS[name].reach / WINDOWS[name].bins:g}" for name in data]
    wider = [f"{name} {WINDOWS[name].wide:g}" for name in data if WINDOWS[name].core < WINDOWS[name].reach]
    tails = f" (beyond a logit of 2: {', '.join(wider)})" if wider else ""
    return (
        f"The bundled counts are coarse. Width of a bin in logits: {', '.join(widths)}{tails}.\n"
        "The figures differ from those of `make paper`, which counts rows; they only check that nothing has changed."
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=list(WINDOWS), default=list(WINDOWS))
    parser.add_argument("--record", action="store_true", help="write the figures to sketches/recorded.json")
    options = parser.parse_args()
    start = time.perf_counter()
    found = {data: measure(data) for data in options.data}
    cells = [
        [name, *(f"{found[d][name]['accuracy']:.3f} / {found[d][name]['eod_sum']:.3f}" for d in options.data)]
        for name in METHODS
    ]
    print("Held-out accuracy / EOd (sum), means of five splits, from bundled counts\n")
    print(table(["", *options.data], cells))
    print(f"\n{coarse(options.data)}")
    print(f"\n{time.perf_counter() - start:.1f} s")
    if options.record:
        RECORDED.write_text(json.dumps(found, indent=1) + "\n")
        return 0
    wrong = differences(found, json.loads(RECORDED.read_text()))
    for text in wrong:
        print(text, file=sys.stderr)
    print(f"{len(wrong)} figures differ from the recorded ones" if wrong else "all figures are the recorded ones")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
