"""P(group | x): the model that gives it, told apart from the model that scores, and thresholds by segments of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from gstar_fast._base.arrays import Floats, Values
from gstar_fast._base.names import Name, listed
from gstar_fast._base.public import lives_in
from gstar_fast._base.refusals.place import bad_option, bad_option_type, bad_value
from gstar_fast._estimator.groups import Groups, Source, joined
from gstar_fast._estimator.training import (
    Classifier,
    Options,
    Plan,
    Rows,
    fitted_labels,
    out_of_fold,
    response_method,
    response_of,
)
from gstar_fast._input.options import checked_flag
from gstar_fast._question.cut import Segments

__all__ = ["GroupProbability"]

SEGMENT = "segment"  # the column of segments of a probability, where columns have names


@lives_in("gstar_fast")
class GroupProbability(BaseEstimator):  # type: ignore[misc]
    """What `GroupThresholdClassifier(decide_by=...)` takes: thresholds by segments of q = P(group | x).

    `fit` of the classifier clones `estimator` and trains it to tell the group from X without the sensitive columns. It
    never sees the labels. The q of a row comes from a model that was not trained on the row; `Segments` cuts it.

    Parameters
    ----------
    estimator : estimator
        A classifier with `predict_proba`, or `decision_function`. With ``cv="prefit"`` it is fitted, on other rows: its
        classes are the groups, or False and True for `group`.
    group : group name, optional
        The group whose probability q is, against all others. With two groups it may be left out, and is the last of
        their names; with more it must be given.
    segments : Segments, optional
        Cut points; without them `Segments.from_scores` chooses as many as the rows can carry.
    monotone : bool
        Whether thresholds rise, or fall, along the segments that `Segments.from_scores` chooses; cut points that are
        passed say it themselves.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> from sklearn.linear_model import LogisticRegression
    >>> model = gf.GroupThresholdClassifier(
    ...     LogisticRegression(), sensitive_features="sex", decide_by=gf.GroupProbability(LogisticRegression())
    ... )
    >>> sorted(model.get_params()["decide_by"].get_params(deep=False))
    ['estimator', 'group', 'monotone', 'segments']
    """

    def __init__(
        self,
        estimator: object,
        *,
        group: Name | None = None,
        segments: Segments | None = None,
        monotone: bool = True,
    ) -> None:
        self.estimator = estimator
        self.group = group
        self.segments = segments
        self.monotone = monotone


def check_probability(asked: GroupProbability) -> None:
    """Refuse what cannot give numbers, before anything is trained."""
    if not any(hasattr(asked.estimator, method) for method in ("predict_proba", "decision_function")):
        raise bad_option_type(
            "decide_by",
            "decide_by=gf.GroupProbability(...) needs a classifier with predict_proba or decision_function, which "
            f"{type(asked.estimator).__name__} has not",
        )
    checked_flag("monotone", asked.monotone)
    if asked.segments is not None and not isinstance(asked.segments, Segments):
        raise bad_option_type(
            "segments", f"segments of GroupProbability must be a gf.Segments, got {type(asked.segments).__name__}"
        )


def group_of(asked: GroupProbability, names: tuple[Name, ...]) -> Name:
    """The group whose probability is cut."""
    if asked.group is None:
        if len(names) > 2:
            raise bad_option(
                "group",
                f"there are {len(names)} protected groups, {listed(names)}; name the one whose probability shall be "
                f"cut: gf.GroupProbability(..., group={names[-1]!r}). Gaps are measured between all of them",
            )
        return names[-1]
    if asked.group not in names:
        raise bad_option(
            "group", f"GroupProbability has group={asked.group!r}, and the protected groups are {listed(names)}"
        )
    return asked.group


def place_of(fitted: Classifier, group: Name) -> int:
    """Position of the group among the classes of a fitted classifier."""
    try:
        check_is_fitted(fitted)
    except NotFittedError:
        raise NotFittedError(
            "cv='prefit' needs a fitted classifier in decide_by=gf.GroupProbability(...) too, and this "
            f"{type(fitted).__name__} is not; fit it on other rows first, or leave cv out"
        ) from None
    classes = fitted.classes_.tolist()
    if group in classes:
        return int(classes.index(group))
    if classes in ([False, True], [0, 1]):
        return 1
    raise bad_option(
        "decide_by",
        f"the classifier of GroupProbability knows the classes {listed(classes)}, and the group whose probability "
        f"shall be cut is {group!r}; train it on the groups, or on groups == {group!r}",
    )


def numbers_of(fitted: Classifier, X: object, place: int) -> Floats:
    """What stands for the group of each row: the probability of the class at `place`, or a decision function."""
    numbers = np.asarray(response_of(fitted, X, response_method(fitted, "auto"), place), np.float64)
    wrong = ~np.isfinite(numbers)
    if wrong.any():
        raise bad_value(
            "decide_by",
            f"{type(fitted).__name__}, which estimates the group, gave {numbers[wrong.argmax()]} for "
            f"{int(wrong.sum())} of {len(numbers)} rows, first for row {int(wrong.argmax())}",
        )
    return numbers


# ------------------------------------------------------------------------------------------------------------ segments


@dataclass(frozen=True)
class ByProbability:
    """Thresholds by segments of a number that a fitted model gives for each row."""

    model: Classifier
    place: int  # of the group among the classes of the model
    segments: Segments

    def read(self, X: object, source: Source) -> Floats:
        """What stands for the group of each row."""
        return numbers_of(self.model, source.features(X), self.place)

    def joint(self, rows: Rows) -> Groups:
        """Protected group and segment of each row."""
        return joined(rows.groups, segments_of(self.segments, self.read(rows.whole, rows.source)))


def segments_of(cut: Segments, numbers: Floats) -> Groups:
    """Segments as groups."""
    return Groups(cut.cut(numbers), tuple(range(cut.count)), columns=(SEGMENT,))


def train_group(asked: GroupProbability, model: Options, rows: Rows, plan: Plan) -> tuple[ByProbability, Groups]:
    """Train the model of the group; the groups to count, which are made up for rows that no fold tests."""
    group = group_of(asked, rows.groups.names)
    is_group = rows.groups.codes == rows.groups.names.index(group)
    for number, (train, _) in enumerate(plan.splits):
        if len(np.unique(is_group[train])) < 2:
            raise bad_value(
                "cv", f"fold {number} would train the model of GroupProbability on one group alone; use others"
            )
    with rows.source.explained(rows.whole):
        folds = out_of_fold(asked.estimator, rows.X, is_group, plan.splits, plan.group_params, _of_group, model.n_jobs)
        fitted = folds[0][0]
        if model.refit:
            fitted = clone(asked.estimator).fit(rows.X, is_group, **plan.group_params)
    numbers, tested = np.zeros(len(rows.y)), np.zeros(len(rows.y), bool)
    for (_, test), (_, q) in zip(plan.splits, folds, strict=True):
        numbers[test], tested[test] = q, True
    cut = asked.segments
    if cut is None:
        cut = _cut(asked, numbers[tested], plan.labels[tested], rows.groups.codes[tested])
    return ByProbability(fitted, place_of(fitted, True), cut), joined(rows.groups, segments_of(cut, numbers))


def _of_group(fitted: Classifier, X: object) -> Floats:
    return numbers_of(fitted, X, place_of(fitted, True))


def prefit_group(
    asked: GroupProbability, model: Options, rows: Rows, estimator: Classifier, *, whole: bool
) -> ByProbability:
    """The model of the group as it came; `whole` where these are all rows, so that their numbers can be cut."""
    fitted = cast(Classifier, asked.estimator)
    place = place_of(fitted, group_of(asked, rows.groups.names))
    cut = asked.segments
    if cut is None:
        if not whole:
            raise bad_option(
                "decide_by",
                "partial_fit counts rows by segment from the first call on, so the cut points must be known: "
                "gf.GroupProbability(..., segments=gf.Segments.from_scores(...)), or begin with fit",
            )
        cut = _cut(asked, numbers_of(fitted, rows.X, place), fitted_labels(model, estimator, rows), rows.groups.codes)
    return ByProbability(fitted, place, cut)


def _cut(by: GroupProbability, numbers: Floats, labels: Values, groups: Values) -> Segments:
    return Segments.from_scores(numbers, labels, groups, monotone=by.monotone)
