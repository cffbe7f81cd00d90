"""The base model as it is: accept logits from 0 up."""

from __future__ import annotations

from benchmarks.paper.method import Decide, Method, Setting, Split


def fit(split: Split, criterion: str, setting: Setting) -> Decide:
    return lambda rows, score: (score >= 0).astype(float)


METHOD = Method(
    name="baseline",
    title="base model",
    kind="post",
    randomised=False,
    uses_group=False,
    criteria=("equalized_odds", "demographic_parity", "equal_opportunity"),
    settings=lambda data, criterion: [{}],
    fit=fit,
    aims=False,
)
