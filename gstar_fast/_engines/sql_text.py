"""Queries that count a table into the bins of a sketch, with float64 and whole numbers and no functions but FLOOR.

Every constant is a whole number times a power of two, written as such, since not every database reads a decimal number
to the nearest float64. Every step is exact but one:

- The octave of a score is found by comparing it with powers of two, which is exact where a logarithm may be off by one.
  `p` is the power of two next to it on the side of zero: `2**e <= x < 2**(e + 1)`, and `-2**(e + 1) <= x < -2**e` below
  zero, so that no bin lies in two octaves.
- `x / p` is exact: p is a power of two, and the quotient is 1 to 2 in size, or a multiple of `2**-52` below that.
- `m = (x / p * 2**23 + c) - c` with `c = 1.5 * 2**52` is that quotient rounded to 24 bits, ties to even, as a whole
  number of `2**-23`: the sum lies between `2**52` and `2**53`, where float64 are the whole numbers, so that the
  addition rounds to the nearest of them, and c is even, so that a tie goes to the even one. The subtraction is exact.
  This is `round24` of the format. It gives all scores below `2**-1022`, the subnormal ones, the spacing of the octave
  of `2**-1022`, so they are divided by this; and they are one octave where no bin of the grid is so small.
- `FLOOR(x / w) * w` is the lower edge of the bin, w its width, a power of two. It names the bin. The two bins at zero
  hold scores of many octaves, whose sums have different units: they are counted by octave, under the name p or -p.

`m` is at most `2**24`, so a sum of 64 bits holds `2**38` rows of a bin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from gstar_fast._base.grid import LOWEST_LEVEL, Extent, Grid, Window
from gstar_fast._decide.dialects import Dialect

NORMAL: Final = -1022  # the octave of the smallest normal float64
DEPTH: Final = 5  # log2 of the octaves that one tree tells apart
FEW: Final = 64  # octaves for which one tree is enough
FINEST: Final = 23  # log2 of what m counts in an octave
MOST_ROWS: Final = 2**38


class Names(NamedTuple):
    """Names of what is in no bin: powers of two beyond all edges."""

    below: float
    above: float
    too_large: float
    changed: float  # a score where the extent said that there is none


def octave(x: float, least: int = NORMAL) -> int:
    """The octave of a score, which is not zero: `p` is 2 to its power; all below the `least` are in that one."""
    fraction, exponent = math.frexp(x)
    return max(exponent - 1 - (fraction == -0.5), least)


def least_octave(grid: Grid) -> int:
    """The octave of all smaller scores."""
    return NORMAL if grid.least >= NORMAL else LOWEST_LEVEL


class Constants:
    """Numbers as a dialect writes them, exactly."""

    def __init__(self, dialect: Dialect) -> None:
        self._type = dialect.constant or dialect.double

    def __call__(self, number: int, exponent: int = 0) -> str:
        """`number * 2**exponent`, which is a float64."""
        while exponent < 0 and number % 2 == 0:
            number, exponent = number // 2, exponent + 1 if number else 0
        if exponent > 0 and abs(number) << exponent < 2**62:
            number, exponent = number << exponent, 0
        sign, left = "*" if exponent > 0 else "/", abs(exponent)
        factors = [62] * (left // 62) + [left % 62] * (left % 62 > 0)
        text = f"CAST({number} AS {self._type})" + "".join(f" {sign} {2**factor}" for factor in factors)
        return f"({text})" if factors else text


class Query:
    """The query for one dialect: its columns are k1, ... (keys of sketches), y (label), g1, ... (groups), x (score)."""

    def __init__(self, dialect: Dialect, rows: str, columns: Sequence[str], n_keys: int = 0) -> None:
        self._dialect, self._rows, self._keys, self._n_keys = dialect, rows, list(columns), n_keys
        self._number = Constants(dialect)

    def of_spread(self, least: int | None, end: int | None) -> Query:
        """The same for keys of which scores reach over `2**least` to less than `2**end`, as `spread` has it."""
        far, over = self._number(1, 1000), f"OVER (PARTITION BY {', '.join(self._keys[: self._n_keys])})"
        sides = [f"CASE WHEN {side} THEN x END" for side in (f"x > 0 AND x <= {far}", f"x < 0 AND x >= -{far}")]
        spread = " + ".join(f"COALESCE(MAX({x}) {over} - MIN({x}) {over}, 0)" for x in sides)
        columns = ", ".join([*self._keys, "x"])
        ends = [(">=", least), ("<", end)]
        limits = [f"w {sign} {self._number(1, at)}" for sign, at in ends if at is not None]
        spreads = f"SELECT {columns}, {spread} AS w\nFROM (\n{_indented(self._rows)}\n) t"
        rows = f"SELECT {columns}\nFROM (\n{_indented(spreads)}\n) t\nWHERE {' AND '.join(limits)}"
        return Query(self._dialect, rows, self._keys, self._n_keys)

    def of_extent(self) -> str:
        """The keys, largest and smallest score above zero, smallest and largest below it, and 1 if there is a zero."""
        far, keys = self._number(1, 1000), self._keys[: self._n_keys]
        first, last = "".join(f"{key}, " for key in keys), f"\nGROUP BY {', '.join(keys)}" * bool(keys)
        return (
            f"SELECT {first}MAX(CASE WHEN x > 0 THEN x END) AS most_above,"
            " MIN(CASE WHEN x > 0 THEN x END) AS least_above,\n"
            "  MIN(CASE WHEN x < 0 THEN x END) AS most_below, MAX(CASE WHEN x < 0 THEN x END) AS least_below,\n"
            "  MAX(CASE WHEN x = 0 THEN 1 ELSE 0 END) AS zero\n"
            f"FROM (\n{_indented(self._rows)}\n) t\nWHERE x >= -{far} AND x <= {far}{last}"
        )

    def of_bins(self, window: Window, extent: Extent | None, exact: bool) -> str:
        """A row for each key, label, group and bin: these, its name, count, sum of m, smallest and largest score."""
        below, above = octaves_of(window, extent)
        inside, zero = self._inside(window, extent)
        if len(below) + len(above) <= FEW:
            p = self._tree("x", _signed(below, above))
            layers = [["x", f"CASE WHEN {inside} THEN\n{_indented(p)}\nEND AS p"]]
        else:
            some, none = range(1 << DEPTH), range(0)
            tree = self._tree("t", _signed(some if below else none, some if above else none))
            layers = [
                ["x", f"CASE WHEN {inside} THEN\n{_indented(self._steps(below, above))}\nEND AS q"],
                ["x", "q", "x / q AS t"],
                ["x", f"q *\n{_indented(tree)} AS p"],
            ]
        cases = [*self._bins(window.grid, below, above), *self._others(window, extent, zero)]
        changed = self._name(names_of(window, extent).changed)
        c = self._number(3, 51)
        p, normal = "p", self._number(1, NORMAL)
        if least_octave(window.grid) < NORMAL:
            p = f"CASE WHEN p < {normal} THEN {normal} ELSE p END"
        m = self._dialect.whole.format(x=f"(x / {p} * {2**FINEST} + {c}) - {c}") + " AS m"
        layers.append(["x", _cases(cases, changed) + " AS b", *[m] * exact])
        text, fence = self._rows, f"\n{self._dialect.fence}" if self._dialect.fence else ""
        for columns in layers:
            text = f"SELECT {', '.join([*self._keys, *columns])}\nFROM (\n{_indented(text)}\n) t{fence}"
        keys = ", ".join([*self._keys, "b"])
        told = f"{keys}, {self._dialect.count} AS n, {'SUM(m) AS s, ' * exact}MIN(x) AS lo, MAX(x) AS hi"
        order = f"\nORDER BY {', '.join(self._keys[: self._n_keys])}" * bool(self._n_keys)
        return f"SELECT {told}\nFROM (\n{_indented(text)}\n) t\nGROUP BY {keys}{order}"

    def _inside(self, window: Window, extent: Extent | None) -> tuple[str, bool]:
        """Which scores lie in octaves of the window, and whether zero may be there beside them."""
        if extent is None:
            lo, hi = _ends(window)
            there = f"x >= {self._number(*lo)} AND x < {self._number(*hi)}"
            zero = lo[0] <= 0 < hi[0]
        else:  # whole octaves: a score that came after the extent was found is noticed when it is read
            below, above = octaves_of(window, extent)
            first = "-" + self._number(1, below[-1] + 1) if below else "0"
            there = f"x >= {first} AND x < {self._number(1, above[-1] + 1) if above else '0'}"
            zero = True
        return there + " AND x <> 0" * zero, zero

    def _steps(self, below: range, above: range) -> str:
        """The smallest power of two of each 32 octaves, those far from zero first, where most scores are."""
        first, last = min([*below, *above]), max([*below, *above])
        cases = []
        for e in range(first + (last - first >> DEPTH << DEPTH), first, -(1 << DEPTH)):
            edge = self._number(1, e)
            sides = [f"x >= {edge}"] * bool(above) + [f"x < -{edge}"] * bool(below)
            cases.append((" OR ".join(sides), edge))
        return _cases(cases, self._number(1, first))

    def _tree(self, x: str, octaves: Sequence[tuple[bool, int]]) -> str:
        """The power of two next to x on the side of zero, by comparing; True stands for an octave below zero."""
        if len(octaves) <= 1:
            return self._number(1, octaves[0][1] if octaves else 0)
        middle = len(octaves) // 2
        negative, e = octaves[middle]
        edge = "-" + self._number(1, e + 1) if negative else self._number(1, e)
        if not negative and octaves[middle - 1][0]:
            edge = "0"
        upper, lower = self._tree(x, octaves[middle:]), self._tree(x, octaves[:middle])
        if len(octaves) == 2:
            return f"CASE WHEN {x} >= {edge} THEN {upper} ELSE {lower} END"
        return f"CASE WHEN {x} >= {edge} THEN\n{_indented(upper)}\nELSE\n{_indented(lower)}\nEND"

    def _bins(self, grid: Grid, below: range, above: range) -> list[tuple[str, str]]:
        """The names of bins, by zone: far from zero, in the octaves, near zero, at zero; of zones that have scores."""
        number = self._number
        per = grid.per or 0
        p = "-p" if not above else "p" if not below else "CASE WHEN x < 0 THEN -p ELSE p END"
        zones = [(grid.level + per, self._edge(number(1, grid.level)))]
        if grid.per is not None:
            zones.append((grid.least + per, self._edge(f"(p / {2**per})")))
            zones.append((grid.least, self._edge(number(1, grid.least))))
        zones.append((least_octave(grid), p))
        found, end = [], math.inf
        for start, name in zones:
            if any(start <= e < end for e in (*below, *above)):
                found.append((f"p >= {number(1, start)}", name))
            end = min(start, end)
        return found

    def _edge(self, width: str) -> str:
        return f"{self._dialect.floor.format(x=f'(x / {width})')} * {width}"

    def _others(self, window: Window, extent: Extent | None, zero: bool) -> list[tuple[str, str]]:
        """Names of what is in no octave: zero, infinities, what no sketch takes; NULL for no score."""
        names, nan, far = names_of(window, extent), self._dialect.nan, self._number(1, 1000)
        no_score = "x IS NULL" + (f" OR {nan.format(x='x')}" if nan else "")
        cases = [(no_score, "NULL")] + [("x = 0", self._number(0))] * zero
        for side, end in ((f"x > {far}", names.above), (f"x < -{far}", names.below)):
            cases += [(f"{side} AND x / 2 = x", self._name(end)), (side, self._name(names.too_large))]
        if extent is None:
            lo, hi = _ends(window)
            cases += [(f"x < {self._number(*lo)}", self._name(names.below))]
            cases += [(f"x >= {self._number(*hi)}", self._name(names.above))]
        return cases

    def _name(self, name: float) -> str:
        return self._number(1, octave(name))


def spread(extent: Extent) -> float:
    """Over how much scores reach on both sides of zero; it tells how fine the bins are, but for a factor."""
    return sum(far - near for far, near in (extent.above, extent.below) if far)


def _ends(window: Window) -> tuple[tuple[int, int], tuple[int, int]]:
    """The first and the last edge of a linear window, as numbers of widths."""
    first = window.runs[0][0]
    return (first, window.grid.level), (first + window.bins, window.grid.level)


def octaves_of(window: Window, extent: Extent | None) -> tuple[range, range]:
    """The octaves that scores may lie in, below zero and above it, ascending; all of the window without an extent."""
    least = least_octave(window.grid)
    if extent is not None:
        (far_below, near_below), _, (far_above, near_above) = extent
        below = range(octave(-near_below, least), octave(-far_below, least) + 1) if far_below else range(0)
        return below, range(octave(near_above, least), octave(far_above, least) + 1) if far_above else range(0)
    lo, hi = (math.ldexp(*end) for end in _ends(window))
    below = range(octave(hi, least) if hi < 0 else least, octave(lo, least) + 1) if lo < 0 else range(0)
    last = math.nextafter(hi, -math.inf)
    return below, range(octave(lo, least) if lo > 0 else least, octave(last, least) + 1) if last > 0 else range(0)


def names_of(window: Window, extent: Extent | None) -> Names:
    """Names of what is in no bin of this window."""
    below, above = octaves_of(window, extent)
    past = max(0, *below[-1:], *above[-1:]) + 2 if below or above else 0
    return Names(*(2.0**e for e in range(past, past + 4)))


def _signed(below: range, above: range) -> list[tuple[bool, int]]:
    """Octaves from the lowest scores to the highest, with whether they are below zero."""
    return [*((True, e) for e in reversed(below)), *((False, e) for e in above)]


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.split("\n"))


def _cases(cases: Sequence[tuple[str, str]], otherwise: str) -> str:
    return "\n".join(["CASE", *(f"  WHEN {when} THEN {then}" for when, then in cases), f"  ELSE {otherwise}", "END"])
