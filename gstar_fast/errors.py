"""The errors and warnings users can catch.

An error says in words what is wrong, and the same in fields: `code` (one word for each kind of mistake), `argument`,
`row`, `value` and `limit`. Programs should look at the class and the fields; words may change between releases.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "AssumptionWarning",
    "DegenerateWarning",
    "ExpiredWarning",
    "InfeasibleError",
    "InfeasibleWarning",
    "InputError",
    "InputMemoryError",
    "InputOverflowError",
    "InputTypeError",
    "InputValueError",
    "InputWarning",
    "LabelWarning",
    "MissingClassWarning",
    "NoiseWarning",
    "NotConvergedWarning",
    "OptionError",
    "OptionTypeError",
    "OptionValueError",
    "OverfitWarning",
    "RepeatedRowsWarning",
    "ResolutionWarning",
    "SentinelWarning",
    "UnpromisedWarning",
]


class _Coded(BaseException):
    """An error or a warning: its words, and the fields they were made of.

    Attributes
    ----------
    code : str
        Which kind of mistake it is, such as ``"nan_score"``; empty where the words are all there is.
    argument : str or None
        The argument that is wrong, as the caller knows it.
    row : int or None
        The first row that is wrong, counted from 0; None where no single row is.
    value : object
        What was found there.
    limit : object
        What would have been allowed.
    """

    def __init__(
        self,
        message: str = "",
        *,
        code: str = "",
        argument: str | None = None,
        row: int | None = None,
        value: Any = None,
        limit: Any = None,
    ) -> None:
        super().__init__(message)
        self.code, self.argument, self.row = code, argument, row
        self.value, self.limit = value, limit


# --------------------------------------------------------------------------------------------------------------- errors


class InputError(_Coded, Exception):
    """What was passed is rejected, and nothing was changed.

    Every such error is also the built-in one that its kind of mistake has in Python: a `ValueError`, a `TypeError`, a
    `MemoryError` or an `OverflowError`.
    """


class InputValueError(InputError, ValueError):
    """A value is not one that can be worked with."""


class InputTypeError(InputError, TypeError):
    """A value is of the wrong kind, or missing."""


class InputMemoryError(InputError, MemoryError):
    """Going on would take more memory than `memory_limit` allows."""

    __new__ = BaseException.__new__  # type: ignore[assignment]  # tblib unpickles by it; MemoryError's is not safe here


class InputOverflowError(InputError, OverflowError):
    """Counts would no longer fit into 64 bits."""


class OptionError(InputError):
    """An option has a value that it cannot have, or that does not go with the other options or with the sketch."""


class OptionValueError(OptionError, ValueError):
    """An option has a wrong value."""


class OptionTypeError(OptionError, TypeError):
    """An option has a value of the wrong kind."""


class InfeasibleError(InputError, ValueError):
    """No thresholds have what was asked of them."""


# ------------------------------------------------------------------------------------------------------------- warnings


class InputWarning(_Coded, UserWarning):
    """An argument is allowed, but hardly what was meant."""


class AssumptionWarning(_Coded, UserWarning):
    """The counts of a `ProxySketch` contradict what `unmixed` assumes about the probabilities.

    Rates, gaps and promises from the unmixed sketch may then be wrong by any amount.
    """


class DegenerateWarning(_Coded, UserWarning):
    """Thresholds meet the limits, but hardly decide.

    They accept almost no one or almost everyone of a group, or of all rows, or lose most of what the unified threshold
    gains. The message names the groups whose few rows force it, and what helps.
    """


class ExpiredWarning(_Coded, UserWarning):
    """A `LiveDecider` uses thresholds that have expired; given once for each set of thresholds."""


class InfeasibleWarning(UserWarning):
    """Thresholds that do not meet the limits they were asked for are about to decide."""


class LabelWarning(_Coded, UserWarning):
    """All labelled rows have the same label, although a positive label was given.

    The message lists the labels that were found. If the positive label is not among them, it was most likely
    misspelled.
    """


class MissingClassWarning(UserWarning):
    """A group lacks the rows that a rate needs (positive labels for tpr, ...), and is left out of its gap."""


class NoiseWarning(_Coded, UserWarning):
    """A limit is below the gap that chance alone shows on the rows of the smallest group.

    Thresholds keep it on the counted rows, and mostly not on new ones. The message names the group, its rows, the rate
    and the size of the noise, and what helps: more rows, a wider limit, or `confidence=`.
    """


class NotConvergedWarning(UserWarning):
    """An iterative method stopped where another step would still help, or far from the least loss.

    Its result is usable, its verdict says so, and ``method="exact"`` finds the least loss.
    """


class OverfitWarning(_Coded, UserWarning):
    """There are more segments than the counted rows can carry, so that limits hardly hold on new ones.

    Given by `solve` with `decide_by`; the result's notes say it too.
    """


class RepeatedRowsWarning(_Coded, UserWarning):
    """Two merged sketches hold the same rows, which now count twice.

    Statements about new rows, such as promises, are then too confident. Sketches are compared by `Sketch.digest`, so
    rows that are repeated inside a sum are not detected.
    """


class ResolutionWarning(_Coded, UserWarning):
    """Many rows with different scores share a bin next to a threshold, or large whole numbers became one float64.

    For a bin, the message says by how much a rate may be off, and what helps: more bins, `range=`, `missing=`. It is
    also given if weights lose digits as they are counted.
    """


class SentinelWarning(_Coded, UserWarning):
    """One score holds many rows far from all others: it may stand for a missing score.

    The message names the score, its rows, and `missing=`, which skips them.
    """


class UnpromisedWarning(UserWarning):
    """Thresholds are about to decide that hold their limits on the counted rows, and are not promised to on new ones.

    A promise was asked for with ``confidence=``.
    """
