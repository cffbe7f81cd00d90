"""Count a table where it is: one GROUP BY in a database, and the sketch of one pass over its rows.

No Python runs in the database, and no rows leave it: what comes back are the counts and sums of each bin.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Literal, Unpack

from gstar_fast._base.names import Name, Scalar
from gstar_fast._decide.dialects import dialect_named, quoted
from gstar_fast._engines.adapter import named_columns
from gstar_fast._engines.keys import merge_key
from gstar_fast._engines.sql_check import self_test, self_test_query
from gstar_fast._engines.sql_rows import (
    DialectName,
    Execute,
    Query,
    Row,
    Source,
    SqlOptions,
    asked_of,
    counted,
    runner,
    select,
    values_of,
    window_asked,
)
from gstar_fast._sketch.columns import check_positive
from gstar_fast._sketch.sketch import Sketch

__all__ = ["Query", "merged", "self_test", "self_test_query", "sketch", "sketch_query", "sketches"]


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
    asked = asked_of(
        *(source, (), score, label, group, dialect),
        range=range,
        bins=bins,
        exact=exact,
        positive=positive,
        missing_group=missing_group,
    )
    if range is None and extent is None:
        return asked.query.of_extent()
    window, found = window_asked(extent, range, asked.bins)
    return asked.query.of_bins(window, found, asked.exact)


def sketch(
    execute: Execute,
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
    execute : cursor, connection or callable
        A cursor or a connection of any driver (DB-API), a connection of SQLAlchemy, or a function that runs a SELECT
        and returns its rows. It runs one query with `range`, else two: no row may come or go in between. One more if
        no row has the positive label, for an error that lists the labels.
    source : str, list of str, or Query
        Name of a table; its schema and name; or a SELECT in its place.
    score, label : str
        Names of columns; `label` None for unlabelled rows. Scores are converted to float64; texts in a
        column of SQLite are refused.
    group : str or list of str
        Name of the column of groups; several make tuples, for intersections.
    dialect : str
        One of duckdb, postgres, sqlite, clickhouse, spark, databricks, bigquery, snowflake, redshift, trino, athena,
        presto, mssql.
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
    >>> gf.sql.sketch(db, "people", score="p", label="y", group="sex", dialect="sqlite").n_rows
    1
    """
    asked = asked_of(
        *(source, (), score, label, group, dialect),
        range=range,
        bins=bins,
        exact=exact,
        positive=positive,
        nan=nan,
        missing_group=missing_group,
        groups=groups,
        memory_limit=memory_limit,
    )
    ((_, new),) = counted(runner(execute, source), asked)
    check_positive(new._core)
    return new


def sketches(
    execute: Execute,
    source: Source,
    *,
    by: str | Sequence[str],
    score: str,
    label: str | None,
    group: str | Sequence[str],
    dialect: DialectName,
    **options: Unpack[SqlOptions],
) -> Iterator[tuple[Any, ...]]:
    """Keys and sketches, one row for each key: the bytes are those of one pass over the key's rows.

    One key at a time is held. Without `range`, keys whose scores reach equally far, up to a factor of two, are counted
    by one query; each needs a sort of the table by keys. So give `range` where it is known.

    Parameters
    ----------
    by : str or several
        Names of the columns of keys, which may also be columns that are counted. NULL is a key like others.
    execute, source, score, label, group, dialect, range, bins, exact, positive, nan, missing_group, groups
        As in `sketch`, as is `memory_limit`. A key that has no row with the positive label is not an error.

    Yields
    ------
    tuple
        The values of the keys, and the bytes of a sketch: what an INSERT takes. The keys come in any order.

    Examples
    --------
    >>> import sqlite3
    >>> import gstar_fast as gf
    >>> db = sqlite3.connect(":memory:")
    >>> _ = db.execute("CREATE TABLE people (p REAL, y INT, sex TEXT, day TEXT)")
    >>> _ = db.execute("INSERT INTO people VALUES (0.25, 0, 'F', 'Mon'), (0.75, 1, 'F', 'Tue')")
    >>> columns = {"score": "p", "label": "y", "group": "sex"}
    >>> for day, sketch in gf.sql.sketches(db, "people", by="day", **columns, dialect="sqlite"):
    ...     print(day, gf.Sketch.from_bytes(sketch).n_rows)
    Mon 1
    Tue 1
    """
    asked = asked_of(source, by, score, label, group, dialect, **options)
    found = counted(runner(execute, source), asked)
    return ((*key, new.to_bytes()) for key, new in found)


def merged(
    execute: Execute, source: Source, column: str, *, by: str | Sequence[str] = (), dialect: DialectName
) -> Iterator[tuple[Any, ...]]:
    """Keys and sketches, in which the sketches of equal keys are added up; one key at a time is held.

    Parameters
    ----------
    execute, source, dialect
        As in `sketch`.
    column : str
        The name of a column of sketches in bytes, such as `sketches` makes.
    by : str or several
        Names of the columns of keys; without them there is one row, the sum of all.

    Yields
    ------
    tuple
        The values of the keys, and the bytes of a sketch.
    """
    named, keys = dialect_named(dialect), named_columns(by)
    names = [f"k{i}" for i, _ in enumerate(keys, 1)]
    columns = [f"t.{quoted(name, named)}" for name in (*keys, column)]
    order = f"\nORDER BY {', '.join(names)}" * bool(keys)
    rows = runner(execute, source)(select(columns, [*names, "s"], source, named) + order)
    found = groupby((values_of(row, len(keys) + 1) for row in rows), key=lambda row: row[:-1])
    return ((*key, merge_key(row[-1] for row in of_key)) for key, of_key in found)
