"""LinearPost (Xian, Zhao, 2024): a linear rule on a model of group and label together, from a linear program's duals.

The most accurate random rule within the limit is a linear program over the fit rows, in which the model's
probabilities stand for group and label. Its duals price the gaps, and the rule accepts a row if its gain in accuracy
pays for what it adds to the gaps. The blind form never asks for the group. The aware form knows it, and its model is
P(label | score, group); there all rows of a group can lie on the boundary, so the authors add a little noise to the
gains, which tosses the coin that is needed. The answer here is the expected acceptance over that noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.paper.method import Decide, Method, Rows, Setting, Split
from benchmarks.paper.rivals._common import LABELS, Calibrated, limits


def prices(gain: np.ndarray, gaps: np.ndarray, limit: float) -> np.ndarray:
    """Duals of the gaps' limits: what one row's share of each gap costs in accuracy, with its sign.

    The program has a variable for each row, its dual only one for each gap: minimise the mean of
    max(0, gain - price @ gaps) plus limit * sum |price|. That is convex and made of planes, so it is the limit of
    small programs, each with one plane more, at the place where the last one found its minimum (Kelley's method).
    """
    from scipy.optimize import linprog

    size, price = len(gaps), np.zeros(len(gaps))
    slopes: list[np.ndarray] = []
    heights: list[float] = []
    best, lowest = price, np.inf
    costs = np.r_[np.full(2 * size, limit), 1.0]  # of prices above zero, prices below zero, and the planes' height
    for _ in range(200):
        margin = gain - price @ gaps
        value = float(np.maximum(margin, 0).mean())
        if value + limit * np.abs(price).sum() < lowest:
            best, lowest = price, value + limit * np.abs(price).sum()
        slope = -gaps[:, margin > 0].sum(axis=1) / len(gain)
        slopes.append(np.r_[slope, -slope, -1.0])
        heights.append(slope @ price - value)
        found = linprog(
            costs,
            A_ub=np.array(slopes),
            b_ub=np.array(heights),
            bounds=[*[(0, 10)] * (2 * size), (0, None)],
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if found.fun > lowest - 1e-10:
            break
        price = found.x[:size] - found.x[size : 2 * size]
    return best


class Rule:
    """Accept if the gain in accuracy is worth the gaps that it makes; `noise` is added to the gains."""

    def __init__(self, cells: np.ndarray, criterion: str, limit: float, noise: float = 0.0, seed: int = 0) -> None:
        self.labels = LABELS[criterion]
        self.shares = cells.mean(axis=0)  # P(group, label)
        gain = self.gain(cells)
        self.width = noise * float((1.0 + np.abs(gain)).mean())
        tossed = np.random.default_rng(seed).triangular(-1.0, 0.0, 1.0, len(gain)) if noise else 0.0
        self.prices = prices(gain + self.width * tossed, self.gaps(cells), limit)

    @staticmethod
    def gain(cells: np.ndarray) -> np.ndarray:
        return cells[:, :, 1].sum(axis=1) - cells[:, :, 0].sum(axis=1)

    def gaps(self, cells: np.ndarray) -> np.ndarray:
        """What each row adds to each gap, times the number of rows."""
        out = []
        for label in self.labels:
            mine = cells.sum(axis=2) if label is None else cells[:, :, label]
            share = self.shares.sum(axis=1) if label is None else self.shares[:, label]
            out.append(mine[:, 1] / share[1] - mine[:, 0] / share[0])
        return np.array(out)

    def __call__(self, cells: np.ndarray) -> np.ndarray:
        margin = self.gain(cells) - self.prices @ self.gaps(cells)
        if self.width == 0.0:
            return (margin >= 0).astype(float)
        t = np.clip(margin / self.width, -1.0, 1.0)  # and the triangular noise's distribution function
        return np.where(t < 0, 0.5 * (1 + t) ** 2, 1 - 0.5 * (1 - t) ** 2)


class FromRows:
    """P(group, label | x): a logistic regression of four classes on the rows, and the same out of fold."""

    def __init__(self, split: Split) -> None:
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import StratifiedKFold

        X, cell = split.fit.X, cells_of(split.fit)  # float32: half the time of float64
        self.out_of_fold = np.zeros((len(cell), 2, 2))
        for train, held in StratifiedKFold(5, shuffle=True, random_state=split.seed).split(X, cell):
            self.model = LogisticRegression(max_iter=300).fit(X[train], cell[train])
            self.out_of_fold[held] = self._chances(X[held])
        self.model = LogisticRegression(max_iter=300).fit(X, cell)

    def _chances(self, X: np.ndarray) -> np.ndarray:
        return self.model.predict_proba(X).reshape(-1, 2, 2)

    def __call__(self, rows: Rows, score: np.ndarray) -> np.ndarray:
        return self._chances(rows.X)


class FromScores:
    """P(group, label | score, q): the same on two numbers, the base model's score and the group's model's."""

    def __init__(self, split: Split) -> None:
        from sklearn.linear_model import LogisticRegression

        columns = self._columns(split.oof, split.oof_q)
        self.model = LogisticRegression(max_iter=1000).fit(columns, cells_of(split.fit))
        self.out_of_fold = self.model.predict_proba(columns).reshape(-1, 2, 2)

    @staticmethod
    def _columns(score: np.ndarray, q: np.ndarray) -> np.ndarray:
        q = np.clip(q, 1e-6, 1 - 1e-6)
        u, v = np.clip(score, -8, 8) / 4, np.clip(np.log(q / (1 - q)), -8, 8) / 4
        return np.column_stack([u, v, u * v, u * u, v * v])

    def __call__(self, rows: Rows, score: np.ndarray) -> np.ndarray:
        return self.model.predict_proba(self._columns(score, rows.q)).reshape(-1, 2, 2)


def cells_of(rows: Rows) -> np.ndarray:
    """Which of the four cells a row is in; every cell needs rows."""
    cell = 2 * rows.a.astype(int) + rows.y
    if len(np.unique(cell)) < 4:
        raise ValueError(
            f"LinearPost needs rows of both labels in both groups; got counts {np.bincount(cell).tolist()}"
        )
    return cell


MODELS = {"rows": FromRows, "scores": FromScores}
kept: dict[str, tuple[Split, Any]] = {}  # of each kind the last split's model: a sweep over limits trains it once


def fit_blind(split: Split, criterion: str, setting: Setting) -> Decide:
    kind = setting["model"]
    if kind not in kept or kept[kind][0] is not split:
        kept[kind] = split, MODELS[kind](split)
    model = kept[kind][1]
    rule = Rule(model.out_of_fold, criterion, setting["alpha"])
    return lambda rows, score: rule(model(rows, score))


def fit_aware(split: Split, criterion: str, setting: Setting) -> Decide:
    chance = Calibrated(split)

    def cells(groups: np.ndarray, score: np.ndarray) -> np.ndarray:
        out = np.zeros((len(score), 2, 2))
        p = chance(score, groups)
        out[np.arange(len(score)), groups] = np.column_stack([1 - p, p])
        return out

    rule = Rule(cells(split.fit.a, split.oof), criterion, setting["alpha"], noise=1e-4, seed=split.seed)
    return lambda rows, score: rule(cells(rows.a, score))


def settings_blind(data: str, criterion: str) -> list[Setting]:
    kinds = ("scores",) if data == "celeba" else ("scores", "rows")  # on 142,000 rows six trainings take too long
    return [{**limit, "model": kind} for kind in kinds for limit in limits("alpha")]


CRITERIA = ("equalized_odds", "demographic_parity", "equal_opportunity")
METHODS = (
    Method(
        name="linear_post_blind",
        title="LinearPost, blind",
        kind="post",
        randomised=False,
        uses_group=False,
        criteria=CRITERIA,
        settings=settings_blind,
        fit=fit_blind,
        note="written from the paper; each limit with two models of group and label: a logistic regression on the "
        "rows, out of fold (not on CelebA), or one on the base model's score and the group model's; no noise, ties are "
        "accepted; equalized odds is limited in its larger form",
    ),
    Method(
        name="linear_post",
        title="LinearPost, aware",
        kind="post",
        randomised=True,
        uses_group=True,
        criteria=CRITERIA,
        settings=lambda data, criterion: limits("alpha"),
        fit=fit_aware,
        note="written from the paper; scores are calibrated in each group first; equalized odds is limited in its "
        "larger form",
    ),
)
