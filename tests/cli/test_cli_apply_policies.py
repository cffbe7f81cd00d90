"""`apply` decides unknown groups, missing scores and drawn rows as it is told, and refuses what it cannot decide."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.applied import apply, read, said
from helpers.results import changed

import gstar_fast as gf

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

pytestmark = pytest.mark.usefixtures("saved_thresholds")


def test_groups_are_known_by_how_they_are_written(here):
    """A CSV file has text alone; it means the group that is written so."""
    gf.Decider({1: 0.0, "2": 9.0}, score_column="p", group_column="g").save("t.json")
    Path("in.csv").write_text("p,g\n1,1\n1,2\n")
    apply("in.csv", out="out.csv")
    assert read("out.csv")["decision"] == ["1", "0"]
    gf.Decider({True: 0.0, False: 9.0}, score_column="p", group_column="g").save("t.json")
    Path("in.csv").write_text("p,g\n1,true\n1,FALSE\n1,True\n")
    apply("in.csv", out="out.parquet")
    assert read("out.parquet")["decision"] == [1, 0, 1]


def test_intersections(here, capsys):
    decider = gf.Decider({("a", 1): 0.0, ("b", 2): 9.0}, score_column="p", group_column='"g,1",h')
    decider.save("t.json")
    pq.write_table(pa.table({"p": [1.0, 1.0], "g,1": ["a", "b"], "h": [1, 2]}), "in.parquet")
    apply("in.parquet", out="out.csv")
    assert read("out.csv")["decision"] == ["1", "0"]
    apply("out.csv", out="again.csv", extra=["--replace"])
    assert read("again.csv")["decision"] == ["1", "0"]
    error = said(capsys, 2, "in.parquet", "--thresholds", "t.json", "-o", "o.csv", "--group", "h")
    assert "groups in t.json are made of 2 columns, and --group names 1" in error


def test_a_score_that_stands_for_a_missing_one_is_decided_as_missing(here, capsys):
    """What was skipped when counting must not be decided as a very low, or very high, score."""
    gf.Decider({"a": 0.5}, score_column="p", group_column="g").save("t.json")
    Path("in.csv").write_text("p,g\n0.6,a\n-999,a\n9999,a\n0.4,a\n")
    pq.write_table(pa.table({"p": [1, -999, 9999, 0], "g": list("aaaa")}), "in.parquet")
    both = ["--missing", "-999", "--missing", "9999"]
    for table in ("in.csv", "in.parquet"):
        error = said(capsys, 1, table, "--thresholds", "t.json", "-o", "out.csv", *both)
        assert "has NaN at row 1 (counted from 0)" in error
        apply(table, out="out.csv", extra=[*both, "--nan", "reject"])
        assert read("out.csv")["decision"] == ["1", "0", "0", "0"]
        apply(table, out="out.csv", extra=["--missing", "-999", "--nan", "accept"])
        assert read("out.csv")["decision"] == ["1", "1", "1", "0"]


def test_rows_without_a_group_are_decided_as_the_group_they_are_given(here, capsys):
    """The name that was counted; a group that has no threshold is as unknown as any other."""
    gf.Decider({"a": 0.5, "none": 0.1, -1: 0.9}, score_column="p", group_column="g").save("t.json")
    Path("in.csv").write_text("p,g\n0.6,a\n0.3,\n0.05,\n")
    pq.write_table(pa.table({"p": [0.6, 0.3, 0.05], "g": ["a", None, None]}), "in.parquet")
    for table in ("in.csv", "in.parquet"):
        error = said(capsys, 1, table, "--thresholds", "t.json", "-o", "out.csv")
        assert "is empty in 2 of the 3 rows from row 0 on (the first: row 1)" in error
        assert "drop these or name a group for them with --missing-group" in error
        apply(table, out="out.csv", extra=["--missing-group", "none"])
        assert read("out.csv")["decision"] == ["1", "1", "0"]
        apply(table, out="out.csv", extra=["--missing-group", "-1"])
        assert read("out.csv")["decision"] == ["1", "0", "0"]
        error = said(capsys, 1, table, "--thresholds", "t.json", "-o", "out.csv", "--missing-group", "nobody")
        assert "'nobody'" in error
        apply(table, out="out.csv", extra=["--missing-group", "nobody", "--unknown", "0.2"])
        assert read("out.csv")["decision"] == ["1", "1", "0"]
        error = said(capsys, 2, table, "--thresholds", "t.json", "-o", "out.csv", "--missing-group", "skip")
        assert "apply decides every row, so --missing-group must be the name of a group, not skip" in error


def test_a_missing_part_of_an_intersection_is_decided_as_the_group_it_is_given(here):
    gf.Decider({("a", 1): 0.5, ("?", "?"): 0.1}, score_column="p", group_column="g,h").save("t.json")
    Path("in.csv").write_text("p,g,h\n0.6,a,1\n0.3,,1\n0.3,a,\n0.05,,\n")
    pq.write_table(
        pa.table({"p": [0.6, 0.3, 0.3, 0.05], "g": ["a", None, "a", None], "h": [1, 1, None, None]}), "in.parquet"
    )
    for table in ("in.csv", "in.parquet"):
        apply(table, out="out.csv", extra=["--missing-group", "?"])
        assert read("out.csv")["decision"] == ["1", "1", "1", "0"]


def test_unified_thresholds_need_no_group(here):
    gf.Decider({"a": 0.5, "b": 0.5}, unified=True, score_column="p", group_column="g").save("t.json")
    Path("in.csv").write_text("p\n0.6\n0.4\n")
    apply("in.csv", out="out.csv")
    assert read("out.csv")["decision"] == ["1", "0"]


def test_randomised_thresholds_draw_by_the_key(here, capsys):
    decider = gf.Decider({"a": 0.0}, mixtures={"a": [(0.0, 0.5), (9.0, 0.5)]}, score_column="p", group_column="g")
    decider.save("t.json")
    keys = [*range(50), *(f"0{i}" for i in range(50))]
    Path("in.csv").write_text("p,g,id\n" + "".join(f"1,a,{key}\n" for key in keys))
    error = said(capsys, 2, "in.csv", "--thresholds", "t.json", "-o", "o.csv")
    assert "Pass --key with an ID column" in error
    expected = decider([1.0] * 100, ["a"] * 100, keys=keys).astype(int).tolist()
    assert 20 < sum(expected) < 80
    for target in ("csv", "parquet"):
        apply("in.csv", out=f"out.{target}", extra=["--key", "id"])
        assert [int(x) for x in read(f"out.{target}")["decision"]] == expected
    pq.write_table(pa.table({"p": [1.0] * 50, "g": ["a"] * 50, "id": list(range(50))}), "in.parquet")
    apply("in.parquet", out="out.parquet", extra=["--key", "id"])
    assert read("out.parquet")["decision"] == expected[:50]


def test_unknown_groups_and_missing_scores(here, capsys):
    Path("in.csv").write_text("p,g\n1,a\n1,z\n,a\n")
    words = ["in.csv", "--thresholds", "t.json", "-o", "o.csv"]
    assert (
        "group 'z' at row 1 (counted from 0) has no threshold" in (error := said(capsys, 1, *words)) or "'z'" in error
    )
    assert "--unknown default" in error
    error = said(capsys, 1, *words, "--unknown", "default")
    assert "column 'p' has NaN at row 2 (counted from 0)" in error
    assert "--nan reject or --nan accept" in error
    for nan, last in (("reject", "0"), ("accept", "1")):
        apply("in.csv", out="out.csv", extra=["--unknown", "2", "--nan", nan])
        assert read("out.csv")["decision"] == ["1", "0", last]
    apply("in.csv", out="out.csv", extra=["--unknown", "default", "--nan", "reject"])
    assert read("out.csv")["decision"] == ["1", "1", "0"]


@pytest.mark.parametrize(
    ("text", "extra", "words"),
    [
        ("p,g\n1,\n", [], "column 'g' is empty in 1 of the 1 rows"),
        ("q,g\n1,a\n", [], "in.csv has no column 'p' (--score)"),
        ("p,h\n1,a\n", [], "in.csv has no column 'g' (--group g)"),
        ("p,g,decision\n1,a,1\n", [], "has a column 'decision' already; --replace writes over it"),
        ("p,g,x,x\n1,a,1,2\n", [], "in.csv has more than one column 'x'; rename all but one"),
        ("p,g,id\n1,a,\n", ["--key", "id"], "column 'id' is empty in 1 of the 1 rows from row 0 on"),
        ("p,g\n1,a\n1,a,b\n", [], "rows of different length"),
        ("p,g\nhigh,a\n", [], "column 'p' must hold numbers, found 'high'"),
    ],
)
@pytest.mark.parametrize("target", ["csv", "parquet"])
def test_what_is_wrong_with_a_table(here, capsys, text, extra, words, target):
    Path("in.csv").write_text(text)
    Path(f"out.{target}").write_text("old")
    assert words in said(capsys, 1, "in.csv", "--thresholds", "t.json", "-o", f"out.{target}", *extra)
    assert Path(f"out.{target}").read_text() == "old"
    assert {path.name for path in Path().iterdir()} == {"in.csv", "t.json", f"out.{target}"}


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["in.csv", "-o", "in.csv"], 1, "in.csv is also an input"),
        (["in.csv", "-o", "t.json", "--to", "csv"], 1, "t.json is also an input"),
        (["in.csv", "-o", "out"], 1, "the format of out is not clear from its name"),
        (["in.csv", "-o", "none/out.csv"], 1, "there is no folder none"),
        (["absent.csv", "-o", "out.csv"], 1, "absent.csv does not exist"),
    ],
)
def test_wrong_input_and_output_paths_are_refused(here, capsys, words, code, expected):
    Path("in.csv").write_text("p,g\n1,a\n")
    assert expected in said(capsys, code, *words, "--thresholds", "t.json")
    assert Path("in.csv").read_text() == "p,g\n1,a\n"


def test_thresholds_must_be_good(here, capsys):
    Path("in.csv").write_text("p,g\n1,a\n")
    words = ["in.csv", "-o", "out.csv", "--thresholds", "t.json"]
    text = Path("t.json").read_text()
    Path("t.json").write_text(text.replace("0.25", "0.75"))
    assert "it was changed or damaged" in said(capsys, 1, *words)
    gf.Decider({"a": 1.0}, expires="2001-01-01T00:00:00Z", score_column="p", group_column="g").save("t.json")
    assert "solve again, or give --allow-expired" in said(capsys, 1, *words)
    apply("in.csv", out="out.csv", extra=["--allow-expired"])
    gf.Decider({"a": 1.0}).save("t.json")
    assert "does not name one score column; give --score" in said(capsys, 2, *words)
    assert "does not name one group column; give --group" in said(capsys, 2, *words, "--score", "p")
    apply("in.csv", out="out.csv", extra=["--score", "p", "--group", "g"])


def test_thresholds_that_miss_their_limits_are_refused(here, capsys):
    rows = gf.Sketch.from_rows([0, 1, 2, 3, 0, 1, 2], [0, 1, 1, 1, 0, 0, 1], list("aaaabbb"))
    result = gf.solve(rows, limits={"accuracy_parity": 0.0, "demographic_parity": 0.0})
    assert result.verdict == "infeasible"
    changed(result, score_column="p", group_column="g").save("t.json")
    Path("in.csv").write_text("p,g\n1,a\n")
    words = ["in.csv", "-o", "out.csv", "--thresholds", "t.json"]
    found = said(capsys, 1, *words)
    assert "The thresholds in t.json do not meet their limits" in found
    assert "--allow-infeasible" in found
    assert not Path("out.csv").exists()
    assert "note: 't.json' is infeasible: no thresholds" in said(capsys, 0, *words, "--allow-infeasible")
    assert Path("out.csv").exists()


def test_replace_writes_over_decisions(here):
    Path("in.csv").write_text("decision,p,g\n7,1,a\n8,-1,a\n")
    apply("in.csv", out="out.csv", extra=["--replace"])
    assert Path("out.csv").read_text() == "p,g,decision\n1,a,1\n-1,a,0\n"
