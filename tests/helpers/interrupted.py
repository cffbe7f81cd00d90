"""Counts of many small blocks, to be interrupted: by a signal to this process, or to one that counts slowly."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from gstar_fast.__main__ import main
from gstar_fast._cli import count
from helpers.commands import ENVIRONMENT

COLUMNS = ["--score", "score", "--label", "label", "--group", "group"]
ROWS = 2_000

SLOW = """
import sys, time
from gstar_fast._cli import count
from gstar_fast._cli.tables import csv_file
from gstar_fast.__main__ import main
from gstar_fast._cli.errors import CliError
csv_file.TEXT_ROWS = 100
add = count.Tally.add
def slow(self, *block):
    add(self, *block)
    print("block", flush=True)
    time.sleep(0.02)
count.Tally.add = slow
import gstar_fast._cli.tables.inputs as tables
tables.has_pyarrow = lambda: False
sys.exit(main(sys.argv[1:]))
"""


def interrupt_after(monkeypatch, blocks, number=signal.SIGINT):
    """Send ourselves a signal while the given block is being counted; rows that were counted are kept in a list."""
    rows = []
    add = count.Tally.add

    def counting(self, source, block, *rest):
        if len(rows) + 1 == blocks:
            os.kill(os.getpid(), number)
        add(self, source, block, *rest)
        rows.append(block.rows)

    monkeypatch.setattr(count.Tally, "add", counting)
    return rows


def sketch(*names, extra=()):
    return main(["sketch", *names, "-o", "s.gstar", *COLUMNS, *extra])


def slowly(names, *extra, **options):
    words = ["sketch", *names, "-o", "s.gstar", *COLUMNS, *extra]
    return subprocess.Popen(
        [sys.executable, "-c", SLOW, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        **options,
    )


def wait_for_blocks(process, blocks):
    for _ in range(blocks):
        assert process.stdout.readline() == "block\n"
