"""The project's pages, and the blocks of code in them, for the tests that run and check both."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
FENCE = re.compile(r"^(`{3,}|:{3,})([^\n`]*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)

WRITTEN = ROOT / "docs/benchmarks/results"  # pages that a build of the site writes
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "benchmarks/*.md")
    for path in ROOT.glob(pattern)
    if path.parent != WRITTEN
)


class Block(NamedTuple):
    """One fenced block; `output` is the text block that follows it at once."""

    language: str
    code: str
    output: str | None


def blocks(text):
    """Blocks that are not themselves the output of the one before."""
    found = [(language.strip(), code) for _, language, code in FENCE.findall(text)]
    following = [*found[1:], ("end", None)]
    for (language, code), (after, output) in zip(found, following, strict=False):
        if language not in ("", "text"):
            yield Block(language, code, output if after in ("", "text") else None)


def prose(text):
    """The page without its fenced blocks."""
    return FENCE.sub("", text)


def text_of(page):
    """The page, or what it includes as a whole."""
    text = (ROOT / page).read_text(encoding="utf-8")
    included = re.match(r"```\{include\} (\S+)\n", text)
    return ((ROOT / page).parent / included[1]).read_text(encoding="utf-8") if included else text


def table_in(page, name):
    """Cells of the table between two marks in a page."""
    text = (ROOT / page).read_text(encoding="utf-8").split(f"<!-- {name} -->")[1].split(f"<!-- end of {name} -->")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
