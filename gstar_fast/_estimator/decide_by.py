"""What thresholds depend on where that is not the protected group: columns of X, or segments of P(group | x)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params

from gstar_fast._base.arrays import Floats, Values
from gstar_fast._base.names import Name, as_tuple, joined_columns, listed
from gstar_fast._base.refusals.place import bad_option, bad_option_type, bad_value
from gstar_fast._decide.decider import Decider
from gstar_fast._estimator.folds import Classifier, Metadata, Split
from gstar_fast._estimator.groups import Groups, Source, groups_in_table
from gstar_fast._estimator.probability import (
    Fitted,
    GroupProbability,
    check_probability,
    group_of,
    numbers_of,
    place_of,
)
from gstar_fast._estimator.rows import Rows, decide
from gstar_fast._estimator.tables import as_table, asked, places_of, rows_at
from gstar_fast._question.cut import Segments
from gstar_fast._question.question import Question
from gstar_fast._sketch.columns import Columns
from gstar_fast._sketch.sketch import Sketch

SEGMENT = "segment"  # the column of segments of a probability, where columns have names


class Options(Protocol):
    """What a meta-estimator was told; see `GroupThresholdClassifier`."""

    decide_by: object
    drop_sensitive: bool
    drop_decide_by: bool
    refit: bool
    n_jobs: int | None


def check_decide_by(model: Options) -> None:
    """Refuse what cannot decide, before anything is trained."""
    if model.decide_by is None:
        return
    if isinstance(model.decide_by, GroupProbability):
        check_probability(model.decide_by)
    elif hasattr(model.decide_by, "fit"):
        raise bad_option_type(
            "decide_by",
            f"decide_by must be columns of X, or gf.GroupProbability({type(model.decide_by).__name__}(...)) for "
            "segments of what this estimator says of the group",
        )
    elif isinstance(model.decide_by, Segments) and model.decide_by.cuts is not None:
        raise bad_option(
            "decide_by",
            "decide_by=gf.Segments(column=...) names a column of X that is in order already; to cut a probability pass "
            "the cut points to gf.GroupProbability(..., segments=...)",
        )
    elif not asked(columns_of(model.decide_by), "decide_by"):
        raise bad_option("decide_by", "decide_by names no column; one threshold for everybody is unified=True")
    if not model.drop_sensitive:
        raise bad_option(
            "drop_sensitive",
            "decide_by decides without the protected group, and drop_sensitive=False lets the estimator see it; leave "
            "drop_sensitive=True",
        )


def columns_of(decide_by: object) -> object:
    """The columns of X that `decide_by` names."""
    return decide_by.column if isinstance(decide_by, Segments) else decide_by


def group_estimator_of(model: Options) -> object:
    """What estimates the group, if anything does."""
    return model.decide_by.estimator if isinstance(model.decide_by, GroupProbability) else None


# ------------------------------------------------------------------------------------------------------ columns of X


@dataclass(frozen=True)
class ByColumns:
    """Thresholds by columns of X."""

    columns: object
    segments: None = None
    model: None = None

    def _places(self, X: object, source: Source) -> tuple[int, ...]:
        table = as_table(X, "decide_by")
        places = places_of(table, self.columns, "decide_by")
        if source.columns is not None and (both := set(places) & set(_present(X, source))):
            raise bad_option(
                "decide_by",
                f"decide_by={self.columns!r} names a sensitive column, {listed(sorted(both))} by position; leave "
                "decide_by out to decide by the protected group",
            )
        return places

    def read(self, X: object, source: Source) -> Groups:
        """The segment of each row."""
        return groups_in_table(as_table(X, "decide_by"), self._places(X, source))

    def joint(self, rows: Rows, X: object, source: Source) -> Groups:
        """Protected group and segment of each row."""
        return joined(rows.groups, self.read(X, source))

    def decide(
        self, decider: Decider, scores: Values, X: object, source: Source, keys: ArrayLike | None
    ) -> NDArray[np.bool_]:
        """Decide rows by their segments."""
        return decide(decider, scores, self.read(X, source), keys)


def _present(X: object, source: Source) -> tuple[int, ...]:
    """Positions of the sensitive columns that X has."""
    sensitive = next((role for role in source.named if role.argument == "sensitive_features"), None)
    there = [] if sensitive is None else sensitive.present(X)
    return places_of(as_table(X), there) if there else ()


# ------------------------------------------------------------------------------------------- segments of a probability


@dataclass(frozen=True)
class ByProbability:
    """Thresholds by segments of a number that a fitted model gives for each row."""

    model: Fitted
    place: int  # of the group among the classes of the model
    segments: Segments

    def read(self, X: object, source: Source) -> Floats:
        """What stands for the group of each row."""
        return numbers_of(self.model, source.features(X), self.place)

    def joint(self, rows: Rows, X: object, source: Source) -> Groups:
        """Protected group and segment of each row."""
        return joined(rows.groups, segments_of(self.segments, self.read(X, source)))

    def decide(
        self, decider: Decider, scores: Values, X: object, source: Source, keys: ArrayLike | None
    ) -> NDArray[np.bool_]:
        """Decide rows by their numbers."""
        if decider.randomized and keys is None:
            raise bad_value(
                "keys", "these thresholds are randomised; pass keys=..., what identifies each row, to predict"
            )
        return decider(scores, self.read(X, source), keys=keys)


DecideBy: TypeAlias = ByColumns | ByProbability


def trained(
    model: Options, rows: Rows, X: object, source: Source, labels: Values, splits: Sequence[Split], params: Metadata
) -> tuple[DecideBy | None, Groups]:
    """What decides, trained where it must be, and the groups to count; those of rows that no fold tests are made up."""
    if model.decide_by is None:
        return None, rows.groups
    if not isinstance(model.decide_by, GroupProbability):
        by = ByColumns(columns_of(model.decide_by))
        return by, by.joint(rows, X, source)
    group = group_of(model.decide_by, rows.groups.names)
    is_group = rows.groups.codes == rows.groups.names.index(group)
    for number, (train, _) in enumerate(splits):
        if len(np.unique(is_group[train])) < 2:
            raise bad_value(
                "cv", f"fold {number} would train the model of GroupProbability on one group alone; use others"
            )
    with source.explained(X):
        folds = Parallel(n_jobs=model.n_jobs)(
            delayed(_one_fold)(clone(model.decide_by.estimator), rows.X, is_group, train, test, params)
            for train, test in splits
        )
        fitted = folds[0][0]
        if model.refit:
            fitted = clone(model.decide_by.estimator).fit(rows.X, is_group, **params)
    numbers, tested = np.zeros(len(labels)), np.zeros(len(labels), bool)
    for (_, test), (_, q) in zip(splits, folds, strict=True):
        numbers[test], tested[test] = q, True
    cut = model.decide_by.segments
    if cut is None:
        cut = _cut(model.decide_by, numbers[tested], labels[tested], rows.groups.codes[tested])
    return ByProbability(fitted, place_of(fitted, True), cut), joined(rows.groups, segments_of(cut, numbers))


def _one_fold(
    estimator: Classifier, X: object, is_group: Values, train: Values, test: Values, params: Metadata
) -> tuple[Classifier, Floats]:
    estimator.fit(rows_at(X, train), is_group[train], **_check_method_params(X, params, indices=train))
    return estimator, numbers_of(estimator, rows_at(X, test), place_of(estimator, True))


def prefit_by(model: Options, rows: Rows, labels: Values, *, whole: bool) -> DecideBy | None:
    """What decides, as it came; `whole` where these are all rows, so that their numbers can be cut."""
    if model.decide_by is None:
        return None
    if not isinstance(model.decide_by, GroupProbability):
        return ByColumns(columns_of(model.decide_by))
    fitted = cast(Fitted, model.decide_by.estimator)
    place = place_of(fitted, group_of(model.decide_by, rows.groups.names))
    cut = model.decide_by.segments
    if cut is None:
        if not whole:
            raise bad_option(
                "decide_by",
                "partial_fit counts rows by segment from the first call on, so the cut points must be known: "
                "gf.GroupProbability(..., segments=gf.Segments.from_scores(...)), or begin with fit",
            )
        cut = _cut(model.decide_by, numbers_of(fitted, rows.X, place), labels, rows.groups.codes)
    return ByProbability(fitted, place, cut)


def _cut(by: GroupProbability, numbers: Floats, labels: Values, groups: Values) -> Segments:
    return Segments.from_scores(numbers, labels, groups, monotone=by.monotone)


# --------------------------------------------------------------------------------------------------------- both at once


def segments_of(cut: Segments, numbers: Floats) -> Groups:
    """Segments as groups."""
    return Groups(cut.cut(numbers), tuple(range(cut.count)), columns=(SEGMENT,))


def joined(protected: Groups, segments: Groups) -> Groups:
    """Tuples of protected group and segment, as far as rows have them."""
    pairs, codes = np.unique(protected.codes * len(segments.names) + segments.codes, return_inverse=True)
    names: list[Name] = []
    for pair in pairs.tolist():
        first, second = divmod(pair, len(segments.names))
        names.append((*as_tuple(protected.names[first]), *as_tuple(segments.names[second])))
    columns = None
    if protected.columns is not None and segments.columns is not None:
        columns = (*protected.columns, *segments.columns)
    return Groups(codes.reshape(-1).astype(np.int64), tuple(names), columns=columns)


@dataclass(frozen=True)
class Roles:
    """Who is compared and what decides, for `solve`; `by` is None where the protected group decides itself."""

    by: DecideBy | None = None
    column: str | None = None  # of what decides, as thresholds store it
    fair_between: tuple[str | int, ...] = ()
    decide_by: tuple[str | int, ...] = ()

    @classmethod
    def of(cls, by: DecideBy | None, protected: Groups, counted: Groups, sketch: Sketch) -> Roles:
        """The roles of the columns that were counted; the sketch gets to know their names."""
        if by is None:
            return cls(None, protected.column)
        names: Sequence[str | int] = range(len(as_tuple(counted.names[0])))
        if counted.columns is not None and len(set(counted.columns)) == len(counted.columns):
            names = counted.columns
            sketch._remember(Columns(group=counted.columns), None)
        k = len(as_tuple(protected.names[0]))
        column = None
        if counted.columns is not None and isinstance(by, ByColumns):
            column = joined_columns(counted.columns[k:])
        return cls(by, column, tuple(names[:k]), tuple(names[k:]))

    def named(self, decide_by: object) -> dict[str, object]:
        """`fair_between` and `decide_by` of the question; `decide_by` is that of the classifier."""
        if self.by is None:
            return {}
        named: object = self.decide_by
        if self.by.segments is not None:
            named = self.by.segments.of(self.decide_by[0])
        elif isinstance(decide_by, Segments):
            named = decide_by.of(self.decide_by[0])
        return {"fair_between": self.fair_between, "decide_by": named}


WORDS = (
    *("limits", "penalties", "objective", "method", "density", "unified", "randomize"),
    *("min_rows", "max_seconds", "confidence", "evidence"),
)


def question_of(model: Options, roles: Roles | None = None) -> Question:
    """What a classifier asks; before anything is counted columns have no names yet."""
    named: dict[str, object] = {} if model.decide_by is None else {"fair_between": 0, "decide_by": 1}
    if roles is not None:
        named = roles.named(model.decide_by)
    return Question.of(**{word: getattr(model, word) for word in WORDS}, **named)
