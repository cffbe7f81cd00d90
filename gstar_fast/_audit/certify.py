"""Whether fixed thresholds hold their limits, judged by rows that did not choose them: `certify`.

Nothing was selected on these rows, so the statement is a plain test. The limit is broken on new rows only if one pair
of groups differs by more than it, in one rate. So it is enough that for every pair and rate a one-sided upper limit of
the difference is within the limit: if the gap is too large, the pair that shows it fools its own test with a chance of
at most `1 - confidence`, and all other tests can only help (an intersection-union test, which needs no correction for
the number of pairs). A bound on a rate is broken by one group, whose own limit decides in the same way; a bound on the
share of all rows is a test of one share.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, assert_never

import numpy as np
from scipy import special

from gstar_fast._audit.counts import Taken, ThresholdsLike
from gstar_fast._backends.interface import Floats
from gstar_fast._base.names import Name, listed
from gstar_fast._base.public import lives_in
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.text import aligned, row_count, short_number
from gstar_fast._criteria import Form, Limit
from gstar_fast._input.options import checked_flag
from gstar_fast._question.options import check_confidence
from gstar_fast._question.question import Limits, Question
from gstar_fast._rates import Rate, Share, has_rate, rates_of
from gstar_fast._sketch.sketch import Sketch, check_order, check_sketch
from gstar_fast._solver.answer.parts import Note, label_notes
from gstar_fast._solver.answer.result import Result
from gstar_fast._solver.cells import effective, gaps_of

MOST_PAIRS = 3600  # of groups, whose distances are added in squares for a sum of two gaps


@lives_in("gstar_fast.results")
@dataclass(frozen=True)
class Certificate:
    """What fresh rows say of limits at fixed thresholds. Made by `certify`; print it.

    Attributes
    ----------
    holds : bool
        Whether every limit holds on new rows, with this confidence.
    upper : dict
        By criterion, an upper confidence limit of the gap; a lower one of the ratio for disparate_impact. Of a rate
        that has a bound, the confidence limit on the side of the bound.
    gaps : dict
        The same on the fresh rows themselves.
    asked : tuple of Limit
        What was asked; `limits` has the numbers, by criterion.
    confidence, exact
        How it was asked.
    n_rows : float
        Number of fresh rows, regardless of weights.
    notes : tuple of Note
        What to mind.
    """

    holds: bool
    upper: dict[str, float]
    gaps: dict[str, float]
    asked: tuple[Limit, ...]
    confidence: float
    exact: bool
    n_rows: float
    notes: tuple[Note, ...] = field(default=())

    @property
    def limits(self) -> dict[str, float]:
        """The number that each limit asks for, by criterion."""
        return {limit.criterion.name: limit.asked for limit in self.asked}

    def __str__(self) -> str:
        what = "the limits hold" if len(self.asked) > 1 else "the limit holds"
        word = "certified" if self.holds else "not certified"
        said = f"{what} on new rows" if self.holds else f"the rows do not show that {what} on new rows"
        lines = [f"{word}: {said} ({self.confidence:g} confidence, {row_count(self.n_rows)} fresh rows)"]
        lines += [f"note: {note}" for note in self.notes]
        rows = [["", "limit", "found", "at most"]]
        for name, number in self.limits.items():
            rows.append([name, *(short_number(x) for x in (number, self.gaps.get(name), self.upper[name]))])
        for limit in self.asked:
            if limit.sign == ">=":
                kind = "ratio" if limit.form is Form.RATIO else "rate"
                lines.append(
                    f"note: {limit.criterion.name} is a {kind}: its limit, and its last column, are the least it is"
                )
        return "\n".join([*lines, "", *aligned(rows)])


def certify(
    thresholds: ThresholdsLike,
    sketch: Sketch,
    *,
    limits: Limits | None = None,
    confidence: float = 0.95,
    exact: bool = False,
) -> Certificate:
    """Whether thresholds hold their limits on new rows, judged by fresh rows: rigorous.

    Fresh means that these rows had no part in finding the thresholds: the next window, or a part set aside.

    Parameters
    ----------
    thresholds : Result, Decider, dict or float
        What decides, as in `audit`.
    sketch : Sketch
        The fresh rows, counted.
    limits : dict, optional
        As in `solve`; those of the result where left out.
    confidence : float
        If a limit does not hold, a certificate is given with a chance of at most `1 - confidence`.
    exact : bool
        Add the distances of two rates' limits (Clopper and Pearson) instead of their squares: the chance is then proven
        to be at most `1 - confidence` for every number of rows, at the price of fewer certificates.

    Returns
    -------
    Certificate
        Its `holds` says whether all limits are certified.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> from gstar_fast.datasets import paper_synthetic
    >>> old, new = paper_synthetic(rows=20_000, seed=1), paper_synthetic(rows=20_000, seed=2)
    >>> counted = gf.Sketch.from_rows(old.scores, old.labels, old.groups)
    >>> result = gf.solve(counted, limits={"equalized_odds": 0.05}, confidence=0.95)
    >>> fresh = gf.Sketch.from_rows(new.scores, new.labels, new.groups)
    >>> gf.certify(result, fresh).holds
    True
    """
    check_order("certify", thresholds)
    check_sketch(sketch)
    level, exact = check_confidence(confidence), checked_flag("exact", exact)
    if limits is None and isinstance(thresholds, Result):
        limits = thresholds.limits
    asked = Question.of(limits=limits).limits
    if not asked:
        Question.of(confidence=level)  # raises: it needs limits
    labels = label_notes(sketch._core)
    taken = Taken.of(thresholds, sketch, "certifying")
    rows = Fresh.of(taken, 1 - level, exact)
    upper = {limit.criterion.name: certified(limit, rows) for limit in asked}
    alone = {limit.criterion.name: rows.value(limit) for limit in asked if limit.form in (Form.BOUND, Form.TOTAL)}
    return Certificate(
        holds=not rows.absent and all(limit.met(upper[limit.criterion.name]) for limit in asked),
        upper=upper,
        gaps=rows.gaps() | {name: value for name, value in alone.items() if value is not None},
        asked=asked,
        confidence=level,
        exact=exact,
        n_rows=float(taken.n_rows.sum()),
        notes=(*labels, *_notes(taken, rows.absent)),
    )


class Fresh(NamedTuple):
    """Fresh rows at fixed thresholds, (3, K) each: accepted rows at least and at most, and all rows; and what is asked.

    A limit of one rate is wrong with a chance of `alpha`.
    """

    groups: tuple[Name, ...]
    least: Floats
    most: Floats
    totals: Floats
    squares: tuple[Floats, Floats, Floats] | None  # the same as sums of squared weights; None: as they are
    absent: list[Name]  # groups that have a threshold and no fresh rows
    alpha: float
    exact: bool

    @classmethod
    def of(cls, taken: Taken, alpha: float, exact: bool) -> Fresh:
        """The fresh rows that thresholds were compared with."""
        weighted, given = taken.cells.weighted, taken.given
        if exact and (weighted or any(len(parts) > 1 for parts in taken.mixtures.values())):
            raise refusal("exact_with", "exact", value="rows have weights" if weighted else "thresholds are mixed")
        unified = given.question.unified if isinstance(given, Result) else getattr(given, "unified", False)
        unified = unified and taken.roles is None
        least, most, totals = (part * taken.cells.weight_unit for part in (*taken.ends[:2], taken.totals))
        squares = None if taken.squares is None else (*taken.squares[0][:2], taken.squares[1])
        return cls(taken.groups, least, most, totals, squares, [] if unified else taken.unused, alpha, exact)

    def together(self) -> Fresh:
        """All groups as one."""
        least, most, totals, *squares = (
            np.asarray(cells.sum(axis=1, keepdims=True))
            for cells in (self.least, self.most, self.totals, *(self.squares or ()))
        )
        squared = (squares[0], squares[1], squares[2]) if squares else None
        return self._replace(groups=("all",), least=least, most=most, totals=totals, squares=squared)

    def gaps(self) -> dict[str, float]:
        """Gaps on the fresh rows themselves."""
        rates = rates_of((self.least + self.most) / 2, self.totals)
        return gaps_of(rates, has_rate(self.totals))

    def value(self, limit: Limit) -> float | None:
        """A rate that has a bound, or that of all rows: on the fresh rows themselves."""
        rows = self.together() if limit.form is Form.TOTAL else self
        rate, accepted = limit.criterion.rates[0], (rows.least + rows.most) / 2
        has = rate.has(rows.totals, accepted)
        if limit.group is not None:
            has = has & np.array([name == limit.group for name in rows.groups])
        return limit.value(rate.values(accepted, rows.totals)[None], has[None])

    def hits(self, share: Share) -> tuple[Floats, Floats, Floats, Floats]:
        """Rows that count for a rate and all rows of it, at the least rate and at the largest: in effective rows."""
        (low, n), (high, m) = _ends(share, self.totals, self.least, self.most)
        if self.squares is None:
            return low, n, high, m
        (low_squares, squares), (high_squares, more) = _ends(share, self.squares[2], *self.squares[:2])
        rows = np.minimum(effective(low, n, low_squares, squares), effective(high, m, high_squares, more))
        return low * (rows / np.maximum(n, 1e-300)), rows, high * (rows / np.maximum(m, 1e-300)), rows

    def limits(self, rate: Rate, groups: int) -> tuple[Floats, Floats, Floats, Floats]:
        """Of each group: the rate at least and at most on the fresh rows, and its confidence limits.

        Exact limits must hold for all shares of so many groups at once.
        """
        parts = [self._of_share(share, groups * len(rate.shares)) for share in rate.shares]
        if len(parts) == 1:
            return parts[0]
        low, high, bottom, top = (sum(ends) / 2 for ends in zip(*parts, strict=True))
        if not self.exact:  # the distances of independent rates add up in squares
            bottom = low - np.hypot(*(part[0] - part[2] for part in parts)) / 2
            top = high + np.hypot(*(part[3] - part[1] for part in parts)) / 2
        return low, high, bottom, top

    def _of_share(self, share: Share, shares: int) -> tuple[Floats, Floats, Floats, Floats]:
        """The same for a share; of `shares` independent ones each is then held at 1 - (1 - alpha)^(1 / shares)."""
        low, n, high, m = self.hits(share)
        each = 1 - (1 - self.alpha) ** (1 / shares) if self.exact else self.alpha
        bottom = np.where(low <= 0, 0.0, special.betaincinv(np.maximum(low, 1e-9), n - low + 1, each))
        top = np.where(high >= m, 1.0, special.betaincinv(high + 1, np.maximum(m - high, 1e-9), 1 - each))
        with np.errstate(divide="ignore", invalid="ignore"):
            return low / n, high / m, bottom, top


def _ends(share: Share, totals: Floats, least: Floats, most: Floats) -> tuple[tuple[Floats, Floats], ...]:
    """Hits and trials where the rate is least, and where it is largest."""
    rising = np.array([hits >= trials for hits, trials in zip(share.hits[:3], share.trials[:3], strict=True)])[:, None]
    low, high = np.where(rising, least, most), np.where(rising, most, least)  # else accepted rows lower the rate
    return share.counted(low, totals), share.counted(high, totals)


def _notes(taken: Taken, absent: list[Name]) -> list[Note]:
    cells, notes = taken.cells, [*taken.cells.assumptions]
    if cut := int(sum(rows for _, _, rows in taken.cut)):
        text = (
            f"thresholds inside a bin of the fresh rows: {cells.amount(cut)} may lie on either side, and the worse "
            "is taken"
        )
        notes.append(Note("inside_a_bin", text, {"rows": cut * cells.weight_unit}))
    if absent:
        text = f"groups without fresh rows, of which nothing is certified: {listed(absent)}"
        notes.append(Note("no_rows", text, {"groups": list(absent)}))
    if taken.squares is not None:
        weight = float(taken.totals.sum()) * cells.weight_unit
        n = weight**2 / float(taken.squares[1].sum())
        text = (
            f"the fresh rows have a total weight of {weight:.10g}: they are worth as much as {n:.4g} rows of weight 1"
        )
        notes.append(Note("weighted", text, {"weight": weight, "effective": n}))
    return notes


# -------------------------------------------------------------------------------------------------------------- limits


def certified(limit: Limit, rows: Fresh) -> float:
    """A confidence limit of what is compared: the upper one of a gap, the lower one of a ratio.

    Of a rate it is that on the side of its bound; of two bounds the one that is nearer to it, or further beyond.
    """
    rates, form = limit.criterion.rates, limit.form
    if form is Form.RATIO:
        return min(_ratio(rate, rows) for rate in rates)
    if form is Form.SUM:
        return _sum(rates, rows)
    if form is Form.DIFFERENCE:
        return max(_difference(rate, rows) for rate in rates)
    if form is Form.BOUND:
        return _bound(limit, rows)
    if form is Form.TOTAL:
        return _bound(limit, rows.together())
    assert_never(form)


def _bound(limit: Limit, rows: Fresh) -> float:
    """The limit of the rate that is nearest to its bound; 0 or 1 where the group, or any group, lacks the rows.

    A rate beyond its bound belongs to one group, and a certificate needs the limits of all groups to be within: so each
    group's limit is that of one rate alone, however many groups there are.
    """
    low, _, bottom, top = rows.limits(limit.criterion.rates[0], 1)
    there = ~np.isnan(low)
    ends = np.stack([np.where(there, bottom, 0.0), np.where(there, top, 1.0)])
    if limit.group is not None:
        mine = [name == limit.group for name in rows.groups]
        ends = ends[:, mine] if any(mine) else np.array([[0.0], [1.0]])
    value = limit.value(ends.reshape(1, -1), np.ones((1, ends.size), bool))
    assert value is not None
    return value


def _difference(rate: Rate, rows: Fresh) -> float:
    """The largest upper limit of a difference between two groups; 1 where a group lacks the rows."""
    low, high, bottom, top = rows.limits(rate, 2)
    if np.isnan(low).any():
        return 1.0
    difference = top[:, None] - bottom
    if not rows.exact:
        difference = high[:, None] - low + np.hypot((top - high)[:, None], low - bottom)
    np.fill_diagonal(difference, 0.0)
    return float(min(difference.max(), 1.0))


def _sum(rates: tuple[Rate, ...], rows: Fresh) -> float:
    """The largest upper limit of a difference of tpr plus one of fpr, between two groups each.

    These are four independent rates: the squares of their distances add up.
    """
    found: list[tuple[Floats, Floats]] = []  # of all pairs of groups: difference, and distance of its limit from it
    for rate in rates:
        low, high, bottom, top = rows.limits(rate, 4)
        if np.isnan(low).any():
            return 2.0
        apart = high[:, None] - low
        away = top[:, None] - bottom - apart if rows.exact else np.hypot((top - high)[:, None], low - bottom)
        np.fill_diagonal(apart, 0.0)
        np.fill_diagonal(away, 0.0)
        found.append((apart.ravel(), away.ravel()))
    (tpr, tpr_away), (fpr, fpr_away) = found
    if rows.exact or len(tpr) > MOST_PAIRS:  # distances that are added are never too short
        return float(min((tpr + tpr_away).max() + (fpr + fpr_away).max(), 2.0))
    largest = max(float((t + fpr + np.hypot(w, fpr_away)).max()) for t, w in zip(tpr, tpr_away, strict=True))
    return min(largest, 2.0)


def _ratio(rate: Rate, rows: Fresh) -> float:
    """The smallest lower limit of a ratio between two groups.

    Of rates p and s the ratio is at least q where p - q s is surely not negative, and its limits follow as those of any
    difference do: the squares of the distances add up.
    """
    low, high, bottom, top = rows.limits(rate, 2)
    if np.isnan(low).any():
        return 0.0
    if rows.exact:
        ratio = bottom[:, None] / np.maximum(top, 1e-300)
        np.fill_diagonal(ratio, 1.0)
        return float(min(ratio.min(), 1.0))

    def sure(q: float) -> bool:
        slack = low[:, None] - q * high - np.hypot((low - bottom)[:, None], q * (top - high))
        np.fill_diagonal(slack, 0.0)
        return bool(slack.min() >= 0)

    below, above = 0.0, 1.0
    while above - below > 1e-6:
        middle = (below + above) / 2
        below, above = (middle, above) if sure(middle) else (below, middle)
    return below
