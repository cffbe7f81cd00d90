"""Which parts of a question do not go together, which need one another, and which a verb does not take.

The tables are about features, not about options: `method="newton"` goes with `unified=True`, and `method="alternating"`
does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._criteria import Form

if TYPE_CHECKING:
    from gstar_fast._question.question import Question


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
    "iterative": ("smooth", "penalties"),
    "confidence": ("limits",),
    "decide_by": ("fair_between",),
}

VERBS: dict[str, tuple[str, ...]] = {  # features that a verb does not take
    "solve of densities": ("min_rows", "fair_between"),
    "frontier of densities": ("limits", "confidence", "fair_between"),
    "frontier of penalties": ("mixtures", "confidence", "by_segment"),
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
