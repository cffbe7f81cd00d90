"""Fixtures that tests of the command line share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers import interrupted
from helpers.applied import THRESHOLDS
from helpers.commands import COLUMNS

import gstar_fast as gf
from gstar_fast import datasets
from gstar_fast.__main__ import main
from gstar_fast._cli.tables import csv_file as by_hand
from gstar_fast._cli.tables import inputs


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in: commands are given names as a user gives them, relative."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")  # argparse wraps its help to the terminal
    return tmp_path


@pytest.fixture
def scores(here):
    """A CSV file of the paper's table, and the table itself."""
    table = datasets.paper_synthetic(rows=4_000, seed=3)
    lines = zip(table.scores.astype(str), table.labels, np.array(["F", "M"])[table.groups], strict=True)
    Path("scores.csv").write_text("p,y,sex\n" + "".join(f"{s},{y},{g}\n" for s, y, g in lines))
    return table


@pytest.fixture
def sketch(scores):
    """The same, counted by the command line into s.gstar."""
    assert main(["sketch", "scores.csv", "-o", "s.gstar", *COLUMNS, "--bins", "128", "-q"]) == 0
    return gf.Sketch.load("s.gstar")


@pytest.fixture
def small_blocks(here, monkeypatch, signals):
    """Tables are read in blocks of 100 rows, and signals are heard."""
    pytest.importorskip("pyarrow")
    from gstar_fast._cli.tables import arrow as by_pyarrow

    monkeypatch.setattr(by_pyarrow, "BLOCK_ROWS", 100)
    monkeypatch.setattr(by_hand, "TEXT_ROWS", 100)
    return here


@pytest.fixture(params=["csv", "parquet", "arrow"])
def files(request, small_blocks):
    """Two tables, and the bytes of their sketch."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table = datasets.paper_synthetic(rows=interrupted.ROWS, seed=1)
    names = []
    for i, rows in enumerate((slice(0, 1_250), slice(1_250, interrupted.ROWS))):
        columns = {"score": table.scores[rows], "label": table.labels[rows], "group": table.groups[rows]}
        name = f"{i}.{request.param}"
        if request.param == "csv":
            columns["score"] = columns["score"].astype(float)  # in full, since text has no float32
            lines = zip(*(column.astype(str) for column in columns.values()), strict=True)
            Path(name).write_text("score,label,group\n" + "".join(f"{','.join(line)}\n" for line in lines))
        elif request.param == "parquet":
            pq.write_table(pa.table(columns), name, row_group_size=333)
        else:
            with pa.ipc.new_file(name, pa.table(columns).schema) as writer:
                writer.write_table(pa.table(columns), max_chunksize=333)
        names.append(name)
    whole = pa.table({"score": table.scores, "label": table.labels, "group": table.groups})
    expected = gf.Sketch().update_table(whole, score="score", label="label", group="group")
    return names, expected.to_bytes()


@pytest.fixture
def saved_thresholds(here, monkeypatch):
    """Thresholds to apply, in t.json; tables are read in blocks of 300 rows."""
    pytest.importorskip("pyarrow")
    from gstar_fast._cli.tables import arrow as by_pyarrow

    monkeypatch.setattr(by_pyarrow, "BLOCK_ROWS", 300)
    gf.Decider(THRESHOLDS, default=0.0, score_column="p", group_column="g").save("t.json")


@pytest.fixture(params=["pyarrow", "without pyarrow"])
def arrow(request, monkeypatch):
    """CSV is read with pyarrow and without it."""
    if request.param != "pyarrow":
        monkeypatch.setattr(inputs, "has_pyarrow", lambda: False)
    return request.param == "pyarrow"


@pytest.fixture(scope="module")
def table():
    """A table with missing labels, and groups whose names need quotes."""
    pa = pytest.importorskip("pyarrow")
    from helpers.table_files import ROWS

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
    """Its sketch."""
    return gf.Sketch.from_rows(table["p"], table["y"], table["g"])
