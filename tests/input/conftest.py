"""Fixtures of the tests of columns."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.small_rows import GROUPS, LABELS, SCORES

import gstar_fast as gf
from gstar_fast import _backends
from gstar_fast._input import arrow, columns, distinct, group_columns


@pytest.fixture
def expected(backend: str) -> gf.Sketch:
    """The four rows of `helpers.small_rows`, counted."""
    return gf.Sketch.from_rows(np.array(SCORES), np.array(LABELS), np.array(GROUPS))


WAYS = ["numpy", "native"] if _backends.has_native() else ["numpy"]


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """Run the test with the compiled table of texts, and with the one in NumPy."""
    if request.param == "native":
        from gstar_fast import _core as source
    else:
        source = distinct
    for module in (group_columns, columns, arrow):
        for name in {"Texts", "number_strings"} & vars(module).keys():
            monkeypatch.setattr(module, name, getattr(source, name))
    return source
