"""What a run has done, in one file that is replaced as a whole: its options, its files, and for `sketch` their counts.

Two files could not be replaced in one step: a killed process could then leave counts that do not match their record.
"""

from __future__ import annotations

import argparse
import base64
import json
import math
import reprlib
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import gstar_fast as gf
from gstar_fast._base.files import read_limited, write_atomically
from gstar_fast._base.json import check_seal, checksum, read
from gstar_fast._base.text import some
from gstar_fast._cli.errors import CliError
from gstar_fast._cli.output import command_line
from gstar_fast._cli.tables.inputs import Input
from gstar_fast._cli.tables.places import Identity

VERSION = 1
ENDING = ".partial"
LONGEST = 2**32
DECIDED = "_decided.json"  # names that start with _ are not read as tables


class Kind(NamedTuple):
    """A kind of record: its format, and how messages name it."""

    format: str
    name: str
    start_over: str


COUNT = Kind("gstar_fast.unfinished", "an unfinished count", "remove it and start over")
TABLES = Kind("gstar_fast.decided", "a record of decided tables", "choose another folder")


class Entry(Identity):
    """A file, how many of its rows are done, and whether these are all."""

    rows: int
    whole: bool
    output: int | None  # size of the table that was written for it


@dataclass
class Record:
    """The options that the answers of a run depend on, its files in their order, and the sketch of their rows."""

    asked: dict[str, object]
    files: list[Entry]
    sketch: gf.Sketch | None = None

    @property
    def rows(self) -> int:
        """Rows read so far."""
        return sum(file["rows"] for file in self.files)

    def save(self, path: Path) -> None:
        """Replace the file as a whole."""
        document: dict[str, object] = {
            "format": (TABLES if self.sketch is None else COUNT).format,
            "version": VERSION,
            "about": "what a command has done; continue it with the same command and --resume",
            "asked": self.asked,
            "files": self.files,
        }
        if self.sketch is not None:
            document["sketch"] = base64.b64encode(self.sketch.to_bytes()).decode("ascii")
        document["checksum"] = checksum(document, "surrogatepass")
        write_atomically(path, (json.dumps(document, indent=1) + "\n").encode())


def load(path: Path, kind: Kind = COUNT) -> Record:
    """Read a record; anything else in the file is an error."""
    try:
        document = read(read_limited(path, LONGEST, f"larger than {LONGEST >> 30} GiB"))
        if not isinstance(document, dict) or document.get("format") != kind.format:
            raise ValueError(f"'format' is not {kind.format!r}")
        if document.get("version") != VERSION:
            raise ValueError(f"version {document.get('version')!r}; this release reads {VERSION}")
        check_seal(document, checksum(document, "surrogatepass"))
        asked, files = document["asked"], document["files"]
        kinds = {"path": str, "rows": int, "whole": bool}
        sound = all(type(file[key]) is type_ for file in files for key, type_ in kinds.items())
        if not (isinstance(asked, dict) and sound and all(file["rows"] >= 0 for file in files)):
            raise ValueError("'asked' or 'files' is not as it was written")
        if kind is TABLES:
            return Record(asked, files)
        return Record(asked, files, gf.Sketch.from_bytes(base64.b64decode(document["sketch"], validate=True)))
    except (ValueError, KeyError, TypeError) as error:
        raise CliError(f"{path} is not {kind.name}: {error}; {kind.start_over}") from None


def check_asked(path: Path | str, before: Mapping[str, object], asked: Mapping[str, object], cure: str) -> None:
    """Raise if a command was started with other options."""
    for option in {**asked, **before}:
        if asked.get(option) != before.get(option):
            was, now = (reprlib.repr(one.get(option)) for one in (before, asked))
            raise CliError(f"{path} was started with {option} = {was}, not {now}. Use the same options, or {cure}.")


def command(given: argparse.Namespace) -> str:
    """The command line that continues a command."""
    words = [word for word in given.argv if word != "--resume"]
    words.insert(words.index(given.command) + 1, "--resume")  # not at the end, which may belong to --
    return command_line(words)


def is_same(before: Identity, now: Identity) -> bool:
    """Whether a file has not changed since."""
    return (before.get("size"), before.get("changed")) == (now["size"], now["changed"])


def go_on(path: Path, before: Record, inputs: list[Input], entries: list[Entry]) -> None:
    """Note in the entries of the inputs how many of their rows are counted, and whether these are all.

    Raises if the rows would not be the same any more: if files changed or are gone.
    """
    missing = Counter(file["path"] for file in before.files) - Counter(entry["path"] for entry in entries)
    if missing:
        raise CliError(
            f"{path} has counted files that are not among the inputs now: {some(missing, 3)}; "
            "name the same files, or drop --resume to start over"
        )
    places: dict[str, list[int]] = {}  # several for URLs that differ only in hidden parts
    for i, entry in enumerate(entries):
        places.setdefault(entry["path"], []).append(i)
    for file in before.files:
        i = places[file["path"]].pop(0)
        if entries[i].get("folders") != file.get("folders"):
            raise CliError(
                f"{inputs[i].name} was in the folders {file.get('folders')} when its rows were counted; "
                "name it as before, or drop --resume to start over"
            )
        if not is_same(file, entries[i]):
            raise CliError(f"{inputs[i].name} has changed since its rows were counted; drop --resume to start over")
        entries[i] |= {"rows": file["rows"], "whole": file["whole"]}


class Decided:
    """The record of decided tables in an output folder: a new one, or the one to continue, for the same options."""

    def __init__(self, output: str, asked: dict[str, object], *, resume: bool) -> None:
        folder = Path(output)
        self._path, self._record, self._saved = folder / DECIDED, Record(asked, []), -math.inf
        if not folder.exists():
            above = folder.parent
            if not above.is_dir():
                raise CliError(f"there is no folder {above} to make {folder.name} in; make it first: mkdir -p {above}")
            folder.mkdir()
        if self._path.exists():
            if not resume:
                raise CliError(f"{output} already has decisions. Pass --resume to continue, or choose another folder.")
            self._record = load(self._path, TABLES)
            check_asked(output, self._record.asked, asked, TABLES.start_over)
        elif any(folder.iterdir()):
            raise CliError(f"{output} is not empty and was not created by apply. Choose an empty folder.")
        else:
            self.save()
        self._done = {file["path"]: file for file in self._record.files}

    def is_done(self, name: str, source: Identity, output: Path) -> bool:
        """Whether a table was decided, has not changed since, and its output is still there."""
        before = self._done.get(name)
        unchanged = before is not None and is_same(before, source)
        return unchanged and output.exists() and output.stat().st_size == self._done[name].get("output")

    def add(self, name: str, source: Identity, output: Path, rows: int) -> None:
        """Add a table, and save the record once a second; `source` is what identified the table before it was read.

        A killed process loses the tables of the last second: they are decided again.
        """
        size = output.stat().st_size
        self._done[name] = {**source, "path": name, "rows": rows, "whole": True, "output": size}
        self._record.files = list(self._done.values())
        if time.monotonic() - self._saved > 1:
            self.save()

    def save(self) -> None:
        """Replace the record as a whole."""
        self._record.save(self._path)
        self._saved = time.monotonic()

    def gone(self, names: Iterable[str]) -> list[str]:
        """Decided tables that are not among the inputs any more."""
        return sorted(set(self._done).difference(names))
