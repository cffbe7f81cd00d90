"""The command line as tests run it: in this process, and in processes of its own."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import gstar_fast as gf
from gstar_fast.__main__ import main

# the same package in other processes, wherever they start
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(gf.__file__).parent.parent)}

# of the table that the fixture `scores` writes
COLUMNS = ["--score", "p", "--label", "y", "--group", "sex"]


def fails(capsys, code, *argv):
    """Run a command that must fail; what it printed on standard error. Nothing may be on standard output."""
    capsys.readouterr()
    assert main(list(argv)) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("gstar-fast: ")
    assert len(printed.err.splitlines()) <= 2
    return printed.err


def completed(script, *words):
    """What bash offers for the last word, by a script that `completion bash` printed."""
    line = shlex.join(words).removesuffix("''")
    program = f'gstar-fast() {{ {shlex.quote(sys.executable)} -m gstar_fast "$@"; }}'
    asked = f"COMP_LINE={shlex.quote(line)} COMP_POINT={len(line)} COMP_TYPE=9"
    code = f'{script}\n{program}\n{asked}; _python_argcomplete gstar-fast; printf "%s\\n" "${{COMPREPLY[@]}}"'
    run = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    assert run.stderr == ""
    return run.stdout.split()
