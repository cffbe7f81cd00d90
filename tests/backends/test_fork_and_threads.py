"""Many threads, a fork in between, an array that changes while it is read: nothing is lost, torn or crashed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import gstar_fast as gf
from gstar_fast import _backends


def run_all(*jobs):
    errors = []

    def guarded(job):
        try:
            job()
        except BaseException as error:  # a thread's error must reach the test
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def rows(seed, n):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n) * (1 + seed), rng.integers(0, 2, n).astype(np.uint8), rng.integers(0, 3 + seed, n)


def test_eight_threads_with_merges_and_readers_lose_nothing(backend):
    n, repeats = (1000, 2) if backend == "numpy" else (40_000, 5)
    total = gf.Sketch()
    done = threading.Event()
    parts = [rows(seed, n) for seed in range(8)]

    def count(part):
        for i in range(repeats):
            if i % 2:
                nonlocal_total = gf.Sketch.from_rows(*part)
                total.merge(nonlocal_total)
            else:
                total.update(*part, threads=1 + i % 3)
            total.update_one(0.5, 1, 0)

    def read():
        while not done.is_set():
            counts, copy = total.counts, total.copy()
            assert counts.sum() <= total.n_rows
            assert gf.Sketch.from_bytes(copy.to_bytes()) == copy
            assert copy.counts.sum() == copy.n_rows, "a copy is never torn"

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        run_all(*(lambda part=part: count(part) for part in parts))
    finally:
        done.set()
        for reader in readers:
            reader.join()
    expected = gf.Sketch()
    for part in parts:
        one = gf.Sketch.from_rows(*part)
        for _ in range(repeats):
            expected += one
            expected.update_one(0.5, 1, 0)
    assert total == expected
    assert total.n_rows == 8 * repeats * (n + 1)


def test_merging_each_into_the_other_does_not_deadlock(backend):
    a, b = gf.Sketch.from_rows([0.5], [1], ["a"]), gf.Sketch.from_rows([0.25], [0], ["b"])

    def merge(one, other):
        for _ in range(10):
            one.merge(gf.Sketch())
            (one + other).to_bytes()
            one == other  # noqa: B015

    run_all(*[lambda: merge(a, b), lambda: merge(b, a)] * 2)
    assert (a.n_rows, b.n_rows) == (1, 1)


@pytest.mark.skipif(not _backends.has_native(), reason="the compiled core is missing")
def test_reading_while_another_thread_copies_does_not_deadlock():
    """No lock is kept while the GIL is let go; a process of its own, because a deadlock would never end."""
    code = """
import faulthandler, sys, threading
import numpy as np
import gstar_fast as gf
rng = np.random.default_rng(0)
n = 20_000
sketch = gf.Sketch.from_rows(rng.normal(size=n), rng.integers(0, 2, n), rng.integers(0, 3, n), bins=4096)
core = sketch._core
def repeat(job):
    for _ in range(5_000):
        job()
faulthandler.dump_traceback_later(100, exit=True)
sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=repeat, args=(job,)) for job in (core.pooled, core.copy) * 2]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200, check=False)
    assert outcome.returncode == 0, outcome.stderr


def test_counting_lets_other_threads_run(fast_backend):
    """While one thread counts a large batch, another must get its turn in Python."""
    n = 3_000_000
    x, y, g = np.linspace(-1, 1, n), np.zeros(n, np.uint8), np.zeros(n, np.uint8)
    gf.Sketch.from_rows(x[:70_000], y[:70_000], g[:70_000])  # compiled before the race
    turns, counting = [0], threading.Event()
    finished = threading.Event()

    def tick():
        counting.wait()
        while not finished.is_set():
            turns[0] += 1
            time.sleep(1e-4)

    other = threading.Thread(target=tick)
    other.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # the GIL changes hands only where somebody lets it go
    try:
        sketch = gf.Sketch()
        counting.set()
        sketch.update(x, y, g)
        during = turns[0]
    finally:
        finished.set()
        sys.setswitchinterval(interval)
        other.join()
    assert sketch.n_rows == n
    assert during > 0


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")  # 1e30 among zeros earns one
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_array_that_changes_while_it_is_read_spoils_nothing_else(fast_backend, dtype):
    n = 400_000
    x, y, g = np.zeros(n, dtype), np.zeros(n, np.uint8), np.zeros(n, np.int64)
    stop = threading.Event()

    def scribble():
        rng = np.random.default_rng(0)
        while not stop.is_set():
            at = rng.integers(0, n, 2000)
            x[at] = rng.choice([0.0, 1.0, -3.0, np.nan, 1e30, np.inf], 2000)
            y[at] = rng.integers(0, 4, 2000)
            g[at] = rng.choice([0, 1, 2, -1, 2**62, 5000], 2000)
            x[at], y[at], g[at] = 0.5, 1, 1

    vandal = threading.Thread(target=scribble)
    vandal.start()
    try:
        for threads in (1, 2):
            for _ in range(6):
                sketch = gf.Sketch(bins=16)
                try:
                    sketch.update(x, y, g, nan="skip", threads=threads)
                except ValueError:
                    assert sketch.n_rows == 0
                assert sketch.n_rows + sketch.skipped in (0, n)
                assert gf.Sketch.from_bytes(sketch.to_bytes()) == sketch
    finally:
        stop.set()
        vandal.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_in_the_middle_of_counting_leaves_both_sides_whole(backend):
    """The child may count and read at once, whatever the other threads of its parent were doing."""
    code = f"""
import os, signal, sys, threading, warnings
import numpy as np
import gstar_fast as gf
warnings.simplefilter("ignore")
gf.use_backend({backend!r})
n = 2000 if {backend!r} == "numpy" else 50_000
rng = np.random.default_rng(0)
x, y, g = rng.normal(size=n), rng.integers(0, 2, n), rng.integers(0, 3, n)
sketch = gf.Sketch.from_rows(x, y, g)
stop = threading.Event()
def count():
    while not stop.is_set():
        sketch.update(x, y, g)
workers = [threading.Thread(target=count) for _ in range(2)]
for worker in workers:
    worker.start()
failed = 0
for _ in range(10):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            copy = gf.Sketch.from_bytes(sketch.to_bytes())
            assert copy.n_rows % n == 0
            sketch.update(x, y, g)
            assert (sketch.n_rows - copy.n_rows) == n
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(1)
    failed += os.waitpid(child, 0)[1] != 0
stop.set()
for worker in workers:
    worker.join()
sys.exit(failed)
"""
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False)
    assert outcome.returncode == 0, outcome.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the stack of threads is set as on Linux")
def test_rows_are_counted_where_no_thread_can_be_started():
    """glibc gives threads a stack as large as the limit, and this one is larger than all memory."""
    code = (
        "import numpy as np, gstar_fast as gf; n = 300_000; s = gf.Sketch();"
        "s.update(np.linspace(0, 1, n), np.zeros(n, np.uint8), np.zeros(n, np.uint8), threads=3); print(s.n_rows)"
    )
    command = f"ulimit -s {2**45} || exit 77; exec {sys.executable} -W ignore -c '{code}'"
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        check=False,
    )
    if done.returncode == 77:
        pytest.skip("no such limit can be set here")
    assert done.stdout == "300000\n", done.stderr
