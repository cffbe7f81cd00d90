"""The text of queries: dialects that no test runs are parsed, and constants are what they say."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from helpers.databases import DATABASES, absent

import gstar_fast as gf
from gstar_fast._decide.dialects import DIALECTS, literal, quoted
from gstar_fast._engines.sql_text import Constants

SQLGLOT = {"mssql": "tsql"}  # what it calls the others is what we call them
COLUMNS: dict[str, Any] = {"score": 'p"`]', "label": "y", "group": ["sex", "the 'age'"]}
KINDS: dict[str, dict[str, Any]] = {
    "the extent": {},
    "probabilities": {"extent": (1.0, 0.01, None, None, 0)},
    "both sides": {"extent": (9.0, 1e-7, -9.0, -1e-7, 1)},
    "every size": {"extent": (1e300, 5e-324, -1e300, -5e-324, 1)},
    "a range": {"range": (0, 1)},
    "a positive label": {"range": (0, 1), "positive": "it's \\"},
    "no sums": {"range": (0, 1), "exact": False},
    "no labels": {"range": (0, 1), "label": None},
}


@pytest.fixture(scope="module")
def sqlglot() -> Any:
    """What parses the dialects of others."""
    try:
        import sqlglot
    except ImportError:
        absent("sqlglot is not installed")
    return sqlglot


def test_sqlglot_knows_every_dialect_and_four_are_run(sqlglot):
    assert set(DATABASES) < set(DIALECTS)
    for name in DIALECTS:
        assert sqlglot.Dialect.get(SQLGLOT.get(name, name)) is not None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_query_is_one_select_of_its_dialect(sqlglot, dialect, kind):
    query = gf.sql.sketch_query(("a schema", "it's"), **COLUMNS | KINDS[kind], dialect=dialect)
    parsed = sqlglot.parse(query, read=SQLGLOT.get(dialect, dialect))
    assert len(parsed) == 1
    (select,) = parsed
    assert isinstance(select, sqlglot.exp.Select)
    (table,) = select.find_all(sqlglot.exp.Table)
    assert (table.db, table.name) == ("a schema", "it's")
    read = {column.name for column in select.find_all(sqlglot.exp.Column) if column.table == "t"}
    told = {**COLUMNS, **KINDS[kind]}
    assert read == {told["score"], *told["group"]} | ({told["label"]} - {None})
    for literal_ in select.find_all(sqlglot.exp.Literal):
        assert not literal_.is_string or literal_.this in ("NaN", "Int64", "text", "blob", told.get("positive"))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_queries_by_key_are_selects_of_their_dialect(sqlglot, dialect):
    """All that `sketches` and `merged` send, as a database would see it."""
    sent: list[str] = []
    extents = [("a", 1.0, 0.5, None, None, 0), (None, 9.0, 0.5, -1.0, -1.0, 1)]

    def execute(query: str) -> Any:
        sent.append(query)
        return extents if len(sent) == 1 else []

    asked: dict[str, Any] = {"score": "p", "label": "y", "group": "g", "dialect": dialect}
    with pytest.raises(ValueError, match="changed while it was counted"):
        list(gf.sql.sketches(execute, ("a schema", "it's"), by="the `key`", **asked))
    list(gf.sql.merged(execute, "t", "sketch", by="the `key`", dialect=dialect))
    assert len(sent) == 4
    for query in sent:
        (select,) = sqlglot.parse(query, read=SQLGLOT.get(dialect, dialect))
        assert isinstance(select, sqlglot.exp.Select)
        assert "the `key`" in {column.name for column in select.find_all(sqlglot.exp.Column) if column.table == "t"}


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name not in DATABASES])
def test_a_query_that_is_not_run_means_the_same_in_duckdb(sqlglot, dialect):
    """As sqlglot reads and rewrites it."""
    options: dict[str, Any] = {"score": "p", "label": "y", "group": "g", "extent": (9.0, 1e-7, -9.0, -1e-7, 1)}
    own, written = (gf.sql.sketch_query("t", **options, dialect=name) for name in ("duckdb", dialect))
    (read,) = sqlglot.transpile(written, read=SQLGLOT.get(dialect, dialect), write="duckdb")
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT sin(i) * 9 AS p, i % 2 AS y, 'a' || i % 3 AS g FROM range(1000) r(i) "
            "UNION ALL SELECT 0, 1, 'a' UNION ALL SELECT NULL, 1, 'a' UNION ALL SELECT 1e-7, NULL, 'b'"
        )
        rows = [sorted(map(repr, connection.execute(query).fetchall())) for query in (own, read)]
    assert rows[0] == rows[1]


def test_the_self_test_of_each_database_that_is_here_passes(database):
    words = gf.sql.self_test(database.execute, database.dialect)
    assert words.startswith(f"{database.dialect}: 15")


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name not in DATABASES])
def test_the_self_test_of_others_passes_in_duckdb(sqlglot, dialect):
    """As sqlglot reads and rewrites it; also as an export of texts."""
    query = gf.sql.self_test_query(dialect)
    (read,) = sqlglot.transpile(query, read=SQLGLOT.get(dialect, dialect), write="duckdb")
    with duckdb.connect(config={"threads": 1}) as connection:
        rows = connection.execute(read).fetchall()
    words = gf.sql.self_test(rows, dialect)
    texts = [["NULL" if value is None else str(value) for value in row] for row in rows]
    assert gf.sql.self_test([["Y", "KIND", "B", "N", "S", "LO", "HI"], *texts], dialect) == words
    assert gf.sql.self_test({query: rows}.__getitem__, dialect) == words


def test_a_self_test_that_fails_says_where():
    with duckdb.connect(config={"threads": 1}) as connection:
        rows = connection.execute(gf.sql.self_test_query("duckdb")).fetchall()
    at = next(i for i, row in enumerate(rows) if row[1] == "plain")
    label, kind, b, n, total, lo, hi = rows[at]
    fewer = [*rows[:at], (label, kind, b, n + 1, 2 * total // n * (n + 1) // 2, lo, hi), *rows[at + 1 :]]
    with pytest.raises(ValueError, match=r"the answer of duckdb differs from one pass .* in the counts of plain;"):
        gf.sql.self_test(fewer, "duckdb")
    with pytest.raises(ValueError, match="in its groups or bins"):
        gf.sql.self_test([row for row in rows if row[1] != "plain"], "duckdb")
    with pytest.raises(ValueError, match=r"in sums, smallest or largest|row \d+ of rows"):
        gf.sql.self_test(
            [(*rows[0][:5], *(None if x is None else x * (1 + 2**-50) for x in rows[0][5:])), *rows[1:]], "duckdb"
        )
    with pytest.raises(TypeError, match=r"answer must return rows|execute must return rows"):
        gf.sql.self_test([["a"] * 7, ["b"] * 7], "duckdb")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_constants_are_exact(dialect):
    number = Constants(DIALECTS[dialect])
    for value, exponent in [(1, e) for e in range(-1074, 1001, 7)] + [(0, -5), (-3, -12), (2**53 - 1, 900), (12, -3)]:
        text = re.sub(r"CAST\((-?\d+) AS [A-Za-z0-9 ]+\)", r"Fraction(\1)", number(value, exponent))
        assert set(re.findall(r"[A-Za-z]+", text)) == {"Fraction"}
        assert all(abs(int(whole)) < 2**63 for whole in re.findall(r"\d+", text))
        exact = eval(text, {"Fraction": Fraction})
        assert exact == Fraction(value) * Fraction(2) ** exponent


def test_names_and_texts_are_quoted_as_each_dialect_does():
    name = 'a"`]\\'
    shown = {dialect: quoted(name, DIALECTS[dialect]) for dialect in DIALECTS}
    for like in ("postgres", "sqlite", "snowflake", "redshift", "trino", "athena", "presto"):
        assert shown[like] == shown["duckdb"] == '"a""`]\\"'
    assert shown["clickhouse"] == '"a""`]\\\\"'
    assert shown["spark"] == shown["databricks"] == '`a"``]\\`'
    assert shown["bigquery"] == '`a"\\`]\\\\`'
    assert shown["mssql"] == '[a"`]]\\]'
    assert literal("it's \\", DIALECTS["duckdb"]) == "'it''s \\'"
    assert all(
        literal("it's \\", DIALECTS[one]) == "'it\\'s \\\\'" for one in ("bigquery", "spark", "snowflake", "redshift")
    )
    assert [literal(value) for value in (True, False, -3)] == ["TRUE", "FALSE", "-3"]
    for bad in ("", "a\0b"):
        with pytest.raises(ValueError, match="a column must have a name"):
            quoted(bad, DIALECTS["duckdb"])
    with pytest.raises(ValueError, match="null character"):
        literal("a\0")
    with pytest.raises(TypeError, match="must be given by its name, got int"):
        gf.sql.sketch_query("t", score=1, label="y", group="g", dialect="duckdb")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dialect": "mysql"}, "dialect must be one of duckdb, postgres, sqlite, .*; got 'mysql'"),
        ({"bins": 5}, "bins must be a power of two"),
        ({"range": (1, 0)}, "range must have lo < hi"),
        ({"group": []}, "at least one column of groups|group"),
        ({"group": [str(i) for i in range(17)]}, "17 columns, and at most 16"),
        ({"label": None, "positive": "yes"}, "positive"),
        ({"extent": (1, 2)}, "extent must be the row of five values"),
        ({"extent": (1, 1, None, None, "no")}, "extent must be the row of five values"),
        ({"extent": (float("nan"), 1, None, None, 0)}, "extent must be the row of five values"),
        ({"extent": (1, 1, 2, 2, 0)}, "extent must be the row of five values"),
        ({"extent": (2, None, None, None, 0)}, "extent must be the row of five values"),
        ({"extent": (float("inf"), 1, None, None, 0)}, "extent must be the row of five values"),
    ],
)
def test_options_are_refused_before_anything_runs(options, words):
    known: dict[str, Any] = {"score": "p", "label": "y", "group": "g", "dialect": "duckdb"}
    with pytest.raises(ValueError, match=words):
        gf.sql.sketch_query("t", **known | options)
