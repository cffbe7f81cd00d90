"""Databases that tests count in: each takes a table of Python values and runs a SELECT."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest

from gstar_fast._decide.dialects import dialect_named, quoted

DATABASES = ("duckdb", "sqlite", "postgres", "clickhouse")
TYPES = {
    "duckdb": {float: "DOUBLE", int: "BIGINT", str: "VARCHAR", bool: "BOOLEAN"},
    "sqlite": {float: "REAL", int: "INTEGER", str: "TEXT", bool: "INTEGER"},
    "postgres": {float: "DOUBLE PRECISION", int: "BIGINT", str: "TEXT", bool: "BOOLEAN"},
    "clickhouse": {float: "Nullable(Float64)", int: "Nullable(Int64)", str: "Nullable(String)", bool: "Nullable(Bool)"},
}


def absent(reason: str) -> NoReturn:
    """Skip a test that needs an engine, unless it must run."""
    if os.environ.get("GSTAR_FAST_REQUIRE_ENGINES") == "1":
        pytest.fail(f"GSTAR_FAST_REQUIRE_ENGINES=1, but {reason}", pytrace=False)
    pytest.skip(reason)


class Database:
    """One database, empty at first."""

    def __init__(self, dialect: str, connection: Any) -> None:
        self.dialect, self.connection = dialect, connection

    def execute(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a SELECT."""
        cursor = self.connection.cursor()
        cursor.execute(query)
        return list(cursor.fetchall())

    def load(self, table: str, columns: dict[str, Sequence[Any]]) -> None:
        """A table of these columns, in the place of another of that name."""
        name, *names = (quoted(one, dialect_named(self.dialect)) for one in (table, *columns))
        kinds = [TYPES[self.dialect][_kind(values)] for values in columns.values()]
        cursor = self.connection.cursor()
        cursor.execute(f"DROP TABLE IF EXISTS {name}")
        engine = " ENGINE = Memory" if self.dialect == "clickhouse" else ""
        described = ", ".join(f"{one} {kind}" for one, kind in zip(names, kinds, strict=True))
        cursor.execute(f"CREATE TABLE {name} ({described}){engine}")
        rows = list(zip(*columns.values(), strict=True))
        if self.dialect == "sqlite":
            cursor.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(names))})", rows)
        elif self.dialect == "postgres":
            with cursor.copy(f"COPY {name} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        elif self.dialect == "duckdb":
            import pyarrow as pa

            filled = pa.table(dict(columns))  # noqa: F841 (DuckDB finds it by its name)
            cursor.execute(f"INSERT INTO {name} SELECT * FROM filled")
        elif rows:
            values = ", ".join(f"({', '.join(map(_literal, row))})" for row in rows)
            cursor.execute(f"INSERT INTO {name} VALUES {values}")


def _kind(values: Sequence[Any]) -> type:
    return next((type(value) for value in values if value is not None), str)


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return "NULL" if value is None else repr(value).lower() if isinstance(value, (bool, float)) else str(value)


@contextmanager
def opened(dialect: str, folder: Path) -> Iterator[Database]:
    """A database of this kind; a test that asks for one that is not there is skipped, and says why."""
    if dialect == "sqlite":
        yield Database(dialect, sqlite3.connect(":memory:"))
    elif dialect == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        connection = duckdb.connect(config={"threads": 1})
        yield Database(dialect, connection)
        connection.close()
    elif dialect == "clickhouse":
        try:
            from chdb import dbapi
        except ImportError:
            absent("chdb is not installed: pip install chdb")
        connection = dbapi.connect(str(folder / "chdb"))
        yield Database(dialect, connection)
        connection.close()
    else:
        try:
            import psycopg
        except ImportError:
            absent("psycopg is not installed: pip install 'psycopg[binary]'")
        with (
            _postgres() as socket,
            psycopg.connect(
                host=socket, user="tests", dbname="postgres", prepare_threshold=None, autocommit=True
            ) as connection,
        ):
            yield Database(dialect, connection)


@contextmanager
def _postgres() -> Iterator[str]:
    """A PostgreSQL server of our own, which listens on a socket in a folder; root may not run one, so nobody does."""
    programs = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), *map(Path, os.get_exec_path())]
    home = next((place for place in programs if (place / "initdb").exists() and (place / "postgres").exists()), None)
    if home is None:
        absent("there is no PostgreSQL server: install postgresql")
    root = os.geteuid() == 0
    if root and not shutil.which("setpriv"):
        absent("PostgreSQL refuses root, and there is no setpriv to be somebody else")
    data = Path(tempfile.mkdtemp(prefix="postgres"))  # pytest's folders are closed to others
    if root:
        os.chown(data, 65534, 65534)
    asked = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"] if root else []

    def run(program: str, *options: str, **how: Any) -> subprocess.Popen[bytes]:
        command = [*asked, str(home / program), *options]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=data, **how)

    made = run("initdb", "-D", str(data / "d"), "-U", "tests", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
    trouble = made.communicate()[1]
    if made.returncode:
        absent(f"initdb failed: {trouble.decode()[-300:]}")
    options = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", f"unix_socket_directories={data}"]
    control = [*asked, str(home / "pg_ctl"), "-D", str(data / "d"), "-s", "-w", "-l", str(data / "log")]
    subprocess.run([*control, "-o", " ".join(options), "start"], check=True, cwd=data, stdin=subprocess.DEVNULL)
    try:
        yield str(data)
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=True, cwd=data)
        shutil.rmtree(data)
