"""The command `merge`."""

from __future__ import annotations

import argparse

from gstar_fast._base.text import counted
from gstar_fast._cli.commands.show import facts
from gstar_fast._cli.output import Console, check_output, write_bytes
from gstar_fast._cli.read import merged, note_alike, note_skipped
from gstar_fast._cli.tables.inputs import Skipped, find_sketches


def merge(given: argparse.Namespace, console: Console) -> None:
    """Add sketches up."""
    check_output(given.output)
    skipped: Skipped = {}
    paths = find_sketches(given.inputs, given.output, skipped)
    passed = note_skipped(skipped, console)
    total = merged(paths, unfinished=console)
    note_alike(total, console)
    if given.output == "-":
        write_bytes(total.to_bytes())
        return
    total.save(given.output)
    console.answer(
        {"output": given.output, "files": len(paths), "passed_over": passed, **facts(total)},
        lambda: f"{given.output}: {counted(len(paths), 'sketch', 'sketches')} merged\n{total}",
    )
