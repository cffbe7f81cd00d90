"""The family of thresholds that a promise is looked for in.

For q in 1, 3/4, 1/2, 1/4, 0 and z in 0, 1/2, 1, 3/2, 2: the exact search with q times the limit, in which a rate is the
whole of its Wilson interval of z standard errors. Large q and z leave room where cells are small, small q leaves the
same room everywhere. (The two grids stand as they were when the method was found; nothing was tuned on them.) Mixtures
reach q = 1 with wide bands: there the pairs are fewer, and denser in z. (These were chosen after seeing which pairs won
on nine settings of census, portrait and normal scores.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gstar_fast._backends import room
from gstar_fast._backends.interface import Arrays, Ints
from gstar_fast._solver.mix import Mixture, mix, mixed
from gstar_fast._solver.promise.beliefs import Known
from gstar_fast._solver.promise.chance import Beliefs
from gstar_fast._solver.question import TOLERANCE
from gstar_fast._solver.search import BOXES, choose_unified

SHARES = (1.0, 0.75, 0.5, 0.25, 0.0)  # of the limit: q
WIDTHS = (0.0, 0.5, 1.0, 1.5, 2.0)  # standard errors: z
MIXED = {  # z: q, for mixtures
    0.0: (0.75, 0.5),
    0.5: (1.0, 0.75, 0.5),
    1.0: (1.0, 0.75, 0.5),
    1.25: (1.0,),
    1.5: (1.0, 0.75),
    1.75: (1.0,),
    2.0: (1.0, 0.75),
    2.5: (1.0,),
}


class Option(NamedTuple):
    """Thresholds that may be promised: one entry a group, or a mixture of entries."""

    cost: float  # E
    entries: Ints | Mixture

    def beliefs(self, known: Known) -> Beliefs:
        return known.mixed(self.entries) if isinstance(self.entries, Mixture) else known.at(self.entries)


def family(known: Known, unified: bool, randomize: bool) -> list[Option]:
    """All options, each once, in order of error."""
    search = known.search
    found: list[Option] = []
    for z, shares in MIXED.items() if randomize else dict.fromkeys(WIDTHS, SHARES).items():
        low, high = known.bands(z) if z > 0 else (None, None)
        p = replace(search.arrays, low=low, high=high)
        if randomize:
            found += _mixtures(p, shares)
            continue
        for q in shares:
            option = _best(known, tightened(p, q), unified)
            if option is not None:
                found.append(option)
    return in_order(known, found)


def _mixtures(p: Arrays, shares: tuple[float, ...]) -> list[Option]:
    """The best mixture for each share of the limits, the smallest first."""
    found = []
    for q in reversed(shares):
        try:
            mixture = mix(tightened(p, q))
        except RuntimeError:  # the linear program did not finish
            continue
        if mixture is not None:
            found.append(Option(float(mixed(p.cost / p.unit, p, mixture).sum()), mixture))
    return found


def in_order(known: Known, options: list[Option]) -> list[Option]:
    """Each option once, in order of error; of equal ones by their counts, whatever the names of the groups are."""
    table = known.search.table
    group = known.groups

    def counts(option: Option) -> list[tuple[float, ...]]:
        mixture = option.entries
        entries, weights = (
            (mixture.entries, mixture.weights) if isinstance(mixture, Mixture) else (mixture, np.ones(len(mixture)))
        )
        columns = (table.totals[:, group[entries]], table.accepted[:, entries], table.candidate[None, entries])
        return sorted(zip(*np.concatenate([*columns, weights[None]]).tolist(), strict=True))

    found: dict[tuple[float, ...], Option] = {}
    for option in options:
        found.setdefault(_key(option), option)
    by_cost: dict[float, list[Option]] = {}
    for option in found.values():
        by_cost.setdefault(option.cost, []).append(option)
    return [
        option
        for cost in sorted(by_cost)
        for option in (by_cost[cost] if len(by_cost[cost]) == 1 else sorted(by_cost[cost], key=counts))
    ]


def tightened(p: Arrays, q: float) -> Arrays:
    """The same question with q times the limits."""
    finite = p.limit < np.inf
    limit = np.where(finite, q * (np.where(finite, p.limit, 1.0) - TOLERANCE) + TOLERANCE, np.inf)
    ratio = np.where(p.ratio >= 0, 1 - q * (1 - p.ratio - TOLERANCE) - TOLERANCE, -1.0)
    total = q * (p.total - TOLERANCE) + TOLERANCE if p.total < np.inf else np.inf
    return replace(p, limit=limit, ratio=ratio, total=total)


def _best(known: Known, p: Arrays, unified: bool) -> Option | None:
    if unified:
        numbers = choose_unified(replace(known.search, arrays=p)).numbers
    else:
        numbers, _, _, _ = room("solver").solve_limits(p, BOXES)
    if numbers is None or numbers[0] < 0:
        return None
    return option_at(known, p.start[:-1] + numbers)


def option_at(known: Known, entries: Ints) -> Option:
    return Option(int(known.search.arrays.cost[entries].sum()) / known.search.scale.unit, entries)


def _key(option: Option) -> tuple[float, ...]:
    if isinstance(option.entries, Mixture):
        return (*option.entries.entries.tolist(), *option.entries.weights.tolist())
    return tuple(option.entries.tolist())
