"""What `solve` answers: thresholds, rates, gaps, and a verdict a person can read.

Computes nothing new.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gstar_fast._base.files import write_atomically
from gstar_fast._base.json import dumps
from gstar_fast._base.names import Name
from gstar_fast._base.public import lives_in
from gstar_fast._base.thresholds import Mixture, Nan, Unknown
from gstar_fast._base.warn import warn
from gstar_fast._criteria import CRITERION, is_met
from gstar_fast._decide import document
from gstar_fast._decide.decider import Decider
from gstar_fast._question.cut import Segments
from gstar_fast._question.question import Question, read_objective
from gstar_fast._sketch.sketch import Sketch, check_sketch
from gstar_fast._solver.answer.parts import Evidence, Note, Point, Promise, Slack
from gstar_fast._solver.answer.words import text_of
from gstar_fast.errors import InfeasibleWarning, UnpromisedWarning

if TYPE_CHECKING:
    from gstar_fast._solver.answer.proof import Proof


@lives_in("gstar_fast.results")
@dataclass(frozen=True)
class GroupRates:
    """One group at its threshold. A rate whose rows are missing is None."""

    rows: float
    tpr: float | None
    fpr: float | None
    selection_rate: float | None
    accuracy: float | None
    balanced_accuracy: float | None


@lives_in("gstar_fast")
@dataclass(frozen=True)
class Result:
    """Thresholds with a verdict. Made by `solve`; print it to see its table.

    Attributes
    ----------
    thresholds : dict
        One number for each group; accept when `score >= threshold`. -inf accepts everybody. With `randomize=True` it is
        the most probable of the group's thresholds.
    mixtures : dict or None
        With `randomize=True`, for each group its (threshold, probability) pairs; else None.
    error : float
        Expected error rate over labelled rows.
    cost : float
        Price of the errors for each labelled row, by the `objective`; the error rate if that was asked for.
    loss : float
        What was minimised: the square of `cost`, plus the penalties.
    gaps : dict
        Every criterion that is defined for these groups; `definitions` says how each is measured.
    rates : dict of GroupRates
        By group.
    slack : Slack or None
        Where limits are out of reach, by how much: `each` would have to be so much looser. `least` says whether less is
        proven not to be enough.
    point : Point or None
        For a result of a frontier, which of its points this is.
    verdict : {"optimal", "converged", "not_converged", "infeasible", "unified", "promised", "unpromised"}
        `message` explains it. `unified`: every group has the best unified threshold, because it meets the limits and
        there is no evidence that thresholds by group cost less. The last two only with `confidence`.
    promise : Promise or None
        With `confidence`: the promise that the limits hold on new rows.
    evidence : Evidence or None
        The `evidence` that was asked for, and the evidence found. None with ``evidence=0``, and if it is not used.
    lower_bound, optimality_gap : float
        No allowed thresholds have a loss below `lower_bound`; `optimality_gap` is what is left of `loss` above it.
    iterations : int
        Boxes opened by the exact search, or steps of an iterative method, whose losses are in `trace`.
    method, density : str
        What was asked of `solve`.
    default_threshold : float
        The best unified threshold: the least cost with one threshold for everybody, ignoring limits and penalties.
    before_error, before_cost, before_gaps : float, float, dict
        Error, cost and gaps at `default_threshold`.
    n_rows : float
        Number of counted rows, regardless of weights; rates, gaps and error are weighted.
    limits, penalties, costs, balanced, unified, min_rows
        What was asked, as given to `solve`.
    notes : tuple of Note
        What to mind: groups that were pooled or left out of a gap, thresholds that hardly decide. Each has a `code`, a
        `text` and `fields`.
    sketch_digest : str or None
        SHA-256 of the counted rows, see `Sketch.digest`. None if densities took the place of a sketch.
    score_column, group_column : str or None
        Names of the columns the rows came from, where known; for the command line.
    fair_between, decide_by : tuple or None
        With `decide_by`: columns between whose groups gaps are measured, and columns that thresholds depend on. Then
        `thresholds` and `segment_rates` are by segment, `rates` by protected group. None for thresholds by group.
    monotone : bool
        Whether thresholds rise, or fall, along the segments.
    segment_rates : dict of GroupRates or None
        With `decide_by`, the rates of all rows of each segment.
    cuts : tuple of float or None
        With `segments` given to `solve`: its cut points. The decider takes the number that was cut.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> sketch = gf.Sketch.from_rows([1, 2, 3, 4, 2, 3, 4, 5], [0, 0, 1, 1, 0, 0, 1, 1], list("aaaabbbb"), bins=16)
    >>> result = gf.solve(sketch, limits={"equalized_odds": 0.02})
    >>> result.verdict, result.error, result.thresholds
    ('optimal', 0.0, {'a': 2.5, 'b': 3.5})
    """

    thresholds: dict[Name, float]
    error: float
    cost: float
    loss: float
    gaps: dict[str, float]
    rates: dict[Name, GroupRates]
    verdict: str
    message: str
    lower_bound: float
    optimality_gap: float
    method: str
    density: str
    iterations: int
    default_threshold: float
    before_error: float
    before_cost: float
    before_gaps: dict[str, float]
    n_rows: float
    mixtures: dict[Name, Mixture] | None = None
    limits: Mapping[str, float] = field(default_factory=dict)
    penalties: Mapping[str, float] = field(default_factory=dict)
    costs: tuple[float, float] = (1.0, 1.0)
    balanced: bool = False
    unified: bool = False
    min_rows: float = 0.0
    notes: tuple[Note, ...] = ()
    trace: tuple[float, ...] = ()
    score_column: str | None = None
    group_column: str | None = None
    promise: Promise | None = None
    evidence: Evidence | None = None
    fair_between: tuple[str | int, ...] | None = None
    decide_by: tuple[str | int, ...] | None = None
    monotone: bool = False
    segment_rates: dict[Name, GroupRates] | None = None
    cuts: tuple[float, ...] | None = None
    slack: Slack | None = None
    point: Point | None = None
    sketch_digest: str | None = field(default=None, repr=False, compare=False)
    _proof: Proof | None = field(default=None, repr=False, compare=False)
    # columns of the sketch that the groups are made of, where it has others too; JSON has their names as `group_column`
    _between: tuple[str | int, ...] | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, object]:
        return {"json": self.to_json(), "between": self._between}  # plain values, which skops saves too

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(vars(Result.from_json(state["json"])), _between=state["between"])

    @property
    def groups(self) -> tuple[Name, ...]:
        """Names of the groups, or segments, that have a threshold, in canonical order."""
        return tuple(self.thresholds)

    @property
    def question(self) -> Question:
        """What was asked; densities by hand are only named."""
        plain = self.density == "empirical" and not self.penalties and not self.unified
        between, decide_by = self.fair_between, self.decide_by
        if decide_by is None:
            between, decide_by = self._between, None if self.unified else self._between
        asked = Question(
            limits=tuple(CRITERION[name].limit(limit) for name, limit in self.limits.items()),
            penalties=self.penalties,
            objective=read_objective({"fp": self.costs[0], "fn": self.costs[1], "balanced": self.balanced}),
            method=self.method,
            density=self.density,
            unified=self.unified,
            randomize=self.randomized,
            min_rows=self.min_rows,
            confidence=None if self.promise is None else self.promise.confidence,
            evidence=0.0 if self.evidence is None and plain else 0.95 if self.evidence is None else self.evidence.level,
            fair_between=between,
            decide_by=decide_by,
        )
        if decide_by is None or not (self.monotone or self.cuts is not None):
            return asked
        return replace(asked, decide_by=Segments(self.cuts, column=decide_by[0], monotone=self.monotone))

    @property
    def randomized(self) -> bool:
        """Whether decisions need a key for each row."""
        return self.mixtures is not None

    @property
    def meets_limits(self) -> bool:
        """Whether every limit holds on the rows it was found on; where one does not, deciding warns.

        Mixtures and smooth densities may miss a limit by 1e-9, which is rounding.
        """
        held = (is_met(name, limit, self.gaps.get(name), 1e-9) is not False for name, limit in self.limits.items())
        return self.verdict != "infeasible" and all(held)

    @property
    def promised(self) -> bool:
        """Whether the limits are promised for new rows."""
        return self.promise is not None and self.verdict in ("promised", "unified")

    @property
    def definitions(self) -> dict[str, str]:
        """How each gap in `gaps` is measured."""
        return {name: CRITERION[name].measured for name in self.gaps}

    def __str__(self) -> str:
        return text_of(self)

    def to_json(self) -> str:
        """The result as readable JSON; schemas/result.json describes it."""
        from gstar_fast._solver.answer.document import content_of  # it knows results

        return dumps(document.seal(content_of(self), self._decider()._thresholds))

    @classmethod
    def from_json(cls, text: str) -> Result:
        """Read what `to_json` wrote; anything else, or what was changed since, raises ValueError and says where."""
        from gstar_fast._solver.answer.document import result_of  # it makes results

        return result_of(document.read(text, only_result=True))

    def decider(
        self, *, unknown: Unknown = "raise", nan: Nan = "raise", expires: datetime | str | None = None
    ) -> Decider:
        """What decides rows by these thresholds: a callable for arrays, and `.one(score, group)`.

        Parameters
        ----------
        unknown : {"raise", "default"} or float
            For a group that has no threshold: refuse it, take the best unified threshold, or take this number.
        nan : {"raise", False, True}
            For a score that is NaN: refuse it, reject the row, or accept it.
        expires : datetime or str, optional
            When the thresholds should no longer be used, with its time zone.

        Warns
        -----
        InfeasibleWarning
            If the thresholds do not meet the limits: what decides are then those that miss them by the least.
        UnpromisedWarning
            If a `confidence` was asked for and nothing is promised: what decides are then the plain thresholds.

        Examples
        --------
        >>> import gstar_fast as gf
        >>> from gstar_fast.datasets import paper_synthetic
        >>> table = paper_synthetic(rows=4000)
        >>> sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups)
        >>> result = gf.solve(sketch, limits={"equalized_odds": 0.02})
        >>> decisions = result.decider()(table.scores, table.groups)
        >>> bool((decisions != table.labels).mean() == result.error)
        True
        """
        if not self.meets_limits:
            warn(f"{self.verdict}: {self.message}", InfeasibleWarning)
        elif self.verdict == "unpromised":
            warn(f"{self.verdict}: {self.message}", UnpromisedWarning)
        return self._decider(unknown, nan, expires)

    def _decider(
        self, unknown: Unknown = "raise", nan: Nan = "raise", expires: datetime | str | None = None
    ) -> Decider:
        return Decider(
            self.thresholds,
            unknown=unknown,
            nan=nan,
            default=self.default_threshold,
            unified=self.unified,
            mixtures=self.mixtures,
            sketch_digest=self.sketch_digest,
            expires=expires,
            score_column=self.score_column,
            group_column=self.group_column,
            cuts=self.cuts,
        )

    def mixing_saves(self, sketch: Sketch) -> float | None:
        """How much lower `cost` would be with `randomize=True`; solves the same question with mixtures.

        None without limits, with penalties or smooth densities, and for unified or mixed thresholds.
        """
        from gstar_fast._verbs.check import solve_again  # it knows results

        check_sketch(sketch)
        if not self.limits or self.penalties or self.unified or self.randomized or self.density != "empirical":
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were given when the result was found
            mixed = solve_again(self, sketch, replace(self.question, randomize=True, evidence=0.0, confidence=None))
        return max(self.cost - mixed.cost, 0.0)

    def check(self, sketch: Sketch) -> None:
        """Compute every number again from the counts of `sketch` and prove the verdict; raise ValueError if wrong.

        Nothing that the result or its proof says is trusted. Numbers are computed again from the thresholds. Verdicts
        `optimal` and `infeasible` are proven by certificates in whole numbers, by code that shares nothing with the
        search: thresholds by segment keep those of their search, also in JSON; others are searched for again, which
        may take minutes for twenty groups and a tight limit. Other results (penalties, smooth densities, pooled groups,
        promises) are solved again and compared. `message` and `notes` have to be those of this release. Only
        `iterations` and names of columns are not checked. A result with verdict `not_converged` claims nothing that
        could be proven, so it raises too.
        """
        from gstar_fast._verbs.check import check_result  # it knows results

        check_sketch(sketch)
        check_result(self, sketch)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result as JSON; the file is replaced whole or not at all. `Decider.load` reads it too."""
        write_atomically(path, self.to_json().encode("utf-8"))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read a saved result. A file that was changed, or that has more than 128 MiB, raises ValueError."""
        from gstar_fast._solver.answer.document import result_of  # it makes results

        return result_of(document.load(path, only_result=True))
