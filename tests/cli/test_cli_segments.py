"""`solve --fair-between --decide-by`: thresholds by segment, and `apply` that asks for no group."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import fails

import gstar_fast as gf
from gstar_fast.__main__ import main

pytestmark = pytest.mark.filterwarnings(
    "ignore::gstar_fast.errors.DegenerateWarning", "ignore::gstar_fast.errors.OverfitWarning"
)

COUNT = ["--score", "p", "--label", "y", "--group", "sex", "--group", "segment"]
ASK = ["--limit", "equalized_odds=0.05", "--fair-between", "sex", "--decide-by", "segment"]


@pytest.fixture
def table(here):
    """A table with a protected group and a segment, and the thresholds that Python finds."""
    rng = np.random.default_rng(0)
    sex, label, segment = (rng.integers(0, n, 800) for n in (2, 2, 3))
    score = rng.normal(label * 1.5 + 0.6 * sex - 0.3 * segment, 1.0).round(3)
    lines = [f"{p},{y},{'FM'[a]},{s}\n" for p, y, a, s in zip(score, label, sex, segment, strict=True)]
    Path("rows.csv").write_text("p,y,sex,segment\n" + "".join(lines))
    groups = [np.array(["F", "M"])[sex], segment]
    return gf.solve(
        gf.Sketch.from_rows(score, label, groups), limits={"equalized_odds": 0.05}, fair_between=0, decide_by=1
    )


@pytest.mark.parametrize("counted", [False, True])
def test_thresholds_by_segment_are_found_saved_and_applied(table, counted, capsys):
    if counted:
        assert main(["sketch", "rows.csv", "-o", "s.gstar", *COUNT, "-q"]) == 0
    rows = ["s.gstar"] if counted else ["rows.csv", *COUNT]
    assert main(["solve", *rows, *ASK, "-o", "t.json"]) == 0
    assert "segment" in capsys.readouterr().out
    result = gf.Result.load("t.json")
    assert result.thresholds == table.thresholds
    assert (result.question.fair_between, result.question.columns, result.origin.group_column) == (
        ("sex",),
        ("segment",),
        "segment",
    )
    Path("new.csv").write_text("p,segment\n0.1,0\n5,1\n-5,2\n")  # nobody knows the sex
    assert main(["apply", "new.csv", "--thresholds", "t.json", "-o", "d.csv", "-q"]) == 0
    decided = [row["decision"] for row in csv.DictReader(Path("d.csv").read_text().splitlines())]
    assert decided == [str(int(d)) for d in result.decider()([0.1, 5, -5], [0, 1, 2])]


def test_monotone_and_positions(table, capsys):
    assert main(["solve", "rows.csv", *COUNT, *ASK[:2], "--fair-between", "0", "--decide-by", "1", "--monotone"]) == 0
    assert "rising or falling" in capsys.readouterr().out


def test_the_same_column_for_both_is_a_threshold_for_each_group(table):
    words = ["--limit", "equalized_odds=0.05", "--fair-between", "sex", "--decide-by", "sex"]
    assert main(["solve", "rows.csv", *COUNT, *words, "-o", "t.json", "-q"]) == 0
    result = gf.Result.load("t.json")
    assert (list(result.thresholds), result.origin.group_column) == (["F", "M"], "sex")
    assert (result.question.columns, result.question.by_segment) == (("sex",), False)


def test_a_frontier_of_segments_is_printed_saved_and_one_point_taken(table, capsys):
    roles, rows = ASK[2:], ["rows.csv", *COUNT, "--criterion", "equalized_odds"]
    assert main(["frontier", *rows, *roles, "-o", "f.json"]) == 0
    assert "frontier of equalized_odds" in capsys.readouterr().out
    saved = json.loads(Path("f.json").read_text())
    assert saved["groups"] == [0, 1, 2]
    assert all(low <= e for low, e in zip(saved["lower_bound"], saved["error"], strict=True))
    words = ["--at-gap", "0.05", "--thresholds", "t.json", "-q"]
    assert main(["frontier", *rows, *roles, *words]) == 0
    point = gf.Result.load("t.json")
    assert (point.thresholds, point.origin.group_column, point.question.fair_between) == (
        table.thresholds,
        "segment",
        ("sex",),
    )
    said = fails(capsys, 2, "frontier", *rows, *roles[2:])
    assert "--decide-by needs --fair-between too" in said


def test_what_is_wrong_is_said_in_options(table, capsys):
    said = fails(capsys, 2, "solve", "rows.csv", *COUNT, *ASK[:2], *ASK[4:])
    assert "--decide-by needs --fair-between too" in said
    said = fails(capsys, 2, "solve", "rows.csv", *COUNT, *ASK[:4], "--monotone")
    assert "--monotone is about one column of segments" in said
    said = fails(capsys, 2, "solve", "rows.csv", *COUNT, *ASK[:4], "--decide-by", "region")
    assert "--decide-by names 'region', and the group columns of the sketch are 'sex', 'segment'" in said


@pytest.mark.slow
def test_a_report_of_segments_is_written(table, capsys):
    assert main(["solve", "rows.csv", *COUNT, *ASK, "-o", "t.json", "--report", "one.html", "-q"]) == 0
    assert main(["report", "rows.csv", *COUNT, "--thresholds", "t.json", "-o", "two.html"]) == 0
    for page in ("one.html", "two.html"):
        assert "2 groups and 3 segments" in Path(page).read_text()


def test_cut_points_are_saved_with_the_thresholds_and_apply_takes_the_number(table, capsys):
    gf.Segments((0.25, 0.5)).save("cut.json")
    assert main(["solve", "rows.csv", *COUNT, *ASK, "--segments", "cut.json", "-o", "t.json"]) == 0
    assert "rising or falling" in capsys.readouterr().out
    result = gf.Result.load("t.json")
    assert (result.question.cuts, result.question.monotone) == ((0.25, 0.5), True)
    assert main(["solve", "rows.csv", *COUNT, *ASK, "--segments", "cut.json", "--no-monotone", "-o", "f.json"]) == 0
    assert gf.Result.load("f.json").thresholds == table.thresholds
    numbers, scores = [0.1, 0.25, 0.4, 1.0], [0.0, 0.0, 0.5, 0.5]
    lines = [f"{p},{q:g}\n" for p, q in zip(scores, numbers, strict=True)]
    Path("new.csv").write_text("p,q\n" + "".join(lines))
    assert main(["apply", "new.csv", "--thresholds", "t.json", "--group", "q", "-o", "d.csv", "-q"]) == 0
    decided = [row["decision"] for row in csv.DictReader(Path("d.csv").read_text().splitlines())]
    assert decided == [str(int(d)) for d in result.decider()(scores, numbers)]
    assert "give --group, the column of that number" in fails(
        capsys, 2, "apply", "new.csv", "--thresholds", "t.json", "-o", "e.csv"
    )
    Path("new.csv").write_text("p,q\n0.5,0.5\n0.5,NA\n")
    apply = ["apply", "new.csv", "--thresholds", "t.json", "--group", "q", "-o", "e.csv"]
    said = fails(capsys, 1, *apply)
    assert "column 'q' has NaN at row 1 (counted from 0), which lies in no segment" in said
    assert "--unknown default" in said
    assert main([*apply, "--unknown", "default", "-q"]) == 0
    said = fails(capsys, 2, "solve", "rows.csv", *COUNT, *ASK[:2], "--segments", "cut.json")
    assert "--segments is about one column of segments" in said
    said = fails(capsys, 1, "solve", "rows.csv", *COUNT, *ASK, "--segments", "rows.csv")
    assert "'rows.csv': not" in said
    said = fails(capsys, 1, "solve", "rows.csv", *COUNT, *ASK, "--segments", "nowhere.json")
    assert "nowhere.json" in said
    said = fails(capsys, 1, "solve", "rows.csv", *COUNT, *ASK, "--segments", "cut.json", "-o", "cut.json")
    assert "cut.json is also an input" in said


def test_a_typed_column_of_whole_numbers_is_not_taken_for_the_number(table, capsys):
    """It may be the segment itself."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    gf.Decider({0: 0.25, 1: 0.75}, cuts=[0.5]).save("t.json")
    apply = ["--thresholds", "t.json", "--score", "p", "--group", "q", "-o", "d.csv"]
    for kind, dtype in (("float.parquet", pa.float32()), ("whole.parquet", pa.int64())):
        pq.write_table(pa.table({"p": [0.5, 0.5], "q": pa.array([0, 1], dtype)}), kind)
    assert main(["apply", "float.parquet", *apply, "-q"]) == 0
    assert "column 'q' must be given as floats" in fails(capsys, 1, "apply", "whole.parquet", *apply)


def test_audit_and_certify_measure_between_protected_groups(table, capsys):
    assert main(["solve", "rows.csv", *COUNT, *ASK, "-o", "t.json", "-q"]) == 0
    capsys.readouterr()
    assert main(["audit", "rows.csv", "--label", "y", "--thresholds", "t.json", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [group["name"] for group in found["groups"]] == ["F", "M"]
    assert found["gaps"]["equalized_odds"]["value"] == pytest.approx(table.gaps["equalized_odds"])
    certify = ["certify", "t.json", "rows.csv", "--label", "y", "--limit", "equalized_odds=0.3"]
    assert main(certify) == 0
    assert "certified" in capsys.readouterr().out
