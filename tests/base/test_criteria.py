"""Rates and limits, against rows that are counted one by one and against fractions."""

import ast
import itertools
import math
import pickle
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import gstar_fast as gf
from gstar_fast._criteria import BOUNDS, CRITERION, KNOWN, LIMITED, Form, Limit
from gstar_fast._question.question import encode_limit, saved_limits
from gstar_fast._rates import RATE, SOLVER_RATES, ends_of, has_rate, rates_of_counts

KINDS = {(1, True): "tp", (1, False): "fn", (0, True): "fp", (0, False): "tn", (None, True): "in", (None, False): "out"}
HITS_AND_TRIALS = {  # rate -> kinds of rows: hits, and trials
    "tpr": [("tp", "tp fn")],
    "fpr": [("fp", "fp tn")],
    "tnr": [("tn", "fp tn")],
    "fnr": [("fn", "tp fn")],
    "selection_rate": [("tp fp in", "tp fp fn tn in out")],
    "base_rate": [("tp fn", "tp fn fp tn")],
    "accuracy": [("tp tn", "tp fn fp tn")],
    "ppv": [("tp", "tp fp")],
    "balanced_accuracy": [("tp", "tp fn"), ("tn", "fp tn")],
    "odds": [("tp", "tp fn"), ("fp", "fp tn")],
}


def by_rows(name, rows):
    """A rate as a fraction; None where its rows are missing."""
    parts = []
    for hits, trials in HITS_AND_TRIALS[name]:
        kinds = [KINDS[row] for row in rows if KINDS[row] in trials.split()]
        if not kinds:
            return None
        parts.append(Fraction(sum(kind in hits.split() for kind in kinds), len(kinds)))
    return sum(parts) / len(parts)


def counted(rows):
    """Accepted rows and all rows of label 0, 1 and none."""
    totals = [sum(y == label for y, _ in rows) for label in (0, 1, None)]
    accepted = [sum(y == label and d for y, d in rows) for label in (0, 1, None)]
    return np.array(accepted, dtype=np.int64), np.array(totals, dtype=np.int64)


def some_rows(random, most=9):
    labels = random.choice(np.array([0, 1, None], dtype=object), int(random.integers(1, most)))
    return [(y, bool(random.random() < 0.5)) for y in labels]


@pytest.mark.parametrize("name", list(RATE))
def test_a_rate_counts_the_rows_that_it_names(name):
    random, rate = np.random.default_rng(1), RATE[name]
    for _ in range(300):
        rows = some_rows(random)
        accepted, totals = counted(rows)
        expected = by_rows(name, rows)
        assert bool(rate.has(totals, accepted)) == (expected is not None)
        at = float(rate.values(accepted, totals))
        assert at == 0.0 if expected is None else abs(at - float(expected)) < 1e-15


def test_a_rate_of_whole_numbers_is_one_division():
    """No rounding but that of the division, up to 2**53."""
    random = np.random.default_rng(2)
    totals = random.integers(1, 2**51, (3, 500))
    accepted = (totals * random.random(totals.shape)).astype(np.int64)
    for name in ("tpr", "fpr", "selection_rate", "accuracy", "ppv"):
        ((hits, trials),) = RATE[name].shares
        both = np.concatenate([accepted, totals]).astype(object)
        expected = [float(Fraction(np.dot(hits, column), np.dot(trials, column))) for column in both.T]
        assert RATE[name].values(accepted, totals).tolist() == expected


@pytest.mark.parametrize("name", list(RATE))
def test_a_rate_rests_on_its_labels_alone(name):
    """Rows of other labels change nothing, and each of its labels changes it somewhere."""
    rate, moved = RATE[name], set()
    for rows in itertools.product(
        [(0, False), (0, True), (1, False), (1, True), (None, False), (None, True)], repeat=3
    ):
        for more in [(0, True), (1, True), (None, True), (0, False), (1, False), (None, False)]:
            if by_rows(name, rows) != by_rows(name, [*rows, more]):
                moved.add({0: 0, 1: 1, None: 2}[more[0]])
    assert moved == set(rate.labels)


@pytest.mark.parametrize("name", list(RATE))
def test_a_linear_rate_is_a_sum_over_accepted_rows(name):
    random, rate = np.random.default_rng(3), RATE[name]
    differs = False
    for _ in range(100):
        rows = [(0, True), (1, False), *some_rows(random)]
        accepted, totals = counted(rows)
        if not rate.linear:
            with pytest.raises(AssertionError, match=name):
                rate.slopes(totals)
            differs = True
            continue
        value = float(rate.base(totals) + (rate.slopes(totals) * accepted).sum())
        assert value == pytest.approx(float(by_rows(name, rows)), abs=1e-14)
    assert differs == (name == "ppv")


@pytest.mark.parametrize("name", list(RATE))
def test_a_rate_falls_where_rejecting_one_more_row_never_raises_it(name):
    falls = True
    for rows in itertools.product([(0, False), (0, True), (1, False), (1, True), (None, True)], repeat=4):
        for i, (label, accepted) in enumerate(rows):
            fewer = [*rows[:i], (label, False), *rows[i + 1 :]]
            before, after = by_rows(name, rows), by_rows(name, fewer)
            falls &= not accepted or before is None or after is None or after <= before
    assert RATE[name].falls == falls


def values_by_pairs(criterion, rates):
    """The value of a criterion from rates of groups (fractions, None where missing), by looking at all pairs."""
    found = []
    for row in rates:
        known = [r for r in row if r is not None]
        if len(known) < 2 < 1 + len(row):
            return None
        pairs = list(itertools.permutations(known, 2))
        if criterion.form is Form.RATIO:
            found.append(min((a / b if b else Fraction(1) for a, b in pairs), default=Fraction(1)))
            found[-1] = min(found[-1], Fraction(1))
        else:
            found.append(max((a - b for a, b in pairs), default=Fraction(0)))
    return {Form.RATIO: min, Form.DIFFERENCE: max, Form.SUM: sum}[criterion.form](found)


@pytest.mark.parametrize("name", list(CRITERION))
def test_a_criterion_compares_all_pairs_of_groups(name):
    random, criterion = np.random.default_rng(4), CRITERION[name]
    for _ in range(300):
        groups = [some_rows(random, 6) for _ in range(int(random.integers(1, 5)))]
        exact = [[by_rows(rate.name, rows) for rows in groups] for rate in criterion.rates]
        has = np.array([[r is not None for r in row] for row in exact])
        rates = np.array([[float(r or 0) for r in row] for row in exact])
        expected = values_by_pairs(criterion, exact)
        value = criterion.value(ends_of(rates, has))
        assert value is None if expected is None else value == pytest.approx(float(expected), abs=1e-15)
        limit = criterion.limit(0.5)
        met = None if expected is None else expected >= 0.5 if criterion.from_below else expected <= 0.5
        assert limit.met(limit.value(rates, has)) == met


def limits_of(random):
    """One limit of each criterion and form, offered or not."""
    for criterion in KNOWN.values():
        if criterion.form in (Form.BOUND, Form.TOTAL):
            yield Limit(criterion, least=float(random.random()))
            yield Limit(criterion, most=float(random.random()))
        else:
            yield criterion.limit(float(random.random() * criterion.largest))


def test_a_bound_keeps_the_candidates_that_meet_it():
    random = np.random.default_rng(6)
    for limit in limits_of(random):
        rates = random.random((1, 50))
        kept = [limit.criterion.compares or limit.least <= rate <= limit.most for rate in rates[0].tolist()]
        assert limit.keeps(rates).tolist() == kept


def test_one_group_may_have_a_bound_of_its_own():
    limit = Limit(BOUNDS["tpr"], least=0.7, group="b")
    assert limit.show() == "tpr of 'b' >= 0.7"


def test_windows_say_how_far_rates_may_be_apart():
    for name, criterion in CRITERION.items():
        least_ratio = (math.inf, 0.25) if name == "disparate_impact" else (0.25, -1.0)
        assert criterion.limit(0.25).windows() == dict.fromkeys(criterion.rates, least_ratio)
    assert Limit(BOUNDS["tpr"], least=0.7).windows() == {}


def test_looser_limits():
    gap, ratio = CRITERION["equalized_odds"].limit(0.25), CRITERION["disparate_impact"].limit(0.75)
    assert (gap.looser(0.5).most, ratio.looser(0.5).least, ratio.looser(2).least) == (0.75, 0.25, 0.0)
    floor = Limit(BOUNDS["tpr"], least=0.7)
    assert floor.looser(0.5).least == pytest.approx(0.2)


def test_a_bound_is_compared_with_the_worst_group():
    rates, has = np.array([[0.2, 0.9, 0.5]]), np.ones((1, 3), dtype=bool)
    assert Limit(BOUNDS["tpr"], least=0.3).value(rates, has) == 0.2
    assert Limit(BOUNDS["tpr"], most=0.8).value(rates, has) == 0.9
    assert Limit(BOUNDS["tpr"], least=0.1, most=0.85).value(rates, has) == 0.9
    assert Limit(BOUNDS["tpr"], most=0.8).value(rates, ~has) is None


def test_a_limit_is_read_again_as_it_was_written():
    for limit in limits_of(np.random.default_rng(8)):
        assert pickle.loads(pickle.dumps(limit)) == limit
        if limit.criterion.name in LIMITED:
            assert saved_limits([encode_limit(limit)]) == (limit,)


def test_rates_of_solvers_that_rest_on_other_rows():
    alike = {(a.name, b.name) for a, b in itertools.combinations(SOLVER_RATES, 2) if a.apart([b])}
    assert alike == {("tpr", "fpr")}


def test_rates_of_solvers_at_once_have_the_same_bits():
    random = np.random.default_rng(9)
    for most in (3, 50, 2**20, 2**58):
        totals = random.integers(0, most, (3, 500))
        accepted = np.minimum((totals * random.random(totals.shape)).astype(np.int64), totals)
        together = rates_of_counts(accepted, totals)
        assert together.tobytes() == np.array([rate.values(accepted, totals) for rate in SOLVER_RATES]).tobytes()
        assert has_rate(totals).tolist() == [rate.has(totals).tolist() for rate in SOLVER_RATES]


def literals(path):
    """Texts in a Python file, without its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bodies = [node.body for node in ast.walk(tree) if isinstance(getattr(node, "body", None), list) and node.body]
    docstrings = {id(body[0].value) for body in bodies if isinstance(body[0], ast.Expr)}
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docstrings]
    return {node.value for node in nodes if isinstance(node.value, str)}


def test_only_criteria_know_the_names_of_criteria():
    """Elsewhere records and forms decide, in Python and in C++, so a new criterion is one record."""
    package = Path(gf.__file__).parent
    found = [path.relative_to(package) for path in package.rglob("*.py") if CRITERION.keys() & literals(path)]
    assert found == [Path("_criteria.py")]
    named = {}
    for path in (package.parent / "csrc" / "gstar").rglob("*.hpp"):
        code = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
        named[path.name] = {name for name in CRITERION if f'"{name}"' in code}
    # the C interface reads a question as Python writes it, so one header has the same table
    assert {name: found for name, found in named.items() if found} == {"question_json.hpp": set(CRITERION)}
