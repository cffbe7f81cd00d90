"""Notes of results, audits and certificates."""

from __future__ import annotations

from typing import Any


def texts(answer: Any) -> tuple[str, ...]:
    """What its notes say."""
    return tuple(map(str, answer.notes))
