"""The command line from its first word to its exit code: help, errors, and the road from sketch to report."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from helpers.golden import golden

import gstar_fast as gf
from gstar_fast import datasets
from gstar_fast.__main__ import main
from gstar_fast._cli import parser
from gstar_fast._words import BACKENDS

# the same package in other processes, wherever they start
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(gf.__file__).parent.parent)}


@pytest.fixture
def scores(here):
    """A CSV file of the paper's table, its sketch, and the table itself."""
    table = datasets.paper_synthetic(rows=4_000, seed=3)
    lines = zip(table.scores.astype(str), table.labels, np.array(["F", "M"])[table.groups], strict=True)
    Path("scores.csv").write_text("p,y,sex\n" + "".join(f"{s},{y},{g}\n" for s, y, g in lines))
    return table


@pytest.fixture
def sketch(scores):
    assert main(["sketch", "scores.csv", "-o", "s.gstar", *COLUMNS, "--bins", "128", "-q"]) == 0
    return gf.Sketch.load("s.gstar")


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


# ---------------------------------------------------------------------------------------------------------- first words


def test_help_of_every_command_is_the_golden_one(here, capsys):
    assert main(["--help"]) == 0
    pages = [capsys.readouterr().out]
    for command in parser.COMMANDS:
        assert main([command, "--help"]) == 0
        pages.append(capsys.readouterr().out)
        assert "examples:" in pages[-1]
    if sys.version_info < (3, 13):  # argparse lays out its pages differently from 3.13 on
        golden("cli_help.txt", "\n".join(pages))


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["solve", "--help"], ["completion", "bash"], ["skech"]])
def test_words_about_itself_need_no_numpy(words):
    code = (
        "import sys; from gstar_fast.__main__ import main; main(sys.argv[1:]); "
        "print(*sorted({'numpy', 'pyarrow', 'scipy', 'numba'} & set(sys.modules)), file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    assert run.stderr.splitlines()[-1] == ""


def test_python_m_is_the_command(here):
    command = [sys.executable, "-m", "gstar_fast", "--version"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT)
    assert run.stdout == f"gstar-fast {gf.__version__}\n"


def test_no_command_prints_help_and_is_wrong_usage(here, capsys):
    assert main([]) == 2
    assert "from tables to decisions:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["skech"], "there is no command 'skech'; did you mean 'sketch'?"),
        (["sketch", "a.csv", "--score", "p", "--group", "g"], "the following arguments are required: -o/--output"),
        (
            ["solve", "s.gstar", "--limit", "equalised_odds=0.1"],
            "no criterion 'equalised_odds'; did you mean 'equalized_odds'",
        ),
        (
            ["solve", "s.gstar", "--limit", "equalized_odds"],
            "'equalized_odds' lacks its value; write equalized_odds=0.02",
        ),
        (["solve", "s.gstar", "--limit", "equalized_odds=low"], "'low' is not a number"),
        (["solve", "s.gstar", "--bins", "many"], "invalid int value: 'many'"),
        (["sketch", "a.csv", "-o", "s.gstar", "--score", "p", "--group", "g"], "tables need --label (or --no-label)"),
        (["solve", "a.csv", "--score", "p"], "tables need --group, --label (or --no-label)"),
        (["solve", "s.gstar", "--label", "y", "--no-label"], "exclude each other"),
        (["frontier", "s.gstar", "--criterion", "equalized_odds", "--thresholds", "t.json"], "say which: --at-gap X"),
        (["audit", "s.gstar"], "give either --thresholds FILE or --decision COL"),
        (
            ["apply", "a.csv", "--thresholds", "t.json", "-o", "b.csv", "--unknown", "maybe"],
            "must be raise, default or a",
        ),
        (["sketch", "a.csv", "-o", "s.gstar", *COLUMNS, "--delimiter", "ab"], "must be one character"),
    ],
)
def test_wrong_usage_says_what_to_write(here, capsys, words, said):
    Path("a.csv").write_text("p,y,g\n0.5,1,1\n")
    assert said in fails(capsys, 2, *words)


def test_global_options_may_stand_before_and_after_the_command(sketch, capsys):
    for words in (["--json", "digest", "s.gstar"], ["digest", "s.gstar", "--json"]):
        assert main(words) == 0
        assert json.loads(capsys.readouterr().out) == {"s.gstar": sketch.digest()}


def test_every_backend_gives_the_same_sketch(scores, capsys):
    digests = set()
    for backend in BACKENDS:
        if backend == "native" and not gf._backends.has_native():
            continue
        assert main(["--backend", backend, "sketch", "scores.csv", "-o", "s.gstar", *COLUMNS, "--json"]) == 0
        digests.add(json.loads(capsys.readouterr().out)["digest"])
    assert len(digests) == 1


def test_debug_shows_where_it_went_wrong(here, capsys):
    assert main(["show", "absent.gstar", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err
    assert main(["show", "absent.gstar"]) == 1
    assert "Traceback" not in capsys.readouterr().err


def test_an_internal_error_prints_one_line(here, capsys, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("gstar_fast._cli.commands.info.info", broken)
    assert "please report it with what --debug shows" in fails(capsys, 1, "info")


def test_quiet_says_nothing_but_errors(scores, capsys):
    assert main(["sketch", "scores.csv", "-o", "s.gstar", *COLUMNS, "--quiet"]) == 0
    assert main(["solve", "s.gstar", "-o", "t.json", "-q"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["show", "absent.gstar", "-q"]) == 1
    assert capsys.readouterr().err


def test_unprintable_names_do_not_crash(here):
    gf.Sketch.from_rows([0.5], [1], ["zoë"]).save("s.gstar")
    command = [sys.executable, "-m", "gstar_fast", "show", "s.gstar"]
    ascii_only = {
        **ENVIRONMENT,
        "LC_ALL": "C",
        "PYTHONIOENCODING": "ascii",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
    }
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=ascii_only)
    assert "zo\\xeb" in run.stdout


def test_broken_pipe_is_silent(sketch):
    names = [f"g{i}" for i in range(30_000)]  # more text than a pipe holds
    gf.Sketch.from_rows(np.zeros(len(names)), None, names, bins=16).save("many.gstar")
    run = subprocess.run(
        f"{sys.executable} -m gstar_fast show many.gstar --json | head -n 1; echo ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        check=True,
    )
    assert run.stdout.splitlines() == ["{", "141"]
    assert run.stderr == ""


# ------------------------------------------------------------------------------------------------------------- sketches


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
    assert "passed over, since an unfinished count is taken only by its own name: days/3.gstar.partial\n" in printed.err
    assert "passed over, since it is no sketch: days/scores.csv\n" in printed.err
    assert "passed over, since what begins with . or _ is not data by custom: days/_old.gstar\n" in printed.err
    assert "3.gstar.partial is not an unfinished count" in fails(capsys, 1, "merge", "days/[0-9].*", "-o", "x.gstar")
    Path("days/3.gstar.partial").unlink()
    assert main(["merge", "days/[0-9].*", "days/june", "-o", "all.gstar", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["files"], told["passed_over"], told["digest"]) == (3, [], days.digest())
    assert main(["merge", "days", "-o", "all.gstar", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["passed_over"] == ["days/_old.gstar", "days/scores.csv"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["days", "-o", "days/all.gstar"], "days/all.gstar is among days, so that it would be merged again next time"),
        (["days", "-o", "days/june/4.gstar"], "days/june/4.gstar is among days"),
        (["days/*.gstar", "-o", "days/1.gstar"], "days/1.gstar is among days/*.gstar"),
        (["days", "days/1.gstar", "-o", "all.gstar"], "days/1.gstar is given twice"),
        (["days/june", "days", "-o", "all.gstar"], "days/june/3.gstar is given twice"),
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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "absent.gstar"], "absent.gstar: No such file or directory"),
        (["show", "text.gstar"], "text.gstar is not a sketch: "),
        (["digest", "cut.gstar"], "cut.gstar is not a sketch: "),
        (["merge", "s.gstar", "./s.gstar", "-o", "t.gstar"], "./s.gstar is given twice"),
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
        (["solve", "s.gstar", "--randomize", "--unified"], "--randomize works with limits"),
        (["solve", "s.gstar", "--method", "newton"], "--method newton needs a smooth density, such as --density kde"),
        (["solve", "s.gstar", "--cost-fp", "-1"], "--cost-fp and --cost-fn must be finite"),
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
        (["solve", "t.json"], "t.json is JSON, as saved thresholds are, and neither a table nor a sketch"),
        (["show", "t.json"], "t.json is JSON, as saved thresholds are"),
        (["merge", "s.gstar", "link.gstar", "-o", "t.gstar"], "link.gstar is given twice (also as s.gstar)"),
        (
            ["sketch", "scores.csv", "link.csv", "-o", "t.gstar", *COLUMNS],
            "link.csv is given twice (also as scores.csv)",
        ),
        (["merge", "s.gstar", "fine.gstar", "-o", "t.gstar"], "anew with the --bins and --range of the other"),
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


# ------------------------------------------------------------------------------------------------------ solve, frontier


def test_solve_prints_the_verdict_and_saves_it(sketch, capsys):
    assert main(["solve", "s.gstar", "--limit", "equalized_odds=0.02", "-o", "t.json"]) == 0
    printed = capsys.readouterr()
    golden("cli_solve.txt", printed.out)
    assert printed.err == "gstar-fast: wrote t.json\n"
    expected = gf.solve(sketch, limits={"equalized_odds": 0.02})
    assert gf.Result.load("t.json") == expected
    assert main(["solve", "s.gstar", "--limit", "equalized_odds=0.02", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(expected.to_json())


def test_solve_takes_every_option_of_the_library(sketch, capsys):
    words = ["--penalty", "equalized_odds=10", "--cost-fp", "1", "--cost-fn", "2", "--balanced", "--json"]
    assert main(["solve", "s.gstar", *words]) == 0
    expected = gf.solve(sketch, penalties={"equalized_odds": 10.0}, costs=(1, 2), balanced=True)
    assert json.loads(capsys.readouterr().out) == json.loads(expected.to_json())
    assert main(["solve", "s.gstar", "--limit", "equalized_odds=0.3", "--unified", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unified"] is True
    assert main(["solve", "s.gstar", "--limit", "equalized_odds=0", "--randomize", "-o", "r.json", "-q"]) == 0
    assert gf.Result.load("r.json").randomized
    smooth = ["--penalty", "equalized_odds=1", "--method", "newton", "--density", "normal", "--json"]
    assert main(["solve", "s.gstar", *smooth]) == 0
    assert json.loads(capsys.readouterr().out)["density"] == "normal"


def test_solve_counts_tables_itself_and_remembers_their_columns(scores, sketch, capsys):
    words = [
        "solve",
        "scores.csv",
        *COLUMNS,
        "--bins",
        "128",
        "--limit",
        "equal_opportunity=0.01",
        "-o",
        "t.json",
        "-q",
    ]
    assert main(words) == 0
    result = gf.Result.load("t.json")
    assert (result.score_column, result.group_column) == ("p", "sex")
    assert result.sketch_digest == sketch.digest()
    assert main(["solve", "s.gstar", "--score", "p", "--group", "a,b", "--group", 'c"d', "-o", "t.json", "-q"]) == 0
    assert gf.Result.load("t.json").group_column == '"a,b","c""d"'


def test_limits_that_cannot_be_met_end_in_3_and_write_nothing(sketch, capsys):
    Path("t.json").write_text("old")
    limits = ["--limit", "accuracy_parity=0", "--limit", "demographic_parity=0"]
    assert main(["solve", "s.gstar", *limits, "-o", "t.json", "--report", "r.html"]) == 3
    printed = capsys.readouterr()
    assert printed.out.startswith("infeasible: ")
    assert "the limits cannot be met" in printed.err
    assert "looser; t.json and r.html not written" in printed.err
    assert Path("t.json").read_text() == "old"
    assert not Path("r.html").exists()


def test_thresholds_may_expire(sketch, capsys):
    words = [
        "solve",
        "s.gstar",
        "--limit",
        "equalized_odds=0.1",
        "--score",
        "p",
        "--group",
        "sex",
        "-o",
        "t.json",
        "-q",
    ]
    assert main([*words, "--expires", "2999-12-31"]) == 0
    assert gf.Decider.load("t.json").expires == datetime(2999, 12, 31, tzinfo=UTC)
    assert gf.Result.load("t.json").verdict == "optimal"
    assert main([*words, "--expires", "2999-12-31T00:00:00+01:00"]) == 0
    assert gf.Decider.load("t.json").expires == datetime(2999, 12, 30, 23, tzinfo=UTC)
    with pytest.raises(ValueError, match="these thresholds expired on 2999-12-30"):
        gf.Decider.load("t.json", now=datetime(3000, 1, 1, tzinfo=UTC))
    assert "must be a date such as 2030-01-31, got 'soon'" in fails(capsys, 2, *words, "--expires", "soon")
    assert "2001-01-01 is over already" in fails(capsys, 2, *words, "--expires", "2001-01-01")


def test_counts_are_whole_numbers_in_json(sketch, capsys):
    assert main(["solve", "s.gstar", "--json"]) == 0
    printed = capsys.readouterr().out
    assert '"n_rows": 4000,' in printed
    assert '"rows": 2000,' in printed
    assert gf.Result.from_json(printed).n_rows == 4000


def test_a_limit_given_twice_is_refused(sketch, capsys):
    assert "given twice" in fails(capsys, 2, "solve", "s.gstar", *["--limit", "equalized_odds=0.1"] * 2)


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_frontier_writes_every_point(sketch, capsys, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    assert main(["frontier", "s.gstar", "--criterion", "equalized_odds", "-o", f"f.{ending}"]) == 0
    expected = gf.frontier(sketch, "equalized_odds")
    assert str(expected) in capsys.readouterr().out
    if ending == "csv":
        found = np.genfromtxt("f.csv", delimiter=",", names=True)
        gaps, thresholds = found["gap"], found["threshold_F"]
    elif ending == "json":
        data = json.loads(Path("f.json").read_text())
        gaps = data["gap"]
        thresholds = [-np.inf if row[0] == "-inf" else row[0] for row in data["thresholds"]]
    else:
        import pyarrow.parquet as pq

        data = pq.read_table("f.parquet").to_pydict()
        gaps, thresholds = data["gap"], data["threshold_F"]
    assert np.array_equal(gaps, expected.gaps)
    assert np.array_equal(thresholds, expected.thresholds[:, 0])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--at-error", "0.01"], "no thresholds have an error of 0.01 or less; the smallest is"),
        (["--limit", "accuracy_parity=0", "--limit", "demographic_parity=0"], "no thresholds meet the limits"),
    ],
)
def test_a_frontier_out_of_reach_ends_in_3(sketch, capsys, words, said):
    words = ["frontier", "s.gstar", "--criterion", "equalized_odds", "-o", "f.csv", *words]
    assert said in fails(capsys, 3, *words)
    assert not Path("f.csv").exists()


def test_a_point_of_the_frontier_is_a_result(sketch, capsys):
    words = ["frontier", "s.gstar", "--criterion", "equalized_odds", "--at-gap", "0.05", "--thresholds", "t.json"]
    assert main(words) == 0
    assert "on the frontier of equalized_odds" in capsys.readouterr().out
    assert gf.Result.load("t.json").gaps["equalized_odds"] <= 0.05
    assert main(["frontier", "s.gstar", "--criterion", "equalized_odds", "-o", "f.txt"]) == 2


# -------------------------------------------------------------------------------------------------------- audit, report


def test_audit_of_thresholds_is_that_of_the_library(sketch, capsys):
    assert main(["solve", "s.gstar", "--limit", "equalized_odds=0.02", "-o", "t.json", "-q"]) == 0
    words = ["audit", "s.gstar", "--thresholds", "t.json", "--replicates", "200", "--confidence", "0.9", "--seed", "5"]
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    expected = gf.audit(sketch, gf.Result.load("t.json"), replicates=200, confidence=0.9, seed=5)
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(expected.to_dict()))
    for ending in ("json", "csv", "html"):
        assert main([*words, "-o", f"a.{ending}", "-q"]) == 0
    assert json.loads(Path("a.json").read_text())["n_rows"] == 4_000
    assert "<h1>Audit of 4,000 rows</h1>" in Path("a.html").read_text()
    table = np.genfromtxt("a.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    tpr = table[(table["group"] == "F") & (table["metric"] == "tpr")]["value"][0]
    assert tpr == expected.rates["F"]["tpr"].value


def test_audit_and_report_expect_gaps_on_so_many_new_rows(sketch, capsys):
    assert main(["solve", "s.gstar", "--limit", "equalized_odds=0.02", "-o", "t.json", "-q"]) == 0
    there = gf.audit(sketch, gf.Result.load("t.json"), new_rows=300).new_rows["equalized_odds"]
    words = ["s.gstar", "--thresholds", "t.json", "--new-rows", "300"]
    capsys.readouterr()
    assert main(["audit", *words, "-o", "a.csv"]) == 0
    assert f"nine of ten samples of 300 rows stay under {there.nine_of_ten:.2g}; this" in capsys.readouterr().out
    table = np.genfromtxt("a.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    [row] = table[table["metric"] == "equalized_odds"]
    assert (row["new_rows"], row["new_rows_mean"], row["new_rows_nine_of_ten"]) == (300, there.mean, there.nine_of_ten)
    assert main(["report", *words, "-o", "r.html", "-q"]) == 0
    assert f"nine of ten samples of 300 rows stay under {there.nine_of_ten:.2g}." in Path("r.html").read_text()


def test_new_rows_need_thresholds_that_were_solved_for(scores, sketch, capsys):
    gf.Decider({"F": 0.0, "M": 0.0}).save("t.json")
    words = "audit", "s.gstar", "--thresholds", "t.json", "--new-rows", "300"
    assert "--new-rows needs what `solve -o` saved" in fails(capsys, 1, *words)
    words = "audit", "scores.csv", "--decision", "y", "--label", "y", "--group", "sex", "--new-rows", "300"
    assert "--new-rows is about thresholds that `solve` found" in fails(capsys, 2, *words)


def test_audit_takes_bare_thresholds_and_tables(scores, sketch, capsys):
    gf.Decider({"F": 0.0, "M": 0.0}, score_column="p", group_column="sex").save("t.json")
    assert main(["audit", "scores.csv", "--label", "y", "--bins", "128", "--thresholds", "t.json", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    expected = gf.audit(sketch, {"F": 0.0, "M": 0.0})
    assert shown["overall"]["tpr"]["value"] == expected.overall["tpr"].value


def test_audit_of_decisions_is_that_of_the_rows(scores, capsys):
    gf.Decider({"F": 0.0, "M": 1.0}, score_column="p", group_column="sex").save("t.json")
    assert main(["apply", "scores.csv", "--thresholds", "t.json", "-o", "d.csv", "-q"]) == 0
    words = ["--decision", "decision", "--label", "y", "--group", "sex", "--replicates", "100"]
    assert main(["audit", "d.csv", *words, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    names = np.array(["F", "M"])[scores.groups]
    decisions = gf.Decider({"F": 0.0, "M": 1.0})(scores.scores, names)
    assert shown == json.loads(
        json.dumps(gf.audit(decisions=decisions, labels=scores.labels, groups=names, replicates=100).to_dict())
    )


@pytest.mark.parametrize("kind", ["csv", "npz", "parquet"])
def test_decisions_are_read_as_labels_are(here, capsys, kind):
    """Also where labels and decisions have words of their own; advice that is given works."""
    words = {"d": ["yes", "no", "yes", "yes"], "y": ["good", "good", "bad", "bad"], "t": ["true", "false"] * 2}
    columns = {**words, "p": [0.5, 1.0, 0.25, 1.0], "g": ["a", "a", "b", "b"]}
    if kind == "csv":
        Path("d.csv").write_text(
            "\n".join(",".join(map(str, row)) for row in [columns, *zip(*columns.values(), strict=True)])
        )
    elif kind == "npz":
        np.savez("d.npz", **{name: np.array(column) for name, column in columns.items()})
    else:
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        pq.write_table(pa.table(columns), "d.parquet")
    others = ["--label", "y", "--positive", "good", "--group", "g"]

    def selected(*given):
        assert main(["audit", f"d.{kind}", *given, *others, "--json", "--replicates", "0"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert shown["overall"]["base_rate"]["value"] == 0.5
        return [group["rates"]["selection_rate"]["value"] for group in shown["groups"]]

    def refused(*given):
        return fails(capsys, 1, "audit", f"d.{kind}", *given, *others)

    assert selected("--decision", "t") == [0.5, 0.5]
    assert selected("--decision", "d", "--accepted", "yes") == [0.5, 1.0]
    assert selected("--decision", "p", "--accepted", "1") == [0.5, 0.5]
    assert "column 'd' must hold decisions 0 and 1, found 'no', 'yes'; say which one accepts: --accepted" in refused(
        "--decision", "d"
    )
    assert "or audit scores with --thresholds" in refused("--decision", "p")
    assert "no row has the decision 'si' (--accepted); found 'no', 'yes'" in refused(
        "--decision", "d", "--accepted", "si"
    )


def test_audit_of_decisions_takes_weights_and_needs_no_labels(here, capsys):
    Path("d.csv").write_text("d,y,g,w\n1,1,a,3\n0,1,a,1\n0,0,b,0.5\n1,0,b,0.5\n")
    assert main(["audit", "d.csv", "--decision", "d", "--no-label", "--group", "g", "--weight", "w", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [group["rates"]["selection_rate"]["value"] for group in shown["groups"]] == [0.75, 0.5]
    assert shown["overall"]["tpr"]["value"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["s.gstar", "--decision", "d"], "a sketch is audited with --thresholds"),
        (["d.csv", "--decision", "d", "--score", "p"], "--decision takes the place of --score"),
        (["d.csv", "--decision", "d", "--group", "g"], "tables need --group and --label"),
        (["s.gstar", "--thresholds", "t.json", "--accepted", "yes"], "--accepted names a decision"),
        (["d.csv", "--decision", "d", "--group", "g", "--no-label", "--positive", "1"], "is named with --accepted"),
    ],
)
def test_audit_says_what_it_needs(sketch, capsys, words, said):
    assert said in fails(capsys, 2, "audit", *words)


def test_audit_refuses_what_is_no_decision(sketch, capsys):
    columns = ["--decision", "d", "--label", "y", "--group", "g"]
    Path("d.csv").write_text("d,y,g\n1,1,a\n,0,a\n")
    assert "has no decision in 1 rows" in fails(capsys, 1, "audit", "d.csv", *columns)
    Path("d.csv").write_text("d,y,g\n0.7,1,a\n0.2,0,a\n")
    assert "column 'd' must hold decisions 0 and 1, found '0.2', '0.7'" in fails(capsys, 1, "audit", "d.csv", *columns)
    assert "no column 'e' (--decision)" in fails(capsys, 1, "audit", "d.csv", "--decision", "e", *columns[2:])
    Path("d.csv").write_text("d,y,g\n")
    assert "there are no rows to audit" in fails(capsys, 1, "audit", "d.csv", *columns)


def test_report_is_one_page(sketch, capsys):
    words = ["solve", "s.gstar", "--limit", "equalized_odds=0.02", "-o", "t.json", "--report", "r.html"]
    assert main([*words, "--title", "Loans & more"]) == 0
    page = Path("r.html").read_text(encoding="utf-8")
    assert "Loans &amp; more" in page
    assert "gstar-fast solve s.gstar --limit equalized_odds=0.02" in page
    capsys.readouterr()
    assert main(["report", "s.gstar", "--thresholds", "t.json", "-o", "again.html"]) == 0
    assert "again.html" in capsys.readouterr().out
    assert Path("again.html").read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html>")
    gf.Decider({"F": 0.0, "M": 0.0}).save("bare.json")
    assert "has thresholds alone" in fails(capsys, 1, "report", "s.gstar", "--thresholds", "bare.json", "-o", "b.html")
    gf.Sketch.from_rows([0.1, 0.9], [0, 1], ["F", "M"]).save("other.gstar")
    assert fails(capsys, 1, "report", "other.gstar", "--thresholds", "t.json", "-o", "b.html")
    assert not Path("b.html").exists()


# ----------------------------------------------------------------------------------------------- demo, info, completion


def test_demo_runs_the_whole_road(here, capsys):
    assert main(["demo", "--rows", "4000", "--folder", "demo"]) == 0
    printed = capsys.readouterr().out
    for word in ("sketch", "solve", "apply", "audit"):
        assert f"$ gstar-fast {word} " in printed
    assert "The report to read: demo/report.html" in printed
    assert Path("demo/report.html").exists()
    assert main(["demo", "--rows", "4000", "--folder", "demo", "--json"]) == 0  # its own files are in nobody's way
    assert json.loads(capsys.readouterr().out)["folder"] == "demo"
    Path("demo/precious.txt").write_text("")
    assert "has other files in it (precious.txt)" in fails(capsys, 1, "demo", "--folder", "demo")


def test_info_names_backend_and_versions(here, capsys):
    assert main(["info", "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    assert about["gstar_fast"] == gf.__version__
    assert about["numpy"] == np.__version__
    assert {"backend", "kernel", "processor", "pyarrow"} <= set(about)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command_and_option(here, capsys, shell):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for command in parser.COMMANDS:
        assert command in script
    for word in ("output", "limit", "resume", "equalized_odds", "checkpoint"):
        assert word in script


def test_bash_completes(here, capsys):
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out

    def complete(*words):
        line = " ".join(f"'{word}'" for word in words)
        code = f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _gstar_fast; echo ${{COMPREPLY[@]}}"
        run = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
        assert run.stderr == ""
        return run.stdout.split()

    assert complete("gstar-fast", "sk") == ["sketch"]
    assert complete("gstar-fast", "sketch", "--res") == ["--resume"]
    assert complete("gstar-fast", "solve", "s.gstar", "--limit", "equalized") == ["equalized_odds="]
    assert complete("gstar-fast", "--json", "completion", "z") == ["zsh"]
    assert complete("gstar-fast", "show", "s") == []  # files, which bash itself completes
