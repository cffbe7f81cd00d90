"""Loops that are compiled once for all processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def jit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Numba's njit with a cache: in the package's `__pycache__`, else in the user's folder of caches.

    Where neither can be written to, each process compiles. NUMBA_CACHE_DIR in the environment names another folder.
    """

    def compiled(loop: Callable[..., Any]) -> Any:
        try:
            return njit(cache=True, nogil=True, **options)(loop)
        except RuntimeError:  # no folder for the cache
            return njit(nogil=True, **options)(loop)

    return compiled
