"""Every example runs, says what it is there to say, and is shown in the docs."""

import importlib.util
import os
import re
import subprocess
import sys

import pytest
from helpers.pages import ROOT

# The sentences an example is there for; numbers that chance or the clock decide are left open.
SENTENCES = {
    "stream.py": [
        r"hour 12: gap 0\.0\d+ under version 1; version 2 is ",
        r"4,800,000 scores decided and counted; the window holds 600,000 of them",
        r"in the last hour: gap 0\.0\d+ with thresholds that follow, 0\.1\d+ with those of the morning",
    ],
    "workers.py": [
        r"100 workers counted 2,000,000 rows",
        r"in turn, shuffled and as a tree: the same [\d,]+ bytes",
        r"and the same thresholds: ",
        r"shard 17 with one bit turned over: not a valid sketch",
    ],
    "auditor.py": [
        r"native +(gives the same thresholds bit for bit|is not built here)",
        r"numba +gives the same thresholds bit for bit",
        r"numpy +gives the same thresholds bit for bit",
        r"[\d,]+ of 1,360,000 pairs keep the limit; none has less error",
        r"equalized odds gap 0\.0\d+, with 95 % confidence between",
        r"an edited file is refused: .*checksum",
    ],
    "data_frame.py": [
        r"optimal: no other thresholds at bin edges have a lower error within the limits",
        r"accuracy 0\.\d+; by sex: equal_opportunity 0\.0\d+ ",
        r"\('F', 'abroad'\) +0\.\d+",
        r"10000 rows counted; thresholds were ",
    ],
    "paper_synthetic.py": [r"baseline", r"DP \+ EOd"],
}
ELSEWHERE = {"demo.py": "make demo runs it on ten million rows"}


def run(script, folder):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"}
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / script)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("script", SENTENCES)
def test_example_says_what_it_is_there_to_say(script, tmp_path):
    printed = run(script, tmp_path)
    for sentence in SENTENCES[script]:
        assert re.search(sentence, printed), f"{sentence!r} is not in:\n{printed}"
    assert not list(tmp_path.iterdir()), "an example leaves nothing behind"


ENGINES = {"beam.py": "apache_beam", "flink.py": "pyflink", "airflow_dag.py": None}  # Airflow needs a home of its own


@pytest.mark.parametrize("script", [script for script, engine in ENGINES.items() if engine])
def test_recipes_of_engines_give_the_bytes_of_one_pass(script, tmp_path):
    """Where the engine is installed; docs/guide/recipes.md says with which version it was tried by hand."""
    if importlib.util.find_spec(ENGINES[script]) is None:
        pytest.skip(f"{ENGINES[script]} is not installed")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(ROOT / "examples/engines" / script)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert re.search(r"100,000 rows.*, the bytes of one pass", done.stdout)


def test_every_recipe_is_shown():
    assert {path.name for path in (ROOT / "examples/engines").glob("*.py")} == set(ENGINES)
    page = (ROOT / "docs/guide/recipes.md").read_text(encoding="utf-8")
    for name in ENGINES:
        assert f"{{literalinclude}} ../../examples/engines/{name}\n" in page


def test_every_example_is_run_and_shown():
    there = {path.name for path in (ROOT / "examples").glob("*.py")}
    assert there == set(SENTENCES) | set(ELSEWHERE)
    page = (ROOT / "docs/examples.md").read_text(encoding="utf-8")
    for name in [*there, "service/app.py", "embed_cpp/decide.cpp"]:
        assert f"{{literalinclude}} ../examples/{name}\n" in page
