"""Results of questions that name columns: told of the sketch that has them all."""

from __future__ import annotations

import csv
from dataclasses import replace

from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._question.cut import Column
from gstar_fast._question.roles import Roles, asked_roles
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._solver.answer.result import Result
from gstar_fast.errors import OptionValueError


def roles_of(result: Result, sketch: Sketch) -> Roles:
    """The roles of a result by segment among the columns of a sketch; refuses a sketch of other columns."""
    try:
        return asked_roles(sketch, result.fair_between, result.decide_by)
    except OptionValueError as error:  # who audits has named no columns
        raise refusal(
            "roles_elsewhere", "sketch", value=(result.fair_between, result.decide_by), limit=error.limit
        ) from None


def protected_sketch(sketch: Sketch, asked: Roles) -> Sketch:
    """The rows of a sketch under the names of their protected groups alone."""
    return sketch._under(asked.protected)


def segment_sketch(sketch: Sketch, asked: Roles) -> Sketch:
    """The rows of a sketch under the names of their segments alone."""
    return sketch._under(asked.segment)


def on_its_columns(result: Result, sketch: Sketch) -> tuple[Result, Sketch]:
    """A result by group, or unified, and a sketch of its groups alone where the sketch has more columns.

    Such results come from `decide_by=fair_between` and `unified=True`. Everything else is as it was.
    """
    groups = sketch.groups
    if result.decide_by is not None or not all(isinstance(name, tuple) for name in groups):
        return result, sketch
    if set(groups) & set(result.rates) or (between := _counted_by(result, sketch)) is None:
        return result, sketch
    alone = protected_sketch(sketch, roles_of(replace(result, fair_between=between, decide_by=between), sketch))
    return replace(result, _between=between), alone


def _counted_by(result: Result, sketch: Sketch) -> tuple[Column, ...] | None:
    """The columns of the sketch that the groups of a result are made of, as far as is known."""
    named, column = sketch.columns.group, result.group_column
    if result._between is not None or not isinstance(named, tuple) or column is None:
        return result._between
    columns = (column,) if column in named else tuple(next(csv.reader([column])))
    if not set(columns) <= set(named) or (result.unified and result.sketch_digest != sketch.digest()):
        return None  # one threshold for everybody may be judged between any groups
    return columns
