"""CEOPost (Pleiss et al., 2017) as AIF360 has it: answer with the base rate for a share of the better-off group.

AIF360 tosses coins when it predicts; here the share itself, its mixing rate, is used. The rate can leave 0 to 1 where
no share equalises the costs; it is clipped then.
"""

from __future__ import annotations

import numpy as np

from benchmarks.paper.method import Decide, Method, Setting, Split
from benchmarks.paper.rivals._aif360 import PRIVILEGED, UNPRIVILEGED, pair


def settings(data: str, criterion: str) -> list[Setting]:
    costs = ("fnr",) if criterion == "equal_opportunity" else ("weighted", "fnr", "fpr")
    return [{"cost": cost} for cost in costs]


def fit(split: Split, criterion: str, setting: Setting) -> Decide:
    from aif360.algorithms.postprocessing import CalibratedEqOddsPostprocessing

    post = CalibratedEqOddsPostprocessing(
        UNPRIVILEGED, PRIVILEGED, cost_constraint=setting["cost"], seed=split.seed
    ).fit(*pair(split.fit.y, split.fit.a, split.oof))
    mixed = np.clip(np.nan_to_num([post.unpriv_mix_rate, post.priv_mix_rate]), 0, 1)  # [group]
    base = np.array([post.base_rate_unpriv, post.base_rate_priv]) >= 0.5
    return lambda rows, score: np.where(score >= 0, 1 - mixed[rows.a], 0) + (mixed * base)[rows.a]


METHOD = Method(
    name="ceo_post",
    title="CEOPost",
    kind="post",
    randomised=True,
    uses_group=True,
    criteria=("equalized_odds", "equal_opportunity"),
    settings=settings,
    fit=fit,
    note="AIF360's CalibratedEqOddsPostprocessing with each of its three costs; its mixing rate instead of its coins, "
    "clipped to 0 .. 1",
)
