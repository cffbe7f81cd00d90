"""Every format gives the same sketch, however it is named, cut or piped."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.table_files import COLUMNS, ROWS, count, said, write
from hypothesis import given, settings
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast.__main__ import main
from gstar_fast._cli.tables import arrow as by_pyarrow
from gstar_fast._cli.tables import csv_file as by_hand
from gstar_fast._cli.tables import inputs
from gstar_fast._cli.tables.inputs import Wanted
from gstar_fast._cli.tables.open import blocks_of

NAMES = [
    "t.csv",
    "t.tsv",
    "t.csv.gz",
    "t.csv.bz2",
    "t.csv.zst",
    "t.csv.lz4",
    "t.parquet",
    "t.pq",
    "t.feather",
    "t.arrows",
    "t.arrow",
    "t.ipc",
]


@contextlib.contextmanager
def standard_input(data, monkeypatch):
    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(data))

    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", Stdin)
        yield


@pytest.mark.parametrize("name", NAMES)
def test_every_format_gives_the_same_sketch(here, table, expected, name):
    write(table, name)
    assert count(name) == expected


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.csv.bz2"])
def test_csv_needs_no_pyarrow(here, table, expected, name, monkeypatch):
    write(table, name)
    monkeypatch.setattr(inputs, "has_pyarrow", lambda: False)
    assert count(name) == expected


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
def test_other_formats_say_what_to_install(here, table, name, monkeypatch, capsys):
    write(table, name)
    monkeypatch.setattr(inputs, "has_pyarrow", lambda: False)
    assert "pip install 'gstar-fast[cli]'" in said(capsys, "sketch", name, "-o", "s.gstar", *COLUMNS)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "t.csv.bz2"])
def test_standard_input_is_known_by_its_first_bytes(here, table, expected, name, monkeypatch):
    write(table, name)
    extra = ["--format", "tsv"] if name == "t.tsv" else []
    with standard_input(Path(name).read_bytes(), monkeypatch):
        assert count("-", columns=[*COLUMNS, *extra]) == expected


def test_a_name_that_says_nothing_is_known_by_its_first_bytes(here, table, expected):
    for name in ("t.parquet", "t.arrow", "t.csv"):
        write(table, name)
        Path(name).rename("data")
        assert count("data") == expected
    Path("data").rename("t.parquet")
    assert count("t.parquet", columns=[*COLUMNS, "--format", "csv"]) == expected


def test_blocks_are_cut_anywhere(here, table, expected, arrow, monkeypatch):
    """How a file is cut into blocks changes nothing."""
    for name in ("t.csv", "t.parquet", "t.arrow"):
        write(table, name)
    monkeypatch.setattr(by_pyarrow, "BLOCK_ROWS", 77)
    monkeypatch.setattr(by_hand, "TEXT_ROWS", 77)
    monkeypatch.setattr(by_pyarrow, "CSV_BLOCK", 1_000)
    for name in ("t.csv", *(["t.parquet", "t.arrow"] if arrow else [])):
        assert count(name) == expected


@settings(max_examples=20)
@given(
    cuts=st.lists(st.integers(0, ROWS), max_size=4),
    kinds=st.lists(st.sampled_from(["csv", "parquet", "arrow", "csv.gz"]), min_size=5, max_size=5),
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
    names = [f"g{i % 3}" if i < quotes_from else f'"g\n{i % 3}"' for i in range(300)]
    lines = [f"{i},{i % 2},{name}" for i, name in enumerate(names)]
    text = end.join(["p,y,g", *lines[:100], "", *lines[100:]]) + end * last
    Path("t.csv").write_bytes(text.encode())
    labels = [i % 2 for i in range(300)]
    plain = [name.strip('"') for name in names]
    assert count("t.csv") == gf.Sketch.from_rows(np.arange(300.0), labels, plain)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.arrow", "t.arrows", "t.csv alone"])
@pytest.mark.parametrize("skip", [0, 1, 999, 1_000, 1_001, 2_999, 3_000])
def test_rows_are_skipped_exactly(here, table, name, skip, monkeypatch):
    name, *alone = name.split()
    if alone:
        monkeypatch.setattr(inputs, "has_pyarrow", lambda: False)
    write(table, name)
    [source] = inputs.find_inputs([name], None, None, {})
    columns = [block.columns["p"] for block in blocks_of(source, Wanted(lambda _: ["p"], {"p": "number"}), skip)]
    numbers = [float(value) for column in columns for value in (column if alone else column.tolist())]
    assert numbers == table["p"].to_pylist()[skip:]


@pytest.mark.slow
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


def test_a_sketch_may_go_to_standard_output(here, capfdbinary):
    Path("t.csv").write_text("p,y,g\n0.5,1,a\n")
    assert main(["sketch", "t.csv", "-o", "-", *COLUMNS]) == 0
    assert gf.Sketch.from_bytes(capfdbinary.readouterr().out) == gf.Sketch.from_rows([0.5], [1], ["a"])
