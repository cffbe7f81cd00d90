"""The counts of a sketch at one moment, as the solvers read them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gstar_fast._backends.interface import Floats, Ints, SketchCore
from gstar_fast._base.arrays import Values
from gstar_fast._base.names import Name, sort_key
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._sketch.columns import assumption_in, columns_in
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._solver.answer.note import Note
from gstar_fast._words import WEIGHT_UNIT

# Bytes that solving takes for each group and bin beside the sketch, measured on full bins, rounded up: as a rule, and
# where every candidate of every group is kept (one threshold for all groups) or looked at again (promises).
SOLVING_BYTES = {"native": (64, 208), "numba": (448, 528), "numpy": (208, 336)}


@dataclass(frozen=True)
class Snapshot:
    """What the solvers read of a sketch, at one moment, groups in canonical order."""

    groups: tuple[Name, ...]
    edges: Floats  # (bins + 1,)
    rows: Ints  # (3, K, C) label 0, label 1, unlabelled: rows below, in each bin, above
    weight_unit: float  # what one count stands for: 1, or 2^-20 in a weighted sketch
    digest: str | None  # of the rows; None where there is no sketch
    score_column: str | None
    group_column: str | None
    numbers: Values | None  # (3, K) rows of each cell; None without weights, where `rows` says it
    squared: Floats | None  # (3, K, C) sums of squared weights; None without weights, where `rows` says it
    assumptions: tuple[Note, ...] = ()  # what the groups rest on if they were estimated
    notes: tuple[Note, ...] = ()  # notes for every result from the sketch, `assumptions` included

    @classmethod
    def of(cls, sketch: Sketch, *, wide: bool = False) -> Snapshot:
        """Copy the counts; `wide` where solving takes more memory, see `SOLVING_BYTES`."""
        need = SOLVING_BYTES[sketch._backend][wide] * len(sketch._core.groups) * sketch._core.bins
        if need > sketch._core.memory_limit:
            limit = (sketch._core.memory_limit, len(sketch._core.groups), sketch._core.bins)
            raise refusal("solving_needs_too_much_memory", "memory_limit", value=need, limit=limit)
        core = sketch._core.copy()  # other threads may still update the sketch
        names = core.groups
        if not names:
            raise refusal("no_rows", "solving")
        order = sorted(range(len(names)), key=lambda k: sort_key(names[k]))
        rows = np.zeros((3, len(names), core.bins + 2), dtype=np.int64)
        rows[:, :, 0], rows[:, :, -1] = core.below(), core.above()
        for label in range(3):
            if label < 2 or int(rows.sum()) < core.total:  # memory that nobody writes to costs nothing
                rows[label, :, 1:-1] = core.counts(label)
        if order != list(range(len(names))):
            rows = np.ascontiguousarray(rows[:, order])
        unit = 1 / WEIGHT_UNIT if core.weighted else 1.0
        columns = columns_in(core.sections).of_thresholds(names)

        squared = np.stack([core.squares(label)[order] for label in range(3)]) if core.weighted else None
        numbers = core.rows()[:, order] if core.weighted else None
        named = tuple(names[k] for k in order)
        digest = sketch._digest_of(core)
        return cls(named, core.edges, rows, unit, digest, *columns, numbers, squared, *_notes(core))

    @property
    def squares(self) -> Floats:
        """Sums of squared weights (3, K, C) of the rows that `rows` counts."""
        return self.rows.astype(np.float64) if self.squared is None else self.squared

    def summed(self) -> Snapshot:
        """The same rows without their scores: one bin for each cell."""
        squared = None if self.squared is None else self.squared.sum(axis=2, keepdims=True)
        return replace(self, rows=self.rows.sum(axis=2, keepdims=True), squared=squared)

    @property
    def weighted(self) -> bool:
        """Whether counts are sums of weights."""
        return self.weight_unit != 1.0

    @property
    def n_rows(self) -> Values:
        """Number of rows of each label and group, (3, K), regardless of weights."""
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


def _notes(core: SketchCore) -> tuple[tuple[Note, ...], tuple[Note, ...]]:
    """Assumptions about the groups, and all notes for results from a sketch."""
    assumption = assumption_in(core.sections)
    notes = () if assumption is None else (Note("assumption", assumption),)
    if not core.weighted:
        return notes, notes
    weight = core.total / WEIGHT_UNIT
    text = f"rows have a total weight of {weight:.10g}: error, rates and gaps are weighted"
    return notes, (*notes, Note("weighted", text, {"weight": weight}))
