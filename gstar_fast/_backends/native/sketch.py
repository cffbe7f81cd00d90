"""The sketch of the compiled extension; it has the interface of the reference and needs no Python in between."""

from gstar_fast._core import SketchCore as Core

__all__ = ["Core"]
