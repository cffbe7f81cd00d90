"""Errors whose sentence stands where they are raised. Their code is `bad_` and the argument that is wrong."""

from __future__ import annotations

from gstar_fast.errors import InputTypeError, InputValueError, OptionTypeError, OptionValueError


def bad_value(argument: str, text: str) -> InputValueError:
    """An error about a value that was passed."""
    return InputValueError(text, code=f"bad_{argument.lower()}", argument=argument)


def bad_type(argument: str, text: str) -> InputTypeError:
    """An error about a value of the wrong kind."""
    return InputTypeError(text, code=f"bad_{argument.lower()}", argument=argument)


def bad_option(argument: str, text: str) -> OptionValueError:
    """An error about the value of an option."""
    return OptionValueError(text, code=f"bad_{argument.lower()}", argument=argument)


def bad_option_type(argument: str, text: str) -> OptionTypeError:
    """An error about an option of the wrong kind."""
    return OptionTypeError(text, code=f"bad_{argument.lower()}", argument=argument)
