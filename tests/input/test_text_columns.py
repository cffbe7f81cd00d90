"""Whole columns of texts: every form counts the same, also in a stream, and while somebody writes to it."""

from __future__ import annotations

import datetime
import threading
from collections import Counter

import numpy as np
import pytest
from helpers.texts import again, offsets_of, texts_lists
from hypothesis import given
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast._input import arrow, columns, group_columns
from gstar_fast.errors import InputError

# ------------------------------------------------------------------------------------------------------- whole columns


@given(texts_lists, st.integers(0, 5))
def test_every_form_of_a_column_counts_the_same(backend, way, texts, cut):
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    texts = [text.rstrip("\0") for text in texts]  # an array of one width cannot hold zeros at the end
    scores = np.arange(len(texts), dtype=float)
    counted = Counter(texts)
    objects = np.array(texts, object)
    plain = pa.array(texts, pa.string())
    forms = {
        "list": texts,
        "tuple": tuple(map(again, texts)),
        "objects": objects,
        "one width": np.array(texts),
        "series of objects": pd.Series(objects),
        "series of str": pd.Series(texts, dtype="str"),
        "series in Python": pd.Series(texts, dtype=pd.StringDtype("python")),
        "series in Arrow": pd.Series(texts, dtype=pd.StringDtype("pyarrow")),
        "categories": pd.Categorical(texts),
        "utf8": plain,
        "large utf8": plain.cast(pa.large_string()),
        "views": plain.cast(pa.string_view()),
        "dictionary": plain.dictionary_encode(),
        "chunks": pa.chunked_array([plain[:cut], plain[cut:]]),
        "chunks of dictionaries": pa.chunked_array([plain[:cut].dictionary_encode(), plain[cut:].dictionary_encode()]),
    }
    expected = gf.Sketch()
    for name in sorted(counted):
        mine = [score for score, text in zip(scores, texts, strict=True) if text == name]
        expected.update(mine, None, [name] * len(mine))
    for form, groups in forms.items():
        sketch = gf.Sketch.from_rows(scores, None, groups)
        assert sketch == expected, form
        assert dict(zip(sketch.groups, sketch.unlabelled.sum(axis=1).tolist(), strict=True)) == counted, form


def test_nulls_of_every_form_are_refused_at_their_row(backend, way):
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    texts = ["a", "b", None, "a"]
    plain = pa.array(texts, pa.string())
    sketch = gf.Sketch()
    for groups in (
        texts,
        np.array(texts, object),
        pd.Series(texts, dtype="str"),
        pd.Series(texts, dtype=pd.StringDtype("python")),
        pd.Series(texts, dtype=pd.StringDtype("pyarrow")),
        pd.Series(texts, dtype=pd.ArrowDtype(pa.string())),
        plain,
        plain.cast(pa.large_string()),
        plain.cast(pa.string_view()),
        plain.dictionary_encode(),
        pa.chunked_array([plain[:1], plain[1:]]),
    ):
        with pytest.raises(TypeError, match="groups has a missing value at row 2"):
            sketch.update([0.5] * 4, None, groups)
    assert sketch == gf.Sketch()


def test_other_extension_types_of_pandas_are_read_and_refused_as_before(backend, way):
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    encoded = pd.Series(["a", "b", "a"], dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))
    assert gf.Sketch.from_rows([0.5] * 3, None, encoded).groups == ("a", "b")
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        texts = pd.Series(["a", "b", "a"], dtype=pd.ArrowDtype(kind))
        assert gf.Sketch.from_rows([0.5] * 3, None, texts).groups == ("a", "b")
    days = pd.Series([datetime.date(2026, 1, 1)] * 3, dtype=pd.ArrowDtype(pa.date32()))
    with pytest.raises(TypeError, match="got date at row 0"):
        gf.Sketch.from_rows([0.5] * 3, None, days)
    empty = pd.Series([], dtype="str")
    assert gf.Sketch.from_rows([], None, empty) == gf.Sketch()
    for values in (pd.array(["a", "b", "a"], dtype="str"), pd.Index(["a", "b", "a"], dtype="str")):
        assert gf.Sketch.from_rows([0.5] * 3, None, values).groups == ("a", "b")
    for texts in (pd.Series(["a"], dtype="str"), pd.Series(["a"], dtype=pd.StringDtype("python"))):
        with pytest.raises(TypeError, match="scores must be numbers, got strings or categories"):
            gf.Sketch.from_rows(texts, None, ["a"])
        with pytest.raises(TypeError, match="labels must be 0 or 1, got strings"):
            gf.Sketch.from_rows([0.5], texts, ["a"])


def test_bytes_that_are_no_text_are_refused(backend, way):
    pa = pytest.importorskip("pyarrow")
    column = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 3], np.int32)), pa.py_buffer(b"a\xff\xfe")]
    )
    sketch = gf.Sketch()
    with pytest.raises(UnicodeDecodeError):
        sketch.update([0.5, 0.5], None, column)
    backwards = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 3, 1], np.int32)), pa.py_buffer(b"abc")]
    )
    with pytest.raises(InputError, match="offsets that run backwards"):
        sketch.update([0.5, 0.5], None, backwards)
    assert sketch == gf.Sketch()


# --------------------------------------------------------------------------------------------------- streams of batches


def reader_of(pa, columns_of_batches, kind):
    batches = [
        pa.record_batch(
            {"x": np.arange(float(len(groups))), "g": groups}, schema=pa.schema({"x": pa.float64(), "g": kind})
        )
        for groups in columns_of_batches
    ]
    return pa.RecordBatchReader.from_batches(batches[0].schema, batches)


@given(st.lists(texts_lists, min_size=1, max_size=5), st.booleans())
def test_batches_of_a_stream_are_counted_as_if_they_came_alone(backend, way, batches, encoded):
    pa = pytest.importorskip("pyarrow")
    kind = pa.dictionary(pa.int32(), pa.string()) if encoded else pa.string()
    columns_ = [pa.array(texts, pa.string()) for texts in batches]
    columns_ = [column.dictionary_encode() for column in columns_] if encoded else columns_  # each its own dictionary
    sketch = gf.Sketch().update_table(reader_of(pa, columns_, kind), score="x", label=None, group="g")
    expected = gf.Sketch()
    for texts in batches:
        expected.update(np.arange(float(len(texts))), None, texts)
    assert sketch == expected


def test_more_names_than_are_remembered(backend, way):
    """Texts are forgotten where they are many more than the rows of a batch; nobody notices."""
    pa = pytest.importorskip("pyarrow")
    names = [[f"name {10 * batch + i % 10}" for i in range(30)] for batch in range(60)]
    names += [names[0], names[30], names[59]]
    reader = reader_of(pa, [pa.array(part) for part in names], pa.string())
    sketch = gf.Sketch(bins=16).update_table(reader, score="x", label=None, group="g")
    rows = dict(zip(sketch.groups, sketch.unlabelled.sum(axis=1).tolist(), strict=True))
    assert rows == Counter(name for part in names for name in part)


def test_the_names_of_a_stream_are_made_once(way):
    pa = pytest.importorskip("pyarrow")
    plain = [pa.array(["b", "a", "b"]), pa.array(["a", "a"]), pa.array(["b"]), pa.array(["c", "a"])]
    found = [batch[0] for batch in arrow.read_batches(reader_of(pa, plain, pa.string()), ["g"])]
    assert [column.values.tolist() for column in found] == [[0, 1, 0], [1, 1], [0], [2, 1]]
    assert found[0].names is found[1].names is found[2].names == ("b", "a")
    assert found[3].names == ("b", "a", "c")
    dictionary = pa.array(["M", None, "F"])
    other = pa.array(["M", "F", None])
    kind = pa.dictionary(pa.int8(), pa.string())
    encoded = [
        pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), entries)
        for codes, entries in (([0, 2], dictionary), ([2], dictionary), ([0, 1], other), ([0, 2], dictionary))
    ]
    found = [batch[0] for batch in arrow.read_batches(reader_of(pa, encoded, kind), ["g"])]
    assert found[0].names is found[1].names
    assert [column.names for column in found[1:]] == [("M", None, "F"), ("M", "F", None), ("M", None, "F")]


# ------------------------------------------------------------------------------------------ changed while they are read


def test_columns_that_change_while_they_are_read_spoil_nothing_else(way):
    """A row gets a name that stood there, a whole one; or the column is refused."""
    n = 20_000
    names = ["left", "right", "somewhere in the middle", "a name of more than sixteen bytes"]
    wide = np.array(names)[np.arange(n) % 4]
    held = [names[i % 4] for i in range(n)]
    objects = np.array(held, object)
    offsets, raw = offsets_of(["ab" * 4, "abcdefghijklmnopqrstuvwx"] * (n // 2), np.int64, 0)
    raw = raw.copy()
    stop = threading.Event()

    def scribble():
        rng = np.random.default_rng(0)
        while not stop.is_set():
            at = rng.integers(0, n, 200)
            wide[at] = np.array(names)[rng.integers(0, 4, 200)]
            objects[at] = [again(names[i]) for i in rng.integers(0, 4, 200)]
            raw[rng.integers(0, len(raw), 200)] = ord("z")
            for i in at[:20].tolist():
                held[i] = again(names[i % 4])
            del held[-50:]
            held.extend(["left"] * 50)

    vandal = threading.Thread(target=scribble)
    vandal.start()
    try:
        for _ in range(30):
            for column in (wide, objects, held):
                codes, found = columns.as_groups(*columns.group_column(column, "groups"))
                assert codes.min() >= 0
                assert codes.max() < len(found)
                if column is not wide:  # whose rows are not written at once
                    assert {*found} <= {*names}
            texts = way.Texts()
            codes = texts.number_offsets(offsets, raw, None)
            assert len({*texts.since(0)}) == len(texts)
            assert codes.max() < len(texts)
    finally:
        stop.set()
        vandal.join()


# --------------------------------------------------------------------------------------------------- several columns


@given(st.data(), st.sampled_from("bBhHiIqQ"))
def test_whole_numbers_are_placed_as_by_sorting(data, kind):
    ends = np.iinfo(kind)
    near = st.one_of(st.integers(ends.min, ends.max), st.integers(0, 9), st.just(ends.min), st.just(ends.max))
    values = np.array(data.draw(st.lists(near, max_size=30)), kind)
    present, places = group_columns.unique_numbers(values)
    numbers, expected = np.unique(values, return_inverse=True)
    assert present.tolist() == numbers.tolist()
    assert places.tolist() == expected.tolist()


@given(texts_lists, st.data())
def test_columns_of_texts_cross_to_tuples(backend, way, texts, data):
    second = data.draw(st.lists(st.sampled_from(["x", "y", "z"]), min_size=len(texts), max_size=len(texts)))
    third = data.draw(st.lists(st.integers(-2, 2), min_size=len(texts), max_size=len(texts)))
    rows = list(zip(texts, second, third, strict=True))
    columns_ = [np.array(texts, object), np.array(second), np.array(third)]
    scores = np.arange(float(len(texts)))
    assert gf.Sketch.from_rows(scores, None, columns_) == gf.Sketch.from_rows(scores, None, rows)
