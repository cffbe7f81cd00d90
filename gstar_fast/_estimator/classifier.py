"""GroupThresholdClassifier: any binary classifier of scikit-learn, with one threshold for each group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from gstar_fast._base.arrays import Values
from gstar_fast._base.refusals.place import bad_value

try:
    from sklearn import get_config
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
    from sklearn.metrics import accuracy_score
    from sklearn.utils import Tags, get_tags
    from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.validation import _estimator_has, check_is_fitted
except ImportError as error:
    raise ImportError("GroupThresholdClassifier needs scikit-learn 1.6; install gstar-fast[sklearn]") from error

from gstar_fast._base.names import Name, listed
from gstar_fast._base.public import lives_in
from gstar_fast._base.thresholds import Unknown
from gstar_fast._decide.decider import Decider
from gstar_fast._estimator.decide_by import (
    Roles,
    Saved,
    as_they_came,
    checked_question,
    count_fitted,
    decide,
    group_estimator_of,
    question_of,
    source_of,
    trained,
)
from gstar_fast._estimator.groups import Source
from gstar_fast._estimator.training import Classifier, Rows, Scoring, planned, read_rows, train
from gstar_fast._question.cut import Segments
from gstar_fast._question.limits import Limits
from gstar_fast._question.question import ObjectiveLike, Question
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._solver.answer.result import Result
from gstar_fast._solver.question import check_several
from gstar_fast._verbs.solve import solve_question

__all__ = ["GroupThresholdClassifier"]


@lives_in("gstar_fast")
class GroupThresholdClassifier(Saved, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Binary classifier that decides by one threshold for each group, found by `solve` on out-of-fold scores.

    `fit` trains `estimator` on parts of the rows and counts the scores of the rows left out, so that thresholds are not
    found on scores the model has memorised; then it trains on all rows. `predict` compares each score with the
    threshold of the row's group. `predict_proba` and the like are the estimator's own.

    Parameters
    ----------
    estimator : estimator
        A classifier with `predict_proba` or `decision_function`. It is cloned, except with ``cv="prefit"``.
    limits, penalties, objective, method, density, unified, randomize
        What thresholds shall achieve, as in `solve`. With ``randomize=True``, `predict` needs `keys`.
    min_rows, max_seconds, confidence, evidence
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
        For a group that was not there in `fit`: refuse it, take the best unified threshold, or take this number.
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

    _solved: tuple[Result, Decider] | None  # None where rows were counted since the last solve

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
        min_rows: float = 0,
        max_seconds: float | None = None,
        confidence: float | None = None,
        evidence: float = 0.95,
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
        question, sketch = checked_question(self), Sketch(bins=self.bins, range=self.range)
        rows = self._rows(source_of(self, sensitive_features), X, y, sensitive_features, sample_weight)
        check_several(question, rows.groups.names)
        if self._is_prefit:
            if params:
                raise bad_value("cv", f"cv='prefit' trains nothing, so there is no use for {listed(sorted(params))}")
            estimator, by = as_they_came(self, rows, whole=True)
            groups = count_fitted(self, sketch, rows, estimator, by)
        else:
            metadata = {"sensitive_features": sensitive_features, "sample_weight": rows.weights, **params}
            plan = planned(self, rows, metadata, group_estimator_of(self))
            by, groups = trained(self, rows, plan)
            estimator = train(self, sketch, rows, plan, groups)
        roles = Roles.of(by, rows.groups, groups, sketch)
        self._keep(estimator, sketch, rows, roles, self._solve(sketch, roles, question))
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

        The rows are scored by the fitted estimator and added to `sketch_`; thresholds are found anew when they are next
        needed. Pass rows the estimator was not trained on. The first call of a classifier that is not fitted is `fit`;
        with ``cv="prefit"`` it only begins to count, so that a stream may start with rows that lack a class or a group.

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
            checked_question(self)
            sketch, source = Sketch(bins=self.bins, range=self.range), source_of(self, sensitive_features)
        rows = self._rows(source, X, y, sensitive_features, sample_weight)
        estimator, by = (self.estimator_, self._roles.by) if fitted else as_they_came(self, rows, whole=False)
        known = estimator.classes_
        if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), known):
            raise bad_value("classes", f"classes must be those of the estimator, {known.tolist()}; got {classes!r}")
        groups = count_fitted(self, sketch, rows, estimator, by)
        if fitted:
            self._solved = None
        else:
            self._keep(estimator, sketch, rows, Roles.of(by, rows.groups, groups, sketch), None)
        return self

    @property
    def _is_prefit(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _rows(self, source: Source, X: object, y: ArrayLike, given: object, sample_weight: ArrayLike | None) -> Rows:
        """Labelled rows; ``set_fit_request(sample_weight=False)`` keeps their weights for the estimator."""
        own = super().get_metadata_routing().fit.requests
        declined = get_config()["enable_metadata_routing"] and own.get("sample_weight") is False
        return read_rows(source, X, y, given, sample_weight, weighted=not declined)

    def _solve(self, sketch: Sketch, roles: Roles, question: Question) -> tuple[Result, Decider]:
        result = solve_question(sketch, roles.question(self, question))
        result = replace(result, origin=replace(result.origin, group_column=roles.column))
        return result, result.decider(unknown=self.unknown)

    def _keep(
        self, estimator: Classifier, sketch: Sketch, rows: Rows, roles: Roles, solved: tuple[Result, Decider] | None
    ) -> None:
        """Set all that `fit` learned, at once."""
        self.estimator_, self.sketch_, self._roles, self._source = estimator, sketch, roles, rows.source
        self._solved = solved
        for name, value in rows.source.names_of(estimator, rows.whole).items():
            if value is not None:
                setattr(self, name, value)
            elif hasattr(self, name):
                delattr(self, name)

    # --------------------------------------------------------------------------------------------------------- reading

    def _solution(self) -> tuple[Result, Decider]:
        check_is_fitted(self, "sketch_")
        solved = self._solved
        if solved is None:
            solved = self._solved = self._solve(self.sketch_, self._roles, question_of(self))
        return solved

    @property
    def result_(self) -> Result:
        """What `solve` found: thresholds, rates, gaps and a verdict."""
        return self._solution()[0]

    @property
    def thresholds_(self) -> dict[Name, float]:
        """Threshold of each group."""
        return dict(self.result_.thresholds)

    @property
    def segments_(self) -> Segments | None:
        """Cut points of the group probability."""
        check_is_fitted(self, "sketch_")
        return None if self._roles.by is None else self._roles.by.segments

    @property
    def group_estimator_(self) -> object:
        """The fitted classifier that tells the group."""
        check_is_fitted(self, "sketch_")
        return None if self._roles.by is None else self._roles.by.model

    @property
    def classes_(self) -> Values:
        """The two labels."""
        check_is_fitted(self, "sketch_")
        classes: Values = self.estimator_.classes_
        return classes

    # ------------------------------------------------------------------------------------------------------ predicting

    def predict(
        self,
        X: object,
        sensitive_features: object = None,
        keys: ArrayLike | None = None,
    ) -> Values:
        """Decide rows by the threshold of their group.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            As `fit` got it.
        sensitive_features : array-like, optional
            Group of each row, if `fit` was passed groups; not looked at with `decide_by` or ``unified=True``.
        keys : array-like of shape (n_samples,), optional
            With ``randomize=True``, what identifies each row; the same key draws the same. See `Decider`.

        Returns
        -------
        ndarray of shape (n_samples,)
            One of `classes_` for each row.
        """
        _, decider = self._solution()
        by = self._roles.by
        if decider.unified or by is not None:  # groups are not looked at
            features, groups = self._source.features(X), None
        else:
            features, groups = self._source.read(X, sensitive_features)
        scoring = Scoring.of(self, self.estimator_, self.classes_)
        scores = scoring(self.estimator_, features)
        accepted = decide(decider, scores, groups if by is None else by.read(X, self._source), keys)
        answers: Values = self.classes_[np.where(accepted, scoring.positive, 1 - scoring.positive)]
        return answers

    def score(
        self,
        X: object,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        sensitive_features: object = None,
    ) -> float:
        """Accuracy of `predict`."""
        return float(accuracy_score(y, self.predict(X, sensitive_features), sample_weight=sample_weight))

    def _of_estimator(self, method: str, X: object) -> Values:
        check_is_fitted(self, "sketch_")
        answers: Values = getattr(self.estimator_, method)(self._source.features(X))
        return answers

    @available_if(_estimator_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: object) -> Values:
        """Probabilities of the classes, as the estimator gives them."""
        return self._of_estimator("predict_proba", X)

    @available_if(_estimator_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: object) -> Values:
        """Logarithms of the probabilities, as the estimator gives them."""
        return self._of_estimator("predict_log_proba", X)

    @available_if(_estimator_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: object) -> Values:
        """Decision function, as the estimator gives it: no threshold is taken off."""
        return self._of_estimator("decision_function", X)

    @available_if(_estimator_has("score_samples"))  # type: ignore[untyped-decorator]
    def score_samples(self, X: object) -> Values:
        """Scores of samples, as the estimator gives them."""
        return self._of_estimator("score_samples", X)

    # ------------------------------------------------------------------------------------------ scikit-learn's manners

    def get_metadata_routing(self) -> MetadataRouter:
        """Who wants which metadata: this classifier, its estimator, its splitter."""
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        to_split = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(estimator=self.estimator, method_mapping=to_fit).add(splitter=self.cv, method_mapping=to_split)
        if (group_estimator := group_estimator_of(self)) is not None:
            router.add(group_estimator=group_estimator, method_mapping=to_fit)
        return router

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags
