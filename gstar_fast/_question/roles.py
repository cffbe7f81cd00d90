"""Group columns of a question: between whose groups gaps are measured, and what thresholds depend on."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gstar_fast._base.names import Name, as_tuple, joined_columns
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._question.cut import Column, Segments
from gstar_fast._sketch.sketch import Sketch
from gstar_fast.errors import OptionValueError

if TYPE_CHECKING:
    from gstar_fast._question.question import Question

ColumnsLike: TypeAlias = Column | Sequence[Column]


# ---------------------------------------------------------------------------------------------------- as they are named


def read_columns(given: object, argument: str) -> tuple[Column, ...]:
    """Names and positions, at least one."""
    parts = given if isinstance(given, Sequence) and not isinstance(given, (str, bytes)) else (given,)
    out: list[Column] = []
    for one in parts:
        if isinstance(one, bool) or not isinstance(one, (str, int, np.integer)):
            raise refusal("role_type", argument, value=one)
        out.append(one if isinstance(one, str) else int(one))
    if not out:
        raise refusal("no_role", argument)
    return tuple(out)


def read_decide_by(given: object) -> tuple[Column, ...] | Segments:
    """Columns, or segments that know their column."""
    if not isinstance(given, Segments):
        return read_columns(given, "decide_by")
    if given.column is None:
        raise refusal("segments_column", "decide_by")
    return given


# -------------------------------------------------------------------------------------------------------- in a sketch


@dataclass(frozen=True)
class Roles:
    """Which positions of a group's tuple play which role, and the columns as they were named."""

    between: tuple[int, ...]  # of the protected group
    by: tuple[int, ...]  # of the segment
    fair_between: tuple[Column, ...] = ()
    decide_by: tuple[Column, ...] = ()
    names: tuple[str, ...] | None = None  # of all group columns, where the sketch knows them

    def protected(self, name: Name) -> Name:
        """The protected group of a group of the sketch."""
        return part(name, self.between)

    def segment(self, name: Name) -> Name:
        """The segment of a group of the sketch."""
        return part(name, self.by)

    @property
    def by_segment(self) -> bool:
        """Whether thresholds depend on something else than the protected groups."""
        return self.by != self.between

    @property
    def group_column(self) -> str | None:
        """The columns of segments as thresholds store them."""
        return joined_columns([self.names[i] for i in self.by]) if self.names and self.by else None


def part(name: Name, positions: tuple[int, ...]) -> Name:
    """The values of a tuple at these positions: one alone as it is, several as a tuple, none as an empty text."""
    values = name if isinstance(name, tuple) else (name,)
    chosen = tuple(values[i] for i in positions)
    return "" if not chosen else chosen[0] if len(chosen) == 1 else chosen


def roles_in(sketch: Sketch, question: Question) -> Roles:
    """The roles of the columns of a question in a sketch."""
    decide_by = question.fair_between if question.unified and question.decide_by is None else question.decide_by
    return asked_roles(sketch, question.fair_between, decide_by)


def roles_of(question: Question, sketch: Sketch) -> Roles:
    """The roles of the columns of a question that was answered; raises for a sketch of other columns."""
    try:
        return asked_roles(sketch, question.fair_between, question.columns)
    except OptionValueError as error:  # a user who audits has named no columns
        asked = question.fair_between, question.columns
        raise refusal("roles_elsewhere", "sketch", value=asked, limit=error.limit) from None


def on_its_columns(question: Question, groups: Container[Name], sketch: Sketch) -> Sketch:
    """The sketch that an answer about these groups is judged on: under their names, where it has more columns.

    Such answers come from `decide_by=fair_between` and from `unified=True` with `fair_between`.
    """
    names = sketch.groups
    if question.fair_between is None or question.by_segment:
        return sketch
    if any(name in groups for name in names) or not all(isinstance(name, tuple) for name in names):
        return sketch
    return sketch._under(roles_of(question, sketch).protected)


def asked_roles(
    sketch: Sketch, fair_between: tuple[Column, ...] | None, decide_by: tuple[Column, ...] | Segments | None
) -> Roles:
    """The roles of columns of a sketch; with None all columns decide. Raises for a column that is not there."""
    between, groups = fair_between or (), sketch.groups
    if not groups:
        raise refusal("no_rows", "solving")
    lengths = {len(as_tuple(name)) for name in groups}
    if len(lengths) > 1 or lengths == {1}:
        first = groups[0]  # and one that is not like it
        others = [name for name in groups if len(as_tuple(name)) != len(as_tuple(first))]
        raise refusal("roles_groups", "sketch", value=(first, *others[:1]))
    n_columns, named = lengths.pop(), sketch.columns.group
    names = named if isinstance(named, tuple) and len(named) == n_columns else None
    protected = _positions(between, "fair_between", n_columns, names)
    if decide_by is None:
        every = tuple(range(n_columns))
        return Roles(protected, every, between, names or every, names)
    columns = read_columns(decide_by.column, "decide_by") if isinstance(decide_by, Segments) else decide_by
    roles = Roles(protected, _positions(columns, "decide_by", n_columns, names), between, columns, names)
    if isinstance(decide_by, Segments):
        _check_segments(sketch, roles, decide_by)
    return roles


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


def _check_segments(sketch: Sketch, roles: Roles, segments: Segments) -> None:
    """Raise for segments of the protected column, or of a column that has other values than they say."""
    if not roles.by_segment:
        raise refusal("segments_alone", "decide_by", value=segments.column)
    for name in sketch.groups:
        segment = roles.segment(name)
        whole = isinstance(segment, int) and not isinstance(segment, bool)
        if segments.cuts is not None and not (whole and 0 <= segment < segments.count):  # type: ignore[operator]
            raise refusal("segments_other", "decide_by", value=segment, limit=segments.count - 1)
        if segments.monotone and not whole:
            raise refusal("monotone_segments", "decide_by", value=segment)
