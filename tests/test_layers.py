"""A room may look upstream, never downstream; Python may call C++, C++ knows nothing of Python.

The tables below are the road through the house, upstream first. A file may use files of earlier rooms, and files of its
own room as long as no circle comes of it. A file that is in no room fails: put it where it belongs.
"""

import ast
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

CORE_ROOMS = [
    (
        "ground",
        [
            "span.hpp",
            "error.hpp",
            "wide.hpp",
            "dispatch.hpp",
            "factorize.hpp",
            "json.hpp",
            "key_hash.hpp",
            "deadline.hpp",
        ],
    ),
    ("rows", ["name.hpp", "rows.hpp", "weights.hpp"]),
    ("counts", ["grid.hpp", "plane.hpp", "kernels/*.hpp", "moments.hpp", "tally.hpp"]),
    ("sketch", ["resolve.hpp", "groups.hpp", "sketch.hpp", "sketch_io.hpp"]),
    ("density", ["special.hpp", "families.hpp", "kde.hpp", "density.hpp"]),
    ("rates", ["rates.hpp"]),
    ("objective", ["objective.hpp", "neighbours.hpp"]),
    (
        "solver",
        ["blocks.hpp", "exact_*.hpp", "smooth.hpp", "alternating.hpp", "newton.hpp", "sweep.hpp", "frontier.hpp"],
    ),
    ("decide", ["threshold_table.hpp", "thresholds.hpp", "thresholds_json.hpp", "decide.hpp", "live.hpp"]),
]

BINDING_ROOMS = [
    ("door", ["numpy_view.hpp"]),
    ("rooms", ["bind_*.cpp", "bind_*.hpp"]),
    ("module", ["module.cpp"]),
]

PYTHON_ROOMS = [
    ("ground", ["errors.py", "_core.pyi", "_files.py", "_grid.py", "_groups.py", "_include.py", "_sketch_io.py"]),
    ("thresholds", ["_thresholds_io.py"]),
    ("backends", ["_backends/*", "_config.py"]),
    ("input", ["_arrow.py", "_validation.py"]),
    ("sketch", ["_moments.py", "_pooling.py", "_resolution.py", "_sketch_repr.py", "_sketch.py", "_window.py"]),
    ("decide", ["_decide.py", "_live.py"]),
    ("datasets", ["datasets.py"]),
    ("density", ["_density*.py", "_fit_quality.py"]),
    ("objective", ["_objective.py"]),
    ("result", ["_result.py", "_outcome.py", "_degenerate.py"]),
    ("solver", ["_mixture.py", "_nearest.py", "_smooth.py", "_spread.py", "_solver.py", "_frontier.py", "_bounds.py"]),
    ("readers", ["_export.py", "_audit*.py", "_estimator*.py", "_report*.py", "plot.py"]),
    ("face", ["__init__.py"]),
    ("command line", ["_cli*.py", "_tables*.py", "__main__.py"]),
]

# Besides the standard library, the core may use what the compiler itself brings for one CPU.
COMPILER_HEADERS = {"immintrin.h", "cpuid.h", "intrin.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)


def room_of(name, rooms):
    for place, (_, patterns) in enumerate(rooms):
        if any(fnmatch(name, pattern) for pattern in patterns):
            return place
    return None


def wrong_arrows(arrows, rooms, run_time=None):
    """What is wrong with these arrows (file -> files it uses), one line each.

    `run_time` leaves out arrows for type checkers only, from which no circle can come.
    """
    wrong = [f"{name} is in no room" for name in arrows if room_of(name, rooms) is None]
    for name, used in arrows.items():
        for other in used:
            here, there = room_of(name, rooms), room_of(other, rooms)
            if there is None:
                wrong.append(f"{name} uses {other}, which is in no room")
            elif here is not None and there > here:
                wrong.append(f"{name} ({rooms[here][0]}) uses {other} ({rooms[there][0]}), which is downstream")
    return wrong + circles(arrows if run_time is None else run_time)


def circles(arrows):
    """Files that use each other in a circle."""
    left = {name: {other for other in used if other in arrows} for name, used in arrows.items()}
    while free := [name for name, used in left.items() if not used & left.keys()]:
        for name in free:
            del left[name]
    return [f"circle among {', '.join(sorted(left))}"] if left else []


def includes(path):
    return INCLUDE.findall(path.read_text())


def core_arrows():
    core = ROOT / "csrc" / "gstar"
    arrows = {}
    for path in sorted(core.rglob("*.*pp")):
        quoted = [name for mark, name in includes(path) if mark == '"']
        arrows[path.relative_to(core).as_posix()] = {resolve(path, name, core) for name in quoted}
    return arrows


def resolve(path, name, folder):
    """`gstar/grid.hpp` from csrc and `../grid.hpp` from beside the file are the same header."""
    beside = (path.parent / name).resolve()
    target = beside if beside.exists() else (ROOT / "csrc" / name).resolve()
    return target.relative_to(folder).as_posix() if target.is_relative_to(folder) else name


def python_arrows(package, *, types=True):
    arrows = {}
    for path in sorted([*package.rglob("*.py"), *package.rglob("*.pyi")]):
        name = path.relative_to(package).as_posix()
        tree = ast.parse(path.read_text() if types or path.suffix == ".py" else "")  # a stub is types alone
        arrows[name] = imported(tree if types else without_type_imports(tree), name, package) - {name}
    return arrows


def without_type_imports(tree):
    """The module as it runs: without what stands under `if TYPE_CHECKING:`."""

    class Remove(ast.NodeTransformer):
        def visit_If(self, node):
            test = node.test.attr if isinstance(node.test, ast.Attribute) else getattr(node.test, "id", None)
            return ast.Pass() if test == "TYPE_CHECKING" else self.generic_visit(node)

    return Remove().visit(tree)


def imported(tree, name, package):
    """Files of the package that this module imports, wherever in it the import stands."""
    here = ["gstar_fast", *Path(name).parent.parts]
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            targets = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        found.update(file for target in targets if (file := module_file(target, package)))
    return found


def module_file(target, package):
    """File of the longest part of a dotted name that is a module of the package."""
    parts = target.split(".")
    if parts[0] != "gstar_fast":
        return None
    if parts[1:2] == ["_core"]:  # compiled; there is no source of that name
        return "_core.pyi"
    for length in range(len(parts), 0, -1):
        path = package.joinpath(*parts[1:length])
        for file in (path.with_suffix(".py"), path.with_suffix(".pyi"), path / "__init__.py"):
            if file.is_file() and (length > 1 or file.name == "__init__.py"):
                return file.relative_to(package).as_posix()
    return None


def test_no_arrow_in_the_core_points_downstream():
    assert wrong_arrows(core_arrows(), CORE_ROOMS) == []


def test_the_core_is_standard_cpp_and_knows_nothing_of_python():
    foreign = [
        f"{path.name} includes <{name}>"
        for path in (ROOT / "csrc" / "gstar").rglob("*.*pp")
        for mark, name in includes(path)
        if mark == "<" and ("/" in name or "." in name) and name not in COMPILER_HEADERS
    ]
    assert foreign == []


def test_only_bindings_include_pybind11():
    allowed = ROOT / "csrc" / "bindings"
    found = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "csrc").rglob("*.*pp")
        if not path.is_relative_to(allowed)
        and any(name.startswith(("pybind11", "Python.h", "numpy/")) for _, name in includes(path))
    ]
    assert found == []


def test_no_arrow_in_the_bindings_points_downstream():
    folder = ROOT / "csrc" / "bindings"
    arrows = {
        path.relative_to(folder).as_posix(): {
            resolve(path, name, folder)
            for mark, name in includes(path)
            if mark == '"' and not name.startswith("gstar/")
        }
        for path in sorted(folder.rglob("*.*pp"))
    }
    assert wrong_arrows(arrows, BINDING_ROOMS) == []


def test_no_arrow_in_the_package_points_downstream():
    package = ROOT / "gstar_fast"
    assert wrong_arrows(python_arrows(package), PYTHON_ROOMS, python_arrows(package, types=False)) == []


def test_importing_the_package_face_from_inside_is_an_arrow():
    """`import gstar_fast` inside a room is found, however it is written."""
    package = ROOT / "gstar_fast"
    for line in ("import gstar_fast", "from . import Sketch", "import gstar_fast as gf"):
        assert imported(ast.parse(f"def f():\n    {line}"), "errors.py", package) == {"__init__.py"}
    assert imported(ast.parse("from . import datasets"), "errors.py", package) == {"datasets.py"}
    assert imported(ast.parse("from ..datasets import true_cdf"), "_backends/x.py", package) == {"datasets.py"}
    assert imported(ast.parse("import numpy.random"), "errors.py", package) == set()


@pytest.mark.parametrize(
    ("arrows", "text"),
    [
        ({"grid.hpp": {"plane.hpp"}, "plane.hpp": {"grid.hpp"}}, "circle among grid.hpp, plane.hpp"),
        ({"grid.hpp": {"kde.hpp"}, "kde.hpp": set()}, "grid.hpp (counts) uses kde.hpp (density), which is downstream"),
        ({"attic.hpp": set()}, "attic.hpp is in no room"),
        ({"grid.hpp": {"attic.hpp"}}, "grid.hpp uses attic.hpp, which is in no room"),
    ],
)
def test_wrong_arrows_are_found(arrows, text):
    assert wrong_arrows(arrows, CORE_ROOMS) == [text]


def test_right_arrows_are_silent():
    arrows = {"sketch.hpp": {"grid.hpp", "span.hpp"}, "grid.hpp": {"span.hpp"}, "span.hpp": set()}
    assert wrong_arrows(arrows, CORE_ROOMS) == []
