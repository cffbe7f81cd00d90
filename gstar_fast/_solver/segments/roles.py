"""What `fair_between` and `decide_by` name: columns of a sketch's groups, as positions in their tuples."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from gstar_fast._base.names import as_tuple, joined_columns
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._input.options import checked_flag
from gstar_fast._question.cut import Segments
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._solver.question import Objective
from gstar_fast._solver.result import Result
from gstar_fast._solver.segments.problem import Roles, part
from gstar_fast.errors import OptionValueError

Column: TypeAlias = str | int  # its name, or its position from 0
ColumnsLike: TypeAlias = Column | Sequence[Column]


@dataclass(frozen=True)
class Asked:
    """The roles of a question, and the columns as they were named."""

    roles: Roles
    fair_between: tuple[Column, ...]
    decide_by: tuple[Column, ...]
    names: tuple[str, ...] | None  # of all group columns, where the sketch knows them

    @property
    def by_segment(self) -> bool:
        """Whether thresholds depend on something else than the protected groups, or nothing."""
        return self.roles.decide_by not in ((), self.roles.fair_between)

    def group_column(self, positions: tuple[int, ...]) -> str | None:
        """These columns as thresholds store them."""
        return joined_columns([self.names[i] for i in positions]) if self.names and positions else None


def asked_roles(sketch: Sketch, fair_between: object, decide_by: object) -> Asked:
    """The roles that two arguments of `solve` name; refuses what names no column."""
    if fair_between is None or decide_by is None:
        missing, given = ("fair_between", "decide_by") if fair_between is None else ("decide_by", "fair_between")
        raise refusal("role_alone", missing, value=given)
    groups = sketch.groups
    if not groups:
        raise refusal("no_rows", "solving")
    lengths = {len(as_tuple(name)) for name in groups}
    if len(lengths) > 1 or lengths == {1}:
        first = groups[0]  # and one that is not like it
        others = [name for name in groups if len(as_tuple(name)) != len(as_tuple(first))]
        raise refusal("roles_groups", "sketch", value=(first, *others[:1]))
    n_columns, named = lengths.pop(), sketch.columns.group
    names = named if isinstance(named, tuple) and len(named) == n_columns else None
    protected, segment = _listed(fair_between, "fair_between"), _listed(decide_by, "decide_by")
    if not protected:
        raise refusal("no_fair_between", "fair_between")
    roles = Roles(
        _positions(protected, "fair_between", n_columns, names), _positions(segment, "decide_by", n_columns, names)
    )
    return Asked(roles, protected, segment, names)


def roles_of(result: Result, sketch: Sketch) -> Asked:
    """The roles of a result by segment among the columns of a sketch; refuses a sketch of other columns."""
    try:
        return asked_roles(sketch, result.fair_between, result.decide_by)
    except OptionValueError as error:  # who audits has named no columns
        raise refusal(
            "roles_elsewhere", "sketch", value=(result.fair_between, result.decide_by), limit=error.limit
        ) from None


def _listed(given: object, argument: str) -> tuple[Column, ...]:
    parts = given if isinstance(given, Sequence) and not isinstance(given, (str, bytes)) else (given,)
    out: list[Column] = []
    for one in parts:
        if isinstance(one, bool) or not isinstance(one, (str, int, np.integer)):
            raise refusal("role_type", argument, value=one)
        out.append(one if isinstance(one, str) else int(one))
    return tuple(out)


def _positions(
    columns: tuple[Column, ...], argument: str, n_columns: int, names: tuple[str, ...] | None
) -> tuple[int, ...]:
    out: list[int] = []
    for column in columns:
        if isinstance(column, str):
            if names is None or column not in names:
                raise refusal("role_name", argument, value=column, limit=names or n_columns)
            at = names.index(column)
        else:
            at = column
            if not 0 <= at < n_columns:
                raise refusal("role_position", argument, value=at, limit=n_columns)
        if at in out:
            raise refusal("role_twice", argument, value=column)
        out.append(at)
    return tuple(out)


def check_segments(
    objective: Objective,
    *,
    density: object,
    unified: bool,
    min_rows: float,
) -> None:
    """Refuse what does not go with thresholds by segment."""
    found = {
        "penalties": bool(objective.penalties),
        "density": not (isinstance(density, str) and density == "empirical"),
        "unified": unified,
        "min_rows": min_rows > 0,
    }
    if wrong := [name for name, given in found.items() if given]:
        raise refusal("decide_by_with", wrong[0])


def check_cut(
    sketch: Sketch, asked: Asked | None, segments: object, monotone: bool | None
) -> tuple[tuple[float, ...] | None, bool | None]:
    """The cut points of the column that thresholds depend on, and the default of `monotone` that they have.

    Refuses cut points of something else.
    """
    if segments is None:
        return None, monotone
    if not isinstance(segments, Segments):
        raise refusal("segments_type", "segments", value=segments)
    if asked is None or not asked.by_segment or len(asked.roles.decide_by) != 1:
        raise refusal("segments_alone", "segments")
    for name in sketch.groups:
        segment = asked.roles.segment(name)
        if isinstance(segment, bool) or not isinstance(segment, int) or not 0 <= segment < segments.count:
            raise refusal("segments_other", "segments", value=segment, limit=segments.count - 1)
    return segments.cuts, segments.monotone if monotone is None else monotone


def check_monotone(sketch: Sketch, asked: Asked | None, monotone: object) -> None:
    """Refuse monotone thresholds that are not by segment, or along segments that have no order."""
    if monotone is None or not checked_flag("monotone", monotone):
        return
    if asked is None or not asked.by_segment:
        raise refusal("monotone_alone", "monotone")
    for name in sketch.groups:
        segment = asked.roles.segment(name)
        if isinstance(segment, bool) or not isinstance(segment, int):
            raise refusal("monotone_segments", "monotone", value=segment)


def protected_sketch(sketch: Sketch, asked: Asked) -> Sketch:
    """The rows of a sketch under the names of their protected groups alone."""
    return _by(sketch, asked.roles.fair_between)


def segment_sketch(sketch: Sketch, asked: Asked) -> Sketch:
    """The rows of a sketch under the names of their segments alone."""
    return _by(sketch, asked.roles.decide_by)


def _by(sketch: Sketch, positions: tuple[int, ...]) -> Sketch:
    core = sketch.copy()._core
    alone = Sketch._around(core.relabelled(tuple(part(name, positions) for name in core.groups)), sketch)
    alone._stands_for(sketch)
    return alone


def of_protected(result: Result, asked: Asked) -> Result:
    """What was found on the protected sketch, told of the whole one."""
    told, promise = columns_told(asked), result.promise
    promise = result.promise
    if promise is not None:
        promise = replace(promise, plain=replace(promise.plain, **told))
    return replace(result, promise=promise, **told)


def columns_told(asked: Asked) -> dict[str, Any]:
    """The columns of protected groups as a result has them."""
    return {"group_column": asked.group_column(asked.roles.fair_between), "_between": asked.fair_between}


def on_its_columns(result: Result, sketch: Sketch) -> tuple[Result, Sketch]:
    """A result by group, or unified, and a sketch of its groups alone where the sketch has more columns.

    Such results come from `decide_by=fair_between` and `decide_by=()`. Everything else is as it was.
    """
    groups = sketch.groups
    if result.decide_by is not None or not all(isinstance(name, tuple) for name in groups):
        return result, sketch
    if set(groups) & set(result.rates) or (between := _counted_by(result, sketch)) is None:
        return result, sketch
    alone = protected_sketch(sketch, roles_of(replace(result, fair_between=between, decide_by=()), sketch))
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
