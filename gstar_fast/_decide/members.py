"""Members of a saved document: which there are, and what may stand in each.

`csrc/gstar/thresholds_json.hpp` says the same in C++ of the members that decide, `schemas/` for other tools.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gstar_fast._base.json import bad_document
from gstar_fast._words import METHODS

VERDICTS: Final = ("optimal", "converged", "not_converged", "infeasible", "unified", "promised", "unpromised")


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


def _word(*words: str) -> Kind:
    """One of a few strings."""
    return Kind(tuple(map(repr, words)), lambda value: isinstance(value, str) and value in words)


NULL: Final = Kind(("null",), lambda value: value is None)
SWITCH: Final = Kind(("true", "false"), lambda value: isinstance(value, bool))
NUMBER: Final = Kind(("a number",), _is_number)
THRESHOLD: Final = NUMBER | _word("inf", "-inf")  # JSON has no infinities
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
_RATES: Final = {
    "rows": Member(NUMBER),
    **dict.fromkeys(("tpr", "fpr", "selection_rate", "accuracy", "balanced_accuracy"), Member(NUMBER | NULL)),
}
OF_GROUP_IN_RESULT: Final = {**OF_GROUP, **_RATES}
OF_NOTE: Final = {"code": Member(TEXT), "text": Member(TEXT), "fields": Member(OBJECT)}
OF_SLACK: Final = {"each": Member(NUMBER), "least": Member(SWITCH)}
OF_POINT: Final = {"criterion": Member(TEXT), "number": Member(COUNT), "of": Member(COUNT), "between": Member(SWITCH)}
OF_PROTECTED: Final = {"name": Member(ANYTHING), **_RATES}
OF_ROLES: Final = {
    **dict.fromkeys(("fair_between", "decide_by", "protected"), Member(LIST)),
    "monotone": Member(SWITCH),
}
_OF_BOTH: Final = {
    "format": Member(TEXT),
    "version": Member(COUNT),
    "groups": Member(LIST),
    "unknown": Member(_word("raise", "default") | THRESHOLD, required=False),
    "nan": Member(_word("raise") | SWITCH, required=False),
    "expires": Member(TEXT | NULL, required=False),
    "cuts": Member(LIST | NULL, required=False),
    "checksum": Member(TEXT),
}
OF_THRESHOLDS: Final = {
    **_OF_BOTH,
    "unified": Member(SWITCH, required=False),
    "default_threshold": Member(THRESHOLD | NULL, required=False),
    **dict.fromkeys(("sketch_digest", "score_column", "group_column"), Member(TEXT | NULL, required=False)),
}
OF_RESULT: Final = {
    **_OF_BOTH,
    "default_threshold": Member(THRESHOLD),
    **dict.fromkeys(("sketch_digest", "score_column", "group_column"), Member(TEXT | NULL)),
    "verdict": Member(_word(*VERDICTS)),
    "method": Member(_word(*METHODS)),
    **dict.fromkeys(("message", "density"), Member(TEXT)),
    "iterations": Member(COUNT),
    **dict.fromkeys(("balanced", "unified"), Member(SWITCH)),
    **dict.fromkeys(("error", "loss", "lower_bound", "optimality_gap", "n_rows"), Member(THRESHOLD)),
    **dict.fromkeys(("limits", "penalties", "gaps", "before"), Member(OBJECT)),
    **dict.fromkeys(("costs", "notes", "trace"), Member(LIST)),
    "cost": Member(NUMBER, required=False),
    "min_rows": Member(NUMBER, required=False),
    "promise": Member(OBJECT | NULL, required=False),
    "evidence": Member(OBJECT | NULL, required=False),
    "roles": Member(OBJECT | NULL, required=False),
    "slack": Member(OBJECT, required=False),
    "point": Member(OBJECT, required=False),
    "proof": Member(LIST | NULL, required=False),  # read by `Result.check`
}
OF_PLAIN: Final = {key: member for key, member in OF_RESULT.items() if key not in ("promise", "checksum")}
OF_PROMISE: Final = {
    **dict.fromkeys(("confidence", "chance", "cost", "plain_chance"), Member(NUMBER)),
    **dict.fromkeys(("upper", "plain"), Member(OBJECT)),
    "rows_needed": Member(OBJECT | NULL),
}
OF_EVIDENCE: Final = {"level": Member(NUMBER), **dict.fromkeys(("cost", "z", "needed"), Member(NUMBER | NULL))}
OF_ROWS_NEEDED: Final = {
    **dict.fromkeys(("times", "rows"), Member(NUMBER | NULL)),
    **dict.fromkeys(("by_group", "too_small"), Member(LIST)),
}
_OF_BEFORE: Final = {"error": Member(NUMBER), "cost": Member(NUMBER, required=False), "gaps": Member(OBJECT)}


def check_members(value: Any, members: Mapping[str, Member], where: str) -> None:
    """Refuse what is not an object with these members and no others."""
    OBJECT.check(value, where or "the document")
    for key, found in value.items():
        member = members.get(key)
        if member is None:
            raise bad_document(f"{where or 'the document'} has an unknown member {reprlib.repr(key)}")
        if not member.kind.holds(found):
            member.kind.check(found, f"{where}.{key}" if where else key)
    for key, member in members.items():
        if member.required and key not in value:
            raise bad_document(f"{where or 'it'} lacks {key!r}")


def check_result(content: Mapping[str, Any]) -> None:
    """Refuse a result whose members are there, but do not hold what they should."""
    check_members(content["before"], _OF_BEFORE, "before")
    gaps = {key: content[key] for key in ("limits", "penalties", "gaps")} | {"before.gaps": content["before"]["gaps"]}
    for where, found in gaps.items():
        _check_numbers(found, where)
    check_parts(content["costs"], NUMBER, "costs")
    if len(content["costs"]) != 2:
        raise bad_document(f"costs must be two numbers; got {len(content['costs'])}")
    weighted = content["balanced"] or content["costs"] != [1, 1]
    for where, found in ({"it": content, "before": content["before"]} if weighted else {}).items():
        if "cost" not in found:
            raise bad_document(f"{where} lacks 'cost', and has costs or is balanced")
    for i, note in enumerate(content["notes"]):
        check_members(note, OF_NOTE, f"notes[{i}]")
    for name, members in {"slack": OF_SLACK, "point": OF_POINT}.items():
        if name in content:
            check_members(content[name], members, name)
    check_parts(content["trace"], THRESHOLD, "trace")
    if content.get("min_rows", 0) < 0:
        raise bad_document(f"min_rows must be at least 0; got {content['min_rows']}")
    compared = content["groups"]
    if content.get("roles") is not None:
        _check_roles(content["roles"])
        compared = content["roles"]["protected"]
    if content.get("evidence") is not None:
        check_members(content["evidence"], OF_EVIDENCE, "evidence")
    if content.get("promise") is not None:
        _check_promise(content["promise"], len(compared))


def _check_promise(promise: Mapping[str, Any], n_groups: int) -> None:
    """Refuse a promise whose members do not hold what they should; `document` reads the plain result inside."""
    check_members(promise, OF_PROMISE, "promise")
    _check_numbers(promise["upper"], "promise.upper")
    needed = promise["rows_needed"]
    if needed is None:
        return
    where = "promise.rows_needed"
    check_members(needed, OF_ROWS_NEEDED, where)
    check_parts(needed["by_group"], NUMBER | NULL, f"{where}.by_group")
    check_parts(needed["too_small"], COUNT, f"{where}.too_small")
    if len(needed["by_group"]) != n_groups:
        raise bad_document(f"{where}.by_group has {len(needed['by_group'])} entries for {n_groups} groups")
    if any(position >= n_groups for position in needed["too_small"]):
        raise bad_document(f"{where}.too_small has a position outside the {n_groups} groups")


def _check_roles(roles: Mapping[str, Any]) -> None:
    """Refuse roles whose members do not hold what they should; `document` reads the names of protected groups."""
    check_members(roles, OF_ROLES, "roles")
    for key in ("fair_between", "decide_by", "protected"):
        if not roles[key]:
            raise bad_document(f"roles.{key} must have at least one part")
    for key in ("fair_between", "decide_by"):
        check_parts(roles[key], TEXT | COUNT, f"roles.{key}")
    for i, entry in enumerate(roles["protected"]):
        check_members(entry, OF_PROTECTED, f"roles.protected[{i}]")


def _check_numbers(numbers: Mapping[str, object], where: str) -> None:
    for name, number in numbers.items():
        NUMBER.check(number, f"{where}.{name}")


def check_parts(parts: list[object], kind: Kind, where: str) -> None:
    for i, part in enumerate(parts):
        kind.check(part, f"{where}[{i}]")
