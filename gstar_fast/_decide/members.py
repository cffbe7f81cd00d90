"""Members of saved thresholds: which there are, and what may stand in each.

`csrc/gstar/thresholds_json.hpp` says the same in C++, `schemas/` for other tools.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gstar_fast._base.json import bad_document


@dataclass(frozen=True)
class Kind:
    """A kind of values: how it is called, and whether a value is one."""

    words: tuple[str, ...]
    holds: Callable[[object], bool]

    def __or__(self, other: Kind) -> Kind:
        return Kind((*self.words, *other.words), lambda value: self.holds(value) or other.holds(value))

    def check(self, value: object, where: str) -> None:
        """Refuse a value of another kind."""
        if not self.holds(value):
            words = ", ".join(self.words[:-1]) + " or " * (len(self.words) > 1) + self.words[-1]
            raise bad_document(f"{where} must be {words}; got {reprlib.repr(value)}")


@dataclass(frozen=True)
class Member:
    """What may stand in a member, and whether it may be left out."""

    kind: Kind
    required: bool = True


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def word(*words: str) -> Kind:
    """One of a few strings."""
    return Kind(tuple(map(repr, words)), lambda value: isinstance(value, str) and value in words)


NULL: Final = Kind(("null",), lambda value: value is None)
SWITCH: Final = Kind(("true", "false"), lambda value: isinstance(value, bool))
NUMBER: Final = Kind(("a number",), _is_number)
THRESHOLD: Final = NUMBER | word("inf", "-inf")  # JSON has no infinities
COUNT: Final = Kind(("a whole number of at least 0",), _is_count)
TEXT: Final = Kind(("a string",), lambda value: isinstance(value, str))
LIST: Final = Kind(("a list",), lambda value: isinstance(value, list))
OBJECT: Final = Kind(("an object",), lambda value: isinstance(value, dict))
ANYTHING: Final = Kind(("anything",), lambda _: True)  # looked at by whoever takes it

OF_PART: Final = {"threshold": Member(THRESHOLD), "probability": Member(NUMBER)}
OF_GROUP: Final = {
    "name": Member(ANYTHING),
    "threshold": Member(THRESHOLD),
    "mixture": Member(LIST, required=False),
}
OF_THRESHOLDS: Final = {
    "format": Member(TEXT),
    "version": Member(COUNT),
    "groups": Member(LIST),
    "unknown": Member(word("raise", "default") | THRESHOLD, required=False),
    "nan": Member(word("raise") | SWITCH, required=False),
    "expires": Member(TEXT | NULL, required=False),
    "cuts": Member(LIST | NULL, required=False),
    "checksum": Member(TEXT),
    "unified": Member(SWITCH, required=False),
    "default_threshold": Member(THRESHOLD | NULL, required=False),
    **dict.fromkeys(("sketch_digest", "score_column", "group_column"), Member(TEXT | NULL, required=False)),
}


def check_members(value: Any, members: Mapping[str, Member], where: str, *, others: bool = False) -> None:
    """Refuse what is not an object with these members; with `others` it may have more."""
    OBJECT.check(value, where or "the document")
    for key, found in value.items():
        member = members.get(key)
        if member is None and others:
            continue
        if member is None:
            raise bad_document(f"{where or 'the document'} has an unknown member {reprlib.repr(key)}")
        if not member.kind.holds(found):
            member.kind.check(found, f"{where}.{key}" if where else key)
    for key, member in members.items():
        if member.required and key not in value:
            raise bad_document(f"{where or 'it'} lacks {key!r}")


def check_parts(parts: list[object], kind: Kind, where: str) -> None:
    """Refuse a list with a part of another kind."""
    for i, part in enumerate(parts):
        kind.check(part, f"{where}[{i}]")
