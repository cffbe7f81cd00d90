"""The options of a question besides its limits: each alone, and which do not go together or need one another.

The tables are about features, not about options: `method="newton"` goes with `unified=True`, and `method="alternating"`
does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from gstar_fast._base.names import Name
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._criteria import Form
from gstar_fast._density.density import Density
from gstar_fast._input.options import checked_flag
from gstar_fast._words import GIVEN, KINDS, METHODS

if TYPE_CHECKING:
    from gstar_fast._question.question import Question

Densities: TypeAlias = Mapping[tuple[int, Name], Density]
ObjectiveLike: TypeAlias = str | Mapping[str, float]  # what is minimised, as it is given

MOST_ROUNDS = 10_000_000  # the loss after each of them is kept
OBJECTIVES = {"error": False, "balanced_error": True}  # word -> whether both classes weigh alike


def is_number(value: object) -> bool:
    """Whether an option is a number; True and False are not."""
    return isinstance(value, (Real, np.number)) and not isinstance(value, (bool, np.bool_))


def read_objective(given: object) -> ObjectiveLike:
    """A word, or prices of both errors."""
    if isinstance(given, str) and given in OBJECTIVES:
        return given
    if not isinstance(given, Mapping) or not {"fp", "fn"} <= given.keys() <= {"fp", "fn", "balanced"}:
        raise refusal("objective", "objective", value=given)
    prices = {name: _price(given[name], given) for name in ("fp", "fn")}
    if max(prices.values()) == 0:
        raise refusal("prices", "objective", value=given)
    balanced = checked_flag("objective['balanced']", given.get("balanced", False))
    if prices == {"fp": 1.0, "fn": 1.0}:
        return "balanced_error" if balanced else "error"
    return prices | ({"balanced": True} if balanced else {})


def objective_text(given: object) -> str:
    """An objective as the command line has it: a word, or "fp=1,fn=5,balanced"."""
    if not isinstance(given, Mapping):
        return str(given)
    return ",".join(
        [*(f"{name}={given[name]:g}" for name in ("fp", "fn")), *["balanced"] * bool(given.get("balanced"))]
    )


def _price(value: object, given: object) -> float:
    if not is_number(value):
        raise refusal("objective", "objective", value=given)
    price = float(value)  # type: ignore[arg-type]
    if not (math.isfinite(price) and 0 <= price <= 1e100):
        raise refusal("prices", "objective", value=given)
    return price


def read_method(given: object) -> str:
    if not isinstance(given, str) or given not in METHODS:
        raise refusal("not_one_of", "method", value=given, limit=METHODS)
    return given


def read_density(given: object) -> str | Densities:
    if not isinstance(given, Mapping) and not (isinstance(given, str) and given in KINDS):
        raise refusal("density", "density", value=given, limit=KINDS)
    return given


def read_seconds(given: object) -> float | None:
    if given is None:
        return None
    if not is_number(given):
        raise refusal("seconds_type", "max_seconds", value=given)
    if not (seconds := float(given)) > 0:  # type: ignore[arg-type]
        raise refusal("seconds", "max_seconds", value=given)
    return seconds


def check_confidence(given: object) -> float:
    """The level that was asked for; 95 for 0.95 raises with a hint."""
    if not is_number(given):
        raise refusal("confidence_type", "confidence", value=given)
    level = float(given)  # type: ignore[arg-type]
    if not 0.5 <= level <= 0.999:
        raise refusal("confidence", "confidence", value=given)
    return level


def read_evidence(given: object) -> float:
    if not is_number(given):
        raise refusal("evidence_type", "evidence", value=given)
    level = float(given)  # type: ignore[arg-type]
    if not 0 <= level < 1:
        raise refusal("evidence", "evidence", value=given)
    return level


def read_rounds(given: object) -> int | None:
    if given is None:
        return None
    if isinstance(given, (bool, np.bool_)) or not isinstance(given, (int, np.integer)):
        raise refusal("whole_type", "rounds", value=given)
    if not 1 <= given <= MOST_ROUNDS:
        raise refusal("rounds", "rounds", value=given, limit=MOST_ROUNDS)
    return int(given)


def name_of(density: str | Densities) -> str:
    """The kind of densities, for messages and JSON; "given" if parameters of some were given by hand."""
    if isinstance(density, str):
        return density
    kinds = {GIVEN if one.label is None else one.kind for one in density.values()}
    return GIVEN if GIVEN in kinds else kinds.pop() if len(kinds) == 1 else "best"


# -------------------------------------------------------------------------------------------------- together


class Feature(NamedTuple):
    """A part of a question that other parts may exclude."""

    option: str
    is_asked: Callable[[Question], bool]
    has_value: bool = True  # whether messages show the value of the option

    def value(self, question: Question) -> object:
        """What messages show; None for the name of the option alone."""
        return getattr(question, self.option) if self.has_value else None


FEATURES: dict[str, Feature] = {
    "limits": Feature("limits", lambda q: bool(q.limits), False),
    "bound": Feature("limits", lambda q: any(limit.form is Form.BOUND for limit in q.limits), False),
    "total": Feature("limits", lambda q: any(limit.form is Form.TOTAL for limit in q.limits), False),
    "penalties": Feature("penalties", lambda q: bool(q.penalties), False),
    "smooth": Feature("density", lambda q: q.smooth),
    "iterative": Feature("method", lambda q: q.method != "exact"),
    "alternating": Feature("method", lambda q: q.method == "alternating"),
    "unified": Feature("unified", lambda q: q.unified),
    "mixtures": Feature("randomize", lambda q: q.randomize),
    "min_rows": Feature("min_rows", lambda q: q.min_rows > 0),
    "max_seconds": Feature("max_seconds", lambda q: q.max_seconds is not None),
    "confidence": Feature("confidence", lambda q: q.confidence is not None),
    "by_segment": Feature("decide_by", lambda q: q.by_segment, False),
    "decide_by": Feature("decide_by", lambda q: q.decide_by is not None, False),
    "fair_between": Feature("fair_between", lambda q: q.fair_between is not None, False),
    "rounds": Feature("rounds", lambda q: q.rounds is not None),
}

APART: dict[tuple[str, str], str] = {  # why two features do not go together
    ("iterative", "limits"): "iterative methods lower a loss with penalties; method 'exact' takes both",
    ("alternating", "unified"): "it moves one group at a time; 'exact' and 'newton' can move all groups together",
    ("mixtures", "penalties"): "mixtures are for limits, which need no penalty",
    ("mixtures", "smooth"): "mixtures are found on the counts",
    ("mixtures", "unified"): "one threshold for everybody cannot be mixed by group",
    ("bound", "smooth"): "limits on a rate are held on the counts",
    ("bound", "confidence"): "only limits on gaps can be promised",
    ("total", "smooth"): "a share of all rows is held on the counts",
    ("total", "confidence"): "only limits on gaps can be promised",
    ("total", "penalties"): "a share of all rows goes with limits, not with penalties",
    ("max_seconds", "mixtures"): "mixtures need no search that could be ended early",
    ("max_seconds", "smooth"): "only a search on the counts can be ended early",
    ("max_seconds", "unified"): "one threshold for everybody needs no search that could be ended early",
    ("confidence", "penalties"): "only limits can be promised",
    ("confidence", "smooth"): "promises are made from counts",
    ("confidence", "max_seconds"): "promises are made for the best thresholds, not for those found in time",
    ("by_segment", "penalties"): "thresholds by segment are for limits",
    ("by_segment", "smooth"): "thresholds by segment are found on the counts",
    ("by_segment", "unified"): "one threshold for everybody does not depend on segments",
    ("by_segment", "min_rows"): "segments cannot be pooled yet",
}

NEEDS: dict[str, tuple[str, ...]] = {
    "rounds": ("iterative",),
    "iterative": ("smooth", "penalties"),
    "confidence": ("limits",),
    "decide_by": ("fair_between",),
}

VERBS: dict[str, tuple[str, ...]] = {  # features that a verb does not take
    "solve of densities": ("min_rows", "fair_between"),
    "frontier of densities": ("limits", "confidence", "fair_between"),
    "frontier by segment": ("confidence",),
}


def check_together(question: Question) -> None:
    """Raise for the first pair of features that do not go together, or for a feature that lacks what it needs."""
    asked = {name for name, feature in FEATURES.items() if feature.is_asked(question)}
    for name, needed in NEEDS.items():
        if name in asked and (lacking := [one for one in needed if one not in asked]):
            raise refusal("needs", *_shown(question, name), limit=FEATURES[lacking[0]].option)
    for (one, other), why in APART.items():
        if one in asked and other in asked:
            raise refusal("apart", *_shown(question, one), limit=(*_shown(question, other)[::2], why))


def check_verb(question: Question, verb: str) -> None:
    """Raise for the first feature that a verb does not take."""
    for name in VERBS[verb]:
        if FEATURES[name].is_asked(question):
            raise refusal("not_here", *_shown(question, name), limit=verb)


def _shown(question: Question, name: str) -> tuple[str, None, object]:
    """Option, row and value of an error about a feature."""
    return FEATURES[name].option, None, FEATURES[name].value(question)
