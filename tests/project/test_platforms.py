"""What only some systems and some builds of Python have: there is another way, or a clear error at import."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Windows has none of these, macOS has no O_TMPFILE.
UNIX_ONLY = {
    "os": (
        "O_DIRECTORY O_TMPFILE O_NOFOLLOW O_NONBLOCK fchmod fchown fork forkpty getuid geteuid killpg mkfifo pread "
        "register_at_fork sched_getaffinity statvfs sysconf"
    ),  # not uname: the standard library looks for another way when it is imported, not when it is called
    "signal": "SIGHUP SIGPIPE SIGALRM SIGKILL SIGUSR1 alarm pthread_sigmask setitimer",
    "time": "tzset",
}
WITHOUT = f"""
import importlib, sys
for module, names in {UNIX_ONLY!r}.items():
    for name in names.split():
        vars(importlib.import_module(module)).pop(name, None)
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
"""
WORK = """
import gstar_fast as gf
from pathlib import Path
for backend in ("numpy", None):
    with gf.use_backend(backend or gf.Sketch().backend):
        path = Path(sys.argv[1], "a.gstar")
        sketch = gf.Sketch.from_rows([0.2, 0.4, 0.6, 0.8] * 9, [0, 1, 0, 1] * 9, ["F", "F", "M", "M"] * 9)
        for _ in range(2):
            sketch.save(path)
            assert gf.Sketch.load(path) == sketch
        decider = gf.solve(sketch, evidence=0).decider()
        decider.save(path.with_suffix(".json"))
        assert gf.Decider.load(path.with_suffix(".json")) == decider
        assert sorted(one.name for one in path.parent.iterdir()) == ["a.gstar", "a.json"]
"""


def run(code, *arguments):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)], capture_output=True, text=True, check=False
    )


def test_counting_solving_and_saving_need_no_name_that_only_unix_has(tmp_path):
    ended = run(WITHOUT + WORK, tmp_path)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.slow
def test_the_command_line_needs_no_name_that_only_unix_has(tmp_path):
    command = "from gstar_fast._cli.main import run\nassert run(sys.argv[1:]) == 0"
    for words in (
        ["demo", "--rows", "2000", "--folder", tmp_path, "--quiet"],
        [
            "apply",
            tmp_path / "new.parquet",
            "--thresholds",
            tmp_path / "thresholds.json",
            "--output",
            tmp_path / "a.csv",
        ],
    ):
        ended = run(WITHOUT + command, *words)
        assert ended.returncode == 0, ended.stderr


def test_a_subinterpreter_gets_a_clear_error():
    code = """
import sys
module = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
interpreters = __import__(module)
call = getattr(interpreters, "exec", None) or interpreters.run_string
answer = call(interpreters.create(), f"import sys; sys.path[:] = {sys.path!r}; import gstar_fast")
if answer is not None:  # newer versions return what was raised
    raise RuntimeError(answer.formatted)
"""
    ended = run(code)
    assert ended.returncode == 1
    assert "gstar_fast runs in the main interpreter only" in ended.stderr


def test_python_without_its_lock_gets_a_clear_error():
    ended = run("import sys; sys._is_gil_enabled = lambda: False; import gstar_fast")
    assert ended.returncode == 1
    assert "gstar_fast needs the global interpreter lock; start Python with -X gil=1" in ended.stderr
