"""Deciding without the group, in the paper's comparison: forms that never ask for it, and a page made of records."""

import importlib
from dataclasses import replace

import numpy as np
import pytest
from helpers.pages import ROOT
from paper_records import line_of

from benchmarks.paper.method import Rows, Split

blind = importlib.import_module("benchmarks.paper.blind")
blind_page = importlib.import_module("benchmarks.paper.blind_page")
records_of = importlib.import_module("benchmarks.paper.records")


def made_rows(n, seed):
    """Group 1 scores higher for the same label; q knows the group about."""
    rng = np.random.default_rng(seed)
    a = (rng.random(n) < 0.6).astype(np.uint8)
    y = (rng.random(n) < 0.3 + 0.2 * a).astype(np.uint8)
    score = 1.6 * y + 0.9 * a - 1.3 + rng.normal(size=n)
    q = 1 / (1 + np.exp(-2.5 * (a - 0.5) - rng.normal(size=n)))
    return Rows(score[:, None].astype(np.float32), y, a, score, q)


@pytest.fixture(scope="module")
def split():
    fit, test = made_rows(4_000, 0), made_rows(4_000, 1)
    nobody = Rows(*(np.empty((0, 1)) if name == "X" else np.empty(0) for name in ("X", "y", "a", "score", "q")))
    return Split("made", "lr", "frontier", 0, fit, nobody, test, fit.score, fit.q)


def gap(accepted, rows, criterion):
    labels = {"equalized_odds": (0, 1), "equal_opportunity": (1,), "demographic_parity": (None,)}[criterion]
    found = []
    for label in labels:
        here = np.ones(len(rows), bool) if label is None else rows.y == label
        found.append(abs(accepted[here & (rows.a == 0)].mean() - accepted[here & (rows.a == 1)].mean()))
    return max(found)


@pytest.mark.parametrize("method", blind.METHODS, ids=lambda method: method.name)
def test_the_limit_holds_on_the_fit_rows_and_nobody_asks_for_the_group(method, split):
    for criterion in method.criteria:
        decide = method.fit(split, criterion, {"limit": 0.03})
        unknown = replace(split.fit, a=None, y=np.zeros_like(split.fit.y))
        accepted = decide(unknown, split.oof)
        assert gap(accepted, split.fit, criterion) <= 0.03 + 1e-9
        assert gap((split.oof >= 0).astype(float), split.fit, criterion) > 0.06  # there is something to do
        on_test = decide(replace(split.test, a=None), split.test.score)
        assert gap(on_test, split.test, criterion) < 0.1
        assert ((accepted >= 0) & (accepted <= 1)).all()


def made(lead):
    """LinearPost, and a form of ours that leads by so much."""
    rival = line_of("linear_post_blind", uses_group=False, form="LinearPost", shared=0.01, noise=1e-4)
    base = line_of("baseline", gaps=(0.2,), protocol="paper", uses_group=False)
    return records_of.Records([*rival, *base, *line_of("segments", lead, uses_group=False, shared=0.01, noise=1e-4)])


@pytest.mark.parametrize(("lead", "word"), [(0.01, "better, after Holm too"), (-0.01, "worse, after Holm too")])
def test_the_page_finds_a_difference_that_is_there(lead, word):
    (found,) = blind_page.comparisons(made(lead))
    assert found.difference == pytest.approx(lead, abs=1e-3)
    text = blind_page.page(made(lead))
    assert word in text
    assert "Choices made after seeing results" in text


def test_a_difference_that_is_not_there_is_not_found():
    assert "not told apart" in blind_page.page(made(0.0))


def test_the_recorded_page_is_made_from_the_records():
    """Nobody edits it by hand."""
    recorded = ROOT / "benchmarks/results"
    assert blind_page.page(records_of.load(recorded / "paper.jsonl.gz")) == (recorded / "decide_by.md").read_text()
