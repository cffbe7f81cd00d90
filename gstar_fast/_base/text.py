"""Numbers and names as a person reads them: in tables, sentences and messages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def short_number(x: float | None, digits: int = 4) -> str:
    """A rate, gap or error; `-` where there is none."""
    if x is None:
        return "-"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    if abs(x) < 5e-13:  # rounding of a gap that is closed
        x = 0.0
    return f"{x:.{digits}f}" if x == 0 or 1e-4 <= abs(x) < 1e6 else f"{x:.{digits}g}"


def threshold_number(x: float) -> str:
    """A threshold with four decimals, or as many as tell it from the neighbouring bin edges.

    Edges are multiples of a power of two, so one unit of the last digit must not be more than the lowest bit of the
    number; where the digits already give back the very number, that is enough. A number with nearly all bits set is no
    edge, unless all scores are the same: eight decimals then, if they say more than four.
    """
    if not math.isfinite(x):
        return short_number(x)
    if x != 0 and not 1e-4 <= abs(x) < 1e6:
        return repr(x)
    above, below = abs(x).as_integer_ratio()
    lowest_bit = (above & -above) / below
    digits = 4
    while 10.0**-digits > lowest_bit > 0 and float(f"{x:.{digits}f}") != x and digits < 16:
        digits += 1
    if above.bit_length() > 45 and f"{x:.8f}" != f"{x:.4f}0000":
        digits = min(digits, 8)
    return f"{x:.{digits}f}"


def row_count(x: float) -> str:
    """Rows, or weight: 12 345, or 12.5."""
    return f"{x:,.0f}".replace(",", " ") if float(x).is_integer() else f"{x:.1f}"


def counted(n: float, what: str, several: str | None = None) -> str:
    """1 row, 2,000 rows; `several` where an s does not make the plural."""
    return f"{n:,.0f} {what if n == 1 else several or what + 's'}"


def span(seconds: float) -> str:
    """A time one can read: 0.4 s, 2:05, 1:02:03."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def aligned(rows: list[list[str]]) -> list[str]:
    """Lines with the first column to the left and all others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]).rstrip()
        for row in rows
    ]


def distinct(names: Sequence[object]) -> list[str]:
    """Names of groups as text no two share: 1 and '1' where there are both."""
    texts = [str(name) for name in names]
    return texts if len(set(texts)) == len(texts) else [repr(name) for name in names]


def first_few(texts: Iterable[str], most: int = 5, by: str = ", ") -> str:
    """The first of them for a sentence; dots where there are more."""
    listed = list(texts)
    return by.join(listed[:most]) + (f"{by}..." if len(listed) > most else "")


def some(names: Iterable[object], most: int = 12) -> str:
    """Names that others chose, for a message: not too many, and none that a terminal obeys."""
    shown = [text if (text := str(name)).isprintable() else repr(text) for name in names]  # no colours, no bells
    return ", ".join(shown[:most]) + (f", ... ({len(shown)} in all)" if len(shown) > most else "")


def near(word: str, known: Iterable[str]) -> str:
    """A hint at a name that was perhaps meant; empty if there is none."""
    import difflib  # slow, and needed here only

    folded = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(word.casefold(), folded, n=1)
    return f"; did you mean {folded[close[0]]!r}?" if close else ""
