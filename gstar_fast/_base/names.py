"""Names of groups: what may be one, the order they stand in, and how messages list them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from gstar_fast._base.text import first_few

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


def missing_group(where: str) -> TypeError:
    """The error for a row without a group."""
    return TypeError(f"groups has a missing value{where}; drop such rows or give them a group of their own")


def clean_name(value: object, where: str = "") -> Name:
    """Return the name as a plain Python value, or raise; `where` (" at row 3") ends the message."""
    if isinstance(value, tuple):
        if not 1 <= len(value) <= LONGEST_TUPLE:
            raise ValueError(
                f"a group name may be a tuple of 1 to {LONGEST_TUPLE} values, got {len(value)}{where}; "
                "join some of them into one string"
            )
        return tuple(_clean_scalar(part, where) for part in value)
    return _clean_scalar(value, where)


def _clean_scalar(value: object, where: str) -> Scalar:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        number = int(value)
        if not -(2**63) <= number < 2**63:
            raise ValueError(f"group {number}{where} does not fit into 64 bits; use a string instead")
        return number
    if isinstance(value, str):
        text = str(value)
        if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
            raise ValueError(f"group name {text!r}{where} is not valid Unicode; replace its lone surrogates")
        return text
    if is_missing(value):
        raise missing_group(where)
    kind, cure = type(value).__name__, ""
    if isinstance(value, (float, np.floating)):
        kind, cure = "float", "; pass whole numbers as int, such as column.astype(int), and cut others into ranges"
    elif isinstance(value, bytes):
        kind, cure = "bytes", "; decode bytes first: name.decode(), or np.char.decode(groups)"
    raise TypeError(f"group names must be int, str, bool or tuples of these, got {kind}{where}{cure}")


def check_distinct(names: Iterable[Name]) -> None:
    """Refuse names Python could not tell apart in a dict, such as True and 1."""
    seen: dict[Name, Name] = {}
    for name in names:
        other = seen.setdefault(name, name)
        if other is not name and sort_key(other) != sort_key(name):
            one, two = canonical((other, name))
            raise ValueError(f"groups has both {one!r} and {two!r}, which Python cannot tell apart; use one kind")


def given_names(groups: Iterable[object]) -> tuple[Name, ...]:
    """Check what the user passed as `groups=` of a sketch."""
    if isinstance(groups, (str, bytes)):
        raise TypeError(f"groups must be a list of names, got {groups!r}; pass groups=[{groups!r}]")
    names = tuple(clean_name(value, f" at position {i} of groups=") for i, value in enumerate(groups))
    if not names:
        raise ValueError("groups= is empty; name at least one group, or leave groups= out to learn them")
    check_distinct(names)
    seen: set[Name] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"group {name!r} appears twice in groups=; give each name once")
        seen.add(name)
    return names


def listed(names: Sequence[Name]) -> str:
    """Names as they appear in messages: at most ten."""
    return first_few(map(repr, names), 10)


def as_tuple(name: Name) -> tuple[Scalar, ...]:
    """The parts of a name; a plain one is its only part."""
    return name if isinstance(name, tuple) else (name,)


def joined_columns(names: Sequence[str]) -> str:
    """Names of group columns as one text, for the thresholds file: a line of CSV where there are several."""
    if len(names) == 1:
        return str(names[0])
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()
