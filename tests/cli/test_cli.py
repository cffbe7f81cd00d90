"""The command line about itself: help, usage, errors, options of all commands, demo, info and completion."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import COLUMNS, ENVIRONMENT, completed, fails
from helpers.golden import golden

import gstar_fast as gf
from gstar_fast.__main__ import main
from gstar_fast._cli import parser
from gstar_fast._cli.tables import inputs
from gstar_fast._criteria import CRITERION
from gstar_fast._words import BACKENDS

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


def test_counting_csv_needs_no_pandas(here):
    """pyarrow imports pandas at some of its calls, which takes longer than counting a million rows."""
    pytest.importorskip("pyarrow")
    Path("rows.csv").write_text("p,y,g,n\n0.1,0,F,1\n0.9,1,M,2\n0.3,,F,1\n0.8,0,M,2\n")
    code = (
        "import sys; from gstar_fast.__main__ import main; assert main(sys.argv[1:]) == 0; "
        "print(*sorted({'pandas', 'pyarrow.compute'} & set(sys.modules)), file=sys.stderr)"
    )
    words = ["sketch", "rows.csv", "--score", "p", "--label", "y", "--group", "g", "--group", "n", "-o", "s.gstar"]
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


@pytest.mark.slow
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


# ----------------------------------------------------------------------------------------------- demo, info, completion


@pytest.mark.slow
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


@pytest.mark.parametrize("arrow", [True, False])
def test_a_demo_on_a_full_disk_names_the_file(here, capsys, monkeypatch, arrow):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(inputs, "has_pyarrow", lambda: arrow)
    monkeypatch.setattr(os, "write", full)
    path = f"demo/scores/part-0.{'parquet' if arrow else 'csv'}"
    assert f"{path}: No space left on device" in fails(capsys, 1, "demo", "--rows", "4000", "--folder", "demo")
    assert not list(Path("demo/scores").iterdir())


def test_info_names_backend_and_versions(here, capsys):
    assert main(["info", "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    assert about["gstar_fast"] == gf.__version__
    assert about["numpy"] == np.__version__
    assert {"backend", "kernel", "processor", "pyarrow"} <= set(about)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command_and_option(here, capsys, shell):
    pytest.importorskip("argcomplete")
    assert main(["completion", shell]) == 0
    assert "gstar-fast" in capsys.readouterr().out

    def offered(line):
        asked = {"COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n"}
        asked |= {"_ARGCOMPLETE_SHELL": shell, "_ARGCOMPLETE_STDOUT_FILENAME": "offered.txt", "_ARGCOMPLETE_DFS": "\t"}
        subprocess.run([sys.executable, "-m", "gstar_fast"], check=True, env={**ENVIRONMENT, **asked})
        words = Path("offered.txt").read_text().splitlines()
        return {re.split("[\t:]", word)[0].strip() for word in words}

    assert set(parser.COMMANDS) <= offered("gstar-fast ")
    assert {"--output", "--resume", "--checkpoint"} <= offered("gstar-fast sketch --")
    assert {"--limit", "--penalty"} <= offered("gstar-fast solve --")
    assert {f"{name}=" for name in CRITERION} <= offered("gstar-fast solve s.gstar --limit ")


def test_completion_names_the_package_that_it_needs(here, capsys, monkeypatch):
    for name in ("argcomplete", "argcomplete.shell_integration"):
        monkeypatch.setitem(sys.modules, name, None)
    error = fails(capsys, 1, "completion", "bash")
    assert "completion needs argcomplete, which is not installed; run: pip install 'gstar-fast[cli]'" in error
    monkeypatch.setenv("_ARGCOMPLETE", "1")
    assert main([]) == 1
    assert capsys.readouterr() == ("", "")


def test_bash_completes(here, capsys):
    pytest.importorskip("argcomplete")
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    Path("scores.gstar").touch()
    assert completed(script, "gstar-fast", "sk") == ["sketch"]
    assert completed(script, "gstar-fast", "sketch", "--res") == ["--resume"]
    both = ["equalized_odds=", "equalized_odds_sum="]
    assert completed(script, "gstar-fast", "solve", "s.gstar", "--limit", "equalized") == both
    assert completed(script, "gstar-fast", "--json", "completion", "z") == ["zsh"]
    assert completed(script, "gstar-fast", "show", "s") == ["scores.gstar"]
