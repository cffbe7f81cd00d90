"""Time of an audit with intervals of everything, against fairlearn's MetricFrame with its bootstrap.

    python -m benchmarks.bench_audit                  a million rows; ten minutes, nearly all of them fairlearn's
    python -m benchmarks.bench_audit --rows 20000     a quick look
    pytest benchmarks/bench_audit.py                  one case under pytest-benchmark

Ours has 2,000 replicates, ten metrics by group and overall and all gaps. MetricFrame, whose time grows with its
metrics, is asked for three (selection rate, tpr, fpr) and gets 20 replicates; its time is scaled to 2,000 by what each
of them took beyond a frame without bootstrap. All nine rates are compared on fewer rows first, the three on all rows;
the clocks run in turn. Results go to benchmarks/results (`--results none` keeps them on the screen).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gstar_fast as gf
from benchmarks import harness
from gstar_fast.datasets import paper_synthetic

GOAL = 200.0
REPLICATES, THEIRS = 2_000, 20
QUANTILES = [0.025, 0.975]
TIMED = ("selection_rate", "tpr", "fpr")


def make(rows: int, n_groups: int) -> dict[str, Any]:
    """Rows with decisions, the sketch they came from, and its thresholds."""
    table = paper_synthetic(rows=rows, seed=5)
    groups = table.groups if n_groups == 2 else np.random.default_rng(5).integers(0, n_groups, rows)
    sketch = gf.Sketch.from_rows(table.scores, table.labels, groups)
    result = gf.solve(sketch, limits={"equalized_odds": 0.02}, evidence=0)
    decisions = result.decider()(table.scores, groups)
    return {"decisions": decisions, "labels": table.labels, "groups": groups, "sketch": sketch, "result": result}


def metrics() -> dict[str, Any]:
    """Our names, fairlearn's and scikit-learn's functions."""
    import fairlearn.metrics as fl
    import sklearn.metrics as sk

    return {
        "base_rate": lambda y_true, y_pred: np.mean(y_true),  # noqa: ARG005 - the names fairlearn passes
        "selection_rate": fl.selection_rate,
        "tpr": fl.true_positive_rate,
        "fpr": fl.false_positive_rate,
        "tnr": fl.true_negative_rate,
        "fnr": fl.false_negative_rate,
        "ppv": sk.precision_score,
        "accuracy": sk.accuracy_score,
        "balanced_accuracy": sk.balanced_accuracy_score,
    }


def frame(data: dict[str, Any], names: tuple[str, ...], n_boot: int | None = None) -> Any:
    """A MetricFrame with the intervals of its rates and differences."""
    from fairlearn.metrics import MetricFrame

    boot = {} if n_boot is None else {"n_boot": n_boot, "ci_quantiles": QUANTILES, "random_state": 0}
    functions = metrics()
    return MetricFrame(
        metrics={name: functions[name] for name in names},
        y_true=data["labels"],
        y_pred=data["decisions"].astype(int),
        sensitive_features=pd.Series(data["groups"], name="group"),
        **boot,
    )


def compare(data: dict[str, Any], theirs: Any) -> None:
    """Every value and gap that both have is the same; so are ours from rows and from the sketch."""
    ours = gf.audit(data["result"].thresholds, data["sketch"])
    from_rows = gf.audit(decisions=data["decisions"], labels=data["labels"], groups=data["groups"])
    assert from_rows.rates == ours.rates
    assert from_rows.gaps == ours.gaps
    for name in theirs.by_group.columns:
        value = [ours.rates[group][name].value for group in ours.groups]
        np.testing.assert_allclose(value, theirs.by_group[name], rtol=1e-12)
        np.testing.assert_allclose(ours.overall[name].value, theirs.overall[name], rtol=1e-12)
    for gap, name in (
        ("demographic_parity", "selection_rate"),
        ("equal_opportunity", "tpr"),
        ("predictive_equality", "fpr"),
    ):
        np.testing.assert_allclose(ours.gaps[gap].value, theirs.difference()[name], rtol=1e-9)
    np.testing.assert_allclose(ours.gaps["disparate_impact"].value, theirs.ratio()["selection_rate"], rtol=1e-12)


def clock(run: Callable[[], Any], times: int) -> list[float]:
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        spent.append(time.perf_counter() - start)
    return spent


def run(rows: int, n_groups: int, rounds: int) -> tuple[dict[str, Any], list[list[str]]]:
    """One case, all contenders in turn; ours many times a round, since theirs take minutes."""
    small = make(min(rows, 20_000), n_groups)
    compare(small, frame(small, tuple(metrics())))
    frame(small, TIMED, 2)  # warm up without an hour's wait
    data = make(rows, n_groups)
    compare(data, frame(data, TIMED))
    by_thresholds, found = data["result"].thresholds, data["result"]
    contenders: dict[str, tuple[Callable[[], Any], int]] = {
        "sketch and thresholds": (lambda: gf.audit(by_thresholds, data["sketch"], replicates=REPLICATES), 10),
        "decisions, labels, groups": (
            lambda: gf.audit(
                decisions=data["decisions"], labels=data["labels"], groups=data["groups"], replicates=REPLICATES
            ),
            10,
        ),
        "sketch and result": (lambda: gf.audit(found, data["sketch"], replicates=REPLICATES), 3),
        "MetricFrame": (lambda: frame(data, TIMED), 1),
        "MetricFrame, bootstrap": (lambda: frame(data, TIMED, THEIRS), 1),
    }
    spent: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, (call, times) in contenders.items():
            spent[name] += clock(call, times)
    timings = {name: harness.Timing(min(s), statistics.median(s), len(s)) for name, s in spent.items()}

    def scaled(kind: str) -> float:
        once, some = getattr(timings["MetricFrame"], kind), getattr(timings["MetricFrame, bootstrap"], kind)
        return float(once + (some - once) / THEIRS * REPLICATES)

    theirs = {kind: scaled(kind) for kind in ("least", "median")}
    body = []
    for name in list(contenders)[:3]:
        ours = timings[name]
        shown = [f"{1e3 * t:.1f} ms" for t in (ours.least, ours.median)] + [f"{t:,.0f} s" for t in theirs.values()]
        times = [f"{theirs['least'] / ours.least:,.0f}", f"{theirs['median'] / ours.median:,.0f}"]
        body.append([f"{rows:,}", str(n_groups), name, *shown, *times, f"{GOAL:g}"])
    return {"rows": rows, "groups": n_groups, "times": timings, "scaled": theirs}, body


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--groups", type=int, nargs="+", default=[2])
    options.add_argument("--rounds", type=int, default=2)
    options.add_argument("--results", default=str(harness.RESULTS))
    given = options.parse_args()
    records, body = [], []
    for n_groups in given.groups:
        record, lines = run(given.rows, n_groups, given.rounds)
        records.append(record)
        body += lines
    head = ["rows", "groups", "audit of", "least", "median", "fairlearn", "median", "times ours", "median", "goal"]
    about = harness.machine()
    page = f"""# Audit against fairlearn's MetricFrame

{harness.heading(about)}

`python -m benchmarks.bench_audit --rows {given.rows} --rounds {given.rounds}`: {REPLICATES:,}
replicates. fairlearn's time is that of a frame with three metrics and {THEIRS} replicates, scaled; ours
computes ten metrics and all gaps. Values agree to 1e-12.
"sketch and result" also solves 500 resampled sketches for the intervals of thresholds, which MetricFrame does not have.

{harness.table(head, body)}
"""
    print(page)
    if given.results != "none":
        harness.write(Path(given.results), "audit", {"machine": about, "cases": records}, page)


@pytest.mark.parametrize("form", ["sketch", "decisions"])
def test_audit(benchmark: Any, form: str) -> None:
    data = make(100_000, 2)
    call = {
        "sketch": lambda: gf.audit(data["result"].thresholds, data["sketch"]),
        "decisions": lambda: gf.audit(decisions=data["decisions"], labels=data["labels"], groups=data["groups"]),
    }[form]
    found = benchmark(call)
    assert found.gaps["equalized_odds"].value == pytest.approx(data["result"].gaps["equalized_odds"])


if __name__ == "__main__":
    main()
