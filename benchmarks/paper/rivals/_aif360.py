"""Rows as AIF360 wants them: a data set of its own kind with labels, scores and one protected attribute."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.rivals.thresholds import probability

PRIVILEGED, UNPRIVILEGED = [{"group": 1}], [{"group": 0}]


def pair(labels: np.ndarray, groups: np.ndarray, score: np.ndarray) -> tuple[Any, Any]:
    """Two data sets of the same rows: with the true labels, and with the model's labels and probabilities."""
    import pandas as pd
    from aif360.datasets import BinaryLabelDataset

    frame = pd.DataFrame({"group": groups.astype(np.float64), "label": labels.astype(np.float64)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        true = BinaryLabelDataset(df=frame, label_names=["label"], protected_attribute_names=["group"])
        predicted = true.copy(deepcopy=True)
    predicted.scores = probability(score)[:, None]
    predicted.labels = (score >= 0).astype(np.float64)[:, None]
    return true, predicted
