"""Whether promises, certificates and intervals are right where rows have weights.

    python -m benchmarks.studies.weights --lines FILE [--draws N] [--minutes M] [--results benchmarks/results]

Rows are drawn from a population whose rates are known, and each row has a weight. Every draw becomes a line of FILE, so
that a run that was ended goes on where it was; the page is made of all lines.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

import gstar_fast as gf
from benchmarks.harness import heading, machine, table, write
from benchmarks.studies.quality import by_column
from benchmarks.studies.quality_tables import rows_of
from gstar_fast._promise import choose

DRAWS, ROWS, BINS, CONFIDENCE = 400, 2000, 512, 0.95
LIMITS = (0.05, 0.15, 0.25)  # of equalized odds
FIXED = {"far apart": {0: 230.0, 1: 260.0}, "close": {0: 303.0, 1: 253.0}}  # thresholds that are audited and certified
MOST_FALSE, LEAST_COVERED = 0.072, 0.92  # 0.05 and 0.95 with two standard errors of 400 draws and a little more
NORMAL = NormalDist()

Line = dict[str, Any]
Weigh = Callable[[np.random.Generator, np.ndarray], np.ndarray]  # scores -> weights


def grows(scores: np.ndarray) -> np.ndarray:
    """The mean weight of a score where weights depend on it: up to twenty times as heavy at the upper end."""
    return np.exp(6.0 * np.clip(scores / BINS - 0.3, 0.0, 0.5))


KINDS: dict[str, Weigh] = {
    "all 10": lambda _, scores: np.full(len(scores), 10.0),  # as without weights, which is checked
    "whole, round(exp(N(5, 1)))": lambda random, scores: np.round(np.exp(random.normal(5, 1, len(scores)))),
    "lognormal, exp(N(0, 1))": lambda random, scores: np.exp(random.normal(0, 1, len(scores))),
    "lognormal, exp(N(0, 1.5))": lambda random, scores: np.exp(random.normal(0, 1.5, len(scores))),
    "higher for higher scores": lambda random, scores: grows(scores) * np.exp(random.normal(0, 0.5, len(scores))),
}


def population(seed: int = 1, groups: int = 2) -> np.ndarray:
    """Share of all rows in each label, group and bin: normal scores with two means a group."""
    random = np.random.default_rng([911, seed])
    edges = np.linspace(-4, 6, BINS + 1)
    mass = np.zeros((2, groups, BINS))
    for k in range(groups):
        positive, mean = random.uniform(0.25, 0.6), random.normal(0, 0.4)
        apart, spread = random.uniform(1.2, 1.8), np.exp(random.normal(0, 0.3))
        for label, share in ((0, 1 - positive), (1, positive)):
            normal = NormalDist(mean + apart * label, float(spread))
            below = np.array([0.0, *(normal.cdf(edge) for edge in edges[1:-1]), 1.0])
            mass[label, k] = share / groups * np.diff(below)
    return mass / mass.sum()


def true_rates(mass: np.ndarray, thresholds: dict[int, float]) -> np.ndarray:
    """The fpr and tpr of each group, (2, K); rows of a bin have one score, in its middle."""
    accepted = [[cell[np.arange(BINS) + 0.5 >= thresholds[k]].sum() for k, cell in enumerate(row)] for row in mass]
    return np.array(accepted) / mass.sum(axis=2)


def true_gap(mass: np.ndarray, thresholds: dict[int, float]) -> float:
    """Equalized odds."""
    return float(np.ptp(true_rates(mass, thresholds), axis=1).max())


def without_hints(*_: object) -> choose.Hints:
    """What an unpromised message suggests takes most of the time, and is not looked at here."""
    return choose.Hints(None, None, None)


def drawn(kind: str, draw: int, mass: np.ndarray) -> Line:
    """One sample, and what the library reports for it."""
    random = np.random.default_rng([81, draw])
    counts = random.multinomial(ROWS, mass.ravel()).reshape(mass.shape)
    labels, groups, bins = (np.repeat(at, counts[counts > 0]) for at in np.nonzero(counts))
    scores = bins + 0.5
    weights = KINDS[kind](np.random.default_rng([82, list(KINDS).index(kind), draw]), scores)
    sketch = gf.Sketch.from_rows(scores, labels, groups, weights=weights, bins=BINS, range=(0, BINS))
    if kind == "all 10":
        plain = gf.Sketch.from_rows(scores, labels, groups, bins=BINS, range=(0, BINS))
        assert gf.audit(FIXED["close"], plain).gaps == gf.audit(FIXED["close"], sketch).gaps
    truth = mass * grows(np.arange(BINS) + 0.5) if kind == "higher for higher scores" else mass
    line: Line = {"kind": kind, "draw": draw, "effective": float(weights.sum() ** 2 / (weights**2).sum())}
    for limit in LIMITS:
        result = gf.solve(sketch, limits={"equalized_odds": limit}, confidence=CONFIDENCE)
        said = result.verdict == "promised"
        line[f"promised {limit}"] = said
        line[f"false {limit}"] = said and true_gap(truth, result.thresholds) > limit + 1e-9
    for name, thresholds in FIXED.items():
        rates, gap = true_rates(truth, thresholds), true_gap(truth, thresholds)
        missed = {"equalized_odds": gap * 0.9999}
        line[f"certified {name}"] = gf.certify(thresholds, sketch, limits=missed, confidence=CONFIDENCE).holds
        audit = gf.audit(thresholds, sketch, confidence=CONFIDENCE, replicates=1000)
        line[f"gap {name}"] = within(audit.gaps["equalized_odds"], gap)
        found = [within(audit.rates[k][rate], rates[y, k]) for y, rate in enumerate(("fpr", "tpr")) for k in (0, 1)]
        line[f"rates {name}"] = sum(found) / len(found)
    return line


def within(estimate: Any, truth: float) -> bool:
    """Whether an interval holds the truth."""
    return bool(estimate.low <= truth <= estimate.high)


# ---------------------------------------------------------------------------------------------------------------- page


def percent(lines: list[Line], key: str) -> str:
    return f"{100 * sum(float(line[key]) for line in lines) / len(lines):.1f}"


def page(report: dict[str, Any]) -> str:
    """The tables, and how to read them."""
    lines = rows_of(report["rows"])
    by_kind = {kind: [line for line in lines if line["kind"] == kind] for kind in KINDS}
    by_kind = {kind: some for kind, some in by_kind.items() if some}
    effective = {kind: f"{np.mean([line['effective'] for line in some]):.0f}" for kind, some in by_kind.items()}
    pairs = [f"{word} {limit}" for limit in LIMITS for word in ("promised", "false")]
    promises = [[kind, effective[kind], *(percent(some, key) for key in pairs)] for kind, some in by_kind.items()]
    judged = [f"{word} {name}" for name in FIXED for word in ("certified", "gap", "rates")]
    fixed = [[kind, *(percent(some, key) for key in judged)] for kind, some in by_kind.items()]
    mass = population()
    gaps = ", ".join(f"{true_gap(mass, thresholds):.3f} ({name})" for name, thresholds in FIXED.items())
    draws = " or ".join(map(str, sorted({len(some) for some in by_kind.values()})))
    worst = max(float(row[i]) for row in promises for i in range(3, len(row), 2))
    certified = max(float(row[i]) for row in fixed for i in (1, 4))
    covered = min(float(row[i]) for row in fixed for i in (2, 5))
    heaviest = float(grows(np.array([float(BINS)]))[0])
    of_limits = [f"{word}, {limit:g}" for limit in LIMITS for word in ("promised", "false")]
    of_fixed = [f"{word}, {name}" for name in FIXED for word in ("certified", "gap", "rates")]
    return f"""# Weights

{heading(report["machine"])}

`python -m benchmarks.studies.weights`: {draws} samples of {ROWS:,} rows for each kind of weights, from two groups with
normal scores whose rates are known. Weights are drawn beside the rows and do not depend on them. In the last line they
rise with the score, up to {heaviest:.0f} times, and the truth is that of the weighted population. A constant weight
gives the answers of no weight, which is checked for every sample. *Effective rows* are the mean of
(sum w)^2 / (sum w^2). All confidence is {CONFIDENCE:g}.

| goal, in each line | limit | worst |
|---|---:|---:|
| calls of `solve` that give a false promise | at most {100 * MOST_FALSE:.1f} % | {worst:.1f} % |
| calls of `certify` that certify a limit which is just missed | at most {100 * MOST_FALSE:.1f} % | {certified:.1f} % |
| intervals of a gap that hold the truth | at least {100 * LEAST_COVERED:.0f} % | {covered:.1f} % |

## Promises

Of all calls of `solve` with a limit on equalized odds, in per cent: how often it was promised, and how often that was
false.

{table(["weights", "effective rows", *of_limits], promises)}

## Certificates and intervals

At fixed thresholds, whose true gaps without weights are {gaps}, in per cent: `certify` of a limit that is
0.9999 times the true gap; intervals of `audit` that hold the true gap; and intervals of tpr and fpr of both groups that
hold the true rate. The low end of a gap's interval holds for both rates at once, so the interval holds the truth in
more than 95 % of the samples where both rates differ.

{table(["weights", *of_fixed], fixed)}
"""


def main() -> None:
    """Parse, run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=Path, required=True, help="a line of JSON for each draw; made, or added to")
    parser.add_argument("--draws", type=int, default=DRAWS, help="samples of each kind of weights")
    parser.add_argument("--minutes", type=float, default=np.inf, help="end after so long")
    parser.add_argument("--results", type=Path, help="folder to write weights.md and weights.json.xz to")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    choose._hints = without_hints
    about, end, mass = machine(), time.monotonic() + 60 * given.minutes, population()
    lines = [json.loads(text) for text in given.lines.read_text().splitlines()] if given.lines.exists() else []
    done = {(line["kind"], line["draw"]) for line in lines}
    with given.lines.open("a") as file:
        for draw in range(given.draws):
            for kind in KINDS:
                if (kind, draw) not in done and time.monotonic() < end:
                    lines.append(drawn(kind, draw, mass))
                    file.write(json.dumps(lines[-1]) + "\n")
                    file.flush()
    report = {"machine": about, "rows": by_column(lines)}
    text = page(report)
    print(text)
    if given.results is not None:
        write(given.results, "weights", report, text, indent=None)


if __name__ == "__main__":
    main()
