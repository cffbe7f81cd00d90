"""The command `solve`."""

from __future__ import annotations

import argparse
import json
import sys

import gstar_fast as gf
from gstar_fast._base.files import write_atomically
from gstar_fast._base.json import dumps
from gstar_fast._cli.errors import DONE, INFEASIBLE
from gstar_fast._cli.output import Console, check_outputs, command_line, ending, files, for_terminal, note_written
from gstar_fast._cli.read import sketch_of
from gstar_fast._cli.thresholds import answer, asked, with_columns
from gstar_fast._decide.document import seal


def solve(given: argparse.Namespace, console: Console) -> int:
    """Find thresholds, print the verdict, save them."""
    check_outputs({"-o": given.output, "--report": given.report}, [*given.inputs, given.segments])
    if given.report is not None:
        ending(given.report, {".html": None, ".htm": None})
    segments = None if given.segments is None else gf.Segments.load(given.segments)
    sketch = sketch_of(given, console)
    result = gf.solve(sketch, **asked(given, sketch, segments))
    result = with_columns(result, sketch, given, console)
    text = result.to_json()
    if given.expires is not None:
        text = dumps(seal(json.loads(text), result._decider(expires=given.expires)._thresholds))
    if why := _why_not(result):
        answer(result, text, given.output, console)
        outputs = files(given.output, given.report)
        unwritten = f"; {outputs} not written" if outputs else ""
        sys.stdout.flush()
        print(f"gstar-fast: {for_terminal(why + unwritten)}", file=sys.stderr)
        return INFEASIBLE
    # files first, since the reader of standard output may close it early
    if given.output not in (None, "-"):
        write_atomically(given.output, text.encode())
    if given.report is not None:
        gf.report(result, sketch, title=given.title, command=command_line(given.argv)).save(given.report)
    answer(result, text, given.output, console)
    note_written(console, given.output, given.report)
    return DONE


def _why_not(result: gf.Result) -> str | None:
    """Why the thresholds are not what was asked for; None if they are."""
    if result.verdict == "unpromised":
        return "the limits cannot be promised for new rows; without --confidence they hold on the counted ones"
    if result.meets_limits:
        return None
    cannot = "cannot be met" if result.verdict == "infeasible" else "are not met"
    slack = result.proof.slack
    why = result.message if slack is None else f"they could be if each were {slack.each:g} looser"
    return f"the limits {cannot}: {why}"
