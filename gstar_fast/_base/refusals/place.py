"""Errors whose sentence stands where they are raised. Their code is `bad_` and the argument that is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gstar_fast.errors import InputError, InputTypeError, InputValueError, OptionTypeError, OptionValueError

E = TypeVar("E", bound=InputError)


def _of(kind: type[E]) -> Callable[[str, str], E]:
    """What makes errors of a class from an argument and a text."""
    return lambda argument, text: kind(text, code=f"bad_{argument.lower()}", argument=argument)


bad_value, bad_type = _of(InputValueError), _of(InputTypeError)
bad_option, bad_option_type = _of(OptionValueError), _of(OptionTypeError)
