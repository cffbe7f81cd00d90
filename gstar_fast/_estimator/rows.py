"""Labelled rows of the estimator: checked, counted into a sketch, decided."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite, column_or_1d, indexable
from sklearn.utils.multiclass import type_of_target

from gstar_fast._base.arrays import Values
from gstar_fast._base.names import is_missing, listed
from gstar_fast._base.refusals.place import bad_value
from gstar_fast._decide.decider import Decider
from gstar_fast._estimator.groups import Groups, Source
from gstar_fast._input.columns import Batch, as_scores
from gstar_fast._input.missing import NOTHING
from gstar_fast._sketch.counting import count
from gstar_fast._sketch.sketch import Sketch


class Rows(NamedTuple):
    """Labelled rows, checked."""

    X: object
    y: Values
    groups: Groups
    weights: NDArray[np.float64] | None


def read_rows(source: Source, X: object, y: ArrayLike, given: object, sample_weight: ArrayLike | None) -> Rows:
    """Check the arguments of `fit`; `given` is what came as `sensitive_features`."""
    X, y = indexable(X, y)
    labels = checked_labels(y)
    features, groups = source.read(X, given)
    weights = None if sample_weight is None else checked_weights(sample_weight, len(labels))
    return Rows(features, labels, groups, weights)


def checked_labels(y: object) -> Values:
    """Labels of at most two classes, of any kind, as an array."""
    if y is None:
        raise bad_value("y", "GroupThresholdClassifier requires y to be passed, but the target y is None")
    labels: Values = column_or_1d(y, warn=True)
    missing = _missing(labels)
    if len(missing):
        raise bad_value(
            "y",
            f"y has {len(missing)} missing label{'s' if len(missing) > 1 else ''}, first at row {missing[0]}; "
            "drop such rows from X, y and the groups",
        )
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    kind = type_of_target(labels, input_name="y")
    if kind != "binary":
        raise bad_value("y", f"Only binary classification is supported. Unknown label type: {kind}")
    return labels


def _missing(y: Values) -> NDArray[np.intp]:
    """Rows that have no label."""
    if y.dtype.kind == "f":
        return np.flatnonzero(np.isnan(y))
    return np.flatnonzero([is_missing(label) for label in y.tolist()] if y.dtype == object else [])


def checked_weights(given: ArrayLike, n: int) -> NDArray[np.float64]:
    """Weights that can be counted."""
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise bad_value("sample_weight", f"sample_weight must be numbers, one for each row: {error}") from None
    if weights.ndim != 1:
        raise bad_value(
            "sample_weight", f"sample_weight must be 1D, one number for each row; got shape {weights.shape}"
        )
    if len(weights) != n:
        raise bad_value("sample_weight", f"arrays differ in length: y has {n}, sample_weight has {len(weights)}")
    wrong = ~((weights >= 0) & (weights < np.inf))
    if wrong.any():
        row = int(wrong.argmax())
        raise bad_value(
            "sample_weight", f"sample_weight must be finite and not negative, got {weights[row]} at row {row}"
        )
    return weights


def as_labels(y: Values, classes: Values, positive: int) -> NDArray[np.uint8]:
    """1 for the positive class and 0 for the other."""
    is_positive = y == classes[positive]
    known = is_positive | (y == classes[1 - positive])
    if not np.all(known):
        row = int(np.argmin(known))
        raise bad_value("y", f"y has {y.tolist()[row]!r} at row {row}, but the classes are {classes.tolist()}")
    return np.asarray(is_positive, np.uint8)


def cells_of(labels: NDArray[np.uint8], groups: Groups) -> NDArray[np.int64]:
    """Number of each row's cell (label, group); those of one label stand side by side."""
    return labels.astype(np.int64) * len(groups.names) + groups.codes


def count_scores(
    sketch: Sketch,
    scores: Values,
    labels: NDArray[np.uint8],
    groups: Groups,
    weights: NDArray[np.float64] | None,
) -> None:
    """`Sketch.update`, without naming the group of each row again."""
    batch = Batch(as_scores(scores, None, None), labels, groups.codes, groups.names, weights, False)
    count(sketch._core, batch, NOTHING, threads=1)


def decide(decider: Decider, scores: Values, groups: Groups | None, keys: ArrayLike | None) -> NDArray[np.bool_]:
    """Apply a decider to rows whose groups are already read; a unified one needs none."""
    if groups is None:
        return decider(scores)
    places = groups.positions(decider.groups)
    if decider.unknown == "raise" and (places < 0).any():
        row = int((places < 0).argmax())
        raise bad_value(
            "sensitive_features",
            f"group {groups.names[groups.codes[row]]!r} at row {row} was not there in fit; its groups were "
            f"{listed(decider.groups)}; choose unknown='default' or a number to decide for others",
        )
    if decider.randomized and keys is None:
        raise bad_value("keys", "these thresholds are randomised; pass keys=..., what identifies each row, to predict")
    return decider(scores, places, codes=True, keys=keys)
