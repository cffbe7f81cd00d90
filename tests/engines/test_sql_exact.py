"""Counting in a database gives the bytes of counting its rows here."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from helpers.databases import Database

import gstar_fast as gf

RNG = np.random.default_rng(14)
N = 3_000


def signs(n: int = N) -> Any:
    return RNG.choice([-1.0, 1.0], n)


def ties() -> Any:
    """Scores half way between two numbers of 24 bits, or one float64 beside that, with even and odd neighbours."""
    middle = RNG.integers(2**23, 2**24, N) * 2.0**29 + 2.0**28 * RNG.integers(0, 2, N)
    return (middle + RNG.integers(-1, 2, N)) * 2.0 ** RNG.integers(-80, -50, N) * signs()


AWKWARD = {
    "probabilities": RNG.random(N),
    "logits": RNG.normal(0.0, 3.0, N),
    "tiny": 1e-9 * RNG.random(N),
    "negative powers of two": -(2.0 ** RNG.integers(-70, 60, N)),
    "every size": signs() * 2.0 ** RNG.uniform(-1073, 1000, N),
    "subnormal": signs() * RNG.integers(0, 2**40, N) * 5e-324,
    "subnormal and large": np.where(RNG.random(N) < 0.5, RNG.integers(0, 10**9, N) * 5e-324, signs() * 2.0**1000),
    "zeros and infinities": RNG.choice([0.0, -0.0, math.inf, -math.inf, 1.0, -1.0, 5e-324, 2.0**1000], N),
    "only infinities": signs() * math.inf,
    "ties": ties(),
    "beyond float32": signs() * 2.0 ** RNG.uniform(128, 200, N),
    "whole numbers": RNG.integers(-40, 40, N).astype(float),
    "one score": np.full(N, 0.1),
    "no rows": np.zeros(0),
}
LABELS = RNG.integers(0, 2, N).tolist()
SEXES = RNG.choice(["F", "M"], N).tolist()


def load(database: Database, scores: Any) -> tuple[Any, Any, Any]:
    """Put scores into the table t, and say what it holds."""
    x, y, g = scores.tolist(), LABELS[: len(scores)], SEXES[: len(scores)]
    database.load("t", {"p": x or [], "y": y, "sex": g})
    return x, y, g


@pytest.mark.filterwarnings("ignore::gstar_fast.ResolutionWarning", "ignore::gstar_fast.SentinelWarning")
@pytest.mark.parametrize("kind", AWKWARD)
def test_a_table_counted_in_its_database_has_the_bytes_of_one_pass(database, kind):
    x, y, g = load(database, AWKWARD[kind])
    for options in ({}, {"range": (-3, 5), "bins": 64}, {"range": (2**-70, 2**-60)}):
        counted = gf.sql.sketch(
            database.execute, "t", score="p", label="y", group="sex", dialect=database.dialect, **options
        )
        one_pass = gf.Sketch.from_rows(np.array(x), np.array(y, int), np.array(g, str), **options)
        assert counted.digest() == one_pass.digest(), options
