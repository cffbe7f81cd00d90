"""Every malformed file gives an error that names it and says what to do; what is merely odd is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.table_files import COLUMNS, count, said, typed, write

import gstar_fast as gf
from gstar_fast._cli.tables import arrow as by_pyarrow
from gstar_fast._cli.tables import csv_file as by_hand
from gstar_fast._cli.tables import inputs

pa = pytest.importorskip("pyarrow")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "t.csv is empty; a CSV file begins with the names of its columns"),
        ("\n\n", "t.csv is empty"),
        ("q,y,g\n1,1,a\n", "t.csv has no column 'p' (--score)"),
        ("P,y,g\n1,1,a\n", "did you mean 'P'?"),
        ("p;y;g\n1;1;a\n", "is it separated by ';'? Then add --delimiter ';'"),
        ("p,y,g,g\n1,1,a,a\n", "has more than one column 'g'"),
        ("p,y,g\n1,1\n", "t.csv has rows of different length: expected 3 columns, got 2"),
        ("p,y,g\n1,1,a,b\n", "t.csv has rows of different length: expected 3 columns, got 4"),
        ("p,y,g\nhigh,1,a\n", "column 'p' must hold numbers, found 'high'"),
        (
            "p,y,g\n1,yes,a\n1,no,a\n",
            "column 'y' must hold labels 0 and 1, found 'no', 'yes'; say which one is positive: --positive yes",
        ),
        ("p,y,g\n1,-1,a\n1,1,a\n", "--positive 1"),
        (
            "p,y,g\n1,1,a\n1,1,\n1,0,\n",
            "column 'g' is empty in 2 of the 3 rows from row 0 on (the first: row 1)",
        ),
        (
            "p,y,g\n1,1,a\n,1,a\n",
            "t.csv: column 'p' has NaN at row 1 (counted from 0); drop such rows or give --nan skip",
        ),
        ("p,y,g\n1,1,a\n1e305,1,a\n", "t.csv: column 'p' has 1e+305 at row 1"),
        ('p,y,g\n1,1,a\n0.7,1,"b', "t.csv ends inside quotes: a value at row 1 (counted from 0) begins with one"),
        ('p,y,g\n1,1,"a"\n0.7,1,"b\n', "t.csv ends inside quotes: a value at row 1 ("),
        ('p,y,g\n1,1,"a"\n0.7,1,"b""\n', "t.csv ends inside quotes: a value at row 1 ("),
        ('p,y,g\n1,1,a\n\n1,1,a\n"0.7,1,b\n1,1,a\n', "t.csv ends inside quotes: a value at row 2 ("),
        ('p,y,"g', "t.csv ends inside quotes: a value among the names of columns"),
        ('p,y,g\n1,1,a\n"0,374",1,a\n', "must hold numbers, found '0,374'"),
        ('p,y,g\n1,1,a\n"0,374",1,a\n', "; write numbers with a decimal point: 0.374"),
    ],
)
def test_malformed_csv(here, capsys, arrow, text, words):
    Path("t.csv").write_text(text)
    assert words in said(capsys, "sketch", "t.csv", "-o", "s.gstar", *COLUMNS)
    assert not Path("s.gstar").exists()


def test_quotes_that_are_not_closed_in_a_long_file_name_their_row(here, capsys, arrow):
    Path("t.csv").write_text("p,y,g\n" + "1,1,a\n" * 1000 + '1,1,"a\n' + "1,1,a\n" * 500_000)
    assert "a value at row 1,000 (counted from 0)" in said(capsys, "sketch", "t.csv", "-o", "s.gstar", *COLUMNS)


def test_a_quote_inside_a_value_stands_for_itself(here, arrow):
    Path("t.csv").write_text('p,y,g\n1,1,5" pipe\n2,0,"6"" pipe"\n3,1,7"\n4,1,5" pipe\n')
    assert count("t.csv").groups == ('5" pipe', '6" pipe', '7"')


def test_a_first_column_without_a_name_is_a_column(here, arrow):
    Path("t.tsv").write_text("\tp\ty\tg\n0\t1\t1\ta\n")
    assert count("t.tsv").n_rows == 1


def test_row_numbers_are_those_of_the_file(here, capsys, arrow, monkeypatch):
    monkeypatch.setattr(by_pyarrow, "BLOCK_ROWS", 10)
    monkeypatch.setattr(by_hand, "TEXT_ROWS", 10)
    Path("t.csv").write_text("p,y,g\n" + "1,1,a\n" * 37 + "nan,1,a\n")
    assert "at row 37 (" in said(capsys, "sketch", "t.csv", "-o", "s.gstar", *COLUMNS)


@pytest.mark.parametrize("raw", [b"\xff\xfep\x00,\x00", b"p,y,g\n1,1,\xff\n", b"\x00" * 100])
def test_csv_that_is_not_utf8_is_refused(here, capsys, arrow, raw):
    Path("t.csv").write_bytes(raw)
    assert "t.csv" in said(capsys, "sketch", "t.csv", "-o", "s.gstar", *COLUMNS)


def test_a_table_without_rows_is_an_empty_sketch(here, arrow):
    Path("t.csv").write_text("p,y,g\n")
    assert count("t.csv").n_rows == 0


def test_a_parquet_file_without_rows_is_an_empty_sketch(here):
    assert (
        count(
            typed({"p": pa.array([], pa.float32()), "y": pa.array([], pa.int8()), "g": pa.array([], pa.string())})
        ).n_rows
        == 0
    )


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows", "t.csv.gz"])
@pytest.mark.parametrize("left", [0.0, 0.3, 0.9, 0.999])
def test_files_cut_short(here, table, capsys, name, left):
    write(table, name)
    raw = Path(name).read_bytes()
    Path(name).write_bytes(raw[: int(left * len(raw))])
    error = said(capsys, "sketch", name, "-o", "s.gstar", *COLUMNS)
    assert f"gstar-fast: {name}" in error
    assert not Path("s.gstar").exists()


def test_an_arrow_file_whose_codes_point_nowhere(here, capsys):
    groups = pa.DictionaryArray.from_arrays(pa.array([0, 1, 77_777], pa.int32()), ["a", "b"], safe=False)
    table = pa.table({"p": [0.1, 0.2, 0.3], "y": [0, 1, 1], "g": groups})
    with pa.ipc.new_file("t.arrow", table.schema) as writer:
        writer.write_table(table)
    assert "t.arrow cannot be read as" in said(capsys, "sketch", "t.arrow", "-o", "s.gstar", *COLUMNS)


def test_a_byte_order_mark_is_not_part_of_the_first_column_name(here, arrow):
    Path("t.csv").write_text("\ufeffp,y,g\n0.5,1,a\n", encoding="utf-8")
    assert count("t.csv") == gf.Sketch.from_rows([0.5], [1], ["a"])


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.csv.gz"])
def test_wrong_magic(here, capsys, name):
    Path(name).write_text("p,y,g\n1,1,a\n" * 20)
    assert f"gstar-fast: {name} cannot be read as" in said(capsys, "sketch", name, "-o", "s.gstar", *COLUMNS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("x0.5,1,a", "column 'p' must hold numbers, found 'x0.5' at row 70,000 (counted from 0)"),
        ("0.5,1", "expected 3 columns, got 2 at row 70,000 (counted from 0)"),
        ("0.5,2,a", "found '0', '1', '2'; the first that is neither is at row 70,000 (counted from 0)"),
        ("0.5,maybe,a", "the first that is neither is at row 70,000 (counted from 0)"),
        ("nan,1,a", "column 'p' has NaN at row 70,000 (counted from 0)"),
    ],
)
def test_errors_name_the_row_of_the_file(here, capsys, monkeypatch, bad, words):
    rows = ["0.5,1,a", "0.25,0,b"] * 35_000
    Path("t.csv").write_text("\n".join(["p,y,g", *rows, bad, *rows[:10]]) + "\n")
    for has_pyarrow in (inputs.has_pyarrow(), False):
        monkeypatch.setattr(inputs, "has_pyarrow", lambda has=has_pyarrow: has)
        assert words in said(capsys, "sketch", "t.csv", "-o", "s.gstar", *COLUMNS)
