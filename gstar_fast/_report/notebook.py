"""A figure that a notebook shows, with or without pyplot. Needs matplotlib."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

__all__ = ["Picture"]


class Picture(Figure):
    """A figure without a window. IPython knows how to draw a plain one only after pyplot was imported."""

    def _repr_png_(self) -> bytes:
        png = io.BytesIO()
        self.savefig(png, format="png")
        return png.getvalue()
