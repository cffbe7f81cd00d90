"""What `solve` answers: thresholds, rates, gaps, and a verdict, also as text. Computes nothing new."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from gstar_fast._base.files import write_atomically
from gstar_fast._base.json import dumps
from gstar_fast._base.names import Name
from gstar_fast._base.public import lives_in
from gstar_fast._base.text import aligned, printable, printable_name, row_count, short_number, threshold_number
from gstar_fast._base.thresholds import Mixture, Nan, Unknown
from gstar_fast._base.warn import warn
from gstar_fast._criteria import CRITERION
from gstar_fast._decide import document
from gstar_fast._decide.decider import Decider
from gstar_fast._question.question import LimitKey, LimitLike, Question
from gstar_fast._sketch.sketch import Sketch, check_sketch
from gstar_fast._solver.answer.parts import (
    Evidence,
    Gaps,
    GroupRates,
    GroupThresholds,
    Note,
    Origin,
    Promise,
    Proof,
    Rates,
)
from gstar_fast.errors import InfeasibleWarning, UnpromisedWarning


@lives_in("gstar_fast")
@dataclass(frozen=True)
class Result:
    """Thresholds with a verdict. Made by `solve`; print it to see its table.

    Attributes
    ----------
    question : Question
        What was asked. Columns are as the sketch has them, and densities by hand are only named.
    thresholds : dict
        One number for each group, or for each segment with `decide_by`; accept when `score >= threshold`. -inf accepts
        everybody. `thresholds.default` is the best unified threshold: the least cost with one threshold for everybody,
        ignoring limits and penalties. With ``randomize=True``, `thresholds.mixtures` has the (threshold, probability)
        pairs of each group, and the number is the most probable threshold.
    rates : dict of GroupRates
        By group, or by protected group with `decide_by`; `rates.by_segment` has those of segments then. `rates.error`
        and `rates.cost` are those of all rows, and `rates.before` are the rates at the best unified threshold.
    gaps : dict
        Every criterion that is defined for these groups; `gaps.definitions` says how each is measured, `gaps.before`
        are the gaps at the best unified threshold, and `gaps.held` has the value reached for each limit.
    proof : Proof
        `verdict`, `message`, `loss` and its `lower_bound`, `iterations` (boxes of the exact search, or steps), `trace`
        (losses of an iterative method) and `slack`: by how much each limit would have to be looser, if limits are out
        of reach, and whether a smaller slack is proven impossible.
    notes : tuple of Note
        What to mind: groups that were pooled or left out of a gap, thresholds that hardly decide. Each has a `code`, a
        `text` and `fields`.
    origin : Origin
        The counted rows: `n_rows` regardless of weights, `digest` (see `Sketch.digest`; None if densities took the
        place of a sketch), `score_column`, `group_column`, and the `point` of a frontier.
    promise : Promise or None
        With `confidence`: the promise that the limits hold on new rows.
    evidence : Evidence or None
        The `evidence` that was asked for, and the evidence found. None with ``evidence=0``, and if it is not used.
    verdict : {"optimal", "converged", "not_converged", "infeasible", "unified", "promised", "unpromised"}
        `message` explains it. `unified`: every group has the best unified threshold, because it meets the limits and
        there is no evidence that thresholds by group cost less. The last two only with `confidence`.
    error, before_error : float
        Expected error rate over labelled rows, and that of the best unified threshold.
    cost, before_cost : float
        Price of the errors for each labelled row, by the `objective`; the error rate if that was asked for.
    loss, lower_bound, optimality_gap : float
        What was minimised: the square of `cost`, plus the penalties. No allowed thresholds have a loss below
        `lower_bound`; `optimality_gap` is what is left of `loss` above it.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> sketch = gf.Sketch.from_rows([1, 2, 3, 4, 2, 3, 4, 5], [0, 0, 1, 1, 0, 0, 1, 1], list("aaaabbbb"), bins=16)
    >>> result = gf.solve(sketch, limits={"equalized_odds": 0.02})
    >>> result.verdict, result.error, result.thresholds
    ('optimal', 0.0, {'a': 2.5, 'b': 3.5})
    """

    question: Question
    thresholds: GroupThresholds
    rates: Rates
    gaps: Gaps
    proof: Proof
    origin: Origin
    notes: tuple[Note, ...] = ()
    promise: Promise | None = None
    evidence: Evidence | None = None

    def __getstate__(self) -> dict[str, object]:
        return {"json": self.to_json()}  # plain values, which skops saves too

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(vars(Result.from_json(state["json"])))

    def but(self, **changes: Any) -> Result:
        """The same result with other values of its fields, or of those of its proof."""
        proof = {name: changes.pop(name) for name in _OF_PROOF & changes.keys()}
        return replace(self, **changes, proof=replace(self.proof, **proof)) if proof else replace(self, **changes)

    @property
    def groups(self) -> tuple[Name, ...]:
        """Names of the groups, or segments, that have a threshold, in canonical order."""
        return tuple(self.thresholds)

    @property
    def mixtures(self) -> dict[Name, Mixture] | None:
        """The (threshold, probability) pairs of each group with ``randomize=True``; else None."""
        return self.thresholds.mixtures

    @property
    def limits(self) -> dict[LimitKey, LimitLike]:
        """The limits, as `solve` takes them."""
        return self.question.asked_limits

    @property
    def verdict(self) -> str:
        """One word for what is proven."""
        return self.proof.verdict

    @property
    def message(self) -> str:
        """The verdict as a sentence."""
        return self.proof.message

    @property
    def error(self) -> float:
        """Expected error rate over labelled rows."""
        return self.rates.error

    @property
    def cost(self) -> float:
        """Price of the errors for each labelled row."""
        return self.rates.cost

    @property
    def before_error(self) -> float:
        """Error rate of the best unified threshold."""
        return self.rates.before.error if self.rates.before else self.error

    @property
    def before_cost(self) -> float:
        """Cost of the best unified threshold."""
        return self.rates.before.cost if self.rates.before else self.cost

    @property
    def loss(self) -> float:
        """What was minimised."""
        return self.proof.loss

    @property
    def lower_bound(self) -> float:
        """No allowed thresholds have a lower loss."""
        return self.proof.lower_bound

    @property
    def optimality_gap(self) -> float:
        """How far the loss may be above the least one."""
        return self.loss - self.lower_bound if self.loss > self.lower_bound else 0.0

    @property
    def n_rows(self) -> float:
        """Number of counted rows, regardless of weights."""
        return self.origin.n_rows

    @property
    def randomized(self) -> bool:
        """Whether decisions need a key for each row."""
        return self.mixtures is not None

    @property
    def meets_limits(self) -> bool:
        """Whether every limit holds on the rows it was found on; where one does not, deciding warns.

        Mixtures and smooth densities may miss a limit by 1e-9, which is rounding.
        """
        return self.verdict != "infeasible" and all(one.met is not False for one in self.gaps.held)

    @property
    def promised(self) -> bool:
        """Whether the limits are promised for new rows."""
        return self.promise is not None and self.verdict in ("promised", "unified")

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
        self._warn_if_missed()
        return self._decider(unknown, nan, expires)

    def _warn_if_missed(self) -> None:
        """Warn where the thresholds do not achieve what was asked."""
        if not self.meets_limits:
            warn(f"{self.verdict}: {self.message}", InfeasibleWarning)
        elif self.verdict == "unpromised":
            warn(f"{self.verdict}: {self.message}", UnpromisedWarning)

    def _decider(
        self, unknown: Unknown = "raise", nan: Nan = "raise", expires: datetime | str | None = None
    ) -> Decider:
        return Decider(
            self.thresholds,
            unknown=unknown,
            nan=nan,
            default=self.thresholds.default,
            unified=self.question.unified,
            mixtures=self.mixtures,
            sketch_digest=self.origin.digest,
            expires=expires,
            score_column=self.origin.score_column,
            group_column=self.origin.group_column,
            cuts=self.question.cuts,
        )

    def mixing_saves(self, sketch: Sketch) -> float | None:
        """How much lower `cost` would be with `randomize=True`; solves the same question with mixtures.

        None without limits, with penalties or smooth densities, and for unified or mixed thresholds.
        """
        from gstar_fast._verbs.check import solve_again  # it knows results

        check_sketch(sketch)
        asked = self.question
        if not asked.limits or asked.penalties or asked.unified or asked.randomize or asked.smooth:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were given when the result was found
            mixed = solve_again(self, sketch, replace(asked, randomize=True, evidence=0.0, confidence=None))
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

        return result_of(document.load(path, only_result=True), f"{os.fspath(path)!r}: ")


_OF_PROOF = {one.name for one in fields(Proof)}


# ---------------------------------------------------------------------------------------------------- as text


def cost_words(r: Result) -> str:
    """How the cost of a result is measured."""
    c_fp, c_fn = (f"{c:g} x " if c != 1 else "" for c in r.question.costs)
    if r.question.balanced:
        return f"({c_fp}fpr + {c_fn}fnr) / 2 of all labelled rows"
    return f"({c_fp}false positives + {c_fn}false negatives) / labelled rows"


def loss_words(r: Result) -> str:
    """What the loss of a result is made of."""
    asked = r.question
    return (
        f"the square of the {'cost' if asked.weighted else 'error rate'}{' plus the penalties' * bool(asked.penalties)}"
    )


def text_of(r: Result, most: int = 50) -> str:
    """The verdict, a row for each group, and what changed."""
    question, by_segment = r.question, r.rates.by_segment
    lines = [f"{r.verdict}: {r.message}"]
    lines += [f"note: {note}" for note in r.notes]
    asked = [_weighing(r)] if r.question.weighted else []
    asked += [limit.show() for limit in question.limits]
    asked += [f"{v:g} x {n}" for n, v in question.penalties.items()]
    if asked:
        lines.append(f"asked: {', '.join(asked)}")
    if (
        question.penalties or r.verdict == "not_converged" or question.method != "exact"
    ):  # the message speaks of the loss
        lines.append(f"loss: {r.loss:.6g}, {loss_words(r)}")
    lines.append("")
    of = threshold_number if not question.smooth else short_number  # smooth thresholds lie anywhere, not at edges
    by_name: Mapping[Name, GroupRates]
    what, by_name = ("group", r.rates) if by_segment is None else ("segment", by_segment)
    rows = [[what, "rows", "threshold", "tpr", "fpr", "selected"]]
    for name, threshold in list(r.thresholds.items())[:most]:
        mixture = r.mixtures[name] if r.mixtures is not None else ()
        shown = " | ".join(f"{p:.0%} {of(t)}" for t, p in mixture) if len(mixture) > 1 else of(threshold)
        rows.append([printable_name(name), row_count(by_name[name].rows), shown, *_shown_rates(by_name[name])])
    lines += aligned(rows)
    if len(r.thresholds) > most:
        lines.append(f"... and {len(r.thresholds) - most} more {what}s")
    if question.cuts is not None:
        lines.append(f"segments are cut at {', '.join(map(short_number, question.cuts[:most])) or 'no point'}")
    if by_segment is not None:
        between = [["group", "rows", "tpr", "fpr", "selected"]]
        between += [
            [printable_name(k), row_count(at.rows), *_shown_rates(at)] for k, at in list(r.rates.items())[:most]
        ]
        lines += ["", *aligned(between)]
        if len(r.rates) > most:
            lines.append(f"... and {len(r.rates) - most} more groups")
    lines.append("")
    changes = [["", "before", "after", ""]]
    if r.question.weighted:
        changes.append(["cost", short_number(r.before_cost), short_number(r.cost), cost_words(r)])
    changes.append(["error", short_number(r.before_error), short_number(r.error), ""])
    changes += [
        [
            one.limit.show(),
            short_number(one.before),
            short_number(one.reached),
            one.limit.criterion.measured,
        ]
        for one in r.gaps.held
        if not one.limit.criterion.compares
    ]
    for name, gap in r.gaps.items():
        changes.append([name, short_number(r.gaps.before.get(name)), short_number(gap), CRITERION[name].measured])
    table = aligned([row[:3] for row in changes])
    lines += [f"{line}  {row[3]}".rstrip() for line, row in zip(table, changes, strict=True)]
    lines.append(f"before: the best unified threshold, {of(r.thresholds.default)}")
    return printable("\n".join(lines))


def _weighing(r: Result) -> str:
    """The objective in the line of what was asked."""
    c_fp, c_fn = r.question.costs
    parts = [f"a false positive costs {c_fp:g}, a false negative {c_fn:g}"] if r.question.costs != (1.0, 1.0) else []
    parts += ["both classes count alike"] if r.question.balanced else []
    return f"least {'loss' if r.question.penalties else 'cost'} ({'; '.join(parts)})"


def _shown_rates(at: GroupRates) -> list[str]:
    return [short_number(x) for x in (at.tpr, at.fpr, at.selection_rate)]
