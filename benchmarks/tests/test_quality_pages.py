"""The comparison with other libraries: fair to both sides, and its pages are those of the recorded results."""

import importlib
import re

import numpy as np
import pytest
from helpers.pages import ROOT, table_in
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import harness

RESULTS = ROOT / "benchmarks/results"


@pytest.fixture(scope="module")
def bench():
    """The modules of the study."""
    return {name: importlib.import_module(f"benchmarks.studies.{name}") for name in ("quality_pairs", "quality_tables")}


@pytest.fixture(scope="module")
def report():
    return harness.read_long(RESULTS, "quality")


@pytest.mark.parametrize("page", ["quality", "quality_files"])
def test_pages_are_made_from_the_record(bench, report, page):
    """Nobody edits a page by hand, and tables need no new measurement."""
    assert bench["quality_tables"].pages(report)[page] == (RESULTS / f"{page}.md").read_text()


def test_every_file_has_its_lines(bench, report):
    """The page of benchmarks says that all files are there."""
    text = (RESULTS / "quality_files.md").read_text()
    rows = bench["quality_tables"].rows_of(report["rows"])
    files = {r["file"] for r in rows}
    assert len({f for f in files if "(many)" not in f}) == 50
    for r in rows:
        if "error" in r:
            assert f"{r['error']:.4f} / {r['gap']:.4f}" in text
    for file in files:
        assert f"| {file} " in text


def test_the_summary_has_every_file_before_and_after(bench, report):
    """All seeds stand on the page that the benchmarks name, so that no favourable one can stand for them."""
    lines = (RESULTS / "quality.md").read_text().split("## Every file")[1].splitlines()
    rows = bench["quality_tables"].rows_of(report["rows"])
    before = {(r["file"], r["criterion"]): r for r in rows if r["method"] == "untouched"}
    after = {(r["file"], r["criterion"], r["limit"]): r for r in rows if r["method"] == "ours"}
    found = [line.strip("| ").split("|") for line in lines if re.match(r"\| \w+_s\d", line)]
    assert len(found) == len(before) == 3 * 60
    limits = sorted({limit for *_, limit in after})
    expected = {
        (file, *(f"{r['error']:.4f} / {r['gap']:.4f}" for r in (first, *(after[file, c, x] for x in limits))))
        for (file, c), first in before.items()
    }
    assert {tuple(cell.strip() for cell in line) for line in found} == expected


points = st.lists(
    st.tuples(st.floats(0, 0.3), st.floats(0, 0.5)).map(lambda p: (round(p[0], 3), round(p[1], 3))),
    min_size=4,
    max_size=4,
)


@pytest.mark.parametrize("how", ["held", "left out", "constant", "slope"])
@given(points, points)
def test_neither_side_is_favoured(bench, how, mine, theirs):
    """Swapping two methods swaps the two directions and turns every sign."""
    pairs = bench["quality_pairs"]
    mine, theirs = (tuple(np.array(side).T) for side in (mine, theirs))
    one, two = pairs.both_ways(mine, theirs, how, 0.4)
    swapped_two, swapped_one = pairs.both_ways(theirs, mine, how, 0.4)
    np.testing.assert_allclose(one, -swapped_one)
    np.testing.assert_allclose(two, -swapped_two)


@pytest.mark.parametrize("how", ["held", "left out", "constant", "slope"])
def test_points_of_one_line_are_equal(bench, how):
    """A method that only asked for other limits along the same line is neither better nor worse."""
    gaps = np.array([0.02, 0.04, 0.06, 0.08])
    line = gaps, 0.3 - gaps
    inside = np.array([0.03, 0.05, 0.07, 0.08]), 0.3 - np.array([0.03, 0.05, 0.07, 0.08])
    for way in bench["quality_pairs"].both_ways(inside, line, how, 0.3):
        np.testing.assert_allclose(way[1:], 0, atol=1e-15)


def test_definitions_differ_where_one_side_was_never(bench):
    """The four choices, by hand: mine is at gaps from 0.1 up, theirs has a point at 0.05."""
    mine = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.4, 0.3, 0.2, 0.1])
    to = np.array([0.05, 0.15, 0.5])
    moved = bench["quality_pairs"].moved
    np.testing.assert_allclose(moved(mine, to), [0.4, 0.35, 0.1])
    np.testing.assert_allclose(moved(mine, to, "left out"), [np.nan, 0.35, 0.1])
    np.testing.assert_allclose(moved(mine, to, "constant", 0.5), [0.45, 0.35, 0.1])
    assert bench["quality_pairs"].price(mine) == pytest.approx(1.0)


def test_files_of_one_data_set_count_once(bench):
    """Ten files of one data set are no ten witnesses, and both COMPAS sets are one."""
    over = bench["quality_pairs"].over_data_sets
    few = {"adult_lr_s0": 0.1, "german_lr_s0": 0.3, "compas_lr_s0": 0.1, "compas_aa_lr_s0": 0.3}
    mean, half, sets = over(few)
    assert (mean, sets) == (pytest.approx(0.2), 3)
    assert half == pytest.approx(4.303 * 0.1 / np.sqrt(3), rel=1e-3)
    more = {**few, "adult_lr_s1": 0.1, "adult_hgb_s0": 0.1, "adult_tree_s0": 0.1}
    assert over(more) == pytest.approx(over(few))
    assert np.isnan(over({"adult_lr_s0": 0.1})[1])


CRITERIA = {"equalized odds": "equalized_odds", "demographic parity": "demographic_parity"}


@pytest.mark.parametrize("mark", ["quality", "mixtures"])
def test_the_page_of_quality_quotes_the_record(bench, report, mark):
    """Each line of its tables, and no rival left out."""
    tables = bench["quality_tables"]
    pairs = [p for p in tables.rows_of(report["pairs"]) if "(many)" not in p["file"]]
    lines = table_in("docs/benchmarks/quality.md", mark)
    expected = [pair for pair in tables.AGAINST_OTHERS if pair[0] != "ours, kde"]
    if mark == "mixtures":
        expected = [("ours, randomised", "ours")]
    assert [tuple(line[:3]) for line in lines] == [(c, *told(pair)) for c in CRITERIA for pair in expected]
    for (criterion, *_, error, gap, equal, volume), pair in zip(lines, expected * 2, strict=True):
        here = [p for p in pairs if p["criterion"] == CRITERIA[criterion]]
        _, _, *means = tables.paired(here, *pair)
        assert [error, gap, equal, volume] == [means[0], means[1], means[4], means[8]]


def told(pair):
    """How the page calls two methods."""
    words = {"ours": "single thresholds", "ours, randomised": "mixtures", "oxonfair": "OxonFair"}
    return tuple(words.get(name, name) for name in pair)
