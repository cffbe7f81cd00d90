"""The names of columns are given once, to `sketch`; all later commands know them. `--missing` skips scores."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import COLUMNS, fails

import gstar_fast as gf
from gstar_fast.__main__ import main
from gstar_fast._cli.tables.columns import Labels, label_name
from gstar_fast._sketch.columns import MIXED, Columns


def write(name, header="p,y,sex", positive="1", rows=40):
    """A table whose scores tell the labels apart, more or less."""
    lines = [f"{i / rows},{positive if i % 3 else 'no' if positive != '1' else 0},{'FM'[i % 2]}" for i in range(rows)]
    Path(name).write_text("\n".join([header, *lines]) + "\n")


@pytest.mark.slow
def test_names_are_given_once(scores, capsys):
    assert main(["sketch", "scores.csv", "-o", "s.gstar", *COLUMNS, "-q"]) == 0
    assert gf.Sketch.load("s.gstar").columns == Columns("p", "y", ("sex",))
    assert main(["solve", "s.gstar", "--limit", "equalized_odds=0.05", "-o", "t.json", "--report", "r.html"]) == 0
    assert "note" not in capsys.readouterr().err
    assert main(["apply", "scores.csv", "--thresholds", "t.json", "-o", "decided.csv", "-q"]) == 0
    assert main(["audit", "s.gstar", "--thresholds", "t.json", "-q"]) == 0
    assert main(["audit", "scores.csv", "--label", "y", "--thresholds", "t.json", "-q"]) == 0
    assert main(["report", "s.gstar", "--thresholds", "t.json", "-o", "r2.html", "-q"]) == 0
    assert (
        main(["frontier", "s.gstar", "--criterion", "equal_opportunity", "--at-gap", "0.5", "--thresholds", "f.json"])
        == 0
    )
    assert gf.Decider.load("f.json").score_column == "p"
    for page in ("r.html", "r2.html"):
        assert "score p, label y, group sex" in Path(page).read_text()
    result = gf.Result.load("t.json")
    assert (result.origin.score_column, result.origin.group_column) == ("p", "sex")
    groups = np.array(["F", "M"])[scores.groups].tolist()
    expected = result.decider()(scores.scores.astype(str).astype(float), groups)
    decided = [line.rsplit(",", 1)[1] for line in Path("decided.csv").read_text().splitlines()[1:]]
    assert decided == [str(int(one)) for one in expected]


def test_show_names_them(scores, capsys):
    assert main(["sketch", "scores.csv", "-o", "s.gstar", *COLUMNS, "--positive", "1", "-q"]) == 0
    assert main(["show", "s.gstar"]) == 0
    assert "columns: score p, label y, group sex; label 1 is 1\n" in capsys.readouterr().out
    assert main(["show", "s.gstar", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["columns"] == {"score": "p", "label": "y", "group": ["sex"]}
    assert told["positive"] == 1


def test_a_table_and_the_same_table_in_python_give_the_same_bytes(scores):
    pl = pytest.importorskip("polars")
    assert main(["sketch", "scores.csv", "-o", "s.gstar", *COLUMNS, "-q"]) == 0
    frame = pl.read_csv("scores.csv")
    assert Path("s.gstar").read_bytes() == gf.Sketch().update_table(frame, score="p", label="y", group="sex").to_bytes()


def test_options_win_over_names(here):
    write("a.csv")
    assert main(["sketch", "a.csv", "-o", "s.gstar", *COLUMNS, "-q"]) == 0
    assert main(["solve", "s.gstar", "-o", "t.json", "--score", "new", "-q"]) == 0
    result = gf.Result.load("t.json")
    assert (result.origin.score_column, result.origin.group_column) == ("new", "sex")
    write("b.csv", header="other,y,gender")
    assert (
        main(["apply", "b.csv", "--thresholds", "t.json", "-o", "d.csv", "--score", "other", "--group", "gender", "-q"])
        == 0
    )


def test_several_groups_are_named_too(here):
    Path("a.csv").write_text(
        "p,y,sex,race\n" + "".join(f"{i / 40},{i % 2},{'FM'[i % 3 > 0]},{i % 5}\n" for i in range(40))
    )
    names = ["--score", "p", "--label", "y", "--group", "sex", "--group", "race"]
    assert main(["sketch", "a.csv", "-o", "s.gstar", *names, "-q"]) == 0
    assert gf.Sketch.load("s.gstar").columns.group == ("sex", "race")
    assert main(["solve", "s.gstar", "-o", "t.json", "-q"]) == 0
    assert main(["apply", "a.csv", "--thresholds", "t.json", "-o", "d.csv", "-q"]) == 0


def test_tables_of_other_names_leave_no_name(here, capsys):
    """Thresholds of rows from differently named columns say so, and `apply` asks for the column."""
    write("a.csv")
    write("b.csv", header="q,y,sex")
    assert main(["sketch", "a.csv", "-o", "s.gstar", *COLUMNS, "-q"]) == 0
    assert main(["sketch", "b.csv", "-o", "s.gstar", "--append", "--score", "q", *COLUMNS[2:], "-q"]) == 0
    assert gf.Sketch.load("s.gstar").columns == Columns(MIXED, "y", ("sex",))
    assert main(["show", "s.gstar"]) == 0
    assert "columns: score (several), label y, group sex\n" in capsys.readouterr().out
    assert main(["show", "s.gstar", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"]["score"] == {"several": True}
    assert main(["solve", "s.gstar", "-o", "t.json"]) == 0
    assert (
        "the rows come from several score columns, so these thresholds name none; give --score"
        in capsys.readouterr().err
    )
    words = ["apply", "a.csv", "--thresholds", "t.json", "-o", "d.csv"]
    assert "does not name one score column; give --score" in fails(capsys, 2, *words)
    assert main([*words, "--score", "p", "-q"]) == 0
    assert main(["solve", "s.gstar", "-o", "t.json", "--score", "p"]) == 0
    assert "several" not in capsys.readouterr().err


def test_the_positive_label_is_kept_and_must_be_one(here, capsys):
    write("a.csv", positive="yes")
    write("b.csv", positive="YES")
    names = [*COLUMNS, "-q", "--positive"]
    assert main(["sketch", "a.csv", "-o", "a.gstar", *names, "yes"]) == 0
    assert main(["sketch", "b.csv", "-o", "b.gstar", *names, "YES"]) == 0
    assert gf.Sketch.load("a.gstar").positive == "yes"
    said = fails(capsys, 1, "merge", "a.gstar", "b.gstar", "-o", "m.gstar")
    assert "b.gstar cannot be merged with a.gstar: " in said
    assert "different positive labels: 'yes' and 'YES', so 1 has two meanings" in said
    assert said.endswith("count one of them again with --positive yes\n")
    before = Path("a.gstar").read_bytes()
    said = fails(capsys, 1, "sketch", "b.csv", "-o", "a.gstar", "--append", *COLUMNS, "--positive", "YES")
    assert "cannot add to a.gstar: " in said
    assert "--positive yes" in said
    assert Path("a.gstar").read_bytes() == before


@pytest.mark.parametrize(("a", "b"), [("1", "1.0"), ("1", "true"), ("TRUE", "1e0"), ("0.50", "0.5"), ("-1", "-1.0")])
def test_labels_that_mean_the_same_are_remembered_alike(a, b):
    values = ["0", "1", "1.0", "true", "TRUE", "0.5", "-1", "-1.00", "x"]
    assert Labels(a).of(list(values), "here").tolist() == Labels(b).of(list(values), "here").tolist()
    assert label_name(a) == label_name(b)
    assert label_name("yes") != label_name("Yes")


def test_merge_says_which_sketch_is_bad(here, capsys):
    write("a.csv")
    assert main(["sketch", "a.csv", "-o", "a.gstar", *COLUMNS, "-q"]) == 0
    assert main(["sketch", "a.csv", "-o", "b.gstar", *COLUMNS, "--bins", "64", "-q"]) == 0
    Path("c.gstar").write_bytes(Path("a.gstar").read_bytes()[:-3])
    assert "c.gstar is not a sketch: " in fails(capsys, 1, "merge", "a.gstar", "c.gstar", "b.gstar", "-o", "m.gstar")
    said = fails(capsys, 1, "merge", "a.gstar", "b.gstar", "-o", "m.gstar")
    assert "b.gstar cannot be merged with a.gstar: " in said
    assert "--bins and --range" in said


def test_repeats_that_are_not_whole_name_the_option_for_weights(here, capsys):
    Path("t.csv").write_text("p,y,sex,w\n0.25,0,F,1\n0.75,1,M,2.5\n")
    error = fails(capsys, 1, "sketch", "t.csv", "-o", "s.gstar", *COLUMNS, "--repeats", "w")
    assert "column 'w' must be whole numbers that are not negative, got 2.5 at row 1 (counted from 0)" in error
    assert error.endswith("for weights of rows use --weight\n")
    assert not Path("s.gstar").exists()


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_missing_scores_are_skipped(here, capsys, form):
    rows = {"p": [0.25, -999.0, 0.75, -1.0, 0.5], "y": [0, 1, 1, 0, 1], "sex": ["F", "X", "M", "Y", "F"]}
    if form == "csv":
        Path("a.csv").write_text(
            "p,y,sex\n" + "".join(f"{p},{y},{g}\n" for p, y, g in zip(*rows.values(), strict=True))
        )
    else:
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        pq.write_table(pa.table(rows), "a.parquet")
    words = ["sketch", f"a.{form}", *COLUMNS, "-q", "-o"]
    assert main([*words, "s.gstar", "--missing", "-999", "--missing", "-1"]) == 0
    sketch = gf.Sketch.load("s.gstar")
    assert (sketch.skipped, sketch.n_rows, sketch.groups) == (2, 3, ("F", "M"))
    crossed = ["sketch", f"a.{form}", *COLUMNS, "--group", "y", "-o", "c.gstar", "-q", "--missing", "-999"]
    assert main(crossed) == 0
    assert gf.Sketch.load("c.gstar").skipped == 1
    assert gf.Sketch.load("c.gstar").columns.group == ("sex", "y")
    assert main(["solve", f"a.{form}", *COLUMNS, "--missing", "-999", "--missing", "-1", "-q"]) == 0
    assert "--missing is for counting tables" in fails(capsys, 2, "solve", "s.gstar", "--missing", "-999")
    assert main([*words, "n.gstar", "--missing", "nan"]) == 0
    assert gf.Sketch.load("n.gstar").skipped == 0


def test_resume_needs_the_same_missing_scores(here, capsys):
    write("a.csv")
    from gstar_fast._cli.resume import Record

    asked = {"score": "p", "label": "y", "group": ["sex"], "nan": "raise", "bins": 4096, "missing": ["-999.0"]}
    Record(asked, [], gf.Sketch()).save(Path("s.gstar.partial"))
    words = ["sketch", "a.csv", "-o", "s.gstar", *COLUMNS, "--resume"]
    assert "was started with missing = ['-999.0'], not None" in fails(capsys, 1, *words)
    assert main([*words, "--missing", "-999", "-q"]) == 0


def test_a_note_on_scores_that_stand_for_none_names_the_option(here, capsys):
    scores = np.random.default_rng(0).normal(size=1000).round(4).tolist()
    lines = [f"{-999 if i % 50 == 0 else x},{int(x > 0)},{'FM'[i % 2]}" for i, x in enumerate(scores)]
    Path("a.csv").write_text("\n".join(["p,y,sex", *lines]) + "\n")
    words = ["sketch", "a.csv", "-o", "s.gstar", *COLUMNS]
    assert main(words) == 0
    assert "give --missing -999: " in capsys.readouterr().err
    assert main([*words, "--missing", "-999"]) == 0
    assert "--missing" not in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------- rows without a group


def _without_groups(kind):
    """The scores, labels and groups of a file in which two of six rows have no group."""
    scores, labels, groups = [0.1, 0.9, 0.4, 0.5, 0.7, 0.2], [0, 1, 1, 0, 1, 0], ["a", None, "a", "7", None, "b"]
    if kind == "t.csv":
        lines = [f"{p},{y},{g or ''}" for p, y, g in zip(scores, labels, groups, strict=True)]
        Path(kind).write_text("\n".join(["p,y,sex", *lines]) + "\n")
        return scores, labels, [7 if g == "7" else g for g in groups]
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"p": scores, "y": labels, "sex": groups}), kind)
    return scores, labels, groups


@pytest.mark.parametrize("without_pyarrow", [False, True])
@pytest.mark.parametrize("kind", ["t.csv", "t.parquet"])
def test_rows_without_a_group_are_skipped_or_named(here, capsys, monkeypatch, kind, without_pyarrow):
    scores, labels, groups = _without_groups(kind)
    if without_pyarrow:
        if kind == "t.parquet":
            pytest.skip("only pyarrow reads it")
        monkeypatch.setattr("gstar_fast._cli.tables.inputs.has_pyarrow", lambda: False)
    error = fails(capsys, 1, "sketch", kind, "-o", "s.gstar", *COLUMNS)
    assert "column 'sex' is empty in 2 of the 6 rows from row 0 on (the first: row 1)" in error
    assert "drop these or name a group for them with --missing-group" in error
    for policy, name in (("skip", "skip"), ("unknown", "unknown"), ("-1", -1), ("7", 7)):
        assert main(["sketch", kind, "-o", "s.gstar", *COLUMNS, "--missing-group", policy, "-q"]) == 0
        assert gf.Sketch.load("s.gstar") == gf.Sketch(missing_group=name).update(scores, labels, groups)
    assert main(["solve", kind, *COLUMNS, "--missing-group", "skip", "-q"]) == 0
    assert main(["sketch", kind, "-o", "s.gstar", *COLUMNS, "--missing-group", "skip"]) == 0
    assert "2 without a score or a group skipped" in capsys.readouterr().out
    error = fails(capsys, 2, "solve", "s.gstar", "--missing-group", "skip")
    assert "--missing-group is for counting tables" in error


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_missing_part_makes_an_intersection_missing(here, kind):
    sexes, ages = ["F", None, "M", "F"], [1, 2, None, 3]
    if kind == "csv":
        Path("t.csv").write_text("p,y,sex,age\n.1,0,F,1\n.2,1,,2\n.3,1,M,\n.4,0,F,3\n")
    else:
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"p": [0.1, 0.2, 0.3, 0.4], "y": [0, 1, 1, 0], "sex": sexes, "age": ages}), "t.parquet")
    pairs = list(zip(sexes, ages, strict=True))
    for policy, name in (("skip", "skip"), ("?", ("?", "?"))):
        argv = ["sketch", f"t.{kind}", "-o", "s.gstar", *COLUMNS, "--group", "age", "--missing-group", policy, "-q"]
        assert main(argv) == 0
        expected = gf.Sketch(missing_group=name).update([0.1, 0.2, 0.3, 0.4], [0, 1, 1, 0], pairs)
        assert gf.Sketch.load("s.gstar") == expected


def test_a_folder_that_names_no_group_is_named(here):
    Path("in/sex=F").mkdir(parents=True)
    Path("in/sex=__HIVE_DEFAULT_PARTITION__").mkdir()
    Path("in/sex=F/a.csv").write_text("p,y\n0.1,0\n0.9,1\n")
    Path("in/sex=__HIVE_DEFAULT_PARTITION__/b.csv").write_text("p,y\n0.3,0\n0.7,1\n")
    assert main(["sketch", "in", "-o", "s.gstar", *COLUMNS, "--missing-group", "unknown", "-q"]) == 0
    expected = gf.Sketch().update([0.1, 0.9, 0.3, 0.7], [0, 1, 0, 1], ["F", "F", "unknown", "unknown"])
    assert gf.Sketch.load("s.gstar") == expected


def test_a_database_skips_and_names_rows_without_a_group(here):
    import sqlite3

    with sqlite3.connect("d.db") as database:
        database.execute("CREATE TABLE t (p REAL, y INT, sex TEXT)")
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", [(0.1, 0, "F"), (0.9, 1, None), (0.4, 1, "F")])
    database.close()
    for name in ("skip", "unknown"):
        argv = ["sketch", "--sql", "sqlite:d.db", "--table", "t", "-o", "s.gstar", *COLUMNS, "--missing-group", name]
        assert main([*argv, "-q"]) == 0
        expected = gf.Sketch(missing_group=name).update([0.1, 0.9, 0.4], [0, 1, 1], ["F", None, "F"])
        assert gf.Sketch.load("s.gstar") == expected


# --------------------------------------------------------------------------------------------------------------- labels


def test_show_and_solve_note_that_every_row_has_the_positive_label(here, capsys):
    Path("t.csv").write_text("p,y,sex\n.1,yes,F\n.2,yes,M\n.3,yes,F\n")
    assert main(["sketch", "t.csv", "-o", "s.gstar", *COLUMNS, "--positive", "yes", "-q"]) == 0
    words = "note: every labelled row has the positive label 'yes' (labels found: 'yes')"
    for argv in (["show", "s.gstar"], ["solve", "s.gstar", "-o", "t.json", "--report", "r.html"]):
        capsys.readouterr()
        assert main(argv) == 0
        assert capsys.readouterr().err.count(words) == 1
    assert main(["show", "s.gstar", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["labels"] == ["yes"]
    write("u.csv", positive="yes")
    assert main(["sketch", "u.csv", "-o", "s.gstar", *COLUMNS, "--positive", "yes", "-q"]) == 0
    assert main(["show", "s.gstar"]) == 0
    assert "every row" not in capsys.readouterr().err


def test_a_sketch_of_python_with_a_misspelled_label_is_noted(here, capsys):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"p": [0.1, 0.2, 0.3], "y": ["yes", "no", "no"], "sex": ["F", "M", "F"]})
    gf.Sketch().update_table(table, score="p", label="y", group="sex", positive="Yes").save("s.gstar")
    assert main(["show", "s.gstar"]) == 0
    assert (
        "note: no row has the positive label 'Yes' (labels found: 'no', 'yes'); count the rows again with "
        "--positive ... for the label that means 1\n" in capsys.readouterr().err
    )


@pytest.mark.usefixtures("small_blocks")
def test_labels_of_all_files_are_listed(capsys):
    for name, label in (("a.csv", "no"), ("b.csv", "maybe"), ("c.csv", " yes ")):
        Path(name).write_text("p,y,sex\n" + f".1,{label},F\n" * 150)
    error = fails(capsys, 1, "sketch", "a.csv", "b.csv", "c.csv", "-o", "s.gstar", *COLUMNS, "--positive", "Yes")
    assert "no row has the label 'Yes' (--positive); found 'maybe', 'no', 'yes'; give the one that means 1" in error
    assert not Path("s.gstar").exists()


def test_a_database_lists_the_labels_too(here, capsys):
    import sqlite3

    with sqlite3.connect("d.db") as database:
        database.execute("CREATE TABLE t (p REAL, y TEXT, sex TEXT)")
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", [(0.1, "no", "F"), (0.9, "yes", "F")])
    database.close()
    error = fails(
        capsys, 1, "sketch", "--sql", "sqlite:d.db", "--table", "t", "-o", "s.gstar", *COLUMNS, "--positive", "Yes"
    )
    assert "table 't': no row has the label 'Yes' (--positive); found 'no', 'yes'" in error
