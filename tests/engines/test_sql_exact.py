"""Counting in a database gives the bytes of counting its rows here."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from helpers.databases import Database

import gstar_fast as gf
from gstar_fast._base.grid import round24
from gstar_fast._engines import sql_text

RNG = np.random.default_rng(14)
N = 3_000
OPTIONS: list[dict[str, Any]] = [{}, {"range": (-3, 5), "bins": 64}, {"range": (2**-70, 2**-60)}]


def signs(n: int = N) -> Any:
    return RNG.choice([-1.0, 1.0], n)


def ties(n: int = N) -> Any:
    """Scores half way between two numbers of 24 bits, or one float64 beside that, with even and odd neighbours."""
    middle = RNG.integers(2**23, 2**24, n) * 2.0**29 + 2.0**28 * RNG.integers(0, 2, n)
    return (middle + RNG.integers(-1, 2, n)) * 2.0 ** RNG.integers(-80, -50, n) * signs(n)


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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning", "ignore::gstar_fast.errors.SentinelWarning")
@pytest.mark.parametrize("kind", AWKWARD)
def test_a_table_counted_in_its_database_has_the_bytes_of_one_pass(database: Database, kind: str) -> None:
    scores = AWKWARD[kind]
    labels, sexes = LABELS[: len(scores)], SEXES[: len(scores)]
    database.load("t", {"p": scores.tolist(), "y": labels, "sex": sexes})
    for options in OPTIONS:
        counted = gf.sql.sketch(
            database.execute, "t", score="p", label="y", group="sex", dialect=database.dialect, **options
        )
        one_pass = gf.Sketch.from_rows(scores, np.array(labels, int), np.array(sexes, str), **options)
        assert counted.digest() == one_pass.digest(), options


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"range": (0, 1)}])
def test_a_million_rows_have_the_bytes_of_one_pass(backend, options):
    n = 1_000_000
    rng = np.random.default_rng(3)
    scores = np.where(rng.random(n) < 0.9, 1 / (1 + np.exp(-rng.normal(-1, 2, n))), rng.normal(0, 30, n))
    groups = pa.array(["Asian", "Black", "Hispanic", "Other", "White"]).take(pa.array(rng.integers(0, 5, n)))
    rows = pa.table({"p": scores, "y": rng.integers(0, 2, n), "race": groups})
    with duckdb.connect(config={"threads": 2}) as connection:
        connection.register("people", rows)
        counted = gf.sql.sketch(
            lambda query: connection.execute(query).fetchall(),
            "people",
            score="p",
            label="y",
            group="race",
            dialect="duckdb",
            **options,
        )
    one_pass = gf.Sketch(**options).update_table(rows, score="p", label="y", group="race")
    assert counted.to_bytes() == one_pass.to_bytes()


# ------------------------------------------------------------------------------------------------------- the arithmetic


def as_queries_round(x: Any) -> Any:
    """`m * p / 2**23` in float64, as the databases compute it."""
    p = np.array([2.0 ** sql_text.octave(one) for one in x.tolist()])
    c = 1.5 * 2.0**52
    m = (x / p * 2.0**23 + c) - c
    assert np.array_equal(m, np.trunc(m))
    assert (np.abs(m) <= 2**24).all()
    return np.ldexp(m, np.frexp(p)[1] - 1 - 23)


def test_one_addition_rounds_to_24_bits_as_the_format_does():
    """All ties of some numbers, with what lies on either side of them, in every octave; and subnormal scores."""
    for e in (*range(-1074, -1010), *range(-30, 30), *range(950, 1000)):
        odd_and_even = np.array([2**23, 2**23 + 1, 2**23 + 2, 2**24 - 2, 2**24 - 1], np.float64)
        ties = np.ldexp(odd_and_even[:, None] * 2.0**29 + 2.0**28 * np.array([-1.0, 1.0, 0.0]), e - 52).ravel()
        near = np.concatenate([ties, np.nextafter(ties, np.inf), np.nextafter(ties, -np.inf)])
        near = near[near > 0]
        x = np.concatenate([near, -near])
        assert np.array_equal(as_queries_round(x), round24(x)), e
    subnormal = RNG.integers(1, 2**52, 1000) * 5e-324
    edges = np.concatenate([np.arange(1, 40) * 2.0**-1046, np.nextafter(np.arange(1, 40) * 2.0**-1046, 0), subnormal])
    assert np.array_equal(as_queries_round(edges), round24(edges))


def test_octaves_are_between_powers_of_two_and_hold_the_end_that_is_further_from_zero_below_it():
    assert [sql_text.octave(x) for x in (1.0, 1.5, math.nextafter(1, 0), 2.0, 2.0**1000)] == [0, 0, -1, 1, 1000]
    assert [sql_text.octave(x) for x in (-1.0, -1.5, math.nextafter(-1, 0), -2.0, -(2.0**1000))] == [-1, 0, -1, 0, 999]
    assert [sql_text.octave(x) for x in (5e-324, -5e-324, 2.0**-1022, -(2.0**-1022))] == [-1022] * 4
    assert [sql_text.octave(x, -1074) for x in (5e-324, 2.0**-1030, -(2.0**-1030))] == [-1074, -1030, -1031]
