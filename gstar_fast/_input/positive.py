"""Labels of any kind -> 0 and 1, by the one that means 1."""

from __future__ import annotations

import numpy as np

from gstar_fast._base.arrays import Bools, Values
from gstar_fast._base.names import Scalar, clean_name, is_missing
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._input.arrow import Column

LONGEST = 60  # characters of a label that are kept


def checked_positive(positive: object, label: str | None) -> Scalar | None:
    """The label that means 1; None where none is named, and labels are 0 and 1 already."""
    if positive is None:
        return None
    if label is None:
        raise refusal("positive_alone", "positive", value=positive)
    try:
        name = clean_name(positive)
    except (TypeError, ValueError):
        name = ()
    if isinstance(name, tuple):
        raise refusal("positive_type", "positive", value=positive)
    return name


def labels_by(column: Column, positive: Scalar) -> Column:
    """1 where a column has the positive label, 0 where it has another, none where it has none."""
    values, valid, names = column
    if names is not None:
        known = np.array([not is_missing(name) for name in (*names, None)])
        ones = np.array([_same(name, positive) for name in (*names, None)])
        codes = np.array(values, np.int64)
        codes[(codes < 0) | (codes >= len(names))] = len(names)
        there = _both(valid, known[codes])
        _check_kind(positive, {isinstance(name, str) for name in names if not is_missing(name)}, codes, there)
        return Column(ones[codes].view(np.uint8), there, None)
    if values.dtype.kind == "f":
        nan = np.isnan(values)
        if valid is not None:
            nan &= valid
        if nan.any():
            raise refusal("nan_label", "labels", int(nan.argmax()))
    if values.dtype.kind in "biufU":
        text = values.dtype.kind == "U"
        _check_kind(positive, {text}, values, valid)
        same = values == positive if isinstance(positive, str) == text else np.zeros(len(values), bool)
        return Column(same.view(np.uint8), valid, None)
    private = values.tolist()
    same = np.array([_same(value, positive) for value in private], bool)
    return Column(same.view(np.uint8), _both(valid, np.array([not is_missing(v) for v in private], bool)), None)


def texts_of(column: Column) -> set[str]:
    """Texts of the labels that the rows of a column have."""
    values, valid, names = column
    there = values if valid is None else values[valid]
    if names is not None:
        found = [names[code] for code in np.unique(there).tolist() if 0 <= code < len(names)]
    else:
        found = (np.unique(there) if there.dtype.kind in "biufU" else there).tolist()
    return {label_text(label) for label in found if not is_missing(label)}


def label_text(label: object) -> str:
    """A label as text for messages and storage, cut if it is long."""
    text = str(label).encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _check_kind(positive: Scalar, texts: set[bool], rows: Values, there: Values | None) -> None:
    """Raise for text where all labels are numbers, and for a number where all are text."""
    if isinstance(positive, str) not in texts and len(rows) and (there is None or there.any()):
        kind = "text" if True in texts else "numbers or bools"
        raise refusal("positive_kind", "positive", value=positive, limit=kind)


def _same(value: object, positive: Scalar) -> bool:
    return isinstance(value, str) == isinstance(positive, str) and bool(value == positive)


def _both(valid: Bools | None, known: Bools) -> Values | None:
    there = known if valid is None else known & valid
    return None if there.all() else there
