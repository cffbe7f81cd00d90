"""Scores, labels, groups and weights of every kind are read, or refused by column, row and value."""

from __future__ import annotations

import decimal
from pathlib import Path

import numpy as np
import pytest
from helpers.table_files import COLUMNS, count, said, typed, write
from hypothesis import given
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast.__main__ import main
from gstar_fast._cli.tables.columns import name_of_text

pa = pytest.importorskip("pyarrow")
import pyarrow.csv as pa_csv  # noqa: E402

P, Y, G = [0.25, 0.5, 0.75, 1.0], [0, 1, 1, 0], ["a", "b", "a", "b"]


@pytest.mark.parametrize(
    "scores",
    [
        pa.array(P, pa.float32()),
        pa.array(np.array(P, np.float16), pa.float16()),
        pa.array([1, 2, 3, 4], pa.uint8()),
        pa.array([decimal.Decimal(x) for x in ("0.25", "0.50", "0.75", "1.00")]),
        pa.array(P).dictionary_encode(),
    ],
    ids=str,
)
def test_scores_may_be_any_numbers(here, scores):
    values = [float(x) for x in scores.to_pylist()]
    assert count(typed({"p": scores, "y": Y, "g": G})) == gf.Sketch.from_rows(values, Y, G)


@pytest.mark.parametrize(
    ("labels", "extra"),
    [
        (pa.array(Y, pa.int64()), []),
        (pa.array([False, True, True, False]), []),
        (pa.array([0.0, 1.0, 1.0, 0.0]), []),
        (pa.array(Y).dictionary_encode(), []),
        (pa.array(["0", "1", "1", "0"]), []),
        (pa.array([decimal.Decimal(x) for x in "0110"]), []),
        (pa.array(["no", "yes", "yes", "no"]), ["--positive", "yes"]),
        (pa.array(["no", "yes", "yes", "perhaps"]).dictionary_encode(), ["--positive", "yes"]),
        (pa.array(["no", "yes", "yes", "no"], pa.large_string()), ["--positive", "yes"]),
        (pa.array([-1, 1, 1, -1]), ["--positive", "1"]),
        (pa.array([1, 2, 2, 1]), ["--positive", "2"]),
        (pa.array([False, True, True, False]), ["--positive", "true"]),
    ],
    ids=str,
)
def test_labels_may_be_written_in_many_ways(here, labels, extra):
    found = count(typed({"p": P, "y": labels, "g": G}), columns=[*COLUMNS, *extra])
    assert found == gf.Sketch.from_rows(P, Y, G)._remember(found.columns, found.positive)
    assert (found.positive is None) == (not extra)


@pytest.mark.parametrize(
    "labels",
    [
        pa.array([0, None, 1, 0], pa.int8()),
        pa.array([False, None, True, False]),
        pa.array([0.0, float("nan"), 1.0, None]),
        pa.array(["0", "", "1", "0"]),
        pa.array(["0", None, "1", "0"]),
        pa.array([0, None, 1, 0]).dictionary_encode(),
    ],
    ids=str,
)
def test_a_missing_label_counts_as_unlabelled(here, labels):
    expected = [0, None, 1, None if labels.to_pylist()[3] is None else 0]
    assert count(typed({"p": P, "y": labels, "g": G})) == gf.Sketch.from_rows(P, expected, G)
    nothing = pa.nulls(4)
    assert count(typed({"p": P, "y": nothing, "g": G})) == gf.Sketch.from_rows(P, None, G)
    assert count("t.parquet", columns=["--score", "p", "--group", "g", "--no-label"]) == gf.Sketch.from_rows(P, None, G)


@pytest.mark.parametrize(
    "groups",
    [
        pa.array([7, -8, 7, -8], pa.int16()),
        pa.array([True, False, True, False]),
        pa.array(G),
        pa.array(G, pa.large_string()),
        pa.array(G).dictionary_encode(),
        pa.array([7, 8, 7, 8]).dictionary_encode(),
        pa.array(["7", "8", "7", "8"]),
    ],
    ids=str,
)
def test_groups_keep_their_kind(here, groups):
    sketch = count(typed({"p": P, "y": Y, "g": groups}))
    assert sketch == gf.Sketch.from_rows(P, Y, groups.to_pylist())
    assert {type(name) for name in sketch.groups} == {type(groups.to_pylist()[0])}


@pytest.mark.parametrize("kind", [pa.string_view(), pa.dictionary(pa.int8(), pa.large_string())], ids=str)
def test_arrow_has_more_kinds_of_text(here, kind):
    table = pa.table({"p": P, "y": Y, "g": pa.array(G).cast(kind)})
    with pa.ipc.new_file("t.arrow", table.schema) as writer:
        writer.write_table(table)
    assert count("t.arrow") == gf.Sketch.from_rows(P, Y, G)


def test_text_of_a_csv_is_understood_value_by_value(here, arrow):
    Path("t.csv").write_text(
        "p,y,g\n" + "".join(f"0.5,1,{g}\n" for g in ("7", "-8", "007", "NA", "1.0", "x", "+3", "-0"))
    )
    assert count("t.csv").groups == (-8, 7, "+3", "-0", "007", "1.0", "NA", "x")


def test_missing_values_of_a_csv(here, arrow):
    Path("t.csv").write_text("p,y,g\n0.5,,a\n0.25,NA,a\n,1,a\nNaN,1,a\nnull,0,a\n1,null,a\n")
    sketch = count("t.csv", columns=[*COLUMNS, "--nan", "skip"])
    assert sketch.skipped == 3
    assert sketch.n_rows == sketch.unlabelled.sum() == 3


def test_several_columns_of_groups_make_intersections(here, table, arrow):
    expected = gf.Sketch.from_rows(
        table["p"], table["y"], list(zip(*(table[n].to_pylist() for n in ("g", "old")), strict=True))
    )
    columns = [*COLUMNS, "--group", "old"]
    if arrow:
        write(table, "t.parquet")
        assert count("t.parquet", columns=columns) == expected
    write(table, "t.csv")  # where true is the word, not the value
    words = [(g, str(old).lower()) for g, old in zip(table["g"].to_pylist(), table["old"].to_pylist(), strict=True)]
    assert count("t.csv", columns=columns) == gf.Sketch.from_rows(table["p"], table["y"], words)


def test_weights_are_counted(here, arrow):
    Path("t.csv").write_text("p,y,g,w\n0.5,1,a,2\n0.25,0,b,0.5\n")
    expected = gf.Sketch.from_rows([0.5, 0.25], [1, 0], ["a", "b"], weights=[2, 0.5])
    assert count("t.csv", columns=[*COLUMNS, "--weight", "w"]) == expected


def test_repeats_are_rows(here, arrow):
    Path("t.csv").write_text("p,y,g,h,w,n\n0.5,1,a,x,2,3\n0.25,0,b,y,0.5,1\n0.75,1,a,y,7,0\n")
    rows, often = ([0.5, 0.25], [1, 0]), [3, 1]
    named = gf.Sketch.from_rows(*rows, ["a", "b"], repeats=often)
    assert count("t.csv", columns=[*COLUMNS, "--repeats", "n"]) == named
    assert named == gf.Sketch.from_rows([0.5, 0.5, 0.5, 0.25], [1, 1, 1, 0], list("aaab"))
    both = ["--weight", "w", "--repeats", "n"]
    assert count("t.csv", columns=[*COLUMNS, *both]) == gf.Sketch.from_rows(
        *rows, ["a", "b"], weights=[2, 0.5], repeats=often
    )
    crossed = count("t.csv", columns=[*COLUMNS, "--group", "h", *both])
    assert crossed == gf.Sketch.from_rows(*rows, [("a", "x"), ("b", "y")], weights=[2, 0.5], repeats=often)


@given(st.text(max_size=8))
def test_a_whole_number_becomes_an_int_and_back(text):
    name = name_of_text(text)
    assert str(name) == text
    assert isinstance(name, str) or -(2**63) <= name < 2**63


# ------------------------------------------------------------------------------------------------------ what goes wrong


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            {"p": [True, False], "y": [0, 1], "g": [1, 1]},
            "column 'p' must hold numbers, found bool; a decision is not a score",
        ),
        ({"p": ["1", "2"], "y": [0, 1], "g": [1, 1]}, "column 'p' must hold numbers, found string"),
        ({"p": [0.1, None], "y": [0, 1], "g": [1, 1]}, "column 'p' has NaN at row 1"),
        ({"p": [0.1, 0.2], "y": [0, 2], "g": [1, 1]}, "column 'y' must be 0 or 1, got 2 at row 1"),
        ({"p": [0.1, 0.2], "y": [0.0, 0.5], "g": [1, 1]}, "column 'y' must hold labels 0 and 1, found '0.0', '0.5'"),
        (
            {"p": [0.1, 0.2], "y": [0, 1], "g": [1.5, 2]},
            "column 'g' is double; groups must be integers or text",
        ),
        ({"p": [0.1, 0.2], "y": [0, 1], "g": ["a", None]}, "column 'g' is empty in 1 of the 2 rows"),
        ({"p": [0.1, 0.2], "y": [0, 1], "g": [None, 4]}, "column 'g' is empty in 1 of the 2 rows"),
        ({"p": [[1.0], [2.0]], "y": [0, 1], "g": [1, 1]}, "column 'p' must hold numbers, found list"),
    ],
)
def test_wrong_kinds_of_values(here, capsys, columns, words):
    assert words in said(capsys, "sketch", typed(columns), "-o", "s.gstar", *COLUMNS)


def test_a_positive_label_that_never_comes_is_a_mistake(here, capsys, arrow):
    Path("t.csv").write_text("p,y,g\n1,yes,a\n1,no,a\n")
    error = said(capsys, "sketch", "t.csv", "-o", "s.gstar", *COLUMNS, "--positive", "Yes")
    assert "no row has the label 'Yes' (--positive); found 'no', 'yes'" in error


@pytest.mark.slow
def test_a_column_of_identities_is_refused_as_group(here, capsys, arrow):
    Path("t.csv").write_text("p,y,g\n" + "".join(f"1,1,{i}\n" for i in range(70_000)))
    found = said(capsys, "sketch", "t.csv", "-o", "s.gstar", *COLUMNS)
    assert "column 'g' has too many different values to be a group" in found
    assert "memory_limit" not in found


def test_odd_columns(here, capsys):
    columns = {"p.q": [0.25, 0.5], " y": [0, 1], "a,b\n": ["x", "y"]}
    words = ["--score", "p.q", "--label", " y", "--group", "a,b\n"]
    expected = gf.Sketch.from_rows([0.25, 0.5], [0, 1], ["x", "y"])
    assert count(typed(columns), columns=words) == expected
    pa_csv.write_csv(pa.table(columns), "t.csv")
    assert count("t.csv", columns=words) == expected
    Path("t.csv").write_text("p\x1b[31m,y,g\n1,1,a\n")
    assert "its columns: p\\u001b[31m, y" in said(capsys, "sketch", "t.csv", "-o", "s.gstar", *COLUMNS)


def test_a_wild_score_is_noted_in_our_words(here, capsys):
    rows = "".join(f"0.{i},{i % 2},{'ab'[i // 2 % 2]}\n" for i in range(100, 401))
    Path("t.csv").write_text(f"p,y,g\n{rows}1e30,1,a\n")
    assert main(["sketch", "t.csv", "-o", "s.gstar", *COLUMNS]) == 0
    assert capsys.readouterr().err == ""  # no threshold is asked for yet
    assert main(["solve", "s.gstar"]) == 0
    assert "note: one bin, from 0 to" in (error := capsys.readouterr().err)
    assert "Give --bins 16384, --range LO HI around the scores that matter, --missing" in error
    assert main(["solve", "t.csv", *COLUMNS, "--range", "0", "1"]) == 0
    assert "note: one bin" not in capsys.readouterr().err
