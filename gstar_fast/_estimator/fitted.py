"""A fitted classifier: what it learned, how it decides, and how it is saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _estimator_has, check_is_fitted

from gstar_fast._base.arrays import Floats, Values
from gstar_fast._base.names import Name
from gstar_fast._base.thresholds import Unknown
from gstar_fast._decide.decider import Decider
from gstar_fast._estimator.decide_by import ByProbability, decide
from gstar_fast._estimator.groups import Groups, Roles, Source
from gstar_fast._estimator.training import Classifier, Scoring
from gstar_fast._question.cut import Segments
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._solver.answer.result import Result

# attributes that are saved as plain tuples
KEPT: dict[str, Callable[..., object]] = {"_source": Source, "_roles": Roles, "_by": ByProbability}


class Fitted:
    """The half of `GroupThresholdClassifier` that needs no training."""

    estimator_: Classifier
    sketch_: Sketch
    response_method: str
    pos_label: object
    unknown: Unknown
    _source: Source
    _roles: Roles
    _by: ByProbability | None
    _solved: Result | None  # None where rows were counted since the last solve
    _decided: list[tuple[Result, Decider]]  # the decider of the last `predict`; a list, for that must set no attribute

    def _solve_again(self) -> Result:
        """The result for all rows that were counted."""
        raise NotImplementedError

    # The types that skops must trust are plain values and public classes.

    def __getstate__(self) -> dict[str, object]:
        state: dict[str, object] = super().__getstate__()  # type: ignore[assignment]
        kept = {name: (*cast(NamedTuple, state[name]),) for name in KEPT if state.get(name) is not None}
        return state | kept | {name: [] for name in ("_decided",) if name in state}

    def __setstate__(self, state: dict[str, object]) -> None:
        saved = {name: cast(NamedTuple, state[name]) for name in KEPT if state.get(name) is not None}
        super().__setstate__(state | {name: KEPT[name](*values) for name, values in saved.items()})  # type: ignore[misc]

    # --------------------------------------------------------------------------------------------------------- reading

    @property
    def result_(self) -> Result:
        """What `solve` found: thresholds, rates, gaps and a verdict."""
        check_is_fitted(self, "sketch_")
        solved = self._solved
        if solved is None:
            solved = self._solved = self._solve_again()
        return solved

    @property
    def thresholds_(self) -> dict[Name, float]:
        """Threshold of each group."""
        return dict(self.result_.thresholds)

    @property
    def segments_(self) -> Segments | None:
        """Cut points of the group probability."""
        check_is_fitted(self, "sketch_")
        return None if self._by is None else self._by.segments

    @property
    def group_estimator_(self) -> object:
        """The fitted classifier that tells the group."""
        check_is_fitted(self, "sketch_")
        return None if self._by is None else self._by.model

    @property
    def classes_(self) -> Values:
        """The two labels."""
        check_is_fitted(self, "sketch_")
        classes: Values = self.estimator_.classes_
        return classes

    # ------------------------------------------------------------------------------------------------------ predicting

    def predict(self, X: object, sensitive_features: object = None, keys: ArrayLike | None = None) -> Values:
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
        decider, source = self._decider(), self._source
        given: Groups | Floats | None = None
        if not decider.unified and self._by is None and source.decide_by is None:
            features, given = source.read(X, sensitive_features)
        else:  # the protected group is not looked at
            features = source.features(X)
            if self._by is not None:
                given = self._by.numbers(features)
            elif source.decide_by is not None:
                given = source.segments(X)
        scoring = Scoring.of(self, self.estimator_, self.classes_)
        accepted = decide(decider, scoring(self.estimator_, features), given, keys)
        answers: Values = self.classes_[np.where(accepted, scoring.positive, 1 - scoring.positive)]
        return answers

    def _decider(self) -> Decider:
        result, used = self.result_, self._decided
        if not used or used[0][0] is not result:
            used[:] = [(result, result._decider(self.unknown))]
        return used[0][1]

    def score(
        self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None, sensitive_features: object = None
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
