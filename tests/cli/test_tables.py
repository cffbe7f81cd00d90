"""Every format gives the same sketch; every malformed file an error that names it and says what to do."""

from __future__ import annotations

import bz2
import contextlib
import decimal
import gzip
import io
import itertools
import json
import os
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast.__main__ import main
from gstar_fast._cli.tables import arrow as by_pyarrow
from gstar_fast._cli.tables import inputs
from gstar_fast._cli.tables import plain as by_hand
from gstar_fast._cli.tables.columns import name_of_text
from gstar_fast._cli.tables.open import open_table

pa = pytest.importorskip("pyarrow")
import pyarrow.csv as pa_csv  # noqa: E402
import pyarrow.feather as feather  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

COLUMNS = ["--score", "p", "--label", "y", "--group", "g"]
ROWS = 3_000


@pytest.fixture(params=["pyarrow", "without pyarrow"])
def arrow(request, monkeypatch):
    """CSV and NPZ are read with pyarrow and without it."""
    if request.param != "pyarrow":
        monkeypatch.setattr(inputs, "has_pyarrow", lambda: False)
    return request.param == "pyarrow"


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(7)
    labels = random.integers(0, 2, ROWS)
    return pa.table(
        {
            "id": np.arange(ROWS),
            "p": random.normal(size=ROWS).round(3),
            "y": pa.array(labels, pa.int8(), mask=random.random(ROWS) < 0.1),
            "g": np.array(["north, west", 'the "south"', "zoë"])[random.integers(0, 3, ROWS)],
            "old": random.random(ROWS) < 0.5,
        }
    )


@pytest.fixture(scope="module")
def expected(table):
    return gf.Sketch.from_rows(table["p"], table["y"], table["g"])


def npz(table, path):
    columns = {name: table[name].to_numpy() for name in table.column_names}
    columns["g"] = columns["g"].astype(str)
    np.savez_compressed(path, **columns)


def write(table, name):
    """A table in the format of the name."""
    path = Path(name)
    if name.endswith((".csv", ".tsv")):
        sign = "\t" if name.endswith(".tsv") else ","
        pa_csv.write_csv(table, name, pa_csv.WriteOptions(delimiter=sign))
    elif name.endswith(".csv.gz"):
        write(table, "plain.csv")
        path.write_bytes(gzip.compress(Path("plain.csv").read_bytes()))
    elif name.endswith(".csv.bz2"):
        write(table, "plain.csv")
        path.write_bytes(bz2.compress(Path("plain.csv").read_bytes()))
    elif name.endswith((".parquet", ".pq")):
        pq.write_table(table, name, row_group_size=1_000)
    elif name.endswith(".feather"):
        feather.write_feather(table, name, chunksize=700)
    elif name.endswith(".arrows"):
        with pa.ipc.new_stream(name, table.schema) as writer:
            writer.write_table(table, max_chunksize=700)
    elif name.endswith((".arrow", ".ipc")):
        with pa.ipc.new_file(name, table.schema) as writer:
            writer.write_table(table, max_chunksize=700)
    else:
        npz(table, name)


NAMES = [
    "t.csv",
    "t.tsv",
    "t.csv.gz",
    "t.csv.bz2",
    "t.parquet",
    "t.pq",
    "t.feather",
    "t.arrows",
    "t.arrow",
    "t.ipc",
    "t.npz",
]


def count(*inputs, columns=COLUMNS, out="s.gstar", code=0):
    assert main(["sketch", *inputs, "-o", out, *columns, "-q"]) == code
    return gf.Sketch.load(out) if code == 0 else None


@contextlib.contextmanager
def standard_input(data, monkeypatch):
    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(data))

    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", Stdin)
        yield


def said(capsys, *words):
    capsys.readouterr()
    assert main([*words]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) <= 2
    return printed.err


# -------------------------------------------------------------------------------------------------------------- formats


@pytest.mark.parametrize("name", NAMES)
def test_every_format_gives_the_same_sketch(here, table, expected, name):
    write(table, name)
    assert count(name) == expected


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.csv.bz2", "t.npz"])
def test_csv_and_npz_need_no_pyarrow(here, table, expected, name, monkeypatch):
    write(table, name)
    monkeypatch.setattr(inputs, "has_pyarrow", lambda: False)
    assert count(name) == expected


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
def test_other_formats_say_what_to_install(here, table, name, monkeypatch, capsys):
    write(table, name)
    monkeypatch.setattr(inputs, "has_pyarrow", lambda: False)
    assert "pip install 'gstar-fast[arrow]'" in said(capsys, "sketch", name, "-o", "s.gstar", *COLUMNS)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "t.csv.bz2"])
def test_standard_input_is_known_by_its_first_bytes(here, table, expected, name, monkeypatch):
    write(table, name)
    extra = ["--format", "tsv"] if name == "t.tsv" else []
    with standard_input(Path(name).read_bytes(), monkeypatch):
        assert count("-", columns=[*COLUMNS, *extra]) == expected


def test_a_name_that_says_nothing_is_known_by_its_first_bytes(here, table, expected):
    for name in ("t.parquet", "t.arrow", "t.npz", "t.csv"):
        write(table, name)
        Path(name).rename("data")
        assert count("data") == expected
    Path("data").rename("t.parquet")
    assert count("t.parquet", columns=[*COLUMNS, "--format", "csv"]) == expected


def test_folders_and_patterns_stand_for_their_tables(here, table, expected):
    Path("in/deep").mkdir(parents=True)
    for i, name in enumerate(["in/b.parquet", "in/a.csv", "in/deep/c.feather"]):
        write(table.slice(1_000 * i, 1_000), name)
    Path("in/notes.txt").write_text("no table")
    Path("in/.hidden.csv").write_text("no,table")
    Path("in/_SUCCESS.csv").write_text("no,table")
    assert count("in") == expected
    assert count("in/*.parquet", "in/[a-z]*.csv", "in/**/*.feather") == expected


@pytest.fixture
def folder(here, table):
    """A folder with one table, and much besides."""
    Path("in/deep").mkdir(parents=True)
    write(table, "in/a.csv")
    for name in ("b.csv.zst", "notes.txt", "deep/c.jsonl", "_old.csv", "_SUCCESS", ".a.csv.crc", ".DS_Store"):
        Path("in", name).write_text("p,y,g\n")
    Path("in/_temporary").mkdir()
    Path("in/_temporary/d.csv").write_text("p,y,g\n")
    Path("in/gone.csv").symlink_to("nowhere.csv")
    Path("elsewhere").mkdir()
    write(table, "elsewhere/e.csv")
    Path("in/link").symlink_to(Path("elsewhere").resolve())
    return [
        *("in/_old.csv", "in/_temporary/d.csv", "in/b.csv.zst", "in/deep/c.jsonl", "in/gone.csv", "in/link"),
        "in/notes.txt",
    ]


def test_every_file_that_is_passed_over_is_named_with_the_reason(folder, expected, capsys):
    """Markers of other programs are none of the user's business; all that could be rows is."""
    gf.Decider(dict.fromkeys(expected.groups, 0.5), score_column="p", group_column="g").save("t.json")
    for words in (
        ["sketch", "in", "-o", "s.gstar", *COLUMNS],
        ["apply", "in", "--thresholds", "t.json", "-o", "out.csv"],
        ["solve", "in", *COLUMNS],
        ["audit", "in", "--thresholds", "t.json", "--label", "y"],
    ):
        capsys.readouterr()
        assert main(words) == 0
        error = capsys.readouterr().err
        endings = ".csv, .tsv, .parquet, .pq, .arrow, .arrows, .feather, .ipc, .npz (CSV also with .gz, .bz2)"
        files = "in/b.csv.zst, in/deep/c.jsonl, in/notes.txt"
        assert f"note: passed over, since the ending is not one of {endings}: {files}\n" in error
        assert "what begins with . or _ is not data by custom: in/_old.csv, in/_temporary/d.csv\n" in error
        assert "a broken link or a pipe is read only by its own name: in/gone.csv, in/link\n" in error
        assert not any(word in error for word in ("SUCCESS", "crc", "DS_Store"))
    assert gf.Sketch.load("s.gstar") == expected


def test_json_has_all_that_was_passed_over_and_quiet_says_nothing(folder, capsys):
    gf.Decider({"a": 0.5}, unknown=0.5, score_column="p", group_column="g").save("t.json")
    for words in (
        ["sketch", "in", "-o", "s.gstar", *COLUMNS],
        ["apply", "in", "--thresholds", "t.json", "-o", "o.csv"],
    ):
        capsys.readouterr()
        assert main([*words, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["passed_over"] == folder
        assert main([*words, "--quiet"]) == 0
        assert capsys.readouterr() == ("", "")


def test_a_note_names_the_first_of_many_files(here, capsys):
    Path("in").mkdir()
    Path("in/a.csv").write_text("p,y,g\n1,1,a\n")
    for i in range(100):
        Path(f"in/{i:03}.csv.zst").write_text("")
    assert main(["sketch", "in", "-o", "s.gstar", *COLUMNS]) == 0
    assert "in/008.csv.zst, in/009.csv.zst, ... (100 in all)\n" in capsys.readouterr().err
    Path("in/a.csv").unlink()
    error = said(capsys, "sketch", "in", "-o", "s.gstar", *COLUMNS)
    assert "in has no tables in it; looked for .csv" in error
    assert "; it has in/000.csv.zst, " in error


def test_a_folder_that_a_pattern_names_is_not_forgotten(here, table, capsys):
    Path("in/deep").mkdir(parents=True)
    write(table.slice(0, 10), "in/a.csv")
    write(table.slice(10, 10), "in/deep/b.csv")
    assert main(["sketch", "in/*", "-o", "s.gstar", *COLUMNS]) == 0
    assert "passed over, since a folder is read only by its own name, or with /** in the pattern: in/deep" in (
        capsys.readouterr().err
    )
    assert main(["sketch", "in/**", "-o", "s.gstar", *COLUMNS]) == 0
    assert "passed over" not in capsys.readouterr().err


def test_a_folder_that_cannot_be_read_is_an_error(here, table, capsys, monkeypatch):
    Path("in/secret").mkdir(parents=True)
    write(table, "in/a.csv")
    scan = os.scandir

    def refusing(path):
        if str(path).endswith("secret"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert "in/secret cannot be read: Permission denied" in said(capsys, "sketch", "in", "-o", "s.gstar", *COLUMNS)


def test_blocks_are_cut_anywhere(here, table, expected, arrow, monkeypatch):
    """How a file is cut into blocks changes nothing."""
    for name in ("t.csv", "t.npz", "t.parquet", "t.arrow"):
        write(table, name)
    for module in (by_pyarrow, by_hand):
        monkeypatch.setattr(module, "BLOCK_ROWS", 77)
    monkeypatch.setattr(by_hand, "TEXT_ROWS", 77)
    monkeypatch.setattr(by_pyarrow, "CSV_BLOCK", 1_000)
    monkeypatch.setattr(by_pyarrow, "CSV_PIECE", 3_000)
    for name in ("t.csv", "t.npz", *(["t.parquet", "t.arrow"] if arrow else [])):
        assert count(name) == expected


@settings(max_examples=20)
@given(
    cuts=st.lists(st.integers(0, ROWS), max_size=4),
    kinds=st.lists(st.sampled_from(["csv", "parquet", "npz", "arrow", "csv.gz"]), min_size=5, max_size=5),
    seed=st.integers(0, 1_000),
)
def test_any_cut_into_files_of_any_format_in_any_order(tmp_path_factory, table, expected, cuts, kinds, seed):
    folder = tmp_path_factory.mktemp("cut")
    places = [0, *sorted(cuts), ROWS]
    names = []
    with contextlib.chdir(folder):
        for i, (start, end) in enumerate(itertools.pairwise(places)):
            names.append(f"{i}.{kinds[i]}")
            write(table.slice(start, end - start), names[-1])
        np.random.default_rng(seed).shuffle(names)
        assert count(*names) == expected


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("quotes_from", [0, 150, 299, 300])
def test_lines_of_a_csv_may_end_in_every_way(here, arrow, monkeypatch, end, last, quotes_from):
    """Also where quotes, which may hide the end of a line, begin in the middle of the file."""
    monkeypatch.setattr(by_pyarrow, "CSV_BLOCK", 300)
    monkeypatch.setattr(by_pyarrow, "CSV_PIECE", 500)
    names = [f"g{i % 3}" if i < quotes_from else f'"g\n{i % 3}"' for i in range(300)]
    lines = [f"{i},{i % 2},{name}" for i, name in enumerate(names)]
    text = end.join(["p,y,g", *lines[:100], "", *lines[100:]]) + end * last
    Path("t.csv").write_bytes(text.encode())
    labels = [i % 2 for i in range(300)]
    plain = [name.strip('"') for name in names]
    assert count("t.csv") == gf.Sketch.from_rows(np.arange(300.0), labels, plain)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.npz", "t.parquet", "t.arrow", "t.arrows", "t.csv alone"])
@pytest.mark.parametrize("skip", [0, 1, 999, 1_000, 1_001, 2_999, 3_000])
def test_rows_are_skipped_exactly(here, table, name, skip, monkeypatch):
    name, *alone = name.split()
    if alone:
        monkeypatch.setattr(inputs, "has_pyarrow", lambda: False)
    write(table, name)
    reader = open_table(inputs.find_inputs([name])[0])
    numbers = [
        float(value)
        for block in reader.blocks(["p"], skip=skip, kinds={"p": "number"})
        for value in (block.columns["p"] if isinstance(block.columns["p"], list) else block.columns["p"].tolist())
    ]
    reader.close()
    assert numbers == table["p"].to_pylist()[skip:]


# ------------------------------------------------------------------------------------------------------ kinds of values


def typed(columns, name="t.parquet"):
    pq.write_table(pa.table(columns), name)
    return name


P, Y, G = [0.25, 0.5, 0.75, 1.0], [0, 1, 1, 0], ["a", "b", "a", "b"]


@pytest.mark.parametrize(
    "scores",
    [
        pa.array(P, pa.float32()),
        pa.array(P, pa.float16()),
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
    assert count(typed({"p": P, "y": labels, "g": G}), columns=[*COLUMNS, *extra]) == gf.Sketch.from_rows(P, Y, G)


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
    write(table, "t.npz")
    assert count("t.npz", columns=columns) == expected
    write(table, "t.csv")  # where true is the word, not the value
    words = [(g, str(old).lower()) for g, old in zip(table["g"].to_pylist(), table["old"].to_pylist(), strict=True)]
    assert count("t.csv", columns=columns) == gf.Sketch.from_rows(table["p"], table["y"], words)


def test_weights_are_counted(here, arrow):
    Path("t.csv").write_text("p,y,g,w\n0.5,1,a,2\n0.25,0,b,0.5\n")
    expected = gf.Sketch.from_rows([0.5, 0.25], [1, 0], ["a", "b"], weights=[2, 0.5])
    assert count("t.csv", columns=[*COLUMNS, "--weight", "w"]) == expected


@given(st.text(max_size=8))
def test_a_whole_number_becomes_an_int_and_back(text):
    name = name_of_text(text)
    assert str(name) == text
    assert isinstance(name, str) or -(2**63) <= name < 2**63


# ------------------------------------------------------------------------------------------------------ what goes wrong


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
            "column 'g' is empty in 2 of the 3 rows from row 0 on (the first of them: row 1)",
        ),
        (
            "p,y,g\n1,1,a\n,1,a\n",
            "t.csv: column 'p' has NaN at row 1 (counted from 0); drop such rows or give --nan skip",
        ),
        ("p,y,g\n1,1,a\n1e305,1,a\n", "t.csv: column 'p' has 1e+305 at row 1"),
        ('p,y,g\n1,1,a\n0.7,1,"b', "t.csv ends inside quotes"),
        ('p,y,g\n1,1,"a"\n0.7,1,"b\n', "t.csv ends inside quotes"),
        ('p,y,g\n1,1,"a"\n0.7,1,"b""\n', "t.csv ends inside quotes"),
        ('p,y,"g', "t.csv ends inside quotes"),
        ('p,y,g\n1,1,a\n"0,374",1,a\n', "must hold numbers, found '0,374'"),
        ('p,y,g\n1,1,a\n"0,374",1,a\n', "; write numbers with a decimal point: 0.374"),
    ],
)
def test_malformed_csv(here, capsys, arrow, text, words):
    Path("t.csv").write_text(text)
    assert words in said(capsys, "sketch", "t.csv", "-o", "s.gstar", *COLUMNS)
    assert not Path("s.gstar").exists()


def test_a_column_of_identities_is_refused_as_group(here, capsys, arrow):
    Path("t.csv").write_text("p,y,g\n" + "".join(f"1,1,{i}\n" for i in range(70_000)))
    found = said(capsys, "sketch", "t.csv", "-o", "s.gstar", *COLUMNS)
    assert "column 'g' has too many different values to be a group" in found
    assert "memory_limit" not in found


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
    np.savez("t.npz", p=np.zeros(0), y=np.zeros(0, int), g=np.zeros(0, int))
    assert count("t.npz").n_rows == 0


def test_a_parquet_file_without_rows_is_an_empty_sketch(here):
    assert (
        count(
            typed({"p": pa.array([], pa.float32()), "y": pa.array([], pa.int8()), "g": pa.array([], pa.string())})
        ).n_rows
        == 0
    )


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows", "t.npz", "t.csv.gz"])
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


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.npz", "t.csv.gz"])
def test_wrong_magic(here, capsys, name):
    Path(name).write_text("p,y,g\n1,1,a\n" * 20)
    assert f"gstar-fast: {name} cannot be read as" in said(capsys, "sketch", name, "-o", "s.gstar", *COLUMNS)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            {"p": [True, False], "y": [0, 1], "g": [1, 1]},
            "column 'p' must hold numbers, found bool; a decision is no score",
        ),
        ({"p": ["1", "2"], "y": [0, 1], "g": [1, 1]}, "column 'p' must hold numbers, found string"),
        ({"p": [0.1, None], "y": [0, 1], "g": [1, 1]}, "column 'p' has NaN at row 1"),
        ({"p": [0.1, 0.2], "y": [0, 2], "g": [1, 1]}, "column 'y' must be 0 or 1, got 2 at row 1"),
        ({"p": [0.1, 0.2], "y": [0.0, 0.5], "g": [1, 1]}, "column 'y' must hold labels 0 and 1, found '0.0', '0.5'"),
        ({"p": [0.1, 0.2], "y": [0, 1], "g": [1.5, 2]}, "column 'g' must hold whole numbers or text to be a group"),
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


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        (
            {"p": np.zeros(3), "y": np.zeros(2, int), "g": np.zeros(3, int)},
            "arrays differ in length: p has 3, y has 2, g has 3",
        ),
        (
            {"p": np.zeros((3, 2)), "y": np.zeros(3, int), "g": np.zeros(3, int)},
            "array 'p' must be 1-D, got shape (3, 2)",
        ),
        (
            {"p": np.zeros(1), "y": np.zeros(1, int), "g": np.array([None])},
            "array 'g' holds Python objects, which are never unpickled",
        ),
        ({"p": np.zeros(1, complex), "y": np.zeros(1, int), "g": np.zeros(1, int)}, "complex"),
        ({"p": np.zeros(1), "y": np.zeros(1, "datetime64[s]"), "g": np.zeros(1, int)}, "column 'y' must hold labels"),
        ({"p": np.zeros(1), "y": np.zeros(1, int), "g": np.zeros(1)}, "column 'g' must hold whole numbers or text"),
        (
            {"p": np.zeros(1), "y": np.zeros(1, int), "g": np.zeros(1, "datetime64[D]")},
            "to be a group, found datetime64[D]; cut it into ranges where the table is made",
        ),
        (
            {"p": np.array(["1", "0,5"]), "y": np.zeros(2, int), "g": np.zeros(2, int)},
            "found '0,5' at row 1 (counted from 0); write numbers with a decimal point: 0.5",
        ),
    ],
)
def test_malformed_npz(here, capsys, arrays, words):
    np.savez("t.npz", **arrays)
    assert words in said(capsys, "sketch", "t.npz", "-o", "s.gstar", *COLUMNS)


def test_an_npz_that_lies_about_its_length(here, capsys):
    with zipfile.ZipFile("t.npz", "w") as archive:
        for name in ("p", "y", "g"):
            array = io.BytesIO()
            np.save(array, np.zeros(10, int))
            archive.writestr(f"{name}.npy", array.getvalue().replace(b"(10,)", b"(99,)"))
    assert "an array ends before its last row" in said(capsys, "sketch", "t.npz", "-o", "s.gstar", *COLUMNS)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        (["absent.csv"], "absent.csv does not exist"),
        (["scores.cvs"], "scores.cvs does not exist; did you mean 'scores.csv'?"),
        (["none/t.csv"], "none/t.csv does not exist: there is no folder none"),
        (["*.nothing"], "no file matches '*.nothing'"),
        (["empty"], "empty has no tables in it"),
        (["scores.csv", "./scores.csv"], "./scores.csv is given twice"),
        (["scores.csv", "*.csv"], "is given twice"),
    ],
)
def test_inputs_that_are_not_there(here, capsys, inputs, words):
    Path("scores.csv").write_text("p,y,g\n1,1,a\n")
    Path("empty").mkdir()
    assert words in said(capsys, "sketch", *inputs, "-o", "s.gstar", *COLUMNS)


def test_a_pipe_with_a_name_is_read_once(here, table, expected):
    write(table, "t.csv")
    for source in ("<(cat t.csv)", "<(gzip -c t.csv)"):
        words = [sys.executable, "-m", "gstar_fast", "sketch", "SOURCE", "-o", "s.gstar", *COLUMNS]
        subprocess.run(
            ["bash", "-c", shlex.join(words).replace("SOURCE", source)],
            check=True,
            capture_output=True,
            env={**os.environ, "PYTHONPATH": str(Path(gf.__file__).parent.parent)},
        )
        assert gf.Sketch.load("s.gstar") == expected


def test_odd_columns(here, capsys):
    columns = {"p.q": [0.25, 0.5], " y": [0, 1], "a,b\n": ["x", "y"]}
    words = ["--score", "p.q", "--label", " y", "--group", "a,b\n"]
    expected = gf.Sketch.from_rows([0.25, 0.5], [0, 1], ["x", "y"])
    assert count(typed(columns), columns=words) == expected
    pa_csv.write_csv(pa.table(columns), "t.csv")
    assert count("t.csv", columns=words) == expected
    Path("t.csv").write_text("p\x1b[31m,y,g\n1,1,a\n")
    assert "'p\\x1b[31m'" in said(capsys, "sketch", "t.csv", "-o", "s.gstar", *COLUMNS)


def test_odd_names(here):
    text = "p,y,g\n0.5,1,a\n"
    for name in ("-odd.csv", "with space.csv", "[x]*.csv", "ünï.csv"):
        Path(name).write_text(text)
        words = ["sketch", "-o", f"./{name}.gstar", *COLUMNS, "-q", "--", name]
        assert main(words) == 0
        assert gf.Sketch.load(f"{name}.gstar").n_rows == 1


def test_the_output_may_not_be_an_input(here, capsys):
    Path("t.csv").write_text("p,y,g\n0.5,1,a\n")
    Path("link.gstar").symlink_to("t.csv")
    for output in ("t.csv", "./t.csv", "link.gstar"):
        assert "is also an input" in said(capsys, "sketch", "t.csv", "-o", output, *COLUMNS)
    assert Path("t.csv").read_text() == "p,y,g\n0.5,1,a\n"


def test_a_sketch_may_go_to_standard_output(here, capfdbinary):
    Path("t.csv").write_text("p,y,g\n0.5,1,a\n")
    assert main(["sketch", "t.csv", "-o", "-", *COLUMNS]) == 0
    assert gf.Sketch.from_bytes(capfdbinary.readouterr().out) == gf.Sketch.from_rows([0.5], [1], ["a"])


def test_a_wild_score_is_noted_in_our_words(here, capsys):
    Path("t.csv").write_text("p,y,g\n" + "".join(f"0.{i},1,a\n" for i in range(100, 400)) + "1e9,1,a\n")
    assert main(["sketch", "t.csv", "-o", "s.gstar", *COLUMNS]) == 0
    assert "note: the score 1000000000.0 stretches" in (error := capsys.readouterr().err)
    assert "give --range LO HI around the usual scores" in error
    assert main(["sketch", "t.csv", "-o", "s.gstar", *COLUMNS, "--range", "0", "1"]) == 0
    assert capsys.readouterr().err == ""
