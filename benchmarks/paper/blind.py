"""Our forms that decide without the group: thresholds by segments of P(group | x), and on a tilted score.

The notion of a tilted score is LinearPost's: for demographic parity its rule compares P(label | x) plus a multiple of
P(group | x) with one number. Here the multiple with the least error within the limit is taken, of those in `TILTS`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.paper.method import Decide, Method, Rows, Setting, Split

CRITERIA = ("equalized_odds", "demographic_parity", "equal_opportunity")
LIMITS = (0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2)
TILTS = np.linspace(-1.0, 1.0, 41)


class BySegment:
    """Thresholds or mixtures of each segment, as the comparison reads them."""

    def __init__(self, result: Any, cut: Any, tilt: float | None = None) -> None:
        self.verdict: str = result.verdict
        self.iterations: int = result.proof.iterations
        self._mixtures = result.mixtures or {name: [(at, 1.0)] for name, at in result.thresholds.items()}
        self._cut, self._tilt = cut, tilt

    def __call__(self, rows: Rows, score: np.ndarray) -> np.ndarray:
        score = score if self._tilt is None else tilted(score, rows.q, self._tilt)
        segment, accepted = self._cut.cut(rows.q), np.zeros(len(rows))
        for name, mixture in self._mixtures.items():
            here = segment == name
            accepted[here] = sum(share * (score[here] >= at) for at, share in mixture)
        return accepted


def tilted(score: np.ndarray, q: np.ndarray, tilt: float) -> np.ndarray:
    """P(label | x) plus a multiple of P(group | x); `score` is a logit."""
    return 0.5 * (1.0 + np.tanh(0.5 * score)) + tilt * (q - 0.5)


def found(score: np.ndarray, split: Split, cut: Any, limits: dict[str, float], randomize: bool) -> Any:
    """Count the fit rows and solve: what is timed. Thresholds are monotone along the segments."""
    import gstar_fast as gf

    sketch = gf.Sketch.from_rows(score, split.fit.y, [split.fit.a, cut.cut(split.oof_q)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a record has the verdict instead
        return gf.solve(
            sketch, limits=limits, fair_between=0, decide_by=gf.Segments(column=1), randomize=randomize, evidence=0
        )


def _by_segment(name: str, title: str, *, randomize: bool) -> Method:
    def fit(split: Split, criterion: str, setting: Setting) -> Decide:
        import gstar_fast as gf

        cut = gf.Segments.from_scores(split.oof_q, split.fit.y, split.fit.a)
        return BySegment(found(split.oof, split, cut, {criterion: setting["limit"]}, randomize), cut)

    return Method(
        name=name,
        title=title,
        kind="post",
        randomised=randomize,
        uses_group=False,
        criteria=CRITERIA,
        settings=lambda _data, _criterion: [{"limit": limit} for limit in LIMITS],
        fit=fit,
        note="segments of a logistic regression's P(group given x), out of fold, as many as gf.Segments allows",
    )


def _tilt(split: Split, criterion: str, setting: Setting) -> Decide:
    import gstar_fast as gf

    cut, limits = gf.Segments(()), {criterion: setting["limit"]}
    tried = [(found(tilted(split.oof, split.oof_q, t), split, cut, limits, True), float(t)) for t in TILTS]
    met = [pair for pair in tried if pair[0].meets_limits]
    result, tilt = min(met or tried, key=lambda pair: pair[0].error)
    return BySegment(result, cut, tilt)


METHODS = [
    _by_segment("segments", "by segment, without the group", randomize=False),
    _by_segment("segments_randomised", "by segment, without the group, randomised", randomize=True),
    Method(
        name="tilted",
        title="one threshold on a tilted score, randomised",
        kind="post",
        randomised=True,
        uses_group=False,
        criteria=("demographic_parity",),
        settings=lambda _data, _criterion: [{"limit": limit} for limit in LIMITS],
        fit=_tilt,
        note="built after segments had been seen to lose to LinearPost at demographic parity",
    ),
]
