"""Plots as SVG text: panels with axes, lines and points, readable on white and on black."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from math import floor, log10

COLOURS = ("#1f6f8b", "#b5541c", "#5b8c3a", "#8c4f9e", "#c2932b", "#c0446c", "#3f6fb5", "#7a6a55", "#2a9d8f", "#9a3b3b")
COLOURS += ("#6d7f2e", "#4b4fa3", "#a86f3d", "#44807a", "#b04fae", "#777777", "#d07f7f", "#5f9fd0", "#8fae5a")
STAR = ((0, -1.7), (0.45, -0.5), (1.6, -0.5), (0.7, 0.3), (1.05, 1.5))
STAR += ((0, 0.8), (-1.05, 1.5), (-0.7, 0.3), (-1.6, -0.5), (-0.45, -0.5))
SHAPES = ("circle", "square", "triangle", "diamond")
STYLE = """<style>
text { font: 12px system-ui, sans-serif; fill: #222 } .small { font-size: 10.5px; fill: #555 }
.title { font-weight: 600 } .rule { stroke: #e4e4e4 } .axis { stroke: #888; fill: none } .paper { fill: #fff }
.band { fill: #88888822 }
@media (prefers-color-scheme: dark) {
text { fill: #ddd } .small { fill: #aaa } .rule { stroke: #333 } .axis { stroke: #777 } .paper { fill: #16181c }
}
</style>"""


@dataclass
class Panel:
    """A rectangle with two axes; what is drawn goes into `parts`."""

    left: float
    top: float
    width: float
    height: float
    x: tuple[float, float]
    y: tuple[float, float]
    log_x: bool = False
    parts: list[str] = field(default_factory=list)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a point is drawn; beyond the axes, at their end."""
        low, high = (log10(v) for v in self.x) if self.log_x else self.x
        here = log10(max(x, self.x[0])) if self.log_x else x
        across = min(max((here - low) / (high - low), 0.0), 1.0)
        up = min(max((y - self.y[0]) / (self.y[1] - self.y[0]), 0.0), 1.0)
        return self.left + self.width * across, self.top + self.height * (1 - up)

    def frame(self, title: str, x_name: str, y_name: str, x_ticks: Sequence[float] | None = None) -> Panel:
        """Axes, ticks and their names."""
        bottom, right = self.top + self.height, self.left + self.width
        for tick in x_ticks if x_ticks is not None else ticks(*self.x):
            px = self.at(tick, self.y[0])[0]
            self.parts.append(f'<line class="rule" x1="{px:.1f}" x2="{px:.1f}" y1="{self.top:.1f}" y2="{bottom:.1f}"/>')
            self.parts.append(text(px, bottom + 13, number(tick), "small", "middle"))
        for tick in ticks(*self.y):
            py = self.at(self.x[0], tick)[1]
            self.parts.append(f'<line class="rule" x1="{self.left:.1f}" x2="{right:.1f}" y1="{py:.1f}" y2="{py:.1f}"/>')
            self.parts.append(text(self.left - 5, py + 4, number(tick), "small", "end"))
        self.parts.append(box("axis", self.left, self.top, self.width, self.height))
        self.parts.append(text(self.left + self.width / 2, self.top - 8, title, "title", "middle"))
        self.parts.append(text(self.left + self.width / 2, bottom + 28, x_name, "small", "middle"))
        middle = self.top + self.height / 2
        where = f'transform="translate({self.left - 38:.1f} {middle:.1f}) rotate(-90)"'
        self.parts.append(f'<text class="small" text-anchor="middle" {where}>{escape(y_name)}</text>')
        return self

    def line(self, points: Iterable[tuple[float, float]], colour: str, width: float = 1.6, dash: str = "") -> None:
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in (self.at(*point) for point in points))
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="{width:g}"{dashes} points="{path}"/>')

    def area(self, points: Sequence[tuple[float, float]], colour: str) -> None:
        """A filled curve down to the axis."""
        closed = [(points[0][0], self.y[0]), *points, (points[-1][0], self.y[0])]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in (self.at(*point) for point in closed))
        self.parts.append(f'<polygon fill="{colour}" fill-opacity="0.28" stroke="none" points="{path}"/>')

    def point(self, x: float, y: float, colour: str, shape: str = "circle", hollow: bool = False) -> None:
        self.parts.append(mark(*self.at(x, y), colour, shape, hollow))

    def upright(self, x: float, colour: str, dash: str = "5 3", width: float = 1.6) -> None:
        """A line from bottom to top."""
        self.line([(x, self.y[0]), (x, self.y[1])], colour, width, dash)

    def band(self, low: float, high: float) -> None:
        """A grey stripe between two values of x."""
        left, right = self.at(low, self.y[0])[0], self.at(high, self.y[0])[0]
        self.parts.append(box("band", left, self.top, right - left, self.height))


def mark(px: float, py: float, colour: str, shape: str = "circle", hollow: bool = False, size: float = 4) -> str:
    """A point of a shape."""
    paint = f'fill="none" stroke="{colour}" stroke-width="1.6"' if hollow else f'fill="{colour}"'
    if shape == "square":
        return f'<rect {paint} x="{px - size:.1f}" y="{py - size:.1f}" width="{2 * size:g}" height="{2 * size:g}"/>'
    corners = {
        "triangle": ((0, -1.2), (1.1, 0.9), (-1.1, 0.9)),
        "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
        "star": STAR,
        "bar": ((-0.5, -1.4), (0.5, -1.4), (0.5, 1.4), (-0.5, 1.4)),
    }.get(shape)
    if corners:
        path = " ".join(f"{px + size * dx:.1f},{py + size * dy:.1f}" for dx, dy in corners)
        return f'<polygon {paint} points="{path}"/>'
    return f'<circle {paint} cx="{px:.1f}" cy="{py:.1f}" r="{size:g}"/>'


def box(kind: str, left: float, top: float, width: float, height: float) -> str:
    return f'<rect class="{kind}" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}"/>'


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    of_kind = f' class="{kind}"' if kind else ""
    return f'<text{of_kind} text-anchor="{anchor}" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'


def legend(x: float, y: float, entries: Sequence[tuple[str, str, str, bool]], step: float = 17) -> list[str]:
    """Entries of (words, colour, shape, hollow), one below the other."""
    parts = []
    for i, (words, colour, shape, hollow) in enumerate(entries):
        parts.append(mark(x, y + step * i, colour, shape, hollow))
        parts.append(text(x + 11, y + step * i + 4, words, "small"))
    return parts


def picture(width: float, height: float, words: str, parts: Iterable[str]) -> str:
    """The whole file; `words` describe it to those who do not see it."""
    shown = f'viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(words)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {shown}>'
    back = f'<rect class="paper" width="{width:g}" height="{height:g}"/>'
    return "\n".join([head, STYLE, back, *parts, "</svg>"]) + "\n"


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers between two values, at most so many."""
    span = high - low
    base = 10.0 ** floor(log10(span / most))
    step = next(base * factor for factor in (1, 2, 2.5, 5, 10) if span / (base * factor) <= most)
    first = -floor(-low / step + 1e-9)
    return [round(step * i, 10) for i in range(first, int(high / step + 1e-9) + 1)]


def number(value: float) -> str:
    return f"{value:g}"


def span_of(values: Iterable[float], share: float = 0.06) -> tuple[float, float]:
    """Smallest and largest value, with some room around them."""
    found = list(values)
    low, high = min(found), max(found)
    room = share * (high - low) or 0.01
    return low - room, high + room
