"""Selects the backend: native if the extension was built, otherwise numba; numpy is the reference.

Each backend is a package with the modules `sketch`, `density`, `decide`, `solver` and `segments`, which have the same
interface on all of them. Numba compiles the first three and solves with the reference. A module is imported when `room`
is first called for it.
"""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import importlib.util
import os
import sys
from typing import TYPE_CHECKING, Literal, overload

if TYPE_CHECKING:
    from gstar_fast._backends import interface
    from gstar_fast._backends.common import segments as segments_interface
    from gstar_fast._backends.native import density as native_density
    from gstar_fast._backends.native import segments as native_segments
    from gstar_fast._backends.native import solver as native_solver
    from gstar_fast._backends.numba import density as numba_density
    from gstar_fast._backends.numpy import density as numpy_density
    from gstar_fast._backends.numpy import segments as numpy_segments
    from gstar_fast._backends.numpy import solver as numpy_solver

    # Here mypy holds each backend against the interface; sketches and deciders are subclasses of the reference's.
    _densities: tuple[interface.Densities, ...] = (native_density, numba_density, numpy_density)
    _solvers: tuple[interface.Solver, ...] = (native_solver, numpy_solver)
    _segments: tuple[segments_interface.Segments, ...] = (native_segments, numpy_segments)

from gstar_fast._base.public import lives_in
from gstar_fast._base.refusals.place import bad_option
from gstar_fast._base.warn import warn
from gstar_fast._words import BACKENDS

SOLVING = "solver", "segments"  # what Numba does not compile

_chosen: str | None = None


def checked(name: object) -> str:
    """Return the name of a backend that can be used here, or raise."""
    if name not in BACKENDS:
        raise bad_option("backend", f"backend must be one of {', '.join(BACKENDS)}; got {name!r}")
    if name == "native" and not has_native():
        raise ImportError(f"the native backend is not available: {why_no_native()}")
    return str(name)


def has_native() -> bool:
    """Whether the compiled extension was built."""
    return importlib.util.find_spec("gstar_fast._core") is not None


def why_no_native() -> str:
    """Why there is no compiled extension, and how to get it."""
    return hidden_native() or (  # without its cache, where pip keeps the wheel that it has built
        "gstar_fast was installed without its compiled extension. Install a C++17 compiler, then gstar-fast again: "
        "pip install --force-reinstall --no-deps --no-cache-dir"
    )


def hidden_native() -> str | None:
    """What to say where this package has no extension and hides an installed one that has it; None anywhere else.

    Python looks for packages in the folder it was started in before it looks among installed ones, so that in a clone
    it finds the source tree.
    """
    from pathlib import Path  # slow, and needed here only

    here = Path(__file__).resolve().parent.parent
    for folder in sys.path:
        other = importlib.machinery.PathFinder.find_spec("gstar_fast", [folder])
        places = [] if other is None else list(other.submodule_search_locations or ())
        if any(Path(place).resolve() == here for place in places):
            continue
        if importlib.machinery.PathFinder.find_spec("gstar_fast._core", places) is not None:
            return (
                f"gstar_fast was imported from the source tree {here}, which has no compiled extension; it hides the "
                f"installed package in {places[0]}, which has it. Start Python in another folder or with python -P, "
                "or build the extension here: pip install --editable ."
            )
    return None


@functools.cache  # once
def _say_why_no_native() -> None:
    text = f"the numba backend answers, more slowly than the native one: {why_no_native()}"
    warn(f"{text} (GSTAR_FAST_BACKEND=numba: as it is, without a warning)", RuntimeWarning)


def current() -> str:
    """Name of the backend that new objects use."""
    global _chosen
    if _chosen is None:
        asked = os.environ.get("GSTAR_FAST_BACKEND")
        if asked:
            try:
                _chosen = checked(asked)
            except ValueError as error:
                raise bad_option("GSTAR_FAST_BACKEND", f"GSTAR_FAST_BACKEND: {error}") from None
        elif has_native():
            _chosen = "native"
        else:
            _say_why_no_native()
            _chosen = "numba"
    return _chosen


@overload
def room(name: Literal["sketch"], backend: str | None = None) -> interface.Sketching: ...
@overload
def room(name: Literal["density"], backend: str | None = None) -> interface.Densities: ...
@overload
def room(name: Literal["decide"], backend: str | None = None) -> interface.Deciding: ...
@overload
def room(name: Literal["solver"], backend: str | None = None) -> interface.Solver: ...
@overload
def room(name: Literal["segments"], backend: str | None = None) -> segments_interface.Segments: ...
def room(name: str, backend: str | None = None) -> object:
    """Import one room of a backend, the current one if none is named."""
    backend = backend or current()
    if backend == "numba" and name in SOLVING:
        backend = "numpy"
    return importlib.import_module(f"gstar_fast._backends.{backend}.{name}")


@lives_in("gstar_fast")
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

    def __exit__(self, *error: object) -> None:
        global _chosen
        _chosen = self._before
