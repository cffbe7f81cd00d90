"""Count scores once, then find one threshold for each group that keeps error low and closes the gaps."""

from gstar_fast import datasets, errors, plot
from gstar_fast._backends import use_backend
from gstar_fast._bounds import Bounds, bounds
from gstar_fast._config import show_config
from gstar_fast._decide import Decider
from gstar_fast._density import Density, densities, density
from gstar_fast._export import to_onnx, to_sql
from gstar_fast._fit_quality import fit_quality
from gstar_fast._frontier import Frontier, frontier
from gstar_fast._include import get_cmake_dir, get_include
from gstar_fast._live import LiveDecider
from gstar_fast._moments import Moments
from gstar_fast._result import Result
from gstar_fast._sketch import Sketch
from gstar_fast._solver import solve
from gstar_fast._window import Window
from gstar_fast.errors import MissingClassWarning, NotConvergedWarning, ResolutionWarning

__version__ = "0.1.0"

Sketch.plot = plot.densities  # here, since a sketch must not look downstream to pictures

__all__ = [
    "Bounds",
    "Decider",
    "Density",
    "Frontier",
    "LiveDecider",
    "MissingClassWarning",
    "Moments",
    "NotConvergedWarning",
    "ResolutionWarning",
    "Result",
    "Sketch",
    "Window",
    "__version__",
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
    "show_config",
    "solve",
    "to_onnx",
    "to_sql",
    "use_backend",
]
