"""Count scores once, then find one threshold for each group that keeps error low and closes the gaps."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gstar_fast import datasets, errors, plot
    from gstar_fast._audit import Audit, audit
    from gstar_fast._backends import use_backend
    from gstar_fast._bounds import Bounds, bounds
    from gstar_fast._config import show_config
    from gstar_fast._decide import Decider
    from gstar_fast._density import Density, densities, density
    from gstar_fast._estimator import GroupThresholdClassifier
    from gstar_fast._export import to_onnx, to_sql
    from gstar_fast._fit_quality import fit_quality
    from gstar_fast._frontier import Frontier, frontier
    from gstar_fast._include import get_cmake_dir, get_include
    from gstar_fast._live import LiveDecider
    from gstar_fast._moments import Moments
    from gstar_fast._report import Report, report
    from gstar_fast._result import Result
    from gstar_fast._sketch import Sketch
    from gstar_fast._solver import solve
    from gstar_fast._window import Window
    from gstar_fast.errors import (
        DegenerateWarning,
        InfeasibleWarning,
        MissingClassWarning,
        NotConvergedWarning,
        ResolutionWarning,
    )

__version__ = "0.1.0"

# Every room is opened when it is first asked for, NumPy with it: `gstar-fast --help` should not wait for either.
_HOMES = {
    "datasets": "",
    "errors": "",
    "plot": "",
    "Audit": "_audit",
    "audit": "_audit",
    "use_backend": "_backends",
    "Bounds": "_bounds",
    "bounds": "_bounds",
    "show_config": "_config",
    "Decider": "_decide",
    "Density": "_density",
    "densities": "_density",
    "density": "_density",
    "GroupThresholdClassifier": "_estimator",
    "to_onnx": "_export",
    "to_sql": "_export",
    "fit_quality": "_fit_quality",
    "Frontier": "_frontier",
    "frontier": "_frontier",
    "get_cmake_dir": "_include",
    "get_include": "_include",
    "LiveDecider": "_live",
    "Moments": "_moments",
    "Report": "_report",
    "report": "_report",
    "Result": "_result",
    "Sketch": "_sketch",
    "solve": "_solver",
    "Window": "_window",
    "DegenerateWarning": "errors",
    "InfeasibleWarning": "errors",
    "MissingClassWarning": "errors",
    "NotConvergedWarning": "errors",
    "ResolutionWarning": "errors",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'gstar_fast' has no attribute {name!r}")
    home = _HOMES[name]
    value = getattr(import_module(f"gstar_fast.{home}"), name) if home else import_module(f"gstar_fast.{name}")
    if counting := sys.modules.get("gstar_fast._sketch"):
        counting.Sketch.plot = _plot  # here, since a sketch must not look downstream to pictures
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


def _plot(self: "Sketch", **options: Any) -> Any:
    """Draw the cells' histograms and densities; options as for `gstar_fast.plot.densities`."""
    from gstar_fast import plot

    return plot.densities(self, **options)


__all__ = [
    "Audit",
    "Bounds",
    "Decider",
    "DegenerateWarning",
    "Density",
    "Frontier",
    "GroupThresholdClassifier",
    "InfeasibleWarning",
    "LiveDecider",
    "MissingClassWarning",
    "Moments",
    "NotConvergedWarning",
    "Report",
    "ResolutionWarning",
    "Result",
    "Sketch",
    "Window",
    "__version__",
    "audit",
    "bounds",
    "datasets",
    "densities",
    "density",
    "errors",
    "fit_quality",
    "frontier",
    "get_cmake_dir",
    "get_include",
    "plot",
    "report",
    "show_config",
    "solve",
    "to_onnx",
    "to_sql",
    "use_backend",
]
