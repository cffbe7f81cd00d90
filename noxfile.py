#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""What is checked, and with which packages: `nox --list` shows the sessions.

Each session makes an environment of its own in `.nox`. The Makefile runs the same sessions in `.venv`, which it has
prepared, with `nox --no-venv --no-install`; there is one list of commands for both. What follows `--` goes to pytest.
"""

import shutil
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_external_run = True

PROJECT = nox.project.load_toml("pyproject.toml")["project"]
FOR_USERS = (
    "uhi",
    "pandas",
    "polars",
    "arrow",
    "cli",
    "sql",
    "plot",
    "sklearn",
    "onnx",
)  # extras of users; engines have a session of their own
INSTALLED_TESTS = [f"tests/{room}" for room in ("base", "input", "sketch", "backends", "density", "decide", "solver")]
PARALLEL = ("-n", "auto", "--maxprocesses", "4", "--dist", "worksteal")  # one worker for each core; none waits
BENCHES = ("sketch", "groups", "density", "decide", "audit", "cli")

WARNED = """
import warnings
import gstar_fast as gf
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    assert {gf.Sketch().backend for _ in range(2)} == {"numba"}
(one,) = told
assert "Install a C++17 compiler" in str(one.message), one
"""
STUDIES = {"aif360", "fairlearn", "playwright"}  # what quick tests do without


def requirements():
    """Everything a user may install: what the package needs, and what its extras add."""
    extras = PROJECT["optional-dependencies"]
    return sorted({*PROJECT["dependencies"], *(line for extra in FOR_USERS for line in extras[extra])})


@nox.session
def tests(session):
    """Run all Python tests, on every backend; without arguments also the examples in docstrings."""
    session.install("-e", ".[test,docs]")
    session.run("pytest", *PARALLEL, *session.posargs)
    if not session.posargs:
        session.run("pytest", "-q", "--doctest-modules", "gstar_fast")


@nox.session(default=False)
def quick(session):
    """Run the tests that take little time, on the default backend: for each change while you work."""
    session.install("-e", ".[test]")
    session.run("pytest", "-q", *PARALLEL, "-m", "quick", *session.posargs)


@nox.session(default=False)
def bench_test(session):
    """Run the tests of benchmarks and studies, and of the pages that show their results."""
    session.install("-e", ".[test]")
    session.run("pytest", "-q", *PARALLEL, "benchmarks/tests", *session.posargs)


@nox.session(python="3.11", default=False)
def lowest(session):
    """Run the tests with the lowest Python and the lowest versions of all packages that pyproject.toml allows."""
    session.install("-e", ".[test,docs]", *(line.replace(">=", "==") for line in requirements()))
    session.run("pytest", *PARALLEL, *session.posargs)


@nox.session(python="3.11", default=False)
def lowest_quick(session):
    """Run the quick tests with the lowest versions, on the core that is built in the checkout."""
    lowest = [line.replace(">=", "==") for line in requirements()]
    needs = {line.split(">=")[0] for line in requirements()}
    tests = [line for line in PROJECT["optional-dependencies"]["test"] if line.split(">=")[0] not in needs | STUDIES]
    session.install(*lowest, *tests)
    session.run("python", "-m", "pytest", "-q", *PARALLEL, "-m", "quick", *session.posargs)


@nox.session(default=False)
def newest(session):
    """Run the tests with the newest versions of all packages, release candidates too, and all laws on every backend."""
    session.install("--upgrade", "--pre", *requirements())
    session.install("-e", ".[test,docs]")
    session.run("pytest", *PARALLEL, "--every-backend", *session.posargs)


@nox.session(default=False)
def engines(session):
    """Run the tests that need an engine or a database, on those that are installed."""
    session.install("-e", ".[test,engines]")
    session.run("pytest", "-q", "--durations=5", "tests/engines", *session.posargs)


@nox.session(default=False)
def package(session):
    """Build the sdist, from it the wheel, and test the wheel: the checkout is not on the path."""
    dist = Path(session.create_tmp(), "dist")
    shutil.rmtree(dist, ignore_errors=True)
    session.install("build", "twine")
    session.run("python", "-m", "build", "--outdir", str(dist))
    session.run("twine", "check", "--strict", *map(str, dist.iterdir()))
    (wheel,) = dist.glob("*.whl")
    session.install(f"{wheel}[test]")
    tests = [str(Path(name).resolve()) for name in (session.posargs or INSTALLED_TESTS)]
    session.chdir(session.create_tmp())
    session.run("python", "-c", "import gstar_fast as gf; gf.config.show_config(); print(gf.config.get_include())")
    session.run("pytest", "-o", "pythonpath=", *tests)


@nox.session(default=False)
def rehearsal(session):
    """Rehearse a release: the same bytes twice, a wheel from the sdist in a new environment, and README run with it."""
    session.install("build")
    first, second = (Path(session.create_tmp(), name).resolve() for name in ("first", "second"))
    for folder in (first, second):
        shutil.rmtree(folder, ignore_errors=True)
        date = {"SOURCE_DATE_EPOCH": "1700000000", "GSTAR_FAST_REQUIRE_CORE": "1"}
        session.run("python", "-m", "build", "--outdir", str(folder), env=date)
    for file in first.iterdir():
        if file.read_bytes() != (second / file.name).read_bytes():
            session.error(f"two builds of {file.name} differ")
    (wheel,) = first.glob("*.whl")
    session.run("python", "-m", "venv", "--clear", str(first / "clean"))
    (python,) = (path for path in first.glob("clean/*/python*") if path.stem == "python")
    session.run(str(python), "-m", "pip", "install", "--quiet", f"{wheel}[cli,pandas,sklearn]", external=True)
    session.run(str(python), "-P", "tools/rehearse.py", external=True)


@nox.session(default=False)
def no_compiler(session):
    """Install where there is no compiler: one warning says how to get the core, and README runs all the same."""
    without = {"CC": "/bin/false", "CXX": "/bin/false", "GSTAR_FAST_REQUIRE_CORE": "0"}
    session.install(".[cli,pandas,sklearn]", env=without)
    session.run("python", "-P", "-c", WARNED)
    session.run("python", "-P", "tools/rehearse.py", env={"PYTHONWARNINGS": "ignore"})


@nox.session
def lint(session):
    """Check style, types, the order of the rooms, spelling and the repository itself."""
    session.install("-e", ".[lint]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")
    session.run("codespell")
    session.run("rumdl", "check", "--quiet", ".")
    session.run("repo-review", "--show", "err", ".")


@nox.session
def docs(session):
    """Build the site in build/docs; a warning is an error."""
    session.install("-e", ".[docs]")
    session.run("sphinx-build", "-q", "-W", "--keep-going", "-b", "html", "docs", "build/docs")
    session.log("open build/docs/index.html")


@nox.session(default=False)
def bench(session):
    """Measure our speed and that of the rivals in one run; writes benchmarks/results."""
    session.install("-e", ".[bench]")
    for name in BENCHES:
        session.run("python", "-m", f"benchmarks.bench_{name}", *(session.posargs if name == "sketch" else ()))
    columns = ("--benchmark-columns=min,median,rounds", "--benchmark-sort=min")
    session.run("pytest", "benchmarks", "--ignore=benchmarks/tests", "--benchmark-only", *columns)


@nox.session(default=False)
def bench_check(session):
    """Check that every rival of the benchmarks still runs and gives the right answer, without the clock."""
    session.install("-e", ".[bench]")
    session.run("pytest", "-q", "benchmarks", "--ignore=benchmarks/tests", "--benchmark-disable", *session.posargs)


if __name__ == "__main__":
    nox.main()
