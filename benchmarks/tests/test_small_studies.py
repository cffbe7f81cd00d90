"""The studies of group probabilities, noise and weights: they count right, and their pages are those of the record."""

import importlib

import numpy as np
import pytest
from helpers.pages import ROOT, table_in

import gstar_fast as gf
from benchmarks import harness

RESULTS = ROOT / "benchmarks/results"


@pytest.fixture(scope="module")
def proxy():
    pytest.importorskip("sklearn")
    return importlib.import_module("benchmarks.studies.proxy")


@pytest.fixture(scope="module")
def noise():
    return importlib.import_module("benchmarks.studies.noise")


@pytest.fixture(scope="module")
def weights():
    return importlib.import_module("benchmarks.studies.weights")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A score file of 6,000 rows whose groups need thresholds of their own."""
    path = tmp_path_factory.mktemp("scores") / "german_lr_s0.npz"
    random = np.random.default_rng(3)
    label, group = random.integers(0, 2, 6000), random.integers(0, 2, 6000)
    score = random.normal(1.5 * label - 1.2 * group).astype(np.float32)
    mgroup = 3 * group + random.integers(0, 3, 6000)
    np.savez(path, score=score, label=label, group=group, mgroup=mgroup, split=np.arange(6000) % 3 == 0)
    return path


@pytest.mark.parametrize("name", ["proxy", "noise", "weights"])
def test_pages_are_made_from_the_record(name, request):
    report = harness.read_long(RESULTS, name)
    assert request.getfixturevalue(name).page(report) == (RESULTS / f"{name}.md").read_text()


def test_docs_have_the_figures_of_the_record(proxy, noise):
    rows = proxy.rows_of(harness.read_long(RESULTS, "proxy")["rows"])
    hinted, real = proxy.chosen(rows, part="made"), proxy.chosen(rows, part="real")
    assert table_in("docs/guide/proxy.md", "hints") == _cells(proxy.by_hint(hinted, "gap"))
    recorded = _cells(proxy.by_proxy(real))
    shown = table_in("docs/guide/proxy.md", "columns")
    assert shown == [row[:6] for row in recorded if "score taken out" not in row[1]]
    found = noise.rows_of(harness.read_long(RESULTS, "noise")["rows"])
    recorded = [[limit, *line[1:]] for limit, *line in _cells(noise.by(found, "limit"))]
    assert table_in("docs/reference/problem.md", "noise") == recorded


def test_samples_with_weights_are_those_of_the_record_and_meet_the_goals(weights):
    rows = weights.rows_of(harness.read_long(RESULTS, "weights")["rows"])
    kinds = list(weights.KINDS)
    assert {row["kind"] for row in rows} == set(kinds)
    for kind in kinds:
        some = [row for row in rows if row["kind"] == kind]
        assert len(some) == weights.DRAWS
        for limit in weights.LIMITS:
            assert np.mean([row[f"false {limit}"] for row in some]) <= weights.MOST_FALSE
        for name in weights.FIXED:
            assert np.mean([row[f"certified {name}"] for row in some]) <= weights.MOST_FALSE
            assert np.mean([row[f"gap {name}"] for row in some]) >= weights.LEAST_COVERED
    recorded = next(row for row in rows if row["kind"] == kinds[1] and row["draw"] == 3)
    again = weights.drawn(kinds[1], 3, weights.population())
    assert {key: recorded[key] for key in again if key != "effective"} == {
        key: value for key, value in again.items() if key != "effective"
    }


def test_each_way_is_judged_as_an_audit_does(proxy, file):
    train, test = proxy.load(file, many=False)
    rows = {row["way"]: row for row in proxy.plain(train, test)}
    result = gf.solve(gf.Sketch.from_rows(*train), limits=proxy.LIMITS)
    seen = gf.audit(result.thresholds, gf.Sketch.from_rows(*test), replicates=0)
    assert rows["true groups"]["gap"] == pytest.approx(seen.gaps["equalized_odds"].value, abs=1e-3)
    assert rows["untouched"]["gap"] > 0.2 > rows["true groups"]["gap"]


def test_sure_probabilities_are_true_groups_and_equal_ones_are_refused(proxy, file):
    train, test = proxy.load(file, many=False)
    truth = next(row for row in proxy.plain(train, test) if row["way"] == "true groups")
    for row in proxy.compared(train, test, train[2].astype(float)):
        assert row["gap"] == pytest.approx(truth["gap"], abs=0.01), row
        assert row["effective"] == pytest.approx(1.0)
    refused = list(proxy.compared(train, test, np.full(len(train[0]), 0.5)))
    assert all("refused" in row for row in refused)
    assert proxy.mean(refused, "gap") == "-"


def test_hints_are_calibrated_and_unrelated_unless_said(proxy, file):
    train, _ = proxy.load(file, many=False)
    scores, labels, group = train
    found = {hint: proxy.made(hint, train, np.random.default_rng(1)) for hint in proxy.HINTS}
    for hint in ("two", "one", "half"):
        for y in (0, 1):
            assert found[hint][labels == y].mean() == pytest.approx(group[labels == y].mean(), abs=1e-3)
        assert abs(proxy.relation(train, found[hint])) < 0.1
    related = proxy._logit(found["related"])
    assert proxy.relation(train, found["related"]) > 0.15
    rest = proxy.without_score(related, train)
    for cell in ((labels == y) & (group == g) for y in (0, 1) for g in (0, 1)):
        assert abs(np.corrcoef(rest[cell], scores[cell])[0, 1]) < abs(np.corrcoef(related[cell], scores[cell])[0, 1])


@pytest.mark.filterwarnings(
    "ignore::gstar_fast.errors.DegenerateWarning",
    "ignore::gstar_fast.errors.NoiseWarning",
    "ignore::gstar_fast.errors.AssumptionWarning",  # real proxies tell the score too
)
def test_a_split_has_every_real_proxy(proxy, tmp_path):
    proxy.tables.write(tmp_path, proxy.tables.synthetic(n=1500))
    proxy.splits.write(tmp_path, proxy.tables.load(tmp_path, "synthetic"), "lr", "frontier", 0)
    rows = list(proxy.of_split(tmp_path, "synthetic", 0))
    assert [row["way"] for row in rows] == [*proxy.PLAIN, *(proxy.WAYS * len(proxy.PROXIES))]
    assert {row["proxy"] for row in rows[3:]} == set(proxy.PROXIES)
    assert "synthetic" in proxy.by_proxy(rows)


def test_the_warning_of_two_groups_is_what_its_rule_says(noise, file):
    """The study's own standard error, times the mean of a half-normal number, against the library's warning."""
    train, test = noise.load(file, many=False)
    few = tuple(column[:400] for column in train)
    sketch = gf.Sketch.from_rows(*few)
    warned = set()
    for criterion in noise.CRITERIA:
        for limit in noise.LIMITS:
            row = noise.asked(sketch, few, test, criterion, limit)
            if not row["degenerate"]:
                with noise.warnings.catch_warnings():
                    noise.warnings.simplefilter("ignore")
                    result = gf.solve(sketch, limits={criterion: limit})
                expected = np.sqrt(2 / np.pi) * noise.deviation(result, few, criterion)
                assert row["warned"] == (limit < expected), (criterion, limit)
                assert row["strict"] or not row["warned"]
            warned.add(row["warned"])
    assert warned == {True, False}


def test_shares_and_medians_of_the_noise_table(noise, file):
    rows = [{"limit": 0.1, "gap": gap, "warned": gap > 0.15} for gap in (0.05, 0.12, 0.2, 0.3)]
    assert noise.line(rows) == ["4", "50 %", "100 % (0.250)", "50 % (0.085)"]
    found = list(noise.of_file(file))
    assert len(found) == 2 * len(noise.CRITERIA) * len(noise.LIMITS)
    assert all("strict" in row for row in found if not row["many"])


def _cells(text):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]
