"""Results with other values, for tests that show that somebody notices."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

import gstar_fast as gf
from gstar_fast._question.question import read_limits
from gstar_fast._solver.answer.parts import Held, Part

RECORDS = ("proof", "origin")
SHORT = {  # names that say more than those of the parts
    "default_threshold": ("thresholds", "default"),
    "by_segment": ("rates", "by_segment"),
    "before_gaps": ("gaps", "before"),
    "before_rates": ("rates", "before"),
}


def places(result: gf.Result) -> Iterator[tuple[str, str | None]]:
    """Every place of a value in a result: a field, or a part and a field or an attribute of it; the question is one."""
    for field in fields(result):
        value = getattr(result, field.name)
        if isinstance(value, Part):
            yield from ((field.name, more) for more in vars(value))
        if field.name in RECORDS:
            yield from ((field.name, more.name) for more in fields(value))
        else:
            yield field.name, None


def value_at(result: gf.Result, part: str, name: str | None) -> Any:
    """The value at a place."""
    value = getattr(result, part)
    if name is not None:
        return getattr(value, name)
    return dict(value) if isinstance(value, Part) else value


def with_value(result: gf.Result, part: str, name: str | None, value: Any) -> gf.Result:
    """The result with another value at a place; what belongs to a mapping stays."""
    old = getattr(result, part)
    if isinstance(old, Part):
        new = copy.copy(old)
        if name is not None:
            setattr(new, name, value)
        elif isinstance(value, Mapping):
            new.clear()
            new.update(value)
        else:
            new = value
    else:
        new = value if name is None else replace(old, **{name: value})
    return replace(result, **{part: new})


def changed(result: gf.Result, **values: Any) -> gf.Result:
    """The result with other values, each under its own name, whatever part it stands in.

    `limits` are as `solve` takes them, and what is said to be held follows them, as in a file.
    """
    known = {name or part: (part, name) for part, name in reversed(list(places(result)))} | SHORT
    for name, value in values.items():
        result = _with_limits(result, value) if name == "limits" else with_value(result, *known[name], value)
    return result


def asked(result: gf.Result, **options: Any) -> gf.Result:
    """The result with other options in its question, which nobody has checked."""
    return replace(result, question=replace(result.question, **options))


def _with_limits(result: gf.Result, limits: Any) -> gf.Result:
    new = read_limits(limits)
    known = {one.limit.key: one for one in result.gaps.held}
    held = tuple(
        replace(known[one.key], limit=one)
        if one.key in known
        else Held(one, result.gaps.get(one.criterion.name), result.gaps.before.get(one.criterion.name))
        for one in new
    )
    return changed(asked(result, limits=new), held=held)
