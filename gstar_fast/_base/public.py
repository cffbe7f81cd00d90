"""Where a public class says it lives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Class = TypeVar("Class", bound=type)


def lives_in(home: str) -> Callable[[Class], Class]:
    """Let tracebacks, pickles and docs name the module that users import a class from, not the one it is written in.

    The outermost decorator, since `dataclass` looks into the module that a class names, and that one may not be there
    yet.
    """

    def moved(public: Class) -> Class:
        public.__module__ = home
        return public

    return moved
