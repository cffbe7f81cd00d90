"""HTML from Python values, with escaping as the default: text becomes safe unless it is `Html` already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from gstar_fast._base.text import printable

TALL = 24  # rows from which a table has a height of its own on a screen
VOID = {"input", "br", "meta", "path", "line", "rect", "circle", "polygon", "polyline"}


class Html(str):
    """Text that is HTML already; everything else is escaped where it enters a page."""

    __slots__ = ()


def html(value: object) -> Html:
    """`Html` as it is, other values as escaped text, None as nothing."""
    if isinstance(value, Html):
        return value
    if value is None:
        return Html("")
    return Html(escape(printable(str(value))))


def join(parts: Iterable[object], between: str = "") -> Html:
    """All parts as one piece of HTML."""
    return Html(between.join(html(part) for part in parts))


def tag(name: str, *children: object, **attributes: object) -> Html:
    """One element. `class_` is class, `aria_label` aria-label; None and False leave an attribute out."""
    shown = ""
    for key, value in attributes.items():
        if value is not None and value is not False:
            shown += f" {key.rstrip('_').replace('_', '-')}"
            shown += "" if value is True else f'="{escape(printable(str(value)))}"'
    if name in VOID and not children:
        return Html(f"<{name}{shown}/>")
    return Html(f"<{name}{shown}>{join(children)}</{name}>")


def table(
    caption: object,
    head: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    words: Iterable[int] = (),
    quiet: bool = False,
) -> Html:
    """A table: the first cell of a row names the row, numbers stand to the right, columns in `words` are prose.

    A cell that is a `td` already (as `tag` makes it) is taken as it is; `quiet` keeps the caption for screen readers.
    """
    prose, rows = set(words), list(rows)

    def cell(i: int, value: object) -> Html:
        if i == 0:
            return tag("th", value, scope="row")
        if isinstance(value, Html) and value.startswith("<td"):
            return value
        return tag("td", value, class_="words" if i in prose else "n")

    body = tag("tbody", *(tag("tr", *(cell(i, value) for i, value in enumerate(row))) for row in rows))
    return framed(caption, head, [body], left={0, *prose}, quiet=quiet, tall=len(rows) > TALL)


def framed(
    caption: object,
    head: Sequence[object],
    bodies: Iterable[Html],
    *,
    left: Iterable[int],
    quiet: bool = False,
    tall: bool = False,
    dense: bool = False,
) -> Html:
    """Caption, head and bodies in a box that scrolls by itself, also with the keyboard, where they do not fit."""
    classes = f"wide{' tall' * tall}{' dense' * dense}"
    words = set(left)
    top = [tag("th", title, scope="col", class_=None if i in words else "n") for i, title in enumerate(head)]
    named = tag("caption", caption, class_="quiet" if quiet else None)
    inner = tag("table", named, tag("thead", tag("tr", *top)), *bodies)
    return tag("div", inner, class_=classes, tabindex=0, role="region", aria_label=str(caption))


def details(summary: object, *children: object) -> Html:
    """What opens when asked for."""
    return tag("details", tag("summary", summary), *children)
