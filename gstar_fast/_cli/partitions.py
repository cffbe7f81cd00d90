"""A folder of tables -> the same folder with decisions: table by table, so that a process that was killed can go on.

A table appears when it is complete. Then a line is added to the record in the output folder: which table was decided,
of which size and when it was changed, and what came of it. A line that was cut short counts for nothing: its table is
decided again, and replaced as a whole.
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
from gstar_fast._cli.tables.inputs import Input, format_of_output, with_format
from gstar_fast._cli.tables.places import is_url, place_of

FORMAT = "gstar_fast.decided"
VERSION = 1
RECORD = "_decided.jsonl"  # what begins with _ is no data by custom


class Task(NamedTuple):
    """One table to decide."""

    source: Input
    name: str  # within both folders
    output: Path
    format: str
    compression: str | None


def is_folder(output: str) -> bool:
    """Whether an output is meant to be a folder."""
    return output != "-" and (output.endswith(("/", os.sep)) or Path(output).is_dir())


def tasks(given: list[str], inputs: list[Input], output: str, to: str | None) -> list[Task]:
    """What is to be decided; refuses what could not be told apart afterwards."""
    if len(given) != 1 or given[0] == "-" or not place_of(given[0]).is_folder(given[0]):
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
    inner, outer = Path(place_of(output).canonical(output)), Path(place_of(folder).canonical(folder))
    if inner == outer:
        raise CliError(f"{output} is also the input; write to another folder")
    if inner.is_relative_to(outer):
        raise CliError(
            f"{output} is inside {without_secrets(folder)}, so that its tables would be inputs next time; "
            "write elsewhere"
        )
    if outer.is_relative_to(inner):
        raise CliError(
            f"{without_secrets(folder)} is inside {output}, where decided tables would lie among others; "
            "write elsewhere"
        )


@dataclass
class Record:
    """What an output folder says of the tables that were decided."""

    path: Path
    done: dict[str, dict[str, Any]]

    def is_done(self, task: Task) -> bool:
        """Whether a table was decided as it is now, and what was written is still there."""
        line = self.done.get(task.name)
        if line is None or line.get("source") != source_of(task):
            return False
        try:
            return task.output.stat().st_size == line.get("size")
        except FileNotFoundError:
            return False

    def add(self, task: Task, source: dict[str, Any], rows: int, accepted: int) -> None:
        """One more table is whole; `source` is what it was before it was read."""
        line = {"table": task.name, "source": source, "size": task.output.stat().st_size}
        line |= {"rows": rows, "accepted": accepted}
        self.done[task.name] = line
        _append(self.path, line)

    def gone(self, found: list[Task]) -> list[str]:
        """Tables that were decided and are not among the inputs now."""
        return sorted(set(self.done) - {task.name for task in found})


def source_of(task: Task) -> dict[str, Any]:
    """What tells whether a table is still the one that was decided."""
    identity = task.source.identity()
    return {"size": identity["size"], "changed": identity["changed"]}


def _append(path: Path, line: dict[str, Any]) -> None:
    """A line at the end of the record, on disk when this returns; it does not go on with one that was cut short."""
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
    """The record of an output folder: a new one, or one to go on with where the same is asked for."""
    folder = Path(output)
    path = folder / RECORD
    if not folder.exists():
        parent = folder.parent
        if not parent.is_dir():
            raise CliError(f"there is no folder {parent} to make {folder.name} in; make it first: mkdir -p {parent}")
        folder.mkdir()
    if not path.exists():
        if any(folder.iterdir()):
            raise CliError(f"{output} is not empty, and apply did not begin it; name a folder that is new or empty")
        first = {"format": FORMAT, "version": VERSION, "asked": asked}
        write_atomically(path, (json.dumps(first) + "\n").encode())
        return Record(path, {})
    if not resume:
        raise CliError(f"{output} holds decided tables already; --resume goes on with it, or name another folder")
    first, *rest = _lines(path)
    before: Any = first.get("asked")
    if first.get("format") != FORMAT or first.get("version") != VERSION or not isinstance(before, dict):
        raise CliError(f"{path} is not the record of decided tables of this release; name another folder")
    for option in {**asked, **before}:
        if asked.get(option) != before.get(option):
            raise CliError(
                f"{output} was begun with another {option}: {_short(before.get(option))}, now it is "
                f"{_short(asked.get(option))}; go on with the same, or name another folder"
            )
    return Record(path, {line["table"]: line for line in rest if isinstance(line.get("table"), str)})


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """What the record says; a line that a kill cut short is passed over, so that its table is decided again."""
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
