"""The fit of `make scaling` finds a known line, and its page and the docs are those of the record."""

import importlib
import json
import re

import numpy as np
import pytest
from helpers.pages import ROOT

RESULTS = ROOT / "benchmarks/results"


@pytest.fixture(scope="module")
def scaling():
    pytest.importorskip("scipy")
    return importlib.import_module("benchmarks.bench_scaling")


@pytest.fixture(scope="module")
def report():
    return json.loads((RESULTS / "scaling.json").read_text())


def test_a_line_is_found_again(scaling):
    x = np.geomspace(100, 10_000, 7)
    points = [(at, 3e-3 + 2e-7 * at) for at in x]
    made = scaling.line(points)
    assert made.start == pytest.approx(3e-3)
    assert made.each == pytest.approx(2e-7)
    assert made.miss < 1e-12
    points[3] = (points[3][0], 1.2 * points[3][1])
    assert 0.08 < scaling.line(points).miss < 0.2
    assert scaling.power([(at, 5 * at**1.5) for at in x]) == pytest.approx(1.5)


def test_contenders_take_turns(scaling, monkeypatch):
    monkeypatch.setattr(scaling, "SLICE", 0.0)
    order = []
    found = scaling.least({name: lambda name=name: order.append(name) for name in "ab"}, 3)
    assert "".join(order) == "ab" * 4  # the first to warm up
    assert all(0 <= seconds < 1 for seconds in found.values())


def test_rows_are_counted_as_often_as_asked(scaling):
    chunk = scaling.columns(1000)
    assert scaling.counted(chunk, 5000).n_rows == 5000
    assert scaling.counted(chunk, 5000, bins=64).counts.sum() == 5000


def test_pages_are_those_of_the_record(scaling, report):
    assert (RESULTS / "scaling.md").read_text() == scaling.page(report)
    docs = (ROOT / "docs/benchmarks/quality.md").read_text()
    assert f"<!-- scaling -->\n{scaling.said(report)}\n<!-- end of scaling -->" in docs


def test_what_missed_the_goal_is_named(scaling, report):
    """A fit that misses by more than the goal stands among the goals that were missed."""
    missed = {name for name, fit in scaling.fitted(report).items() if fit.miss >= scaling.GOAL}
    goals = (ROOT / "docs/benchmarks/index.md").read_text().split("## Goals that were missed")[1].split("\n## ")[0]
    assert bool(missed) == ("misses its fit" in goals)


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("bench_*.py")), ids=lambda path: path.stem)
def test_every_benchmark_runs_under_pytest_benchmark(path):
    assert re.search(r"^def test_\w+\(benchmark\b", path.read_text(), re.MULTILINE)
