"""Rows of a database's answers -> sketches: what is asked, as SQL, and what comes back for each key."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import reduce
from itertools import groupby
from operator import or_
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict

from gstar_fast._backends.common.rows import label_of
from gstar_fast._base.grid import LARGEST_SCORE, Extent, Grid, Window, linear_window, window_of
from gstar_fast._base.names import Name, Scalar, clean_name, given_names
from gstar_fast._base.refusals.refusal import Words, refusal
from gstar_fast._base.sections import MOST_LABELS, LabelTexts
from gstar_fast._decide.dialects import Dialect, dialect_named, literal, quoted
from gstar_fast._engines import sql_text
from gstar_fast._engines.adapter import group_columns, named_columns
from gstar_fast._input.options import (
    SKIP,
    Passing,
    checked_bins,
    checked_flag,
    checked_missing_group,
    checked_nan,
    checked_window,
)
from gstar_fast._input.positive import checked_positive, label_text
from gstar_fast._sketch.bins import whole_number
from gstar_fast._sketch.columns import NO_LABELS, Columns, labels_there
from gstar_fast._sketch.sketch import Sketch

DialectName: TypeAlias = Literal[
    "duckdb",
    "postgres",
    "sqlite",
    "clickhouse",
    "spark",
    "databricks",
    "bigquery",
    "snowflake",
    "redshift",
    "trino",
    "athena",
    "presto",
    "mssql",
]


class Query(str):
    """A SELECT in the place of a table: its text goes into the query as it is.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> source = gf.sql.Query("SELECT * FROM people WHERE year = 2026")
    """

    __slots__ = ()


Source: TypeAlias = str | Sequence[str] | Query
Row: TypeAlias = Sequence[Any]  # of an answer: what a database returns for numbers and texts
Key: TypeAlias = tuple[Any, ...]  # the same, of the columns of keys
Execute: TypeAlias = Callable[[str], Iterable[Row]] | Any  # such a function, a cursor, or a connection
Run: TypeAlias = Callable[[str], Iterable[Row]]


def runner(execute: Execute, source: Source) -> Run:
    """What runs a SELECT and returns its rows; an error of the database gets a hint at a name with a dot."""

    def rows(query: str) -> Iterable[Row]:
        if hasattr(execute, "exec_driver_sql"):  # SQLAlchemy
            return execute.exec_driver_sql(query)  # type: ignore[no-any-return]
        if cursor is not None:
            cursor.execute(query)
            return iter(cursor.fetchone, None)
        found: Iterable[Row] = execute(query)
        if not isinstance(found, Iterable):
            raise refusal("sql_no_rows", "execute", value=found)
        return found

    def run(query: str) -> Iterable[Row]:
        try:
            return rows(query)
        except Exception as error:
            if isinstance(source, str) and not isinstance(source, Query) and "." in source:
                parts = tuple(source.split("."))
                error.add_note(
                    f"source {source!r} is the name of a table with a dot in it; for a schema pass {parts!r}"
                )
            raise

    cursor = execute if hasattr(execute, "execute") and hasattr(execute, "fetchone") else None
    if cursor is None and hasattr(execute, "cursor"):
        cursor = execute.cursor()
    if cursor is None and not hasattr(execute, "exec_driver_sql") and not callable(execute):
        raise refusal("sql_execute", "execute", value=execute)
    return run


# ----------------------------------------------------------------------------------------------------------------- text


class SqlOptions(TypedDict, total=False):
    """Options of counting in a database, as `gf.sql.sketch` has them."""

    range: tuple[float, float] | None
    bins: int
    exact: bool
    positive: Scalar | None
    nan: Literal["raise", "skip"]
    missing_group: Name
    groups: Iterable[Name] | None
    memory_limit: int


class Asked(NamedTuple):
    """What is counted, checked."""

    query: sql_text.Query
    source: Source
    by: tuple[str, ...]
    columns: Columns
    n_groups: int  # columns of groups
    dialect: Dialect
    range: tuple[float, float] | None
    bins: int
    exact: bool
    positive: Scalar | None
    passing: Passing
    groups: tuple[Name, ...] | None
    memory_limit: int


def asked_of(
    source: Source,
    by: str | Sequence[str],
    score: str,
    label: str | None,
    group: str | Sequence[str],
    dialect: DialectName,
    *,
    range: tuple[float, float] | None = None,  # noqa: A002 (the word numpy uses)
    bins: int = 4096,
    exact: bool = True,
    positive: Scalar | None = None,
    nan: str = "raise",
    missing_group: Name = "raise",
    groups: Iterable[Name] | None = None,
    memory_limit: int = 2**30,
) -> Asked:
    named, keys, columns = dialect_named(dialect), named_columns(by), group_columns(group)
    passing = Passing(checked_nan(nan), group=checked_missing_group(missing_group))
    one = checked_positive(positive, label)
    rows, called = _rows(source, keys, score, label, columns, one, named, passing.group == SKIP)
    return Asked(
        query=sql_text.Query(named, rows, called, len(keys)),
        source=source,
        by=keys,
        columns=Columns(score, label, columns),
        n_groups=len(columns),
        dialect=named,
        range=range,
        bins=checked_bins(bins),
        exact=checked_flag("exact", exact),
        positive=one,
        passing=passing,
        groups=None if groups is None else given_names(groups),
        memory_limit=memory_limit,
    )


def _rows(
    source: Source,
    keys: Sequence[str],
    score: str,
    label: str | None,
    columns: Sequence[str],
    positive: Scalar | None,
    dialect: Dialect,
    skip_groups: bool,
) -> tuple[str, list[str]]:
    """The SELECT of keys, label, groups and score, and the names that it gives to all but the score.

    A row that is skipped for its group has no score, so it does not move the window.
    """
    names = [f"k{i}" for i, _ in enumerate(keys, 1)]
    told = [f"t.{quoted(column, dialect)}" for column in (*keys, *columns)]
    if label is not None:
        y = f"t.{quoted(label, dialect)}"
        if positive is not None:
            y = f"CASE WHEN {y} = {literal(positive, dialect)} THEN 1 WHEN {y} IS NOT NULL THEN 0 END"
        told.insert(len(keys), y)
        names.append("y")
    names += [f"g{i}" for i, _ in enumerate(columns, 1)]
    x = dialect.score.format(x=f"t.{quoted(score, dialect)}", double=dialect.double)
    if skip_groups:
        x = f"CASE WHEN {' AND '.join(f't.{quoted(column, dialect)} IS NOT NULL' for column in columns)} THEN {x} END"
    return select([*told, x], [*names, "x"], source, dialect), names


def select(columns: Sequence[str], names: Sequence[str], source: Source, dialect: Dialect, verb: str = "SELECT") -> str:
    """Columns of a table, as SQL, under these names."""
    told = ", ".join(f"{column} AS {name}" for column, name in zip(columns, names, strict=True))
    return f"{verb} {told}\nFROM {_table(source, dialect)} t"


def _table(source: Source, dialect: Dialect) -> str:
    """The text after FROM."""
    if isinstance(source, Query):
        return f"(\n{source}\n)"
    if not isinstance(source, Sequence):
        raise refusal("column_name_type", "table", value=source)
    return ".".join(quoted(part, dialect) for part in ([source] if isinstance(source, str) else source))


def window_asked(row: Row | None, limits: tuple[float, float] | None, bins: int) -> tuple[Window, Extent | None]:
    """The window of a range; or that of an extent, and the extent."""
    if limits is not None or row is None:
        return linear_window(*checked_window(limits, bins), bins), None
    extent = _extent(row)
    return window_of(extent, bins), extent


def _extent(row: Row) -> Extent:
    """What the first query found."""
    try:
        *ends, zero = (None if value is None else float(value) for value in row)
        signs = [None if end is None or not 0 < abs(end) <= LARGEST_SCORE else end > 0 for end in ends]
    except (TypeError, ValueError):
        raise refusal("sql_extent", "extent", value=row) from None
    known = [None if end is None else end > 0 for end in ends]
    if signs != known or known not in ([a, a, b, b] for a in (True, None) for b in (False, None)):
        raise refusal("sql_extent", "extent", value=row)
    return Extent.of_scores([end for end in ends if end is not None] + [0.0] * bool(zero))


# ----------------------------------------------------------------------------------------------------------------- rows


class _Part(NamedTuple):
    """Keys that one query counts."""

    query: sql_text.Query
    window: Window
    extent: Extent | None


def counted(run: Run, asked: Asked) -> Iterator[tuple[Key, Sketch]]:
    """The sketch of each key; without keys one, also of no row."""
    extents, parts = _parts(run, asked)
    labels = _labels(run, asked) if asked.by and asked.positive is not None else None
    n_keys, missed = len(asked.by), set(extents)
    width = n_keys + (asked.columns.label is not None) + asked.n_groups + 4 + asked.exact
    for part in parts:
        answer = run(part.query.of_bins(part.window, part.extent, asked.exact))
        values = (values_of(row, width) for row in answer)
        for key, rows in groupby(values, key=lambda row: row[:n_keys]) if n_keys else [((), values)]:
            extent = extents.get(key)
            level = None if extent is None else window_of(extent, asked.bins).grid.level
            new = Sketch.from_bins(
                _bins((row[n_keys:] for row in rows), asked, part),
                bins=asked.bins,
                level=level,
                range=asked.range,
                groups=asked.groups,
                memory_limit=asked.memory_limit,
            )
            texts = NO_LABELS
            if asked.positive is not None and (there := labels_there(new._core)) in ({0}, {1}):
                of_key = [asked.positive]
                if there == {0}:  # for the error that no row has the positive label
                    of_key = (_labels(run, asked) if labels is None else labels).get(key, [])
                texts = LabelTexts.of(map(label_text, of_key))
            missed.discard(key)
            yield key, new._remember(asked.columns, asked.positive, texts)
    if missed:
        raise refusal("sql_changed", "source")


def _parts(run: Run, asked: Asked) -> tuple[dict[Key, Extent], list[_Part]]:
    """The extent of each key, and what to count together, so that one grid is fine enough and not much too fine."""
    if asked.range is not None:
        window, _ = window_asked(None, asked.range, asked.bins)
        return {}, [_Part(asked.query, window, None)]
    n_keys = len(asked.by)
    answers = [values_of(row, n_keys + 5) for row in run(asked.query.of_extent())]
    if not n_keys and len(answers) != 1:
        raise refusal("sql_rows", "execute", value=len(answers))
    extents = {row[:n_keys]: _extent(row[n_keys:]) for row in answers}
    if not n_keys:
        (extent,) = extents.values()
        return extents, [_Part(asked.query, window_of(extent, asked.bins), extent)]
    alike: dict[int, list[Extent]] = {}
    for extent in extents.values():
        size = sql_text.spread(extent)
        alike.setdefault(math.frexp(size)[1] if size else -1100, []).append(extent)
    sizes = sorted(alike)
    parts = []
    for at, size in enumerate(sizes or [0]):
        found = alike.get(size, [])
        grids = [window_of(extent, asked.bins).grid for extent in found] or [window_of(Extent(), asked.bins).grid]
        finest = Grid(min(grid.level for grid in grids), max(grid.per or 0 for grid in grids), grids[0].octaves)
        query = asked.query
        if len(sizes) > 1:  # the first and the last have all keys without a score, or with infinite ones
            query = query.of_spread(size - 1 if at else None, sizes[at + 1] - 1 if size != sizes[-1] else None)
        extent = reduce(or_, found, Extent())
        parts.append(_Part(query, Window(finest, ((0, 0),), asked.bins), extent))
    return extents, parts


def _labels(run: Run, asked: Asked) -> dict[Key, list[Any]]:
    """The labels of each key."""
    keys = [f"t.{quoted(name, asked.dialect)}" for name in (*asked.by, str(asked.columns.label))]
    names = [*(f"k{i}" for i, _ in enumerate(asked.by, 1)), "y"]
    text = select(keys, names, asked.source, asked.dialect, "SELECT DISTINCT")
    text += f"\nWHERE {keys[-1]} IS NOT NULL"
    if not asked.by:
        text += f"\nORDER BY 1 {asked.dialect.first.format(n=MOST_LABELS + 1)}"
    found: dict[Key, list[Any]] = {}
    for *key, label in run(text):
        found.setdefault(tuple(key), []).append(label)
    return found


def values_of(row: object, width: int) -> tuple[Any, ...]:
    """The values of a row, which are as many as the query asked for."""
    if isinstance(row, (str, bytes, Mapping)) or not isinstance(row, Iterable):
        raise refusal("sql_row", "execute", value=row)
    values = tuple(row)
    if len(values) != width:
        raise refusal("sql_width", "execute", value=len(values), limit=width)
    return values


def _bins(rows: Iterable[Row], asked: Asked, part: _Part) -> Iterator[tuple[object, ...]]:
    """Rows of the second query -> rows of `Sketch.from_bins`; scores that no sketch takes are rejected."""
    names, octaves = sql_text.names_of(part.window, part.extent), sql_text.octaves_of(part.window, part.extent)
    n, passing, given = asked.n_groups, asked.passing, asked.groups
    for row in rows:
        label, values = (None, row) if asked.columns.label is None else (row[0], row[1:])
        group, (b, count, *total, lo, hi) = tuple(values[:n]) if n > 1 else values[0], values[n:]
        absent = passing.lacks(group)
        # skipped rows add no group, but need a valid one here
        name = (given or ("",))[0] if absent else clean_name(passing.named(group))
        if isinstance(label, Decimal) and label in (0, 1):
            label = int(label)
        label_of(label)
        if b is not None and not absent:
            yield name, label, count, *_told(b, lo, hi, count, total, names, octaves)
        elif absent or passing.nan:
            yield name, label, count, None, None, *[None, None] * len(total)
        else:
            raise refusal("nan_score", "scores")


def _told(
    b: float,
    lo: float,
    hi: float | str | bytes,
    count: object,
    total: list[int],
    names: sql_text.Names,
    octaves: tuple[range, range],
) -> tuple[object, ...]:
    """Smallest and largest score, and where a bin has one the sum of its scores and its unit."""
    if isinstance(hi, (str, bytes)):  # in SQLite, where texts are larger than numbers
        raise refusal("not_numbers", "scores", value=Words(f"the text {hi!r}"))
    if b == names.too_large:
        raise refusal("too_large", "scores", value=lo if abs(lo) > abs(hi) else hi)
    if b == names.changed:
        raise refusal("sql_changed", "source")
    if b in (names.below, names.above):
        end = -math.inf if b == names.below else math.inf
        return end, end, *[None, None] * len(total)
    if lo == 0 or not total:
        return lo, hi, *[0, 0] * len(total)
    if (whole_number(count) or 0) >= sql_text.MOST_ROWS:
        raise refusal("sql_most_rows", "source", value=count, limit=sql_text.MOST_ROWS)
    e, known = sql_text.octave(lo), octaves[lo > 0]
    if e != sql_text.octave(hi) or not known or not max(known[0], sql_text.NORMAL) <= e:
        raise refusal("sql_changed", "source")
    return lo, hi, total[0], e - sql_text.FINEST
