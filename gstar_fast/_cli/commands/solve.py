"""The commands `solve` and `frontier`."""

from __future__ import annotations

import argparse
import csv
import dataclasses
import io
import json
import shlex
import sys
from datetime import datetime
from typing import Any

import gstar_fast as gf
from gstar_fast._base.files import write_atomically
from gstar_fast._base.json import dumps
from gstar_fast._base.names import joined_columns
from gstar_fast._base.thresholds import seal
from gstar_fast._cli.errors import DONE, INFEASIBLE, USAGE, CliError, pyarrow_missing
from gstar_fast._cli.output import Console, distinct, group_name, plain, printable
from gstar_fast._cli.read import check_outputs, ending, sketch_of, write_bytes
from gstar_fast._cli.tables import inputs
from gstar_fast._solver.result import _number, _table


def solve(given: argparse.Namespace, console: Console) -> int:
    """Find thresholds, print the verdict, save them."""
    check_outputs({"-o": given.output, "--report": given.report}, given.inputs)
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
        min_rows=given.min_rows,
        max_seconds=given.max_seconds,
    )
    result = with_columns(result, given)
    text = _saved(result, given.expires)
    if not result.meets_limits:
        _answer(result, text, given.output, console)
        outputs = " and ".join(_files(given.output, given.report))
        unwritten = f"; {outputs} not written" if outputs else ""
        sys.stdout.flush()
        cannot = "cannot be met" if result.verdict == "infeasible" else "are not met"
        said = f"the limits {cannot}: {result.message.split('; shown')[0]}{unwritten}"
        print(f"gstar-fast: {printable(said)}", file=sys.stderr)
        return INFEASIBLE
    # files first: whoever reads what is printed may have seen enough before its end
    if given.output not in (None, "-"):
        write_atomically(given.output, text.encode())
    if given.report is not None:
        command = shlex.join(["gstar-fast", *given.argv])
        gf.report(result, sketch, title=given.title, command=command).save(given.report)
    _answer(result, text, given.output, console)
    if written := _files(given.output, given.report):
        console.note(f"wrote {' and '.join(written)}")
    return DONE


def _saved(result: gf.Result, expires: datetime | None) -> str:
    """The result as it is saved, with the date from which on it is refused."""
    if expires is None:
        return result.to_json()
    return dumps(seal(json.loads(result.to_json()), result._decider(expires=expires)._thresholds))


def _answer(result: gf.Result, text: str, output: str | None, console: Console) -> None:
    """Print the verdict; where standard output is to have the thresholds themselves, beside it."""
    if output != "-":
        console.answer(json.loads(text), lambda: str(result))
        return
    if result.meets_limits:  # else thresholds nobody asked for, which the next program would take
        write_bytes(text.encode())
    if not (console.json or console.quiet):
        print(printable(str(result)), file=sys.stderr)


def _files(*outputs: str | None) -> list[str]:
    return [path for path in outputs if path is not None and path != "-"]


def _once(pairs: list[tuple[str, float]], option: str) -> dict[str, float]:
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise CliError(f"{option} {twice} is given twice; give it once", USAGE)
    return dict(pairs)


def with_columns(result: gf.Result, given: argparse.Namespace) -> gf.Result:
    """The result with the names of the columns it is about, so that `apply` need not be told again."""
    group = joined_columns(given.group) if given.group else None
    return dataclasses.replace(result, score_column=given.score, group_column=group)


# ------------------------------------------------------------------------------------------------------------- frontier


def frontier(given: argparse.Namespace, console: Console) -> None:
    """Print, and save, every point nobody dominates, or one of them."""
    at = given.at_gap is not None, given.at_error is not None
    if all(at):
        raise CliError("--at-gap and --at-error exclude each other", USAGE)
    if given.thresholds is not None and not any(at):
        raise CliError("--thresholds saves one point; say which: --at-gap X or --at-error X", USAGE)
    write = None if given.output is None else ending(given.output, {".csv": _csv, ".json": _json, ".parquet": _parquet})
    check_outputs({"-o": given.output, "--thresholds": given.thresholds}, given.inputs)
    sketch, limits = sketch_of(given, console), _once(given.limit, "--limit")
    found = gf.frontier(
        sketch,
        given.criterion,
        limits=limits,
        costs=(given.cost_fp, given.cost_fn),
        balanced=given.balanced,
        randomize=given.randomize,
    )
    point = with_columns(found.at(gap=given.at_gap, error=given.at_error), given) if any(at) else None
    if write is not None:
        write_atomically(given.output, write(found))
    if point is not None and given.thresholds not in (None, "-"):
        point.save(given.thresholds)
    if point is not None:
        _answer(point, point.to_json(), given.thresholds, console)
    else:
        console.answer(_points(found), lambda: _text(found))
    if written := _files(given.output, given.thresholds):
        console.note(f"wrote {' and '.join(written)}")


def _header(found: gf.Frontier) -> list[str]:
    return ["gap", "error", *(f"threshold_{name}" for name in distinct(found.groups))]


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
    rows = [["gap", "error", *distinct(found.groups)]]
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
    if not inputs.has_pyarrow():
        raise pyarrow_missing("writing Parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [found.gaps, found.errors, *found.thresholds.T]
    table = pa.table(dict(zip(_header(found), (pa.array(column) for column in columns), strict=True)))
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()
