"""No decision depends on the text of a message: codes and fields say what happened."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import gstar_fast

SOURCES = Path(gstar_fast.__file__).parent
METHODS = {"startswith", "endswith", "partition", "rpartition", "split", "rsplit", "find", "index", "count"}
READS = METHODS | {"removeprefix", "removesuffix", "match", "search", "fullmatch", "findall", "finditer"}
"""Methods that look into a text."""
TEXT = re.compile(
    r"\b(messages?|note|warning|error|exception)\b(\.(message|text|args))?$|\.(message|text)$"
    r"|^str\((error|warning|note)\b"
)
"""Expressions that hold a sentence of ours, or of an exception."""
FOREIGN = {
    ("_cli/tables/csv_file.py", "'unexpected end of data' in str(error)"): "the csv module has one class of errors",
    ("_cli/parser.py", "re.match"): "argparse has no other sign for a command that it does not know",
    ("_estimator/groups.py", "re.search"): "scikit-learn's message may name a column that it could not convert",
}
"""Texts that others wrote, with the reason why they are read."""


def readers(path: Path) -> list[tuple[str, int]]:
    """Places of a file that look into a message: what they call or compare, and the line."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in READS
            and node.args
        ):
            looked_at = [node.func.value, *(node.args if ast.unparse(node.func.value) == "re" else [])]
        elif isinstance(node, ast.Compare) and any(isinstance(op, (ast.In, ast.NotIn, ast.Eq)) for op in node.ops):
            sides = [node.left, *node.comparators]
            looked_at = sides if any(is_words(side) for side in sides) else []
        else:
            continue
        if any(TEXT.search(ast.unparse(one)) for one in looked_at):
            found.append((ast.unparse(node.func if isinstance(node, ast.Call) else node), node.lineno))
    return found


def is_words(node: ast.AST) -> bool:
    """Whether an expression is a literal text, or joined from some."""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def test_no_source_reads_a_message():
    found = []
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        found += [f"{name}:{line} {what}" for what, line in readers(path) if (name, what) not in FOREIGN]
    assert not found, "these read a message; use a code or a field instead:\n" + "\n".join(found)


@pytest.mark.parametrize(
    "line",
    [
        "x = result.message.startswith('noise')",
        "x = any(note.startswith(SIGN) for note in result.notes)",
        "x = 'loss' in r.message",
        "x = result.message == 'all is well'",
        "x = re.search('slack', result.message)",
        "x = str(error).partition(':')[0]",
        "x = note.text.split(';')",
    ],
)
def test_the_test_finds_such_lines(tmp_path, line):
    (tmp_path / "one.py").write_text(line)
    assert len(readers(tmp_path / "one.py")) == 1
