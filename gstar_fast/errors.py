"""The warnings and errors users can catch."""

from __future__ import annotations

__all__ = ["ResolutionWarning"]


class ResolutionWarning(UserWarning):
    """Most rows of a sketch fell into few bins, because one score is far from the rest.

    The message names that score and `range=`, which keeps it out of the window.
    """
