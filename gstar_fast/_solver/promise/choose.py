"""`solve` with a confidence: the first thresholds, in order of error, whose limits hold on new rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gstar_fast._backends.interface import Floats
from gstar_fast._criteria import CRITERION, Form
from gstar_fast._rates import SOLVER_RATES
from gstar_fast._solver.evidence.by_group import settled_by_group
from gstar_fast._solver.finish import finish, finish_mixture
from gstar_fast._solver.mix import Mixture
from gstar_fast._solver.promise.beliefs import Ground, Known
from gstar_fast._solver.promise.candidates import Option, family, in_order
from gstar_fast._solver.promise.chance import Beliefs
from gstar_fast._solver.promise.hints import STEPS, looser
from gstar_fast._solver.promise.planning import plan
from gstar_fast._solver.promise.record import Promise, RowsNeeded
from gstar_fast._solver.promise.targets import aimed
from gstar_fast._solver.promise.worth import Worth
from gstar_fast._solver.result import Result
from gstar_fast._solver.search import Search, lay_out
from gstar_fast._solver.words import promises as words

SMALL_PRICE = 0.05  # share of the gain over a constant decision; the search for a looser limit starts there
FINEST = 100  # limits that could be promised are found to one part in this many
MOST_MIXED = 16  # groups for which mixtures are tried; the linear program is slow with more

Solve = Callable[[Search, bool, bool, None], Result]  # plain thresholds: search, unified, randomize, no time limit


class Asked(NamedTuple):
    """One question with a promise: what is known, the options in order of error, and the bound on their error."""

    known: Known
    options: list[Option]  # that keep enough of the gain
    plain: Option
    worth: Worth
    gain: float
    level: float
    separate: bool  # one threshold a group

    def aimed(self, times: float) -> list[Beliefs]:
        """What is believed of options for so many times the rows, as far as they keep enough of the gain."""
        if not self.separate:
            return []
        found = aimed(self.known.times(times), self.options, self.gain)
        return [option.beliefs(self.known) for option in self.worth.useful(found, self.plain.cost)]

    def needed(self) -> RowsNeeded:
        """How many rows a promise would need."""
        beliefs = [option.beliefs(self.known) for option in self.options]
        return plan(self.known, beliefs, self.level, self.aimed)

    @property
    def risk(self) -> float:
        return 1 - self.level


def ask(search: Search, plain: Result, level: float, unified: bool, randomize: bool) -> Asked:
    """Lay out the question: `search` is the one that `plain` came from."""
    snapshot, table = search.snapshot, search.table
    parts = (snapshot, search.objective, table.totals, search.scale, search.has, search.notes)
    known = Known.of(lay_out(*parts, shared=unified, certain=not unified))
    worth = Worth.of(search.scale, table.totals, table.at_unified)
    least = float(np.sqrt(plain.loss))
    gain = max(worth.constant - least, 0.0)
    same = _found_again(known, plain)
    options = [same, *family(known, unified, randomize)]
    separate = not unified and not randomize
    if separate:
        options = in_order(known, [*options, *aimed(known, options, gain)])
    return Asked(known, worth.useful(options, least), same, worth, gain, level, separate)


def _found_again(known: Known, plain: Result) -> Option:
    """The plain thresholds as an option."""
    search = known.search
    candidates = search.snapshot.candidates
    entries: list[int] = []
    weights: list[float] = []
    for k, name in enumerate(search.groups):
        lo, hi = search.table.start[k : k + 2]
        mixture = ((plain.thresholds[name], 1.0),) if plain.mixtures is None else plain.mixtures[name]
        for threshold, weight in mixture:
            wanted = int(np.searchsorted(candidates, threshold))
            entries.append(int(lo + np.searchsorted(search.table.candidate[lo:hi], wanted)))
            weights.append(weight)
    cost = float(np.sqrt(plain.loss))
    if plain.mixtures is None:
        return Option(cost, np.array(entries))
    return Option(cost, Mixture(np.array(entries), np.array(weights), 0.0, 0))


def promised(
    search: Search, best: Result, plain: Result, level: float, solve: Solve, *, unified: bool, randomize: bool
) -> Result:
    """The result with a promise, or with the plain thresholds and a message that says what is missing.

    `best` has the least error. `plain` is the same, or the unified threshold where there is no evidence against it,
    which is then promised if it can be. `solve` finds the best thresholds of the questions that the message names
    instead.
    """
    asked = ask(search, best, level, unified, randomize)
    known = asked.known
    own = asked.plain if plain is best else _found_again(known, plain)
    plain_chance = known.chance(own.beliefs(known))
    if plain.verdict == "infeasible":
        upper = uppers(known, own.beliefs(known), asked.risk)
        return replace(plain, promise=Promise(level, plain_chance, upper, 0.0, plain, plain_chance))
    option, found = first_kept(asked, own, plain_chance)
    if option is None:
        return _unpromised(search, asked, own, plain, plain_chance, solve, unified=unified, randomize=randomize)
    upper = uppers(known, option.beliefs(known), asked.risk)
    if option is own and plain is not best:
        return words.unified(plain, Promise(level, plain_chance, upper, 0.0, plain, plain_chance))
    result = best if option is asked.plain else _made(known.search, option, unified, best)
    cost = max(result.error - plain.error, 0.0) if result is not plain else 0.0
    promise = Promise(level, found, upper, cost, plain, plain_chance)
    return words.with_verdict(result, promise, "promised", words.promised(promise, result))


def first_kept(asked: Asked, own: Option, own_chance: float) -> tuple[Option | None, float]:
    """The first option that may be promised, and its chance; `own` is the plain option, tried first if unified."""
    unified = [] if own is asked.plain else asked.worth.useful([own], asked.plain.cost)
    for option in (*unified, *asked.options):
        at = own_chance if option is own else asked.known.chance(option.beliefs(asked.known))
        if at <= asked.risk:
            return option, at
    return None, 1.0


def _made(search: Search, option: Option, unified: bool, plain: Result) -> Result:
    """An option as a result; what plain thresholds were proven to lose bounds it from below."""
    if isinstance(option.entries, Mixture):
        made = finish_mixture(search, option.entries)
    else:
        made = finish(search, option.entries - search.table.start[:-1], "optimal", plain.iterations, unified=unified)
    lower = min(plain.lower_bound, made.loss)
    return replace(made, lower_bound=lower, optimality_gap=made.loss - lower, evidence=plain.evidence)


def _unpromised(
    search: Search,
    asked: Asked,
    own: Option,
    plain: Result,
    plain_chance: float,
    solve: Solve,
    *,
    unified: bool,
    randomize: bool,
) -> Result:
    """The plain thresholds, which are the option `own`, and what is missing for a promise."""
    known = asked.known
    beliefs = own.beliefs(known)
    promise = Promise(
        asked.level, plain_chance, uppers(known, beliefs, asked.risk), 0.0, plain, plain_chance, asked.needed()
    )

    def granted(limits: Mapping[str, float], mixed: bool) -> float | None:
        objective = replace(search.objective, limits=limits)
        parts = (search.snapshot, objective, search.table.totals, search.scale, search.has, search.notes)
        other = lay_out(*parts, shared=unified)
        best = solve(other, unified, mixed, None)
        again = ask(other, best, asked.level, unified, mixed)
        alike = best if plain.evidence is None else settled_by_group(other, best, plain.evidence.level)
        first = _found_again(again.known, alike) if alike.verdict == "unified" else again.plain
        option, _ = first_kept(again, first, again.known.chance(first.beliefs(again.known)))
        return None if option is None else option.cost

    limits = known.objective.limits
    cheap = [option for option in asked.options if option.cost <= asked.plain.cost + SMALL_PRICE * asked.gain]
    guess = uppers(known, (cheap or [asked.plain])[-1].beliefs(known), asked.risk)
    hints = words.Hints(
        limit=looser(limits, guess, lambda limits: granted(limits, randomize)),
        mixed=None if unified or randomize or len(known.names) > MOST_MIXED else granted(limits, True),
        worth=None if asked.options else asked.worth,
    )
    message = words.unpromised(promise, known, beliefs, hints)
    return words.with_verdict(plain, promise, "unpromised", message)


def uppers(known: Ground, beliefs: Beliefs, risk: float) -> dict[str, float]:
    """By criterion, the smallest limit (the largest ratio) that could be promised, the other limits as they are."""
    return {name: upper_of(known, beliefs, risk, name) for name in known.objective.limits}


def upper_of(known: Ground, beliefs: Beliefs, risk: float, name: str) -> float:
    """The same for one criterion."""
    criterion = CRITERION[name]
    mine = np.array([SOLVER_RATES[r] in criterion.rates for r in known.active])
    is_ratio, added = criterion.form is Form.RATIO, criterion.form is Form.SUM

    def kept(step: int) -> bool:
        limit: Floats = known.limit
        ratio: Floats = known.ratio
        total = known.total
        if is_ratio:
            ratio = np.where(mine, 1 - step / STEPS, ratio)
        elif added:
            total = step / STEPS
        else:
            limit = np.where(mine, step / STEPS, limit)
        return known.chance(beliefs, limit, ratio, total) <= risk

    asked = known.objective.limits[name]
    most = round(STEPS * criterion.largest)
    if added:  # no smaller limit than the sum that is expected can be promised
        means = np.where(beliefs.has, beliefs.a / (beliefs.a + beliefs.b), np.nan)[:2]
        asked = min(asked, 1.5 * float((np.nanmax(means, axis=1) - np.nanmin(means, axis=1)).sum()))
    low, high = 0, max(round(STEPS * (1 - asked if is_ratio else asked)), 1)
    while high < most and not kept(high):
        low, high = high, min(2 * high, most)
    while high - low > 1 + high // FINEST:
        middle = (low + high) // 2
        low, high = (low, middle) if kept(middle) else (middle, high)
    return 1 - high / STEPS if is_ratio else high / STEPS
