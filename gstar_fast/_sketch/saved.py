"""What sketches and windows share: they become bytes, files and pickles, and come back."""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import Any, Self, Unpack

from gstar_fast._base import files
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._input.options import Passing, checked_reading
from gstar_fast._sketch.options import ReadOptions


class Saved:
    """Something that bytes hold, but for the options of `ReadOptions`."""

    @abstractmethod
    def to_bytes(self) -> bytes:
        """The bytes: versioned, checksummed, the same for the same rows on every platform."""

    @abstractmethod
    def _read(self, data: bytes, passing: Passing, limit: int) -> None:
        """Become what the bytes hold, with these options."""

    @classmethod
    def from_bytes(cls, data: bytes, **options: Unpack[ReadOptions]) -> Self:
        """Read what `to_bytes` wrote. Anything else raises ValueError.

        `nan`, `missing`, `memory_limit` and `missing_group` are as in `Sketch`: bytes hold none of them. `memory_limit`
        is for each pane of a window; reading one takes the memory of one pane, since older panes stay bytes until
        `sketch` adds them up.
        """
        try:
            plain = bytes(memoryview(data))
        except TypeError:
            raise refusal("not_bytes", "data", value=data, limit=f"{cls.__name__}.load(path)") from None
        return cls._of_bytes(plain, *checked_reading(**options))

    @classmethod
    def _of_bytes(cls, data: bytes, passing: Passing, limit: int) -> Self:
        new = cls.__new__(cls)
        new._read(data, passing, limit)
        return new

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bytes to a file, atomically: the old file stays until the new one is whole and on disk."""
        files.write_atomically(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str], **options: Unpack[ReadOptions]) -> Self:
        """Read a file that `save` wrote; options as in `from_bytes`."""
        passing, limit = checked_reading(**options)
        data = files.read_limited(path, lambda head: cls._sketches_in(head) * (2 * limit + 2**20))
        return cls._of_bytes(data, passing, limit)

    @classmethod
    def _sketches_in(cls, _head: bytes) -> int:
        """How many sketches a file holds, by its first 64 bytes."""
        return 1

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._read(state["data"], Passing(*state["skip"]), state["memory_limit"])
