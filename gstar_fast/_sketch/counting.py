"""Rows into a core: a batch, a table, or one row that is passed over."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gstar_fast import _backends
from gstar_fast._backends.common.rows import label_of, load_of, score_of, unknown_group
from gstar_fast._base.names import Scalar, clean_name
from gstar_fast._base.sections import LabelTexts
from gstar_fast._input.arrow import read_batches
from gstar_fast._input.columns import Batch, batch_of_columns
from gstar_fast._input.options import Passing
from gstar_fast._input.positive import labels_by

if TYPE_CHECKING:
    from gstar_fast._backends.interface import SketchCore, Watch


def empty_like(core: SketchCore, backend: str, watch: Watch | None = None) -> SketchCore:
    """A core without rows that has the options of another."""
    window = (core.level, core.first) if core.fixed else None
    names = core.groups if core.given else None
    return _backends.room("sketch", backend).Core(core.bins, window, names, core.memory_limit, watch)


def count(core: SketchCore, batch: Batch, passing: Passing, threads: int) -> None:
    """Count a batch, all or nothing."""
    scores, skip_nan = passing.marked(batch.scores, batch.absent)
    names = batch.names
    if names is not None and batch.absent is not None and core.given:
        names = (*names[:-1], core.groups[0])  # skipped rows add no group, but need a valid one here
    rows = scores, batch.labels, batch.codes, names, batch.weights
    core.update(*rows, skip_nan, threads, batch.unlabelled_code, batch.repeats)


class Table(NamedTuple):
    """A table or stream, and the names of its columns."""

    data: object
    score: str
    label: str | None
    groups: tuple[str, ...]
    weight: str | None
    positive: Scalar | None = None  # the label that means 1, where labels are not 0 and 1
    repeats: str | None = None


def count_table(core: SketchCore, table: Table, passing: Passing, threads: int) -> LabelTexts:
    """Count the rows of a table, batch by batch; after a bad batch, the batches before it stay counted.

    If the table has a positive label, the texts of the labels found are returned.
    """
    found = LabelTexts(())
    extra = [name for name in (table.label, table.weight, table.repeats) if name is not None]
    called = [f"column {name!r}" for name in table.groups]
    for scores, *rest in read_batches(table.data, [table.score, *table.groups, *extra]):
        groups, rest = rest[: len(called)], rest[len(called) :]
        labels = rest.pop(0) if table.label is not None else None
        if labels is not None and table.positive is not None:
            labels, texts = labels_by(labels, table.positive)
            found |= LabelTexts.of(texts)
        weights = rest.pop(0) if table.weight is not None else None
        repeats = rest.pop(0) if table.repeats is not None else None
        batch = batch_of_columns(scores, labels, groups, called, weights, repeats, passing.group)
        count(core, batch, passing, threads)
    return found


def skip_one(
    core: SketchCore, score: object, label: object, group: object, passing: Passing, weight: object, repeats: object
) -> bool:
    """Skip a single row if it has no score or no group, and return whether; its other values are still checked."""
    absent, x = passing.lacks(group), score_of(score)
    if not (absent or passing.covers(x)):
        return False
    code, name = label_of(label), core.groups[0] if absent and core.given else "" if absent else clean_name(group)
    if core.given and name not in core.groups:
        raise unknown_group(name, core.groups)
    labels, codes = np.array([code], np.uint8), np.zeros(1, np.int64)
    times, each = load_of(weight, repeats)
    core.update(np.full(1, np.nan), labels, codes, (name,), None, True, 1, True, np.array([times if each else 0]))
    return True
