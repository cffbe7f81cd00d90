"""The synthetic table has the cells, the moments and the distribution that the paper's supplement gives."""

import numpy as np
import pytest

from gstar_fast import datasets

CELLS = [(0, 0), (0, 1), (1, 0), (1, 1)]

# Mean and variance of each cell by hand from the paper's table, noise included:
# sum of w * mu, and sum of w * (sigma^2 + 1 + mu^2) minus the square of the mean.
MOMENTS = {
    (0, 0): (-2.88, 0.3 * 53.0 + 0.5 * 6.5 + 0.2 * 4.21 - 2.88**2),
    (0, 1): (-1.71, 0.3 * 22.45 + 0.5 * 3.94 + 0.2 * 4.44 - 1.71**2),
    (1, 0): (2.19, 0.2 * 5.44 + 0.5 * 4.55 + 0.3 * 39.0 - 2.19**2),
    (1, 1): (3.5, 0.2 * 3.41 + 0.4 * 7.79 + 0.4 * 52.0 - 3.5**2),
}


def cell_of(table, label, group):
    return table.scores[(table.labels == label) & (table.groups == group)].astype(np.float64)


@pytest.fixture(scope="module")
def table():
    return datasets.paper_synthetic(rows=400_000, seed=7)


def test_default_table_has_the_papers_cell_sizes():
    table = datasets.paper_synthetic()
    assert [len(cell_of(table, *cell)) for cell in CELLS] == [5_000, 10_000, 15_000, 10_000]
    assert (table.scores.dtype, table.labels.dtype, table.groups.dtype) == (np.float32, np.uint8, np.uint8)


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 7, 8, 40_001])
def test_any_number_of_rows_is_met_to_the_row(rows):
    table = datasets.paper_synthetic(rows)
    assert len(table) == len(table.scores) == len(table.labels) == len(table.groups) == rows
    for cell, share in zip(CELLS, [0.125, 0.25, 0.375, 0.25], strict=True):
        assert abs(len(cell_of(table, *cell)) - share * rows) <= 1


@pytest.mark.parametrize("cell", CELLS)
def test_moments_are_those_of_the_papers_table(table, cell):
    scores = cell_of(table, *cell)
    mean, variance = MOMENTS[cell]
    assert abs(scores.mean() - mean) < 5 * np.sqrt(variance / len(scores))
    fourth = ((scores - mean) ** 4).mean()
    assert abs(((scores - mean) ** 2).mean() - variance) < 5 * np.sqrt((fourth - variance**2) / len(scores))


@pytest.mark.parametrize("cell", CELLS)
def test_scores_follow_the_true_cdf(table, cell):
    scores = np.sort(cell_of(table, *cell))
    n = len(scores)
    expected = datasets.true_cdf(*cell, scores)
    steps = np.arange(n + 1) / n
    distance = max((steps[1:] - expected).max(), (expected - steps[:-1]).max())
    assert distance < np.sqrt(np.log(2 / 1e-6) / (2 * n))  # exceeded once in a million tables (DKW)


@pytest.mark.parametrize("cell", CELLS)
def test_pdf_is_the_slope_of_the_cdf(cell):
    x = np.linspace(-15.0, 15.0, 601)[:600].reshape(3, 200)
    step = 1e-5
    slope = (datasets.true_cdf(*cell, x + step) - datasets.true_cdf(*cell, x - step)) / (2 * step)
    np.testing.assert_allclose(datasets.true_pdf(*cell, x), slope, atol=1e-9)
    assert datasets.true_pdf(*cell, x).shape == x.shape
    ends = datasets.true_cdf(*cell, [-np.inf, np.inf])
    assert ends[0] == 0.0
    assert ends[1] == pytest.approx(1.0, abs=1e-15)


def test_seed_decides_the_rows():
    first, again, other = (datasets.paper_synthetic(1_000, seed=seed) for seed in (3, 3, 4))
    assert all(np.array_equal(getattr(first, name), getattr(again, name)) for name in ("scores", "labels", "groups"))
    assert not np.array_equal(first.scores, other.scores)


def test_rows_are_in_random_order(table):
    """Every tenth of the table has about the shares of the whole."""
    for part in np.split(table.labels, 10):
        assert part.mean() == pytest.approx(0.625, abs=5 * np.sqrt(0.25 / len(part)))


def test_batches_make_up_the_stream():
    batches = list(datasets.paper_synthetic_batches(10_000, batch=3_000, seed=1))
    assert [len(batch) for batch in batches] == [3_000, 3_000, 3_000, 1_000]
    assert not np.array_equal(batches[0].scores, batches[1].scores)
    again = next(datasets.paper_synthetic_batches(10_000, batch=3_000, seed=1))
    assert np.array_equal(batches[0].scores, again.scores)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: datasets.paper_synthetic(-1), ValueError, "rows must be at least 0, got -1"),
        (lambda: datasets.paper_synthetic(1.5), TypeError, "rows must be a whole number, got 1.5"),
        (lambda: datasets.paper_synthetic(10, seed=-1), ValueError, "seed must be at least 0"),
        (lambda: datasets.paper_synthetic_batches(10, batch=0), ValueError, "batch must be at least 1, got 0"),
        (lambda: datasets.true_cdf(0, 2, 0.0), ValueError, "label and group must be 0 or 1 each, got label=0, group=2"),
    ],
)
def test_bad_arguments_are_named(call, error, text):
    with pytest.raises(error, match=text):
        call()
