"""Put small mistakes into the code, one at a time, and list those that no test notices.

    python tools/mutate.py [--seed 1] [--count 20] [--files PREFIX ...] [--jobs 1] [--list]

A mutant is the code with one change: a constant plus one, a sign, a comparison, `min` for `max`, a statement removed.
The sample is drawn from all files of ROOMS, or from those that begin with one of the prefixes, and depends on
the seed and the code alone. A mutant is killed if a test fails, or takes five times the CPU time that it takes without.
C++ is tried with its own tests first, then built in place and tried with the Python tests on the native backend. Each
job works in its own copy of the checkout. `tests/mutation.md` has the last sample, and says which survivors cannot be
noticed.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, pairwise
from pathlib import Path
from queue import Queue
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LONGEST = 300  # seconds of CPU time that a command may take without a mutant
Change = tuple[int, int, str]  # the text between two places becomes another


class Room(NamedTuple):
    """Files that begin with a prefix, the Python tests of these files, and the C++ programs."""

    prefix: str
    tests: tuple[str, ...]
    programs: tuple[str, ...] = ()


# The first prefix that fits counts.
FORMULAS = "tests/solver/test_formulas.py"
EXACT = ("tests/solver/test_solver.py", "tests/solver/test_solver_search.py", "tests/solver/test_sums.py", FORMULAS)
SMOOTH = ("tests/solver/test_paper.py", "tests/solver/test_solver_words.py", "tests/solver/test_frontier.py", FORMULAS)
DOOR = "tests/backends/test_front_door.py"
COUNTED = ("tests/base", "tests/sketch", "tests/input")
# fmt: off
ROOMS = (
    Room("gstar_fast/_promise/", ("tests/promise",)),
    Room("gstar_fast/_solver/notes.py", ("tests/solver/test_degenerate.py", "tests/solver/test_noise.py", FORMULAS)),
    Room("gstar_fast/_verbs/bounds.py", ("tests/solver/test_bounds.py", FORMULAS)),
    Room("gstar_fast/_solver/smooth/", SMOOTH),
    Room("gstar_fast/_solver/", ("tests/solver",)),
    Room("gstar_fast/_verbs/", ("tests/solver", "tests/promise")),
    Room("gstar_fast/_audit/", ("tests/audit",)),
    Room("gstar_fast/_sketch/", COUNTED),
    Room("gstar_fast/_density/", ("tests/density", "tests/solver/test_paper.py")),
    Room("gstar_fast/_decide/", ("tests/decide", "tests/documents")),
    Room("csrc/gstar/base/json.hpp", ("tests/documents", "tests/decide"), ("thresholds_test",)),
    Room("csrc/gstar/base/", COUNTED, ("wide_test", "factorize_test", "sketch_test", "sketch_io_test")),
    Room("csrc/gstar/count/", COUNTED, ("tally_test", "sketch_test", "kernels_test", "sketch_io_test")),
    Room("csrc/gstar/decide/", ("tests/decide", "tests/documents"), ("decide_test", "thresholds_test")),
    Room("csrc/gstar/density/", ("tests/density",), ("density_test", "families_test", "special_test", "kde_test")),
    Room("csrc/gstar/solve/segments", ("tests/solver",), ("segments_test",)),
    Room("csrc/gstar/solve/frontier.hpp", ("tests/solver/test_frontier.py",), ("frontier_test",)),
    Room("csrc/gstar/solve/exact", EXACT, ("exact_test", "bands_test", "totals_test")),
    Room("csrc/gstar/solve/smooth", SMOOTH, ("alternating_test",)),
    Room("csrc/gstar/solve", (*EXACT, DOOR), ("exact_test", "bands_test", "rates_test", "solve_test")),
    Room("csrc/gstar/", ("tests/base", "tests/sketch", "tests/decide"), ("sketch_io_test", "thresholds_test")),
)
SWAPS = {
    "+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "+", "<<": ">>", ">>": "<<", "&": "|", "|": "&",
    "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "|=": "&=", "&=": "|=", "++": "--", "--": "++",
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
    "and": "or", "or": "and", "not ": "", "is": "is not", "is not": "is", "in": "not in", "not in": "in",
    "min": "max", "max": "min", "fmin": "fmax", "fmax": "fmin", "minimum": "maximum", "maximum": "minimum",
    "argmin": "argmax", "argmax": "argmin", "floor": "ceil", "ceil": "floor", "any": "all", "all": "any",
    "lower_bound": "upper_bound", "upper_bound": "lower_bound", "isfinite": "isnan",
    "true": "false", "false": "true", "True": "False", "False": "True", "break": "continue", "continue": "break",
}
OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.LShift: "<<",
    ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Eq: "==", ast.NotEq: "!=", ast.And: "and", ast.Or: "or", ast.Is: "is", ast.IsNot: "is not", ast.In: "in",
    ast.NotIn: "not in",
}
# fmt: on
CPP_TOKEN = re.compile(
    r"//.*|/\*(?s:.*?)\*/|^[ \t]*#.*|\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\])*'"  # these stay as they are
    r"|^[ \t]*(?:using|template|namespace|static_assert|struct|class|assert)\b.*"
    r"|(?<= )(?:<=|>=|==|!=|&&|\|\||<<|>>|\+=|-=|\*=|/=|\|=|&=|[<>+\-*/&|%])(?= )|\+\+|--|(?<=[ (])[-!](?=[\w(])"
    r"|\b(?:0x[\da-fA-F']+|\d[\d']*(?:\.\d*)?(?:e[-+]?\d+)?)[uUlLfF]*\b|\b[A-Za-z_]\w*\b",
    re.MULTILINE,
)
CPP_STATEMENT = re.compile(  # a call or an assignment that declares nothing
    r"^[ \t]+((?!return\b|throw\b|else\b|delete\b)(?:[\w.:>\[\]-]+\([^;{}\n]*\)|[\w.>()\[\]-]+ [-+*/|&]?= [^;{}\n]*));",
    re.MULTILINE,
)


class Mutant(NamedTuple):
    """One change of one file, between two places in its text."""

    file: str
    start: int
    end: int
    after: str

    def applied(self, text: str) -> str:
        """The text with the change."""
        return text[: self.start] + self.after + text[self.end :]

    def __str__(self) -> str:
        """Where it is, with the line before and the change between marks."""
        text = (ROOT / self.file).read_text(encoding="utf-8")
        first, last = text.rfind("\n", 0, self.start) + 1, text.find("\n", self.end)
        line = (
            text[first : self.start]
            + "«"
            + text[self.start : self.end]
            + " -> "
            + self.after
            + "»"
            + text[self.end : last]
        )
        return f"{self.file}:{text.count(chr(10), 0, self.start) + 1}: {' '.join(line.split())}"


def plus_one(number: str) -> str:
    """A constant plus one, as both languages write it."""
    digits = re.sub(r"[uUlL]+$" if number.startswith("0x") else r"[uUlLfF]+$", "", number)
    value = digits.replace("'", "").replace("_", "")
    whole = value.startswith("0x") or value.isdigit()
    return (str(int(value, 16 if "x" in value else 10) + 1) if whole else repr(float(value) + 1)) + number[
        len(digits) :
    ]


# --------------------------------------------------------------------------------------------------------------- Python


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """All parts of a file but types, decorators, messages and what is raised."""
    if isinstance(node, (ast.JoinedStr, ast.Raise, ast.Assert, ast.Import, ast.ImportFrom, ast.arg)):
        return
    yield node
    left_out = [getattr(node, name, None) for name in ("annotation", "returns")]
    left_out += getattr(node, "decorator_list", [])
    for child in ast.iter_child_nodes(node):
        if child not in left_out:
            yield from walk(child)


def operators(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST, ast.AST]]:
    """Operators of an expression, each between its operands."""
    match node:
        case ast.BinOp(left, op, right) | ast.AugAssign(left, op, right):
            yield left, op, right
        case ast.BoolOp(op, values):
            yield from ((left, op, right) for left, right in pairwise(values))
        case ast.Compare(left, ops, comparators):
            yield from ((one, op, two) for op, (one, two) in zip(ops, pairwise([left, *comparators]), strict=True))


def python_changes(text: str) -> list[Change]:
    """All changes of a Python file."""
    lines = text.splitlines(keepends=True)
    starts = [0, *accumulate(len(line) for line in lines)]
    found: list[Change] = []

    def at(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())  # columns of `ast` count bytes

    for node in walk(ast.parse(text)):
        if not hasattr(node, "lineno"):
            continue
        start, end = at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset)
        for left, operator, right in operators(node):
            word, first = OPERATORS.get(type(operator)), at(left.end_lineno, left.end_col_offset)
            place = word and text.find(word, first, at(right.lineno, right.col_offset))
            if place and place > 0:
                found.append((place, place + len(word), SWAPS[word]))
        match node:
            case ast.UnaryOp(ast.USub() | ast.Not(), operand):
                found.append((start, at(operand.lineno, operand.col_offset), ""))
            case ast.Constant(bool() | int() | float() as value):
                found.append((start, end, str(not value) if isinstance(value, bool) else plus_one(text[start:end])))
            case ast.Name(name) | ast.Attribute(_, name) if name in SWAPS:
                found.append((end - len(name), end, SWAPS[name]))
            case ast.Expr(ast.Call()) | ast.AugAssign() | ast.Assign([ast.Subscript() | ast.Attribute()]):
                found.append((start, end, "pass"))
    return found


# ------------------------------------------------------------------------------------------------------------------ C++


def cpp_changes(text: str) -> list[Change]:
    """All changes of a C++ header."""
    found = [(*match.span(1), "") for match in CPP_STATEMENT.finditer(text)]
    for match in CPP_TOKEN.finditer(text):
        token = match.group()
        if token[0].isdigit():
            found.append((*match.span(), plus_one(token)))
        elif token in ("-", "!") and text[match.end()] != " ":
            found.append((*match.span(), ""))
        elif token in SWAPS and token not in ("in", "is", "and", "or", "all", "any"):
            found.append((*match.span(), SWAPS[token]))
    return found


# ----------------------------------------------------------------------------------------------------------------- runs


class Copy:
    """A copy of the checkout that one job may break; `usual` has the CPU seconds of tests without a mutant."""

    def __init__(self, folder: Path, usual: dict[tuple[str, ...], float]) -> None:
        self.folder, self.usual = folder, usual
        listed = ["git", "ls-files", "-co", "--exclude-standard"]
        for name in subprocess.run(listed, cwd=ROOT, text=True, capture_output=True, check=True).stdout.splitlines():
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        self.restore_core()

    def restore_core(self) -> None:
        """Take the built core of the checkout."""
        for built in (ROOT / "gstar_fast").glob("_core*.so"):
            target = self.folder / "gstar_fast" / built.name
            target.unlink(missing_ok=True)
            shutil.copy2(built, target)

    def passes(self, *command: str) -> bool:
        """Whether a command succeeds; tests within five times their usual CPU time, as the machine may be busy."""
        cached = {"CC": "ccache gcc", "CXX": "ccache g++"} if shutil.which("ccache") else {}
        environment = {**os.environ, **cached, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
        limit = 20 + int(5 * self.usual.get(command, LONGEST))

        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))

        process = subprocess.Popen(command, cwd=self.folder, env=environment, preexec_fn=limited, **quiet)
        waiting = threading.Timer(
            20 * limit, os.killpg, (process.pid, signal.SIGKILL)
        )  # for locks that are never given
        waiting.start()
        _, status, used = os.wait4(process.pid, 0)
        waiting.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode == 0 and command[0] != "g++" and "setup.py" not in command:
            self.usual.setdefault(command, used.ru_utime + used.ru_stime)
        return process.returncode == 0

    def outcome(self, room: Room) -> str:
        """What the tests of a room say: `survived`, `killed` or `does not compile`."""
        flags = ("-std=c++17", "-O1", "-w", "-ffp-contract=off", "-pthread", "-Icsrc")
        for name in room.programs:
            if not self.passes("g++", *flags, f"csrc/tests/{name}.cpp", "-o", name):
                return "does not compile"
            if not self.passes(f"./{name}"):
                return "killed"
        if room.programs and not self.passes(sys.executable, "setup.py", "-q", "build_ext", "--inplace"):
            return "does not compile"
        tests = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *room.tests)
        return "survived" if self.passes(*tests, "-m", "quick or slow", "-k", "not numba and not numpy") else "killed"

    def of(self, mutant: Mutant, room: Room) -> str:
        """The outcome with a mutant."""
        path = self.folder / mutant.file
        path.write_text(mutant.applied((ROOT / mutant.file).read_text(encoding="utf-8")), encoding="utf-8")
        try:
            return self.outcome(room)
        finally:
            shutil.copyfile(ROOT / mutant.file, path)
            if room.programs:
                self.restore_core()


def drawn(seed: int, count: int, prefixes: list[str]) -> list[Mutant]:
    """The sample."""
    every = []
    for path in sorted([*ROOT.glob("gstar_fast/**/*.py"), *ROOT.glob("csrc/gstar/**/*.hpp")]):
        file = path.relative_to(ROOT).as_posix()
        if room_of(file) and any(file.startswith(prefix) for prefix in prefixes):
            changes = (python_changes if path.suffix == ".py" else cpp_changes)(path.read_text(encoding="utf-8"))
            every += [Mutant(file, *change) for change in sorted(changes)]
    return random.Random(seed).sample(every, min(count, len(every)))


def room_of(file: str) -> Room | None:
    """The first room that a file belongs to."""
    return next((room for room in ROOMS if file.startswith(room.prefix)), None)


def main() -> int:
    """Draw, try each mutant, print what survived."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--files", nargs="+", default=[""], help="what the names of the files begin with")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="print the sample and try nothing")
    given = parser.parse_args()
    mutants = drawn(given.seed, given.count, given.files)
    if given.list:
        print(*mutants, sep="\n")
        return 0
    free: Queue[Copy] = Queue()
    outcomes = Counter()

    def tried(mutant: Mutant) -> None:
        copy = free.get()
        found = copy.of(mutant, room_of(mutant.file))
        free.put(copy)
        outcomes[found] += 1
        print(f"{found:16s} {mutant}", flush=True)

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.jobs) as pool:
        usual: dict[tuple[str, ...], float] = {}
        for job in range(given.jobs):
            free.put(Copy(Path(folder, str(job)), usual))
        for room in dict.fromkeys(room_of(mutant.file) for mutant in mutants):
            if free.queue[0].outcome(room) != "survived":
                print(f"{room.prefix}: the tests fail without a mutant")
                return 1
        list(pool.map(tried, mutants))
    print(*(f"{number} {word}" for word, number in outcomes.items()), sep=", ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
