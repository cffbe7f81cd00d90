"""What a sketch remembers of its tables: the names of their columns, which label meant 1, and what was not counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from gstar_fast._base.bytes import name_bytes
from gstar_fast._base.names import Name, Scalar, joined_columns
from gstar_fast._base.public import lives_in
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.sections import (
    COLUMNS,
    LABELS,
    NO_SUMS,
    POSITIVE,
    UNMIXED,
    LabelTexts,
    Section,
    columns_bytes,
    columns_of,
    labels_of,
    positive_of,
)
from gstar_fast._base.warn import warn
from gstar_fast._input.positive import label_text

if TYPE_CHECKING:
    from gstar_fast._backends.interface import SketchCore


@lives_in("gstar_fast.results")
class Mixed(Enum):
    """Stands in the place of a column's name where tables had different ones."""

    MIXED = "several"


MIXED: Final = Mixed.MIXED


@lives_in("gstar_fast.results")
@dataclass(frozen=True)
class Columns:
    """Names of the columns that the rows of a sketch came from, for later steps and for readers.

    Attributes
    ----------
    score, label : str, Mixed.MIXED or None
        None where no table named one.
    group : tuple of str, Mixed.MIXED or None
        Several where groups are intersections.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> import polars as pl
    >>> people = pl.DataFrame({"p": [0.25, 0.75], "y": [0, 1], "sex": ["F", "M"]})
    >>> gf.Sketch().update_table(people, score="p", label="y", group="sex").columns
    Columns(score='p', label='y', group=('sex',))
    """

    score: str | Mixed | None = None
    label: str | Mixed | None = None
    group: tuple[str, ...] | Mixed | None = None

    def __str__(self) -> str:
        """Such as "score p, label y, group sex and race"."""
        named = ((name, getattr(self, name)) for name in ("score", "label", "group"))
        return ", ".join(f"{name} {_words(value)}" for name, value in named if value is not None)

    def of_thresholds(self, groups: Sequence[Name]) -> tuple[str | None, str | None]:
        """Score and group column as thresholds for these groups store them; None where no one name is known."""
        score = self.score if isinstance(self.score, str) else None
        if not isinstance(self.group, tuple):
            return score, None
        several = all(isinstance(name, tuple) for name in groups)  # not so after `pooled`, for instance
        return score, joined_columns(self.group) if several == (len(self.group) > 1) else None


def _words(value: str | tuple[str, ...] | Mixed) -> str:
    if isinstance(value, Mixed):
        return "(several)"
    return value if isinstance(value, str) else " and ".join(value)


def in_words(columns: Columns, positive: Scalar | None) -> str:
    """Such as "score p, label y, group sex; label 1 is 'yes'"; empty where nothing was named."""
    told = [str(columns), "" if positive is None else f"label 1 is {positive!r}"]
    return "; ".join(filter(None, told))


ASSUMED: Final = (
    "groups were estimated from probabilities, so all numbers assume that these are calibrated for each label and, "
    "given group and label, independent of the score"
)
CONTRADICTED: Final = b"\1"


# ------------------------------------------------------------------------------------------------------------- sections


NO_LABELS: Final = LabelTexts(())


def sections_of(
    columns: Columns, positive: Scalar | None, others: Iterable[Section] = (), labels: LabelTexts = NO_LABELS
) -> tuple[Section, ...]:
    """Sections that say this, beside others of other types; what says nothing has none."""
    kept = {one[0]: one for one in others if one[0] not in (COLUMNS, POSITIVE)}
    if columns != Columns():
        score, label = ((name,) if isinstance(name, str) else name for name in (columns.score, columns.label))
        kept[COLUMNS] = COLUMNS, False, columns_bytes([_plain(names) for names in (score, label, columns.group)])
    if positive is not None:
        kept[POSITIVE] = POSITIVE, True, name_bytes(positive)
    if labels.texts:
        kept[LABELS] = LABELS, False, labels.to_bytes()
    return tuple(kept[kind] for kind in sorted(kept))


def _plain(names: tuple[str, ...] | Mixed | None) -> tuple[str, ...] | None:
    """As sections have it: nothing for no name, None for several."""
    return None if isinstance(names, Mixed) else names or ()


def _content(sections: Iterable[Section], wanted: int) -> bytes | None:
    return next((content for kind, _, content in sections if kind == wanted), None)


def columns_in(sections: Iterable[Section]) -> Columns:
    """The columns that sections name."""
    content = _content(sections, COLUMNS)
    if content is None:
        return Columns()
    score, label, group = columns_of(content)
    return Columns(_only(score), _only(label), MIXED if group is None else group or None)


def _only(names: tuple[str, ...] | None) -> str | Mixed | None:
    return MIXED if names is None else names[0] if names else None


def positive_in(sections: Iterable[Section]) -> Scalar | None:
    """The label that 1 stood for; None where no one was named."""
    content = _content(sections, POSITIVE)
    return None if content is None else positive_of(content)


def labels_in(sections: Iterable[Section]) -> LabelTexts:
    """Texts of the labels in tables, if there is a section for them."""
    content = _content(sections, LABELS)
    return NO_LABELS if content is None else labels_of(content)


def sums_in(sections: Iterable[Section]) -> bool:
    """Whether sums of scores are those of the rows."""
    return _content(sections, NO_SUMS) is None


def assumption_in(sections: Iterable[Section]) -> str | None:
    """The assumptions behind estimated groups; None if all groups are known."""
    content = _content(sections, UNMIXED)
    if content is None:
        return None
    return f"{ASSUMED}; {'the counts contradict this' if content == CONTRADICTED else 'the counts cannot prove it'}"


# --------------------------------------------------------------------------------------------------------------- labels


def labels_there(core: SketchCore) -> set[int]:
    """Which of the labels 0 and 1 occur."""
    frozen = core.copy()
    beyond = frozen.below() + frozen.above()
    return {label for label in (0, 1) if beyond[label].any() or frozen.counts(label).any()}


def check_positive(core: SketchCore) -> None:
    """Raise if no row of a complete count has the positive label."""
    positive, found = positive_in(core.sections), labels_in(core.sections)
    if positive is None or label_text(positive) in found.texts:  # rows with it were all skipped
        return
    if core.total and 1 not in labels_there(core):
        raise refusal("positive_absent", "positive", value=positive, limit=found)


def warn_of_labels(core: SketchCore) -> list[str]:
    """Warn if all labelled rows have one label, if the texts of labels are known; also returns the message as notes."""
    found, positive = labels_in(core.sections), positive_in(core.sections)
    there = labels_there(core) if found.texts else set()
    if len(there) != 1 or (there == {0} and label_text(positive) in found.texts):
        return []
    warning = refusal("one_label", "positive", value=(*there, positive), limit=found)
    warn(warning)
    return [str(warning)]
