"""Texts become numbers: as a dict would give them, whatever holds the texts, compiled or not."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.texts import NEAR, again, by_dict, offsets_of, texts_lists
from hypothesis import given
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast import _backends
from gstar_fast._input import columns, group_columns
from gstar_fast.errors import InputError

# ------------------------------------------------------------------------------------------------------ texts of Arrow


def views_of(texts, n_buffers):
    """Views of 16 bytes; long texts are dealt to several buffers."""
    buffers = [b"##" for _ in range(n_buffers)]
    views = b""
    for i, text in enumerate(texts):
        data = text.encode()
        if len(data) <= 12:
            views += np.int32(len(data)).tobytes() + data.ljust(12, b"\0")
        else:
            to = i % n_buffers
            views += np.array([len(data), 0, to, len(buffers[to])], np.int32).tobytes()
            buffers[to] += data
    return np.frombuffer(views, np.uint8), [np.frombuffer(buffer, np.uint8) for buffer in buffers]


@given(texts_lists, st.sampled_from([np.int32, np.int64]), st.integers(0, 9), st.data())
def test_texts_between_offsets_are_numbered_as_by_a_dict(way, texts, dtype, lead, data):
    numbers = way.Texts()
    offsets, raw = offsets_of(texts, dtype, lead)
    codes, names = by_dict(texts)
    assert numbers.number_offsets(offsets, raw, None).tolist() == codes
    assert [text.decode() for text in numbers.since(0)] == names
    assert len(numbers) == len(names)
    assert numbers.since(1) == numbers.since(0)[1:]
    valid = np.array(data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts))))
    shown = [text if there else "" for text, there in zip(texts, valid, strict=True)]
    second = by_dict([*texts, *shown])[0][len(texts) :]
    assert numbers.number_offsets(offsets, raw, valid).tolist() == second, "the same table knows the texts again"


@given(texts_lists, st.integers(1, 3), st.data())
def test_views_are_numbered_as_by_a_dict(way, texts, n_buffers, data):
    numbers = way.Texts()
    views, buffers = views_of(texts, n_buffers)
    codes, names = by_dict(texts)
    assert numbers.number_views(views, buffers, None).tolist() == codes
    assert [text.decode() for text in numbers.since(0)] == names
    valid = np.array(data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts))))
    shown = [text if there else "" for text, there in zip(texts, valid, strict=True)]
    junk = np.where(np.repeat(valid, 16), views, 0xFE).astype(np.uint8)  # what a null's view holds is never read
    assert numbers.number_views(junk, buffers, valid).tolist() == by_dict([*texts, *shown])[0][len(texts) :]


@given(texts_lists)
def test_texts_of_one_width_are_numbered_as_by_a_dict(way, texts):
    array = np.array(texts)
    codes, names = group_columns.factorize(array)
    assert (codes.tolist(), list(names)) == by_dict(array.tolist())
    for other in (np.repeat(array, 2)[::2], array[::-1].copy()[::-1], array.astype(array.dtype.newbyteorder())):
        assert group_columns.factorize(other)[0].tolist() == codes.tolist()
    packed = np.zeros(len(array), [("pad", "u1"), ("g", array.dtype)])
    packed["g"] = array
    assert group_columns.factorize(packed["g"])[0].tolist() == codes.tolist(), "unaligned"


def test_offsets_and_views_that_lead_out_of_the_data_are_refused(way):
    data = np.frombuffer(b"abcdef" * 4, np.uint8)
    for bad in ([0, 3, 2], [-1, 2, 3], [0, 3, 25], [0, -1, 3]):
        for dtype in (np.int32, np.int64):
            with pytest.raises(InputError, match="an Arrow column of strings has offsets that run backwards"):
                way.Texts().number_offsets(np.array(bad, dtype), data, None)
    for length, buffer, place in (
        (-1, 0, 0),
        (13, 1, 0),
        (13, -1, 0),
        (13, 0, -1),
        (13, 0, 12),
        (2**31 - 1, 0, 2**31 - 1),
    ):
        view = np.array([length, 0, buffer, place], np.int32).view(np.uint8)
        with pytest.raises(InputError, match="an Arrow column of strings has a view of bytes outside its data"):
            way.Texts().number_views(view, [data], None)
    with pytest.raises(InputError, match="outside its data"):
        way.Texts().number_views(np.array([13, 0, 0, 0], np.int32).view(np.uint8), [], None)


@pytest.mark.parametrize("n", [3, 32, 33, 34, 100])
@pytest.mark.parametrize("beginning", ["", "a long beginning of ", "\u0436"])
def test_strings_of_one_width_are_told_apart_whether_few_or_many(way, beginning, n):
    names = [f"{beginning}{i:x}" for i in range(n)]
    rows = [*names, *reversed(names), names[-1]]
    records, texts = np.array(rows), way.Texts()
    assert texts.number_records(records).tolist() == [names.index(row) for row in rows]
    assert texts.number_records(records[1::-1]).tolist() == [1, 0]
    assert [text.decode("utf-32-le").rstrip("\0") for text in texts.since(0)] == names


def test_many_texts_are_numbered_in_order(way):
    names = [f"{'a long beginning of ' * (i % 3)}{i:x}" for i in range(5000)]
    offsets, raw = offsets_of([*names, *reversed(names)], np.int64, 3)
    numbers = way.Texts()
    assert numbers.number_offsets(offsets, raw, None).tolist() == [*range(5000), *reversed(range(5000))]
    assert [text.decode() for text in numbers.since(4990)] == names[4990:]


# --------------------------------------------------------------------------------------------------- strings of Python


@pytest.mark.slow
@given(st.lists(st.one_of(st.sampled_from(NEAR), st.text(max_size=20)), min_size=1, max_size=8), st.data())
def test_strings_are_numbered_as_by_a_dict_whatever_their_identity(way, few, data):
    picked = data.draw(st.lists(st.tuples(st.sampled_from(few), st.booleans()), min_size=1, max_size=80))
    values = [again(text) if other else text for text, other in picked]
    expected = by_dict(values)
    objects = np.empty(len(values), object)
    objects[:] = values
    spread = np.empty((len(values), 3), object)
    spread[:, 1] = values
    packed = np.zeros(len(values), [("pad", "u1"), ("g", object)])
    packed["g"] = values
    for held in (values, tuple(values), objects, spread[:, 1], objects[::-1].copy()[::-1], packed["g"]):
        codes, names = way.number_strings(held)
        assert (codes.tolist(), list(names)) == expected
        assert {*map(type, names)} == {str}


class Shouting(str):
    """A string with rules of its own, which no short way may break."""

    __slots__ = ()

    def __str__(self):
        return self.upper()

    def __eq__(self, other):
        raise AssertionError("not to be asked")

    __hash__ = None


class Listed(list):
    """A list that shows other values than it holds."""

    def __iter__(self):
        return iter(["shown"] * len(self))


@pytest.mark.parametrize(
    "values",
    [
        ["a", 1],
        ["a", None],
        ["a", True],
        ["a", ("b",)],
        ["a", b"b"],
        ["a", float("nan")],
        ["a", np.str_("b")],
        ["a", Shouting("b")],
        [1, 2],
        [],
        Listed(["a", "b"]),
        np.array([["a", "b"]], object),
        np.array(["a", "b"]),
        np.empty(2, object),
        np.array([1, 2]),
        np.ma.array(["a", "b"], dtype=object),
    ],
    ids=repr,
)
def test_anything_but_plain_strings_goes_the_long_way(values):
    if not _backends.has_native():
        pytest.skip("nothing was compiled")
    from gstar_fast import _core

    assert _core.number_strings(values) is None


ODD = [
    (["a", 1, "a", 1], ["a", 1]),
    ([1, True, 1, True], [1, True]),
    (["1", 1, True, "1"], ["1", 1, True]),
    ([np.str_("a"), "a", "b", np.str_("b")], ["a", "b"]),
    (["b", Shouting("b"), Shouting("b"), "B"], ["b", "B"]),
    ([("a", 1), "a", ("a", 1), ("a",)], [("a", 1), "a", ("a",)]),
    ([np.int64(3), 3, "3", np.bool_(True)], [3, "3", True]),
    ([2**62, -(2**63), 2**62, 0], [2**62, -(2**63), 0]),
]


@pytest.mark.parametrize(("values", "names"), ODD, ids=[repr(names) for _, names in ODD])
def test_values_of_other_kinds_keep_their_names(way, values, names):
    objects = np.empty(len(values), object)
    objects[:] = values
    for held in (objects, values):
        codes, found = columns.as_groups(*columns.group_column(held, "groups"))
        found = found if found is not None else tuple(dict.fromkeys(values))
        assert [type(name) for name in found] == [type(name) for name in names]
        assert list(found) == names
        if codes.max() < len(names):
            assert [names[code] for code in codes.tolist()] == [group_columns.clean_name(value) for value in values]


REFUSED = [
    (["a", "b", None, "a"], TypeError, "groups has a missing value at row 2; drop such rows"),
    (["a", "b", float("nan"), "a"], TypeError, "groups has a missing value at row 2"),
    (["a", "b", b"c", "a"], TypeError, "got bytes at row 2"),
    (["a", "b", 1.5, "a"], TypeError, "got float at row 2"),
    (["a", "é", "\ud800", "\udfff"], ValueError, "at row 2 is not valid Unicode"),
    (["a", "b", np.str_("\ud800"), "a"], ValueError, "at row 2 is not valid Unicode"),
    (["a", "b", 2**63, "a"], ValueError, "group 9223372036854775808 at row 2 does not fit into 64 bits"),
    (["a", "b", (), "a"], ValueError, "tuple of 1 to 16 values, got 0 at row 2"),
    (["a", 1, True, "a"], ValueError, "groups has both True and 1"),
]


@pytest.mark.parametrize(("values", "error", "words"), REFUSED, ids=[words for _, _, words in REFUSED])
def test_what_is_no_name_is_refused_with_the_same_words_and_changes_nothing(backend, way, values, error, words):
    objects = np.empty(len(values), object)
    objects[:] = values
    sketch = gf.Sketch.from_rows([0.5], [1], ["a"])
    before = sketch.to_bytes()
    for held in (values, tuple(values), objects):
        with pytest.raises(error, match=words):
            sketch.update(np.arange(4.0), None, held)
        assert sketch.to_bytes() == before


def test_surrogates_in_an_array_of_strings_are_refused(way):
    with pytest.raises(ValueError, match="at row 1 is not valid Unicode"):
        gf.Sketch.from_rows([0.5] * 3, None, np.array(["a", "\ud800", "b"]))
