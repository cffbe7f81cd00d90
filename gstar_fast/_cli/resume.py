"""An unfinished count: the counts and the rows of each file that they include, in one file that is replaced as a whole.

Two files could not be replaced in one step: a killed process could then leave counts that do not match their record.
"""

from __future__ import annotations

import base64
import json
import reprlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import gstar_fast as gf
from gstar_fast._base.files import read_limited, write_atomically
from gstar_fast._base.json import check_seal, checksum, read
from gstar_fast._base.text import some
from gstar_fast._cli.errors import CliError
from gstar_fast._cli.tables.inputs import Input

FORMAT = "gstar_fast.unfinished"
VERSION = 1
ENDING = ".partial"
LONGEST = 2**32

Record: TypeAlias = dict[str, Any]  # identity of a file, "rows" counted, and whether that is the "whole" file


@dataclass
class Unfinished:
    """Rows counted of each file, in the order of the files, and their sketch."""

    asked: dict[str, object]  # the options that the counts depend on
    files: list[Record]
    sketch: gf.Sketch

    @property
    def rows(self) -> int:
        """Rows read so far."""
        return sum(file["rows"] for file in self.files)

    def save(self, path: Path) -> None:
        """Replace the file as a whole."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "about": "an unfinished count; continue it with the same command and --resume",
            "asked": self.asked,
            "files": self.files,
            "sketch": base64.b64encode(self.sketch.to_bytes()).decode("ascii"),
        }
        document["checksum"] = checksum(document, "surrogatepass")
        write_atomically(path, (json.dumps(document, indent=1) + "\n").encode())


def place_of(output: str) -> Path:
    """The file for the unfinished count of an output."""
    return Path(output + ENDING)


def is_unfinished(path: str) -> bool:
    """Whether a file is an unfinished count."""
    return path.endswith(ENDING)


def load(path: Path) -> Unfinished:
    """Read an unfinished count; anything else in the file is an error."""
    try:
        document = read(read_limited(path, LONGEST, f"larger than {LONGEST >> 30} GiB"))
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise ValueError(f"'format' is not {FORMAT!r}")
        if document.get("version") != VERSION:
            raise ValueError(f"version {document.get('version')!r}; this release reads {VERSION}")
        check_seal(document, checksum(document, "surrogatepass"))
        asked, files = document["asked"], document["files"]
        if not isinstance(asked, dict) or not isinstance(files, list) or not all(map(_is_record, files)):
            raise ValueError("'asked' or 'files' is not as it was written")
        sketch = gf.Sketch.from_bytes(base64.b64decode(document["sketch"], validate=True))
    except (ValueError, KeyError, TypeError) as error:
        raise CliError(f"{path} is not an unfinished count: {error}; remove it and start over") from None
    return Unfinished(asked, files, sketch)


def _is_record(file: object) -> bool:
    return (
        isinstance(file, dict)
        and isinstance(file.get("path"), str)
        and type(file.get("rows")) is int
        and file["rows"] >= 0
        and isinstance(file.get("whole"), bool)
    )


def check_asked(path: Path | str, before: Mapping[str, Any], asked: Mapping[str, Any], cure: str) -> None:
    """Raise if a command was started with other options."""
    for option in {**asked, **before}:
        if asked.get(option) != before.get(option):
            was, now = (reprlib.repr(one.get(option)) for one in (before, asked))
            raise CliError(f"{path} was started with {option} = {was}, not {now}. Use the same options, or {cure}.")


def _numbered(files: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """Each path with the number of equal paths before it, since URLs may differ only in hidden parts."""
    seen: Counter[str] = Counter()
    found = []
    for file in files:
        found.append((file["path"], seen[file["path"]]))
        seen[file["path"]] += 1
    return found


def go_on(path: Path, asked: dict[str, object], inputs: list[Input]) -> tuple[Unfinished, dict[int, tuple[int, bool]]]:
    """The unfinished count, and for each input how many rows it includes, and whether these are all.

    Raises if the rows would not be the same any more: with other options, or if files changed or are gone.
    """
    before = load(path)
    check_asked(path, before.asked, asked, "drop --resume to start over")
    identities = [one.identity() for one in inputs]
    places = {name: i for i, name in enumerate(_numbered(identities))}
    names = _numbered(before.files)
    missing = [file["path"] for file, name in zip(before.files, names, strict=True) if name not in places]
    if missing:
        raise CliError(
            f"{path} has counted files that are not among the inputs now: {some(missing, 3)}; "
            "name the same files, or drop --resume to start over"
        )
    counted: dict[int, tuple[int, bool]] = {}
    for file, name in zip(before.files, names, strict=True):
        i = places[name]
        now = identities[i]
        if now.get("folders") != file.get("folders"):
            raise CliError(
                f"{inputs[i].name} was in the folders {file.get('folders')} when its rows were counted; "
                "name it as before, or drop --resume to start over"
            )
        if (now["size"], now["changed"]) != (file.get("size"), file.get("changed")):
            raise CliError(f"{inputs[i].name} has changed since its rows were counted; drop --resume to start over")
        counted[i] = file["rows"], file["whole"]
    return before, counted
