"""What `frontier` answers: points of error and gap, each with its thresholds.

Computes nothing new.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from gstar_fast._backends.interface import Floats
from gstar_fast._base.names import Name
from gstar_fast._base.public import lives_in
from gstar_fast._base.refusals.place import bad_value
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._criteria import TOLERANCE
from gstar_fast._sketch.sketch import Sketch, check_sketch
from gstar_fast._solver.answer.parts import Point
from gstar_fast._solver.answer.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class Points(Protocol):
    """The points of a frontier as results."""

    def __getitem__(self, i: int, /) -> Result: ...

    def between(self, i: int, share: float) -> Result: ...  # of a randomised frontier: `share` of the way to the next


@dataclass(frozen=True)
class Listed:
    """Results that were made with the frontier."""

    results: tuple[Result, ...]

    def __getitem__(self, i: int, /) -> Result:
        return self.results[i]

    def between(self, i: int, share: float) -> Result:
        """Only mixtures by group can be mixed again."""
        raise NotImplementedError


class Again(Protocol):
    """A question that is asked again for another limit."""

    def at(self, gap: float, sketch: Sketch) -> Result: ...


@lives_in("gstar_fast.results")
@dataclass(frozen=True)
class Frontier:
    """Points from the smallest gap to the least error: gaps rise, errors fall. Made by `frontier`.

    Attributes
    ----------
    criterion : str
        Whose gap.
    groups : tuple
        Names of the groups, or segments, in canonical order.
    gaps, costs : ndarray of shape (n_points,)
        `costs` is what was minimised: the error rate, or the price of the errors where `weighted`.
    errors : ndarray of shape (n_points,)
        The same where it is the error rate; AttributeError where `weighted`.
    thresholds : ndarray of shape (n_points, n_groups)
        Columns in the order of `groups`. For a randomised frontier, the most probable of each mixture.
    lower_bounds : ndarray of shape (n_points,) or None
        Where not every point is listed, as for thresholds by segment: from this point's gap up to the next one's, no
        thresholds have a lower error than this. None where the list is complete.
    penalty : ndarray of shape (n_points,) or None
        For the frontier that penalties trace: the least lambda at which the point is the optimum.
    proven_to : float
        The list is complete, or `lower_bounds` hold, for gaps from here up; 0 means all of it.
    randomized : bool
        Whether groups mix thresholds; the points are then the corners of a convex frontier.
    weighted : bool
        Whether the objective has prices, so that `costs` are not error rates.
    confidence : float or None
        Where it was asked for, `gaps` are limits that can be promised on new rows with it. Each point's promise holds
        on its own: if one of n points is picked after seeing them, ask with 1 - (1 - confidence) / n.
    """

    criterion: str
    groups: tuple[Name, ...]
    gaps: Floats
    costs: Floats
    thresholds: Floats
    randomized: bool
    proven_to: float
    penalty: Floats | None
    _points: Points = field(repr=False, compare=False)
    confidence: float | None = None
    lower_bounds: Floats | None = None
    _again: Again | None = field(default=None, repr=False, compare=False)  # what to ask again for another limit
    weighted: bool = False

    def __len__(self) -> int:
        return len(self.gaps)

    @property
    def measure(self) -> str:
        """What was minimised: "error" or "cost"."""
        return "cost" if self.weighted else "error"

    @property
    def errors(self) -> Floats:
        """Error rates; not known where errors have prices."""
        if self.weighted:
            raise AttributeError("this frontier has minimised a cost, which is not the error rate; read costs")
        return self.costs

    def __str__(self) -> str:
        kind = "randomised " if self.randomized else ""
        if self.confidence is not None:
            kind += f"promised ({self.confidence:g} confidence) "
        what = self.measure
        one, two = (f"gap {self.gaps[i]:.4g} at {what} {self.costs[i]:.4g}" for i in (0, -1))
        alone = "" if self.confidence is None else "; the promises of its points hold one at a time"
        return f"{kind}frontier of {self.criterion}: {len(self)} points, {one} to {two}{alone}"

    def result(self, i: int) -> Result:
        """The point as a `Result`, with rates, every gap and text."""
        found = self._points[i]
        if self.confidence is not None:
            return found
        point = Point(self.criterion, i % len(self) + 1, len(self))
        message = f"{point}; {found.message}" if found.verdict == "not_converged" else str(point)
        return _at(found, message, point)

    def at(self, *, gap: float | None = None, error: float | None = None, sketch: Sketch | None = None) -> Result:
        """The point of least error whose gap is at most `gap`, or of least gap whose error is at most `error`.

        A randomised frontier also has the points between its corners: both mix the two neighbours. For thresholds by
        segment, `gap` is a limit that is solved for again, which needs the `sketch`; `error` picks one of the points
        listed.
        """
        for name, value in (("gap", gap), ("error", error)):
            if value is None:
                continue
            if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
                raise refusal("frontier_number", name, value=value)
            if math.isnan(value):
                raise refusal("frontier_nan", name, value=value)
        if gap is not None and error is None:
            fits = np.flatnonzero(self.gaps <= gap + TOLERANCE)
            if len(fits) == 0:
                raise refusal("no_gap", "gap", value=gap, limit=float(self.gaps[0]))
            if self._again is not None:
                return self._again.at(float(gap), self._checked(sketch))
            i = int(fits[-1])
            if self._blends and i + 1 < len(self) and self.gaps[i] < gap:
                return self._mixed(i, (gap - self.gaps[i]) / (self.gaps[i + 1] - self.gaps[i]))
            return self.result(i)
        if error is None or gap is not None:
            raise bad_value("gap", "pass either gap= or error=, and not both")
        fits = np.flatnonzero(self.costs <= error + TOLERANCE)
        if len(fits) == 0:
            raise refusal("no_error", "error", value=error, limit=float(self.costs[-1]))
        i = int(fits[0])
        if self._blends and i > 0 and self.costs[i] < error:
            return self._mixed(i - 1, (self.costs[i - 1] - error) / (self.costs[i - 1] - self.costs[i]))
        return self.result(i)

    def _mixed(self, i: int, share: float) -> Result:
        """What lies between two corners of a randomised frontier."""
        point = Point(self.criterion, i + 1, len(self), between=True)
        return _at(self._points.between(i, share), str(point), point)

    @property
    def _blends(self) -> bool:
        """Whether two neighbours can be mixed: corners of mixtures by group, without a promise."""
        return self.randomized and self.confidence is None and self._again is None

    def _checked(self, sketch: Sketch | None) -> Sketch:
        """The sketch that this frontier is about."""
        if sketch is None:
            raise refusal("frontier_sketch", "sketch", value=None)
        check_sketch(sketch)
        if sketch.digest() != self._points[0].origin.digest:
            raise refusal("frontier_sketch", "sketch", value=sketch)
        return sketch

    def knee(self) -> Result:
        """The point furthest below the straight line between the two ends, both axes scaled to one."""
        width, height = self.gaps[-1] - self.gaps[0], self.costs[0] - self.costs[-1]
        if len(self) < 3 or width <= 0 or height <= 0:
            return self.result(0)
        below = (self.gaps[-1] - self.gaps) / width + (self.costs[0] - self.costs) / height
        return self.result(int(np.argmax(below)))

    def to_dataframe(self) -> pd.DataFrame:
        """A pandas data frame: gap, error or cost, and a threshold column for each group. Needs the extra `pandas`."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("to_dataframe needs pandas; install gstar-fast[pandas]") from None
        columns: dict[str, Floats] = {"gap": self.gaps, self.measure: self.costs}
        if self.penalty is not None:
            columns["penalty"] = self.penalty
        columns |= {f"threshold_{name}": self.thresholds[:, k] for k, name in enumerate(self.groups)}
        return pd.DataFrame(columns)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw error against gap and return the axes. Needs the extra `plot`."""
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError:
                raise ImportError("plot needs matplotlib; install gstar-fast[plot]") from None
            _, ax = plt.subplots()
        ax.plot(self.gaps, self.costs, drawstyle="default" if self.randomized else "steps-post")
        ax.set_xlabel(f"{self.criterion.replace('_', ' ')} gap")
        ax.set_ylabel(self.measure)
        return ax


def _at(result: Result, message: str, point: Point) -> Result:
    """A result as a point of a frontier."""
    return result.but(message=message, origin=replace(result.origin, point=point))
