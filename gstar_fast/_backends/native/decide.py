"""Deciding in the compiled extension; raw methods, since a call costs more than a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from gstar_fast._core import DecideCore, LiveCore, hash_keys, own_methods

if TYPE_CHECKING:
    from gstar_fast._base.thresholds import Thresholds

__all__ = ["Core", "LiveCore", "finished", "hash_keys"]


class Core(DecideCore):
    """One set of thresholds, ready."""

    def __new__(cls, thresholds: Thresholds) -> Self:
        plain: dict[Any, float] = {}
        if not thresholds.unified and thresholds.mixtures is None:
            plain = dict(thresholds.values)
        return DecideCore.__new__(cls, thresholds.to_bytes(), plain)


def finished(kind: type[Any]) -> type[Any]:
    """A class made of a core and a face, with the core's quick methods as its own."""
    own_methods(kind)
    return kind
