"""Deciding in the compiled extension; raw methods, since a call costs more than a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gstar_fast._core import DecideCore, LiveCore, hash_keys
from gstar_fast._groups import clean_name

if TYPE_CHECKING:
    from gstar_fast._thresholds_io import Thresholds

__all__ = ["Core", "LiveCore", "hash_keys"]


class Core(DecideCore):
    """One set of thresholds, ready."""

    def __new__(cls, thresholds: Thresholds) -> Core:
        plain: dict[Any, float] = {}
        if not thresholds.unified and thresholds.mixtures is None:
            plain = dict(thresholds.values)
        return DecideCore.__new__(cls, thresholds.to_bytes(), plain, clean_name)
