"""The command `apply`: tables in, the same tables with a column of decisions out, block by block."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Generator, Iterator

import numpy as np
from numpy.typing import NDArray

import gstar_fast as gf
from gstar_fast._base.files import open_atomically
from gstar_fast._base.names import Name
from gstar_fast._base.text import counted, span
from gstar_fast._base.thresholds import Nan
from gstar_fast._cli.count import Distance, Stop, read_ahead
from gstar_fast._cli.errors import USAGE, CliError, Interrupted, worded
from gstar_fast._cli.output import Console, Progress
from gstar_fast._cli.read import tables_of
from gstar_fast._cli.save import check_output
from gstar_fast._cli.tables.columns import groups_of, keys_of, known_names, numbers_of
from gstar_fast._cli.tables.inputs import Block, Column, Input, Kinds, Reader, format_of_output
from gstar_fast._cli.tables.open import check_columns, reading
from gstar_fast._cli.tables.types import CommonTypes
from gstar_fast._cli.tables.write import Tap, Writer, writer_for
from gstar_fast._cli.thresholds import parts_of, split_names
from gstar_fast._cli.wording import Table
from gstar_fast._decide import document

DECISION = "decision"
_NAN: dict[str | None, Nan | None] = {None: None, "raise": "raise", "reject": False, "accept": True}


def apply(given: argparse.Namespace, console: Console) -> None:
    """Decide the rows of tables and write them with a column `decision`."""
    if not given.allow_infeasible:
        _refuse_infeasible(given.thresholds)
    decider = gf.Decider.load(
        given.thresholds, unknown=given.unknown, nan=_NAN[given.nan], allow_expired=given.allow_expired
    )
    deciding = Deciding(decider, given)
    kind, compression = format_of_output(given.output, given.to)
    inputs, passed = tables_of(given, console)
    check_output(given.output, [*(one.path for one in inputs), given.thresholds])
    progress = Progress(shown=given.progress, quiet=console.quiet)
    with contextlib.ExitStack() as stack:
        stop = stack.enter_context(Stop())
        tap = Tap(sys.stdout.buffer if given.output == "-" else stack.enter_context(open_atomically(given.output)))
        writer = writer_for(kind, compression, tap, delimiter=given.delimiter if kind == "csv" else None)
        try:
            rows, accepted = _copy(inputs, deciding, writer, stop, progress, kind)
            if stop.signal is not None:
                raise Interrupted("stopped; nothing was written", stop.signal)
        except BaseException:
            tap.shut = True
            writer.close()
            raise
        finally:
            progress.close()
        writer.close()
        tap.flush()
    if given.output == "-":
        return
    share = f", {accepted / rows:.2%} of them accepted" if rows else ""
    console.answer(
        {
            "output": given.output,
            "rows": rows,
            "accepted": accepted,
            "passed_over": passed,
            "seconds": progress.seconds,
        },
        f"{given.output}: {counted(rows, 'row')} decided{share}, in {span(progress.seconds)}",
    )


def _refuse_infeasible(path: str) -> None:
    """Refuse thresholds that are saved with the verdict that they miss the limits."""
    try:
        infeasible = document.load(path).is_infeasible
    except ValueError:
        return  # whoever reads the thresholds says better what is wrong with them
    if infeasible:
        raise CliError(
            f"{path} says that no thresholds meet the limits it was asked for, and these do not; "
            "solve again with looser limits, or give --allow-infeasible to decide by them all the same"
        )


def _no_column(thresholds: str, what: str) -> CliError:
    why = "the rows named none, or several"
    return CliError(f"{thresholds} does not say which column is the {what} ({why}); give --{what}", USAGE)


class Deciding:
    """Decisions of a block, with messages in terms of the file."""

    def __init__(self, decider: gf.Decider, given: argparse.Namespace) -> None:
        self._decider = decider
        several = all(isinstance(name, tuple) for name in decider.groups)
        self.score = given.score if given.score is not None else decider.score_column
        named = decider.group_column
        self.group: list[str] = given.group or ([] if named is None else split_names(named, several))
        self.key: str | None = given.key
        self.replace: bool = given.replace
        if self.score is None:
            raise _no_column(given.thresholds, "score")
        if decider.unified:
            self.group = []
        elif not self.group:
            raise _no_column(given.thresholds, "group")
        if decider.randomized and self.key is None:
            raise CliError("these thresholds are randomised: name the column that identifies a row with --key", USAGE)
        parts = parts_of(decider.groups)
        width = len(parts)
        if self.group and len(self.group) != width:
            raise CliError(
                f"groups in {given.thresholds} are made of {counted(width, 'column')}, and --group names "
                f"{len(self.group)}",
                USAGE,
            )
        self._name_of: list[Callable[[str], Name]] = [known_names(part) for part in parts]

    @property
    def kinds(self) -> Kinds:
        """How a CSV file is to be read: a group or key 007 must not become 7."""
        texts = [*self.group, *([] if self.key is None else [self.key])]
        return {**dict.fromkeys(texts, "text"), str(self.score): "number"}

    @property
    def options(self) -> dict[str, str | None]:
        return {"--score": self.score, **{f"--group {name}": name for name in self.group}, "--key": self.key}

    def decide(self, source: Input, block: Block, first_row: int, text: bool) -> NDArray[np.uint8]:
        def where(column: str) -> str:
            return f"{source.name}: column {column!r}"

        if not block.rows:
            return np.zeros(0, np.uint8)
        assert self.score is not None
        scores = numbers_of(block.columns[self.score], where(self.score), first_row)
        groups = [
            groups_of(block.columns[name], where(name), known if text else None, first_row)
            for name, known in zip(self.group, self._name_of, strict=False)
        ]
        one: Column = None
        if len(groups) == 1:
            one = groups[0]
        elif groups:
            one = list(
                zip(*(column.tolist() if hasattr(column, "tolist") else column for column in groups), strict=True)
            )
        keys = None
        if self.key is not None:
            keys = keys_of(block.columns[self.key], where(self.key), first_row)
        try:
            decisions = self._decider(scores, one, keys=keys)
        except (ValueError, TypeError) as error:
            named = {"scores": self.score, "keys": self.key, "groups": self.group[0] if self.group else None}
            face = Table({name: column for name, column in named.items() if column}, tuple(self.group), first_row)
            raise CliError(f"{source.name}: {worded(error, face)}") from error
        return decisions.view(np.uint8)


def _copy(
    inputs: list[Input], deciding: Deciding, writer: Writer, stop: Stop, progress: Progress, kind: str
) -> tuple[int, int]:
    """Every block of every input, decided, to the writer; rows, and how many of them are accepted."""
    distance = Distance(inputs)
    rows = accepted = 0
    rows_of = [0] * len(inputs)
    with read_ahead(_blocks(inputs, deciding, kind), stop) as ahead:
        for i, block, is_text in ahead:
            decisions = deciding.decide(inputs[i], block, rows_of[i], is_text)
            with _naming(inputs[i]):
                writer.write({**_kept(block), DECISION: decisions}, block.rows, block.written)
            rows_of[i] += block.rows
            rows += block.rows
            accepted += int(decisions.sum())
            progress.update(rows, distance.share(i, block.done))
    return rows, accepted


def _kept(block: Block) -> dict[str, Column]:
    """All columns but older decisions."""
    return {name: column for name, column in block.columns.items() if name != DECISION}


@contextlib.contextmanager
def _naming(source: Input) -> Iterator[None]:
    """What is wrong with a table is said with its name."""
    try:
        yield
    except CliError as error:
        raise CliError(f"{source.name}: {error}") from None


def _blocks(inputs: list[Input], deciding: Deciding, kind: str) -> Generator[tuple[int, Block, bool], None, None]:
    """All blocks, of columns that have the same types in all tables where the output has types."""

    def table(source: Input) -> contextlib.AbstractContextManager[Reader]:
        return reading(source, as_text=kind in ("csv", "tsv"), whole=True)

    common = None
    pipes: dict[int, Reader] = {}  # read once, so they stay open between finding the types and reading the rows
    with contextlib.ExitStack() as stack:
        if kind in ("parquet", "arrow") and len(inputs) > 1:
            common = CommonTypes()
            for i, source in enumerate(inputs):
                with contextlib.ExitStack() as once:
                    reader = (stack if source.path is None else once).enter_context(table(source))
                    if source.path is None:
                        pipes[i] = reader
                    _check(source, reader, deciding)
                    with _naming(source):
                        common.add(source.name, _kept(reader.nothing(deciding.kinds)))
        for i, source in enumerate(inputs):
            with contextlib.nullcontext(pipes[i]) if i in pipes else table(source) as reader:
                _check(source, reader, deciding)
                empty = True
                for block in reader.blocks(None, kinds=deciding.kinds):
                    empty = False
                    yield i, _widened(source, block, common), reader.text
                if empty:  # a table without rows still has columns
                    yield i, _widened(source, reader.nothing(deciding.kinds), common), reader.text


def _check(source: Input, reader: Reader, deciding: Deciding) -> None:
    check_columns(source, reader.names, deciding.options)
    if DECISION in reader.names and not deciding.replace:
        raise CliError(f"{source.name} has a column {DECISION!r} already; --replace writes over it")
    check_columns(source, reader.names, {name: name for name in reader.names})  # each once: all are kept


def _widened(source: Input, block: Block, common: CommonTypes | None) -> Block:
    if common is None:
        return block
    with _naming(source):
        return block._replace(columns=common.widened(block.columns))
