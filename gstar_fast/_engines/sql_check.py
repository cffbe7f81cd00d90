"""A query that any database can run on its own, and what the answer must be: scores where a database may go wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from gstar_fast._base.grid import Extent
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._decide.dialects import dialect_named
from gstar_fast._engines.sql_rows import (
    Asked,
    DialectName,
    Execute,
    Query,
    Row,
    asked_of,
    counted,
    runner,
    window_asked,
)
from gstar_fast._engines.sql_text import Constants
from gstar_fast._sketch.sketch import Sketch

NUMBERS = 5  # of a row of the answer, after the label and the group
NULLS = ("", "null", "none", "\\n")  # what exports write for NULL


def _scores(dialect: DialectName) -> dict[str, list[float]]:
    """Scores by what is awkward about them; NaN and infinities where the database has them."""
    powers = [math.ldexp(1.0, e) for e in (-60, -41, -20, -8, -7, -1, 0, 1, 5)]
    ties = [math.ldexp(2 * (2**23 + k) + 1, e) for e in (-60, -25, -19) for k in (0, 1, 2, 2**23 - 1)]
    sizes = {
        "edges": [near for x in powers for near in (math.nextafter(x, 0), x, math.nextafter(x, 9))],
        "ties": [near for x in ties for near in (math.nextafter(x, 0), x, math.nextafter(x, 9))],
        "plain": [0.1, 1 / 3, 0.5, 0.7, 0.999, 1.5, 2.718281828459045, 33.3],
        "tiny": [5e-324, 1e-320, 2.2250738585072014e-308, 3e-308, 1e-200, 1e-30],
    }
    scores = {kind: [sign * x for x in found for sign in (1, -1)] for kind, found in sizes.items()}
    odd = [math.nan, math.inf, -math.inf] if dialect_named(dialect).nan is not None else [math.nan]
    return scores | {"odd": [0.0, *odd]}


def _extent(dialect: DialectName) -> tuple[Any, ...]:
    """What the first query would give for the scores."""
    found = [x for scores in _scores(dialect).values() for x in scores if math.isfinite(x)]
    below, _, above = Extent.of_scores(found)
    return (*above, *(-x for x in below), 1)


def self_test_query(dialect: DialectName) -> str:
    """A SELECT that needs no table: run it in your database, and give its answer to `self_test`.

    It counts 158 scores of its own: powers of two and their neighbours, ties of the rounding to 24 bits, subnormal
    numbers, both infinities, NaN and NULL.

    Parameters
    ----------
    dialect : str
        As in `sketch`.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> query = gf.sql.self_test_query("trino")
    """
    named = dialect_named(dialect)
    number, rows = Constants(named), []
    for kind, scores in _scores(dialect).items():
        for at, x in enumerate(scores):
            if math.isnan(x):
                score = f"CAST({'NULL' if named.nan is None else chr(39) + 'NaN' + chr(39)} AS {named.double})"
            elif math.isinf(x):
                score = f"{'-' * (x < 0)}CAST('{named.infinity}' AS {named.double})"
            else:
                mantissa, exponent = math.frexp(x)
                score = number(int(math.ldexp(mantissa, 53)), exponent - 53)
            rows.append(f"SELECT {score} AS p, {('0', '1', 'NULL')[at % 3]} AS y, '{kind}' AS kind")
    asked = _asked(dialect, Query("\nUNION ALL ".join(rows)))
    return asked.query.of_bins(*window_asked(_extent(dialect), None, asked.bins), asked.exact)


def _asked(dialect: DialectName, source: str) -> Asked:
    return asked_of(source, (), "p", "y", "kind", dialect, nan="skip")


def self_test(answer: Iterable[Row] | Execute, dialect: DialectName) -> str:
    """Check the answer of a database to `self_test_query`: whether it makes the sketch of one pass.

    Parameters
    ----------
    answer : rows, cursor or connection
        The rows of the answer, as numbers or as texts: ``csv.reader(open("answer.csv"))`` reads an export, with names
        of columns in its first line or without. Or what runs the query: as `execute` of `sketch`.
    dialect : str
        As in `sketch`.

    Returns
    -------
    str
        Words that say so.

    Raises
    ------
    InputError
        If the answer is another; it names the scores. An export may have fewer than 17 digits of a number.

    Examples
    --------
    >>> import sqlite3
    >>> import gstar_fast as gf
    >>> print(gf.sql.self_test(sqlite3.connect(":memory:"), "sqlite"))
    sqlite: 156 awkward scores have the sketch of one pass
    """
    runs = callable(answer) or hasattr(answer, "execute") or hasattr(answer, "exec_driver_sql")
    rows: Any = runner(answer, "")(self_test_query(dialect)) if runs else answer
    answers: Iterator[Iterable[Row]] = iter([[_extent(dialect)], _typed(rows)])
    ((_, found),) = counted(lambda _: next(answers), _asked(dialect, "scores"))
    scores = _scores(dialect)
    expected = Sketch()
    for kind, own in scores.items():
        labels: Any = [(0, 1, None)[at % 3] for at, _ in enumerate(own)]
        expected.update(own, labels, [kind] * len(own), nan="skip")
    expected._remember(found.columns, None)
    if found != expected:
        raise refusal("sql_self_test", "answer", value=_differing(found, expected), limit=dialect)
    return f"{dialect}: {sum(map(len, scores.values()))} awkward scores have the sketch of one pass"


def _differing(found: Sketch, expected: Sketch) -> str:
    """What is another."""
    if found.groups != expected.groups or not np.array_equal(found.edges, expected.edges):
        return "its groups or bins"
    wrong = (found.counts != expected.counts).any(axis=(0, 2)) | (found.unlabelled != expected.unlabelled).any(axis=-1)
    kinds = [str(kind) for kind, other in zip(expected.groups, wrong.tolist(), strict=True) if other]
    return f"the counts of {' and '.join(kinds)}" if kinds else "sums, smallest or largest scores; the counts are right"


def _typed(rows: Iterable[Row]) -> Iterator[list[Any]]:
    """Rows whose texts are numbers, but for the group; a first row of names is left out."""
    for at, row in enumerate(rows):
        values = list(row)
        try:
            yield [value if i == 1 or not isinstance(value, str) else _number(value) for i, value in enumerate(values)]
        except ValueError:
            if at or len(values) != 2 + NUMBERS:
                raise refusal("sql_row", "answer", value=row) from None


def _number(text: str) -> float | None:
    if text.strip().lower() in NULLS:
        return None
    try:
        return int(text)
    except ValueError:
        return float(text)
