"""DIR, the disparate impact remover (Feldman et al., 2015): repair each column, then train the base model again.

A repair moves the values of a column, in each group by themselves, towards values that both groups share: a value goes
to what stands at the same rank in the mean of the two groups' quantile functions. Two forms: an exact one, in which
rows that are tied are given ranks by lot, so that every repaired column is distributed alike in both groups; and
AIF360's, by bins and medians. Both need the group of a row to repair it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.paper.method import Decide, Method, Rows, Setting, Split

LEVELS = (0.25, 0.5, 0.75, 1.0)
MOST_ROWS = 30_000  # trained on, at most
MOST_REPAIRED = 10_000  # handed to BlackBoxAuditing, which takes microseconds for each value
Repair = Callable[[np.ndarray, np.ndarray, int], np.ndarray]  # of (X, groups, which draw of lots): X repaired


class Quantiles:
    """One column of one group: its quantile function, and where values stand in it."""

    def __init__(self, values: np.ndarray) -> None:
        self.sorted = np.sort(values)

    def ranks(self, values: np.ndarray, lots: np.ndarray) -> np.ndarray:
        """Share of this column below each value, and by lot how far into the rows that are tied with it."""
        low, high = np.searchsorted(self.sorted, values, "left"), np.searchsorted(self.sorted, values, "right")
        return (low + lots * (high - low)) / len(self.sorted)

    def at(self, ranks: np.ndarray) -> np.ndarray:
        return self.sorted[np.minimum((ranks * len(self.sorted)).astype(int), len(self.sorted) - 1)]


def exact(columns: str, seed: int) -> Callable[[np.ndarray, np.ndarray], Repair]:
    """The full repair of all columns, or of those that have an order: more than two values."""

    def learn(X: np.ndarray, groups: np.ndarray) -> Repair:
        wanted = [j for j in range(X.shape[1]) if columns == "all" or len(np.unique(X[:, j])) > 2]
        learned = {j: [Quantiles(X[groups == g, j]) for g in (0, 1)] for j in wanted}

        def repair(X: np.ndarray, groups: np.ndarray, draw: int) -> np.ndarray:
            generator = np.random.default_rng([seed, draw])
            out = X.copy()
            for j, both in learned.items():
                for g in (0, 1):
                    mine = groups == g
                    ranks = both[g].ranks(X[mine, j], generator.random(int(mine.sum())))
                    out[mine, j] = 0.5 * (both[0].at(ranks) + both[1].at(ranks))
            return out

        return repair

    return learn


def aif360(level: float, seed: int) -> Callable[[np.ndarray, np.ndarray], Repair]:
    """AIF360's repair at this level as a map of values.

    AIF360 repairs a whole data set and has no way to repair further rows. What it does to a value in a group, on
    average over the rows that have it, is done to all rows here; between values by interpolation. A column in which
    less than one row in a hundred differs from the rest is left alone.
    """

    def learn(X: np.ndarray, groups: np.ndarray) -> Repair:
        import random

        import pandas as pd
        from aif360.algorithms.preprocessing import DisparateImpactRemover
        from aif360.datasets import BinaryLabelDataset

        some = np.random.default_rng(seed).permutation(len(X))[:MOST_REPAIRED]
        X, groups = X[some].astype(np.float64), groups[some]
        common = [j for j in range(X.shape[1]) if np.unique(X[:, j], return_counts=True)[1].max() <= 0.99 * len(X)]
        frame = pd.DataFrame(X[:, common], columns=[f"x{j}" for j in common])
        frame["group"], frame["label"] = groups.astype(np.float64), 0.0
        frame.loc[0, "label"] = 1.0  # labels are not read, but there must be two
        data = BinaryLabelDataset(df=frame, label_names=["label"], protected_attribute_names=["group"])
        random.seed(seed)  # BlackBoxAuditing draws from the module's generator
        repaired = DisparateImpactRemover(repair_level=level).fit_transform(data).features[:, : len(common)]
        maps: dict[tuple[int, int], Any] = {}
        for place, j in enumerate(common):
            for g in (0, 1):
                values, which, count = np.unique(X[groups == g, j], return_inverse=True, return_counts=True)
                maps[j, g] = values, np.bincount(which, weights=repaired[groups == g, place]) / count

        def repair(X: np.ndarray, groups: np.ndarray, draw: int) -> np.ndarray:
            out = X.astype(np.float64)
            for (j, g), known in maps.items():
                out[groups == g, j] = np.interp(out[groups == g, j], *known)
            return out

        return repair

    return learn


class Repaired:
    """The base model, trained and asked on repaired rows; `draws` times where the repair casts lots."""

    def __init__(
        self, split: Split, learn: Callable[[np.ndarray, np.ndarray], Repair], level: float, draws: int
    ) -> None:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.linear_model import LogisticRegression

        some = np.random.default_rng(split.seed).permutation(len(split.fit))[:MOST_ROWS]
        X, groups = split.fit.X[some], split.fit.a[some]
        self.repair, self.level, self.draws = learn(X, groups), level, draws
        boosted = HistGradientBoostingClassifier(random_state=split.seed) if split.model == "hgb" else None
        self.model = (boosted or LogisticRegression(C=1.0, max_iter=1000)).fit(
            self.moved(X, groups, 0), split.fit.y[some]
        )

    def moved(self, X: np.ndarray, groups: np.ndarray, draw: int) -> np.ndarray:
        return ((1 - self.level) * X + self.level * self.repair(X, groups, draw)).astype(np.float32)

    def score(self, rows: Rows, draw: int = 0) -> np.ndarray:
        """Logits, for one draw of the lots that rank tied rows."""
        return np.asarray(self.model.decision_function(self.moved(rows.X, rows.a, draw)), dtype=np.float64)

    def __call__(self, rows: Rows, score: np.ndarray) -> np.ndarray:
        return np.mean([self.score(rows, draw) >= 0 for draw in range(self.draws)], axis=0)


kept: dict[tuple[Any, ...], tuple[Split, Repaired]] = {}  # the criteria ask for the same models


def keep(form: tuple[Any, ...], split: Split, make: Callable[[], Repaired]) -> Repaired:
    if form not in kept or kept[form][0] is not split:
        kept[form] = split, make()
    return kept[form][1]


def fit_exact(split: Split, criterion: str, setting: Setting) -> Decide:
    level, columns = setting["level"], setting["columns"]
    make = lambda: Repaired(split, exact(columns, split.seed), level, draws=5)  # noqa: E731
    return keep((level, columns), split, make)


def fit_aif360(split: Split, criterion: str, setting: Setting) -> Decide:
    level = setting["level"]  # AIF360 goes part of the way by itself
    return keep((level,), split, lambda: Repaired(split, aif360(level, split.seed), 1.0, draws=1))


def settings_exact(data: str, criterion: str) -> list[Setting]:
    kinds = ("all",) if data == "celeba" else ("ordered", "all")  # CelebA's columns are all yes or no
    return [{"level": level, "columns": columns} for columns in kinds for level in LEVELS]


CRITERIA = ("equalized_odds", "demographic_parity", "equal_opportunity")
METHODS = (
    Method(
        name="dir",
        title="DIR, exact quantiles",
        kind="pre",
        randomised=True,
        uses_group=True,
        criteria=CRITERIA,
        settings=settings_exact,
        fit=fit_exact,
        aims=False,
        note="written from the paper; at most 30,000 rows; one model for all criteria; acceptance is the mean over "
        "five draws of the lots that rank tied rows",
    ),
    Method(
        name="dir_aif360",
        title="DIR, AIF360",
        kind="pre",
        randomised=False,
        uses_group=True,
        criteria=CRITERIA,
        settings=lambda data, criterion: [{"level": level} for level in LEVELS],
        fit=fit_aif360,
        aims=False,
        note="at most 30,000 rows, repaired as AIF360 repairs 10,000 of them; one model for all criteria; columns that "
        "are the same in 99 of 100 rows are left alone",
    ),
)
