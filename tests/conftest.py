"""Fixtures all tests share: one run on each backend, and signals as a terminal has them."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

import gstar_fast as gf
from gstar_fast import _backends

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

BACKENDS = [name for name in _backends.BACKENDS if name != "native" or _backends.has_native()]


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
