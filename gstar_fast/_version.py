"""The version, read from the C++ header in which it is written.

In a wheel this file is another one: `setup.py` writes it with the number in it, so that nothing is read there.
"""

from pathlib import Path

__all__ = ["__version__"]


def _version_of(header: str) -> str:
    """The three numbers of the header, joined by dots."""
    lines = [line.split() for line in header.splitlines() if line.startswith("#define GSTAR_VERSION_")]
    return ".".join(value for _, _, value in lines)


# setuptools runs this file alone, without the package around it, to learn the version of what it builds.
__version__ = _version_of((Path(__file__).parents[1] / "csrc" / "gstar" / "version.hpp").read_text(encoding="utf-8"))
