"""Synthetic scores whose true distributions are known.

The table is the one of the paper's supplement ("Complicated Distribution Estimation with Kernel Density Estimation"):
the scores of each cell (label, group) are a mixture of three normal distributions, and every score carries additional
standard normal noise.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gstar_fast._base.refusals.place import bad_option, bad_option_type

__all__ = ["ScoreTable", "paper_synthetic", "paper_synthetic_batches", "true_cdf", "true_pdf"]

_CELLS = ((0, 0), (0, 1), (1, 0), (1, 1))  # (label, group), in the order of the paper's table
_ROWS = np.array([5_000, 10_000, 15_000, 10_000])
_MEANS = np.array([[-7.0, -2.0, 1.1], [-4.5, -1.2, 1.2], [-1.8, 1.5, 6.0], [-1.1, 2.3, 7.0]])
_VARIANCES = np.array([[3.0, 1.5, 2.0], [1.2, 1.5, 2.0], [1.2, 1.3, 2.0], [1.2, 1.5, 2.0]])
_WEIGHTS = np.array([[0.3, 0.5, 0.2], [0.3, 0.5, 0.2], [0.2, 0.5, 0.3], [0.2, 0.4, 0.4]])

# A normal score plus independent standard normal noise is normal again, with the variances added.
_DEVIATIONS = np.sqrt(_VARIANCES + 1.0)


@dataclass(frozen=True)
class ScoreTable:
    """Rows of (score, label, group), one array each.

    Attributes
    ----------
    scores : ndarray of float32, shape (n_samples,)
        What the classifier gave. float32, as most models give; the sketch counts float64 of the same values alike.
    labels : ndarray of uint8, shape (n_samples,)
        True outcomes, 0 or 1.
    groups : ndarray of uint8, shape (n_samples,)
        Group of each row, 0 or 1.
    """

    scores: npt.NDArray[np.float32]
    labels: npt.NDArray[np.uint8]
    groups: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.scores)


def paper_synthetic(rows: int = 40_000, seed: int = 0) -> ScoreTable:
    """Return the paper's synthetic table, its rows in random order.

    Parameters
    ----------
    rows : int
        Number of rows. The four cells share them as in the paper, 5,000 : 10,000 : 15,000 : 10,000, to the row where
        `rows` is a multiple of eight and rounded otherwise.
    seed : int
        The same seed gives the same rows (with the same version of NumPy).

    Returns
    -------
    ScoreTable

    Examples
    --------
    >>> table = paper_synthetic(rows=800)
    >>> [int(((table.labels == y) & (table.groups == a)).sum()) for y, a in [(0, 0), (0, 1), (1, 0), (1, 1)]]
    [100, 200, 300, 200]
    """
    return _draw(_count(rows, "rows", least=0), np.random.default_rng(_count(seed, "seed", least=0)))


def paper_synthetic_batches(rows: int, batch: int = 65_536, seed: int = 0) -> Iterator[ScoreTable]:
    """Yield the paper's synthetic distribution as a stream of batches, so that no more than one is in memory.

    Every batch has the paper's proportion of cells. The rows differ from those of `paper_synthetic` with this seed.

    Parameters
    ----------
    rows : int
        Rows of the whole stream.
    batch : int
        Rows of each batch; the last one may be shorter.
    seed : int
        The same seed and `batch` give the same stream.

    Yields
    ------
    ScoreTable

    Examples
    --------
    >>> [len(table) for table in paper_synthetic_batches(1_000, batch=400)]
    [400, 400, 200]
    """
    rows, batch = _count(rows, "rows", least=0), _count(batch, "batch", least=1)
    random = np.random.default_rng([_count(seed, "seed", least=0), 1])
    return (_draw(min(batch, rows - start), random) for start in range(0, rows, batch))


def true_cdf(label: int, group: int, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Probability that a score of this cell is below `x`.

    Parameters
    ----------
    label, group : int
        The cell: 0 or 1 each.
    x : array-like
        Where to evaluate.

    Returns
    -------
    ndarray of float64
        Of the shape of `x`.

    Examples
    --------
    >>> float(true_cdf(1, 1, 0.0).round(4))
    0.1833
    """
    from scipy.special import ndtr

    cell, z = _standardised(label, group, x)
    return np.asarray(ndtr(z) @ _WEIGHTS[cell], dtype=np.float64)


def true_pdf(label: int, group: int, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Density of the scores of this cell at `x`; arguments and shape as for `true_cdf`."""
    cell, z = _standardised(label, group, x)
    normal = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    return np.asarray(normal @ (_WEIGHTS[cell] / _DEVIATIONS[cell]), dtype=np.float64)


def _draw(rows: int, random: np.random.Generator) -> ScoreTable:
    # Shares of the first cells rounded in turn, so that the sizes always add up to `rows`.
    upto = np.rint(np.cumsum(_ROWS) / _ROWS.sum() * rows).astype(np.int64)
    sizes = np.diff(upto, prepend=0)
    parts = [random.multinomial(size, weights) for size, weights in zip(sizes, _WEIGHTS, strict=True)]

    # One byte a row says which of the twelve normals it comes from; shuffling those shuffles the table.
    part = np.repeat(np.arange(12, dtype=np.uint8), np.concatenate(parts))
    random.shuffle(part)
    scores = random.standard_normal(rows, dtype=np.float32)
    scores *= _DEVIATIONS.astype(np.float32).ravel()[part]
    scores += _MEANS.astype(np.float32).ravel()[part]
    label_of, group_of = np.repeat(np.array(_CELLS, dtype=np.uint8), 3, axis=0).T
    return ScoreTable(scores=scores, labels=label_of[part], groups=group_of[part])


def _standardised(label: int, group: int, x: npt.ArrayLike) -> tuple[int, npt.NDArray[np.float64]]:
    """Position of the cell in the tables, and `x` in units of each of its three normals (last axis)."""
    if (label, group) not in _CELLS:
        raise bad_option("label", f"label and group must be 0 or 1 each, got label={label!r}, group={group!r}")
    cell = _CELLS.index((label, group))
    points = np.asarray(x, dtype=np.float64)[..., np.newaxis]
    return cell, (points - _MEANS[cell]) / _DEVIATIONS[cell]


def _count(value: int, name: str, *, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise bad_option_type(name, f"{name} must be a whole number, got {value!r}") from None
    if number < least:
        raise bad_option(name, f"{name} must be at least {least}, got {number}")
    return number
