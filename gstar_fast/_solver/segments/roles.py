"""Map a sketch with several group columns to the protected groups, or segments, that a result is about."""

from __future__ import annotations

from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._question.roles import Roles, asked_roles
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._solver.answer.result import Result
from gstar_fast.errors import OptionValueError


def roles_of(result: Result, sketch: Sketch) -> Roles:
    """The roles of the columns of a result in a sketch; raises for a sketch of other columns."""
    question = result.question
    try:
        return asked_roles(sketch, question.fair_between, question.columns)
    except OptionValueError as error:  # who audits has named no columns
        raise refusal(
            "roles_elsewhere", "sketch", value=(question.fair_between, question.columns), limit=error.limit
        ) from None


def protected_sketch(sketch: Sketch, asked: Roles) -> Sketch:
    """The rows of a sketch under the names of their protected groups alone."""
    return sketch._under(asked.protected)


def segment_sketch(sketch: Sketch, asked: Roles) -> Sketch:
    """The rows of a sketch under the names of their segments alone."""
    return sketch._under(asked.segment)


def on_its_columns(result: Result, sketch: Sketch) -> Sketch:
    """The sketch that a result is judged on: that of its groups alone, where the sketch has more columns.

    Such results come from `decide_by=fair_between` and from `unified=True` with `fair_between`.
    """
    groups = sketch.groups
    if result.question.fair_between is None or result.question.by_segment:
        return sketch
    if set(groups) & set(result.rates) or not all(isinstance(name, tuple) for name in groups):
        return sketch
    return protected_sketch(sketch, roles_of(result, sketch))
