"""How a face names what a sentence is about: Python has arguments and rows of arrays, the command line has others."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import gstar_fast.errors
from gstar_fast._base.refusals.refusal import Words
from gstar_fast._base.text import first_few, near
from gstar_fast.errors import _Coded


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

    def shown(self, name: str | None, value: object) -> str:
        """An option with its value, or its name alone where messages do not show the value."""
        return self.argument(name) if value is None or isinstance(value, dict) else self.option(str(name), repr(value))

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
        return "; for -1/+1 labels pass labels > 0" if isinstance(value, (int, float)) and value == -1 else ""

    def too_many_groups(self, _found: int) -> str | None:
        """Another sentence on too many groups, where this face has one."""
        return None


PYTHON = Face()


# ------------------------------------------------------------------------------------------------------- making a table


def kind_of(value: object) -> str:
    """What a value is, for messages: the name of its type, or the words that were found for it."""
    return str(value) if isinstance(value, Words) else type(value).__name__


Told: TypeAlias = _Coded  # an error or a warning with its fields
Sentence: TypeAlias = Callable[[Told, Face], str]  # words about an error, or a part of them


class Entry(NamedTuple):
    """One kind of mistake: the class of its errors, and their sentence as a format string.

    Its fields are `argument`, `row`, `value` and `limit` of the error, `say` for the face, and these; what stands after
    the colon goes to the method of the face:

    - `{subject}`, or `{subject:bins}` for another argument than that of the error
    - `{at}` for the row, `{column}` for the group column, `{kind}` for the type of the value
    - `{option}` for the argument with its value, `{option:name=value}`, `{other:name=value}`, `{item:name,key}`,
      `{entry:name,key,value}`
    - `{all}` for the list in `limit`, `{few}` for the first of the list in `value`, `{near}` for a hint at a name
    - `{case}` for the part that a function words
    """

    kind: Callable[..., Told]
    template: str
    case: Sentence = lambda *_: ""

    def sentence(self, e: Told, say: Face) -> str:
        """The sentence on an error in the words of a face."""
        return self.template.format_map(_Fields(self.case, e, say))


PARTS: dict[str, Callable[[str, Told, Face], str]] = {
    "subject": lambda name, e, say: say.argument(name or e.argument),
    "at": lambda _, e, say: say.at(e.row, e.argument),
    "column": lambda _, e, say: say.column(e.argument),
    "kind": lambda _, e, __: kind_of(e.value),
    "option": lambda spec, e, say: say.option(*spec.split("=", 1)) if spec else say.shown(e.argument, e.value),
    "other": lambda spec, _, say: say.other(*spec.split("=", 1)),
    "item": lambda spec, _, say: say.item(*spec.split(",")),
    "entry": lambda spec, _, say: say.entry(*spec.split(",")),
    "all": lambda _, e, __: ", ".join(e.limit),
    "few": lambda _, e, __: first_few(map(repr, e.value)),
    "near": lambda _, e, __: near(str(e.value), e.limit),
}


@dataclass(frozen=True, slots=True)
class _Fields:
    """The fields of a template, each made when it is asked for."""

    case: Sentence
    e: Told
    say: Face

    def __getitem__(self, name: str) -> object:
        if name == "case":
            return self.case(self.e, self.say)
        if name == "say":
            return self.say
        return _Part(PARTS[name], self.e, self.say) if name in PARTS else getattr(self.e, name)


class _Part(NamedTuple):
    """A part of a sentence that waits for what stands after its colon."""

    words: Callable[[str, Told, Face], str]
    e: Told
    say: Face

    def __format__(self, spec: str) -> str:
        return self.words(spec, self.e, self.say)


def table_of(text: str, cases: Mapping[str, Sentence]) -> dict[str, Entry]:
    """Read a table: names of classes, below each "code: sentence" by four spaces, and lines that go on by eight."""
    out: dict[str, Entry] = {}
    for block in re.split(r"\n(?=\S)", text.strip()):
        kind, *lines = re.split(r"\n    (?=\S)", block)
        error = getattr(gstar_fast.errors, kind)
        for code, template in (" ".join(line.split()).split(": ", 1) for line in lines):
            assert code not in out, "a code has two sentences"
            out[code] = Entry(error, template, cases.get(code, Entry._field_defaults["case"]))
    return out
