"""The command `apply`: tables in, the same tables with a column of decisions out, block by block."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import itertools
import os
import sys
import warnings
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import gstar_fast as gf
from gstar_fast._base.files import open_atomically
from gstar_fast._base.names import Name
from gstar_fast._base.text import counted, some, span, without_secrets
from gstar_fast._base.thresholds import Nan
from gstar_fast._cli.count import Distance, Stop, read_ahead
from gstar_fast._cli.errors import USAGE, CliError, Interrupted, Table, worded
from gstar_fast._cli.output import Console, Progress, check_output, refuse_remote
from gstar_fast._cli.read import tables_of
from gstar_fast._cli.resume import Decided, command
from gstar_fast._cli.tables import places
from gstar_fast._cli.tables.columns import groups_of, keys_of, known_names, missing_group, numbers_of
from gstar_fast._cli.tables.inputs import Block, Column, Input, Kinds, Wanted, format_of_output, with_format
from gstar_fast._cli.tables.open import blocks_of, checked_columns
from gstar_fast._cli.tables.places import canonical
from gstar_fast._cli.tables.write import CommonTypes, Tap, writer_for
from gstar_fast._cli.thresholds import parts_of, split_names
from gstar_fast._input.columns import group_columns, grouped
from gstar_fast._input.options import RAISE, checked_passing
from gstar_fast.errors import InfeasibleWarning

DECISION = "decision"
_NAN: dict[str | None, Nan | None] = {None: None, "raise": "raise", "reject": False, "accept": True}


def apply(given: argparse.Namespace, console: Console) -> None:
    """Decide the rows of tables and write them with a column `decision`."""
    deciding = Deciding(_decider(given), given)
    if _is_folder(given.output):
        _to_folder(given, deciding, console)
        return
    if given.resume:
        raise CliError(f"--resume continues a folder, and {given.output} is a file; leave it out", USAGE)
    kind, compression = format_of_output(given.output, given.to)
    inputs, passed = tables_of(given, console)
    check_output(given.output, [*(one.path for one in inputs), given.thresholds])
    with _run(deciding, given, console, inputs) as run:
        run.write(inputs, given.output, kind, compression)
    if given.output != "-":
        console.answer({**run.facts, "passed_over": passed}, f"{given.output}: {run}")


def _to_folder(given: argparse.Namespace, deciding: Deciding, console: Console) -> None:
    """Decide table by table; decided tables stay if a later one fails."""
    inputs, passed = tables_of(given, console)
    tasks = _tasks(given.inputs, inputs, given.output, given.to)
    record = Decided(given.output, _asked(given), resume=given.resume)
    left = [task for task in tasks if not record.is_done(task.name, task.source.identity(), task.output)]
    before = len(tasks) - len(left)
    if gone := record.gone(task.name for task in tasks):
        console.note(f"note: {given.output} keeps decided tables whose inputs are gone: {some(gone, 10)}")
    if before:
        console.note(f"continuing after {counted(before, 'table')}")
    done = 0
    try:
        with _run(deciding, given, console, [task.source for task in left]) as run:
            run.folders = False
            for task in left:
                task.output.parent.mkdir(parents=True, exist_ok=True)
                source = task.source.identity()  # before it is read, so that a later change is seen
                rows = run.write([task.source], str(task.output), task.format, task.compression, done)
                record.add(task.name, source, task.output, rows)
                done += 1
    except Exception as error:
        so_far = f"{before + done} of {counted(len(tasks), 'table')} are decided"
        if isinstance(error, Interrupted):
            kept = f"stopped; {so_far} and kept in {given.output}\nto continue: {command(given)}"
            raise Interrupted(kept, error.code - 128) from None
        if before + done:
            console.note(f"{so_far}; --resume continues after them")
        raise
    finally:
        record.save()
    console.answer(
        {**run.facts, "tables": done, "tables_before": before, "passed_over": passed},
        f"{given.output}: {counted(done, 'table')}, {run}"
        + (f"\n{counted(before, 'table')} had been decided before" if before else ""),
    )


class _Task(NamedTuple):
    """One table to decide."""

    source: Input
    name: str  # within both folders
    output: Path
    format: str
    compression: str | None


def _is_folder(output: str) -> bool:
    """Whether an output is a folder."""
    return output != "-" and (output.endswith(("/", os.sep)) or Path(output).is_dir())


def _tasks(given: list[str], inputs: list[Input], output: str, to: str | None) -> list[_Task]:
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
    found: dict[Path, _Task] = {}
    for source in inputs:
        assert source.path is not None
        is_url = places.is_url(folder)
        name = source.path[len(folder.rstrip("/")) + 1 :] if is_url else os.path.relpath(source.path, folder)
        kept = name if to is None else with_format(name, to)
        place = Path(output, kept)
        kind, compression = (source.format, source.compression) if to is None else format_of_output(kept, to)
        if place in found:
            raise CliError(f"{source.name} and {found[place].source.name} would both be written to {place}; rename one")
        found[place] = _Task(source, name, place, kind, compression)
    return list(found.values())


def _asked(given: argparse.Namespace) -> dict[str, object]:
    """The options and files that the decided tables depend on."""
    deciding = ("score", "group", "key", "unknown", "nan", "missing", "missing_group")
    options = (*deciding, "replace", "to", "format", "delimiter")
    return {
        "thresholds": hashlib.sha256(Path(given.thresholds).read_bytes()).hexdigest(),
        "input": without_secrets(canonical(given.inputs[0])),
        **{name: getattr(given, name) for name in options},
    }


def _decider(given: argparse.Namespace) -> gf.Decider:
    """The saved thresholds; raises if they miss their limits, unless the user allows it."""
    with warnings.catch_warnings():
        if not given.allow_infeasible:
            warnings.simplefilter("error", InfeasibleWarning)
        try:
            return gf.Decider.load(
                given.thresholds, unknown=given.unknown, nan=_NAN[given.nan], allow_expired=given.allow_expired
            )
        except InfeasibleWarning:
            raise CliError(
                f"The thresholds in {given.thresholds} do not meet their limits. "
                "Solve with looser limits, or pass --allow-infeasible to use them."
            ) from None


class Deciding:
    """Decisions of a block, with messages in terms of the file."""

    def __init__(self, decider: gf.Decider, given: argparse.Namespace) -> None:
        self._decider = decider
        self._by_number = decider.cuts is not None  # the group column has numbers that stand for groups
        self.key: str | None = given.key
        self.replace: bool = given.replace
        self._missing = checked_passing("skip", given.missing)
        score = decider.score_column if given.score is None else given.score
        if score is None:
            raise CliError(f"{given.thresholds} does not name one score column; give --score", USAGE)
        self.score: str = score
        self.group: list[str] = given.group or []
        if not self.group and decider.group_column is not None:
            self.group = split_names(decider.group_column, all(isinstance(name, tuple) for name in decider.groups))
        if decider.unified:
            self.group = []
        elif not self.group and self._by_number:
            why = "has cut points of a number, such as P(group | x); give --group, the column of that number"
            raise CliError(f"{given.thresholds} {why}", USAGE)
        elif not self.group:
            raise CliError(f"{given.thresholds} does not name one group column; give --group", USAGE)
        if decider.randomized and self.key is None:
            raise CliError("These thresholds are randomised. Pass --key with an ID column.", USAGE)
        parts = parts_of(decider.groups)
        if self.group and len(self.group) != len(parts):
            raise CliError(
                f"groups in {given.thresholds} are made of {counted(len(parts), 'column')}, and --group names "
                f"{len(self.group)}",
                USAGE,
            )
        self._name_of: list[Callable[[str], Name]] = [known_names(part) for part in parts]
        if given.missing_group == "skip":
            raise CliError("apply decides every row, so --missing-group must be the name of a group, not skip", USAGE)
        if given.missing_group is not None and (self._by_number or not self.group):
            raise CliError("these thresholds do not use a group; leave out --missing-group", USAGE)
        self._missing_group = missing_group(given.missing_group, len(self.group), self._name_of[0])

    @property
    def kinds(self) -> Kinds:
        """How the columns of a CSV file are read: a group or key 007 must not become 7."""
        groups: Kinds = dict.fromkeys(self.group, "number" if self._by_number else "text")
        keys: Kinds = {} if self.key is None else {self.key: "text"}
        return {**groups, **keys, self.score: "number"}

    def columns_of(self, source: Input, names: list[str]) -> list[str]:
        """All columns of a table; raises if it lacks one that decides, or has decisions that may not be replaced."""
        options = {"--score": self.score, **{f"--group {name}": name for name in self.group}, "--key": self.key}
        checked_columns(source, names, options)
        if DECISION in names and not self.replace:
            raise CliError(f"{source.name} has a column {DECISION!r} already; --replace writes over it")
        return checked_columns(source, names, {name: name for name in names})  # each once: all are kept

    def decide(self, source: Input, block: Block, first_row: int) -> NDArray[np.uint8]:
        """Decisions of the rows of a block, 0 or 1."""
        scores = numbers_of(block.columns[self.score], source.column(self.score), first_row)
        if self._missing.values:
            scores = np.asarray(scores, np.float64)
            scores = np.where(np.isin(scores, self._missing.values), np.nan, scores)
        keys = None
        if self.key is not None:
            keys = keys_of(block.columns[self.key], source.column(self.key), first_row)
        groups = self._groups(source, block, first_row)
        one: Column = groups if len(groups) > 1 else groups[0] if groups else None
        try:
            if self._missing_group != RAISE:
                one = _with_names(one, self._missing_group)
            decisions = self._decider(scores, one, keys=keys)
        except (ValueError, TypeError) as error:
            named = {"scores": self.score, "keys": self.key, "groups": self.group[0] if self.group else None}
            face = Table({name: column for name, column in named.items() if column}, tuple(self.group), first_row)
            raise CliError(f"{source.name}: {worded(error, face)}") from error
        return decisions.view(np.uint8)

    def _groups(self, source: Input, block: Block, first_row: int) -> list[Column]:
        """The columns of groups, or the one column of numbers that stand for them.

        In text, 1 is a number like 0.5; a typed column of whole numbers is rejected, as everywhere.
        """
        found = []
        for name, known in zip(self.group, self._name_of, strict=False):
            column, where, is_text = block.columns[name], source.column(name), block.is_text(name)
            if self._by_number:
                numbers = numbers_of(column, where, first_row)
                found.append(np.asarray(numbers, np.float64) if is_text else numbers)
            else:
                nulls = self._missing_group != RAISE
                found.append(groups_of(column, where, known if is_text else None, first_row, nulls=nulls))
        return found


def _with_names(groups: Column, missing: Name) -> Column:
    """Groups in which missing values are replaced by a name."""
    codes, names, _ = grouped(*group_columns(groups), missing)
    if names is None:
        return groups
    table = np.empty(len(names), object)
    table[:] = list(names)
    return table[codes]


@contextlib.contextmanager
def _run(deciding: Deciding, given: argparse.Namespace, console: Console, inputs: list[Input]) -> Iterator[_Run]:
    with Stop() as stop, contextlib.closing(Progress(shown=given.progress, quiet=console.quiet)) as progress:
        yield _Run(deciding, given, stop, progress, Distance(inputs))


@dataclass
class _Run:
    """Decides tables one after the other, and counts the rows."""

    deciding: Deciding
    given: argparse.Namespace
    stop: Stop
    progress: Progress
    distance: Distance
    folders: bool = True  # whether columns that folders give are written
    rows: int = 0
    accepted: int = 0

    def __str__(self) -> str:
        share = f", {self.accepted / self.rows:.2%} of them accepted" if self.rows else ""
        return f"{counted(self.rows, 'row')} decided{share}, in {span(self.progress.seconds)}"

    @property
    def facts(self) -> dict[str, object]:
        """The run for JSON."""
        counts = {"rows": self.rows, "accepted": self.accepted}
        return {"output": self.given.output, **counts, "seconds": self.progress.seconds}

    def write(self, inputs: list[Input], output: str, kind: str, compression: str | None, first: int = 0) -> int:
        """Write a complete table, or none, and return its rows; `first` is the place of the first input in the run."""
        rows_of = [0] * len(inputs)
        with contextlib.ExitStack() as stack:
            tap = Tap(sys.stdout.buffer if output == "-" else stack.enter_context(open_atomically(output)))
            writer = writer_for(kind, compression, tap, delimiter=self.given.delimiter if kind == "csv" else None)
            try:
                with read_ahead(_blocks(inputs, self.deciding, kind), self.stop) as ahead:
                    for i, block in ahead:
                        decisions = np.zeros(0, np.uint8)
                        if block.rows:
                            decisions = self.deciding.decide(inputs[i], block, rows_of[i])
                        gone = {DECISION} if self.folders else {DECISION, *block.folders}
                        kept = {name: column for name, column in block.columns.items() if name not in gone}
                        with _naming(inputs[i]):
                            writer.write({**kept, DECISION: decisions}, block.rows)
                        rows_of[i] += block.rows
                        self.rows += block.rows
                        self.accepted += int(decisions.sum())
                        self.progress.update(self.rows, self.distance.share(first + i, block.done))
                if self.stop.signal is not None:
                    raise Interrupted("stopped; nothing was written", self.stop.signal)
            except BaseException:
                tap.shut = True
                writer.close()
                raise
            writer.close()
            tap.flush()
        return sum(rows_of)


@contextlib.contextmanager
def _naming(source: Input) -> Iterator[None]:
    """Put the name of the table into errors."""
    try:
        yield
    except CliError as error:
        raise CliError(f"{source.name}: {error}") from None


def _blocks(inputs: list[Input], deciding: Deciding, kind: str) -> Generator[tuple[int, Block], None, None]:
    """All blocks; if the output has types, with the same types in all tables."""

    def table(source: Input) -> Iterator[Block]:
        choose = partial(deciding.columns_of, source)
        return blocks_of(source, Wanted(choose, deciding.kinds, as_text=kind in ("csv", "tsv"), whole=True))

    common = CommonTypes()
    begun: dict[int, Iterator[Block]] = {}  # pipes, which cannot be read again
    for i, source in enumerate(inputs if kind in ("parquet", "arrow") and len(inputs) > 1 else []):
        blocks = table(source)
        first = next(blocks)
        with _naming(source):
            common.add(source.name, {name: one for name, one in first.columns.items() if name != DECISION})
        if source.path is None:
            begun[i] = itertools.chain([first], blocks)
    for i, source in enumerate(inputs):
        for block in begun[i] if i in begun else table(source):
            with _naming(source):
                widened = common.widened(block.columns)
            yield i, block._replace(columns=widened)
