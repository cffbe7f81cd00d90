"""The command `frontier`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import gstar_fast as gf
from gstar_fast._base.files import write_atomically
from gstar_fast._base.json import encode_name
from gstar_fast._base.text import aligned, distinct, printable_name, short_number
from gstar_fast._cli.errors import USAGE, CliError
from gstar_fast._cli.output import Console, check_outputs, ending, json_bytes, note_written
from gstar_fast._cli.read import sketch_of
from gstar_fast._cli.tables.write import table_bytes
from gstar_fast._cli.thresholds import answer, asked, with_columns


def frontier(given: argparse.Namespace, console: Console) -> None:
    """Print, and save, all points of the frontier, or one of them."""
    at = given.at_gap is not None, given.at_error is not None
    if all(at):
        raise CliError("--at-gap and --at-error exclude each other", USAGE)
    if given.thresholds is not None and not any(at):
        raise CliError("--thresholds saves one point; say which: --at-gap X or --at-error X", USAGE)
    write = None if given.output is None else ending(given.output, _WRITERS)
    check_outputs({"-o": given.output, "--thresholds": given.thresholds}, [*given.inputs, given.segments])
    segments = None if given.segments is None else gf.Segments.load(given.segments)
    sketch = sketch_of(given, console)
    found = gf.frontier(sketch, given.criterion, **asked(given, sketch, segments))
    point = None
    if any(at):
        point = found.at(gap=given.at_gap, error=given.at_error, sketch=sketch)
        point = with_columns(point, sketch, given, console)
    if write is not None:
        write_atomically(given.output, write(found))
    if point is None:
        console.answer(_points(found), lambda: _text(found))
    else:
        if given.thresholds not in (None, "-"):
            point.save(given.thresholds)
        answer(point, point.to_json(), given.thresholds, console)
    note_written(console, given.output, given.thresholds)


def _points(found: gf.results.Frontier) -> dict[str, object]:
    return {
        "criterion": found.criterion,
        "randomized": found.randomized,
        "proven_to": found.proven_to,
        "groups": [encode_name(name) for name in found.groups],
        "gap": found.gaps,
        found.measure: found.costs,
        "thresholds": found.thresholds,
        **({} if found.lower_bounds is None else {"lower_bound": found.lower_bounds}),
    }


def _text(found: gf.results.Frontier, most: int = 12) -> str:
    n = len(found)
    shown = range(n) if n <= most else sorted({round(i * (n - 1) / (most - 1)) for i in range(most)})
    rows = [["gap", found.measure, *map(printable_name, distinct(found.groups))]]
    rows += [[short_number(float(x)) for x in (found.gaps[i], found.costs[i], *found.thresholds[i])] for i in shown]
    lines = [str(found), "", *aligned(rows)]
    if n > most:
        lines.append(f"shown are {len(rows) - 1} of {n} points; -o FILE writes all")
    return "\n".join(lines)


def _table(kind: str, found: gf.results.Frontier) -> bytes:
    """One row for each point."""
    names = distinct(found.groups)
    thresholds = {f"threshold_{name}": column for name, column in zip(names, found.thresholds.T, strict=True)}
    return table_bytes(kind, {"gap": found.gaps, found.measure: found.costs, **thresholds}, len(found))


_WRITERS: dict[str, Callable[[gf.results.Frontier], bytes]] = {
    ".csv": partial(_table, "csv"),
    ".json": lambda found: json_bytes(_points(found)),
    ".parquet": partial(_table, "parquet"),
}
