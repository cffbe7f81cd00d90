"""Fixtures that tests of several rooms share."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from helpers.programs import locked, shared_folder
from hypothesis import HealthCheck, settings

import gstar_fast as gf
from gstar_fast import _backends, _words, datasets

# the first example may compile; a backend stays the same for all examples of a test
settings.register_profile(
    "gstar_fast",
    deadline=None,
    max_examples=40,
    derandomize=True,
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("gstar_fast")

BACKENDS = [name for name in _words.BACKENDS if name != "native" or _backends.has_native()]


# Rooms whose tests compare bytes, and what each backend accepts: they run on every backend. Elsewhere one backend will
# do, because tests/backends/test_agreement.py compares the answers of all.
ON_EVERY_BACKEND = {"backends", "base", "input", "sketch"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add an option that runs all tests of the `backend` fixture on every backend."""
    parser.addoption("--every-backend", action="store_true", help="run laws on every backend, not on the default one")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what another backend need not repeat, and set the markers `browser` and `quick`."""
    chosen, left_out = [], []
    for item in items:
        options = item.callspec.params if hasattr(item, "callspec") else {}
        repeated = options.get("backend") in BACKENDS[1:] and not (
            config.getoption("every_backend")
            or item.path.parent.name in ON_EVERY_BACKEND
            or item.get_closest_marker("every_backend")
        )
        (left_out if repeated else chosen).append(item)
        fixtures = getattr(item, "fixturenames", ())
        if "chromium" in fixtures or "site" in fixtures:
            item.add_marker("browser")
        if "program" in fixtures:  # which is compiled
            item.add_marker("slow")
        elsewhere = any(isinstance(value, str) and value in BACKENDS[1:] for value in options.values())
        if not elsewhere and not any(item.get_closest_marker(name) for name in ("slow", "browser", "study")):
            item.add_marker("quick")
    items[:] = chosen
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the test with each backend as the current one."""
    with gf.use_backend(request.param):
        yield request.param


@pytest.fixture(params=[name for name in BACKENDS if name != "numpy"])
def fast_backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """The backends that are compared with the reference."""
    with gf.use_backend(request.param):
        yield request.param


@pytest.fixture(scope="session")
def table() -> datasets.ScoreTable:
    """A small table of two groups whose scores overlap as the paper's do."""
    return datasets.paper_synthetic(rows=4_000, seed=3)


@pytest.fixture
def sketch(table: datasets.ScoreTable) -> gf.Sketch:
    """The same, counted by the backend of the test."""
    return gf.Sketch.from_rows(table.scores, table.labels, table.groups, bins=128)


@pytest.fixture
def signals() -> Iterator[None]:
    """Ctrl-C, SIGTERM and SIGHUP do what they do in a terminal, here and in processes that the test starts.

    A run in the background or under nohup ignores some of them, and what it starts inherits that. Afterwards they are
    as they were: such a run must outlive its terminal.
    """
    heard = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in heard.items()}
    mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, heard)
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    for number, handler in before.items():
        signal.signal(number, handler)


def missing(reason: str) -> NoReturn:
    """Skip a test that needs a browser, or a site to open in it, unless it must run."""
    if os.environ.get("GSTAR_FAST_REQUIRE_BROWSER") == "1":
        pytest.fail(f"GSTAR_FAST_REQUIRE_BROWSER=1, but {reason}", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A real Chromium, without a window."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next((found for name in names if (found := shutil.which(name))), None)
    if path is None:
        missing(f"none of {', '.join(names)} is installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built with warnings as errors by the first worker that asks, or before the run by `make docs`."""
    if built := os.environ.get("GSTAR_FAST_SITE"):
        return Path(built).resolve(strict=True)
    if any(importlib.util.find_spec(name) is None for name in ("furo", "myst_parser")):
        missing("the extra docs is not installed")
    folder = shared_folder(tmp_path_factory) / "site"
    with locked(folder):
        if not folder.exists():
            part, root = f"{folder}.part", Path(__file__).parent.parent
            command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", part]
            done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=900)
            assert done.returncode == 0, done.stderr[-4000:]
            Path(part).rename(folder)
    return folder
