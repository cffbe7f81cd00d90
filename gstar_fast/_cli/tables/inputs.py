"""Tables the command line reads: which files are meant, what format each has, and what a reader of it gives.

A reader gives the rows of one file in order, block by block, so that memory depends on the block and not on the file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, Protocol, TextIO, TypeAlias, cast

from gstar_fast._base.text import near, some, without_secrets
from gstar_fast._cli.errors import CliError
from gstar_fast._cli.tables.places import Identity, first_bytes, is_url, partition_folders, place_of

BLOCK_ROWS = 1 << 18  # so many rows cost no more for coming in a block, and memory stays small

_ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npz": "npz",
}
_COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
_TABLE_ENDINGS = f"{', '.join(_ENDINGS)} (CSV also with {', '.join(_COMPRESSED)})"
STANDARD_INPUT = "standard input"
SKETCH_MAGIC = b"\x89GSTAR\r\n"
_MAGICS = (
    (b"PAR1", "parquet"),
    (b"ARROW1", "arrow"),
    (b"\xff\xff\xff\xff", "arrow"),  # a stream, which has no magic but begins so
    (b"PK\x03\x04", "npz"),
)
_COMPRESSED_MAGICS = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\x04\x22\x4d\x18", "lz4"))


Column: TypeAlias = Any  # one entry a row: an array of NumPy or Arrow, or a list of text
Columns: TypeAlias = Mapping[str, Column]

Kinds: TypeAlias = Mapping[str, Literal["number", "text"]]
NO_KINDS: Kinds = {}


class Written(NamedTuple):
    """Records of a CSV file to the character: with their quotes and line ends, and the byte order mark of the first."""

    header: str
    lines: list[str]
    names: list[str]
    delimiter: str

    @property
    def end(self) -> str:
        """How its lines end."""
        return self.header[len(self.header.rstrip("\r\n")) :] or "\n"


class Block(NamedTuple):
    """Consecutive rows of a table."""

    columns: Columns
    rows: int
    done: float | None  # share of the file that is read by now; None where nobody knows
    written: Written | None = None  # the same rows, where they are text and all columns are wanted
    folders: tuple[str, ...] = ()  # columns that the names of folders give, not the file


class Reader(Protocol):
    """One table, read from its first row to its last."""

    names: list[str]
    text: bool  # values are text, whose kind is for us to find out

    def blocks(self, columns: list[str] | None, *, skip: int = 0, kinds: Kinds = NO_KINDS) -> Iterator[Block]:
        """The rows after the first `skip`, of these columns (None: of all); `kinds` says how to read text."""
        ...

    def nothing(self, kinds: Kinds = NO_KINDS) -> Block:
        """All columns, with no rows, of the types that they have in blocks."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


@dataclass(frozen=True)
class Input:
    """A file that was named, or standard input."""

    name: str  # as it appears in messages
    path: str | None  # None: standard input, or another pipe
    format: str
    compression: str | None = None
    delimiter: str | None = None
    stream: BinaryIO | None = None  # of standard input, with the bytes that were looked at put back

    @property
    def size(self) -> int | None:
        """Bytes, where it is a file."""
        return None if self.path is None else place_of(self.path).size(self.path)

    def open(self) -> BinaryIO:
        """Its bytes from the beginning, or what is left of a pipe."""
        if self.path is not None:
            return place_of(self.path).open(self.path)
        assert self.stream is not None
        return self.stream

    def identity(self) -> Identity:
        """What tells whether a file is still the one that was read, and its rows still mean the same."""
        if self.path is None:
            return {"path": "-", "size": None, "changed": None}
        folders = partition_folders(self.path)
        return {**place_of(self.path).identity(self.path), **({"folders": "/".join(folders)} if folders else {})}


# -------------------------------------------------------------------------------------------------------------- finding


class PassedOver:
    """Files of folders that are not read, and why: nobody should find out later that rows are missing."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = {}

    def add(self, name: str, why: str) -> None:
        """One more."""
        self._names.setdefault(why, []).append(name)

    @property
    def names(self) -> list[str]:
        """All of them."""
        return sorted(name for names in self._names.values() for name in names)

    def notes(self, most: int = 10) -> Iterator[str]:
        """For each reason a line with the first names."""
        for why, names in self._names.items():
            yield f"note: passed over, since {why}: {some(sorted(names), most)}"


_HIDDEN = "what begins with . or _ is not data by custom"
_NO_FILE = "a link to a folder, a broken link or a pipe is read only by its own name"


def find_inputs(
    given: list[str],
    *,
    format: str | None = None,  # noqa: A002
    delimiter: str | None = None,
    passed: PassedOver | None = None,
) -> list[Input]:
    """Files, folders and patterns -> the tables they name; a folder stands for all tables below it, sorted by name."""
    passed = PassedOver() if passed is None else passed
    found: list[Input] = []
    for name in given:
        if name == "-":
            found.append(_standard_input(format, delimiter))
        else:
            found += [_input_of(file, format, delimiter) for file in _files_of(name, "tables", _why_no_table, passed)]
    refuse_twins(one.name if one.path is None else one.path for one in found)
    return found


def find_sketches(given: list[str], output: str, passed: PassedOver) -> list[str]:
    """Files, folders and patterns -> the sketches they name; the output must not be one that a folder stands for."""
    found: list[str] = []
    for name in given:
        if name == "-":
            found.append(name)
            continue
        files = _files_of(name, "sketches", _why_no_sketch, passed)
        place = Path(place_of(output).canonical(output))
        places = [Path(place_of(one).canonical(one)) for one in [name, *files]]
        if output != "-" and files != [name] and (place.is_relative_to(places[0]) or place in places):
            raise CliError(
                f"{output} is among {without_secrets(name)}, so that it would be merged again next time; "
                "write it elsewhere"
            )
        found += files
    refuse_twins(found)
    return found


def _files_of(name: str, what: str, why_not: Callable[[str], str | None], passed: PassedOver) -> list[str]:
    """A file, a folder or a pattern -> the files that are meant; `why_not` says why one in a folder is none."""
    place = place_of(name)
    if place.is_folder(name):
        files, others = [], []
        for file, inside, is_file in place.below(name):
            hidden = any(map(_is_hidden, Path(inside).parts))
            why = why_not(file) if is_file else _NO_FILE
            if why is None and not hidden:
                files.append(file)
            elif not hidden or why is None:  # markers such as _SUCCESS are none of the user's business
                others.append(without_secrets(file))
                passed.add(without_secrets(file), why or _HIDDEN)
        if not files:
            looked = _TABLE_ENDINGS if what == "tables" else ".gstar"
            has = f"; it has {some(sorted(others), 5)}" if others else ""
            raise CliError(f"{without_secrets(name)} has no {what} in it; looked for {looked}{has}")
        return sorted(files)
    if place.exists(name):
        return [name]
    if any(sign in name for sign in "*?["):
        matches = place.matching(name)
        files = sorted(file for file in matches if place.is_file(file))
        if not files:
            raise CliError(f"no file matches {without_secrets(name)!r}")
        for folder in set(matches) - set(files):
            if not any(Path(file).is_relative_to(folder) for file in files):
                passed.add(without_secrets(folder), "a folder is read only by its own name, or with /** in the pattern")
        return files
    raise CliError(f"{without_secrets(name)} does not exist{'' if is_url(name) else _near_file(Path(name))}")


def _is_hidden(part: str) -> bool:
    """What begins so is no data by custom, unless it is a folder of the partition column `_year`."""
    return part.startswith(".") or (part.startswith("_") and "=" not in part)


def _why_no_table(file: str) -> str | None:
    return None if _format_of_name(file) is not None else f"the ending is not one of {_TABLE_ENDINGS}"


def _why_no_sketch(file: str) -> str | None:
    if file.endswith(".partial"):
        return "an unfinished count is taken only by its own name"
    return None if is_sketch(file) else "it is no sketch"


def refuse_twins(names: Iterable[str]) -> None:
    """Refuse a file that is named twice, be it by a link."""
    seen: dict[str, str] = {}
    for name in names:
        place = place_of(name).canonical(name)
        if place in seen:
            twin = "" if seen[place] == name else f" (also as {without_secrets(seen[place])})"
            raise CliError(
                f"{without_secrets(name)} is given twice{twin}, and its rows would count twice; name it once"
            )
        seen[place] = name


def refuse_json(name: str) -> None:
    """Refuse saved thresholds where tables or sketches are wanted."""
    if Path(name).suffix.lower() == ".json":
        raise CliError(
            f"{without_secrets(name)} is JSON, as saved thresholds are, and neither a table nor a sketch; "
            "thresholds are given with --thresholds, to apply, audit and report"
        )


def _near_file(path: Path) -> str:
    parent = path.parent
    if not parent.is_dir():
        return f": there is no folder {parent}"
    return near(path.name, (other.name for other in parent.iterdir()))


def _format_of_name(name: str) -> tuple[str, str | None] | None:
    path = Path(name.lower())
    compression = _COMPRESSED.get(path.suffix)
    if compression is not None:
        path = path.with_suffix("")
    kind = _ENDINGS.get(path.suffix)
    if kind is None or (compression is not None and kind not in ("csv", "tsv")):
        return None
    return kind, compression


def _input_of(name: str, format: str | None, delimiter: str | None) -> Input:  # noqa: A002
    if not place_of(name).is_file(name):
        if is_url(name):
            raise CliError(f"{without_secrets(name)} is not a file")
        # a pipe, such as <(zcat scores.csv.gz), which is read only once
        return _pipe(name, Path(name).open("rb"), format, delimiter)
    named = _format_of_name(name)
    compression = named[1] if named else _COMPRESSED.get(Path(name.lower()).suffix)
    if format is None:
        refuse_json(name)
        format = named[0] if named else _format_of_bytes(first_bytes(name), without_secrets(name))  # noqa: A001
    if format not in ("csv", "tsv"):
        compression = None
    return Input(without_secrets(name), name, format, compression, delimiter)


def _standard_input(format: str | None, delimiter: str | None) -> Input:  # noqa: A002
    return _pipe(STANDARD_INPUT, standard_input(), format, delimiter)


def _pipe(name: str, stream: BufferedReader, format: str | None, delimiter: str | None) -> Input:  # noqa: A002
    first = stream.peek(8)[:8]
    if format is None:
        format = _format_of_bytes(first, name)  # noqa: A001
    compression = None
    if format in ("csv", "tsv"):
        compression = next((kind for magic, kind in _COMPRESSED_MAGICS if first.startswith(magic)), None)
    return Input(name, None, format, compression, delimiter, stream)


_opened: tuple[TextIO, BufferedReader] | None = None  # sys.stdin, and the stream made of it


def standard_input() -> BufferedReader:
    """A stream of its own, since a thread that waits for sys.stdin would keep Python from ending.

    Always the same one: a second would miss what the first has read ahead.
    """
    global _opened
    if sys.stdin is None:
        raise CliError("there is no standard input")
    if _opened is None or _opened[0] is not sys.stdin or _opened[1].closed:
        try:
            stream = open(sys.stdin.fileno(), "rb", closefd=False)  # noqa: SIM115 (open to the end)
        except (AttributeError, OSError, ValueError):  # replaced by something that is no file
            stream = cast("BufferedReader", sys.stdin.buffer)  # which can peek too
        _opened = sys.stdin, stream
    return _opened[1]


def _format_of_bytes(first: bytes, name: str) -> str:
    if first == SKETCH_MAGIC:
        raise CliError(
            f"{name} is a sketch, not a table; `gstar-fast show` prints it, `gstar-fast merge` adds it to others"
        )
    return next((name for magic, name in _MAGICS if first.startswith(magic)), "csv")


def is_sketch(name: str) -> bool:
    """Whether a name is that of a sketch or of an unfinished count, by its ending or its first bytes."""
    if name == "-":
        return bool(standard_input().peek(8)[:8] == SKETCH_MAGIC)
    path = Path(name)
    if path.suffix in (".gstar", ".partial"):
        return True
    return _format_of_name(name) is None and place_of(name).is_file(name) and first_bytes(name) == SKETCH_MAGIC


def format_of_output(name: str, format: str | None) -> tuple[str, str | None]:  # noqa: A002
    """Format and compression to write a file in."""
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
    """The name of a table with the ending of another format; one that has the format keeps its own."""
    named = _format_of_name(name)
    if named is not None and named[0] == format:
        return name
    stem = Path(name).with_suffix("") if named is not None and named[1] is not None else Path(name)
    return str(stem.with_suffix(f".{format}"))


def has_pyarrow() -> bool:
    """Whether tables can be read by pyarrow."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True


def spooled(source: Input) -> BinaryIO | str:
    """A file one can seek in: the path, a file elsewhere, or standard input copied to a temporary file."""
    if source.path is not None:
        return source.open() if is_url(source.path) else source.path
    import shutil
    import tempfile

    assert source.stream is not None
    copy = tempfile.TemporaryFile()  # noqa: SIM115 (the reader closes it)
    shutil.copyfileobj(source.stream, copy, 1 << 20)
    copy.seek(0)
    return copy
