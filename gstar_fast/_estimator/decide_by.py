"""What decides in the place of the protected group: columns of X, or segments of P(group | x) that a model gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from gstar_fast._base.arrays import Floats, Values
from gstar_fast._base.names import Name, listed
from gstar_fast._base.public import lives_in
from gstar_fast._base.refusals.place import bad_option, bad_option_type, bad_value
from gstar_fast._decide.decider import Decider
from gstar_fast._estimator.groups import Groups, Named, joined
from gstar_fast._estimator.training import METHODS, Classifier, Plan, Rows, out_of_fold, response_method, response_of
from gstar_fast._input.options import checked_flag
from gstar_fast._question.cut import Segments

if TYPE_CHECKING:
    from gstar_fast._estimator.classifier import GroupThresholdClassifier

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


# -------------------------------------------------------------------------------------------------------------- checks


def check_decide_by(by: object, drop_sensitive: bool) -> None:
    """Reject what cannot decide, before anything is trained."""
    if isinstance(by, GroupProbability):
        _check_probability(by)
    elif hasattr(by, "fit"):
        raise bad_option_type(
            "decide_by",
            f"decide_by must be columns of X, or gf.GroupProbability({type(by).__name__}(...)) for segments of what "
            "this estimator says of the group",
        )
    elif isinstance(by, Segments) and by.cuts is not None:
        raise bad_option(
            "decide_by",
            "decide_by=gf.Segments(column=...) names a column of X that is in order already; to cut a probability pass "
            "the cut points to gf.GroupProbability(..., segments=...)",
        )
    elif not Named("decide_by", columns_of(by), True).several:
        raise bad_option("decide_by", "decide_by names no column; one threshold for everybody is unified=True")
    if not drop_sensitive:
        raise bad_option(
            "drop_sensitive",
            "decide_by decides without the protected group, and drop_sensitive=False lets the estimator see it; leave "
            "drop_sensitive=True",
        )


def _check_probability(by: GroupProbability) -> None:
    if not any(hasattr(by.estimator, method) for method in METHODS):
        raise bad_option_type(
            "decide_by",
            "decide_by=gf.GroupProbability(...) needs a classifier with predict_proba or decision_function, which "
            f"{type(by.estimator).__name__} has not",
        )
    checked_flag("monotone", by.monotone)
    if by.segments is not None and not isinstance(by.segments, Segments):
        raise bad_option_type(
            "segments", f"segments of GroupProbability must be a gf.Segments, got {type(by.segments).__name__}"
        )


def columns_of(by: object) -> object:
    """The columns of X that `decide_by` names; None for a probability."""
    return None if isinstance(by, GroupProbability) else by.column if isinstance(by, Segments) else by


# --------------------------------------------------------------------------------------------------------- probability


class ByProbability(NamedTuple):
    """Thresholds by segments of a number that a fitted model gives for each row."""

    model: Classifier
    place: int  # of the group among the classes of the model
    segments: Segments

    def numbers(self, X: object) -> Floats:
        """What stands for the group of each row; X is as the estimator sees it."""
        return _numbers_of(self.model, X, self.place)

    def cut(self, rows: Rows) -> Rows:
        """The rows with the segment that decides each."""
        return _with_segments(rows, self.segments, self.numbers(rows.X))


def _with_segments(rows: Rows, cut: Segments, numbers: Floats) -> Rows:
    segments = Groups(cut.cut(numbers), tuple(range(cut.count)), columns=(SEGMENT,))
    return rows._replace(groups=joined(rows.protected, segments))


def train_group(
    by: GroupProbability, model: GroupThresholdClassifier, rows: Rows, plan: Plan
) -> tuple[ByProbability, Rows]:
    """Train the model of the group; rows that no fold tests get a segment that is not counted."""
    is_group = rows.protected.codes == rows.protected.names.index(_group_of(by, rows.protected.names))
    for number, (train, _) in enumerate(plan.splits):
        if len(np.unique(is_group[train])) < 2:
            raise bad_value(
                "cv", f"fold {number} would train the model of GroupProbability on one group alone; use others"
            )
    fitted, tested_numbers = out_of_fold(model, by.estimator, rows, is_group, plan, plan.group_params, _of_group)
    tested, numbers, cut = plan.tested, np.zeros(len(rows.y)), by.segments
    numbers[tested] = tested_numbers
    if cut is None:
        cut = _chosen(by, tested_numbers, plan.labels[tested], rows.protected.codes[tested])
    return ByProbability(fitted, _place_of(fitted, True), cut), _with_segments(rows, cut, numbers)


def prefit_group(by: GroupProbability, rows: Rows, labels: Values | None) -> tuple[ByProbability, Rows]:
    """The model of the group as it came; `labels` None where more rows may follow, so that cut points must be known."""
    fitted = cast(Classifier, by.estimator)
    place = _place_of(fitted, _group_of(by, rows.protected.names))
    numbers, cut = _numbers_of(fitted, rows.X, place), by.segments
    if cut is None:
        if labels is None:
            raise bad_option(
                "decide_by",
                "partial_fit counts rows by segment from the first call on, so the cut points must be known: "
                "gf.GroupProbability(..., segments=gf.Segments.from_scores(...)), or begin with fit",
            )
        cut = _chosen(by, numbers, labels, rows.protected.codes)
    return ByProbability(fitted, place, cut), _with_segments(rows, cut, numbers)


def _chosen(by: GroupProbability, numbers: Floats, labels: Values, groups: Values) -> Segments:
    return Segments.from_scores(numbers, labels, groups, monotone=by.monotone)


def _of_group(fitted: Classifier, X: object) -> Floats:
    return _numbers_of(fitted, X, _place_of(fitted, True))


def _group_of(by: GroupProbability, names: tuple[Name, ...]) -> Name:
    """The group whose probability is cut."""
    if by.group is None:
        if len(names) > 2:
            raise bad_option(
                "group",
                f"there are {len(names)} protected groups, {listed(names)}; name the one whose probability is "
                f"cut: gf.GroupProbability(..., group={names[-1]!r}). Gaps are measured between all of them",
            )
        return names[-1]
    if by.group not in names:
        raise bad_option(
            "group", f"GroupProbability has group={by.group!r}, and the protected groups are {listed(names)}"
        )
    return by.group


def _place_of(fitted: Classifier, group: Name) -> int:
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
        f"is cut is {group!r}; train it on the groups, or on groups == {group!r}",
    )


def _numbers_of(fitted: Classifier, X: object, place: int) -> Floats:
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


# ------------------------------------------------------------------------------------------------------------ decided


def decide(
    decider: Decider, scores: Values, groups: Groups | Floats | None, keys: ArrayLike | None
) -> NDArray[np.bool_]:
    """Decide rows whose groups, or the numbers that stand for them, are already read; a unified decider needs none."""
    if groups is None:
        return decider(scores)
    if decider.randomized and keys is None:
        raise bad_value("keys", "these thresholds are randomised; pass keys=..., what identifies each row, to predict")
    if not isinstance(groups, Groups):
        return decider(scores, groups, keys=keys)
    places = groups.positions(decider.groups)
    if decider.unknown == "raise" and (places < 0).any():
        row = int((places < 0).argmax())
        raise bad_value(
            "sensitive_features",
            f"group {groups.names[groups.codes[row]]!r} at row {row} was not there in fit; its groups were "
            f"{listed(decider.groups)}; choose unknown='default' or a number to decide for others",
        )
    return decider(scores, places, codes=True, keys=keys)
