"""How many rows of each cell are accepted: from a sketch and thresholds, or from decisions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gstar_fast._base.arrays import Floats, Ints, Values
from gstar_fast._base.names import Name, as_tuple, listed
from gstar_fast._base.refusals.place import bad_type, bad_value
from gstar_fast._base.refusals.refusal import about, refusal
from gstar_fast._base.text import first_few
from gstar_fast._base.thresholds import Mixture, Thresholds, make
from gstar_fast._decide.decider import Decider
from gstar_fast._input.columns import as_labels, column_of
from gstar_fast._question.roles import Roles, on_its_columns, roles_of
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._solver.answer.parts import Note
from gstar_fast._solver.answer.result import Result
from gstar_fast._solver.cells import Cells
from gstar_fast.errors import InputError

ThresholdsLike: TypeAlias = Mapping[Any, float] | float | Result | Decider  # Any, for a dict[str, float] to be one


@dataclass(frozen=True)
class Counts:
    """Rows of each cell (label 0, label 1, unlabelled) and how many of them are accepted, (3, K)."""

    groups: tuple[Name, ...]
    accepted: Values  # int64; float64 where rows are accepted with a probability, or counted in proportion
    totals: Ints
    unit: float  # what one count stands for: 1, or 2^-20 if rows have weights
    n_rows: Values  # (3, K) number of rows, regardless of weights
    squares: tuple[Floats, Floats] | None = None  # sums of squared weights of both, if rows have weights
    notes: tuple[Note, ...] = ()


# ------------------------------------------------------------------------------------------------------------- a sketch


@dataclass(frozen=True)
class Taken:
    """Rows that thresholds accept of a sketch, by group; by protected group where segments decide."""

    given: ThresholdsLike  # what was passed
    cells: Cells  # of the sketch's own groups
    roles: Roles | None  # of the columns of the sketch where segments decide
    mixtures: dict[Name, Mixture]  # of each group, or segment, of the sketch
    groups: tuple[Name, ...]
    ends: Values  # (3, 3, K) at least, at most, and in proportion inside a bin; whole numbers if nothing else is needed
    totals: Ints  # (3, K)
    n_rows: Values
    squares: tuple[Floats, Floats] | None  # of `ends` and `totals`: sums of squared weights, if rows have weights
    cut: list[tuple[Name, float, float]]  # group, threshold, and rows that may lie on either side of it
    unused: list[Name]  # groups that have a threshold and no rows

    @classmethod
    def of(cls, given: ThresholdsLike, sketch: Sketch, verb: str = "auditing") -> Taken:
        """Exact at edges; inside a bin, the rows that share it are between."""
        if not sketch.groups:
            raise refusal("no_rows", verb)
        if isinstance(given, Result):
            sketch = on_its_columns(given.question, given.rates, sketch)
        roles = roles_of(given.question, sketch) if isinstance(given, Result) and given.question.by_segment else None
        own, thresholds = Cells.of(sketch), thresholds_of(given)
        cells, what = (own, "group") if roles is None else (own.by(roles), "segment")
        mixtures, unused = mixtures_of(thresholds, cells.segments, what)
        if roles is not None:
            unused = [name for name in given.rates if name not in cells.groups] if isinstance(given, Result) else []
        bins = Bins(cells, [mixtures[cells.segments[j]] for j in cells.segment.tolist()], bool(sketch._core.fixed))
        ends, cut = bins.accepted(cells.rows)
        squares = None
        if cells.weighted:
            squares = bins.accepted(cells.squares)[0], cells.by_group(cells.squares.sum(axis=2))
        n_rows = cells.by_group(cells.n_rows)
        return cls(given, own, roles, mixtures, cells.groups, ends, cells.totals, n_rows, squares, cut, unused)

    def counts(self) -> Counts:
        """What an audit needs: rows inside a bin are taken to be spread evenly."""
        unit, amount, notes = self.cells.weight_unit, self.cells.amount, [*self.cells.assumptions]
        if self.unused and self.roles is None:
            text = f"thresholds for groups that have no rows: {listed(self.unused)}"
            notes.append(Note("no_rows", text, {"groups": self.unused}))
        inside = [f"{name!r} ({amount(rows)})" for name, threshold, rows in self.cut if threshold < math.inf]
        if inside:
            text = (
                "thresholds inside a bin, whose rows are counted in proportion, as if spread evenly: "
                f"{first_few(inside)}"
            )
            notes.append(Note("inside_a_bin", text))
        if beyond := sum(rows for _, threshold, rows in self.cut if threshold == math.inf):
            text = (
                "a threshold of inf accepts rows whose score is inf, which range= does not tell from others above it; "
                f"all {amount(beyond)} there are counted as rejected"
            )
            notes.append(Note("above_the_range", text, {"rows": beyond * unit}))
        accepted = np.minimum(self.ends[2], self.totals)  # probabilities may add up to a little more than 1
        squares = None if self.squares is None else (self.squares[0][2], self.squares[1])
        return Counts(self.groups, accepted, self.totals, unit, self.n_rows, squares, tuple(notes))


class Bins(NamedTuple):
    """Cells and what decides each; rows beyond a window that is not fixed are infinite."""

    cells: Cells
    mixtures: list[Mixture]
    fixed: bool

    def accepted(self, rows: Values) -> tuple[Values, list[tuple[Name, float, float]]]:
        """The ends (3, 3, K) of `Taken` for columns (3, K, C) of cells, and where they differ."""
        columns: list[Values] = []  # whole numbers stay whole: a cell without a mixture is not multiplied by 1.0
        cut = []
        for k, mixture in enumerate(self.mixtures):
            parts = [self._ends(rows[:, k], threshold, self._name(k)) for threshold, _ in mixture]
            between = [(part[:, 1] - part[:, 0]).sum().item() for part in parts]
            cut += [(self._name(k), threshold, n) for (threshold, _), n in zip(mixture, between, strict=True) if n]
            mixed = [weight * part for (_, weight), part in zip(mixture, parts, strict=True)]
            columns.append(parts[0] if len(parts) == 1 else np.sum(mixed, axis=0))
        return np.moveaxis(self.cells.by_group(np.stack(columns, axis=1)), -1, 0), cut

    def _name(self, k: int) -> Name:
        group: Name = self.cells.groups[self.cells.group[k]]
        if self.cells.places is None:
            return group
        return (*as_tuple(group), *as_tuple(self.cells.segments[self.cells.segment[k]]))

    def _ends(self, rows: Values, threshold: float, name: Name) -> Values:
        """Accepted rows of each label, of `rows` (3, C): at least, at most, and in proportion."""
        edges = self.cells.edges
        if threshold == -math.inf:
            return np.stack([rows.sum(axis=1)] * 3, axis=1)
        if threshold == math.inf:  # in a window that grows, what lies above it is at inf, and inf >= inf
            sure = rows[:, -1] * (not self.fixed)
            return np.stack([sure, rows[:, -1], sure], axis=1)
        low, high = float(edges[0]), float(edges[-1])
        if not low <= threshold <= high:
            beyond = int(rows[:, 0 if threshold < low else -1].sum())
            if beyond and self.fixed:
                raise bad_value(
                    "thresholds",
                    f"the threshold {threshold!r} of group {name!r} is outside the sketch's range, {low!r} to "
                    f"{high!r}, and {beyond} of the group's rows are too, on the same side: how many it "
                    "accepts is not known; take a threshold inside, or -inf or inf, or count with a wider range=",
                )
            threshold = min(max(threshold, low), high)
        at = int(np.searchsorted(edges, threshold))  # the first edge at or above it; bin `at - 1` ends there
        whole: Ints = rows[:, at + 1 :].sum(axis=1)
        inside = rows[:, at]
        if threshold == edges[at] or not inside.any():
            return np.stack([whole] * 3, axis=1)
        lower, upper = edges[at - 1 : at + 1]
        return np.stack([whole, whole + inside, whole + (upper - threshold) / (upper - lower) * inside], axis=1)


def thresholds_of(given: object) -> Thresholds | float:
    """Check what was passed as thresholds: a dict, one number, a result or a decider."""
    if isinstance(given, Result):
        return make(given.thresholds, unified=given.question.unified, mixtures=given.mixtures)
    if isinstance(given, Decider):
        return given._thresholds
    if isinstance(given, Mapping):
        return make(given)
    if isinstance(given, (Real, np.number)) and not isinstance(given, (bool, np.bool_)):
        if math.isnan(float(given)):
            raise bad_value("thresholds", "the threshold is NaN; use inf to accept nobody, -inf to accept everybody")
        return float(given) + 0.0
    inside = getattr(given, "thresholds", None)
    if isinstance(inside, Mapping):
        return make(inside)
    raise bad_type(
        "thresholds",
        "thresholds must be a dict of group -> number, one number for all groups, a result or a decider; got "
        f"{type(given).__name__}; to audit decisions pass audit(decisions=..., labels=..., groups=...)",
    )


def mixtures_of(
    thresholds: Thresholds | float, groups: tuple[Name, ...], what: str = "group"
) -> tuple[dict[Name, Mixture], list[Name]]:
    """Each group's (threshold, probability) pairs, and the groups that have a threshold and no rows."""
    if isinstance(thresholds, float):
        return dict.fromkeys(groups, ((thresholds, 1.0),)), []
    spare = thresholds.unknown_threshold
    if thresholds.unified:
        spare = next(iter(thresholds.values.values()))
    out: dict[Name, Mixture] = {}
    for name in groups:
        threshold = thresholds.values.get(name, spare)
        if threshold is None:
            raise bad_value(
                "thresholds",
                f"{what} {name!r} of the sketch has no threshold; there are thresholds for "
                f"{listed(list(thresholds.values))}; add one, or audit a sketch without that {what}",
            )
        mixture = None if thresholds.mixtures is None else thresholds.mixtures.get(name)
        out[name] = ((threshold, 1.0),) if mixture is None else mixture
    return out, [name for name in thresholds.values if name not in out]


# ------------------------------------------------------------------------------------------------------------ decisions

MIDDLE = 0.5  # between a decision of 0 and one of 1, and an edge of the sketch below


def count_decisions(
    decisions: ArrayLike,
    labels: ArrayLike | None,
    groups: ArrayLike,
    weights: ArrayLike | None,
    repeats: ArrayLike | None,
    missing_group: Name,
) -> Counts:
    """Rows that were accepted, counted by a sketch whose scores are the decisions."""
    sketch, clean = Sketch(bins=16, range=(-4, 4), missing_group=missing_group), clean_decisions(decisions)
    try:
        sketch.update(clean, labels, groups, weights=weights, repeats=repeats)
    except InputError as error:
        if error.argument != "scores":
            raise
        raise about(error, "decisions") from None  # the decisions are that sketch's scores
    if not sketch.n_rows:
        raise refusal("no_decisions", "decisions")
    counts = Taken.of(MIDDLE, sketch).counts()
    text = f"rows without a group, left out: {sketch.skipped}"
    skipped = [Note("skipped", text, {"rows": sketch.skipped})] if sketch.skipped else []
    return replace(counts, notes=(*counts.notes, *skipped))


CODES = {"bad_label_type": "decisions_type", "bad_label": "decisions", "nan_label": "decisions_nan"}


def clean_decisions(decisions: ArrayLike) -> NDArray[np.float32]:
    """Zeros and ones as float32, which a sketch counts fastest."""
    try:
        values, has_missing = as_labels(*column_of(decisions, "decisions"))
    except InputError as error:
        if error.code not in CODES:
            raise
        raise refusal(CODES[error.code], "decisions", error.row, error.value) from None
    private = np.array(values)  # one read; what is checked is what is counted
    wrong = (private != 0) & (private != 1)
    if wrong.any():
        row = int(wrong.argmax())
        if has_missing:
            raise refusal("decisions_missing", "decisions", row)
        raise refusal("decisions", "decisions", row, private[row].item())
    return private.astype(np.float32)
