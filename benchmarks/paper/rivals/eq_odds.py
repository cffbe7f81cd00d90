"""Eq.Odds (Hardt, Price, Srebro, 2016) as AIF360 has it: flip hard labels until both rates are equal.

AIF360 tosses coins when it predicts; here its fitted flip probabilities are the answer.
"""

from __future__ import annotations

import numpy as np

from benchmarks.paper.method import Decide, Method, Setting, Split
from benchmarks.paper.rivals._aif360 import PRIVILEGED, UNPRIVILEGED, pair


def fit(split: Split, criterion: str, setting: Setting) -> Decide:
    from aif360.algorithms.postprocessing import EqOddsPostprocessing

    post = EqOddsPostprocessing(UNPRIVILEGED, PRIVILEGED, seed=split.seed)
    post.fit(*pair(split.fit.y, split.fit.a, split.oof))
    accept_1, flip_1, accept_0, flip_0 = np.clip(post.model_params.x, 0, 1)  # privileged first
    flips = np.array([[flip_0, accept_0], [flip_1, accept_1]])  # [group, hard label]
    return lambda rows, score: flips[rows.a, (score >= 0).astype(int)]


METHOD = Method(
    name="eq_odds",
    title="Eq.Odds",
    kind="post",
    randomised=True,
    uses_group=True,
    criteria=("equalized_odds",),
    settings=lambda data, criterion: [{}],
    fit=fit,
    note="AIF360's EqOddsPostprocessing; its flip probabilities instead of its coins; its linear program weighs both "
    "labels of both groups alike, not by their numbers",
)
