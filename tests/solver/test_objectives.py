"""The sentence that proves an answer names what was minimised, and the quantity it names is the least."""

import itertools
import json

import numpy as np
import pytest

import gstar_fast as gf
from gstar_fast._question.question import Question

pytestmark = pytest.mark.filterwarnings(
    *(f"ignore::gstar_fast.errors.{name}Warning" for name in ("Degenerate", "Noise", "Overfit"))
)
EDGES = np.arange(7.0)  # of six bins
LIMITS = {"equalized_odds": 0.3}
WEIGHINGS = {
    "plain": {},
    "costs": {"objective": {"fp": 5, "fn": 1}},
    "balanced": {"objective": "balanced_error"},
    "both": {"objective": {"fp": 1, "fn": 3, "balanced": True}},
}


def rows(seed, n=60):
    random = np.random.default_rng(seed)
    labels, groups, segments = (random.random(n) < 0.35).astype(int), np.arange(n) % 2, np.arange(n) // 2 % 2
    scores = np.clip(np.floor(random.normal(2 + 2 * labels + groups, 1.3)), 0, 5) + 0.5
    return scores, labels, groups, segments


def outcome(accepted, labels, groups, question):
    """Error, cost, loss and whether the limits hold, from decisions on rows."""
    fp, fn = (accepted * (1 - labels)).sum(), ((1 - accepted) * labels).sum()
    asked = Question.of(objective=question.get("objective", "error"))
    c_fp, c_fn = asked.costs
    if asked.balanced:
        cost = (c_fp * fp / (1 - labels).sum() + c_fn * fn / labels.sum()) / 2
    else:
        cost = (c_fp * fp + c_fn * fn) / len(labels)
    rates = [[accepted[(labels == y) & (groups == g)].mean() for g in (0, 1)] for y in (0, 1)]
    gaps = [abs(one - two) for one, two in rates]
    penalty = question.get("penalties", {}).get("equalized_odds", 0.0)
    loss = cost**2 + penalty * sum(gap**2 for gap in gaps)
    allowed = max(gaps) <= question.get("limits", {}).get("equalized_odds", 2.0) + 1e-12
    return {"error": (fp + fn) / len(labels), "cost": cost, "loss": loss}, allowed


def thresholds_to_try():
    return itertools.product([-np.inf, *EDGES[1:], np.inf], repeat=2)


def named(message):
    """The quantity that the sentence says no other thresholds have less of."""
    found = [word for word in ("error", "cost", "loss") if f" a lower {word}" in message]
    assert len(found) == 1, message
    return found[0]


@pytest.mark.parametrize("weighing", WEIGHINGS.values(), ids=list(WEIGHINGS))
@pytest.mark.parametrize("kind", ["limits", "penalties", "nothing", "unified", "randomize", "segments"])
def test_no_choice_has_less_of_what_the_sentence_names(backend, kind, weighing):
    options = {
        "limits": {"limits": LIMITS},
        "penalties": {"penalties": {"equalized_odds": 0.4}},
        "nothing": {},
        "unified": {"limits": LIMITS, "unified": True},
        "randomize": {"limits": LIMITS, "randomize": True},
        "segments": {"limits": LIMITS, "fair_between": 0, "decide_by": 1},
    }[kind]
    question = {**options, **weighing}
    for seed in range(3):
        scores, labels, groups, segments = rows(seed)
        by = segments if kind == "segments" else groups
        columns = [groups, segments] if kind == "segments" else groups
        sketch = gf.Sketch.from_rows(scores, labels, columns)
        result = gf.solve(sketch, **question, evidence=0)
        assert result.verdict == "optimal"
        what = named(result.message)
        assert what == ("loss" if kind == "penalties" else "cost" if weighing else "error")
        assert ("within the limits" in result.message) == ("limits" in question)
        least = np.inf
        for pair in thresholds_to_try():
            if kind == "unified" and pair[0] != pair[1]:
                continue
            found, allowed = outcome((scores >= np.array(pair)[by]).astype(float), labels, groups, question)
            least = min(least, found[what]) if allowed else least
        got = getattr(result, what)
        if kind == "randomize":
            assert got <= least + 1e-9
            accepted = sum(
                np.where(groups == g, p * (scores >= t), 0.0)
                for g, mixture in result.mixtures.items()
                for t, p in mixture
            )
            assert got == pytest.approx(outcome(accepted, labels, groups, question)[0][what])
        else:
            assert got == pytest.approx(least)
        best = min(
            outcome((scores >= t).astype(float), labels, groups, weighing)[0]["cost"] for t in [-np.inf, *EDGES, np.inf]
        )
        assert result.before_cost == pytest.approx(best)
        assert result.cost == pytest.approx(np.sqrt(result.loss)) or kind == "penalties"


@pytest.mark.parametrize("weighing", WEIGHINGS.values(), ids=list(WEIGHINGS))
def test_costs_are_printed_saved_and_read(backend, weighing):
    scores, labels, groups, _ = rows(1)
    sketch = gf.Sketch.from_rows(scores, labels, groups)
    result = gf.solve(sketch, limits=LIMITS, **weighing)
    text = str(result).splitlines()
    [table] = [i for i, line in enumerate(text) if line.split() == ["before", "after"]]
    document = json.loads(result.to_json())
    again = gf.Result.from_json(result.to_json())
    assert (again.cost, again.before_cost) == (result.cost, result.before_cost)
    if not weighing:
        assert result.cost == result.error
        assert result.before_cost == result.before_error
        assert text[table + 1].startswith("error")
        assert "cost" not in document
        assert "cost" not in document["before"]
        return
    assert text[table + 1].split()[0] == "cost"
    assert "asked: least cost (" in str(result)
    assert (document["cost"], document["before"]["cost"]) == (result.cost, result.before_cost)


def test_a_weighted_result_without_its_cost_is_not_read(backend):
    from gstar_fast._base import json as strict

    scores, labels, groups, _ = rows(1)
    result = gf.solve(gf.Sketch.from_rows(scores, labels, groups), objective={"fp": 5, "fn": 1})
    document = json.loads(result.to_json())
    del document["cost"]
    with pytest.raises(ValueError, match="it lacks 'cost'"):
        gf.Result.from_json(strict.dumps(strict.sealed({k: v for k, v in document.items() if k != "checksum"})))


def test_a_smooth_answer_names_what_it_minimises(backend):
    table = gf.datasets.paper_synthetic(rows=4_000, seed=1)
    sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups)
    for weighing, word in (({}, "error"), ({"objective": {"fp": 5, "fn": 1}}, "cost")):
        result = gf.solve(sketch, density="normal", limits={"equalized_odds": 0.05}, **weighing)
        assert f"no other bin edges have a lower {word} within the limits" in result.message


def test_a_frontier_of_costs_says_so(backend):
    scores, labels, groups, _ = rows(2)
    sketch = gf.Sketch.from_rows(scores, labels, groups)
    for weighing in WEIGHINGS.values():
        found = gf.frontier(sketch, "equalized_odds", **weighing)
        assert (" at cost " if weighing else " at error ") in str(found)
        assert found.weighted == bool(weighing)
        assert found.result(0).cost == pytest.approx(found.costs[0])
        assert hasattr(found, "errors") == (not weighing)
    mixed = gf.frontier(sketch, "equalized_odds", randomize=True)
    middle = float(mixed.gaps[:2].mean())
    assert mixed.at(gap=middle).message.startswith("between points 1 and 2 of ")


@pytest.mark.parametrize("weighing", WEIGHINGS.values(), ids=list(WEIGHINGS))
def test_the_price_of_a_promise_is_in_what_was_minimised(backend, weighing):
    table = gf.datasets.paper_synthetic(rows=20_000, seed=1)
    sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups)
    result = gf.solve(sketch, limits={"equalized_odds": 0.05}, confidence=0.95, **weighing)
    assert result.verdict == "promised"
    more = result.cost - result.promise.plain.cost
    assert more > 0
    assert f"at {'a cost' if weighing else 'an error'} {more:.4f} higher than without it" in result.message
    page = gf.report(result, sketch, frontier=False).html
    assert ("in cost. It is about people" in page) == bool(weighing)
