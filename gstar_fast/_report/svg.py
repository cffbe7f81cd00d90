"""Small pieces of SVG: scales, ticks, paths, markers. Positions only; what is drawn is decided by the figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gstar_fast._report.html import Html, tag


def place(value: float) -> str:
    """A coordinate with one decimal: a tenth of a pixel is finer than any eye."""
    text = f"{value:.1f}"
    return text.removesuffix(".0") if text != "-0.0" else "0"


@dataclass(frozen=True)
class Scale:
    """From values to coordinates; values beyond the ends stay at the ends."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """Coordinate of a value."""
        inside = min(max(value, self.low), self.high)
        return self.start + (inside - self.low) / (self.high - self.low) * (self.stop - self.start)

    def ticks(self, about: int = 5) -> list[tuple[float, str]]:
        """Round values within the scale, with their texts: steps of 1, 2 or 5 times a power of ten."""
        rough = (self.high - self.low) / about
        power = 10.0 ** math.floor(math.log10(rough))
        step = power * min((m for m in (1, 2, 5, 10) if power * m >= rough * 0.999), default=10)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        plain = digits <= 6 and abs(self.high) < 1e7 and abs(self.low) < 1e7
        values = [k * step for k in range(first, last + 1)]
        return [(v, f"{v + 0.0:.{digits}f}" if plain else f"{v:.3g}") for v in values]


def around(values: Iterable[float], margin: float = 0.06, floor: float | None = None) -> tuple[float, float]:
    """Ends of a scale that shows all values, with some air; not below `floor`."""
    finite = [v for v in values if math.isfinite(v)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    air = margin * (high - low) if high > low else max(abs(high) * 0.1, 0.01)
    low, high = low - air, high + air
    return (max(low, floor) if floor is not None else low), high


def polyline(points: Iterable[tuple[float, float]]) -> str:
    """Path data through the points; a point that rounds to the last one is left out."""
    shown: list[str] = []
    for x, y in points:
        text = f"{place(x)} {place(y)}"
        if not shown or shown[-1] != text:
            shown.append(text)
    return "M" + "L".join(shown)


def stairs(edges: Sequence[float], tops: Sequence[float], ground: float) -> str:
    """Path data of bars as one outline, so that no hairlines show between them."""
    parts = [f"M{place(edges[0])} {place(ground)}"]
    level: str | None = None
    for left, top in zip(edges[:-1], tops, strict=True):
        text = place(top)
        if text != level:
            parts.append(f"H{place(left)}V{text}")
            level = text
    parts.append(f"H{place(edges[-1])}V{place(ground)}Z")
    return "".join(parts)


_SHAPES = {
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "triangle": ((0, -1.25), (1.2, 0.95), (-1.2, 0.95)),
    "down": ((0, 1.25), (1.2, -0.95), (-1.2, -0.95)),
    "diamond": ((0, -1.35), (1.35, 0), (0, 1.35), (-1.35, 0)),
    "plus": (
        *((-0.45, -1.3), (0.45, -1.3), (0.45, -0.45), (1.3, -0.45), (1.3, 0.45), (0.45, 0.45)),
        *((0.45, 1.3), (-0.45, 1.3), (-0.45, 0.45), (-1.3, 0.45), (-1.3, -0.45), (-0.45, -0.45)),
    ),
    "cross": (
        *((0, -0.6), (0.7, -1.25), (1.25, -0.7), (0.6, 0), (1.25, 0.7), (0.7, 1.25)),
        *((0, 0.6), (-0.7, 1.25), (-1.25, 0.7), (-0.6, 0), (-1.25, -0.7), (-0.7, -1.25)),
    ),
    "star": tuple(
        (reach * math.sin(k * math.pi / 5), -reach * math.cos(k * math.pi / 5))
        for k, reach in enumerate((1.5, 0.65) * 5)
    ),
}


def marker(shape: str, x: float, y: float, classes: str, size: float = 5.0, title: str | None = None) -> Html:
    """A sign at a point; its title is read out and shown when pointed at."""
    named = tag("title", title) if title is not None else None
    if shape == "circle":
        return tag("circle", *([named] if named else []), cx=place(x), cy=place(y), r=place(size), class_=classes)
    corners = " ".join(f"{place(x + size * a)},{place(y + size * b)}" for a, b in _SHAPES[shape])
    return tag("polygon", *([named] if named else []), points=corners, class_=classes)


def line(x1: float, y1: float, x2: float, y2: float, classes: str) -> Html:
    """A straight line."""
    return tag("line", x1=place(x1), y1=place(y1), x2=place(x2), y2=place(y2), class_=classes)


def text(x: float, y: float, words: object, anchor: str = "start", classes: str | None = None) -> Html:
    """Words at a point."""
    return tag("text", words, x=place(x), y=place(y), text_anchor=None if anchor == "start" else anchor, class_=classes)


def dashes(pattern: Sequence[float]) -> str | None:
    """The attribute for a dashed line."""
    return " ".join(f"{p:g}" for p in pattern) or None


def svg(name: str, width: float, height: float, title: str, *children: object, classes: str = "") -> Html:
    """A picture that says what it is; `name` makes its ids unique in the page."""
    return tag(
        "svg",
        tag("title", title, id=f"{name}-title"),
        *children,
        viewBox=f"0 0 {place(width)} {place(height)}",
        role="img",
        aria_labelledby=f"{name}-title",
        class_=f"chart {classes}".strip(),
    )
