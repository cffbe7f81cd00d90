"""Solving stays within the memory_limit of the sketch, or raises an error."""

import tracemalloc

import numpy as np
import pytest

import gstar_fast as gf
from gstar_fast._solver.cells import SOLVING_BYTES

LIMITS = {"equalized_odds": 0.9}
N_GROUPS, BINS = 20, 4096
OPTIONS = [{}, {"unified": True}, {"randomize": True}, {"confidence": 0.9}]

pytestmark = pytest.mark.filterwarnings("ignore")


def counted(memory_limit, rows=200_000):
    rng = np.random.default_rng(0)
    scores, groups = rng.random(rows), rng.integers(0, N_GROUPS, rows)
    labels = (scores + rng.normal(0, 0.2, rows) > 0.5).astype(int)
    return gf.Sketch.from_rows(scores, labels, groups, bins=BINS, memory_limit=int(memory_limit))


def rows_of_every_bin(memory_limit):
    """As `counted`, with rows of both labels in every bin: what takes most."""
    scores = np.tile(np.repeat((np.arange(BINS) + 0.25) / BINS, 2), N_GROUPS)
    scores = np.concatenate([scores, scores + 0.5 / BINS])  # two different scores a bin
    labels = np.tile([0, 1], BINS * N_GROUPS * 2)
    groups = np.tile(np.repeat(np.arange(N_GROUPS), 2 * BINS), 2)
    return gf.Sketch.from_rows(scores, labels, groups, bins=BINS, memory_limit=int(memory_limit))


def need_of(backend, options):
    return SOLVING_BYTES[backend]["unified" in options or "confidence" in options] * N_GROUPS * BINS


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("make", [counted, rows_of_every_bin])
def test_solving_takes_no_more_than_the_figure_that_is_checked(backend, make, options):
    sketch = make(2**30)
    gf.solve(sketch, limits=LIMITS, **options)  # imports and compiled loops are not counted below
    tracemalloc.start()
    try:
        gf.solve(sketch, limits=LIMITS, **options)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= need_of(backend, options) + 2**20


@pytest.mark.parametrize("options", OPTIONS)
def test_a_limit_too_small_for_solving_is_an_error(backend, options):
    need = need_of(backend, options)
    to_count = N_GROUPS * (BINS * 64 + 4096)
    if need > to_count:
        with pytest.raises(gf.errors.InputMemoryError, match=r"solving for 20 groups of 4096 bins needs"):
            gf.solve(counted(need - 1), limits=LIMITS, **options)
    assert gf.solve(counted(max(need, to_count)), limits=LIMITS, **options).thresholds


@pytest.mark.slow
def test_a_small_file_that_would_take_gigabytes_is_rejected():
    """65,536 bins of 250 groups: a few kilobytes of bytes."""
    data = gf.Sketch.from_rows(np.arange(250) / 250, np.arange(250) % 2, np.arange(250), bins=65536).to_bytes()
    with gf.use_backend("numpy"), pytest.raises(MemoryError, match=r"250 groups of 65536 bins needs about 3\.2 GiB"):
        gf.solve(gf.Sketch.from_bytes(data), limits=LIMITS)
