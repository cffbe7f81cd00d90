"""Labels of any kind -> 0 and 1, by the one that means 1."""

from __future__ import annotations

from functools import partial

import numpy as np

from gstar_fast._base.arrays import Ints
from gstar_fast._base.names import Scalar, clean_name, is_missing
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._input.arrow import Column
from gstar_fast._input.group_columns import unique_numbers

LONGEST = 60  # characters of a label that are kept


def checked_positive(positive: object, label: str | None) -> Scalar | None:
    """The label that means 1; None where labels are 0 and 1 already."""
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


def labels_by(column: Column, positive: Scalar) -> tuple[Column, set[str]]:
    """1 where a column has the positive label, 0 where it has another, null where it has none; and all their texts."""
    codes, labels = _distinct(column)
    found = {label_text(labels[code]) for code in np.flatnonzero(np.bincount(codes + 1)[1:])}
    is_text = isinstance(positive, str)
    kinds = {isinstance(label, str) for label in labels if not is_missing(label)}
    if found and is_text not in kinds:
        kind = "text" if True in kinds else "numbers or bools"
        raise refusal("positive_kind", "positive", value=positive, limit=kind)
    same = [isinstance(label, str) == is_text and bool(label == positive) for label in labels]
    ones = np.array([*same, False])  # the last is for rows without a label
    return Column(ones[codes].view(np.uint8), None if (codes >= 0).all() else codes >= 0, None), found


def _distinct(column: Column) -> tuple[Ints, list[object]]:
    """Labels, and which of them each row has; -1 where it has none."""
    values, valid, names = column
    if names is not None:
        labels, codes = list(names), values.astype(np.int64)
        codes[(codes < 0) | (codes >= len(labels))] = -1
    else:
        by_sorting = partial(np.unique, return_inverse=True)
        unique, places = (unique_numbers if values.dtype.kind in "iu" else by_sorting)(values)
        labels, codes = unique.tolist(), places.astype(np.int64)
    if valid is not None:
        codes[~valid] = -1
    if values.dtype.kind == "f" and (nan := np.isnan(values) & (codes >= 0)).any():
        raise refusal("nan_label", "labels", int(nan.argmax()))
    missing = np.array([*map(is_missing, labels), False])
    return np.where((codes < 0) | missing[codes], -1, codes), labels


def label_text(label: object) -> str:
    """A label as text for messages and storage, cut if it is long."""
    text = str(label).encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
