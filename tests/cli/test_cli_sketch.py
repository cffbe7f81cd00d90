"""A count that is interrupted, by whatever means, goes on to the bytes of one pass and never counts a row twice."""

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

import numpy as np
import pytest
from helpers.documents import changes

import gstar_fast as gf
from gstar_fast import datasets
from gstar_fast.__main__ import main
from gstar_fast._cli import count, resume
from gstar_fast._cli.errors import CliError
from gstar_fast._cli.tables import arrow, plain

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

COLUMNS = ["--score", "score", "--label", "label", "--group", "group"]
ROWS = 2_000
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(gf.__file__).parent.parent)}


@pytest.fixture
def here(here, monkeypatch, signals):
    for module in (arrow, plain):
        monkeypatch.setattr(module, "BLOCK_ROWS", 100)
    monkeypatch.setattr(plain, "TEXT_ROWS", 100)
    return here


@pytest.fixture(params=["csv", "parquet", "arrow", "npz"])
def files(request, here):
    """Two tables, and the bytes of their sketch."""
    table = datasets.paper_synthetic(rows=ROWS, seed=1)
    names = []
    for i, rows in enumerate((slice(0, 1_250), slice(1_250, ROWS))):
        columns = {"score": table.scores[rows], "label": table.labels[rows], "group": table.groups[rows]}
        name = f"{i}.{request.param}"
        if request.param == "csv":
            columns["score"] = columns["score"].astype(float)  # in full, since text has no float32
            lines = zip(*(column.astype(str) for column in columns.values()), strict=True)
            Path(name).write_text("score,label,group\n" + "".join(f"{','.join(line)}\n" for line in lines))
        elif request.param == "parquet":
            pq.write_table(pa.table(columns), name, row_group_size=333)
        elif request.param == "arrow":
            with pa.ipc.new_file(name, pa.table(columns).schema) as writer:
                writer.write_table(pa.table(columns), max_chunksize=333)
        else:
            np.savez(name, **columns)
        names.append(name)
    expected = gf.Sketch.from_rows(table.scores, table.labels, table.groups)
    return names, expected.to_bytes()


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


@pytest.mark.parametrize("blocks", [1, 5, 13, 14, 20])
def test_resumed_is_one_pass(files, monkeypatch, capsys, blocks):
    names, expected = files
    with monkeypatch.context() as patch:
        first = interrupt_after(patch, blocks)
        assert sketch(*names) == 130
    error = capsys.readouterr().err
    assert f"stopped; {sum(first):,} rows are counted and kept in s.gstar.partial" in error
    assert sum(first) < ROWS
    assert not Path("s.gstar").exists()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    command = shlex.split(error.split("to go on: ")[1])
    with monkeypatch.context() as patch:
        second = interrupt_after(patch, -1)
        assert main(command[1:]) == 0  # exactly what the message says
    assert sum(first) + sum(second) == ROWS
    assert Path("s.gstar").read_bytes() == expected
    assert not Path("s.gstar.partial").exists()


def test_many_interruptions_are_one_pass(files, monkeypatch, capsys):
    names, expected = files
    for _ in range(30):
        with monkeypatch.context() as patch:
            interrupt_after(patch, 2)
            if sketch(*names, extra=["--resume"]) == 0:
                break
    assert Path("s.gstar").read_bytes() == expected


def test_resume_without_a_partial_file_starts_from_scratch(files):
    names, expected = files
    assert sketch(*names, extra=["--resume", "-q"]) == 0
    assert Path("s.gstar").read_bytes() == expected


@pytest.fixture
def stopped(files, monkeypatch, capsys):
    """An interrupted count."""
    names, expected = files
    with monkeypatch.context() as patch:
        interrupt_after(patch, 15)
        assert sketch(*names) == 130
    capsys.readouterr()
    return names, expected


def test_without_resume_the_count_starts_over_with_a_note(stopped, capsys):
    names, expected = stopped
    assert sketch(*names) == 0
    assert "this begins anew (--resume would go on)" in capsys.readouterr().err
    assert Path("s.gstar").read_bytes() == expected
    assert not Path("s.gstar.partial").exists()


def test_an_unfinished_count_can_be_shown_and_taken_as_it_is(stopped, capsys):
    assert main(["show", "s.gstar.partial", "--json"]) == 0
    printed = capsys.readouterr()
    rows = json.loads(printed.out)["rows"]
    assert f"s.gstar.partial is unfinished: {rows:,} rows so far" in printed.err
    assert main(["solve", "s.gstar.partial"]) == 1
    assert "take it as it is: gstar-fast merge s.gstar.partial -o s.gstar" in capsys.readouterr().err
    assert main(["merge", "s.gstar.partial", "-o", "s.gstar"]) == 0
    assert gf.Sketch.load("s.gstar").n_rows == rows


@pytest.mark.parametrize("files", ["csv"], indirect=True)
@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (["--bins", "128"], "was begun with bins = 4096, now it is 128"),
        (["--nan", "skip"], "was begun with nan = 'raise', now it is 'skip'"),
        (["--positive", "1"], "was begun with positive = None, now it is '1'"),
        (["--range", "-1", "1"], "was begun with range = None"),
    ],
)
def test_resume_refuses_other_options(stopped, capsys, extra, words):
    names, _ = stopped
    before = Path("s.gstar.partial").read_bytes()
    assert sketch(*names, extra=["--resume", *extra]) == 1
    assert words in capsys.readouterr().err
    assert Path("s.gstar.partial").read_bytes() == before


@pytest.mark.parametrize("files", ["csv"], indirect=True)
def test_resume_refuses_files_that_changed_or_are_gone(stopped, capsys):
    names, _ = stopped
    assert sketch(names[1], extra=["--resume"]) == 1
    assert "has counted files that are not among the inputs now" in capsys.readouterr().err
    with Path(names[0]).open("a") as file:
        file.write("0.5,1,0\n")
    assert sketch(*names, extra=["--resume"]) == 1
    assert "0.csv has changed since its rows were counted" in capsys.readouterr().err


@pytest.mark.parametrize("files", ["parquet"], indirect=True)
def test_resume_takes_files_that_came_meanwhile_and_any_order(stopped):
    names, expected = stopped
    pq.write_table(pa.table({"score": [0.5], "label": [1], "group": [0]}), "new.parquet")
    assert sketch("new.parquet", *reversed(names), extra=["--resume", "-q"]) == 0
    assert gf.Sketch.load("s.gstar") == gf.Sketch.from_bytes(expected).update([0.5], [1], [0])


@pytest.mark.parametrize("files", ["csv"], indirect=True)
@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[: len(data) // 2],
        lambda _: b"[" * 100_000,
        lambda _: b"{}",
        lambda data: data.replace(b'"version": 2', b'"version": 3'),
        lambda data: data.replace(b'"rows": 1250', b'"rows": 1249'),
        lambda data: data.replace(b'"rows": 1250', b'"rows": 1251'),
        lambda data: data.replace(b'"rows": 1250', b'"rows": -1'),
        lambda data: data.replace(b'"rows": 1250', b'"rows": true'),
        lambda data: data.replace(b'"whole": true', b'"whole": false', 1),
        lambda data: data.replace(b'"whole": false', b'"whole": true', 1),
        lambda data: data.replace(b'"checksum"', b'"chequesum"'),
        lambda data: data.replace(b'"sketch": "i', b'"sketch": "A'),
        lambda _: b"\xff\xfe",
    ],
)
def test_a_damaged_record_is_refused(stopped, capsys, change):
    names, _ = stopped
    path = Path("s.gstar.partial")
    before = path.read_bytes()
    damaged = change(before)
    assert damaged != before
    path.write_bytes(damaged)
    assert sketch(*names, extra=["--resume"]) == 1
    error = capsys.readouterr().err
    assert "s.gstar.partial is not an unfinished count" in error
    assert "remove it and begin anew" in error
    assert not Path("s.gstar").exists()


@pytest.mark.parametrize("files", ["csv"], indirect=True)
def test_every_change_of_the_record_is_noticed(stopped):
    """Another number of rows would skip some or count them twice, and nothing else would show it."""
    path = Path("s.gstar.partial")
    document = json.loads(path.read_text())
    for changed in changes(document):
        path.write_text(json.dumps(changed))
        with pytest.raises(CliError, match="is not an unfinished count"):
            resume.load(path)
    path.write_text(json.dumps({**document, "files": [{**file, "rows": 7} for file in document["files"]]}))
    with pytest.raises(CliError, match=r"the checksum is .* changed or damaged; remove it and begin anew"):
        resume.load(path)


@pytest.mark.parametrize("files", ["csv"], indirect=True)
def test_a_record_without_a_checksum_is_of_an_older_version(stopped, capsys):
    names, _ = stopped
    path = Path("s.gstar.partial")
    document = json.loads(path.read_text())
    del document["checksum"]
    path.write_text(json.dumps({**document, "version": 1}))
    assert sketch(*names, extra=["--resume"]) == 1
    assert "version 1; this release reads 2; remove it and begin anew" in capsys.readouterr().err


def test_a_file_name_that_is_not_unicode_is_kept_in_the_record(tmp_path):
    odd = b"\xff.csv".decode("utf-8", "surrogateescape")  # as Python names such a file
    before = resume.Unfinished({"score": odd}, [{"path": odd, "rows": 3, "whole": True}], gf.Sketch())
    before.save(tmp_path / "s.partial")
    assert resume.load(tmp_path / "s.partial") == before


@pytest.mark.parametrize("files", ["csv", "parquet"], indirect=True)
def test_append_adds_to_what_is_there(files, capsys):
    names, expected = files
    assert sketch(names[0], extra=["--append"]) == 1
    assert "--append adds to s.gstar, which does not exist" in capsys.readouterr().err
    assert sketch(names[0], extra=["-q"]) == 0
    assert sketch(names[1], extra=["-q", "--append"]) == 0
    assert Path("s.gstar").read_bytes() == expected


def test_append_says_how_many_rows_were_there_and_how_many_came(here, capsys):
    """It cannot know that they are the same rows, so it must not hide that they are more."""
    Path("t.csv").write_text("score,label,group\n0.5,1,0\n0.25,0,0\n")
    assert sketch("t.csv", extra=["-q"]) == 0
    assert sketch("t.csv", extra=["--append"]) == 0
    assert "2 rows of 1 table counted" in (said := capsys.readouterr().out)
    assert "added to 2 rows that were there; nothing tells whether some are the same rows" in said
    assert sketch("t.csv", extra=["--append", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["rows_before"], facts["rows_added"], facts["rows"]) == (4, 2, 6)


def test_append_takes_the_bins_of_the_sketch_and_refuses_early(here, capsys):
    Path("t.csv").write_text("score,label,group\n0.5,1,0\n0.25,0,0\n")
    assert sketch("t.csv", extra=["--bins", "64", "-q"]) == 0
    assert sketch("t.csv", extra=["--append", "-q"]) == 0
    assert (gf.Sketch.load("s.gstar").bins, gf.Sketch.load("s.gstar").n_rows) == (64, 4)
    for extra in (["--bins", "128"], ["--range", "0", "1"]):
        assert sketch("t.csv", extra=["--append", *extra]) == 1
        assert "cannot add to s.gstar" in capsys.readouterr().err
    assert gf.Sketch.load("s.gstar").n_rows == 4


@pytest.mark.parametrize("files", ["csv"], indirect=True)
def test_an_append_that_was_finished_is_not_added_again(files, monkeypatch, capsys):
    """Killed between the save of the sketch and the end of the unfinished count: the sum may not be made twice."""
    names, expected = files
    assert sketch(names[0], extra=["-q"]) == 0
    with monkeypatch.context() as patch:
        interrupt_after(patch, 3)
        assert sketch(names[1], extra=["--append"]) == 130
    left = Path("s.gstar.partial").read_bytes()
    assert sketch(names[1], extra=["--append", "--resume"]) == 0
    assert Path("s.gstar").read_bytes() == expected
    Path("s.gstar.partial").write_bytes(left)
    assert sketch(names[1], extra=["--append", "--resume"]) == 1
    assert "was begun with append = " in capsys.readouterr().err
    assert Path("s.gstar").read_bytes() == expected


@pytest.mark.parametrize("files", ["csv"], indirect=True)
def test_a_file_that_changes_while_it_is_counted_is_told(files, monkeypatch, capsys):
    names, _ = files
    add = count.Tally.add

    def touching(self, *block):
        os.utime(names[1], (1, 1))
        add(self, *block)

    with monkeypatch.context() as patch:
        patch.setattr(count.Tally, "add", touching)
        assert sketch(*names) == 0
        assert "1.csv has changed while it was counted" in capsys.readouterr().err
        os.utime(names[1])
        interrupt_after(patch, 15)
        assert sketch(*names) == 130
    os.utime(names[1])
    assert sketch(*names, extra=["--resume"]) == 1
    assert "1.csv has changed since its rows were counted" in capsys.readouterr().err


@pytest.mark.parametrize("files", ["csv"], indirect=True)
def test_an_error_leaves_the_old_sketch(files, capsys):
    names, _ = files
    Path("s.gstar").write_bytes(b"old")
    Path("bad.csv").write_text("score,label,group\n0.5,1,0\nhigh,1,0\n")
    assert sketch(*names, "bad.csv") == 1
    assert "bad.csv: column 'score' must hold numbers, found 'high'" in capsys.readouterr().err
    assert Path("s.gstar").read_bytes() == b"old"


@pytest.mark.parametrize("files", ["csv"], indirect=True)
def test_solve_of_tables_says_that_nothing_is_kept(files, monkeypatch, capsys):
    names, _ = files
    with monkeypatch.context() as patch:
        interrupt_after(patch, 3)
        assert main(["solve", *names, *COLUMNS, "-o", "t.json"]) == 130
    assert "nothing is kept; count with `gstar-fast sketch` first" in capsys.readouterr().err
    assert not Path("t.json").exists()


@pytest.mark.parametrize("files", ["csv"], indirect=True)
def test_progress_says_how_far_it_is(files, capsys, monkeypatch):
    names, _ = files
    monkeypatch.setattr("gstar_fast._cli.output.Progress.update", always(_progress_update()))
    assert sketch(*names, extra=["--progress"]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("[")]
    assert len(lines) == 21
    assert "[####################] 100%  2,000 rows, " in lines[-1]
    assert "million a second" in lines[-1]
    assert sketch(*names) == 0  # no terminal, no progress
    assert capsys.readouterr().err == ""


def _progress_update():
    from gstar_fast._cli.output import Progress

    return Progress.update


def always(update):
    """Draw at every block, however short ago the last one was."""

    def eager(self, rows, share):
        self._every = 0.0
        update(self, rows, share)

    return eager


# ------------------------------------------------------------------------------------------- processes, real and killed

SLOW = """
import sys, time
from gstar_fast._cli import count
from gstar_fast._cli.tables import plain
from gstar_fast.__main__ import main
from gstar_fast._cli.errors import CliError
plain.TEXT_ROWS = 100
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


@pytest.mark.parametrize("files", ["csv"], indirect=True)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_keeps_what_is_counted(files, number, code):
    names, expected = files
    with slowly(names) as process:
        wait_for_blocks(process, 6)
        process.send_signal(number)
        _, error = process.communicate(timeout=30)
    assert process.returncode == code
    assert "are counted and kept in s.gstar.partial\nto go on: gstar-fast sketch --resume 0.csv 1.csv" in error
    assert sketch(*names, extra=["--resume", "-q"]) == 0
    assert Path("s.gstar").read_bytes() == expected


@pytest.mark.parametrize("files", ["csv"], indirect=True)
def test_a_kill_leaves_the_last_checkpoint(files):
    names, expected = files
    Path("s.gstar").write_bytes(b"old")
    with slowly(names, "--checkpoint", "0") as process:
        wait_for_blocks(process, 8)
        process.kill()
        process.communicate(timeout=30)
    assert process.returncode == -signal.SIGKILL
    assert Path("s.gstar").read_bytes() == b"old"
    assert {path.name for path in Path().iterdir()} <= {*names, "s.gstar", "s.gstar.partial", ".s.gstar.partial.saving"}
    assert json.loads(Path("s.gstar.partial").read_text())["files"][0]["rows"] >= 600
    assert sketch(*names, extra=["--resume", "-q"]) == 0
    assert Path("s.gstar").read_bytes() == expected


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
        assert process.wait(timeout=30) == 130
        process.stdin.close()
    assert "a pipe cannot be resumed" in error
    command = shlex.split(error.split("as it is: ")[1])
    assert main(command[1:]) == 0
    assert gf.Sketch.load("s.gstar").n_rows >= 300


def test_standard_input_is_not_resumed(here, monkeypatch, capsys):
    Path("s.gstar.partial").write_text("{}")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"score,label,group\n1,1,1\n"))))
    assert sketch("-", extra=["--resume"]) == 1
    assert "a pipe cannot be resumed" in capsys.readouterr().err


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


@pytest.mark.parametrize(
    "module", ["gstar_fast._cli.main", "gstar_fast._cli.parser", "numpy.linalg", "gstar_fast._sketch.sketch"]
)
def test_ctrl_c_while_it_starts_is_one_line(here, module):
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
sys.exit(main(["show", "absent.gstar"]))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert (run.returncode, run.stderr) == (130, "gstar-fast: stopped\n")


def test_the_second_ctrl_c_does_not_wait(here):
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


def test_a_run_that_ignores_signals_tests_them_all_the_same():
    """In the background and under nohup Ctrl-C and SIGHUP are ignored, by what is started there too."""
    tests = Path(__file__).parent
    chosen = [
        "test_cli_sketch.py::test_a_signal_keeps_what_is_counted",
        "test_cli_sketch.py::test_the_second_ctrl_c_does_not_wait",
        "test_cli_sketch.py::test_ctrl_c_while_it_starts_is_one_line[gstar_fast._cli.main]",
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
            said, _ = run.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)  # with all it started, which hold its output open
            raise
    assert run.returncode == 0, said
    assert "7 passed" in said
