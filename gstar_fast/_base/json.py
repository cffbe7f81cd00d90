"""Documents in JSON: read strictly, and sealed with a checksum of all that they say.

The checksum is of the values, not of the text: a document may be indented again, its keys may stand in another order,
and 1.0 may be written as 1. `docs/guide/decide.md` has the rule; `json.hpp` and `thresholds_json.hpp` in C++ follow it.
"""

from __future__ import annotations

import json
import math
import reprlib
import struct
import zlib
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from gstar_fast._base.names import Name, clean_name
from gstar_fast._base.refusals.place import bad_type, bad_value
from gstar_fast.errors import InputValueError

DEEPEST: Final = 32
_whole_number = struct.Struct("<cq").pack
_real_number = struct.Struct("<cd").pack
_size = struct.Struct("<cQ").pack


def bad_document(text: str) -> InputValueError:
    """The error for a document that cannot be read, or says what it may not."""
    return bad_value("document", text)


def check_text(text: object) -> None:
    """Reject what is not text: a parsed document, a path, None."""
    if not isinstance(text, (str, bytes)):
        found = type(text).__name__
        raise bad_type("text", f"text must be JSON as str or bytes, got {found}; a file is read by load(path)")


def read(text: str | bytes) -> Any:
    """The value of a text; ValueError where it is no JSON, or where two readers could take it for different things."""
    check_text(text)
    try:
        text = text.decode("utf-8") if isinstance(text, bytes) else text
        if text.startswith("\ufeff"):
            raise bad_document("not JSON: it begins with a byte order mark; save it without one")
        return json.loads(
            text, parse_int=_whole, parse_float=_real, parse_constant=_no_constant, object_pairs_hook=_no_twins
        )
    except json.JSONDecodeError as error:
        raise bad_document(f"not JSON: {error}") from None
    except UnicodeDecodeError:
        raise bad_document("not JSON: it is not UTF-8 text") from None
    except RecursionError:
        raise bad_document("not JSON: it is nested too deeply") from None


def _whole(digits: str) -> int | float:
    """A whole number that fits into 64 bits stays whole, as in C++."""
    value = int(digits) if len(digits) <= 20 else None
    return value if value is not None and -(2**63) <= value < 2**63 else _real(digits)


def _real(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise bad_document(f"not JSON: the number {reprlib.repr(digits)[1:-1]} is too large for a float64")
    return value


def _no_constant(name: str) -> NoReturn:
    raise bad_document(f"not JSON: {name} is not JSON; infinite numbers are written as the strings 'inf' and '-inf'")


def _no_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    out = dict(pairs)
    if len(out) < len(pairs):
        raise bad_document("not JSON: an object has a key twice")
    return out


def dumps(document: Mapping[str, object]) -> str:
    """A document as readable text."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


# ------------------------------------------------------------------------------------------------------- checksum


def sealed(document: Mapping[str, object]) -> dict[str, object]:
    """The document with its checksum as the last member."""
    content = {key: value for key, value in document.items() if key != "checksum"}
    return {**content, "checksum": checksum(content)}


def check_seal(document: Mapping[str, object], wanted: str) -> None:
    """Reject a document whose checksum is not the one of its content, `wanted`."""
    found = document.get("checksum")
    if found is None:
        raise bad_document("the checksum is missing: it was changed or damaged")
    if found != wanted:
        raise bad_document(
            f"the checksum is {reprlib.repr(found)}, but the content has {wanted!r}: it was changed or damaged"
        )


def checksum(document: Mapping[str, object], errors: str = "strict") -> str:
    """CRC-32 of all that a document says, besides its own member "checksum".

    `errors` is "surrogatepass" where names of files stand in it: they need not be text.
    """
    pieces: list[bytes] = []
    put = pieces.append
    keys: dict[str, bytes] = {}  # the same few in every group

    def of_text(text: str) -> bytes:
        data = text.encode("utf-8", errors)
        return _size(b"s", len(data)) + data

    def add(value: Any, depth: int) -> None:
        """Put down a letter for the kind of the value, and then the value."""
        if isinstance(value, float):
            # 1.0 and 1 are the same number, and whole numbers are told apart to the last digit
            fits = value.is_integer() and -(2.0**63) <= value < 2.0**63
            put(_whole_number(b"i", int(value)) if fits else _real_number(b"d", value))
        elif isinstance(value, str):
            put(of_text(value))
        elif value is None or isinstance(value, bool):
            put(b"n" if value is None else b"t" if value else b"f")
        elif isinstance(value, int):
            put(_whole_number(b"i", value))
        else:
            is_object = isinstance(value, dict)
            put(_size(b"o" if is_object else b"l", len(value)))
            if value and depth == DEEPEST:
                raise bad_document("not JSON: it is nested too deeply")
            for part in sorted(value) if is_object else value:
                if is_object:
                    put(keys.get(part) or keys.setdefault(part, of_text(part)))
                    part = value[part]
                if type(part) is float and not part.is_integer():  # most values are
                    put(_real_number(b"d", part))
                else:
                    add(part, depth + 1)

    try:
        add({key: value for key, value in document.items() if key != "checksum"}, 0)
    except UnicodeEncodeError:
        raise bad_document("not JSON: half a character in a string") from None
    return f"crc32:{zlib.crc32(b''.join(pieces)):08x}"


# ---------------------------------------------------------------------------------------------- numbers and names


def encode_number(x: float | None) -> float | str | None:
    """JSON has no infinities: they are written as strings."""
    if x is None or math.isfinite(x):
        return x
    return "inf" if x > 0 else "-inf"


def decode_number(value: float | str) -> float:
    """The number of a value that was found to be one, or one of the strings that stand for infinities."""
    return float(value)


def encode_name(name: Name) -> int | str | dict[str, list[int | str | bool]]:
    """A tuple is written as an object, so that it is not taken for anything else."""
    return {"tuple": list(name)} if isinstance(name, tuple) else name


def decode_name(value: object, where: str) -> Name:
    """The name of a group."""
    if isinstance(value, dict) and set(value) == {"tuple"} and isinstance(value["tuple"], list):
        value = tuple(value["tuple"])
    if not isinstance(value, (bool, int, str, tuple)):
        raise bad_document(f"{where} must be an int, a string, a bool or {{'tuple': [...]}}; got {reprlib.repr(value)}")
    try:
        return clean_name(value)
    except (TypeError, ValueError) as error:
        raise bad_document(f"{where}: {error}") from None
