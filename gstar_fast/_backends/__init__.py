"""Which backend answers: native where the extension was built, else numba; numpy is the reference.

Each backend is a package of rooms with the same names (`sketch`, ...); a room exports the same interface on all of
them. Nothing is imported before it is asked for.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from types import ModuleType, TracebackType

BACKENDS = ("native", "numba", "numpy")

_chosen: str | None = None


def checked(name: object) -> str:
    """Return the name of a backend that can be used here, or raise."""
    if name not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}; got {name!r}")
    assert isinstance(name, str)
    if name == "native" and not has_native():
        raise ImportError(
            "the native backend is not there: gstar_fast was installed without its compiled extension; install a C++ "
            'compiler and reinstall gstar-fast, or use_backend("numba")'
        )
    return name


def has_native() -> bool:
    """Whether the compiled extension was built."""
    return importlib.util.find_spec("gstar_fast._core") is not None


def current() -> str:
    """Name of the backend that new objects use."""
    global _chosen
    if _chosen is None:
        asked = os.environ.get("GSTAR_FAST_BACKEND")
        if asked:
            try:
                _chosen = checked(asked)
            except ValueError as error:
                raise ValueError(f"GSTAR_FAST_BACKEND: {error}") from None
        else:
            _chosen = "native" if has_native() else "numba"
    return _chosen


def room(name: str, backend: str | None = None) -> ModuleType:
    """Import one room of a backend, the current one if none is named."""
    return importlib.import_module(f"gstar_fast._backends.{backend or current()}.{name}")


class use_backend:  # noqa: N801 (called like a function)
    """Choose the backend for everything made from now on, or inside a `with` block.

    Objects keep the backend they were made with; sketches of different backends merge.

    Parameters
    ----------
    name : {"native", "numba", "numpy"}
        Compiled C++, compiled by Numba, or the readable reference.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> with gf.use_backend("numpy"):
    ...     sketch = gf.Sketch()
    >>> sketch.backend
    'numpy'
    """

    def __init__(self, name: str) -> None:
        global _chosen
        name = checked(name)
        self._before = _chosen
        _chosen = name

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _chosen
        _chosen = self._before
