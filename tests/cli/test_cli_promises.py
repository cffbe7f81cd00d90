"""`solve --confidence` and `certify` end in 0 where a limit is promised or certified, and in 3 where it is not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import COLUMNS, fails
from helpers.golden import golden

import gstar_fast as gf
from gstar_fast import datasets
from gstar_fast.__main__ import main

KEPT, BROKEN = "equalized_odds=0.2", "equalized_odds=0.01"  # what 4,000 rows can support, and what they cannot


@pytest.fixture
def fresh(here):
    """Rows of the same kind that no thresholds were found on, counted into f.gstar."""
    table = datasets.paper_synthetic(rows=4_000, seed=4)
    sketch = gf.Sketch.from_rows(table.scores, table.labels, np.array(["F", "M"])[table.groups])
    sketch.save("f.gstar")
    return sketch


def test_a_promise_is_printed_saved_and_told_by_the_exit_code(sketch, capsys):
    words = ["solve", "s.gstar", "--limit", KEPT, "--confidence", "0.9"]
    assert main([*words, "-o", "t.json", "--report", "r.html"]) == 0
    printed = capsys.readouterr()
    golden("cli_promised.txt", printed.out)
    expected = gf.solve(sketch, limits={"equalized_odds": 0.2}, confidence=0.9)
    assert expected.verdict == "promised"
    assert gf.Result.load("t.json") == expected
    assert "promised for new rows" in Path("r.html").read_text()
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(expected.to_json())
    assert main(["apply", "scores.csv", "--thresholds", "t.json", "-o", "d.csv", "-q"]) == 0


def test_what_cannot_be_promised_ends_in_3_and_writes_nothing(sketch, capsys):
    Path("t.json").write_text("old")
    words = ["solve", "s.gstar", "--limit", BROKEN, "--confidence", "0.95"]
    assert main([*words, "-o", "t.json", "--report", "r.html"]) == 3
    printed = capsys.readouterr()
    golden("cli_unpromised.txt", printed.out)
    assert "the limits cannot be promised for new rows" in printed.err
    assert "t.json and r.html not written" in printed.err
    assert Path("t.json").read_text() == "old"
    assert not Path("r.html").exists()
    assert main([*words, "-o", "-"]) == 3
    assert capsys.readouterr().out == "", "the next program would take plain thresholds for promised ones"
    assert main([*words, "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["verdict"] == "unpromised"
    assert main(words[:-2]) == 0, "the same limit holds on the counted rows"


def test_unpromised_thresholds_that_python_saved_decide_with_a_note(sketch, capsys):
    gf.solve(sketch, limits={"equalized_odds": 0.01}, confidence=0.95).save("t.json")
    assert main(["apply", "scores.csv", "--thresholds", "t.json", "-o", "d.csv"]) == 0
    assert "note: 't.json' is unpromised: the counts cannot promise" in capsys.readouterr().err


@pytest.mark.parametrize("confidence", ["1", "0.4", "nan", "95"])
def test_a_confidence_that_is_none_is_refused(sketch, capsys, confidence):
    said = fails(capsys, 2, "solve", "s.gstar", "--limit", KEPT, "--confidence", confidence, "-o", "t.json")
    assert "--confidence" in said
    assert not Path("t.json").exists()


def test_a_promise_needs_a_limit(sketch, capsys):
    assert "--limit" in fails(capsys, 2, "solve", "s.gstar", "--confidence", "0.95")


def test_certify_says_whether_fresh_rows_show_that_the_limits_hold(sketch, fresh, capsys):
    assert main(["solve", "s.gstar", "--limit", "equal_opportunity=0.5", "-o", "t.json", "-q"]) == 0
    assert main(["certify", "t.json", "f.gstar", "--confidence", "0.9"]) == 0
    golden("cli_certified.txt", capsys.readouterr().out)
    assert main(["certify", "t.json", "f.gstar", "--exact", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    expected = gf.certify(gf.Result.load("t.json"), fresh, exact=True)
    assert (said["holds"], said["exact"], said["confidence"]) == (True, True, 0.95)
    assert said["upper"] == expected.upper
    assert main(["certify", "t.json", "f.gstar", "--limit", BROKEN]) == 3
    assert capsys.readouterr().out.startswith("not certified: ")


def test_certify_counts_tables_and_takes_thresholds_alone_with_a_limit(sketch, scores, capsys):
    gf.Decider({"F": -0.9, "M": -0.2}).save("t.json")
    words = ["certify", "t.json", "scores.csv", *COLUMNS]
    assert "saved without limits; give --limit" in fails(capsys, 2, *words)
    assert main([*words, "--limit", "equalized_odds=0.3"]) == 0
    assert capsys.readouterr().out.startswith("certified: ")


def test_exact_certificates_need_rows_without_weights(sketch, fresh, capsys):
    table = datasets.paper_synthetic(rows=4_000, seed=4)
    groups = np.array(["F", "M"])[table.groups]
    gf.Sketch.from_rows(table.scores, table.labels, groups, weights=np.full(4_000, 2.0)).save("w.gstar")
    assert main(["solve", "s.gstar", "--limit", KEPT, "-o", "t.json", "-q"]) == 0
    error = fails(capsys, 2, "certify", "t.json", "w.gstar", "--exact")
    assert error == "gstar-fast: --exact needs whole rows, and rows have weights; leave it out\n"
    code = main(["certify", "t.json", "f.gstar"])
    plain = capsys.readouterr().out
    assert main(["certify", "t.json", "w.gstar"]) == code
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "weight" in line] == [
        "note: the fresh rows have a total weight of 8000: they are worth as much as 4000 rows of weight 1"
    ]
    assert lines[-1] == plain.splitlines()[-1]  # the same weight in every row says as much as none


def test_the_frontier_of_promised_gaps(sketch, capsys):
    words = ["frontier", "s.gstar", "--criterion", "equalized_odds", "--confidence", "0.9", "--json"]
    assert main(words) == 0
    said = json.loads(capsys.readouterr().out)
    expected = gf.frontier(sketch, "equalized_odds", confidence=0.9)
    assert said["gap"] == expected.gaps.tolist()
    assert said["error"] == expected.errors.tolist()
