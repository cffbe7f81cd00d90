"""Sections at the end of a sketch's bytes: their forms, and how those of two sketches merge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from gstar_fast._base.bytes import Reader, varint
from gstar_fast._base.names import LONGEST_TUPLE, Name
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.sketch_parts.content import Section, refuse

COLUMNS: Final = 1
POSITIVE: Final = 2
NO_SUMS: Final = 3
LABELS: Final = 4
UNMIXED: Final = 5
KNOWN: Final = (COLUMNS, POSITIVE, NO_SUMS, LABELS, UNMIXED)
OF_ROWS: Final = (POSITIVE, NO_SUMS, UNMIXED)  # part of what was counted, not of where it came from; readers need these


def sections_bytes(sections: Sequence[Section]) -> bytes:
    """How sections are written."""
    parts = [varint(kind) + bytes((needed,)) + varint(len(content)) + content for kind, needed, content in sections]
    return varint(len(parts)) + b"".join(parts)


def read_sections(source: Reader) -> tuple[Section, ...]:
    """The sections, all of a right form."""
    sections = tuple(_read_section(source) for _ in range(source.varint(2**63)))
    check_sections(sections)
    return sections


def _read_section(source: Reader) -> Section:
    kind, needed = source.varint(2**63), bool(source.varint(2))
    return kind, needed, source.take(source.varint())


def check_sections(sections: Sequence[Section]) -> None:
    """Refuse sections out of order or of a wrong form, and needed ones that nobody here knows."""
    types = [kind for kind, _, _ in sections]
    if any(b <= a for a, b in pairwise(types)) or not all(0 <= kind < 2**63 for kind in types):
        refuse("sections are out of order")
    for kind, needed, content in sections:
        if needed and kind not in KNOWN:
            refuse(f"it needs a section of type {kind}, which this library does not know; install a newer one")
        if needed != (kind in OF_ROWS) or (kind == COLUMNS and columns_of(content) == ((), (), ())):
            refuse("a section is impossible")
        if (kind == NO_SUMS and content) or (kind == UNMIXED and content not in (b"\0", b"\1")):
            refuse("a section is impossible")
        if kind == POSITIVE:
            positive_of(content)
        if kind == LABELS:
            labels_of(content)


Columns: TypeAlias = tuple[str, ...] | None  # names of columns; () where none was given, None where several were met


def columns_of(content: bytes) -> tuple[Columns, Columns, Columns]:
    """The columns of scores, labels and groups that a section names."""
    source = Reader(content, 0, len(content), refuse)
    score, label, group = (_read_columns(source, most) for most in (1, 1, LONGEST_TUPLE))
    _check_end(source)
    return score, label, group


def _read_columns(source: Reader, most: int) -> Columns:
    how = source.take(1)[0]
    if how > 2:
        refuse("a section is impossible")
    if how != 1:
        return None if how else ()
    n = source.varint(most + 1)
    if n == 0:
        refuse("a section is impossible")
    return tuple(source.text() for _ in range(n))


def columns_bytes(columns: Sequence[Columns]) -> bytes:
    """The section that names the columns of scores, labels and groups."""
    return b"".join(b"\2" if names is None else _named(names) for names in columns)


def _named(names: tuple[str, ...]) -> bytes:
    texts = [name.encode("utf-8") for name in names]
    return b"\1" + varint(len(texts)) + b"".join(varint(len(t)) + t for t in texts) if texts else b"\0"


def positive_of(content: bytes) -> Name:
    """What label 1 stood for, as a section says it."""
    source = Reader(content, 0, len(content), refuse)
    name = source.name(inside=True)
    _check_end(source)
    return name


MOST_LABELS: Final = 8
LONGEST_LABEL: Final = 256  # bytes


class LabelTexts(NamedTuple):
    """Texts of labels, ascending; `more` if only the first are kept."""

    texts: tuple[str, ...]
    more: bool = False

    @classmethod
    def of(cls, texts: Iterable[str]) -> LabelTexts:
        """The first of these texts."""
        found = sorted(set(texts))
        return cls(tuple(found[:MOST_LABELS]), len(found) > MOST_LABELS)

    def __or__(self, other: LabelTexts) -> LabelTexts:
        """The first of both."""
        both = self.of((*self.texts, *other.texts))
        return both._replace(more=both.more or self.more or other.more)

    def to_bytes(self) -> bytes:
        """The content of a section."""
        parts = [text.encode("utf-8") for text in self.texts]
        return bytes((self.more, len(parts))) + b"".join(varint(len(part)) + part for part in parts)


def labels_of(content: bytes) -> LabelTexts:
    """The texts of labels that a section has."""
    source = Reader(content, 0, len(content), refuse)
    more, n = bool(source.varint(2)), source.varint(MOST_LABELS + 1)
    texts = tuple(source.text() for _ in range(n))
    _check_end(source)
    if not texts or (more and n < MOST_LABELS) or any(b <= a for a, b in pairwise(texts)):
        refuse("a section is impossible")
    if any(len(text.encode("utf-8")) > LONGEST_LABEL for text in texts):
        refuse("a section is impossible")
    return LabelTexts(texts, more)


def _check_end(source: Reader) -> None:
    if source.at != source.end:
        refuse("a section is impossible")


def merged_sections(
    ours: tuple[Section, ...], theirs: tuple[Section, ...], we_have_rows: bool, they_have_rows: bool
) -> tuple[Section, ...]:
    """The sections of two sketches in one; a type that nobody here knows stays with the only sketch that has rows."""
    if not (theirs or they_have_rows):
        return ours
    if not (ours or we_have_rows):
        return theirs
    a, b = ({kind: content for kind, _, content in sections} for sections in (ours, theirs))
    if POSITIVE in a and POSITIVE in b and a[POSITIVE] != b[POSITIVE]:
        other, own = (repr(positive_of(sections[POSITIVE])) for sections in (b, a))
        raise refusal("different_positive", "positive", value=other, limit=own)
    merged = {} if we_have_rows == they_have_rows else dict(a if we_have_rows else b)
    merged |= {kind: (a | b)[kind] for kind in KNOWN if kind in a or kind in b}
    if COLUMNS in a and COLUMNS in b:
        pairs = zip(columns_of(a[COLUMNS]), columns_of(b[COLUMNS]), strict=True)
        merged[COLUMNS] = columns_bytes([_merged_columns(x, y) for x, y in pairs])
    if LABELS in a and LABELS in b:
        merged[LABELS] = (labels_of(a[LABELS]) | labels_of(b[LABELS])).to_bytes()
    if UNMIXED in a and UNMIXED in b:
        merged[UNMIXED] = max(a[UNMIXED], b[UNMIXED])
    return tuple((kind, kind in OF_ROWS, merged[kind]) for kind in sorted(merged))


def _merged_columns(a: Columns, b: Columns) -> Columns:
    if a == ():
        return b
    return a if b in ((), a) else None
