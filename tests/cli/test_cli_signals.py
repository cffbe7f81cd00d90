"""A count in a process of its own that is stopped or killed keeps what it has counted; Ctrl-C is always one line."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers.commands import ENVIRONMENT
from helpers.interrupted import COLUMNS, SLOW, sketch, slowly, wait_for_blocks

import gstar_fast as gf
from gstar_fast.__main__ import main
from gstar_fast._cli import count

pytest.importorskip("pyarrow")


@pytest.mark.parametrize("files", ["csv"], indirect=True)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_keeps_what_is_counted(files, number, code):
    names, expected = files
    with slowly(names) as process:
        wait_for_blocks(process, 6)
        process.send_signal(number)
        _, error = process.communicate(timeout=120)
    assert process.returncode == code
    assert "are counted and kept in s.gstar.partial\nto continue: gstar-fast sketch --resume 0.csv 1.csv" in error
    assert sketch(*names, extra=["--resume", "-q"]) == 0
    assert Path("s.gstar").read_bytes() == expected


@pytest.mark.parametrize("files", ["csv"], indirect=True)
def test_a_kill_leaves_the_last_checkpoint(files):
    names, expected = files
    Path("s.gstar").write_bytes(b"old")
    with slowly(names, "--checkpoint", "0") as process:
        wait_for_blocks(process, 8)
        process.kill()
        process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    assert Path("s.gstar").read_bytes() == b"old"
    assert {path.name for path in Path().iterdir()} <= {*names, "s.gstar", "s.gstar.partial", ".s.gstar.partial.saving"}
    assert json.loads(Path("s.gstar.partial").read_text())["files"][0]["rows"] >= 600
    assert sketch(*names, extra=["--resume", "-q"]) == 0
    assert Path("s.gstar").read_bytes() == expected


@pytest.mark.slow
@pytest.mark.parametrize("files", ["csv"], indirect=True)
def test_a_pipe_that_waits_can_be_interrupted(files):
    names, _ = files
    with slowly(["-"], stdin=subprocess.PIPE) as process:
        process.stdin.write(Path(names[0]).read_text()[:20_000])  # ... and then nothing, and no end
        process.stdin.flush()
        wait_for_blocks(process, 3)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        error = process.stderr.read()
        assert process.wait(timeout=120) == 130
        process.stdin.close()
    assert "a pipe cannot be resumed" in error
    command = shlex.split(error.split("as it is: ")[1])
    assert main(command[1:]) == 0
    assert gf.Sketch.load("s.gstar").n_rows >= 300


def test_standard_input_is_not_resumed(small_blocks, monkeypatch, capsys):
    Path("s.gstar.partial").write_text("{}")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"score,label,group\n1,1,1\n"))))
    assert sketch("-", extra=["--resume"]) == 1
    assert "--resume does not work with a pipe" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("files", ["csv"], indirect=True)
def test_a_terminal_sees_a_bar(files):
    names, expected = files
    terminal, other = pty.openpty()
    words = [
        sys.executable,
        "-c",
        SLOW.replace('print("block", flush=True)', ""),
        "sketch",
        *names,
        "-o",
        "s.gstar",
        *COLUMNS,
    ]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=other, env=ENVIRONMENT) as process:
        os.close(other)
        drawn = b""
        with contextlib.suppress(OSError):  # how the end of a terminal is told
            while piece := os.read(terminal, 4096):
                drawn += piece
    os.close(terminal)
    assert process.returncode == 0
    assert re.search(rb"\r\[#+\.+\] +\d+%  [\d,]+ rows, [\d.]+ million a second", drawn)
    assert drawn.rstrip(b" ").endswith(b"\r")  # the line is taken away again
    assert Path("s.gstar").read_bytes() == expected


@pytest.mark.slow
def test_a_thread_of_pyarrow_does_not_abort_the_process(small_blocks):
    """It may still read through Python when the process ends, which aborted two of three such runs."""
    Path("t.csv").write_text("score,label,group\n0.5,1,1\n1_0,0,1\n")
    words = [sys.executable, "-m", "gstar_fast", "sketch", "t.csv", "-o", "s.gstar", *COLUMNS]
    for _ in range(4):
        run = subprocess.run(words, capture_output=True, text=True, check=False, env=ENVIRONMENT)
        assert run.returncode == 1
        assert run.stderr.endswith("found '1_0' at row 1 (counted from 0)\n")


@pytest.mark.parametrize(
    "module", ["gstar_fast._cli.main", "gstar_fast._cli.parser", "numpy.linalg", "gstar_fast._sketch.sketch"]
)
def test_ctrl_c_while_it_starts_is_one_line(small_blocks, module):
    """Whatever is being imported: NumPy itself would call its installation broken."""
    code = f"""
import os, signal, sys
from gstar_fast.__main__ import main
from gstar_fast._cli.errors import CliError
class Interrupts:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupts())
sys.exit(main(["show", "empty.gstar"]))
"""
    Path("empty.gstar").write_bytes(b"")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert (run.returncode, run.stderr) == (130, "gstar-fast: stopped\n")


def test_the_second_ctrl_c_does_not_wait(small_blocks):
    with count.Stop() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.signal == signal.SIGINT
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


IGNORANT = """
import signal, sys
import pytest
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
code = pytest.main(sys.argv[1:])
assert signal.getsignal(signal.SIGINT) is signal.getsignal(signal.SIGHUP) is signal.SIG_IGN, "the run hears them now"
sys.exit(code)
"""


@pytest.mark.slow
def test_a_run_that_ignores_signals_tests_them_all_the_same():
    """In the background and under nohup Ctrl-C and SIGHUP are ignored, by what is started there too."""
    tests = Path(__file__).parent
    chosen = [
        "test_cli_signals.py::test_a_signal_keeps_what_is_counted",
        "test_cli_signals.py::test_the_second_ctrl_c_does_not_wait",
        "test_cli_signals.py::test_ctrl_c_while_it_starts_is_one_line[gstar_fast._cli.main]",
        "test_cli_apply.py::test_interrupted_it_writes_nothing",
        "test_cli_outputs.py::test_a_file_that_is_gone_after_it_was_counted_costs_no_counts",
    ]
    words = ["-q", "-p", "no:cacheprovider", *chosen]
    with subprocess.Popen(
        [sys.executable, "-c", IGNORANT, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=tests,
        env=ENVIRONMENT,
        start_new_session=True,
    ) as run:
        try:
            said, _ = run.communicate(timeout=600)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)  # with all it started, which hold its output open
            raise
    assert run.returncode == 0, said
    assert "7 passed" in said
