"""Columns of texts that reach every corner of the table that numbers them, and the dict it is compared with."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st


def by_dict(values):
    """The oracle: numbers in order of appearance, and what they stand for."""
    numbers = {}
    return [numbers.setdefault(value, len(numbers)) for value in values], list(numbers)


def again(text):
    """An equal string that is another object."""
    return "".join(list(text)) if len(text) > 1 else (text + "x")[:-1]


# Texts that differ in one place only: before, on and after the bytes that the table holds, and in length.
NEAR = ["", "\0", "a", "a\0", "\0a", "x" * 7, "x" * 8, "x" * 9, "x" * 15, "x" * 16, "x" * 17, "x" * 16 + "\0"]
NEAR += [f"{'x' * n}{mark}{'x' * 8}" for n in (8, 12, 23, 60) for mark in "yz"]
NEAR += ["é", "ÿ", "Ā", "aa", "慡", "\U0001f600", "é" * 9, "慡" * 5, "\U0001f600" * 3]

one_text = st.one_of(st.sampled_from(NEAR), st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
texts_lists = st.lists(one_text, min_size=1, max_size=12).flatmap(
    lambda few: st.lists(st.sampled_from(few), min_size=1, max_size=60)
)


def offsets_of(texts, dtype, lead):
    """Offsets and bytes of texts that begin after `lead` bytes of something else."""
    data = [text.encode() for text in texts]
    offsets = np.cumsum([lead, *map(len, data)]).astype(dtype)
    return offsets, np.frombuffer(b"#" * lead + b"".join(data), np.uint8)
