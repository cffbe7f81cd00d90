"""Arrow columns and streams -> numpy views, through the PyCapsule interface and without an Arrow library.

The C structs are those of the Arrow C data interface. Buffers are viewed, not copied (bits and strings excepted); a
view keeps what it looks at alive, and every array handed over by a stream is released when its last view is gone.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Mapping
from ctypes import POINTER, Structure, c_char_p, c_int, c_int64, c_void_p
from typing import Any, NamedTuple

import numpy as np

from gstar_fast._base.arrays import Bools, DType, Values
from gstar_fast._base.refusals.refusal import Words, refusal
from gstar_fast._input.texts import Texts

FIRST_WITH_STREAMS = {"pandas": "2.2", "polars": "1.3"}  # whose frames have __arrow_c_stream__


class _Schema(Structure):
    pass


class _Array(Structure):
    pass


class _Stream(Structure):
    pass


_ReleaseSchema = ctypes.CFUNCTYPE(None, POINTER(_Schema))
_ReleaseArray = ctypes.CFUNCTYPE(None, POINTER(_Array))
_ReleaseStream = ctypes.CFUNCTYPE(None, POINTER(_Stream))

_Schema._fields_ = [
    ("format", c_char_p),
    ("name", c_char_p),
    ("metadata", c_void_p),
    ("flags", c_int64),
    ("n_children", c_int64),
    ("children", POINTER(POINTER(_Schema))),
    ("dictionary", POINTER(_Schema)),
    ("release", _ReleaseSchema),
    ("private_data", c_void_p),
]
_Array._fields_ = [
    ("length", c_int64),
    ("null_count", c_int64),
    ("offset", c_int64),
    ("n_buffers", c_int64),
    ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)),
    ("children", POINTER(POINTER(_Array))),
    ("dictionary", POINTER(_Array)),
    ("release", _ReleaseArray),
    ("private_data", c_void_p),
]
_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(c_int, POINTER(_Stream), POINTER(_Schema))),
    ("get_next", ctypes.CFUNCTYPE(c_int, POINTER(_Stream), POINTER(_Array))),
    ("get_last_error", ctypes.CFUNCTYPE(c_char_p, POINTER(_Stream))),
    ("release", _ReleaseStream),
    ("private_data", c_void_p),
]

_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, c_char_p]

_KINDS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")
_NUMBERS: dict[str, DType] = dict(zip("cCsSiIlLefg", map(np.dtype, _KINDS), strict=True))
_BYTE, _INT32, _INT64 = _NUMBERS["C"], _NUMBERS["i"], _NUMBERS["l"]
_BUFFERS = {"n": 0, "+s": 0, "u": 3, "U": 3, "vu": 3}  # that an array has at least, where it is not two
_OTHERS = {"d": "decimal", "t": "date or time", "+": "nested"} | dict.fromkeys("zZvw", "binary")


class Column(NamedTuple):
    """One column: its values, which of them are there (None: all), and what they index if they are codes.

    `names` holds the distinct strings, or the dictionary, with None for a null entry.
    """

    values: Values
    valid: Bools | None
    names: tuple[object, ...] | None


class _Memory:
    """What the pieces of one column have in common: texts keep their numbers, and a dictionary is read once."""

    def __init__(self) -> None:
        self._texts = Texts()
        self._names: tuple[str, ...] = ()
        self._entries: tuple[object, tuple[object, ...]] = (None, ())

    def texts(self, n: int) -> Texts:
        """Texts to number `n` more rows with; new ones where the old ones are many more than these can have."""
        if len(self._texts) > 256 + 2 * n:
            self._texts, self._names = Texts(), ()
        return self._texts

    def names(self) -> tuple[str, ...]:
        """All texts; the same object as long as none is new."""
        if len(self._texts) > len(self._names):
            self._names += tuple(text.decode("utf-8") for text in self._texts.since(len(self._names)))
        return self._names

    def entries(self, dictionary: Column) -> tuple[object, ...]:
        """The values of a dictionary, None for a null; the same object as long as it is the same."""
        values, valid, names = dictionary
        key = (names, values.dtype, values.tobytes(), None if valid is None else valid.tobytes())
        if key != self._entries[0]:
            entries: list[object] = values.tolist() if names is None else [names[code] for code in values.tolist()]
            if valid is not None:
                entries = [value if there else None for value, there in zip(entries, valid.tolist(), strict=True)]
            self._entries = (key, tuple(entries))
        return self._entries[1]


class _Owner:
    """Calls a struct's release, once, when the struct is no longer needed."""

    def __init__(self, struct: _Schema | _Array) -> None:
        self.struct = struct

    def __del__(self) -> None:
        if release := self.struct.release:
            release(ctypes.byref(self.struct))


def is_arrow(data: object) -> bool:
    """Whether an object hands out Arrow data."""
    return hasattr(data, "__arrow_c_array__") or hasattr(data, "__arrow_c_stream__")


def read_column(data: object, name: str) -> Column:
    """Read a whole column (an array, a chunked array, a series); `name` is what messages call it."""
    if hasattr(data, "__arrow_c_array__"):
        schema_capsule, array_capsule = data.__arrow_c_array__()
        schema = _Schema.from_address(_capsule_pointer(schema_capsule, b"arrow_schema"))
        array = _Array.from_address(_capsule_pointer(array_capsule, b"arrow_array"))
        return _column(schema, array, (schema_capsule, array_capsule), name, _Memory())
    memory = _Memory()
    chunks = [_column(schema, array, owner, name, memory) for schema, array, owner in _chunks(data)]
    return joined(chunks)


def read_batches(data: object, columns: list[str]) -> Iterator[list[Column]]:
    """Read the named columns of a table or stream, one record batch at a time."""
    places: list[int] = []
    called = [f"column {name!r}" for name in columns]
    memories = [_Memory() for _ in columns]
    for schema, array, owner in _chunks(data):
        places = places or _places(schema, columns)
        if array.null_count > 0:
            raise refusal("null_rows", "data")
        _check_array(_format(schema, "data"), schema, array, "data", 0, array.length)
        start, length = array.offset, array.length
        yield [
            _column(schema.children[i].contents, array.children[i].contents, owner, name, memory, start, length)
            for i, name, memory in zip(places, called, memories, strict=True)
        ]


def _places(schema: _Schema, columns: list[str]) -> list[int]:
    """Where the named columns of a table stand."""
    if _format(schema, "data") != "+s":
        raise refusal("not_a_table", "data", value=Words(_kind(schema)))
    found = [(schema.children[i].contents.name or b"").decode("utf-8") for i in range(schema.n_children)]
    for name in columns:
        if found.count(name) != 1:
            code = "no_such_column" if name not in found else "column_twice"
            raise refusal(code, "data", value=name, limit=", ".join(map(repr, found)))
    return [found.index(name) for name in columns]


def joined(chunks: list[Column]) -> Column:
    """Chunks of a column, each perhaps with its own dictionary -> one column."""
    if len(chunks) == 1:
        return chunks[0]
    if not chunks:
        return Column(np.empty(0), None, None)
    names = None
    parts = [chunk.values for chunk in chunks]
    if any(chunk.names is not None for chunk in chunks):
        index: dict[object, int] = {}
        for i, chunk in enumerate(chunks):
            places = [index.setdefault(name, len(index)) for name in chunk.names or ()]
            codes = chunk.values
            if places == list(range(len(places))) and (not len(codes) or codes.max() < len(places)):
                continue  # as they are, or nowhere
            # one more entry, for codes that stand for a null and point nowhere
            table = np.array([*places, -1], np.int64)
            parts[i] = table[np.where((codes >= 0) & (codes < len(places)), codes, -1).astype(np.int64)]
        names = tuple(index)
    valid = None
    if any(chunk.valid is not None for chunk in chunks):
        valid = np.concatenate([np.ones(len(c.values), bool) if c.valid is None else c.valid for c in chunks])
    return Column(np.concatenate(parts), valid, names)


def _way_out(data: object) -> str:
    """What to do with an object that has rows, or leads to them, but does not hand them out."""
    if isinstance(data, (str, os.PathLike)):
        return "; open the file first: pyarrow.dataset.dataset(path).scanner().to_reader() reads it piece by piece"
    if isinstance(data, Mapping):
        return "; pass pyarrow.table(data)"
    if isinstance(data, (Iterator, list, tuple)):  # such as read_csv(chunksize=...) of pandas
        return "; call update_table for each piece of data"
    ways = {
        "collect": "pass data.collect()",  # a LazyFrame of polars
        "scanner": "pass data.scanner().to_reader()",  # a dataset of pyarrow, and next its scanner
        "to_reader": "pass data.to_reader()",
        "iter_batches": "call update_table for each of data.iter_batches()",  # a Parquet file of pyarrow
    }
    if way := next((way for method, way in ways.items() if hasattr(data, method)), None):
        return f"; {way}"
    package = type(data).__module__.partition(".")[0]
    if type(data).__name__ == "DataFrame" and package in FIRST_WITH_STREAMS:
        here = sys.modules[package].__version__
        return f"; that needs {package} {FIRST_WITH_STREAMS[package]} or newer, and this is {here}"
    return ""


def _chunks(data: object) -> Iterator[tuple[_Schema, _Array, object]]:
    """Schema, array and owner of each chunk of a stream; the stream is released at the end, also of an error."""
    if not hasattr(data, "__arrow_c_stream__"):
        raise refusal("no_arrow", "data", value=data, limit=_way_out(data))
    capsule = data.__arrow_c_stream__(None)  # the schema that is asked for: polars 1.3 has no default
    stream = _Stream.from_address(_capsule_pointer(capsule, b"arrow_array_stream"))
    schema = _Schema()
    _check(stream, stream.get_schema(ctypes.byref(stream), ctypes.byref(schema)))
    schema_owner = _Owner(schema)
    get_next, this = stream.get_next, ctypes.byref(stream)
    while True:
        array = _Array()
        _check(stream, get_next(this, ctypes.byref(array)))
        if not array.release:
            break
        yield schema, array, (_Owner(array), schema_owner)
    del capsule  # its destructor releases the stream, so it must outlive the last call


def _check(stream: _Stream, code: int) -> None:
    if code:
        text = stream.get_last_error(ctypes.byref(stream))
        raise OSError(code, f"the Arrow stream failed: {text.decode('utf-8', 'replace') if text else 'no message'}")


def _column(
    schema: _Schema, array: _Array, owner: object, name: str, memory: _Memory, start: int = 0, length: int | None = None
) -> Column:
    """A column's rows from `start` on; a struct's offset counts for its children."""
    n = array.length - start if length is None else length
    kind = _format(schema, name)
    _check_array(kind, schema, array, name, start, n)
    first = array.offset + start
    if kind == "n":
        return Column(np.zeros(n, np.uint8), np.zeros(n, bool), None)
    valid = None
    if array.null_count != 0 and array.buffers[0]:
        valid = _bits(array.buffers[0], first, n, owner)
        if valid.all():
            valid = None
    names = None
    if kind in _NUMBERS:
        values = _view(array.buffers[1], _NUMBERS[kind], first, n, owner)
        if schema.dictionary:
            called = f"the dictionary of {name}"
            names = memory.entries(
                _column(schema.dictionary.contents, array.dictionary.contents, owner, called, memory)
            )
    elif kind == "b":
        values = _bits(array.buffers[1], first, n, owner)
    elif kind in ("u", "U", "vu"):
        values = _numbered(kind, name, array, first, n, owner, valid, memory.texts(n))
        names = memory.names() if n else ()
    else:
        raise refusal("arrow_type", name, value=Words(_kind(schema)))
    return Column(values, valid, names)


def _check_array(kind: str, schema: _Schema, array: _Array, name: str, start: int, n: int) -> None:
    """Reject a struct whose rows lie outside its buffers, as far as the struct shows."""
    needed = _BUFFERS.get(kind, 2)
    wrong, length, offset = None, array.length, array.offset
    if length < 0 or offset < 0 or start < 0 or n < 0:
        wrong = f"a length of {length} and an offset of {offset}"
    elif start + n > length:
        wrong = f"a length of {length}, where {start + n} rows are asked for"
    elif n and array.n_buffers < needed:
        wrong = f"{array.n_buffers} buffers, where the format {kind!r} needs {needed}"
    elif n and needed and not (array.buffers and array.buffers[1]):
        wrong = "no buffer of values"
    elif schema.dictionary and not array.dictionary:
        wrong = "codes without a dictionary"
    elif kind == "+s" and (array.n_children != schema.n_children or (array.n_children and not array.children)):
        wrong = f"{array.n_children} columns, where the schema has {schema.n_children}"
    if wrong is not None:
        raise refusal("arrow_array", name, value=wrong)


def _format(schema: _Schema, name: str) -> str:
    if schema.format is None:
        raise refusal("arrow_format", name)
    text: str = schema.format.decode("ascii", "replace")
    return text


def _kind(schema: _Schema) -> str:
    text = _format(schema, "data")
    return f"{text!r} ({_OTHERS.get(text[:1], 'unknown')})"


def _view(address: int | None, dtype: DType, first: int, n: int, owner: object) -> Values:
    """A read-only view of a buffer, which keeps the owner alive."""
    size = dtype.itemsize
    if not address or not n:
        return np.empty(0, dtype)
    memory: Any = (ctypes.c_char * (n * size)).from_address(address + first * size)
    memory.owner = owner
    view = np.frombuffer(memory, dtype)
    view.setflags(write=False)
    return view


def _bits(address: int, first: int, n: int, owner: object) -> Bools:
    lead = first % 8
    raw = _view(address, _BYTE, first // 8, (lead + n + 7) // 8, owner)
    return np.unpackbits(raw, count=lead + n, bitorder="little")[lead:].view(np.bool_)


def _numbered(
    kind: str, name: str, array: _Array, first: int, n: int, owner: object, valid: Bools | None, texts: Texts
) -> Values:
    """Codes of a column of strings."""
    if not n:
        return np.zeros(0, np.int64)
    if kind == "vu":
        views = _view(array.buffers[1], _BYTE, first * 16, n * 16, owner)
        n_data = array.n_buffers - 3  # validity, views, ..., and last the sizes of the data buffers
        sizes = _view(array.buffers[array.n_buffers - 1], _INT64, 0, n_data, owner).tolist() if n_data > 0 else []
        data = [_view(array.buffers[2 + i], _BYTE, 0, size, owner) for i, size in enumerate(sizes)]
        return texts.number_views(views, data, valid)
    offsets = _view(array.buffers[1], _INT32 if kind == "u" else _INT64, first, n + 1, owner)
    if offsets[-1] > 0 and not array.buffers[2]:
        raise refusal("arrow_array", name, value="no buffer of texts")
    bytes_ = _view(array.buffers[2], _BYTE, 0, max(int(offsets[-1]), 0), owner)
    return texts.number_offsets(offsets, bytes_, valid)
