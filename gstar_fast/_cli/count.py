"""Tables -> a sketch: one thread reads ahead, the other counts, and signals stop both between two blocks."""

from __future__ import annotations

import contextlib
import itertools
import queue
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Self, TypeVar

import numpy as np

import gstar_fast as gf
from gstar_fast._base.sections import LabelTexts
from gstar_fast._cli.errors import CliError, Interrupted, Table, worded
from gstar_fast._cli.output import Progress
from gstar_fast._cli.resume import Entry
from gstar_fast._cli.tables.columns import Labels, groups_of, label_name, name_of_text, numbers_of
from gstar_fast._cli.tables.inputs import Block, Column, Input, Kinds, Wanted
from gstar_fast._cli.tables.open import blocks_of, checked_columns
from gstar_fast._input.options import RAISE
from gstar_fast._sketch.columns import NO_LABELS, check_positive, labels_in
from gstar_fast._sketch.columns import Columns as ColumnNames

T = TypeVar("T")


# ------------------------------------------------------------------------------------------------------------- stopping


class Stop:
    """Defers SIGINT, SIGTERM and SIGHUP until the current block is counted; a second Ctrl-C does not wait."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._before: dict[int, Callable[[int, FrameType | None], object] | int | None] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
                if number not in self._before and signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self.signal is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = number


@contextlib.contextmanager
def read_ahead(items: Generator[T, None, None], stop: Stop, depth: int = 3) -> Iterator[Iterator[T]]:
    """The items of a generator that runs in its own thread; they end early on a signal to stop.

    A read that blocks (an idle pipe) then blocks that thread only.
    """
    waiting: queue.Queue[tuple[T] | BaseException | None] = queue.Queue(depth)  # an item, an error, or the end
    closed = threading.Event()

    def put(found: tuple[T] | BaseException | None) -> bool:
        while not closed.is_set():
            with contextlib.suppress(queue.Full):
                waiting.put(found, timeout=0.1)
                return True
        return False

    def read() -> None:
        try:
            for item in items:
                if not put((item,)):
                    return
            put(None)
        except BaseException as error:
            put(error)
        finally:
            items.close()

    def taken() -> Iterator[T]:
        while stop.signal is None:
            try:
                found = waiting.get(timeout=0.1)
            except queue.Empty:
                continue
            if found is None:
                return
            if isinstance(found, BaseException):
                raise found
            yield found[0]

    thread = threading.Thread(target=read, name="reader", daemon=True)
    thread.start()
    try:
        yield taken()
    finally:
        closed.set()
        thread.join(timeout=2.0)


# ------------------------------------------------------------------------------------------------------------- counting


@dataclass(frozen=True)
class Columns:
    """The columns to read from a table."""

    score: str
    label: str | None
    group: tuple[str, ...]
    weight: str | None = None
    repeats: str | None = None
    positive: str | None = None
    decisions: bool = False  # whether `score` is a column of decisions, which are counted as scores of 0 and 1
    accepted: str | None = None  # the decision that means 1

    @property
    def options(self) -> dict[str, str | None]:
        """Option -> column."""
        named = {"--decision" if self.decisions else "--score": self.score, "--label": self.label}
        groups = {f"--group {name}": name for name in self.group}
        return {**named, **groups, "--weight": self.weight, "--repeats": self.repeats}

    @property
    def arguments(self) -> dict[str, str]:
        """Argument of the library -> column."""
        named = {"scores": self.score, "labels": self.label, "groups": self.group[0]}
        named |= {"weights": self.weight, "repeats": self.repeats}
        named |= {f"column {i} of groups": name for i, name in enumerate(self.group)}
        return {name: column for name, column in named.items() if column is not None}

    def named(self, sketch: gf.Sketch, labels: LabelTexts = NO_LABELS) -> gf.Sketch:
        """The sketch, with the columns and the texts of labels saved in it."""
        positive = None if self.positive is None else label_name(self.positive)
        return sketch._remember(ColumnNames(self.score, self.label, self.group), positive, labels)


@dataclass
class Tally:
    """Counts tables into a sketch, block by block."""

    columns: Columns
    sketch: gf.Sketch

    def __post_init__(self) -> None:
        self.labels = Labels(self.columns.positive)
        self.decisions = Labels(self.columns.accepted, "decision")

    @property
    def kinds(self) -> Kinds:
        """How the columns of a CSV file are read."""
        c = self.columns
        texts: Kinds = {name: "text" for name in (c.label, *c.group) if name is not None}
        numbers: Kinds = {name: "number" for name in (c.score, c.weight, c.repeats) if name is not None}
        return {**texts, **numbers, **({c.score: "text"} if c.decisions else {})}

    def add(self, source: Input, block: Block, first_row: int) -> None:
        """Count all rows of a block, or raise and count none."""
        c = self.columns

        def read(reader: Callable[[Column, str, int], Column], name: str | None) -> Column:
            return None if name is None else reader(block.columns[name], source.column(name), first_row)

        scores = read(self._decided if c.decisions else numbers_of, c.score)
        labels = read(self.labels.of, c.label)
        weights, repeats = read(numbers_of, c.weight), read(numbers_of, c.repeats)
        nulls = self.sketch._passing.group != RAISE
        texts = [name_of_text if block.is_text(name) else None for name in c.group]
        groups = [
            groups_of(block.columns[name], source.column(name), name_of, first_row, nulls=nulls)
            for name, name_of in zip(c.group, texts, strict=True)
        ]
        one: Column = groups if len(groups) > 1 else groups[0]
        try:
            self.sketch.update(scores, labels, one, weights=weights, repeats=repeats)
        except (ValueError, TypeError, MemoryError) as error:
            face = Table(c.arguments, c.group, first_row)
            raise CliError(f"{source.name}: {worded(error, face)}") from error
        known = labels_in(self.sketch._core.sections)
        if known != known | self.labels.seen:
            self.columns.named(self.sketch, known | self.labels.seen)

    def _decided(self, column: Column, where: str, first_row: int) -> Column:
        """Decisions of a column as scores."""
        decisions = self.decisions.of(column, where, first_row)
        if isinstance(decisions, np.ma.MaskedArray):
            missing = int(np.ma.getmaskarray(decisions).sum())
            raise CliError(f"{where} has no decision in {missing:,} rows; every row needs one, 0 or 1")
        return np.asarray(decisions).astype(np.float32)

    def check_positive(self) -> None:
        """Raise if no row has the --positive label, or the --accepted decision."""
        check_positive(self.sketch._core)
        if self.sketch.n_rows and self.decisions.positive is not None and not self.decisions.came:
            raise self.decisions.never_came("--accepted")


# ----------------------------------------------------------------------------------------------------------------- runs


class Distance:
    """Progress over several files, in bytes."""

    def __init__(self, inputs: list[Input]) -> None:
        sizes = [one.size for one in inputs]
        self._before = [0, *itertools.accumulate(size or 0 for size in sizes)]
        self._known = None not in sizes and self._before[-1] > 0

    def share(self, i: int, done: float | None) -> float | None:
        """Share of all bytes once this share of the i-th file is read; None if it is not known."""
        if not self._known or done is None:
            return None
        start, end = self._before[i : i + 2]
        return (start + done * (end - start)) / self._before[-1]


def entries_of(inputs: list[Input]) -> list[Entry]:
    """The files as they are now, with none of their rows counted."""
    return [{**one.identity(), "rows": 0, "whole": False, "output": None} for one in inputs]


def count(
    inputs: list[Input],
    tally: Tally,
    stop: Stop,
    progress: Progress,
    *,
    entries: list[Entry] | None = None,
    checkpoint: Callable[[], None] | None = None,
    every: float = 30.0,
) -> int:
    """Count all rows that are not counted yet and return their number.

    `entries` always match the sketch; `checkpoint` runs every `every` seconds.
    """
    places = entries_of(inputs) if entries is None else entries
    distance = Distance(inputs)
    rows, saved = 0, time.monotonic()

    def blocks() -> Generator[tuple[int, Block | None], None, None]:
        for i, source in enumerate(inputs):
            if places[i]["whole"]:
                continue
            wanted = Wanted(partial(checked_columns, source, wanted=tally.columns.options), tally.kinds)
            for block in blocks_of(source, wanted, places[i]["rows"]):
                if block.rows:
                    yield i, block
            yield i, None

    try:
        with read_ahead(blocks(), stop) as ahead:
            for i, block in ahead:
                if block is None:
                    places[i]["whole"] = True
                    continue
                tally.add(inputs[i], block, places[i]["rows"])
                places[i]["rows"] += block.rows
                rows += block.rows
                progress.update(rows, distance.share(i, block.done))
                if checkpoint is not None and time.monotonic() - saved > every:
                    checkpoint()
                    saved = time.monotonic()
    finally:
        progress.close()
    if stop.signal is not None and not all(place["whole"] for place in places):
        raise Interrupted("", stop.signal)
    return rows
