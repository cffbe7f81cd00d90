"""What to mind about a result: a code for programs, a text for people, and the values behind the text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gstar_fast._backends.interface import SketchCore
from gstar_fast._base.public import lives_in
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.warn import warn
from gstar_fast._sketch.columns import warn_of_labels

WARNED: Final = ("degenerate", "noise", "overfit")  # codes of notes that `solve` also gives as warnings


@lives_in("gstar_fast.results")
@dataclass(frozen=True)
class Note:
    """One thing to mind about a result, an audit or a certificate. `str(note)` is its text.

    Attributes
    ----------
    code : str
        What kind of note it is, such as "noise" or "pooled".
    text : str
        The note as a sentence.
    fields : dict
        The values behind the text: numbers, texts, names of groups and lists of these.
    """

    code: str
    text: str
    fields: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def warned(cls, code: str, **fields: object) -> Note:
        """A note whose text is that of the warning of the same code."""
        return cls(code, f"{code}: {_warning(code, fields)}", fields)

    def __str__(self) -> str:
        return self.text

    def warn(self) -> None:
        """Warn, if this is a note that a user should not miss."""
        if self.code in WARNED:
            warn(_warning(self.code, self.fields))

    def to_dict(self) -> dict[str, Any]:
        """The note as JSON has it; names of groups that are tuples are written as in the member "groups"."""
        return {"code": self.code, "text": self.text, "fields": _encoded(self.fields)}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Note:
        """The note that `to_dict` wrote."""
        return cls(saved["code"], saved["text"], _decoded(saved["fields"]))


def label_notes(core: SketchCore) -> list[Note]:
    """Warn if all labelled rows have one label; the note on it."""
    return [Note("one_label", text) for text in warn_of_labels(core)]


def _warning(code: str, fields: Mapping[str, Any]) -> Warning:
    made: Warning = refusal(code, fields.get("criterion"), value=fields)
    return made


def has(notes: Iterable[Note], code: str) -> bool:
    """Whether there is a note of this code."""
    return any(note.code == code for note in notes)


def _encoded(value: Any) -> Any:
    if isinstance(value, tuple):
        return {"tuple": [_encoded(item) for item in value]}
    if isinstance(value, Mapping):
        return {name: _encoded(item) for name, item in value.items()}
    return [_encoded(item) for item in value] if isinstance(value, list) else value


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    items = {name: _decoded(item) for name, item in value.items()}
    return tuple(items["tuple"]) if set(items) == {"tuple"} else items
