"""Names of inputs: folders and patterns stand for their tables, and every skipped file is named."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from helpers.table_files import COLUMNS, count, said, write

import gstar_fast as gf
from gstar_fast.__main__ import main


def test_folders_and_patterns_stand_for_their_tables(here, table, expected):
    Path("in/deep").mkdir(parents=True)
    for i, name in enumerate(["in/b.parquet", "in/a.csv", "in/deep/c.feather"]):
        write(table.slice(1_000 * i, 1_000), name)
    Path("in/notes.txt").write_text("no table")
    Path("in/.hidden.csv").write_text("no,table")
    Path("in/_SUCCESS.csv").write_text("no,table")
    assert count("in") == expected
    assert count("in/*.parquet", "in/[a-z]*.csv", "in/**/*.feather") == expected


@pytest.fixture
def folder(here, table):
    """A folder with one table, and much besides."""
    Path("in/deep").mkdir(parents=True)
    write(table, "in/a.csv")
    for name in ("b.csv.xz", "notes.txt", "deep/c.jsonl", "_old.csv", "_SUCCESS", ".a.csv.crc", ".DS_Store"):
        Path("in", name).write_text("p,y,g\n")
    Path("in/_temporary").mkdir()
    Path("in/_temporary/d.csv").write_text("p,y,g\n")
    Path("in/gone.csv").symlink_to("nowhere.csv")
    Path("elsewhere").mkdir()
    write(table, "elsewhere/e.csv")
    Path("in/link").symlink_to(Path("elsewhere").resolve())
    return [
        *("in/_old.csv", "in/_temporary/d.csv", "in/b.csv.xz", "in/deep/c.jsonl", "in/gone.csv", "in/link"),
        "in/notes.txt",
    ]


def test_every_file_that_is_passed_over_is_named_with_the_reason(folder, expected, capsys):
    """Markers of other programs are none of the user's business; all that could be rows is."""
    gf.Decider(dict.fromkeys(expected.groups, 0.5), score_column="p", group_column="g").save("t.json")
    for words in (
        ["sketch", "in", "-o", "s.gstar", *COLUMNS],
        ["apply", "in", "--thresholds", "t.json", "-o", "out.csv"],
        ["solve", "in", *COLUMNS],
        ["audit", "in", "--thresholds", "t.json", "--label", "y"],
    ):
        capsys.readouterr()
        assert main(words) == 0
        error = capsys.readouterr().err
        endings = ".csv, .tsv, .parquet, .pq, .arrow, .arrows, .feather, .ipc (CSV also with .gz, .bz2, .zst, .lz4)"
        files = "in/b.csv.xz, in/deep/c.jsonl, in/notes.txt"
        assert f"note: skipped, since the ending is not one of {endings}: {files}\n" in error
        assert "since the name starts with . or _: in/_old.csv, in/_temporary/d.csv\n" in error
        assert (
            "links to folders, broken links and pipes are read only if named themselves: in/gone.csv, in/link\n"
            in error
        )
        assert not any(word in error for word in ("SUCCESS", "crc", "DS_Store"))
    assert gf.Sketch.load("s.gstar") == expected


@pytest.mark.slow
def test_json_has_all_that_was_passed_over_and_quiet_says_nothing(folder, capsys):
    gf.Decider({"a": 0.5}, unknown=0.5, score_column="p", group_column="g").save("t.json")
    for words in (
        ["sketch", "in", "-o", "s.gstar", *COLUMNS],
        ["apply", "in", "--thresholds", "t.json", "-o", "o.csv"],
    ):
        capsys.readouterr()
        assert main([*words, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["passed_over"] == folder
        assert main([*words, "--quiet"]) == 0
        assert capsys.readouterr() == ("", "")


def test_a_note_names_the_first_of_many_files(here, capsys):
    Path("in").mkdir()
    Path("in/a.csv").write_text("p,y,g\n1,1,a\n")
    for i in range(100):
        Path(f"in/{i:03}.csv.xz").write_text("")
    assert main(["sketch", "in", "-o", "s.gstar", *COLUMNS]) == 0
    assert "in/008.csv.xz, in/009.csv.xz, ... (100 in all)\n" in capsys.readouterr().err
    Path("in/a.csv").unlink()
    error = said(capsys, "sketch", "in", "-o", "s.gstar", *COLUMNS)
    assert "in has no tables in it; looked for .csv" in error
    assert "; it has in/000.csv.xz, " in error


def test_a_folder_that_a_pattern_names_is_not_forgotten(here, table, capsys):
    Path("in/deep").mkdir(parents=True)
    write(table.slice(0, 10), "in/a.csv")
    write(table.slice(10, 10), "in/deep/b.csv")
    assert main(["sketch", "in/*", "-o", "s.gstar", *COLUMNS]) == 0
    assert "skipped, since a folder is read only if named itself, or with /** in the pattern: in/deep" in (
        capsys.readouterr().err
    )
    assert main(["sketch", "in/**", "-o", "s.gstar", *COLUMNS]) == 0
    assert "skipped" not in capsys.readouterr().err


def test_a_folder_that_cannot_be_read_is_an_error(here, table, capsys, monkeypatch):
    Path("in/secret").mkdir(parents=True)
    write(table, "in/a.csv")
    scan = os.scandir

    def refusing(path):
        if str(path).endswith("secret"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert "in/secret cannot be read: Permission denied" in said(capsys, "sketch", "in", "-o", "s.gstar", *COLUMNS)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        (["absent.csv"], "absent.csv does not exist"),
        (["scores.cvs"], "scores.cvs does not exist; did you mean 'scores.csv'?"),
        (["none/t.csv"], "none/t.csv does not exist: there is no folder none"),
        (["*.nothing"], "no file matches '*.nothing'"),
        (["empty"], "empty has no tables in it"),
        (["scores.csv", "./scores.csv"], "./scores.csv was given twice"),
        (["scores.csv", "*.csv"], "was given twice"),
    ],
)
def test_inputs_that_are_not_there(here, capsys, inputs, words):
    Path("scores.csv").write_text("p,y,g\n1,1,a\n")
    Path("empty").mkdir()
    assert words in said(capsys, "sketch", *inputs, "-o", "s.gstar", *COLUMNS)


def test_odd_names(here):
    text = "p,y,g\n0.5,1,a\n"
    for name in ("-odd.csv", "with space.csv", "[x]*.csv", "ünï.csv"):
        Path(name).write_text(text)
        words = ["sketch", "-o", f"./{name}.gstar", *COLUMNS, "-q", "--", name]
        assert main(words) == 0
        assert gf.Sketch.load(f"{name}.gstar").n_rows == 1


def test_the_output_may_not_be_an_input(here, capsys):
    Path("t.csv").write_text("p,y,g\n0.5,1,a\n")
    Path("link.gstar").symlink_to("t.csv")
    for output in ("t.csv", "./t.csv", "link.gstar"):
        assert "is also an input" in said(capsys, "sketch", "t.csv", "-o", output, *COLUMNS)
    assert Path("t.csv").read_text() == "p,y,g\n0.5,1,a\n"
