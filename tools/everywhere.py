"""Build the C++ programs for other processors and for Windows, run them in emulators and compare what they give.

    python tools/everywhere.py                         all machines; writes benchmarks/results/everywhere.md
    python tools/everywhere.py --only aarch64 --quiet  one of them; writes nothing

`csrc/tests/everywhere.cpp` prints digests of counts, thresholds and decisions, which must be those of this machine. The
programs of `csrc/tests` check themselves. A machine whose compiler or emulator is missing is skipped, with the reason.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "csrc" / "tests"
PAGE = ROOT / "benchmarks" / "results" / "everywhere.md"
FLAGS = ["-std=c++17", f"-I{ROOT / 'csrc'}", "-O1", "-ffp-contract=off", "-pthread", "-static"]
SECONDS = 900  # for one program in an emulator
HEAD = """# Other processors and Windows

From `make everywhere`: the programs of `csrc/tests`, built for each machine and run in an emulator, and digests
of counts, thresholds and decisions, compared with those of the first line. {where}.

| machine | digests | programs |
|---|---|---|
"""


class Machine(NamedTuple):
    """How to build for it, and what runs its programs."""

    name: str
    what: str
    compiler: str
    runner: str = ""
    packages: str = ""
    suffix: str = ""
    flags: tuple[str, ...] = ()

    @property
    def missing(self) -> str:
        """What is not installed, and the Debian packages that have it."""
        tools = [tool for tool in (self.compiler, self.runner) if tool and not shutil.which(tool)]
        return f"{' and '.join(tools)} missing (Debian: {self.packages})" if tools else ""


MACHINES = (
    Machine("here", f"{platform.machine()}, little-endian, 64 bits", "g++", packages="g++"),
    Machine(
        "aarch64",
        "AArch64, little-endian, 64 bits, QEMU",
        "aarch64-linux-gnu-g++",
        "qemu-aarch64",
        "g++-aarch64-linux-gnu qemu-user",
    ),
    Machine(
        "armhf",
        "ARMv7, little-endian, 32 bits, QEMU",
        "arm-linux-gnueabihf-g++",
        "qemu-arm",
        "g++-arm-linux-gnueabihf qemu-user",
    ),
    Machine(
        "s390x",
        "s390x, big-endian, 64 bits, QEMU",
        "s390x-linux-gnu-g++",
        "qemu-s390x",
        "g++-s390x-linux-gnu qemu-user",
    ),
    Machine(
        "windows",
        "Windows, x86-64, MinGW and Wine",
        "x86_64-w64-mingw32-g++-posix",
        next((one for one in ("wine64", "/usr/lib/wine/wine64") if shutil.which(one)), "wine64"),  # Debian hides it
        "g++-mingw-w64-x86-64-posix wine64",
        ".exe",
        ("-Wa,-mbig-obj",),
    ),
)


class Outcome(NamedTuple):
    """What one program of one machine gave."""

    program: str
    wrong: str  # empty where all is well
    printed: str


def run(machine: Machine, source: Path, folder: Path) -> Outcome:
    """Compile one program and run it."""
    program = folder / f"{source.stem}{machine.suffix}"
    built = subprocess.run(
        [machine.compiler, *FLAGS, *machine.flags, str(source), "-o", str(program)], capture_output=True, text=True
    )
    if built.returncode != 0:
        return Outcome(source.stem, f"does not compile: {built.stderr.strip().splitlines()[-1][:200]}", "")
    environment = {**os.environ, "WINEDEBUG": "-all", "WINEPREFIX": str(folder / "wine")}
    command = [*([machine.runner] if machine.runner else []), str(program)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=environment, cwd=folder)
    except subprocess.TimeoutExpired:
        return Outcome(source.stem, f"takes more than {SECONDS} s", "")
    said = (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[0]
    return Outcome(source.stem, "" if done.returncode == 0 else said[:200], done.stdout.replace("\r\n", "\n"))


def main() -> int:
    """Run all machines; 1 if one of them gives other bytes or fails a check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", nargs="+", choices=[one.name for one in MACHINES[1:]], help="machines besides this one"
    )
    parser.add_argument("--programs", nargs="+", help="names of programs; all if not given")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--quiet", action="store_true", help="write no page")
    given = parser.parse_args()
    sources = sorted([*TESTS.glob("*_test.cpp"), *TESTS.glob("*_stress.cpp")])
    if given.programs:
        sources = [source for source in sources if source.stem in given.programs]
    lines, expected, failed = [], "", False
    for machine in MACHINES:
        if given.only and machine.name not in ("here", *given.only):
            continue
        if machine.missing:
            print(f"everywhere: {machine.name} skipped, {machine.missing}", flush=True)
            lines.append(f"| {machine.what} | skipped: {machine.missing} | |")
            continue
        start = time.monotonic()
        folder = ROOT / "build" / "everywhere" / machine.name
        folder.mkdir(parents=True, exist_ok=True)
        digests = run(machine, TESTS / "everywhere.cpp", folder)
        expected = expected or digests.printed
        same = digests.printed == expected != ""
        mine = [] if machine.name == "here" else sources  # which `make cpp-test` runs under sanitizers
        with ThreadPoolExecutor(given.jobs) as pool:
            outcomes = list(pool.map(partial(run, machine, folder=folder), mine))
        wrong = [one for one in [digests, *outcomes] if one.wrong]
        failed = failed or not same or bool(wrong)
        compared = f"{len(expected.splitlines())} digests {'the same' if same else 'DIFFERENT'}"
        passed = f"{sum(not one.wrong for one in outcomes)} of {len(mine)} programs passed"
        print(f"everywhere: {machine.name}: {compared}, {passed}, {time.monotonic() - start:.0f} s", flush=True)
        for one in wrong:
            print(f"everywhere: {machine.name}: {one.program}: {one.wrong}", flush=True)
        notes = "".join(f"; `{one.program}`: {one.wrong}" for one in wrong)
        lines.append(f"| {machine.what} | {compared} | {passed if mine else 'see `make cpp-test`'}{notes} |")
    if not given.quiet:
        PAGE.write_text(HEAD.format(where=f"{platform.system()} {platform.machine()}, {time.strftime('%Y-%m-%d')}"))
        with PAGE.open("a", encoding="utf-8") as page:
            page.write("\n".join(lines) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
