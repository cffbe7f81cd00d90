"""OxonFair's FairPredictor: one threshold for each group, found on a grid."""

from __future__ import annotations

from benchmarks.paper.method import Decide, Method, Setting, Split
from benchmarks.paper.rivals._common import limits
from benchmarks.rivals.thresholds import oxonfair


def fit(split: Split, criterion: str, setting: Setting) -> Decide:
    decide = oxonfair(split.oof, split.fit.y.astype(int), split.fit.a.astype(int), criterion, setting["limit"])
    return lambda rows, score: decide(score, rows.a.astype(int))


METHOD = Method(
    name="oxonfair",
    title="OxonFair",
    kind="post",
    randomised=False,
    uses_group=True,
    criteria=("equalized_odds", "demographic_parity", "equal_opportunity"),
    settings=lambda data, criterion: limits("limit")[1:],
    fit=fit,
    note="known groups, its fast search; equalized odds is limited in its larger form; what it picks when no grid "
    "point keeps the limit is its own choice",
)
