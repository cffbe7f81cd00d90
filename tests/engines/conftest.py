"""Fixtures of the engines: one database of each kind, for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helpers.databases import DATABASES, Database, opened


@pytest.fixture(scope="session", params=DATABASES)
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Run the test in each database."""
    with opened(request.param, tmp_path_factory.mktemp("database")) as found:
        yield found
