"""Which files a command reads, the format of each, and the blocks of rows that every reader gives, in their order."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, TextIO, TypeAlias, cast

from gstar_fast._base.text import near, some, without_secrets
from gstar_fast._cli.errors import CliError
from gstar_fast._cli.tables import places
from gstar_fast._cli.tables.places import Identity, is_url

_ENDINGS = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".pq": "parquet"}
_ENDINGS |= dict.fromkeys((".arrow", ".arrows", ".feather", ".ipc"), "arrow")
_COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
_TABLE_ENDINGS = f"{', '.join(_ENDINGS)} (CSV also with {', '.join(_COMPRESSED)})"
STANDARD_INPUT = "standard input"
SKETCH_MAGIC = b"\x89GSTAR\r\n"
_MAGICS = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}  # the last begins a stream of Arrow
_COMPRESSED_MAGICS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4"}
_HIDDEN = "the name starts with . or _"
_NOT_A_FILE = "links to folders, broken links and pipes are read only if named themselves"

Skipped: TypeAlias = dict[str, list[str]]  # reason -> files of folders that are not read


@dataclass(frozen=True)
class Input:
    """A table to read."""

    name: str  # as it appears in messages
    path: str | None  # None: standard input, or another pipe
    format: str
    compression: str | None = None
    delimiter: str | None = None
    stream: BufferedReader | None = None  # of a pipe

    @property
    def size(self) -> int | None:
        """Size in bytes; None for a pipe."""
        return None if self.path is None else places.size_of(self.path)

    def open(self) -> BinaryIO:
        """The file from its beginning, or the rest of a pipe."""
        if self.path is not None:
            return places.open_file(self.path)
        assert self.stream is not None
        return self.stream

    def first(self, number: int) -> bytes:
        """The first bytes, which stay to be read."""
        if self.path is not None:
            return places.first_bytes(self.path, number)
        assert self.stream is not None
        return self.stream.peek(number)[:number]

    def column(self, name: str) -> str:
        """A column, as it appears in messages."""
        return f"{self.name}: column {name!r}"

    def identity(self) -> Identity:
        """What must be equal for the file, and the meaning of its rows, to be the same."""
        if self.path is None:
            return {"path": "-", "size": None, "changed": None}
        found = places.identity(self.path)
        if folders := places.partition_folders(self.path):
            found["folders"] = "/".join(folders)
        return found


# -------------------------------------------------------------------------------------------------------------- finding


def find_inputs(given: list[str], format: str | None, delimiter: str | None, skipped: Skipped) -> list[Input]:  # noqa: A002
    """The tables that files, folders and patterns stand for; a folder stands for all tables in it, sorted by name."""
    found: list[Input] = []
    for name in given:
        if name == "-":
            found.append(_pipe(STANDARD_INPUT, standard_input(), format, delimiter))
        else:
            found += [_input_of(file, format, delimiter) for file in _files_of(name, "tables", skipped)]
    refuse_twins(one.name if one.path is None else one.path for one in found)
    return found


def find_sketches(given: list[str], output: str, skipped: Skipped) -> list[str]:
    """The sketches that files, folders and patterns stand for; the output must not be in one of the folders."""
    found: list[str] = []
    for name in given:
        files = [name] if name == "-" else _files_of(name, "sketches", skipped)
        if output != "-" and files != [name]:
            paths = [Path(places.canonical(one)) for one in [name, *files]]
            target = Path(places.canonical(output))
            if target.is_relative_to(paths[0]) or target in paths:
                raise CliError(
                    f"{output} is one of the files in {without_secrets(name)}, so the next merge would add it again; "
                    "choose an output outside of it"
                )
        found += files
    refuse_twins(found)
    return found


def _files_of(name: str, what: Literal["tables", "sketches"], skipped: Skipped) -> list[str]:
    """The files that a name stands for."""
    if places.is_folder(name):
        files, others = [], []
        for file, inside, is_file in places.below(name):
            # the folder of the partition column `_year` is not hidden
            hidden = any(part[0] == "." or (part[0] == "_" and "=" not in part) for part in Path(inside).parts)
            why = _why_skipped(file, what) if is_file else _NOT_A_FILE
            if why is None and not hidden:
                files.append(file)
            elif not hidden or why is None:  # no note on markers such as _SUCCESS
                others.append(without_secrets(file))
                skipped.setdefault(why or _HIDDEN, []).append(others[-1])
        if not files:
            looked = _TABLE_ENDINGS if what == "tables" else ".gstar"
            has = f"; it has {some(sorted(others), 5)}" if others else ""
            raise CliError(f"{without_secrets(name)} has no {what} in it; looked for {looked}{has}")
        return sorted(files)
    if places.exists(name):
        return [name]
    if any(sign in name for sign in "*?["):
        return _matching(name, skipped)
    parent, hint = Path(name).parent, ""
    if not is_url(name):
        files = [other.name for other in parent.iterdir()] if parent.is_dir() else []
        hint = near(Path(name).name, files) if parent.is_dir() else f": there is no folder {parent}"
    raise CliError(f"{without_secrets(name)} does not exist{hint}")


def _matching(pattern: str, skipped: Skipped) -> list[str]:
    matches = places.matching(pattern)
    files = sorted(filter(places.is_file, matches))
    if not files:
        raise CliError(f"no file matches {without_secrets(pattern)!r}")
    for folder in set(matches) - set(files):
        if not any(Path(file).is_relative_to(folder) for file in files):
            why = "a folder is read only if named itself, or with /** in the pattern"
            skipped.setdefault(why, []).append(without_secrets(folder))
    return files


def _why_skipped(file: str, what: Literal["tables", "sketches"]) -> str | None:
    """Why a file of a folder is not read; None if it is."""
    if what == "tables":
        return None if _format_of_name(file) is not None else f"the ending is not one of {_TABLE_ENDINGS}"
    if file.endswith(".partial"):
        return "an unfinished count is read only if named itself"
    return None if is_sketch(file) else "it is not a sketch"


def refuse_twins(names: Iterable[str]) -> None:
    """Raise if a file is named twice, also by a link."""
    seen: dict[str, str] = {}
    for name in names:
        place = places.canonical(name)
        if place in seen:
            twin = "" if seen[place] == name else f" (also as {without_secrets(seen[place])})"
            raise CliError(f"{without_secrets(name)} was given twice{twin}; its rows would be counted twice")
        seen[place] = name


def refuse_json(name: str) -> None:
    """Raise for saved thresholds where tables or sketches are expected."""
    if Path(name).suffix.lower() == ".json":
        raise CliError(
            f"{without_secrets(name)} is JSON, which is neither a table nor a sketch; "
            "pass saved thresholds with --thresholds (apply, audit, report)"
        )


# -------------------------------------------------------------------------------------------------------------- formats


def _format_of_name(name: str) -> tuple[str, str | None] | None:
    path = Path(name.lower())
    compression = _COMPRESSED.get(path.suffix)
    kind = _ENDINGS.get((path.with_suffix("") if compression else path).suffix)
    return None if kind is None or (compression and kind not in ("csv", "tsv")) else (kind, compression)


def _input_of(name: str, format: str | None, delimiter: str | None) -> Input:  # noqa: A002
    if not places.is_file(name):
        if is_url(name):
            raise CliError(f"{without_secrets(name)} is not a file")
        return _pipe(name, Path(name).open("rb"), format, delimiter)  # such as <(zcat scores.csv.gz)
    if format is None:
        refuse_json(name)
    kind, compression = _format_of_name(name) or (None, _COMPRESSED.get(Path(name.lower()).suffix))
    kind = format or kind or _format_of_bytes(places.first_bytes(name), without_secrets(name))
    return Input(without_secrets(name), name, kind, compression if kind in ("csv", "tsv") else None, delimiter)


def _pipe(name: str, stream: BufferedReader, format: str | None, delimiter: str | None) -> Input:  # noqa: A002
    first = stream.peek(8)[:8]
    kind = format or _format_of_bytes(first, name)
    compression = next((one for magic, one in _COMPRESSED_MAGICS.items() if first.startswith(magic)), None)
    return Input(name, None, kind, compression if kind in ("csv", "tsv") else None, delimiter, stream)


_opened: tuple[TextIO, BufferedReader] | None = None  # sys.stdin, and the stream made of it


def standard_input() -> BufferedReader:
    """Standard input as its own stream: a thread blocked on sys.stdin would keep Python from exiting.

    Every call returns the same stream, since a second one would miss what the first has buffered.
    """
    global _opened
    if sys.stdin is None:
        raise CliError("there is no standard input")
    if _opened is None or _opened[0] is not sys.stdin or _opened[1].closed:
        try:
            stream = open(sys.stdin.fileno(), "rb", closefd=False)  # noqa: SIM115 (used until the process exits)
        except (AttributeError, OSError, ValueError):  # sys.stdin was replaced by an object without a file
            stream = cast("BufferedReader", sys.stdin.buffer)
        _opened = sys.stdin, stream
    return _opened[1]


def _format_of_bytes(first: bytes, name: str) -> str:
    if first == SKETCH_MAGIC:
        raise CliError(
            f"{name} is a sketch, not a table; `gstar-fast show` prints it, `gstar-fast merge` adds it to others"
        )
    return next((kind for magic, kind in _MAGICS.items() if first.startswith(magic)), "csv")


def is_sketch(name: str) -> bool:
    """Whether a file is a sketch or an unfinished count, by its ending or its first bytes."""
    if name == "-":
        return bool(standard_input().peek(8)[:8] == SKETCH_MAGIC)
    if Path(name).suffix in (".gstar", ".partial"):
        return True
    return _format_of_name(name) is None and places.is_file(name) and places.first_bytes(name) == SKETCH_MAGIC


def format_of_output(name: str, format: str | None) -> tuple[str, str | None]:  # noqa: A002
    """Format and compression of a file to write."""
    named = _format_of_name(name)
    if format is not None:
        return format, named[1] if named and format in ("csv", "tsv") else None
    if name == "-":
        return "csv", None
    if named is None:
        raise CliError(
            f"the format of {name} is not clear from its name; end it in {some(_ENDINGS)}, or give --to; "
            "the name of a folder ends in /"
        )
    return named


def with_format(name: str, format: str) -> str:  # noqa: A002
    """The name of a table with the ending of another format; a table of that format keeps its name."""
    named = _format_of_name(name)
    if named is not None and named[0] == format:
        return name
    stem = Path(name).with_suffix("") if named is not None and named[1] is not None else Path(name)
    return str(stem.with_suffix(f".{format}"))


def has_pyarrow() -> bool:
    """Whether pyarrow is installed."""
    return find_spec("pyarrow") is not None


# ------------------------------------------------------------------------------------------------------------- blocks

Column: TypeAlias = Any  # one entry a row: an array of NumPy or Arrow, or a list of text
Columns: TypeAlias = Mapping[str, Column]
Kinds: TypeAlias = Mapping[str, Literal["number", "text"]]  # how columns of CSV files are read


class Block(NamedTuple):
    """Consecutive rows of a table.

    A reader is a generator of them. Its first block has no rows: it shows the columns, and their types, before any row
    is read.
    """

    columns: Columns
    rows: int
    done: float | None  # share of the file that was read; None if its size is not known
    text: bool = False  # whether the file is text, so that a group 7 may be a number
    folders: tuple[str, ...] = ()  # columns that come from names of folders, which are text too

    def is_text(self, name: str) -> bool:
        """Whether the values of a column were written as text."""
        return self.text or name in self.folders


class Wanted(NamedTuple):
    """Which columns of a table are read, and how."""

    choose: Callable[[list[str]], list[str]]  # the names that a table has -> those to read; raises if one is missing
    kinds: Kinds  # of the other columns of a CSV file, the type shows in their values
    as_text: bool = False  # keep all values of a CSV file as they are written
    whole: bool = False  # for a reader of all columns: text is not encoded as dictionaries
