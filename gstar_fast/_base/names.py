"""Names of groups: what may be one, the order they stand in, and how messages list them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from gstar_fast._base.refusals.refusal import refusal

Scalar: TypeAlias = int | str | bool
Name: TypeAlias = Scalar | tuple[Scalar, ...]
SortKey: TypeAlias = "tuple[int, Scalar | tuple[SortKey, ...]]"

MOST_GROUPS = 65_535
LONGEST_TUPLE = 16


def sort_key(name: Name) -> SortKey:
    """Key of the canonical order: bools, ints, strings by code point, tuples element by element.

    It also tells True from 1, which `==` does not.
    """
    if isinstance(name, bool):
        return (0, name)
    if isinstance(name, int):
        return (1, name)
    if isinstance(name, str):
        return (2, name)
    return (3, tuple(map(sort_key, name)))


def canonical(names: Iterable[Name]) -> list[Name]:
    """The names in canonical order."""
    return sorted(names, key=sort_key)


def is_missing(value: object) -> bool:
    """Whether a value of a column stands for "not known": None, NaN, pandas' NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(value != value)


def lacks_a_part(group: object) -> bool:
    """Whether a group is missing: it, or a part of a tuple."""
    return any(map(is_missing, group)) if isinstance(group, tuple) else is_missing(group)


def clean_name(value: object, row: int | None = None, argument: str = "groups") -> Name:
    """Return the name as a plain Python value, or raise; errors say in which row of what it stands."""
    if isinstance(value, tuple):
        if not 1 <= len(value) <= LONGEST_TUPLE:
            raise refusal("bad_tuple", argument, row, value, LONGEST_TUPLE)
        return tuple(_clean_scalar(part, row, argument) for part in value)
    return _clean_scalar(value, row, argument)


def _clean_scalar(value: object, row: int | None, argument: str) -> Scalar:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        number = int(value)
        if not -(2**63) <= number < 2**63:
            raise refusal("too_large_group", argument, row, number)
        return number
    if isinstance(value, str):
        text = str(value)
        if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
            raise refusal("bad_unicode", argument, row, text)
        return text
    if is_missing(value):
        raise refusal("missing_group", argument, row)
    raise refusal("bad_group_type", argument, row, value)


def check_distinct(names: Iterable[Name]) -> None:
    """Reject names Python could not tell apart in a dict, such as True and 1."""
    seen: dict[Name, Name] = {}
    for name in names:
        other = seen.setdefault(name, name)
        if other is not name and sort_key(other) != sort_key(name):
            raise refusal("indistinct_groups", "groups", value=tuple(canonical((other, name))))


def given_names(groups: Iterable[object]) -> tuple[Name, ...]:
    """Check what the user passed as `groups=` of a sketch."""
    if isinstance(groups, (str, bytes)) or not isinstance(groups, Iterable):
        raise refusal("groups_text", "groups=", value=groups)
    names = tuple(clean_name(value, i, "groups=") for i, value in enumerate(groups))
    if not names:
        raise refusal("groups_empty", "groups=")
    check_distinct(names)
    for name, times in Counter(names).items():
        if times > 1:
            raise refusal("group_twice", "groups=", value=name)
    return names


def listed(names: Sequence[Name]) -> str:
    """Names as they appear in messages: at most ten."""
    from gstar_fast._base.text import first_few  # not at import: few programs need it

    return first_few(map(repr, names), 10)


def as_tuple(name: Name) -> tuple[Scalar, ...]:
    """The parts of a name; a plain one is its only part."""
    return name if isinstance(name, tuple) else (name,)


def joined_columns(names: Sequence[str]) -> str:
    """Names of group columns as one text, for the thresholds file: a line of CSV where there are several."""
    if len(names) == 1:
        return str(names[0])
    import csv
    import io

    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()
