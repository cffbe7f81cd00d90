"""Reports and figures about thresholds by segment: gaps of protected groups, thresholds and curves of segments."""

import json

import numpy as np
import pytest
from helpers.report_reader import read

import gstar_fast as gf

pytestmark = pytest.mark.filterwarnings(
    "ignore::gstar_fast.errors.DegenerateWarning", "ignore::gstar_fast.errors.OverfitWarning"
)


def sketch_of(rows=4_000, seed=0):
    rng = np.random.default_rng(seed)
    sex, label = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    segment = np.clip(rng.integers(0, 3, rows) + (rng.random(rows) < 0.4) * sex, 0, 2)
    score = rng.normal(label * 1.5 + 0.6 * sex - 0.3 * segment, 1.0)
    return gf.Sketch.from_rows(score, label, [np.array(["F", "M"])[sex], segment], bins=64)


@pytest.fixture(scope="module")
def sketch():
    return sketch_of()


@pytest.mark.slow
@pytest.mark.parametrize("asked", [{"decide_by": gf.Segments(column=1)}, {"randomize": True}])
def test_the_page_has_gaps_of_groups_and_thresholds_of_segments(sketch, asked):
    result = gf.solve(sketch, limits={"equalized_odds": 0.05}, **{"fair_between": 0, "decide_by": 1} | asked)
    made = gf.report(result, sketch)
    page = read(made.html)
    assert "2 groups and 3 segments" in page.text
    rows = page.one(id="thresholds").all("table")[0].one("tbody").all("tr")
    assert [row.all("th", "td")[0].text for row in rows] == ["0", "1", "2"]
    selected = [float(row.all("td")[-3].text) for row in rows]
    assert selected == pytest.approx([at.selection_rate for at in result.rates.by_segment.values()], abs=1e-4)
    assert "The protected group is not needed to decide" in page.one(id="thresholds").text
    names = [head.text for head in page.one(id="rates").all("th", scope="rowgroup")]
    assert names == ["F", "M", "all"]
    gaps = {row.all("th", "td")[0].text: row.text for row in page.one(id="gaps").one("tbody").all("tr")}
    assert f"{result.gaps['equalized_odds']:.4f}"[:5] in gaps["equalized odds"]
    assert "gaps are between groups (0)" in page.one(id="asked").text
    assert len(page.one(id="scores").all("div", class_="panel")) == 3
    assert "The chosen thresholds are a point of the curve" in page.one(id="frontier").text
    assert "expect the equalized odds gap" in page.one(id="verdict").text
    assert gf.Result.from_json(json.dumps(json.loads(page.one(id="result").text))).thresholds == result.thresholds


@pytest.mark.slow
def test_the_page_says_how_to_find_the_same_thresholds_again(sketch):
    result = gf.solve(sketch, limits={"equalized_odds": 0.05}, fair_between=0, decide_by=gf.Segments(column=1))
    code = read(gf.report(result, sketch, frontier=False).html).one(id="reproduce").one("pre").text
    line = next(line for line in code.splitlines() if line.startswith("result = "))
    found = {"gf": gf, "sketch": sketch}
    exec(line, found)
    assert (found["result"].thresholds, found["result"].error) == (result.thresholds, result.error)


def test_another_sketch_is_refused(sketch):
    result = gf.solve(sketch, limits={"equalized_odds": 0.05}, fair_between=0, decide_by=1)
    with pytest.raises(ValueError, match="another sketch"):
        gf.report(result, sketch_of(seed=1))
    with pytest.raises(ValueError, match="audit covers 6 groups"):
        gf.report(result, sketch, audit=gf.audit(0.5, sketch))


def test_roc_curves_are_those_of_segments(sketch):
    result = gf.solve(sketch, limits={"equalized_odds": 0.05}, fair_between=0, decide_by=1)
    axes = gf.plot.roc(result, sketch).axes[0]
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names[:3] == ["0", "1", "2"]
    filled = [line.get_xydata()[0] for line in axes.get_lines() if line.get_markerfacecolor() not in ("white", "none")]
    for at in result.rates.by_segment.values():
        assert any(np.allclose(point, (at.fpr, at.tpr)) for point in filled)
