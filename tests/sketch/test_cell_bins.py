"""What a cell says of the rows of its bins."""

from __future__ import annotations

import numpy as np

import gstar_fast as gf


def test_rows_of_a_bin_lie_below_its_upper_edge(backend):
    """A bin holds its lower edge and not its upper one, which belongs to the next bin."""
    scores = np.linspace(0, 4, 65)
    sketch = gf.Sketch.from_rows(scores, np.ones(65, dtype=int), np.zeros(65, dtype=int), bins=16, range=(0, 8))
    cell = sketch._cell(1, 0)
    used = cell.used
    assert (used.upper < cell.edges[used.places + 1]).all()
    assert used.upper[0] == np.nextafter(0.5, 0)
    assert used.upper[-1] == 4.0
