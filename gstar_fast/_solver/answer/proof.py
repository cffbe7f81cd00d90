"""The proof of a result: certificates as plain numbers, which `check` reads against the counts, and their JSON.

A certificate is saved without its question and its answer: `check` takes those from the result and the sketch.
A step is one text: "cut 2 17 5 6" cuts segment 2 after candidate 17 into the boxes of steps 5 and 6, "leaf 1 tpr 0 1
0.25" is a bound with a weight and multipliers (rate, protected group, kind of row, value), "single" one choice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from gstar_fast._base.arrays import Floats, Ints
from gstar_fast._base.json import bad_document
from gstar_fast._criteria import Limit

LARGEST: Final = 2**24  # characters of steps: a larger proof is not saved, and `check` searches for one again
ALL = -1  # in the place of a group: all rows together

# rate, protected group or ALL, kind of row (as in common/segments.py), value
Multiplier = tuple[str, int, int, float]


@dataclass(frozen=True)
class Leaf:
    """A bound: in its box, weight * cost / unit plus the multipliers' terms; see `check`."""

    weight: int
    multipliers: tuple[Multiplier, ...]


@dataclass(frozen=True)
class Cut:
    """Two boxes: candidates of a segment up to `after`, and above."""

    segment: int
    after: int
    low: int  # which step of the proof is about the lower box
    high: int


@dataclass(frozen=True)
class Single:
    """A box of one choice, which breaks a limit or is no better."""


@dataclass(frozen=True)
class Certificate:
    """The question, the answer, and why no choice within the limits costs less by `within`, or more.

    Candidate 0 is -inf, candidate 1 + i is edge i.
    """

    limits: tuple[Limit, ...]  # in a limit on one group, `group` is its position, not its name
    prices: tuple[int, int]  # of a false positive and of a false negative
    unit: float
    order: tuple[int, ...] | None  # segments along which candidates may not fall; None where they may
    choice: tuple[int, ...] | None  # a candidate for each segment; None where no choice meets the limits
    mixture: tuple[tuple[tuple[int, float], ...], ...] | None = None  # of each segment: candidates and weights
    within: int = 1
    first: Leaf | None = None  # candidates that its bound rules out are left out of all boxes
    steps: tuple[Leaf | Cut | Single, ...] = field(default=(), repr=False)


@dataclass(frozen=True, eq=False)
class Tree:
    """The steps of a certificate as arrays, which are made much faster."""

    order: tuple[int, ...] | None
    segment: Ints  # (nodes,) that a node cuts; -1 for a bound, -2 for one choice, -3 for the bound before all steps
    after: Ints  # (nodes,) candidate
    child: Ints  # (nodes,) node of the lower box, the higher one follows
    weight: Floats  # (nodes,)
    multipliers: Floats  # (nodes, rows)
    rows: tuple[tuple[str, int, int], ...]  # rate, protected group and kind of each row

    def certificate(self) -> Certificate:
        """The steps one by one; question and answer are left out."""
        skip = int(self.segment[0] == -3)
        steps = tuple(self._step(i, skip) for i in range(skip, len(self.segment)))
        first = self._leaf(0) if skip else None
        return Certificate((), (0, 0), 0.0, self.order, choice=None, first=first, steps=steps)

    def _step(self, i: int, skip: int) -> Leaf | Cut | Single:
        j, low = int(self.segment[i]), int(self.child[i]) - skip
        if j >= 0:
            return Cut(j, int(self.after[i]), low, low + 1)
        return Single() if j == -2 else self._leaf(i)

    def _leaf(self, i: int) -> Leaf:
        at = np.flatnonzero(self.multipliers[i]).tolist()
        values = self.multipliers[i, at].tolist()
        return Leaf(int(self.weight[i]), tuple((*self.rows[r], value) for r, value in zip(at, values, strict=True)))


@dataclass(frozen=True, eq=False)
class Steps:
    """What proves a result by segment: data, of which `check` makes certificates."""

    parts: tuple[Tree | Certificate, ...] = ()  # one, or one for each order of monotone thresholds
    saved: object = None  # the same as a document has it, instead

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """The steps of each part; ValueError if a saved one cannot be read."""
        if self.saved is not None:
            return decode(self.saved)
        return tuple(part.certificate() if isinstance(part, Tree) else part for part in self.parts)

    @property
    def content(self) -> object:
        """The proof as it is saved in a document."""
        return encode(self.certificates) if self.saved is None else self.saved


def encode(certificates: tuple[Certificate, ...]) -> list[dict[str, object]] | None:
    """Certificates in the form of a document; None if they are too large."""
    out: list[dict[str, object]] = []
    size = 0
    for c in certificates:
        steps = [_text(step) for step in c.steps]
        size += sum(map(len, steps))
        order = None if c.order is None else list(c.order)
        out.append({"order": order, "first": None if c.first is None else _text(c.first), "steps": steps})
    return out if size <= LARGEST else None


def decode(saved: object) -> tuple[Certificate, ...]:
    """Certificates of a document, without question and answer; ValueError if one cannot be read."""
    out = []
    for one in saved if isinstance(saved, list) else [None]:
        if not isinstance(one, dict) or set(one) != {"order", "first", "steps"} or not isinstance(one["steps"], list):
            raise bad_document("a certificate has 'order', 'first' and 'steps'")
        order, first = one["order"], one["first"]
        if order is not None and not (isinstance(order, list) and all(type(j) is int for j in order)):
            raise bad_document("'order' is a list of segments, or null")
        leaf = None if first is None else _step(first)
        if leaf is not None and not isinstance(leaf, Leaf):
            raise bad_document("'first' is a bound, or null")
        steps = tuple(_step(text) for text in one["steps"])
        out.append(
            Certificate((), (0, 0), 0.0, None if order is None else tuple(order), choice=None, first=leaf, steps=steps)
        )
    return tuple(out)


def _text(step: Leaf | Cut | Single) -> str:
    if isinstance(step, Cut):
        return f"cut {step.segment} {step.after} {step.low} {step.high}"
    if isinstance(step, Single):
        return "single"
    entries = (f" {rate} {group} {kind} {value!r}" for rate, group, kind, value in step.multipliers)
    return f"leaf {step.weight}{''.join(entries)}"


def _step(text: object) -> Leaf | Cut | Single:
    words = text.split(" ") if isinstance(text, str) else [""]
    try:
        if words == ["single"]:
            return Single()
        if words[0] == "cut" and len(words) == 5:
            segment, after, low, high = map(_whole, words[1:])
            return Cut(segment, after, low, high)
        if words[0] == "leaf" and len(words) % 4 == 2:
            entries = zip(*(words[i::4] for i in range(2, 6)), strict=True)
            return Leaf(_whole(words[1]), tuple(_multiplier(*entry) for entry in entries))
    except ValueError:
        pass
    raise bad_document(f"a step is 'cut', 'leaf' or 'single' with its numbers; got {str(text)[:60]!r}")


def _multiplier(rate: str, group: str, kind: str, value: str) -> Multiplier:
    return rate, ALL if group == str(ALL) else _whole(group), _whole(kind), float(value)


def _whole(digits: str) -> int:
    if not digits.isascii() or not digits.isdigit() or len(digits) > 9:
        raise bad_document("not a whole number")
    return int(digits)
