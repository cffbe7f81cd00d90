"""Every kind of column comes in without a step per row, and every bad one gets an error that helps."""

from __future__ import annotations

import ctypes
import datetime
import decimal
import gc
import sys
import weakref

import numpy as np
import pytest

import gstar_fast as gf
from gstar_fast._base.factorize import factorize
from gstar_fast._input import arrow
from gstar_fast._input.columns import as_batch

SCORES = [0.1, 0.9, -0.5, 0.3]
LABELS = [0, 1, 1, 0]
GROUPS = ["F", "M", "F", "M"]


@pytest.fixture
def expected(backend):
    return gf.Sketch.from_rows(np.array(SCORES), np.array(LABELS), np.array(GROUPS))


# --------------------------------------------------------------------------------------------------------------- numpy


@pytest.mark.parametrize("dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", ">i4", ">i8", "O"])
def test_labels_of_any_dtype(backend, expected, dtype):
    assert gf.Sketch.from_rows(SCORES, np.array(LABELS).astype(dtype), GROUPS) == expected


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i2", ">u8"])
def test_groups_of_any_integer_dtype(backend, dtype):
    numbers = np.array([3, 100, 3, 7]).astype(dtype)
    sketch = gf.Sketch.from_rows(SCORES, LABELS, numbers)
    assert sketch.groups == (3, 7, 100)
    assert sketch == gf.Sketch.from_rows(SCORES, LABELS, [3, 100, 3, 7])


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8"])
def test_the_smallest_and_largest_integers_are_groups(backend, dtype):
    ends = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, -1, 0], dtype)
    assert gf.Sketch.from_rows(SCORES, LABELS, ends).groups == tuple(sorted(ends.tolist()))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4", ">f8", "g", "i4", "u1", "O"])
def test_scores_of_any_real_dtype(backend, dtype):
    values = np.array([1, 2, 0, 3]).astype(dtype)
    assert gf.Sketch.from_rows(values, LABELS, GROUPS) == gf.Sketch.from_rows([1.0, 2.0, 0.0, 3.0], LABELS, GROUPS)


@pytest.mark.parametrize("n", [4, 50_000])
def test_any_layout_is_read(backend, n):
    if backend == "numpy":
        n = min(n, 2000)
    rng = np.random.default_rng(3)
    x, y, g = rng.normal(size=n), rng.integers(0, 2, n), rng.integers(0, 4, n)
    expected = gf.Sketch.from_rows(x, y, g)
    wide = np.zeros((n, 3))
    wide[:, 1] = x
    assert gf.Sketch.from_rows(wide[:, 1], y, g) == expected
    assert gf.Sketch.from_rows(x[::-1].copy()[::-1], y[::-1].copy()[::-1], g[::-1].copy()[::-1]) == expected
    packed = np.zeros(n, dtype=[("pad", "u1"), ("x", "f8"), ("y", "i2"), ("g", "i4")])
    packed["x"], packed["y"], packed["g"] = x, y, g
    assert gf.Sketch.from_rows(packed["x"], packed["y"], packed["g"]) == expected, "unaligned"
    for array in (x, y, g):
        array.flags.writeable = False
    assert gf.Sketch.from_rows(x, y, g) == expected
    same = gf.Sketch.from_rows(np.broadcast_to(0.5, n), np.broadcast_to(1, n), np.broadcast_to(0, n))
    assert same.counts[1, 0].sum() == n


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda v: np.array(v, object)])
def test_groups_as_strings(backend, expected, kind):
    assert gf.Sketch.from_rows(SCORES, LABELS, kind(GROUPS)) == expected


def test_groups_as_bools_and_tuples(backend):
    flags = [True, False, True, False]
    assert gf.Sketch.from_rows(SCORES, LABELS, flags) == gf.Sketch.from_rows(SCORES, LABELS, np.array(flags))
    pairs = [("F", 1), ("M", 2), ("F", 1), ("M", True)]
    with pytest.raises(ValueError, match=r"."):
        gf.Sketch.from_rows(SCORES, LABELS, [("F", 1), ("F", True), ("F", 1), ("F", True)])
    assert gf.Sketch.from_rows(SCORES, LABELS, pairs).groups == (("F", 1), ("M", True), ("M", 2))


def test_names_are_plain_python_values(backend):
    sketch = gf.Sketch()
    sketch.update_one(0.5, 1, np.int64(3))
    sketch.update_one(np.float32(0.5), np.uint8(1), np.str_("a"))
    sketch.update_one(np.float64(0.5), np.bool_(True), (np.int8(1), "x"))
    sketch.update(np.array([0.5]), [1], np.array(["é"]))
    assert sketch.groups == (3, "a", "é", (1, "x"))
    assert [type(name) for name in sketch.groups[:3]] == [int, str, str]
    assert type(sketch.groups[3][0]) is int


def test_masked_arrays_and_none_mark_unlabelled_rows(backend):
    by_list = gf.Sketch.from_rows(SCORES, [0, None, 1, None], GROUPS)
    masked = np.ma.array(LABELS, mask=[False, True, False, True])
    assert gf.Sketch.from_rows(SCORES, masked, GROUPS) == by_list
    assert by_list.unlabelled.sum() == 2
    assert gf.Sketch.from_rows(SCORES, None, GROUPS) == gf.Sketch.from_rows(SCORES, [None] * 4, GROUPS)
    scores = np.ma.array(SCORES, mask=[False, True, False, False])
    assert gf.Sketch.from_rows(scores, LABELS, GROUPS, nan="skip").skipped == 1


def test_masks_count_beside_plain_arrays_too(backend):
    """The quickest way in takes plain arrays only; a mask must not slip through it."""
    scores, labels, codes = np.array([0.5, 1.5, 2.5, 3.5]), np.array([0, 1, 1, 0]), np.array([0, 1, 0, 1])
    hidden = [False, True, False, True]
    expected = gf.Sketch.from_rows(scores.tolist(), [0, None, 1, None], codes.tolist())
    for dtype in (np.uint8, np.int64, bool):
        masked = np.ma.array(labels.astype(dtype), mask=hidden)
        assert gf.Sketch.from_rows(scores, masked, codes) == expected
        assert gf.audit(decisions=scores > 1, labels=masked, groups=codes).overall["rows"].value == 4
    assert gf.Sketch.from_rows(np.ma.array(scores, mask=hidden), labels, codes, nan="skip").skipped == 2
    with pytest.raises(ValueError, match="NaN"):
        gf.Sketch.from_rows(np.ma.array(scores, mask=hidden), labels, codes)
    with pytest.raises(TypeError, match=r"null|missing|masked"):
        gf.Sketch.from_rows(scores, labels, np.ma.array(codes, mask=hidden))


def test_many_groups_of_strings_and_integers(backend):
    n = 3000
    numbers = np.random.default_rng(0).integers(-(10**12), 10**12, 300)[np.arange(n) % 300]
    texts = np.array([f"group {v}" for v in numbers])
    for groups in (numbers, texts, texts.astype(object), texts.tolist()):
        sketch = gf.Sketch.from_rows(np.linspace(0, 1, n), None, groups, bins=64)
        assert len(sketch.groups) == 300
        assert sketch.unlabelled.sum(axis=1).tolist() == [10] * 300


def test_strings_with_the_same_key_are_still_told_apart(monkeypatch):
    monkeypatch.setattr("gstar_fast._base.factorize._mix", lambda words: np.zeros(len(words), np.uint64))
    codes, names = factorize(np.array(["left hand", "right hand", "left hand", "neither one"]))
    assert [names[code] for code in codes] == ["left hand", "right hand", "left hand", "neither one"]


def test_empty_strings_and_trailing_nulls(backend):
    assert gf.Sketch.from_rows([1.0, 2.0], None, ["", "\0"]).groups == ("", "\0")
    assert gf.Sketch.from_rows([1.0], None, np.array([""])).groups == ("",)


# -------------------------------------------------------------------------------------------------------------- pandas


def test_pandas_columns(backend, expected):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": SCORES, "y": LABELS, "g": GROUPS}, index=[5, 3, 9, 1])
    assert gf.Sketch.from_rows(frame.x, frame.y, frame.g) == expected
    assert gf.Sketch.from_rows(frame.x, frame.y.astype(bool), frame.g.astype("category")) == expected
    assert gf.Sketch.from_rows(frame[["x"]], frame.y.astype("Int64"), frame.g.astype("string")) == expected
    assert gf.Sketch.from_rows(frame.x.astype("Float64"), frame.y.astype("boolean"), frame.g.astype(object)) == expected
    assert gf.Sketch.from_rows(pd.Index(SCORES), pd.array(LABELS), pd.Categorical(GROUPS)) == expected
    assert gf.Sketch(groups=["M", "F"]).update(frame.x, frame.y, frame.g.astype("category")).n_rows == 4
    unused = pd.Categorical(GROUPS, categories=["Z", "M", "F", "A"])
    assert gf.Sketch.from_rows(SCORES, LABELS, unused) == expected, "a category without rows is no group"
    numbers = pd.Categorical([3, 1, 3, 1])
    assert gf.Sketch.from_rows(SCORES, LABELS, numbers).groups == (1, 3)
    assert gf.Sketch.from_rows(SCORES, LABELS, pd.Series([3, 1, 3, 1], dtype="Int8")).groups == (1, 3)


def test_pandas_nulls(backend):
    pd = pytest.importorskip("pandas")
    unlabelled = gf.Sketch.from_rows(SCORES, [0, None, 1, 0], GROUPS)
    assert gf.Sketch.from_rows(SCORES, pd.Series([0, None, 1, 0], dtype="Int64"), GROUPS) == unlabelled
    assert gf.Sketch.from_rows(SCORES, pd.Series([False, pd.NA, True, False], dtype="boolean"), GROUPS) == unlabelled
    with pytest.raises(ValueError, match='scores has NaN at row 1; drop such rows or pass nan="skip"'):
        gf.Sketch.from_rows(pd.Series([0.1, None, 0.2, 0.3], dtype="Float64"), LABELS, GROUPS)
    with pytest.raises(ValueError, match="labels has NaN at row 1; pass labels=None"):
        gf.Sketch.from_rows(SCORES, pd.Series([0, np.nan, 1, 0]), GROUPS)
    with_null = ["F", None, "M", "F"]
    for groups in (
        pd.Categorical(with_null),
        pd.Series(with_null),
        pd.Series(with_null, dtype=object),
        pd.Series(with_null, dtype="string"),
        pd.Series([1, None, 2, 1], dtype="Int64"),
        pd.Series([1, None, 2, 1]),
    ):
        with pytest.raises(TypeError, match="groups has a missing value at row 1; drop such rows"):
            gf.Sketch.from_rows(SCORES, LABELS, groups)


# --------------------------------------------------------------------------------------------------------------- arrow


def test_polars_columns(backend, expected):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"x": SCORES, "y": LABELS, "g": GROUPS})
    assert gf.Sketch.from_rows(frame["x"], frame["y"], frame["g"]) == expected
    assert gf.Sketch.from_rows(frame["x"], frame["y"].cast(pl.Boolean), frame["g"].cast(pl.Categorical)) == expected
    assert (
        gf.Sketch.from_rows(frame["x"], frame["y"].cast(pl.UInt8), frame["g"].cast(pl.Enum(["M", "Z", "F"])))
        == expected
    )
    chunked = pl.concat([frame[:1], frame[1:]], rechunk=False)
    assert gf.Sketch.from_rows(chunked["x"], chunked["y"], chunked["g"]) == expected
    nulls = pl.Series([0, None, 1, 0])
    assert gf.Sketch.from_rows(SCORES, nulls, GROUPS) == gf.Sketch.from_rows(SCORES, [0, None, 1, 0], GROUPS)


def test_pyarrow_columns(backend, expected):
    pa = pytest.importorskip("pyarrow")
    x, y, g = pa.array(SCORES), pa.array(LABELS, pa.int8()), pa.array(GROUPS)
    assert gf.Sketch.from_rows(x, y, g) == expected
    kinds = (pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()))
    for kind in kinds:
        assert gf.Sketch.from_rows(x, y.cast(pa.bool_()), g.cast(kind)) == expected, kind
    sliced = [pa.concat_arrays([array[:2], array])[2:] for array in (x, y.cast(pa.bool_()), g)]
    assert gf.Sketch.from_rows(*sliced) == expected, "offsets, also inside a byte of bits"
    chunks = pa.chunked_array([g[:1].dictionary_encode(), g[1:].dictionary_encode()])
    assert gf.Sketch.from_rows(pa.chunked_array([x[:3], x[3:]]), y, chunks) == expected, "different dictionaries"
    assert (
        gf.Sketch.from_rows(
            pa.chunked_array([], pa.float64()), pa.chunked_array([], pa.int8()), pa.chunked_array([], pa.string())
        )
        == gf.Sketch()
    )


def test_long_and_short_strings_in_views(backend):
    pa = pytest.importorskip("pyarrow")
    names = ["short", "a name that is longer than twelve bytes", "", "x" * 100, "exactly 12 b"] * 3
    plain = gf.Sketch.from_rows(np.arange(15.0), None, names)
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        column = pa.array(names).cast(kind)
        assert gf.Sketch.from_rows(np.arange(15.0), None, column) == plain
        assert gf.Sketch.from_rows(np.arange(5.0), None, column[3:8]) == gf.Sketch.from_rows(
            np.arange(5.0), None, names[3:8]
        )


def test_arrow_nulls(backend):
    pa = pytest.importorskip("pyarrow")
    labels = pa.array([0, None, 1, 0])
    unlabelled = gf.Sketch.from_rows(SCORES, [0, None, 1, 0], GROUPS)
    assert gf.Sketch.from_rows(SCORES, labels, GROUPS) == unlabelled
    assert gf.Sketch.from_rows(SCORES, labels.cast(pa.bool_()), GROUPS) == unlabelled
    assert gf.Sketch.from_rows(SCORES, pa.nulls(4), GROUPS) == gf.Sketch.from_rows(SCORES, None, GROUPS)
    with pytest.raises(ValueError, match="labels must be 0 or 1, got 2 at row 2"):
        gf.Sketch.from_rows(SCORES, pa.array([0, None, 2, 0]), GROUPS)
    null_groups = pa.array(["F", None, "M", "F"])
    dictionary = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0]), pa.array(["F", None, "M"]))
    for groups in (
        null_groups,
        null_groups.dictionary_encode(),
        null_groups.cast(pa.string_view()),
        dictionary,
        pa.array([1, None, 2, 2]),
    ):
        with pytest.raises(TypeError, match="groups has a missing value at row 1"):
            gf.Sketch.from_rows(SCORES, LABELS, groups)


def test_arrow_columns_are_viewed_not_copied_and_kept_alive():
    pa = pytest.importorskip("pyarrow")
    column = pa.array(np.arange(1000.0))
    view = arrow.read_column(column, "scores").values
    assert view.ctypes.data == column.buffers()[1].address
    del column
    gc.collect()
    assert view.sum() == 499_500


def test_every_batch_of_a_stream_is_released():
    """Each batch holds an array of our own, which lives as long as the batch; no other test can have a part in it."""
    pa = pytest.importorskip("pyarrow")
    arrays, most = [], 0

    def batches():
        nonlocal most
        for _ in range(20):
            x = np.random.default_rng(0).random(10_000)
            arrays.append(weakref.ref(x))
            batch = pa.record_batch({"x": pa.array(x), "g": ["a"] * 10_000})
            del x
            assert arrays[-1]() is not None, "the batch must look at the array, not at a copy"
            most = max(most, sum(array() is not None for array in arrays))
            yield batch
            del batch

    schema = pa.schema({"x": pa.float64(), "g": pa.string()})
    for broken in (False, True):
        reader = pa.RecordBatchReader.from_batches(schema, batches())
        sketch = gf.Sketch(groups=["b"] if broken else None)
        if broken:
            with pytest.raises(ValueError, match="group 'a' at row 0"):
                sketch.update_table(reader, score="x", label=None, group="g")
        else:
            assert sketch.update_table(reader, score="x", label=None, group="g").n_rows == 200_000
        del reader, sketch
        gc.collect()
        assert len(arrays) >= 1
        assert not any(array() is not None for array in arrays), "every batch was released"
    assert most <= 3, "batches do not pile up"


class Faulty:
    """A producer of Arrow data whose schema is changed on the way, as a faulty library would fill it in."""

    def __init__(self, data, change):
        self.data, self.change = data, change

    def __arrow_c_array__(self, requested_schema=None):
        schema, array = self.data.__arrow_c_array__()
        self.change(arrow._Schema.from_address(arrow._capsule_pointer(schema, b"arrow_schema")))
        return schema, array


class FaultyTable(Faulty):
    __arrow_c_array__ = property()

    def __arrow_c_stream__(self, requested_schema=None):
        capsule = self.data.__arrow_c_stream__()
        stream = arrow._Stream.from_address(arrow._capsule_pointer(capsule, b"arrow_array_stream"))
        kind = type(stream.get_schema)
        real = kind(ctypes.cast(stream.get_schema, ctypes.c_void_p).value)

        def get_schema(stream, out):
            code = real(stream, out)
            self.change(out.contents)
            return code

        self.get_schema = stream.get_schema = kind(get_schema)
        return capsule


def test_an_arrow_producer_without_a_format_is_refused(backend):
    """The format is a pointer, which a faulty producer may leave null."""
    pa = pytest.importorskip("pyarrow")

    def forget(schema):
        schema.format = None

    with pytest.raises(ValueError, match="scores comes from an Arrow producer that gives no format; report it"):
        gf.Sketch().update(Faulty(pa.array([0.5]), forget), None, [1])
    table = pa.table({"x": [0.5], "g": ["a"]})
    columns = {"score": "x", "label": None, "group": "g"}
    with pytest.raises(ValueError, match="data comes from an Arrow producer that gives no format"):
        gf.Sketch().update_table(FaultyTable(table, forget), **columns)
    with pytest.raises(ValueError, match="column 'g' comes from an Arrow producer that gives no format"):
        gf.Sketch().update_table(FaultyTable(table, lambda schema: forget(schema.children[1].contents)), **columns)


def test_an_arrow_column_may_be_without_a_name(backend):
    """The standard allows it; nobody can ask for such a column, and it stands in nobody's way."""
    pa = pytest.importorskip("pyarrow")

    def forget(schema):
        schema.children[2].contents.name = None

    table = pa.table({"x": [0.5], "g": ["a"], "rest": [1]})
    sketch = gf.Sketch().update_table(FaultyTable(table, forget), score="x", label=None, group="g")
    assert sketch.n_rows == 1
    with pytest.raises(ValueError, match="data has no column 'rest'; its columns are 'x', 'g', ''"):
        gf.Sketch().update_table(FaultyTable(table, forget), score="x", label=None, group="rest")


def test_an_error_in_a_stream_is_passed_on_and_nothing_counted(backend):
    pa = pytest.importorskip("pyarrow")

    def batches():
        yield pa.record_batch({"x": [0.5], "g": ["a"]})
        raise RuntimeError("the disk fell off")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"x": pa.float64(), "g": pa.string()}), batches())
    sketch = gf.Sketch()
    with pytest.raises(OSError, match="the disk fell off"):
        sketch.update_table(reader, score="x", label=None, group="g")
    assert sketch == gf.Sketch()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "duckdb"])
def test_tables_of_every_library(backend, expected, library):
    module = pytest.importorskip(library)
    columns = {"x": SCORES, "y": LABELS, "g": GROUPS, "w": [1.0, 2.0, 1.0, 0.5]}
    if library == "pandas":
        pytest.importorskip("pyarrow")
        table = module.DataFrame(columns)
    elif library == "polars":
        table = module.DataFrame(columns)
    elif library == "pyarrow":
        table = module.table(columns)
    else:
        rows = ", ".join(str(row) for row in zip(*columns.values(), strict=True))
        table = module.sql(f"select x::double x, y, g, w::double w from (values {rows}) t(x, y, g, w)")
    assert gf.Sketch().update_table(table, score="x", label="y", group="g") == expected
    weighted = gf.Sketch().update_table(table, score="x", label="y", group="g", weight="w")
    assert weighted == gf.Sketch.from_rows(SCORES, LABELS, GROUPS, weights=columns["w"])
    crossed = gf.Sketch().update_table(table, score="x", label="y", group=["g", "y"])
    assert crossed == gf.Sketch.from_rows(SCORES, LABELS, list(zip(GROUPS, LABELS, strict=True)))


def test_tables_say_what_they_miss(backend):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"x": SCORES, "y": LABELS, "g": GROUPS, "d": [datetime.date(2020, 1, 1)] * 4})
    with pytest.raises(ValueError, match="data has no column 'z'; its columns are 'x', 'y', 'g', 'd'"):
        gf.Sketch().update_table(table, score="z", label="y", group="g")
    with pytest.raises(TypeError, match="column 'd' must hold numbers, bools or strings, got the Arrow type"):
        gf.Sketch().update_table(table, score="d", label="y", group="g")
    with pytest.raises(TypeError, match="data must offer __arrow_c_stream__"):
        gf.Sketch().update_table({"x": SCORES}, score="x", label=None, group="g")
    with pytest.raises(ValueError, match="got an empty list"):
        gf.Sketch().update_table(table, score="x", label=None, group=[])
    with pytest.raises(TypeError, match="data must be a table"):
        gf.Sketch().update_table(pa.chunked_array([SCORES]), score="x", label=None, group="g")
    sliced = pa.table({"x": SCORES, "g": GROUPS}).slice(1, 2)
    assert gf.Sketch().update_table(sliced, score="x", label=None, group="g").n_rows == 2


def test_data_without_rows_in_memory_is_refused_with_a_hint(tmp_path):
    pa, pd, pl = (pytest.importorskip(name) for name in ("pyarrow", "pandas", "polars"))
    dataset, parquet = pytest.importorskip("pyarrow.dataset"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"x": SCORES, "g": GROUPS})
    parquet.write_table(table, tmp_path / "rows.parquet")
    (tmp_path / "rows.csv").write_text("x,g\n0.5,F\n")
    folder, file = dataset.dataset(tmp_path / "rows.parquet"), parquet.ParquetFile(tmp_path / "rows.parquet")
    chunks = pd.read_csv(tmp_path / "rows.csv", chunksize=1)
    names = {"score": "x", "label": None, "group": "g"}
    for data, words in [
        (pl.LazyFrame({"x": SCORES, "g": GROUPS}), r"got LazyFrame; pass data\.collect\(\)$"),
        (folder, r"got FileSystemDataset; pass data\.scanner\(\)\.to_reader\(\)$"),
        (folder.scanner(), r"got Scanner; pass data\.to_reader\(\)$"),
        (file, r"got ParquetFile; call update_table for each of data\.iter_batches\(\)$"),
        (chunks, "got TextFileReader; call update_table for each piece of data$"),
        ([table], "got list; call update_table for each piece of data$"),
        ({"x": SCORES, "g": GROUPS}, r"got dict; pass pyarrow\.table\(data\)$"),
        ("rows.parquet", r"got str; open the file first: pyarrow\.dataset\.dataset\(path\)"),
        (tmp_path, r"Path; open the file first"),
        (np.zeros((4, 2)), "got ndarray$"),
    ]:
        with pytest.raises(TypeError, match="data must offer __arrow_c_stream__.*" + words):
            gf.Sketch().update_table(data, **names)
    expected = gf.Sketch.from_rows(SCORES, None, GROUPS)  # and the ways are right
    for data in (folder.scanner().to_reader(), *file.iter_batches()):
        assert gf.Sketch().update_table(data, **names) == expected
    chunks.close()


# ----------------------------------------------------------------------------------------------------------- bad input

NAN = float("nan")

BAD = [
    # scores
    (
        ([[0.1, 0.9]] * 4, LABELS, GROUPS),
        ValueError,
        r"scores must be 1-D, got shape \(4, 2\); pass proba\[:, 1\], not proba",
    ),
    ((np.zeros((4, 1)), LABELS, GROUPS), ValueError, r"scores must be 1-D, got shape \(4, 1\); pass one column"),
    (
        (np.float64(0.5), LABELS, GROUPS),
        ValueError,
        r"scores must be 1-D, got shape \(\); for a single row use update_one",
    ),
    ((0.5, LABELS, GROUPS), ValueError, r"scores must be 1-D, got shape \(\)"),
    ((None, LABELS, GROUPS), TypeError, "scores must be an array with one value per row, got None"),
    (("abcd", LABELS, GROUPS), TypeError, "scores must be an array with one value per row, got 'abcd'"),
    ((np.array([True] * 4), LABELS, GROUPS), TypeError, "scores must be real numbers, got bool"),
    ((np.array([1j] * 4), LABELS, GROUPS), TypeError, "scores must be real numbers, got complex"),
    ((["0.1"] * 4, LABELS, GROUPS), TypeError, "scores must be real numbers, got str at row 0"),
    ((np.array(["0.1"] * 4), LABELS, GROUPS), TypeError, "scores must be real numbers, got strings"),
    (([0.1, NAN, 0.2, 0.3], LABELS, GROUPS), ValueError, 'scores has NaN at row 1; drop such rows or pass nan="skip"'),
    (([0.1, None, 0.2, 0.3], LABELS, GROUPS), ValueError, "scores has NaN at row 1"),
    (
        ([0.1, 1e302, 0.2, 0.3], LABELS, GROUPS),
        ValueError,
        r"scores has 1e\+302 at row 1; finite scores must lie within 2\*\*1000",
    ),
    (
        ([0.1, decimal.Decimal("1e400"), 0.2, 0.3], LABELS, GROUPS),
        ValueError,
        r"scores has 1E\+400 at row 1; finite scores must lie within 2\*\*1000",
    ),
    (([0.1, decimal.Decimal("-1e400"), 0.2, 0.3], LABELS, GROUPS), ValueError, r"scores has -1E\+400 at row 1"),
    (([0.1, 10**400, 0.2, 0.3], LABELS, GROUPS), ValueError, "scores has 10*0 at row 1; finite"),
    # labels
    (
        (SCORES, [0, 1, -1, 0], GROUPS),
        ValueError,
        r"labels must be 0 or 1, got -1 at row 2; for -1/\+1 labels pass labels > 0",
    ),
    (
        (SCORES, np.array([0, 1, -1, 0], np.int8), GROUPS),
        ValueError,
        r"labels must be 0 or 1, got -1 at row 2; for -1/\+1",
    ),
    ((SCORES, [0, 1, 2, 0], GROUPS), ValueError, "labels must be 0 or 1, got 2 at row 2$"),
    ((SCORES, [0, None, 2, 0], GROUPS), ValueError, "labels must be 0 or 1, got 2 at row 2"),
    (
        (SCORES, np.array([0, 1, 2**64 - 1, 0], np.uint64), GROUPS),
        ValueError,
        "labels must be 0 or 1, got 18446744073709551615 at row 2$",
    ),
    ((SCORES, [0, 1, 0.5, 0], GROUPS), ValueError, "labels must be 0 or 1, got 0.5 at row 2"),
    ((SCORES, [0, 1, NAN, 0], GROUPS), ValueError, "labels has NaN at row 2; pass labels=None"),
    ((SCORES, ["0", "1", "1", "0"], GROUPS), TypeError, "labels must be 0 or 1, got str"),
    (
        (SCORES, np.array(["no", "yes", "yes", "no"]), GROUPS),
        TypeError,
        "labels must be 0 or 1, got strings; pass labels ==",
    ),
    ((SCORES, [[0, 1]] * 4, GROUPS), ValueError, r"labels must be 1-D, got shape \(4, 2\)"),
    # groups
    ((SCORES, LABELS, ["F", None, "M", "F"]), TypeError, "groups has a missing value at row 1; drop such rows"),
    ((SCORES, LABELS, ["F", NAN, "M", "F"]), TypeError, "groups has a missing value at row 1"),
    ((SCORES, LABELS, [1.0, NAN, 2.0, 1.0]), TypeError, "groups has a missing value at row 1"),
    (
        (SCORES, LABELS, [1.5, 2.0, 2.0, 1.0]),
        TypeError,
        "group names must be int, str, bool or tuples of these, got float",
    ),
    (
        (SCORES, LABELS, ["F", b"M", "F", "F"]),
        TypeError,
        "group names must be int, str, bool or tuples of these, got bytes at row 1",
    ),
    (
        (SCORES, LABELS, np.array(GROUPS, "S4")),
        TypeError,
        r"got bytes at row 0; decode bytes first: name.decode\(\), or np.char.decode\(groups\)",
    ),
    ((SCORES, LABELS, ["F", decimal.Decimal(1), "F", "F"]), TypeError, "got Decimal at row 1"),
    ((SCORES, LABELS, [("F", 1), ("F", ("M",)), "F", "F"]), TypeError, "got tuple at row 1"),
    (
        (SCORES, LABELS, [("F", 1), (), "F", "F"]),
        ValueError,
        "a group name may be a tuple of 1 to 16 values, got 0 at row 1",
    ),
    ((SCORES, LABELS, ["F", "\ud800", "F", "F"]), ValueError, "at row 1 is not valid Unicode"),
    ((SCORES, LABELS, [1, 2**63, 1, 1]), ValueError, "group 9223372036854775808 at row 1 does not fit into 64 bits"),
    ((SCORES, LABELS, [1, 2**70, 1, 1]), ValueError, "group 1180591620717411303424 at row 1 does not fit into 64 bits"),
    (
        (SCORES, LABELS, np.zeros((4, 2, 2), int)),
        ValueError,
        r"groups must be 1-D, got shape \(4, 2, 2\); for intersections pass a frame, or a list of columns",
    ),
    ((SCORES, LABELS, "FMFM"), TypeError, "groups must be an array with one value per row, got 'FMFM'"),
    ((SCORES, LABELS, None), TypeError, "groups must be an array with one value per row, got None"),
    ((SCORES, LABELS, [True, 1, True, 1]), ValueError, "groups has both True and 1, which Python cannot tell apart"),
    # lengths
    (
        ([0.1, 0.2, 0.3], [0, 1], [0, 0, 1]),
        ValueError,
        "arrays differ in length: scores has 3, labels has 2, groups has 3",
    ),
    (([0.1, 0.2, 0.3], None, [0, 0]), ValueError, "arrays differ in length: scores has 3, groups has 2"),
    (
        (np.zeros(3), np.zeros(3, int), np.zeros(0, int)),
        ValueError,
        "arrays differ in length: scores has 3, labels has 3, groups has 0",
    ),
]


@pytest.mark.parametrize(("rows", "error", "text"), BAD, ids=[text[:60] for _, _, text in BAD])
def test_bad_rows_are_named_and_change_nothing(backend, rows, error, text):
    sketch = gf.Sketch.from_rows(SCORES, LABELS, [7, 7, 8, 8])
    before = sketch.to_bytes()
    with pytest.raises(error, match=text):
        sketch.update(*rows)
    assert sketch.to_bytes() == before


LONG = np.finfo(np.longdouble).max > np.finfo(np.float64).max  # not on every platform


@pytest.mark.skipif(not LONG, reason="longdouble is float64 here")
def test_finite_scores_beyond_float64_are_refused_whatever_holds_them(backend):
    scores = np.array([0.5, "1e400"], np.longdouble)
    for given in (scores, scores.astype(object), list(scores), np.ma.array(scores, mask=[True, False])):
        with pytest.raises(ValueError, match=r"scores has 1e\+400 at row 1; finite scores must lie within 2\*\*1000"):
            gf.Sketch().update(given, None, [0, 0])
    with pytest.raises(ValueError, match=r"scores has .*1e\+400.*; finite"):
        gf.Sketch().update_one(scores[1], None, 0)
    masked = np.ma.array(scores, mask=[False, True])
    assert gf.Sketch(nan="skip").update(masked, None, [0, 0]).skipped == 1, "what a mask hides is nobody's score"
    infinite = np.array([0.5, np.inf, -np.inf], np.longdouble)
    assert gf.Sketch.from_rows(infinite, None, [0] * 3) == gf.Sketch.from_rows([0.5, np.inf, -np.inf], None, [0] * 3)


def test_infinite_scores_of_any_kind_are_counted_at_the_ends(backend):
    expected = gf.Sketch.from_rows([np.inf, -np.inf], None, [0, 0])
    ends = [decimal.Decimal("Infinity"), decimal.Decimal("-Infinity")]
    assert gf.Sketch.from_rows(ends, None, [0, 0]) == expected
    sketch = gf.Sketch()
    for score in ends:
        sketch.update_one(score, None, 0)
    assert sketch == expected


@pytest.mark.parametrize("end", [10**400, decimal.Decimal("1e400")])
def test_a_range_beyond_float64_is_refused(end):
    with pytest.raises(ValueError, match=r"range must be finite and lie within 2\*\*1000, got \(0, "):
        gf.Sketch(range=(0, end))


WHOLE = 2**53 + 1  # the first whole number that is no float64
KINDS_OF_WHOLE = {
    "int64": lambda w: np.array(w, np.int64),
    "uint64": lambda w: np.array(w, np.uint64),
    "big-endian": lambda w: np.array(w, ">i8"),
    "strided": lambda w: np.array([w, w], np.int64).T[:, 1],
    "list": list,
    "list with a float": lambda w: [*map(int, w[:-1]), float(w[-1])],
    "objects": lambda w: np.array(w, object),
    "decimals": lambda w: list(map(decimal.Decimal, w)),
    "longdouble": lambda w: np.array(list(map(str, w)), np.longdouble),
}


@pytest.mark.parametrize("kind", KINDS_OF_WHOLE)
def test_a_whole_weight_counts_exactly_so_often(backend, kind):
    if kind == "longdouble" and not LONG:
        pytest.skip("longdouble is float64 here")
    weights = KINDS_OF_WHOLE[kind]([WHOLE, 3, 0, 2**60])
    sketch = gf.Sketch.from_rows(SCORES, LABELS, GROUPS, weights=weights)
    assert sketch.n_rows == WHOLE + 3 + 2**60
    assert sketch.moments(0, "F").count == WHOLE
    assert not sketch.weighted
    assert sketch.groups == ("F", "M")


def test_whole_weights_of_tables_are_exact_and_nulls_are_refused(backend):
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    for table in (
        pa.table({"x": SCORES, "g": GROUPS, "w": [WHOLE] * 4}),
        pd.DataFrame({"x": SCORES, "g": GROUPS, "w": pd.array([WHOLE] * 4, "Int64")}),
    ):
        sketch = gf.Sketch().update_table(table, score="x", label=None, group="g", weight="w")
        assert sketch.n_rows == 4 * WHOLE
    with pytest.raises(ValueError, match="weights must be finite and not negative, got nan at row 1"):
        gf.Sketch().update(SCORES, None, GROUPS, weights=pd.array([1, None, 1, 1], "Int64"))


@pytest.mark.parametrize("weights", [np.array([1, -2, 1, 1]), [1, -2, 1, 1], np.array([1, -2, 1, 1], np.int8)])
def test_a_negative_whole_weight_is_named_as_it_was_given(backend, weights):
    with pytest.raises(ValueError, match="weights must be finite and not negative, got -2 at row 1"):
        gf.Sketch().update(SCORES, LABELS, GROUPS, weights=weights)


@pytest.mark.parametrize("weight", [-1.0, NAN, np.inf, -np.inf])
def test_bad_weights_are_named_and_change_nothing(backend, weight):
    sketch = gf.Sketch()
    with pytest.raises(ValueError, match=r"weights must be finite and not negative, got .* at row 1"):
        sketch.update(SCORES, LABELS, GROUPS, weights=[1, weight, 1, 1])
    with pytest.raises(ValueError, match="scores has 4, labels has 4, groups has 4, weights has 2"):
        sketch.update(SCORES, LABELS, GROUPS, weights=[1, 1])
    with pytest.raises(TypeError, match="weights must be real numbers, got str at row 0"):
        sketch.update(SCORES, LABELS, GROUPS, weights=["1"] * 4)
    with pytest.raises(ValueError, match="weights must be 1-D"):
        sketch.update(SCORES, LABELS, GROUPS, weights=np.ones((4, 1)))
    assert sketch == gf.Sketch()


@pytest.mark.parametrize(
    ("row", "error", "text"),
    [
        ((NAN, 1, "F"), ValueError, "scores has NaN; drop"),
        ((1e302, 1, "F"), ValueError, r"scores has 1e\+302; finite"),
        ((10**400, 1, "F"), ValueError, r"scores has 10*0; finite scores must lie within 2\*\*1000"),
        ((decimal.Decimal("1e400"), 1, "F"), ValueError, r"scores has Decimal\('1E\+400'\); finite"),
        ((decimal.Decimal("-1e400"), 1, "F"), ValueError, r"scores has Decimal\('-1E\+400'\); finite"),
        ((True, 1, "F"), TypeError, "score must be a number, got bool"),
        (("0.5", 1, "F"), TypeError, "score must be a number, got str"),
        ((None, 1, "F"), TypeError, "score must be a number, got NoneType"),
        ((0.5, -1, "F"), ValueError, r"labels must be 0 or 1, got -1; for -1/\+1 labels pass labels > 0"),
        ((0.5, 2, "F"), ValueError, "labels must be 0 or 1, got 2$"),
        ((0.5, 1, None), TypeError, "groups has a missing value; drop"),
        ((0.5, 1, 1.5), TypeError, "group names must be int, str, bool or tuples of these, got float; pass whole"),
        ((0.5, 1, 1.0), TypeError, "got float; pass whole numbers as int"),
        ((0.5, 1, NAN), TypeError, "groups has a missing value; drop"),
        ((0.5, 1, 2**63), ValueError, "group 9223372036854775808 does not fit into 64 bits"),
        ((0.5, 1, ["F"]), TypeError, "group names must be int, str, bool or tuples of these, got list"),
        ((0.5, 1, True), ValueError, "groups has both True and 1, which Python cannot tell apart"),
    ],
)
def test_a_bad_single_row_is_named_and_changes_nothing(backend, row, error, text):
    sketch = gf.Sketch.from_rows(SCORES, LABELS, [1, 2, 1, 2])
    before = sketch.to_bytes()
    with pytest.raises(error, match=text):
        sketch.update_one(*row)
    assert sketch.to_bytes() == before


@pytest.mark.parametrize("at", [0, 1, 16_500, 59_999])
@pytest.mark.parametrize("what", ["nan", "huge", "label", "group"])
def test_a_bad_row_deep_in_a_large_batch_is_found_and_nothing_counted(backend, at, what):
    n = 60_000
    if backend == "numpy" and at not in (1, 59_999):
        pytest.skip("the reference has no blocks")
    rng = np.random.default_rng(at)
    x, y, g = rng.normal(size=n), rng.integers(0, 2, n), rng.integers(0, 3, n)
    text = {"nan": "NaN", "huge": r"1e\+302", "label": "got -1", "group": "group 9"}[what]
    if what in ("nan", "huge"):
        x[at] = np.nan if what == "nan" else 1e302
    elif what == "label":
        y[at] = -1
    else:
        g[at] = 9
    sketch = gf.Sketch(groups=[0, 1, 2]).update([0.5], [1], [1])
    before = sketch.to_bytes()
    for threads in (1, 3):
        with pytest.raises(ValueError, match=f"{text}.* at row {at}|{text} at row {at}"):
            sketch.update(x, y, g, threads=threads)
    assert sketch.to_bytes() == before


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2"])
def test_bad_threads(backend, threads):
    with pytest.raises(ValueError, match="threads must be a whole number of at least 1, got"):
        gf.Sketch().update(np.array(SCORES), np.array(LABELS), np.array([1, 2, 1, 2]), threads=threads)
    with pytest.raises(ValueError, match="threads must be a whole number of at least 1, got"):
        gf.Sketch().update(SCORES, LABELS, GROUPS, threads=threads)


def test_one_row_one_class_and_nothing_are_fine(backend):
    assert gf.Sketch.from_rows([0.5], [1], ["a"]).counts.sum() == 1
    assert gf.Sketch.from_rows(SCORES, [1] * 4, GROUPS).counts[0].sum() == 0
    assert gf.Sketch.from_rows(np.empty(0), np.empty(0, int), np.empty(0, "U1")) == gf.Sketch()


def test_arrays_of_the_caller_are_neither_changed_nor_kept(backend):
    x, y, g = np.array(SCORES), np.array(LABELS), np.array([1, 2, 1, 2])
    copies = x.copy(), y.copy(), g.copy()
    gone = [weakref.ref(a) for a in (x, y, g)]
    gf.Sketch.from_rows(x, y, g)
    assert all(np.array_equal(a, b) for a, b in zip((x, y, g), copies, strict=True))
    assert sys.getrefcount(x) <= 3
    del x, y, g
    gc.collect()
    assert [ref() for ref in gone] == [None] * 3


def test_batches_are_clean_after_validation():
    batch = as_batch(SCORES, [0, None, 1, 1], GROUPS, [1, 2, 3, 4])
    assert (batch.scores.dtype, batch.weights.dtype) == (np.float64, np.int64)
    assert as_batch(SCORES, LABELS, GROUPS, [1, 2, 3, 0.5]).weights.dtype == np.float64
    assert batch.labels.tolist() == [0, 2, 1, 1]
    assert batch.unlabelled_code
    assert batch.names == ("F", "M")
    assert batch.codes.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("name", [b"F", np.bytes_(b"F")])
def test_bytes_as_the_name_of_one_group_are_refused_as_in_a_column(backend, name):
    for take in (lambda: gf.Sketch(groups=[name]), lambda: gf.Sketch().update_one(0.5, 1, name)):
        with pytest.raises(TypeError, match=r"got bytes.*; decode bytes first: name\.decode\(\)"):
            take()
