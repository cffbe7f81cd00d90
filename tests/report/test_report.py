"""The report as a file: its numbers are those of result, audit and frontier; it is whole, safe, small, reproducible."""

import base64
import hashlib
import itertools
import json
import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
from helpers.golden import golden
from helpers.report_reader import Node, head_of, read, rows_of, synthetic
from helpers.results import changed

import gstar_fast as gf
from gstar_fast._base.text import row_count, short_number

MADE = datetime(2030, 1, 31, 12, 0, tzinfo=UTC)
HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def audit(sketch, result):
    return gf.audit(result, sketch)


@pytest.fixture(scope="module")
def before(sketch, result):
    return gf.audit(dict.fromkeys(result.groups, result.thresholds.default), sketch)


@pytest.fixture(scope="module")
def page(sketch, result):
    return read(gf.report(result, sketch, made=MADE).html)


def interval(estimate, between="\u2009\u2013\u2009"):
    shown = short_number(estimate.value)
    return (
        shown if estimate.low is None else f"{shown} {short_number(estimate.low)}{between}{short_number(estimate.high)}"
    )


# ---------------------------------------------------------------------------------------------------------- numbers


@pytest.mark.slow
def test_thresholds_are_those_of_the_result_with_the_audits_intervals(page, result, audit):
    rows = rows_of(page, "Thresholds and what they do")
    assert [row[0] for row in rows] == ["men", "women"]
    for row in rows:
        at, threshold = audit.rates[row[0]], audit.thresholds[row[0]]
        threshold_words = f"{short_number(result.thresholds[row[0]])} {result.thresholds[row[0]]!r}"
        assert row[1:3] == [row_count(at["rows"].value), threshold_words]  # also to the last digit
        assert row[3] == f"{short_number(threshold.low)} to {short_number(threshold.high)}"
        assert row[4:] == [short_number(at[metric].value) for metric in ("selection_rate", "tpr", "fpr")]


def test_every_gap_is_there_before_and_after_with_its_definition(page, audit, before):
    rows = {row[0]: row[1:] for row in rows_of(page, "Gaps")}
    names = [name for name in audit.gaps if name != "equalized_odds"]
    assert list(rows) == [name.replace("_", " ") for name in ["equalized_odds", *names]]  # what was asked stands first
    for name, estimate in audit.gaps.items():
        row = rows[name.replace("_", " ")]
        assert [*row[1:3], row[-1]] == [interval(before.gaps[name]), interval(estimate), audit.definitions[name]]
        assert name == "equalized_odds" or (row[0], row[3]) == ("-", "-")


@pytest.mark.slow
def test_every_rate_of_every_group_is_there_before_and_after(page, audit, before):
    metrics = [name.replace(" ", "_") for name in head_of(page, "Rates before and after")[2:]]
    assert metrics == [m for m in audit.overall if m != "rows"]
    rows = rows_of(page, "Rates before and after")
    everybody = [*((g, before.rates[g], audit.rates[g]) for g in audit.groups), ("all", before.overall, audit.overall)]
    for k, (name, was, now) in enumerate(everybody):
        assert rows[2 * k] == [name, "before", *(interval(was[m]) for m in metrics)]
        assert rows[2 * k + 1] == ["after", *(interval(now[m]) for m in metrics)]


@pytest.mark.slow
def test_what_was_asked_is_answered(page, result, audit):
    row, expected = rows_of(page, "Gaps")[0], audit.new_rows["equalized_odds"]
    assert [*row[:2], row[4]] == [
        "equalized odds",
        "at most 0.02 met",
        f"{short_number(expected.mean)} 9 of 10 within {short_number(expected.nine_of_ten)}",
    ]
    assert [cell.split()[0] for cell in row[2:4]] == [
        short_number(gaps["equalized_odds"]) for gaps in (result.gaps.before, result.gaps)
    ]
    assert "equalized odds at most 0.02" in page.one(id="asked").text


def test_the_slider_holds_the_frontiers_own_results(page, sketch, result):
    frontier = gf.frontier(sketch, "equalized_odds")
    points = [p.split("\t") for p in json.loads(page.one("script", id="points").text)]
    slider = page.one("input", id="slider")
    assert int(slider.attributes["max"]) == len(points) - 1
    gaps = [float(re.search(r"gap ([\d.e-]+),", p[0])[1]) for p in points]
    assert gaps == sorted(gaps)
    for place in (0, int(slider.attributes["value"]), len(points) - 1):
        said, _, *cells = points[place]
        point = frontier.at(gap=gaps[place] + 5e-5)  # the page has four digits of the gap
        assert f"error rate {short_number(point.error)}" in said
        assert cells[:8] == [
            text
            for group in ("men", "women")
            for at in [point.rates[group]]
            for text in map(short_number, (point.thresholds[group], at.selection_rate, at.tpr, at.fpr))
        ]
        assert cells[8:] == [short_number(x) for x in (point.error, *point.gaps.values())]
    chosen = points[int(slider.attributes["value"])]
    assert chosen[2] == short_number(result.thresholds["men"])
    live = [cell.text for cell in page.one(id="explore").all("td") if "data-cell" in cell.attributes]
    assert live == chosen[2:]  # what is shown without a script


def test_pictures_have_tables_and_say_what_they_are(page):
    for picture in page.all("svg", role="img"):
        title = page.one("title", id=picture.attributes["aria-labelledby"])
        assert title.text.strip()
    captions = [caption.text for caption in page.all("caption")]
    for caption in ("Quantiles of the scores", "24 points of each curve", "Gaps"):
        assert caption in captions
    assert any(caption.endswith("points of the curve") for caption in captions)


def test_roc_table_lies_on_the_curves(page, sketch):
    for name, threshold, fpr, tpr in rows_of(page, "24 points of each curve"):
        for label, shown in ((0, fpr), (1, tpr)):
            exact = 1 - gf.density(sketch, label, name).cdf(float(threshold))
            assert float(shown) == pytest.approx(exact, abs=0.02 if np.isfinite(float(threshold)) else 1e-9)


# --------------------------------------------------------------------------------------------------------- structure


def outline(page):
    """Headings, pictures and tables of a page, with the heads of the tables; numbers that depend on rows are N."""
    lines = []
    for node in page.walk():
        if node.name in ("h1", "h2", "h3"):
            lines.append(f"{'#' * int(node.name[1])} {node.text}")
        elif node.name == "svg" and node.attributes.get("role") == "img":
            lines.append(f"  picture: {node.all('title')[0].text}")
        elif node.name == "table":
            lines.append(f"  table: {node.one('caption').text}: {' | '.join(head_of(page, node.one('caption').text))}")
        elif node.name == "summary":
            lines.append(f"  opens: {node.text}")
    return re.sub(r"-?\d+\.\d+|(?<=table: )\d+", "N", "\n".join(lines) + "\n")


def test_outline_is_the_golden_one(page):
    golden("report_outline.txt", outline(page))


def test_marks_are_whole(page):
    ids = [node.attributes["id"] for node in page.walk() if "id" in node.attributes]
    assert len(ids) == len(set(ids))
    for node in page.walk():
        target = node.attributes.get("href")
        assert target is None or target[1:] in ids, target
        for attribute in ("aria-labelledby", "for"):
            if attribute in node.attributes:
                assert node.attributes[attribute] in ids
    assert page.one("html").attributes["lang"] == "en"
    assert [len(page.all(name)) for name in ("main", "header", "nav", "footer", "h1")] == [1] * 5
    levels = [int(node.name[1]) for node in page.walk() if node.name in ("h1", "h2", "h3")]
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    for table in page.all("table"):
        assert table.all("caption")
        assert all("scope" in th.attributes for th in table.all("th"))


def test_nothing_is_loaded_and_only_its_own_script_and_style_may_run(sketch, result):
    text = gf.report(result, sketch, made=MADE).html
    page = read(text)
    assert "http:" not in text.replace("http-equiv", "")
    assert "https:" not in text
    assert not [node for node in page.walk() if {"src", "srcset", "data", "action", "style"} & node.attributes.keys()]
    assert not page.all("link", "img", "iframe", "object", "embed", "base", "form")
    assert "@import" not in text
    assert "url(" not in text
    assert not [a for node in page.walk() for a in node.attributes if a.startswith("on")]
    policy = page.one("meta", http_equiv="Content-Security-Policy").attributes["content"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for name, nodes in (("style", page.all("style")), ("script", [s for s in page.all("script") if not s.attributes])):
        (node,) = nodes
        digest = base64.b64encode(hashlib.sha256(node.text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy


def test_the_result_inside_is_the_result(page, result):
    read_back = gf.Result.from_json(page.one("script", id="result").text)
    assert read_back == result
    assert read_back.origin.digest == result.origin.digest


def test_notes_digest_versions_and_time_are_shown(page, sketch, result):
    evidence = page.one(id="reproduce").text
    assert sketch.digest() in evidence
    assert f"gstar_fast {gf.__version__}, numpy {np.__version__}" in evidence
    assert "2030-01-31 12:00 UTC" in evidence


# ------------------------------------------------------------------------------------------------------------ safety


@pytest.mark.parametrize("randomize", [False, True])
def test_hostile_names_stay_text(randomize):
    names = (HOSTILE, "b\u202eevil\x00 &amp; " + "x" * 500)
    sketch = synthetic(2_000, names=names)
    result = gf.solve(sketch, limits={"equalized_odds": 0.05}, randomize=randomize)
    text = gf.report(result, sketch, title=HOSTILE, command=f"run {HOSTILE} & go").html
    page = read(text)
    assert not page.all("img")
    assert len(page.all("script")) == 3
    assert page.one("h1").text == HOSTILE
    assert page.one("pre").text == f"run {HOSTILE} & go"
    assert HOSTILE in [row[0] for row in rows_of(page, "Thresholds and what they do")]
    assert "\x00" not in text
    assert "\u202e" not in text
    assert gf.Result.from_json(page.one("script", id="result").text) == result
    assert max(len(node.text) for node in page.all("bdi")) <= 80


def test_names_that_look_alike_are_told_apart():
    scores, labels = [0.1, 0.9, 0.2, 0.8] * 30, [0, 1, 0, 1] * 30
    sketch = gf.Sketch.from_rows(
        scores, labels, [1, "1", ("a", True), ("a", "True")] * 15 + [("a", True), 1, 1, "1"] * 15
    )
    result = gf.solve(sketch)
    shown = [row[0] for row in rows_of(read(gf.report(result, sketch).html), "Thresholds and what they do")]
    assert len(set(shown)) == 4


def test_two_groups_and_a_long_frontier_stay_small():
    sketch = synthetic(400_000)
    result = gf.solve(sketch, limits={"equalized_odds": 0.02})
    assert len(gf.frontier(sketch, "equalized_odds")) > 500
    assert len(gf.report(result, sketch).html.encode()) < 150_000


# ---------------------------------------------------------------------------------------------------- reproducibility


@pytest.mark.every_backend
@pytest.mark.slow
def test_same_input_gives_the_same_bytes_on_every_backend(backend, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1893456000")
    sketch = synthetic(500)
    result = gf.solve(sketch, limits={"equalized_odds": 0.02})
    first, second = (gf.report(result, sketch).html for _ in range(2))
    assert first == second
    assert "2030-01-01 00:00 UTC" in first
    with gf.use_backend("numpy"):
        reference = gf.report(gf.solve(synthetic(500), limits={"equalized_odds": 0.02}), synthetic(500)).html
    assert first.replace(f"backend {backend}", "backend numpy") == reference


@pytest.mark.slow
@pytest.mark.parametrize(
    "question",
    [
        {"limits": {"equalized_odds": 0.02}},
        {"limits": {"demographic_parity": 0.1, "equal_opportunity": 0.05}, "objective": {"fp": 1, "fn": 2.5}},
        {"penalties": {"equalized_odds": 5.0}, "objective": "balanced_error"},
        {"limits": {"equalized_odds": 0.02}, "randomize": True},
        {"limits": {"disparate_impact": 0.8}, "unified": True},
        {"penalties": {"equalized_odds": 5.0}, "density": "kde", "method": "newton"},
        {"objective": {"fp": 1, "fn": 1000}},
    ],
)
def test_the_command_makes_the_page_again(question, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1893456000")
    sketch = synthetic(2_000, names=('it\'s \\ "a"', "b"))
    sketch.save("scores.gstar")
    result = gf.solve(sketch, **question)
    report = gf.report(result, sketch, title='Loans "2030"')
    exec(read(report.html).one("pre").text, {})
    assert Path("report.html").read_text(encoding="utf-8") == report.html


@pytest.mark.slow
def test_the_command_repeats_what_the_caller_chose(tmp_path, monkeypatch, sketch, result):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1893456000")
    sketch.save("scores.gstar")
    audit = gf.audit(result, sketch, confidence=0.9, replicates=200, seed=3)
    frontier = gf.frontier(sketch, "demographic_parity")
    report = gf.report(result, sketch, audit=audit, frontier=frontier)
    assert "90\u00a0% confidence" in report.html
    exec(read(report.html).one("pre").text, {})
    assert Path("report.html").read_text(encoding="utf-8") == report.html
    other = gf.report(result, sketch, frontier=False, criterion="equal_opportunity")
    exec(read(other.html).one("pre").text, {})
    assert Path("report.html").read_text(encoding="utf-8") == other.html


@pytest.mark.slow
def test_the_time_is_given_or_taken_from_the_environment(sketch, result, monkeypatch):
    east = datetime(2030, 1, 31, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    assert "made 2030-01-30 23:30 UTC" in gf.report(result, sketch, made=east, frontier=False).html
    with pytest.raises(ValueError, match="made must have a time zone"):
        gf.report(result, sketch, made=datetime(2030, 1, 1))
    with pytest.raises(TypeError, match="made must be a datetime, got str"):
        gf.report(result, sketch, made="today")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    with pytest.raises(ValueError, match="SOURCE_DATE_EPOCH must be a whole number of seconds since 1970; got 'soon'"):
        gf.report(result, sketch)


def test_it_is_saved_whole_and_shown_in_a_frame(sketch, result, tmp_path):
    report = gf.report(result, sketch, title="<b>", made=MADE, frontier=False)
    report.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_bytes() == report.html.encode()
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(FileNotFoundError):
        report.save(tmp_path / "no such folder" / "page.html")
    frame = read(report._repr_html_()).one("iframe")
    assert frame.attributes["srcdoc"] == report.html
    assert frame.attributes["sandbox"] == "allow-scripts"
    assert repr(report) == f"Report('<b>', {len(report.html.encode()) / 1000:.0f} kB)"


# ------------------------------------------------------------------------------------------------------ wrong questions


@pytest.mark.slow
def test_mismatched_results_sketches_and_audits_are_refused(sketch, result, audit):
    other = synthetic(8_000, seed=2)
    with pytest.raises(
        ValueError, match=f"the result is of another sketch: its digest begins with {sketch.digest()[:12]}"
    ):
        gf.report(result, other)
    unsigned = changed(result, digest=None)
    with pytest.raises(ValueError, match="thresholds for 2 groups, the sketch has 1"):
        gf.report(unsigned, gf.Sketch.from_rows([1.0, 2.0], [0, 1], ["men", "men"]))
    assert "could not be checked" in gf.report(unsigned, sketch, audit=audit, frontier=False).html
    with pytest.raises(ValueError, match=r"audit was made at other thresholds than the result's: group 'men' has 0\.5"):
        gf.report(result, sketch, audit=gf.audit({"men": 0.5, "women": 0.5}, sketch))
    with pytest.raises(ValueError, match="audit covers 2 groups and 2000 rows, the result 2 groups and 8000 rows"):
        gf.report(result, sketch, audit=gf.audit(result.thresholds, synthetic(2_000)))
    with pytest.raises(ValueError, match="before covers 2 groups and 2000 rows"):
        gf.report(result, sketch, before=gf.audit(0.0, synthetic(2_000)))
    with pytest.raises(ValueError, match="the frontier is of another sketch"):
        gf.report(result, sketch, frontier=gf.frontier(other, "equalized_odds"))
    with pytest.raises(ValueError, match="frontier has 2 groups and the result 2, not the same ones"):
        gf.report(result, sketch, frontier=gf.frontier(synthetic(2_000, names=("x", "y")), "equalized_odds"))
    with pytest.raises(ValueError, match="frontier is one of equalized_odds, but criterion is 'equal_opportunity'"):
        gf.report(result, sketch, frontier=gf.frontier(sketch, "equalized_odds"), criterion="equal_opportunity")


def test_wrong_kinds_are_named(sketch, result):
    with pytest.raises(TypeError, match=r"result must be what gf\.solve returns, got dict"):
        gf.report(dict(result.thresholds), sketch)
    with pytest.raises(TypeError, match=r"sketch must be a Sketch, got str; Sketch\.load"):
        gf.report(result, "scores.gstar")
    with pytest.raises(TypeError, match=r"audit must be what gf\.audit returns, got dict"):
        gf.report(result, sketch, audit={})
    with pytest.raises(TypeError, match=r"frontier must be what gf\.frontier returns, or a bool, got str"):
        gf.report(result, sketch, frontier="equalized_odds")
    with pytest.raises(ValueError, match="did you mean 'equalized_odds'"):
        gf.report(result, sketch, criterion="equalised_odds")


def test_the_reader_of_these_tests_finds_broken_marks():
    for broken in ("<p><b></p></b>", "<div>", "<p class='a' class='b'></p>"):
        with pytest.raises(AssertionError):
            read(broken)
    assert isinstance(read("<p>1 &lt; 2</p>").one("p"), Node)
