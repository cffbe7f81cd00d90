"""Count a table where it is: one GROUP BY in a database, and the sketch of one pass over its rows.

No Python runs in the database, and no rows leave it: what comes back are the counts and sums of each bin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

from gstar_fast._backends.common.rows import label_of
from gstar_fast._base.grid import LARGEST_SCORE, Extent, Window, linear_window, window_of
from gstar_fast._base.names import LONGEST_TUPLE, Name, Scalar, clean_name, given_names
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.refusals.wording import Words
from gstar_fast._base.sections import MOST_LABELS, LabelTexts
from gstar_fast._decide.dialects import Dialect, dialect_named, literal, quoted
from gstar_fast._engines import sql_text
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
from gstar_fast._sketch.columns import NO_LABELS, Columns, check_positive, labels_there
from gstar_fast._sketch.from_bins import whole_number
from gstar_fast._sketch.sketch import Sketch

__all__ = ["Query", "sketch", "sketch_query"]

DialectName: TypeAlias = Literal[
    "duckdb", "postgres", "sqlite", "clickhouse", "spark", "bigquery", "snowflake", "mssql"
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


def sketch_query(
    source: Source,
    *,
    score: str,
    label: str | None,
    group: str | Sequence[str],
    dialect: DialectName,
    range: tuple[float, float] | None = None,  # noqa: A002 (the word numpy uses)
    bins: int = 4096,
    exact: bool = True,
    positive: Scalar | None = None,
    extent: Row | None = None,
    missing_group: Name = "raise",
) -> str:
    """The SELECT that counts a table; with neither `range` nor `extent`, the one that finds the extent of its scores.

    `sketch` runs both and makes the sketch. Take the text where you cannot run it from Python.

    Parameters
    ----------
    source, score, label, group, dialect, range, bins, exact, positive, missing_group
        As in `sketch`.
    extent : sequence of five values, optional
        The row that the first query gave.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> first = gf.sql.sketch_query("people", score="p", label="y", group="sex", dialect="duckdb")
    >>> print(first.splitlines()[0])
    SELECT MAX(CASE WHEN x > 0 THEN x END) AS most_above, MIN(CASE WHEN x > 0 THEN x END) AS least_above,
    """
    bins, named, exact = checked_bins(bins), dialect_named(dialect), checked_flag("exact", exact)
    skip, one = checked_missing_group(missing_group) == SKIP, checked_positive(positive, label)
    query = sql_text.Query(named, *_rows(source, score, label, _columns(group), one, named, skip))
    if range is None and extent is None:
        return query.of_extent()
    return query.of_bins(*_window(extent, range, bins), exact)


def sketch(
    execute: Callable[[str], Iterable[Row]],
    source: Source,
    *,
    score: str,
    label: str | None,
    group: str | Sequence[str],
    dialect: DialectName,
    range: tuple[float, float] | None = None,  # noqa: A002 (the word numpy uses)
    bins: int = 4096,
    exact: bool = True,
    positive: Scalar | None = None,
    nan: Literal["raise", "skip"] = "raise",
    missing_group: Name = "raise",
    groups: Iterable[Name] | None = None,
    memory_limit: int = 2**30,
) -> Sketch:
    """Count a table in its database: the sketch that `Sketch.update_table` makes of its rows, byte for byte.

    Parameters
    ----------
    execute : callable
        Runs a SELECT and returns its rows, such as ``lambda query: connection.execute(query).fetchall()``. It is called
        once with `range`, else twice: no row may come or go in between. Once more if no row has the positive label,
        for an error that lists the labels.
    source : str, list of str, or Query
        Name of a table; its schema and name; or a SELECT in its place.
    score, label : str
        Names of columns; `label` None for unlabelled rows. Scores are converted to float64; texts in a
        column of SQLite are refused.
    group : str or list of str
        Name of the column of groups; several make tuples, for intersections.
    dialect : str
        One of duckdb, postgres, sqlite, clickhouse, spark, bigquery, snowflake, mssql.
    range, bins, groups, memory_limit
        As in `Sketch`.
    exact : bool
        False leaves the sums of scores out: the sketch then has no means, see `Sketch.has_means`.
    positive, nan
        As in `Sketch.update_table`; a NULL score counts as NaN.
    missing_group : {"raise", "skip"} or a name
        What to do with rows whose group is NULL, or one of several columns of it: "skip" counts them in `skipped`
        only, any other name counts them as that group.

    Examples
    --------
    >>> import sqlite3
    >>> import gstar_fast as gf
    >>> db = sqlite3.connect(":memory:")
    >>> db.executescript("CREATE TABLE people (p REAL, y INT, sex TEXT); INSERT INTO people VALUES (0.25, 0, 'F')")
    ... # doctest: +ELLIPSIS
    <sqlite3.Cursor ...>
    >>> gf.sql.sketch(db.execute, "people", score="p", label="y", group="sex", dialect="sqlite").n_rows
    1
    """
    skip, columns, exact = checked_nan(nan), _columns(group), checked_flag("exact", exact)
    query = partial(sketch_query, source, score=score, label=label, group=columns, dialect=dialect, range=range)
    query = partial(query, bins=bins, exact=exact, positive=positive, missing_group=missing_group)
    given = None if groups is None else given_names(groups)
    first = None
    if range is None:
        answers = list(execute(query()))
        if len(answers) != 1:
            raise refusal("sql_rows", "execute", value=len(answers))
        first = _values(answers[0], 5)
    answer = execute(query(extent=first))
    window, extent = _window(first, range, checked_bins(bins))
    passing = Passing(skip, group=checked_missing_group(missing_group))
    rows = _bins(answer, len(columns), label is not None, exact, passing, given, window, extent)
    level = None if extent is None else window.grid.level
    new = Sketch.from_bins(rows, bins=bins, level=level, range=range, groups=given, memory_limit=memory_limit)
    one, texts = checked_positive(positive, label), NO_LABELS
    if label is not None and one is not None and (there := labels_there(new._core)) in ({0}, {1}):
        found = [one]
        if there == {0}:  # for the error that no row has the positive label
            named = dialect_named(dialect)
            y, last = f"t.{quoted(label, named)}", named.first.format(n=MOST_LABELS + 1)
            known = f"FROM {_table(source, named)} t\nWHERE {y} IS NOT NULL"
            found = [row[0] for row in execute(f"SELECT DISTINCT {y} AS y\n{known}\nORDER BY 1 {last}")]
        texts = LabelTexts.of(map(label_text, found))
    new._remember(Columns(score, label, columns), one, texts)
    check_positive(new._core)
    return new


# ----------------------------------------------------------------------------------------------------------------- text


def _columns(group: str | Sequence[str]) -> tuple[str, ...]:
    columns = (group,) if isinstance(group, str) else tuple(group)
    if not columns:
        raise refusal("no_group_column", "group")
    if len(columns) > LONGEST_TUPLE:
        raise refusal("too_many_columns", "group", value=len(columns), limit=LONGEST_TUPLE)
    return columns


def _rows(
    source: Source,
    score: str,
    label: str | None,
    columns: Sequence[str],
    positive: Scalar | None,
    dialect: Dialect,
    skip_groups: bool,
) -> tuple[str, list[str]]:
    """The SELECT of label, groups and score, and the names that it gives to the label and the groups.

    A row that is skipped for its group has no score, so it does not move the window.
    """
    names = [f"g{i}" for i, _ in enumerate(columns, 1)]
    told = [f"t.{quoted(column, dialect)} AS {name}" for column, name in zip(columns, names, strict=True)]
    if label is not None:
        names.insert(0, "y")
        y = f"t.{quoted(label, dialect)}"
        if positive is not None:
            y = f"CASE WHEN {y} = {literal(positive, dialect)} THEN 1 WHEN {y} IS NOT NULL THEN 0 END"
        told.insert(0, f"{y} AS y")
    x = dialect.score.format(x=f"t.{quoted(score, dialect)}", double=dialect.double)
    if skip_groups:
        x = f"CASE WHEN {' AND '.join(f't.{quoted(column, dialect)} IS NOT NULL' for column in columns)} THEN {x} END"
    told.append(f"{x} AS x")
    return f"SELECT {', '.join(told)}\nFROM {_table(source, dialect)} t", names


def _table(source: Source, dialect: Dialect) -> str:
    """The text after FROM."""
    if isinstance(source, Query):
        return f"(\n{source}\n)"
    return ".".join(quoted(part, dialect) for part in ([source] if isinstance(source, str) else source))


def _window(row: Row | None, limits: tuple[float, float] | None, bins: int) -> tuple[Window, Extent | None]:
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


def _values(row: object, width: int) -> tuple[Any, ...]:
    """The values of a row, which are as many as the query asked for."""
    if isinstance(row, (str, bytes, Mapping)) or not isinstance(row, Iterable):
        raise refusal("sql_row", "execute", value=row)
    values = tuple(row)
    if len(values) != width:
        raise refusal("sql_width", "execute", value=len(values), limit=width)
    return values


def _bins(
    rows: Iterable[Row],
    n_columns: int,
    labelled: bool,
    exact: bool,
    passing: Passing,
    given: tuple[Name, ...] | None,
    window: Window,
    extent: Extent | None,
) -> Iterator[tuple[object, ...]]:
    """Rows of the second query -> rows of `Sketch.from_bins`; scores that no sketch takes are rejected."""
    names, octaves = sql_text.names_of(window, extent), sql_text.octaves_of(window, extent)
    for row in rows:
        values = _values(row, labelled + n_columns + 4 + exact)
        label = values[0] if labelled else None
        values = values[labelled:]
        parts, (b, count, *total, lo, hi) = values[:n_columns], values[n_columns:]
        group = parts if n_columns > 1 else parts[0]
        absent = passing.lacks(group)
        # skipped rows add no group, but need a valid one here
        name = (given or ("",))[0] if absent else clean_name(passing.named(group))
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
