"""Promises in words."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from gstar_fast._base.text import row_count
from gstar_fast._criteria import Limit
from gstar_fast._promise.beliefs import Ground
from gstar_fast._promise.chance import Beliefs
from gstar_fast._rates import SOLVER_RATES
from gstar_fast._solver.answer.parts import Note, Promise, has
from gstar_fast._solver.answer.result import Result

if TYPE_CHECKING:
    from gstar_fast._promise.choose import Hints


def promised(promise: Promise, result: Result) -> str:
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


def unified(plain: Result, promise: Promise) -> Result:
    """A unified threshold, kept because there is no evidence against it, with its promise."""
    return with_verdict(
        plain,
        promise,
        "unified",
        f"{plain.message}; {_holds(promise)}, and {_above(promise)} is {_percent(promise.chance)}",
    )


def unpromised(promise: Promise, known: Ground, beliefs: Beliefs, hints: Hints) -> str:
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
