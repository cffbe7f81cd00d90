"""Rows of the methods, checked; models that score them, trained on parts of the rows or as they came; counting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, assert_all_finite, check_random_state, column_or_1d, indexable
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, check_is_fitted, has_fit_parameter

from gstar_fast._base.arrays import Floats, Values
from gstar_fast._base.names import is_missing, listed
from gstar_fast._base.refusals.place import bad_option, bad_type, bad_value
from gstar_fast._base.warn import warn
from gstar_fast._estimator.groups import Groups, Source, as_table, check_columns, joined
from gstar_fast._input.columns import as_scores
from gstar_fast._input.group_columns import check_one_length
from gstar_fast._sketch.sketch import Sketch

if TYPE_CHECKING:
    from gstar_fast._estimator.classifier import GroupThresholdClassifier
    from gstar_fast._estimator.fitted import Fitted

Split: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]  # train and test rows
Metadata: TypeAlias = dict[str, object]  # what scikit-learn passes on by name

FOLDS = 5
METHODS = ("predict_proba", "decision_function")


class Classifier(Protocol):
    """A classifier of scikit-learn; it knows its classes once it is fitted."""

    classes_: Values

    def fit(self, X: object, y: Values, **params: object) -> object: ...


# ---------------------------------------------------------------------------------------------------------------- rows


class Rows(NamedTuple):
    """Labelled rows, checked."""

    X: object  # as the estimator sees it
    y: Values
    protected: Groups  # between which gaps are measured
    groups: Groups  # that are counted: with the segment where something else decides
    weights: Floats | None
    counted: Floats | None  # the weights that the sketch counts
    whole: object  # X with the columns that the estimator does not see
    source: Source


def read_rows(
    source: Source, X: object, y: ArrayLike, given: object, sample_weight: ArrayLike | None, *, weighted: bool
) -> Rows:
    """Check the arguments of `fit`; `given` is what came as `sensitive_features`."""
    features, y = indexable(X, y)
    labels = checked_labels(y)
    features, groups = source.read(features, given)
    weights = None if sample_weight is None else checked_weights(sample_weight, len(labels))
    counted = groups if source.decide_by is None else joined(groups, source.segments(X))
    return Rows(features, labels, groups, counted, weights, weights if weighted else None, X, source)


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


def checked_weights(given: ArrayLike, n: int) -> Floats:
    """Weights that can be counted."""
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise bad_value("sample_weight", f"sample_weight must be numbers, one for each row: {error}") from None
    if weights.ndim != 1:
        text = f"sample_weight must be 1D, one number for each row; got shape {weights.shape}"
        raise bad_value("sample_weight", text)
    check_one_length({"y": n, "sample_weight": len(weights)})
    wrong = ~((weights >= 0) & (weights < np.inf))
    if wrong.any():
        row = int(wrong.argmax())
        text = f"sample_weight must be finite and not negative, got {weights[row]} at row {row}"
        raise bad_value("sample_weight", text)
    return weights


def as_labels(y: Values, classes: Values, positive: int) -> NDArray[np.uint8]:
    """1 for the positive class and 0 for the other."""
    is_positive = y == classes[positive]
    known = is_positive | (y == classes[1 - positive])
    if not np.all(known):
        row = int(np.argmin(known))
        raise bad_value("y", f"y has {y.tolist()[row]!r} at row {row}, but the classes are {classes.tolist()}")
    return np.asarray(is_positive, np.uint8)


# -------------------------------------------------------------------------------------------------------------- scores


@dataclass(frozen=True)
class Scoring:
    """How a fitted estimator scores rows: higher means more likely the class that being accepted means."""

    method: str
    positive: int  # position of that class

    @classmethod
    def of(cls, model: Fitted, estimator: object, classes: Values) -> Scoring:
        """As the options say, for an estimator that knows these classes."""
        return cls(response_method(estimator, model.response_method), positive_of(classes, model.pos_label))

    def __call__(self, estimator: object, X: object) -> Values:
        """The scores of rows."""
        scores = response_of(estimator, X, self.method, self.positive)
        missing = np.isnan(scores)
        if missing.any():
            raise bad_value(
                "estimator",
                f"{type(estimator).__name__}.{self.method} gave NaN for {int(missing.sum())} of {len(scores)} rows, "
                f"first for row {int(missing.argmax())}; such rows cannot be compared with a threshold",
            )
        return scores


def response_method(estimator: object, asked: str) -> str:
    """The method that scores, as scikit-learn's threshold classifiers choose it."""
    if asked not in ("auto", *METHODS):
        raise bad_option("response_method", f"response_method must be one of auto, {', '.join(METHODS)}; got {asked!r}")
    for method in METHODS if asked == "auto" else (asked,):
        if hasattr(estimator, method):
            return method
    wanted = " or ".join(METHODS) if asked == "auto" else asked
    raise bad_type("estimator", f"estimator must have {wanted}, which {type(estimator).__name__} has not")


def response_of(estimator: object, X: object, method: str, place: int) -> Values:
    """What stands for the class at `place`: its probability, or a decision function."""
    answer = np.asarray(getattr(estimator, method)(X))
    if answer.dtype.kind != "f":
        answer = answer.astype(np.float64)
    if method == "predict_proba":
        if answer.ndim != 2 or answer.shape[1] <= place:
            raise bad_value("estimator", f"predict_proba must give a column for each class, got shape {answer.shape}")
        scores = answer[:, place]
    elif answer.ndim != 1:
        text = f"decision_function must give one number for each row, got shape {answer.shape}; use predict_proba"
        raise bad_value("estimator", text)
    else:
        scores = answer if place == 1 else -answer
    return scores if scores.dtype in (np.float32, np.float64) else as_scores(scores, None, None)


def positive_of(classes: Values, pos_label: object) -> int:
    """Position of the class that being accepted means."""
    if len(classes) != 2:
        raise bad_value("estimator", f"the estimator must know two classes, got {len(classes)}: {classes.tolist()}")
    if pos_label is None:
        return 1
    if pos_label not in classes:
        raise bad_option("pos_label", f"pos_label must be one of the classes {classes.tolist()}, got {pos_label!r}")
    return int(np.flatnonzero(classes == pos_label)[0])


# ------------------------------------------------------------------------------------------------------------- metadata


def routed(model: GroupThresholdClassifier, metadata: Metadata) -> tuple[Metadata, Metadata, Metadata]:
    """What of the metadata goes to `fit` of the estimator, to the splitter, and to `fit` of the group's estimator."""
    group_estimator = getattr(model.decide_by, "estimator", None)
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
        return _dealt(_by_cell(cells, random_state), folds)
    if isinstance(cv, (float, np.floating)):
        if not 0 < cv < 1:
            raise bad_option("cv", f"cv as a share of rows to test on must be between 0 and 1, got {cv!r}")
        return _held_out(_by_cell(cells, random_state), float(cv))
    splits = check_cv(cv, y, classifier=True).split(X, y, **params)
    rows = np.arange(len(y))  # makes row numbers of masks too
    found = [(rows[np.asarray(train)], rows[np.asarray(test)]) for train, test in splits]
    _check_once(found, len(y))
    return found


def cells_of(labels: NDArray[np.uint8], groups: Groups) -> NDArray[np.int64]:
    """Number of each row's cell (label, group); those of one label stand side by side."""
    return labels.astype(np.int64) * len(groups.names) + groups.codes


def _check_once(splits: Sequence[Split], n: int) -> None:
    """Raise if a row would be counted twice: the sketch would seem to have more rows, with intervals too narrow.

    Averaging a row's scores instead would find thresholds for scores that no single model gives.
    """
    times = np.bincount(np.concatenate([np.empty(0, np.int64), *(test for _, test in splits)]), minlength=n)
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
    """Raise for folds that lack a class, before any is trained."""
    for number, (train, _) in enumerate(splits):
        seen = np.unique(y[train])
        if len(seen) < 2:
            found = f"only the class {seen.tolist()[0]!r}" if len(seen) else "nothing"
            raise bad_option(
                "cv",
                f"fold {number} would train on {found}: y has too few rows of one class to be cut into folds; pass "
                "more rows, other folds, or a fitted estimator and cv='prefit'",
            )


def _by_cell(cells: NDArray[np.int64], random_state: object) -> NDArray[np.int64]:
    """The rows, cell after cell; in their order within a cell, or shuffled where a seed is given."""
    rows = np.arange(len(cells))
    if random_state is not None:
        rows = check_random_state(random_state).permutation(rows)
    return rows[np.argsort(cells[rows], kind="stable")]


def _dealt(order: NDArray[np.int64], folds: int) -> list[Split]:
    fold = np.empty(len(order), np.int64)
    fold[order] = np.arange(len(order)) % folds
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(min(folds, len(order)))]


def _held_out(order: NDArray[np.int64], share: float) -> list[Split]:
    test = np.empty(len(order), bool)
    test[order] = np.diff(np.floor((np.arange(len(order) + 1) + 0.5) * share)) > 0
    return [(np.flatnonzero(~test), np.flatnonzero(test))]


def out_of_fold(
    model: GroupThresholdClassifier,
    estimator: object,
    rows: Rows,
    y: Values,
    plan: Plan,
    params: Metadata,
    score: Callable[[Classifier, object], Values],
) -> tuple[Classifier, Values]:
    """An estimator trained on all rows, or on the only train rows; what `score` says of the rows that are tested.

    For each fold, `score` asks a model that was trained on its train rows.
    """
    with rows.source.explained(rows.whole):
        parallel, fold = Parallel(n_jobs=model.n_jobs), delayed(_one_fold)
        folds = list(parallel(fold(clone(estimator), rows.X, y, split, params, score) for split in plan.splits))
        fitted = clone(estimator).fit(rows.X, y, **params) if model.refit else folds[0][0]
    return cast(Classifier, fitted), np.concatenate([scores for _, scores in folds])


def _one_fold(
    estimator: Classifier,
    X: object,
    y: Values,
    split: Split,
    params: Metadata,
    score: Callable[[Classifier, object], Values],
) -> tuple[Classifier, Values]:
    train, test = split
    estimator.fit(_rows_at(X, train), y[train], **_check_method_params(X, params, indices=train))
    return estimator, score(estimator, _rows_at(X, test))


def _rows_at(table: object, rows: Values) -> object:
    if hasattr(table, "column_names") and hasattr(table, "take"):
        return table.take(rows)  # pyarrow, which older releases of scikit-learn do not cut
    return _safe_indexing(table, rows)


# ------------------------------------------------------------------------------------------------------------ counting


class Plan(NamedTuple):
    """How out-of-fold scores will be made: checked before anything is trained."""

    scoring: Scoring
    labels: NDArray[np.uint8]
    splits: list[Split]
    params: Metadata  # of `fit` of the estimator
    group_params: Metadata  # of `fit` of the estimator of the group

    @property
    def tested(self) -> NDArray[np.int64]:
        """The rows that are tested, fold after fold."""
        return np.concatenate([test for _, test in self.splits])


def planned(model: GroupThresholdClassifier, rows: Rows, metadata: Metadata) -> Plan:
    """Find the classes, the splits, and who gets which metadata."""
    y, weights = rows.y, rows.weights
    params, split_params, group_params = routed(model, {**metadata, "sample_weight": weights})
    classes = np.unique(y if weights is None else y[weights > 0])
    if len(classes) < 2:
        none = "sample_weight is zero for all rows" if len(y) else "X has no rows"
        seen = f"y has only one class, {classes.tolist()}" if len(classes) else none
        raise bad_value("y", f"{seen}; thresholds need rows of both classes")
    scoring = Scoring.of(model, model.estimator, classes)
    labels = as_labels(y, classes, scoring.positive)
    splits = splits_of(model.cv, rows.X, y, cells_of(labels, rows.protected), model.random_state, split_params)
    if not model.refit and len(splits) > 1:
        raise bad_option("refit", f"refit=False needs a single split, such as cv=0.3; this cv has {len(splits)}")
    check_trainable(splits, y)
    return Plan(scoring, labels, splits, params, group_params)


def train(model: GroupThresholdClassifier, sketch: Sketch, rows: Rows, plan: Plan) -> Classifier:
    """Count out-of-fold scores into the sketch; the estimator that scores new rows."""
    fitted, scores = out_of_fold(model, model.estimator, rows, rows.y, plan, plan.params, plan.scoring)
    _count(sketch, rows, plan.labels, scores, plan.tested)
    return fitted


def prefit(estimator: object, rows: Rows) -> Classifier:
    """The estimator as it is, if it is fitted and takes the columns that we would pass."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        name = type(estimator).__name__
        raise NotFittedError(
            f"cv='prefit' needs a fitted estimator, and this {name} is not; fit it first, or leave cv out"
        ) from None
    if rows.source.named:
        check_columns(estimator, as_table(rows.whole), rows.source)
    return cast(Classifier, estimator)


def fitted_labels(model: Fitted, estimator: Classifier, rows: Rows) -> NDArray[np.uint8]:
    """1 for the class of a fitted estimator that being accepted means, 0 for the other."""
    return as_labels(rows.y, estimator.classes_, positive_of(estimator.classes_, model.pos_label))


def count_fitted(model: Fitted, sketch: Sketch, rows: Rows, estimator: Classifier) -> None:
    """Score rows with a fitted estimator and count them."""
    labels = fitted_labels(model, estimator, rows)
    with rows.source.explained(rows.whole):
        scores = Scoring.of(model, estimator, estimator.classes_)(estimator, rows.X)
    _count(sketch, rows, labels, scores)


def _count(
    sketch: Sketch, rows: Rows, labels: Values, scores: Values, at: NDArray[np.int64] | slice = slice(None)
) -> None:
    """`Sketch.update` with the rows at these places, without naming the group of each row again."""
    codes, weights = rows.groups.codes[at], None if rows.counted is None else rows.counted[at]
    sketch._core.update(scores, labels[at], codes, rows.groups.names, weights, skip_nan=False, threads=1)
