"""`merge_all` is the sum of many sketches, from bytes, files or sketches; a bad one is named and nothing comes back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gstar_fast as gf
from gstar_fast import errors

pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")


@pytest.fixture
def parts(backend, table):
    """Sketches of every third row, and of all rows."""
    cut = [
        gf.Sketch.from_rows(table.scores[i::3], table.labels[i::3], table.groups[i::3], bins=64, nan="skip")
        for i in range(3)
    ]
    return cut, gf.Sketch.from_rows(table.scores, table.labels, table.groups, bins=64)


def test_it_is_the_sum(parts, tmp_path):
    cut, whole = parts
    blobs = [part.to_bytes() for part in cut]
    for i, part in enumerate(cut):
        part.save(tmp_path / f"{i}.gstar")
    kinds = [
        cut,
        blobs,
        (blob for blob in reversed(blobs)),
        map(bytearray, blobs),
        map(memoryview, blobs),
        sorted(tmp_path.iterdir()),
        map(str, tmp_path.iterdir()),
        [cut[0], blobs[1], tmp_path / "2.gstar"],
    ]
    for given in kinds:
        assert gf.merge_all(given).to_bytes() == whole.to_bytes()
    assert [part.to_bytes() for part in cut] == blobs


def test_one_is_itself(parts):
    whole = parts[1]
    for options in ({}, {"range": (0, 1)}, {"groups": ["b", "a"]}):
        one = gf.Sketch(**options)
        assert gf.merge_all([one]).to_bytes() == gf.merge_all([one.to_bytes()]).to_bytes() == one.to_bytes()
    again = gf.merge_all([whole], nan="skip", memory_limit=2**24)
    assert again.update([np.nan], [1], [0]).skipped == 1
    assert whole.skipped == 0
    assert again._core.memory_limit == 2**24


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (lambda whole: whole.to_bytes()[:-1], "not a valid sketch: "),
        (lambda _: b"", "not a valid sketch: it has 0 bytes"),
        (lambda _: gf.Sketch(bins=16).to_bytes(), "different bins: 64 and 16"),
        (lambda _: gf.Sketch(bins=16), "different bins: 64 and 16"),
        (lambda _: gf.Sketch(range=(0, 1), bins=64).to_bytes(), "different ranges"),
    ],
)
def test_a_bad_one_is_named(parts, bad, words):
    cut, whole = parts
    with pytest.raises(errors.InputValueError, match=rf"sketch 2 of those to merge \(counted from 0\): .*{words}") as e:
        gf.merge_all([cut[0], cut[1].to_bytes(), bad(whole), cut[2]])
    assert (e.value.code, e.value.row) == ("cannot_merge", 2)
    assert e.value.__cause__.code in ("not_valid", "different_bins", "different_range")


def test_what_cannot_be_merged_at_all(parts, tmp_path):
    cut, _ = parts
    for empty in ([], iter(()), ()):
        with pytest.raises(ValueError, match="there are no sketches to merge; pass at least one"):
            gf.merge_all(empty)
    with pytest.raises(TypeError, match=r"sketches must be sketches, bytes of such, or paths .* got int at position 1"):
        gf.merge_all([cut[0], 7])
    for one in (cut[0], cut[0].to_bytes(), "a.gstar", Path("a.gstar"), None, 7):
        with pytest.raises(TypeError, match=r"sketches must be a list or the like, got .*; for one pass a list of one"):
            gf.merge_all(one)
    with pytest.raises(FileNotFoundError, match=r"gone\.gstar"):
        gf.merge_all([cut[0], tmp_path / "gone.gstar"])
    with pytest.raises(MemoryError):
        gf.merge_all(cut, memory_limit=1000)
