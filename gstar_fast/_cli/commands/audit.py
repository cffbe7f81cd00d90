"""The command `audit`."""

from __future__ import annotations

import argparse
import html

import gstar_fast as gf
from gstar_fast._audit.audit import audit_counted
from gstar_fast._audit.words import NEW_ROWS, numbers_of
from gstar_fast._base.files import write_atomically
from gstar_fast._base.text import distinct, printable_name
from gstar_fast._cli.count import Columns
from gstar_fast._cli.errors import USAGE, CliError
from gstar_fast._cli.output import Console, check_output, ending, json_bytes, note_written
from gstar_fast._cli.read import count_tables, refuse_options, sketch_of
from gstar_fast._cli.tables.inputs import is_sketch
from gstar_fast._cli.tables.write import table_bytes
from gstar_fast._cli.thresholds import load_thresholds, take_columns


def audit(given: argparse.Namespace, console: Console) -> None:
    """Print, and save, every rate and gap with its interval."""
    if (given.thresholds is None) == (given.decision is None):
        raise CliError("give either --thresholds FILE or --decision COL, to say what is audited", USAGE)
    write = None if given.output is None else ending(given.output, _WRITERS)
    check_output(given.output, [*given.inputs, given.thresholds])
    if given.accepted is not None and given.decision is None:
        raise CliError("--accepted names a decision, and there is no --decision", USAGE)
    settings = {"confidence": given.confidence, "replicates": given.replicates, "seed": given.seed}
    if given.new_rows is not None and given.decision is not None:
        raise CliError("--new-rows is about thresholds that `solve` found, and --decision has none", USAGE)
    if given.decision is not None:
        found = audit_counted(_decisions(given, console), **settings)
    else:
        thresholds = load_thresholds(given.thresholds)
        take_columns(given, thresholds)
        if given.new_rows is not None:
            settings["new_rows"] = given.new_rows
            if not isinstance(thresholds, gf.Result):
                raise CliError(f"{given.thresholds} has thresholds alone; --new-rows needs what `solve -o` saved")
        found = gf.audit(thresholds, sketch_of(given, console), **settings)
    if write is not None:
        write_atomically(given.output, write(found))
    console.answer(found.to_dict(), str(found))
    note_written(console, given.output)


def _decisions(given: argparse.Namespace, console: Console) -> gf.Sketch:
    """Decisions of tables, counted as scores of 0 and 1."""
    if any(map(is_sketch, given.inputs)):
        raise CliError("--decision names a column of tables; a sketch is audited with --thresholds", USAGE)
    if given.score is not None:
        raise CliError("--decision takes the place of --score; give one of them", USAGE)
    refuse_options(given, ("bins", "range", "nan", "missing"), "is about scores, and --decision needs none")
    if not given.group or (given.label is None and not given.no_label):
        raise CliError("tables need --group and --label (or --no-label); see: gstar-fast audit --help", USAGE)
    if given.positive is not None and given.label is None:
        raise CliError("--positive names a label; the decision that accepts is named with --accepted", USAGE)
    named = (given.decision, given.label, tuple(given.group), given.weight, given.repeats, given.positive)
    columns = Columns(*named, decisions=True, accepted=given.accepted)
    sketch = count_tables(given, columns, gf.Sketch(bins=16, range=(0, 2)), console)
    if not sketch.n_rows:
        raise CliError("there are no rows to audit")
    return sketch


def _csv(found: gf.results.Audit) -> bytes:
    """One line for each number, as `Audit.to_dataframe` has them."""
    text_of = dict(zip((None, *found.groups), ("", *map(_cell, distinct(found.groups))), strict=True))
    rows = [(text_of[name], metric, e) for name, metric, e in numbers_of(found)]
    there = [found.new_rows.get(metric) for _, metric, _ in rows]
    numbers = {key: [getattr(e, key) for _, _, e in rows] for key in ("value", "low", "high", "method")}
    columns = {"group": [name for name, _, _ in rows], "metric": [metric for _, metric, _ in rows], **numbers}
    columns |= {name: [getattr(one, key, "") for one in there] for name, key in NEW_ROWS.items()}
    return table_bytes("csv", columns, len(rows))


def _cell(name: str) -> str:
    """A name for a CSV cell; an apostrophe keeps a spreadsheet from reading it as a formula."""
    text = printable_name(name)
    try:
        float(text)
    except ValueError:
        return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text
    return text


_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}"
    "table{border-collapse:collapse;margin:1rem 0}th,td{padding:.2rem .6rem;border-bottom:1px solid #bbb}"
    "td{text-align:right}th{text-align:left}:root{color-scheme:light dark}"
)


def _page(found: gf.results.Audit) -> bytes:
    title = html.escape(f"Audit of {found.n_rows:,} rows")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f"</head><body><h1>{title}</h1>\n{found.to_html()}\n</body></html>\n"
    ).encode()


_WRITERS = {".json": lambda found: json_bytes(found.to_dict()), ".csv": _csv, ".html": _page}
