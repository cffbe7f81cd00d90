"""Populations whose rates are known: rows are drawn from them, and thresholds are judged on all of them."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

import gstar_fast as gf
from benchmarks.studies.promises_settings import File, Normal, Setting

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # scores, labels, groups
Floats = np.ndarray
NORMAL = NormalDist()


@dataclass(frozen=True)
class Judged:
    """What fixed thresholds are worth on the whole population."""

    gap: float
    error: float


class Population:
    """Groups 0 to K - 1; `weight` (2, K) is the share of all rows in each cell."""

    weight: Floats

    def draw(self, random: np.random.Generator, rows: int) -> Rows:
        raise NotImplementedError

    def above(self, label: int, group: int, threshold: float) -> float:
        """The share of a cell whose scores are at least the threshold."""
        raise NotImplementedError

    def rates(self, result: Any) -> Floats:
        """Accepted share of each cell (2, K), of thresholds or of a mixture of them."""
        rates = np.empty_like(self.weight)
        for label in (0, 1):
            for k in range(rates.shape[1]):
                mixture = ((result.thresholds[k], 1.0),) if result.mixtures is None else result.mixtures[k]
                rates[label, k] = sum(p * self.above(label, k, t) for t, p in mixture)
        return rates

    def judge(self, result: Any, criterion: str) -> Judged:
        """The true gap and the true error of a result."""
        rates = self.rates(result)
        spread = {"tpr": np.ptp(rates[1]), "fpr": np.ptp(rates[0])}
        selected = (self.weight * rates).sum(axis=0) / self.weight.sum(axis=0)
        gap = {
            "equalized_odds": max(spread.values()),
            "equal_opportunity": spread["tpr"],
            "demographic_parity": np.ptp(selected),
        }[criterion]
        error = (self.weight[0] * rates[0]).sum() + (self.weight[1] * (1 - rates[1])).sum()
        return Judged(float(gap), float(error))

    @property
    def constant_error(self) -> float:
        """The error of the better constant decision."""
        return float(self.weight.sum(axis=1).min())


class FilePopulation(Population):
    """All rows of a score file."""

    def __init__(self, folder: Path, source: File) -> None:
        with np.load(folder / "scores" / f"{source.name}.npz") as file:
            columns = {name: file[name] for name in ("score", "label", "group", "mgroup")}
        if source.groups is None:
            groups, kept = columns["group"].astype(np.int64), slice(None)
        else:
            mapped = np.array([-1 if g is None else g for g in source.groups], np.int64)
            groups = mapped[columns["mgroup"]]
            kept = groups >= 0
        self.rows: Rows = (columns["score"][kept], columns["label"][kept], groups[kept])
        scores, labels, groups = self.rows
        self.cells = [
            [np.sort(scores[(labels == y) & (groups == k)]).astype(np.float64) for k in range(groups.max() + 1)]
            for y in (0, 1)
        ]
        self.weight = np.array([[len(cell) for cell in cells] for cells in self.cells]) / len(scores)

    def draw(self, random: np.random.Generator, rows: int) -> Rows:
        chosen = random.integers(0, len(self.rows[0]), rows)
        return tuple(column[chosen] for column in self.rows)  # type: ignore[return-value]

    def above(self, label: int, group: int, threshold: float) -> float:
        cell = self.cells[label][group]
        return 1 - float(np.searchsorted(cell, threshold, side="left")) / len(cell)


class NormalPopulation(Population):
    """Normal scores, cut down to whole steps."""

    def __init__(self, source: Normal) -> None:
        share, positive = np.array(source.shares), np.array(source.positive)
        self.weight = np.stack([share * (1 - positive), share * positive])
        self.weight = self.weight / self.weight.sum()
        shift = np.array(source.shift, float)
        self.mean = np.stack([shift, shift + np.array(source.d)])
        self.spread = np.ones(len(share)) if source.spread is None else np.array(source.spread)
        self.step = source.step

    def draw(self, random: np.random.Generator, rows: int) -> Rows:
        k = self.weight.shape[1]
        cells = np.repeat(np.arange(2 * k), random.multinomial(rows, self.weight.ravel()))
        labels, groups = cells // k, cells % k
        scores = random.normal(self.mean[labels, groups], self.spread[groups])
        return np.floor(scores / self.step) * self.step, labels, groups

    def above(self, label: int, group: int, threshold: float) -> float:
        if np.isinf(threshold):
            return float(threshold < 0)
        reached = np.ceil(threshold / self.step) * self.step  # the least whole step that is accepted
        return NORMAL.cdf((self.mean[label, group] - reached) / self.spread[group])


def population_of(source: File | Normal, folder: Path | None) -> Population:
    """The population of a setting; `folder` holds `scores/*.npz`."""
    if isinstance(source, Normal):
        return NormalPopulation(source)
    if folder is None:
        raise SystemExit(f"{source.name} is a score file: pass its folder with --data")
    return FilePopulation(folder, source)


def sketch_of(rows: Rows) -> gf.Sketch:
    """The sketch of drawn rows, with the default bins."""
    return gf.Sketch.from_rows(*rows)


def random_of(setting: Setting, draw: int, what: str = "") -> np.random.Generator:
    """The same rows for a setting and draw in every run, whatever else is run."""
    return np.random.default_rng([zlib.crc32(f"{setting.name}{what}".encode()), draw])


def binomial_sketch(accepted: Floats, totals: Floats) -> gf.Sketch:
    """Rows of each cell (2, K) at score 1 if accepted by the threshold 0.5, else at 0."""
    k = totals.shape[1]
    scores, labels, groups = (grid.ravel() for grid in np.meshgrid([0.0, 1.0], [0, 1], range(k), indexing="ij"))
    counts = np.stack([totals - accepted, accepted]).ravel().astype(np.int64)
    return gf.Sketch.from_rows(
        np.repeat(scores, counts), np.repeat(labels, counts), np.repeat(groups, counts), bins=16, range=(0, 2)
    )
