"""fairlearn's ThresholdOptimizer: randomised thresholds of each group; equalized odds only exactly."""

from __future__ import annotations

from benchmarks.paper.method import Decide, Method, Setting, Split
from benchmarks.paper.rivals._common import limits
from benchmarks.rivals.thresholds import fairlearn


def settings(data: str, criterion: str) -> list[Setting]:
    return [{"tol": 0.0}] if criterion == "equalized_odds" else [{"tol": 0.0}, *limits("tol")[1:]]


def fit(split: Split, criterion: str, setting: Setting) -> Decide:
    decide = fairlearn(split.oof, split.fit.y, split.fit.a, criterion, setting["tol"])
    return lambda rows, score: decide(score, rows.a)


METHOD = Method(
    name="fairlearn",
    title="fairlearn ThresholdOptimizer",
    kind="post",
    randomised=True,
    uses_group=True,
    criteria=("equalized_odds", "demographic_parity", "equal_opportunity"),
    settings=settings,
    fit=fit,
    note="grid of 1000; its probabilities instead of its coins; it takes no tolerance for equalized odds",
)
