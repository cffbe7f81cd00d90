"""Integers of a column of groups -> slots of a sketch, as tables the compiled loop can read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gstar_fast._backends.numpy.decide import hash_key
from gstar_fast._base.arrays import DType, Values
from gstar_fast._base.names import Name, SortKey, sort_key

DIRECT = 1024  # small integers are looked up without hashing


class Lookup:
    """`direct[code]` for small codes, an open hash table for all others; a slot of -1 is not known yet.

    Names of groups come in steps, often of a power of two: the hash spreads them over the table.
    """

    def __init__(self, names: tuple[Name, ...] | None, dtype: DType) -> None:
        self.names, self.dtype = names, dtype
        self.known = 0  # slots already in the tables
        size = DIRECT if names is None else len(names)
        self.direct = np.full(size, -1, np.int32)
        self.keys, self.slots = np.zeros(16, np.uint64), np.full(16, -1, np.int32)
        self.used = 0

    @property
    def arrays(self) -> tuple[Values, ...]:
        """What the compiled loop reads."""
        return self.direct, self.keys, self.slots

    def extend(self, names: Sequence[Name], slots: Mapping[SortKey, int]) -> None:
        """Take up the groups that have come since."""
        if self.known == len(names):
            return
        if self.names is not None:
            self.direct[:] = [slots.get(sort_key(name), -1) for name in self.names]
        else:
            bits = 8 * self.dtype.itemsize
            lowest = -(1 << bits - 1) if self.dtype.kind == "i" else 0
            for slot in range(self.known, len(names)):
                name = names[slot]
                if type(name) is int and lowest <= name < lowest + (1 << bits):
                    self._insert(name % (1 << bits), slot)
        self.known = len(names)

    def slot(self, value: int, slots: Mapping[SortKey, int]) -> int:
        """The slot of one integer."""
        if self.names is None:
            return slots.get(sort_key(value), -1)
        return slots.get(sort_key(self.names[value]), -1) if 0 <= value < len(self.names) else -1

    def _insert(self, key: int, slot: int) -> None:
        if key < len(self.direct):
            self.direct[key] = slot
            return
        if 2 * (self.used + 1) > len(self.keys):
            taken = self.slots >= 0
            old = list(zip(self.keys[taken].tolist(), self.slots[taken].tolist(), strict=True))
            self.keys, self.slots = np.zeros(4 * len(self.keys), np.uint64), np.full(4 * len(self.keys), -1, np.int32)
            for pair in old:
                self._place(*pair)
        self._place(key, slot)
        self.used += 1

    def _place(self, key: int, slot: int) -> None:
        mask = len(self.keys) - 1
        at = hash_key(key) & mask
        while self.slots[at] >= 0:
            at = at + 1 & mask
        self.keys[at], self.slots[at] = key, slot
