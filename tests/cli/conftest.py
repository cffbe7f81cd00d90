"""Fixtures that tests of the command line share."""

import pytest


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in: commands are given names as a user gives them, relative."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")  # argparse wraps its help to the terminal
    return tmp_path
