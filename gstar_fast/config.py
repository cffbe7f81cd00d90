"""What is installed here: backend, kernel, compiler, versions, headers."""

from __future__ import annotations

import importlib
from pathlib import Path

from gstar_fast import _backends

__all__ = ["get_cmake_dir", "get_include", "show_config"]

_HERE = Path(__file__).resolve().parent


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version  # slow, and needed here only

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def versions(*packages: str) -> dict[str, str]:
    """Backend, kernel and compiler in use, and the versions of these packages."""
    import platform

    core = importlib.import_module("gstar_fast._core") if _backends.has_native() else None
    return {
        "gstar_fast": _version("gstar-fast"),
        "backend": _backends.current(),
        "kernel": "none: the extension was not built" if core is None else core.kernel(),
        "compiler": "none" if core is None else core.compiler,
        "python": f"{platform.python_version()}, {platform.system()} {platform.machine()}",
        **{package: _version(package) for package in packages},
    }


def show_config() -> None:
    """Print which backend and kernel are in use, the compiler, and the versions of what matters.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> gf.config.show_config()  # doctest: +SKIP
    gstar_fast 0.1.0
    backend    native
    kernel     avx2
    compiler   GCC 12.2.0
    python     3.11.2, Linux x86_64
    numpy      2.4.6
    numba      0.68.1
    scipy      1.17.0
    """
    print("\n".join(f"{key:<10} {value}" for key, value in versions("numpy", "numba", "scipy").items()))


def get_include() -> str:
    """Folder to give to the compiler: `#include "gstar/decide.hpp"` and `"gstar/capi.h"` are found in it.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> from pathlib import Path
    >>> Path(gf.config.get_include(), "gstar", "decide.hpp").is_file()
    True
    """
    return _found([_HERE / "include", _HERE.parent / "csrc"], "gstar/decide.hpp")


def get_cmake_dir() -> str:
    """Folder of the CMake package: `find_package(gstar)` with `-Dgstar_DIR=` set to it.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> from pathlib import Path
    >>> Path(gf.config.get_cmake_dir(), "gstarConfig.cmake").is_file()
    True
    """
    return _found([_HERE / "cmake", _HERE.parent / "cmake"], "gstarConfig.cmake")


def _found(folders: list[Path], file: str) -> str:
    """The first folder that has the file: in an installed package beside this module, in a checkout one up."""
    for folder in folders:
        if (folder / file).is_file():
            return str(folder)
    raise FileNotFoundError(
        f"this installation of gstar_fast came without {file}; reinstall it from a wheel or an sdist"
    )
