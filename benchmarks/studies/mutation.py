"""How strong the tests are: small mistakes are put into the code, one at a time, and the tests must notice.

    python -m benchmarks.studies.mutation [--sample N] [--only PART ...] [--workers N] [--results FOLDER]

A mutant is the code with one token changed: a comparison, an operator, a whole number, a word. Of each file N are drawn
(the same ones each time). A mutant is killed if a test fails, or runs ten times as long as without it; it is not
counted if it does not compile. The tests must pass without a mutant, before and after, or there is no result.

Python is tried with the tests of its room on the NumPy backend. C++ is tried with the C++ tests first; what they do not
notice goes into a compiled module, which the Python tests of its room then try. Needs a checkout with git, a compiler
and what `make test` installs.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tokenize
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Queue
from typing import Any

from benchmarks.harness import heading, machine, table, write

ROOT = Path(__file__).parents[2]
REASONS = Path(__file__).with_name("mutation_reasons.txt")  # `file: line with the change -> why no test can see it`

# fmt: off
SWAPS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
    "+": "-", "-": "+", "*": "+", "//": "*", "/": "*", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "%": "+",
    "+=": "-=", "-=": "+=", "|=": "&=", "and": "or", "or": "and", "true": "false", "false": "true",
    "True": "False", "False": "True", "min": "max", "max": "min", "floor": "ceil", "ceil": "floor",
    "continue": "break", "not": "", "++": "--", "all": "any", "any": "all",
}
# fmt: on
CPP_TOKEN = re.compile(
    r"//.*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'"  # comments and texts, which stay as they are
    r"|(?<= )(?:<=|>=|==|!=|&&|\|\||<<|>>|\+=|-=|\|=|[<>+\-*/&|%])(?= )|\+\+|\b[A-Za-z_]\w*\b|\b\d+\b"
)
SKIP_LINE = re.compile(r"\s*(#|//|///|template|using|namespace|static_assert|import|from|assert\b)")


@dataclass(frozen=True)
class Part:
    """Some files, and what shall notice a mistake in them."""

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...]  # folders and files of Python tests
    programs: tuple[str, ...] = ()  # C++ tests

    @property
    def compiled(self) -> bool:
        return bool(self.programs)


PARTS = (
    Part(
        "grid and bytes, Python",
        (
            "gstar_fast/_base/grid.py",
            "gstar_fast/_base/sketch_format.py",
            "gstar_fast/_base/sketch_parts/checks.py",
            "gstar_fast/_backends/numpy/cells.py",
            "gstar_fast/_backends/numpy/sketch.py",
        ),
        ("tests/base", "tests/sketch"),
    ),
    Part(
        "thresholds documents, Python",
        ("gstar_fast/_base/thresholds.py", "gstar_fast/_decide/document.py"),
        ("tests/documents", "tests/decide/test_document.py", "tests/decide/test_decide.py"),
    ),
    Part(
        "exact solvers, Python",
        ("gstar_fast/_backends/numpy/solver.py", "gstar_fast/_backends/numpy/targets.py"),
        ("tests/solver",),
    ),
    Part(
        "grid, counting and bytes, C++",
        (
            "csrc/gstar/count/grid.hpp",
            "csrc/gstar/count/window.hpp",
            "csrc/gstar/count/plane.hpp",
            "csrc/gstar/count/tally.hpp",
            "csrc/gstar/count/bytes/cell_reader.hpp",
            "csrc/gstar/sketch_io.hpp",
        ),
        ("tests/base", "tests/sketch"),
        ("grid_test", "tally_test", "sketch_test", "sketch_io_test"),
    ),
    Part(
        "thresholds documents, C++",
        ("csrc/gstar/thresholds_json.hpp", "csrc/gstar/thresholds_io.hpp"),
        ("tests/documents", "tests/decide/test_embed.py"),
        ("thresholds_test",),
    ),
    Part(
        "exact solvers, C++",
        (
            "csrc/gstar/solve/exact_pair.hpp",
            "csrc/gstar/solve/exact_limits.hpp",
            "csrc/gstar/solve/exact_targets.hpp",
            "csrc/gstar/solve/target_bounds.hpp",
        ),
        ("tests/solver",),
        ("exact_test",),
    ),
)


# -------------------------------------------------------------------------------------------------------------- mutants


@dataclass(frozen=True)
class Mutant:
    """One token changed."""

    file: str
    line: int
    column: int
    before: str
    after: str
    code: str  # the line with the change in it

    @property
    def words(self) -> str:
        return f"{Path(self.file).name}: {self.code}"

    def apply(self, tree: Path) -> None:
        path = tree / self.file
        lines = path.read_text().splitlines(keepends=True)
        text = lines[self.line - 1]
        lines[self.line - 1] = text[: self.column] + self.after + text[self.column + len(self.before) :]
        path.write_text("".join(lines))


def changed(token: str) -> str | None:
    if token.isdigit():
        return str(int(token) + 1)
    return SWAPS.get(token)


def tokens_of(file: str) -> list[tuple[int, int, str]]:
    """Line, column and text of the tokens that a mistake can be made in."""
    text = (ROOT / file).read_text()
    if file.endswith(".py"):
        usual = (tokenize.OP, tokenize.NUMBER, tokenize.NAME)
        found = tokenize.generate_tokens(io.StringIO(text).readline)
        return [(*t.start, t.string) for t in found if t.type in usual]
    return [
        (number, match.start(), match.group())
        for number, line in enumerate(text.splitlines(), 1)
        for match in CPP_TOKEN.finditer(line)
    ]


def mutants_of(file: str, sample: int) -> list[Mutant]:
    """A sample of a file's mutants, the same each time."""
    lines = (ROOT / file).read_text().splitlines()
    out = []
    for line, column, token in tokens_of(file):
        text, after = lines[line - 1], changed(token)
        if after is None or SKIP_LINE.match(text) or "->" in text[max(column - 1, 0) : column + 2]:
            continue
        if token in "*&" and text[column + 1 : column + 2] != " ":  # a pointer, a reference, or arguments
            continue
        if (
            token == "|" and file.endswith(".py") and re.match(r"\| (None|float|int|str|list)\b", text[column:])
        ):  # a type
            continue
        if token in "min max all any" and text[column + len(token) : column + len(token) + 1] != "(":
            continue
        code = (text[:column] + "«" + after + "»" + text[column + len(token) :]).strip()
        out.append(Mutant(file, line, column, token, after, code))
    return sorted(random.Random(file).sample(out, min(sample, len(out))), key=lambda m: (m.line, m.column))


# ----------------------------------------------------------------------------------------------------------------- runs


class Tree:
    """A copy of the checkout that one worker may break."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        names = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True, capture_output=True, check=True
        ).stdout.splitlines()
        for name in names:
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        for built in (ROOT / "gstar_fast").glob("_core*.so"):
            shutil.copy2(built, folder / "gstar_fast")
        self.usual: dict[str, float] = {}

    def restore(self, file: str) -> None:
        shutil.copy2(ROOT / file, self.folder / file)

    def run(self, what: str, command: list[str], **more: str) -> bool:
        """Whether a command succeeds, in at most ten times its usual time."""
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1", **more}
        start = time.monotonic()
        limit = 20 + 10 * self.usual.get(what, 100)
        try:
            done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return False
        if done.returncode == 0:
            self.usual.setdefault(what, time.monotonic() - start)
        return done.returncode == 0

    def python(self, part: Part, backend: str) -> bool:
        others = " and ".join(f"not {name}" for name in ("native", "numba", "numpy") if name != backend)
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-k", others, *part.tests]
        return self.run(part.name + backend, command, GSTAR_FAST_BACKEND=backend)

    def program(self, name: str) -> bool | None:
        """Whether a C++ test passes; None where it does not compile."""
        command = ["g++", "-std=c++17", "-O1", "-w", "-ffp-contract=off", "-Icsrc", "-Icsrc/tests"]
        target = self.folder / "build" / name
        target.parent.mkdir(exist_ok=True)
        if not self.run("compile", [*command, f"csrc/tests/{name}.cpp", "-o", str(target), "-pthread"]):
            return None
        return self.run(name, [str(target)])

    def module(self) -> bool:
        cached = {"CC": "ccache gcc", "CXX": "ccache g++"} if shutil.which("ccache") else {}
        return self.run("build", [sys.executable, "setup.py", "-q", "build_ext", "--inplace"], **cached)


def outcome(tree: Tree, part: Part) -> str:
    """What the tests say of a tree: "survived", or what killed it."""
    if not part.compiled:
        return "survived" if tree.python(part, "numpy") else "killed"
    for name in part.programs:
        passed = tree.program(name)
        if passed is None:
            return "does not compile"
        if not passed:
            return "killed"
    if not tree.module():
        return "does not compile"
    return "survived" if tree.python(part, "native") else "killed"


def try_part(part: Part, trees: list[Tree], sample: int) -> list[dict[str, Any]]:
    """All mutants of a part, after a control without any and before another."""
    free: Queue[Tree] = Queue()
    for tree in trees:
        free.put(tree)

    def control(tree: Tree) -> None:
        if (found := outcome(tree, part)) != "survived":
            raise SystemExit(f"{part.name}: without a mutant the tests say {found}")

    def one(mutant: Mutant) -> dict[str, Any]:
        tree = free.get()
        try:
            mutant.apply(tree.folder)
            found = outcome(tree, part)
        finally:
            tree.restore(mutant.file)
            free.put(tree)
        print(f"{found:16s} {mutant.words}", flush=True)
        return {**asdict(mutant), "part": part.name, "outcome": found}

    mutants = [mutant for file in part.files for mutant in mutants_of(file, sample)]
    with ThreadPoolExecutor(len(trees)) as pool:
        list(pool.map(control, trees))
        found = list(pool.map(one, mutants))
        list(pool.map(control, trees))
    return found


# ----------------------------------------------------------------------------------------------------------------- page


def reasons() -> dict[str, str]:
    """Why survivors are no matter, by their words; written by hand."""
    lines = REASONS.read_text().splitlines() if REASONS.exists() else []
    return dict(line.split(" -> ", 1) for line in lines if " -> " in line)


def page(found: list[dict[str, Any]], about: dict[str, Any], sample: int) -> str:
    known = reasons()
    rows = []
    for part in dict.fromkeys(one["part"] for one in found):
        outcomes = [one["outcome"] for one in found if one["part"] == part]
        killed, survived = outcomes.count("killed"), outcomes.count("survived")
        share = f"{killed / max(killed + survived, 1):.1%}"
        rows.append([part, str(killed + survived), str(killed), share, str(outcomes.count("does not compile"))])
    killed, survived = (sum(one["outcome"] == word for one in found) for word in ("killed", "survived"))
    rows.append(["all", str(killed + survived), str(killed), f"{killed / max(killed + survived, 1):.1%}", ""])
    left = [
        Mutant(**{key: one[key] for key in Mutant.__annotations__}) for one in found if one["outcome"] == "survived"
    ]
    listed = [f"- `{m.words}`: {known.get(m.words, 'a test is missing')}" for m in left]
    return f"""# How strong the tests are

One token of the code changed at a time; the tests must fail. {sample} mutants were drawn of each file, the same each
time; a mutant that does not compile does not count, one that makes the tests run ten times as long is killed. Without a
mutant the tests passed, before and after. `python -m benchmarks.studies.mutation --sample {sample}` repeats it; parts
that are not in the table were not run for this record.

{heading(about)}

{table(["part", "mutants", "killed", "share", "do not compile"], rows)}

Survivors, the change between « and »:

{chr(10).join(listed) or "none"}
"""


def main() -> None:
    """Parse, run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=25, help="mutants of each file")
    parser.add_argument("--only", nargs="*", default=[""], help="words that the name of a part begins with")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--results", type=Path, help="folder to write mutation.md and mutation.json to")
    given = parser.parse_args()
    about, found = machine(), []
    with tempfile.TemporaryDirectory() as folder:
        trees = [Tree(Path(folder) / str(i)) for i in range(given.workers)]
        for part in PARTS:
            if any(word in part.name for word in given.only):
                found += try_part(part, trees, given.sample)
    text = page(found, about, given.sample)
    print(text)
    if given.results is not None:
        write(given.results, "mutation", {"machine": about, "mutants": found}, text)


if __name__ == "__main__":
    main()
