"""What thresholds depend on, what is asked of them, and how rows are decided by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gstar_fast._base.arrays import Floats, Values
from gstar_fast._base.names import as_tuple, joined_columns, listed
from gstar_fast._base.refusals.place import bad_option, bad_option_type, bad_value
from gstar_fast._base.thresholds import make
from gstar_fast._decide.decider import Decider
from gstar_fast._estimator.groups import (
    EVERYBODY,
    Groups,
    Named,
    Source,
    as_table,
    asked,
    groups_in_table,
    joined,
    places_of,
)
from gstar_fast._estimator.probability import (
    ByProbability,
    GroupProbability,
    check_probability,
    prefit_group,
    train_group,
)
from gstar_fast._estimator.training import (
    Classifier,
    Options,
    Plan,
    Rows,
    Scoring,
    count_scores,
    fitted_labels,
    prefit,
    response_method,
)
from gstar_fast._input.options import checked_flag
from gstar_fast._question.cut import Segments
from gstar_fast._question.question import Question
from gstar_fast._sketch.columns import Columns
from gstar_fast._sketch.sketch import Sketch


def _check_decide_by(model: Options) -> None:
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


def source_of(model: Options, given: object) -> Source:
    """Where groups come from; `given` is what came as `sensitive_features`."""
    columns, by = model.sensitive_features, model.decide_by
    roles = (
        Named("sensitive_features", columns, model.drop_sensitive),
        Named("decide_by", None if isinstance(by, GroupProbability) else columns_of(by), model.drop_decide_by),
    )
    source = Source(columns, given is not None, tuple(role for role in roles if role.columns is not None))
    if source.is_nowhere and (model.limits or model.penalties or model.decide_by is not None):
        asked = "limits and penalties compare" if model.decide_by is None else "decide_by is about gaps between"
        raise bad_value(
            "sensitive_features",
            f"{asked} groups, but there are none: pass sensitive_features=... to fit, or name columns of X with "
            "GroupThresholdClassifier(..., sensitive_features='column')",
        )
    return source


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

    def joint(self, rows: Rows) -> Groups:
        """Protected group and segment of each row."""
        return joined(rows.groups, self.read(rows.whole, rows.source))


def _present(X: object, source: Source) -> tuple[int, ...]:
    """Positions of the sensitive columns that X has."""
    sensitive = next((role for role in source.named if role.argument == "sensitive_features"), None)
    there = [] if sensitive is None else sensitive.present(X)
    return places_of(as_table(X), there) if there else ()


DecideBy: TypeAlias = ByColumns | ByProbability


def as_they_came(model: Options, rows: Rows, *, whole: bool) -> tuple[Classifier, DecideBy | None]:
    """The fitted estimator, and what decides; `whole` where these are all rows."""
    estimator = prefit(model.estimator, rows)
    if model.decide_by is None:
        return estimator, None
    if isinstance(model.decide_by, GroupProbability):
        return estimator, prefit_group(model.decide_by, model, rows, estimator, whole=whole)
    return estimator, ByColumns(columns_of(model.decide_by))


def count_fitted(model: Options, sketch: Sketch, rows: Rows, estimator: Classifier, by: DecideBy | None) -> Groups:
    """Score rows with a fitted estimator and count them; the groups that were counted."""
    labels = fitted_labels(model, estimator, rows)
    with rows.source.explained(rows.whole):
        scores = Scoring.of(model, estimator, estimator.classes_)(estimator, rows.X)
    groups = rows.groups if by is None else by.joint(rows)
    count_scores(sketch, scores, labels, groups, rows.counted)
    return groups


def trained(model: Options, rows: Rows, plan: Plan) -> tuple[DecideBy | None, Groups]:
    """What decides, trained where it must be, and the groups to count."""
    if model.decide_by is None:
        return None, rows.groups
    if isinstance(model.decide_by, GroupProbability):
        return train_group(model.decide_by, model, rows, plan)
    by = ByColumns(columns_of(model.decide_by))
    return by, by.joint(rows)


# ------------------------------------------------------------------------------------------------------------ question

WORDS = (
    *("limits", "penalties", "objective", "method", "density", "unified", "randomize"),
    *("min_rows", "max_seconds", "confidence", "evidence"),
)


def question_of(model: Options) -> Question:
    """What a classifier asks. Columns get their names when they are counted, see `Roles.question`."""
    columns: dict[str, object] = {} if model.decide_by is None else {"fair_between": 0, "decide_by": 1}
    return Question.of(**{word: getattr(model, word) for word in WORDS}, **columns)


def checked_question(model: Options) -> Question:
    """What is asked; all options are checked before anything is trained."""
    for flag in ("drop_sensitive", "drop_decide_by", "refit"):
        checked_flag(flag, getattr(model, flag))
    question = question_of(model)
    _check_decide_by(model)
    make({EVERYBODY: 0.0}, unknown=model.unknown, default=0.0)
    response_method(model.estimator, model.response_method)
    return question


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

    def question(self, model: Options, asked: Question) -> Question:
        """The question with the columns that were counted."""
        if self.by is None:
            return asked
        named: tuple[str | int, ...] | Segments = self.decide_by
        cut = self.by.segments if isinstance(self.by, ByProbability) else model.decide_by
        if isinstance(cut, Segments):
            named = cut.of(self.decide_by[0])
        return replace(asked, fair_between=self.fair_between, decide_by=named)


# ------------------------------------------------------------------------------------------------------ decided, saved


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


State: TypeAlias = dict[str, Any]


class Saved:
    """Saves a fitted classifier as plain values and public classes, the only types that skops must trust."""

    def __getstate__(self) -> State:
        state: State = super().__getstate__()  # type: ignore[assignment]
        if "_source" not in state:  # not fitted
            return state
        source, roles = state["_source"], state["_roles"]
        return {
            **state,
            "_source": {**vars(source), "named": [dict(vars(one)) for one in source.named]},
            "_roles": {**vars(roles), "by": None if roles.by is None else dict(vars(roles.by))},
        }

    def __setstate__(self, state: State) -> None:
        if "_source" in state:
            source, roles, by = state["_source"], state["_roles"], state["_roles"]["by"]
            kind = ByColumns if by is None or "place" not in by else ByProbability
            state = {
                **state,
                "_source": Source(**{**source, "named": tuple(Named(**one) for one in source["named"])}),
                "_roles": Roles(**{**roles, "by": None if by is None else kind(**by)}),
            }
        super().__setstate__(state)  # type: ignore[misc]
