"""`solve` with a confidence: the first thresholds, in order of error, whose limits hold on new rows.

The same for thresholds by group and by segment. What differs is how thresholds are found and what is known of them:
`by_group.py` and `by_segment.py` say so.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Generic, NamedTuple, Self, TypeVar

import numpy as np

from gstar_fast._base.arrays import Floats, Ints, Values
from gstar_fast._base.text import row_count
from gstar_fast._criteria import Form, Limit
from gstar_fast._promise.chance import Beliefs, Ground
from gstar_fast._question.question import Question
from gstar_fast._rates import SOLVER_RATES
from gstar_fast._solver.answer.parts import Note, Promise, RowsNeeded, has
from gstar_fast._solver.answer.result import Result
from gstar_fast._solver.cells import Scale

KEPT = 0.75  # of what plain and unified thresholds gain
SMALL_PRICE = 0.05  # share of the gain over a constant decision; the search for a looser limit starts there
STEPS = 10_000  # limits are multiples of 1e-4
FINEST = 100  # limits that could be promised are found to one part in this many
TRIED = (1.0, 1.06, 1.15, 1.3, 1.6, 2.2, 3.5)  # times the first guess of a looser limit
FINER = 3  # how often the distance to the largest limit that is not promised is halved

Chosen = TypeVar("Chosen")  # thresholds, as a strategy has them


class Option(NamedTuple, Generic[Chosen]):
    """Thresholds that may be promised."""

    cost: float  # E
    chosen: Chosen


class Worth(NamedTuple):
    """Which thresholds are good enough to be promised: the cost E of the decisions that they are compared with.

    Thresholds that accept or reject almost everybody keep any limit. So thresholds are promised only if they keep three
    quarters of what plain thresholds gain over the better constant decision (accept or reject everybody), and three
    quarters of what the best unified threshold gains over it.
    """

    constant: float  # the better constant decision
    unified: float  # the best unified threshold, ignoring limits

    @classmethod
    def of(cls, scale: Scale, totals: Ints, at_unified: Values) -> Worth:
        """From rows (3, K) of each label and group, and those that the best unified threshold accepts."""
        negative, positive = (int(n) for n in totals[:2].sum(axis=1))
        accepted = np.asarray(at_unified)[:2].sum(axis=1)
        unified = scale.fp * int(accepted[0]) + scale.fn * (positive - int(accepted[1]))
        return cls(min(scale.fp * negative, scale.fn * positive) / scale.unit, unified / scale.unit)

    def most(self, plain: float) -> float:
        """The largest cost of thresholds that may be promised, given the cost of the plain ones."""
        return self.constant - KEPT * max(self.constant - min(plain, self.unified), 0.0) + 1e-12

    def useful(self, options: list[Option[Chosen]], plain: float) -> list[Option[Chosen]]:
        """The options that may be promised."""
        most = self.most(plain)
        return [option for option in options if option.cost <= most]


@dataclass(frozen=True)
class Asked(ABC, Generic[Chosen]):
    """One question with a promise: what is known, and the options in order of error."""

    known: Ground
    plain: Option[Chosen]  # the thresholds of least error
    options: list[Option[Chosen]]  # that keep enough of the gain
    worth: Worth
    level: float
    randomize: bool

    @abstractmethod
    def option(self, result: Result) -> Option[Chosen]:
        """The thresholds of a result."""

    @abstractmethod
    def beliefs(self, option: Option[Chosen]) -> Beliefs:
        """What is known of the rates of new rows."""

    @abstractmethod
    def result(self, option: Option[Chosen], iterations: int) -> Result:
        """An option as a result; its verdict, bound and message are replaced."""

    @abstractmethod
    def other(self, question: Question, mixed: bool, evidence: float) -> tuple[Self, Result]:
        """Another question, or the same about mixtures, and its plain thresholds."""

    @property
    @abstractmethod
    def can_mix(self) -> bool:
        """Whether mixtures are worth a question of their own."""

    @abstractmethod
    def needed(self) -> RowsNeeded:
        """How many rows a promise would need."""

    @property
    def risk(self) -> float:
        return 1 - self.level

    @property
    def gain(self) -> float:
        """What the thresholds of least error gain over a constant decision."""
        return max(self.worth.constant - self.plain.cost, 0.0)

    def chance(self, option: Option[Chosen]) -> float:
        """Chance that a limit is broken on new rows."""
        return self.known.chance(self.beliefs(option))

    def own(self, plain: Result) -> Option[Chosen]:
        """The option of the plain thresholds, which may be the unified one instead of those of least error."""
        return self.option(plain) if plain.verdict == "unified" else self.plain

    def first_kept(self, own: Option[Chosen], own_chance: float) -> tuple[Option[Chosen] | None, float]:
        """The first option that may be promised, and its chance; `own` is the plain option, tried first if unified."""
        unified = [] if own is self.plain else self.worth.useful([own], self.plain.cost)
        for option in (*unified, *self.options):
            at = own_chance if option is own else self.known.chance(self.beliefs(option), most=self.risk)
            if at <= self.risk:
                return option, at
        return None, 1.0

    def uppers(self, option: Option[Chosen]) -> dict[str, float]:
        """By criterion, the smallest limit (the largest ratio) that could be promised, the other limits as they are."""
        beliefs = self.beliefs(option)
        return {
            limit.criterion.name: upper_of(self.known, beliefs, self.risk, limit)
            for limit in self.known.question.limits
        }


def promised(asked: Asked[Chosen], best: Result, plain: Result) -> Result:
    """The result with a promise, or with the plain thresholds and a message that says what is missing.

    `best` has the least error. `plain` is the same, or the unified threshold where there is no evidence against it,
    which is then promised if it can be.
    """
    own = asked.own(plain)
    own_chance = asked.chance(own)

    def kept(option: Option[Chosen], chance: float, cost: float = 0.0, needed: RowsNeeded | None = None) -> Promise:
        return Promise(asked.level, chance, asked.uppers(option), cost, plain, own_chance, needed)

    if not plain.meets_limits:
        question = replace(plain.question, confidence=asked.level)
        return plain.but(question=question, promise=kept(own, own_chance))
    option, chance = asked.first_kept(own, own_chance)
    if option is None:
        promise = kept(own, own_chance, needed=asked.needed())
        message = _what_is_missing(promise, asked.known, asked.beliefs(own), _hints(asked, plain))
        return with_verdict(plain, promise, "unpromised", message)
    if option is own and own is not asked.plain:
        return _unified(plain, kept(own, own_chance))
    result = best if option is asked.plain else _made(asked, option, best)
    promise = kept(option, chance, max(result.error - plain.error, 0.0))
    return with_verdict(result, promise, "promised", promised_message(promise, result))


def _made(asked: Asked[Chosen], option: Option[Chosen], best: Result) -> Result:
    """An option as a result; what the best thresholds were proven to lose bounds it from below."""
    made = asked.result(option, best.proof.iterations)
    return made.but(lower_bound=min(best.lower_bound, made.loss), evidence=best.evidence)


def upper_of(known: Ground, beliefs: Beliefs, risk: float, limit: Limit) -> float:
    """The smallest limit on a criterion (the largest ratio) that could be promised, the other limits as they are."""
    criterion = limit.criterion
    mine = np.array([SOLVER_RATES[r] in criterion.rates for r in known.active])
    is_ratio, added = criterion.form is Form.RATIO, criterion.form is Form.SUM

    def kept(step: int) -> bool:
        most: Floats = known.limit
        ratio: Floats = known.ratio
        total = known.total
        if is_ratio:
            ratio = np.where(mine, 1 - step / STEPS, ratio)
        elif added:
            total = step / STEPS
        else:
            most = np.where(mine, step / STEPS, most)
        return known.chance(beliefs, most, ratio, total, risk) <= risk

    asked = limit.asked
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


# --------------------------------------------------------------------------------------------- what would be promised


class Offer(NamedTuple):
    """A limit that would be promised, and the cost E of its thresholds."""

    limit: float
    cost: float


class Hints(NamedTuple):
    """What an "unpromised" message suggests; a user who asks for it gets a promise."""

    limit: Offer | None  # a looser limit that would be promised
    mixed: float | None  # the cost at which mixtures would be
    worth: Worth | None  # set if no thresholds within the limits are good enough


def _hints(asked: Asked[Chosen], plain: Result) -> Hints:
    """A looser limit, or mixtures: both are found by the code that makes promises."""
    question, evidence = asked.known.question, 0.0 if plain.evidence is None else plain.evidence.level

    def granted(question: Question, mixed: bool) -> float | None:
        again, alike = asked.other(question, mixed, evidence)
        own = again.own(alike)
        option, _ = again.first_kept(own, again.chance(own))
        return None if option is None else option.cost

    cheap = [option for option in asked.options if option.cost <= asked.plain.cost + SMALL_PRICE * asked.gain]
    guess = asked.uppers((cheap or [asked.plain])[-1])
    return Hints(
        limit=looser(question, guess, lambda question: granted(question, asked.randomize)),
        mixed=granted(question, True) if asked.can_mix else None,
        worth=None if asked.options else asked.worth,
    )


def looser(question: Question, guess: Mapping[str, float], granted: Callable[[Question], float | None]) -> Offer | None:
    """A looser limit that is granted, and its cost; None if there are several limits, or if none that was tried is.

    Limits are rounded as messages print them, to multiples of 1e-4. For `disparate_impact`, the distance to 1 is used.
    """
    if len(question.limits) > 1:
        return None
    ((criterion, asked),) = ((limit.criterion, limit.asked) for limit in question.limits)
    is_ratio, largest = criterion.from_below, criterion.largest

    def limit(step: int) -> float:
        return (STEPS - step) / STEPS if is_ratio else step / STEPS

    def steps(value: float) -> float:
        return STEPS * (1 - value if is_ratio else value)

    low, most = int(steps(asked)), round(STEPS * largest)
    high, cost = most, None
    for step in (math.ceil(steps(guess[criterion.name]) * factor) for factor in TRIED):
        if step >= most:
            return None
        if step > low:
            cost = granted(question.limited(criterion.limit(limit(step))))
            if cost is not None:
                high = step
                break
            low = step
    for _ in range(FINER):
        middle = (low + high) // 2
        if cost is None or middle == low:
            break
        found = granted(question.limited(criterion.limit(limit(middle))))
        low, high, cost = (middle, high, cost) if found is None else (low, middle, found)
    return None if cost is None else Offer(limit(high), cost)


# ------------------------------------------------------------------------------------------------------- messages


def promised_message(promise: Promise, result: Result) -> str:
    """The message of a promised result; its price is in the quantity that was minimised."""
    plain = promise.plain
    what, more = ("a cost", result.cost - plain.cost) if plain.question.weighted else ("an error", promise.cost)
    price = f"at {what} {more:.4f} higher than without it" if more > 0 else f"at {what} no higher than without it"
    return (
        f"{_holds(promise)}, {price}; {_above(promise)} is {_percent(promise.chance)}, and "
        f"{_percent(promise.plain_chance)} without the promise"
    )


def _holds(promise: Promise) -> str:
    what = "limits hold" if len(promise.plain.question.limits) > 1 else "limit holds"
    return f"the {what} on new rows with {promise.confidence:g} confidence"


def _above(promise: Promise) -> str:
    what = "a gap is above its limit" if len(promise.plain.question.limits) > 1 else "the gap is above the limit"
    return f"the chance that {what}"


def one_question(level: float) -> Note:
    """The note on asking more than once."""
    text = (
        f"this confidence is for one question; for k questions about the same rows, ask each with confidence "
        f"1 - (1 - {level:g}) / k ({1 - (1 - level) / 5:g} for k = 5)"
    )
    return Note("one_question", text, {"confidence": level})


def with_verdict(result: Result, promise: Promise, verdict: str, message: str) -> Result:
    """The result with its promise, verdict and message, and a note on asking more than once."""
    kept = [note for note in result.notes if verdict != "promised" or note.code != "overfit"]
    notes = (*kept, one_question(promise.confidence))  # a promise allows for the number of segments
    if has(notes, "assumption"):
        message += "; all of this holds only if the groups were estimated correctly, see the note"
    question = replace(result.question, confidence=promise.confidence)
    return result.but(question=question, verdict=verdict, message=message, promise=promise, notes=notes)


def _unified(plain: Result, promise: Promise) -> Result:
    """A unified threshold, kept because there is no evidence against it, with its promise."""
    return with_verdict(
        plain,
        promise,
        "unified",
        f"{plain.message}; {_holds(promise)}, and {_above(promise)} is {_percent(promise.chance)}",
    )


def _what_is_missing(promise: Promise, known: Ground, beliefs: Beliefs, hints: Hints) -> str:
    """What is too small, what could be promised, how many rows are missing, and the chance without a promise."""
    question, plain = known.question, promise.plain
    limits, what = question.limits, "cost" if question.weighted else "error"
    if hints.worth is None:
        said = [f"the counts cannot promise {_limits(limits)} on new rows with {promise.confidence:g} confidence"]
        said.append(_worst_cell(known, beliefs, promise.confidence))
    else:
        lost = (
            f"no promise is made for {_limits(limits)}: the least {what} within {_these(limits)} is "
            f"{math.sqrt(plain.loss):.4f}, which loses more than a quarter of what the best unified threshold "
            f"({hints.worth.unified:.4f}) gains over a constant decision ({hints.worth.constant:.4f})"
        )
        said = [lost]
    if hints.limit is not None:
        said.append(f"a limit of {hints.limit.limit:g} could be promised, with {what} {hints.limit.cost:.4f}")
    if hints.mixed is not None:
        said.append(f"mixtures of thresholds (randomize=True) could be promised, with {what} {hints.mixed:.4f}")
    needed = promise.rows_needed
    if needed is not None:
        if needed.times is None:
            said.append("no number of rows like these would be enough")
            if hints.worth is None:
                said[-1] += ", because stricter thresholds lose too much of the gain over a constant decision"
        else:
            said.append(f"about {needed.times:.2g} times the rows would be needed")
    said.append(
        f"shown are the thresholds without a promise, which break {'the limit' if len(limits) == 1 else 'a limit'} on "
        f"new rows with a chance of {_percent(promise.plain_chance)}"
    )
    return "; ".join(said)


def _worst_cell(known: Ground, beliefs: Beliefs, level: float) -> str:
    """The least certain rate, and its margin of error."""
    total = beliefs.a + beliefs.b
    mean = beliefs.a / total
    deviation = np.sqrt(mean * (1 - mean) / (total + 1))
    deviation = np.where(beliefs.has & np.isnan(beliefs.sure), deviation, -1.0)
    i, k = np.unravel_index(int(np.argmax(deviation)), deviation.shape)
    rate = SOLVER_RATES[known.active[i]]
    within = NormalDist().inv_cdf((1 + level) / 2) * max(float(deviation[i, k]), 0.0)
    name = known.names[k]
    rows = known.n[list(rate.parts), k].min()
    what = f"effective {rate.fewest}" if known.weighted else rate.fewest
    has = f"{name!r} has {row_count(round(float(rows)))} {what}"
    return f"{has}, so its {rate.name} is known to within {within:.2g} only"


def _these(limits: tuple[Limit, ...]) -> str:
    return "this limit" if len(limits) == 1 else "these limits"


def _limits(limits: tuple[Limit, ...]) -> str:
    return " and ".join(limit.show() for limit in limits)


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.3g} %"
