"""A folder of tables -> the same folder with decisions, table by table, so that a killed process can be continued.

A table appears when it is complete. Then a line is added to the record in the output folder, with the size and time of
the table that was decided. If the process is killed while it writes the line, the table is decided again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from gstar_fast._base.files import write_atomically
from gstar_fast._base.text import without_secrets
from gstar_fast._cli.errors import USAGE, CliError
from gstar_fast._cli.resume import check_asked
from gstar_fast._cli.tables.inputs import Input, format_of_output, with_format
from gstar_fast._cli.tables.places import canonical, is_url
from gstar_fast._cli.tables.places import is_folder as is_folder_of_tables

FORMAT = "gstar_fast.decided"
VERSION = 1
RECORD = "_decided.jsonl"  # names that start with _ are not read as tables


class Task(NamedTuple):
    """One table to decide."""

    source: Input
    name: str  # within both folders
    output: Path
    format: str
    compression: str | None


def is_folder(output: str) -> bool:
    """Whether an output is a folder."""
    return output != "-" and (output.endswith(("/", os.sep)) or Path(output).is_dir())


def tasks(given: list[str], inputs: list[Input], output: str, to: str | None) -> list[Task]:
    """The tables to decide; raises if inputs and outputs would mix, or two outputs be the same file."""
    if len(given) != 1 or given[0] == "-" or not is_folder_of_tables(given[0]):
        raise CliError(
            f"{output} is a folder, and it takes the tables of one folder; name that, or a file to write", USAGE
        )
    folder = given[0]
    if is_url(output):
        raise CliError(
            f"{without_secrets(output)} is remote, and outputs must be local files; write them here and copy them"
        )
    _refuse_nested(folder, output)
    found: dict[Path, Task] = {}
    for source in inputs:
        assert source.path is not None
        name = (
            os.path.relpath(source.path, folder) if not is_url(folder) else source.path[len(folder.rstrip("/")) + 1 :]
        )
        kept = name if to is None else with_format(name, to)
        place = Path(output, kept)
        kind, compression = (source.format, source.compression) if to is None else format_of_output(kept, to)
        if place in found:
            raise CliError(f"{source.name} and {found[place].source.name} would both be written to {place}; rename one")
        found[place] = Task(source, name, place, kind, compression)
    return list(found.values())


def _refuse_nested(folder: str, output: str) -> None:
    inner, outer = Path(canonical(output)), Path(canonical(folder))
    if inner == outer:
        raise CliError(f"{output} is also the input; choose another folder")
    if inner.is_relative_to(outer):
        raise CliError(
            f"{output} is inside {without_secrets(folder)}, so the next run would read its tables; "
            "choose another folder"
        )
    if outer.is_relative_to(inner):
        raise CliError(
            f"{without_secrets(folder)} is inside {output}, so decided tables would be mixed with others; "
            "choose another folder"
        )


@dataclass
class Record:
    """The record of decided tables in an output folder."""

    path: Path
    done: dict[str, dict[str, Any]]

    def is_done(self, task: Task) -> bool:
        """Whether a table was decided, has not changed since, and its output is still there."""
        line = self.done.get(task.name)
        if line is None or line.get("source") != source_of(task):
            return False
        try:
            return task.output.stat().st_size == line.get("size")
        except FileNotFoundError:
            return False

    def add(self, task: Task, source: dict[str, Any], rows: int, accepted: int) -> None:
        """Add a table; `source` is its size and time before it was read."""
        line = {"table": task.name, "source": source, "size": task.output.stat().st_size}
        line |= {"rows": rows, "accepted": accepted}
        self.done[task.name] = line
        _append(self.path, line)

    def gone(self, found: list[Task]) -> list[str]:
        """Decided tables that are not among the inputs any more."""
        return sorted(set(self.done) - {task.name for task in found})


def source_of(task: Task) -> dict[str, Any]:
    """Size and time of a table, which show whether it has changed."""
    identity = task.source.identity()
    return {"size": identity["size"], "changed": identity["changed"]}


def _append(path: Path, line: dict[str, Any]) -> None:
    """Add a line to the record and flush it to disk; a line that was cut short is ended first."""
    with path.open("ab+") as file:
        end = file.seek(0, os.SEEK_END)
        if end:
            file.seek(end - 1)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write((json.dumps(line, ensure_ascii=True) + "\n").encode())
        file.flush()
        os.fsync(file.fileno())


def begin(output: str, asked: dict[str, Any], *, resume: bool) -> Record:
    """The record of an output folder: a new one, or the one to continue, for the same options."""
    folder = Path(output)
    path = folder / RECORD
    if not folder.exists():
        parent = folder.parent
        if not parent.is_dir():
            raise CliError(f"there is no folder {parent} to make {folder.name} in; make it first: mkdir -p {parent}")
        folder.mkdir()
    if not path.exists():
        if any(folder.iterdir()):
            raise CliError(f"{output} is not empty and was not created by apply. Choose an empty folder.")
        first = {"format": FORMAT, "version": VERSION, "asked": asked}
        write_atomically(path, (json.dumps(first) + "\n").encode())
        return Record(path, {})
    if not resume:
        raise CliError(f"{output} already has decisions. Pass --resume to continue, or choose another folder.")
    first, *rest = _lines(path)
    before: Any = first.get("asked")
    if first.get("format") != FORMAT or first.get("version") != VERSION or not isinstance(before, dict):
        raise CliError(f"{path} is not a record of decided tables of this release. Choose another folder.")
    check_asked(output, before, asked, "choose another folder")
    return Record(path, {line["table"]: line for line in rest if isinstance(line.get("table"), str)})


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of the record; a line that was cut short is ignored, so its table is decided again."""
    empty = True
    with path.open("rb") as file:
        for text in file:
            try:
                line = json.loads(text)
            except ValueError:
                line = {}
            if isinstance(line, dict):
                empty = False
                yield line
    if empty:
        yield {}
