"""C++ looks upstream only, and knows nothing of Python; folders stay small. import-linter checks the Python half.

`csrc/gstar` is the road through the house: a header may include headers of its own folder and of folders further up
the list. The doors, what an embedder includes, stand at the top of `csrc/gstar` and may include every folder. Nothing
may come of it in a circle.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
CORE = ROOT / "csrc" / "gstar"

CORE_ROOMS = ["base", "count", "density", "solve", "decide", "doors"]
BINDING_ROOMS = ["shared", "bind", "module"]

# Besides the standard library, the core may use what the compiler itself brings for one CPU.
COMPILER_HEADERS = {"arm_neon.h", "emmintrin.h", "immintrin.h", "cpuid.h", "intrin.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)


def core_room(name):
    folder = name.split("/")[0] if "/" in name else "doors"
    return CORE_ROOMS.index(folder) if folder in CORE_ROOMS else None


def binding_room(name):
    if name == "module.cpp":
        return BINDING_ROOMS.index("module")
    return BINDING_ROOMS.index("bind" if name.startswith("bind_") else "shared")


def wrong_arrows(arrows, room_of, rooms):
    """What is wrong with these arrows (file -> files it uses), one line each."""
    wrong = [f"{name} is in no room" for name in arrows if room_of(name) is None]
    for name, used in arrows.items():
        for other in used:
            here, there = room_of(name), room_of(other)
            if there is None:
                wrong.append(f"{name} uses {other}, which is in no room")
            elif here is not None and there > here:
                wrong.append(f"{name} ({rooms[here]}) uses {other} ({rooms[there]}), which is downstream")
    return wrong + circles(arrows)


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
    """Every header of the core -> the headers of the core it includes, all from `gstar/`."""
    return {
        path.relative_to(CORE).as_posix(): {name.removeprefix("gstar/") for mark, name in includes(path) if mark == '"'}
        for path in sorted(CORE.rglob("*.hpp"))
    }


def pulled_in(name, arrows):
    """All headers that including this one brings, itself among them."""
    found, left = set(), [name]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += arrows[name]
    return found


def test_no_arrow_in_the_core_points_downstream():
    assert wrong_arrows(core_arrows(), core_room, CORE_ROOMS) == []


def test_deciding_pulls_in_little():
    """A service that decides does not compile the counting core."""
    headers = pulled_in("decide.hpp", core_arrows())
    assert len(headers) <= 16, sorted(headers)


def test_the_core_is_standard_cpp_and_knows_nothing_of_python():
    foreign = [
        f"{path.name} includes <{name}>"
        for path in CORE.rglob("*.*pp")
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
        path.name: {name for mark, name in includes(path) if mark == '"' and not name.startswith("gstar/")}
        for path in sorted(folder.glob("*.*pp"))
    }
    assert wrong_arrows(arrows, binding_room, BINDING_ROOMS) == []


def test_no_room_imports_the_package_face():
    """The face opens every room; only the command line, which stands outside, may go through it."""
    face = re.compile(
        r"^\s*(import gstar_fast\b(?!\.)|from gstar_fast import (?!_core\b|_backends\b|datasets\b|plot\b))", re.M
    )
    package = ROOT / "gstar_fast"
    rooms = [path for path in package.glob("_*/**/*.py") if "_cli" not in path.parts]
    assert len(rooms) > 60
    code = {path: re.sub(r'"""[\s\S]*?"""', "", path.read_text()) for path in rooms}
    assert [path.relative_to(package).as_posix() for path, text in code.items() if face.search(text)] == []


@pytest.mark.parametrize("root", ["gstar_fast", "csrc/gstar"])
def test_no_folder_is_a_drawer(root):
    """A stranger reads a folder in one sitting: at most 14 files, 12 modules at the top of the package."""
    top = ROOT / root
    for folder in [top, *(path for path in top.rglob("*") if path.is_dir() and path.name != "__pycache__")]:
        files = [path for path in folder.iterdir() if path.suffix in {".py", ".hpp", ".h", ".html", ".js", ".css"}]
        most = 12 if folder == ROOT / "gstar_fast" else 14
        assert len(files) <= most, f"{folder.relative_to(ROOT)} has {len(files)} files"


@pytest.mark.parametrize(
    ("arrows", "text"),
    [
        ({"count/grid.hpp": {"count/plane.hpp"}, "count/plane.hpp": {"count/grid.hpp"}}, "circle among"),
        ({"count/grid.hpp": {"density/kde.hpp"}, "density/kde.hpp": set()}, "(density), which is downstream"),
        ({"attic/old.hpp": set()}, "attic/old.hpp is in no room"),
        ({"count/grid.hpp": {"attic/old.hpp"}}, "count/grid.hpp uses attic/old.hpp, which is in no room"),
    ],
)
def test_wrong_arrows_are_found(arrows, text):
    (found,) = wrong_arrows(arrows, core_room, CORE_ROOMS)
    assert text in found


def test_right_arrows_are_silent():
    arrows = {"sketch.hpp": {"count/grid.hpp"}, "count/grid.hpp": {"base/span.hpp"}, "base/span.hpp": set()}
    assert wrong_arrows(arrows, core_room, CORE_ROOMS) == []
