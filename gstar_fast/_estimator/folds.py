"""Out-of-fold scores: each row scored by a model that has not seen it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, has_fit_parameter

from gstar_fast._base.arrays import Values
from gstar_fast._base.names import listed
from gstar_fast._base.refusals.place import bad_option, bad_type, bad_value
from gstar_fast._base.warn import warn
from gstar_fast._estimator.tables import rows_at

Rows: TypeAlias = NDArray[np.int64]
Split: TypeAlias = tuple[Rows, Rows]

Metadata: TypeAlias = dict[str, object]  # what scikit-learn hands on by name

FOLDS = 5
METHODS = ("predict_proba", "decision_function")


class Classifier(Protocol):
    """A classifier of scikit-learn; it knows its classes once it is fitted."""

    classes_: Values

    def fit(self, X: object, y: Values, **params: object) -> object: ...


class HasEstimator(Protocol):
    """A meta-estimator."""

    @property
    def estimator(self) -> object: ...


# -------------------------------------------------------------------------------------------------------------- scores


def response_method(estimator: object, asked: str) -> str:
    """The method that scores, as scikit-learn's threshold classifiers choose it."""
    if asked not in ("auto", *METHODS):
        raise bad_option("response_method", f"response_method must be one of auto, {', '.join(METHODS)}; got {asked!r}")
    for method in METHODS if asked == "auto" else (asked,):
        if hasattr(estimator, method):
            return method
    wanted = " or ".join(METHODS) if asked == "auto" else asked
    raise bad_type("estimator", f"estimator must have {wanted}, which {type(estimator).__name__} has not")


def scores_of(estimator: object, X: object, method: str, positive: int) -> Values:
    """Scores for the class at position `positive` of the estimator's two: higher means more likely."""
    answer = np.asarray(getattr(estimator, method)(X))
    if answer.dtype.kind != "f":
        answer = answer.astype(np.float64)
    if method == "predict_proba":
        if answer.ndim != 2 or answer.shape[1] != 2:
            raise bad_value("estimator", f"predict_proba must give two columns, got shape {answer.shape}")
        scores = answer[:, positive]
    else:
        if answer.ndim != 1:
            raise bad_value(
                "estimator", f"decision_function must give one number for each row, got shape {answer.shape}"
            )
        scores = answer if positive == 1 else -answer
    missing = np.isnan(scores)
    if missing.any():
        raise bad_value(
            "estimator",
            f"{type(estimator).__name__}.{method} gave NaN for {int(missing.sum())} of {len(scores)} rows, first for "
            f"row {int(missing.argmax())}; such rows cannot be compared with a threshold",
        )
    return scores


# ------------------------------------------------------------------------------------------------------------- metadata


def routed(model: HasEstimator, metadata: Metadata, group_estimator: object) -> tuple[Metadata, Metadata, Metadata]:
    """What of the metadata goes to `fit` of the estimator, to the splitter, and to `fit` of the group's estimator."""
    given = {name: value for name, value in metadata.items() if value is not None}
    if get_config()["enable_metadata_routing"]:
        request = process_routing(model, "fit", **given)
        beside = {} if group_estimator is None else request.group_estimator.fit
        return request.estimator.fit, request.splitter.split, beside
    given.pop("sensitive_features", None)
    weights = given.pop("sample_weight", None)
    if given:
        raise bad_value(
            "params",
            f"fit got {listed(sorted(given))}; to pass metadata on, call "
            "sklearn.set_config(enable_metadata_routing=True) first",
        )
    if weights is None:
        return {}, {}, {}
    weighted: Metadata = {"sample_weight": weights}
    takes = group_estimator is not None and has_fit_parameter(group_estimator, "sample_weight")
    beside = weighted if takes else {}
    if has_fit_parameter(model.estimator, "sample_weight"):
        return weighted, {}, beside
    warn(f"{type(model.estimator).__name__}.fit takes no sample_weight; weights count for the thresholds only")
    return {}, {}, beside


# --------------------------------------------------------------------------------------------------------------- splits


def splits_of(
    cv: object,
    X: object,
    y: Values,
    cells: NDArray[np.int64],
    random_state: object,
    params: Metadata,
) -> list[Split]:
    """Train and test rows of each fold.

    A number deals the rows of each cell (label, group) to the folds in turn, so that no two folds differ by more than
    one row of a cell, however small, or of a label. Other splitters may leave rows out, but test none twice.
    """
    if isinstance(cv, str):
        raise bad_option("cv", f"cv must be a number of folds, a share of rows, a splitter or 'prefit', got {cv!r}")
    if cv is None or (isinstance(cv, (int, np.integer)) and not isinstance(cv, bool)):
        folds = FOLDS if cv is None else int(cv)
        if folds < 2:
            raise bad_option("cv", f"cv must be at least 2 folds, got {cv!r}; cv='prefit' needs none")
        return _dealt(cells, folds, random_state)
    if isinstance(cv, (float, np.floating)):
        if not 0 < cv < 1:
            raise bad_option("cv", f"cv as a share of rows to test on must be between 0 and 1, got {cv!r}")
        return _held_out(cells, float(cv), random_state)
    splits = check_cv(cv, y, classifier=True).split(X, y, **params)
    rows = np.arange(len(y))  # makes row numbers of masks too
    found = [(rows[np.asarray(train)], rows[np.asarray(test)]) for train, test in splits]
    _check_once(found, len(y))
    return found


def _check_once(splits: Sequence[Split], n: int) -> None:
    """Refuse to count a row again: the sketch would look as if it had more rows, and intervals would be too narrow.

    Averaging a row's scores instead would find thresholds for scores that no single model gives.
    """
    times = np.zeros(n, np.int64)
    for _, test in splits:
        np.add.at(times, test, 1)
    if not times.any():
        raise bad_option("cv", "cv tests no row, so there are no scores to find thresholds on")
    if times.max() > 1:
        again = int((times > 1).sum())
        raise bad_option(
            "cv",
            f"cv tests {again} of {n} rows more than once, up to {times.max()} times, but a row may count only once; "
            "pass folds that do not overlap, such as StratifiedKFold, or hold out a single share, such as cv=0.3",
        )


def check_trainable(splits: Sequence[Split], y: Values) -> None:
    """Refuse folds that lack a class, before any is trained."""
    for number, (train, _) in enumerate(splits):
        seen = np.unique(y[train])
        if len(seen) < 2:
            found = f"only the class {seen.tolist()[0]!r}" if len(seen) else "nothing"
            raise bad_option(
                "cv",
                f"fold {number} would train on {found}: y has too few rows of one class to be cut into folds; pass "
                "more rows, other folds, or a fitted estimator and cv='prefit'",
            )


def _by_cell(cells: NDArray[np.int64], random_state: object) -> Rows:
    """The rows, cell after cell; in their order within a cell, or shuffled where a seed is given."""
    rows = np.arange(len(cells))
    if random_state is not None:
        rows = check_random_state(random_state).permutation(rows)
    return rows[np.argsort(cells[rows], kind="stable")]


def _dealt(cells: NDArray[np.int64], folds: int, random_state: object) -> list[Split]:
    fold = np.empty(len(cells), np.int64)
    fold[_by_cell(cells, random_state)] = np.arange(len(cells)) % folds
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(min(folds, len(cells)))]


def _held_out(cells: NDArray[np.int64], share: float, random_state: object) -> list[Split]:
    steps = np.floor((np.arange(len(cells) + 1) + 0.5) * share)
    test = np.empty(len(cells), bool)
    test[_by_cell(cells, random_state)] = np.diff(steps) > 0
    return [(np.flatnonzero(~test), np.flatnonzero(test))]


# ---------------------------------------------------------------------------------------------------------- out of fold


def out_of_fold(
    estimator: object,
    X: object,
    y: Values,
    splits: Sequence[Split],
    fit_params: Metadata,
    *,
    method: str,
    positive: int,
    n_jobs: int | None,
) -> list[tuple[Classifier, Values]]:
    """For each fold the model of its train rows and the scores of its test rows."""
    return list(
        Parallel(n_jobs=n_jobs)(
            delayed(_one_fold)(clone(estimator), X, y, train, test, fit_params, method, positive)
            for train, test in splits
        )
    )


def _one_fold(
    estimator: Classifier,
    X: object,
    y: Values,
    train: Rows,
    test: Rows,
    fit_params: Metadata,
    method: str,
    positive: int,
) -> tuple[Classifier, Values]:
    estimator.fit(rows_at(X, train), y[train], **_check_method_params(X, fit_params, indices=train))
    return estimator, scores_of(estimator, rows_at(X, test), method, positive)
