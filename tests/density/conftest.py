"""Fixtures that tests of densities share."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def skewed():
    """Scores of two humps, one of them lopsided."""
    rng = np.random.default_rng(7)
    return np.concatenate((rng.normal(-1.0, 0.7, 6_000), rng.gamma(3.0, 0.6, 4_000)))
