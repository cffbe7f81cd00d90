"""Deciding, the reference: one lookup and one compare, with every rule of docs/guide/decide.md in plain sight."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, SupportsFloat

import numpy as np

from gstar_fast._backends.interface import Key
from gstar_fast._base.arrays import Bools, Floats, Hashes, Ints, Values
from gstar_fast._base.names import Name, clean_name, listed
from gstar_fast._base.refusals.refusal import refusal

if TYPE_CHECKING:
    from gstar_fast._base.thresholds import Thresholds

__all__ = ["Core", "hash_keys"]

MASK = 2**64 - 1


# ----------------------------------------------------------------------------------------------------------------- keys


def hash_keys(keys: list[Key]) -> Hashes:
    """Hash the keys of rows: SplitMix64 of an int; of a str (UTF-8) or bytes, SplitMix64 of its FNV-1a."""
    return np.array([hash_key(key) for key in keys], np.uint64)


def hash_key(key: Key) -> int:
    """Hash one key."""
    if isinstance(key, (str, bytes)):
        number = 0xCBF29CE484222325
        for byte in key.encode("utf-8") if isinstance(key, str) else key:
            number = (number ^ byte) * 0x100000001B3 & MASK
    else:
        try:
            number = key.__index__()
        except AttributeError:
            raise refusal("key_type", "key", value=key) from None
        if not -(2**63) <= number < 2**64:
            raise refusal("key_size", "key", value=number)
    number = number + 0x9E3779B97F4A7C15 & MASK
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & MASK
    number = (number ^ number >> 27) * 0x94D049BB133111EB & MASK
    return number ^ number >> 31


def draws_of(hashes: Hashes) -> Floats:
    """The upper 53 bits as numbers in [0, 1)."""
    return np.ldexp((hashes >> np.uint64(11)).astype(np.float64), -53)


# ------------------------------------------------------------------------------------------------------------ decisions


def _number(score: SupportsFloat) -> float:
    """One score; text is not taken for one."""
    try:
        if not isinstance(score, (str, bytes)):
            return float(score)
    except TypeError:
        pass
    raise refusal("score_to_decide", "score", value=score)


class Core:
    """One set of thresholds, ready."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._set = thresholds
        self._names = tuple(thresholds.values)
        self._places = {name: place for place, name in enumerate(self._names)}
        unknown = thresholds.unknown_threshold
        # one more entry, for unknown groups; NaN where they are refused
        self._values = np.array([*thresholds.values.values(), np.nan if unknown is None else unknown])
        self._numbers: list[float] = self._values.tolist()  # the same, for one row

    def one(self, score: float, group: Name | float | None = None, key: Key | None = None) -> bool:
        """Decide one row."""
        number = _number(score)
        if self._set.unified:
            return self._compare(number, self._numbers[0])
        if group is None:
            raise refusal("needs_groups", "group")
        called = clean_name(group) if self._set.cuts is None else self._segment_of(group)
        place = -1 if called is None else self._places.get(called, -1)
        if place < 0 and self._set.unknown == "raise":
            self._refuse_unknown(called, None)
        if place >= 0 and self._set.mixtures is not None:
            if key is None:
                raise refusal("needs_key", "key")
            places, hashes = np.array([place]), hash_keys([key])
            return self._compare(number, float(self._drawn(places, hashes)[0]))
        return self._compare(number, self._numbers[place])

    def _segment_of(self, group: object) -> int | None:
        """The segment of the number that stands for a group; None for NaN.

        A whole number is refused: it may be the segment itself.
        """
        assert self._set.cuts is not None
        try:
            if not isinstance(group, (str, bytes)) and not hasattr(group, "__index__"):
                number = float(group)  # type: ignore[arg-type]  # what is no number says so
                return bisect_right(self._set.cuts, number) if number == number else None
        except TypeError:
            pass
        raise refusal("needs_numbers", "group", value=group)

    def _compare(self, score: float, threshold: float) -> bool:
        if score == score:
            return score >= threshold
        if self._set.nan == "raise":
            raise refusal("undecided_nan", "scores")
        return bool(self._set.nan)

    def decide(
        self,
        scores: Values,
        codes: Values | None,
        names: tuple[Name, ...] | None,
        as_codes: bool,
        keys: Hashes | None,
        threads: int,  # noqa: ARG002 (the reference has one)
        out: Bools | None,
    ) -> Bools:
        """Decide clean arrays of one length."""
        private, thresholds, missing = self._read(scores, codes, names, as_codes, keys)
        answers = np.greater_equal(private, thresholds, out=out)
        answers[missing] = bool(self._set.nan)
        return answers

    def margins(
        self,
        scores: Values,
        codes: Values | None,
        names: tuple[Name, ...] | None,
        as_codes: bool,
        keys: Hashes | None,
        threads: int,  # noqa: ARG002
    ) -> Floats:
        """Score minus threshold; 0 where both are the same infinity."""
        private, thresholds, _ = self._read(scores, codes, names, as_codes, keys)
        with np.errstate(invalid="ignore", over="ignore"):
            return np.where(private == thresholds, 0.0, private - thresholds)

    def _read(
        self, scores: Values, codes: Values | None, names: tuple[Name, ...] | None, as_codes: bool, keys: Hashes | None
    ) -> tuple[Floats, Floats, Bools]:
        """The only read of the rows: scores, exactly, their thresholds, and which scores are NaN."""
        private = np.array(scores, np.float64)
        thresholds = self._thresholds_of(len(private), codes, names, as_codes, keys)
        missing = np.isnan(private)
        if missing.any() and self._set.nan == "raise":
            raise refusal("undecided_nan", "scores", int(missing.argmax()))
        return private, thresholds, missing

    def _thresholds_of(
        self, n: int, codes: Values | None, names: tuple[Name, ...] | None, as_codes: bool, keys: Hashes | None
    ) -> Floats:
        if self._set.unified:
            return np.full(n, self._values[0])
        if codes is None:
            raise refusal("needs_groups", "groups")
        if self._set.mixtures is not None and keys is None:
            raise refusal("needs_keys", "keys")
        private = np.array(codes)
        if self._set.cuts is not None and not as_codes:
            private = self._segments_of(private)
        places = self._places_of(private, names, as_codes)
        unknown = places < 0
        if self._set.unknown == "raise" and unknown.any():
            row = int(unknown.argmax())
            number = int(private[row])
            if as_codes:
                raise refusal("no_such_position", "groups", row, number, len(self._names))
            by_number = self._set.cuts is not None and number < 0  # NaN
            self._refuse_unknown(None if by_number else number if names is None else names[number], row)
        if self._set.mixtures is not None:
            assert keys is not None
            return self._drawn(places, keys)
        thresholds: Floats = self._values[places]
        return thresholds

    def _segments_of(self, numbers: Values) -> Ints:
        """How many cut points each number reaches; -1 for NaN, which no group is called."""
        if numbers.dtype.kind != "f":
            raise refusal("needs_numbers", "groups")
        wide = numbers.astype(np.float64)  # exact
        segments = np.searchsorted(np.array(self._set.cuts), wide, side="right")
        return np.where(np.isnan(wide), -1, segments).astype(np.int64)

    def _places_of(self, codes: Values, names: tuple[Name, ...] | None, as_codes: bool) -> Ints:
        """Position of each row's group, -1 where it has no threshold."""
        if as_codes:
            return np.where((codes >= 0) & (codes < len(self._names)), codes, -1).astype(np.int64)
        if names is not None:
            wrong = (codes < 0) | (codes >= len(names))
            if wrong.any():
                raise refusal("missing_group", "groups", int(wrong.argmax()))
            return np.array([self._places.get(name, -1) for name in names], np.int64)[codes.astype(np.int64)]
        unique, inverse = np.unique(codes, return_inverse=True)
        table = np.array([self._places.get(name, -1) for name in unique.tolist()], np.int64)
        return table[inverse.reshape(-1)] if len(table) else np.empty(0, np.int64)

    def _drawn(self, places: Ints, keys: Hashes) -> Floats:
        """The threshold each row draws: the first of its group's whose summed probability is above the draw."""
        assert self._set.mixtures is not None
        draws = draws_of(keys)
        thresholds: Floats = self._values[places]
        for place, name in enumerate(self._names):
            mixture = self._set.mixtures[name]
            rows = np.flatnonzero(places == place)
            sums = np.cumsum([p for _, p in mixture[:-1]])
            chosen = np.searchsorted(sums, draws[rows], side="right")
            thresholds[rows] = np.array([t for t, _ in mixture])[chosen]
        return thresholds

    def _refuse_unknown(self, name: Name | None, row: int | None) -> None:
        if name is None:
            raise refusal("segment_nan", "groups", row)
        if self._set.cuts is not None:
            raise refusal("empty_segment", "groups", row, name, listed(self._names))
        raise refusal("no_threshold", "groups", row, name, listed(self._names))
