"""A set of thresholds: checked when it is made, and the same bytes for the same set.

`docs/guide/decide.md` has the bytes; the backends are made from them. JSON is in `_decide/document.py`.
"""

from __future__ import annotations

import math
import reprlib
import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Final, Literal, TypeAlias, TypeVar

import numpy as np

from gstar_fast._base.bytes import name_bytes, varint
from gstar_fast._base.names import MOST_GROUPS, Name, check_distinct, clean_name
from gstar_fast._base.refusals.place import bad_type, bad_value
from gstar_fast._base.refusals.refusal import refusal

BINARY_VERSION: Final = 1
MAGIC: Final = b"\x89GTHRS\r\n"
HEADER: Final = struct.Struct("<8sHHBBHQ")
EPOCH: Final = datetime(1970, 1, 1)  # in UTC
FIRST_SECOND: Final = (datetime.min - EPOCH) // timedelta(seconds=1)
LAST_SECOND: Final = (datetime.max - EPOCH) // timedelta(seconds=1)
INFINITE: Final = "use inf to accept nobody, -inf to accept everybody"
ISO: Final = "2030-01-31T00:00:00Z"
UNIFIED, RANDOMIZED, DEFAULT, DIGEST, EXPIRES, CUTS = 1, 2, 4, 8, 16, 32

Unknown: TypeAlias = Literal["raise", "default"] | float
Nan: TypeAlias = Literal["raise"] | bool
Mixture: TypeAlias = tuple[tuple[float, float], ...]
Number = TypeVar("Number", int, float)


def most_probable(parts: Iterable[tuple[Number, float]]) -> Number:
    """The most probable threshold, or candidate, of a mixture; of equal ones the lowest."""
    return max(parts, key=lambda part: (part[1], -part[0]))[0]


@dataclass(frozen=True)
class Thresholds:
    """What decisions depend on, and where it came from. Made by `make`, which checks it."""

    values: Mapping[Name, float]
    unified: bool = False
    default: float | None = None
    mixtures: Mapping[Name, Mixture] | None = None
    unknown: Unknown = "raise"
    nan: Nan = "raise"
    sketch_digest: str | None = None
    expires: int | None = None  # seconds since 1970, UTC
    score_column: str | None = None
    group_column: str | None = None
    cuts: tuple[float, ...] | None = None  # of a number that stands for the group; groups are its segments then

    @property
    def unknown_threshold(self) -> float | None:
        """Threshold of a group that has none; None where it is rejected."""
        if self.unknown == "raise":
            return None
        return self.default if self.unknown == "default" else float(self.unknown)

    @property
    def by_segment(self) -> list[float | None]:
        """With cut points: the threshold of each segment from 0 on, then that of NaN; None where it is rejected."""
        unknown = self.unknown_threshold
        return [*(self.values.get(k, unknown) for k in range(len(self.cuts or ()) + 1)), unknown]

    @property
    def can_refuse(self) -> bool:
        """Whether some rows raise instead of being decided."""
        return self.nan == "raise" or (self.unknown == "raise" and not self.unified)

    def to_bytes(self) -> bytes:
        """The binary form; its last four bytes are the checksum."""
        return _to_bytes(self)

    @property
    def checksum(self) -> str:
        """Of all that decisions depend on: the one of the binary form."""
        return f"crc32:{struct.unpack('<I', self.to_bytes()[-4:])[0]:08x}"

    def with_policies(self, unknown: Unknown, nan: Nan) -> Thresholds:
        """The same thresholds with other policies."""
        return replace(self, unknown=checked_unknown(unknown, self.default), nan=_checked_nan(nan))


def make(
    values: Mapping[Any, float],
    *,
    unified: bool = False,
    default: float | None = None,
    mixtures: Mapping[Any, Iterable[tuple[float, float]]] | None = None,
    unknown: Unknown = "raise",
    nan: Nan = "raise",
    sketch_digest: str | None = None,
    expires: datetime | str | int | None = None,
    score_column: str | None = None,
    group_column: str | None = None,
    cuts: Iterable[float] | None = None,
) -> Thresholds:
    """Check a set of thresholds; ValueError and TypeError say what is wrong with it."""
    if not isinstance(values, Mapping):
        raise bad_type("thresholds", f"thresholds must be a dict of group -> number, got {type(values).__name__}")
    names = [clean_name(name, argument="thresholds") for name in values]
    check_distinct(names)
    if not names:
        raise bad_value("thresholds", "thresholds is empty; give one for each group")
    if len(names) > MOST_GROUPS:
        raise refusal("too_many_groups", "thresholds", value=len(names), limit=MOST_GROUPS)
    clean = {
        name: _number(value, f"the threshold of group {name!r}")
        for name, value in zip(names, values.values(), strict=True)
    }
    if unified and (len(set(clean.values())) > 1 or mixtures is not None):
        raise bad_value("thresholds", "unified thresholds are one number for everybody, but these groups differ")
    clean_default = None if default is None else _number(default, "default")
    return Thresholds(
        values=clean,
        unified=bool(unified),
        default=clean_default,
        mixtures=None if mixtures is None else _checked_mixtures(mixtures, clean),
        unknown=checked_unknown(unknown, clean_default),
        nan=_checked_nan(nan),
        sketch_digest=_checked_digest(sketch_digest),
        expires=None if expires is None else _seconds(expires),
        score_column=score_column,
        group_column=group_column,
        cuts=None if cuts is None else _checked_cuts(cuts, names, unified),
    )


# --------------------------------------------------------------------------------------------------------------- checks


def _number(value: object, what: str) -> float:
    if isinstance(value, (bool, np.bool_, str, bytes)) or not hasattr(value, "__float__"):
        raise bad_type("thresholds", f"{what} must be a number, got {value!r}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isnan(number):
        raise bad_value("thresholds", f"{what} is NaN; {INFINITE}")
    if math.isinf(number) and value != number:
        raise bad_value("thresholds", f"{what} is too large for a float64; {INFINITE}")
    return number + 0.0  # -0.0 is 0.0


def checked_unknown(unknown: object, default: float | None) -> Unknown:
    """A policy for groups without a threshold; raises where it is none."""
    if not isinstance(unknown, str):
        return _number(unknown, "unknown")
    if unknown == "raise":
        return "raise"
    if unknown != "default":
        raise bad_value("unknown", f'unknown must be "raise", "default" or a threshold; got {unknown!r}')
    if default is None:
        why = 'unknown="default" needs a default threshold, and there is none; give a number instead'
        raise bad_value("unknown", why)
    return "default"


def _checked_nan(nan: object) -> Nan:
    if isinstance(nan, bool):
        return nan
    if nan != "raise":
        raise bad_value("nan", f'nan must be "raise", False (reject) or True (accept); got {nan!r}')
    return "raise"


def _checked_mixtures(
    mixtures: Mapping[Any, Iterable[tuple[float, float]]], names: Iterable[Name]
) -> dict[Name, Mixture]:
    clean: dict[Name, Mixture] = {}
    for name in names:
        if name not in mixtures:
            raise bad_value("mixtures", f"mixtures lacks group {name!r}; give one for each group, or none at all")
        what = f"the mixture of group {name!r}"
        clean[name] = tuple((_number(t, what), _number(p, what)) for t, p in mixtures[name])
        chances = [p for _, p in clean[name]]
        if not chances or min(chances) < 0 or not abs(math.fsum(chances) - 1) <= 1e-9:
            why = f"the probabilities of group {name!r} must be from 0 to 1 and add up to 1, got {chances}"
            raise bad_value("mixtures", why)
    if len(mixtures) > len(clean):
        raise bad_value("mixtures", "mixtures has groups that thresholds lacks")
    return clean


def _checked_cuts(cuts: Iterable[float], names: Iterable[Name], unified: bool) -> tuple[float, ...]:
    """Finite and ascending cut points whose segments are the groups."""
    if unified:
        raise bad_value("cuts", "unified thresholds need no cuts: they are unified, and have cuts")
    clean = ascending(cuts)
    if len(clean) >= MOST_GROUPS:
        raise bad_value("cuts", f"there are {len(clean)} cuts, more than {MOST_GROUPS - 1} cuts")
    for name in names:
        if isinstance(name, bool) or not isinstance(name, int) or not 0 <= name <= len(clean):
            segments = f"these are the whole numbers from 0 to {len(clean)}"
            raise bad_value("cuts", f"group {name!r} is not a segment of the cuts: {segments}")
    return clean


def ascending(cuts: Iterable[float]) -> tuple[float, ...]:
    """Cut points as floats; rejects what is not finite and ascending."""
    if isinstance(cuts, (str, bytes)) or not isinstance(cuts, Iterable):
        raise refusal("cuts_type", "cuts", value=cuts)
    given: tuple[object, ...] = tuple(cuts)
    if any(isinstance(cut, (float, np.floating)) and math.isnan(cut) for cut in given):
        raise refusal("cuts", "cuts", value=given)
    clean = tuple(_number(cut, "a cut point") for cut in given)
    if not all(map(math.isfinite, clean)) or any(a >= b for a, b in pairwise(clean)):
        raise refusal("cuts", "cuts", value=given)
    return clean


def _checked_digest(digest: object) -> str | None:
    if digest is None:
        return None
    if not isinstance(digest, str) or len(digest) != 64 or set(digest) - set("0123456789abcdef"):
        why = f"sketch_digest must be 64 hexadecimal digits, got {digest!r}; use sketch.digest()"
        raise bad_value("sketch_digest", why)
    return digest


def _seconds(expires: datetime | str | int) -> int:
    if isinstance(expires, bool):
        raise bad_type("expires", "expires must be a date, got a bool")
    if isinstance(expires, int):
        return _within_calendar(expires)
    if isinstance(expires, str):
        try:
            expires = datetime.fromisoformat(expires)
        except ValueError:
            why = f"expires must be a date such as {ISO!r}, got {reprlib.repr(expires)}"
            raise bad_value("expires", why) from None
    if not isinstance(expires, datetime):
        raise bad_type(
            "expires",
            f"expires must be a datetime with its time zone, or text such as {ISO!r}; got {type(expires).__name__}",
        )
    if expires.tzinfo is None:
        raise bad_value("expires", f"expires needs a time zone, got {expires}; for UTC write {expires.isoformat()}Z")
    return _within_calendar(math.floor(expires.timestamp()))


def _within_calendar(seconds: int) -> int:
    """Reject a moment whose year does not have four digits."""
    if not FIRST_SECOND <= seconds <= LAST_SECOND:
        found = f"{seconds} seconds since 1970" if seconds.bit_length() < 64 else "a number beyond 64 bits"
        within = f"from {date_text(FIRST_SECOND)} to {date_text(LAST_SECOND)}, in UTC"
        raise bad_value("expires", f"expires must be {within}; got {found}")
    return seconds


def date_text(seconds: int) -> str:
    """Seconds since 1970 as a date in UTC."""
    return f"{(EPOCH + timedelta(seconds=seconds)).isoformat()}Z"


# ---------------------------------------------------------------------------------------------------------------- bytes


def _to_bytes(t: Thresholds) -> bytes:
    flags = (
        UNIFIED * t.unified
        | RANDOMIZED * (t.mixtures is not None)
        | DEFAULT * (t.default is not None)
        | DIGEST * (t.sketch_digest is not None)
        | EXPIRES * (t.expires is not None)
        | CUTS * (t.cuts is not None)
    )
    unknown = {"raise": 0, "default": 1}.get(t.unknown, 2) if isinstance(t.unknown, str) else 2
    nan = 0 if t.nan == "raise" else 1 + t.nan
    out = []
    if t.default is not None:
        out.append(struct.pack("<d", t.default))
    if unknown == 2:
        out.append(struct.pack("<d", t.unknown))
    if t.sketch_digest is not None:
        out.append(bytes.fromhex(t.sketch_digest))
    if t.expires is not None:
        out.append(struct.pack("<q", t.expires))
    if t.cuts is not None:
        out += varint(len(t.cuts)), struct.pack(f"<{len(t.cuts)}d", *t.cuts)
    out.append(varint(len(t.values)))
    for name, threshold in t.values.items():
        out += name_bytes(name), struct.pack("<d", threshold)
        if t.mixtures is not None:
            mixture = t.mixtures[name]
            out += varint(len(mixture)), b"".join(struct.pack("<dd", *part) for part in mixture)
    body = b"".join(out)
    signed = HEADER.pack(MAGIC, BINARY_VERSION, flags, unknown, nan, 0, HEADER.size + len(body) + 4) + body
    return signed + struct.pack("<I", zlib.crc32(signed))
