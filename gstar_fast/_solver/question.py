"""What of a question needs the counts: prices as whole numbers, and groups that lack the rows of a rate.

The optimisation problem is stated in docs/reference/problem.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from gstar_fast._base.arrays import Bools, Ints
from gstar_fast._base.names import Name
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.text import first_few
from gstar_fast._base.warn import warn
from gstar_fast._criteria import Form
from gstar_fast._question.question import Question
from gstar_fast._rates import SOLVER_RATES, has_rate
from gstar_fast._solver.answer.parts import Note
from gstar_fast._solver.cells import Cells
from gstar_fast.errors import MissingClassWarning


def compared_rates(question: Question) -> list[tuple[str, int]]:
    """Every criterion that compares groups, with the positions of its rates in `SOLVER_RATES`."""
    return [(one.name, SOLVER_RATES.index(rate)) for one in question.compared if one.compares for rate in one.rates]


@dataclass(frozen=True)
class Scale:
    """Integer prices of one false positive and one false negative: E = (fp * FP + fn * FN) / unit."""

    fp: int
    fn: int
    unit: float
    slack: float  # largest error in E from rounding the prices; 0 almost always


def scale_of(question: Question, n_negative: int, n_positive: int) -> Scale:
    """Turn costs into integers, so that errors are compared exactly."""
    if n_negative + n_positive == 0:
        raise refusal("no_labels", "sketch")
    if question.costs == (1.0, 1.0) and not question.balanced:
        return Scale(1, 1, float(n_negative + n_positive), 0.0)
    fp, fn = (Fraction(repr(c)) for c in question.costs)
    unit = Fraction(n_negative + n_positive)
    if question.balanced:
        if n_negative == 0 or n_positive == 0:
            absent = "negative" if n_negative == 0 else "positive"
            raise refusal("one_class", "objective", value=absent)
        fp, fn, unit = fp * n_positive, fn * n_negative, Fraction(2 * n_negative * n_positive)
    common = math.lcm(fp.denominator, fn.denominator)
    whole_fp, whole_fn = int(fp * common), int(fn * common)
    shared = math.gcd(whole_fp, whole_fn)
    whole_fp, whole_fn, unit = whole_fp // shared, whole_fn // shared, unit * common / shared
    largest = whole_fp * n_negative + whole_fn * n_positive
    if largest < 2**62:
        return Scale(whole_fp, whole_fn, float(unit), 0.0)
    shrink = Fraction(2**62 - 2 * (n_negative + n_positive), largest)
    rounded_fp, rounded_fn = round(whole_fp * shrink), round(whole_fn * shrink)
    slack = float(Fraction(n_negative + n_positive) / (unit * shrink))
    return Scale(rounded_fp, rounded_fn, float(unit * shrink), slack)


@dataclass(frozen=True)
class Problem:
    """A question about counts, checked: what every search begins with."""

    cells: Cells
    question: Question
    totals: Ints  # (3, A) rows of each label and group
    scale: Scale
    has: Bools  # (5, A) which groups have the rows that each rate needs
    notes: tuple[Note, ...]

    @classmethod
    def of(cls, cells: Cells, question: Question) -> Problem:
        """Raise where a rate that is asked about needs rows that fewer than two groups have."""
        problem = cls.unchecked(cells, question)
        notes = (*cells.notes, *check_groups(question, cells.groups, problem.has))
        return replace(problem, notes=notes)

    @classmethod
    def resampled(cls, cells: Cells, question: Question) -> Problem | None:
        """The same for rows that were drawn; None where too few are left to ask."""
        totals = cells.totals
        has, labelled = has_rate(totals), totals[:2].sum(axis=1)
        if not labelled.any() or (question.balanced and not labelled.all()):
            return None
        if len(cells.groups) > 1 and any(has[r].sum() < 2 for _, r in compared_rates(question)):
            return None
        return cls.unchecked(cells, question)

    @classmethod
    def unchecked(cls, cells: Cells, question: Question) -> Problem:
        """The same for a question that was checked on these groups."""
        totals = cells.totals
        scale = scale_of(question, int(totals[0].sum()), int(totals[1].sum()))
        return cls(cells, question, totals, scale, has_rate(totals), ())


def check_several(question: Question, groups: Sequence[Name]) -> None:
    """Refuse to compare a single group with itself: a column that was forgotten would pass for a gap of 0."""
    asked = compared_rates(question)
    if asked and len(groups) == 1:
        raise refusal("one_group", asked[0][0], value=groups[0])


def check_groups(question: Question, groups: tuple[Name, ...], has: Bools) -> list[Note]:
    """Notes on groups left out of a criterion; raises where fewer than two are left."""
    notes: list[Note] = []
    check_several(question, groups)
    told: set[int] = set()
    for one in question.compared:
        for rate in one.rates:
            r = SOLVER_RATES.index(rate)
            missing = [groups[k] for k in np.flatnonzero(~has[r])]
            if not missing or one.form is Form.TOTAL:
                continue
            if int(has[r].sum()) < (2 if one.compares else 1):
                raise refusal("undefined_rate", one.name, value=missing, limit=(rate.name, rate.rows))
            if r in told:
                continue
            told.add(r)
            what = f"{rate.name} {'gap' if one.compares else 'limit'}"
            text = f"left out of the {what}, having no {rate.rows}: {first_few(map(repr, missing))}"
            notes.append(Note("missing_class", text, {"rate": rate.name, "groups": missing}))
    for note in notes:
        warn(note.text, MissingClassWarning)
    return notes
