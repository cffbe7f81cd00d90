"""Deciding in the compiled extension; raw methods, since a call costs more than a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from gstar_fast._base.names import Name
from gstar_fast._core import DecideCore, hash_keys

if TYPE_CHECKING:
    from gstar_fast._base.thresholds import Thresholds

__all__ = ["Core", "hash_keys"]


class Core(DecideCore):
    """One set of thresholds, ready."""

    def __new__(cls, thresholds: Thresholds) -> Self:
        plain: dict[Name, float] = {}
        if not thresholds.unified and thresholds.mixtures is None and thresholds.cuts is None:
            plain = dict(thresholds.values)
        return DecideCore.__new__(cls, thresholds.to_bytes(), plain)
