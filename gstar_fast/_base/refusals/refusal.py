"""Refusals by code: whoever finds a mistake names its kind and its fields, and the table words it.

All backends refuse this way, the compiled one too, so that a user reads the same sentence whichever of them counted.
"""

from __future__ import annotations

from typing import Any

from gstar_fast._base.refusals.density_sentences import DENSITIES
from gstar_fast._base.refusals.option_sentences import OPTIONS
from gstar_fast._base.refusals.sentences import ROWS
from gstar_fast._base.refusals.wording import PYTHON, Entry, Face, Words

__all__ = ["TABLE", "Words", "about", "refusal", "worded"]

TABLE: dict[str, Entry] = ROWS | OPTIONS | DENSITIES
assert len(TABLE) == len(ROWS) + len(OPTIONS) + len(DENSITIES), "a code has two sentences"


def refusal(
    code: str, argument: str | None = None, row: int | None = None, value: Any = None, limit: Any = None
) -> Any:
    """The error, or warning, of a code, in the words of the library."""
    made = TABLE[code].kind(code=code, argument=argument, row=row, value=value, limit=limit)
    made.args = (TABLE[code].sentence(made, PYTHON),)
    return made


def worded(told: BaseException, face: Face) -> str:
    """An error or warning in the words of another face; as it is where it has no code."""
    entry = TABLE.get(getattr(told, "code", ""))
    return str(told) if entry is None else entry.sentence(told, face)


def about(error: Any, argument: str) -> Any:
    """The same refusal, of what the caller knows by another name."""
    if getattr(error, "code", "") not in TABLE:
        told = type(error)(f"{argument}: {error}")
        vars(told).update({**vars(error), "argument": argument})
        return told
    value = error.value
    if error.code == "lengths":
        value = {argument if name == error.argument else name: n for name, n in value.items()}
    return refusal(error.code, argument, error.row, value, error.limit)
