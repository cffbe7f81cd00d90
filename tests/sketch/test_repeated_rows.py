"""Equal digests give a warning that rows count twice; a digest is remembered until rows are added."""

from __future__ import annotations

import hashlib
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import gstar_fast as gf
from gstar_fast._sketch.columns import Columns

OLD = Path(__file__).parent.parent / "old_sketches"


def sketch_of(seed, n=60, weights=False, **options):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    given = {"weights": rng.uniform(0.2, 3.0, n)} if weights else {}
    sketch = gf.Sketch(bins=64, **options)
    return sketch.update(rng.normal(label, 1.0), label, rng.choice(["a", "b"], n), **given)


def again(sketch):
    """An equal sketch that knows no digest."""
    return gf.Sketch.from_bytes(sketch.to_bytes())


@pytest.fixture
def silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# -------------------------------------------------------------------------------------------------------------- merging


@pytest.mark.parametrize("weights", [False, True])
def test_merge_all_warns_of_equal_parts_however_they_are_given(backend, tmp_path, weights):
    one, two = sketch_of(1, weights=weights), sketch_of(2, weights=weights)
    renamed = again(one)._remember(Columns("p", "y", ("sex",)), None)  # the digest does not cover names of columns
    one.save(tmp_path / "one.gstar")
    for first in (one, one.to_bytes(), renamed, renamed.to_bytes(), tmp_path / "one.gstar"):
        for second in (again(one), bytearray(one.to_bytes()), renamed, renamed.to_bytes()):
            with pytest.warns(gf.errors.RepeatedRowsWarning) as told:
                assert gf.merge_all([first, two, second]) == one + two + one
            assert [str(w.message).split(" have")[0].split("/")[-1] for w in told] == [
                f"{'one.gstar' if isinstance(first, Path) else 'sketch 0'} and sketch 2"
            ]
            assert told[0].filename == __file__


def test_one_warning_tells_of_many_pairs(backend):
    blob = sketch_of(1).to_bytes()
    with pytest.warns(gf.errors.RepeatedRowsWarning, match=r"sketch 0 and sketch 1 \(and 2 more pairs\) have") as w:
        gf.merge_all([blob] * 4)
    assert len(w) == 1


def test_parts_without_rows_and_different_ones_are_silent(backend, silent):
    empty = gf.Sketch(bins=64)
    skipped = gf.Sketch(bins=64).update([np.nan], [1], ["a"], nan="skip")
    parts = [sketch_of(1), empty, empty.copy(), sketch_of(2), skipped, skipped.copy()]
    assert gf.merge_all(parts) == gf.merge_all(part.to_bytes() for part in parts)
    unequal = again(parts[0])._remember(Columns(), "yes")
    gf.merge_all([parts[0], unequal.to_bytes()])  # the positive label is part of the digest


def test_files_are_compared_with_sketches(backend):
    path = OLD / "version_1.gstar"
    for second in (path, gf.Sketch.load(path)):
        with pytest.warns(gf.errors.RepeatedRowsWarning, match=rf"{path.name} and "):
            gf.merge_all([path, second])


def test_sums_warn_only_where_both_digests_are_known(backend):
    one, two, other = sketch_of(1), sketch_of(1), sketch_of(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one + two
        one.digest()
        one + two
        other.digest()
        one + other
    two.digest()
    for add in (lambda a: a + two, lambda a: a.__iadd__(two), lambda a: a.merge(two)):
        with pytest.warns(gf.errors.RepeatedRowsWarning, match="both sketches have the same digest") as told:
            assert add(one.copy()).n_rows == 120
        assert told[0].filename == __file__
    two.update_one(0.5, 1, "a")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one + two
        gf.Sketch().merge(gf.Sketch())


def test_sketches_without_rows_are_silent_in_sums(backend, silent):
    one, two = gf.Sketch(), gf.Sketch()
    assert one.digest() == two.digest()
    one + two


# --------------------------------------------------------------------------------------------------------------- memory


def refused(sketch):
    with pytest.raises(ValueError, match="NaN"):
        sketch.update([np.nan], [1], ["a"])


def mutations():
    blank = {"weights": [1.5, 0.25]}
    rows = [0.1, 0.9], [0, 1], ["a", "b"]
    return {
        "rows": lambda s: s.update(*rows),
        "one row": lambda s: s.update_one(0.3, 0, "a"),
        "an unlabelled row": lambda s: s.update_one(0.3, None, "a"),
        "a new group": lambda s: s.update_one(0.3, 1, "c"),
        "weights": lambda s: s.update(*rows, **blank),
        "weights again": lambda s: s.update(*rows, **blank),
        "tiny weights": lambda s: s.update(*rows, weights=[2.0**-20, 2.0**-20]),
        "no weights": lambda s: s.update(*rows, weights=[0, 0]),
        "missing scores": lambda s: s.update([np.nan], [1], ["a"], nan="skip"),
        "infinite scores": lambda s: s.update([np.inf, -np.inf], [1, 0], ["a", "b"]),
        "a merge": lambda s: s.merge(sketch_of(5)),
        "a merge of nothing": lambda s: s.merge(gf.Sketch(bins=64)),
        "a merge of bytes": lambda s: s._core.merge_bytes(sketch_of(6).to_bytes()),
        "given groups": lambda s: s.merge(gf.Sketch(bins=64, groups=["b", "a", "c", "d"])),
        "a positive label": lambda s: s._remember(Columns(), "yes"),
        "another positive label": lambda s: s._remember(Columns(), "no"),
        "columns": lambda s: s._remember(Columns("p"), "no"),
        "a refused row": refused,
    }


@pytest.mark.parametrize("empty", [False, True])
def test_a_remembered_digest_is_that_of_the_rows(backend, empty):
    sketch = gf.Sketch(bins=64) if empty else sketch_of(1)
    for what, mutate in mutations().items():
        assert sketch.digest() == again(sketch).digest(), f"before {what}"
        mutate(sketch)
        expected = hashlib.sha256(sketch._core.row_bytes()).hexdigest()
        assert sketch.digest() == sketch.digest() == expected == again(sketch).digest(), what


def test_empty_sketches_that_take_options_forget_their_digest(backend):
    for other in (gf.Sketch(range=(0, 1)), gf.Sketch(bins=16), gf.Sketch(groups=["x"]), gf.Sketch(range=(0, 2))):
        sketch = gf.Sketch()
        before = sketch.digest()
        sketch.merge(other)
        assert sketch.digest() == other.digest() != before


def test_a_digest_is_computed_once(backend, monkeypatch):
    sketch, calls = sketch_of(1), []
    plain = hashlib.sha256
    monkeypatch.setattr(hashlib, "sha256", lambda data: calls.append(1) or plain(data))
    digest = sketch.digest()
    assert [sketch.digest(), sketch.copy().digest(), sketch.digest()] == [digest] * 3
    assert len(calls) == 1
    copy = sketch.copy()
    copy.update_one(0.5, 1, "a")
    assert copy.digest() != digest == sketch.digest()
    assert sketch.pooled(1).digest() == digest
    sketch.update_one(0.25, 1, "a")  # as many rows as the copy, and others
    assert sketch.digest() not in (digest, copy.digest())


def test_rows_that_come_while_a_digest_is_computed_leave_no_stale_one(backend):
    sketch, found = sketch_of(1), []
    stop = threading.Event()

    def read():
        while not stop.is_set():
            found.append(sketch.digest())

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    states = {again(sketch).digest()}
    for i in range(150):
        if i % 3:
            sketch.update_one(i / 150, i % 2, "a")
        else:
            sketch.update([i / 150] * 5, [1] * 5, ["b"] * 5)
        states.add(again(sketch).digest())
        assert sketch.digest() in states
    stop.set()
    for reader in readers:
        reader.join()
    assert set(found) <= states
    assert sketch.digest() == again(sketch).digest()
