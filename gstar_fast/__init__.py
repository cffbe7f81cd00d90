"""Count scores once, then find one threshold for each group that keeps error low and closes the gaps."""

from gstar_fast._backends import use_backend
from gstar_fast._config import show_config
from gstar_fast._moments import Moments
from gstar_fast._sketch import Sketch
from gstar_fast._window import Window
from gstar_fast.errors import ResolutionWarning

__version__ = "0.1.0"

__all__ = [
    "Moments",
    "ResolutionWarning",
    "Sketch",
    "Window",
    "__version__",
    "show_config",
    "use_backend",
]
