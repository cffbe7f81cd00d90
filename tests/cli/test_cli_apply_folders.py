"""`apply` from folder to folder: table by table, each whole or not at all, and a killed process goes on."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.applied import read
from helpers.commands import ENVIRONMENT, fails

import gstar_fast as gf
from gstar_fast.__main__ import main
from gstar_fast._cli.commands import apply as command
from gstar_fast._cli.resume import TABLES, load

pa = pytest.importorskip("pyarrow")
from helpers.table_files import write  # noqa: E402

PARTS = ["sex=F/a.parquet", "sex=F/b.csv", "sex=M/year=7/c.csv.gz", "sex=a%20b/d.arrow", "sex=a%20b/e.csv.zst"]
THRESHOLDS = {"F": 0.25, "M": -0.5, "a b": 0.0}
APPLY = ["apply", "in", "--thresholds", "t.json", "-o", "out/"]


@pytest.fixture
def folder(here):
    """Tables of many formats in folders that say the group."""
    random = np.random.default_rng(11)
    for name in PARTS:
        Path("in", name).parent.mkdir(parents=True, exist_ok=True)
        table = pa.table({"id": np.arange(200), "p": random.normal(size=200).round(2), "g": np.full(200, "x")})
        write(table, f"in/{name}")
    Path("in/_SUCCESS").touch()
    Path("in/notes.txt").write_text("no table")
    gf.Decider(THRESHOLDS, score_column="p", group_column="sex").save("t.json")
    return Path("in")


def tables(folder="out"):
    """Every table below a folder, with its bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file() and path.name != "_decided.json"
    }


def check(name, source="in", target="out", as_name=None):
    """The table has its own columns, those of its folders not, and decisions by the group of its folder."""
    before, after = read(f"{source}/{name}"), read(f"{target}/{as_name or name}")
    group = name.split("/")[0].removeprefix("sex=").replace("%20", " ")
    assert list(after) == ["id", "p", "g", "decision"]
    assert list(map(float, after["p"])) == list(map(float, before["p"]))
    assert list(map(int, after["decision"])) == [int(float(p) >= THRESHOLDS[group]) for p in before["p"]]


def test_a_folder_becomes_the_same_folder_with_decisions(folder, capsys):
    assert main(APPLY) == 0
    assert sorted(tables()) == sorted(PARTS)
    for name in PARTS:
        check(name)
    printed = capsys.readouterr()
    assert printed.out.startswith("out/: 5 tables, 1,000 rows decided, ")
    assert "the ending is not one of" in printed.err


def test_values_of_csv_stay_as_they_are_written(folder):
    Path("in/sex=F/b.csv").write_bytes(b'"id",p,g\r\n007,"0.250","a, b"\r\n')
    assert main([*APPLY, "-q"]) == 0
    assert Path("out/sex=F/b.csv").read_bytes() == b'id,p,g,decision\n007,0.250,"a, b",1\n'


def test_to_gives_all_tables_one_format(folder):
    assert main([*APPLY, "--to", "parquet", "-q"]) == 0
    names = ["sex=F/a", "sex=F/b", "sex=M/year=7/c", "sex=a%20b/d", "sex=a%20b/e"]
    assert sorted(tables()) == sorted(f"{name}.parquet" for name in names)
    for name, old in zip(names, PARTS, strict=True):
        check(old, as_name=f"{name}.parquet")


def test_a_plain_folder_works_the_same(here):
    Path("in/deep").mkdir(parents=True)
    Path("in/deep/a.csv").write_text("p,g\n1,F\n")
    Path("in/b.tsv").write_text("p\tg\n-1\tM\n")
    gf.Decider(THRESHOLDS, score_column="p", group_column="g").save("t.json")
    Path("out").mkdir()  # a folder that is there is meant as one without a slash too
    assert main([*APPLY[:-1], "out", "-q"]) == 0
    assert tables() == {"b.tsv": b"p\tg\tdecision\n-1\tM\t0\n", "deep/a.csv": b"p,g,decision\n1,F,1\n"}


@pytest.fixture
def decided(folder):
    """What one run writes."""
    assert main([*APPLY[:-1], "whole/", "-q"]) == 0
    return tables("whole")


@pytest.mark.parametrize("blocks", [1, 2, 3, 4, 5])
def test_an_interrupted_run_goes_on_and_decides_each_table_once(decided, monkeypatch, capsys, blocks, signals):
    seen = []
    decide = command.Deciding.decide

    def stopping(self, source, *rest):
        seen.append(source.name)
        if len(seen) == blocks:
            os.kill(os.getpid(), signal.SIGINT)
        return decide(self, source, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(command.Deciding, "decide", stopping)
        assert main(APPLY) == 130
    error = capsys.readouterr().err
    assert f"stopped; {blocks - 1} of 5 tables are decided and kept in out/" in error
    assert {name: decided[name] for name in sorted(PARTS)[: blocks - 1]} == tables()
    inodes = {name: Path("out", name).stat().st_ino for name in tables()}
    again = shlex.split(error.split("to continue: ")[1])
    assert main(again[1:]) == 0  # exactly what the message says
    assert tables() == decided
    assert {name: Path("out", name).stat().st_ino for name in inodes} == inodes  # these were not written again
    assert f"{5 - (blocks - 1)} table" in capsys.readouterr().out


SLOW = """
import sys, time
from gstar_fast._cli.commands import apply
from gstar_fast._cli.tables import csv_file
from gstar_fast.__main__ import main
decide = apply.Deciding.decide
def slow(self, source, block, *rest):
    print("block", source.name, flush=True)
    time.sleep(0.05)
    return decide(self, source, block, *rest)
apply.Deciding.decide = slow
csv_file.TEXT_ROWS = 20
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [1, 7])
def test_a_killed_process_leaves_whole_tables_and_can_be_continued(here, blocks):
    """Killed in the middle of a table: that one is not there, the others are, and nothing else."""
    for i in range(4):
        Path(f"in/g={i}").mkdir(parents=True)
        Path(f"in/g={i}/t.csv").write_text("p\n" + "".join(f"{x / 7}\n" for x in range(-40, 40)))
    gf.Decider(dict.fromkeys(range(4), 0.5), score_column="p", group_column="g").save("t.json")
    assert main([*APPLY[:-1], "whole/", "-q"]) == 0
    command = [sys.executable, "-c", SLOW, *APPLY, "-q"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        for _ in range(blocks):
            process.stdout.readline()
        process.kill()
        process.communicate()
    left = tables()
    assert left.items() <= tables("whole").items()
    assert len(left) < 4
    assert fails_with("already has decisions. Pass --resume to continue") if left else True
    assert main([*APPLY, "--resume", "-q"]) == 0
    assert tables() == tables("whole")


def fails_with(words):
    """What a run without --resume says, on standard error of a process of its own."""
    found = subprocess.run(
        [sys.executable, "-m", "gstar_fast", *APPLY], stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, check=False
    )
    return found.returncode == 1 and words in found.stderr


def test_a_table_that_cannot_be_decided_leaves_the_others(folder, decided, capsys):
    good = Path("in/sex=M/year=7/c.csv.gz").read_bytes()
    Path("in/sex=M/year=7/c.csv.gz").write_bytes(good[:-20])
    assert main(APPLY) == 1
    error = capsys.readouterr().err
    assert "2 of 5 tables are decided; --resume continues after them" in error
    assert "in/sex=M/year=7/c.csv.gz cannot be read" in error
    assert sorted(tables()) == sorted(PARTS)[:2]
    Path("in/sex=M/year=7/c.csv.gz").write_bytes(good)
    assert main([*APPLY, "--resume", "-q"]) == 0
    assert tables() == decided


def test_resume_decides_what_is_new_changed_or_lost_and_nothing_else(folder, capsys):
    assert main([*APPLY, "-q"]) == 0
    for name in PARTS:
        os.utime(Path("out", name), ns=(0, 10**18))  # a table that is written again gets the time of now
    Path("in/sex=F/new.csv").write_text("id,p,g\n1,0.25,x\n")
    Path("in/sex=F/b.csv").write_text("id,p,g\n2,0.24,x\n")
    Path("out/sex=F/a.parquet").unlink()
    Path("in/sex=a%20b/d.arrow").unlink()
    capsys.readouterr()
    assert main([*APPLY, "--resume", "--json"]) == 0
    printed = capsys.readouterr()
    told = json.loads(printed.out)
    assert (told["tables"], told["tables_before"], told["rows"]) == (3, 2, 202)
    assert "note: out/ keeps decided tables whose inputs are gone: sex=a%20b/d.arrow" in printed.err
    assert Path("out/sex=F/new.csv").read_text().endswith("0.25,x,1\n")
    assert Path("out/sex=F/b.csv").read_text().endswith("0.24,x,0\n")
    assert [name for name in PARTS if Path("out", name).stat().st_mtime_ns == 10**18] == [*PARTS[2:]]


@pytest.mark.parametrize("cut", [1, 30, 200])
def test_a_damaged_record_is_refused_and_the_tables_stay(folder, decided, capsys, cut):
    """It is replaced as a whole, so only damage to the disk or an edit can do that."""
    assert main([*APPLY, "-q"]) == 0
    path = Path("out/_decided.json")
    path.write_bytes(path.read_bytes()[: -cut - 1])
    assert "out/_decided.json is not a record of decided tables: " in fails(capsys, 1, *APPLY, "--resume", "-q")
    assert tables() == decided


def test_tables_that_the_record_does_not_have_yet_are_decided_again(folder, decided):
    """The record is saved once a second: a killed process may have written tables since."""
    assert main([*APPLY, "-q"]) == 0
    record = load(Path("out/_decided.json"), TABLES)
    record.files = [file for file in record.files if file["path"] != "sex=F/b.csv"]
    record.save(Path("out/_decided.json"))
    Path("out/sex=F/b.csv").write_text("an older table")
    assert main([*APPLY, "--resume", "-q"]) == 0
    assert tables() == decided
    assert {file["path"] for file in load(Path("out/_decided.json"), TABLES).files} == set(PARTS)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--nan", "reject"], "out/ was started with nan = None, not 'reject'. Use the same options"),
        (["--unknown", "0.5"], "out/ was started with unknown = None, not 0.5"),
        (["--to", "csv"], "out/ was started with to = None, not 'csv'"),
    ],
)
def test_resume_with_other_options_is_refused(folder, capsys, words, said):
    assert main([*APPLY, "-q"]) == 0
    assert said in fails(capsys, 1, *APPLY, "--resume", *words, "-q")


def test_resume_with_other_thresholds_or_another_folder_is_refused(folder, capsys):
    assert main([*APPLY, "-q"]) == 0
    before = tables()
    Path("in").rename("moved")
    words = ["apply", "moved", *APPLY[2:], "--resume", "-q"]
    assert "out/ was started with input = " in fails(capsys, 1, *words)
    Path("moved").rename("in")
    gf.Decider({**THRESHOLDS, "F": 0.5}, score_column="p", group_column="sex").save("t.json")
    assert "out/ was started with thresholds = " in fails(capsys, 1, *APPLY, "--resume", "-q")
    assert tables() == before


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["in", "-o", "in/"], 1, "in/ is also the input; choose another folder"),
        (["in/.", "-o", "in"], 1, "in is also the input"),
        (["in", "-o", "in/out/"], 1, "in/out/ is inside in, so the next run would read its tables"),
        (["in/sex=F", "-o", "in"], 1, "in/sex=F is inside in, so decided tables would be mixed with others"),
        (["in", "-o", "link/deep/"], 1, "link/deep/ is inside in"),
        (
            ["in", "-o", "full/"],
            1,
            "full/ is not empty and was not created by apply. Choose an empty folder.",
        ),
        (["in", "-o", "full/", "--resume"], 1, "full/ is not empty and was not created by apply"),
        (["in", "-o", "none/out/"], 1, "there is no folder none to make out in; make it first: mkdir -p none"),
        (["in/sex=F/a.parquet", "-o", "out/"], 2, "out/ is a folder, and it takes the tables of one folder"),
        (["in", "in/sex=F", "-o", "out/"], 1, "given twice"),
        (["in/sex=F", "in/sex=M", "-o", "out/"], 2, "out/ is a folder, and it takes the tables of one folder"),
        (["in", "-o", "out"], 1, "the format of out is not clear from its name; end it in .csv"),
        (["in", "-o", "memory://out/"], 1, "memory://out/ is remote, and outputs must be local files"),
        (
            ["twins", "-o", "out/", "--to", "parquet"],
            1,
            "twins/a.tsv and twins/a.csv would both be written to out/a.parq",
        ),
        (["in", "-o", "a.csv", "--resume"], 2, "--resume continues a folder, and a.csv is a file; leave it out"),
        (["in", "-o", "strange/", "--resume"], 1, "strange/_decided.json is not a record of decided tables"),
        (["in", "-o", "void/", "--resume"], 1, "void/_decided.json is not a record of decided tables"),
    ],
)
def test_folders_that_cannot_be_told_apart_afterwards_are_refused(folder, capsys, words, code, said):
    Path("full").mkdir()
    Path("full/mine.txt").write_text("mine")
    Path("link").symlink_to("in")
    Path("twins").mkdir()
    for ending in ("csv", "tsv"):
        Path(f"twins/a.{ending}").write_text("p,sex\n")
    for name, text in (("strange", "[1]\n{}\n"), ("void", "")):
        Path(name).mkdir()
        Path(name, "_decided.json").write_text(text)
    before = sorted(map(str, Path().rglob("*")))
    assert said in fails(capsys, code, "apply", *words, "--thresholds", "t.json", "-q")
    assert sorted(map(str, Path().rglob("*"))) == before
