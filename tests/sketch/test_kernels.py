"""Every counting kernel gives the same bytes, for any scores, columns and bins, also while the arrays change."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import gstar_fast as gf
from gstar_fast import _backends

pytestmark = pytest.mark.skipif(not _backends.has_native(), reason="the extension is not built")

KERNELS = ("generic", "four", "avx2", "avx512")


@pytest.fixture
def each_kernel():
    """A function that calls another one on each kernel that this CPU has, and returns the answers by kernel."""
    from gstar_fast import _core

    before = _core.kernel()

    def answers(call):
        found = {}
        for kernel in KERNELS[: KERNELS.index(before) + 1]:
            _core.use_kernel(kernel)
            found[kernel] = call()
        return found

    with gf.use_backend("native"):
        yield answers
    _core.use_kernel(before)


def any_scores(random, n, dtype):
    """Scores of one kind: smooth, tied, saturated, zeros, many octaves, bit patterns, halves between two float32 ..."""
    x = random.normal(size=n)
    zeros = np.where(random.random(n) < 0.5, random.choice([0.0, -0.0], n), x)
    kinds = [
        x,
        np.abs(x),
        -np.abs(x),
        np.round(4 * x) / 4,
        np.where(random.random(n) < 0.5, 0.999, random.random(n)),
        zeros,
        np.abs(zeros),
        np.ldexp(x, random.integers(-45, 45, n)),
        x * 1e-41,
        np.ldexp(1 + random.integers(0, 5, n) * 2.0**-24 + 2.0**-25, random.integers(0, 6, n)),
        np.nextafter(np.round(64 * x) / 64, 9 * random.choice([-1.0, 1.0], n)),
    ]
    scores = kinds[random.integers(len(kinds))].astype(dtype)
    if random.random() < 0.2:
        bits = random.integers(0, 256, (n, np.dtype(dtype).itemsize), dtype=np.uint8).view(dtype)[:, 0]
        scores = np.where(np.abs(bits) < 2.0**100, bits, scores)
    if random.random() < 0.2:
        scores[random.integers(0, n, 3)] = np.nan
    return scores


@pytest.mark.parametrize("seed", range(60))
def test_all_kernels_give_the_same_bytes(each_kernel, seed):
    random = np.random.default_rng(seed)
    n = int(random.choice([1, 63, 64, 200, 1100, 9000]))
    n_groups = int(random.choice([1, 2, 4, 5, 8, 9, 15, 16, 17, 32, 40, 130, 300]))
    scores = any_scores(random, n, random.choice([np.float32, np.float64]))
    groups = random.integers(0, n_groups, n)
    if random.random() < 0.5:
        groups = np.minimum(groups, np.arange(n) * n_groups // n)  # groups arrive one after the other
    groups = groups.astype(random.choice([np.uint8, np.int16, np.int32, np.int64] if n_groups < 256 else [np.uint16]))
    labels = random.integers(0, 2, n).astype(random.choice([np.uint8, bool, np.int32, np.int64]))
    bins = int(random.choice([16, 128, 4096]))
    window = {"range": (-2.0, 2.0)} if random.random() < 0.2 else {}
    parts = np.sort(random.integers(0, n + 1, int(random.integers(3))))
    step = -1 if random.random() < 0.1 else 1

    def count():
        sketch = gf.Sketch(bins=bins, nan="skip", **window)
        for part in np.split(np.arange(n), parts):
            rows = slice(part[0], part[-1] + 1) if len(part) else slice(0)
            columns = [column[rows][::step] for column in (scores, labels, groups)]
            sketch.update(*columns, threads=1 + seed % 2)
        return sketch.to_bytes()

    assert len(set(each_kernel(count).values())) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("integer", [np.uint8, np.int32])
def test_arrays_that_change_during_a_count_are_read_once(each_kernel, dtype, integer):
    """What was checked is what is counted: a row has a score, a label and a group that stood in its place."""
    n = 200_000
    choices = np.array([-3.25, 0.0, 0.3, 0.8125], dtype)
    random = np.random.default_rng(0)
    scores = random.choice(choices, n)
    labels, groups = (random.integers(0, most, n).astype(integer) for most in (2, 3))
    expected = gf.Sketch.from_rows(choices, [0, 0, 0, 0], [0, 1, 2, 0])

    def count():
        done = threading.Event()

        def change():
            k = 0
            while not done.is_set():
                # a sum is stored number by number; a copy may be stored byte by byte, and half of it be read
                np.add(np.roll(choices, k := k + 1).repeat(n // 4), dtype(0), out=scores)
                labels[:], groups[:] = k % 2, k % 3

        sketch = gf.Sketch.from_rows(choices, [0, 0, 0, 0], [0, 1, 2, 0])
        writer = threading.Thread(target=change)
        writer.start()
        try:
            for _ in range(5):
                sketch.update(scores, labels, groups)
        finally:
            done.set()
            writer.join()
        return sketch

    for kernel, sketch in each_kernel(count).items():
        assert sketch.counts.sum() == 5 * n + 4, kernel
        assert np.array_equal(sketch.edges, expected.edges), kernel
        assert np.array_equal(sketch.counts.sum(axis=(0, 1)) > 0, expected.counts.sum(axis=(0, 1)) > 0), kernel
        wanted = set(expected.means[expected.counts > 0])
        assert set(sketch.means[sketch.counts > 0]) == wanted, kernel
