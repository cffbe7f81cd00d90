"""A limit below what chance alone shows is told, with the group, its rows, the size of the noise and what helps."""

from __future__ import annotations

import json
import math
import pickle
import re
import warnings

import numpy as np
import pytest
from helpers.notes import texts

import gstar_fast as gf
from gstar_fast._solver.notes import chance_gap, most_by_chance

LIMIT = {"equalized_odds": 0.02}
pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")


def rows_of(*sizes, seed=0, overlap=1.0):
    """Groups 'a', 'b', ... of these sizes: half of each is positive, and scores overlap alike."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(list("abcdefgh")[: len(sizes)], sizes)
    labels = rng.integers(0, 2, len(groups))
    return rng.normal(overlap * labels), labels, groups


def sketch_of(*sizes, seed=0, **options):
    return gf.Sketch.from_rows(*rows_of(*sizes, seed=seed), bins=1024, **options)


def told(sketch, limits=LIMIT, **options):
    """The result, and its NoiseWarning or None."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = gf.solve(sketch, limits=limits, **options)
    found = [w for w in caught if w.category is gf.errors.NoiseWarning]
    assert len(found) <= 1
    assert all(w.filename == __file__ for w in found), "the warning points at the caller"
    assert any(note.startswith("noise: ") for note in texts(result)) == bool(found)
    return result, found[0].message if found else None


# -------------------------------------------------------------------------------------------------- how large it is


@pytest.mark.parametrize(("groups", "constant"), [(2, 1.12838), (3, 1.69257), (5, 2.32593), (10, 3.07751)])
def test_the_gap_of_chance_is_the_expected_range(groups, constant):
    """Tippett's constants of the range of normal numbers."""
    assert chance_gap(np.full(groups, 0.03)) == pytest.approx(0.03 * constant, rel=2e-4)


def test_the_gap_of_chance_follows_the_noisiest_groups():
    errors = np.array([0.05, 0.02, 0.01, 0.001])
    drawn = np.ptp(np.random.default_rng(0).normal(size=(200_000, 4)) * errors, axis=1).mean()
    assert chance_gap(errors) == pytest.approx(drawn, rel=0.01)
    assert chance_gap(np.append(errors, np.full(100, 1e-6))) == pytest.approx(drawn, rel=0.01)
    assert chance_gap(np.zeros(3)) == 0.0


@pytest.mark.parametrize("groups", [2, 3, 8, 40])
def test_its_bound_is_never_below(groups):
    for errors in np.random.default_rng(groups).random((20, groups)):
        assert chance_gap(errors) <= most_by_chance(errors)


def test_a_fair_rule_shows_the_gap_that_is_told():
    """On average, as the words say: the same threshold where scores are distributed alike."""
    _, said = told(sketch_of(3_000, 200, seed=1), {"equal_opportunity": 0.01})
    limit, rate, noise, rows = (said.value[name] for name in ("limit", "rate", "gap", "rows"))
    name, group = said.value["criterion"], said.value["group"]
    assert (name, limit, rate, group) == ("equal_opportunity", 0.01, "tpr", "b")
    gaps = []
    for seed in range(400):
        scores, labels, groups = rows_of(3_000, int(2 * rows), seed=1_000 + seed)
        tpr = [(scores[(labels == 1) & (groups == g)] >= 0.5).mean() for g in "ab"]
        gaps.append(abs(tpr[0] - tpr[1]))
    assert np.mean(gaps) == pytest.approx(noise, rel=0.15)


# ----------------------------------------------------------------------------------------------------- when it is told


def test_few_rows_and_a_small_limit_are_told(backend):
    scores, labels, groups = rows_of(5_000, 160)
    result, said = told(gf.Sketch.from_rows(scores, labels, groups, bins=1024))
    assert result.verdict == "optimal"
    few = int(((groups == "b") & (labels == int(said.value["rate"] == "tpr"))).sum())
    assert f"group 'b' has {few} {'positive' if said.value['rate'] == 'tpr' else 'negative'} labels" in str(said)
    assert str(said).startswith("limits['equalized_odds'] is 0.02, below what chance alone shows: ")
    noise = float(re.search(r"gap of (\S+) on average", str(said))[1])
    assert 0.03 < noise < 0.07
    assert str(said).endswith("what helps: more rows of 'b', a wider limit or confidence=0.95")
    assert (said.code, said.argument) == ("noise", "equalized_odds")


def test_what_helps_does(backend):
    small = sketch_of(5_000, 160)
    assert told(small)[1] is not None
    assert told(sketch_of(50_000, 40_000))[1] is None, "more rows"
    assert told(small, {"equalized_odds": 0.1})[1] is None, "a wider limit"
    result, said = told(small, confidence=0.9)
    assert said is None, "a promise"
    assert result.promise is not None


@pytest.mark.parametrize(
    "criterion",
    ["demographic_parity", "equal_opportunity", "predictive_equality", "accuracy_parity", "balanced_accuracy_parity"],
)
def test_every_criterion_has_its_noise(backend, criterion):
    small = sketch_of(2_000, 100)
    _, said = told(small, {criterion: 0.01})
    assert said.value["criterion"] == criterion
    assert said.value["group"] == "b"
    assert told(small, {criterion: 0.25})[1] is None


def test_a_ratio_has_its_noise(backend):
    small = sketch_of(2_000, 100)
    assert told(small, {"disparate_impact": 0.99})[1].value["rate"] == "selection_rate"
    assert told(small, {"disparate_impact": 0.8})[1] is None


def test_a_sum_of_gaps_has_the_sum_of_their_noises(backend):
    small = sketch_of(2_000, 100)
    _, said = told(small, {"equalized_odds_sum": 0.03})
    _, tpr = told(small, {"equal_opportunity": 0.01})
    assert said.value["rate"] == "tpr and fpr"
    assert "a rule of equal tpr and fpr has a gap of" in str(said)
    assert 1.5 * tpr.value["gap"] < said.value["gap"] < 2.5 * tpr.value["gap"]
    assert told(small, {"equalized_odds_sum": 0.4})[1] is None


def test_several_limits_get_one_warning(backend):
    _, said = told(sketch_of(2_000, 100), {"demographic_parity": 0.2, "equal_opportunity": 0.01})
    assert said.value["criterion"] == "equal_opportunity"


@pytest.mark.parametrize("options", [{"unified": True}, {"randomize": True}, {"density": "kde"}])
def test_every_way_to_solve_tells_it(fast_backend, options):
    small = sketch_of(2_000, 100)
    _, said = told(small, {"equal_opportunity": 0.02}, **options)
    if "unified" not in options:  # one threshold for everybody may need no noise to be fair
        assert said is not None
        assert ("confidence" in str(said)) == ("density" not in options)
    assert told(sketch_of(60_000, 60_000), {"equal_opportunity": 0.02}, **options)[1] is None


def test_pooled_groups_count_together(fast_backend):
    sizes = 20_000, *[600] * 6
    limits = {"equal_opportunity": 0.03}
    assert told(sketch_of(*sizes), limits)[1] is not None
    assert told(sketch_of(*sizes), limits, min_rows=601)[1] is None


def test_thresholds_by_segment_have_the_noise_of_protected_groups(fast_backend):
    scores, labels, groups = rows_of(3_000, 150)
    segments = np.random.default_rng(3).integers(0, 2, len(groups)).tolist()
    both = gf.Sketch.from_rows(scores, labels, list(zip(groups.tolist(), segments, strict=True)), bins=256)
    result, said = told(both, {"equal_opportunity": 0.01}, fair_between=0, decide_by=1)
    assert said.value["group"] == "b"
    assert said.value["rows"] == ((groups == "b") & (labels == 1)).sum()
    assert "confidence=0.95" in str(said)
    assert list(result.thresholds) == [0, 1]


def test_weights_count_as_the_rows_they_are_worth(backend):
    scores, labels, groups = rows_of(20_000, 8_000)
    limits = {"equal_opportunity": 0.015}
    for weight in (0.5, 1, 10):
        even = gf.Sketch(bins=1024).update(scores, labels, groups, weights=np.full(len(scores), weight))
        assert told(even, limits)[1] is None
    weights = np.where(np.random.default_rng(1).random(len(scores)) < 0.05, 20.5, 0.01)
    _, said = told(gf.Sketch(bins=1024).update(scores, labels, groups, weights=weights), limits)
    own = weights[(groups == "b") & (labels == 1)]
    assert said.value["rows"] == pytest.approx(own.sum() ** 2 / (own**2).sum(), rel=1e-3)
    assert "effective positive labels" in str(said)


def test_nothing_is_said_where_something_else_is(backend):
    """Of degenerate answers, limits out of reach, penalties alone, known densities, and points of a frontier."""
    crossed = sketch_of(3_000, 6, 5, 4)
    with pytest.warns(gf.errors.DegenerateWarning):
        result = gf.solve(crossed, limits=LIMIT)
    assert not any("noise" in note for note in texts(result))
    small = sketch_of(2_000, 100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gf.solve(small)
        gf.solve(small, penalties={"equal_opportunity": 1.0})
        assert not gf.frontier(small, "equal_opportunity").at(gap=0.01).notes
        known = {(y, g): gf.density("normal", location=y, rows=20) for y in (0, 1) for g in "ab"}
        gf.solve(known, limits={"equal_opportunity": 0.001})


# ------------------------------------------------------------------------------------------------------- how it reads


def test_the_note_is_kept_with_the_result():
    result, said = told(sketch_of(2_000, 100))
    note = result.notes[-1]
    assert (note.code, note.text) == ("noise", f"noise: {said}")
    assert f"note: {note}" in " ".join(str(result).split())
    assert json.loads(result.to_json())["notes"][-1] == {"code": "noise", "text": note.text, "fields": note.fields}
    assert gf.Result.from_json(result.to_json()).notes == result.notes
    assert pickle.loads(pickle.dumps(result)).notes == result.notes
    assert said.value == note.fields
    assert math.isfinite(note.fields["gap"])


def test_the_command_line_says_it_in_its_own_words(tmp_path, capsys):
    from gstar_fast.__main__ import main

    file = tmp_path / "s.gstar"
    sketch_of(2_000, 100).save(file)
    assert main(["solve", str(file), "--limit", "equal_opportunity=0.01"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "--limit equal_opportunity is 0.01, below what chance alone shows: group 'b' has" in said
    assert "a wider limit or --confidence 0.95" in said
    assert main(["solve", str(file), "--limit", "equal_opportunity=0.2"]) == 0
    assert "chance alone" not in capsys.readouterr().err
