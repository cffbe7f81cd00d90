"""Random rows that reach every corner of a sketch: hypothesis strategies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

import gstar_fast as gf


class Table(NamedTuple):
    """Rows, one array each; labels of 2 stand for unlabelled."""

    scores: NDArray[np.float64]
    labels: NDArray[np.uint8]
    groups: list[object]

    def take(self, rows: object) -> Table:
        """Some rows, in any order."""
        index = np.asarray(rows, np.int64)
        return Table(self.scores[index], self.labels[index], [self.groups[i] for i in index])

    def into(self, sketch: gf.Sketch, **options: object) -> gf.Sketch:
        """Count the rows into a sketch."""
        labels = [None if label == 2 else int(label) for label in self.labels]
        return sketch.update(self.scores, labels, self.groups, **options)  # type: ignore[arg-type]


def finite_scores(width: int = 64) -> st.SearchStrategy[float]:
    """Scores of every size: near 1, near each other, huge, subnormal, on powers of two and beside them."""
    most = 2.0**1000 if width == 64 else 2.0**127
    near = st.sampled_from([0.0, -0.0, 0.5, 1.0, -1.0, 2.0**-20, -(2.0**-30), 1000.0, 1000.0 + 2.0**-10])
    powers = st.integers(-1074 if width == 64 else -149, 999 if width == 64 else 126).map(lambda e: 2.0**e)
    kind = np.float64 if width == 64 else np.float32
    beside = st.builds(lambda p, to: float(np.nextafter(kind(p), kind(to))), powers, st.sampled_from([0.0, most]))
    return st.one_of(
        st.floats(-8, 8, width=width),
        st.floats(0, 1, width=width),
        near,
        st.builds(lambda p, s: s * p, st.one_of(powers, beside), st.sampled_from([1.0, -1.0])),
        st.floats(-most, most, width=width),
        st.integers(0, 300).map(lambda k: 16777217.0 + k),
    )


def scores(width: int = 64) -> st.SearchStrategy[float]:
    """Finite scores and infinities."""
    return st.one_of(finite_scores(width), finite_scores(width), st.sampled_from([np.inf, -np.inf]))


def sentinels(width: int = 64) -> st.SearchStrategy[float]:
    """Probabilities, many of them rare events, whole numbers, and values that stand for something missing."""
    rare = st.builds(lambda m, e: m * 2.0**e, st.integers(1, 2**20).map(float), st.integers(-60, -20))
    return st.one_of(
        st.floats(0, 1, width=width), rare, st.integers(-3, 3).map(float), st.sampled_from([-999.0, 0.0, 2.0**100])
    )


NAMES = (
    st.sampled_from([0, 1, 2, -7, 2**63 - 1, -(2**63)]),
    st.sampled_from(["", "F", "M", "ä", "\U0001f600", "a\0b", "a longer name than sixteen bytes"]),
    st.sampled_from([("F", 1), ("F", 2), ("M", True), ("F",), (3, "x", False)]),
    st.sampled_from([True, False]),
)


@st.composite
def tables(draw: st.DrawFn, max_rows: int = 40, width: int = 64, labelled: bool = False) -> Table:
    """Rows of one kind of score (so that windows are not always enormous) and a few groups."""
    n = draw(st.integers(0, max_rows))
    kinds = st.floats(-8, 8, width=width), st.floats(0, 1, width=width), sentinels(width), scores(width)
    kind = draw(st.sampled_from(kinds))
    x = np.array(draw(st.lists(kind, min_size=n, max_size=n)), np.float64)
    y = np.array(draw(st.lists(st.integers(0, 1 if labelled else 2), min_size=n, max_size=n)), np.uint8)
    names = draw(st.sampled_from([st.one_of(NAMES[0], NAMES[1], NAMES[2]), NAMES[0], NAMES[1], NAMES[3]]))
    return Table(x, y, draw(st.lists(names, min_size=n, max_size=n)))


def bins() -> st.SearchStrategy[int]:
    """Mostly few bins, where more happens."""
    return st.sampled_from([16, 32, 64, 4096])


# scores of every scale, with a sentinel among them
scattered = st.lists(
    st.floats(-1e6, 1e6) | st.floats(-1.0, 1.0) | st.floats(1e-9, 1e-6) | st.sampled_from([-999.0, 0.0, 0.5]),
    min_size=1,
    max_size=40,
)
