"""A saved document, made from a good file by giving other values by path, or by replacing a piece of its text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from gstar_fast._base import json as strict

FOLDER: Final = Path(__file__).parents[1] / "documents" / "good"
DROP: Final = object()  # leave the member out
KEPT: Final = object()  # the checksum of the document before the edits
CAPITALS: Final = object()  # the right checksum, in capitals
UNSEALED: Final = "crc32:--------"


def edited(content: Any, edits: dict[str, Any]) -> Any:
    """A copy of a document with other values at these paths."""
    content = json.loads(json.dumps(content))
    for path, value in edits.items():
        *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
        inner = content
        for part in way:
            inner = inner[part]
        if value is DROP:
            del inner[last]
        elif isinstance(inner, list) and last == len(inner):
            inner.append(value)
        else:
            inner[last] = value
    return content


def text_of(content: dict[str, Any], checksum: str = UNSEALED) -> str:
    """The text of a document with this checksum at the end."""
    content = {key: value for key, value in content.items() if key != "checksum"}
    return json.dumps({**content, "checksum": checksum}, indent=1) + "\n"


def sealed(text: bytes) -> bytes:
    """The text with its right checksum, if it is whole enough to have one."""
    try:
        right = strict.checksum(strict.read(text))
    except (ValueError, RecursionError):
        return text
    return text.replace(UNSEALED.encode(), right.encode())


def from_edits(base: str, edits: dict[str, Any]) -> bytes:
    """The text of a document that was made from another one."""
    before = FILES[base]
    content = edited(before, {path: value for path, value in edits.items() if path != "checksum"})
    checksum = edits.get("checksum", UNSEALED)
    if checksum is DROP:
        content.pop("checksum")
        return json.dumps(content, indent=1).encode()
    if checksum is KEPT:
        checksum = before["checksum"]
    if checksum is CAPITALS:
        checksum = strict.checksum(content).upper()
    return sealed(text_of(content, checksum).encode())


def from_text(old: bytes, new: bytes) -> bytes:
    """The text of `least` with one piece replaced."""
    assert LEAST.count(old) == 1, old
    return sealed(LEAST.replace(old, new))


def nested(depth: int) -> Any:
    """A list in a list in a list."""
    return [nested(depth - 1)] if depth else []


FILES: Final = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))}
LEAST: Final = text_of(FILES["least"]).encode()
WHOLE: Final = sealed(LEAST)
RESULT: Final = sealed(text_of(FILES["result"]).encode())
