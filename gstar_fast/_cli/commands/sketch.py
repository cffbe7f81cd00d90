"""The command `sketch`: counts tables, or with --sql a table of a database, which then returns only counts of bins."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import quote

import gstar_fast as gf
from gstar_fast._base.text import counted, span, without_secrets
from gstar_fast._cli import resume
from gstar_fast._cli.commands.show import facts
from gstar_fast._cli.count import Columns, Stop, Tally, count, entries_of
from gstar_fast._cli.errors import USAGE, CliError, Interrupted, Table, exit_code, extra_missing, worded
from gstar_fast._cli.output import Console, Progress, check_output, write_bytes
from gstar_fast._cli.read import columns_of, load_sketch, new_sketch, note_alike, refuse_options, tables_of
from gstar_fast._cli.resume import Entry, Record, is_same
from gstar_fast._cli.tables.columns import label_name
from gstar_fast._cli.tables.inputs import Input
from gstar_fast._cli.tables.places import forget
from gstar_fast.errors import InputError

# options that the counts depend on, besides those that are compared as they were understood
COLUMNS = ("score", "label", "group", "weight", "repeats", "positive")
ASKED = (*COLUMNS, "delimiter", "range", "nan", "format", "missing_group")


def sketch(given: argparse.Namespace, console: Console) -> None:
    """Count tables into a sketch."""
    if given.output == "-" and (given.resume or given.append):
        raise CliError("--resume and --append need a file to write to, not -o -", USAGE)
    if not given.checkpoint >= 0:  # NaN among them, with which the time to save would never come
        raise CliError(f"--checkpoint must be a number of seconds, 0 or more, got {given.checkpoint:g}", USAGE)
    if given.sql is not None:
        _in_database(given, console)
        return
    if not given.inputs:
        raise CliError("name tables to count, or a database with --sql; see: gstar-fast sketch --help", USAGE)
    refuse_options(given, ("table", "schema"), "is for a database, and there is no --sql")
    columns = columns_of(given)
    inputs, passed = tables_of(given, console)
    check_output(given.output, (one.path for one in inputs))
    base = _base(given, columns)
    new = new_sketch(given, columns, base)
    asked = {name: getattr(given, name) for name in ASKED} | {
        "missing": None if given.missing is None else sorted(map(repr, given.missing)),
        "bins": new.bins,
        "append": None if base is None else base.digest(),
    }
    entries = entries_of(inputs)  # before they are read: a change while that goes on must show
    partial = Path(given.output + resume.ENDING)
    if given.output != "-" and partial.exists():
        new = _continued(given, asked, inputs, entries, new, console)
    tally = Tally(columns, new)
    progress = Progress(shown=given.progress, quiet=console.quiet)

    def save() -> None:
        Record(asked, [file for file in entries if file["rows"] or file["whole"]], new).save(partial)

    with Stop() as stop:
        try:
            checkpoint = None if given.output == "-" else save
            count(inputs, tally, stop, progress, entries=entries, checkpoint=checkpoint, every=given.checkpoint)
        except Interrupted as end:
            raise Interrupted(_how_to_go_on(given, entries, save, partial), end.code - 128) from None
        tally.check_positive()
        forget(one.path for one in inputs if one.path is not None)
        for one, before in zip(inputs, entries, strict=True):
            with contextlib.suppress(FileNotFoundError):  # a file that is gone was read to its end
                if not is_same(before, one.identity()):
                    console.note(f"note: {one.name} has changed while it was counted; count it again")
        rows = sum(file["rows"] for file in entries)
        _finish(given, console, base, new, rows, progress.seconds, len(inputs), passed, partial)


def _finish(
    given: argparse.Namespace,
    console: Console,
    base: gf.Sketch | None,
    new: gf.Sketch,
    rows: int,
    seconds: float,
    files: int = 1,
    passed: Sequence[str] = (),
    partial: Path | None = None,
) -> None:
    """Add the sketch to what was there before, write it, and print what was counted."""
    total = new if base is None else base + new
    note_alike(total, console)
    if given.output == "-":
        write_bytes(total.to_bytes())
        return
    total.save(given.output)
    if partial is not None:
        partial.unlink(missing_ok=True)
    data = {"output": given.output, "files": files, "passed_over": passed, "seconds": seconds, **facts(total)}
    speed = f", {rows / seconds / 1e6:,.1f} million a second" if rows >= 100_000 else ""
    text = f"{given.output}: {counted(rows, 'row')} of {counted(files, 'table')} counted in {span(seconds)}{speed}\n"
    if base is not None:
        data |= {"rows_before": base.n_rows, "rows_added": total.n_rows - base.n_rows}
        text += f"Added to {counted(base.n_rows, 'existing row', 'existing rows')}. Duplicates are not detected.\n"
    console.answer(data, lambda: f"{text}{total}")


def _in_database(given: argparse.Namespace, console: Console) -> None:
    """Count a table in its database, which returns only the counts of bins."""
    if given.inputs:
        raise CliError("--sql counts a table of a database; leave out the files, or count them by themselves", USAGE)
    if not given.table:
        raise CliError("--sql needs the name of a table: --table NAME", USAGE)
    refuse_options(given, ("weight", "repeats", "missing"), "is not for --sql yet")
    refuse_options(given, ("resume", "format", "delimiter"), "is for files, and --sql reads none")
    columns = columns_of(given)
    check_output(given.output)
    base = _base(given, columns)
    like = new_sketch(given, columns, base)
    start = time.monotonic()
    source = [given.table] if given.schema is None else [given.schema, given.table]
    with connected(given.sql) as database:
        try:
            new = gf.sql.sketch(
                database.execute,
                source,
                score=columns.score,
                label=columns.label,
                group=columns.group,
                dialect=database.dialect,
                range=given.range and (given.range[0], given.range[1]),
                bins=like.bins,
                positive=None if columns.positive is None else label_name(columns.positive),
                nan=given.nan,
                missing_group=like._passing.group,
            )
        except InputError as error:
            face = Table(columns.arguments, columns.group, 0)
            raise CliError(f"table {given.table!r}: {worded(error, face)}", exit_code(error)) from error
    _finish(given, console, base, new, int(new.n_rows), time.monotonic() - start)


def _base(given: argparse.Namespace, columns: Columns) -> gf.Sketch | None:
    if not given.append:
        return None
    if not Path(given.output).exists():
        raise CliError(f"{given.output} does not exist. Drop --append to create it.")
    base = load_sketch(given.output)
    try:  # before hours of counting
        base + new_sketch(given, columns, base).update([0.0], None, [(base.groups or (0,))[0]], missing=())
    except ValueError as error:
        raise CliError(f"cannot add to {given.output}: {worded(error)}") from None
    return base


def _continued(
    given: argparse.Namespace,
    asked: dict[str, object],
    inputs: list[Input],
    entries: list[Entry],
    new: gf.Sketch,
    console: Console,
) -> gf.Sketch:
    """The sketch of an interrupted count; notes in the entries the rows that it has."""
    partial = Path(given.output + resume.ENDING)
    if not given.resume:
        console.note(f"note: {partial} of an interrupted count exists; this count starts over (--resume continues it)")
        return new
    if any(one.path is None for one in inputs):
        raise CliError("--resume does not work with a pipe")
    before = resume.load(partial)
    resume.check_asked(partial, before.asked, asked, "drop --resume to start over")
    resume.go_on(partial, before, inputs, entries)
    console.note(f"continuing after {counted(before.rows, 'row')}")
    assert before.sketch is not None
    return new + before.sketch  # the options of the new one


def _how_to_go_on(given: argparse.Namespace, entries: list[Entry], save: Callable[[], None], partial: Path) -> str:
    rows = counted(sum(file["rows"] for file in entries), "row")
    if given.output == "-":
        return f"stopped after {rows}; nothing was written"
    save()
    kept = f"stopped; {rows} are counted and kept in {partial}"
    if any(file["size"] is None for file in entries):
        as_it_is = shlex.join(["gstar-fast", "merge", str(partial), "-o", given.output])
        return f"{kept}\na pipe cannot be resumed; to use the count as it is: {as_it_is}"
    return f"{kept}\nto continue: {resume.command(given)}"


# ---------------------------------------------------------------------------------------------------------- databases

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
