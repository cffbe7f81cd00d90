"""Cells and problems for tests of the searches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import gstar_fast as gf
from gstar_fast._question.roles import Roles
from gstar_fast._solver.cells import Cells
from gstar_fast._solver.search import Problem

BY_SEGMENT = Roles((0,), (1,))


def cells_of(rows):
    """Cells with these rows of each label, group, segment and bin, (3, A, m, C)."""
    rows = np.asarray(rows, dtype=np.int64)
    n_groups, m, bins = rows.shape[1:]
    group, segment = np.indices((n_groups, m)).reshape(2, -1)
    places = tuple(range(m)), group, segment
    return Cells(tuple(range(n_groups)), np.arange(bins - 1.0), rows.reshape(3, -1, bins), places=places)


def problem_of(sketch, question, roles=BY_SEGMENT, *, monotone=False):
    """A question about thresholds by segment."""
    if monotone:
        question = replace(question, decide_by=gf.Segments(column=1))
    return Problem.of(Cells.of(sketch, roles), question)
