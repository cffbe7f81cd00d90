"""Fixtures that tests of the report share."""

import pytest
from helpers.report_reader import synthetic

import gstar_fast as gf


@pytest.fixture(scope="module")
def sketch():
    """Two groups with names, 8,000 rows."""
    return synthetic()


@pytest.fixture(scope="module")
def result(sketch):
    """The thresholds that most pages are about."""
    return gf.solve(sketch, limits={"equalized_odds": 0.02})
