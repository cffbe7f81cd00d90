"""`solve` and `frontier` print, save and refuse what the library answers."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import COLUMNS, fails
from helpers.golden import golden

import gstar_fast as gf
from gstar_fast.__main__ import main


def test_solve_prints_the_verdict_and_saves_it(sketch, capsys):
    assert main(["solve", "s.gstar", "--limit", "equalized_odds=0.02", "-o", "t.json"]) == 0
    printed = capsys.readouterr()
    golden("cli_solve.txt", printed.out)
    said, wrote = printed.err.split("gstar-fast: ")[1:]
    assert said.startswith("note: --limit equalized_odds is 0.02, below what chance alone shows")
    assert wrote == "wrote t.json\n"
    expected = gf.solve(sketch, limits={"equalized_odds": 0.02})
    assert gf.Result.load("t.json") == expected
    assert main(["solve", "s.gstar", "--limit", "equalized_odds=0.02", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(expected.to_json())


def test_solve_takes_every_option_of_the_library(sketch, capsys):
    words = ["--penalty", "equalized_odds=10", "--objective", "fp=1,fn=2,balanced", "--json"]
    assert main(["solve", "s.gstar", *words]) == 0
    expected = gf.solve(sketch, penalties={"equalized_odds": 10.0}, objective={"fp": 1, "fn": 2, "balanced": True})
    assert json.loads(capsys.readouterr().out) == json.loads(expected.to_json())
    assert main(["solve", "s.gstar", "--limit", "equalized_odds=0.3", "--unified", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unified"] is True
    assert main(["solve", "s.gstar", "--limit", "equalized_odds=0", "--randomize", "-o", "r.json", "-q"]) == 0
    assert gf.Result.load("r.json").randomized
    smooth = ["--penalty", "equalized_odds=1", "--method", "newton", "--density", "normal", "--json"]
    assert main(["solve", "s.gstar", *smooth]) == 0
    assert json.loads(capsys.readouterr().out)["question"]["density"] == "normal"


def test_one_threshold_for_lack_of_evidence_is_an_answer(here, capsys):
    """The exit code is 0, and the thresholds are written."""
    rng = np.random.default_rng(1)
    labels = (rng.random(6_000) < 0.4).astype(int)
    alike = gf.Sketch.from_rows(rng.normal(size=6_000) + labels, labels, rng.integers(0, 2, 6_000))
    alike.save("s.gstar")
    asked = ["solve", "s.gstar", "--limit", "equalized_odds=0.1"]
    assert main([*asked, "-o", "t.json"]) == 0
    assert capsys.readouterr().out.startswith("unified: the best unified threshold meets the limits with error")
    assert gf.Result.load("t.json") == gf.solve(alike, limits={"equalized_odds": 0.1})
    assert main([*asked, "--evidence", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "optimal"
    said = fails(capsys, 2, *asked, "--evidence", "95")
    assert "--evidence must be at least 0 and below 1, got 95.0; 95 % is 0.95" in said
    assert main(["solve", "s.gstar", "--evidence", "0"]) == 0
    assert "note: no limit was asked for: the " in capsys.readouterr().out


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
    assert (result.origin.score_column, result.origin.group_column) == ("p", "sex")
    assert result.origin.digest == sketch.digest()
    assert main(["solve", "s.gstar", "--score", "p", "--group", "a,b", "--group", 'c"d', "-o", "t.json", "-q"]) == 0
    assert gf.Result.load("t.json").origin.group_column == '"a,b","c""d"'


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
