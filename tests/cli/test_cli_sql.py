"""`sketch --sql`: the bytes of one pass over the rows, from databases that are only read; no password is printed."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import sys
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from helpers.commands import COLUMNS, fails
from helpers.databases import Database, opened

import gstar_fast as gf
from gstar_fast.__main__ import main
from gstar_fast._cli.commands.sketch import connected
from gstar_fast._cli.errors import CliError

HOSTILE = ["people", "my table", 'a"b', "a'; DROP TABLE people; --", "SELECT", "zoë", "a.b", "a]b`c\\d", "%s {x}"]


def rows():
    """A table with labels that are missing, and groups that need quotes."""
    random = np.random.default_rng(9)
    labels = [[0, 1, 0, 1, None][i] for i in random.integers(0, 5, 500)]
    return {
        "p": random.normal(size=500).tolist(),
        "y": labels,
        "sex": [["F", "M", "it's"][i] for i in random.integers(0, 3, 500)],
    }


@contextlib.contextmanager
def database(dialect, folder, names=("people",)):
    """The URL of a database with tables of these names."""
    if dialect == "postgres":
        with opened(dialect, folder) as db:
            for name in names:
                db.load(name, rows())
            db.connection.commit()
            yield f"postgresql://tests:sesame@/postgres?host={quote(db.connection.info.host, safe='')}"
        return
    path = folder / "people.db"
    if dialect == "duckdb":
        pytest.importorskip("pyarrow")
        connection = pytest.importorskip("duckdb").connect(str(path))
    else:
        connection = sqlite3.connect(path)
    db = Database(dialect, connection)
    for name in names:
        db.load(name, rows())
    connection.commit()
    connection.close()
    yield f"{dialect}:{path}"


@pytest.fixture(scope="module", params=["duckdb", "sqlite", "postgres"])
def url(request, tmp_path_factory):
    """A database with tables of hostile names, for tests that only read."""
    with database(request.param, tmp_path_factory.mktemp(request.param), HOSTILE) as url:
        yield url


def expected():
    table = rows()
    return gf.Sketch.from_rows(table["p"], table["y"], table["sex"])


def sketch(url, *extra, table="people", out="s.gstar"):
    return ["sketch", "--sql", url, "--table", table, "-o", out, *COLUMNS, *extra]


@pytest.mark.slow
def test_a_table_counts_as_its_rows_do(here, url, capsys):
    for name in HOSTILE:
        assert main(sketch(url, "-q", table=name)) == 0
        found = gf.Sketch.load("s.gstar")
        assert found == expected()
        assert (found.columns.score, found.columns.group) == ("p", ("sex",))
    assert main(sketch(url)) == 0
    assert "s.gstar: 500 rows of 1 table counted in " in capsys.readouterr().out
    assert main(sketch(url, "--json")) == 0
    assert json.loads(capsys.readouterr().out)["digest"] == gf.Sketch.load("s.gstar").digest()
    assert main(sketch(url, "--append", "-q")) == 0
    assert gf.Sketch.load("s.gstar").n_rows == 1_000
    words = [
        "--score",
        "p",
        "--label",
        "sex",
        "--positive",
        "F",
        "--group",
        "sex",
        "--range",
        "-1",
        "1",
        "--bins",
        "64",
    ]
    assert main(["sketch", "--sql", url, "--table", "people", "-o", "t.gstar", *words, "-q"]) == 0
    lines = zip(*rows().values(), strict=True)
    Path("people.csv").write_text("p,y,sex\n" + "".join(f"{p!r},{y},{sex}\n" for p, y, sex in lines))
    assert main(["sketch", "people.csv", "-o", "u.gstar", *words, "-q"]) == 0
    assert Path("t.gstar").read_bytes() == Path("u.gstar").read_bytes()


def test_a_schema_may_be_named(here, url):
    schema = {"duckdb": "main", "sqlite": "main", "postgresql": "public"}[url.partition(":")[0]]
    assert main(sketch(url, "--schema", schema, "-q")) == 0
    assert gf.Sketch.load("s.gstar") == expected()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--table", "peeple"], "the database returned an error."),
        (["--table", "people; DROP TABLE people"], "the database returned an error."),
        (["--table", "people", "--schema", "nowhere"], "the database returned an error."),
        (["--table", "people", "--score", "q"], "the database returned an error."),
        (["--table", "people", "--positive", "no such"], ""),
    ],
)
def test_what_the_database_refuses_is_told_without_the_password(here, url, capsys, words, said):
    error = fails(capsys, 1, "sketch", "--sql", url, "-o", "s.gstar", *COLUMNS, *words)
    assert said in error
    assert "sesame" not in error
    assert not Path("s.gstar").exists()
    assert main(sketch(url, "-q")) == 0  # the table is still there


def test_the_connection_only_reads(here, url):
    """Whatever reached the database as a statement could not change it."""
    with pytest.raises(CliError, match="returned an error"), connected(url) as db:  # noqa: PT012
        assert db.execute("SELECT COUNT(*) FROM people") == [(500,)]
        db.execute("DROP TABLE people")
    assert main(sketch(url, "-q")) == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["t.csv", "--sql", "sqlite:people.db", "--table", "t"], 2, "leave out the files"),
        (["--sql", "sqlite:people.db"], 2, "--sql needs the name of a table: --table NAME"),
        ([], 2, "name tables to count, or a database with --sql"),
        (["t.csv", "--table", "t"], 2, "--table is for a database, and there is no --sql; leave it out"),
        (["t.csv", "--schema", "t"], 2, "--schema is for a database, and there is no --sql"),
        (["--sql", "sqlite:people.db", "--table", "t", "--weight", "w"], 2, "--weight is not for --sql yet"),
        (["--sql", "sqlite:people.db", "--table", "t", "--repeats", "n"], 2, "--repeats is not for --sql yet"),
        (["--sql", "sqlite:people.db", "--table", "t", "--missing", "-999"], 2, "--missing is not for --sql yet"),
        (["--sql", "sqlite:people.db", "--table", "t", "--resume"], 2, "--resume is for files, and --sql reads none"),
        (["--sql", "sqlite:people.db", "--table", "t", "--format", "csv"], 2, "--format is for files"),
        (["--sql", "oracle://ann:sesame@host/x", "--table", "t"], 2, "got 'oracle://***@host/x'"),
        (["--sql", "people.db", "--table", "t"], 2, "--sql takes duckdb:FILE, sqlite:FILE and postgresql://..."),
        (["--sql", "duckdb:", "--table", "t"], 2, "--sql takes duckdb:FILE"),
        (["--sql", "sqlite:absent.db", "--table", "t"], 1, "absent.db does not exist, or is not a file"),
        (["--sql", "sqlite::memory:", "--table", "t"], 1, ":memory: does not exist, or is not a file"),
        (["--sql", "sqlite:.", "--table", "t"], 1, ". does not exist, or is not a file"),
        (["--sql", "sqlite:text.db", "--table", "t"], 1, "sqlite:text.db: the database returned an error."),
        (["--sql", "duckdb:text.db", "--table", "t"], 1, "duckdb:text.db: the database returned an error."),
        (["--sql", "sqlite:people.db", "--table", "empty\0"], 1, ""),
    ],
)
def test_wrong_words_are_refused_before_anything_is_written(here, capsys, words, code, said):
    pytest.importorskip("duckdb")
    with database("sqlite", here):
        Path("text.db").write_text("no database" * 1000)
        Path("t.csv").write_text("p,y,sex\n1,1,F\n")
        error = fails(capsys, code, "sketch", *words, "-o", "s.gstar", *COLUMNS)
        assert said in error
        assert "sesame" not in error
        assert not Path("s.gstar").exists()
        assert not Path("absent.db").exists()


def test_rows_that_no_sketch_takes_are_refused_in_the_words_of_the_table(here, capsys):
    connection = sqlite3.connect("people.db")
    table = {"p": [0.5, None], "y": [0, 1], "sex": ["F", None]}
    Database("sqlite", connection).load("people", table)
    connection.commit()
    connection.close()
    error = fails(capsys, 1, *sketch("sqlite:people.db"))
    assert error.startswith("gstar-fast: table 'people': ")
    assert main(sketch("sqlite:///people.db", "--nan", "skip", "-q")) == 1


@pytest.mark.parametrize("value", ["N/A", "0.7x", "", "0.5", b"1"])
def test_text_in_a_column_of_scores_is_not_taken_for_a_number(here, capsys, value):
    """SQLite keeps any value in any column, and its cast makes 0 of N/A."""
    with contextlib.closing(sqlite3.connect("people.db")) as connection:
        connection.execute("CREATE TABLE people (p, y INTEGER, sex TEXT)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", [(0.5, 0, "F"), (1, 1, "F"), (value, 1, "F")])
        connection.commit()
    assert "must be real numbers, got the text " in fails(capsys, 1, *sketch("sqlite:people.db"))
    assert not Path("s.gstar").exists()


def test_without_a_driver_it_says_what_to_install(here, capsys, monkeypatch):
    Path("people.db").write_text("")
    for name in ("duckdb", "psycopg"):
        monkeypatch.setitem(sys.modules, name, None)
    error = fails(capsys, 1, *sketch("postgresql://ann:sesame@host/db"))
    assert "needs psycopg, which is not installed; run: pip install 'gstar-fast[sql]'" in error
    assert "sesame" not in error
    assert "needs duckdb, which is not installed" in fails(capsys, 1, *sketch("duckdb:people.db"))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:sesame@localhost:1/db",
        "postgresql://ann:ses%ame@localhost:1/db",
        "postgresql://ann:ses%40ame/x@localhost:1/db",
        "postgresql://localhost:1/db?user=ann&password=sesame",
        "postgres://ann:sesame@localhost:x/db",
    ],
)
def test_no_error_repeats_a_password(here, capsys, url):
    """Not that of a server that is not there, and not that of a URL which cannot be read."""
    pytest.importorskip("psycopg")
    for extra in ([], ["--debug"]):
        capsys.readouterr()
        assert main(sketch(url, *extra)) == 1
        error = capsys.readouterr().err
        assert not any(word in error for word in ("sesame", "ses%ame", "ses@ame", "ses%40ame"))
