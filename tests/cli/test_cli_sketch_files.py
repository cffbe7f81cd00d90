"""Commands that read sketch files show, merge and refuse them: folders, pipes, other kinds of files, odd groups."""

from __future__ import annotations

import io
import json
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import COLUMNS, fails
from helpers.golden import golden

import gstar_fast as gf
from gstar_fast.__main__ import main


def test_show_says_what_is_there(sketch, capsys):
    assert main(["show", "s.gstar"]) == 0
    golden("cli_show.txt", capsys.readouterr().out)
    assert main(["show", "s.gstar", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["rows"] == 4_000
    assert shown["digest"] == sketch.digest()
    assert [group["name"] for group in shown["groups"]] == ["F", "M"]
    assert sum(group["label_0"] + group["label_1"] for group in shown["groups"]) == 4_000


def test_merge_is_one_pass_over_all_rows(scores, sketch, capsys):
    lines = Path("scores.csv").read_text().splitlines()
    for i in range(3):
        Path(f"part{i}.csv").write_text("\n".join([lines[0], *lines[1 + i :: 3]]) + "\n")
        assert main(["sketch", f"part{i}.csv", "-o", f"{i}.gstar", *COLUMNS, "--bins", "128", "-q"]) == 0
    assert main(["merge", "2.gstar", "0.gstar", "1.gstar", "-o", "all.gstar"]) == 0
    assert Path("all.gstar").read_bytes() == Path("s.gstar").read_bytes()
    assert "all.gstar: 3 sketches merged" in capsys.readouterr().out
    assert main(["digest", "all.gstar", "s.gstar"]) == 0
    one, two = capsys.readouterr().out.splitlines()
    assert one.split()[0] == two.split()[0] == sketch.digest()


@pytest.fixture
def days(here):
    """A folder with sketches of three days, and files that are none; and the sketch of all rows."""
    Path("days/june").mkdir(parents=True)
    total = gf.Sketch()
    for i, name in enumerate(["days/1.gstar", "days/2.gstar", "days/june/3.gstar"]):
        day = gf.Sketch.from_rows([i, i + 0.5], [0, 1], ["a", "b"])
        day.save(name)
        total += day
    Path("days/2.gstar").rename("days/2.sketch")  # known by its first bytes
    Path("days/3.gstar.partial").write_text("{}")
    Path("days/scores.csv").write_text("p,y,g\n")
    Path("days/_SUCCESS").write_text("")
    total.save("days/_old.gstar")
    return total


def test_merge_takes_folders_and_patterns(days, capsys):
    assert main(["merge", "days", "-o", "all.gstar"]) == 0
    assert gf.Sketch.load("all.gstar") == days
    printed = capsys.readouterr()
    assert "all.gstar: 3 sketches merged" in printed.out
    assert "skipped, since an unfinished count is read only if named itself: days/3.gstar.partial\n" in printed.err
    assert "skipped, since it is not a sketch: days/scores.csv\n" in printed.err
    assert "skipped, since the name starts with . or _: days/_old.gstar\n" in printed.err
    assert "3.gstar.partial is not an unfinished count" in fails(capsys, 1, "merge", "days/[0-9].*", "-o", "x.gstar")
    Path("days/3.gstar.partial").unlink()
    assert main(["merge", "days/[0-9].*", "days/june", "-o", "all.gstar", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["files"], told["passed_over"], told["digest"]) == (3, [], days.digest())
    assert main(["merge", "days", "-o", "all.gstar", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["passed_over"] == ["days/_old.gstar", "days/scores.csv"]


def test_two_files_of_the_same_rows_give_a_note(days, capsys):
    Path("days/again.gstar").write_bytes(Path("days/1.gstar").read_bytes())
    assert main(["merge", "days", "-o", "all.gstar"]) == 0
    assert "note: days/1.gstar and days/again.gstar have the same digest" in capsys.readouterr().err
    assert gf.Sketch.load("all.gstar").n_rows == 8


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["days", "-o", "days/all.gstar"],
            "days/all.gstar is one of the files in days, so the next merge would add it again",
        ),
        (["days", "-o", "days/june/4.gstar"], "days/june/4.gstar is one of the files in days"),
        (["days/*.gstar", "-o", "days/1.gstar"], "days/1.gstar is one of the files in days/*.gstar"),
        (["days", "days/1.gstar", "-o", "all.gstar"], "days/1.gstar was given twice"),
        (["days/june", "days", "-o", "all.gstar"], "days/june/3.gstar was given twice"),
        (["days/*.nothing", "-o", "all.gstar"], "no file matches 'days/*.nothing'"),
        (["empty", "-o", "all.gstar"], "empty has no sketches in it; looked for .gstar; it has empty/scores.csv"),
        (["dys", "-o", "all.gstar"], "dys does not exist; did you mean 'days'?"),
    ],
)
def test_a_merge_that_would_count_twice_or_nothing_is_refused(days, capsys, words, said):
    Path("empty").mkdir()
    Path("empty/scores.csv").write_text("p,y,g\n")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert said in fails(capsys, 1, "merge", *words)
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_a_folder_of_sketches_is_merged_in_the_memory_of_one(here, capsys):
    """Not in that of all: each file is read, added and let go."""
    random = np.random.default_rng(0)
    day = gf.Sketch.from_rows(random.normal(size=20_000), random.integers(0, 2, 20_000), random.integers(0, 3, 20_000))
    data = day.to_bytes()
    Path("days").mkdir()
    for i in range(300):
        Path(f"days/{i:03}.gstar").write_bytes(data)
    assert main(["merge", "days/00*", "-o", "all.gstar", "-q"]) == 0  # so that all modules are there
    tracemalloc.start()
    try:
        assert main(["merge", "days", "-o", "all.gstar", "-q"]) == 0
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert np.array_equal(gf.Sketch.load("all.gstar").counts, 300 * day.counts)
    assert peak < 300 * len(data) / 2
    Path("days/031.gstar").write_bytes(data[:200] + bytes([data[200] ^ 1]) + data[201:])
    Path("all.gstar").unlink()
    assert "days/031.gstar is not a sketch: " in fails(capsys, 1, "merge", "days", "-o", "all.gstar")
    assert not Path("all.gstar").exists()
    Path("empty").mkdir()
    assert "empty has no sketches in it" in fails(capsys, 1, "merge", "empty", "-o", "all.gstar")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "absent.gstar"], "absent.gstar: No such file or directory"),
        (["show", "text.gstar"], "text.gstar is not a sketch: "),
        (["digest", "cut.gstar"], "cut.gstar is not a sketch: "),
        (["merge", "s.gstar", "./s.gstar", "-o", "t.gstar"], "./s.gstar was given twice"),
        (["merge", "s.gstar", "fine.gstar", "-o", "t.gstar"], "fine.gstar cannot be merged with s.gstar"),
        (["merge", "s.gstar", "-o", "none/t.gstar"], "there is no folder none to write t.gstar to"),
        (["merge", "s.gstar", "-o", "."], ". is a folder; name a file in it"),
        (["solve", "s.gstar", "scores.csv"], "sketches and tables cannot be mixed"),
        (["solve", "empty.gstar"], "the sketch has no rows; count some first"),
        (["audit", "s.gstar", "--thresholds", "s.gstar"], "'s.gstar' is not UTF-8 text, so not saved thresholds"),
        (["audit", "s.gstar", "--thresholds", "absent.json"], "absent.json: No such file or directory"),
    ],
)
def test_errors_say_what_is_wrong_and_change_nothing(sketch, capsys, words, said):
    Path("text.gstar").write_text("score,label\n")
    Path("cut.gstar").write_bytes(Path("s.gstar").read_bytes()[:-10])
    gf.Sketch().save("empty.gstar")
    gf.Sketch.from_rows([0.5], [1], ["F"], bins=256).save("fine.gstar")
    before = sorted((path.name, path.read_bytes()) for path in Path().iterdir())
    assert said in fails(capsys, 1, *words)
    assert sorted((path.name, path.read_bytes()) for path in Path().iterdir()) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["solve", "s.gstar", "--limit", "equalized_odds=2"],
            "--limit equalized_odds is a largest gap and must be from 0",
        ),
        (["solve", "s.gstar", "--penalty", "disparate_impact=2"], "use --limit disparate_impact=0.8"),
        (["solve", "s.gstar", "--randomize", "--unified"], "--randomize does not go with --unified: "),
        (
            ["solve", "s.gstar", "--method", "newton"],
            "--method newton needs --density too; give a smooth one, such as --density kde",
        ),
        (["solve", "s.gstar", "--objective", "fp=-1,fn=1"], "prices of --objective must be finite"),
        (["solve", "s.gstar", "--objective", "fp=1"], "must be error, balanced_error or prices such as fp=1,fn=5"),
        (["solve", "s.gstar", "--max-seconds", "0"], "--max-seconds must be above 0; got 0.0"),
        (["frontier", "s.gstar", "--criterion", "disparate_impact"], "disparate_impact is a ratio"),
        (["sketch", "scores.csv", "-o", "t.gstar", *COLUMNS, "--bins", "100"], "--bins must be a power of two"),
        (["sketch", "scores.csv", "-o", "t.gstar", *COLUMNS, "--range", "1", "-1e3"], "--range must have lo < hi"),
        (["audit", "s.gstar", "--thresholds", "t.json", "--confidence", "2"], "--confidence must be from 0.5"),
        (["audit", "s.gstar", "--thresholds", "t.json", "--replicates", "-1"], "--replicates must be"),
        (["audit", "s.gstar", "--thresholds", "t.json", "--seed", "-1"], "--seed must be a whole number"),
    ],
)
def test_a_wrong_value_of_an_option_is_wrong_usage(sketch, capsys, words, said):
    gf.Decider({"F": 0.0, "M": 0.0}).save("t.json")
    assert said in fails(capsys, 2, *words)
    assert not Path("t.gstar").exists()


def test_every_command_reads_a_sketch_from_standard_input(sketch, capsys, monkeypatch):
    data = Path("s.gstar").read_bytes()
    gf.Decider({"F": 0.0, "M": 0.0}).save("t.json")
    for words in (
        ["show", "-"],
        ["digest", "-"],
        ["merge", "-", "-o", "m.gstar"],
        ["solve", "-", "--limit", "equal_opportunity=0.1"],
        ["frontier", "-", "--criterion", "equal_opportunity"],
        ["audit", "-", "--thresholds", "t.json"],
    ):

        class Stdin:
            buffer = io.BufferedReader(io.BytesIO(data))

        monkeypatch.setattr(sys, "stdin", Stdin)
        assert main(words) == 0
        from_pipe = capsys.readouterr().out
        assert main([word if word != "-" else "s.gstar" for word in words]) == 0
        assert from_pipe.replace("  -\n", "  s.gstar\n") == capsys.readouterr().out
    assert Path("m.gstar").read_bytes() == data
    Stdin.buffer = io.BufferedReader(io.BytesIO(b"p,y\n"))
    assert "standard input is not a sketch" in fails(capsys, 1, "show", "-")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sketch", "s.gstar", "-o", "t.gstar", *COLUMNS], "s.gstar is a sketch, not a table; `gstar-fast show`"),
        (["solve", "t.json"], "t.json is JSON, which is neither a table nor a sketch"),
        (["show", "t.json"], "t.json is JSON, which is neither a table"),
        (["merge", "s.gstar", "link.gstar", "-o", "t.gstar"], "link.gstar was given twice (also as s.gstar)"),
        (
            ["sketch", "scores.csv", "link.csv", "-o", "t.gstar", *COLUMNS],
            "link.csv was given twice (also as scores.csv)",
        ),
        (["merge", "s.gstar", "fine.gstar", "-o", "t.gstar"], "again with the --bins and --range of the other"),
    ],
)
def test_a_file_of_another_kind_is_known(sketch, capsys, words, said):
    gf.Decider({"F": 0.0, "M": 0.0}).save("t.json")
    gf.Sketch.from_rows([0.5], [1], ["F"], bins=256).save("fine.gstar")
    Path("link.gstar").symlink_to("s.gstar")
    Path("link.csv").symlink_to("scores.csv")
    assert said in fails(capsys, 1, *words)


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ((True, "True"), "True (a truth value) and 'True' (text) are two groups that print alike"),
        ((1, "1"), "1 (a number) and '1' (text) are two groups that print alike"),
    ],
)
def test_groups_that_print_alike_are_told_apart(here, capsys, groups, said):
    for i, name in enumerate(groups):
        gf.Sketch.from_rows([0.25, 0.75], [0, 1], [name] * 2).save(f"{i}.gstar")
    for words in (["merge", "0.gstar", "1.gstar", "-o", "t.gstar"], ["show", "t.gstar"], ["solve", "t.gstar"]):
        capsys.readouterr()
        assert main(words) == 0
        printed = capsys.readouterr()
        assert said in printed.err
        if words[0] == "show":
            shown = [line.split()[0] for line in printed.out.splitlines()[3:5]]
            assert shown == [repr(name) for name in groups]
    words = ["frontier", "t.gstar", "--criterion", "equal_opportunity", "-o", "f.csv", "-q"]
    assert main(words) == 0
    header = Path("f.csv").read_text().splitlines()[0]
    assert header == ",".join(["gap", "error", *(f"threshold_{name!r}" for name in groups)])
