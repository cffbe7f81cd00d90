"""What fit_quality says about good fits, bad fits, ties and small cells."""

import numpy as np
import pytest

import gstar_fast as gf
from gstar_fast import _backends


def sketch_of(cells):
    scores = np.concatenate(list(cells.values()))
    labels = np.concatenate([np.full(len(rows), label) for (label, _), rows in cells.items()])
    groups = np.concatenate([np.full(len(rows), group) for (_, group), rows in cells.items()])
    with gf.use_backend("native" if _backends.has_native() else "numpy"):  # all count alike; see test_sketch.py
        return gf.Sketch.from_rows(scores, labels, groups)


@pytest.fixture
def sketch():
    rng = np.random.default_rng(0)
    return sketch_of(
        {
            (0, "a"): rng.normal(size=5_000),
            (1, "a"): np.concatenate((rng.normal(-4, 0.5, 2_500), rng.normal(4, 0.5, 2_500))),
            (0, "b"): np.repeat([-3.0, 0.1, 2.0], [400, 50, 50]),
            (1, "b"): rng.normal(size=7),
        }
    )


def test_every_kind_is_measured_in_every_cell(backend, sketch):
    quality = gf.fit_quality(sketch)
    assert [(one.label, one.group) for one in quality] == [(0, "a"), (0, "b"), (1, "a"), (1, "b")]
    good = quality.cell(0, "a")
    assert set(good.kolmogorov) == set(good.log_likelihood) == {"empirical", "kde", "normal", "student_t", "gamma"}
    assert good.kolmogorov["empirical"] == 0.0
    assert good.kolmogorov["normal"] < 0.03
    assert good.rows == good.effective_rows == 5_000
    assert good.atom_share == 0.0
    assert good.warnings == ()


def test_kolmogorov_distance_is_that_of_the_rows(backend):
    rows = np.random.default_rng(1).gamma(2.0, size=3_000)
    sketch = sketch_of({(1, 0): rows})
    made = gf.density(sketch, 1, 0, kind="normal")
    cdf, n = made.cdf(np.sort(rows)), len(rows)
    exact = max(np.max(np.abs(cdf - np.arange(n) / n)), np.max(np.abs(cdf - np.arange(1, n + 1) / n)))
    assert gf.fit_quality(sketch).cell(1, 0).kolmogorov["normal"] == pytest.approx(exact, abs=2 / n)


def test_kolmogorov_distance_sees_both_sides_of_a_tie(backend):
    sketch = sketch_of({(1, 0): np.repeat([0.0, 1.0], 500)})
    distance = gf.fit_quality(sketch, kinds=["normal"]).cell(1, 0).kolmogorov["normal"]
    assert distance == pytest.approx(0.3413, abs=1e-3)  # half of the rows at -1 deviation, where a normal has 0.159


def test_a_bad_fit_is_named(backend, sketch):
    notes = gf.fit_quality(sketch).cell(1, "a").warnings
    assert any(note.startswith("the normal density misses the counts by 0.") for note in notes)
    assert not any("kde" in note for note in gf.fit_quality(sketch, bandwidth=0.2).cell(1, "a").warnings)


def test_ties_are_named(backend, sketch):
    tied = gf.fit_quality(sketch).cell(0, "b")
    assert tied.atom_share == 1.0
    assert tied.effective_rows == 3
    assert "student_t" in tied.refused
    assert any("share one score, so the Student-t likelihood has no maximum" in note for note in tied.warnings)
    assert any("only kind='empirical' keeps such steps" in note for note in tied.warnings)


def test_too_few_rows_are_named(backend, sketch):
    assert "7 rows without ties: too few" in gf.fit_quality(sketch).cell(1, "b").warnings[-1]


def test_a_constant_cell_is_reported_not_raised(backend):
    quality = gf.fit_quality(sketch_of({(0, 0): np.full(9, 0.25), (1, 0): np.arange(9.0)})).cell(0, 0)
    assert set(quality.kolmogorov) == {"empirical"}
    assert "only one score" in quality.refused["normal"]


def test_the_table_can_be_read(backend, sketch):
    text = repr(gf.fit_quality(sketch))
    lines = text.splitlines()
    assert lines[0] == "Kolmogorov distance to the counts (log-likelihood a row)"
    assert lines[1].split() == ["label", "group", "rows", "ties", "kde", "normal", "student_t", "gamma"]
    assert lines[2].split()[:4] == ["0", "a", "5,000", "0%"]
    assert "label 1, group 'b': 7 rows without ties" in text


def test_wrong_questions_are_answered(backend, sketch):
    with pytest.raises(ValueError, match=r"kinds must be of empirical, .* got 'spline'"):
        gf.fit_quality(sketch, kinds=["spline"])
    with pytest.raises(KeyError, match="label 1, group 'c' has no rows"):
        gf.fit_quality(sketch).cell(1, "c")
    assert len(gf.fit_quality(gf.Sketch())) == 0
