"""Our forms as methods: exact, randomised, smooth, the paper's loop, unified, promised, and on top of fair models."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.paper.method import Decide, Method, Rows, Setting, Split

CRITERIA = ("equalized_odds", "demographic_parity", "equal_opportunity")
BOTH = "demographic_parity+equalized_odds"  # the paper's DP+EOd: two limits, or two penalties
LIMITS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.35, 0.6, 1.0)  # the last one never binds
SUMS = (0.01, 0.02, 0.04, 0.06, 0.1, 0.16, 0.24, 0.4, 0.7, 1.2, 2.0)  # on the sum of both gaps, twice as large
UNIFIED_LIMITS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)  # one threshold for everybody leaves most of a gap
PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0, 10000.0)
ON_TOP_LIMITS = (0.02, 0.05)


class Thresholds:
    """What `solve` answered, as the comparison reads it: probabilities of acceptance, and a verdict.

    `solving` has the seconds without counting the rows: what it costs once there is a sketch.
    """

    def __init__(
        self, result: Any, scores: Callable[[Rows], np.ndarray] | None = None, solving: dict[str, float] | None = None
    ) -> None:
        self.solving = solving
        self.verdict: str = result.verdict
        self.iterations: int = result.proof.iterations
        self.thresholds = {str(group): float(at) for group, at in result.thresholds.items()}
        self._mixtures = result.mixtures or {group: [(at, 1.0)] for group, at in result.thresholds.items()}
        self._scores = scores

    def __call__(self, rows: Rows, score: np.ndarray) -> np.ndarray:
        if self._scores is not None:
            score = self._scores(rows)
        accepted = np.zeros(len(rows))
        for group, mixture in self._mixtures.items():
            here = rows.a == group
            accepted[here] = sum(share * (score[here] >= at) for at, share in mixture)
        return accepted


def found(
    score: np.ndarray,
    y: np.ndarray,
    a: np.ndarray,
    scores: Callable[[Rows], np.ndarray] | None = None,
    **question: Any,
) -> Thresholds:
    """Count the rows and solve; `scores` gives those of other rows, for a model that scores by itself."""
    import gstar_fast as gf

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a record has the verdict instead
        sketch = gf.Sketch.from_rows(score, y, a)
        began, worked = time.perf_counter(), time.process_time()
        result = gf.solve(sketch, **question, evidence=0)
        spent = {"wall": time.perf_counter() - began, "cpu": time.process_time() - worked}
    return Thresholds(result, scores, spent)


def _asked(criterion: str, value: float) -> dict[str, float]:
    return dict.fromkeys(criterion.split("+"), value)


def _limited(values: tuple[float, ...]) -> Callable[[str, str], list[Setting]]:
    return lambda _data, _criterion: [{"limit": value} for value in values]


def _summed(_data: str, _criterion: str) -> list[Setting]:
    return [{"sum": value} for value in SUMS]


def _penalised(_data: str, _criterion: str) -> list[Setting]:
    return [{"penalty": value} for value in PENALTIES]


def _form(
    name: str,
    title: str,
    *,
    criteria: tuple[str, ...] = CRITERIA,
    settings: Callable[[str, str], list[Setting]] | None = None,
    note: str = "",
    **options: Any,
) -> Method:
    def fit(split: Split, criterion: str, setting: Setting) -> Decide:
        if "limit" in setting:
            question = {"limits": _asked(criterion, setting["limit"])}
        elif "sum" in setting:
            question = {"limits": {f"{criterion}_sum": setting["sum"]}}
        else:
            question = {"penalties": _asked(criterion, setting["penalty"])}
        return found(split.oof, split.fit.y, split.fit.a, **question, **options)

    return Method(
        name=name,
        title=title,
        kind="post",
        randomised=options.get("randomize", False),
        uses_group=not options.get("unified", False),
        criteria=criteria,
        settings=settings or _limited(LIMITS),
        fit=fit,
        note=note,
    )


METHODS = [
    _form("exact", "exact", criteria=(*CRITERIA, BOTH)),
    _form("randomised", "exact, randomised", criteria=(*CRITERIA, BOTH), randomize=True),
    _form("exact_sum", "exact, limit on the sum", criteria=CRITERIA[:1], settings=_summed),
    _form(
        "randomised_sum", "exact, randomised, limit on the sum", criteria=CRITERIA[:1], settings=_summed, randomize=True
    ),
    _form("kde", "exact on kernel densities", density="kde"),
    _form(
        "loop",
        "the paper's loop, families",
        criteria=(*CRITERIA, BOTH),
        settings=_penalised,
        method="alternating",
        density="best",
        note="the family with the best likelihood for each cell; the setting is the paper's lambda",
    ),
    _form(
        "loop_kde",
        "the paper's loop, kernel densities",
        criteria=(*CRITERIA, BOTH),
        settings=_penalised,
        method="alternating",
        density="kde",
        note="the setting is the paper's lambda",
    ),
    _form(
        "loop_unified",
        "the paper's penalty, one threshold",
        settings=_penalised,
        method="newton",
        density="best",
        unified=True,
        note="newton, as the alternating loop moves one group at a time; the setting is the paper's lambda",
    ),
    _form("unified", "exact, one threshold for everybody", settings=_limited(UNIFIED_LIMITS), unified=True),
    _form(
        "promised",
        "promised, confidence 0.95",
        confidence=0.95,
        note="where nothing can be promised the thresholds are those of exact, and the verdict says unpromised",
    ),
]


def on_top(fair: Method) -> Method:
    """Our exact thresholds on the scores of a fair model, found on the rows that it was trained on."""

    def settings(data: str, criterion: str) -> list[Setting]:
        return [{"limit": limit, **given} for given in fair.settings(data, criterion) for limit in ON_TOP_LIMITS]

    def fit(split: Split, criterion: str, setting: Setting) -> Decide:
        given = {name: value for name, value in setting.items() if name != "limit"}
        return thresholds_on(fair.fit(split, criterion, given), split, criterion, setting["limit"])

    return Method(
        name=f"exact_on_{fair.name}",
        title=f"exact on {fair.title}",
        kind=fair.kind,
        randomised=False,
        uses_group=True,
        criteria=fair.criteria,
        settings=settings,
        fit=fit,
        environment=fair.environment,
        note=fair.note,
    )


def thresholds_on(trained: Decide, split: Split, criterion: str, limit: float) -> Thresholds:
    """Thresholds for a fair model that was trained already: it must have scores of its own."""
    scores: Callable[[Rows], np.ndarray] = trained.score  # type: ignore[attr-defined]
    return found(scores(split.fit), split.fit.y, split.fit.a, scores, limits=_asked(criterion, limit))
