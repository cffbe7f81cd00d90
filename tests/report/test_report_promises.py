"""The report says first what is promised, and does not reassure where nothing is."""

import pytest
from helpers.report_reader import read, synthetic

import gstar_fast as gf


def page_of(result, sketch):
    page = read(gf.report(result, sketch).html)
    box = page.one(id="verdict").one("div", class_="verdict")
    return page, box.attributes["class"].split()[1], box


@pytest.fixture(scope="module")
def large():
    return synthetic(40_000)


def test_a_promise_is_the_first_line(large):
    result = gf.solve(large, limits={"equalized_odds": 0.05}, confidence=0.95)
    assert result.verdict == "promised"
    page, tone, box = page_of(result, large)
    assert tone == "good"
    assert box.one("h2").text == "The limit is promised for new rows, with 95\u00a0% confidence"
    first = box.all("p")[0].text
    assert first.startswith("Promise: equalized odds gap at most 0.05 on new rows, with 95\u00a0% confidence.")
    assert f"the chance of more is {100 * result.promise.chance:.2f}\u00a0%" in first
    assert f"costs {100 * result.promise.cost:.2f}\u00a0% of error" in first
    assert "drift" in first
    assert "expect the equalized odds gap" not in box.text, "one statement about new rows"
    assert "not found on this sketch" not in page.text
    assert "confidence=0.95)" in page.one(id="reproduce").text


@pytest.mark.slow
def test_what_is_not_promised_is_not_green(sketch):
    result = gf.solve(sketch, limits={"equalized_odds": 0.01}, confidence=0.95)
    assert result.verdict == "unpromised"
    _, tone, box = page_of(result, sketch)
    assert tone == "warn"
    assert box.one("h2").text == "The limit is met on the counted rows, but not promised for new ones"
    assert box.all("p")[0].text.startswith(f"Unpromised: {result.message}")


def test_without_a_promise_the_page_is_as_it_was(sketch, result):
    _, _, box = page_of(result, sketch)
    assert box.all("p")[0].text.startswith("Optimal: ")
    assert "Promise" not in box.text


@pytest.mark.parametrize("asked", [{"confidence": 0.95}, {"confidence": 0.8, "randomize": True}])
def test_the_page_says_how_to_find_the_same_thresholds_again(large, asked):
    result = gf.solve(large, limits={"equalized_odds": 0.05}, **asked)
    code = read(gf.report(result, large, frontier=False).html).one(id="reproduce").one("pre").text
    line = next(line for line in code.splitlines() if line.startswith("result = "))
    found = {"gf": gf, "sketch": large}
    exec(line, found)
    assert found["result"] == result
