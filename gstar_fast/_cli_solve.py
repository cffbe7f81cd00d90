"""The commands `solve` and `frontier`."""

from __future__ import annotations

import argparse
import csv
import dataclasses
import io
import json
import shlex
import sys
from typing import Any

import gstar_fast as gf
from gstar_fast import _tables
from gstar_fast._cli_errors import DONE, INFEASIBLE, USAGE, CliError, pyarrow_missing
from gstar_fast._cli_output import Console, group_name, plain, shown_names
from gstar_fast._cli_read import check_output, ending, joined_names, sketch_of
from gstar_fast._files import write_atomically
from gstar_fast._result import _number, _table
from gstar_fast._thresholds_io import seal


def solve(given: argparse.Namespace, console: Console) -> int:
    """Find thresholds, print the verdict, save them."""
    for path in (given.output, given.report):
        check_output(path, given.inputs)
    if given.report is not None:
        ending(given.report, {".html": None, ".htm": None})
    limits, penalties = _once(given.limit, "--limit"), _once(given.penalty, "--penalty")
    sketch = sketch_of(given, console)
    result = gf.solve(
        sketch,
        limits=limits,
        penalties=penalties,
        method=given.method,
        density=given.density,
        costs=(given.cost_fp, given.cost_fn),
        balanced=given.balanced,
        unified=given.unified,
        randomize=given.randomize,
    )
    result = with_columns(result, given)
    document = json.loads(result.to_json())
    if given.expires is not None:
        document = seal(document, result.decider(expires=given.expires)._thresholds)
    console.answer(document, lambda: str(result))
    if result.verdict == "infeasible":
        outputs = " and ".join(path for path in (given.output, given.report) if path is not None)
        unwritten = f"; {outputs} not written" if outputs else ""
        sys.stdout.flush()
        print(f"gstar-fast: the limits cannot be met: {result.message.split('; shown')[0]}{unwritten}", file=sys.stderr)
        return INFEASIBLE
    if given.output is not None:
        write_atomically(given.output, (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode())
    if given.report is not None:
        command = shlex.join(["gstar-fast", *given.argv])
        gf.report(result, sketch, title=given.title, command=command).save(given.report)
    written = [path for path in (given.output, given.report) if path is not None]
    if written:
        console.note(f"wrote {' and '.join(written)}")
    return DONE


def _once(pairs: list[tuple[str, float]], option: str) -> dict[str, float]:
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise CliError(f"{option} {twice} is given twice; give it once", USAGE)
    return dict(pairs)


def with_columns(result: gf.Result, given: argparse.Namespace) -> gf.Result:
    """The result with the names of the columns it is about, so that `apply` need not be told again."""
    return dataclasses.replace(result, score_column=given.score, group_column=joined_names(given.group))


# ------------------------------------------------------------------------------------------------------------- frontier


def frontier(given: argparse.Namespace, console: Console) -> None:
    """Print, and save, every point nobody dominates, or one of them."""
    at = given.at_gap is not None, given.at_error is not None
    if all(at):
        raise CliError("--at-gap and --at-error exclude each other", USAGE)
    if given.thresholds is not None and not any(at):
        raise CliError("--thresholds saves one point; say which: --at-gap X or --at-error X", USAGE)
    write = None if given.output is None else ending(given.output, {".csv": _csv, ".json": _json, ".parquet": _parquet})
    for path in (given.output, given.thresholds):
        check_output(path, given.inputs)
    sketch, limits = sketch_of(given, console), _once(given.limit, "--limit")
    point = None
    try:
        found = gf.frontier(
            sketch,
            given.criterion,
            limits=limits,
            costs=(given.cost_fp, given.cost_fn),
            balanced=given.balanced,
            randomize=given.randomize,
        )
        if any(at):
            point = with_columns(found.at(gap=given.at_gap, error=given.at_error), given)
    except ValueError as error:
        if str(error).startswith(("no thresholds", "no mixture")):
            raise CliError(str(error), INFEASIBLE) from None
        raise
    if write is not None:
        write_atomically(given.output, write(found))
    if point is not None and given.thresholds is not None:
        point.save(given.thresholds)
    if point is not None:
        console.answer(json.loads(point.to_json()), lambda: str(point))
    else:
        console.answer(_points(found), lambda: _text(found))
    written = [path for path in (given.output, given.thresholds) if path is not None]
    if written:
        console.note(f"wrote {' and '.join(written)}")


def _header(found: gf.Frontier) -> list[str]:
    return ["gap", "error", *(f"threshold_{name}" for name in shown_names(found.groups))]


def _points(found: gf.Frontier) -> dict[str, Any]:
    return {
        "criterion": found.criterion,
        "randomized": found.randomized,
        "proven_to": found.proven_to,
        "groups": [group_name(name) for name in found.groups],
        "gap": found.gaps,
        "error": found.errors,
        "thresholds": found.thresholds,
    }


def _text(found: gf.Frontier, most: int = 12) -> str:
    n = len(found)
    shown = range(n) if n <= most else sorted({round(i * (n - 1) / (most - 1)) for i in range(most)})
    rows = [["gap", "error", *shown_names(found.groups)]]
    rows += [[_number(float(x)) for x in (found.gaps[i], found.errors[i], *found.thresholds[i])] for i in shown]
    lines = [str(found), "", *_table(rows)]
    if n > most:
        lines.append(f"shown are {len(rows) - 1} of {n} points; -o FILE writes all")
    return "\n".join(lines)


def _csv(found: gf.Frontier) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_header(found))
    for gap, error, thresholds in zip(found.gaps, found.errors, found.thresholds, strict=True):
        writer.writerow([repr(float(x)) for x in (gap, error, *thresholds)])
    return text.getvalue().encode()


def _json(found: gf.Frontier) -> bytes:
    return (json.dumps(plain(_points(found)), indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _parquet(found: gf.Frontier) -> bytes:
    if not _tables.has_pyarrow():
        raise pyarrow_missing("writing Parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [found.gaps, found.errors, *found.thresholds.T]
    table = pa.table(dict(zip(_header(found), (pa.array(column) for column in columns), strict=True)))
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()
