"""What the figures show: thinning keeps ends and shape, names stay apart, curves are the densities and the counts."""

import math
import string

import numpy as np
import pytest
from helpers.report_reader import synthetic
from hypothesis import given
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast._report.data import (
    COLORS,
    cell_curves,
    display_names,
    frontier_most,
    frontier_points,
    roc_curves,
    roc_point,
    score_window,
    style,
    thinned,
)
from gstar_fast._report.html import html, tag
from gstar_fast._report.svg import Scale, around, place, polyline, stairs


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=400), st.integers(3, 50), st.data())
def test_thinning_keeps_the_ends_what_is_asked_for_and_the_shape(steps, most, data):
    across, along = np.cumsum(np.array(steps), axis=0).T
    keep = data.draw(st.lists(st.integers(0, len(across) - 1), max_size=3))
    kept = thinned(across, -along, most, keep)
    assert set(kept.tolist()) >= {0, len(across) - 1, *(keep if len(across) > most else [])}
    assert list(kept) == sorted(set(kept.tolist()))
    assert len(kept) <= max(most, len({0, len(across) - 1, *keep}) + most - 2)
    scaled = sum((v - v[0]) / (v[-1] - v[0]) if v[-1] > v[0] else np.zeros(len(v)) for v in (across, along))
    nearest = np.abs(scaled[:, None] - scaled[kept]).min(axis=1)
    assert nearest.max() <= scaled.max() / max(most - 2, 1) + 1e-9


names = st.one_of(
    st.integers(-(2**62), 2**62),
    st.text(string.ascii_letters + " ", max_size=120),
    st.tuples(st.text("ab", max_size=2), st.integers(0, 2)),
)


@given(st.lists(names, min_size=1, max_size=30, unique=True))
def test_names_on_a_page_are_never_the_same(groups):
    shown = display_names(groups)
    assert list(shown) == groups
    assert len(set(shown.values())) == len(groups)
    assert all(text.strip() for text in shown.values())
    assert max(map(len, shown.values())) <= 52


@given(st.text())
def test_text_is_escaped_and_printable(text):
    shown = html(text)
    assert not set(shown) & set("<>\"'\x00\x1b\u202e")
    assert tag("p", text, title=text).count("<") == 2


def test_only_a_dozen_of_styles_repeat():
    looks = [(look.color, look.dash) for look in map(style, range(20))]
    assert len(set(looks)) == 20


def contrast(one, two):
    def luminance(color):
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        return np.dot(
            [0.2126, 0.7152, 0.0722], [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        )

    light, dark = sorted((luminance(one), luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_colours_stand_out_on_light_and_dark_paper():
    for light, dark in COLORS:
        assert contrast(light, "#ffffff") >= 3
        assert contrast(dark, "#14171b") >= 3


def test_curves_are_the_roc_of_the_counts(backend):
    sketch = synthetic(2_000)
    for group, curve in roc_curves(sketch).items():
        assert (curve.fpr[0], curve.tpr[0], curve.fpr[-1], curve.tpr[-1]) == (1, 1, 0, 0)
        audit = gf.audit(float(curve.thresholds[len(curve.thresholds) // 2]), sketch)
        at = audit.rates[group]
        place = len(curve.thresholds) // 2
        assert (curve.fpr[place], curve.tpr[place]) == pytest.approx((at["fpr"].value, at["tpr"].value))
        assert roc_point(sketch, group, float(curve.thresholds[place])) == pytest.approx(
            (at["fpr"].value, at["tpr"].value)
        )


def test_histograms_in_a_window_keep_their_heights():
    sketch = synthetic(8_000)
    low, high = score_window(sketch, sketch.groups, marks=[math.inf, -math.inf])
    whole = {(c.label, c.group): c for c in cell_curves(sketch, None)}
    for part in cell_curves(sketch, "kde", window=(low, high)):
        shares = np.sum(part.heights * np.diff(part.edges))
        assert 0.99 <= shares <= 1.0 + 1e-9
        assert whole[part.label, part.group].rows == part.rows
        assert part.pdf == pytest.approx(gf.density(sketch, part.label, part.group, kind="kde").pdf(part.x))
    assert cell_curves(sketch, None, window=(1e6, 2e6))[0].heights.size == 0
    assert len(cell_curves(sketch, None, groups=["men"])) == 2


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.SentinelWarning")
@pytest.mark.parametrize("far", [[], [1e6], [-999.0] * 20, [-50.0, 3e3]])
@pytest.mark.parametrize("window", [None, (-2.0, 0.5), (0.25, 1.5)])
def test_bars_hold_the_rows_between_their_edges(far, window):
    """However wide the bins are; a gap without scores is a bar of height 0."""
    rows = np.concatenate((np.random.default_rng(5).gamma(0.5, size=2_000), far))
    sketch = gf.Sketch.from_rows(rows, np.ones(len(rows), int), ["a"] * len(rows))
    (bars,) = cell_curves(sketch, None, window=window)
    counted = np.diff(np.searchsorted(np.sort(rows), bars.edges))
    assert bars.heights * np.diff(bars.edges) * len(rows) == pytest.approx(counted)
    assert len(bars.heights) <= 70
    if window is None:
        assert counted.sum() == len(rows)
    gap = np.diff(bars.edges) > (bars.edges[-1] - bars.edges[0]) / 4
    assert not bars.heights[gap].any()


def test_a_pole_leaves_room_for_the_rest_of_its_curve():
    rows = np.random.default_rng(6).gamma(0.2, size=2_000)
    (curve,) = cell_curves(gf.Sketch.from_rows(rows, np.ones(2_000, int), ["a"] * 2_000), "gamma")
    assert curve.kind == "gamma"
    assert curve.pdf.max() <= 2.0 * curve.heights.max()


def test_the_window_shows_one_score_and_no_score():
    one = gf.Sketch.from_rows([2.0, 2.0], [0, 1], ["a", "a"])
    low, high = score_window(one, ["a"])
    assert low < 2.0 < high
    assert score_window(gf.Sketch.from_rows([math.inf, -math.inf], [0, 1], ["a", "a"]), ["a"]) == (0.0, 1.0)
    far = gf.Sketch.from_rows([*np.linspace(0, 1, 5_000), 20.0], [0, 1] * 2_500 + [1], ["a"] * 5_001)
    assert score_window(far, ["a"])[1] < 2.0  # one far score does not press the rest together


def test_frontier_points_keep_the_point_of_the_result():
    sketch = synthetic(40_000)
    frontier = gf.frontier(sketch, "equalized_odds")
    for limit in (0.0, 0.02, 0.05, 1.0):
        result = gf.solve(sketch, limits={"equalized_odds": limit})
        points = frontier_points(frontier, result, sketch, most=20)
        assert len(points.results) <= 21
        assert points.total == len(frontier)
        assert points.on_curve
        assert points.results[points.start].thresholds == result.thresholds
        gaps = [point.gaps["equalized_odds"] for point in points.results]
        assert (gaps[0], gaps[-1]) == (frontier.gaps[0], frontier.gaps[-1])
        assert list(points.errors) == [point.error for point in points.results]
    assert not frontier_points(frontier, gf.solve(sketch, unified=True), sketch).on_curve
    assert frontier_most(2) == 150
    assert frontier_most(1_000) == 32


def test_mixtures_have_points_between_the_corners():
    sketch = synthetic(2_000)
    frontier = gf.frontier(sketch, "equalized_odds", randomize=True)
    result = gf.solve(sketch, limits={"equalized_odds": 0.013}, randomize=True)
    points = frontier_points(frontier, result, sketch)
    gaps = [point.gaps["equalized_odds"] for point in points.results]
    assert gaps == pytest.approx(sorted(gaps))
    assert points.on_curve
    assert gaps[points.start] == pytest.approx(0.013)
    assert points.errors[points.start] == pytest.approx(result.error)
    assert list(points.errors) == pytest.approx([point.error for point in points.results])
    assert not frontier_points(frontier, gf.solve(sketch, limits={"equalized_odds": 0.013}), sketch).on_curve


@pytest.mark.parametrize(
    "question", [{}, {"objective": {"fp": 1, "fn": 5}}, {"objective": {"fp": 2, "fn": 1, "balanced": True}}]
)
def test_the_end_of_a_frontier_is_the_least_cost(question):
    sketch = synthetic(4_000)
    result = gf.solve(sketch, **question)
    assert gf.frontier(sketch, "equalized_odds", **question).costs[-1] == pytest.approx(result.cost)
    assert result.cost == pytest.approx(math.sqrt(result.loss))


@given(st.floats(-1e12, 1e12), st.floats(1e-9, 1e12), st.integers(2, 9))
def test_ticks_are_few_round_and_inside(low, width, about):
    scale = Scale(low, low + width, 0, 100)
    if scale.high - scale.low < 1e-12 * max(abs(low), 1.0):
        return
    ticks = scale.ticks(about)
    assert len(ticks) <= 2 * about + 2
    for value, words in ticks:
        assert low - 1e-6 * width <= value <= low + width * (1 + 1e-6)
        assert words == "0" or words.strip("0.") or float(words) == 0


def test_places_and_paths_are_short():
    assert [place(v) for v in (0.0, -0.04, 1.26, 10.0)] == ["0", "0", "1.3", "10"]
    assert polyline([(0, 0), (0.01, 0.02), (1, 2)]) == "M0 0L1 2"
    assert stairs([0, 1, 2, 3], [5, 5, 7], 10) == "M0 10H0V5H2V7H3V10Z"
    assert Scale(0, 1, 10, 20)(5.0) == 20
    assert around([]) == (-0.06, 1.06)
    assert around([0.0, 1.0], floor=0.0)[0] == 0.0
