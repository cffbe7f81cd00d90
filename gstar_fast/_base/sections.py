"""Sections at the end of a sketch's bytes: their forms, and how those of two sketches merge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple, NoReturn, TypeAlias

from gstar_fast._base.bytes import Reader, varint
from gstar_fast._base.names import LONGEST_TUPLE, Scalar
from gstar_fast._base.refusals.refusal import refusal

Section: TypeAlias = tuple[int, bool, bytes]  # type, needed, content

COLUMNS, POSITIVE, NO_SUMS, LABELS, UNMIXED = 1, 2, 3, 4, 5
KNOWN: Final = (COLUMNS, POSITIVE, NO_SUMS, LABELS, UNMIXED)
OF_ROWS: Final = (POSITIVE, NO_SUMS, UNMIXED)  # part of what was counted, not of where it came from; readers need these


def refuse(why: str) -> NoReturn:
    """Reject bytes that are not a sketch; the compiled reader has the same words for faults of a whole file."""
    raise refusal("not_valid", "sketch", value=why)


def _check(possible: bool) -> None:
    if not possible:
        refuse("a section is impossible")


def sections_bytes(sections: Sequence[Section]) -> bytes:
    """How sections are written."""
    parts = [varint(kind) + bytes((needed,)) + varint(len(content)) + content for kind, needed, content in sections]
    return varint(len(parts)) + b"".join(parts)


def read_sections(source: Reader) -> tuple[Section, ...]:
    """The sections, all of a right form."""
    n = source.varint(2**63)
    sections = tuple((source.varint(2**63), bool(source.varint(2)), source.take(source.varint())) for _ in range(n))
    check_sections(sections)
    return sections


def check_sections(sections: Sequence[Section]) -> None:
    """Reject sections out of order or of a wrong form, and needed ones of an unknown type."""
    types = [kind for kind, _, _ in sections]
    if any(b <= a for a, b in pairwise(types)) or not all(0 <= kind < 2**63 for kind in types):
        refuse("sections are out of order")
    for kind, needed, content in sections:
        if needed and kind not in KNOWN:
            refuse(f"it needs a section of type {kind}, which this library does not know; install a newer one")
        _check(needed == (kind in OF_ROWS))
        _check(kind != COLUMNS or columns_of(content) != ((), (), ()))
        _check(kind != NO_SUMS or not content)
        _check(kind != UNMIXED or content in (b"\0", b"\1"))
        if kind == POSITIVE:
            positive_of(content)
        if kind == LABELS:
            labels_of(content)


ColumnNames: TypeAlias = (
    tuple[str, ...] | None
)  # names of columns; () where none was given, None where several were met


def columns_of(content: bytes) -> tuple[ColumnNames, ColumnNames, ColumnNames]:
    """The columns of scores, labels and groups that a section names."""
    source = Reader(content, 0, len(content), refuse)
    score, label, group = (_read_columns(source, most) for most in (1, 1, LONGEST_TUPLE))
    _check(source.at == source.end)
    return score, label, group


def _read_columns(source: Reader, most: int) -> ColumnNames:
    how = source.take(1)[0]
    n = source.varint(most + 1) if how == 1 else 0
    _check(n > 0 if how == 1 else how in (0, 2))
    return None if how == 2 else tuple(source.text() for _ in range(n))


def columns_bytes(columns: Sequence[ColumnNames]) -> bytes:
    """The section that names the columns of scores, labels and groups."""
    return b"".join(b"\2" if names is None else _named(names) for names in columns)


@lru_cache  # every batch of a stream has the same ones
def _named(names: tuple[str, ...]) -> bytes:
    texts = [name.encode("utf-8") for name in names]
    return b"\1" + varint(len(texts)) + b"".join(varint(len(t)) + t for t in texts) if texts else b"\0"


def positive_of(content: bytes) -> Scalar:
    """What label 1 stood for, as a section says it."""
    source = Reader(content, 0, len(content), refuse)
    name = source.scalar()
    _check(source.at == source.end)
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
    _check(source.at == source.end and n > 0 and (not more or n == MOST_LABELS))
    _check(all(a < b for a, b in pairwise(texts)))
    _check(all(len(text.encode("utf-8")) <= LONGEST_LABEL for text in texts))
    return LabelTexts(texts, more)


def merged_sections(
    ours: tuple[Section, ...], theirs: tuple[Section, ...], we_have_rows: bool, they_have_rows: bool
) -> tuple[Section, ...]:
    """The sections of two sketches in one; a type of unknown meaning stays with the only sketch that has rows."""
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


def _merged_columns(a: ColumnNames, b: ColumnNames) -> ColumnNames:
    if a == ():
        return b
    return a if b in ((), a) else None
