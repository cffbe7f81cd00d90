"""FGP (Tan, Yeom, Fredrikson, Talwalkar 2020): a Gaussian process whose prior knows no direction of the group.

Ours, after their description. A function's mean in each group is its inner product with that group's mean embedding; a
prior that gives no variance to the difference of two embeddings has functions with equal means only. For equalized odds
there is one such direction within each label. Equal means are not equal rates, so a gap is left. The kernel is RBF with
the median distance as its bandwidth, brought to `LANDMARKS` features (Nystrom), so that all rows train it; the labels
have a logistic likelihood, and the posterior's mode decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.paper.method import Method, Rows, Setting, Split
from benchmarks.paper.rivals._fair_model import FairModel, training_rows

LANDMARKS = 400
NEWTON_STEPS = 25
SETTINGS = [  # the prior's variance of a weight in logits squared, and the share of it along the group's directions
    {"variance": 1.0, "share": 0.0},
    {"variance": 10.0, "share": 0.0},
    {"variance": 100.0, "share": 0.0},
    {"variance": 100.0, "share": 1e-4},
    {"variance": 100.0, "share": 1.0},
]


@dataclass(frozen=True)
class Features:
    """RBF features of rows: inner products of them are the kernel's, exactly so between landmarks."""

    landmarks: np.ndarray  # (m, d)
    bandwidth: float
    whiten: np.ndarray  # (m, k): inverse root of the landmarks' kernel

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return kernel(x, self.landmarks, self.bandwidth) @ self.whiten


def squared_distances(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    far = (x * x).sum(1)[:, None] + (z * z).sum(1) - 2 * (x @ z.T)
    return np.maximum(far, 0, out=far)


def kernel(x: np.ndarray, z: np.ndarray, bandwidth: float) -> np.ndarray:
    far = squared_distances(x, z)
    far *= -0.5 / bandwidth**2
    return np.exp(far, out=far)


def find_features(x: np.ndarray, rng: np.random.Generator) -> Features:
    landmarks = x[rng.choice(len(x), min(LANDMARKS, len(x)), replace=False)]
    exact = landmarks.astype(np.float64)
    far = squared_distances(exact, exact)
    bandwidth = float(np.sqrt(np.median(far[np.triu_indices(len(far), 1)])))
    values, vectors = np.linalg.eigh(kernel(exact, exact, bandwidth))
    kept = values > 1e-5 * values[-1]  # equal landmarks add nothing, nearly equal ones nothing but float32's rounding
    return Features(landmarks, bandwidth, (vectors[:, kept] / np.sqrt(values[kept])).astype(np.float32))


def group_directions(phi: np.ndarray, y: np.ndarray, a: np.ndarray, criterion: str) -> np.ndarray:
    """Orthonormal directions (k, r) along which the groups' mean features differ, within each label that counts."""
    labels = {"demographic_parity": (None,), "equal_opportunity": (1,), "equalized_odds": (0, 1)}[criterion]
    directions = []
    for label in labels:
        here = np.ones(len(y), dtype=bool) if label is None else y == label
        directions.append(phi[here & (a == 1)].mean(0) - phi[here & (a == 0)].mean(0))
    return np.linalg.qr(np.stack(directions, axis=1))[0]


def posterior_mode(phi: np.ndarray, y: np.ndarray, variance: float) -> tuple[np.ndarray, float]:
    """Weights and intercept of the logistic posterior's mode, by Newton's method; the intercept has a flat prior."""
    design = np.column_stack([phi, np.ones(len(phi), dtype=np.float32)])
    precision = np.full(design.shape[1], 1 / variance)
    precision[-1] = 1e-9
    weights = np.zeros(design.shape[1])
    for _ in range(NEWTON_STEPS):
        p = 1 / (1 + np.exp(-(design @ weights.astype(np.float32))))
        scaled = design * np.sqrt(p * (1 - p))[:, None]
        slope = design.T @ (y - p) - precision * weights
        step = np.linalg.solve((scaled.T @ scaled).astype(np.float64) + np.diag(precision), slope)
        weights += step
        if abs(slope @ step) < 1e-6 * len(y):
            break
    return weights[:-1], float(weights[-1])


def fit(split: Split, criterion: str, setting: Setting) -> FairModel:
    rows = training_rows(split)
    features = find_features(rows.X, np.random.default_rng(split.seed))
    phi = features(rows.X)
    unfair = group_directions(phi, rows.y, rows.a, criterion)
    shrink = np.float32(1 - np.sqrt(setting["share"]))
    weights, intercept = posterior_mode(phi - shrink * (phi @ unfair) @ unfair.T, rows.y, setting["variance"])
    weights = weights - shrink * unfair @ (unfair.T @ weights)

    def score(rows: Rows) -> np.ndarray:
        return features(rows.X).astype(np.float64) @ weights + intercept

    return FairModel(score)


METHOD = Method(
    name="fgp",
    title="FGP",
    kind="in",
    randomised=False,
    uses_group=False,
    criteria=("equalized_odds", "demographic_parity", "equal_opportunity"),
    settings=lambda _data, _criterion: list(SETTINGS),
    fit=fit,
    note=f"Our own implementation; {LANDMARKS} Nystrom features of an RBF kernel; on CelebA 30,000 rows train it.",
)
