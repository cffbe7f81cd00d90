"""Figures for notebooks show the numbers of result, audit and frontier, and those of the report."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import gstar_fast as gf
from gstar_fast._report.data import COLORS, roc_curves

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture
def sketch():
    table = gf.datasets.paper_synthetic(rows=4_000, seed=1)
    return gf.Sketch.from_rows(table.scores, table.labels, table.groups)


def test_a_panel_for_each_group_with_a_curve_for_each_label(sketch):
    figure = gf.plot.densities(sketch, thresholds={0: -0.6, 1: 0.4})
    assert len(figure.axes) == 2
    for panel, threshold in zip(figure.axes, (-0.6, 0.4), strict=True):
        *curves, line = panel.get_lines()
        assert len(curves) == 2
        assert line.get_xdata()[0] == threshold
        texts = [text.get_text() for text in panel.get_legend().get_texts()]
        assert "label 1: kde" in texts
        assert f"threshold {threshold:.4f}" in texts


def test_a_result_is_drawn_as_its_thresholds(sketch):
    result = gf.solve(sketch)
    for panel, group in zip(gf.plot.densities(sketch, thresholds=result).axes, (0, 1), strict=True):
        assert panel.get_lines()[-1].get_xdata()[0] == result.thresholds[group]


@pytest.mark.slow
def test_panels_share_the_score_axis_so_that_thresholds_can_be_compared():
    scores = np.concatenate((np.linspace(0, 1, 100), np.linspace(5, 9, 100)))
    sketch = gf.Sketch.from_rows(scores, np.arange(200) % 2, np.repeat(["a", "b"], 100))
    from matplotlib.figure import Figure

    for axes in (None, Figure().subplots(2, 1)):
        one, two = gf.plot.densities(sketch, thresholds={"a": 0.5, "b": 7.0}, axes=axes).axes
        assert one.get_xlim() == two.get_xlim()
        assert one.get_xlim()[0] <= 0
        assert one.get_xlim()[1] >= 9


def test_the_bars_hold_all_rows_and_the_curve_is_the_density(sketch):
    panel = gf.plot.densities(sketch, kind="normal").axes[0]
    for label, bars in enumerate(panel.patches):
        heights, edges, _ = bars.get_data()
        assert np.sum(heights * np.diff(edges)) == pytest.approx(1.0)
        curve = panel.get_lines()[label]
        made = gf.density(sketch, label, 0, kind="normal")
        assert curve.get_ydata() == pytest.approx(made.pdf(curve.get_xdata()))


def test_histograms_alone_and_in_given_axes(sketch):
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.subplots(1, 2)
    assert gf.plot.densities(sketch, kind=None, axes=axes) is figure
    assert len(axes[0].patches) == 2
    assert len(axes[0].get_lines()) == 0


def test_a_cell_without_such_a_density_is_drawn_as_counts(tmp_path):
    rows = np.concatenate((np.full(50, 1.0), np.linspace(0, 3, 50)))
    sketch = gf.Sketch.from_rows(rows, np.repeat([0, 1], 50), np.zeros(100, int))
    figure = gf.plot.densities(sketch, kind="normal")
    texts = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert "label 0: no normal density" in texts
    figure.savefig(tmp_path / "figure.png")


def test_wrong_questions_are_answered(sketch):
    with pytest.raises(ValueError, match="nothing to draw"):
        gf.plot.densities(gf.Sketch())
    with pytest.raises(ValueError, match="kind must be None or one of"):
        gf.plot.densities(sketch, kind="bars")
    with pytest.raises(ValueError, match="thresholds names group 7"):
        gf.plot.densities(sketch, thresholds={7: 0.0})
    with pytest.raises(ValueError, match="one entry for each of the 2 groups, got 1"):
        gf.plot.densities(sketch, axes=[object()])


def test_roc_says_what_filled_and_empty_signs_are(sketch):
    result = gf.solve(sketch, limits={"equalized_odds": 0.02})
    for thresholds, signs in (
        (result, ["at the chosen thresholds", "at the best unified threshold"]),
        (result.thresholds, ["at the chosen thresholds"]),
        ({}, []),
    ):
        legend = gf.plot.roc(thresholds, sketch).axes[0].get_legend()
        assert [text.get_text() for text in legend.get_texts()] == ["0", "1", *signs]


def test_roc_shows_the_curves_and_both_points(sketch):
    result = gf.solve(sketch, limits={"equalized_odds": 0.02})
    (ax,) = gf.plot.roc(result, sketch).axes
    _, *lines = ax.get_lines()
    assert len(lines) == 6  # for each group a curve, the point of the unified threshold, the chosen point
    before = gf.audit(result.thresholds.default, sketch)
    for group, (curve, empty, filled) in enumerate((lines[:3], lines[3:])):
        report = roc_curves(sketch)[group]
        assert curve.get_xdata().tolist() == report.fpr.tolist()
        assert curve.get_ydata().tolist() == report.tpr.tolist()
        at = before.rates[group]
        assert (empty.get_xdata()[0], empty.get_ydata()[0]) == pytest.approx((at["fpr"].value, at["tpr"].value))
        assert (filled.get_xdata()[0], filled.get_ydata()[0]) == (result.rates[group].fpr, result.rates[group].tpr)
    assert lines[0].get_color() == COLORS[0][0]
    assert lines[0].get_linestyle() != lines[3].get_linestyle()


def test_roc_takes_bare_thresholds_given_axes_and_groups_without_a_label(tmp_path):
    from matplotlib.figure import Figure

    sketch = gf.Sketch.from_rows([0.1, 0.9, 0.4, 0.6], [0, 1, 1, 1], ["a", "a", "b", "b"])
    given = Figure().add_subplot()
    assert gf.plot.roc({"a": 0.5, "b": 0.5}, sketch, ax=given) is given.figure
    assert len(given.get_lines()) == 3  # chance, the curve of a, its point; b has no negative labels
    assert len(gf.plot.roc(sketch).axes[0].get_lines()) == 2
    given.figure.savefig(tmp_path / "roc.png")
    with pytest.raises(ValueError, match="thresholds names group 'c'"):
        gf.plot.roc({"c": 0.5}, sketch)
    with pytest.raises(ValueError, match="nothing to draw"):
        gf.plot.roc(gf.Sketch())


def test_frontier_shows_the_curve_the_result_and_the_unified_threshold(sketch, tmp_path):
    result = gf.solve(sketch, limits={"equalized_odds": 0.02})
    found = gf.frontier(sketch, "equalized_odds")
    curve, before, chosen = gf.plot.frontier(found, result).axes[0].get_lines()
    assert curve.get_xdata().tolist() == found.gaps.tolist()
    assert (before.get_xdata()[0], before.get_ydata()[0]) == (result.gaps.before["equalized_odds"], result.before_error)
    assert (chosen.get_xdata()[0], chosen.get_ydata()[0]) == (result.gaps["equalized_odds"], result.error)
    weighed = gf.solve(sketch, limits={"equalized_odds": 0.02}, objective={"fp": 1, "fn": 2})
    figure = gf.plot.frontier(gf.frontier(sketch, "equalized_odds", objective={"fp": 1, "fn": 2}), weighed)
    assert len(figure.axes[0].get_lines()) == 1
    figure.savefig(tmp_path / "frontier.png")


def test_gaps_show_values_and_intervals_before_and_after(sketch, tmp_path):
    result = gf.solve(sketch, limits={"equalized_odds": 0.02})
    after, before = gf.audit(result, sketch), gf.audit(result.thresholds.default, sketch)
    (ax,) = gf.plot.gaps(after, before).axes
    shown = [text.get_text() for text in ax.get_yticklabels()]
    assert "disparate impact" not in shown  # a ratio: 1 is parity
    for bars, audit in zip(ax.containers, (after, before), strict=True):
        points, _, (lines,) = bars
        for name, x, line in zip(shown, points.get_xdata(), lines.get_segments(), strict=True):
            estimate = audit.gaps[name.replace(" ", "_")]
            assert x == estimate.value
            assert line[:, 0] == pytest.approx((estimate.low, estimate.high))
    assert len(gf.plot.gaps(after).axes[0].containers) == 1
    ax.figure.savefig(tmp_path / "gaps.png")


def test_gaps_that_are_not_defined_are_not_drawn(tmp_path):
    audit = gf.audit(decisions=[1, 0, 1, 1], labels=[1, 1, 0, 0], groups=["a", "a", "b", "b"])
    assert audit.gaps["equal_opportunity"].value is None
    gf.plot.gaps(audit).savefig(tmp_path / "gaps.png")


# ------------------------------------------------------------------------------------------------------------ notebooks

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.slow
def test_a_figure_shows_itself_in_a_notebook_that_never_imported_pyplot():
    """IPython asks an object for `_repr_png_` where nobody, such as pyplot, has told it how to draw its type."""
    code = """
import sys, gstar_fast as gf
table = gf.datasets.paper_synthetic(rows=2_000, seed=1)
sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups)
result = gf.solve(sketch, limits={"equalized_odds": 0.05})
audit = gf.audit(result.thresholds, sketch)
figures = gf.plot.roc(result, sketch), gf.plot.densities(sketch), gf.plot.gaps(audit), sketch.plot(kind=None)
figures += (gf.plot.frontier(gf.frontier(sketch, "equalized_odds"), result),)
print(*(figure._repr_png_()[:8].hex() for figure in figures), "matplotlib.pyplot" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == [PNG.hex()] * 5 + ["False"]


def test_a_figure_of_ours_is_pickled_and_in_given_axes_left_as_it_is(sketch):
    from matplotlib.figure import Figure

    figure = gf.plot.roc(sketch)
    assert pickle.loads(pickle.dumps(figure))._repr_png_().startswith(PNG)
    own = Figure()
    assert gf.plot.roc(sketch, ax=own.add_subplot()) is own


@pytest.mark.slow
def test_a_sketch_from_another_process_can_be_drawn(sketch):
    code = "import pickle, sys; print(len(pickle.load(sys.stdin.buffer).plot(kind=None).axes))"
    run = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(sketch), capture_output=True)
    assert (run.returncode, run.stdout.split()) == (0, [b"2"]), run.stderr.decode()


def test_plotting_the_wrong_object_says_what_to_call(sketch):
    result = gf.solve(sketch, limits={"equalized_odds": 0.05})
    for draw, text in (
        (gf.plot.roc, r"Sketch expected, got Result; call gf.plot.roc\(result, sketch\)"),
        (
            gf.plot.densities,
            r"Sketch expected, got Result; call gf.plot.densities\(sketch, thresholds=result.thresholds",
        ),
        (gf.plot.frontier, r"Frontier expected, got Result; call gf.plot.frontier\(gf.frontier\(sketch, "),
        (gf.plot.gaps, r"Audit expected, got Result; call gf.plot.gaps\(gf.audit\(result, sketch\)\)"),
    ):
        with pytest.raises(TypeError, match=text):
            draw(result)
    with pytest.raises(TypeError, match="Audit expected, got Result"):
        gf.plot.gaps(gf.audit(result.thresholds, sketch), result)
