"""Every rate, gap and metric of decisions, with confidence intervals: `audit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from gstar_fast._audit import words
from gstar_fast._audit.counts import MIDDLE, Counts, Taken, ThresholdsLike, count_decisions
from gstar_fast._audit.intervals import Rates, critical, gap_interval, ranges_of, two_sided
from gstar_fast._audit.metrics import MEANS, METRICS, gap_of
from gstar_fast._audit.new_rows import NewRows, clearly_over
from gstar_fast._audit.replicates import FEWEST, Again, draw_again
from gstar_fast._base.arrays import Values
from gstar_fast._base.names import Name
from gstar_fast._base.public import lives_in
from gstar_fast._base.refusals.place import bad_type, bad_value
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._criteria import MEASURED
from gstar_fast._input.options import RAISE, checked_missing_group
from gstar_fast._question.options import check_confidence
from gstar_fast._sketch.sketch import Sketch, check_order
from gstar_fast._solver.answer.parts import Note, label_notes
from gstar_fast._solver.answer.result import Result

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Audit", "Estimate", "audit"]


@lives_in("gstar_fast.results")
@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and the interval it should be trusted to.

    Attributes
    ----------
    value : float or None
        None where the rows it needs are missing.
    low, high : float or None
        Confidence limits; None where there are none.
    method : {"exact", "given", "wilson", "newcombe", "bootstrap"}
        Where the limits come from; `exact` and `given` have none.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    method: str = "exact"


@lives_in("gstar_fast.results")
@dataclass(frozen=True)
class Audit:
    """What decisions do to each group. Made by `audit`; print it to see its tables.

    Attributes
    ----------
    groups : tuple
        Names of the groups, in canonical order.
    n_rows : int
        Number of audited rows, regardless of weights.
    rates : dict of dict of Estimate
        By group, then by metric: rows, base_rate, selection_rate, tpr, fpr, tnr, fnr, ppv, accuracy and
        balanced_accuracy.
    overall : dict of Estimate
        The same of all rows together.
    gaps : dict of Estimate
        Every gap between the groups; `definitions` says how each is measured.
    definitions : dict of str
        One line for each gap.
    thresholds : dict of Estimate or None
        By group; with limits where the audit was given a result that it can solve again. None for decisions, and for
        thresholds by segment.
    confidence : float
        Of all intervals.
    replicates, seed : int
        Of the bootstrap.
    notes : tuple of Note
        What a reader should know: thresholds fitted to these very rows, small groups, missing classes.
    new_rows : dict of NewRows
        By criterion that was asked for, the gap to expect on new rows of the same kind, where a result was found on
        these: its `mean`, and the value that `nine_of_ten` samples of so many `rows` stay under. Empty where it is not
        known. Right only for out-of-fold scores: no row's score may come from a model that was trained on that row.
    """

    groups: tuple[Name, ...]
    n_rows: int
    rates: dict[Name, dict[str, Estimate]]
    overall: dict[str, Estimate]
    gaps: dict[str, Estimate]
    definitions: dict[str, str]
    thresholds: dict[Name, Estimate] | None
    confidence: float
    replicates: int
    seed: int
    notes: tuple[Note, ...] = ()
    new_rows: dict[str, NewRows] = field(default_factory=dict)

    def __str__(self) -> str:
        return words.text_of(self)

    def to_dict(self) -> dict[str, object]:
        """The audit as what JSON can hold; infinities are the strings 'inf' and '-inf'."""
        return words.dict_of(self)

    def to_dataframe(self) -> pd.DataFrame:
        """A pandas frame with columns group, metric, value, low, high, method and three for `new_rows`.

        `group` is None for what concerns all groups: the overall metrics and the gaps. `new_rows_mean` and
        `new_rows_nine_of_ten` are what to expect on samples of `new_rows` rows.
        """
        return words.frame_of(self)

    def to_html(self) -> str:
        """Two HTML tables, without a page around them."""
        return words.html_of(self)

    def _repr_html_(self) -> str:
        return self.to_html()


def audit(
    thresholds: ThresholdsLike | None = None,
    sketch: object = None,
    *more: object,
    decisions: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    repeats: ArrayLike | None = None,
    missing_group: Name = "raise",
    confidence: float = 0.95,
    replicates: int = 2000,
    threshold_replicates: int | None = None,
    new_rows: int | None = None,
    seed: int = 0,
) -> Audit:
    """Every rate, gap and metric at given thresholds, or of given decisions, with confidence intervals.

    Call it as ``audit(thresholds, sketch)`` or as ``audit(decisions=..., labels=..., groups=...)``. Arrays are taken by
    keyword only: decisions and labels in the wrong order would exchange tpr and ppv without an error.

    Parameters
    ----------
    thresholds : Result, Decider, dict or float
        One number for each group, or one for all; accept when ``score >= threshold``. At an edge of the sketch the
        counts are those of the rows; inside a bin they are in proportion, with a note. A result with mixtures is
        audited in expectation.
    sketch : Sketch
        Counted scores.
    decisions : array-like of shape (n_samples,)
        0 or 1, or bool.
    labels : array-like of shape (n_samples,) or None
        True outcomes, 0 or 1; a null, or None for all, where they are not known: such rows count for the selection rate
        only.
    groups : array-like of shape (n_samples,), or several columns
        Group of each row, as for `Sketch.update`; a frame or a list of columns means intersections.
    weights : array-like of shape (n_samples,), optional
        Weight of each row. Rates are weighted; intervals allow for unequal weights.
    repeats : array-like of shape (n_samples,), optional
        How many rows each line stands for: whole numbers.
    missing_group : {"raise", "skip"} or a name
        What to do with decisions whose group is missing, as in `Sketch`; a note counts the rows that "skip" leaves out.
    confidence : float
        Of every interval by itself, from 0.5 to 0.999.
    replicates : int
        Poisson-resampled counts behind the intervals of gaps, 0 for none.
    threshold_replicates : int, optional
        How often a result is solved again on resampled counts, for the intervals of its thresholds and `new_rows`; by
        default up to 500, fewer where there are many groups (with less than 100 the thresholds get no intervals), and
        0 where even ten would take long.
    new_rows : int, optional
        How many new rows `Audit.new_rows` speaks of, such as the rows of a test set; without it, as many as were
        counted.
    seed : int
        The same seed gives the same answer, on every backend.

    Returns
    -------
    Audit
        Frozen; printing it shows its tables.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> report = gf.audit(decisions=[1, 0, 1, 1, 0, 0], labels=[1, 0, 1, 0, 1, 0], groups=list("aaabbb"))
    >>> report.rates["a"]["tpr"].value, report.rates["b"]["tpr"].value
    (1.0, 0.0)
    >>> report.gaps["equal_opportunity"].value
    1.0
    >>> report.definitions["equalized_odds_sum"]
    "tpr gap plus fpr gap (the paper's EOd)"
    """
    level, replicates = check_confidence(confidence), _checked_replicates("replicates", replicates)
    if threshold_replicates is not None:
        threshold_replicates = _checked_replicates("threshold_replicates", threshold_replicates)
    new_rows = _checked_new_rows(new_rows, thresholds, threshold_replicates)
    seed, policy = _checked_seed(seed), checked_missing_group(missing_group)
    check_order("audit", thresholds)
    rows = sketch is None and np.ndim(thresholds) > 0  # type: ignore[arg-type]
    if more or rows or not (sketch is None or isinstance(sketch, Sketch)):
        kinds = ", ".join(type(value).__name__ for value in (thresholds, sketch, *more) if value is not None)
        raise bad_type(
            "thresholds",
            "audit takes arrays by keyword, audit(decisions=..., labels=..., groups=...), and only thresholds and a "
            f"sketch by position, audit(thresholds, sketch); got {kinds} by position",
        )
    if sketch is not None:
        if any(array is not None for array in (decisions, labels, groups, weights, repeats)) or policy != RAISE:
            raise bad_type("labels", "a sketch holds its labels, groups and weights; call audit(thresholds, sketch)")
        taken = Taken.of(thresholds, sketch)  # type: ignore[arg-type]
        return _of_thresholds(taken, label_notes(sketch._core), level, replicates, threshold_replicates, new_rows, seed)
    if decisions is None or groups is None:
        given = {"decisions=": decisions, "groups=": groups}
        missing = [name for name, array in given.items() if array is None]
        raise bad_type(
            "sketch",
            "call audit(thresholds, sketch) or audit(decisions=..., labels=..., groups=...); there is no sketch, and "
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing",
        )
    if thresholds is not None or threshold_replicates is not None:
        raise bad_type(
            "thresholds", "decisions have no thresholds; thresholds and threshold_replicates= go with a sketch"
        )
    return assess(count_decisions(decisions, labels, groups, weights, repeats, policy), None, level, replicates, seed)


def _of_thresholds(
    taken: Taken,
    notes: Sequence[Note],
    confidence: float,
    replicates: int,
    threshold_replicates: int | None,
    new_rows: int | None,
    seed: int,
) -> Audit:
    """The audit of thresholds on the rows of a sketch, of which `notes` are known."""
    given, counts, by_group, again = taken.given, taken.counts(), None, Again()
    if isinstance(given, Result):
        again = draw_again(given, taken.cells, confidence, threshold_replicates, seed, new_rows, taken.roles)
    if taken.roles is None:
        limits, how = (again.limits, "bootstrap") if again.limits else ([(None, None)] * len(taken.mixtures), "given")
        by_group = {
            name: Estimate(min(mixture, key=lambda part: (-part[1], part[0]))[0], *ends, how)  # the most probable one
            for (name, mixture), ends in zip(taken.mixtures.items(), limits, strict=True)
        }
    counts = replace(counts, notes=(*notes, *counts.notes, *again.notes))
    found = replace(assess(counts, by_group, confidence, replicates, seed), new_rows=again.new_rows)
    if isinstance(given, Result) and given.question.by_segment:
        found = replace(found, notes=(*found.notes, *_clearly_above(found, given)))
    return found


def _clearly_above(audit: Audit, result: Result) -> list[Note]:
    """Limits of thresholds by segment, which fit closely, that rows audited here or expected miss by a quarter."""
    notes = []
    for name, limit in result.question.gap_limits.items():
        if name not in audit.gaps:
            continue  # a bound on a rate
        here, there = audit.gaps[name].value, audit.new_rows.get(name)
        seen = here if here is not None and clearly_over(name, limit, here) else None
        if seen is None and there is not None and clearly_over(name, limit, there.mean):
            seen = there.mean
        if seen is not None:
            where = "on these rows" if seen is here else "on new rows"
            text = (
                f"{name} is {seen:.2g} {where}, and the limit is {limit:g}: the thresholds of "
                f"{len(result.thresholds)} segments fit the rows they were found on; fewer segments, or a promise "
                "(confidence), hold a limit better"
            )
            notes.append(Note("above_the_limit", text, {"criterion": name, "gap": seen, "limit": limit}))
    return notes


def assess(
    counts: Counts, thresholds: dict[Name, Estimate] | None, confidence: float, replicates: int, seed: int
) -> Audit:
    """The audit of counts."""
    accepted, totals = counts.accepted * counts.unit, counts.totals * counts.unit
    rows, squares = counts.n_rows.sum(axis=0), counts.squares
    by_group = Rates(accepted, totals, squares)
    pooled = Rates(*_together(accepted, totals), None if squares is None else _together(*squares))
    per_group = _estimates(by_group, rows, confidence)
    gaps = {name: Estimate(gap_of(gap, by_group.values)) for name, gap in MEASURED.items()}
    if replicates and len(counts.groups) > 1:
        single = two_sided(confidence)
        ranges = ranges_of(accepted, totals, replicates, seed, squares)
        for name, gap in MEASURED.items():
            value = gaps[name].value
            if value is not None:
                limits = gap_interval(gap, by_group, value, single, critical(gap, ranges, confidence, single))
                gaps[name] = Estimate(value, *limits, "bootstrap")
    return Audit(
        groups=counts.groups,
        n_rows=int(rows.sum()),
        rates=dict(zip(counts.groups, per_group, strict=True)),
        overall=_estimates(pooled, rows.sum(keepdims=True), confidence)[0],
        gaps=gaps,
        definitions={name: gap.definition for name, gap in MEASURED.items()},
        thresholds=thresholds,
        confidence=confidence,
        replicates=replicates,
        seed=seed,
        notes=(*counts.notes, *words.notes_of(counts, by_group, confidence)),
    )


def _together(accepted: Values, totals: Values) -> tuple[Values, Values]:
    """All groups as one, (3, 1) each."""
    return accepted.sum(axis=1, keepdims=True), totals.sum(axis=1, keepdims=True)


def audit_counted(sketch: Sketch, *, confidence: float, replicates: int, seed: int) -> Audit:
    """The audit of decisions that a sketch has counted as scores of 0 and 1."""
    checked = check_confidence(confidence), _checked_replicates("replicates", replicates), _checked_seed(seed)
    return assess(Taken.of(MIDDLE, sketch).counts(), None, *checked)


def _estimates(rates: Rates, rows: Values, confidence: float) -> list[dict[str, Estimate]]:
    """Metric -> Estimate of each group."""
    z = two_sided(confidence)
    columns: list[list[Estimate]] = [[Estimate(float(n)) for n in rows.tolist()]]
    for name in METRICS[1:]:
        low, high = rates.limits(name, z)
        method = "newcombe" if name in MEANS else "wilson"
        columns.append(
            [
                Estimate(None) if value != value else Estimate(value, lo, hi, method)
                for value, lo, hi in zip(rates.values[name].tolist(), low.tolist(), high.tolist(), strict=True)
            ]
        )
    return [dict(zip(METRICS, column, strict=True)) for column in zip(*columns, strict=True)]


def _whole(name: str, number: object) -> int:
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
        raise refusal("whole_type", name, value=number)
    return int(number)


def _checked_seed(seed: object) -> int:
    if (whole := _whole("seed", seed)) < 0:
        raise refusal("seed", "seed", value=seed)
    return whole


def _checked_new_rows(rows: object, thresholds: object, replicates: int | None) -> int | None:
    if rows is None:
        return None
    if not 1 <= (rows := _whole("new_rows", rows)) <= 10**15:
        raise bad_value("new_rows", f"new_rows must be from 1 to 10**15 rows, got {rows}")
    if not isinstance(thresholds, Result):
        raise bad_type(
            "new_rows", "new_rows= goes with audit(result, sketch): what is expected there comes of solving again"
        )
    if replicates == 0:
        raise bad_value(
            "new_rows", "new_rows= needs solving again, and threshold_replicates is 0; leave one of them out"
        )
    return rows


def _checked_replicates(name: str, number: object) -> int:
    if (times := _whole(name, number)) and not FEWEST <= times <= 1_000_000:
        raise refusal("replicates", name, value=number, limit=FEWEST)
    return times
