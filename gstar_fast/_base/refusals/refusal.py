"""Errors by code: the code that finds a mistake gives its kind and fields, and the table has the sentence.

All backends raise this way, the compiled one too, so that a user reads the same sentence from each of them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from gstar_fast.errors import _Coded

if TYPE_CHECKING:
    from gstar_fast._base.refusals.wording import Entry, Face


class Words(str):
    """What was found, already in words (such as "strings"), where it is not a single value."""

    __slots__ = ()


@cache
def table() -> dict[str, Entry]:
    """The entry of each code; most programs never need it, so it is read at the first error."""
    from gstar_fast._base.refusals.option_sentences import OPTION_CASES, OPTIONS
    from gstar_fast._base.refusals.sentences import ROW_CASES, ROWS
    from gstar_fast._base.refusals.wording import table_of

    return table_of(ROWS + OPTIONS, ROW_CASES | OPTION_CASES)


def refusal(
    code: str, argument: str | None = None, row: int | None = None, value: Any = None, limit: Any = None
) -> Any:
    """The error, or warning, of a code, in the words of the library."""
    from gstar_fast._base.refusals.wording import PYTHON

    entry = table()[code]
    made = entry.kind(code=code, argument=argument, row=row, value=value, limit=limit)
    made.args = (entry.sentence(made, PYTHON),)
    return made


def worded(told: BaseException, face: Face) -> str:
    """An error or warning in the words of another face; as it is where it has no code."""
    entry = table().get(getattr(told, "code", ""))
    return entry.sentence(told, face) if entry is not None and isinstance(told, _Coded) else str(told)


def about(error: Any, argument: str) -> Any:
    """The same error, about what the caller knows by another name."""
    if getattr(error, "code", "") not in table():
        told = type(error)(f"{argument}: {error}")
        vars(told).update({**vars(error), "argument": argument})
        return told
    value = error.value
    if error.code == "lengths":
        value = {argument if name == error.argument else name: n for name, n in value.items()}
    return refusal(error.code, argument, error.row, value, error.limit)
