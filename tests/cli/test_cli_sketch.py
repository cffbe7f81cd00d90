"""A count that is interrupted, or added to, goes on to the bytes of one pass and never counts a row twice."""

from __future__ import annotations

import json
import os
import shlex
import signal
from pathlib import Path

import pytest
from helpers.documents import changes
from helpers.interrupted import COLUMNS, ROWS, interrupt_after, sketch

import gstar_fast as gf
from gstar_fast.__main__ import main
from gstar_fast._cli import count, resume
from gstar_fast._cli.errors import CliError

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402


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

    command = shlex.split(error.split("to continue: ")[1])
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
    assert "this count starts over (--resume continues it)" in capsys.readouterr().err
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
        (["--bins", "128"], "was started with bins = 4096, not 128"),
        (["--nan", "skip"], "was started with nan = 'raise', not 'skip'"),
        (["--positive", "1"], "was started with positive = None, not '1'"),
        (["--range", "-1", "1"], "was started with range = None"),
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
        lambda data: data.replace(b'"version": 1', b'"version": 2'),
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
    assert "remove it and start over" in error
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
    with pytest.raises(CliError, match=r"the checksum is .* changed or damaged; remove it and start over"):
        resume.load(path)


@pytest.mark.parametrize("files", ["csv"], indirect=True)
def test_a_record_without_a_checksum_is_not_resumed(stopped, capsys):
    names, _ = stopped
    path = Path("s.gstar.partial")
    document = json.loads(path.read_text())
    del document["checksum"]
    path.write_text(json.dumps(document))
    assert sketch(*names, extra=["--resume"]) == 1
    assert "the checksum is missing: it was changed or damaged; remove it and start over" in capsys.readouterr().err


def test_a_file_name_that_is_not_unicode_is_kept_in_the_record(tmp_path):
    odd = b"\xff.csv".decode("utf-8", "surrogateescape")  # as Python names such a file
    before = resume.Record({"score": odd}, [{"path": odd, "rows": 3, "whole": True}], gf.Sketch())
    before.save(tmp_path / "s.partial")
    assert resume.load(tmp_path / "s.partial") == before


@pytest.mark.parametrize("files", ["csv", "parquet"], indirect=True)
def test_append_adds_to_what_is_there(files, capsys):
    names, expected = files
    assert sketch(names[0], extra=["--append"]) == 1
    assert "s.gstar does not exist. Drop --append to create it." in capsys.readouterr().err
    assert sketch(names[0], extra=["-q"]) == 0
    assert sketch(names[1], extra=["-q", "--append"]) == 0
    assert Path("s.gstar").read_bytes() == expected


def test_append_says_how_many_rows_were_there_and_how_many_came(small_blocks, capsys):
    """It cannot know that they are the same rows, so it must not hide that they are more."""
    Path("t.csv").write_text("score,label,group\n0.5,1,0\n0.25,0,0\n")
    assert sketch("t.csv", extra=["-q"]) == 0
    assert sketch("t.csv", extra=["--append"]) == 0
    assert "2 rows of 1 table counted" in (said := capsys.readouterr().out)
    assert "Added to 2 existing rows. Duplicates are not detected." in said
    assert sketch("t.csv", extra=["--append", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["rows_before"], facts["rows_added"], facts["rows"]) == (4, 2, 6)


def test_append_takes_the_bins_of_the_sketch_and_refuses_early(small_blocks, capsys):
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
    assert "was started with append = " in capsys.readouterr().err
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
    assert "nothing is kept; `gstar-fast sketch` keeps what it has counted" in capsys.readouterr().err
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


def test_append_gives_a_note_once(small_blocks, capsys):
    rows = "".join(f"{i / 400},{i % 2},0\n" for i in range(1, 400))
    Path("t.csv").write_text("score,label,group\n" + rows)
    Path("u.csv").write_text("score,label,group\n" + "-999,0,0\n" * 20 + rows)
    assert sketch("t.csv", extra=["-q"]) == 0
    assert sketch("u.csv", extra=["--append"]) == 0
    assert capsys.readouterr().err.count("--missing -999") == 1
