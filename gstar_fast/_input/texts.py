"""Texts and their numbers: compiled where that could be, else in NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gstar_fast._input.distinct import Texts, number_strings
else:
    try:
        from gstar_fast._core import Texts, number_strings
    except ImportError:
        from gstar_fast._input.distinct import Texts, number_strings

__all__ = ["Texts", "number_strings"]
