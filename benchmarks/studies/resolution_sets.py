"""Scores on which a grid may fail: outliers, sentinels, rare events, many scales, few digits. Two groups each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # scores, labels, groups


@dataclass(frozen=True)
class Set:
    """How one data set is asked about."""

    name: str
    rows: int = 40_000
    seeds: int = 10
    limit: float = 0.02
    balanced: bool = False  # where one class is rare
    core: bool = False  # one of the thirteen with a goal


CORE = (
    *(Set(name, core=True) for name in ("calibrated", "outlier 1e6", "sentinel -999", "cauchy", "lognormal")),
    *(Set(name, rows=400_000, balanced=True, core=True) for name in ("fraud", "fraud, few high")),
    *(Set(name, core=True) for name in ("saturated float32", "logits, tails 30", "credit 300-850", "12th digit")),
    *(Set(name, core=True) for name in ("log-probabilities", "group of 60")),
)
MORE = (
    Set("logits, limit .002", rows=1_000_000, seeds=3, limit=0.002),
    Set("logits, 1e7 rows", rows=10_000_000, seeds=1, limit=0.002),
    Set("logits float64"),
    Set("logits float32"),
    Set("outliers 1e6 and -1e6"),
    Set("outlier 1e9"),
    Set("three scales"),
    Set("whole numbers"),
    Set("fraud and -1", rows=400_000, balanced=True),
    Set("zero among 1000 +- 1"),
    Set("rare negatives", rows=400_000, balanced=True),
    Set("rare negatives as logits", rows=400_000, balanced=True),
)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def make(kind: Set, seed: int) -> Rows:
    """The rows of one data set."""
    name, n = kind.name, kind.rows
    r = np.random.default_rng(seed)
    g = (r.random(n) < 0.35).astype(int)
    if name == "group of 60":
        g = np.zeros(n, int)
        g[:60] = 1
    z = r.normal(size=n)
    y = (r.random(n) < np.array([0.4, 0.25])[g]).astype(int)
    s = z + 1.5 * y + 0.4 * g
    match name:
        case "outlier 1e6":
            s[0] = 1e6
        case "outlier 1e9":
            s[0] = 1e9
        case "outliers 1e6 and -1e6":
            s[:2] = 1e6, -1e6
        case "cauchy":
            s = r.standard_cauchy(n) + 1.5 * y + 0.4 * g
        case "lognormal":
            s = np.exp(2 * z + 1.5 * y + 0.4 * g + 5)
        case "fraud" | "fraud and -1":
            x = r.normal(-8, 1.2, n) + 0.5 * g
            y, s = (r.random(n) < sigmoid(x)).astype(int), sigmoid(x + r.normal(0, 0.3, n))
            if name == "fraud and -1":
                s[:200] = -1
        case "fraud, few high":
            y = (r.random(n) < 0.001).astype(int)
            s = sigmoid(r.normal(-9, 1, n) + 0.7 * g + y * r.normal(3, 2.5, n))
        case "rare negatives" | "rare negatives as logits":
            x = r.normal(7, 1.2, n) + 0.5 * g
            y, s = (r.random(n) < sigmoid(x)).astype(int), x + r.normal(0, 0.3, n)
            s = sigmoid(s) if name == "rare negatives" else s
        case "saturated float32":
            s = sigmoid(5 * z + 9 * (y - 0.45) + 2 * g).astype(np.float32)
        case "logits, tails 30":
            s = np.where(r.random(n) < 0.01, np.sign(s) * r.uniform(20, 30, n), s)
        case "credit 300-850":
            y = (r.random(n) < np.array([0.8, 0.7])[g]).astype(int)
            s = np.clip(np.round(600 + 80 * z + 60 * y - 20 * g), 300, 850)
        case "12th digit":
            s = 1 + 1e-12 * s
        case "calibrated" | "sentinel -999":
            x = 1.5 * z - 0.5 + 0.4 * g
            y = (r.random(n) < sigmoid(x)).astype(int)
            s = sigmoid(x + (0.3 * r.normal(size=n) if name == "calibrated" else 0))
            if name == "sentinel -999":
                s[:20] = -999
        case "log-probabilities":
            x = 2 * z - 4 + 0.5 * g
            y = (r.random(n) < sigmoid(x)).astype(int)
            s = np.log(sigmoid(x))
            s[:3] = -745.0
        case "logits float32":
            s = s.astype(np.float32)
        case "three scales":
            s = s * np.array([1e-3, 1, 1e3])[r.integers(0, 3, n)]
        case "whole numbers":
            s = np.round(1000 * s)
        case "zero among 1000 +- 1":
            s = 1000 + s
            s[:200] = 0
    return s, y, g
