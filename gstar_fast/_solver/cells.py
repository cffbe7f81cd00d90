"""The counts of a sketch at one moment, as the solvers read them: one table for groups, pooled groups and segments.

A cell is a column of counts: the rows of a protected group in a segment. Two index arrays say between which groups gaps
are measured and which segments share a threshold. A protected group and a segment without rows in common have no cell,
so that 100 groups with thresholds of their own have 100 cells. Rates are sums over cells: tpr of a protected group =
its accepted positives in all segments / its positives.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.random import Generator

from gstar_fast._backends.interface import Floats, Ints, SketchCore
from gstar_fast._base.arrays import Bools, Values
from gstar_fast._base.names import Name, canonical, sort_key
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._criteria import CRITERION, Form, Limit
from gstar_fast._question.cut import Segments
from gstar_fast._question.question import Question
from gstar_fast._question.roles import Roles, roles_in
from gstar_fast._rates import SHARES, SOLVER_RATES, ends_of, has_rate, rates_of
from gstar_fast._sketch.columns import assumption_in, columns_in
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._solver.answer.parts import GroupRates, Note
from gstar_fast._words import WEIGHT_UNIT

# Bytes that solving takes for each cell and bin beside the sketch, measured on full bins, rounded up: as a rule, and
# where every candidate of every group is kept (one threshold for all groups) or looked at again (promises).
SOLVING_BYTES = {"native": (64, 208), "numba": (448, 528), "numpy": (208, 336)}

Parts = list[dict[int, float]]  # of each segment: candidates and their weights


@dataclass(frozen=True)
class Cells:
    """What the solvers read of a sketch; groups, segments and cells in canonical order."""

    groups: tuple[Name, ...]  # between which gaps are measured
    edges: Floats  # (bins + 1,)
    rows: Ints  # (3, K, C) label 0, label 1, unlabelled: rows below, in each bin, above
    weight_unit: float = 1.0  # what one count stands for: 1, or 2^-20 in a weighted sketch
    digest: str | None = None  # of the rows; None where there is no sketch
    score_column: str | None = None
    group_column: str | None = None
    numbers: Values | None = None  # (3, K) rows of each cell; None without weights, where `rows` says it
    squared: Floats | None = None  # (3, K, C) sums of squared weights; None without weights, where `rows` says it
    assumptions: tuple[Note, ...] = ()  # what the groups rest on if they were estimated
    notes: tuple[Note, ...] = ()  # notes for every result from the sketch, `assumptions` included
    roles: Roles | None = None  # of the columns that groups and segments were read from
    places: tuple[tuple[Name, ...], Ints, Ints] | None = None  # segments; group and segment of each cell
    own: Cells | None = None  # before small groups were pooled
    pool: tuple[Name, ...] = ()  # the name that each group of `own` has here

    @classmethod
    def of(cls, sketch: Sketch, roles: Roles | None = None, *, wide: bool = False) -> Cells:
        """Copy the counts; `wide` where solving takes more memory, see `SOLVING_BYTES`."""
        core = sketch._core
        _check_memory(sketch, core.groups, roles, wide)
        core = core.copy()  # other threads may still update the sketch
        names = core.groups
        if not names:
            raise refusal("no_rows", "solving")
        rows = np.zeros((3, len(names), core.bins + 2), dtype=np.int64)
        rows[:, :, 0], rows[:, :, -1] = core.below(), core.above()
        for label in range(3):
            if label < 2 or int(rows.sum()) < core.total:  # memory that nobody writes to costs nothing
                rows[label, :, 1:-1] = core.counts(label)
        order = list(range(len(names)))
        if core.given:  # else they are in canonical order
            order.sort(key=lambda k: sort_key(names[k]))
        columns = columns_in(core.sections).of_thresholds(names) if core.sections else (None, None)
        squared = np.stack([core.squares(label)[order] for label in range(3)]) if core.weighted else None
        cells = cls(
            tuple(names[k] for k in order),
            core.edges,
            rows if order == list(range(len(names))) else np.ascontiguousarray(rows[:, order]),
            1 / WEIGHT_UNIT if core.weighted else 1.0,
            sketch._digest_of(core),
            *columns,
            core.rows()[:, order] if core.weighted else None,
            squared,
            *_notes(core),
        )
        return cells if roles is None else cells.by(roles)

    @classmethod
    def asked(cls, sketch: Sketch, question: Question, *, wide: bool = False) -> Cells:
        """The cells that a question is about."""
        roles = None if question.fair_between is None else roles_in(sketch, question)
        cells = cls.of(sketch, roles, wide=wide)
        return cells.pooled(question.min_rows) if question.min_rows > 0 else cells

    def by(self, roles: Roles) -> Cells:
        """The cells of protected groups and segments, given those of all groups of a sketch."""
        pairs = [(roles.protected(name), roles.segment(name)) for name in self.groups]
        return replace(self.merged(pairs), roles=roles, group_column=roles.group_column)

    def merged(self, pairs: Sequence[tuple[Name, Name]]) -> Cells:
        """The same rows under other groups and segments; cells that get the same ones become one."""
        groups, segments = (tuple(canonical(set(names))) for names in zip(*pairs, strict=True))
        of_group, of_segment = ({name: i for i, name in enumerate(names)} for names in (groups, segments))
        at = [(of_group[one], of_segment[two]) for one, two in pairs]
        kept = sorted(set(at))
        place = {pair: i for i, pair in enumerate(kept)}
        index = np.array([place[pair] for pair in at])

        def summed(values: Values | None) -> Values | None:
            return values if values is None or at == kept else _summed(values, index, len(kept))

        group, segment = np.array(kept, dtype=np.int64).T
        rows, numbers, squared = summed(self.rows), summed(self.numbers), summed(self.squared)
        assert rows is not None
        places = (segments, group, segment)
        return replace(self, groups=groups, rows=rows, numbers=numbers, squared=squared, places=places)

    def pooled(self, min_rows: float) -> Cells:
        """Groups of fewer effective rows as one group, under a name that no group has; `own` are those of before."""
        rows = self.rows.sum(axis=(0, 2)) * self.weight_unit
        if self.squared is not None:
            rows = rows**2 / np.maximum(self.squared.sum(axis=(0, 2)), 1e-300)
        if not (rows < min_rows).any():
            return self
        name = "other"
        while name in self.groups:
            name += "_"
        names = tuple(name if small else group for group, small in zip(self.groups, rows < min_rows, strict=True))
        return replace(self.merged(list(zip(names, names, strict=True))), own=self, pool=names)

    # ------------------------------------------------------------------------------------------------------- sums

    @property
    def segments(self) -> tuple[Name, ...]:
        """Names of what has a threshold of its own: segments, or the groups themselves."""
        return self.groups if self.places is None else self.places[0]

    @property
    def group(self) -> Ints:
        """The group of each cell, (K,)."""
        return np.arange(len(self.groups)) if self.places is None else self.places[1]

    @property
    def segment(self) -> Ints:
        """The segment of each cell, (K,)."""
        return np.arange(len(self.groups)) if self.places is None else self.places[2]

    @cached_property
    def members(self) -> list[Ints]:
        """Cells of each segment, by group."""
        return [np.flatnonzero(self.segment == j) for j in range(len(self.segments))]

    def by_group(self, values: Values) -> Values:
        """Values of cells, (3, K) or (3, K, C), added up to those of groups."""
        return values if self.places is None else _summed(values, self.group, len(self.groups))

    def by_segment(self, values: Values) -> Values:
        """The same for segments."""
        return values if self.places is None else _summed(values, self.segment, len(self.segments))

    def named(self, question: Question) -> Question:
        """The question with the columns that groups and segments were read from."""
        if self.roles is None:
            return question
        asked = replace(question, fair_between=self.roles.fair_between)
        if question.unified or isinstance(question.decide_by, Segments):
            return asked
        by = self.roles.decide_by if self.by_segments else self.roles.fair_between
        return replace(asked, decide_by=by)

    @property
    def by_segments(self) -> bool:
        """Whether thresholds depend on something else than the groups between which gaps are measured."""
        return self.roles is not None and self.roles.by_segment

    @property
    def totals(self) -> Ints:
        """Rows of each label and group, (3, A)."""
        return self.by_group(self.rows.sum(axis=2))

    def accepted(self, parts: Iterable[dict[int, float]], values: Values | None = None) -> Values:
        """Rows of each cell, (3, K), that candidates with weights accept; whole where all weights are 1.

        `values` are counted in their place, (3, K, C).
        """
        given = self.rows if values is None else values
        columns: list[Values] = [np.zeros((3, 0))] * given.shape[1]
        for mine, part in zip(self.members, parts, strict=True):
            for k in mine.tolist():
                each = [given[:, k, t:].sum(axis=1) * (w if w != 1.0 else 1) for t, w in part.items()]
                columns[k] = each[0] if len(each) == 1 else np.sum(each, axis=0)
        return np.stack(columns, axis=1)

    def dense(self) -> Ints:
        """Rows of each label, group, segment and bin, (3, A, m, C)."""
        out = np.zeros((3, len(self.groups), len(self.segments), self.rows.shape[2]), dtype=self.rows.dtype)
        out[:, self.group, self.segment] = self.rows
        return out

    # ------------------------------------------------------------------------------------------------------- rows

    @property
    def squares(self) -> Floats:
        """Sums of squared weights (3, K, C) of the rows that `rows` counts."""
        return self.rows.astype(np.float64) if self.squared is None else self.squared

    def sketch(self, sketch: Sketch) -> Sketch:
        """The sketch that the cells are from, with its rows under the names of their groups."""
        pooled = {} if self.own is None else dict(zip(self.own.groups, self.pool, strict=True))

        def named(group: Name) -> Name:
            name = group if self.roles is None else self.roles.protected(group)
            return pooled.get(name, name)

        return sketch if self.roles is None and self.own is None else sketch._under(named)

    def summed(self) -> Cells:
        """The same rows without their scores: one bin for each cell."""
        squared = None if self.squared is None else self.squared.sum(axis=2, keepdims=True)
        return replace(self, rows=self.rows.sum(axis=2, keepdims=True), squared=squared)

    @property
    def weighted(self) -> bool:
        """Whether counts are sums of weights."""
        return self.weight_unit != 1.0

    @property
    def n_rows(self) -> Values:
        """Number of rows of each label and cell, (3, K), regardless of weights."""
        return self.rows.sum(axis=2) if self.numbers is None else self.numbers

    def amount(self, count: float) -> str:
        """A count as text: rows, or rows of a weight."""
        return f"rows of weight {count * self.weight_unit:.6g}" if self.weighted else f"{count:g} rows"

    def thresholds(self, candidates: Ints) -> Floats:
        """Candidate 0 is -inf, candidate 1 + i is edge i, the one after the last edge is +inf."""
        return self.candidates[candidates]

    @cached_property
    def candidates(self) -> Floats:
        """All of them: -inf, then every edge, then +inf."""
        return np.concatenate([[-np.inf], self.edges, [np.inf]])


def _summed(values: Values, index: Ints, n: int) -> Values:
    """Columns that get the same index added up."""
    if n == len(index) and (np.diff(index) == 1).all():
        return values
    out = np.zeros((values.shape[0], n, *values.shape[2:]), dtype=values.dtype)
    for k, at in enumerate(index.tolist()):
        out[:, at] += values[:, k]
    return out


def _check_memory(sketch: Sketch, names: Sequence[Name], roles: Roles | None, wide: bool) -> None:
    """Raise where the cells are more than the memory limit of the sketch allows."""
    many = len(names) if roles is None else len({(roles.protected(name), roles.segment(name)) for name in names})
    if SOLVING_BYTES[sketch._backend][wide] * many * sketch._core.bins > sketch._core.memory_limit:
        need, limit = SOLVING_BYTES[sketch._backend][wide] * many * sketch._core.bins, sketch._core.memory_limit
        what = (limit, many, sketch._core.bins)
        raise refusal("solving_needs_too_much_memory", "memory_limit", value=need, limit=what)


def _notes(core: SketchCore) -> tuple[tuple[Note, ...], tuple[Note, ...]]:
    """Assumptions about the groups, and all notes for results from a sketch."""
    assumption = assumption_in(core.sections) if core.sections else None
    notes = () if assumption is None else (Note("assumption", assumption),)
    if not core.weighted:
        return notes, notes
    weight = core.total / WEIGHT_UNIT
    text = f"rows have a total weight of {weight:.10g}: error, rates and gaps are weighted"
    return notes, (*notes, Note("weighted", text, {"weight": weight}))


# -------------------------------------------------------------------------------------------- effective rows

CLOSE = 1e-9  # relative; two ways to compute one number differ by less


def kish(weights: Floats, squares: Floats) -> Floats:
    """(sum w)^2 / (sum w^2), from both sums; 0 without rows."""
    return np.asarray(weights**2 / np.maximum(squares, 1e-300))


def effective(hits: Floats, trials: Floats, hit_squares: Floats, squares: Floats) -> Floats:
    """Number of rows of weight 1 that estimate the rate hits / trials as precisely as rows with weights w.

    The first two are sums of w, the others of w^2. The rate p has the variance ((1 - p)^2 * (sum of w^2 of the hits) +
    p^2 * (sum of w^2 of the other rows)) / trials^2, and n rows of weight 1 have p (1 - p) / n. This is Kish's number
    if weights do not depend on the hits, and never more than that: a few light hits say little about heavy ones.
    """
    most = kish(trials, squares)
    p = hits / np.maximum(trials, 1e-300)
    spread = (1 - p) ** 2 * np.maximum(hit_squares, 0.0) + p**2 * np.maximum(squares - hit_squares, 0.0)
    own = p * (1 - p) * trials**2 / np.maximum(spread, 1e-300)
    return np.where((p > 0) & (p < 1) & (own < (1 - CLOSE) * most), own, most)


def hits_of(accepted: Values, totals: Values) -> tuple[Values, Values]:
    """Hits and trials of `SHARES`, (4, n), from rows of label 0, 1 and none, (3, n)."""
    hits, trials = zip(*(share.counted(accepted, totals) for share in SHARES), strict=True)
    return np.stack(hits), np.stack(trials)


def effective_rows(cells: Cells) -> Floats:
    """Rows behind `SHARES` of each group, (4, K), at any threshold."""
    totals = cells.totals * cells.weight_unit
    squares = cells.by_group(cells.squares.sum(axis=2)) if cells.weighted else totals
    return kish(hits_of(totals, totals)[1], hits_of(squares, squares)[1])


def resampled(random: Generator, rows: Ints, squares: Values, unit: float) -> Ints:
    """Resampled counts of bins: Poisson numbers of rows, each with the mean weight of its bin.

    `rows` are positive counts in units of `unit`, and `squares` sums of squared weights.
    """
    if unit == 1.0:
        return np.asarray(random.poisson(rows), dtype=np.int64)
    sums = rows * unit
    drawn = np.rint(random.poisson(sums**2 / squares) * (squares / sums / unit))
    return np.asarray(drawn, dtype=np.int64)


# ------------------------------------------------------------------------------------------------- outcomes


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


def gaps_of(rates: Floats, has: Bools) -> dict[str, float]:
    """Every gap that is defined, from rates (5, K) and which groups have them."""
    ends = ends_of(rates, has)
    gaps = {}
    for name, value_of, at in _COMPARED:
        value = value_of([ends[r] for r in at])
        if value is not None:
            gaps[name] = value
    return gaps


_COMPARED = [
    (name, criterion.value, [SOLVER_RATES.index(rate) for rate in criterion.rates])
    for name, criterion in CRITERION.items()
]


@dataclass(frozen=True)
class Outcome:
    """Error, gaps and rates when these (expected) counts are accepted, (3, K)."""

    error: float
    weighted_error: float  # E
    gaps: dict[str, float]
    rates: Floats
    has: Bools
    accepted: Values
    totals: Ints

    @classmethod
    def of(cls, accepted: Values, totals: Ints, scale: Scale) -> Outcome:
        return cls._from(accepted, totals, scale, rates_of(accepted, totals), has_rate(totals))

    @classmethod
    def both(cls, one: Values, two: Values, totals: Ints, scale: Scale, has: Bools) -> tuple[Outcome, Outcome]:
        """Two outcomes of the same rows."""
        n_groups = totals.shape[1]
        rates = rates_of(np.concatenate([one, two], axis=1), np.concatenate([totals, totals], axis=1))
        return (
            cls._from(one, totals, scale, rates[:, :n_groups], has),
            cls._from(two, totals, scale, rates[:, n_groups:], has),
        )

    @classmethod
    def _from(cls, accepted: Values, totals: Ints, scale: Scale, rates: Floats, has: Bools) -> Outcome:
        negative, positive, _ = totals.sum(axis=1).tolist()
        false_positive, true_positive, _ = accepted.sum(axis=1).tolist()
        false_negative = positive - true_positive
        cost = scale.fp * false_positive + scale.fn * false_negative
        error = (false_positive + false_negative) / (negative + positive)
        return cls(error, cost / scale.unit, gaps_of(rates, has), rates, has, accepted, totals)

    def by_group(self, groups: tuple[Name, ...], rows: Values) -> dict[Name, GroupRates]:
        return rates_by_group(groups, self.rates, self.has, rows)

    def reached(self, limit: Limit, groups: tuple[Name, ...]) -> float | None:
        """The value that is compared with a limit."""
        if limit.form is Form.BOUND:
            own = slice(None) if limit.group is None else [groups.index(limit.group)]
            accepted, totals = self.accepted[:, own], self.totals[:, own]
        elif limit.form is Form.TOTAL:
            accepted, totals = (rows.sum(axis=1, keepdims=True) for rows in (self.accepted, self.totals))
        else:
            return self.gaps.get(limit.criterion.name)
        rate = limit.criterion.rates[0]
        return limit.value(rate.values(accepted, totals)[None], rate.has(totals, accepted)[None])


def rates_by_group(groups: tuple[Name, ...], rates: Floats, has: Bools, rows: Values) -> dict[Name, GroupRates]:
    """Rates (5, K) by name, None where a group lacks the rows for one."""
    known = np.where(has, rates, np.nan).T.tolist()
    return {
        name: GroupRates(float(n), *(None if x != x else x for x in row))
        for name, n, row in zip(groups, rows.tolist(), known, strict=True)
    }
