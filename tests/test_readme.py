"""The code in README and docs runs and prints what the page says it prints."""

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from pages import PAGES, ROOT, blocks

# Blocks that cannot run in a test, by page and first command: they install, serve, measure or are this very run.
NOT_RUN = {
    ("README.md", "pip install gstar-fast"),
    ("CONTRIBUTING.md", "make demo"),
    ("CONTRIBUTING.md", "make python-test"),
    ("benchmarks/README.md", "make bench"),
    ("benchmarks/README.md", "python benchmarks/bench_audit.py"),
    ("benchmarks/README.md", "python benchmarks/bench_solver.py"),
    ("docs/guide/solver.md", "python benchmarks/quality.py"),
    ("docs/quickstart.md", "pip install gstar-fast"),
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
        ["sh", "-e", "-c", code], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
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


def test_speeds_in_the_readme_are_those_of_the_results():
    """README quotes only numbers found in benchmarks/results."""
    times = json.loads((ROOT / "benchmarks/results/sketch.json").read_text())["standard"]["times"]
    ours = times["gstar_fast"]["least"]
    lines = re.findall(r"^\| (.+?) +\| +([\d,]+) \| +([\d.]+) \|$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert "gstar_fast" in [name for name, _, _ in lines]
    for name, speed, ratio in lines:
        assert speed == f"{10_000_000 / times[name]['least'] / 1e6:,.0f}"
        assert ratio == f"{times[name]['least'] / ours:.1f}"


def test_adult_in_the_readme_is_that_of_the_results():
    rows = json.loads((ROOT / "benchmarks/results/quality.json").read_text())["rows"]
    keys = zip(*(rows[name] for name in ("file", "criterion", "method", "limit")), strict=True)
    found = dict(zip(keys, zip(rows["error"], rows["gap"], strict=True), strict=True))
    text = (ROOT / "README.md").read_text().split("<!-- adult -->")[1].split("<!-- end of adult -->")[0]
    lines = re.findall(r"^\| (.+?) +\| +" + r" \| +".join([r"([\d.]+)"] * 4) + r" \|$", text, re.MULTILINE)
    assert [line[0] for line in lines] == ["logistic regression", "gradient boosting"]
    for file, (_, *quoted) in zip(("adult_lr_s1", "adult_hgb_s1"), lines, strict=True):
        (error, gap), (new_error, new_gap) = (
            found[file, "equalized_odds", method, 0.02] for method in ("untouched", "ours")
        )
        assert quoted == [f"{x:.4f}" for x in (error, new_error, gap, new_gap)]
