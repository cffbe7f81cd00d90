"""Models that score: trained on parts of the rows, or as they came. What they say of unseen rows is counted."""

from __future__ import annotations

from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from gstar_fast._base.arrays import Floats, Values
from gstar_fast._base.refusals.place import bad_option, bad_value
from gstar_fast._estimator.decide_by import DecideBy, group_estimator_of, trained
from gstar_fast._estimator.folds import (
    Classifier,
    Metadata,
    check_trainable,
    out_of_fold,
    response_method,
    routed,
    scores_of,
    splits_of,
)
from gstar_fast._estimator.groups import Groups, Source, check_columns
from gstar_fast._estimator.rows import Rows, as_labels, cells_of, count_scores
from gstar_fast._estimator.tables import as_table
from gstar_fast._sketch.sketch import Sketch


class Options(Protocol):
    """What a meta-estimator was told about training; see `GroupThresholdClassifier`."""

    estimator: object
    response_method: str
    pos_label: object
    cv: object
    refit: bool
    n_jobs: int | None
    random_state: object
    decide_by: object
    drop_sensitive: bool
    drop_decide_by: bool


def prefit(estimator: object, source: Source, X: object) -> Classifier:
    """The estimator as it is, if it is fitted and takes the columns that we would pass."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        name = type(estimator).__name__
        raise NotFittedError(
            f"cv='prefit' needs a fitted estimator, and this {name} is not; fit it first, or leave cv out"
        ) from None
    if source.named:
        check_columns(estimator, as_table(X), source)
    return cast(Classifier, estimator)


def train(
    model: Options,
    sketch: Sketch,
    source: Source,
    whole: object,
    rows: Rows,
    counted: Floats | None,
    metadata: Metadata,
) -> tuple[Classifier, DecideBy | None, Groups]:
    """Count out-of-fold scores into the sketch; the estimator that shall score, what decides, and the counted groups.

    `whole` is X with its sensitive columns.
    """
    X, y, groups, weights = rows
    fit_params, split_params, group_params = routed(model, metadata, group_estimator_of(model))
    classes = np.unique(y if weights is None else y[weights > 0])
    if len(classes) < 2:
        none = "sample_weight is zero for all rows" if len(y) else "X has no rows"
        seen = f"y has only one class, {classes.tolist()}" if len(classes) else none
        raise bad_value("y", f"{seen}; thresholds need rows of both classes")
    positive = positive_of(classes, model.pos_label)
    labels = as_labels(y, classes, positive)
    splits = splits_of(model.cv, X, y, cells_of(labels, groups), model.random_state, split_params)
    if not model.refit and len(splits) > 1:
        raise bad_option("refit", f"refit=False needs a single split, such as cv=0.3; this cv has {len(splits)}")
    check_trainable(splits, y)
    method = response_method(model.estimator, model.response_method)
    by, joint = trained(model, rows, whole, source, labels, splits, group_params)
    with source.explained(whole):
        folds = out_of_fold(
            model.estimator, X, y, splits, fit_params, method=method, positive=positive, n_jobs=model.n_jobs
        )
        fitted = clone(model.estimator).fit(X, y, **fit_params) if model.refit else folds[0][0]
    for (_, test), (_, scores) in zip(splits, folds, strict=True):
        part = None if counted is None else counted[test]
        count_scores(sketch, scores, labels[test], joint.take(test), part)
    return cast(Classifier, fitted), by, joint


def labels_for(model: Options, estimator: Classifier, rows: Rows) -> NDArray[np.uint8]:
    """1 for the class of a fitted estimator that being accepted means, 0 for the other."""
    return as_labels(rows.y, estimator.classes_, positive_of(estimator.classes_, model.pos_label))


def count(
    model: Options,
    sketch: Sketch,
    estimator: Classifier,
    source: Source,
    whole: object,
    rows: Rows,
    counted: Floats | None,
    by: DecideBy | None,
) -> Groups:
    """Score rows with a fitted estimator and count them; the groups that were counted. `whole` is all of X."""
    positive = positive_of(estimator.classes_, model.pos_label)
    labels = labels_for(model, estimator, rows)
    method = response_method(estimator, model.response_method)
    with source.explained(whole):
        scores = scores_of(estimator, rows.X, method, positive)
    joint = rows.groups if by is None else by.joint(rows, whole, source)
    count_scores(sketch, scores, labels, joint, counted)
    return joint


def positive_of(classes: Values, pos_label: object) -> int:
    """Position of the class that being accepted means."""
    if len(classes) != 2:
        raise bad_value("estimator", f"the estimator must know two classes, got {len(classes)}: {classes.tolist()}")
    if pos_label is None:
        return 1
    if pos_label not in classes:
        raise bad_option("pos_label", f"pos_label must be one of the classes {classes.tolist()}, got {pos_label!r}")
    return int(np.flatnonzero(classes == pos_label)[0])
