"""What all engines share: partition -> one Arrow stream -> bytes of a sketch -> a tree of merges -> the sketch.

Tasks answer with bytes and write nothing, so that one may fail, be repeated, or run twice. A rejected row is an answer
too: the engine would repeat a task that raises, and hide our message under its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, TypedDict, TypeVar, Unpack

import gstar_fast.errors as errors
from gstar_fast._base.names import LONGEST_TUPLE, Name, Scalar
from gstar_fast._base.refusals.refusal import Words, refusal, worded
from gstar_fast._base.refusals.wording import Face
from gstar_fast._input.options import RAISE, Missing, checked_passing
from gstar_fast._input.positive import checked_positive
from gstar_fast._sketch.columns import NO_LABELS, Columns, check_positive
from gstar_fast._sketch.counting import Table, count_table
from gstar_fast._sketch.merging import add, merge_all
from gstar_fast._sketch.sketch import Sketch

if TYPE_CHECKING:
    import pyarrow as pa

Answer = TypeVar("Answer")  # of a task, as an engine has it

FAN_IN = 32  # answers that one task merges
REFUSED = b"refused\n"  # how the answer of a task begins that has no sketch


def check_installed(package: str, extra: str) -> None:
    """Raise if an engine is not installed."""
    if find_spec(package) is None:
        raise ImportError(f"gf.{extra} needs {package}; install it with: pip install 'gstar-fast[{extra}]'")


def check_frame(data: object, argument: str, what: str) -> None:
    """Raise if the data is not a frame of the engine; its class is compared by name, so no engine is imported."""
    module, _, name = what.rpartition(".")
    if not any(kind.__name__ == name and f"{kind.__module__}.".startswith(f"{module}.") for kind in type(data).__mro__):
        kind = type(data)
        shown = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
        raise refusal("engine_frame", argument, value=Words(shown), limit=what)


class SketchOptions(TypedDict, total=False):
    """Options of `Sketch` that engines hand on."""

    bins: int
    range: tuple[float, float] | None
    groups: Iterable[Name] | None
    memory_limit: int


class CountOptions(SketchOptions, total=False):
    """The same, and those of `Sketch.update_table`."""

    weight: str | None
    repeats: str | None
    positive: Scalar | None
    nan: Literal["raise", "skip"]
    missing: Missing
    missing_group: Name


class Partition(Face):
    """Columns of the user's table for the arrays of a partition; a row's place there says nothing."""

    own_group = 'pass missing_group= with a name for their group, or "skip"'

    def __init__(self, table: Table) -> None:
        self._columns = {"groups": " and ".join(map(repr, table.groups)), "scores": repr(table.score)}
        self._columns |= {"labels": repr(table.label), "weights": repr(table.weight), "repeats": repr(table.repeats)}

    def argument(self, name: str | None) -> str:
        return f"column {self._columns[name]}" if name in self._columns else str(name)

    def at(self, _row: int | None, _argument: str | None = None) -> str:
        return ""


@dataclass(frozen=True)
class Job:
    """What every task is told; small, and can be pickled."""

    table: Table
    nan: Literal["raise", "skip"]
    missing: Missing
    missing_group: Name
    options: SketchOptions

    @property
    def columns(self) -> list[str]:
        """The columns that are read, each once."""
        table = self.table
        named = (table.score, *table.groups, table.label, table.weight, table.repeats)
        return list(dict.fromkeys(name for name in named if name is not None))

    def count(self, data: object) -> bytes:
        """Answer of one partition: a table or stream of Arrow data, or None for one without rows."""
        return self._answer(lambda: self._counted(data))

    def count_key(self, data: object) -> bytes:
        """The sketch of one key's rows; raises where one is rejected, since nobody finishes a frame of sketches."""
        return _sound(self.count(data))

    def merge(self, answers: Iterable[bytes]) -> bytes:
        """Answer of a task that merges the answers of others; an error among them is its own."""
        return self._answer(lambda: merged(answers, silent(Sketch())))

    def merge_column(self, batches: Iterable[pa.RecordBatch]) -> bytes:
        """The same for the answers in the first column of batches."""
        return self.merge(answer.as_py() for batch in batches for answer in batch.column(0))

    def finish(self, answers: Iterable[bytes], *, whole: bool = True) -> Sketch:
        """The sketch of all answers; raises the errors of tasks.

        `whole` says that these are all rows; it is then an error if none has the positive label.
        """
        first = self._counted(None)  # there may be no partition at all
        try:
            total = merge_all(
                [first.to_bytes()],
                nan=self.nan,
                missing=self.missing,
                memory_limit=self.options.get("memory_limit", 2**30),
                missing_group=self.missing_group,
            )
            merged(answers, total)
        except _RefusedError as refused:
            _sound(refused.args[0])
        if whole:
            check_positive(total._core)
        return total

    def check_types(self, schema: pa.Schema) -> None:
        """Raise if tasks would reject a type of the columns, which stand in this order."""
        import pyarrow as pa

        empty = pa.RecordBatch.from_arrays([pa.array([], kind) for kind in schema.types], self.columns)
        _sound(self.count(pa.RecordBatchReader.from_batches(empty.schema, [empty])))

    def _counted(self, data: object) -> Sketch:
        sketch, labels = silent(Sketch(**self.options)), NO_LABELS
        if data is not None:
            passing = checked_passing(self.nan, self.missing, missing_group=self.missing_group)
            labels = count_table(sketch._core, self.table._replace(data=data), passing, 1)
        table = self.table
        return sketch._remember(Columns(table.score, table.label, table.groups), table.positive, labels)

    def _answer(self, make: Callable[[], Sketch]) -> bytes:
        try:
            return make().to_bytes()
        except _RefusedError as refused:
            return bytes(refused.args[0])
        except errors.InputError as error:
            value = error.value if isinstance(error.value, (str, int, float, type(None))) else repr(error.value)
            fields = {"code": error.code, "argument": error.argument, "value": value}
            told = {"kind": type(error).__name__, "words": worded(error, Partition(self.table)), "fields": fields}
            return REFUSED + json.dumps(told).encode()


def job_of(score: str, label: str | None, group: str | Sequence[str], **given: Unpack[CountOptions]) -> Job:
    """Check all options where the user is, before any task starts."""
    groups = group_columns(group)
    nan, missing = given.pop("nan", "raise"), given.pop("missing", None)
    missing_group = given.pop("missing_group", RAISE)
    weight, repeats, positive = given.pop("weight", None), given.pop("repeats", None), given.pop("positive", None)
    options: SketchOptions = given
    if (names := options.get("groups")) is not None:
        options["groups"] = tuple(names)
    Sketch(nan=nan, missing=missing, missing_group=missing_group, **options)
    table = Table(None, score, label, groups, weight, checked_positive(positive, label), repeats)
    check_names(name for name in (score, label, weight, repeats) if name is not None)
    return Job(table, nan, missing, missing_group, options)


def check_names(names: Iterable[object]) -> tuple[str, ...]:
    """The names of columns; raises if one is a column itself, or something else."""
    found = []
    for name in names:
        if not isinstance(name, str):
            raise refusal("column_name_type", "column", value=name)
        found.append(name)
    return tuple(found)


def named_columns(given: object) -> tuple[str, ...]:
    """One name of a column, or several."""
    if isinstance(given, str):
        return (given,)
    try:
        names: tuple[object, ...] = tuple(given)  # type: ignore[arg-type]
    except TypeError:  # a column of Spark has a method `__iter__` that raises
        names = (given,)
    return check_names(names)


def group_columns(group: object) -> tuple[str, ...]:
    """Names of the columns of groups."""
    names = named_columns(group)
    if not names:
        raise refusal("no_group_column", "group")
    if len(names) > LONGEST_TUPLE:
        raise refusal("too_many_columns", "group", value=len(names), limit=LONGEST_TUPLE)
    return names


def check_columns(names: Iterable[str], found: Iterable[str], argument: str) -> None:
    """Raise if a table does not have each of these columns once."""
    there = list(found)
    for name in names:
        if (parent := name.partition(".")[0]) in there and name not in there:
            raise refusal("struct_field", argument, value=name, limit=parent)
        if there.count(name) != 1:
            code = "no_such_column" if name not in there else "column_twice"
            raise refusal(code, argument, value=name, limit=", ".join(map(repr, there)))


def in_a_tree(answers: list[Answer], merge: Callable[[list[Answer]], Answer]) -> list[Answer]:
    """One answer, or none: tasks merge pieces of the answers until no more than one is left."""
    while len(answers) > 1:
        answers = [merge(answers[start : start + FAN_IN]) for start in range(0, len(answers), FAN_IN)]
    return answers


def merged(answers: Iterable[bytes], total: Sketch) -> Sketch:
    """Add the answers of tasks to a sketch."""
    for answer in answers:
        if answer.startswith(REFUSED):
            raise _RefusedError(answer)
        add(total, answer)
    return total


def _sound(answer: bytes) -> bytes:
    """The answer of a task; raises the error that it tells."""
    if not answer.startswith(REFUSED):
        return answer
    told = json.loads(answer.removeprefix(REFUSED))
    kind: type[errors.InputError] = getattr(errors, told["kind"])
    raise kind(told["words"], **told["fields"]) from None


def silent(sketch: Sketch) -> Sketch:
    """A sketch on a worker: warnings are for the user, who gets them with the whole."""
    sketch._warned = True
    return sketch


class _RefusedError(Exception):
    """A task has rejected a row; its answer, the one argument, says which and why."""
