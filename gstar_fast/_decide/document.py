"""Saved documents: thresholds and results as JSON, written and read here and nowhere else.

One strict reader; a decider and a result are two views of what it read. `docs/guide/decide.md` states the grammar and
`schemas/` has it for other tools. `csrc/gstar/thresholds_json.hpp` reads the members that decide in C++, and
`tests/documents` compares the two.
"""

from __future__ import annotations

import os
import re
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from gstar_fast._base import json
from gstar_fast._base.files import read_limited
from gstar_fast._base.json import bad_document, decode_name, decode_number, encode_name, encode_number
from gstar_fast._base.names import MOST_GROUPS, Name
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.text import printable
from gstar_fast._base.thresholds import Mixture, Thresholds, date_text, make
from gstar_fast._base.warn import warn
from gstar_fast._input.options import checked_flag
from gstar_fast.errors import InfeasibleWarning, UnpromisedWarning

FORMAT: Final = "gstar_fast.thresholds"
RESULT_FORMAT: Final = "gstar_fast.result"
VERSION: Final = 1
DOUBTFUL: Final = {"infeasible": InfeasibleWarning, "unpromised": UnpromisedWarning}  # verdicts that a reader must hear
LONGEST: Final = 2**27  # bytes; 65,535 groups with two thresholds each take less than half of it


Content: TypeAlias = Mapping[str, Any]  # of an object of JSON


@dataclass(frozen=True)
class Document:
    """A document that was read and found sound: every member is there and is what it should be."""

    content: Content
    thresholds: Thresholds

    @property
    def is_result(self) -> bool:
        """Whether it says more than thresholds."""
        return bool(self.content["format"] == RESULT_FORMAT)


# ------------------------------------------------------------------------------------------------------------ members


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


def word(*words: str) -> Kind:
    """One of a few strings."""
    return Kind(tuple(map(repr, words)), lambda value: isinstance(value, str) and value in words)


NULL: Final = Kind(("null",), lambda value: value is None)
SWITCH: Final = Kind(("true", "false"), lambda value: isinstance(value, bool))
NUMBER: Final = Kind(
    ("a number",),
    lambda value: type(value) is float or (isinstance(value, (int, float)) and not isinstance(value, bool)),
)
THRESHOLD: Final = NUMBER | word("inf", "-inf")  # JSON has no infinities
COUNT: Final = Kind(("a whole number of at least 0",), lambda value: type(value) is int and value >= 0)
TEXT: Final = Kind(("a string",), lambda value: isinstance(value, str))
LIST: Final = Kind(("a list",), lambda value: isinstance(value, list))
OBJECT: Final = Kind(("an object",), lambda value: isinstance(value, dict))
ANYTHING: Final = Kind(("anything",), lambda _: True)  # checked where it is read

OF_PART: Final = {"threshold": Member(THRESHOLD), "probability": Member(NUMBER)}
OF_GROUP: Final = {"name": Member(ANYTHING), "threshold": Member(THRESHOLD), "mixture": Member(LIST, required=False)}
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


# ------------------------------------------------------------------------------------------------------------- writing


def encode_groups(
    values: Mapping[Name, float],
    mixtures: Mapping[Name, Mixture] | None,
    more: Callable[[Name], Mapping[str, object]] = lambda _: {},
) -> list[dict[str, object]]:
    """The member "groups"; `more` is what a result says of a group besides."""
    groups = []
    for name, threshold in values.items():
        entry: dict[str, object] = {"name": encode_name(name), "threshold": encode_number(threshold), **more(name)}
        if mixtures is not None:
            entry["mixture"] = [{"threshold": encode_number(t), "probability": p} for t, p in mixtures[name]]
        groups.append(entry)
    return groups


def to_json(t: Thresholds) -> str:
    """The thresholds as readable JSON."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "unified": t.unified,
        "groups": encode_groups(t.values, t.mixtures),
        "default_threshold": encode_number(t.default),
        "score_column": t.score_column,
        "group_column": t.group_column,
        **({} if t.cuts is None else {"cuts": list(t.cuts)}),  # thresholds by segments of a number
    }
    return json.dumps(seal(content, t))


def seal(content: Mapping[str, object], t: Thresholds) -> dict[str, object]:
    """Add version, policies, origin, expiry and checksum to what has the thresholds; a result's content, or ours."""
    unknown = t.unknown if isinstance(t.unknown, str) else encode_number(t.unknown)
    return json.sealed(
        {
            **content,
            "version": VERSION,
            "unknown": unknown,
            "nan": t.nan,
            "sketch_digest": t.sketch_digest,
            "expires": None if t.expires is None else date_text(t.expires),
        }
    )


# ------------------------------------------------------------------------------------------------------------- reading


def load(path: str | os.PathLike[str], *, only_result: bool = False) -> Document:
    """The document in a file; ValueError names the file and says what is wrong with it."""
    shown = os.fspath(path)
    data = read_limited(
        path,
        LONGEST,
        f"larger than {LONGEST >> 20} MiB, and thresholds of {MOST_GROUPS:,} groups take less; check the path",
    )
    try:
        return read(data.decode("utf-8"), only_result=only_result)
    except UnicodeDecodeError:
        raise bad_document(f"{shown!r} is not UTF-8 text, so not saved thresholds, nor a result") from None
    except ValueError as error:
        raise bad_document(f"{shown!r}: {error}") from None


def load_current(
    path: str | os.PathLike[str], *, allow_expired: bool = False, digest: str | None = None, now: datetime | None = None
) -> Thresholds:
    """The thresholds in a file to decide by: refused where they are stale or foreign, with a warning if infeasible."""
    shown = os.fspath(path)
    allow_expired = checked_flag("allow_expired", allow_expired)
    document = load(path)
    _check_current(document.thresholds, allow_expired, digest, now, f"{shown!r}: ")
    verdict = str(document.content.get("verdict"))
    if verdict in DOUBTFUL:
        warn(f"{shown!r} is {verdict}: {printable(str(document.content.get('message')))}", DOUBTFUL[verdict])
    return document.thresholds


def _check_current(t: Thresholds, allow_expired: bool, digest: str | None, now: datetime | None, where: str) -> None:
    moment = datetime.now(UTC) if now is None else now
    if t.expires is not None and not allow_expired and moment.timestamp() >= t.expires:
        raise refusal("expired", where or None, value=date_text(t.expires))
    if digest is not None and t.sketch_digest != digest:
        found = "no sketch is named in them" if t.sketch_digest is None else f"theirs is {t.sketch_digest}"
        raise bad_document(f"{where}these thresholds did not come from the sketch with digest {digest}: {found}")


def read(text: str, *, only_result: bool = False) -> Document:
    """The document of a text; ValueError says what is wrong, and where. `only_result` refuses thresholds alone."""
    json.check_text(text)
    if len(text) > LONGEST // 4 and len(text.encode("utf-8", "surrogatepass")) > LONGEST:
        raise bad_document(f"not valid thresholds: larger than {LONGEST >> 20} MiB")
    content = json.read(text)
    found = content.get("format") if isinstance(content, dict) else None
    try:
        if found != RESULT_FORMAT and (only_result or found != FORMAT):
            raise bad_document(f"'format' is not {RESULT_FORMAT!r}" + f" nor {FORMAT!r}" * (not only_result))
        return _checked(content, found == RESULT_FORMAT)
    except (TypeError, ValueError) as error:
        what = "a saved result" if only_result or found == RESULT_FORMAT else "valid thresholds"
        raise bad_document(f"not {what}: {error}") from None


def _checked(content: Content, is_result: bool) -> Document:
    """Of a result, only the members that decide are looked at here, and the checksum of all."""
    wanted = json.checksum(content)  # of all that is there, so it also finds text that is no text
    check_version(content)
    check_members(content, OF_THRESHOLDS, "", others=is_result)
    document = Document(content, thresholds_in(content, is_result))
    json.check_seal(content, wanted)
    return document


def check_version(content: Content) -> None:
    version = content.get("version")
    if type(version) is not int or version != VERSION:
        raise bad_document(f"it is of version {version!r}, and this release reads {VERSION}; install a newer one")


def thresholds_in(content: Content, is_result: bool) -> Thresholds:
    """The thresholds of content whose members are those it should have."""
    values: dict[Name, float] = {}
    mixtures: dict[Name, Mixture] = {}
    for i, entry in enumerate(content["groups"]):
        where = f"groups[{i}]"
        check_members(entry, OF_GROUP, where, others=is_result)
        name = decode_name(entry["name"], f"{where}.name")
        if name in values:
            raise bad_document(f"{where}.name repeats {name!r}")
        values[name] = decode_number(entry["threshold"])
        if "mixture" in entry:
            mixtures[name] = _mixture(entry["mixture"], f"{where}.mixture")
    default, expires, cuts = (content.get(key) for key in ("default_threshold", "expires", "cuts"))
    if cuts is not None:
        check_parts(cuts, NUMBER, "cuts")
    unknown = content.get("unknown", "raise")
    return make(
        values,
        unified=content.get("unified", False),
        default=None if default is None else decode_number(default),
        mixtures=mixtures or None,
        unknown=unknown if unknown in ("raise", "default") else decode_number(unknown),
        nan=content.get("nan", "raise"),
        sketch_digest=content.get("sketch_digest"),
        expires=None if expires is None else _seconds(expires),
        score_column=content.get("score_column"),
        group_column=content.get("group_column"),
        cuts=cuts,
    )


def _mixture(parts: list[dict[str, float]], where: str) -> Mixture:
    if not parts:
        raise bad_document(f"{where} must have at least one part")
    for i, part in enumerate(parts):
        check_members(part, OF_PART, f"{where}[{i}]")
    return tuple((decode_number(part["threshold"]), part["probability"]) for part in parts)


_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})Z")


def _seconds(text: str) -> int:
    """Seconds since 1970 of a date in the one form that a document has."""
    found = _DATE.fullmatch(text)
    if found is None:
        raise bad_document(f"expires must be a date in UTC such as '2030-01-31T00:00:00Z'; got {reprlib.repr(text)}")
    try:
        year, month, day, hour, minute, second = map(int, found.groups())
        return int(datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp())
    except ValueError:
        raise bad_document(f"expires is not a date of the calendar: {text}") from None
