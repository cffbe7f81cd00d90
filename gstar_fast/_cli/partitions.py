"""A folder of tables -> the same folder with decisions, table by table, so that a killed process can be continued.

A table appears when it is complete. The record in the output folder has the size and time of the tables that were
decided. It is saved once a second: if the process is killed, the tables of the last second are decided again.
"""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import NamedTuple

from gstar_fast._base.text import without_secrets
from gstar_fast._cli.errors import USAGE, CliError
from gstar_fast._cli.output import refuse_remote
from gstar_fast._cli.resume import TABLES, Record, check_asked, is_same, load
from gstar_fast._cli.tables import places
from gstar_fast._cli.tables.inputs import Input, format_of_output, with_format
from gstar_fast._cli.tables.places import Identity, canonical

RECORD = "_decided.json"  # names that start with _ are not read as tables


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
    if len(given) != 1 or given[0] == "-" or not places.is_folder(given[0]):
        raise CliError(
            f"{output} is a folder, and it takes the tables of one folder; name that, or a file to write", USAGE
        )
    folder = given[0]
    refuse_remote(output)
    inner, outer, shown = Path(canonical(output)), Path(canonical(folder)), without_secrets(folder)
    if inner == outer:
        raise CliError(f"{output} is also the input; choose another folder")
    if inner.is_relative_to(outer):
        why = f"{output} is inside {shown}, so the next run would read its tables"
        raise CliError(f"{why}; choose another folder")
    if outer.is_relative_to(inner):
        why = f"{shown} is inside {output}, so decided tables would be mixed with others"
        raise CliError(f"{why}; choose another folder")
    found: dict[Path, Task] = {}
    for source in inputs:
        assert source.path is not None
        is_url = places.is_url(folder)
        name = source.path[len(folder.rstrip("/")) + 1 :] if is_url else os.path.relpath(source.path, folder)
        kept = name if to is None else with_format(name, to)
        place = Path(output, kept)
        kind, compression = (source.format, source.compression) if to is None else format_of_output(kept, to)
        if place in found:
            raise CliError(f"{source.name} and {found[place].source.name} would both be written to {place}; rename one")
        found[place] = Task(source, name, place, kind, compression)
    return list(found.values())


class Decided:
    """The record of decided tables in an output folder: a new one, or the one to continue, for the same options."""

    def __init__(self, output: str, asked: dict[str, object], *, resume: bool) -> None:
        folder = Path(output)
        self._path, self._record, self._saved = folder / RECORD, Record(asked, []), -math.inf
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

    def is_done(self, task: Task) -> bool:
        """Whether a table was decided, has not changed since, and its output is still there."""
        before = self._done.get(task.name)
        if before is None or not is_same(before, task.source.identity()):
            return False
        return task.output.exists() and task.output.stat().st_size == before.get("output")

    def add(self, task: Task, source: Identity, rows: int) -> None:
        """Add a table, and save the record once a second; `source` is what identified the table before it was read."""
        output = task.output.stat().st_size
        self._done[task.name] = {**source, "path": task.name, "rows": rows, "whole": True, "output": output}
        self._record.files = list(self._done.values())
        if time.monotonic() - self._saved > 1:
            self.save()

    def save(self) -> None:
        """Replace the record as a whole."""
        self._record.save(self._path)
        self._saved = time.monotonic()

    def gone(self, found: list[Task]) -> list[str]:
        """Decided tables that are not among the inputs any more."""
        return sorted(set(self._done) - {task.name for task in found})
