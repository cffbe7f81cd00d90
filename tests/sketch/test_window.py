"""A window is the sketch of the rows that are left."""

from __future__ import annotations

import copy
import pickle
import struct
import threading
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from helpers.strategies import tables
from hypothesis import given
from hypothesis import strategies as st

import gstar_fast as gf

OLD = Path(__file__).parent.parent / "old_sketches"

pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")


@given(pieces=st.lists(tables(max_rows=6), min_size=1, max_size=6), panes=st.integers(1, 4))
def test_a_window_equals_a_sketch_of_its_last_panes(backend, pieces, panes):
    pieces = [piece for piece in pieces if not any(isinstance(name, bool) for name in piece.groups)]
    window = gf.Window(panes=panes, bins=32)
    for i, piece in enumerate(pieces):
        if i:
            window.advance()
        piece.into(window)
        left = gf.Sketch(bins=32)
        for kept in pieces[max(0, i + 1 - panes) : i + 1]:
            kept.into(left)
        assert window.sketch == left
        assert len(window) == min(i + 1, panes)


def test_forgetting_a_wild_score_gives_the_resolution_back(backend):
    window = gf.Window(panes=2)
    usual = np.random.default_rng(0).normal(size=1000)
    window.update(np.append(usual, 1e300), None, [0] * 1001)
    window.advance().update(usual, None, [0] * 1000)
    assert window.sketch.resolution < 64
    window.advance()
    assert window.sketch.resolution > 300


def test_rows_counted_after_a_look_are_seen(backend):
    window = gf.Window(panes=3)
    window.update_one(0.5, 1, "a")
    assert window.sketch.n_rows == 1
    window.update([0.25], [0], ["b"])
    assert window.sketch.n_rows == 2
    assert repr(window).startswith("Window(1 of 3 panes; Sketch(2 rows")


def test_options_go_to_every_pane(backend):
    window = gf.Window(panes=2, groups=["b", "a"], range=(0, 1), bins=16)
    window.advance()
    assert window.sketch.groups == ("b", "a")
    assert window.sketch.edges[-1] == 1.0
    with pytest.raises(ValueError, match="panes must be at least 1, got 0"):
        gf.Window(panes=0)
    with pytest.raises(ValueError, match="panes must be at most 2147483647, got 9"):
        gf.Window(panes=2**63)
    with pytest.raises(TypeError, match="panes must be an int, got float"):
        gf.Window(panes=1.5)
    with pytest.raises(ValueError, match="bins must be a power of two"):
        gf.Window(bins=3)


# ------------------------------------------------------------------------------------------------------------- threads


class Slow:
    """An array that does something else while it is being converted, as a slow reader would give time for."""

    def __init__(self, values, meanwhile):
        self.values, self.meanwhile = values, meanwhile

    def __array__(self, dtype=None, copy=None):
        self.meanwhile()
        return np.asarray(self.values, dtype)


def advance_and_look(window):
    window.advance()
    return window.sketch.n_rows  # the sum of the older panes is kept from here on


def is_the_sum_of_its_panes(window):
    return window.sketch == gf.Window.from_bytes(window.to_bytes()).sketch


def test_rows_of_an_update_that_runs_on_after_advance_are_seen(backend):
    window = gf.Window(panes=3)
    begun, go_on = threading.Event(), threading.Event()

    def wait():
        begun.set()
        assert go_on.wait(60)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(window.update, Slow([0.25, 0.5], wait), None, [0, 1])
        assert begun.wait(60)
        assert advance_and_look(window) == 0
        window.update_one(0.75, 1, 1)
        assert window.sketch.n_rows == 1
        go_on.set()
        running.result()
    assert window.sketch.n_rows == 3
    assert is_the_sum_of_its_panes(window)
    window.advance()
    assert window.sketch.n_rows == 3
    assert window.advance().sketch.n_rows == 1, "rows stay in the pane in which their update began"


def test_a_row_counted_while_its_pane_is_closed_is_seen(backend, monkeypatch):
    window = gf.Window(panes=3)
    pane = window._panes[-1]
    count = pane.update_one
    monkeypatch.setattr(pane, "update_one", lambda *row, **load: (advance_and_look(window), count(*row, **load)))
    window.update_one(0.5, 1, "a")
    assert window.sketch.n_rows == 1
    assert is_the_sum_of_its_panes(window)


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.SentinelWarning")
def test_rows_counted_with_a_warning_that_is_an_error_are_seen(backend):
    window = gf.Window(panes=3)
    scores = [*np.linspace(0, 1, 981), *[-999.0] * 20]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(gf.errors.SentinelWarning):
            window.update(Slow(scores, lambda: advance_and_look(window)), None, [0] * 1001)
    assert window.sketch.n_rows == 1001


def test_a_refused_update_that_ran_on_leaves_nothing(backend):
    window = gf.Window(panes=3)
    with pytest.raises(ValueError, match="NaN"):
        window.update(Slow([0.5, float("nan")], lambda: advance_and_look(window)), None, [0, 0])
    assert window.sketch == gf.Sketch()


def test_panes_that_cannot_be_merged_are_refused_every_time(backend):
    """What the first panes make together is not taken for the sum of all of them."""
    window = gf.Window(panes=4)
    window.update([0.5], [1], [True]).advance().update([0.5], [1], [1]).advance()
    for _ in range(2):
        with pytest.raises(ValueError, match="groups has both True and 1"):
            window.sketch  # noqa: B018
    window.advance().advance()
    assert window.sketch.n_rows == 1, "after the first pane is forgotten there is a sum again"


def test_a_window_that_advances_during_large_updates_loses_no_row(backend):
    n = 3_000 if backend == "numpy" else 300_000
    rng = np.random.default_rng(8)
    batch = rng.normal(size=n), rng.integers(0, 2, n), rng.integers(0, 3, n)
    window = gf.Window(panes=10_000, bins=16)
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(window.update, *batch) for _ in range(6)]
        while not all(update.done() for update in running):
            advance_and_look(window)
        for update in running:
            update.result()
    expected = gf.Sketch.from_rows(*batch, bins=16)
    assert window.sketch == sum([expected] * 6)
    assert is_the_sum_of_its_panes(window)


# --------------------------------------------------------------------------------------------------------------- bytes


OPTIONS = [
    {"bins": 32},
    {"bins": 16, "range": (-4, 4)},
    {"bins": 16, "groups": ["b", "a"]},
    {},
]


WAYS_BACK = {
    "bytes": lambda window: gf.Window.from_bytes(window.to_bytes()),
    "pickle": lambda window: pickle.loads(pickle.dumps(window)),
}


def filled(pieces, panes, options):
    """A window that has advanced between the pieces."""
    window = gf.Window(panes=panes, **options)
    for i, piece in enumerate(pieces):
        if i:
            window.advance()
        fill(window, piece)
    return window


def fill(window, piece):
    """Count a table, its groups renamed to those that options give."""
    groups = ["ab"[i % 2] for i in range(len(piece.groups))]
    piece._replace(groups=groups).into(window)


@pytest.mark.slow
@given(
    pieces=st.lists(tables(max_rows=5), max_size=4),
    after=st.lists(tables(max_rows=5), min_size=1, max_size=4),
    panes=st.integers(1, 4),
    options=st.sampled_from(OPTIONS),
    back=st.sampled_from(sorted(WAYS_BACK)),
)
def test_a_window_read_back_is_the_same_and_goes_on_the_same(backend, pieces, after, panes, options, back):
    window = filled(pieces, panes, options)
    again = WAYS_BACK[back](window)
    assert again.to_bytes() == window.to_bytes()
    assert (len(again), again.panes, again.sketch) == (len(window), window.panes, window.sketch)
    for piece in after:
        for one in (window, again):
            fill(one, piece)
            one.advance()
        assert again.to_bytes() == window.to_bytes()
        assert again.sketch == window.sketch


def small(**options):
    """A window with a full pane, an empty one and a weighted one."""
    window = gf.Window(panes=3, bins=16, **options)
    window.update([0.25, -0.5, np.inf], [0, 1, None], ["F", "M", "F"]).advance().advance()
    return window.update([0.75], [1], ["M"], weights=[0.5])


def test_a_window_counts_weights_and_repeats(backend):
    window = gf.Window(panes=2, bins=16).update([0.25, 0.5], [0, 1], ["F", "M"], weights=[2, 1], repeats=[3, 1])
    window.update_one(0.75, 1, "F", weight=0.5, repeats=2)
    rows = [0.25] * 3 + [0.5] + [0.75] * 2, [0] * 3 + [1] * 3, ["F"] * 3 + ["M"] + ["F"] * 2
    assert window.sketch == gf.Sketch(bins=16).update(*rows, weights=[2, 2, 2, 1, 0.5, 0.5])
    assert (window.sketch.n_rows, window.sketch.weight) == (6, 8.0)


def test_the_first_version_of_a_window_is_read_for_ever(backend):
    data = (OLD / "window_version_1.gwindow").read_bytes()
    assert small().to_bytes() == data, "the same rows still give the same bytes"
    assert gf.Window.from_bytes(data).to_bytes() == data


def test_save_and_load(backend, tmp_path):
    path = tmp_path / "hours.gwindow"
    small().save(path)
    window = gf.Window.load(path)
    window.advance().save(path)
    assert gf.Window.load(str(path)).to_bytes() == small().advance().to_bytes()
    assert [file.name for file in tmp_path.iterdir()] == ["hours.gwindow"]
    (tmp_path / "zeros").write_bytes(bytes(2**21))
    with pytest.raises(ValueError, match="is larger than any sketch within memory_limit"):
        gf.Window.load(tmp_path / "zeros", memory_limit=0)


def test_options_that_bytes_do_not_hold_are_given_again_or_pickled(backend):
    nan = float("nan")
    pickled = pickle.loads(pickle.dumps(small(nan="skip", memory_limit=2**20)))
    read = gf.Window.from_bytes(small().to_bytes(), nan="skip", memory_limit=2**20)
    for window in (pickled, copy.deepcopy(pickled), read):
        for _ in range(2):  # the pane that was read, and a new one
            assert window.update([nan], [1], ["F"]).sketch.skipped > 0
            with pytest.raises(MemoryError, match="memory_limit"):
                window.update(range(3000), None, range(3000))
            window.advance()
    with pytest.raises(ValueError, match="NaN"):
        gf.Window.from_bytes(small().to_bytes()).update([nan], [1], ["F"])


def test_reading_does_not_warn_again(backend):
    window = gf.Window()
    with pytest.warns(gf.errors.SentinelWarning):
        window.update([*np.linspace(0, 1, 981), *[-999.0] * 20], None, [0] * 1001)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gf.Window.from_bytes(window.to_bytes())
        copy.copy(window)


# ------------------------------------------------------------------------------------------------------------- hostile


def made(blobs, panes=3, n=None, extra=b""):
    """Bytes with a right length and checksum, as an attacker would write them."""
    body = b"".join(struct.pack("<Q", len(blob)) + blob for blob in blobs) + extra
    head = struct.pack("<8sHHIQQ", b"\x89GPANE\r\n", 1, 0, len(blobs) if n is None else n, panes, 36 + len(body))
    return head + body + struct.pack("<I", zlib.crc32(head + body))


def test_truncations_and_bit_flips_are_refused(backend):
    data = small().to_bytes()
    for n in range(len(data)):
        with pytest.raises(ValueError, match="not a valid window"):
            gf.Window.from_bytes(data[:n])
        flipped = bytearray(data)
        flipped[n] ^= 1 << n % 8
        with pytest.raises(ValueError, match="not a valid window"):
            gf.Window.from_bytes(bytes(flipped))


EMPTY = gf.Sketch().to_bytes()
FULL = gf.Sketch.from_rows([1.0], [1], ["a"]).to_bytes()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "it has 0 bytes, too few"),
        (FULL, "it does not begin like one"),
        (made([EMPTY]), "the number of panes is impossible"),
        (made([EMPTY] * 5), "the number of panes is impossible"),
        (made([EMPTY, EMPTY], panes=2**63), "the number of panes is impossible"),
        (made([EMPTY, EMPTY], n=4), "it ends too early"),
        (made([EMPTY, EMPTY], n=2**32 - 1, panes=2**31 - 1), "the number of panes is impossible"),
        (made([EMPTY, EMPTY], n=2**31, panes=2**31 - 1), "it ends too early"),
        (made([EMPTY, EMPTY], n=3, extra=struct.pack("<Q", 2**63)), "it ends too early"),
        (made([EMPTY, EMPTY], extra=b"\0"), "more bytes than the panes need"),
        (made([FULL, EMPTY]), "the empty pane is not empty"),
        (made([EMPTY, gf.Sketch(bins=16).to_bytes()]), "a pane has other options than the rest"),
        (made([EMPTY, gf.Sketch(range=(0, 1)).to_bytes()]), "a pane has other options than the rest"),
        (made([EMPTY, gf.Sketch(groups=["a"]).to_bytes()]), "a pane has other options than the rest"),
        (made([EMPTY, FULL[:-1]]), "sketch"),
    ],
)
def test_hostile_bytes_are_refused(backend, data, text):
    with pytest.raises(ValueError, match=text):
        gf.Window.from_bytes(data)


def test_small_bytes_cannot_ask_for_much_memory(backend, monkeypatch):
    """Each pane may be within memory_limit and all of them far beyond it: only the newest is in memory."""
    wide = gf.Sketch(groups=range(200)).to_bytes()
    data = made([wide] * 21, panes=20)
    with pytest.raises(ValueError, match="200 groups of 4096 bins need"):
        gf.Window.from_bytes(data, memory_limit=2**25)
    window = gf.Window.from_bytes(data, memory_limit=2**26)
    assert len(window) == 20
    assert [type(pane) for pane in window._panes] == [bytes] * 19 + [gf.Sketch]
    monkeypatch.setattr("gstar_fast._sketch.window.MOST_MEMORY", 2**30)
    with pytest.raises(ValueError, match=r"20 panes need \d+ bytes of memory together, more than the \d+ allowed"):
        gf.Window.from_bytes(data, memory_limit=2**26)


@pytest.mark.slow
def test_a_window_is_read_with_the_options_it_was_built_with(backend, tmp_path):
    """24 panes of 200 groups take more than memory_limit together; what building allows, reading does."""
    window = gf.Window()
    for hour in range(24):
        window.advance().update(np.linspace(0, 1, 400), [0, 1] * 200, np.arange(400) % 200 + hour)
    window.save(tmp_path / "day.gwindow")
    again = gf.Window.load(tmp_path / "day.gwindow")
    assert again.to_bytes() == window.to_bytes()
    assert again.advance().sketch == window.advance().sketch


def test_a_file_of_many_panes_may_be_larger_than_one_of_a_sketch(backend, tmp_path):
    limit = gf.Sketch(bins=256, groups=range(2)).nbytes
    window = gf.Window(panes=720, bins=256, memory_limit=limit)
    for _ in range(720):
        window.advance().update(np.linspace(-9, 9, 1000), None, [0, 1] * 500)
    window.save(tmp_path / "months.gwindow")
    assert (tmp_path / "months.gwindow").stat().st_size > 2 * limit + 2**20
    assert gf.Window.load(tmp_path / "months.gwindow", memory_limit=limit).sketch == window.sketch


def test_wrong_types_are_named():
    with pytest.raises(TypeError, match=r"data must be bytes, got str; for a file use Window.load\(path\)"):
        gf.Window.from_bytes("hours.gwindow")
    with pytest.raises(ValueError, match="memory_limit must be a number of bytes, got 'much'"):
        gf.Window.from_bytes(small().to_bytes(), memory_limit="much")
