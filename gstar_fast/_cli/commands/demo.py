"""The command `demo`: all steps on data it makes itself, each with the command to type."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from gstar_fast._base.files import write_atomically
from gstar_fast._cli.errors import DONE, CliError
from gstar_fast._cli.output import Console
from gstar_fast._cli.tables import inputs
from gstar_fast._cli.tables.write import table_bytes
from gstar_fast.datasets import ScoreTable, paper_synthetic_batches

PARTS = 4
GROUPS = ("a", "b")


def demo(given: argparse.Namespace, console: Console) -> int:
    """Make tables, count, solve, audit and decide, and say where the report is."""
    from gstar_fast._cli.main import run

    if given.rows < 1000:
        raise CliError(f"--rows must be at least 1000, got {given.rows}")
    folder = Path(given.folder)
    kind = "parquet" if inputs.has_pyarrow() else "csv"
    files = {name: str(folder / name) for name in ("scores.gstar", "thresholds.json", "report.html", f"decided.{kind}")}
    parts = [f"part-{i}.{kind}" for i in range(PARTS)]
    if folder.exists() and not folder.is_dir():
        raise CliError(f"{folder} is a file; name another folder with --folder")
    for path in folder.iterdir() if folder.exists() else ():
        if path.name not in {*files, "scores", f"new.{kind}"}:
            raise CliError(f"{folder} has other files in it ({path.name}); name another folder with --folder")
    (folder / "scores").mkdir(parents=True, exist_ok=True)
    tables = paper_synthetic_batches(given.rows, batch=-(-given.rows // PARTS), seed=0)
    for part, table in zip(parts, tables, strict=False):
        _write(folder / "scores" / part, table)
    new = str(folder / f"new.{kind}")
    _write(Path(new), next(iter(paper_synthetic_batches(given.rows // PARTS, batch=given.rows, seed=1))))
    columns = ["--label", "label", "--group", "group"]
    sketch, thresholds, page, decided = files.values()
    counting = ["sketch", str(folder / "scores"), "-o", sketch, "--score", "score", *columns]
    solving = ["solve", sketch, "--limit", "equalized_odds=0.02", "-o", thresholds, "--report", page]
    steps = {
        "Count the tables of a folder, once:": counting,
        "Find thresholds with tpr and fpr gaps of at most 0.02:": solving,
        "Decide new rows by them:": ["apply", new, "--thresholds", thresholds, "-o", decided],
        "See what these decisions do to each group:": ["audit", decided, "--decision", "decision", *columns],
    }
    quiet = ["--quiet"] * (console.quiet or console.json)
    for text, words in steps.items():
        if not quiet:
            print(f"{text}\n$ gstar-fast {shlex.join(words)}")
            sys.stdout.flush()
        code = run([*words, *quiet])
        if code != DONE:
            return code
        if not quiet:
            print()
    console.answer({"folder": str(folder), **files}, f"The report to read: {page}")
    return DONE


def _write(path: Path, table: ScoreTable) -> None:
    groups = [GROUPS[code] for code in table.groups.tolist()]
    columns = {"score": table.scores, "label": table.labels, "group": groups}
    write_atomically(path, table_bytes(path.suffix.removeprefix("."), columns, len(groups)))
