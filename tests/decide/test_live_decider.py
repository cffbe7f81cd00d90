"""Thresholds are swapped while others decide: no batch is torn, mixed or stale, and old sets are freed."""

import gc
import os
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import gstar_fast as gf


def at(threshold, n_groups=8):
    """All groups at one threshold, so that a batch decided by two sets would show."""
    return gf.Decider(dict.fromkeys(range(n_groups), threshold))


class Solved:
    """What a result looks like to a live decider."""

    def __init__(self, threshold):
        self.threshold = threshold

    def decider(self, *, unknown="raise", nan="raise"):
        return gf.Decider({0: self.threshold}, unknown=unknown, nan=nan)


def test_a_swap_changes_the_answers_and_the_version(backend):
    live = gf.LiveDecider(at(0.25))
    assert live.version == 1
    assert live([0.5], [0]).tolist() == [True]
    assert live.swap(at(0.75)) == live.version == 2
    assert live([0.5], [0]).tolist() == [False]
    assert live.one(0.5, 0) is False
    answers, version = live([0.5, 0.8], [0, 1], with_version=True)
    assert (answers.tolist(), version) == ([False, True], 2)
    assert live.one_with_version(0.8, 1) == (True, 2)
    assert live.margin([1.0], [0]).tolist() == [0.25]
    assert live.decider == at(0.75)
    assert repr(live).startswith("LiveDecider(version 2: Decider(8 groups: 0, 1")


def test_results_take_the_policies_of_the_live_decider(backend):
    live = gf.LiveDecider(Solved(0.25), unknown=0.5, nan=True)
    assert live([0.3, 0.3, np.nan], [0, 1, 0]).tolist() == [True, False, True]
    live.swap(Solved(0.5))
    assert live([0.3, 0.6, np.nan], [0, 1, 0]).tolist() == [False, True, True]


def test_what_is_no_decider_is_refused_and_changes_nothing(backend):
    live = gf.LiveDecider(at(0.25))
    for wrong in (None, {"a": 0.5}, 0.5):
        with pytest.raises(TypeError, match="a result or a decider is needed, got"):
            live.swap(wrong)
    with pytest.raises(ValueError, match="is NaN"):
        live.swap(Solved(np.nan))
    assert live.version == 1
    assert live.decider == at(0.25)


def test_a_decider_of_another_backend_is_taken_over(backend):
    live = gf.LiveDecider(at(0.25))
    with gf.use_backend("numpy"):
        other = at(0.5)
    live.swap(other)
    assert live.decider.backend == backend
    assert live.decider == other


def test_everything_a_decider_takes(backend):
    live = gf.LiveDecider(gf.Decider({"F": 0.25, "M": 0.75}))
    out = np.empty(2, bool)
    assert live([0.5, 0.5], [0, 1], codes=True, out=out) is out
    assert out.tolist() == [True, False]
    with pytest.raises(ValueError, match="group 'X' at row 0 has no threshold"):
        live([0.5], ["X"])
    with pytest.raises(TypeError, match="belongs to one process"):
        live.__reduce__()


@pytest.mark.slow
def test_old_sets_are_freed(backend):
    live = gf.LiveDecider(at(0.0))
    gone = []
    for threshold in range(50):
        decider = at(float(threshold))
        gone.append(weakref.ref(decider))
        live.swap(decider)
    del decider
    gc.collect()
    assert [ref() is None for ref in gone] == [True] * 49 + [False]


def test_swaps_under_load_never_tear_a_batch(backend):
    """Eight readers. Each version has a threshold of its own, so a batch says by itself which set decided it.

    GSTAR_FAST_DECISIONS sets the number of decisions (1e8 in the long run).
    """
    decisions = int(float(os.environ.get("GSTAR_FAST_DECISIONS", "2e7" if backend == "native" else "4e5")))
    batch = 4096
    scores, groups = np.arange(batch, dtype=np.float32), (np.arange(batch) % 8).astype(np.uint8)
    live = gf.LiveDecider(at(1.0))
    rounds = max(1, decisions // (8 * 2 * batch))
    wrong: list[str] = []
    done = threading.Event()

    def read():
        last = 0
        for _ in range(rounds):
            before = live.version
            answers, version = live(scores, groups, with_version=True)
            if not last <= before <= version:
                wrong.append(f"stale: version {version} after {before} and {last}")
            if not np.array_equal(answers, scores >= version % batch):
                wrong.append(f"torn or mixed: version {version}")
            plain = live(scores, groups)
            last = live.version
            first = batch - int(plain.sum())
            if plain[:first].any() or first not in {v % batch for v in range(version, last + 1)}:
                wrong.append(f"torn, mixed or stale: threshold {first} between versions {version} and {last}")

    def swap():
        version = 1
        while not done.is_set():
            version += 1
            assert live.swap(at(float(version % batch))) == version
            time.sleep(0.001)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        swapper = threading.Thread(target=swap)
        readers = [threading.Thread(target=read) for _ in range(8)]
        for thread in (swapper, *readers):
            thread.start()
        for thread in readers:
            thread.join()
        done.set()
        swapper.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []
    assert live.version > 1
