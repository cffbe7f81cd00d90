"""Fixtures of the tests of columns."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.small_rows import GROUPS, LABELS, SCORES

import gstar_fast as gf


@pytest.fixture
def expected(backend: str) -> gf.Sketch:
    """The four rows of `helpers.small_rows`, counted."""
    return gf.Sketch.from_rows(np.array(SCORES), np.array(LABELS), np.array(GROUPS))
