"""How a face names what a sentence is about: Python has arguments and rows of arrays, the command line has others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias


class Face:
    """Names as a caller of the library knows them; the command line has its own."""

    give = "pass"
    choose = "choose"
    own_group = "give them a group of their own (missing_group= does either where rows are counted)"
    some_limits = "give limits={...}"
    keys = "pass keys=, one for each row"
    count_rows = "update it with scores, labels and groups before {verb}"
    count_labels = "update it with labels"
    same_bins = "the bins= and range= of the other"
    weights = "weights"
    words_as_labels = "pass labels == <the positive one>, or positive= to update_table"

    def argument(self, name: str | None) -> str:
        """An array or option as the subject of a sentence."""
        return str(name)

    def at(self, row: int | None, argument: str | None = None) -> str:
        """Where the first bad row is; nothing for a row that came alone."""
        if row is None:
            return " of thresholds" if argument == "thresholds" else ""
        return f" at position {row} of groups=" if argument == "groups=" else f" at row {row}"

    def option(self, name: str, value: str) -> str:
        """An option with a value, which stands here as Python writes it."""
        return f"{name}={value}"

    def other(self, _name: str, value: str) -> str:
        """Another value for an option that was named just before."""
        return value

    def item(self, name: str, key: str) -> str:
        """One entry of an option that is a dict."""
        return f"{name}[{key!r}]"

    def entry(self, name: str, key: str, value: str) -> str:
        """An option that is a dict with one entry."""
        return f"{name}={{{key!r}: {value}}}"

    def column(self, argument: str | None) -> str:
        """Begins a message on one of several group columns."""
        return "" if argument in (None, "groups", "groups=", "thresholds") else f"{argument}: "

    def label_hint(self, value: object) -> str:
        """What to do about a label that is not 0 or 1."""
        return "; for -1/+1 labels pass labels > 0" if _is_minus_one(value) else ""

    def too_many_groups(self, _found: int) -> str | None:
        """Another sentence on too many groups, where this face has one."""
        return None


def _is_minus_one(value: object) -> bool:
    return isinstance(value, (int, float)) and value == -1


PYTHON = Face()


# ------------------------------------------------------------------------------------------------------- making a table


Sentence: TypeAlias = Callable[[Any, Face], str]


class Entry(NamedTuple):
    """One kind of mistake: the class of its errors, and the sentence they are worded with."""

    kind: type[Any]
    sentence: Sentence


def entries(kind: type[Any], **sentences: Sentence) -> dict[str, Entry]:
    """Lines of a table whose errors are of one class."""
    return {code: Entry(kind, sentence) for code, sentence in sentences.items()}


class Words(str):
    """What was found, already in words (such as "strings"), where it is no single value."""

    __slots__ = ()


def kind_of(value: object) -> str:
    """What a value is, for messages: the name of its type, or the words that were found for it."""
    return str(value) if isinstance(value, Words) else type(value).__name__
