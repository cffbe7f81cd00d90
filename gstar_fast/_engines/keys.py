"""Sketches by key: rows that stand together by their keys -> a row of keys and the bytes of a sketch for each.

An engine sorts the rows of each partition, counts those of each key, and moves sketches, not rows: equal keys come
together, and their sketches are added. A task holds one key at a time, and nothing goes to the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._engines.adapter import check_columns, merged, named_columns, silent
from gstar_fast._sketch.sketch import Sketch

if TYPE_CHECKING:
    import pyarrow as pa

SKETCH: Final = "sketch"  # the column of sketches
AT_ONCE: Final = 256  # keys of a batch


class Piece(NamedTuple):
    """Rows of one key, as far as a batch has them."""

    key: tuple[object, ...]
    first: list[pa.Array]  # the keys of the first row
    rows: list[pa.Array]  # the other columns


def key_columns(by: object, column: str = SKETCH) -> tuple[str, ...]:
    """Names of the columns of keys, which differ from each other and from that of the sketches."""
    names = named_columns(by)
    check_columns([*names, column], [*names, *named_columns([column])], "by")
    return names


def merge_key(sketches: Iterable[object]) -> bytes:
    """The bytes of the sum of sketches, which a user's column has."""
    return merged(map(_checked, sketches), silent(Sketch())).to_bytes()


def merge_column(batches: Iterable[pa.RecordBatch]) -> bytes:
    """The same for the first column of batches."""
    return merge_key(chain.from_iterable(batch.column(0).to_pylist() for batch in batches))


def by_key(
    batches: Iterable[pa.RecordBatch], n_keys: int, answer: Callable[[pa.RecordBatchReader], bytes], names: list[str]
) -> Iterator[pa.RecordBatch]:
    """For each key the answer to its rows, of which one batch is held; without keys one answer, if there is a row.

    The rows are sorted by their first columns, which are the keys. The others get these names.
    """
    import pyarrow as pa

    keys: list[list[pa.Array]] = []
    answers: list[bytes] = []
    called: list[str] = []
    for _, pieces in groupby(_pieces(batches, n_keys, called), key=itemgetter(0)):
        piece = next(pieces)
        rows = (pa.RecordBatch.from_arrays(one.rows, names) for one in chain([piece], pieces))
        first = next(rows)
        keys.append(piece.first)
        answers.append(answer(pa.RecordBatchReader.from_batches(first.schema, chain([first], rows))))
        if len(keys) == AT_ONCE:
            yield _batch(keys, answers, called)
            keys, answers = [], []
    if keys:
        yield _batch(keys, answers, called)


def _pieces(batches: Iterable[pa.RecordBatch], n_keys: int, called: list[str]) -> Iterator[Piece]:
    """The pieces of all batches; the names of the keys go into the list."""
    import pyarrow.compute as pc

    for batch in batches:
        called[:] = batch.schema.names[:n_keys]
        keys = [_plain(one) for one in batch.columns[:n_keys]]
        ends = {end for one in keys for end in pc.run_end_encode(one).run_ends.to_pylist()}
        for start, end in pairwise(sorted({0, len(batch), *ends})):
            first = [one.slice(start, 1) for one in keys]
            key = tuple("NaN" if x != x else x for one in first for x in one.to_pylist())
            yield Piece(key, first, batch.slice(start, end - start).columns[n_keys:])


def _plain(keys: pa.Array) -> pa.Array:
    """Without a dictionary, of which each batch may have another, and with one zero."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(keys.type):
        return pc.add(keys, pa.scalar(0.0, keys.type))
    return keys.dictionary_decode() if pa.types.is_dictionary(keys.type) else keys


def _batch(keys: Sequence[Sequence[pa.Array]], answers: Sequence[bytes], called: Sequence[str]) -> pa.RecordBatch:
    import pyarrow as pa

    columns = [pa.concat_arrays(parts) for parts in zip(*keys, strict=True)]
    return pa.RecordBatch.from_arrays([*columns, pa.array(answers, pa.binary())], [*called, SKETCH])


def _checked(one: object) -> bytes:
    """A path is not read: it would be one of the worker."""
    if not isinstance(one, (bytes, bytearray, memoryview)):
        raise refusal("not_bytes", "a sketch", value=one, limit="gf.merge_all")
    return bytes(one)
