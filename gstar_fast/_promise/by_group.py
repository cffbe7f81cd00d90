"""Promises for thresholds by group, or one for everybody: the family of thresholds that is tried.

For q in 1, 3/4, 1/2, 1/4, 0 and z in 0, 1/2, 1, 3/2, 2: the exact search with q times the limit, in which a rate is the
whole of its Wilson interval of z standard errors. Large q and z leave room where cells are small, small q leaves the
same room everywhere. (The two grids stand as they were when the method was found; nothing was tuned on them.) Mixtures
reach q = 1 with wide bands: there the pairs are fewer, and denser in z. (These were chosen after seeing which pairs won
on nine settings of census, portrait and normal scores.)

Thresholds that are no mixtures get more options, which aim at a box of rates. If the rates of all groups lie in one box
as wide as the limits, the limits hold. For a box and a weight, each group alone takes the entry with the least

    error - weight * log Pr(its rates lie in the box),

a normal distribution with the mean and the variance of the Beta. Groups do not depend on each other once the box
stands, so this is exact for each box. Boxes are tried around the options of the first family, and once more around the
best of each weight; every weight gives one option. A limit on the sum of two gaps is shared out between them in three
ways, each of which gives boxes of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy import special

from gstar_fast._backends import room
from gstar_fast._backends.interface import Arrays
from gstar_fast._base.arrays import Bools, Floats, Ints
from gstar_fast._criteria import TOLERANCE
from gstar_fast._promise.chance import Beliefs, Known
from gstar_fast._promise.choose import Asked, Option, Worth
from gstar_fast._promise.planning import plan
from gstar_fast._question.question import Question
from gstar_fast._solver.answer.parts import RowsNeeded
from gstar_fast._solver.answer.result import Result
from gstar_fast._solver.finish import finish, finish_mixture, settled_by_group, solved
from gstar_fast._solver.mix import Mixture, mix, mixed
from gstar_fast._solver.search import BOXES, Search, choose_unified

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
MOST_MIXED = 16  # groups for which mixtures are tried; the linear program is slow with more
WEIGHTS = tuple(0.01 * 1000 ** (i / 11) for i in range(12))  # times the gain of plain thresholds
NEAR = (-0.25, 0.0, 0.25)  # of the limit: boxes around an option
FINER = (-0.125, 0.0, 0.125)
MOST_ENTRIES = 256  # of a group that are looked at
MOST_RATES = 2
SPLITS = (0.25, 0.5, 0.75)  # of a sum, for the first of two gaps

Entries: TypeAlias = "Ints | Mixture"  # one entry a group, or a mixture of entries


@dataclass(frozen=True)
class AskedByGroup(Asked[Entries]):
    """A question about thresholds by group, or unified ones."""

    known: Known
    search: Search  # for the thresholds without a promise

    @classmethod
    def of(cls, search: Search, best: Result, level: float, randomize: bool) -> AskedByGroup:
        """Lay out the question: `search` is the one that `best` came from."""
        table, unified = search.table, search.question.unified
        known = Known.of(search.asked(search.question, shared=unified, certain=not unified))
        worth = Worth.of(search.scale, table.totals, table.at_unified)
        plain = option_of(known, best)
        options = [plain, *family(known, unified, randomize)]
        asked = cls(known, plain, [], worth, level, randomize, search)
        if asked.separate:
            options = in_order(known, [*options, *aimed(known, options, asked.gain)])
        return replace(asked, options=worth.useful(options, plain.cost))

    @property
    def separate(self) -> bool:
        """Whether there is one threshold a group."""
        return not self.search.question.unified and not self.randomize

    @property
    def can_mix(self) -> bool:
        return self.separate and len(self.known.names) <= MOST_MIXED

    def option(self, result: Result) -> Option[Entries]:
        return option_of(self.known, result)

    def beliefs(self, option: Option[Entries]) -> Beliefs:
        return beliefs(self.known, option)

    def result(self, option: Option[Entries], iterations: int) -> Result:
        return result_of(self.known.search, option, iterations)

    def other(self, question: Question, mixed: bool, evidence: float) -> tuple[AskedByGroup, Result]:
        search = self.search.asked(question, shared=question.unified)
        best = solved(search, mixed)
        alike = settled_by_group(search, best, evidence) if evidence > 0 and not question.unified else best
        return AskedByGroup.of(search, best, self.level, mixed), alike

    def needed(self) -> RowsNeeded:
        return plan(self.known, [self.beliefs(option) for option in self.options], self.level, self._aimed_later)

    def _aimed_later(self, times: float) -> list[Beliefs]:
        """What is believed of options for so many times the rows, as far as they keep enough of the gain."""
        if not self.separate:
            return []
        found = aimed(self.known.times(times), self.options, self.gain)
        return [self.beliefs(option) for option in self.worth.useful(found, self.plain.cost)]


def beliefs(known: Known, option: Option[Entries]) -> Beliefs:
    """What is known of an option."""
    return known.mixed(option.chosen) if isinstance(option.chosen, Mixture) else known.at(option.chosen)


def option_of(known: Known, result: Result) -> Option[Entries]:
    """The thresholds of a result as an option."""
    search = known.search
    candidates = search.cells.candidates
    entries: list[int] = []
    weights: list[float] = []
    for k, name in enumerate(search.groups):
        lo, hi = search.table.start[k : k + 2]
        mixture = ((result.thresholds[name], 1.0),) if result.mixtures is None else result.mixtures[name]
        for threshold, weight in mixture:
            wanted = int(np.searchsorted(candidates, threshold))
            entries.append(int(lo + np.searchsorted(search.table.candidate[lo:hi], wanted)))
            weights.append(weight)
    at = np.array(entries)
    chosen = at if result.mixtures is None else Mixture(at, np.array(weights), 0.0, 0)
    return Option(float(np.sqrt(result.loss)), chosen)


def result_of(search: Search, option: Option[Entries], iterations: int = 0) -> Result:
    """An option as a result."""
    if isinstance(option.chosen, Mixture):
        return finish_mixture(search, option.chosen)
    return finish(search, option.chosen - search.table.start[:-1], "optimal", iterations)


def family(known: Known, unified: bool, randomize: bool) -> list[Option[Entries]]:
    """All options, each once, in order of error."""
    search = known.search
    found: list[Option[Entries]] = []
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


def _mixtures(p: Arrays, shares: tuple[float, ...]) -> list[Option[Entries]]:
    """The best mixture for each share of the limits, the smallest first."""
    found: list[Option[Entries]] = []
    for q in reversed(shares):
        try:
            mixture = mix(tightened(p, q))
        except RuntimeError:  # the linear program did not finish
            continue
        if mixture is not None:
            found.append(Option(float(mixed(p.cost / p.unit, p, mixture).sum()), mixture))
    return found


def in_order(known: Known, options: list[Option[Entries]]) -> list[Option[Entries]]:
    """Each option once, in order of error; of equal ones by their counts, whatever the names of the groups are."""
    table = known.search.table
    group = known.groups

    def counts(option: Option[Entries]) -> list[tuple[float, ...]]:
        entries, weights = _parts(option)
        columns = (table.totals[:, group[entries]], table.accepted[:, entries], table.candidate[None, entries])
        return sorted(zip(*np.concatenate([*columns, weights[None]]).tolist(), strict=True))

    found: dict[tuple[float, ...], Option[Entries]] = {}
    for option in options:
        entries, weights = _parts(option)
        found.setdefault((*entries.tolist(), *weights.tolist()), option)
    by_cost: dict[float, list[Option[Entries]]] = {}
    for option in found.values():
        by_cost.setdefault(option.cost, []).append(option)
    return [
        option
        for cost in sorted(by_cost)
        for option in (by_cost[cost] if len(by_cost[cost]) == 1 else sorted(by_cost[cost], key=counts))
    ]


def _parts(option: Option[Entries]) -> tuple[Ints, Floats]:
    """Entries and their weights."""
    mixture = option.chosen
    return (mixture.entries, mixture.weights) if isinstance(mixture, Mixture) else (mixture, np.ones(len(mixture)))


def tightened(p: Arrays, q: float) -> Arrays:
    """The same question with q times the limits."""
    finite = p.limit < np.inf
    limit = np.where(finite, q * (np.where(finite, p.limit, 1.0) - TOLERANCE) + TOLERANCE, np.inf)
    ratio = np.where(p.ratio >= 0, 1 - q * (1 - p.ratio - TOLERANCE) - TOLERANCE, -1.0)
    total = q * (p.total - TOLERANCE) + TOLERANCE if p.total < np.inf else np.inf
    return replace(p, limit=limit, ratio=ratio, total=total)


def _best(known: Known, p: Arrays, unified: bool) -> Option[Entries] | None:
    if unified:
        numbers = choose_unified(replace(known.search, arrays=p)).numbers
    else:
        numbers, _, _, _ = room("solver").solve_limits(p, BOXES)
    if numbers is None or numbers[0] < 0:
        return None
    return option_at(known, p.start[:-1] + numbers)


def option_at(known: Known, entries: Ints) -> Option[Entries]:
    """One entry a group as an option."""
    return Option(int(known.search.arrays.cost[entries].sum()) / known.search.scale.unit, entries)


# --------------------------------------------------------------------------------------------- aimed at a box of rates


def aimed(known: Known, options: list[Option[Entries]], gain: float) -> list[Option[Entries]]:
    """An option for each weight and box, with boxes around these options; none for ratios and more than two rates."""
    near = [option.chosen for option in options if not isinstance(option.chosen, Mixture)]
    alone, total = known.limit, known.total
    limits = [alone]
    if total < np.inf:
        limits = [np.minimum(alone, total * np.array([q, 1 - q])) for q in SPLITS] if len(alone) == MOST_RATES else []
    return [option_at(known, entries) for limit in limits for entries in _aimed(known, near, gain, limit)]


def _aimed(known: Known, near: list[Ints], gain: float, limit: Floats) -> list[Ints]:
    if len(limit) > MOST_RATES or (known.ratio >= 0).any() or (limit <= 0).any() or gain <= 0 or not near:
        return []
    rates = known.search.arrays.rates
    centres = np.array([_middle(rates[:, entries], known) for entries in near])
    groups = [_Group.of(known, k, centres, limit) for k in range(known.n.shape[1])]
    if any(len(group.entries) == 0 for group in groups):
        return []
    weights = gain * np.array(WEIGHTS)
    tried = _around(centres, NEAR, limit)
    value, chosen = _cheapest(groups, tried, limit, weights)
    again = _around(tried[np.argmin(value, axis=0)], FINER, limit)
    value, chosen = _cheapest(groups, again, limit, weights)
    at = np.argmin(value, axis=0)
    found = {tuple(chosen[:, at[i], i].tolist()) for i in range(len(weights))}
    return [np.array(entries) for entries in found]


def _middle(rates: Floats, known: Known) -> Floats:
    has = known.search.has[known.active]
    low = np.where(has, rates, np.inf).min(axis=1)
    high = np.where(has, rates, -np.inf).max(axis=1)
    middle: Floats = (low + high) / 2
    return middle


def _around(centres: Floats, steps: tuple[float, ...], limit: Floats) -> Floats:
    """Boxes beside these, each once; their middles are whole numbers of limit / 8."""
    unit = limit / 8
    offsets = np.stack(np.meshgrid(*[np.array(steps) * 8] * len(limit)), axis=-1).reshape(-1, len(limit))
    found = np.rint(centres / unit)[:, None, :] + offsets
    return np.unique(found.reshape(-1, len(limit)), axis=0) * unit


class _Group(NamedTuple):
    """The entries of one group that are worth looking at."""

    entries: Ints
    error: Floats
    mean: Floats  # of each rate
    deviation: Floats
    has: Bools

    @classmethod
    def of(cls, known: Known, k: int, centres: Floats, limit: Floats) -> _Group:
        search = known.search
        entries = np.arange(search.table.start[k], search.table.start[k + 1])
        a, b, sure = known.shapes(entries, k)
        has = search.has[known.active, k]
        mean = np.where(np.isnan(sure), a / (a + b), sure)
        deviation = np.where(np.isnan(sure), np.sqrt(a * b / (a + b + 1)) / (a + b), 1e-6)
        low, high = centres.min(axis=0) - limit, centres.max(axis=0) + limit
        near = ((mean >= low[:, None]) & (mean <= high[:, None]) | ~has[:, None]).all(axis=0)
        kept = np.flatnonzero(near)
        if len(kept) > MOST_ENTRIES:  # evenly along the way, measured in standard deviations
            length = (np.abs(np.diff(mean[:, kept], axis=1)) / deviation[:, kept][:, 1:]).max(axis=0)
            way = np.concatenate([[0.0], np.cumsum(length)])
            wanted = np.linspace(0.0, way[-1], MOST_ENTRIES)
            kept = kept[np.unique(np.searchsorted(way, wanted).clip(0, len(kept) - 1))]
        cost = search.arrays.cost[entries[kept]] / search.scale.unit
        return cls(entries[kept], cost, mean[:, kept], deviation[:, kept], has)

    def log_chance(self, i: int, middles: Floats, limit: float) -> Floats:
        """Of rate i lying in each box: (boxes, entries)."""
        if not self.has[i]:
            return np.zeros((len(middles), len(self.entries)))
        low, high = (
            special.ndtr((middles[:, None] + side * limit / 2 - self.mean[i]) / self.deviation[i]) for side in (-1, 1)
        )
        out: Floats = np.log(np.maximum(high - low, 1e-30))
        return out


def _cheapest(groups: list[_Group], boxes: Floats, limit: Floats, weights: Floats) -> tuple[Floats, Ints]:
    """The value of each box and weight, and the entry each group takes: (boxes, weights), (K, boxes, weights)."""
    value = np.zeros((len(boxes), len(weights)))
    chosen = np.empty((len(groups), len(boxes), len(weights)), dtype=np.int64)
    parts = [np.unique(boxes[:, i], return_inverse=True) for i in range(len(limit))]
    every = np.arange(len(boxes))
    for k, group in enumerate(groups):
        log = sum(group.log_chance(i, middles, limit[i])[at] for i, (middles, at) in enumerate(parts))
        total = np.empty_like(log)
        for j, weight in enumerate(weights):
            np.subtract(group.error, np.multiply(log, weight, out=total), out=total)
            best = total.argmin(axis=1)
            value[:, j] += total[every, best]
            chosen[k, :, j] = group.entries[best]
    return value, chosen
