"""What an "unpromised" verdict names instead: a looser limit, or mixtures, that would be promised.

Both are asked for with the code that makes promises, so that the user who asks for them gets one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from gstar_fast._criteria import MOST

STEPS = 10_000  # limits are whole numbers of 1e-4
TRIED = (1.0, 1.06, 1.15, 1.3, 1.6, 2.2, 3.5)  # times the first guess
FINER = 3  # times the distance to the largest limit known to be refused is halved


class Offer(NamedTuple):
    """A limit that would be promised, and the cost E of its thresholds."""

    limit: float
    cost: float


def looser(
    limits: Mapping[str, float], guess: Mapping[str, float], granted: Callable[[Mapping[str, float]], float | None]
) -> Offer | None:
    """A looser limit that is granted, and its cost; None where several are asked for, or none of those tried is.

    Limits are the numbers that a message prints: whole numbers of 1e-4. Of `disparate_impact` the distance to 1 counts.
    """
    if len(limits) > 1:
        return None
    ((name, asked),) = limits.items()
    is_ratio = name == "disparate_impact"

    def limit(step: int) -> float:
        return (STEPS - step) / STEPS if is_ratio else step / STEPS

    def steps(value: float) -> float:
        return STEPS * (1 - value if is_ratio else value)

    low, most = int(steps(asked)), round(STEPS * MOST.get(name, 1.0))
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
