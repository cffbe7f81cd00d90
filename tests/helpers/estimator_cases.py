"""People with scores, and a classifier whose scores a test knows."""

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin


class FirstColumn(ClassifierMixin, BaseEstimator):
    """A classifier whose score is the first column of X, so that a test knows every score."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.weights_ = sample_weight
        return self

    def decision_function(self, X):
        return np.asarray(X)[:, 0]


def prefit(classes=(0, 1)):
    return FirstColumn().fit(None, classes)


def people(n=1200, seed=0):
    """Rows whose groups differ in base rate and in how high they score."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], n, p=[0.4, 0.6])
    race = rng.choice(["black", "white"], n)
    y = (rng.random(n) < np.where(sex == "F", 0.35, 0.6)).astype(int)
    a = y + np.where(sex == "F", -0.5, 0.3) + rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": y / 2 + rng.normal(size=n), "sex": sex, "race": race}), y
