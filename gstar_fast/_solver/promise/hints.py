"""What an "unpromised" verdict suggests: a looser limit, or mixtures, that would be promised.

Both are checked with the code that makes promises, so a user who asks for them gets a promise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from gstar_fast._criteria import CRITERION

STEPS = 10_000  # limits are multiples of 1e-4
TRIED = (1.0, 1.06, 1.15, 1.3, 1.6, 2.2, 3.5)  # times the first guess
FINER = 3  # how often the distance to the largest limit that is not promised is halved


class Offer(NamedTuple):
    """A limit that would be promised, and the cost E of its thresholds."""

    limit: float
    cost: float


def looser(
    limits: Mapping[str, float], guess: Mapping[str, float], granted: Callable[[Mapping[str, float]], float | None]
) -> Offer | None:
    """A looser limit that is granted, and its cost; None if there are several limits, or if none that was tried is.

    Limits are rounded as messages print them, to multiples of 1e-4. For `disparate_impact`, the distance to 1 is used.
    """
    if len(limits) > 1:
        return None
    ((name, asked),) = limits.items()
    is_ratio, largest = CRITERION[name].from_below, CRITERION[name].largest

    def limit(step: int) -> float:
        return (STEPS - step) / STEPS if is_ratio else step / STEPS

    def steps(value: float) -> float:
        return STEPS * (1 - value if is_ratio else value)

    low, most = int(steps(asked)), round(STEPS * largest)
    high, cost = most, None
    for step in (math.ceil(steps(guess[name]) * factor) for factor in TRIED):
        if step >= most:
            return None
        if step > low:
            cost = granted({name: limit(step)})
            if cost is not None:
                high = step
                break
            low = step
    for _ in range(FINER):
        middle = (low + high) // 2
        if cost is None or middle == low:
            break
        found = granted({name: limit(middle)})
        low, high, cost = (middle, high, cost) if found is None else (low, middle, found)
    return None if cost is None else Offer(limit(high), cost)
