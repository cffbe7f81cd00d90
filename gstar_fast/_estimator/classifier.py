"""GroupThresholdClassifier: any binary classifier of scikit-learn, with one threshold for each group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

try:
    from sklearn import get_config
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
    from sklearn.exceptions import NotFittedError
    from sklearn.metrics import accuracy_score
    from sklearn.utils import get_tags, indexable
    from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    raise ImportError("GroupThresholdClassifier needs scikit-learn 1.6; install gstar-fast[sklearn]") from error

from gstar_fast._base.names import listed
from gstar_fast._base.thresholds import Unknown
from gstar_fast._decide.decider import Decider
from gstar_fast._estimator.folds import check_trainable, out_of_fold, response_method, routed, scores_of, splits_of
from gstar_fast._estimator.groups import EVERYBODY, Source, as_table, check_columns
from gstar_fast._estimator.rows import Rows, as_labels, cells_of, checked_labels, checked_weights, count_scores, decide
from gstar_fast._sketch.pooling import checked_min_rows
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._solver.question import Objective, check_several
from gstar_fast._solver.result import Result
from gstar_fast._solver.solve import check_options, solve

__all__ = ["GroupThresholdClassifier"]


def _estimator_has(name: str) -> Callable[[Any], bool]:
    def check(self: Any) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), name)  # AttributeError names who lacks it
        return True

    return check


class GroupThresholdClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Binary classifier that decides by one threshold for each group, found by `solve` on out-of-fold scores.

    `fit` trains `estimator` on parts of the rows and counts the scores of the rows left out, so that thresholds are not
    found on scores the model has memorised; then it trains on all rows. `predict` compares each score with the
    threshold of the row's group. `predict_proba` and the like are the estimator's own.

    Parameters
    ----------
    estimator : estimator
        A classifier with `predict_proba` or `decision_function`. It is cloned, except with ``cv="prefit"``.
    limits, penalties, method, density, costs, balanced, unified, randomize, min_rows, max_seconds
        What thresholds shall achieve, as in `solve`. With ``randomize=True``, `predict` needs `keys`.
    sensitive_features : str, int or list of these, optional
        Columns of X that say which group a row is in: names of a data frame, or positions. Several make intersections:
        groups are then tuples such as ``('F', 'black')``. This is the form that works wherever scikit-learn calls
        `predict` with X alone, as string scorers do. Without it, groups are passed to `fit` and `predict`; where none
        are passed either, all rows are one group.
    drop_sensitive : bool
        Whether to leave those columns out of what `estimator` sees. Turn it off if the estimator uses them, as does a
        pipeline that encodes them, or a fitted model that was trained with them.
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
        estimator: Any,
        *,
        limits: Mapping[str, float] | None = None,
        penalties: Mapping[str, float] | None = None,
        method: str = "exact",
        density: str = "empirical",
        costs: tuple[float, float] = (1, 1),
        balanced: bool = False,
        unified: bool = False,
        randomize: bool = False,
        min_rows: float = 0,
        max_seconds: float | None = None,
        sensitive_features: Any = None,
        drop_sensitive: bool = True,
        unknown: Unknown = "raise",
        response_method: str = "auto",
        pos_label: Any = None,
        cv: Any = None,
        refit: bool = True,
        bins: int = 4096,
        range: tuple[float, float] | None = None,  # noqa: A002 (the word of Sketch)
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.limits = limits
        self.penalties = penalties
        self.method = method
        self.density = density
        self.costs = costs
        self.balanced = balanced
        self.unified = unified
        self.randomize = randomize
        self.min_rows = min_rows
        self.max_seconds = max_seconds
        self.sensitive_features = sensitive_features
        self.drop_sensitive = drop_sensitive
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
        X: Any,
        y: ArrayLike,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        **params: Any,
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
        sketch = self._empty_sketch()
        source = self._new_source(sensitive_features)
        rows = self._read(source, X, y, sensitive_features, sample_weight)
        check_several(Objective.of(self.limits, self.penalties, self.costs, self.balanced), rows.groups.names)
        if self._is_prefit:
            if params:
                raise ValueError(f"cv='prefit' trains nothing, so there is no use for {listed(sorted(params))}")
            estimator = self._prefit(source, X)
            self._count(sketch, estimator, source, rows)
        else:
            estimator = self._train(sketch, source, rows, sensitive_features, params)
        solved = self._solve(sketch, rows.groups.column)
        self._keep(estimator, sketch, source, X, rows.groups.column, solved)
        return self

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        sensitive_features: Any = None,
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
            sketch, source = self._empty_sketch(), self._new_source(sensitive_features)
        rows = self._read(source, X, y, sensitive_features, sample_weight)
        estimator = self.estimator_ if fitted else self._prefit(source, X)
        if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), estimator.classes_):
            raise ValueError(f"classes must be those of the estimator, {estimator.classes_.tolist()}; got {classes!r}")
        self._count(sketch, estimator, source, rows)
        if fitted:
            self._solved = None
        else:
            self._keep(estimator, sketch, source, X, rows.groups.column, None)
        return self

    def _empty_sketch(self) -> Sketch:
        """A sketch to count into; also looks at the other options, before anything is trained."""
        objective = Objective.of(self.limits, self.penalties, self.costs, self.balanced)
        ways = {name: getattr(self, name) for name in ("method", "density", "unified", "randomize", "max_seconds")}
        check_options(objective, **ways)
        checked_min_rows(self.min_rows)
        Decider({EVERYBODY: 0.0}, unknown=self.unknown, default=0.0)
        response_method(self.estimator, self.response_method)
        return Sketch(bins=self.bins, range=self.range)

    def _new_source(self, given: Any) -> Source:
        source = Source.of(self.sensitive_features, self.drop_sensitive, given)
        if source.is_nowhere and (self.limits or self.penalties):
            raise ValueError(
                "limits and penalties compare groups, but there are none: pass sensitive_features=... to fit, or name "
                "columns of X with GroupThresholdClassifier(..., sensitive_features='column')"
            )
        return source

    @property
    def _is_prefit(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _read(self, source: Source, X: Any, y: Any, given: Any, sample_weight: Any) -> Rows:
        X, y = indexable(X, y)
        y = checked_labels(y)
        features, groups = source.read(X, given)
        return Rows(features, y, groups, None if sample_weight is None else checked_weights(sample_weight, len(y)))

    def _prefit(self, source: Source, X: Any) -> Any:
        """The estimator as it is, if it is fitted and takes the columns that we would pass."""
        try:
            check_is_fitted(self.estimator)
        except NotFittedError:
            name = type(self.estimator).__name__
            raise NotFittedError(
                f"cv='prefit' needs a fitted estimator, and this {name} is not; fit it first, or leave cv out"
            ) from None
        if source.columns is not None:
            check_columns(self.estimator, as_table(X), source)
        return self.estimator

    def _train(self, sketch: Sketch, source: Source, rows: Rows, given: Any, params: dict[str, Any]) -> Any:
        """Count out-of-fold scores into the sketch and return the model that shall score from now on."""
        X, y, groups, weights = rows
        metadata = {"sensitive_features": given, "sample_weight": weights, **params}
        fit_params, split_params = routed(self, metadata)
        classes = np.unique(y if weights is None else y[weights > 0])
        if len(classes) < 2:
            seen = f"y has only one class, {classes.tolist()}" if len(classes) else "sample_weight is zero for all rows"
            raise ValueError(f"{seen}; thresholds need rows of both classes")
        positive = self._positive(classes)
        labels = as_labels(y, classes, positive)
        splits = splits_of(self.cv, X, y, cells_of(labels, groups), self.random_state, split_params)
        if not self.refit and len(splits) > 1:
            raise ValueError(f"refit=False needs a single split, such as cv=0.3; this cv has {len(splits)}")
        check_trainable(splits, y)
        method = response_method(self.estimator, self.response_method)
        with source.explained():
            folds = out_of_fold(
                self.estimator, X, y, splits, fit_params, method=method, positive=positive, n_jobs=self.n_jobs
            )
            model = clone(self.estimator).fit(X, y, **fit_params) if self.refit else folds[0][0]
        counted = self._counted(weights)
        for (_, test), (_, scores) in zip(splits, folds, strict=True):
            part = None if counted is None else counted[test]
            count_scores(sketch, scores, labels[test], groups.take(test), part)
        return model

    def _count(self, sketch: Sketch, estimator: Any, source: Source, rows: Rows) -> None:
        """Score rows with a fitted estimator and count them."""
        positive = self._positive(estimator.classes_)
        labels = as_labels(rows.y, estimator.classes_, positive)
        method = response_method(estimator, self.response_method)
        with source.explained():
            scores = scores_of(estimator, rows.X, method, positive)
        count_scores(sketch, scores, labels, rows.groups, self._counted(rows.weights))

    def _counted(self, weights: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
        """The weights to count: none where ``set_fit_request(sample_weight=False)`` keeps them for the estimator."""
        own = super().get_metadata_routing().fit.requests
        declined = get_config()["enable_metadata_routing"] and own.get("sample_weight") is False
        return None if declined else weights

    def _positive(self, classes: NDArray[Any]) -> int:
        """Position of the class that being accepted means."""
        if len(classes) != 2:
            raise ValueError(f"the estimator must know two classes, got {len(classes)}: {classes.tolist()}")
        if self.pos_label is None:
            return 1
        if self.pos_label not in classes:
            raise ValueError(f"pos_label must be one of the classes {classes.tolist()}, got {self.pos_label!r}")
        return int(np.flatnonzero(classes == self.pos_label)[0])

    def _solve(self, sketch: Sketch, column: str | None) -> tuple[Result, Decider]:
        result = solve(
            sketch,
            limits=self.limits,
            penalties=self.penalties,
            method=self.method,
            density=self.density,
            costs=self.costs,
            balanced=self.balanced,
            unified=self.unified,
            randomize=self.randomize,
            min_rows=self.min_rows,
            max_seconds=self.max_seconds,
        )
        result = replace(result, group_column=column)
        return result, result.decider(unknown=self.unknown)

    def _keep(
        self,
        estimator: Any,
        sketch: Sketch,
        source: Source,
        X: Any,
        column: str | None,
        solved: tuple[Result, Decider] | None,
    ) -> None:
        """Set all that `fit` learned, at once."""
        self.estimator_, self.sketch_ = estimator, sketch
        self._source, self._group_column = source, column
        self._solved = solved
        learned = source.names_of(estimator, X)
        for name, value in learned.items():
            if value is not None:
                setattr(self, name, value)
            elif hasattr(self, name):
                delattr(self, name)

    # --------------------------------------------------------------------------------------------------------- reading

    def _solution(self) -> tuple[Result, Decider]:
        check_is_fitted(self, "sketch_")
        solved = self._solved
        if solved is None:
            solved = self._solved = self._solve(self.sketch_, self._group_column)
        return solved

    @property
    def result_(self) -> Result:
        """What `solve` found: thresholds, rates, gaps and a verdict."""
        return self._solution()[0]

    @property
    def thresholds_(self) -> dict[Any, float]:
        """Threshold of each group."""
        return dict(self.result_.thresholds)

    @property
    def classes_(self) -> NDArray[Any]:
        """The two labels."""
        check_is_fitted(self, "sketch_")
        classes: NDArray[Any] = self.estimator_.classes_
        return classes

    # ------------------------------------------------------------------------------------------------------ predicting

    def predict(
        self,
        X: Any,
        sensitive_features: Any = None,
        keys: ArrayLike | None = None,
    ) -> NDArray[Any]:
        """Decide rows by the threshold of their group.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            As `fit` got it.
        sensitive_features : array-like, optional
            Group of each row, if `fit` was passed groups; not looked at with ``unified=True``.
        keys : array-like of shape (n_samples,), optional
            With ``randomize=True``, what identifies each row; the same key draws the same. See `Decider`.

        Returns
        -------
        ndarray of shape (n_samples,)
            One of `classes_` for each row.
        """
        _, decider = self._solution()
        if decider.unified:  # groups are not looked at
            features, groups = self._source.features(X), None
        else:
            features, groups = self._source.read(X, sensitive_features)
        positive = self._positive(self.classes_)
        method = response_method(self.estimator_, self.response_method)
        scores = scores_of(self.estimator_, features, method, positive)
        accepted = decide(decider, scores, groups, keys)
        answers: NDArray[Any] = self.classes_[np.where(accepted, positive, 1 - positive)]
        return answers

    def score(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        sensitive_features: Any = None,
    ) -> float:
        """Accuracy of `predict`."""
        return float(accuracy_score(y, self.predict(X, sensitive_features), sample_weight=sample_weight))

    def _of_estimator(self, method: str, X: Any) -> Any:
        check_is_fitted(self, "sketch_")
        return getattr(self.estimator_, method)(self._source.features(X))

    @available_if(_estimator_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, as the estimator gives them."""
        return self._of_estimator("predict_proba", X)

    @available_if(_estimator_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the probabilities, as the estimator gives them."""
        return self._of_estimator("predict_log_proba", X)

    @available_if(_estimator_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Decision function, as the estimator gives it: no threshold is taken off."""
        return self._of_estimator("decision_function", X)

    @available_if(_estimator_has("score_samples"))  # type: ignore[untyped-decorator]
    def score_samples(self, X: Any) -> Any:
        """Scores of samples, as the estimator gives them."""
        return self._of_estimator("score_samples", X)

    # ------------------------------------------------------------------------------------------ scikit-learn's manners

    def get_metadata_routing(self) -> Any:
        """Who wants which metadata: this classifier, its estimator, its splitter."""
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        to_split = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=to_fit).add(
            splitter=self.cv, method_mapping=to_split
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags
