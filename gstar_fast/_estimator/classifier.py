"""GroupThresholdClassifier: any binary classifier of scikit-learn, with one threshold for each group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from gstar_fast._base.refusals.place import bad_value

try:
    from sklearn import get_config
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
    from sklearn.utils import Tags, get_tags
    from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
except ImportError as error:
    raise ImportError("GroupThresholdClassifier needs scikit-learn 1.6; install gstar-fast[sklearn]") from error

from gstar_fast._base.names import listed
from gstar_fast._base.public import lives_in
from gstar_fast._base.thresholds import Unknown, checked_unknown
from gstar_fast._estimator.decide_by import (
    ByProbability,
    GroupProbability,
    check_decide_by,
    columns_of,
    prefit_group,
    train_group,
)
from gstar_fast._estimator.fitted import Fitted
from gstar_fast._estimator.groups import Roles, Source
from gstar_fast._estimator.training import (
    Classifier,
    Rows,
    count_fitted,
    fitted_labels,
    planned,
    prefit,
    read_rows,
    response_method,
    train,
)
from gstar_fast._input.options import checked_flag
from gstar_fast._question.cut import Segments
from gstar_fast._question.options import ObjectiveLike
from gstar_fast._question.question import Limits, Question
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._solver.answer.result import Result
from gstar_fast._solver.search import check_several
from gstar_fast._verbs.solve import solve_question

__all__ = ["GroupThresholdClassifier"]

COLUMNS = {"fair_between", "decide_by"}  # of a question; the others are options of the classifier, by the same names


@lives_in("gstar_fast")
class GroupThresholdClassifier(Fitted, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Binary classifier that decides by one threshold for each group, found by `solve` on out-of-fold scores.

    `fit` trains `estimator` on parts of the rows and counts the scores of the rows left out, so that thresholds are not
    found on scores the model has memorised; then it trains on all rows. `predict` compares each score with the
    threshold of the row's group. `predict_proba` and the like are the estimator's own.

    Parameters
    ----------
    estimator : estimator
        A classifier with `predict_proba` or `decision_function`. It is cloned, except with ``cv="prefit"``.
    limits, penalties, objective, method, density, unified, randomize
        What to achieve, as in `solve`. With ``randomize=True``, `predict` needs `keys`.
    min_rows, max_seconds, confidence, evidence, rounds
        As in `solve`. If `confidence` is given and the limits cannot be promised for new rows, `fit` warns
        (`UnpromisedWarning`), and the thresholds are those found without it.
    sensitive_features : str, int or list of these, optional
        Columns of X that say which group a row is in: names of a data frame, or positions. Several make intersections:
        groups are then tuples such as ``('F', 'black')``. This is the form that works wherever scikit-learn calls
        `predict` with X alone, as string scorers do. Without it, groups are passed to `fit` and `predict`; where none
        are passed either, all rows are one group.
    decide_by : str, int, list of these, Segments or GroupProbability(...), optional
        What thresholds depend on in the place of the protected group, which `predict` then never asks for: columns of
        X, ``gf.Segments(column=...)`` for thresholds that rise or fall along a column of whole numbers, or segments of
        the probability that a second model gives, see `GroupProbability`. Gaps are still measured
        between the groups of `sensitive_features`, in X or passed to `fit`.
    drop_sensitive : bool
        Whether to leave those columns out of what `estimator` sees. Turn it off if the estimator uses them, as does a
        pipeline that encodes them, or a fitted model that was trained with them.
    drop_decide_by : bool
        Whether to leave the columns of `decide_by` out of what `estimator` sees. Turn it off if they are features too.
    unknown : {"raise", "default"} or float
        For a group that was not there in `fit`: raise, take the best unified threshold, or take this number.
    response_method : {"auto", "predict_proba", "decision_function"}
        Method that gives the scores; `auto` takes the first of the other two that the estimator has.
    pos_label : label, optional
        The label of accepted rows; without it ``classes_[1]``, the larger of the two labels.
    cv : int, float, splitter, iterable or "prefit", optional
        How rows are cut for out-of-fold scores. A number (5 if not given) is that many folds, dealt by label and group
        so that small groups are spread evenly; a float is a single held-out share, dealt alike; splitters decide for
        themselves, but may test no row twice. ``"prefit"`` takes the fitted `estimator`: pass rows it has not seen.
    refit : bool
        Whether to train on all rows in the end. False needs a single split, whose model is then kept. Not looked at
        with ``cv="prefit"``.
    bins, range
        Of the sketch, see `Sketch`.
    n_jobs : int, optional
        Folds trained at the same time.
    random_state : int or RandomState, optional
        Shuffles the rows before they are dealt to folds; without it they are dealt in their order.

    Attributes
    ----------
    thresholds_ : dict
        Threshold of each group.
    result_ : Result
        What `solve` found: verdict, rates, gaps. Print it.
    sketch_ : Sketch
        Counts of the out-of-fold scores, and of what `partial_fit` added.
    estimator_ : estimator
        The fitted classifier that scores.
    segments_ : Segments or None
        With `GroupProbability`, the cut points.
    group_estimator_ : estimator or None
        With `GroupProbability`, the fitted classifier that tells the group.
    classes_ : ndarray of shape (2,)
        The labels.
    n_features_in_, feature_names_in_
        Number and names of the columns of X in `fit`, if known.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.choice(["F", "M"], 2000)
    >>> y = rng.random(2000) < np.where(sex == "F", 0.4, 0.6)
    >>> X = (y + np.where(sex == "F", 0.5, 0.0) + rng.normal(size=2000)).reshape(-1, 1)
    >>> model = gf.GroupThresholdClassifier(LogisticRegression(), limits={"equal_opportunity": 0.02})
    >>> model.fit(X, y, sensitive_features=sex).predict(X[:3], sensitive_features=sex[:3])
    array([ True, False, False])
    >>> sorted(model.thresholds_)
    ['F', 'M']
    >>> model.result_.gaps["equal_opportunity"] <= 0.02
    True
    """

    def __init__(
        self,
        estimator: object,
        *,
        limits: Limits | None = None,
        penalties: Mapping[str, float] | None = None,
        objective: ObjectiveLike = "error",
        method: str = "exact",
        density: str = "empirical",
        unified: bool = False,
        randomize: bool = False,
        min_rows: float = 0.0,
        max_seconds: float | None = None,
        confidence: float | None = None,
        evidence: float = 0.95,
        rounds: int | None = None,
        sensitive_features: object = None,
        decide_by: object = None,
        drop_sensitive: bool = True,
        drop_decide_by: bool = True,
        unknown: Unknown = "raise",
        response_method: str = "auto",
        pos_label: object = None,
        cv: object = None,
        refit: bool = True,
        bins: int = 4096,
        range: tuple[float, float] | None = None,  # noqa: A002 (the word of Sketch)
        n_jobs: int | None = None,
        random_state: object = None,
    ) -> None:
        self.estimator = estimator
        self.limits = limits
        self.penalties = penalties
        self.objective = objective
        self.method = method
        self.density = density
        self.unified = unified
        self.randomize = randomize
        self.min_rows = min_rows
        self.max_seconds = max_seconds
        self.confidence = confidence
        self.evidence = evidence
        self.rounds = rounds
        self.sensitive_features = sensitive_features
        self.decide_by = decide_by
        self.drop_sensitive = drop_sensitive
        self.drop_decide_by = drop_decide_by
        self.unknown = unknown
        self.response_method = response_method
        self.pos_label = pos_label
        self.cv = cv
        self.refit = refit
        self.bins = bins
        self.range = range
        self.n_jobs = n_jobs
        self.random_state = random_state

    # --------------------------------------------------------------------------------------------------------- fitting

    def fit(
        self,
        X: object,
        y: ArrayLike,
        sensitive_features: object = None,
        sample_weight: ArrayLike | None = None,
        **params: object,
    ) -> Self:
        """Train the estimator, count its out-of-fold scores, and find the thresholds.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            What the estimator takes: arrays, sparse matrices, pandas, polars or pyarrow tables.
        y : array-like of shape (n_samples,)
            Labels of two classes, of any kind.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns), optional
            Group of each row: a column, a list of names or tuples, or a table whose columns are crossed. Rows are
            matched by position, not by index. Not allowed where the constructor names columns of X.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, counted by the sketch, and passed to the estimator if it takes them. With metadata
            routing the estimator gets them if it requests them, and ``set_fit_request(sample_weight=False)`` says that
            they are for the estimator alone.
        **params
            Metadata for the estimator and the splitter; needs ``sklearn.set_config(enable_metadata_routing=True)``.

        Returns
        -------
        GroupThresholdClassifier
            The classifier itself.
        """
        question, sketch = self._question(), Sketch(bins=self.bins, range=self.range)
        rows = self._rows(self._source_of(sensitive_features), X, y, sensitive_features, sample_weight)
        check_several(question, rows.protected.names)
        by, probability = None, self._probability
        if self._is_prefit:
            if params:
                raise bad_value("cv", f"cv='prefit' trains nothing, so there is no use for {listed(sorted(params))}")
            estimator = prefit(self.estimator, rows)
            if probability is not None:
                by, rows = prefit_group(probability, rows, fitted_labels(self, estimator, rows))
            count_fitted(self, sketch, rows, estimator)
        else:
            plan = planned(self, rows, {"sensitive_features": sensitive_features, **params})
            if probability is not None:
                by, rows = train_group(probability, self, rows, plan)
            estimator = train(self, sketch, rows, plan)
        self._keep(estimator, sketch, rows, by, question)
        return self

    def partial_fit(
        self,
        X: object,
        y: ArrayLike,
        sensitive_features: object = None,
        sample_weight: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Count more labelled rows; the estimator is not trained again.

        The rows are scored by the fitted estimator and added to `sketch_`; thresholds are found again when next needed.
        Pass rows the estimator was not trained on. The first call of a classifier that is not fitted is `fit`; with
        ``cv="prefit"`` it only starts to count, so that a stream may start with rows that lack a class or a group.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight
            As for `fit`.
        classes : array-like of shape (2,), optional
            The labels, as other classifiers of scikit-learn ask for them; they must be those of the estimator.

        Returns
        -------
        GroupThresholdClassifier
            The classifier itself.
        """
        fitted = hasattr(self, "sketch_")
        if not fitted and not self._is_prefit:
            return self.fit(X, y, sensitive_features, sample_weight)
        if fitted:
            sketch, source = self.sketch_, self._source
        else:
            self._question()  # checks all options
            sketch, source = Sketch(bins=self.bins, range=self.range), self._source_of(sensitive_features)
        rows, by, probability = self._rows(source, X, y, sensitive_features, sample_weight), None, self._probability
        estimator = self.estimator_ if fitted else prefit(self.estimator, rows)
        known = estimator.classes_
        if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), known):
            raise bad_value("classes", f"classes must be those of the estimator, {known.tolist()}; got {classes!r}")
        if fitted:
            rows = rows if self._by is None else self._by.cut(rows)
        elif probability is not None:
            by, rows = prefit_group(probability, rows, None)
        count_fitted(self, sketch, rows, estimator)
        if fitted:
            self._solved = None
        else:
            self._keep(estimator, sketch, rows, by, None)
        return self

    @property
    def _is_prefit(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "prefit"

    @property
    def _probability(self) -> GroupProbability | None:
        return self.decide_by if isinstance(self.decide_by, GroupProbability) else None

    def _question(self) -> Question:
        """What is asked; all options are checked. Columns get their names when they are counted, see `_solve`."""
        for flag in ("drop_sensitive", "drop_decide_by", "refit"):
            checked_flag(flag, getattr(self, flag))
        given = {one.name: getattr(self, one.name) for one in fields(Question) if one.name not in COLUMNS}
        if self.decide_by is not None:
            given |= {"fair_between": 0, "decide_by": 1}
        question = Question.of(**given)
        if self.decide_by is not None:
            check_decide_by(self.decide_by, self.drop_sensitive)
        if self.unknown != "raise":
            checked_unknown(self.unknown, default=0.0)
        response_method(self.estimator, self.response_method)
        return question

    def _source_of(self, given: object) -> Source:
        """Where groups come from; `given` is what came as `sensitive_features`."""
        by = None if self.decide_by is None else columns_of(self.decide_by)
        source = Source(given is not None, self.sensitive_features, self.drop_sensitive, by, self.drop_decide_by)
        if source.is_nowhere and (self.limits or self.penalties or self.decide_by is not None):
            asked = "limits and penalties compare" if self.decide_by is None else "decide_by is about gaps between"
            raise bad_value(
                "sensitive_features",
                f"{asked} groups, but there are none: pass sensitive_features=... to fit, or name columns of X with "
                "GroupThresholdClassifier(..., sensitive_features='column')",
            )
        return source

    def _rows(self, source: Source, X: object, y: ArrayLike, given: object, sample_weight: ArrayLike | None) -> Rows:
        """Labelled rows; ``set_fit_request(sample_weight=False)`` keeps their weights for the estimator."""
        own = super().get_metadata_routing().fit.requests
        declined = get_config()["enable_metadata_routing"] and own.get("sample_weight") is False
        return read_rows(source, X, y, given, sample_weight, weighted=not declined)

    def _solve(self, sketch: Sketch, roles: Roles, by: ByProbability | None, question: Question) -> Result:
        """The result of a question, with a warning where its thresholds miss what was asked."""
        if roles.decide_by:
            cut = self.decide_by if by is None else by.segments
            columns = cut.of(roles.decide_by[0]) if isinstance(cut, Segments) else roles.decide_by
            question = replace(question, fair_between=roles.fair_between, decide_by=columns)
        result = solve_question(sketch, question)
        result = replace(result, origin=replace(result.origin, group_column=roles.column if by is None else None))
        result._warn_if_missed()
        return result

    def _solve_again(self) -> Result:
        return self._solve(self.sketch_, self._roles, self._by, self._question())

    def _keep(
        self, estimator: Classifier, sketch: Sketch, rows: Rows, by: ByProbability | None, question: Question | None
    ) -> None:
        """Solve, unless this is for later, and set all that `fit` learned at once."""
        roles = Roles.of(rows.protected, rows.groups, sketch)
        self._solved = None if question is None else self._solve(sketch, roles, by, question)
        self.estimator_, self.sketch_, self._source, self._roles, self._by = estimator, sketch, rows.source, roles, by
        self._decided = []
        for name, value in rows.source.names_of(estimator, rows.whole).items():
            if value is not None:
                setattr(self, name, value)
            elif hasattr(self, name):
                delattr(self, name)

    # ------------------------------------------------------------------------------------------ scikit-learn's rules

    def get_metadata_routing(self) -> MetadataRouter:
        """Who wants which metadata: this classifier, its estimator, its splitter."""
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        to_split = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(estimator=self.estimator, method_mapping=to_fit).add(splitter=self.cv, method_mapping=to_split)
        if self._probability is not None:
            router.add(group_estimator=self._probability.estimator, method_mapping=to_fit)
        return router

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags
