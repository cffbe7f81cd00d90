"""Check a result against a sketch: every number is computed again, and its verdict is proven on the counts.

Numbers are computed from the thresholds and the counts by the functions that `solve` uses. That nothing is better, or
that nothing meets the limits, is proven by certificates, which `check` reads in whole numbers and fractions. They come
from the result or from a new search. A verdict without certificates is compared with a new answer of `solve` to the
same question. No field of the result or of its proof is trusted.
"""

from __future__ import annotations

import math
import reprlib
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass, replace
from typing import Any, Final

import numpy as np

from gstar_fast._backends import room
from gstar_fast._backends.common.segments import SEGMENT_NODES, SMALLEST
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._criteria import CRITERION
from gstar_fast._question.options import check_together
from gstar_fast._question.question import Question
from gstar_fast._question.roles import asked_roles, on_its_columns
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._solver.answer.parts import Part
from gstar_fast._solver.answer.proof import Certificate, Leaf
from gstar_fast._solver.answer.result import Result
from gstar_fast._solver.cells import Cells
from gstar_fast._solver.finish import finish, finish_mixture
from gstar_fast._solver.mix import Mixture
from gstar_fast._solver.notes import told_of_noise, with_gap_notes
from gstar_fast._solver.search import STEPS, Problem, prepare
from gstar_fast._solver.segments.answer import Answer
from gstar_fast._solver.segments.check import TOLERANCE, Checker, Parts, Rows, check
from gstar_fast._solver.segments.search import certificate_of, certificate_of_mix, numbered, searches_of
from gstar_fast._words import KINDS

MOST_COUNTS: Final = 2**24  # of groups as segments: groups times groups times bins
CLOSE: Final = 1e-12  # tolerance of numbers from counts
CLOSE_CHANCE: Final = 1e-9  # tolerance of the numbers of a promise
CLOSE_SMOOTH: Final = 1e-8  # tolerance of numbers from densities, which are iterated
# not compared as numbers; `_check_words` compares message and notes, the rest is not checked
METADATA: Final = frozenset({"message", "notes", "point", "iterations", "score_column", "group_column", "question"})
# `digest` is compared if it is known; `steps` are checked
HIDDEN: Final = frozenset({"digest", "steps"})
SEARCHED: Final = frozenset({"evidence", "promise"})  # do not follow from thresholds: compared with a new search
EXACT: Final = {"thresholds": 0.0, "default": 0.0, "promise": CLOSE_CHANCE}


class _NoCertificateError(Exception):
    """The search for certificates is too large, or was ended early."""


def check_result(result: Result, sketch: Sketch, *, plain: bool = False) -> None:
    """Raise ValueError if a number of a result does not follow from the sketch, or if its verdict is not proven.

    `plain` is for the plain answer that a promise keeps.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they were given when the result was found
        try:
            question = result.question
            check_together(question)
            own = on_its_columns(question, result.rates, sketch)
            if own is not sketch:  # the groups of this sketch are the result's own, so the question names no columns
                question = replace(question, fair_between=None, decide_by=None)
            _check(replace(result, question=replace(question, max_seconds=None)), own, plain)
        except (TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:  # a field of another type
            raise refusal("proof", value=f"a field of it cannot be read ({type(error).__name__}: {error})") from error


def _check(result: Result, sketch: Sketch, plain: bool) -> None:
    digest = result.origin.digest
    if digest is not None and digest != sketch.digest():
        raise refusal("proof", value=f"it came from the sketch with digest {digest}")
    if result.promise is not None:
        check_result(result.promise.plain, sketch, plain=True)
    why, again = _without_certificate(result), None
    if why is None:
        made = again_from_thresholds(result, sketch)
        compare(result, made, without=SEARCHED)
        if result.verdict == "not_converged":
            raise refusal(
                "no_proof", value="the verdict is 'not_converged', which does not say that the error is the least"
            )
        try:
            _prove(result, sketch)
        except _NoCertificateError:
            why = "the search for certificates is too large"
    searched = result.question.confidence is not None or (result.question.evidence > 0 and not result.question.unified)
    if why is not None or searched or any(getattr(result, name) is not None for name in SEARCHED):
        again = solve_again(result, sketch)
        compare(result, again)
    if again is not None and plain:  # a plain answer inside a promise has no note on noise
        again = again.but(notes=tuple(note for note in again.notes if note.code != "noise"))
    elif again is None and result.origin.point is not None:
        again = made
    elif again is None and plain:
        again = with_gap_notes(made)
    elif again is None and result.proof.steps is not None:
        again = told_of_noise(with_gap_notes(made), cells_of(result, sketch))
    _check_words(result, solve_again(result, sketch) if again is None else again)


def _check_words(result: Result, expected: Result) -> None:
    """Raise if message or notes differ from another result's; the position on a frontier is not compared."""
    close = CLOSE_SMOOTH if result.question.smooth else CLOSE
    if not _same(result.notes, expected.notes, close):
        raise _differs("notes", tuple(map(str, result.notes)), tuple(map(str, expected.notes)))
    point = result.origin.point
    message = expected.message if point is None else str(point)
    for name, one, two in (("slack", result.proof.slack, expected.proof.slack), ("message", result.message, message)):
        if not _same(one, two, 0.0):
            raise _differs(name, one, two)


def _without_certificate(result: Result) -> str | None:
    """Why a result is solved again and compared; None if certificates prove it."""
    asked = result.question
    if asked.method != "exact" or asked.smooth or asked.penalties:
        return "it is about penalties or smooth densities"
    if asked.min_rows:
        return "small groups were pooled"
    if result.verdict not in ("optimal", "infeasible", "not_converged"):
        return "the verdict is about new rows, or about evidence"
    return None


# ------------------------------------------------------------------------------------------------------------- numbers


def compare(found: Result, expected: Result, without: frozenset[str] = frozenset()) -> None:
    """Raise if a field of a result, except METADATA, is not as expected."""
    smooth = found.question.smooth
    for name, one, two in _fields(found, expected):
        if name in METADATA | HIDDEN | without:
            continue
        if not _same(one, two, CLOSE_SMOOTH if smooth else EXACT.get(name, CLOSE)):
            raise _differs(name, one, two)


def _fields(found: Result, expected: Result) -> Iterator[tuple[str, object, object]]:
    """Names of the fields of a result and of its parts, with both values."""
    for name, one in vars(expected).items():
        other = getattr(found, name)
        if isinstance(one, Part) or name in ("proof", "origin"):
            if type(other) is not type(one):
                raise _differs(name, other, one)
            yield from ((more, vars(other)[more], value) for more, value in vars(one).items())
        if name not in ("proof", "origin"):
            other, one = (dict(each) if isinstance(each, Part) else each for each in (other, one))
            yield name, other, one


def _differs(name: str, found: object, expected: object) -> Exception:
    wrong: Exception = refusal(
        "proof", value=f"{name} is {reprlib.repr(found)}, but the rows give {reprlib.repr(expected)}"
    )
    return wrong


def _same(found: Any, expected: Any, close: float) -> bool:
    """Whether two values are the same: names and texts exactly, numbers up to rounding."""
    if isinstance(expected, Result):
        try:
            compare(found, expected)
        except ValueError:
            return False
        return True
    if is_dataclass(expected):
        return type(found) is type(expected) and _same(vars(found), vars(expected), close)
    if isinstance(expected, Mapping):
        return (
            isinstance(found, Mapping)
            and repr(list(found)) == repr(list(expected))
            and all(_same(found[key], expected[key], close) for key in expected)
            and (not isinstance(expected, Part) or _same(getattr(found, "__dict__", None), vars(expected), close))
        )
    if isinstance(expected, (tuple, list)):
        return (
            isinstance(found, (tuple, list))
            and len(found) == len(expected)
            and all(_same(one, two, close) for one, two in zip(found, expected, strict=True))
        )
    if isinstance(expected, (int, float)) and not isinstance(expected, bool):
        if isinstance(found, bool) or not isinstance(found, (int, float)):
            return False
        return found == expected or abs(found - expected) <= close * max(1.0, abs(expected)) < math.inf
    return type(found) is type(expected) and bool(found == expected)


def again_from_thresholds(result: Result, sketch: Sketch) -> Result:
    """The result of these thresholds on the counts of a sketch, with the given verdict and question."""
    question = result.question
    made = (_by_segment if question.by_segment else _by_group)(result, sketch, question)
    if result.verdict == "infeasible":
        made = made.but(lower_bound=0.0, slack=result.proof.slack)
    elif result.verdict == "not_converged":  # a bound that is claimed, not proven
        made = made.but(lower_bound=min(float(result.lower_bound), made.loss))
    return made.but(verdict=result.verdict)


def _by_group(result: Result, sketch: Sketch, question: Question) -> Result:
    compared = tuple(limit for limit in question.limits if limit.criterion.compares)  # others leave candidates out
    search = prepare(Cells.of(sketch), replace(question, limits=compared), shared=question.unified)
    search = replace(search, question=question)
    start, candidate = search.table.start, search.table.candidate
    entries, weights = [], []
    for k, part in enumerate(_own_parts(result, search.cells)):
        for t, weight in part:
            at = int(start[k] + np.searchsorted(candidate[start[k] : start[k + 1]], t))
            if at == start[k + 1] or candidate[at] != t:
                raise refusal(
                    "proof", value=f"a threshold of {search.groups[k]!r} decides like one nearer to the unified one"
                )
            entries.append(at)
            weights.append(weight)
    if result.randomized:
        return finish_mixture(search, Mixture(np.array(entries), np.array(weights), 0.0, result.proof.iterations))
    numbers = np.array(entries) - start[:-1]
    return finish(search, numbers, "optimal", result.proof.iterations)


def _by_segment(result: Result, sketch: Sketch, question: Question) -> Result:
    cells = cells_of(result, sketch)
    search = searches_of(Problem.of(cells, question))[0]
    parts = [dict(part) for part in _own_parts(result, cells)]
    answer = Answer(cells, question)
    message = answer.least(result.randomized)
    if result.verdict == "infeasible" and result.proof.slack is not None:  # which is proven with the limits
        message = answer.none(result.proof.slack)
    return answer.result(search, parts, "optimal", message, result.proof.iterations, mixed=result.randomized)


def cells_of(result: Result, sketch: Sketch) -> Cells:
    """The cells of the groups and segments of a result."""
    question = result.question
    if not question.by_segment:
        return Cells.of(sketch)
    return Cells.of(sketch, asked_roles(sketch, question.fair_between, question.columns))


def _own_parts(result: Result, cells: Cells) -> tuple[tuple[tuple[int, float], ...], ...]:
    """Candidates and weights that the result has for each group or segment."""
    mixtures = result.mixtures
    if mixtures is None:
        mixtures = {name: ((t, 1.0),) for name, t in result.thresholds.items()}
    if repr(tuple(result.thresholds)) != repr(cells.segments) or repr(tuple(mixtures)) != repr(cells.segments):
        raise refusal("proof", value="the thresholds are for other groups or segments")
    each = list(mixtures.values())
    if result.question.unified and len(set(each)) > 1:
        raise refusal("proof", value="unified thresholds differ")
    return tuple(tuple((_candidate(t, cells), weight) for t, weight in part) for part in each)


def _candidate(threshold: float, cells: Cells) -> int:
    found = np.flatnonzero(cells.candidates == threshold)
    if not len(found):
        raise refusal("proof", value=f"the threshold {threshold!r} is not at a bin edge")
    return int(found[0])


def solve_again(result: Result, sketch: Sketch, question: Question | None = None) -> Result:
    """What `solve` finds for the question of a result, or for another one about the same rows."""
    from gstar_fast._verbs.solve import solve_question  # it makes results

    if result.question.density not in KINDS:
        raise refusal("no_proof", value="the densities that were given to `solve` are not part of the result")
    try:
        return solve_question(sketch, question or result.question)
    except (TypeError, ValueError) as error:
        raise refusal("proof", value=f"its question cannot be asked of this sketch ({error})") from None


# -------------------------------------------------------------------------------------------------------- certificates


def _prove(result: Result, sketch: Sketch) -> None:
    """Raise if certificates do not prove the verdict on the counts of a sketch."""
    cells, question = cells_of(result, sketch), result.question
    if result.origin.point is not None and (criterion := result.origin.point.criterion) in result.gaps:
        # a point of a frontier has the least error of all that meet its gap
        question = question.limited(CRITERION[criterion].limit(result.gaps[criterion]))
    own = _own_parts(result, cells)
    if question.unified:  # all groups are one segment
        cells = replace(cells, places=(cells.groups[:1], cells.group, 0 * cells.segment))
        own = own[:1]
    elif len(cells.groups) * cells.rows[0].size * 3 > MOST_COUNTS and not question.by_segment:
        raise _NoCertificateError
    problem, rows = Problem.unchecked(cells, question), cells.dense().tolist()
    if result.verdict == "infeasible":
        _prove_none(result, problem, rows, _kept(result))
        _prove_nearest(result, problem, rows, own)
        return
    certificates = _kept(result) or _searched(result, problem)
    _check_orders(result, certificates)
    choice = None if result.randomized else tuple(part[0][0] for part in own)
    asked = [_asked(c, problem) for c in certificates]
    checkers = [Checker(replace(c, choice=choice, mixture=own if result.randomized else None), rows) for c in asked]
    judged = [it.judge(own) for it in checkers]
    most = next((found for found in judged if not isinstance(found, str)), None)  # thresholds follow one order, or both
    if most is None:
        raise refusal("proof", value=judged[0])
    for it in checkers:
        _held(it.excludes(most))


def _kept(result: Result) -> tuple[Certificate, ...]:
    """The certificates of a result; none if it has no proof."""
    try:
        steps = result.proof.steps
        return () if steps is None else steps.certificates
    except ValueError as error:
        raise refusal("proof", value=f"it is broken: {error}") from None


def _held(wrong: str | None) -> None:
    if wrong is not None:
        raise refusal("proof", value=wrong)


def _asked(c: Certificate, problem: Problem) -> Certificate:
    """A certificate with only its steps, for the question of the result."""
    scale = problem.scale
    return Certificate(
        limits=numbered(problem.question.limits, problem.cells.groups),
        prices=(scale.fp, scale.fn),
        unit=scale.unit,
        order=c.order,
        choice=None,
        within=max(1, math.ceil(SMALLEST * scale.unit)),
        first=c.first,
        steps=c.steps,
    )


def _check_orders(result: Result, certificates: tuple[Certificate, ...]) -> None:
    rising = tuple(range(len(result.thresholds)))
    wanted = [rising, rising[::-1]] if result.question.monotone else [None]
    if sorted((c.order for c in certificates), key=str) != sorted(wanted, key=str):
        raise refusal("proof", value="it is about other segments, or about one of two orders alone")


def _searched(result: Result, problem: Problem, *, mixed: bool | None = None) -> tuple[Certificate, ...]:
    """Certificates of a new search, for mixtures or for choices."""
    out = []
    for search in searches_of(problem):
        if result.randomized if mixed is None else mixed:
            if (mix := room("segments").mix(search.nominal())) is None:
                raise refusal("proof", value="no mixture meets the limits")
            out.append(certificate_of_mix(search, mix))
            continue
        best = room("segments").choose(search.arrays, SEGMENT_NODES)
        if not best.finished:
            raise _NoCertificateError
        out.append(certificate_of(search, best))
    return tuple(out)


def _prove_none(result: Result, problem: Problem, rows: Rows, kept: tuple[Certificate, ...] = ()) -> None:
    """Raise if certificates do not prove that nothing meets the limits; for mixtures, by one bound for all."""
    certificates = kept or _searched(result, problem, mixed=False)
    _check_orders(result, certificates)
    if not kept and any(c.choice is not None for c in certificates):
        raise refusal("proof", value="there are thresholds that meet the limits")
    for c in certificates:
        if result.randomized and not (len(c.steps) == 1 and isinstance(c.steps[0], Leaf)):
            raise refusal("proof", value="there may be mixtures that meet the limits")
        _held(check(_asked(c, problem), rows))


def _prove_nearest(result: Result, problem: Problem, rows: Rows, own: Parts) -> None:
    """Raise unless the thresholds miss the limits by the slack of the result, and nothing misses them by less."""
    slack = result.proof.slack
    if slack is None:
        raise refusal("proof", value="it does not say by how much the limits are missed")
    steps = round(slack.each * STEPS)
    if steps / STEPS != slack.each or not 0 < steps <= STEPS:
        raise refusal("proof", value=f"the limits cannot be missed by {slack.each!r}")
    empty = Certificate((), (0, 0), 0.0, None, choice=None)
    if Checker(_asked(empty, _looser(problem, steps)), rows).outcome(own, TOLERANCE)[1]:
        raise refusal("proof", value=f"the thresholds miss the limits by more than {slack.each:g}")
    if slack.least:
        _prove_none(result, _looser(problem, steps - 1), rows)


def _looser(problem: Problem, steps: int) -> Problem:
    """The same question with every limit looser."""
    limits = tuple(limit.looser(steps / STEPS) for limit in problem.question.limits)
    return replace(problem, question=replace(problem.question, limits=limits))
