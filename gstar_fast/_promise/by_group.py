"""Promises for thresholds by group, or one for everybody: the family of thresholds that is tried.

For q in 1, 3/4, 1/2, 1/4, 0 and z in 0, 1/2, 1, 3/2, 2: the exact search with q times the limit, in which a rate is the
whole of its Wilson interval of z standard errors. Large q and z leave room where cells are small, small q leaves the
same room everywhere. (The two grids stand as they were when the method was found; nothing was tuned on them.) Mixtures
reach q = 1 with wide bands: there the pairs are fewer, and denser in z. (These were chosen after seeing which pairs won
on nine settings of census, portrait and normal scores.) Thresholds that are no mixtures get more options, see
`targets.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from gstar_fast._backends import room
from gstar_fast._backends.interface import Arrays, Floats, Ints
from gstar_fast._criteria import TOLERANCE
from gstar_fast._promise.beliefs import Known
from gstar_fast._promise.chance import Beliefs
from gstar_fast._promise.choose import Asked, Option, Worth
from gstar_fast._promise.planning import plan
from gstar_fast._promise.targets import aimed
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

Entries: TypeAlias = Ints | Mixture  # one entry a group, or a mixture of entries


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
            options = in_order(known, [*options, *_aimed(known, options, asked.gain)])
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
        found = _aimed(self.known.times(times), self.options, self.gain)
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


def _aimed(known: Known, options: list[Option[Entries]], gain: float) -> list[Option[Entries]]:
    """Options that aim at a box of rates."""
    single = [option.chosen for option in options if not isinstance(option.chosen, Mixture)]
    return [option_at(known, entries) for entries in aimed(known, single, gain)]


def option_at(known: Known, entries: Ints) -> Option[Entries]:
    """One entry a group as an option."""
    return Option(int(known.search.arrays.cost[entries].sum()) / known.search.scale.unit, entries)
