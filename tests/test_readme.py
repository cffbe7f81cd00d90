"""The code in README and docs runs and prints what the page says it prints."""

import contextlib
import io
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(text):
    """Python blocks, each with the output block that follows it (None where another kind of block follows)."""
    blocks = BLOCK.findall(text)
    for (language, code), following in zip(blocks, [*blocks[1:], ("", None)], strict=True):
        if language == "python":
            yield code, following[1] if following[0] in ("", "text") else None


def test_blocks_are_found_with_their_output():
    text = "```python\nprint(1)\n```\n\n```text\n1\n```\n\n```python\nx = 2\n```\n\n```sh\nls\n```\n"
    assert list(examples(text)) == [("print(1)\n", "1\n"), ("x = 2\n", None)]


DOCS = sorted(path for path in (ROOT / "docs").glob("*.md") if "```python" in path.read_text())
PAGES = ["README.md", *(f"docs/{path.name}" for path in DOCS)]


@pytest.mark.parametrize("page", PAGES)
def test_code_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what an example saves, it saves there
    found = list(examples((ROOT / page).read_text()))
    assert found, f"{page} has no python block"
    names = {"__name__": "__main__"}  # blocks of one page go on from each other
    for code, output in found:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page, "exec"), names)
        if output is not None:
            assert printed.getvalue() == output


def test_speeds_in_the_readme_are_those_of_the_results():
    """README quotes only numbers found in benchmarks/results."""
    times = json.loads((ROOT / "benchmarks/results/sketch.json").read_text())["standard"]["times"]
    ours = times["gstar_fast"]["least"]
    lines = re.findall(r"^\| (.+?) +\| +([\d,]+) \| +([\d.]+) \|$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert "gstar_fast" in [name for name, _, _ in lines]
    for name, speed, ratio in lines:
        assert speed == f"{10_000_000 / times[name]['least'] / 1e6:,.0f}"
        assert ratio == f"{times[name]['least'] / ours:.1f}"
