"""How many rows a promise would need.

Twice the rows at the same rates give half the variance, so options can be judged for any number of rows: their counts
are multiplied. A promise should then come in most samples and not in every second one. So it is asked for at a
chance of 1 - Phi(z(confidence) + z(0.8)), which leaves room for a sample that is less lucky than this one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np

from gstar_fast._base.arrays import Bools
from gstar_fast._base.names import Name
from gstar_fast._promise.chance import Beliefs, Ground
from gstar_fast._solver.answer.parts import RowsNeeded

SURELY = 0.8  # share of samples in which a promise should come
FEWEST, MOST = 0.05, 1000.0  # times the rows; beyond that no number is named
BEFORE = 0.6  # of the rows first found: where options are looked for once more, with so many rows
RATIO = 1.05  # factors are found to this ratio


def plan(
    known: Ground,
    beliefs: Sequence[Beliefs],
    level: float,
    more: Callable[[float], Sequence[Beliefs]] = lambda _: [],
) -> RowsNeeded:
    """Rows needed for one of some options, in order of error, by what is believed of them.

    All keep enough of the gain; `more` finds options for so many times the rows.
    """
    normal = NormalDist()
    risk = 1 - normal.cdf(normal.inv_cdf(level) + normal.inv_cdf(SURELY))
    n_groups = len(known.names)
    everybody = np.ones(n_groups, dtype=bool)
    times: float | None = None
    leading: Beliefs | None = None  # of the option that needs the fewest rows: groups are judged by it
    for again in (False, True):
        if again:  # with more rows less room is needed: other options are the best
            beliefs = [] if times is None else more(BEFORE * times)
        for at in reversed(beliefs):  # from the most careful one
            found = _least(known, at, everybody, risk, FEWEST, MOST if times is None else times / RATIO)
            if found is not None:
                times, leading = found, at
    alone: dict[Name, float | None] = dict.fromkeys(known.names)
    too_small: list[Name] = []
    for k, name in enumerate(known.names):
        mine = np.arange(n_groups) == k
        if leading is not None:
            alone[name] = _least(known, leading, mine, risk, 1.0, MOST)
            others = leading.times(np.where(mine, 1.0, MOST))
            if times is not None and times > 1 and known.chance(others, most=1 - level) > 1 - level:
                too_small.append(name)
    return RowsNeeded(
        times=times,
        rows=None if times is None else times * known.rows,
        by_group=alone,
        too_small=tuple(too_small),
        limits=known.question.asked_limits,
        confidence=level,
    )


def _least(known: Ground, at: Beliefs, which: Bools, risk: float, fewest: float, most: float) -> float | None:
    """The smallest factor for the rows of some groups at which the chance is within the risk."""

    def kept(factor: float) -> bool:
        return known.chance(at.times(np.where(which, factor, 1.0)), most=risk) <= risk

    if most < fewest or not kept(most):
        return None
    if fewest == 1 and kept(1.0):
        return 1.0
    low, high = fewest, most
    while high / low > RATIO:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if kept(middle) else (middle, high)
    return high
