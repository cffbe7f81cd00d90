"""C++ programs for tests: compiled with the flags of the Makefile, and run."""

import os
import shutil
import subprocess
from pathlib import Path

from gstar_fast._install import get_include

CXX = next((name for name in ("c++", "g++", "clang++") if shutil.which(name)), None)
FLAGS = ["-std=c++17", "-O1", "-ffp-contract=off", "-pthread"]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
SANITIZE = ["-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all"]

# Where Python itself runs with ASan in front, neither the compiler nor what it makes should.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}


def compiled(source, target, *flags):
    """The program or library of one source file."""
    command = [CXX, *FLAGS, f"-I{get_include()}", str(source), "-o", str(target), *flags]
    subprocess.run(command, check=True, capture_output=True, text=True, env=ENVIRONMENT)
    return target


def can_sanitize(folder):
    """Whether the compiler can build and link with the sanitizers."""
    empty = Path(folder, "empty.cpp")
    empty.write_text("int main() {}\n")
    command = [CXX, *FLAGS, *SANITIZE, str(empty), "-o", str(empty.with_suffix(""))]
    return subprocess.run(command, check=False, capture_output=True, env=ENVIRONMENT).returncode == 0


class Reader:
    """`csrc/tests/read_documents.cpp`, which answers to one document after the other."""

    def __init__(self, program, *arguments):
        self._process = subprocess.Popen(
            [str(program), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT
        )

    def __call__(self, data):
        """Its verdict on these bytes: whether they are read, and the checksum or the reason."""
        self._process.stdin.write(f"{len(data)}\n".encode() + data)
        self._process.stdin.flush()
        line = self._process.stdout.readline().decode("utf-8", "replace").rstrip("\n")
        word, _, rest = line.partition(" ")
        assert word in ("read", "refused"), (data, line)
        return word == "read", rest

    def close(self):
        """End the program; it must not have complained."""
        self._process.stdin.close()
        self._process.stdout.close()
        assert self._process.wait() == 0
