"""Fixtures that tests of the command line share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.commands import COLUMNS

import gstar_fast as gf
from gstar_fast import datasets
from gstar_fast.__main__ import main


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
