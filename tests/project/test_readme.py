"""The code in README and docs runs and prints what the page says it prints."""

import contextlib
import importlib
import io
import json
import lzma
import os
import re
import shutil
import subprocess
import sys

import pytest
from helpers.pages import PAGES, ROOT, blocks, table_in

bench_sketch = importlib.import_module("benchmarks.bench_sketch")
harness = importlib.import_module("benchmarks.harness")

# Blocks that cannot run in a test, by page and first command: they install, serve, measure or are this very run.
NOT_RUN = {
    ("benchmarks/README.md", "make paper"),
    ("docs/benchmarks/paper.md", "make paper"),
    ("README.md", "make demo"),
    ("README.md", "pip install ."),
    ("CONTRIBUTING.md", "make quick"),
    (
        "docs/cpp.md",
        (
            "c++ -std=c++17 -O3 -ffp-contract=off -pthread -I\"$(python -c 'import gstar_fast; "
            "print(gstar_fast.config.get_include())')\" solve.cpp -o solve"
        ),
    ),
    ("CONTRIBUTING.md", "cmake"),
    ("CONTRIBUTING.md", "make python-test"),
    ("CONTRIBUTING.md", "nox"),
    ("benchmarks/README.md", ".venv/bin/pytest benchmarks"),
    ("benchmarks/README.md", "make bench"),
    ("benchmarks/README.md", "python -m benchmarks.bench_audit"),
    ("benchmarks/README.md", "python -m benchmarks.bench_engines"),
    ("benchmarks/README.md", "python -m benchmarks.bench_merge"),
    ("benchmarks/README.md", "python -m benchmarks.bench_segments"),
    ("benchmarks/README.md", "python -m benchmarks.bench_solver"),
    ("docs/benchmarks/quality.md", "python -m benchmarks.studies.quality"),
    ("docs/install.md", "pip install ."),
    ("docs/quickstart.md", "pip install '.[cli,pandas]'"),
}
SHOWN = {"json", "sql", "cpp", "c", "cmake", "html"}  # forms of files, not commands


def first_command(code):
    """Up to its options and comment."""
    return re.split(r" +#| --", code.split("\n", 1)[0])[0].strip()


def is_command_line(code):
    """Whether every command of a block of shell is ours."""
    lines = re.sub(r"\\\n", " ", code).splitlines()
    return all(line.startswith(("gstar-fast ", "#")) for line in lines if line)


def run_python(code, page, names):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, page, "exec"), names)
    return printed.getvalue()


def run_shell(code, folder):
    """A block of `gstar-fast` commands in a real shell, where the command is this package."""
    programs = folder / ".programs"
    if not programs.exists():
        programs.mkdir()
        script = programs / "gstar-fast"
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gstar_fast "$@"\n')
        script.chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["sh", "-e", "-c", code], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"{code}\n{done.stdout}{done.stderr}"
    return done.stdout


def runs(block):
    return block.language == "python" or (block.language == "sh" and is_command_line(block.code))


def examples(page):
    return [block for block in blocks((ROOT / page).read_text("utf-8")) if runs(block)]


def test_blocks_are_found_with_their_output():
    text = "```python\nprint(1)\n```\n\n```text\n1\n```\n\n```python\nx = 2\n```\n\n```sh\nls\n```\n"
    assert list(blocks(text)) == [("python", "print(1)\n", "1\n"), ("python", "x = 2\n", None), ("sh", "ls\n", None)]


def test_only_our_own_commands_are_run():
    assert is_command_line("# count\ngstar-fast sketch a.csv \\\n  -o s.gstar\n\ngstar-fast show s.gstar\n")
    assert not is_command_line("gstar-fast show s.gstar\nrm s.gstar\n")


def test_a_shell_block_prints_through_this_package(tmp_path):
    assert run_shell("printf 'x\\n' > a.txt\ncat *.txt\n", tmp_path) == "x\n"
    with pytest.raises(AssertionError):
        run_shell("false\ntrue\n", tmp_path)


RUN = [page for page in PAGES if examples(page)]


def test_pages_that_teach_have_code_that_runs():
    assert {"README.md", "docs/quickstart.md", "docs/fairness_words.md"} <= set(RUN)
    guide = {page for page in PAGES if page.startswith("docs/guide/")}
    assert guide <= set(RUN)


def test_every_block_runs_or_is_listed():
    others = {
        (page, first_command(block.code))
        for page in PAGES
        for block in blocks((ROOT / page).read_text("utf-8"))
        if not runs(block) and not block.language.startswith("{") and block.language not in SHOWN
    }
    assert others == NOT_RUN


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(examples("README.md"))))
def test_every_snippet_of_the_readme_runs_alone(place, tmp_path):
    """In a new process and an empty folder: a reader copies one of them."""
    block = examples("README.md")[place]
    if block.language == "sh":
        if shutil.which("sh") is None:
            pytest.skip("needs a shell")
        printed = run_shell(block.code, tmp_path)
    else:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", block.code],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, f"{block.code}\n{done.stderr}"
        printed = done.stdout
    assert block.output is None or printed == block.output


def test_the_readme_says_how_to_try_a_clone_under_install():
    install = (ROOT / "README.md").read_text("utf-8").split("\n## Install\n")[1].split("\n## ")[0]
    assert "make demo" in install
    assert "make test" in install


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN)
def test_code_prints_what_the_page_says(page, tmp_path, monkeypatch):
    if any(block.language == "sh" for block in examples(page)) and shutil.which("sh") is None:
        pytest.skip("needs a shell")
    monkeypatch.chdir(tmp_path)  # what an example saves, it saves there
    names = {"__name__": "__main__"}  # blocks of one page go on from each other
    for block in examples(page):
        ours = block.language == "python"
        printed = run_python(block.code, page, names) if ours else run_shell(block.code, tmp_path)
        if block.output is not None:
            assert printed == block.output, f"{page}:\n{block.code}"


@pytest.mark.parametrize("name", ["merging", "large"])
def test_how_far_it_goes_is_what_was_measured(name):
    """The tables of that page are those of the results, line by line."""
    lines = table_in("docs/guide/how_far.md", name)
    results = (ROOT / "benchmarks/results/engines.md").read_text()
    measured = [[cell.strip() for cell in line.strip("|").split("|")] for line in results.splitlines()]
    assert len(lines) >= 3
    assert [line for line in lines if line not in measured] == []


BENCHMARKS = "docs/benchmarks/index.md"


def timings(times):
    return {name: harness.Timing(**timing) for name, timing in times.items()}


def test_speeds_are_those_of_the_results():
    """README and the page of benchmarks quote only numbers found in benchmarks/results, and leave no rival out."""
    case = bench_sketch.Case()
    standard = timings(json.loads((ROOT / "benchmarks/results/sketch.json").read_text())["standard"]["times"])
    alone = timings(json.loads((ROOT / "benchmarks/results/sketch_loops.json").read_text())["times"])
    page = (ROOT / BENCHMARKS).read_text()
    for mark, times in (("speed", standard), ("loops", alone)):
        table = bench_sketch.short_table(case, times)
        assert f"<!-- {mark} -->\n{table}\n<!-- end of {mark} -->" in page
    for name, times in (("sketch", standard), ("sketch_loops", alone)):
        assert bench_sketch.race_table(case, times) in (ROOT / f"benchmarks/results/{name}.md").read_text()
    (_, mine, _), (rival, theirs, _) = table_in(BENCHMARKS, "speed")[:2]
    assert rival == "careful Numba loop"
    readme = re.sub(r"\s+", " ", (ROOT / "README.md").read_text())
    assert (
        f"it counts {mine} million rows a second. A {rival} that keeps the same statistics counts {theirs}." in readme
    )
    (ratio,) = (ratio for name, _, ratio in table_in(BENCHMARKS, "loops") if name == "Numba loop, counts only")
    assert f"keeps only counts took {ratio} times our time" in readme


def test_what_uses_all_threads_is_not_called_one_thread():
    lines = table_in(BENCHMARKS, "speed")
    assert {name for name, _, _ in lines if "all threads" in name} == {
        "DuckDB group-by, all threads",
        "polars group-by, all threads",
    }


MODELS = {
    "logistic regression": "lr",
    "the same, given sex": "lr_aware",
    "gradient boosting": "hgb",
    "over-confident boosting": "xconf",
    "one fully grown tree": "tree",
}


def test_adult_is_all_of_the_results():
    """Every model and every seed of Adult is there, so that none can be chosen after seeing the results."""
    recorded = json.loads(lzma.decompress((ROOT / "benchmarks/results/quality.json.xz").read_bytes()))
    rows = recorded["rows"]
    keys = zip(*(rows[name] for name in ("file", "criterion", "method", "limit")), strict=True)
    found = dict(zip(keys, zip(rows["error"], rows["gap"], strict=True), strict=True))
    files = {f for f in rows["file"] if f.startswith("adult_") and "(many)" not in f}
    seeds = sorted({file.rsplit("_", 1)[1] for file in files})
    lines = table_in(BENCHMARKS, "adult")
    assert files == {f"adult_{MODELS[line[0]]}_{seed}" for line in lines for seed in seeds}
    for model, *quoted in lines:
        before, after = (
            [found[f"adult_{MODELS[model]}_{seed}", "equalized_odds", method, 0.02] for seed in seeds]
            for method in ("untouched", "ours")
        )
        columns = [[point[i] for point in points] for i in (0, 1) for points in (before, after)]
        assert quoted == [", ".join(f"{x:.4f}" for x in column) for column in columns]
    cells = recorded["cells"]
    counts = zip(*(cells[key] for key in ("file", "part", "label", "group", "rows")), strict=True)
    women = [
        f"{n:,}"
        for file, part, label, group, n in counts
        if (file, part, label, group) in [(f"adult_lr_{seed}", "train", 1, 0) for seed in seeds]
    ]
    assert f"{' and '.join(women)} positive women" in re.sub(r"\s+", " ", (ROOT / BENCHMARKS).read_text())


def test_times_to_thresholds_are_those_of_the_results():
    """With the fastest rival of the record and no other."""
    _, recorded = json.loads((ROOT / "benchmarks/results/solver.json").read_text())["parts"]["From rows"]
    ratios = {(rows, name): float(times.replace(",", "")) for rows, name, _, _, times in recorded if times}
    taken = {
        (rows, name): float(time.split()[0].replace(",", "")) for rows, name, time, *_ in recorded if "not" not in time
    }
    rivals = ("error-parity", "OxonFair", "fairlearn")
    lines = table_in(BENCHMARKS, "thresholds")
    assert [line[0] for line in lines] == list(dict.fromkeys(row[0] for row in recorded))
    for rows, ours, fastest, fairlearn in lines:
        assert f"{taken[rows, 'gstar_fast']:.2g} ms" == ours
        least = min((name for name in rivals if (rows, name) in ratios), key=lambda name: ratios[rows, name])
        assert fastest == f"{least}, {ratios[rows, least]:.0f}x"
        assert fairlearn == (f"{ratios[rows, 'fairlearn']:,.0f}x" if (rows, "fairlearn") in ratios else "not run")
