"""Databases for `sketch --sql`: a URL -> a function that runs a SELECT on a read-only connection."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import quote

from gstar_fast._base.text import without_secrets
from gstar_fast._cli.errors import USAGE, CliError, extra_missing

Dialect: TypeAlias = Literal["duckdb", "postgres", "sqlite"]
_DRIVERS: dict[Dialect, str] = {"duckdb": "duckdb", "postgres": "psycopg", "sqlite": "sqlite3"}
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
    dialect: Dialect
    if kind in ("postgresql", "postgres") and rest.startswith("//"):
        dialect, place, shown = "postgres", url, "postgresql://"
    elif kind in ("duckdb", "sqlite") and rest:
        place = rest[3:] if rest.startswith("///") else rest  # as SQLAlchemy writes it
        if not Path(place).is_file():
            raise CliError(f"{place} does not exist, or is not a file; --sql {kind}:FILE names a database")
        dialect, shown = "duckdb" if kind == "duckdb" else "sqlite", f"{kind}:{place}"
    else:
        raise CliError(f"--sql takes {_KNOWN}; got {without_secrets(url)!r}", USAGE)
    try:
        driver = import_module(_DRIVERS[dialect])
    except ImportError:
        raise extra_missing(f"--sql {shown}", _DRIVERS[dialect], "sql") from None
    try:
        with contextlib.closing(_opened(driver, dialect, place)) as connection:
            yield Database(dialect, lambda query: connection.execute(query).fetchall())
    except driver.Error as error:
        said = without_secrets(" ".join(str(error).split()), url)[:300]
        raise CliError(f"{without_secrets(url)}: the database returned an error.\nfound: {said}") from None


def _opened(driver: Any, dialect: Dialect, place: str) -> Any:
    """A connection that reads only, in a transaction."""
    if dialect == "postgres":
        connection = driver.connect(place)
        connection.read_only = True
        connection.isolation_level = driver.IsolationLevel.REPEATABLE_READ
        return connection
    if dialect == "duckdb":
        connection = driver.connect(place, read_only=True)
    else:
        connection = driver.connect(f"file:{quote(place)}?mode=ro", uri=True, isolation_level=None)
    connection.execute("BEGIN")
    return connection
