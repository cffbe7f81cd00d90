"""Count scores once, then find one threshold for each group that keeps error low and closes the gaps."""

from gstar_fast import datasets, plot
from gstar_fast._backends import use_backend
from gstar_fast._config import show_config
from gstar_fast._density import Density, densities, density
from gstar_fast._fit_quality import fit_quality
from gstar_fast._moments import Moments
from gstar_fast._sketch import Sketch
from gstar_fast._window import Window
from gstar_fast.errors import ResolutionWarning

__version__ = "0.1.0"

Sketch.plot = plot.densities  # here, since a sketch must not look downstream to pictures

__all__ = [
    "Density",
    "Moments",
    "ResolutionWarning",
    "Sketch",
    "Window",
    "__version__",
    "datasets",
    "densities",
    "density",
    "fit_quality",
    "plot",
    "show_config",
    "use_backend",
]
