"""Whether fixed thresholds hold their limits, judged by rows that did not choose them: `certify`.

Nothing was selected on these rows, so the statement is a plain test. The limit is broken on new rows only if one pair
of groups differs by more than it, in one rate. So it is enough that for every pair and rate a one-sided upper limit of
the difference is within the limit: if the gap is too large, the pair that shows it fools its own test with a chance of
at most `1 - confidence`, and all other tests can only help (an intersection-union test, which needs no correction for
the number of pairs).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from gstar_fast._audit.by_segment import BySegment
from gstar_fast._audit.counts import Bins, ThresholdsLike, mixtures_of, thresholds_of
from gstar_fast._backends.interface import Floats
from gstar_fast._base.arrays import Values
from gstar_fast._base.names import Name, listed
from gstar_fast._base.public import lives_in
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.text import aligned, row_count, short_number
from gstar_fast._criteria import CRITERION, Form
from gstar_fast._input.options import checked_flag
from gstar_fast._question.question import Question, check_confidence
from gstar_fast._rates import Rate, Share, has_rate
from gstar_fast._sketch.sketch import Sketch, check_order, check_sketch
from gstar_fast._solver.answer.note import Note, label_notes
from gstar_fast._solver.promise.effective import effective
from gstar_fast._solver.rates import gaps_of, rates_of
from gstar_fast._solver.result import Result
from gstar_fast._solver.segments.roles import on_its_columns
from gstar_fast._solver.snapshot import Snapshot

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
        By criterion, an upper confidence limit of the gap; a lower one of the ratio for disparate_impact.
    gaps : dict
        The same on the fresh rows themselves.
    limits, confidence, exact
        What was asked.
    n_rows : float
        Number of fresh rows, regardless of weights.
    notes : tuple of Note
        What to mind.
    """

    holds: bool
    upper: dict[str, float]
    gaps: dict[str, float]
    limits: Mapping[str, float]
    confidence: float
    exact: bool
    n_rows: float
    notes: tuple[Note, ...] = field(default=())

    def __str__(self) -> str:
        what = "the limits hold" if len(self.limits) > 1 else "the limit holds"
        word = "certified" if self.holds else "not certified"
        said = f"{what} on new rows" if self.holds else f"the rows do not show that {what} on new rows"
        lines = [f"{word}: {said} ({self.confidence:g} confidence, {row_count(self.n_rows)} fresh rows)"]
        lines += [f"note: {note}" for note in self.notes]
        rows = [["", "limit", "found", "at most"]]
        for name, limit in self.limits.items():
            rows.append([name, *(short_number(x) for x in (limit, self.gaps.get(name), self.upper[name]))])
        for name in self.limits:
            if CRITERION[name].from_below:
                lines.append(f"note: {name} is a ratio: its limit, and its last column, are the least it is")
        return "\n".join([*lines, "", *aligned(rows)])


def certify(
    thresholds: ThresholdsLike,
    sketch: Sketch,
    *,
    limits: Mapping[str, float] | None = None,
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
    asked = Question.of(limits=limits, confidence=level).bounds
    rows = _Rows.of(sketch, thresholds, exact)
    alpha = 1 - level
    upper = {name: _upper(name, rows, alpha, exact) for name in asked}
    holds = not rows.absent and all(CRITERION[name].limit(limit).met(upper[name]) for name, limit in asked.items())
    return Certificate(
        holds=holds,
        upper=upper,
        gaps=rows.gaps(),
        limits=asked,
        confidence=level,
        exact=exact,
        n_rows=rows.n_rows,
        notes=tuple(rows.notes),
    )


@dataclass
class _Rows:
    """Fresh rows at fixed thresholds: totals and accepted rows (3, K), the latter at least and at most."""

    groups: tuple[Name, ...]
    totals: Floats
    least: Floats
    most: Floats
    squares: tuple[Floats, Floats, Floats] | None  # sums of squared counts of rows in their places; None: as they are
    n_rows: float
    absent: list[Name]  # groups that have a threshold and no fresh rows
    notes: list[Note]

    @classmethod
    def of(cls, sketch: Sketch, given: ThresholdsLike, exact: bool) -> _Rows:
        if not sketch.groups:
            raise refusal("no_rows", "certifying")
        labels = label_notes(sketch._core)
        if isinstance(given, Result):
            given, sketch = on_its_columns(given, sketch)
        snapshot = Snapshot.of(sketch)
        segments = BySegment.of(given, sketch)
        thresholds = thresholds_of(given) if segments is None else segments.thresholds
        mixtures, _ = mixtures_of(thresholds, snapshot.groups)
        if exact and (snapshot.weighted or any(len(parts) > 1 for parts in mixtures.values())):
            why = "rows have weights" if snapshot.weighted else "thresholds are mixed"
            raise refusal("exact_with", "exact", value=why)
        bins = Bins(snapshot.edges, bool(sketch._core.fixed))
        totals = snapshot.rows.sum(axis=2)
        squares = snapshot.squares / snapshot.weight_unit**2 if snapshot.weighted else np.zeros((3, len(mixtures), 0))
        least, most, least_squares, most_squares = np.zeros((4, *totals.shape))
        cut = 0
        for k, (name, parts) in enumerate(mixtures.items()):
            for threshold, weight in parts:
                low, high = _ends(bins, snapshot.rows[:, k], threshold, name)
                least[:, k] += weight * low
                most[:, k] += weight * high
                cut += int((high - low).sum())
                if snapshot.weighted:
                    low_squares, high_squares = _ends(bins, squares[:, k], threshold, name)
                    least_squares[:, k] += weight * low_squares
                    most_squares[:, k] += weight * high_squares
        notes = [*labels, *snapshot.assumptions]
        if cut:
            text = (
                f"thresholds inside a bin of the fresh rows: {snapshot.amount(cut)} may lie on either side, and the "
                "worse is taken"
            )
            notes.append(Note("inside_a_bin", text, {"rows": cut * snapshot.weight_unit}))
        missing = [] if isinstance(thresholds, float) or thresholds.unified else list(thresholds.values)
        absent = [name for name in missing if name not in mixtures] if segments is None else segments.absent
        if absent:
            text = f"groups without fresh rows, of which nothing is certified: {listed(absent)}"
            notes.append(Note("no_rows", text, {"groups": list(absent)}))
        if snapshot.weighted:
            weight = float(totals.sum()) * snapshot.weight_unit
            effective = float(totals.sum()) ** 2 / float(squares.sum())
            text = (
                f"the fresh rows have a total weight of {weight:.10g}: they are worth as much as {effective:.4g} rows "
                "of weight 1"
            )
            notes.append(Note("weighted", text, {"weight": weight, "effective": effective}))
        groups = snapshot.groups
        cells = [totals.astype(np.float64), least, most, squares.sum(axis=2), least_squares, most_squares]
        if segments is not None:
            groups = segments.protected().groups
            cells = [segments.summed(c, snapshot.groups, groups) for c in cells]
        powers = (cells[3], cells[4], cells[5]) if snapshot.weighted else None
        return cls(groups, cells[0], cells[1], cells[2], powers, float(snapshot.n_rows.sum()), absent, notes)

    def gaps(self) -> dict[str, float]:
        rates = rates_of((self.least + self.most) / 2, self.totals)
        return gaps_of(rates, has_rate(self.totals))

    def hits(self, share: Share) -> tuple[Floats, Floats, Floats]:
        """Rows that count for a rate, at least and at most, and all rows of it: in effective rows."""
        low, high, rows = _hits(share, self.totals, self.least, self.most)
        if self.squares is None:
            return low, high, rows
        low_squares, high_squares, squares = _hits(share, *self.squares)
        n = np.minimum(effective(low, rows, low_squares, squares), effective(high, rows, high_squares, squares))
        scale = n / np.maximum(rows, 1e-300)
        return low * scale, high * scale, n


def _hits(share: Share, totals: Floats, least: Floats, most: Floats) -> tuple[Floats, Floats, Floats]:
    """The least and the largest numerator of a rate, and the denominator."""
    rising = np.array(share.hits[:3])[:, None] >= 0  # else accepted rows lower the rate
    low, trials = share.counted(np.where(rising, least, most), totals)
    return low, share.counted(np.where(rising, most, least), totals)[0], trials


def _ends(bins: Bins, rows: Values, threshold: float, name: Name) -> tuple[Values, Values]:
    """Rows that a threshold accepts, at least and at most."""
    _, split = bins.accepted(rows, threshold, name)  # refuses a threshold outside a fixed window
    if threshold == math.inf and bins.fixed:
        return 0 * rows[:, -1], rows[:, -1]
    if not split:
        whole, _ = bins.accepted(rows, threshold, name)
        return whole, whole
    at = int(np.searchsorted(bins.edges, threshold))
    whole = rows[:, at + 1 :].sum(axis=1)
    return whole, whole + rows[:, at]


def _upper(name: str, rows: _Rows, alpha: float, exact: bool) -> float:
    """The largest upper limit of any pair of groups and rate; for the ratio the smallest lower limit."""
    criterion = CRITERION[name]
    if criterion.form is Form.RATIO:
        return _ratio(criterion.rates[0], rows, alpha, exact)
    if criterion.form is Form.SUM:
        return _sum(criterion.rates, rows, alpha, exact)
    return max(_difference(rate, rows, alpha, exact) for rate in criterion.rates)


def _limits(share: Share, rows: _Rows, alpha: float, exact: bool, shares: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Of each group: the rate at least and at most on the fresh rows, and its confidence limits.

    Exact limits must hold for `shares` independent rates at once, each therefore at 1 - (1 - alpha)^(1 / shares).
    """
    low, high, n = rows.hits(share)
    each = 1 - (1 - alpha) ** (1 / shares) if exact else alpha
    bottom = np.where(low <= 0, 0.0, special.betaincinv(np.maximum(low, 1e-9), n - low + 1, each))
    top = np.where(high >= n, 1.0, special.betaincinv(high + 1, np.maximum(n - high, 1e-9), 1 - each))
    with np.errstate(divide="ignore", invalid="ignore"):
        return low / n, high / n, bottom, top


def _difference(rate: Rate, rows: _Rows, alpha: float, exact: bool) -> float:
    """The largest upper limit of a difference between two groups; 1 where a group lacks the rows."""
    if len(rate.shares) > 1:
        parts = [_limits(share, rows, alpha, exact, 4) for share in rate.shares]
        low, high, bottom, top = (sum(ends) / 2 for ends in zip(*parts, strict=True))
        if not exact:  # the distances of independent rates add up in squares
            bottom = low - np.hypot(*(part[0] - part[2] for part in parts)) / 2
            top = high + np.hypot(*(part[3] - part[1] for part in parts)) / 2
    else:
        low, high, bottom, top = _limits(rate.shares[0], rows, alpha, exact, 2)
    if np.isnan(low).any():
        return 1.0
    difference = top[:, None] - bottom
    if not exact:
        difference = high[:, None] - low + np.hypot((top - high)[:, None], low - bottom)
    np.fill_diagonal(difference, 0.0)
    return float(min(difference.max(), 1.0))


def _sum(rates: tuple[Rate, ...], rows: _Rows, alpha: float, exact: bool) -> float:
    """The largest upper limit of a difference of tpr plus one of fpr, between two groups each.

    These are four independent rates: the squares of their distances add up.
    """
    found: list[tuple[Floats, Floats]] = []  # of all pairs of groups: difference, and distance of its limit from it
    for rate in rates:
        low, high, bottom, top = _limits(rate.shares[0], rows, alpha, exact, 4)
        if np.isnan(low).any():
            return 2.0
        apart = high[:, None] - low
        away = top[:, None] - bottom - apart if exact else np.hypot((top - high)[:, None], low - bottom)
        np.fill_diagonal(apart, 0.0)
        np.fill_diagonal(away, 0.0)
        found.append((apart.ravel(), away.ravel()))
    (tpr, tpr_away), (fpr, fpr_away) = found
    if exact or len(tpr) > MOST_PAIRS:  # distances that are added are never too short
        return float(min((tpr + tpr_away).max() + (fpr + fpr_away).max(), 2.0))
    largest = max(float((t + fpr + np.hypot(w, fpr_away)).max()) for t, w in zip(tpr, tpr_away, strict=True))
    return min(largest, 2.0)


def _ratio(rate: Rate, rows: _Rows, alpha: float, exact: bool) -> float:
    """The smallest lower limit of a ratio between two groups.

    Of rates p and s the ratio is at least q where p - q s is surely not negative, and its limits follow as those of any
    difference do: the squares of the distances add up.
    """
    low, high, bottom, top = _limits(rate.shares[0], rows, alpha, exact, 2)
    if np.isnan(low).any():
        return 0.0
    if exact:
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
