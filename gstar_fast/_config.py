"""What this installation runs on: backend, kernel, compiler, versions."""

from __future__ import annotations

import importlib

from gstar_fast import _backends

__all__ = ["show_config"]


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version  # slow, and needed here only

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def show_config() -> None:
    """Print which backend and kernel are in use, the compiler, and the versions of what matters.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> gf.show_config()  # doctest: +SKIP
    gstar_fast 0.1.0
    backend    native
    kernel     avx2
    compiler   GCC 12.2.0
    python     3.11.2, Linux x86_64
    numpy      2.4.6
    numba      0.68.1
    scipy      1.17.0
    """
    import platform

    lines = [("gstar_fast", _version("gstar-fast")), ("backend", _backends.current())]
    if _backends.has_native():
        core = importlib.import_module("gstar_fast._core")
        lines += [("kernel", core.kernel()), ("compiler", core.compiler)]
    else:
        lines += [("kernel", "none: the extension was not built"), ("compiler", "none")]
    lines.append(("python", f"{platform.python_version()}, {platform.system()} {platform.machine()}"))
    lines += [(package, _version(package)) for package in ("numpy", "numba", "scipy")]
    print("\n".join(f"{key:<10} {value}" for key, value in lines))
