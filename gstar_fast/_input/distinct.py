"""The distinct texts of a column and their numbers, in NumPy: `_core.Texts` where nothing could be compiled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gstar_fast._base.arrays import Bools, Flags, Ints, Values
from gstar_fast._base.refusals.refusal import refusal

# all ones in the first 0 to 8 bytes of a little-endian word
_FIRST_BYTES = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)


class Texts:
    """Texts, which may be any bytes, numbered in the order they come; a row that is not valid has the empty one."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def since(self, first: int) -> list[bytes]:
        """The texts from a number on."""
        return list(self._numbers)[first:]

    def number_offsets(self, offsets: Values, data: Flags, valid: Bools | None) -> Values:
        """Text i goes from offset i to offset i + 1."""
        private = np.array(offsets, np.int64)
        starts, lengths = private[:-1], np.diff(private)
        if len(starts) and (lengths.min() < 0 or starts[0] < 0 or private[-1] > len(data)):
            raise refusal("arrow_offsets")
        return self._number(starts, lengths if valid is None else np.where(valid, lengths, 0), data)

    def number_views(self, views: Flags, data: Sequence[Flags], valid: Bools | None) -> Values:
        """Views of 16 bytes: short texts lie in the view itself, long ones in a buffer."""
        raw = np.array(views)
        fields = raw.view(np.int32).reshape(-1, 4)
        lengths = fields[:, 0].astype(np.int64)
        if valid is not None:
            lengths = np.where(valid, lengths, 0)  # what a null's view holds is anybody's guess
        starts = np.arange(len(fields), dtype=np.int64) * 16 + 4
        long = (lengths > 12) | (lengths < 0)
        if long.any():
            sizes = np.array([len(part) for part in data], np.int64)
            length, buffer, place = lengths[long], fields[long, 2], fields[long, 3].astype(np.int64)
            fine = (length >= 0) & (buffer >= 0) & (buffer < len(sizes)) & (place >= 0)
            if not fine.all() or (place + length > sizes[buffer]).any():
                raise refusal("arrow_view")
            starts[long] = len(raw) + (np.cumsum(sizes) - sizes)[buffer] + place
            raw = np.concatenate([raw, *data])
        return self._number(starts, lengths, raw)

    def number_records(self, records: Values) -> Values:
        """Strings of one width, of which zeros at the end are no part."""
        private = np.ascontiguousarray(records).copy()
        raw = private.view(np.uint8).reshape(len(private), -1)
        codes, firsts = unique_words(_as_words(private, raw))
        return self._renumbered(codes, [raw[row].tobytes() for row in firsts.tolist()])

    def _number(self, starts: Ints, lengths: Ints, data: Flags) -> Values:
        if not len(starts):
            return np.zeros(0, np.int64)
        longest = int(lengths.max())
        if longest >= 64:
            text = data.tobytes()
            pairs = zip(starts.tolist(), lengths.tolist(), strict=True)
            numbers = (self._numbers.setdefault(text[s : s + n], len(self._numbers)) for s, n in pairs)
            return np.fromiter(numbers, np.int64, len(starts))
        n_words = longest // 8 + 1  # at least one byte is left, for the length: it tells "a" from "a\\0"
        padded = np.zeros(len(data) + 8 * n_words + 8, np.uint8)
        padded[: len(data)] = data
        from_any_byte = np.ndarray(len(data) + 8 * n_words + 1, "<u8", padded, strides=(1,))
        words = np.empty((len(starts), n_words), np.uint64)
        for word in range(n_words):
            words[:, word] = from_any_byte[starts + 8 * word] & _FIRST_BYTES[np.clip(lengths - 8 * word, 0, 8)]
        words[:, -1] |= lengths.astype(np.uint64) << np.uint64(56)
        codes, rows = unique_words(words)
        return self._renumbered(codes, [padded[starts[row] :][: lengths[row]].tobytes() for row in rows.tolist()])

    def _renumbered(self, codes: Values, texts: list[bytes]) -> Values:
        places = [self._numbers.setdefault(text, len(self._numbers)) for text in texts]
        return codes if places == list(range(len(places))) else np.array(places, np.int64)[codes]


def _as_words(values: Values, raw: Flags) -> NDArray[np.uint64]:
    """Fixed-width strings, whose bytes are `raw`, as rows of 64-bit words."""
    chars = values.view(np.uint32).reshape(len(values), -1)
    if chars.max() < 256:  # most names need one byte a character, and then often fit into one word
        raw = chars.astype(np.uint8)
    words = np.zeros((len(raw), -(-raw.shape[1] // 8) * 8), np.uint8)
    words[:, : raw.shape[1]] = raw
    return words.view(np.uint64)


def unique_words(words: NDArray[np.uint64]) -> tuple[Values, Ints]:
    """Number the distinct rows of a matrix in order of appearance; also the first row of each."""
    codes, firsts = unique_keys(_mix(words))
    if words.shape[1] > 1 and not np.array_equal(words, words[firsts[codes]]):  # two rows with one key
        _, first, inverse = np.unique(words, axis=0, return_index=True, return_inverse=True)
        return _by_appearance(first, inverse.reshape(-1))
    return codes, firsts


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    keys: NDArray[np.uint64] = words[:, 0].copy()
    for column in range(1, words.shape[1]):
        keys = (keys ^ (keys >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15) + words[:, column]
    return keys


def unique_keys(keys: NDArray[np.uint64]) -> tuple[Values, Ints]:
    """Number the distinct keys in order of appearance; also the first row of each."""
    codes = np.full(len(keys), -1, np.int8)
    firsts: list[int] = []
    row = 0
    # Few groups are the rule: one sweep for each beats sorting. Give up where they turn out to be many.
    while len(firsts) < 32:
        codes[keys == keys[row]] = len(firsts)
        firsts.append(row)
        left = codes[row:] < 0
        step = int(left.argmax())
        if not left[step]:
            return codes, np.array(firsts, np.int64)
        row += step
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return _by_appearance(first, inverse)


def _by_appearance(first: Values, inverse: Values) -> tuple[Ints, Ints]:
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[inverse], first[order].astype(np.int64)


def number_strings(values: Values | Sequence[object]) -> tuple[Values, tuple[str, ...]] | None:
    """Codes and names of a list or array of plain strings; None where a value is anything else."""
    private: list[object] = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if type(next(iter(private), None)) is not str or set(map(type, private)) != {str}:
        return None
    names: dict[str, None] = dict.fromkeys(private)  # type: ignore[arg-type]
    index = dict(zip(names, range(len(names)), strict=True))
    return np.fromiter(map(index.__getitem__, private), np.int64, len(private)), tuple(names)  # type: ignore[arg-type]
