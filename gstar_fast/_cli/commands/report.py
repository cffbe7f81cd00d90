"""The command `report`."""

from __future__ import annotations

import argparse

import gstar_fast as gf
from gstar_fast._cli.errors import CliError
from gstar_fast._cli.output import Console, check_output, command_line, ending
from gstar_fast._cli.read import sketch_of
from gstar_fast._cli.thresholds import load_thresholds, take_columns


def report(given: argparse.Namespace, console: Console) -> None:
    """Write a page about saved thresholds and the sketch they came from."""
    ending(given.output, {".html": None, ".htm": None})
    check_output(given.output, [*given.inputs, given.thresholds])
    result = load_thresholds(given.thresholds)
    if not isinstance(result, gf.Result):
        raise CliError(f"{given.thresholds} has thresholds alone; a report needs what `gstar-fast solve -o` saved")
    take_columns(given, result)
    sketch = sketch_of(given, console)
    command = command_line(given.argv)
    found = None if given.new_rows is None else gf.audit(result, sketch, new_rows=given.new_rows)
    page = gf.report(result, sketch, audit=found, criterion=given.criterion, title=given.title, command=command)
    page.save(given.output)
    size = len(page.html.encode())
    console.answer(
        {"output": given.output, "bytes": size, "verdict": result.verdict},
        f"{given.output}: {size / 1e3:,.0f} kB, self-contained; open it in a browser",
    )
