"""Texts that are kept in tests/golden."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "golden"


def golden(name: str, text: str) -> None:
    """Compare with a file of tests/golden; GOLDEN=1 writes it again, then read the difference."""
    path = FOLDER / name
    if os.environ.get("GOLDEN") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
