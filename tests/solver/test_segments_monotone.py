"""Monotone thresholds by segment: the answers of plain enumeration, and searches that end."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gstar_fast as gf
from gstar_fast._backends.numpy import segments_master
from tests.helpers.monotone_oracle import MonotoneProblem, least_cost, random_problem

pytestmark = pytest.mark.filterwarnings(
    "ignore::gstar_fast.errors.DegenerateWarning",
    "ignore::gstar_fast.errors.MissingClassWarning",
    "ignore::gstar_fast.errors.NoiseWarning",
    "ignore::gstar_fast.errors.OverfitWarning",
    "ignore::gstar_fast.errors.ResolutionWarning",
)

EDGES = (-4, -2, -1, -0.5, -0.25, -0.125, -0.0625, 0, 0.0625, 0.125, 0.25, 0.5, 1, 2, 4)
# rows in each bin (base 36), by protected group, segment and label; its linear program went round in circles
CIRCLE = """
210100000010100 083132102024310 015010000000000 033322001021110 012200000000100 013110010213740
001100010000010 113101201147750 011000000000000 000010100121470 010300112112610 000000010114250
002100000105110 002000200011630 011100000002410 001100000021920 002000001111620 000000000003410
001000010011541 000000001011372 003110000001100 000000000015fb1 010100000001210 000010001011980
000101101010000 000000000012ae0 000000000010100 0010000000149h1 000000010100130 0000000000019f0
000110000022610 000000000103630 010010000004620 0000000000006a1 000010100007a40 000000000011441
001000100121990 000000000000250 0000000000024a1 000000000001172
"""


def circle() -> MonotoneProblem:
    rows = []
    for i, digits in enumerate(CIRCLE.split()):
        for edge, digit in zip(EDGES, digits, strict=True):
            rows += [(edge, i % 2, i // 10, i // 2 % 5)] * int(digit, 36)
    scores, labels, groups, segments = (np.array(column) for column in zip(*rows, strict=True))
    limits = {"predictive_equality": 0.0, "equalized_odds_sum": 0.03}
    return MonotoneProblem(scores, labels, groups, segments, limits, (1, 1), True)


def solved(problem, **options):
    sketch = gf.Sketch.from_rows(problem.scores, problem.labels, [problem.groups, problem.segments], bins=16)
    fp, fn = problem.costs
    options |= {"limits": problem.limits, "objective": {"fp": fp, "fn": fn, "balanced": problem.balanced}}
    return sketch, gf.solve(sketch, **options, fair_between=0, decide_by=gf.Segments(column=1), evidence=0)


def assert_least(problem, sketch, result):
    expected = least_cost(problem, sketch.edges)
    assert result.verdict == ("infeasible" if expected is None else "optimal")
    thresholds = [result.thresholds[name] for name in sorted(result.thresholds)]
    assert thresholds in (sorted(thresholds), sorted(thresholds, reverse=True))
    if expected is not None:
        assert math.sqrt(result.loss) == pytest.approx(expected, abs=1e-12)


def test_a_problem_whose_linear_program_went_round_in_circles_is_solved(backend):
    sketch, result = solved(circle())
    assert_least(circle(), sketch, result)
    assert result.proof.iterations < 100
    result.check(sketch)


@pytest.mark.slow
def test_random_monotone_problems_have_the_answers_of_enumeration(backend):
    seen = set()
    for seed in range(150 if backend == "native" else 25):
        problem = random_problem(np.random.default_rng([1717, seed]))
        sketch, result = solved(problem)
        assert_least(problem, sketch, result)
        seen.add(result.verdict)
    assert seen == {"optimal", "infeasible"}


def test_a_search_without_time_gives_a_valid_lower_bound(backend):
    """The clock is read inside a box, so that no box outlasts it."""
    for problem in (circle(), *(random_problem(np.random.default_rng([1717, seed])) for seed in range(12))):
        sketch, result = solved(problem, max_seconds=1e-9)
        assert result.proof.iterations <= 2  # one box for each order
        least = least_cost(problem, sketch.edges)
        if least is not None:
            assert result.lower_bound <= least**2 + 1e-12
        assert result.verdict in ("not_converged", "optimal", "infeasible")


def test_the_linear_program_ends_when_its_objective_stays_or_its_time_is_up(monkeypatch):
    pivots = []
    pivot = segments_master.Master.pivot

    def counted(self, name, careful):
        pivots[-1] += 1
        return pivot(self, name, careful)

    def optimise(self, end):
        pivots.append(0)
        return ended(self, end)

    ended = segments_master.Master.optimise
    monkeypatch.setattr(segments_master.Master, "pivot", counted)
    monkeypatch.setattr(segments_master.Master, "optimise", optimise)
    with gf.use_backend("numpy"):
        solved(circle())
        assert 100 < sum(pivots) < 5000
        monkeypatch.setattr(segments_master, "CLOCK", 2)
        pivots.clear()
        solved(circle(), max_seconds=1e-9)
        assert max(pivots) < 2
