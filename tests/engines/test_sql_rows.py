"""Labels, groups, names of columns, and rows that are refused: as counting here has it."""

from __future__ import annotations

import itertools
import math
import sqlite3
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.databases import Database

import gstar_fast as gf

COLUMNS: dict[str, Any] = {"score": "p", "label": "y", "group": "g"}
HOSTILE = [
    '"',
    "'",
    "`",
    "]",
    "[",
    "\\",
    "a b",
    "a;DROP TABLE t",
    "--",
    "/*",
    "select",
    "é",
    "人",
    "a.b",
    "%s",
    "{x}",
    "?",
    "$1",
]


def count(database: Database, source: Any = "t", **options: Any) -> gf.Sketch:
    return gf.sql.sketch(database.execute, source, dialect=database.dialect, **(COLUMNS | options))


def one_pass(scores: Any, labels: Any, groups: Any, **options: Any) -> gf.Sketch:
    sketch = gf.Sketch(**options)
    for row in zip(scores, labels, groups, strict=True):
        sketch.update_one(*row)
    return sketch


SCORES = [0.25, 0.5, 0.75, 1.5, 0.25, 0.5]
HARMLESS = {("one", "zero"), ("zero", "one")}  # of the same level: nothing is lost


@pytest.mark.parametrize(
    "labels",
    [[0, 1, 0, 1, 1, None], [False, True, None, True, False, True], [0.0, 1.0, None, 1.0, 0.0, 0.0], [None] * 6],
)
def test_labels_are_0_1_or_null(database, labels):
    if database.dialect == "sqlite" and labels[0] is False:
        labels = [None if y is None else int(y) for y in labels]
    database.load("t", {"p": SCORES, "y": [None] * 6 if labels[0] is None else labels, "g": ["a"] * 6})
    assert count(database) == one_pass(SCORES, labels, ["a"] * 6)


def test_rows_without_a_column_of_labels_are_unlabelled(database):
    database.load("t", {"p": SCORES, "g": ["a", "b"] * 3})
    assert count(database, label=None) == one_pass(SCORES, [None] * 6, ["a", "b"] * 3)


def test_a_label_may_be_named_that_means_1(database):
    database.load("t", {"p": SCORES, "y": ["yes", "no", "it's", None, "yes", "no"], "g": ["a"] * 6})
    counted = count(database, positive="yes")
    assert counted.positive == "yes"
    assert counted.columns == gf.results.Columns("p", "y", ("g",))
    assert counted.counts[1].sum() == 2
    assert counted.counts[0].sum() == 3
    assert counted.unlabelled.sum() == 1
    assert count(database, positive="it's").counts[1].sum() == 1


@pytest.mark.parametrize(
    "groups", [["F", "M", "", "é'人", " ", "F"], [3, -1, 2**62, 0, 3, -(2**63)], [True, False, True, True, False, True]]
)
def test_groups_are_texts_whole_numbers_or_bools(database, groups):
    database.load("t", {"p": SCORES, "y": [0, 1] * 3, "g": groups})
    if database.dialect == "sqlite":  # it has no bools
        groups = [int(g) if isinstance(g, bool) else g for g in groups]
    counted = count(database)
    assert counted == one_pass(SCORES, [0, 1] * 3, groups)
    assert [*map(type, counted.groups)] == [type(groups[0])] * len(counted.groups)


def test_several_columns_of_groups_make_tuples(database):
    sexes, ages = ["F", "M", "F", "M", "F", "F"], [1, 2, 3, 1, 2, 3]
    database.load("t", {"p": SCORES, "y": [0, 1] * 3, "sex": sexes, "age": ages})
    counted = count(database, group=["sex", "age"])
    assert counted == one_pass(SCORES, [0, 1] * 3, zip(sexes, ages, strict=True))
    assert count(database, group=["sex"]) == one_pass(SCORES, [0, 1] * 3, sexes)


def test_a_null_group_is_refused_or_named(database):
    database.load("t", {"p": SCORES, "y": [0, 1] * 3, "g": ["a", None, "b", None, "a", "?"]})
    with pytest.raises(TypeError, match="groups has a missing value"):
        count(database)
    assert count(database, missing_group="?") == one_pass(SCORES, [0, 1] * 3, ["a", "?", "b", "?", "a", "?"])


@pytest.mark.parametrize("options", [{}, {"range": (-2, 2)}, {"groups": ["b", "a"]}])
def test_rows_without_a_group_are_skipped_and_move_no_window(database, options):
    scores, labels, sexes = [0.5, 1e9, 0.25, -1e-9, None, 2.0], [0, 1, 1, 0, 0, 1], ["a", None, "b", None, None, "a"]
    database.load("t", {"p": scores, "y": labels, "g": sexes})
    sketch = gf.Sketch(missing_group="skip", **options)
    table = pa.table({"p": scores, "y": labels, "g": sexes})
    one = sketch.update_table(table, score="p", label="y", group="g")
    counted = count(database, missing_group="skip", **options)
    assert counted.to_bytes() == one.to_bytes()
    assert counted.skipped == 3


def test_a_missing_part_makes_the_whole_group_missing(database):
    sexes, ages = ["F", None, "F", "M", None, "F"], [1, 2, None, 1, None, 3]
    database.load("t", {"p": SCORES, "y": [0, 1] * 3, "sex": sexes, "age": ages})
    pairs = [("F", 1), None, None, ("M", 1), None, ("F", 3)]
    for name in ("?", ("?", 0)):
        named = count(database, group=["sex", "age"], missing_group=name)
        assert named == one_pass(SCORES, [0, 1] * 3, [pair or name for pair in pairs])
    one = gf.Sketch(missing_group="skip").update(SCORES, [0, 1] * 3, pairs)
    assert count(database, group=["sex", "age"], missing_group="skip") == one


@pytest.mark.parametrize("options", [{}, {"range": (0, 1)}])
def test_a_score_that_is_null_or_nan_is_refused_or_skipped(database, options):
    scores = [0.5, None, 0.25, math.nan, None, 2.0]
    if database.dialect == "sqlite":
        scores[3] = None
    database.load("t", {"p": scores, "y": [0, 1, 1, 0, 0, 1], "g": ["a", "b", "a", "a", "a", "a"]})
    with pytest.raises(ValueError, match=r'has NaN; drop such rows or pass nan="skip"'):
        count(database, **options)
    counted = count(database, nan="skip", **options)
    assert counted.skipped == 3
    assert counted == gf.Sketch(nan="skip", **options).update(
        [math.nan if x is None else x for x in scores], [0, 1, 1, 0, 0, 1], ["a", "b", "a", "a", "a", "a"]
    )


def test_rows_that_are_skipped_are_checked_as_others_are(database):
    database.load("t", {"p": [0.5, None], "y": [0, 7], "g": ["a", "a"]})
    with pytest.raises(ValueError, match="labels must be 0 or 1, got 7"):
        count(database, nan="skip")
    database.load("t", {"p": [0.5, None], "y": [0, 1], "g": ["a", None]})
    with pytest.raises(TypeError, match="missing value"):
        count(database, nan="skip")
    with pytest.raises(ValueError, match="group 'b'"):
        count(database, nan="skip", missing_group="b", groups=["a"])


@pytest.mark.parametrize("options", [{}, {"range": (0, 1)}])
@pytest.mark.parametrize("bad", [1.1e301, -1.7976931348623157e308, math.nextafter(2.0**1000, math.inf)])
def test_finite_scores_beyond_2_to_1000_are_refused(database, options, bad):
    database.load("t", {"p": [0.5, bad], "y": [0, 1], "g": ["a", "a"]})
    with pytest.raises(ValueError, match=r"finite scores must lie within 2\*\*1000"):
        count(database, **options)


@pytest.mark.parametrize("labels", [[0, 2], [-1, 1], [0.5, 1.0]])
def test_other_labels_are_refused(database, labels):
    database.load("t", {"p": [0.5, 0.25], "y": labels, "g": ["a", "a"]})
    with pytest.raises(ValueError, match="labels must be 0 or 1, got"):
        count(database)
    database.load("t", {"p": [0.5, 0.25], "y": ["0", "1"], "g": ["a", "a"]})
    with pytest.raises(TypeError, match="label must be 0, 1 or None, got str"):
        count(database)


def test_groups_that_are_no_names_are_refused(database):
    database.load("t", {"p": [0.5, 0.25], "y": [0, 1], "g": [1.5, 2.5]})
    with pytest.raises(TypeError, match="group names must be int, str, bool"):
        count(database)
    database.load("t", {"p": [0.5, 0.25], "y": [0, 1], "g": ["a", "b"]})
    with pytest.raises(ValueError, match=r"group 'b' at row [01] is not one of the given groups 'a'"):
        count(database, groups=["a"])
    assert count(database, groups=["c", "b", "a"]).groups == ("c", "b", "a")


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_only_names(database, name):
    database.load("t", {"p": [0.5], "y": [1], "g": ["a"]})
    table = "u" if database.dialect == "clickhouse" else name  # its tables are files, and not all may be called so
    database.load(table, {name: SCORES, name + "y": [0, 1] * 3, name + "g": ["a", "b'"] * 3})
    counted = count(database, table, score=name, label=name + "y", group=[name + "g", name + "y"])
    assert counted == one_pass(SCORES, [0, 1] * 3, zip(["a", "b'"] * 3, [0, 1] * 3, strict=True))
    assert database.execute("SELECT COUNT(*) FROM t") == [(1,)]


def test_a_column_that_is_not_there_is_the_databases_error(database):
    database.load("t", {"p": [0.5], "y": [1], "g": ["a"]})
    for wrong in ("score", "label", "group"):
        with pytest.raises(Exception, match=r"(?i)nothing_there"):
            count(database, **{wrong: "nothing_there"})


def test_a_select_may_stand_for_a_table_and_a_schema_before_it(database):
    database.load("t", {"p": SCORES, "y": [0, 1] * 3, "g": ["a", "b"] * 3})
    expected = one_pass(SCORES[::2], [0] * 3, ["a"] * 3)
    assert count(database, gf.sql.Query("SELECT * FROM t WHERE y = 0 -- a comment")) == expected
    schema = {"duckdb": "main", "sqlite": "main", "postgres": "public", "clickhouse": "default"}[database.dialect]
    assert count(database, (schema, "t")).n_rows == 6


def test_scores_of_other_types_become_float64(database):
    database.load("t", {"p": [1, 2**53 + 1, -3], "y": [0, 1, 1], "g": ["a"] * 3})
    assert count(database) == one_pass([1, 2**53 + 1, -3], [0, 1, 1], ["a"] * 3)


@pytest.mark.parametrize("options", [{}, {"range": (0, 1)}])
def test_without_sums_the_counts_are_those_of_one_pass(database, options):
    database.load("t", {"p": SCORES, "y": [0, 1] * 3, "g": ["a", "b"] * 3})
    counted, expected = count(database, exact=False, **options), one_pass(SCORES, [0, 1] * 3, ["a", "b"] * 3, **options)
    assert not counted.has_means
    assert (counted.counts == expected.counts).all()
    assert (counted.edges == expected.edges).all()
    assert (counted.above == expected.above).all()


# ------------------------------------------------------------------------------------------- what execute may do wrong


def test_a_table_that_changes_between_the_two_queries_is_noticed():
    """Each pair of tables: the first query sees one, the second another."""
    tables = {
        "one": [1.0, 1.5],
        "more": [1.0, 1.5, 900.0],
        "nearer": [1.0, 1.5, 1e-7],
        "other": [-1.0],
        "zero": [1.0, 1.5, 0.0],
    }
    db = sqlite3.connect(":memory:")
    for name, scores in tables.items():
        db.execute(f"CREATE TABLE {name} (p REAL, y INT, g TEXT)")
        db.executemany(f"INSERT INTO {name} VALUES (?, 1, 'a')", [(x,) for x in scores])

    for before, after in itertools.permutations(tables, 2):
        queries = itertools.count()

        def execute(query: str) -> Any:
            return db.execute(query.replace('"t"', before if next(queries) == 0 else after))  # noqa: B023

        if (before, after) in HARMLESS:
            made = gf.sql.sketch(execute, "t", **COLUMNS, dialect="sqlite")
            assert made == one_pass(tables[after], [1] * len(tables[after]), ["a"] * len(tables[after]))
        else:
            with pytest.raises(ValueError, match=r"changed while it was counted|count them again"):
                gf.sql.sketch(execute, "t", **COLUMNS, dialect="sqlite")


@pytest.mark.parametrize("limits", [None, (0, 1)])
@pytest.mark.parametrize("value", ["N/A", "0.7x", "", "0.5", b"1"])
def test_texts_among_scores_are_refused_where_a_column_may_hold_both(value, limits):
    """SQLite keeps any value in any column, and its CAST makes 0 of N/A."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE t (p, y INT, g TEXT)")
    db.executemany("INSERT INTO t VALUES (?, 1, 'a')", [(0.5,), (1,), (value,)])
    with pytest.raises(TypeError, match="scores must be real numbers, got the text "):
        gf.sql.sketch(db.execute, "t", **COLUMNS, dialect="sqlite", range=limits)


class Statement:
    """What a driver's connection and cursor may be like: psycopg2's `execute` returns None."""

    def __init__(self, database):
        self._cursor, self.opened = database.cursor(), 0

    def cursor(self):
        self.opened += 1
        return self._cursor


class Alchemy:
    """A connection of SQLAlchemy, as far as it is asked."""

    def __init__(self, database):
        self._database = database

    def execute(self, *_):
        raise TypeError("not an executable object")

    def exec_driver_sql(self, query):
        return self._database.execute(query)


def test_a_connection_a_cursor_and_a_function_give_the_same():
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE t (p REAL, y INT, g TEXT)")
    db.executemany("INSERT INTO t VALUES (?, 1, 'a')", [(x,) for x in SCORES])
    expected = one_pass(SCORES, [1] * 6, ["a"] * 6)
    statement = Statement(db)
    for execute in (db, db.cursor(), db.execute, statement, Alchemy(db)):
        assert gf.sql.sketch(execute, "t", **COLUMNS, dialect="sqlite") == expected
    assert statement.opened == 1


def test_what_runs_no_query_is_refused():
    with pytest.raises(TypeError, match="execute must return the rows of its SELECT, got NoneType; pass the cursor"):
        gf.sql.sketch(lambda _: None, "t", **COLUMNS, dialect="postgres")
    for wrong in ("t", pa.table({"p": [0.5]}), None):
        with pytest.raises(TypeError, match="execute must be a cursor, a connection, or a function"):
            gf.sql.sketch(wrong, "t", **COLUMNS, dialect="duckdb")
    with pytest.raises(TypeError, match="a table must be given by its name, got Table"):
        gf.sql.sketch(lambda _: [], pa.table({"p": [0.5]}), **COLUMNS, dialect="duckdb")


def test_an_error_about_a_name_with_a_dot_has_a_hint(database):
    with pytest.raises(Exception, match=r"(?i)main\.people") as caught:
        count(database, "main.people")
    assert "for a schema pass ('main', 'people')" in "".join(caught.value.__notes__)
    with pytest.raises(Exception, match=r"(?i)nothing_there") as caught:
        count(database, "nothing_there")
    assert not hasattr(caught.value, "__notes__")


def test_decimal_labels_are_labels():
    """As PostgreSQL's NUMERIC and Snowflake's NUMBER come back."""
    one, two = Decimal(1), Decimal("2")
    row = ("a", 0.5, 1, 2**23, 0.5, 0.5)
    asked = COLUMNS | {"dialect": "postgres", "range": (0, 1)}
    counted = gf.sql.sketch(lambda _: [(one, *row), (Decimal("0.0"), *row)], "t", **asked)
    assert counted == gf.Sketch.from_rows([0.5, 0.5], [1, 0], ["a", "a"], range=(0, 1))
    with pytest.raises(TypeError, match="label must be 0, 1 or None, got Decimal"):
        gf.sql.sketch(lambda _: [(two, *row)], "t", **asked)


# ------------------------------------------------------------------------------------------------------ sketches by key


def keyed(n):
    """Keys whose scores reach differently far: none, one, some, infinite; and keys that are null."""
    rng = np.random.default_rng(5)
    shops = rng.choice(["x", "y", None, "none", "one"], n).tolist()
    days = rng.integers(0, 3, n).tolist()
    scores = (rng.normal(size=n) * 10.0 ** (np.array(days) * 4 - 5)).tolist()
    for at, shop in enumerate(shops):
        scores[at] = {"none": math.inf, "one": 0.25}.get(str(shop), scores[at])
    return {"p": scores, "y": rng.integers(0, 2, n).tolist(), "g": rng.choice(["a", "b"], n).tolist()} | {
        "shop": shops,
        "day": days,
    }


def sketch_of(columns, by, key, **options):
    rows = [row for row in range(len(columns["p"])) if [columns[name][row] for name in by] == list(key)]
    some = {name: [values[row] for row in rows] for name, values in columns.items()}
    return gf.Sketch(**options).update_table(pa.table(some), score="p", label="y", group="g").to_bytes()


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning", "ignore::gstar_fast.errors.SentinelWarning")
@pytest.mark.parametrize("options", [{}, {"range": (-1, 1), "bins": 64}])
@pytest.mark.parametrize("by", [["shop", "day"], ["day"], ["g"], []])
def test_sketches_by_key_have_the_bytes_of_one_pass_of_each_key(database, by, options):
    columns = keyed(600)
    database.load("t", columns)
    found = gf.sql.sketches(database.execute, "t", by=by, **COLUMNS, dialect=database.dialect, **options)
    made = {tuple(key): sketch for *key, sketch in found}
    assert len(made) == len(set(zip(*(columns[name] for name in by), strict=True)) if by else [()])
    assert made == {key: sketch_of(columns, by, key, **options) for key in made}


def test_sketches_by_key_know_their_labels(database):
    rows = {"p": SCORES, "y": ["yes", "no", "no", "maybe", None, "yes"], "g": ["a"] * 6, "k": [1, 1, 2, 2, 3, 4]}
    database.load("t", rows)
    asked = COLUMNS | {"positive": "yes", "dialect": database.dialect}
    made = dict(gf.sql.sketches(database.execute, "t", by="k", **asked))
    for key in (1, 4):  # with rows of this label
        own = {name: [x for x, k in zip(values, rows["k"], strict=True) if k == key] for name, values in rows.items()}
        one = gf.Sketch().update_table(pa.table(own), **COLUMNS, positive="yes")
        assert made[key] == one.to_bytes()
    assert sorted(made) == [1, 2, 3, 4]
    with pytest.raises(gf.errors.LabelWarning, match="labels found: 'maybe', 'no'"):
        gf.solve(gf.Sketch.from_bytes(made[2]))


def test_sketches_of_a_table_are_added_up():
    columns = keyed(300)
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE t (p REAL, y INT, g TEXT, shop TEXT, day INT)")
    db.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", zip(*columns.values(), strict=True))
    db.execute("CREATE TABLE kept (shop TEXT, day INT, sketch BLOB)")
    made = gf.sql.sketches(db, "t", by=["shop", "day"], **COLUMNS, dialect="sqlite")
    db.executemany("INSERT INTO kept VALUES (?, ?, ?)", made)
    days = dict(gf.sql.merged(db, "kept", "sketch", by="day", dialect="sqlite"))
    assert days == {day: sketch_of(columns, ["day"], (day,)) for day in (0, 1, 2)}
    ((total,),) = gf.sql.merged(db, "kept", "sketch", dialect="sqlite")
    assert total == sketch_of(columns, [], ())
    with pytest.raises(TypeError, match="a sketch must be bytes, got str"):
        list(gf.sql.merged(db, "kept", "shop", by="day", dialect="sqlite"))


def test_a_key_that_goes_while_it_is_counted_is_noticed():
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE t (p REAL, y INT, g TEXT, k INT)")
    db.executemany("INSERT INTO t VALUES (?, 1, 'a', ?)", [(0.5, 1), (0.25, 1), (0.5, 2), (0.25, 2)])
    queries = itertools.count()

    def execute(query: str) -> Any:
        if next(queries):
            db.execute("DELETE FROM t WHERE k = 2")
        return db.execute(query)

    with pytest.raises(ValueError, match="changed while it was counted"):
        list(gf.sql.sketches(execute, "t", by="k", **COLUMNS, dialect="sqlite"))


def test_an_execute_that_gives_no_rows_is_refused():
    with pytest.raises(ValueError, match="execute must return the rows of its SELECT, one of them here, got 0"):
        gf.sql.sketch(lambda _: [], "t", **COLUMNS, dialect="duckdb")
    with pytest.raises(ValueError, match="execute returned rows of 2 values, and its SELECT has 5"):
        gf.sql.sketch(lambda _: [(1, 2)], "t", **COLUMNS, dialect="duckdb")
    for row in ("abcde", {"most_above": 1}, 7):
        with pytest.raises(TypeError, match="execute must return rows as tuples, got"):
            gf.sql.sketch(lambda _, row=row: [row], "t", **COLUMNS, dialect="duckdb", range=(0, 1))


def test_more_rows_than_sums_of_64_bits_hold_are_refused():
    answers = iter([[(0.5, 0.5, None, None, 0)], [(1, "a", 0.5, 2**38, 2**61, 0.5, 0.5)]])
    with pytest.raises(ValueError, match="274877906944 rows lie in one bin"):
        gf.sql.sketch(lambda _: next(answers), "t", **COLUMNS, dialect="duckdb")
