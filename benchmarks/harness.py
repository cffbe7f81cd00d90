"""Fair clocks and honest records: interleaved repeats, and where, with what and on what each figure was measured."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import lzma
import os
import platform
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import gstar_fast as gf

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Timing:
    """Seconds of one contender."""

    least: float
    median: float
    repeats: int


def race(contenders: dict[str, Callable[[], Any]], *, repeats: int = 7, budget: float = 20.0) -> dict[str, Timing]:
    """Time all contenders in turn, round after round, so that a busy moment of the machine hits them alike.

    A contender that has used up its `budget` of seconds sits out the later rounds, but not the first two.
    """
    spent: dict[str, list[float]] = {name: [] for name in contenders}
    for run in contenders.values():
        run()  # warm up: compile, touch memory
    for turn in range(repeats):
        for name, run in contenders.items():
            if turn >= 2 and sum(spent[name]) > budget:
                continue
            start = time.perf_counter()
            run()
            spent[name].append(time.perf_counter() - start)
    return {name: Timing(min(times), statistics.median(times), len(times)) for name, times in spent.items()}


def row_cost(folder: str) -> str | None:
    """The program that measures one row in C++, compiled into a folder; None without a compiler."""
    compiler = next((name for name in ("c++", "g++", "clang++") if shutil.which(name)), None)
    if compiler is None:
        return None
    program, source = str(Path(folder, "row_cost")), Path(__file__).parent / "row_cost.cpp"
    flags = ["-std=c++17", "-O3", "-DNDEBUG", "-ffp-contract=off", "-pthread", f"-I{gf.config.get_include()}"]
    subprocess.run([compiler, *flags, str(source), "-o", program], check=True)
    return program


def output(*command: str) -> str:
    """What a program prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def machine() -> dict[str, Any]:
    """Where and with what this was measured."""
    import gstar_fast

    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "native": importlib.util.find_spec("gstar_fast._core") is not None,
        "config": _shown(gstar_fast.config.show_config),
        "load": [round(value, 1) for value in os.getloadavg()] if hasattr(os, "getloadavg") else None,
        "commit": _commit(),
    }


PACKAGES = ("numpy", "scipy", "numba", "pandas", "pyarrow", "boost-histogram", "polars", "duckdb", "datasketches")
PACKAGES += ("pyspark", "dask", "fairlearn", "error-parity", "oxonfair", "scikit-learn")


def heading(about: dict[str, Any]) -> str:
    """One paragraph for the top of a page: machine, compiler, versions and commit of a report."""
    versions = ", ".join(f"{name} {version}" for name, version in about["packages"].items() if version != "absent")
    place = f"{about['cpu']}, {about['cores']} cores, {about['system']}, Python {about['python']}"
    return f"{place}; {versions}; commit {about['commit']}.\n\n```text\n{about['config']}\n```"


def write(folder: Path, name: str, report: dict[str, Any], markdown: str, *, indent: int | None = 1) -> None:
    """Keep the report as JSON and as a page to read; a long report without indent, compressed."""
    folder.mkdir(parents=True, exist_ok=True)
    if indent is None:
        write_long(folder, name, report)
    else:
        (folder / f"{name}.json").write_text(json.dumps(report, indent=indent, default=_plain) + "\n")
    (folder / f"{name}.md").write_text(markdown)


def write_long(folder: Path, name: str, report: dict[str, Any]) -> None:
    """Keep a long report as JSON on one line, compressed by xz."""
    text = json.dumps(report, default=_plain) + "\n"
    (folder / f"{name}.json.xz").write_bytes(lzma.compress(text.encode(), preset=9))


def read_long(folder: Path, name: str) -> dict[str, Any]:
    """A report that `write_long` kept; empty if there is none."""
    path = folder / f"{name}.json.xz"
    return dict(json.loads(lzma.decompress(path.read_bytes()))) if path.exists() else {}


def table(head: list[str], body: list[list[str]]) -> str:
    """Markdown table, its columns aligned so that it can be read in a terminal too."""
    widths = [max(len(row[i]) for row in [head, *body]) for i in range(len(head))]

    def line(cells: list[str]) -> str:
        first, *others = (
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "| " + " | ".join([first, *others]) + " |"

    rule = "|" + "|".join("-" * (width + 1) + ("-" if i == 0 else ":") for i, width in enumerate(widths)) + "|"
    return "\n".join([line(head), rule, *(line(row) for row in body)])


def filled(text: str, blocks: dict[str, str]) -> str:
    """A page whose marked blocks are these; blocks that it has no mark for are passed over."""
    for name, block in blocks.items():
        first, last = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        if first not in text:
            continue
        before, _, rest = text.partition(first)
        _, _, after = rest.partition(last)
        text = f"{before}{first}{block}\n{last}{after}"
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, Timing):
        return asdict(value)
    raise TypeError(type(value).__name__)


def _shown(show: Callable[[], Any]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        answer = show()
    return (printed.getvalue() or str(answer)).strip()


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "absent"


def _commit() -> str:
    """Commit of the measured code, with a + where the tree had changes on top of it."""
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        commit = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
        changes = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return commit.stdout.strip() + ("+" if changes.stdout.strip() else "")
