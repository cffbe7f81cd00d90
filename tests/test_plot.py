"""The paper's Figure 1: histograms of the cells, their densities, thresholds as lines."""

import numpy as np
import pytest

import gstar_fast as gf

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
        assert f"threshold {threshold:.3g}" in texts


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
