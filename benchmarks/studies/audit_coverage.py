"""How often an interval of 95 % confidence holds the truth, by simulation: rates, gaps and thresholds of `gf.audit`.

    python -m benchmarks.studies.audit_coverage                 all of it, about a quarter of an hour
    python -m benchmarks.studies.audit_coverage --trials 100    a quick look

Gaps are compared with three bootstrap intervals one would write first: the percentiles of the replicates' gaps, the
same turned around (basic), and with the bias taken out (bias-corrected). All see the same rows and the same replicates.
Tables and JSON go to benchmarks/results (`--results none` keeps them on the screen).
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

import gstar_fast as gf
from benchmarks import harness
from gstar_fast._audit.audit import assess
from gstar_fast._audit.counts import Counts
from gstar_fast._audit.metrics import gap_of, shares_of, values_of
from gstar_fast._audit.replicates import solve_again, solved
from gstar_fast._criteria import MEASURED, Form
from gstar_fast._question.question import Question
from gstar_fast._solver.answer.parts import Gaps, GroupThresholds
from gstar_fast._solver.cells import Cells
from gstar_fast._solver.search import Problem
from gstar_fast.datasets import paper_synthetic

CONFIDENCE = 0.95
NORMAL = NormalDist()
POPULATION = 10**12  # new rows, so many that there is no chance in them
RATES = ("tpr", "accuracy", "ppv", "balanced_accuracy")
SHOWN = (
    "demographic_parity",
    "equalized_odds",
    "equalized_odds_sum",
    "accuracy_parity",
    "balanced_accuracy_parity",
    "predictive_parity",
    "disparate_impact",
    "equalized_odds_ratio",
)
METHODS = ("percentile", "basic", "bias-corrected", "gf.audit")


def settings() -> list[dict[str, Any]]:
    """Number of groups, rows in each, the true gap in tpr and fpr, and how the groups lie in it."""
    out = []
    for n_groups in (2, 5, 20):
        for rows in ("50", "1000", "5000 to 50"):
            for gap in (0.0, 0.05, 0.3):
                for shape in ("even", "one apart") if n_groups > 2 and gap else ("even",):
                    out.append({"groups": n_groups, "rows": rows, "gap": gap, "shape": shape})
    return out


def population(groups: int, rows: str, gap: float, shape: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows of each group (K,), and the share of them that is accepted by label (3, K)."""
    size = np.geomspace(5000, 50, groups).astype(int) if " to " in rows else np.full(groups, int(rows))
    place = np.linspace(-0.5, 0.5, groups) if shape == "even" else np.where(np.arange(groups) == 0, 0.5, -0.5)
    return size, np.stack([0.3 + gap * place, 0.7 + gap * place, 0.0 * place])


def replicate_gaps(name: str, values: dict[str, np.ndarray]) -> np.ndarray:
    """The gap of each replicate, from rates (K, B)."""
    gap = MEASURED[name]
    low, high = (np.stack([end(values[rate], axis=0) for rate in gap.names]) for end in (np.nanmin, np.nanmax))
    if gap.form is not Form.RATIO:
        parts = high - low
        return gap.scale * (parts.sum(axis=0) if gap.form is Form.SUM else parts.max(axis=0))
    return np.where(high > 0, low / np.where(high > 0, high, 1), 1.0).min(axis=0)


def rivals(name: str, value: float, drawn: np.ndarray) -> dict[str, tuple[float, float]]:
    """The intervals one would write first; those of ratios and differences stay where such numbers can be."""
    tails = [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]
    low, high = np.quantile(drawn, tails)
    below = np.mean(drawn < value) + np.mean(drawn == value) / 2
    shift = NORMAL.inv_cdf(min(max(below, 1 / len(drawn)), 1 - 1 / len(drawn)))
    z = NORMAL.inv_cdf(tails[1])
    corrected = np.quantile(drawn, [NORMAL.cdf(2 * shift - z), NORMAL.cdf(2 * shift + z)])
    most = 2.0 if MEASURED[name].form is Form.SUM else 1.0
    return {
        "percentile": (low, high),
        "basic": (max(2 * value - high, 0.0), min(2 * value - low, most)),
        "bias-corrected": (corrected[0], corrected[1]),
    }


def gaps(setting: dict[str, Any], trials: int, replicates: int) -> dict[str, dict[str, tuple[float, float]]]:
    """Coverage and mean width of every interval in one setting."""
    size, share = population(**setting)
    halves = np.stack([size / 2, size / 2, 0 * size])
    true_rates = values_of(*shares_of(halves * share, halves))
    truth = {name: gap_of(MEASURED[name], true_rates) for name in SHOWN}
    random = np.random.default_rng(1)
    held: dict[str, dict[str, list[tuple[bool, float]]]] = {}

    def note(method: str, name: str, true: float, low: float, high: float) -> None:
        inside = low - 1e-12 <= true <= high + 1e-12
        held.setdefault(method, {}).setdefault(name, []).append((inside, high - low))

    for trial in range(trials):
        positive = random.binomial(size, 0.5)
        totals = np.stack([size - positive, positive, 0 * size])
        accepted = random.binomial(totals, share)
        counts = Counts(tuple(range(len(size))), accepted, totals, 1.0, totals)
        audit = assess(counts, None, CONFIDENCE, replicates, trial)
        yes, no = random.poisson(np.stack([accepted, totals - accepted])[..., None], (2, *totals.shape, replicates))
        drawn = values_of(*shares_of(yes, yes + no))
        for name in SHOWN:
            estimate = audit.gaps[name]
            note("gf.audit", name, truth[name], estimate.low, estimate.high)
            for method, ends in rivals(name, estimate.value, replicate_gaps(name, drawn)).items():
                note(method, name, truth[name], *ends)
        for name in RATES:
            for k, estimates in audit.rates.items():
                if estimates[name].value is not None:
                    note("rates", name, float(true_rates[name][k]), estimates[name].low, estimates[name].high)
    return {
        method: {name: tuple(np.mean(trials_, axis=0).tolist()) for name, trials_ in by_name.items()}
        for method, by_name in held.items()
    }


ASKED = (
    {"limits": {"equalized_odds": 0.02}},
    {"limits": {"demographic_parity": 0.02}},
    {"penalties": {"equalized_odds": 1.0}},
    {},
)


def thresholds(asked: dict[str, Any], rows: int, trials: int, replicates: int) -> dict[str, Any]:
    """Coverage of the thresholds that the whole population would get, and the gap on it of those that samples get."""
    table = paper_synthetic(rows=4_000_000, seed=9)
    sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups, bins=512)
    best = gf.solve(sketch, **asked, evidence=0)
    whole = Cells.of(sketch)
    objective = Question.of(**asked)
    random = np.random.default_rng(1)
    held, width, gaps_ = [], [], []
    criterion = next(iter([*asked.get("limits", {}), *asked.get("penalties", {}), "equalized_odds"]))
    for trial in range(trials):
        sample = replace(whole, rows=random.poisson(whole.rows * (rows / 4e6)))
        found = solved(Problem.unchecked(sample, objective), False)
        if found is None:
            continue
        values = dict(zip(whole.groups, sample.thresholds(found).tolist(), strict=True))
        accepted = np.stack([sample.rows[:, k, c:].sum(axis=1) for k, c in enumerate(found)], axis=1)
        gap_here = gap_of(MEASURED[criterion], values_of(*shares_of(accepted, sample.rows.sum(axis=2))))
        result = replace(
            best,
            thresholds=GroupThresholds(values, best.thresholds.default, None),
            gaps=Gaps({**best.gaps, criterion: gap_here}, best.gaps.before, best.gaps.held),
        )
        resolved = solve_again(result, sample, replicates, trial)
        for low, high, truth in zip(*resolved.limits(CONFIDENCE), best.thresholds.values(), strict=True):
            held.append(low <= truth <= high)
            width.append(high - low)
        gap_there = gf.audit(values, sketch, replicates=0).gaps[criterion].value
        there = resolved.expected(result, sample, POPULATION, trial).get(criterion)
        expected = [there.mean] if there is not None else []
        gaps_.append((gap_here, gap_there, *expected))
    return {
        "asked": str(asked),
        "rows": rows,
        "coverage": float(np.mean(held)),
        "width": float(np.median(width)),
        "gaps": np.mean(gaps_, axis=0).tolist(),
    }


def percent(x: float) -> str:
    return f"{100 * x:.1f}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--trials", type=int, default=1000)
    options.add_argument("--replicates", type=int, default=500)
    options.add_argument("--results", default=str(harness.RESULTS))
    given = options.parse_args()

    records, compared, ours, rates = [], [], [], []
    for setting in settings():
        found = gaps(setting, given.trials, given.replicates)
        records.append({**setting, "found": found})
        where = [str(setting["groups"]), setting["rows"], f"{setting['gap']:g}", setting["shape"]]
        compared.append(
            where + [percent(found[m][g][0]) for g in ("demographic_parity", "equalized_odds") for m in METHODS]
        )
        ours.append(where + [percent(found["gf.audit"][g][0]) for g in SHOWN])
        rates.append(where + [percent(found["rates"][r][0]) for r in RATES])
        print(" ".join(where), compared[-1][4:], flush=True)
    again = [
        thresholds(asked, rows, max(given.trials // 5, 20), 200) for asked in ASKED for rows in (4_000, 40_000, 400_000)
    ]
    moved = [
        [a["asked"], f"{a['rows']:,}", percent(a["coverage"]), f"{a['width']:.3f}"]
        + [f"{gap:.4f}" for gap in a["gaps"]]
        + [""] * (3 - len(a["gaps"]))
        for a in again
    ]
    head = ["groups", "rows a group", "true gap", "shape"]
    about = harness.machine()
    worst = {m: min(min(r["found"][m][g][0] for g in SHOWN) for r in records) for m in METHODS}
    page = f"""# Coverage of the intervals of `gf.audit`

{harness.heading(about)}

`python -m benchmarks.studies.audit_coverage --trials {given.trials} --replicates {given.replicates}`: per cent of
{given.trials} simulated tables whose interval of 95 % confidence holds the truth; about half the rows are positive, tpr
and fpr of the groups lie around 0.7 and 0.3, evenly over the true gap or with one group apart. "5000 to 50" are groups
of unequal size. The standard error of a coverage of 95 % is {100 * (0.95 * 0.05 / given.trials) ** 0.5:.1f}.

## Gaps: four constructions

The first four columns are `demographic_parity`, the last four `equalized_odds` (max form). The lowest coverage over all
settings and the gaps of the next table: {", ".join(f"{m} {percent(w)}" for m, w in worst.items())}.

{harness.table([*head, *METHODS, *METHODS], compared)}

## Gaps: `gf.audit`, by gap

{harness.table([*head, *SHOWN], ours)}

## Rates by group

Averaged over the groups.

{harness.table([*head, *RATES], rates)}

## Thresholds

Samples of the paper's synthetic scores (two groups, 512 bins), 200 replicates each; the truth is what `solve` finds on
the whole population of four million.

The last columns are mean gaps of the criterion (without one, of equalized odds): on the rows the thresholds were found
on, on the whole population, and as `gf.audit` expects it of so many new rows from the counted rows alone.

{harness.table(["asked", "rows", "coverage", "median width", "gap here", "gap there", "expected"], moved)}
"""
    print(page)
    if given.results != "none":
        report = {
            "machine": about,
            "trials": given.trials,
            "replicates": given.replicates,
            "gaps": records,
            "thresholds": again,
        }
        harness.write(Path(given.results), "coverage", report, page, indent=None)


if __name__ == "__main__":
    main()
