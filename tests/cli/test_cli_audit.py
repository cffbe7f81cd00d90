"""`audit` and `report` say of thresholds and of decisions what the library says of the same rows."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import fails

import gstar_fast as gf
from gstar_fast.__main__ import main
from gstar_fast._cli.output import plain


@pytest.mark.slow
def test_audit_of_thresholds_is_that_of_the_library(sketch, capsys):
    assert main(["solve", "s.gstar", "--limit", "equalized_odds=0.02", "-o", "t.json", "-q"]) == 0
    words = ["audit", "s.gstar", "--thresholds", "t.json", "--replicates", "200", "--confidence", "0.9", "--seed", "5"]
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    expected = gf.audit(gf.Result.load("t.json"), sketch, replicates=200, confidence=0.9, seed=5)
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(expected.to_dict()))
    for ending in ("json", "csv", "html"):
        assert main([*words, "-o", f"a.{ending}", "-q"]) == 0
    assert json.loads(Path("a.json").read_text())["n_rows"] == 4_000
    assert "<h1>Audit of 4,000 rows</h1>" in Path("a.html").read_text()
    table = np.genfromtxt("a.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    tpr = table[(table["group"] == "F") & (table["metric"] == "tpr")]["value"][0]
    assert tpr == expected.rates["F"]["tpr"].value


def test_a_spreadsheet_does_not_read_a_group_as_a_formula(here):
    groups = ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "-1", -2, "+.5", "plain", "a,=b"]
    gf.Sketch.from_rows(np.arange(44) / 44, np.arange(44) // 11 % 2, groups * 4).save("s.gstar")
    gf.Decider(dict.fromkeys(groups, -0.5)).save("t.json")
    assert main(["audit", "s.gstar", "--thresholds", "t.json", "-o", "a.csv", "-q"]) == 0
    with Path("a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    shown = ["'=1+1", "'+x", "'-x", "'@x", "\\u0009x", "\\u000dx", "-1", "-2", "+.5", "plain", "a,=b", ""]
    assert sorted({row["group"] for row in rows}) == sorted(shown)
    assert {row["value"] for row in rows if row["metric"] == "threshold"} == {"-0.5"}


@pytest.mark.slow
def test_audit_and_report_expect_gaps_on_so_many_new_rows(sketch, capsys):
    assert main(["solve", "s.gstar", "--limit", "equalized_odds=0.02", "-o", "t.json", "-q"]) == 0
    there = gf.audit(gf.Result.load("t.json"), sketch, new_rows=300).new_rows["equalized_odds"]
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
    expected = gf.audit({"F": 0.0, "M": 0.0}, sketch)
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


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_decisions_are_read_as_labels_are(here, capsys, kind):
    """Also where labels and decisions have words of their own; advice that is given works."""
    words = {"d": ["yes", "no", "yes", "yes"], "y": ["good", "good", "bad", "bad"], "t": ["true", "false"] * 2}
    columns = {**words, "p": [0.5, 1.0, 0.25, 1.0], "g": ["a", "a", "b", "b"]}
    if kind == "csv":
        Path("d.csv").write_text(
            "\n".join(",".join(map(str, row)) for row in [columns, *zip(*columns.values(), strict=True)])
        )
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


def test_audit_of_decisions_equals_that_of_the_library(here, capsys):
    """Weights and repeats of the lines of a table, without and with both."""
    rng = np.random.default_rng(4)
    columns = {"d": rng.integers(0, 2, 300), "y": rng.integers(0, 2, 300), "g": rng.integers(0, 3, 300)}
    more = {"w": rng.integers(1, 5000, 300) / 16, "n": rng.integers(0, 4, 300)}
    lines = zip(*columns.values(), *more.values(), strict=True)
    Path("d.csv").write_text("d,y,g,w,n\n" + "".join(",".join(map(str, line)) + "\n" for line in lines))
    words = ["audit", "d.csv", "--decision", "d", "--label", "y", "--group", "g", "--json"]
    named = {"weights": ("--weight", "w"), "repeats": ("--repeats", "n")}
    for asked in ((), ("weights",), ("repeats",), ("weights", "repeats")):
        assert main([*words, *(word for name in asked for word in named[name])]) == 0
        shown = json.loads(capsys.readouterr().out)
        d, y, g = columns.values()
        expected = gf.audit(decisions=d, labels=y, groups=g, **{name: more[named[name][1]] for name in asked})
        assert shown == json.loads(json.dumps(plain(expected.to_dict())))


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
