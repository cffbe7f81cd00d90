"""Databases for `sketch --sql`: a URL -> a function that runs a SELECT on a read-only connection."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import quote

from gstar_fast._base.text import without_secrets
from gstar_fast._cli.errors import USAGE, CliError, extra_missing

Dialect: TypeAlias = Literal["duckdb", "postgres", "sqlite"]
_KNOWN = "duckdb:FILE, sqlite:FILE and postgresql://..."


class Database(NamedTuple):
    """An open database."""

    dialect: Dialect
    execute: Callable[[str], Any]  # a SELECT -> its rows


@contextlib.contextmanager
def connected(url: str) -> Iterator[Database]:
    """The database of a URL; its errors become CliErrors without passwords.

    Both queries of a count run in one transaction, so they see the same rows.
    """
    kind, _, rest = url.partition(":")
    if kind in ("postgresql", "postgres") and rest.startswith("//"):
        opened = _postgres(url)
    elif kind in ("duckdb", "sqlite") and rest:
        place = rest[3:] if rest.startswith("///") else rest  # as SQLAlchemy writes it
        if not Path(place).is_file():
            raise CliError(f"{place} does not exist, or is not a file; --sql {kind}:FILE names a database")
        opened = _duckdb(place) if kind == "duckdb" else _sqlite(place)
    else:
        raise CliError(f"--sql takes {_KNOWN}; got {without_secrets(url)!r}", USAGE)
    with opened as database:
        yield database


@contextlib.contextmanager
def _told(url: str, kind: type[Exception]) -> Iterator[None]:
    """Turn the errors of a driver into one line without the password."""
    try:
        yield
    except kind as error:
        said = without_secrets(" ".join(str(error).split()), url)[:300]
        raise CliError(f"{without_secrets(url)}: the database returned an error.\nfound: {said}") from None


def _driver(package: str, url: str) -> ModuleType:
    try:
        return import_module(package)
    except ImportError:
        raise extra_missing(f"--sql {url}", package, "sql") from None


@contextlib.contextmanager
def _duckdb(path: str) -> Iterator[Database]:
    duckdb = _driver("duckdb", f"duckdb:{path}")
    with _told(f"duckdb:{path}", duckdb.Error), duckdb.connect(path, read_only=True) as connection:
        connection.execute("BEGIN TRANSACTION")
        yield Database("duckdb", lambda query: connection.execute(query).fetchall())


@contextlib.contextmanager
def _sqlite(path: str) -> Iterator[Database]:
    import sqlite3

    with _told(f"sqlite:{path}", sqlite3.Error):
        name = f"file:{quote(path)}?mode=ro"
        with contextlib.closing(sqlite3.connect(name, uri=True, isolation_level=None)) as connection:
            connection.execute("BEGIN")
            yield Database("sqlite", lambda query: connection.execute(query).fetchall())


@contextlib.contextmanager
def _postgres(url: str) -> Iterator[Database]:
    psycopg = _driver("psycopg", "postgresql://")
    with _told(url, psycopg.Error), contextlib.closing(psycopg.connect(url)) as connection:
        connection.read_only = True
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        yield Database("postgres", lambda query: connection.execute(query).fetchall())
