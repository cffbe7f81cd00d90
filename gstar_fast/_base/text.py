"""Numbers, names and addresses as text for tables and messages."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from urllib.parse import unquote


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
    shown = [printable_name(name) for name in names]
    return ", ".join(shown[:most]) + (f", ... ({len(shown)} in all)" if len(shown) > most else "")


def printable(text: str, keep: str = "\n\t") -> str:
    """Text without control characters and bidirectional marks, which could hide or change what is shown.

    They are escaped as in JSON, so JSON stays valid. Characters in `keep` are not escaped; for a name there are none,
    so that it cannot break a line of a table.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep or _harmless(c) else _escaped(c) for c in text)


def printable_name(name: object) -> str:
    """The name of a group or column, for a table or a sentence."""
    return printable(str(name), keep="")


def _harmless(c: str) -> bool:
    return c in "\u200c\u200d" or (ord(c) >= 160 and c.isspace() and c not in "\u2028\u2029")


def _escaped(c: str) -> str:
    units = c.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


# A password may contain any character, so it ends at the last @. After something like a port it ends at the next space.
_USER = re.compile(r"(://)(?:[^:/@\s]*:(?!\d*(?:[/?#\s]|$)).*|[^:/@\s]*:\S*|[^/?#\s]*)@", re.DOTALL)
_QUERY = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*)(://[^\s?#]*)([?#]\S*)")
_PART = re.compile(r"([?#&;])([^?#&;=]*)(=?)([^?#&;]*)")
_SECRET_WORDS = r"(?:password|passwd|secret|token|signature|credential|api_?key)"
_SECRET = re.compile(rf"(?i)({_SECRET_WORDS}[^=&\s]*=)[^&\s]*")
_SECRET_VALUE = re.compile(rf"(?i)[?#&;](?:[^?#&;=]*{_SECRET_WORDS}[^?#&;=]*|sig|key)=([^?#&;]*)")


def without_secrets(text: str, url: str = "") -> str:
    """Text in which the user part and every query value of a URL are hidden.

    Passwords and keys of `url` are hidden even where they appear without the URL.
    """
    for secret in _secrets_of(url):
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
    text = _QUERY.sub(_without_values, _USER.sub(r"\1***@", text))
    return _SECRET.sub(r"\1***", text)


def _without_values(found: re.Match[str]) -> str:
    """A URL without the values of its query. Except in http URLs, ? may also be part of a file pattern."""
    protocol, place, query = found.groups()
    end = query[len(query.rstrip("'\"),.:;")) :]  # of the sentence
    whole = protocol.lower() in ("http", "https")

    def hidden(part: re.Match[str]) -> str:
        sign, name, equals, _ = part.groups()
        return f"{sign}{name}=***" if equals else f"{sign}***" if whole and name else part[0]

    return f"{protocol}{place}{_PART.sub(hidden, query.removesuffix(end))}{end}"


def _secrets_of(url: str) -> list[str]:
    """Passwords and keys in a URL, as written and decoded; short ones are left out, since they occur in other words."""
    users = [found[0][3:-1] for found in _USER.finditer(url)]
    found = [*users, *(part for user in users for part in user.split(":", 1)), *_SECRET_VALUE.findall(url)]
    return sorted({word for one in found for word in (one, unquote(one)) if len(word) > 2}, key=len, reverse=True)


def near(word: str, known: Iterable[str]) -> str:
    """A hint at a name that was perhaps meant; empty if there is none."""
    import difflib  # slow, and needed here only

    folded = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(word.casefold(), folded, n=1)
    return f"; did you mean {folded[close[0]]!r}?" if close else ""
