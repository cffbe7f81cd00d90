"""The distinct texts of a column and their numbers, in NumPy: `_core.Texts` where nothing could be compiled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gstar_fast._base.arrays import Bools, Flags, Ints, Values
from gstar_fast._base.refusals.refusal import refusal


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
        codes, distinct = _by_sweeps(private) or _by_dict(private)
        texts = [distinct[i : i + 1].tobytes() for i in range(len(distinct))]
        places = [self._numbers.setdefault(text, len(self._numbers)) for text in texts]
        return codes if places == list(range(len(places))) else np.array(places, np.int64)[codes]

    def _number(self, starts: Ints, lengths: Ints, data: Flags) -> Values:
        text, pairs = data.tobytes(), zip(starts.tolist(), lengths.tolist(), strict=True)
        numbers = (self._numbers.setdefault(text[start : start + n], len(self._numbers)) for start, n in pairs)
        return np.fromiter(numbers, np.int64, len(starts))


def _by_sweeps(values: Values, most: int = 32) -> tuple[Values, Values] | None:
    """Codes of fixed-width strings and the distinct ones, by a sweep for each; None if there are more than `most`."""
    raw = values.view(np.uint32).reshape(len(values), -1)
    # most names need one byte a character, and then often fit into one word
    raw = (raw.astype(np.uint8) if raw.max() < 256 else raw).view(np.uint8)
    padded = np.zeros((len(raw), -(-raw.shape[1] // 8) * 8), np.uint8)
    padded[:, : raw.shape[1]] = raw
    words = padded.view(np.uint64)
    codes, firsts = np.full(len(values), -1, np.int8), [0]
    while len(firsts) <= most:
        row = firsts[-1]
        same = words[:, 0] == words[row, 0]
        for column in range(1, words.shape[1]):
            same &= words[:, column] == words[row, column]
        codes[same] = len(firsts) - 1
        left = codes[row:] < 0
        step = int(left.argmax())
        if not left[step]:
            return codes, values[firsts]
        firsts.append(row + step)
    return None


def _by_dict(values: Values) -> tuple[Values, Values]:
    numbered = number_strings(values)
    assert numbered is not None
    return numbered[0], np.array(numbered[1], values.dtype)


def number_strings(values: Values | Sequence[object]) -> tuple[Values, tuple[str, ...]] | None:
    """Codes and names of a list or array of plain strings; None where a value is anything else."""
    private: list[object] = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if type(next(iter(private), None)) is not str or set(map(type, private)) != {str}:
        return None
    names: dict[str, None] = dict.fromkeys(private)  # type: ignore[arg-type]
    index = dict(zip(names, range(len(names)), strict=True))
    return np.fromiter(map(index.__getitem__, private), np.int64, len(private)), tuple(names)  # type: ignore[arg-type]
