"""Promises in words."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from gstar_fast._base.text import row_count
from gstar_fast._criteria import MOST, RATES
from gstar_fast._solver.promise.beliefs import BALANCED, Ground
from gstar_fast._solver.promise.chance import Beliefs
from gstar_fast._solver.promise.record import Promise
from gstar_fast._solver.result import Result

_ROWS_OF = ("positive rows", "negative rows", "rows", "labelled rows")


def promised(promise: Promise, plain: Result) -> str:
    """The message of a promise."""
    several = len(plain.limits) > 1
    at = f"the chance that {'a gap is above its limit' if several else 'the gap is above the limit'}"
    price = f"at an error {promise.cost:.4f} higher than without it" if promise.cost > 0 else "at no cost in error"
    return (
        f"the {'limits hold' if several else 'limit holds'} on new rows with {promise.confidence:g} confidence, "
        f"{price}; {at} is {_percent(promise.chance)}, and {_percent(promise.plain_chance)} without the promise"
    )


def unpromised(promise: Promise, known: Ground, beliefs: Beliefs, offers: list[dict[str, float]]) -> str:
    """One paragraph: what is too small, what could be promised, how many rows are missing, and what plain does."""
    limits = known.objective.limits
    said = [f"the counts cannot promise {_limits(limits)} on new rows with {promise.confidence:g} confidence"]
    said.append(_worst_cell(known, beliefs, promise.confidence))
    if len(limits) == 1:
        (name,) = limits
        found = [offer[name] for offer in offers]
        best = max(found) if name == "disparate_impact" else min(found, default=1.0)
        if found and 0 < best < MOST.get(name, 1.0):
            said.append(f"at a small price a limit of {best:g} could be promised")
    needed = promise.rows_needed
    if needed is not None:
        if needed.times is None:
            said.append("no number of rows like these would be enough")
        else:
            said.append(f"about {needed.times:.2g} times the rows would be needed")
    said.append(
        f"shown are the thresholds without a promise, which break {'the limit' if len(limits) == 1 else 'a limit'} on "
        f"new rows with a chance of {_percent(promise.plain_chance)}"
    )
    return "; ".join(said)


def _worst_cell(known: Ground, beliefs: Beliefs, level: float) -> str:
    """The rate that is known worst, and to within what."""
    total = beliefs.a + beliefs.b
    mean = beliefs.a / total
    deviation = np.sqrt(mean * (1 - mean) / (total + 1))
    deviation = np.where(beliefs.has & np.isnan(beliefs.sure), deviation, -1.0)
    i, k = np.unravel_index(int(np.argmax(deviation)), deviation.shape)
    r = known.active[i]
    within = NormalDist().inv_cdf((1 + level) / 2) * max(float(deviation[i, k]), 0.0)
    name = known.names[k]
    rows = known.n[:2, k].min() if r == BALANCED else known.n[r, k]
    what = "rows of a class" if r == BALANCED else _ROWS_OF[r]
    has = f"{name!r} has {row_count(round(float(rows)))} {what}"
    return f"{has}, so its {RATES[r]} is known to within {within:.2g} only"


def _limits(limits: object) -> str:
    assert isinstance(limits, dict)
    return " and ".join(f"{n} {'>=' if n == 'disparate_impact' else '<='} {v:g}" for n, v in limits.items())


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.3g} %"
