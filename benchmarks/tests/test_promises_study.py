"""The study of promises: knows the truth, counts right, goes on where it was, and its page is that of the record."""

import argparse
import importlib
import json
import math

import numpy as np
import pytest
from helpers.pages import ROOT, table_in

import gstar_fast as gf

RESULTS = ROOT / "benchmarks/results"


@pytest.fixture(scope="module")
def study():
    """The modules of the study."""
    parts = ("promises", "promises_settings", "promises_truth", "promises_found", "promises_page")
    return argparse.Namespace(**{name: importlib.import_module(f"benchmarks.studies.{name}") for name in parts})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A score file of 4,000 rows with ties, as the study reads them."""
    where = tmp_path_factory.mktemp("data")
    (where / "scores").mkdir()
    random = np.random.default_rng(7)
    group, label = random.integers(0, 2, 4000), random.integers(0, 2, 4000)
    score = np.round(random.normal(label + 0.3 * group), 2).astype(np.float32)
    columns = {"score": score, "label": label, "group": group, "mgroup": 3 * group + random.integers(0, 3, 4000)}
    np.savez(where / "scores/made_lr_s0.npz", **columns, split=np.zeros(4000, np.uint8))
    return where


@pytest.mark.parametrize("criterion", ["equalized_odds", "demographic_parity", "equal_opportunity"])
def test_a_file_is_judged_as_an_audit_of_all_its_rows_does(study, folder, criterion):
    crossed = (0, 1, 1, 2, None, 2)  # three groups of the six, and one left out
    for groups in (None, crossed):
        population = study.promises_truth.population_of(study.promises_settings.File("made_lr_s0", groups), folder)
        whole = gf.Sketch.from_rows(*population.rows)
        result = gf.solve(whole, limits={criterion: 0.05})
        judged = population.judge(result, criterion)
        audit = gf.audit(result.thresholds, whole, replicates=0)
        assert judged.gap == pytest.approx(audit.gaps[criterion].value, abs=1e-12)
        assert judged.error == pytest.approx(result.error, abs=1e-12)
        mixed = gf.solve(whole, limits={criterion: 0.001}, randomize=True)
        assert population.judge(mixed, criterion).gap == pytest.approx(mixed.gaps[criterion], abs=1e-9)
        assert population.judge(mixed, criterion).error == pytest.approx(mixed.error, abs=1e-9)
        scores, _, drawn = population.draw(np.random.default_rng(0), 1000)
        assert len(scores) == 1000
        assert set(drawn.tolist()) == set(range(2 if groups is None else 3))


@pytest.mark.parametrize("step", [2.0**-10, 0.25])
def test_normal_scores_have_the_rates_of_many_draws(study, step):
    source = study.promises_settings.Normal((0.7, 0.3), (0.4, 0.2), (1.5, 1.0), (0.0, 0.3), (1.0, 1.3), step)
    population = study.promises_truth.population_of(source, None)
    scores, labels, groups = population.draw(np.random.default_rng(1), 400_000)
    for y in (0, 1):
        for k in (0, 1):
            cell = scores[(labels == y) & (groups == k)]
            assert len(cell) / 400_000 == pytest.approx(population.weight[y, k], abs=0.004)
            for threshold in (-math.inf, -0.3, 0.25, 1.1, math.inf):
                assert np.mean(cell >= threshold) == pytest.approx(population.above(y, k, threshold), abs=0.01)


def test_the_list_of_settings_covers_what_it_should(study):
    settings = study.promises_settings.SETTINGS
    assert len({setting.name for setting in settings}) == len(settings)
    assert {study.promises_found.n_groups(setting) for setting in settings} == {2, 3, 5, 8, 10}
    assert {setting.criterion for setting in settings} == {"equalized_odds", "equal_opportunity", "demographic_parity"}
    assert (min(s.rows for s in settings), max(s.rows for s in settings)) == (2_000, 300_000)
    assert {tag for setting in settings for tag in setting.tags} == {"overconfident", "atoms", "small", "attack"}


def draws(*outcomes):
    """Lines of draws: (gap and error of plain thresholds, verdict, gap and error of promised ones)."""
    lines = []
    for plain_gap, plain_error, verdict, gap, error in outcomes:
        asked = {"verdict": verdict, "gap": gap, "error": error, "chance": 0.02, "seconds": 0.1}
        plain = {"gap": plain_gap, "error": plain_error}
        lines.append({"constant": 0.4, "plain": plain, "levels": {"0.95": asked}})
    return lines


def test_false_and_useful_promises_are_counted(study):
    setting = study.promises_settings.SETTINGS[0]  # a limit of 0.05
    lines = draws(
        (0.06, 0.20, "promised", 0.04, 0.22),  # useful: keeps 90 % of the gain
        (0.04, 0.20, "promised", 0.051, 0.21),  # false
        (0.04, 0.20, "promised", 0.03, 0.30),  # keeps half of the gain
        (0.06, 0.20, "unpromised", 0.06, 0.20),  # says nothing, so it is not false
    )
    found = study.promises_found.of_setting(setting, lines)
    level = found["levels"]["0.95"]
    assert (found["plain_holds"], level["made"], level["false"], level["useful"], level["refused"]) == (2, 3, 1, 2, 1)
    assert level["cost"] == pytest.approx(0.13 / 3)


def small_run(study, folder, path, *, draws, only):
    given = argparse.Namespace(data=folder, lines=path, draws=draws, minutes=math.inf, only=only)
    study.promises.run(given)
    return study.promises.read(path)


def test_a_run_goes_on_where_it_was_and_makes_a_page(study, tmp_path, monkeypatch):
    names = ["a group of 2 %", "five normal groups .05"]
    monkeypatch.setattr(study.promises, "CERTIFIED", study.promises_settings.CERTIFIED[:1])
    path = tmp_path / "lines.jsonl"
    small_run(study, None, path, draws=1, only=names)
    path.write_text(path.read_text() + '{"part": "draws", "na')  # cut off by its end
    about, lines = small_run(study, None, path, draws=3, only=[*names, "certified"])
    assert sorted((line["name"], line["number"]) for line in lines if line["part"] == "draws") == sorted(
        (name, number) for name in names for number in range(3)
    )
    once, again = tmp_path / "once.jsonl", lines
    _, in_one_go = small_run(study, None, once, draws=3, only=[*names, "certified"])

    def told(lines):
        """In one order, and without times."""
        kept = [{key: value for key, value in line.items() if key != "levels"} for line in lines]
        for line, copy in zip(lines, kept, strict=True):
            for level, asked in line.get("levels", {}).items():
                copy[level] = asked | {"seconds": 0}
        return sorted(kept, key=lambda line: (line["part"], line["name"], line["number"]))

    assert told(again) == told(in_one_go), "the same rows are drawn in any order"
    report = json.loads(json.dumps(study.promises_found.summary(lines, about)))
    page = study.promises_page.page(report)
    assert "| a group of 2 %" in page
    assert "400 draws were meant for each setting; some had fewer (3)" in page
    assert study.promises_page.picture(report).startswith("<svg")
    monkeypatch.setattr(study.promises, "machine", lambda: {"commit": "other"})
    with pytest.raises(SystemExit, match="take another file"):
        small_run(study, None, path, draws=3, only=names)


def test_the_page_is_made_from_the_record(study):
    """Nobody edits the page or the picture by hand."""
    report = json.loads((RESULTS / "promises.json").read_text())
    assert study.promises_page.page(report) == (RESULTS / "promises.md").read_text()
    assert study.promises_page.picture(report) == (RESULTS / "promises.svg").read_text()
    names = [setting.name for setting in study.promises_settings.SETTINGS]
    assert [one["name"] for one in report["settings"]] == names, "all settings that were fixed are in it"


def test_the_index_quotes_the_record(study):
    report = json.loads((RESULTS / "promises.json").read_text())
    shown = {one["name"]: study.promises_page.row_of(one) for one in report["settings"]}
    quoted = table_in("docs/benchmarks/index.md", "promises")
    assert len(quoted) > 5
    for name, plain, made, false, cost in quoted:
        row = dict(zip(study.promises_page.HEAD, shown[name], strict=True))
        assert [plain, made, false, cost] == [row[key] for key in ("plain holds", "promised", "false, of all", "cost")]


# ------------------------------------------------------------------------------------------------------------- segments


@pytest.fixture(scope="module")
def segments():
    return importlib.import_module("benchmarks.studies.promises_segments")


def test_the_page_of_segments_is_made_from_the_record(segments):
    report = json.loads((RESULTS / "promises_segments.json").read_text())
    assert segments.page(report) == (RESULTS / "promises_segments.md").read_text()
    assert len(report["settings"]) == len(segments.SETTINGS)


@pytest.mark.parametrize("mixture", [False, True])
def test_thresholds_by_segment_are_judged_as_many_rows_judge_them(segments, folder, mixture):
    made = segments.Setting("made", "made_lr_s0", 4000, 3, 0.1, mixture=mixture)
    normal = segments.Setting("normal", None, 40_000, 3, 0.1, mixture=mixture, groups=3)
    for setting in (made, normal):
        population = segments.population_of(setting, folder)
        rows = getattr(population, "rows", None) or population.draw(np.random.default_rng(0), 40_000)
        score, label, group, segment = rows
        sketch = gf.Sketch.from_rows(score, label, [group, segment])
        result = gf.solve(sketch, limits={"equalized_odds": 0.1}, fair_between=0, decide_by=1, randomize=mixture)
        for criterion in ("equalized_odds", "equal_opportunity", "demographic_parity"):
            gap, error = segments.judged(population, result, criterion)
            near = {"abs": 1e-9} if setting is made else {"abs": 0.03}
            assert gap == pytest.approx(result.gaps[criterion], **near)
            assert error == pytest.approx(result.error, **near)
