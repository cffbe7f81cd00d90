"""Check a certificate against the counts: whole numbers and fractions only, no code shared with the search.

A leaf has a weight w of the cost and multipliers of rows that hold within the limits, u being the lowest rate:
`u - rate <= 0`, `rate - u <= limit`, `ratio * rate - u <= 0`. So every choice within the limits has a w * cost / unit
of at least the sum in `bound`, where each segment takes its cheapest candidate. Where the sum of the tpr gap and the
fpr gap is limited, `rate - u` of both is at most two numbers that add up to it: multipliers pay for the dearest two.
A limit on a rate itself, of a group or of all rows, is `least - rate <= 0` or `rate - most <= 0`.

A proof may come from anyone: every step is read as it is, and one that is not well formed proves nothing. Cuts and left
out candidates prove something about choices, not about mixtures, which need one bound for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from math import inf, lcm
from typing import Any

from gstar_fast._backends.common.segments import HIGH, LEAST, LOW, MOST, RATIO, SEGMENT_NODES, SHARE
from gstar_fast._base.refusals.place import bad_value
from gstar_fast._criteria import Form, Limit
from gstar_fast._rates import RATES
from gstar_fast._solver.answer.proof import ALL, Certificate, Cut, Leaf, Single

TOLERANCE = Fraction(1, 10**12)  # as everywhere in the library
NO_LIMIT = Fraction(3)  # more than any gap, or sum of two gaps
CLOSE = Fraction(1, 10**9)  # weights of a mixture are rounded: its error may be this far above its bound
Rows = list[list[list[list[int]]]]  # of a label (0, 1, 2: unlabelled), protected group, segment and bin
Parts = Sequence[Sequence[tuple[int, float]]]  # of each segment: candidates and weights
Box = list[list[int]]  # candidates of each segment
MOST_STEPS = 2 * SEGMENT_NODES + 2  # of a search


class Checker:
    """One certificate and the counts it speaks of."""

    def __init__(self, certificate: Certificate, rows: Rows) -> None:
        self.c, self.unit = certificate, Fraction(certificate.unit)
        self.segments, self.bins = range(len(rows[0][0])), range(len(rows[0][0][0]))
        self.rows = [(y, a, [_above(bins) for bins in rows[y][a]]) for y in range(3) for a in range(len(rows[0]))]
        self.totals = {(y, a): sum(bins[0] for bins in by) for y, a, by in self.rows}
        self.limits: dict[str, Fraction] = {}
        self.ratios: dict[str, Fraction] = {}
        self.sum: Fraction | None = None  # largest sum of the gaps of `added`
        self.added: tuple[str, ...] = ()  # rates whose gaps have a limited sum
        self.ends: dict[tuple[str, int, int], Fraction] = {}  # of a rate, a group and a kind of row: its least, or most
        for limit in certificate.limits:
            (self._add_bound if limit.form in (Form.BOUND, Form.TOTAL) else self._add_gap)(limit)

    def _add_gap(self, limit: Limit) -> None:
        """A limit on the gaps between groups, or on their ratio."""
        for rate in limit.criterion.names:
            if limit.form is Form.RATIO:
                self.ratios[rate] = Fraction(limit.least) - TOLERANCE
            else:
                self.limits[rate] = min(Fraction(limit.most) + TOLERANCE, self.limits.get(rate, NO_LIMIT))
        if limit.form is Form.SUM:
            self.sum, self.added = Fraction(limit.most) + TOLERANCE, limit.criterion.names

    def _add_bound(self, limit: Limit) -> None:
        """A limit on a rate itself: of one group, of each, or of all rows."""
        groups = [limit.group] if isinstance(limit.group, int) else range(len(self.rows) // 3)
        for a in [ALL] if limit.form is Form.TOTAL else groups:
            for kind, end, slack in ((LEAST, limit.least, -TOLERANCE), (MOST, limit.most, TOLERANCE)):
                if abs(end) < inf:
                    self.ends[limit.criterion.rates[0].name, a, kind] = Fraction(end) + slack

    def members(self, a: int) -> range:
        """Groups whose rows count for a group, or for all rows."""
        return range(len(self.rows) // 3) if a == ALL else range(a, a + 1)

    def form(self, rate: str, a: int) -> tuple[Fraction, tuple[Fraction, ...]] | None:
        """A group's rate as base + slope of each label * accepted rows; None where it is not defined."""
        neg, pos, spare = (sum(self.totals[y, b] for b in self.members(a)) for y in range(3))
        base, slopes, rows = {
            "tpr": (0, (0, 1, 0), pos),
            "fpr": (0, (1, 0, 0), neg),
            "selection_rate": (0, (1, 1, 1), neg + pos + spare),
            "accuracy": (neg, (-1, 1, 0), neg + pos),
            "balanced_accuracy": (neg * pos, (-pos, neg, 0), 2 * neg * pos),
        }[rate]
        return (Fraction(base, rows), tuple(Fraction(s, rows) for s in slopes)) if rows else None

    def outcome(self, parts: Parts, spare: Fraction) -> tuple[Fraction, bool]:
        """Cost of candidates with weights, and whether they break a limit by more than `spare`."""
        got = {
            (y, a): sum(Fraction(w) * by[j][t] for j in self.segments for t, w in parts[j]) for y, a, by in self.rows
        }
        cost, broken, gaps = Fraction(0), False, dict[str, Fraction]()
        for (y, a), accepted in got.items():
            cost += (accepted, self.totals[y, a] - accepted, 0)[y] * (*self.c.prices, 0)[y]
        for rate in {*self.limits, *self.ratios}:
            forms = {a: form for y, a in got if y == 0 and (form := self.form(rate, a)) is not None}
            rates = [base + sum(s * got[y, a] for y, s in enumerate(slopes)) for a, (base, slopes) in forms.items()]
            low, high = min(rates, default=Fraction(0)), max(rates, default=Fraction(0))
            gaps[rate] = high - low
            broken |= high - low > self.limits.get(rate, NO_LIMIT) + spare
            broken |= low < (self.ratios.get(rate, -NO_LIMIT) - spare) * high
        if self.sum is not None:
            broken |= sum(gaps[rate] for rate in self.added) > self.sum + spare
        for (rate, a, kind), end in self.ends.items():
            if (form := self.form(rate, a)) is not None:
                taken = (sum(got[y, b] for b in self.members(a)) for y in range(3))
                at = form[0] + sum(s * n for s, n in zip(form[1], taken, strict=True))
                broken |= at < end - spare if kind == LEAST else at > end + spare
        return cost, broken

    def paid(self, uppers: dict[str, Fraction]) -> Fraction:
        """The largest total that multipliers of upper rows can contribute while every gap stays within its limit.

        If the sum of two gaps is limited, the rate with the larger multiplier gets its share of that sum first.
        """
        total, left = Fraction(0), self.sum
        for rate, price in sorted(uppers.items(), key=lambda each: -each[1]):
            gap = self.limits[rate]
            if left is not None and rate in self.added:
                gap = min(gap, left)
                left -= gap
            total += price * gap
        return total

    def bound(self, leaf: Leaf, box: Box) -> tuple[Fraction, list[dict[int, Fraction]]]:
        """What weight * cost / unit cannot be below in a box, and the value of every candidate."""
        prices = (self.c.prices[0] * leaf.weight / self.unit, -self.c.prices[1] * leaf.weight / self.unit, Fraction(0))
        weights = {(y, a): prices[y] for y, a in self.totals}
        total = -prices[1] * sum(rows for (y, _), rows in self.totals.items() if y == 1)
        windows: dict[str, Fraction] = {}
        uppers: dict[str, Fraction] = {}
        limited = {LOW: self.limits | self.ratios, HIGH: self.limits, RATIO: self.ratios, SHARE: self.added}
        for rate, a, kind, given in leaf.multipliers:
            value, form = Fraction(given), self.form(rate, a)
            known = rate in limited[kind] and a != ALL if kind < LEAST else (rate, a, kind) in self.ends
            if form is None or not known:
                raise bad_value("proof", "a multiplier belongs to no limit")
            net = value * (self.ratios[rate] if kind == RATIO else -1 if kind in (LOW, LEAST) else 1)
            total += net * form[0]
            if kind >= LEAST:
                total -= net * self.ends[rate, a, kind]
            else:
                windows[rate] = windows.get(rate, Fraction(0)) + (value if kind == LOW else -value)
            if kind in (HIGH, SHARE):
                uppers[rate] = uppers.get(rate, Fraction(0)) + value
            for y, slope in enumerate(form[1]):
                for b in self.members(a):
                    weights[y, b] += net * slope
        scale = lcm(*(w.denominator for w in weights.values()))
        whole = [(int(weights[y, a] * scale), by) for y, a, by in self.rows if weights[y, a]]
        values = [{t: Fraction(sum(w * by[j][t] for w, by in whole), scale) for t in box[j]} for j in self.segments]
        best = {t: Fraction(0) for t in self.bins}  # of the segments so far, the last of them taking t at most
        for j in self.c.order or self.segments:
            if self.c.order is None:
                best = dict.fromkeys(self.bins, best[0] + min(values[j].values()))
                continue
            sums = [(t, best[t] + values[j][t]) for t in self.bins if t in values[j] and t in best]
            lowest = list(accumulate((s for _, s in sums), min))
            best = {
                t: s
                for (begin, _), (end, _), s in zip(sums, [*sums[1:], (len(self.bins), 0)], lowest, strict=True)
                for t in range(begin, end)
            }
        total += sum(min(w, Fraction(0)) for w in windows.values()) - self.paid(uppers)
        return total + best[self.bins[-1]], values

    def well_formed(self) -> bool:
        """Whether steps have integer positions, weights of 0 or 1 and multipliers of 0 or more, and are used once."""
        steps, first = self.c.steps, self.c.first
        used = [to for step in steps if isinstance(step, Cut) for to in (step.low, step.high)]
        return (
            0 < len(steps) <= MOST_STEPS
            and len(set(used)) == len(used)
            and all(
                isinstance(step, Single) or self._is_cut(i, step) or self._is_leaf(step) for i, step in enumerate(steps)
            )
            and (first is None or self._is_leaf(first))
        )

    def _is_cut(self, i: int, step: object) -> bool:
        return (
            isinstance(step, Cut)
            and all(type(part) is int for part in (step.segment, step.after, step.low, step.high))
            and step.segment in self.segments
            and all(i < to < len(self.c.steps) for to in (step.low, step.high))
        )

    def _is_leaf(self, step: object) -> bool:
        if not isinstance(step, Leaf) or type(step.weight) is not int or step.weight not in (0, 1):
            return False
        given: Any = step.multipliers
        most = (MOST + 1) * len(RATES) * (len(self.rows) // 3 + 1)
        return type(given) is tuple and len(given) <= most and all(map(self._is_multiplier, given))

    def _is_multiplier(self, entry: Any) -> bool:
        if type(entry) is not tuple or [type(part) for part in entry] != [str, int, int, float]:
            return False
        rate, group, kind, value = entry
        groups = range(ALL, len(self.rows) // 3)
        return rate in RATES and group in groups and kind in range(MOST + 1) and 0 <= value < inf

    def judge(self, parts: Parts) -> str | Fraction:
        """What is wrong with an answer; otherwise the cost / unit that every other choice must exceed.

        An answer has candidates and weights for each segment.
        """
        c = self.c
        if len(parts) != len(self.segments) or any(t not in self.bins or w < 0 for part in parts for t, w in part):
            return "the answer has no candidate for a segment, or one that does not exist"
        if any(abs(sum((Fraction(w) for _, w in part), Fraction(-1))) > TOLERANCE for part in parts):
            return "weights do not add up to one"
        below = [[sum(Fraction(w) for t, w in part if t <= end) for end in self.bins] for part in parts]
        for one, two in pairwise(c.order or ()):
            if any(b > a + TOLERANCE for a, b in zip(below[one], below[two], strict=True)):
                return "thresholds fall along the order of segments"
        cost, broken = self.outcome(parts, TOLERANCE)
        if broken:
            return "the answer breaks a limit"
        return cost / self.unit - (CLOSE if c.choice is None else c.within / self.unit)

    def excludes(self, most: Fraction | None) -> str | None:
        """What is wrong with the steps; None if they prove that nothing within the limits costs `most` or less.

        Without a number: that nothing is within the limits.
        """
        c = self.c
        if not self.well_formed():
            return "the proof is broken: a step is not well formed, or is used twice"
        if c.mixture is not None and not (len(c.steps) == 1 and isinstance(c.steps[0], Leaf) and c.first is None):
            return "the proof is broken: a mixture needs one bound for all choices"
        box = [list(self.bins) for _ in self.segments]
        try:
            if c.first is not None and most is not None and c.order is None:
                least, values = self.bound(c.first, box)
                ends = [c.first.weight * most - least + min(by.values()) for by in values]
                box = [[t for t in box[j] if by[t] <= ends[j]] for j, by in enumerate(values)]
            return None if self.holds(box, most) else "the bounds do not prove that nothing is better"
        except ValueError as error:
            return f"the proof is broken: {error}"

    def holds(self, box: Box, most: Fraction | None) -> bool:
        """Whether the steps prove that no choice of a box within the limits has a cost / unit of `most` or less."""
        left = [(0, box)]
        while left:
            i, box = left.pop()
            step = self.c.steps[i]
            self._ordered(box)
            if not all(box):
                continue
            if isinstance(step, Cut):
                cut, after = step.segment, step.after
                left.append((step.low, [[t for t in b if j != cut or t <= after] for j, b in enumerate(box)]))
                left.append((step.high, [[t for t in b if j != cut or t > after] for j, b in enumerate(box)]))
            elif not self.closed(step, box, most):
                return False
        return True

    def _ordered(self, box: Box) -> None:
        """Leave out candidates that the order of segments forbids."""
        order = self.c.order or ()
        for one, two in pairwise(order):
            box[two] = [t for t in box[two] if box[one] and t >= box[one][0]]
        for two, one in pairwise(order[::-1]):
            box[one] = [t for t in box[one] if box[two] and t <= box[two][-1]]

    def closed(self, step: Leaf | Single, box: Box, most: Fraction | None) -> bool:
        """Whether a step proves this for a box without cutting it."""
        if isinstance(step, Leaf):
            return self.bound(step, box)[0] > step.weight * (most or 0) and (most is not None or step.weight == 0)
        if any(len({tuple(by[j][t] for _, _, by in self.rows) for t in b}) > 1 for j, b in enumerate(box)):
            return False
        cost, broken = self.outcome([[(b[0], 1)] for b in box], Fraction(0))
        return broken or (most is not None and cost / self.unit > most)


def check(certificate: Certificate, rows: Rows) -> str | None:
    """What is wrong with a certificate; None if it proves its answer on these counts."""
    c, it = certificate, Checker(certificate, rows)
    if c.choice is not None:
        most = it.judge([[(t, 1)] for t in c.choice])
    elif c.mixture is not None:
        most = it.judge(c.mixture)
    else:
        return it.excludes(None)
    return most if isinstance(most, str) else it.excludes(most)


def _above(bins: list[int]) -> list[int]:
    """Rows that each candidate accepts."""
    out = [0]
    for rows in reversed(bins):
        out.append(out[-1] + rows)
    return out[:0:-1]
