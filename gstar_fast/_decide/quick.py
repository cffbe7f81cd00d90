"""Quick deciders: deciders that are their compiled core, so that a call needs no Python frame.

`Decider` and `LiveDecider` hold a core. Holding costs a call in Python, which is more than the decision itself; the
classes here inherit from the core instead, so that `decider(scores, groups)` and `decider.one(score, group)` are the
core's own slots. Other calls go to the methods of `Decider` and `LiveDecider`.
"""

from __future__ import annotations

from typing import SupportsIndex

from gstar_fast._backends.native.decide import Core
from gstar_fast._base.thresholds import Thresholds
from gstar_fast._core import LiveCore, own_methods
from gstar_fast._decide.decider import Decider, decider_of
from gstar_fast._decide.live import LiveDecider


class QuickDecider(Core, Decider):
    """A decider of the native backend."""

    _decide = Decider.__call__  # the core calls it for all that is not two plain arrays

    @classmethod
    def of(cls, thresholds: Thresholds) -> QuickDecider:
        """By thresholds that were checked."""
        return Core.__new__(cls, thresholds)

    @property
    def _core(self) -> QuickDecider:
        return self

    __reduce__ = Decider.__reduce__

    def __reduce_ex__(self, _: SupportsIndex) -> tuple[object, ...]:
        return Decider, (self.to_json(),)  # another process may have another backend


class QuickLiveDecider(LiveCore, LiveDecider):
    """A live decider of the native backend."""

    _decide = LiveDecider.__call__  # the core calls it for options

    @classmethod
    def of(cls, first: Decider) -> QuickLiveDecider:
        """By a decider of the same backend."""
        return LiveCore.__new__(cls, _quick(first))

    def _read(self) -> tuple[Decider, int]:
        decider, version = self.read()
        assert isinstance(decider, QuickDecider)
        return decider, version

    def _begin(self) -> tuple[Decider, int]:
        decider, version = self.begin()
        assert isinstance(decider, QuickDecider)
        return decider, version

    def _put(self, decider: Decider) -> int:
        return self.put(_quick(decider))

    __reduce__ = LiveDecider.__reduce__


def _quick(decider: Decider) -> QuickDecider:
    """A decider as it is; for one of a subclass, which holds its core, a plain one by the same thresholds."""
    quick = decider if isinstance(decider, QuickDecider) else decider_of(decider._thresholds, "native")
    assert isinstance(quick, QuickDecider)
    return quick


QuickDecider.__module__ = Decider.__module__  # the name in a skops file
QuickDecider.__name__ = QuickDecider.__qualname__ = Decider.__name__
own_methods(QuickDecider)
own_methods(QuickLiveDecider)
