"""C++ programs for tests: compiled with the flags of the Makefile, and run."""

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: nothing is shared
    fcntl = None

from gstar_fast.config import get_include

CXX = next((name for name in ("c++", "g++", "clang++") if shutil.which(name)), None)
FLAGS = ["-std=c++17", "-O1", "-ffp-contract=off", "-pthread"]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
SANITIZE = ["-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all"]

# Where Python itself runs with ASan in front, neither the compiler nor what it makes should.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}


def shared_folder(tmp_path_factory):
    """A folder that all workers of one run of pytest share, where they can lock files."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if fcntl and "PYTEST_XDIST_WORKER" in os.environ else own


@contextlib.contextmanager
def locked(target):
    """Keep out the other workers that would make the same target, until the block or its process ends."""
    with Path(f"{target}.lock").open("w") as lock:
        if fcntl:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def compiled(source, target, *flags):
    """The program or library of one source file. The first worker that asks for a target compiles it."""
    command = [CXX, *FLAGS, f"-I{get_include()}", str(source), "-o", f"{target}.part", *flags]
    with locked(target):
        if not target.exists():
            subprocess.run(command, check=True, capture_output=True, text=True, env=ENVIRONMENT)
            Path(f"{target}.part").rename(target)
    return target


def can_sanitize(folder):
    """Whether the compiler can build and link with the sanitizers."""
    target = Path(folder, f"empty_{os.getpid()}")
    command = [CXX, *FLAGS, *SANITIZE, "-x", "c++", "-", "-o", str(target)]
    return subprocess.run(command, input=b"int main() {}\n", capture_output=True, env=ENVIRONMENT).returncode == 0


class Program:
    """A program of `csrc/tests` that answers to what it is sent with one line each: a word, and the rest."""

    def __init__(self, program, *arguments):
        self._process = subprocess.Popen(
            [str(program), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT
        )

    def ask(self, data):
        """Its answer to these bytes: the first word, and the rest of the line."""
        self._process.stdin.write(data)
        self._process.stdin.flush()
        line = self._process.stdout.readline().decode("utf-8", "replace").rstrip("\n")
        word, _, rest = line.partition(" ")
        return word, rest

    def close(self):
        """End the program; it must not have complained."""
        self._process.stdin.close()
        self._process.stdout.close()
        assert self._process.wait() == 0


class Reader(Program):
    """`csrc/tests/read_documents.cpp`, which answers to one document after the other."""

    def __call__(self, data):
        """Its verdict on these bytes: whether they are read, and the checksum or the reason."""
        word, rest = self.ask(f"{len(data)}\n".encode() + data)
        assert word in ("read", "refused"), data
        return word == "read", rest


class FrontDoor(Program):
    """`csrc/tests/answer_questions.cpp`, which calls `gstar::solve`."""

    def __call__(self, sketch, limits, penalties, prices, *flags):
        """What it answers on a sketch: limits are (form, rates, bound), penalties (rates, weight)."""
        data = sketch.to_bytes()
        asked = [len(data), *prices, *map(int, flags), len(limits)]
        for form, rates, bound in limits:
            asked += [form, len(rates), *rates, float(bound).hex() if bound == bound else "nan"]
        asked.append(len(penalties))
        for rates, weight in penalties:
            asked += [len(rates), *rates, float(weight).hex()]
        word, rest = self.ask(" ".join(map(str, asked)).encode() + b"\n" + data)
        if word == "refused":
            raise ValueError(rest)
        assert word == "solved", asked
        verdict, *numbers, thresholds = rest.split()
        found = dict(zip(("error", "cost", "loss", "lower_bound", "slack"), map(float.fromhex, numbers), strict=False))
        found["verdict"] = int(verdict)
        found["rates"] = [float.fromhex(one) for one in numbers[6:]]
        assert len(found["rates"]) == int(numbers[5])
        if thresholds != "-":
            found["thresholds"] = bytes.fromhex(thresholds)
        return found
