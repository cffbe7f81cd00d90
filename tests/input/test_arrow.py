"""Arrow columns come in from every library without a copy, and are let go."""

from __future__ import annotations

import ctypes
import datetime
import gc
import weakref

import numpy as np
import pytest
from helpers.small_rows import GROUPS, LABELS, SCORES

import gstar_fast as gf
from gstar_fast._input import arrow


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


@pytest.mark.slow
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


class FaultyArray:
    """A producer whose array is changed on the way; it is mended before pyarrow releases it."""

    def __init__(self, data, **changes):
        self.data, self.changes = data, changes

    def __arrow_c_array__(self, requested_schema=None):
        schema, array = self.data.__arrow_c_array__()
        struct = arrow._Array.from_address(arrow._capsule_pointer(array, b"arrow_array"))
        for field, value in self.changes.items():
            if field.startswith("buffer_"):
                struct.buffers[int(field[-1])] = value
            else:
                setattr(struct, field, value)
        return schema, array


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"offset": -1}, "a length of 3 and an offset of -1"),
        ({"offset": -(2**62)}, "an offset of -4611686018427387904"),
        ({"length": -1}, "a length of -1"),
        ({"buffer_1": None}, "no buffer of values"),
        ({"n_buffers": 1}, "1 buffers, where the format 'g' needs 2"),
        ({"n_buffers": -7}, "-7 buffers"),
    ],
)
def test_an_arrow_array_with_rows_outside_its_buffers_is_rejected(backend, changes, found):
    pa = pytest.importorskip("pyarrow")
    sketch = gf.Sketch().update([0.5], None, [1])
    before = sketch.to_bytes()
    with pytest.raises(ValueError, match=f"scores is not a valid Arrow array: it has .*{found}"):
        sketch.update(FaultyArray(pa.array([0.25, 0.5, 0.75]), **changes), None, [1, 1, 1])
    assert sketch.to_bytes() == before


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"buffer_1": None}, "no buffer of values"),
        ({"buffer_2": None}, "no buffer of texts"),
        ({"n_buffers": 2}, "2 buffers, where the format 'u' needs 3"),
        ({"offset": -3}, "an offset of -3"),
    ],
)
def test_arrow_texts_outside_their_buffers_are_rejected(backend, changes, found):
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match=f"groups is not a valid Arrow array: it has .*{found}"):
        gf.Sketch().update([0.25, 0.5, 0.75], None, FaultyArray(pa.array(["a", "b", "c"]), **changes))


def test_arrow_codes_without_a_dictionary_are_rejected(backend):
    pa = pytest.importorskip("pyarrow")
    groups = FaultyArray(pa.array(["a", "b"]).dictionary_encode(), dictionary=None)
    with pytest.raises(ValueError, match="groups is not a valid Arrow array: it has codes without a dictionary"):
        gf.Sketch().update([0.25, 0.5], None, groups)


def test_an_empty_arrow_array_needs_no_buffers(backend):
    pa = pytest.importorskip("pyarrow")
    empty = FaultyArray(pa.array([], pa.float64()), buffer_1=None)
    assert gf.Sketch().update(empty, None, pa.array([], pa.string())).n_rows == 0
    no_letters = FaultyArray(pa.array(["", ""]), buffer_2=None)
    assert gf.Sketch().update([0.25, 0.5], None, no_letters).groups == ("",)


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


def test_an_old_frame_without_streams_names_the_version_that_has_them(monkeypatch):
    for package, old, first in (("pandas", "2.1.4", "2.2"), ("polars", "1.2.1", "1.3")):
        module = pytest.importorskip(package)
        monkeypatch.setattr(module, "__version__", old)
        frame = type("DataFrame", (), {"__module__": f"{package}.frame"})()
        words = f"got DataFrame; that needs {package} {first} or newer, and this is {old}$"
        with pytest.raises(TypeError, match=words.replace(".", r"\.")):
            gf.Sketch().update_table(frame, score="x", label=None, group="g")


def test_a_stream_may_want_to_be_told_that_no_schema_is_asked_for():
    pa = pytest.importorskip("pyarrow")

    class Told:  # as frames of polars 1.3
        def __arrow_c_stream__(self, requested_schema):
            assert requested_schema is None
            return pa.table({"x": SCORES, "g": GROUPS}).__arrow_c_stream__()

    assert gf.Sketch().update_table(Told(), score="x", label=None, group="g").n_rows == len(SCORES)


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
