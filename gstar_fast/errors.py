"""The warnings and errors users can catch."""

from __future__ import annotations

__all__ = ["DegenerateWarning", "InfeasibleWarning", "MissingClassWarning", "NotConvergedWarning", "ResolutionWarning"]


class DegenerateWarning(UserWarning):
    """Thresholds hold what was asked of them by hardly deciding.

    They accept nearly nobody or nearly everybody of a group, or of all rows, or lose most of what the unified threshold
    gains. The message names the groups whose few rows force it, and what helps.
    """


class InfeasibleWarning(UserWarning):
    """Thresholds that do not meet the limits they were asked for are about to decide."""


class MissingClassWarning(UserWarning):
    """A group lacks the rows that a rate needs (positive labels for tpr, ...), and is left out of its gap."""


class NotConvergedWarning(UserWarning):
    """An iterative method stopped where another step would still help, or far from the least loss.

    Its result is usable, its verdict says so, and ``method="exact"`` finds the least loss.
    """


class ResolutionWarning(UserWarning):
    """Most rows of a sketch fell into few bins, because one score is far from the rest.

    The message names that score and `range=`, which keeps it out of the window.
    """
