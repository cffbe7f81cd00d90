"""Where the C++ headers and the CMake package are, for programs that embed the core without Python."""

from __future__ import annotations

from pathlib import Path

__all__ = ["get_cmake_dir", "get_include"]

_HERE = Path(__file__).resolve().parent


def get_include() -> str:
    """Folder to give to the compiler: `#include "gstar/decide.hpp"` and `"gstar/capi.h"` are found in it.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> from pathlib import Path
    >>> Path(gf.get_include(), "gstar", "decide.hpp").is_file()
    True
    """
    return _found([_HERE / "include", _HERE.parent / "csrc"], "gstar/decide.hpp")


def get_cmake_dir() -> str:
    """Folder of the CMake package: `find_package(gstar)` with `-Dgstar_DIR=` set to it.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> from pathlib import Path
    >>> Path(gf.get_cmake_dir(), "gstarConfig.cmake").is_file()
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
